/* ronde run: execute, check against host, measure; nccl-tests' table. */
#include "cli/launch/job.h"
#include "cli/options/option_groups.h"
#include "cli/options/requests.h"
#include "cli/print/report.h"
#include "cli/print/results.h"
#include "commands.h"
#include "run.h"

#include "ronde/executors.h"
#include "ronde/hw.h"

#include <inttypes.h>
#include <string.h>

/* Which backend a run takes. */

/* The first option given that is only for ranks that are processes; NULL = none. */
static const char *process_option(const struct ronde_options *options)
{
    const struct {
        bool is_given;
        const char *name;
    } all[] = {
        {options->backend.rank != RONDE_NONE, "--rank"},
        {options->backend.join != NULL, "--join"},
        {options->backend.token != NULL, "--token"},
        {options->backend.hosts != NULL, "--hosts"},
        {options->backend.launcher != NULL, "--launcher"},
        {options->backend.transport != NULL, "--transport"},
        {options->backend.has_buffers, "--buffers"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].is_given)
            return all[i].name;
    return NULL;
}

/* Nothing that was said is ignored. */
static enum ronde_status check_uses(const struct ronde_options *options, struct ronde_error *error)
{
    const struct ronde_executor *executor = ronde_executor_find(options->backend.name);
    const bool has_processes = executor && executor->ranks == RONDE_RANKS_PROCESSES;
    const char *option = process_option(options);
    char names[128];
    if (options->backend.has_seed && strcmp(options->backend.name, "host") != 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--seed orders the steps of --backend host; %s has no use for it",
                          options->backend.name);
    if (options->backend.launcher && !options->backend.hosts)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--launcher starts processes on hosts: --hosts is missing");
    if (!option || has_processes || !executor)
        return RONDE_OK;
    ronde_executor_names(true, names, sizeof names);
    return ronde_fail(error, RONDE_BAD_ARGUMENT,
                      "%s is for ranks that are processes, backends %s; those of %s are %s", option,
                      names, options->backend.name, ronde_ranks_text(executor->ranks));
}

/* What joins processes wherever they are, as far as it is in this build. */
static const char *process_backend(const struct ronde_options *options)
{
    const char *reason = NULL;
    if (options->backend.transport)
        return "ucx";
    return ronde_transport_available(RONDE_TRANSPORT_HYBRID, &reason) ? "hybrid" : "proc";
}

/* -g and -t are of this process; of several processes each is a rank. */
static enum ronde_status take_own_ranks(struct ronde_options *options, bool has_processes,
                                        struct ronde_error *error)
{
    const uint64_t own = (options->backend.ngpus ? options->backend.ngpus : 1ull) *
                         (options->backend.nthreads ? options->backend.nthreads : 1ull);
    if (options->backend.ngpus == 0 && options->backend.nthreads == 0)
        return RONDE_OK;
    if (has_processes && own > 1)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "-g and -t: a process is one rank here; start as many processes instead");
    if (has_processes)
        return RONDE_OK;
    if (own > RONDE_MAX_RANKS || (options->what.rank_counts > 0 && options->what.ranks[0] != own))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "-g and -t make %llu ranks, which -N is not",
                          (unsigned long long)own);
    options->what.ranks[0] = (uint32_t)own;
    options->what.rank_counts = 1;
    return RONDE_OK;
}

enum ronde_status ronde_run_backend(struct ronde_options *options,
                                    struct ronde_launcher *out_launcher, struct ronde_error *error)
{
    memset(out_launcher, 0, sizeof *out_launcher);
    if (options->backend.is_given) {
        const enum ronde_status status =
            take_own_ranks(options, process_option(options) != NULL, error);
        return status == RONDE_OK ? check_uses(options, error) : status;
    }
    bool has_processes = process_option(options) != NULL;
    if (!has_processes && !options->backend.has_seed) {
        RONDE_TRY(ronde_launcher_find(NULL, NULL, out_launcher, error));
        /* A process that was started alone, such as a shell of Slurm's (srun --pty), is not one of several ranks. */
        has_processes = out_launcher->name && out_launcher->ranks > 1;
        if (!has_processes)
            ronde_launcher_close(out_launcher);
    }
    RONDE_TRY(take_own_ranks(options, has_processes, error));
    if (has_processes)
        options->backend.name = process_backend(options);
    return check_uses(options, error);
}

