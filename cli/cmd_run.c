/* ronde run: execute, check against host, measure; nccl-tests' table. */
#include "commands.h"
#include "contest.h"
#include "given.h"
#include "report.h"
#include "table.h"
#include "team.h"
#include "trial.h"

#include "ronde/bind.h"
#include "ronde/hw.h"

#include <inttypes.h>
#include <string.h>

/* Columns: five of the request, then seven out of place and seven in place. */
#define REQUEST_COLUMNS 5u
#define RESULT_COLUMNS 6u
#define COLUMNS (REQUEST_COLUMNS + 2 * RESULT_COLUMNS)

static const struct ronde_column columns[COLUMNS] = {
    {"size", "(B)", 12},    {"count", "(elements)", 12},
    {"type", "", 8},        {"redop", "", 6},
    {"root", "", 6},        {"time", "(us)", 9},
    {"min", "(us)", 9},     {"p95", "(us)", 9},
    {"algbw", "(GB/s)", 7}, {"busbw", "(GB/s)", 7},
    {"#wrong", "", 6},      {"time", "(us)", 9},
    {"min", "(us)", 9},     {"p95", "(us)", 9},
    {"algbw", "(GB/s)", 7}, {"busbw", "(GB/s)", 7},
    {"#wrong", "", 6},
};

/* Everything a run of the command holds. */
struct session {
    const struct ronde_options *options;
    struct ronde_comm *comm; /* of the processes, or NULL; the target's */
    const char *engine;      /* what executes, in words */
    struct ronde_target target;
    struct ronde_request request; /* its algorithm is the one that was named, or NULL */
    bool is_contest;              /* none was: the contest's trials run */
    struct ronde_contest contest; /* with no candidates otherwise */
    struct ronde_schedule *given; /* what was named; NULL in a contest */
    struct ronde_trial named;     /* of that */
    struct ronde_trial *trial;    /* of the size that is run; NULL before the first */
    struct ronde_memory memory;
    struct ronde_sink sink;
    char machine[160];
    uint64_t wrong;   /* elements, all sizes */
    double busbw_sum; /* all rows, both placements */
    uint32_t rows;
};

/* Every backend has something above it that says what is right. */
static const char *reference_text(const struct session *session)
{
    if (!session->options->check)
        return "nothing (-c 0)";
    return session->target.backend == &ronde_backend_host ? "the collective's definition"
                                                          : "host, bit for bit";
}

/* Buffers of a process: such as other ranks read in place, unless they are to be any memory. */
static const struct ronde_mem *own_memory(const struct session *session)
{
    return session->options->has_user_buffers ? ronde_mem_default() : ronde_comm_mem(session->comm);
}

/* Whether others read this process's buffers where they lie; a transport may have none to offer. */
static bool has_registered(const struct session *session)
{
    return session->comm && own_memory(session) != ronde_mem_default();
}

/* Whether ranks could be kept to processors, and were not. */
static bool is_unbound(const struct session *session)
{
    return session->options->is_unbound && session->target.machine.devices == 0;
}

/* Which processors this rank, or the threads of this process, may use. */
static void print_binding(const struct session *session)
{
    char cpus[128];
    ronde_bind_text(cpus, sizeof cpus);
    if (is_unbound(session))
        fprintf(session->sink.file, "# not bound\n");
    else if (session->comm)
        fprintf(session->sink.file, "# rank %u on processors %s\n", ronde_comm_rank(session->comm),
                cpus);
    else if (strcmp(session->engine, ronde_backend_cpu.name) == 0)
        fprintf(session->sink.file, "# threads bound to cores\n");
}

/* The first line: what runs. In a contest every size may have another schedule. */
static void print_subject(const struct session *session)
{
    FILE *file = session->sink.file;
    const struct ronde_request *request = &session->request;
    fprintf(file, "# ronde %s: %s %s, %u ranks, backend %s", RONDE_VERSION,
            ronde_collective_text(request->collective),
            session->is_contest ? "auto" : request->algorithm, request->ranks, session->engine);
    if (!session->is_contest)
        fprintf(file, ", schedule %016" PRIx64, session->given->hash);
    fputc('\n', file);
}

