/* ronde workload: steps of programs, replayed, made, and written in other formats. */
#include "cli/options/schedule_file.h"
#include "cli/print/report.h"
#include "cli/print/workload_print.h"
#include "commands.h"
#include "nccl_machine.h"
#include "verbs.h"
#include "workload_export.h"

#include <string.h>

/* Each verb has options of its own; its files are the arguments behind it. */
static const struct ronde_command verbs[] = {
    {"workload sim", "FILE", "replay a step: its time, exposed communication, the critical path",
     "  ronde workload sim step.workload --topo dgx-h100-pod\n"
     "  ronde workload sim trace.goal --topo crossbar-64\n"
     "  ronde workload sim chakra/step.0.et --topo dgx-h100-pod -a ring --what-if 2\n"
     "  ronde workload sim step.workload --topo H100-cluster01 --style nccl\n"
     "FILE is ronde's own form, GOAL, or a Chakra trace of all ranks (docs/guide/workloads.md). "
     "The "
     "trace of\n"
     "one rank becomes that of -N ranks, all of its groups being of all of them.\n",
     " ranks algorithm timeout topo nodes fabric degrade without nics engine what-if style trace "
     "json "
     "csv "
     "output ",
     1, false, ronde_workload_sim_command},
    {"workload gpt", "", "make the step of a GPT-like model",
     "  ronde workload gpt --model 7b --tp 8 --dp 16 -o step.workload\n"
     "  ronde workload gpt --layers 24 --hidden 2048 --tp 8 --dp 64 -o step.workload\n"
     "  ronde workload gpt --layers 96 --hidden 12288 --tp 8 --pp 16 --micro 64 | ronde workload "
     "sim - --topo pod.xml\n",
     " model layers hidden seq batch vocab tp dp pp micro dtype flops bucket sequence-parallel "
     "output ",
     0, false, ronde_workload_gpt_command},
    {"workload convert", "FILE FILE", "write a workload as GOAL or as Chakra traces",
     "  ronde workload convert step.workload step.et\n"
     "  ronde workload convert step.workload step.goal --topo dgx-h100-pod -a ring\n"
     "PREFIX.et writes PREFIX.0.et, PREFIX.1.et and so on, a file a rank. GOAL has no "
     "collectives: they\n"
     "become the messages of the algorithms that sim would replay on the machine.\n",
     " to output topo nodes fabric degrade without nics algorithm timeout ", 2, false,
     ronde_workload_convert_command},
};

static const struct ronde_verbs workload = {
    .command = "workload",
    .all = verbs,
    .count = sizeof verbs / sizeof verbs[0],
    .list = "sim, gpt, convert",
    .choice = "sim, gpt or convert",
    .rows_refused = "writes a workload; --json and --csv are for sim",
};

const struct ronde_command *ronde_workload_verb(const char *word)
{
    return ronde_verbs_find(&workload, word);
}

int ronde_cmd_workload(const struct ronde_options *options)
{
    return ronde_verbs_run(&workload, options);
}

static enum ronde_status check_file(const struct ronde_options *options, struct ronde_error *error)
{
    return options->argument_count > 1
               ? RONDE_OK
               : ronde_fail(error, RONDE_BAD_ARGUMENT, "which workload? name its file");
}

/* How a step is replayed on the machine. */
static enum ronde_status find_how(const struct ronde_options *options,
                                  const struct ronde_platform *platform,
                                  struct ronde_workload_sim *out_how, struct ronde_error *error)
{
    if (options->algorithm_count > 1)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "one -a is for all collectives that have it");
    *out_how = (struct ronde_workload_sim){
        .platform = platform,
        .engine = options->engine,
        .algorithm = options->algorithm_count > 0 ? options->algorithms[0] : NULL,
        .alternatives = options->what_if,
        .time_limit_s = options->timeout_s,
    };
    return RONDE_OK;
}

/* --- sim ---------------------------------------------------------------------------------------------- */

/* NCCL's calls on the machine. */
struct nccl_calls {
    struct ronde_nccl_site site;
    struct ronde_nccl_constants constants;
    char names[RONDE_NCCL_LIMITS][RONDE_NCCL_PROTOCOL_COUNT][32]; /* "NVLSTree/Simple" */
};