/* Types, operators and roots one after the other. */

static bool is_refused(const struct ronde_options *options)
{
    return ronde_op_refusal(options->what.op, options->what.dtype) != NULL;
}

/* From here on the first type that the operator is defined for, or none. */
static bool find_dtype(struct ronde_options *options, int from)
{
    for (int dtype = from; dtype < RONDE_DTYPE_COUNT; dtype++) {
        options->what.dtype = (enum ronde_dtype)dtype;
        if (!is_refused(options))
            return true;
    }
    return false;
}

static bool find_op(struct ronde_options *options, int from)
{
    for (int op = from; op < RONDE_OP_COUNT; op++) {
        options->what.op = (enum ronde_op)op;
        if (!is_refused(options))
            return true;
    }
    return false;
}

void ronde_variant_first(struct ronde_options *options)
{
    if (options->what.all_ops)
        options->what.op = RONDE_SUM;
    if (options->what.all_roots)
        options->what.root = 0;
    if (options->what.all_dtypes && !find_dtype(options, 0))
        options->what.dtype = RONDE_FLOAT32;
}

bool ronde_variant_next(struct ronde_options *options, enum ronde_collective collective,
                        uint32_t ranks)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(collective);
    if (options->what.all_roots && traits->has_root && options->what.root + 1 < ranks) {
        options->what.root++;
        return true;
    }
    if (options->what.all_roots)
        options->what.root = 0;
    if (options->what.all_ops && traits->reduces && find_op(options, (int)options->what.op + 1))
        return true;
    if (options->what.all_ops)
        options->what.op = RONDE_SUM;
    if (options->what.all_dtypes && find_dtype(options, (int)options->what.dtype + 1))
        return true;
    ronde_variant_first(options);
    return false;
}

/* Who runs this size, and a line where that changes. */
static enum ronde_status pick(struct ronde_run_session *session, uint64_t count,
                              struct ronde_error *error)
{
    const struct ronde_benchmark *last = session->benchmark;
    struct ronde_decision decision;
    char text[RONDE_DECISION_BYTES];
    if (!session->is_autotuned)
        return RONDE_OK;
    RONDE_TRY(ronde_race_pick(&session->race, count, &decision, &session->benchmark, error));
    ronde_run_note_slot(session);
    if (!ronde_sink_is_table(&session->sink))
        return session->race.autotune.is_autotune ? ronde_run_print_autotune(session, count, error)
                                                  : RONDE_OK;
    if (session->benchmark != last && !session->is_nccl_tests && !session->race.autotune.only_hears) {
        ronde_selector_say(&session->race.autotune.selector, &decision, text, sizeof text);
        fprintf(session->sink.file, "# algorithm %s; schedule %016" PRIx64 "\n", text,
                session->benchmark->schedule->hash);
    }
    return RONDE_OK;
}

/* The sweep. Buffers are those of the largest size. */
static enum ronde_status run_sizes(struct ronde_run_session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    const struct ronde_compile_request *request = &session->request;
    uint64_t last = UINT64_MAX, bytes = options->sizes.min_bytes;
    do {
        const uint64_t count =
            ronde_record_count(request->collective, request->ranks, bytes, options->what.dtype);
        /* Several small sizes can mean the same count when every rank has a block of its own. */
        if (count != last)
            RONDE_TRY(pick(session, count, error));
        if (count != last)
            RONDE_TRY(ronde_run_size(session, count, error));
        last = count;
        bytes = ronde_options_next_size(&options->sizes, bytes);
    } while (bytes != 0);
    return RONDE_OK;
}