/* Everything that is needed to run the same again. */
static void print_head(const struct session *session)
{
    FILE *file = session->sink.file;
    print_subject(session);
    fprintf(file, "# %s%s%s\n", session->machine,
            ronde_target_is_crowded(&session->target, session->request.ranks)
                ? "; oversubscribed: more ranks than cores"
                : "",
            has_registered(session) ? "; registered buffers" : "");
    print_binding(session);
    if (session->is_contest)
        fprintf(file, "# algorithms by %s\n", session->contest.chooser.basis);
    fprintf(file, "# %u warm-ups, %u iterations; time is the median; checked against %s\n#\n",
            session->options->warmups, session->options->iterations, reference_text(session));
    fprintf(file, "#%*s%*s\n", 88, "out-of-place", 58, "in-place");
    ronde_table_head(file, columns, COLUMNS);
}

/* Columns of one placement; without a record the collective has no such form. */
static void result_cells(const struct ronde_record *record, struct ronde_cell *cell)
{
    for (uint32_t i = 0; !record && i < RESULT_COLUMNS; i++)
        cell[i] = ronde_cell_text("N/A");
    if (!record)
        return;
    cell[0] = ronde_cell_us(record->time_ns);
    cell[1] = ronde_cell_us(record->min_ns);
    cell[2] = ronde_cell_us(record->p95_ns);
    cell[3] = ronde_cell_rate(ronde_record_algbw_GBps(record));
    cell[4] = ronde_cell_rate(ronde_record_busbw_GBps(record));
    cell[5] = record->wrong == RONDE_NOT_CHECKED ? ronde_cell_text("N/A")
                                                 : ronde_cell_integer(record->wrong);
}

/* Both placements side by side, as nccl-tests has them. */
static void print_table_row(const struct session *session, const struct ronde_record *record,
                            const struct ronde_record *in_place)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(record->collective);
    struct ronde_cell cells[COLUMNS];
    cells[0] = ronde_cell_integer(
        ronde_record_bytes(record->collective, record->ranks, record->count, record->dtype));
    cells[1] = ronde_cell_integer(record->count);
    cells[2] = ronde_cell_text(ronde_dtype_text(record->dtype));
    cells[3] = ronde_cell_text(traits->reduces ? ronde_op_text(record->op) : "none");
    cells[4] = traits->has_root ? ronde_cell_integer(record->root) : ronde_cell_text("-1");
    result_cells(record, cells + REQUEST_COLUMNS);
    result_cells(in_place, cells + REQUEST_COLUMNS + RESULT_COLUMNS);
    ronde_table_row(session->sink.file, columns, COLUMNS, cells);
}

/* A communicator's slot is known when something is loaded. */
static void note_slot(struct session *session)
{
    if (session->comm)
        session->target.machine.default_slot_bytes = ronde_comm_slot_bytes(session->trial->program);
}

/* The record of a measurement, before the placement's own fields. */
static struct ronde_record record_of(const struct session *session, uint64_t count,
                                     const struct ronde_stats *stats)
{
    const struct ronde_options *options = session->options;
    const uint64_t slot_bytes =
        options->slot_bytes ? options->slot_bytes : session->target.machine.default_slot_bytes;
    const struct ronde_load load = {count, options->dtype, slot_bytes, options->depth};
    struct ronde_record record = ronde_record_of(session->trial->schedule, &load);
    record.kind = RONDE_RECORD_MEASURED;
    record.engine = session->engine;
    record.op = options->op;
    record.machine = session->machine;
    record.time_ns = stats->median;
    record.min_ns = stats->min;
    record.p95_ns = stats->p95;
    record.protocol = session->trial->protocol;
    record.reps = stats->count;
    if (ronde_target_is_crowded(&session->target, record.ranks))
        ronde_record_label(&record, "oversubscribed");
    if (is_unbound(session))
        ronde_record_label(&record, "unbound");
    if (has_registered(session))
        ronde_record_label(&record, "registered");
    if (session->target.machine.devices > 0 && record.ranks > session->target.machine.devices)
        ronde_record_label(&record, "virtual_ranks");
    return record;
}

