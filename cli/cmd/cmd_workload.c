/* ronde workload: steps of programs, replayed, made, and written in other formats. */
#include "cli/options/option_groups.h"
#include "cli/options/requests.h"
#include "cli/options/topology.h"
#include "cli/print/results.h"
#include "commands.h"
#include "styles.h"

#include "ronde/gpt.h"

#include <string.h>

/* Schedules as GOAL and Chakra. */

/* What its steps cost there; nothing where no machine is named. */
static enum ronde_status find_costs(const struct ronde_options *options,
                                    const struct ronde_schedule *schedule, struct ronde_load *load,
                                    struct ronde_time_params *out_params, struct ronde_error *error)
{
    struct ronde_platform *platform = NULL;
    *out_params = (struct ronde_time_params){0};
    if (!options->machine.topo)
        return RONDE_OK;
    RONDE_TRY(ronde_open_platform(options, &platform, error));
    const uint64_t bytes =
        ronde_collective_bytes(schedule->collective, schedule->ranks, load->count, load->dtype);
    *out_params = ronde_platform_time(platform, schedule->ranks, 2 * bytes);
    if (load->slot_bytes == 0)
        load->slot_bytes = ronde_platform_facts(platform)->slot_bytes;
    ronde_platform_destroy(platform);
    return RONDE_OK;
}

enum ronde_status
ronde_workload_exported(const struct ronde_options *options, const struct ronde_schedule *schedule,
                        struct ronde_workload **out_workload, struct ronde_error *error)
{
    struct ronde_time_params params;
    struct ronde_load load = {.dtype = options->what.dtype,
                              .slot_bytes = options->engine.slot_bytes};
    load.count = ronde_collective_count(schedule->collective, schedule->ranks,
                                        options->sizes.min_bytes, options->what.dtype);
    RONDE_TRY(find_costs(options, schedule, &load, &params, error));
    return ronde_workload_of_schedule(schedule, &load, &params, ronde_mem_default(), out_workload,
                                      error);
}

static bool ends_in(const char *name, const char *suffix)
{
    const size_t length = name ? strlen(name) : 0;
    return length > strlen(suffix) && strcmp(name + length - strlen(suffix), suffix) == 0;
}

static bool is_format(const struct ronde_options *options, const char *to, const char *name,
                      const char *suffix)
{
    return to ? strcmp(to, name) == 0 : ends_in(options->output.path, suffix);
}

/** Whether --to (NULL: not given), else the name of the output, says GOAL. */
static bool is_goal(const struct ronde_options *options, const char *to)
{
    return is_format(options, to, "goal", ".goal");
}

/* PREFIX.et and PREFIX are written as PREFIX.0.et and so on. */
static enum ronde_status write_chakra(const struct ronde_options *options,
                                      const struct ronde_workload *workload,
                                      struct ronde_error *error)
{
    char prefix[4096];
    if (!options->output.path || strcmp(options->output.path, "-") == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "Chakra traces are a file a rank: name them, as in step.et");
    const size_t length =
        strlen(options->output.path) - (ends_in(options->output.path, ".et") ? 3 : 0);
    if (length >= sizeof prefix)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "the name of the output is too long");
    memcpy(prefix, options->output.path, length);
    prefix[length] = '\0';
    return ronde_chakra_write(workload, prefix, ronde_mem_default(), error);
}

enum ronde_status ronde_workload_write(const struct ronde_options *options, const char *to,
                                       const struct ronde_workload *workload,
                                       struct ronde_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    if (is_format(options, to, "chakra", ".et"))
        return write_chakra(options, workload, error);
    if (!is_goal(options, to))
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "written as what? name a file that ends in .goal or .et, or say --to goal "
            "or --to chakra");
    RONDE_TRY(ronde_goal_print(workload, ronde_mem_default(), &text, &bytes, error));
    return ronde_schedule_text_write(options, text, bytes, error);
}

/* The command's own options, of all its verbs. */
struct workload_options {
    struct ronde_gpt gpt;               /* --layers to --sequence-parallel; 0 = not given */
    uint32_t what_if;                   /* --what-if */
    struct ronde_views_options views;   /* --trace, --timeline */
    struct ronde_format_options format; /* --to */
};

static const struct workload_options *own_of(const struct ronde_options *options)
{
    return options->own;
}

static enum ronde_status check_file(const struct ronde_options *options, struct ronde_error *error)
{
    return options->argument_count > 0
               ? RONDE_OK
               : ronde_fail(error, RONDE_BAD_ARGUMENT, "which workload? name its file");
}