/* Nodes of a group, which has equally many ranks on each. Barriers of programs are all_reduces of an element. */
static enum ronde_status nccl_call_of(const struct ronde_nccl_machine *machine,
                                      const struct ronde_workload_ask *ask,
                                      struct ronde_nccl_call *out, struct ronde_error *error)
{
    const bool is_barrier = ask->collective == RONDE_BARRIER;
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < ask->ranks; i++) {
        uint32_t before = 0;
        while (before < i && ask->hosts[before] / machine->gpus != ask->hosts[i] / machine->gpus)
            before++;
        nodes += before == i;
    }
    *out = (struct ronde_nccl_call){.collective = is_barrier ? RONDE_ALL_REDUCE : ask->collective,
                                    .ranks = ask->ranks,
                                    .nodes = nodes,
                                    .bytes = is_barrier ? sizeof(float) : ask->bytes};
    return ronde_nccl_call_check(machine, out, error);
}

static enum ronde_status nccl_time(void *context, const struct ronde_workload_ask *ask,
                                   double *out_ns, const char **out_algorithm,
                                   struct ronde_error *error)
{
    const struct ronde_nccl_choice any = {RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT};
    struct nccl_calls *calls = context;
    struct ronde_nccl_choice choice;
    struct ronde_nccl_call call;
    enum ronde_status status = nccl_call_of(&calls->site.machine, ask, &call, error);
    if (status == RONDE_OK)
        status = ronde_nccl_site_limit(&calls->site, &call, ask->hosts, error);
    if (status != RONDE_OK)
        return status;
    (void)ronde_nccl_choose(&calls->constants, &calls->site.machine, &call, any, &choice);
    char *name = calls->names[choice.algorithm][choice.protocol];
    snprintf(name, sizeof calls->names[0][0], "%s/%s", ronde_nccl_algorithm_text(choice.algorithm),
             ronde_nccl_protocol_text(choice.protocol));
    *out_algorithm = name;
    *out_ns = 1e3 * ronde_nccl_execution_us(&calls->constants, &calls->site.machine, &call, choice);
    return RONDE_OK;
}

static enum ronde_status open_nccl(const struct ronde_options *options, struct nccl_calls *calls,
                                   struct ronde_workload_sim *how, struct ronde_error *error)
{
    if (strcmp(options->style, "nccl") != 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--style \"%s\" is not nccl", options->style);
    if (how->algorithm || how->alternatives > 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--style nccl: NCCL chooses by itself; leave out -a and --what-if");
    how->time = nccl_time;
    how->time_context = calls;
    const enum ronde_status status = ronde_nccl_constants_read(NULL, &calls->constants, error);
    return status == RONDE_OK ? ronde_nccl_site_open(options, &calls->site, error) : status;
}

static enum ronde_status
simulate(const struct ronde_options *options, const struct ronde_workload *step,
         const struct ronde_platform *platform, struct nccl_calls *nccl,
         struct ronde_workload_result *out_result, struct ronde_error *error)
{
    struct ronde_workload_sim how;
    enum ronde_status status = find_how(options, platform, &how, error);
    if (status == RONDE_OK && options->style)
        status = open_nccl(options, nccl, &how, error);
    return status == RONDE_OK
               ? ronde_workload_simulate(step, &how, ronde_mem_default(), out_result, error)
               : status;
}

/* The file, or with -N its one rank's trace given to so many. */
static enum ronde_status open_step(const struct ronde_options *options,
                                   struct ronde_workload **out_step, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    struct ronde_workload *one = NULL;
    if (options->rank_counts > 1)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "one -N is how many ranks have the trace");
    if (options->rank_counts == 0)
        return ronde_workload_read(options->arguments[1], mem, out_step, error);
    enum ronde_status status = ronde_workload_read(options->arguments[1], mem, &one, error);
    if (status == RONDE_OK)
        status = ronde_workload_repeat(one, options->ranks[0], mem, out_step, error);
    ronde_workload_destroy(one);
    return status;
}