/* Wrong elements of all processes. */
static enum ronde_status join_wrong(const struct session *session, uint64_t *io_wrong,
                                    struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const uint32_t ranks = session->comm ? ronde_comm_ranks(session->comm) : 0;
    if (ranks == 0)
        return RONDE_OK;
    uint64_t *all = ronde_mem_new(mem, ranks, 2 * sizeof *all);
    if (!all)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the errors of %u ranks", ranks);
    const enum ronde_status status =
        ronde_comm_allgather(session->comm, io_wrong, 2 * sizeof *all, all, error);
    for (int in_place = 0; in_place < 2 && status == RONDE_OK; in_place++) {
        io_wrong[in_place] = 0;
        for (uint32_t rank = 0; rank < ranks; rank++)
            io_wrong[in_place] += all[2 * rank + (uint32_t)in_place];
    }
    ronde_mem_free(mem, all, ranks, 2 * sizeof *all);
    return status;
}

/* Measures one placement of one size, and prints its record where programs read. */
static enum ronde_status run_placement(struct session *session, bool in_place, uint64_t wrong,
                                       struct ronde_record *out_record, struct ronde_error *error)
{
    const struct ronde_effort effort = {session->options->warmups, session->options->iterations,
                                        session->options->iterations, 0.0};
    const uint64_t count = session->trial->shape.count;
    struct ronde_stats stats = {0};
    ronde_trial_aim(session->trial, &session->memory, count, in_place);
    ronde_memory_fill(&session->memory, &session->trial->shape, RONDE_PATTERN_ANY);
    enum ronde_status status = ronde_trials_measure(session->trial, 1, &effort, &stats, error);
    if (status == RONDE_OK)
        status = ronde_stats_join(session->comm, &stats, error);
    if (status != RONDE_OK)
        return status;
    struct ronde_record record = record_of(session, count, &stats);
    record.in_place = in_place;
    record.wrong = wrong;
    session->wrong += wrong == RONDE_NOT_CHECKED ? 0 : wrong;
    session->busbw_sum += ronde_record_busbw_GBps(&record);
    session->rows++;
    *out_record = record;
    return ronde_sink_is_table(&session->sink) ? RONDE_OK
                                               : ronde_sink_record(&session->sink, &record, error);
}

/* Checks and measures one size in each placement the collective has. */
static enum ronde_status run_size(struct session *session, uint64_t count, struct ronde_error *error)
{
    struct ronde_record records[2];
    uint64_t wrong[2] = {RONDE_NOT_CHECKED, RONDE_NOT_CHECKED};
    const bool has_in_place = ronde_trial_has_placement(session->trial, true);
    enum ronde_status status = RONDE_OK;
    session->trial->shape.count = count;
    if (session->options->check)
        status = ronde_trial_check(session->trial, &session->memory, count, wrong, error);
    if (status == RONDE_OK && session->options->check)
        status = join_wrong(session, wrong, error);
    if (status == RONDE_OK)
        status = run_placement(session, false, wrong[0], &records[0], error);
    if (status == RONDE_OK && has_in_place)
        status = run_placement(session, true, wrong[1], &records[1], error);
    if (status == RONDE_OK && ronde_sink_is_table(&session->sink))
        print_table_row(session, &records[0], has_in_place ? &records[1] : NULL);
    return status;
}

