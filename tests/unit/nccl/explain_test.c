/*
 * What a job's collectives cost: small jobs written for it, whose truth is in the text, and the simulated jobs beside the
 * repository, whose truth.tsv says calls, least times and who was late, by each kind of file.
 */
#include "nccl_shipped.h"

#include "support/files.h"
#include "support/heap.h"
#include "support/suite.h"

#include "ronde/explain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is found in a folder. */
struct job {
    struct ronde_traces traces;
    struct ronde_explanation found;
};

static void add_file(const char *path, void *context)
{
    struct job *job = context;
    enum ronde_trace_format format;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_trace_sniff(path, ronde_mem_default(), &format, &error), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_traces_add(&job->traces, path, format, &error), RONDE_OK);
    if (error.message[0])
        suite_note("%s", error.message);
}

static void open_job(struct job *job, const char *folder)
{
    struct ronde_error error = {0};
    ronde_traces_open(&job->traces, ronde_mem_default());
    CU_ASSERT(files_walk(folder, "", add_file, job) > 0);
    CU_ASSERT_EQUAL(ronde_traces_join(&job->traces, &error), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_explain(&job->traces, RONDE_TRACE_NONE, ronde_mem_default(), &job->found,
                                  &error),
                    RONDE_OK);
}

static void close_job(struct job *job)
{
    ronde_explanation_close(&job->found);
    ronde_traces_close(&job->traces);
}

/* The row of such ranks, "0,1,2"; NULL where there is none. */
static const struct ronde_explain_row *find_row(const struct ronde_explanation *found,
                                                const char *ranks, const char *collective,
                                                uint64_t bytes)
{
    const struct ronde_explain_row *rows = found->rows.items;
    for (uint32_t r = 0; r < found->rows.count; r++) {
        char text[512] = "";
        for (uint32_t i = 0, at = 0; i < rows[r].rank_count && at < sizeof text; i++)
            at += (uint32_t)snprintf(text + at, sizeof text - at, "%s%u", i ? "," : "",
                                     rows[r].ranks[i]);
        if (rows[r].bytes == bytes && strcmp(text, ranks) == 0 &&
            rows[r].collective != RONDE_COLLECTIVE_COUNT &&
            strcmp(ronde_collective_text(rows[r].collective), collective) == 0)
            return &rows[r];
    }
    return NULL;
}

/* The job of tests/data/traces: rank 2 comes 500 us late to each call of its pair. */
static void expect_small_job(const char *folder, double most_off_us, uint64_t whole_calls)
{
    static const struct {
        const char *ranks, *collective;
        uint64_t bytes;
        double time_us;
        uint32_t late_rank, nodes;
    } truth[] = {
        {"0,1", "all_reduce", 524288, 41.170, RONDE_TRACE_NONE, 1},
        {"2,3", "all_reduce", 524288, 41.583, 2, 1},
        {"0,1,2,3", "all_gather", 1048576, 91.149, RONDE_TRACE_NONE, 2},
    };
    struct job job;
    open_job(&job, folder);
    CU_ASSERT_EQUAL(job.found.ranks, 4);
    for (size_t i = 0; i < sizeof truth / sizeof truth[0]; i++) {
        const struct ronde_explain_row *row =
            find_row(&job.found, truth[i].ranks, truth[i].collective, truth[i].bytes);
        CU_ASSERT_PTR_NOT_NULL_FATAL(row);
        CU_ASSERT(fabs(row->time_us - truth[i].time_us) <= most_off_us);
        CU_ASSERT_EQUAL(row->late_rank, truth[i].late_rank);
        CU_ASSERT(row->calls == 6 || row->calls == whole_calls);
        CU_ASSERT_EQUAL(row->seen, row->size);
        CU_ASSERT_FALSE(row->is_bound);
        if (row->late_rank != RONDE_TRACE_NONE)
            CU_ASSERT(row->late_share == 1 && fabs(row->waiting_us - 500) < 5);
        if (truth[i].nodes > 0 && row->nodes > 0)
            CU_ASSERT_EQUAL(row->nodes, truth[i].nodes);
    }
    close_job(&job);
}

static void each_kind_of_file_tells_the_same_job(void)
{
    expect_small_job("tests/data/traces/kineto", .5, 6);
    expect_small_job("tests/data/traces/inspector", 1.5, 6);
    expect_small_job("tests/data/traces/recorder", 1, 6);
    expect_small_job("tests/data/traces/runs", 1.5, 6);
}

