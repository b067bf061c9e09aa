/**
 * Logs of nccl-tests: what its versions print, what launchers and NCCL's own log put between, what a log does not say, and
 * what is refused with its line. Whole logs are in tests/data/nccl-logs.
 */
#include "support/files.h"
#include "support/heap.h"
#include "support/suite.h"

#include "ronde/field.h"
#include "ronde/published.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANKS_2                                                                                    \
    "#  Rank  0 Group  0 Pid  7 on  a device  0 [0x07] GPU\n"                                      \
    "#  Rank  1 Group  0 Pid  7 on  a device  1 [0x08] GPU\n"
#define HEAD                                                                                       \
    "#       size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw "       \
    "#wrong\n"                                                                                     \
    "#        (B)  (elements)  (us)  (GB/s)  (GB/s)  (us)  (GB/s)  (GB/s)\n"
#define TEST "# Collective test starting: all_reduce_perf\n"
#define ROW "1048576 262144 float sum -1 50.00 20.97 20.97 0 100.0 10.49 10.49 0\n"

static const char path[] = "log_of_a_test.txt";

static enum ronde_status read_as(const struct ronde_published_request *request, const char *text,
                                 struct ronde_published *table, struct ronde_error *error)
{
    struct ronde_published_request asked = *request;
    char folder[4096];
    *error = (struct ronde_error){.status = RONDE_OK};
    CU_ASSERT_FATAL(suite_source(folder, sizeof folder, "topologies/published"));
    if (text)
        CU_ASSERT_FATAL(files_write(path, text));
    asked.folder = folder;
    if (!asked.path)
        asked.path = path;
    const enum ronde_status status = ronde_published_open(&asked, ronde_mem_default(), table, error);
    if (text)
        CU_ASSERT_EQUAL(unlink(path), 0);
    if (status != RONDE_OK)
        suite_note("%s", error->message);
    return status;
}

static enum ronde_status read_text(const char *text, struct ronde_published *table,
                                   struct ronde_error *error)
{
    const struct ronde_published_request plain = {.path = NULL};
    return read_as(&plain, text, table, error);
}

static void refused(const char *text, uint32_t line, const char *says)
{
    struct ronde_published table;
    struct ronde_error error;
    CU_ASSERT_EQUAL(read_text(text, &table, &error), RONDE_BAD_INPUT);
    CU_ASSERT_EQUAL(error.line, line);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, says));
    ronde_published_close(&table);
}

/** A row that cannot be read, beside others that can. */
static void left_out(const char *text, uint32_t line, const char *says)
{
    struct ronde_published table;
    struct ronde_error error;
    CU_ASSERT_EQUAL(read_text(text, &table, &error), RONDE_OK);
    CU_ASSERT_EQUAL(table.log.unread_line, line);
    CU_ASSERT_EQUAL(table.log.unread_count, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(table.log.unread, says));
    CU_ASSERT(table.count > 0);
    ronde_published_close(&table);
}

