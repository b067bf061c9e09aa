/* One size of `ronde run`: checked, warmed up, measured in each placement. See run.h. */
#include "cli/options/requests.h"
#include "cli/print/results.h"
#include "run.h"

#include "ronde/bind.h"
#include "ronde/cuda.h"
#include "ronde/hw.h"
#include "ronde/warmup.h"

#include <inttypes.h>
#include <string.h>

/* ---- What is printed -------------------------------------------------------------------------------------------- */

/* ---- What measuring and printing both ask of a session ------------------------------------------------------------ */

const struct ronde_mem *ronde_run_memory(const struct ronde_run_session *session)
{
    return session->options->backend.has_user_buffers ? ronde_mem_default()
                                                      : ronde_comm_mem(session->comm);
}

/* Whether others read this process's buffers where they lie; a transport may have none to offer. */
static bool has_registered(const struct ronde_run_session *session)
{
    return session->comm && ronde_run_memory(session) != ronde_mem_default();
}

/* Whether ranks could be kept to processors, and were not. */
static bool is_unbound(const struct ronde_run_session *session)
{
    return session->options->backend.is_unbound && session->target.machine.devices == 0;
}

/* Whether results are compared with what is right. */
static bool is_checked(const struct ronde_run_session *session)
{
    return session->options->backend.check && ronde_target_moves_data(&session->target);
}

static const struct ronde_column columns[] = {
    {"bytes", "size", "(B)", RONDE_CELL_PLAIN, 10, false},
    {"count", "count", "(elements)", RONDE_CELL_PLAIN, 11, true},
    {"dtype", "type", "", RONDE_CELL_PLAIN, 8, false},
    {"op", "redop", "", RONDE_CELL_PLAIN, 6, false},
    {"root", "root", "", RONDE_CELL_PLAIN, 4, false},
    {"in_place", "in-place", "", RONDE_CELL_PLAIN, 8, false},
    {"algorithm", "algorithm", "", RONDE_CELL_PLAIN, 24, false},
    {"protocol", "protocol", "", RONDE_CELL_PLAIN, 8, true},
    {"time_ns", "time", "(us)", RONDE_CELL_NS, 8, false},
    {"min_ns", "min", "(us)", RONDE_CELL_NS, 8, true},
    {"p95_ns", "p95", "(us)", RONDE_CELL_NS, 8, true},
    {"algbw_GBps", "algbw", "(GB/s)", RONDE_CELL_GBPS, 6, false},
    {"busbw_GBps", "busbw", "(GB/s)", RONDE_CELL_GBPS, 6, false},
    {"wrong", "#wrong", "", RONDE_CELL_PLAIN, 6, false},
    {"labels", "labels", "", RONDE_CELL_PLAIN, 14, true},
};
static const struct ronde_table table = RONDE_TABLE(columns);

/* Every backend has something above it that says what is right. */
static const char *reference_text(const struct ronde_run_session *session)
{
    if (!ronde_target_moves_data(&session->target))
        return "nothing: no data is moved";
    if (!session->options->backend.check)
        return "nothing (-c 0)";
    return session->target.backend == &ronde_backend_host ? "the collective's definition"
                                                          : "host, bit for bit";
}

/* Which processors this rank, or the threads of this process, may use. */
static void print_binding(const struct ronde_run_session *session)
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

/* On devices: which messages carry flags with their data, which is the backend's choice. */
static void print_lines(const struct ronde_run_session *session)
{
    const struct ronde_machine *machine = &session->target.machine;
    const uint64_t pays_bytes = machine->lines_up_to_bytes;
    if (pays_bytes > 0)
        fprintf(session->sink.file,
                "# lines (data with flags, NCCL's LL) up to %" PRIu64 " B; they pay up to %" PRIu64
                " by NCCL's model of %s, %s\n",
                pays_bytes < RONDE_CUDA_LINES_MOST_BYTES ? pays_bytes : RONDE_CUDA_LINES_MOST_BYTES,
                pays_bytes, machine->product, machine->has_device_links ? "NVLink" : "PCIe");
}

/* The first line: what runs. In a contest every size may have another schedule. */
static void print_subject(const struct ronde_run_session *session)
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
static void print_effort(const struct ronde_run_session *session)
{
    char warmups[64];
    if (session->options->backend.warmups == RONDE_NONE)
        snprintf(warmups, sizeof warmups, "warm-up until stable, %u to %u runs", RONDE_WARMUP_LEAST,
                 RONDE_WARMUP_MOST);
    else
        snprintf(warmups, sizeof warmups, "%u warm-ups", session->options->backend.warmups);
    ronde_sink_say(&session->sink, "%s, %u iterations; time is the median; checked against %s",
                   warmups, session->options->backend.iterations, reference_text(session));
    fputs("#\n", session->sink.file);
}

/* nccl-tests' table, byte by byte as its 2.19 prints it (src/util.cu), with two columns behind it that its users
 * ask for. A time is the mean of the iterations, as there, of the slowest rank. */