/* Of channels that have ended, by the GPU's clock. How many ranks there are is not said: no size where each has a part. */
static void the_example_profiler_times_channels(void)
{
    struct job job;
    open_job(&job, "tests/data/traces/example");
    const struct ronde_explain_row *sum = find_row(&job.found, "0,1", "all_reduce", 262144),
                                   *gather = find_row(&job.found, "0,1", "all_gather",
                                                      RONDE_TRACE_NO_NUMBER);
    CU_ASSERT_FATAL(sum && gather);
    CU_ASSERT(sum->calls == 2 && sum->unknown == 1 && sum->seen == 2 && sum->size == 0);
    CU_ASSERT_DOUBLE_EQUAL(sum->time_us, 20, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(sum->waiting_us, (.4 + 300.4) / 2, 1e-9);
    CU_ASSERT(gather->calls == 1 && gather->busbw_GBps < 0);
    CU_ASSERT_EQUAL(job.traces.remarks.count, 1);
    close_job(&job);
}

/* A dump of a rank of two: its last call, how far it came with it, and what pg_status says. */
static void add_dump(struct ronde_traces *traces, unsigned rank, unsigned call, const char *state,
                     int completed)
{
    char text[640], path[32];
    struct ronde_error error = {0};
    snprintf(path, sizeof path, "dump_rank_%u", rank);
    snprintf(
        text, sizeof text,
        "{\"version\":\"2.10\",\"pg_config\":{\"0\":{\"name\":\"0\",\"ranks\":\"[0, 1]\"}},"
        "\"pg_status\":{\"0\":{\"last_completed_collective\":\"%d\"}},\"entries\":[{\"pg_id\":0,"
        "\"process_group\":[\"0\",\"x\"],\"collective_seq_id\":%u,\"profiling_name\":"
        "\"nccl:all_reduce\",\"input_sizes\":[[4]],\"input_dtypes\":[\"Float\"],\"is_p2p\":false,"
        "\"output_sizes\":[[4]],\"output_dtypes\":[\"Float\"],\"state\":\"%s\"}]}",
        completed, call, state);
    CU_ASSERT_EQUAL(ronde_traces_add_text(traces, text, strlen(text), path, RONDE_TRACE_RECORDER,
                                          &error),
                    RONDE_OK);
}

static void a_rank_that_others_wait_for_is_named(void)
{
    static const struct {
        unsigned calls[2];
        const char *states[2];
        int completed[2];
        const char *says; /* NULL: nothing */
    } cases[] = {
        {{41, 39}, {"started", "completed"}, {40, 39}, "rank 1 has not enqueued it (last: 39)"},
        {{41, 41}, {"scheduled", "started"}, {40, 40}, "rank 0 has not started it (last: -1)"},
        {{41, 41}, {"started", "started"}, {40, 40}, NULL},
        {{41, 40}, {"completed", "completed"}, {41, 40}, NULL},
        /* The entry is older than what pg_status says. */
        {{41, 40}, {"started", "started"}, {41, 40}, NULL},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct ronde_traces traces;
        struct ronde_error error = {0};
        bool is_said = false;
        ronde_traces_open(&traces, ronde_mem_default());
        for (unsigned rank = 0; rank < 2; rank++)
            add_dump(&traces, rank, cases[c].calls[rank], cases[c].states[rank],
                     cases[c].completed[rank]);
        CU_ASSERT_EQUAL(ronde_traces_join(&traces, &error), RONDE_OK);
        const struct ronde_trace_remark *remarks = traces.remarks.items;
        for (uint32_t r = 0; r < traces.remarks.count; r++)
            is_said =
                is_said || strstr(remarks[r].text, cases[c].says ? cases[c].says : "wait in it");
        CU_ASSERT_EQUAL(is_said, cases[c].says != NULL);
        ronde_traces_close(&traces);
    }
}

static void a_step_is_told_apart(void)
{
    struct job job;
    struct ronde_explanation step;
    struct ronde_error error = {0};
    open_job(&job, "tests/data/traces/kineto");
    CU_ASSERT_EQUAL(ronde_explain(&job.traces, 4, ronde_mem_default(), &step, &error), RONDE_OK);
    const struct ronde_explain_row *row = find_row(&step, "0,1,2,3", "all_gather", 1048576);
    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    CU_ASSERT(row->calls > 0 && row->calls < 6);
    ronde_explanation_close(&step);
    CU_ASSERT_EQUAL(ronde_explain(&job.traces, 9, ronde_mem_default(), &step, &error),
                    RONDE_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(error.message, "no calls in that step; the traces have 1, from 4"));
    ronde_explanation_close(&step);
    close_job(&job);
}

/* Text in memory of what a job's step is as a workload; NULL where it is none, of which the error says why. */
static char *workload_text(const struct ronde_traces *traces, struct ronde_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    const enum ronde_status status =
        ronde_explain_workload(traces, RONDE_TRACE_NONE, ronde_mem_default(), file, error);
    fclose(file);
    if (status == RONDE_OK)
        return text;
    free(text);
    return NULL;
}

/* An event of a rank's trace: a call on a stream, 0.1 ms to a unit, of group 0,1. */
#define EVENT(name, elements, at, lasts, stream)                                                   \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_X\",\"ts\":" #at                    \
    "00,\"dur\":" #lasts "00,\"tid\":" #stream ",\"pid\":0,\"args\":{\"Collective name\":\"" name  \
    "\",\"In msg nelems\":" #elements ",\"Out msg nelems\":" #elements ",\"dtype\":\"Float\","     \
    "\"Group size\":2,\"Process Group Ranks\":\"[0, 1]\"}}"
#define COMPUTE(at, lasts)                                                                         \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"ts\":" #at "00,\"dur\":" #lasts          \
    "00,\"tid\":7,"                                                                                \
    "\"pid\":0,\"args\":{}}"

/*
 * Two ranks; rank 1 comes 300 us later to their first call. On rank 0 the second call runs beside a calculation of 200 us and is
 * waited for after it; a third is on a stream of its own, beside both.
 */
static void a_step_is_calls_and_what_is_between_them(void)
{
    static const char *const ranks[] = {
        "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":0,\"world_size\":2},\"traceEvents\":"
        "[" EVENT("allreduce", 64, 10, 5, 1) "," COMPUTE(15, 1) "," EVENT(
            "allreduce", 128, 16, 3, 1) "," COMPUTE(16, 2) "," EVENT("broadcast", 32, 17, 1,
                                                                     2) "," EVENT("allreduce", 64,
                                                                                  21, 2, 1) "]}",
        "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":1,\"world_size\":2},\"traceEvents\":"
        "[" EVENT("allreduce", 64, 3, 2, 1) "," EVENT("allreduce", 128, 6, 3, 1) "," EVENT(
            "broadcast", 32, 7, 1, 2) "," EVENT("allreduce", 64, 11, 2, 1) "]}"};
    static const char truth[] = "groups g2 0,1\ngroups g2_1 0,1\n\n"
                                "on 0\n"
                                "  k0 all_reduce g2_1 256\n"
                                "  c0 compute 100000ns after k0\n"
                                "  k1 all_reduce g2_1 512 after c0\n"
                                "  c1 compute 100000ns after c0\n"
                                "  k2 broadcast g2 128 after c1\n"
                                "  c2 compute 100000ns after c1\n"
                                "  c3 compute 200000ns after c2 k1\n"
                                "  k3 all_reduce g2_1 256 after c3\n"
                                "\non 1\n"
                                "  c0 compute 300000ns\n"
                                "  k0 all_reduce g2_1 256 after c0\n";
    struct ronde_traces traces;
    struct ronde_error error = {0};
    ronde_traces_open(&traces, ronde_mem_default());
    for (unsigned r = 0; r < 2; r++)
        CU_ASSERT_EQUAL(ronde_traces_add_text(&traces, ranks[r], strlen(ranks[r]),
                                              r == 0 ? "r0" : "r1", RONDE_TRACE_KINETO, &error),
                        RONDE_OK);
    CU_ASSERT_EQUAL(ronde_traces_join(&traces, &error), RONDE_OK);
    char *text = workload_text(&traces, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    if (!strstr(text, truth))
        suite_note("%s", text);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, truth));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "# Traces do not say roots"));
    free(text);
    ronde_traces_close(&traces);
}