/** A shipped log: how many rows, and what the first and the last of them are. */
static void whole_log(const char *name, size_t rows, const struct ronde_nccl_call *first,
                      const struct ronde_nccl_call *last, struct ronde_published *table)
{
    char file[4096], relative[128];
    struct ronde_error error;
    const struct ronde_published_request request = {.path = file};
    snprintf(relative, sizeof relative, "tests/data/nccl-logs/%s", name);
    CU_ASSERT_FATAL(suite_source(file, sizeof file, relative));
    CU_ASSERT_EQUAL_FATAL(read_as(&request, NULL, table, &error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(table->count, rows);
    const struct ronde_nccl_call *const expected[] = {first, last};
    for (int end = 0; end < 2; end++) {
        const struct ronde_nccl_call *call = &table->rows[end ? rows - 1 : 0].call;
        CU_ASSERT_EQUAL(call->collective, expected[end]->collective);
        CU_ASSERT_EQUAL(call->ranks, expected[end]->ranks);
        CU_ASSERT_EQUAL(call->nodes, expected[end]->nodes);
        CU_ASSERT_EQUAL(call->version, expected[end]->version);
        CU_ASSERT_EQUAL(call->bytes, expected[end]->bytes);
        CU_ASSERT_EQUAL(table->rows[end ? rows - 1 : 0].is_in_place, end == 1);
    }
    CU_ASSERT(table->log.is_log);
    CU_ASSERT_EQUAL(table->log.wrong_line + table->log.failure_line + table->log.separate_line +
                        table->log.unfinished_line,
                    0);
}

/* "res" and milliseconds, no units, no root. */
static void first_versions_count_milliseconds(void)
{
    struct ronde_published table;
    const struct ronde_nccl_call first = {RONDE_ALL_REDUCE, 2, 1, 204, 1024};
    const struct ronde_nccl_call last = {RONDE_ALL_REDUCE, 2, 1, 204, 1 << 26};
    whole_log("milliseconds.log", 10, &first, &last, &table);
    CU_ASSERT_DOUBLE_EQUAL(table.rows[0].measured_us, 20, .001);
    CU_ASSERT_EQUAL(table.log.told, RONDE_LOG_TOLD_RATES);
    CU_ASSERT_STRING_EQUAL(table.systems[0].name, "milliseconds");
    CU_ASSERT_STRING_EQUAL(table.log.gpu, "GeForce RTX 2080 Ti");
    ronde_published_close(&table);
}

/* "error" for "#wrong", no root, one process of 8 GPUs; nothing names the collective. */
static void rates_tell_the_collective(void)
{
    struct ronde_published table;
    const struct ronde_nccl_call first = {RONDE_ALL_REDUCE, 8, 1, 0, 1024};
    const struct ronde_nccl_call last = {RONDE_ALL_REDUCE, 8, 1, 0, 1 << 30};
    whole_log("one-process.log", 12, &first, &last, &table);
    CU_ASSERT_EQUAL(table.log.told, RONDE_LOG_TOLD_RATES);
    CU_ASSERT_EQUAL(table.rows[11].line, 21);
    ronde_published_close(&table);
}

/* mpirun's prefixes, NCCL's log between and in the middle of a row, which ends on a later line; N/A for #wrong. */
static void launchers_and_nccl_may_write_between(void)
{
    char value[32];
    struct ronde_published table;
    const struct ronde_nccl_call first = {RONDE_ALL_REDUCE, 8, 2, 218, 1024};
    const struct ronde_nccl_call last = {RONDE_ALL_REDUCE, 8, 2, 218, 1 << 30};
    whole_log("mpirun-tags.log", 12, &first, &last, &table);
    CU_ASSERT_EQUAL(table.rows[2].call.bytes, 16384);
    CU_ASSERT_DOUBLE_EQUAL(table.rows[2].measured_us, 40.36, 1e-9);
    CU_ASSERT_EQUAL(table.rows[0].wish.algorithm, RONDE_NCCL_RING);
    CU_ASSERT_EQUAL(table.rows[0].wish.protocol, RONDE_NCCL_PROTOCOL_COUNT);
    CU_ASSERT_EQUAL(table.log.via[RONDE_LOG_VIA_GDR], 1);
    CU_ASSERT_EQUAL(table.log.via[RONDE_LOG_VIA_P2P], 1);
    CU_ASSERT_EQUAL(table.log.via[RONDE_LOG_VIA_SOCKET] + table.log.via[RONDE_LOG_VIA_NET], 0);
    CU_ASSERT_PTR_NOT_NULL(ronde_log_setting(&table.log, "NCCL_ALGO", value, sizeof value));
    CU_ASSERT_STRING_EQUAL(value, "Ring");
    CU_ASSERT_PTR_NULL(ronde_log_setting(&table.log, "NCCL_AL", value, sizeof value));
    ronde_published_close(&table);
}

/* Two programs after each other: timestamps, columns per iteration, srun's prefixes, a root. */
static void runs_follow_each_other(void)
{
    struct ronde_published table;
    const struct ronde_nccl_call first = {RONDE_ALL_GATHER, 4, 1, 227, 1024};
    const struct ronde_nccl_call last = {RONDE_BROADCAST, 2, 2, 229, 1 << 30};
    whole_log("two-runs.log", 24, &first, &last, &table);
    CU_ASSERT_EQUAL(table.rows[11].call.collective, RONDE_ALL_GATHER);
    CU_ASSERT_EQUAL(table.rows[12].call.collective, RONDE_BROADCAST);
    ronde_published_close(&table);
}

/* -J lists one device a process, whatever that has; nwrong may be null. */
static void json_gives_the_same_rows(void)
{
    const char *reason;
    struct ronde_published table;
    const struct ronde_nccl_call first = {RONDE_ALL_REDUCE, 16, 2, 227, 1024};
    const struct ronde_nccl_call last = {RONDE_ALL_REDUCE, 16, 2, 227, 1 << 30};
    if (!ronde_json_available(&reason)) {
        suite_skip("%s", reason);
        return;
    }
    whole_log("two-nodes.json", 12, &first, &last, &table);
    CU_ASSERT_EQUAL(table.rows[0].wish.protocol, RONDE_NCCL_SIMPLE);
    CU_ASSERT_DOUBLE_EQUAL(table.rows[0].measured_us, 60.005689, 1e-6);
    CU_ASSERT_STRING_EQUAL(table.log.gpu, "NVIDIA H100 80GB HBM3");
    ronde_published_close(&table);
}

static void json_that_is_none_of_it_is_refused(void)
{
    const char *reason;
    if (!ronde_json_available(&reason)) {
        suite_skip("%s", reason);
        return;
    }
    refused("{\"a\": 1,\n \"b\": }", 2, ":2: not a JSON object");
    refused("{\"a\": 1}", 1, "no results");
    refused("{\"results\": []}", 1, "no results");
    refused("{\"results\": [{\"size\": 1}]}", 1, "nthreads");
#define CONFIG "{\"config\": {\"nthreads\": 1, \"ngpus\": 2}, \"args\": [\"all_reduce_perf\"], "
    refused(CONFIG "\"results\": [{}]}", 1, "results[0] has no size");
    refused(CONFIG "\"results\": [{\"size\": 8, \"in_place\": {\"time\": 1}}]}", 1,
            "results[0].in_place has no");
    refused(CONFIG "\"results\": [{\"size\": 1048576, \"in_place\": {\"time\": 50, \"alg_bw\": 1, "
                   "\"bus_bw\": 1}}]}",
            1, "contradicts");
}

/* A row is refused with its line where it does not go on as it began, or contradicts itself. */
static void malformed_rows_cost_themselves_or_are_refused(void)
{
#define MOST RANKS_2 TEST HEAD ROW
    left_out(MOST "2097152 524288 float sum -1 50.00 41.94\n", 7, "3 cells behind");
    left_out(MOST "2097152 524288 float sum -1 50.00 41.94 41.94 0 50.00\n", 7, "cells behind");
    left_out(MOST "2097152 524288 float sum -1 50.0x 41.94 41.94 0 50.0 41.94 41.94 0\n", 7,
             "50.0x");
    left_out(MOST "2097152 524288 float sum -1 50.00 41.94 41.94 zero\n", 7, "4 cells");
    left_out(MOST "2097152 524288 float sum -1 nan 41.94 41.94 0\n", 7, "\"nan\"");
    left_out(MOST "2097152 524288 float sum -1 -5 41.94 41.94 0\n", 7, "\"-5\"");
    left_out(MOST "2097152 524288 float sum -1 50.00 90.00 90.00 0\n", 7, "contradicts");
    left_out(MOST "2097152 524288 float sum -1 0.00 41.94 41.94 0\n", 7, "a time of 0");
    left_out(MOST "99999999999999999999 524288 float sum -1 50.00 41.94 41.94 0\n", 7, "too many");
    left_out(MOST "2097152 524288 float sum -1 50.00 41.94 41.94 0\n", 7, "half of its times");
    refused("no log at all\n", 0, "no row");
    refused("", 0, "no row");
}

/* Tags inside lines, RCCL's columns, groups that run beside each other, hosts of one name, processes that run alone. */
static void logs_of_clusters_are_read_as_they_come(void)
{
#define DEVICE(rank, group, device)                                                                \
    "#  Rank  " rank " Group  " group " Pid 7 on  n device  " device " [0000:1b:00] GPU\n"
    static const struct {
        const char *text;
        uint32_t ranks, nodes, rows;
        bool is_separate;
    } logs[] = {
        {"[0]" RANKS_2 TEST "[0]" HEAD
         "[0]1048576 262144 float sum -1[0] 50.00 20.97 20.97 0[0] 50.00 20.97 20.97 0\n",
         2, 1, 2, false},
        {RANKS_2 TEST HEAD "[1,0]<stdout>:1048576 262144 float [1,0]<stdout>:sum -1 50.00 20.97 "
                           "20.97 0 50.00 20.97 20.97 0\n",
         2, 1, 2, false},
        {RANKS_2 TEST "# size count type redop root time algbw busbw #wrong time algbw busbw "
                      "#wrong algo proto nchannels\n"
                      "1048576 262144 float sum -1 50 20.97 20.97 0 50 20.97 20.97 0 RING LL 24\n",
         2, 1, 2, false},
        {RANKS_2 TEST HEAD "1048576 262144 float sum -1 50 20.97 20.97 N/A N/A N/A N/A N/A TREE\n",
         2, 1, 1, false},
        {DEVICE("0", "0", "0") DEVICE("1", "0", "1") DEVICE("2", "1", "2") DEVICE("3", "1", "3")
             TEST HEAD "1048576 262144 float sum -1 50.00 20.97 20.97 0 50.00 20.97 20.97 0\n",
         2, 1, 2, false},
        {DEVICE("0", "0", "0") DEVICE("1", "0", "1") DEVICE("2", "0", "0") DEVICE("3", "0", "1")
             TEST HEAD "1048576 262144 float sum -1 50.00 20.97 31.46 0 50.00 20.97 31.46 0\n",
         4, 2, 2, false},
        {DEVICE("0", "0", "0") DEVICE("1", "0", "0") TEST HEAD
         "1048576 262144 float sum -1 50.00 20.97 20.97 0 50.00 20.97 20.97 0\n",
         2, 1, 2, false},
        {"# nThread 1 nGpus 1 minBytes 8\n" DEVICE("0", "0", "0") TEST HEAD
         "# nThread 1 nGpus 1 minBytes 8\n" DEVICE("0", "0", "0") TEST HEAD
         "1048576 262144 float sum -1 50.00 20.97 0.00 0 50.00 20.97 0.00 0\n",
         1, 1, 2, true},
    };
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        struct ronde_published table;
        struct ronde_error error;
        CU_ASSERT_EQUAL(read_text(logs[i].text, &table, &error), RONDE_OK);
        CU_ASSERT_EQUAL(table.count, logs[i].rows);
        CU_ASSERT_EQUAL(table.log.unread_count, 0);
        CU_ASSERT_EQUAL(table.log.separate_line != 0, logs[i].is_separate);
        if (table.count > 0) {
            CU_ASSERT_EQUAL(table.rows[0].call.ranks, logs[i].ranks);
            CU_ASSERT_EQUAL(table.rows[0].call.nodes, logs[i].nodes);
        }
        if (table.count == 0 || table.rows[0].call.nodes != logs[i].nodes || table.log.unread_count)
            suite_note("log %zu: %zu rows, %s", i, table.count, table.log.unread);
        ronde_published_close(&table);
    }
}

/* What a log does not say, its reader asks for: ranks, collective; and takes from the request. */
static void what_is_not_said_is_asked_for(void)
{
    struct ronde_published table;
    struct ronde_error error;
    const struct ronde_published_request request = {.has_collective = true,
                                                    .collective = RONDE_ALL_GATHER,
                                                    .ranks = 8,
                                                    .nodes = 2};
    static const char half[] =
        HEAD "1048576 16384 float none -1 50.00 20.97 18.35 0 N/A N/A N/A N/A\n";
    refused(HEAD ROW, 3, "-N says it");
    refused(RANKS_2 HEAD "1048576 16384 float none -1 50.00 20.97 10.49 0 N/A N/A N/A N/A\n", 5,
            "COLLECTIVE");
    CU_ASSERT_EQUAL_FATAL(read_as(&request, half, &table, &error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(table.count, 1);
    CU_ASSERT_EQUAL(table.rows[0].call.collective, RONDE_ALL_GATHER);
    CU_ASSERT_EQUAL(table.rows[0].call.ranks, 8);
    CU_ASSERT_EQUAL(table.rows[0].call.nodes, 2);
    ronde_published_close(&table);
    refused("#  Rank  0 on  a device  0 [0x07] GPU\n#  Rank  1 on  b device  1 [0x08] GPU\n"
            "#  Rank  2 on  b device  1 [0x08] GPU\n" TEST HEAD ROW,
            7, "not equally many");
}

/* A build log names all programs; the rates say which it cannot have been. */
static void words_count_where_the_rates_agree(void)
{
    struct ronde_published table;
    struct ronde_error error;
    static const char ranks[] =
        "nvcc -o build/reduce_scatter_perf\nComm 0x1 rank 0 nranks 4 cudaDev 0\n" HEAD
        "1048576 262144 float sum -1 50.00 20.97 31.46 0 100.0 10.49 15.73 0\n";
    CU_ASSERT_EQUAL_FATAL(read_text(ranks, &table, &error), RONDE_OK);
    CU_ASSERT_EQUAL(table.rows[0].call.collective, RONDE_ALL_REDUCE);
    CU_ASSERT_EQUAL(table.rows[0].call.ranks, 4);
    CU_ASSERT_EQUAL(table.log.told, RONDE_LOG_TOLD_RATES);
    ronde_published_close(&table);
}

/* Wrong results, failures, runs that end in a row, processes that do not know each other. */
static void troubles_are_facts(void)
{
    struct ronde_published table;
    struct ronde_error error;
    CU_ASSERT_EQUAL_FATAL(read_text(RANKS_2 TEST HEAD
                                    "1048576 262144 float sum -1 50.00 20.97 20.97 3\n",
                                    &table, &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL(table.log.wrong_line, 6);
    ronde_published_close(&table);
    CU_ASSERT_EQUAL_FATAL(read_text(RANKS_2 TEST HEAD ROW "# Out of bounds values : 2 FAILED\n",
                                    &table, &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL(table.log.wrong_line, 7);
    ronde_published_close(&table);
    CU_ASSERT_EQUAL_FATAL(read_text(RANKS_2 TEST HEAD ROW "2097152 524288 float sum -1", &table,
                                    &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL(table.log.unfinished_line, 7);
    CU_ASSERT_EQUAL(table.count, 2);
    ronde_published_close(&table);
    CU_ASSERT_EQUAL_FATAL(read_text(RANKS_2 "a: Test NCCL failure common.cu:958 'unhandled'\n",
                                    &table, &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL(table.log.failure_line, 3);
    CU_ASSERT_EQUAL(table.count, 0);
    ronde_published_close(&table);
#define LONE                                                                                       \
    "# nThread 1 nGpus 1 minBytes 8\n# Using devices\n#  Rank  0 Pid  7 on  a device  0 [0x1] G\n"
    CU_ASSERT_EQUAL_FATAL(read_text(TEST LONE LONE HEAD
                                    "1048576 262144 float sum -1 5.00 209.7 0.00 0\n",
                                    &table, &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL(table.log.separate_line, 5);
    CU_ASSERT_EQUAL(table.rows[0].call.ranks, 1);
    CU_ASSERT_EQUAL(table.rows[0].state, RONDE_PUBLISHED_NOT_MODELLED);
    ronde_published_close(&table);
}

/* Tables of the same file name are still tables, and a log may begin with any text. */
static void the_content_tells_logs_from_tables(void)
{
    struct ronde_published table;
    struct ronde_error error;
    CU_ASSERT_EQUAL_FATAL(
        read_text("system,collective,algorithm,protocol,gpus,nodes,bytes,time_us,algbw_GBps,"
                  "nccl_version,notes,inplace\n"
                  "a,all_reduce,auto,auto,8,1,1048576,50,20.97,2.29.2,,1\n",
                  &table, &error),
        RONDE_OK);
    CU_ASSERT(!table.log.is_log && table.rows[0].is_in_place);
    ronde_published_close(&table);
    CU_ASSERT_EQUAL_FATAL(
        read_text("\nmpirun, on a,b\n\033[32mNCCL\033[0m version 2.21.5\n" RANKS_2 TEST HEAD
                  "\033[1m" ROW,
                  &table, &error),
        RONDE_OK);
    CU_ASSERT(table.log.is_log);
    CU_ASSERT_EQUAL(table.count, 2);
    CU_ASSERT_EQUAL(table.rows[0].call.version, 221);
    ronde_published_close(&table);
}

/* Every allocation fails once: no memory, nothing leaks. */
static void memory_may_run_out_anywhere(void)
{
    char file[4096];
    const struct ronde_published_request request = {.path = file, .folder = "."};
    enum ronde_status status = RONDE_NO_MEMORY;
    CU_ASSERT_FATAL(suite_source(file, sizeof file, "tests/data/nccl-logs/two-runs.log"));
    for (size_t at = 0; status == RONDE_NO_MEMORY && at < 100; at++) {
        struct heap heap = heap_start(at, true);
        const struct ronde_mem mem = heap_mem(&heap);
        struct ronde_published table;
        struct ronde_error error = {0};
        status = ronde_published_open(&request, &mem, &table, &error);
        CU_ASSERT(status == (at < heap.requests ? RONDE_NO_MEMORY : RONDE_OK));
        ronde_published_close(&table);
        CU_ASSERT_EQUAL(heap.live_blocks + heap.wrong_sizes, 0);
    }
    CU_ASSERT_EQUAL(status, RONDE_OK);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"first_versions_count_milliseconds", first_versions_count_milliseconds},
        {"rates_tell_the_collective", rates_tell_the_collective},
        {"launchers_and_nccl_may_write_between", launchers_and_nccl_may_write_between},
        {"runs_follow_each_other", runs_follow_each_other},
        {"json_gives_the_same_rows", json_gives_the_same_rows},
        {"json_that_is_none_of_it_is_refused", json_that_is_none_of_it_is_refused},
        {"malformed_rows_cost_themselves_or_are_refused",
         malformed_rows_cost_themselves_or_are_refused},
        {"logs_of_clusters_are_read_as_they_come", logs_of_clusters_are_read_as_they_come},
        {"what_is_not_said_is_asked_for", what_is_not_said_is_asked_for},
        {"words_count_where_the_rates_agree", words_count_where_the_rates_agree},
        {"troubles_are_facts", troubles_are_facts},
        {"the_content_tells_logs_from_tables", the_content_tells_logs_from_tables},
        {"memory_may_run_out_anywhere", memory_may_run_out_anywhere},
    };
    return suite_run("nccl_log", cases, sizeof cases / sizeof cases[0]);
}
