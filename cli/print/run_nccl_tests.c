/*
 * nccl-tests' table, byte by byte as its 2.19 prints it (src/util.cu), with two columns behind it that its users ask for. A
 * time is the mean of the iterations, as there, of the slowest rank. See run_nccl_tests.h.
 */
#include "run_nccl_tests.h"

#include <inttypes.h>
#include <string.h>

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
    *out_is = options->style != NULL || options->ngpus > 0 || options->nthreads > 0;
    if (options->style && strcmp(options->style, "nccl-tests") != 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--style \"%s\" is not nccl-tests",
                          options->style);
    return RONDE_OK;
}

static void print_settings(const struct ronde_run_session *session)
{
    const struct ronde_options *options = session->options;
    const uint32_t warmups = options->warmups == RONDE_NONE ? 0 : options->warmups;
    const bool is_factor = options->step_bytes == 0;
    FILE *file = session->sink.file;
    fprintf(file,
            "# nThread %u nGpus %u minBytes %" PRIu64 " maxBytes %" PRIu64 " step: %" PRIu64
            "(%s) warmup iters: %u iters: %u agg iters: 1 validation: %d graph: 0 unalign: 0\n",
            options->nthreads ? options->nthreads : 1, options->ngpus ? options->ngpus : 1,
            options->min_bytes, options->max_bytes,
            is_factor ? options->factor : options->step_bytes, is_factor ? "factor" : "bytes",
            warmups, options->iterations, options->check);
}

void ronde_run_nccl_tests_head(const struct ronde_run_session *session)
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

void ronde_run_nccl_tests_end(const struct ronde_run_session *session)
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