static const struct {
    enum ronde_collective collective;
    const char *program;
} programs[] = {
    {RONDE_ALL_REDUCE, "all_reduce_perf"}, {RONDE_ALL_GATHER, "all_gather_perf"},
    {RONDE_BROADCAST, "broadcast_perf"},   {RONDE_REDUCE_SCATTER, "reduce_scatter_perf"},
    {RONDE_REDUCE, "reduce_perf"},         {RONDE_ALL_TO_ALL, "alltoall_perf"},
    {RONDE_GATHER, "gather_perf"},         {RONDE_SCATTER, "scatter_perf"},
    {RONDE_SEND_RECV, "sendrecv_perf"},
};

/* Where NCCL's word is another than ours. */
static const struct {
    const char *ours, *theirs;
} words[] = {
    {"float32", "float"},      {"float16", "half"},       {"float64", "double"},
    {"float8_e4m3", "f8e4m3"}, {"float8_e5m2", "f8e5m2"}, {"premul_sum", "mulsum"},
};

const char *ronde_nccl_tests_program(enum ronde_collective collective)
{
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
        if (programs[i].collective == collective)
            return programs[i].program;
    return NULL;
}

static const char *word_of(const char *ours)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i].ours, ours) == 0)
            return words[i].theirs;
    return ours;
}

enum ronde_status ronde_run_is_nccl_tests(const struct ronde_options *options, bool *out_is,
                                          struct ronde_error *error)
{
    *out_is = options->style != NULL || options->backend.ngpus > 0 || options->backend.nthreads > 0;
    if (options->style && strcmp(options->style, "nccl-tests") != 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--style \"%s\" is not nccl-tests",
                          options->style);
    return RONDE_OK;
}

static void print_settings(const struct ronde_run_session *session)
{
    const struct ronde_options *options = session->options;
    const uint32_t warmups = options->backend.warmups == RONDE_NONE ? 0 : options->backend.warmups;
    const bool is_factor = options->sizes.step_bytes == 0;
    FILE *file = session->sink.file;
    fprintf(file,
            "# nThread %u nGpus %u minBytes %" PRIu64 " maxBytes %" PRIu64 " step: %" PRIu64
            "(%s) warmup iters: %u iters: %u agg iters: 1 validation: %d graph: 0 unalign: 0\n",
            options->backend.nthreads ? options->backend.nthreads : 1,
            options->backend.ngpus ? options->backend.ngpus : 1, options->sizes.min_bytes,
            options->sizes.max_bytes, is_factor ? options->sizes.factor : options->sizes.step_bytes,
            is_factor ? "factor" : "bytes", warmups, options->backend.iterations,
            options->backend.check);
}

static void print_nccl_tests_head(const struct ronde_run_session *session)
{
    FILE *file = session->sink.file;
    const char *program = ronde_nccl_tests_program(session->request.collective);
    fprintf(file, "# ronde %s, columns as nccl-tests has them\n", RONDE_VERSION);
    fprintf(file, "# Collective test starting: %s\n", program ? program : "ronde run");
    print_settings(session);
    fprintf(file, "#\n# Using %u ranks, backend %s, on %s\n", session->request.ranks,
            session->engine, session->machine);
    fputs("#\n", file);
    fprintf(
        file,
        "# %10s  %12s  %8s  %6s  %6s           out-of-place                       in-place      "
        "    \n",
        "", "", "", "", "");
    fprintf(file, "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s  %20s  %8s\n",
            "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time",
            "algbw", "busbw", "#wrong", "algorithm", "protocol");
    fprintf(file, "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s  %20s  %8s\n",
            "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)",
            "(GB/s)", "", "", "");
}

/* As many decimals as fit, two at most; nccl-tests' getFloatStr. */
static const char *real_text(double value, int width, char out_text[32])
{
    for (int decimals = 2; decimals >= 0; decimals--)
        if (snprintf(out_text, 32, "%*.*f", width, decimals, value) <= width)
            return out_text;
    snprintf(out_text, 32, width >= 7 ? "%*.1e" : "%*.0e", width, value);
    return out_text;
}

static void print_placement(FILE *file, const struct ronde_record *record)
{
    char time[32], algbw[32], busbw[32], wrong[32] = "N/A";
    if (!record) {
        fprintf(file, "  %7s  %6s  %6s  %6s", "N/A", "N/A", "N/A", "N/A");
        return;
    }
    if (record->wrong != RONDE_NOT_CHECKED)
        snprintf(wrong, sizeof wrong, "%g", (double)record->wrong);
    fprintf(file, "  %7s  %6s  %6s  %6s", real_text(record->time_ns / 1e3, 7, time),
            real_text(ronde_record_algbw_GBps(record), 6, algbw),
            real_text(ronde_record_busbw_GBps(record), 6, busbw), wrong);
}

