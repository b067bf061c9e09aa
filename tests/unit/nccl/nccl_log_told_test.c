/**
 * What a log of nccl-tests is of where it does not say so plainly: the collective by program, file name or rates, how many
 * ranks on how many nodes, which version, and what was forced.
 */
#include "support/files.h"
#include "support/suite.h"

#include "ronde/published.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/** A log with one row of 16 MiB in 100 us. */
struct told_log {
    const char *path;  /**< NULL = "log_told_test.txt" */
    const char *above; /**< lines before the table */
    const char *words; /**< type, operator, root */
    double factor;     /**< busbw over algbw */
    bool is_checked_in_place;
};

static const char usual_path[] = "log_told_test.txt";

static enum ronde_status read_log(const struct told_log *log,
                                  const struct ronde_published_request *how,
                                  struct ronde_published *table, struct ronde_error *error)
{
    char text[8192];
    struct ronde_published_request request = *how;
    const double rate_GBps = 16777216. / 100 / 1e3;
    request.path = log->path ? log->path : usual_path;
    request.folder = "no-such-folder";
    *error = (struct ronde_error){.status = RONDE_OK};
    const int used =
        snprintf(text, sizeof text,
                 "%s# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
                 "16777216 4194304 %s 100.00 %.2f %.2f 0 100.00 %.2f %.2f %s\n",
                 log->above, log->words, rate_GBps, rate_GBps * log->factor, rate_GBps,
                 rate_GBps * log->factor, log->is_checked_in_place ? "0" : "N/A");
    CU_ASSERT_FATAL(used > 0 && (size_t)used < sizeof text);
    CU_ASSERT_FATAL(files_write(request.path, text));
    const enum ronde_status status =
        ronde_published_open(&request, ronde_mem_default(), table, error);
    CU_ASSERT_EQUAL(unlink(request.path), 0);
    return status;
}

static const struct ronde_published_request plain = {.path = NULL};

/** The only call of a log, which must be read. */
static struct ronde_nccl_call call_of(const struct told_log *log,
                                      const struct ronde_published_request *how,
                                      enum ronde_log_told *out_told)
{
    struct ronde_published table;
    struct ronde_error error;
    struct ronde_nccl_call call = {.collective = RONDE_COLLECTIVE_COUNT};
    const enum ronde_status status = read_log(log, how, &table, &error);
    CU_ASSERT_EQUAL(status, RONDE_OK);
    if (status != RONDE_OK)
        suite_note("%s", error.message);
    if (status == RONDE_OK && table.count > 0)
        call = table.rows[0].call;
    *out_told = table.log.told;
    ronde_published_close(&table);
    return call;
}

/** "# Rank ..." of all ranks, on one host. */
static void list_ranks(uint32_t ranks, char *out_text, size_t bytes)
{
    size_t used = 0;
    for (uint32_t rank = 0; rank < ranks; rank++)
        used += (size_t)snprintf(out_text + used, bytes - used,
                                 "#  Rank %u Group  0 Pid 7 on a device  0 [0x07] GPU\n", rank);
    CU_ASSERT_FATAL(used < bytes);
}