/* A backend by its name, or the communicator of the processes. */
static enum ronde_status open_target(struct ronde_run_session *session, struct ronde_error *error)
{
    struct ronde_target *target = &session->target;
    session->engine = session->options->backend.name;
    if (!session->comm)
        return ronde_target_open(session->engine, session->options->backend.is_unbound, target,
                                 error);
    const enum ronde_status status = ronde_backend_comm.probe(&target->machine, error);
    target->backend = &ronde_backend_comm;
    target->self = session->comm;
    /* A process knows its own processors; the communicator knows whether all together have enough. */
    if (status == RONDE_OK && !ronde_comm_is_oversubscribed(session->comm))
        target->machine.cores = ronde_comm_ranks(session->comm);
    session->engine = ronde_transport_text(ronde_comm_transport(session->comm));
    return status;
}

/* What runs: a schedule that was named or given, or any algorithm that serves the request. */
static enum ronde_status open_subject(struct ronde_run_session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    session->is_autotuned = ronde_is_auto(options) || ronde_is_autotune(options);
    if (!session->is_autotuned) {
        RONDE_TRY(ronde_schedule_file_or_compiled(options, &session->given, error));
        session->request = ronde_schedule_file_request(session->given);
        session->request.algorithm = session->given->algorithm;
        return RONDE_OK;
    }
    RONDE_TRY(ronde_open_request(options, NULL, &session->request, error));
    return ronde_race_open(options, &session->request, session->comm, ronde_is_autotune(options),
                           &session->race, error);
}

/* Buffers of the largest size. */
static enum ronde_status open_memory(struct ronde_run_session *session, uint64_t count,
                                     struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    const struct ronde_input_range shape = {.collective = session->request.collective,
                                            .ranks = session->request.ranks,
                                            .root = session->request.root,
                                            .count = count,
                                            .dtype = options->what.dtype,
                                            .op = options->what.op};
    RONDE_TRY(ronde_memory_check(session->comm, session->comm ? 1 : shape.ranks,
                                 ronde_memory_bytes(&shape), error));
    RONDE_TRY(ronde_memory_create_only(&shape,
                                       session->comm ? ronde_comm_rank(session->comm) : RONDE_NONE,
                                       session->comm ? ronde_run_memory(session) : NULL,
                                       &session->memory, error));
    session->memory.near = &session->target.bind;
    return RONDE_OK;
}

/* Loads what was named, and asks whether it runs. */
static enum ronde_status open_named(struct ronde_run_session *session, uint64_t count,
                                    struct ronde_error *error)
{
    const struct ronde_benchmark_options how = ronde_benchmark_options_of(session->options);
    RONDE_TRY(ronde_benchmark_open(&session->target, session->given, &how, &session->named, error));
    session->benchmark = &session->named;
    ronde_run_note_slot(session);
    ronde_benchmark_aim(session->benchmark, &session->memory, count,
                        !ronde_benchmark_has_placement(session->benchmark, false));
    return session->target.backend->supports(session->target.self, session->given,
                                             &session->benchmark->launch, error);
}

/* Buffers, and what was named or may be chosen, loaded on the largest count. */
static enum ronde_status enter_subject(struct ronde_run_session *session, struct ronde_error *error)
{
    const uint64_t count =
        ronde_record_count(session->request.collective, session->request.ranks,
                           session->options->sizes.max_bytes, session->options->what.dtype);
    RONDE_TRY(open_memory(session, count, error));
    return session->is_autotuned ? ronde_race_enter(&session->race, &session->target,
                                                    &session->memory, session->engine, count, error)
                                 : open_named(session, count, error);
}