static void one_rank_alone_is_a_bound_and_blames_nobody(void)
{
    struct job job;
    char path[600];
    struct ronde_error error = {0};
    ronde_traces_open(&job.traces, ronde_mem_default());
    CU_ASSERT(suite_source(path, sizeof path, "tests/data/traces/kineto/rank3.json"));
    add_file(path, &job);
    CU_ASSERT_EQUAL(ronde_traces_join(&job.traces, &error), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_explain(&job.traces, RONDE_TRACE_NONE, ronde_mem_default(), &job.found,
                                  &error),
                    RONDE_OK);
    const struct ronde_explain_row *row = find_row(&job.found, "2,3", "all_reduce", 524288);
    const struct ronde_explain_row *rows = job.found.rows.items;
    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    CU_ASSERT(row->is_bound && row->seen == 1 && row->size == 2);
    CU_ASSERT(row->time_us > 500 && row->waiting_us < 0 && row->late_share < 0);
    CU_ASSERT_EQUAL(row->late_rank, RONDE_TRACE_NONE);
    /* The kernel of before the window is counted, not guessed. */
    CU_ASSERT_EQUAL(rows[job.found.rows.count - 1].unknown, 1);
    CU_ASSERT_EQUAL(rows[job.found.rows.count - 1].calls, 0);
    close_job(&job);
}