int ronde_workload_sim_command(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    /* A machine that is described has as many nodes as the step's ranks need. */
    struct ronde_options on_ranks = *options;
    struct ronde_workload *step = NULL;
    struct ronde_platform *platform = NULL;
    struct ronde_workload_result result = {0};
    struct ronde_sink sink = {0};
    static struct nccl_calls nccl;
    const char *reason = NULL;
    enum ronde_status status = check_file(options, &error);
    /* What no step can help is said first. */
    if (status == RONDE_OK && (!options->topo || !ronde_topologies_available(&reason)))
        status = ronde_open_platform(options, &platform, &error);
    if (status == RONDE_OK)
        status = open_step(options, &step, &error);
    if (status == RONDE_OK) {
        on_ranks.rank_counts = 1;
        on_ranks.ranks[0] = step->ranks;
        status = ronde_open_platform(&on_ranks, &platform, &error);
    }
    if (status == RONDE_OK)
        status = simulate(&on_ranks, step, platform, &nccl, &result, &error);
    if (status == RONDE_OK)
        status = ronde_sink_open(options, &sink, &error);
    if (status == RONDE_OK) {
        const struct ronde_workload_report report = {.path = options->arguments[1],
                                                     .workload = step,
                                                     .platform = platform,
                                                     .result = &result,
                                                     .has_alternatives = options->what_if > 0,
                                                     .is_nccl = options->style != NULL,
                                                     .algorithm = options->algorithm_count > 0
                                                                      ? options->algorithms[0]
                                                                      : NULL};
        status = ronde_workload_print(&report, &sink, &error);
        if (status == RONDE_OK && options->trace)
            status = ronde_workload_trace(&report, options->trace, &error);
    }
    if (sink.file && ronde_sink_close(&sink, &error) != RONDE_OK)
        status = error.status;
    ronde_workload_result_free(&result);
    ronde_nccl_site_close(&nccl.site);
    ronde_workload_destroy(step);
    ronde_platform_destroy(platform);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}

/* --- gpt ------------------------------------------------------------------------------------------------ */

int ronde_workload_gpt_command(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct ronde_gpt gpt = options->gpt;
    char *text = NULL;
    size_t bytes = 0;
    enum ronde_status status = RONDE_OK;
    if (gpt.layers == 0 || gpt.hidden == 0)
        status = ronde_fail(&error, RONDE_BAD_ARGUMENT,
                            "which model? say --model, or --layers and --hidden");
    if (gpt.micro == 0)
        gpt.micro = gpt.pp > 1 ? 4 * gpt.pp : 1;
    if (gpt.batch == 0 && (uint64_t)gpt.dp * gpt.micro <= UINT32_MAX)
        gpt.batch = gpt.dp * gpt.micro;
    if (status == RONDE_OK)
        status = ronde_gpt_print(&gpt, ronde_mem_default(), &text, &bytes, &error);
    if (status == RONDE_OK)
        status = ronde_schedule_text_write(options, text, bytes, &error);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}

/* --- convert ---------------------------------------------------------------------------------------------- */

static bool has_collectives(const struct ronde_workload *step)
{
    for (uint32_t w = 0; w < step->work_count; w++)
        if (step->works[w].kind == RONDE_WORK_COLLECTIVE)
            return true;
    return false;
}

/* GOAL has no collectives: with a machine they become messages, without one the writer refuses them. */
static enum ronde_status expand(const struct ronde_options *options,
                                struct ronde_workload **inout_step, struct ronde_error *error)
{
    struct ronde_platform *platform = NULL;
    struct ronde_workload *expanded = NULL;
    struct ronde_workload_sim how;
    if (!options->topo || !ronde_workload_is_goal(options) || !has_collectives(*inout_step))
        return RONDE_OK;
    enum ronde_status status = ronde_open_platform(options, &platform, error);
    if (status == RONDE_OK)
        status = find_how(options, platform, &how, error);
    if (status == RONDE_OK)
        status = ronde_workload_expand(*inout_step, &how, ronde_mem_default(), &expanded, error);
    ronde_platform_destroy(platform);
    if (status == RONDE_OK) {
        ronde_workload_destroy(*inout_step);
        *inout_step = expanded;
    }
    return status;
}

int ronde_workload_convert_command(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct ronde_options own = *options;
    struct ronde_workload *step = NULL;
    enum ronde_status status = check_file(options, &error);
    if (status == RONDE_OK && options->argument_count > 2 && options->output)
        status = ronde_fail(&error, RONDE_BAD_ARGUMENT, "two outputs: %s and --output %s",
                            options->arguments[2], options->output);
    if (options->argument_count > 2)
        own.output = options->arguments[2];
    if (status == RONDE_OK)
        status = ronde_workload_read(options->arguments[1], ronde_mem_default(), &step, &error);
    if (status == RONDE_OK)
        status = expand(&own, &step, &error);
    if (status == RONDE_OK)
        status = ronde_workload_write(&own, step, &error);
    ronde_workload_destroy(step);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}