/* A size: nccl-tests' thirteen columns, then algorithm and protocol. NULL where the schedule does not run so. */
static void print_nccl_tests_row(const struct ronde_run_session *session,
                                 const struct ronde_record *out_of_place,
                                 const struct ronde_record *in_place)
{
    const struct ronde_record *record = out_of_place ? out_of_place : in_place;
    const struct ronde_collective_traits *traits = ronde_collective_traits(record->collective);
    FILE *file = session->sink.file;
    char root[16];
    snprintf(root, sizeof root, "%d", traits->has_root ? (int)record->root : -1);
    fprintf(file, "%12" PRIu64 "  %12" PRIu64 "  %8s  %6s  %6s",
            ronde_record_bytes(record->collective, record->ranks, record->count, record->dtype),
            record->count, word_of(ronde_dtype_text(record->dtype)),
            traits->reduces ? word_of(ronde_op_text(record->op)) : "none", root);
    print_placement(file, out_of_place);
    print_placement(file, in_place);
    fprintf(file, "  %20s  %8s\n", session->benchmark->schedule->algorithm,
            ronde_record_protocol_text(record));
}

static void print_nccl_tests_end(const struct ronde_run_session *session)
{
    FILE *file = session->sink.file;
    const char *program = ronde_nccl_tests_program(session->request.collective);
    fprintf(file, "# %-20s : %" PRIu64 " %s\n", "Out of bounds values", session->wrong,
            !is_checked(session) ? "NOT CHECKED"
            : session->wrong     ? "FAILED"
                                 : "OK");
    fprintf(file, "# %-20s : %g \n#\n# Collective test concluded: %s\n", "Avg bus bandwidth",
            session->busbw_sum / session->rows, program ? program : "ronde run");
}

/* ---- Either table ----------------------------------------------------------------------------------------------- */

void ronde_run_print_head(const struct ronde_run_session *session)
{
    char basis[RONDE_BASIS_BYTES];
    FILE *file = session->sink.file;
    if (session->is_nccl_tests) {
        print_nccl_tests_head(session);
        return;
    }
    print_subject(session);
    fprintf(file, "# %s%s%s\n", session->machine,
            ronde_target_is_oversubscribed(&session->target, session->request.ranks)
                ? "; oversubscribed: more ranks than cores"
                : "",
            has_registered(session) ? "; registered buffers" : "");
    print_binding(session);
    print_lines(session);
    if (session->is_autotuned)
        ronde_sink_say(&session->sink, "algorithms by %s",
                       ronde_basis_text(&session->race.autotune.selector, basis));
    print_effort(session);
    ronde_sink_head(&session->sink, &table);
}

/* A placement of a size. Errors: as ronde_sink_print. */
static enum ronde_status print_record(struct ronde_run_session *session,
                                      const struct ronde_record *record, struct ronde_error *error)
{
    struct ronde_record_row row;
    ronde_record_layout(record, &row);
    return ronde_sink_print(&session->sink, &table, &row.row, error);
}

void ronde_run_print_verdict(const struct ronde_run_session *session)
{
    FILE *file = session->sink.file;
    if (session->is_nccl_tests) {
        print_nccl_tests_end(session);
        return;
    }
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
    if (is_unbound(session))
        ronde_record_label(&record, "unbound");
    if (has_registered(session))
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
    RONDE_TRY(warm_up(session, &effort, error));
    RONDE_TRY(ronde_benchmarks_measure(session->benchmark, 1, &effort, &stats, error));
    RONDE_TRY(ronde_stats_join(session->comm, &stats, error));
    struct ronde_record record = record_of(session, count, &stats);
    if (session->is_nccl_tests)
        record.time_ns = stats.mean;
    record.in_place = in_place;
    record.wrong = wrong;
    session->wrong += wrong == RONDE_NOT_CHECKED ? 0 : wrong;
    session->busbw_sum += ronde_record_busbw_GBps(&record);
    session->rows++;
    *out_record = record;
    return is_one_row(session) ? RONDE_OK : print_record(session, &record, error);
}

enum ronde_status ronde_run_size(struct ronde_run_session *session, uint64_t count,
                                 struct ronde_error *error)
{
    struct ronde_record records[2];
    uint64_t wrong[2] = {RONDE_NOT_CHECKED, RONDE_NOT_CHECKED};
    const struct ronde_record *shown[2] = {NULL, NULL};
    session->benchmark->shape.count = count;
    if (is_checked(session))
        RONDE_TRY(ronde_benchmark_check(session->benchmark, &session->memory, count, wrong, error));
    if (is_checked(session))
        RONDE_TRY(join_wrong(session, wrong, error));
    for (int in_place = 0; in_place < 2; in_place++)
        if (ronde_benchmark_has_placement(session->benchmark, in_place != 0)) {
            RONDE_TRY(
                run_placement(session, in_place != 0, wrong[in_place], &records[in_place], error));
            shown[in_place] = &records[in_place];
        }
    if (is_one_row(session))
        print_nccl_tests_row(session, shown[0], shown[1]);
    return RONDE_OK;
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
