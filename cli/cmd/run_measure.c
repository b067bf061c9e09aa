/* One size of `ronde run`: checked, warmed up, measured in each placement. See run.h. */
#include "cli/print/results.h"
#include "run.h"

#include "ronde/warmup.h"

/* What measuring and printing both ask of a session. */

const struct ronde_mem *ronde_run_memory(const struct ronde_run_session *session)
{
    return session->options->backend.has_user_buffers ? ronde_mem_default()
                                                      : ronde_comm_mem(session->comm);
}

bool ronde_run_has_registered(const struct ronde_run_session *session)
{
    return session->comm && ronde_run_memory(session) != ronde_mem_default();
}

bool ronde_run_is_unbound(const struct ronde_run_session *session)
{
    return session->options->backend.is_unbound && session->target.machine.devices == 0;
}

bool ronde_run_is_checked(const struct ronde_run_session *session)
{
    return session->options->backend.check && ronde_target_moves_data(&session->target);
}

void ronde_run_note_slot(struct ronde_run_session *session)
{
    if (session->comm)
        session->target.machine.default_slot_bytes =
            ronde_comm_slot_bytes(session->benchmark->program);
}

static struct ronde_record record_of(const struct ronde_run_session *session, uint64_t count,
                                     const struct ronde_stats *stats)
{
    const struct ronde_options *options = session->options;
    const uint64_t slot_bytes = options->engine.slot_bytes
                                    ? options->engine.slot_bytes
                                    : session->target.machine.default_slot_bytes;
    const struct ronde_load load = {count, options->what.dtype, slot_bytes, options->engine.depth};
    struct ronde_record record = ronde_record_of(session->benchmark->schedule, &load);
    record.kind = RONDE_RECORD_MEASURED;
    record.engine = session->engine;
    record.op = options->what.op;
    record.machine = session->machine;
    record.time_ns = stats->median;
    record.min_ns = stats->min;
    record.p95_ns = stats->p95;
    record.protocol = session->benchmark->protocol;
    record.reps = stats->count;
    if (ronde_target_is_oversubscribed(&session->target, record.ranks))
        ronde_record_label(&record, "oversubscribed");
    if (ronde_run_is_unbound(session))
        ronde_record_label(&record, "unbound");
    if (ronde_run_has_registered(session))
        ronde_record_label(&record, "registered");
    if (session->target.machine.devices > 0 && record.ranks > session->target.machine.devices)
        ronde_record_label(&record, "virtual_ranks");
    return record;
}

/* Wrong elements of all processes. */
static enum ronde_status join_wrong(const struct ronde_run_session *session, uint64_t *io_wrong,
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
static enum ronde_status warm_up(struct ronde_run_session *session, struct ronde_effort *io_effort,
                                 struct ronde_error *error)
{
    uint32_t runs = 0;
    if (session->options->backend.warmups != RONDE_NONE)
        return RONDE_OK;
    io_effort->warmups = 0;
    const enum ronde_status status = ronde_warm_up(session->benchmark, session->comm, &runs, error);
    if (session->rows == 0 || runs < session->least_warmups)
        session->least_warmups = runs;
    if (runs > session->most_warmups)
        session->most_warmups = runs;
    return status;
}

/* Whether a size is one row of nccl-tests' table, in place of a row a placement. */
static bool is_one_row(const struct ronde_run_session *session)
{
    return session->is_nccl_tests && ronde_sink_is_table(&session->sink);
}

/* Measures one placement of one size, and prints it. */
static enum ronde_status run_placement(struct ronde_run_session *session, bool in_place,
                                       uint64_t wrong, struct ronde_record *out_record,
                                       struct ronde_error *error)
{
    struct ronde_effort effort = {session->options->backend.warmups,
                                  session->options->backend.iterations,
                                  session->options->backend.iterations, 0.0};
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
    if (session->is_nccl_tests)
        record.time_ns = stats.mean;
    record.in_place = in_place;
    record.wrong = wrong;
    session->wrong += wrong == RONDE_NOT_CHECKED ? 0 : wrong;
    session->busbw_sum += ronde_record_busbw_GBps(&record);
    session->rows++;
    *out_record = record;
    return is_one_row(session) ? RONDE_OK : ronde_run_print_record(session, &record, error);
}

enum ronde_status ronde_run_size(struct ronde_run_session *session, uint64_t count,
                                 struct ronde_error *error)
{
    struct ronde_record records[2];
    uint64_t wrong[2] = {RONDE_NOT_CHECKED, RONDE_NOT_CHECKED};
    const struct ronde_record *shown[2] = {NULL, NULL};
    enum ronde_status status = RONDE_OK;
    session->benchmark->shape.count = count;
    if (ronde_run_is_checked(session))
        status = ronde_benchmark_check(session->benchmark, &session->memory, count, wrong, error);
    if (status == RONDE_OK && ronde_run_is_checked(session))
        status = join_wrong(session, wrong, error);
    for (int in_place = 0; in_place < 2 && status == RONDE_OK; in_place++)
        if (ronde_benchmark_has_placement(session->benchmark, in_place != 0)) {
            status =
                run_placement(session, in_place != 0, wrong[in_place], &records[in_place], error);
            shown[in_place] = &records[in_place];
        }
    if (status == RONDE_OK && is_one_row(session))
        ronde_run_nccl_tests_row(session, shown[0], shown[1]);
    return status;
}

enum ronde_status ronde_run_print_autotune(struct ronde_run_session *session, uint64_t count,
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
