/* ronde run: execute, check against host, measure; nccl-tests' table. */
#include "commands.h"
#include "job.h"
#include "lab_options.h"
#include "race.h"
#include "report.h"
#include "ronde/warmup.h"
#include "schedule_file.h"
#include "table.h"
#include "tune_options.h"

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
    struct ronde_compile_request request; /* its algorithm is the one that was named, or NULL */
    bool is_autotuned;                    /* none was: the contest's trials run */
    struct ronde_race race;               /* with no candidates otherwise */
    struct ronde_schedule *given;         /* what was named; NULL in a contest */
    struct ronde_benchmark named;         /* of that */
    struct ronde_benchmark *benchmark;    /* of the size that is run; NULL before the first */
    struct ronde_memory memory;
    struct ronde_sink sink;
    char machine[160];
    uint64_t wrong;   /* elements, all sizes */
    double busbw_sum; /* all rows, both placements */
    uint32_t rows;
    uint32_t least_warmups; /* runs before a measurement, where they went on until stable */
    uint32_t most_warmups;
};

/* Every backend has something above it that says what is right. */
static const char *reference_text(const struct session *session)
{
    if (!ronde_target_moves_data(&session->target))
        return "nothing: no data is moved";
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
    const struct ronde_compile_request *request = &session->request;
    fprintf(file, "# ronde %s: %s %s, %u ranks, backend %s", RONDE_VERSION,
            ronde_collective_text(request->collective),
            session->is_autotuned ? "auto" : request->algorithm, request->ranks, session->engine);
    if (!session->is_autotuned)
        fprintf(file, ", schedule %016" PRIx64, session->given->hash);
    fputc('\n', file);
}

/* A number that was asked for, or the rule. */
static void print_effort(const struct session *session)
{
    FILE *file = session->sink.file;
    if (session->options->warmups == RONDE_NONE)
        fprintf(file, "# warm-up until stable, %u to %u runs", RONDE_WARMUP_LEAST,
                RONDE_WARMUP_MOST);
    else
        fprintf(file, "# %u warm-ups", session->options->warmups);
    fprintf(file, ", %u iterations; time is the median; checked against %s\n#\n",
            session->options->iterations, reference_text(session));
}

/* Everything that is needed to run the same again. */
static void print_head(const struct session *session)
{
    char basis[RONDE_BASIS_BYTES];
    FILE *file = session->sink.file;
    print_subject(session);
    fprintf(file, "# %s%s%s\n", session->machine,
            ronde_target_is_oversubscribed(&session->target, session->request.ranks)
                ? "; oversubscribed: more ranks than cores"
                : "",
            has_registered(session) ? "; registered buffers" : "");
    print_binding(session);
    if (session->is_autotuned)
        fprintf(file, "# algorithms by %s\n",
                ronde_basis_text(&session->race.autotune.selector, basis));
    print_effort(session);
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
        session->target.machine.default_slot_bytes =
            ronde_comm_slot_bytes(session->benchmark->program);
}