/* Ranks are listed and nothing else: factor, operator and root tell what it is. */
static void rates_tell_collectives(void)
{
    static const struct {
        const char *words;
        enum ronde_collective collective;
        int twice; /**< factor is `twice` (n-1)/n; 0 = 1 */
        bool is_checked;
    } rows[] = {{"float sum -1", RONDE_ALL_REDUCE, 2, true},
                {"float sum -1", RONDE_ALL_REDUCE, 2, false},
                {"half max -1", RONDE_ALL_REDUCE, 2, true},
                {"float none 0", RONDE_BROADCAST, 0, true},
                {"float sum 0", RONDE_REDUCE, 0, true},
                {"bfloat16 sum 3", RONDE_REDUCE, 0, true},
                {"float sum -1", RONDE_REDUCE_SCATTER, 1, true},
                {"float none -1", RONDE_ALL_GATHER, 1, true},
                {"float sum -1", RONDE_SEND_RECV, 0, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (uint32_t ranks = 2; ranks <= 16; ranks++) {
            char above[4096];
            const double share = (ranks - 1.) / ranks;
            enum ronde_log_told told;
            /* On two ranks all_reduce and sendrecv differ by their check in place alone. */
            if (ranks == 2 && i == 1)
                continue;
            list_ranks(ranks, above, sizeof above);
            const struct told_log log = {NULL, above, rows[i].words,
                                         rows[i].twice > 0 ? rows[i].twice * share : 1,
                                         rows[i].is_checked};
            const struct ronde_nccl_call call = call_of(&log, &plain, &told);
            CU_ASSERT_EQUAL(call.collective, rows[i].collective);
            CU_ASSERT_EQUAL(call.ranks, ranks);
            CU_ASSERT_EQUAL(told, RONDE_LOG_TOLD_RATES);
            if (call.collective != rows[i].collective)
                suite_note("%s of %u ranks: %u", rows[i].words, ranks, call.collective);
        }
}

/* all_gather and all_to_all have one factor: without a check in place it is asked for. */
static void what_rates_cannot_tell_is_asked_for(void)
{
    static const struct {
        const char *above, *words;
        double factor;
        const char *says;
    } rows[] = {
        {"# nThread 1 nGpus 8 minBytes 8\n", "float none -1", .875, "which collective"},
        {"# nThread 1 nGpus 8 minBytes 8\n", "float sum 0", 1.75, "which collective"},
        {"# nThread 1 nGpus 8 minBytes 8\n", "float none -1", 1.75, "which collective"},
        {"# nThread 1 nGpus 8 minBytes 8\n", "float sum -1", 1.3, "which collective"},
        {"# nThread 1 nGpus 8 minBytes 8\n", "float sum -1", .5, "how many ranks"},
        {"", "float sum -1", 1, "how many ranks"},
        {"", "float sum -1", .875, "how many ranks"},
        {"", "float sum -1", 1.95, "how many ranks"},
        {"# nThread 1 nGpus 1 minBytes 8\n", "float sum 0", 3, "how many ranks"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct told_log log = {NULL, rows[i].above, rows[i].words, rows[i].factor, false};
        struct ronde_published table;
        struct ronde_error error;
        const enum ronde_status status = read_log(&log, &plain, &table, &error);
        CU_ASSERT_EQUAL(status, RONDE_BAD_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, rows[i].says));
        ronde_published_close(&table);
    }
}

/* Without any line about processes, the factor of all_reduce tells up to 15 ranks. */
static void the_factor_of_all_reduce_tells_ranks(void)
{
    for (uint32_t ranks = 3; ranks < 16; ranks++) {
        const struct told_log log = {NULL, "", "float sum -1", 2 * (ranks - 1.) / ranks, true};
        enum ronde_log_told told;
        const struct ronde_nccl_call call = call_of(&log, &plain, &told);
        CU_ASSERT_EQUAL(call.ranks, ranks);
        CU_ASSERT_EQUAL(call.nodes, 0);
        CU_ASSERT_EQUAL(call.collective, RONDE_ALL_REDUCE);
    }
}

/* Names of files and of programs; case and punctuation do not matter, folders do not count. */
static void names_tell_collectives(void)
{
    static const struct {
        const char *path, *above;
        double factor;
        enum ronde_collective collective;
        enum ronde_log_told told;
    } rows[] = {
        {"2nodes-All_Gather.log", "", .875, RONDE_ALL_GATHER, RONDE_LOG_TOLD_FILE_NAME},
        {"alltoall.txt", "", .875, RONDE_ALL_TO_ALL, RONDE_LOG_TOLD_FILE_NAME},
        {"reduce-scatter-8.out", "", .875, RONDE_REDUCE_SCATTER, RONDE_LOG_TOLD_FILE_NAME},
        {"bcast", "", 1, RONDE_BROADCAST, RONDE_LOG_TOLD_FILE_NAME},
        {"my.Broadcast.log", "", 1, RONDE_BROADCAST, RONDE_LOG_TOLD_FILE_NAME},
        {"send_recv.log", "", 1, RONDE_SEND_RECV, RONDE_LOG_TOLD_FILE_NAME},
        {"AllReduce.log", "", 1.75, RONDE_ALL_REDUCE, RONDE_LOG_TOLD_FILE_NAME},
        /* A name that the rates contradict: what they tell. */
        {"allgather.log", "", 1.75, RONDE_ALL_REDUCE, RONDE_LOG_TOLD_RATES},
        {NULL, "$ ./build/all_gather_perf -b 8\n", .875, RONDE_ALL_GATHER, RONDE_LOG_TOLD_TEST},
        {NULL, "$ mpirun ./alltoall_perf_mpi -b 8\n", .875, RONDE_ALL_TO_ALL, RONDE_LOG_TOLD_TEST},
        {NULL, "# Collective test starting: reduce_scatter_perf\n", .875, RONDE_REDUCE_SCATTER,
         RONDE_LOG_TOLD_TEST},
        {NULL, "# Collective test starting: sendrecv_perf\n", 1, RONDE_SEND_RECV,
         RONDE_LOG_TOLD_TEST},
        /* A word on a line counts where rates agree; what nccl-tests says itself always does. */
        {NULL, "$ ./all_gather_perf -b 8\n", 1.75, RONDE_ALL_REDUCE, RONDE_LOG_TOLD_RATES},
        {NULL, "# Collective test starting: all_gather_perf\n", 1.75, RONDE_ALL_GATHER,
         RONDE_LOG_TOLD_TEST},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char above[1024];
        enum ronde_log_told told;
        const size_t used = (size_t)snprintf(above, sizeof above, "%s", rows[i].above);
        list_ranks(8, above + used, sizeof above - used);
        const struct told_log log = {rows[i].path, above, "float sum -1", rows[i].factor, true};
        const struct ronde_nccl_call call = call_of(&log, &plain, &told);
        CU_ASSERT_EQUAL(call.collective, rows[i].collective);
        CU_ASSERT_EQUAL(told, rows[i].told);
        if (call.collective != rows[i].collective || told != rows[i].told)
            suite_note("row %zu: %u told by %u", i, call.collective, told);
    }
}

/* A caller's word goes before names and rates, not before nccl-tests' own. */
static void the_caller_is_asked_before_names(void)
{
    const struct ronde_published_request how = {.has_collective = true,
                                                .collective = RONDE_ALL_TO_ALL};
    static const char *const above[] = {
        "# nThread 1 nGpus 8 minBytes 8\n",
        "# nThread 1 nGpus 8 minBytes 8\n# Collective test starting: all_gather_perf\n"};
    for (int says = 0; says < 2; says++) {
        const struct told_log log = {"allgather.log", above[says], "float none -1", .875, true};
        enum ronde_log_told told;
        const struct ronde_nccl_call call = call_of(&log, &how, &told);
        CU_ASSERT_EQUAL(call.collective, says ? RONDE_ALL_GATHER : RONDE_ALL_TO_ALL);
        CU_ASSERT_EQUAL(told, says ? RONDE_LOG_TOLD_TEST : RONDE_LOG_TOLD_CALLER);
    }
}

#define RANK(rank, host) "#  Rank " #rank " Group  0 Pid 7 on " host " device  0 [0x07] GPU\n"

/* Ranks that are listed, that NCCL names, or that a process has; nodes are the hosts of the list. */
static void ranks_are_counted(void)
{
    static const struct {
        const char *above;
        uint32_t ranks, nodes;
    } rows[] = {
        {"# nThread 1 nGpus 4 minBytes 8\n", 4, 0},
        {"# nThread 2 nGpus 4 minBytes 8\n", 8, 0},
        {"# nThread 1 nGpus 1 minBytes 8\n" RANK(0, "a") RANK(1, "a"), 2, 1},
        {"# nThread 1 nGpus 1 minBytes 8\n" RANK(0, "a") RANK(1, "b"), 2, 2},
        {RANK(1, "b") RANK(3, "b") RANK(0, "a") RANK(2, "a"), 4, 2},
        {"# nThread 1 nGpus 1 minBytes 8\n" RANK(0, "a") "x NCCL INFO rank 0 nranks 16 Init\n", 16,
         0},
        {"x NCCL INFO comm 0x1 rank 3 nranks 8 cudaDev 3\nx NCCL INFO rank 3 nranks 4 x\n", 8, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char above[1024];
        enum ronde_log_told told;
        snprintf(above, sizeof above, "%s# Collective test starting: all_reduce_perf\n",
                 rows[i].above);
        const struct told_log log = {NULL, above, "float sum -1",
                                     2 * (rows[i].ranks - 1.) / rows[i].ranks, true};
        const struct ronde_nccl_call call = call_of(&log, &plain, &told);
        CU_ASSERT_EQUAL(call.ranks, rows[i].ranks);
        CU_ASSERT_EQUAL(call.nodes, rows[i].nodes);
    }
}

/* -N and nodes of the caller go before the log; ranks that do not divide are refused. */
static void the_caller_counts_ranks(void)
{
    static const struct told_log log = {NULL,
                                        "# nThread 1 nGpus 8 minBytes 8\n"
                                        "# Collective test starting: all_reduce_perf\n",
                                        "float sum -1", 1.75, true};
    for (uint32_t ranks = 2; ranks <= 12; ranks++)
        for (uint32_t nodes = 1; nodes <= 4; nodes++) {
            const struct ronde_published_request how = {.ranks = ranks, .nodes = nodes};
            struct ronde_published table;
            struct ronde_error error;
            const enum ronde_status status = read_log(&log, &how, &table, &error);
            CU_ASSERT_EQUAL(status, ranks % nodes ? RONDE_BAD_INPUT : RONDE_OK);
            if (status == RONDE_OK)
                CU_ASSERT(table.rows[0].call.ranks == ranks && table.rows[0].call.nodes == nodes);
            if (status != RONDE_OK)
                CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "equally many"));
            ronde_published_close(&table);
        }
}

static void versions_are_those_of_the_library(void)
{
    static const struct {
        const char *line;
        uint32_t version;
    } rows[] = {
        {"# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22903\n", 229},
        {"# nccl-tests version 2.13 nccl-library=2804\n", 208},
        {"# nccl-tests version 2.13 nccl-library=21805\n", 218},
        {"NCCL version 2.19.3+cuda12.2\n", 219},
        {"# NCCL tests compiled with NCCL 2.4\n", 204},
        {"RCCL version : 2.22.3-HEAD\n", 222},
        {"NCCL version unknown\n", 0},
        {"nothing\n", 0},
        {"nccl-library=\n", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char above[256];
        enum ronde_log_told told;
        snprintf(above, sizeof above, "%s# nThread 1 nGpus 8 minBytes 8\n", rows[i].line);
        const struct told_log log = {NULL, above, "float sum -1", 1.75, true};
        CU_ASSERT_EQUAL(call_of(&log, &plain, &told).version, rows[i].version);
    }
}

/* NCCL_ALGO and NCCL_PROTO, as a shell, a command line or NCCL itself says them; lists and exclusions force nothing. */
static void settings_force(void)
{
    static const struct {
        const char *above;
        unsigned algorithm, protocol;
        bool is_modelled;
    } rows[] = {
        {"", RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT, true},
        {"export NCCL_ALGO=Tree\n", RONDE_NCCL_TREE, RONDE_NCCL_PROTOCOL_COUNT, true},
        {"export NCCL_ALGO=\"ring\"\nexport NCCL_PROTO='ll128';\n", RONDE_NCCL_RING,
         RONDE_NCCL_LL128, true},
        {"$ NCCL_PROTO=Simple NCCL_ALGO=NVLSTree ./all_reduce_perf -g 8\n", RONDE_NCCL_NVLS_TREE,
         RONDE_NCCL_SIMPLE, true},
        {"x NCCL INFO NCCL_PROTO set by environment to LL.\n", RONDE_NCCL_ALGORITHM_COUNT,
         RONDE_NCCL_PROTOCOL_COUNT, true},
        {"export NCCL_ALGO=Ring,Tree\n", RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT, true},
        {"export NCCL_ALGO=^Ring\n", RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT, true},
        {"export NCCL_ALGO=CollNetDirect\n", RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT,
         false},
        {"export NCCL_ALGO=pat\n", RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT, false},
        {"export NCCL_ALGORITHM=Ring\n", RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT, true},
        /* Of two commands in a script the second has its own setting and not the first's. */
        {"$ NCCL_ALGO=Ring ./all_gather_perf\n$ ./all_reduce_perf\n", RONDE_NCCL_ALGORITHM_COUNT,
         RONDE_NCCL_PROTOCOL_COUNT, true},
        {"export NCCL_PROTO=LL\n$ NCCL_ALGO=Ring ./all_gather_perf\n$ ./all_reduce_perf\n",
         RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_LL, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char above[512];
        struct ronde_published table;
        struct ronde_error error;
        snprintf(above, sizeof above, "%s# nThread 1 nGpus 8 minBytes 8\n", rows[i].above);
        const struct told_log log = {NULL, above, "float sum -1", 1.75, true};
        CU_ASSERT_EQUAL_FATAL(read_log(&log, &plain, &table, &error), RONDE_OK);
        CU_ASSERT_EQUAL(table.rows[0].wish.algorithm, rows[i].algorithm);
        CU_ASSERT_EQUAL(table.rows[0].wish.protocol, rows[i].protocol);
        CU_ASSERT_EQUAL(table.rows[0].state != RONDE_PUBLISHED_NOT_MODELLED, rows[i].is_modelled);
        CU_ASSERT_EQUAL_FATAL(table.why_count, !rows[i].is_modelled);
        if (!rows[i].is_modelled)
            CU_ASSERT_PTR_NOT_NULL(strstr(table.whys[0].text, "is none that is modelled"));
        if (table.rows[0].wish.algorithm != rows[i].algorithm)
            suite_note("%s: %s", rows[i].above,
                       ronde_nccl_algorithm_text(table.rows[0].wish.algorithm));
        ronde_published_close(&table);
    }
}

/* So is what a process measured of itself. */
static void a_rank_alone_is_said_so(void)
{
    struct ronde_published table;
    struct ronde_error error;
    const struct told_log log = {NULL,
                                 "# nThread 1 nGpus 1 minBytes 8\n"
                                 "#  Rank  0 Pid 1 on a device  0 [0x1b] GPU\n",
                                 "float sum -1", 0, true};
    CU_ASSERT_EQUAL_FATAL(read_log(&log, &plain, &table, &error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(table.why_count, 1);
    CU_ASSERT_STRING_EQUAL(table.whys[0].text, "a rank alone sends nothing");
    ronde_published_close(&table);
}

/* Collectives that NCCL's model lacks are read all the same. */
static void tests_without_a_model_are_said_so(void)
{
    static const char *const tests[] = {"hypercube"};
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        char above[256];
        struct ronde_published table;
        struct ronde_error error;
        snprintf(above, sizeof above,
                 "# nThread 1 nGpus 8 minBytes 8\n# Collective test starting: %s_perf\n", tests[i]);
        const struct told_log log = {NULL, above, "float none -1", .875, true};
        CU_ASSERT_EQUAL_FATAL(read_log(&log, &plain, &table, &error), RONDE_OK);
        CU_ASSERT_EQUAL(table.count, 2);
        CU_ASSERT_EQUAL(table.rows[0].state, RONDE_PUBLISHED_NOT_MODELLED);
        CU_ASSERT_EQUAL(table.rows[1].state, RONDE_PUBLISHED_NOT_MODELLED);
        CU_ASSERT_EQUAL_FATAL(table.why_count, 1);
        CU_ASSERT_EQUAL(table.whys[0].line, table.rows[0].line);
        CU_ASSERT_STRING_EQUAL(table.whys[0].text, "hypercube is none that is modelled");
        ronde_published_close(&table);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"rates_tell_collectives", rates_tell_collectives},
        {"what_rates_cannot_tell_is_asked_for", what_rates_cannot_tell_is_asked_for},
        {"the_factor_of_all_reduce_tells_ranks", the_factor_of_all_reduce_tells_ranks},
        {"names_tell_collectives", names_tell_collectives},
        {"the_caller_is_asked_before_names", the_caller_is_asked_before_names},
        {"ranks_are_counted", ranks_are_counted},
        {"the_caller_counts_ranks", the_caller_counts_ranks},
        {"a_rank_alone_is_said_so", a_rank_alone_is_said_so},
        {"versions_are_those_of_the_library", versions_are_those_of_the_library},
        {"settings_force", settings_force},
        {"tests_without_a_model_are_said_so", tests_without_a_model_are_said_so},
    };
    return suite_run("nccl_log_told", cases, sizeof cases / sizeof cases[0]);
}