/* What the next type, operator or root has of its own. */
static void close_subject(struct ronde_run_session *session)
{
    ronde_benchmark_close(&session->named);
    ronde_race_close(&session->race);
    ronde_memory_destroy(&session->memory);
    ronde_schedule_destroy(session->given);
    session->benchmark = NULL;
    session->given = NULL;
    session->named = (struct ronde_benchmark){0};
    session->race = (struct ronde_race){0};
    session->memory = (struct ronde_memory){0};
}

/* Everything that can be refused is refused here, on the largest count, before the first row. */
static enum ronde_status open_session(struct ronde_run_session *session, struct ronde_error *error)
{
    RONDE_TRY(open_subject(session, error));
    RONDE_TRY(open_target(session, error));
    RONDE_TRY(enter_subject(session, error));
    return ronde_sink_open(session->options, &session->sink, error);
}

/* Goes on to the next of -d all, -o all and -r all; *out_is_over where there is none. */
static enum ronde_status open_next(struct ronde_run_session *session, struct ronde_options *options,
                                   bool *out_is_over, struct ronde_error *error)
{
    const struct ronde_compile_request request = session->request;
    const uint64_t hash = session->given ? session->given->hash : 0;
    *out_is_over = !ronde_variant_next(options, request.collective, request.ranks);
    if (*out_is_over)
        return RONDE_OK;
    close_subject(session);
    RONDE_TRY(open_subject(session, error));
    RONDE_TRY(enter_subject(session, error));
    if (session->given && session->given->hash != hash && !session->is_nccl_tests &&
        ronde_sink_is_table(&session->sink))
        fprintf(session->sink.file, "# root %u; schedule %016" PRIx64 "\n", options->what.root,
                session->given->hash);
    return RONDE_OK;
}

/* The table: of one type, operator and root, or of all of them. */
static enum ronde_status run_variants(struct ronde_run_session *session,
                                      struct ronde_options *options, struct ronde_error *error)
{
    bool is_over = false;
    if (ronde_sink_is_table(&session->sink))
        ronde_run_print_head(session);
    while (!is_over) {
        RONDE_TRY(run_sizes(session, error));
        RONDE_TRY(open_next(session, options, &is_over, error));
    }
    if (ronde_sink_is_table(&session->sink))
        ronde_run_print_verdict(session);
    return RONDE_OK;
}

/* The whole command, alone or as one process of several. */
static int run(const struct ronde_options *options, struct ronde_comm *comm)
{
    struct ronde_error error = {0};
    struct ronde_options own = *options;
    struct ronde_run_session session = {.options = &own, .comm = comm};
    ronde_variant_first(&own);
    ronde_machine_line(options->backend.name,
                       comm ? ronde_comm_processors(comm) : ronde_usable_cores(), session.machine,
                       sizeof session.machine);
    enum ronde_status status = ronde_run_is_nccl_tests(options, &session.is_nccl_tests, &error);
    RONDE_THEN(status, open_session(&session, &error));
    RONDE_THEN(status, run_variants(&session, &own, &error));
    /* What was measured before a failure stays: it took the machine's time. */
    const enum ronde_status kept = session.sink.rows > 0 ? RONDE_OK : status;
    const enum ronde_status closed = ronde_sink_close(&session.sink, kept, &error);
    status = status == RONDE_OK ? closed : status;
    close_subject(&session);
    /* The target owns the communicator from the moment it has it. */
    if (comm && !session.target.self)
        ronde_comm_destroy(comm);
    ronde_target_close(&session.target);
    if (status != RONDE_OK)
        return ronde_report(&error);
    return session.wrong ? RONDE_EXIT_NO : RONDE_EXIT_OK;
}