/* How a step is replayed on the machine. */
static enum ronde_status find_how(const struct ronde_options *options,
                                  const struct ronde_platform *platform,
                                  struct ronde_workload_sim *out_how, struct ronde_error *error)
{
    if (options->what.algorithm_count > 1)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "one -a is for all collectives that have it");
    *out_how = (struct ronde_workload_sim){
        .platform = platform,
        .engine = options->engine.name,
        .algorithm = options->what.algorithm_count > 0 ? options->what.algorithms[0] : NULL,
        .alternatives = own_of(options)->what_if,
        .time_limit_s = options->engine.timeout_s,
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
    RONDE_TRY(nccl_call_of(&calls->site.machine, ask, &call, error));
    RONDE_TRY(ronde_nccl_site_limit(&calls->site, &call, ask->hosts, error));
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
    RONDE_TRY(ronde_nccl_constants_read(NULL, &calls->constants, error));
    return ronde_nccl_site_open(options, &calls->site, error);
}

static enum ronde_status
simulate(const struct ronde_options *options, const struct ronde_workload *step,
         const struct ronde_platform *platform, struct nccl_calls *nccl,
         struct ronde_workload_result *out_result, struct ronde_error *error)
{
    struct ronde_workload_sim how;
    RONDE_TRY(find_how(options, platform, &how, error));
    if (options->style)
        RONDE_TRY(open_nccl(options, nccl, &how, error));
    return ronde_workload_simulate(step, &how, ronde_mem_default(), out_result, error);
}

/* The file, or with -N its one rank's trace given to so many. */
static enum ronde_status open_step(const struct ronde_options *options,
                                   struct ronde_workload **out_step, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    struct ronde_workload *one = NULL;
    if (options->what.rank_counts > 1)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "one -N is how many ranks have the trace");
    if (options->what.rank_counts == 0)
        return ronde_workload_read(options->arguments[0], mem, out_step, error);
    enum ronde_status status = ronde_workload_read(options->arguments[0], mem, &one, error);
    RONDE_THEN(status, ronde_workload_repeat(one, options->what.ranks[0], mem, out_step, error));
    ronde_workload_destroy(one);
    return status;
}

static enum ronde_status sim_command(struct ronde_invocation *call, struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    /* A machine that is described has as many nodes as the step's ranks need. */
    struct ronde_options on_ranks = *options;
    struct ronde_workload *step = NULL;
    struct ronde_workload_result result = {0};
    static struct nccl_calls nccl;
    const char *reason = NULL;

    enum ronde_status status = check_file(options, error);
    /* What no step can help is said first. */
    if (status == RONDE_OK && (!options->machine.topo || !ronde_topologies_available(&reason)))
        status = ronde_open_platform(options, &call->platform, error);
    RONDE_THEN(status, open_step(options, &step, error));
    if (status == RONDE_OK) {
        on_ranks.what.rank_counts = 1;
        on_ranks.what.ranks[0] = step->ranks;
        status = ronde_open_platform(&on_ranks, &call->platform, error);
    }
    RONDE_THEN(status, simulate(&on_ranks, step, call->platform, &nccl, &result, error));
    RONDE_THEN(status, ronde_sink_open(options, &call->sink, error));
    const struct ronde_workload_report report = {.path = options->arguments[0],
                                                 .workload = step,
                                                 .platform = call->platform,
                                                 .result = &result,
                                                 .has_alternatives = own_of(options)->what_if > 0,
                                                 .is_nccl = options->style != NULL,
                                                 .algorithm = options->what.algorithm_count > 0
                                                                  ? options->what.algorithms[0]
                                                                  : NULL};
    RONDE_THEN(status, ronde_workload_print(&report, &call->sink, error));
    RONDE_THEN(status,
               ronde_workload_draw(&report, &own_of(options)->views, options->output.plot, error));
    ronde_workload_result_free(&result);
    ronde_nccl_site_close(&nccl.site);
    ronde_workload_destroy(step);
    return status;
}

/* --- gpt ------------------------------------------------------------------------------------------------ */

static enum ronde_status gpt_command(struct ronde_invocation *call, struct ronde_error *error)
{
    struct ronde_gpt gpt = own_of(call->options)->gpt;
    char *text = NULL;
    size_t bytes = 0;