/* Two of four ranks: what these alone are in is known, of the rest an upper bound. */
static void who_is_not_seen_may_have_been_the_last(void)
{
    struct job job;
    struct ronde_error error = {0};
    ronde_traces_open(&job.traces, ronde_mem_default());
    for (unsigned rank = 0; rank < 2; rank++) {
        char path[600], name[64];
        snprintf(name, sizeof name, "tests/data/traces/kineto/rank%u.json", rank);
        CU_ASSERT(suite_source(path, sizeof path, name));
        add_file(path, &job);
    }
    CU_ASSERT_EQUAL(ronde_traces_join(&job.traces, &error), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_explain(&job.traces, RONDE_TRACE_NONE, ronde_mem_default(), &job.found,
                                  &error),
                    RONDE_OK);
    unsigned whole = 0, bounds = 0;
    const struct ronde_explain_row *rows = job.found.rows.items;
    for (uint32_t r = 0; r < job.found.rows.count; r++) {
        if (rows[r].calls == 0)
            continue;
        CU_ASSERT_EQUAL(rows[r].is_bound, rows[r].seen < rows[r].size);
        whole += !rows[r].is_bound;
        bounds += rows[r].is_bound && rows[r].seen > 1;
    }
    CU_ASSERT(whole > 0 && bounds > 0);
    close_job(&job);
}

/* Calls of two ranks as an inspector's log, `second` us on the second one. */
static void blame_of(const double *second_us, size_t calls, uint32_t expected)
{
    char text[16384];
    size_t at = 0;
    struct job job;
    struct ronde_error error = {0};
    for (uint32_t rank = 0; rank < 2; rank++)
        for (size_t c = 0; c < calls; c++)
            at += (size_t)snprintf(
                text + at, sizeof text - at,
                "{\"header\":{\"id\":\"0x1\",\"rank\":%u,\"n_ranks\":2},\"metadata\":{\"hostname\":"
                "\"h\",\"pid\":%u},\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":%zu,"
                "\"coll_msg_size_bytes\":1024,\"coll_exec_time_us\":%g}}\n",
                rank, rank, c, rank == 0 ? 100 : second_us[c]);
    CU_ASSERT_FATAL(at < sizeof text);
    ronde_traces_open(&job.traces, ronde_mem_default());
    CU_ASSERT_EQUAL(ronde_traces_add_text(&job.traces, text, at, "log", RONDE_TRACE_INSPECTOR,
                                          &error),
                    RONDE_OK);
    CU_ASSERT_EQUAL(ronde_traces_join(&job.traces, &error), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_explain(&job.traces, RONDE_TRACE_NONE, ronde_mem_default(), &job.found,
                                  &error),
                    RONDE_OK);
    const struct ronde_explain_row *row = find_row(&job.found, "0,1", "all_reduce", 1024);
    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    CU_ASSERT_EQUAL(row->late_rank, expected);
    close_job(&job);
}