/* A machine file chooses the algorithm and says how many ranks there are; beside both, it would change nothing. */
static enum ronde_status check_topo(const struct ronde_options *options, struct ronde_error *error)
{
    const struct ronde_what_options *what = &options->what;
    const bool has_ranks = what->rank_counts > 0 || what->shape.count > 0 || what->nccl_log ||
                           ronde_is_schedule_file(options);
    if (!options->machine.topo || !has_ranks || ronde_is_chosen(options) ||
        ronde_is_autotune(options))
        return RONDE_OK;
    return ronde_fail(
        error, RONDE_BAD_ARGUMENT,
        "--topo %s changes nothing here: it chooses the algorithm without -a, and says "
        "how many ranks there are without -N; leave it out",
        options->machine.topo);
}

static enum ronde_status run_command(struct ronde_invocation *call, struct ronde_error *error)
{
    struct ronde_options options = *call->options;
    struct ronde_launcher launcher;
    RONDE_TRY(check_topo(&options, error));
    const enum ronde_status status = ronde_run_backend(&options, &launcher, error);

    if (status != RONDE_OK) {
        ronde_launcher_close(&launcher);
        return status;
    }
    call->code = ronde_job_is_wanted(options.backend.name) ? ronde_job_run(&options, &launcher, run)
                                                           : run(&options, NULL);
    return RONDE_OK;
}

#define OWN(member) offsetof(struct ronde_what_options, member)

/* nccl-tests: -o is the operator, and all types, operators or roots one after the other are a word. */
static const struct ronde_option own_rows[] = {
    {"algorithm", 'a', "NAME", ronde_take_algorithms, OWN(algorithms), "@algorithm race", 0, false,
     "algorithm (default, or auto: the best at each size; race: the fastest of all, tried here)"},
    {"datatype", 'd', "TYPE", ronde_take_every_dtype, OWN(dtype), "@dtype all", 0, false,
     "element type (default float32):"},
    {"op", 'o', "OP", ronde_take_every_op, OWN(op), "@op all", 0, false,
     "reduction operator (default sum):"},
    {"root", 'r', "RANK", ronde_take_every_root, OWN(root), "all", 0, false,
     "root of rooted collectives (default 0), or all"},
};

static const struct ronde_what_options own_defaults = {.dtype = RONDE_FLOAT32, .op = RONDE_SUM};

static const struct ronde_option_group own_group =
    RONDE_GROUP(RONDE_SECTION_WHAT, own_rows, struct ronde_what_options, &own_defaults, NULL);

static const struct ronde_option style_rows[] = {
    {"style", 0, "NAME", ronde_take_text, 0, "nccl-tests", 0, true,
     "nccl-tests: its table, byte by byte, and algorithm and protocol"},
};

static const struct ronde_option_group style_group =
    RONDE_GROUP(RONDE_SECTION_OUTPUT, style_rows, const char *, NULL, NULL);

static const struct ronde_option_use uses[] = {
    {&own_group, offsetof(struct ronde_options, what), NULL, false},
    {&style_group, offsetof(struct ronde_options, style), NULL, false},
    RONDE_TAKES(what, "ranks algorithm datatype root shape pairs channels nccl-log"),
    RONDE_TAKES(sizes, NULL),
    RONDE_TAKES(machine, "topo"),
    RONDE_TAKES(backend, NULL),
    RONDE_TAKES(engine, "slot depth timeout"),
    RONDE_TAKES(output, "json csv wide output"),
    RONDE_TAKES_END,
};

const struct ronde_command ronde_command_run = {
    .name = "run",
    .arguments = "FILE|COLLECTIVE",
    .summary = "execute, compare with the specification and measure",
    .examples = "  ronde run all_reduce -a ring -N 4 -b 8 -e 64M -f 4\n"
                "  ronde run all_gather -N 4 --backend host -b 1K -e 1K\n"
                "  ronde run all_reduce -b 8 -e 128M -f 2 -g 4\n"
                "  ronde run all_reduce -N 4 --backend proc\n"
                "  ronde run all_reduce -N 8 --backend ucx --hosts node0,node1\n",
    .uses = uses,
    .max_arguments = 1,
    .run = run_command,
};
