/**
 * Habits of nccl-tests: its table with the same columns and meanings, its programs by name, its options.
 */
#include "support/built_with.h"
#include "support/said.h"
#include "support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER RONDE_SCRATCH_DIR "/nccl_tests"

/* The program of that name, a link to `ronde` made now. */
static char *run_link(const char *name, const char *arguments, int code)
{
    char command[4096];
    snprintf(command, sizeof command, "mkdir -p '%s' && ln -sf '%s' '%s/%s' && '%s/%s' %s 2>&1",
             FOLDER, suite_ronde(), FOLDER, name, FOLDER, name, arguments);
    return said_by(command, code);
}

/* A row of the table, word by word as awk has it. */
struct row {
    double size, count;
    char type[16], redop[16];
    double root;
    char result[2][4][16]; /* time, algbw, busbw, #wrong */
    char algorithm[32], protocol[16];
};

static bool parse_row(const char *line, struct row *row)
{
    return sscanf(line, "%lf %lf %15s %15s %lf %15s %15s %15s %15s %15s %15s %15s %15s %31s %15s",
                  &row->size, &row->count, row->type, row->redop, &row->root, row->result[0][0],
                  row->result[0][1], row->result[0][2], row->result[0][3], row->result[1][0],
                  row->result[1][1], row->result[1][2], row->result[1][3], row->algorithm,
                  row->protocol) == 15;
}

/* algbw = size / time, busbw = algbw * factor, as far as the printed digits go. */
static void expect_rates(const struct row *row, double factor)
{
    for (int p = 0; p < 2; p++) {
        const double time_us = atof(row->result[p][0]), algbw = atof(row->result[p][1]);
        const double rate = row->size / time_us / 1e3;
        CU_ASSERT(fabs(algbw - rate) <= 0.006 + 0.05 * rate);
        CU_ASSERT(fabs(atof(row->result[p][2]) - algbw * factor) <= 0.012 + 0.01 * algbw);
        CU_ASSERT_STRING_EQUAL(row->result[p][3], "0");
    }
}

static void columns_are_those_of_nccl_tests(void)
{
    static const char head[] =
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong     "
        "time   algbw   busbw  #wrong ";
    char *said =
        said_by_ronde("run all_reduce -b 1K -e 64K -f 4 -g 4 -a ring --backend host -n 3 -w 0", 0);
    unsigned rows = 0;
    CU_ASSERT_PTR_NOT_NULL(strstr(said, head));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(said, "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : "));
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "nGpus 4 minBytes 1024 maxBytes 65536 step: 4(factor)"));
    for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n")) {
        struct row row;
        if (line[0] == '#')
            continue;
        CU_ASSERT_FATAL(parse_row(line, &row));
        CU_ASSERT_EQUAL(row.size, 4 * row.count);
        CU_ASSERT_STRING_EQUAL(row.type, "float");
        CU_ASSERT_STRING_EQUAL(row.redop, "sum");
        CU_ASSERT_EQUAL(row.root, -1);
        CU_ASSERT_STRING_EQUAL(row.algorithm, "ring");
        CU_ASSERT_STRING_EQUAL(row.protocol, "simple");
        expect_rates(&row, 1.5);
        rows++;
    }
    CU_ASSERT_EQUAL(rows, 4);
    free(said);
}

static void words_are_nccl_s(void)
{
    said_has(said_by_ronde("run broadcast -b 64 -e 64 -g 3 -d half -r 2 --backend host -n 1 -w 0", 0),
             "          64            32      half    none       2  ");
    said_has(said_by_ronde(
                 "run all_reduce --style nccl-tests -N 2 -b 64 -e 64 -o premul_sum -d bfloat16 "
                 "--backend host -n 1 -w 0",
                 0),
             "  bfloat16  mulsum      -1  ");
    said_has(said_by_ronde("run all_to_all -b 64 -e 64 -g 2 --backend host -n 1 -w 0", 0),
             "      N/A     N/A     N/A     N/A  ");
    said_has(said_by_ronde("run all_reduce --style nccl -N 2 --backend host", 2),
             "is not nccl-tests");
}

static void ranks_are_threads_times_gpus(void)
{
    said_has(said_by_ronde("run all_reduce -t 2 -g 3 -b 64 -e 64 --backend host -n 1 -w 0", 0),
             "# Using 6 ranks");
    said_has(said_by_ronde("run all_reduce -g 3 -N 2 -b 64 -e 64 --backend host", 2),
             "which -N is not");
    said_has(said_by_ronde("run all_reduce -g 2 -b 64 -e 64 --backend proc --rank 0 --join x:1", 2),
             "a process is one rank here");
}

static void links_measure_what_their_names_say(void)
{
    static const char *const names[] = {"all_reduce_perf",     "all_gather_perf", "broadcast_perf",
                                        "reduce_scatter_perf", "reduce_perf",     "alltoall_perf",
                                        "gather_perf",         "scatter_perf",    "sendrecv_perf"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char end[64];
        snprintf(end, sizeof end, "# Collective test concluded: %s\n", names[i]);
        said_has(run_link(names[i], "-b 1K -e 4K -f 2 -g 2 -n 2", 0), end);
    }
}

static void links_have_the_defaults_of_nccl_tests(void)
{
    said_has(run_link("all_reduce_perf", "-b 1K -e 3K -i 1K -n 1", 0),
             "# nThread 1 nGpus 1 minBytes 1024 maxBytes 3072 step: 1024(bytes) warmup iters: 1 "
             "iters: 1 agg iters: 1 validation: 1");
    said_has(run_link("all_reduce_perf", "--minbytes=1K --maxbytes 1K -g 2 -c 0 -n 1", 0),
             "     N/A");
    said_has(run_link("reduce_perf", "-b 1K -e 1K -g 2 -r -1 -n 1", 0), "float     sum       1  ");
    said_has(run_link("all_reduce_perf", "--help", 0), "-g, --ngpus");
    said_has(run_link("hypercube_perf", "-g 2", 2), "hypercube_perf: there is no such test");
}

static void options_without_a_meaning_are_said(void)
{
    static const struct {
        const char *arguments;
        int code;
        const char *part;
    } rows[] = {
        {"-b 64 -e 64 -n 1 -p 1", 0, "-p 1 changes nothing here: ranks always start together"},
        {"-b 64 -e 64 -n 1 -z 0 -y 0 -G 0 -C 0 -m 1 -N 1 -T 0", 0, "concluded: all_reduce_perf"},
        {"-b 64 -e 64 -G 1", 2, "-G 1: not here: no graph is launched"},
        {"-J out.json", 2, "--json --output FILE"},
        {"-Q", 2, "unknown option -Q"},
        {"-b", 2, "a value is missing behind -b"},
        {"-b 64 all", 2, "unexpected word \"all\""},
        {"-b 8 -e 4", 2, "largest size 4 is less than smallest size 8"},
        {"-o nosuch", 2, "unknown operator"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        said_has(run_link("all_reduce_perf", rows[i].arguments, rows[i].code), rows[i].part);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"columns_are_those_of_nccl_tests", columns_are_those_of_nccl_tests},
        {"words_are_nccl_s", words_are_nccl_s},
        {"ranks_are_threads_times_gpus", ranks_are_threads_times_gpus},
        {"links_measure_what_their_names_say", links_measure_what_their_names_say},
        {"links_have_the_defaults_of_nccl_tests", links_have_the_defaults_of_nccl_tests},
        {"options_without_a_meaning_are_said", options_without_a_meaning_are_said},
    };
    return suite_run_with_components("nccl_tests", cases, sizeof cases / sizeof cases[0]);
}