/* The record of a measurement, before the placement's own fields. */
static struct ronde_record record_of(const struct session *session, uint64_t count,
                                     const struct ronde_stats *stats)
{
    const struct ronde_options *options = session->options;
    const uint64_t slot_bytes =
        options->slot_bytes ? options->slot_bytes : session->target.machine.default_slot_bytes;
    const struct ronde_load load = {count, options->dtype, slot_bytes, options->depth};
    struct ronde_record record = ronde_record_of(session->benchmark->schedule, &load);
    record.kind = RONDE_RECORD_MEASURED;
    record.engine = session->engine;
    record.op = options->op;
    record.machine = session->machine;
    record.time_ns = stats->median;
    record.min_ns = stats->min;
    record.p95_ns = stats->p95;
    record.protocol = session->benchmark->protocol;
    record.reps = stats->count;
    if (ronde_target_is_oversubscribed(&session->target, record.ranks))
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

/* Runs that do not count: as many as were asked for, else until times no longer change. */
static enum ronde_status warm_up(struct session *session, struct ronde_effort *io_effort,
                                 struct ronde_error *error)
{
    uint32_t runs = 0;
    if (session->options->warmups != RONDE_NONE)
        return RONDE_OK;
    io_effort->warmups = 0;
    const enum ronde_status status = ronde_warm_up(session->benchmark, session->comm, &runs, error);
    if (session->rows == 0 || runs < session->least_warmups)
        session->least_warmups = runs;
    if (runs > session->most_warmups)
        session->most_warmups = runs;
    return status;
}

/* Measures one placement of one size, and prints its record where programs read. */
static enum ronde_status run_placement(struct session *session, bool in_place, uint64_t wrong,
                                       struct ronde_record *out_record, struct ronde_error *error)
{
    struct ronde_effort effort = {session->options->warmups, session->options->iterations,
                                  session->options->iterations, 0.0};
    const uint64_t count = session->benchmark->shape.count;
    struct ronde_stats stats = {0};
    ronde_benchmark_aim(session->benchmark, &session->memory, count, in_place);
    ronde_memory_fill(&session->memory, &session->benchmark->shape, RONDE_PATTERN_ANY);
    enum ronde_status status = warm_up(session, &effort, error);
    if (status == RONDE_OK)
        status = ronde_benchmarks_measure(session->benchmark, 1, &effort, &stats, error);
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

static bool is_checked(const struct session *session)
{
    return session->options->check && ronde_target_moves_data(&session->target);
}

/* Checks and measures one size in each placement the collective has. */
static enum ronde_status run_size(struct session *session, uint64_t count, struct ronde_error *error)
{
    struct ronde_record records[2];
    uint64_t wrong[2] = {RONDE_NOT_CHECKED, RONDE_NOT_CHECKED};
    const bool has_in_place = ronde_benchmark_has_placement(session->benchmark, true);
    enum ronde_status status = RONDE_OK;
    session->benchmark->shape.count = count;
    if (is_checked(session))
        status = ronde_benchmark_check(session->benchmark, &session->memory, count, wrong, error);
    if (status == RONDE_OK && is_checked(session))
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
static enum ronde_status print_autotune(struct session *session, uint64_t count,
                                        struct ronde_error *error)
{
    const struct ronde_selector *selector = &session->race.autotune.selector;
    struct ronde_benchmark *winner = session->benchmark;
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < selector->choice.count && status == RONDE_OK; i++) {
        const double time_ns = selector->quotes[i].time_ns;
        const struct ronde_stats stats = {.median = time_ns,
                                          .min = time_ns,
                                          .p95 = time_ns,
                                          .count = 1};
        if (!selector->choice.candidates[i].is_eligible)
            continue;
        session->benchmark = &session->race.benchmarks[i];
        struct ronde_record record = record_of(session, count, &stats);
        record.wrong = RONDE_NOT_CHECKED;
        ronde_record_label(&record, "race");
        status = ronde_sink_record(&session->sink, &record, error);
    }
    session->benchmark = winner;
    return status;
}

/* Who runs this size, and a line where that changes. */
static enum ronde_status pick(struct session *session, uint64_t count, struct ronde_error *error)
{
    const struct ronde_benchmark *last = session->benchmark;
    struct ronde_decision decision;
    char text[160];
    if (!session->is_autotuned)
        return RONDE_OK;
    const enum ronde_status status =
        ronde_race_pick(&session->race, count, &decision, &session->benchmark, error);
    if (status != RONDE_OK)
        return status;
    note_slot(session);
    if (!ronde_sink_is_table(&session->sink))
        return session->race.autotune.is_autotune ? print_autotune(session, count, error) : RONDE_OK;
    if (session->benchmark != last && !session->race.autotune.only_hears) {
        ronde_selector_say(&session->race.autotune.selector, &decision, text, sizeof text);
        fprintf(session->sink.file, "# algorithm %s; schedule %016" PRIx64 "\n", text,
                session->benchmark->schedule->hash);
    }
    return RONDE_OK;
}

/* The sweep. Buffers are those of the largest size. */
static enum ronde_status run_sizes(struct session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    const struct ronde_compile_request *request = &session->request;
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
    if (status == RONDE_OK && !ronde_comm_is_oversubscribed(session->comm))
        target->machine.cores = ronde_comm_ranks(session->comm);
    session->engine = ronde_transport_text(ronde_comm_transport(session->comm));
    return status;
}

/* What runs: a schedule that was named or given, or whoever serves the request. */
static enum ronde_status open_subject(struct session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    enum ronde_status status = RONDE_OK;
    session->is_autotuned = ronde_is_auto(options) || ronde_is_autotune(options);
    if (!session->is_autotuned) {
        status = ronde_schedule_file_or_compiled(options, &session->given, error);
        if (status != RONDE_OK)
            return status;
        session->request = ronde_schedule_file_request(session->given);
        session->request.algorithm = session->given->algorithm;
        return RONDE_OK;
    }
    status = ronde_open_request(options, &session->request, error);
    return status == RONDE_OK ? ronde_race_open(options, &session->request, session->comm,
                                                ronde_is_autotune(options), &session->race, error)
                              : status;
}

/* Buffers of the largest size. */
static enum ronde_status open_memory(struct session *session, uint64_t count,
                                     struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    const struct ronde_input_range shape = {.collective = session->request.collective,
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
    const struct ronde_benchmark_options how = ronde_benchmark_options_of(session->options);
    const enum ronde_status status =
        ronde_benchmark_open(&session->target, session->given, &how, &session->named, error);
    if (status != RONDE_OK)
        return status;
    session->benchmark = &session->named;
    note_slot(session);
    ronde_benchmark_aim(session->benchmark, &session->memory, count, false);
    return session->target.backend->supports(session->target.self, session->given,
                                             &session->benchmark->launch, error);
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
        status = session->is_autotuned
                     ? ronde_race_enter(&session->race, &session->target, &session->memory,
                                        session->engine, count, error)
                     : open_named(session, count, error);
    return status == RONDE_OK ? ronde_sink_open(options, &session->sink, error) : status;
}

/* The lines that scripts for nccl-tests look for. */
static void print_verdict(const struct session *session)
{
    FILE *file = session->sink.file;
    if (!is_checked(session))
        fprintf(file, "# Not checked (%s)\n",
                ronde_target_moves_data(&session->target) ? "-c 0" : "no data is moved");
    else
        fprintf(file, "# Out of bounds values : %" PRIu64 " %s\n", session->wrong,
                session->wrong ? "FAILED" : "OK");
    fprintf(file, "# Avg bus bandwidth    : %g\n", session->busbw_sum / session->rows);
    if (session->most_warmups > 0)
        fprintf(file, "# Warm-up runs         : %u to %u before a measurement\n",
                session->least_warmups, session->most_warmups);
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
    ronde_benchmark_close(&session.named);
    ronde_race_close(&session.race);
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
    if (options->hosts && !ronde_job_is_wanted(options->backend)) {
        (void)ronde_fail(&error, RONDE_BAD_ARGUMENT, "--hosts needs --backend ucx");
        return ronde_report(&error);
    }
    return ronde_job_is_wanted(options->backend) ? ronde_job_run(options, run) : run(options, NULL);
}