/* Where programs read: what everybody who raced took. People read who won. */
static enum ronde_status print_race(struct session *session, uint64_t count,
                                    struct ronde_error *error)
{
    const struct ronde_chooser *chooser = &session->contest.chooser;
    struct ronde_trial *winner = session->trial;
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < chooser->choice.count && status == RONDE_OK; i++) {
        const double time_ns = chooser->quotes[i].time_ns;
        const struct ronde_stats stats = {.median = time_ns,
                                          .min = time_ns,
                                          .p95 = time_ns,
                                          .count = 1};
        if (!chooser->choice.candidates[i].is_eligible)
            continue;
        session->trial = &session->contest.trials[i];
        struct ronde_record record = record_of(session, count, &stats);
        record.wrong = RONDE_NOT_CHECKED;
        ronde_record_label(&record, "race");
        status = ronde_sink_record(&session->sink, &record, error);
    }
    session->trial = winner;
    return status;
}

/* Who runs this size, and a line where that changes. */
static enum ronde_status pick(struct session *session, uint64_t count, struct ronde_error *error)
{
    const struct ronde_trial *last = session->trial;
    struct ronde_decision decision;
    char text[160];
    if (!session->is_contest)
        return RONDE_OK;
    const enum ronde_status status =
        ronde_contest_pick(&session->contest, count, &decision, &session->trial, error);
    if (status != RONDE_OK)
        return status;
    note_slot(session);
    if (!ronde_sink_is_table(&session->sink))
        return session->contest.is_race ? print_race(session, count, error) : RONDE_OK;
    if (session->trial != last && !session->contest.only_hears) {
        ronde_chooser_say(&session->contest.chooser, &decision, text, sizeof text);
        fprintf(session->sink.file, "# algorithm %s; schedule %016" PRIx64 "\n", text,
                session->trial->schedule->hash);
    }
    return RONDE_OK;
}

/* The sweep. Buffers are those of the largest size. */
static enum ronde_status run_sizes(struct session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    const struct ronde_request *request = &session->request;
    uint64_t last = UINT64_MAX, bytes = options->min_bytes;
    enum ronde_status status = RONDE_OK;
    do {
        const uint64_t count =
            ronde_record_count(request->collective, request->ranks, bytes, options->dtype);
        /* Several small sizes can mean the same count when every rank has a block of its own. */
        if (count != last)
            status = pick(session, count, error);
        if (count != last && status == RONDE_OK)
            status = run_size(session, count, error);
        last = count;
        bytes = ronde_options_next_size(options, bytes);
    } while (status == RONDE_OK && bytes != 0);
    return status;
}

/* A backend by its name, or the communicator of the processes. */
static enum ronde_status open_target(struct session *session, struct ronde_error *error)
{
    struct ronde_target *target = &session->target;
    session->engine = session->options->backend;
    if (!session->comm)
        return ronde_target_open(session->engine, session->options->is_unbound, target, error);
    const enum ronde_status status = ronde_backend_comm.probe(&target->machine, error);
    target->backend = &ronde_backend_comm;
    target->self = session->comm;
    /* A process knows its own processors; the communicator knows whether all together have enough. */
    if (status == RONDE_OK && !ronde_comm_is_crowded(session->comm))
        target->machine.cores = ronde_comm_ranks(session->comm);
    session->engine = ronde_transport_text(ronde_comm_transport(session->comm));
    return status;
}

/* What runs: a schedule that was named or given, or whoever serves the request. */
static enum ronde_status open_subject(struct session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    enum ronde_status status = RONDE_OK;
    session->is_contest = ronde_is_auto(options) || ronde_is_race(options);
    if (!session->is_contest) {
        status = ronde_given_or_compiled(options, &session->given, error);
        if (status != RONDE_OK)
            return status;
        session->request = ronde_given_request(session->given);
        session->request.algorithm = session->given->algorithm;
        return RONDE_OK;
    }
    status = ronde_open_request(options, &session->request, error);
    return status == RONDE_OK ? ronde_contest_open(options, &session->request, session->comm,
                                                   &session->contest, error)
                              : status;
}

