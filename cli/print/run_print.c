/* ronde run's table: nccl-tests' columns, and what is needed to run the same again. See run.h. */
#include "cli/cmd/run.h"
#include "cli/options/requests.h"
#include "results.h"

#include "ronde/bind.h"
#include "ronde/cuda.h"
#include "ronde/hw.h"
#include "ronde/warmup.h"

#include <inttypes.h>
#include <string.h>

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
    if (ronde_run_is_unbound(session))
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

void ronde_run_nccl_tests_row(const struct ronde_run_session *session,
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
            !ronde_run_is_checked(session) ? "NOT CHECKED"
            : session->wrong               ? "FAILED"
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
            ronde_run_has_registered(session) ? "; registered buffers" : "");
    print_binding(session);
    print_lines(session);
    if (session->is_autotuned)
        ronde_sink_say(&session->sink, "algorithms by %s",
                       ronde_basis_text(&session->race.autotune.selector, basis));
    print_effort(session);
    ronde_sink_head(&session->sink, &table);
}

enum ronde_status ronde_run_print_record(struct ronde_run_session *session,
                                         const struct ronde_record *record,
                                         struct ronde_error *error)
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
    if (!ronde_run_is_checked(session))
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