    if (gpt.layers == 0 || gpt.hidden == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "which model? say --model, or --layers and --hidden");
    if (gpt.micro == 0)
        gpt.micro = gpt.pp > 1 ? 4 * gpt.pp : 1;
    if (gpt.batch == 0 && (uint64_t)gpt.dp * gpt.micro <= UINT32_MAX)
        gpt.batch = gpt.dp * gpt.micro;
    RONDE_TRY(ronde_gpt_print(&gpt, ronde_mem_default(), &text, &bytes, error));
    return ronde_schedule_text_write(call->options, text, bytes, error);
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
    if (!options->machine.topo || !is_goal(options, own_of(options)->format.to) ||
        !has_collectives(*inout_step))
        return RONDE_OK;
    enum ronde_status status = ronde_open_platform(options, &platform, error);
    RONDE_THEN(status, find_how(options, platform, &how, error));
    RONDE_THEN(status,
               ronde_workload_expand(*inout_step, &how, ronde_mem_default(), &expanded, error));
    ronde_platform_destroy(platform);
    if (status == RONDE_OK) {
        ronde_workload_destroy(*inout_step);
        *inout_step = expanded;
    }
    return status;
}

static enum ronde_status convert_command(struct ronde_invocation *call, struct ronde_error *error)
{
    struct ronde_options own = *call->options;
    struct ronde_workload *step = NULL;

    enum ronde_status status = check_file(&own, error);
    if (status == RONDE_OK && own.argument_count > 1 && own.output.path)
        status = ronde_fail(error, RONDE_BAD_ARGUMENT, "two outputs: %s and --output %s",
                            own.arguments[1], own.output.path);
    if (own.argument_count > 1)
        own.output.path = own.arguments[1];
    RONDE_THEN(status, ronde_workload_read(own.arguments[0], ronde_mem_default(), &step, error));
    RONDE_THEN(status, expand(&own, &step, error));
    RONDE_THEN(status, ronde_workload_write(&own, own_of(&own)->format.to, step, error));
    ronde_workload_destroy(step);
    return status;
}

#define OWN(member) offsetof(struct workload_options, member)

/* The sizes of a known model. */
static enum ronde_status take_model(const struct ronde_option *option, const char *text,
                                    void *group, struct ronde_error *error)
{
    struct workload_options *const own = group;
    (void)option;
    return ronde_gpt_take_model(text, &own->gpt, error);
}

static const struct ronde_option gpt_rows[] = {
    {"model", 0, "NAME", take_model, 0, "7b 13b llama2-70b llama3-8b llama3-70b 405b gpt3-175b", 0,
     false, "sizes of a known model, which other options change:"},
    {"layers", 0, "COUNT", ronde_take_count, OWN(gpt.layers), NULL, 1, false, "transformer layers"},
    {"hidden", 0, "SIZE", ronde_take_count, OWN(gpt.hidden), NULL, 1, false, "hidden size"},
    {"seq", 0, "TOKENS", ronde_take_count, OWN(gpt.seq), NULL, 1, false,
     "tokens of a sequence (default 2048)"},
    {"batch", 0, "COUNT", ronde_take_count, OWN(gpt.batch), NULL, 1, false,
     "sequences of a step (default: one a microbatch)"},
    {"vocab", 0, "COUNT", ronde_take_count, OWN(gpt.vocab), NULL, 0, true,
     "words of the last layer (default 51200); 0: without it"},
    {"tp", 0, "RANKS", ronde_take_count, OWN(gpt.tp), NULL, 1, false,
     "ranks that share each layer (default 1)"},
    {"dp", 0, "RANKS", ronde_take_count, OWN(gpt.dp), NULL, 1, false, "replicas (default 1)"},
    {"pp", 0, "STAGES", ronde_take_count, OWN(gpt.pp), NULL, 1, false,
     "stages of the pipeline (default 1)"},
    {"micro", 0, "COUNT", ronde_take_count, OWN(gpt.micro), NULL, 1, false,
     "microbatches of a pipeline (default: 1, or four a stage where there are several)"},
    {"dtype", 0, "TYPE", ronde_take_dtype, OWN(gpt.dtype), "@dtype", 0, true,
     "of activations and gradients (default bfloat16)"},
    {"flops", 0, "RATE", ronde_take_flops, OWN(gpt.flops), NULL, 0, false,
     "operations a second that a rank attains (default 400e12: 40% of an H100's 989e12)"},
    {"bucket", 0, "SIZE", ronde_take_size, OWN(gpt.bucket_bytes), NULL, 0, true,
     "gradients reduced at once, at least (default 25M)"},
    {"sequence-parallel", 0, NULL, ronde_take_switch, OWN(gpt.splits_sequence), NULL, 0, true,
     "reduce_scatter and all_gather instead of each all_reduce of a layer"},
};

static const struct workload_options gpt_defaults = {.gpt = {.seq = RONDE_GPT_SEQ,
                                                             .vocab = RONDE_GPT_VOCAB,
                                                             .tp = 1,
                                                             .dp = 1,
                                                             .pp = 1,
                                                             .dtype = RONDE_BFLOAT16,
                                                             .flops = 400e12,
                                                             .bucket_bytes = (uint64_t)25 << 20}};