/* Buffers of the largest size. */
static enum ronde_status open_memory(struct session *session, uint64_t count,
                                     struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    const struct ronde_shape shape = {.collective = session->request.collective,
                                      .ranks = session->request.ranks,
                                      .root = session->request.root,
                                      .count = count,
                                      .dtype = options->dtype,
                                      .op = options->op};
    const enum ronde_status status =
        ronde_memory_create_only(&shape, session->comm ? ronde_comm_rank(session->comm) : RONDE_NONE,
                                 session->comm ? own_memory(session) : NULL, &session->memory,
                                 error);
    if (status == RONDE_OK)
        session->memory.near = &session->target.bind;
    return status;
}

/* Loads what was named, and asks whether it runs. */
static enum ronde_status open_named(struct session *session, uint64_t count,
                                    struct ronde_error *error)
{
    const enum ronde_status status = ronde_trial_open(&session->target, session->given,
                                                      session->options, &session->named, error);
    if (status != RONDE_OK)
        return status;
    session->trial = &session->named;
    note_slot(session);
    ronde_trial_aim(session->trial, &session->memory, count, false);
    return session->target.backend->supports(session->target.self, session->given,
                                             &session->trial->launch, error);
}

/* Everything that can be refused is refused here, on the largest count, before the first row. */
static enum ronde_status open_session(struct session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    enum ronde_status status = open_subject(session, error);
    if (status == RONDE_OK)
        status = open_target(session, error);
    if (status != RONDE_OK)
        return status;
    const uint64_t count = ronde_record_count(session->request.collective, session->request.ranks,
                                              options->max_bytes, options->dtype);
    status = open_memory(session, count, error);
    if (status == RONDE_OK)
        status = session->is_contest
                     ? ronde_contest_enter(&session->contest, &session->target, &session->memory,
                                           session->engine, count, error)
                     : open_named(session, count, error);
    return status == RONDE_OK ? ronde_sink_open(options, &session->sink, error) : status;
}

/* The lines that scripts for nccl-tests look for. */
static void print_verdict(const struct session *session)
{
    FILE *file = session->sink.file;
    if (!session->options->check)
        fprintf(file, "# Not checked (-c 0)\n");
    else
        fprintf(file, "# Out of bounds values : %" PRIu64 " %s\n", session->wrong,
                session->wrong ? "FAILED" : "OK");
    fprintf(file, "# Avg bus bandwidth    : %g\n", session->busbw_sum / session->rows);
}

/* The whole command, alone or as one process of several. */
static int run(const struct ronde_options *options, struct ronde_comm *comm)
{
    struct ronde_error error = {0};
    struct session session = {.options = options, .comm = comm};
    ronde_machine_line(options->backend, comm ? ronde_comm_processors(comm) : ronde_usable_cores(),
                       session.machine, sizeof session.machine);
    enum ronde_status status = open_session(&session, &error);
    if (status == RONDE_OK && ronde_sink_is_table(&session.sink))
        print_head(&session);
    if (status == RONDE_OK)
        status = run_sizes(&session, &error);
    if (status == RONDE_OK && ronde_sink_is_table(&session.sink))
        print_verdict(&session);
    if (session.sink.file && ronde_sink_close(&session.sink, &error) != RONDE_OK)
        status = error.status;
    ronde_trial_close(&session.named);
    ronde_contest_close(&session.contest);
    ronde_memory_destroy(&session.memory);
    ronde_schedule_destroy(session.given);
    /* The target owns the communicator from the moment it has it. */
    if (comm && !session.target.self)
        ronde_comm_destroy(comm);
    ronde_target_close(&session.target);
    if (status != RONDE_OK)
        return ronde_report(&error);
    return session.wrong ? RONDE_EXIT_NO : RONDE_EXIT_OK;
}

int ronde_cmd_run(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    if (options->hosts && !ronde_team_is_wanted(options->backend)) {
        (void)ronde_fail(&error, RONDE_BAD_ARGUMENT, "--hosts needs --backend ucx");
        return ronde_report(&error);
    }
    return ronde_team_is_wanted(options->backend) ? ronde_team_run(options, run)
                                                  : run(options, NULL);
}