static void blame_needs_more_than_chance_and_noise(void)
{
    double always[12], noise[12], turns[12];
    for (size_t c = 0; c < 12; c++) {
        always[c] = 160;
        noise[c] = 104;
        turns[c] = c % 2 == 0 ? 160 : 40;
    }
    blame_of(always, 12, 0);
    blame_of(always, 3, RONDE_TRACE_NONE);
    blame_of(noise, 12, RONDE_TRACE_NONE);
    blame_of(turns, 12, RONDE_TRACE_NONE);
    for (size_t c = 0; c < 12; c++)
        always[c] = 40;
    blame_of(always, 12, 1);
}

static void expectations_have_a_band(void)
{
    const uint32_t ranks[] = {0, 8};
    struct ronde_explain_row row = {.ranks = ranks,
                                    .rank_count = 2,
                                    .size = 2,
                                    .collective = RONDE_ALL_REDUCE,
                                    .bytes = 1 << 24,
                                    .expected_us = -1};
    struct ronde_nccl_constants constants;
    struct ronde_doctor_spread spread;
    struct ronde_nccl_call call;
    struct ronde_error error = {0};
    char folder[600];
    CU_ASSERT(suite_source(folder, sizeof folder, "nccl/model/constants"));
    CU_ASSERT_EQUAL(ronde_nccl_constants_read(folder, &constants, &error), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_doctor_spread_read(folder, &spread, &error), RONDE_OK);
    /* Ranks 0 and 8 are on two nodes of eight GPUs. */
    CU_ASSERT(ronde_explain_call(&row, &nccl_h100, &call));
    CU_ASSERT_EQUAL(call.nodes, 2);
    ronde_explain_expect(&row, &call, &nccl_h100, &constants, &spread);
    CU_ASSERT(row.expected_low_us > 0 && row.expected_low_us < row.expected_us &&
              row.expected_us < row.expected_high_us);
    row.bytes = RONDE_TRACE_NO_NUMBER;
    CU_ASSERT_FALSE(ronde_explain_call(&row, &nccl_h100, &call));
}

/* A line of truth.tsv. */
struct truth {
    char ranks[256], collective[32];
    unsigned long long bytes, calls;
    double least_us, share, skew_us;
    unsigned last_rank;
};

static bool read_truth(FILE *file, struct truth *out)
{
    char line[512];
    double median_us = 0;
    unsigned size = 0;
    return fgets(line, sizeof line, file) &&
           sscanf(line, "%255s %u %31s %llu %llu %lf %lf %u %lf %lf", out->ranks, &size,
                  out->collective, &out->bytes, &out->calls, &median_us, &out->least_us,
                  &out->last_rank, &out->share, &out->skew_us) == 10;
}

/* Rows of the truth that are there are right; `least` of them are. */
static void compare(const char *job_name, const char *kind, double most_off_us, unsigned least)
{
    char folder[700], tsv[700], line[512];
    struct truth truth;
    struct job job;
    unsigned found = 0;
    double worst_us = 0;
    snprintf(tsv, sizeof tsv, "traces/synthetic/%s/truth.tsv", job_name);
    char path[700];
    if (!suite_shared(path, sizeof path, tsv))
        return;
    snprintf(folder, sizeof folder, "../shared/traces/synthetic/%s/%s", job_name, kind);
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_PTR_NOT_NULL(fgets(line, sizeof line, file));
    open_job(&job, folder);
    while (read_truth(file, &truth)) {
        const struct ronde_explain_row *row =
            find_row(&job.found, truth.ranks, truth.collective, truth.bytes);
        const uint32_t late =
            truth.share > .8 && truth.skew_us > 50 ? truth.last_rank : RONDE_TRACE_NONE;
        if (!row)
            continue;
        found++;
        worst_us = fmax(worst_us, fabs(row->time_us - truth.least_us));
        CU_ASSERT_EQUAL(row->late_rank, late);
        CU_ASSERT_EQUAL(row->calls, truth.calls);
    }
    suite_note("%s %s: %u rows, at most %.2f us off", job_name, kind, found, worst_us);
    CU_ASSERT(worst_us <= most_off_us);
    CU_ASSERT(found >= least);
    fclose(file);
    close_job(&job);
}

static bool reads_gzip(void)
{
    const char *missing = "";
    const bool is_read = ronde_traces_gzip_available(&missing);
    if (!is_read)
        suite_skip("%s", missing);
    return is_read;
}