static const struct ronde_option sim_rows[] = {
    {"what-if", 0, "COUNT", ronde_take_count, OWN(what_if), NULL, 0, false,
     "try other algorithms for so many kinds of calls, those with most of the critical path first"},
};

static const struct ronde_option to_rows[] = {
    {"to", 0, "FORMAT", ronde_take_text, offsetof(struct ronde_format_options, to), "goal chakra",
     0, false, "goal or chakra (default: by the name of the output: .goal, .et)"},
};

static const struct ronde_option_group to_group =
    RONDE_GROUP(RONDE_SECTION_WHAT, to_rows, struct ronde_format_options, NULL, NULL);

static const struct ronde_option_use sim_uses[] = {
    RONDE_TAKES(what, "ranks algorithm"),
    RONDE_TAKES(machine, NULL),
    RONDE_TAKES(style, NULL),
    RONDE_TAKES_ROWS(RONDE_SECTION_ENGINE, sim_rows, struct workload_options, NULL),
    RONDE_TAKES(engine, "engine timeout"),
    RONDE_TAKES_OWN(ronde_views_group, OWN(views), "trace timeline"),
    RONDE_TAKES(output, "json csv wide output plot html"),
    RONDE_TAKES_END,
};
static const struct ronde_option_use gpt_uses[] = {
    RONDE_TAKES_ROWS(RONDE_SECTION_WHAT, gpt_rows, struct workload_options, &gpt_defaults),
    RONDE_TAKES(output, "output"),
    RONDE_TAKES_END,
};
static const struct ronde_option_use convert_uses[] = {
    RONDE_TAKES_OWN(to_group, OWN(format), NULL),
    RONDE_TAKES(what, "algorithm"),
    RONDE_TAKES(machine, NULL),
    RONDE_TAKES(engine, "timeout"),
    RONDE_TAKES(output, "output"),
    RONDE_TAKES_END,
};

/* Each verb has options and arguments of its own. */
static const struct ronde_command verbs[] = {
    {.name = "workload sim",
     .arguments = "FILE",
     .summary = "replay a step: its time, exposed communication, the critical path",
     .examples = "  ronde workload sim step.workload --topo dgx-h100-pod\n"
                 "  ronde workload sim trace.goal --topo crossbar-64\n"
                 "  ronde workload sim chakra/step.0.et --topo dgx-h100-pod -a ring --what-if 2\n"
                 "  ronde workload sim step.workload --topo H100-cluster01 --style nccl\n"
                 "FILE is ronde's own form, GOAL, or a Chakra trace of all ranks "
                 "(docs/guide/workloads.md). "
                 "The trace of\n"
                 "one rank becomes that of -N ranks, all of its groups being of all of them.\n",
     .uses = sim_uses,
     .max_arguments = 1,
     .run = sim_command},
    {.name = "workload gpt",
     .arguments = "",
     .summary = "make the step of a GPT-like model",
     .examples = "  ronde workload gpt --model 7b --tp 8 --dp 16 -o step.workload\n"
                 "  ronde workload gpt --layers 24 --hidden 2048 --tp 8 --dp 64 -o step.workload\n"
                 "  ronde workload gpt --model 405b --tp 8 --pp 16 --micro 64 | ronde workload sim "
                 "- --topo "
                 "pod.xml\n",
     .uses = gpt_uses,
     .max_arguments = 0,
     .run = gpt_command},
    {.name = "workload convert",
     .arguments = "FILE FILE",
     .summary = "write a workload as GOAL or as Chakra traces",
     .examples = "  ronde workload convert step.workload step.et\n"
                 "  ronde workload convert step.workload step.goal --topo dgx-h100-pod -a ring\n"
                 "PREFIX.et writes PREFIX.0.et, PREFIX.1.et and so on, a file a rank. GOAL has no "
                 "collectives: they\n"
                 "become the messages of the algorithms that sim would replay on the machine.\n",
     .uses = convert_uses,
     .max_arguments = 2,
     .run = convert_command},
};

const struct ronde_command ronde_command_workload = {
    .name = "workload",
    .arguments = "sim|gpt|convert",
    .summary = "steps of programs: replayed on a machine, made, written in other formats",
    .examples = "  ronde workload gpt --model 7b --tp 8 --dp 4 -o step.workload\n"
                "  ronde workload sim step.workload --topo dgx-h100-pod\n"
                "  ronde workload convert step.workload step.et\n",
    .verbs = verbs,
    .verb_count = sizeof verbs / sizeof verbs[0],
};