static void simulated_jobs_are_as_they_were_made(void)
{
    if (!reads_gzip())
        return;
    compare("16ranks", "kineto", 2, 26);
    compare("16ranks", "kineto-old", 2, 24);
    compare("16ranks", "recorder", 3, 26);
    compare("16ranks", "inspector", 2, 23);
    compare("40ranks", "kineto", 2, 38);
    compare("40ranks", "kineto-old", 2, 33);
    compare("40ranks", "recorder", 3, 38);
    compare("40ranks", "inspector", 2, 24);
}

/*
 * Real traces of one rank: calls and the sum of their times by collective, added up by hand from the files' kernels; those of
 * resnet are TraceLens's. Blame is withheld.
 */
static void sums_of_real_traces_are_those_of_their_kernels(void)
{
    static const struct {
        const char *file;
        enum ronde_collective collective; /* the count: calls of which nothing is recorded */
        uint64_t calls;
        double sum_us;
    } truth[] = {
        {"hta-nccl-a100x2.json.gz", RONDE_ALL_REDUCE, 15, 46762.159},
        {"hta-nccl-a100x2.json.gz", RONDE_BROADCAST, 6, 114.334},
        {"hta-dlrm-a100x8-rank3.json.gz", RONDE_ALL_TO_ALL, 42, 130655},
        {"hta-dlrm-a100x8-rank3.json.gz", RONDE_ALL_REDUCE, 18, 32880},
        {"tracelens-resnet-mi300x8-rank0.json.gz", RONDE_ALL_REDUCE, 6, 26798.240 + 20338.798},
        {"tracelens-resnet-mi300x8-rank0.json.gz", RONDE_BROADCAST, 6, 43.675 + 19.597},
        {"tracelens-resnet-mi300x8-rank0.json.gz", RONDE_COLLECTIVE_COUNT, 5, 0},
    };
    if (!reads_gzip())
        return;
    for (size_t t = 0; t < sizeof truth / sizeof truth[0]; t++) {
        struct job job;
        char path[700], file[100];
        struct ronde_error error = {0};
        uint64_t calls = 0;
        double sum_us = 0;
        snprintf(file, sizeof file, "traces/kineto/%s", truth[t].file);
        if (!suite_shared(path, sizeof path, file))
            return;
        ronde_traces_open(&job.traces, ronde_mem_default());
        add_file(path, &job);
        CU_ASSERT_EQUAL(ronde_traces_join(&job.traces, &error), RONDE_OK);
        CU_ASSERT_EQUAL(ronde_explain(&job.traces, RONDE_TRACE_NONE, ronde_mem_default(),
                                      &job.found, &error),
                        RONDE_OK);
        const struct ronde_explain_row *rows = job.found.rows.items;
        for (uint32_t r = 0; r < job.found.rows.count; r++) {
            CU_ASSERT(rows[r].late_rank == RONDE_TRACE_NONE && rows[r].waiting_us < 0);
            if (rows[r].collective != truth[t].collective)
                continue;
            calls += rows[r].calls + rows[r].unknown;
            sum_us += rows[r].calls > 0 ? (double)rows[r].calls * rows[r].mean_us : 0;
        }
        CU_ASSERT_EQUAL(calls, truth[t].calls);
        CU_ASSERT_DOUBLE_EQUAL(sum_us, truth[t].sum_us, 1e-3);
        close_job(&job);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"each_kind_of_file_tells_the_same_job", each_kind_of_file_tells_the_same_job},
        {"the_example_profiler_times_channels", the_example_profiler_times_channels},
        {"a_rank_that_others_wait_for_is_named", a_rank_that_others_wait_for_is_named},
        {"a_step_is_told_apart", a_step_is_told_apart},
        {"a_step_is_calls_and_what_is_between_them", a_step_is_calls_and_what_is_between_them},
        {"who_is_not_seen_may_have_been_the_last", who_is_not_seen_may_have_been_the_last},
        {"one_rank_alone_is_a_bound_and_blames_nobody", one_rank_alone_is_a_bound_and_blames_nobody},
        {"blame_needs_more_than_chance_and_noise", blame_needs_more_than_chance_and_noise},
        {"expectations_have_a_band", expectations_have_a_band},
        {"sums_of_real_traces_are_those_of_their_kernels",
         sums_of_real_traces_are_those_of_their_kernels},
        {"simulated_jobs_are_as_they_were_made", simulated_jobs_are_as_they_were_made},
    };
    return suite_run("explain", cases, sizeof cases / sizeof cases[0]);
}
