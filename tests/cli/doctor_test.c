/**
 * The command doctor: exit code 0 for what a machine should give, 1 for what it should not, 2 for what cannot be read, is
 * missing or is of other GPUs; what it prints for people and for programs.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include "ronde/field.h"
#include "ronde/topologies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOGS RONDE_SOURCE_DIR "/tests/data/nccl-logs"
#define LOG RONDE_SCRATCH_DIR "/doctor_test.log"
#define MACHINE RONDE_SCRATCH_DIR "/doctor_test.txt"

/** 8 H100: NVLS at 450 GB/s less what NCCL takes of it; here four sizes of what the model says. */
#define ABOVE                                                                                      \
    "# nThread 1 nGpus 8 minBytes 1024\n"                                                          \
    "# Collective test starting: all_reduce_perf\n"                                                \
    "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"

static void write_text(const char *path, const char *text)
{
    CU_ASSERT_FATAL(files_write(path, text));
}

/** 1 GiB and 4 GiB at a bus bandwidth on 8 ranks. */
static void write_log(const char *above, double busbw_GBps)
{
    FILE *file = fopen(LOG, "w");
    CU_ASSERT_FATAL(file != NULL);
    fputs(above, file);
    for (int k = 28; k <= 32; k++) {
        const double bytes = (double)(1ull << k), rate_GBps = busbw_GBps / 1.75;
        fprintf(file, "%.0f %.0f float sum -1 %.1f %.2f %.2f 0\n", bytes, bytes / 4,
                bytes / rate_GBps / 1e3, rate_GBps, busbw_GBps);
    }
    fclose(file);
}

static void check_says(const char *arguments, int code, const char *expected)
{
    char whole[4096];
    snprintf(whole, sizeof whole, "doctor %s", arguments);
    said_expect(whole, code, expected);
}

static void fine_is_0_and_wrong_is_1(void)
{
    write_log(ABOVE, 470);
    check_says(LOG " --topo H100-cluster01 -N 8", 0, "FINE: this is what the machine should give");
    write_log(ABOVE, 190);
    check_says(LOG " --topo H100-cluster01 -N 8", 1, "WRONG: this is not what");
    check_says(LOG " --topo H100-cluster01", 1, "half of the NVLinks are missing");
    check_says(LOG " --topo H100-cluster01", 1, "  yes\n");
    check_says(LOG " --topo H100-cluster01", 1, "to make sure: nvidia-smi nvlink");
    check_says(LOG " --system H100-cluster01", 1, "WRONG");
    check_says(LOG " --topo H100-cluster01 --csv", 1, "range,false,all_reduce,8,1,auto,auto");
}

/* Logs of one machine tell together; what one of them says of itself has its name. */
static void several_logs_are_of_one_machine(void)
{
    static const char second[] = RONDE_SCRATCH_DIR "/doctor_test_2.log";
    static const char both[] =
        LOG " " RONDE_SCRATCH_DIR "/doctor_test_2.log all_gather --topo H100-cluster01";
    write_log(ABOVE, 190);
    write_text(second, "# nThread 1 nGpus 8 minBytes 1024\n"
                       "# size count type redop root time algbw busbw #wrong\n"
                       "1073741824 33554432 float none -1 3000.0 357.91 313.17 0\n"
                       "4294967296 134217728 float none -1 12000.0 357.91 313.17 3\n");
    check_says(both, 1, "doctor_test_2.log:4: wrong results");
    check_says(both, 1, "# WRONG: " RONDE_SCRATCH_DIR "/doctor_test_2.log:4: wrong");
    check_says(both, 1, LOG " and 1 more on H100-cluster01 (hopper)\n");
    check_says(both, 1, "    all_gather     8     1 ");
    check_says(both, 1, "    all_reduce     8     1 ");
    check_says(LOG " none.log --topo H100-cluster01", 2, "none.log: No such file");
    remove(second);
}

static void programs_read_objects(void)
{
    const char *reason;
    if (!ronde_json_available(&reason)) {
        suite_skip("%s", reason);
        return;
    }
    write_log(ABOVE, 190);
    check_says(LOG " --topo H100-cluster01 --json", 1, "\"kind\": \"range\"");
    check_says(LOG " --topo H100-cluster01 --json", 1, "\"cause\": \"nvlink_half\"");
    check_says(LOG " --topo H100-cluster01 --json", 1, "\"is_wrong\": true, \"healthy\": ");
    /* Written for the test: its last size has two thirds of what the machine gives, which may be the model's error. */
    check_says(LOGS "/two-nodes.json --topo H100-cluster01 --json", 0, "\"kind\": \"verdict\"");
    check_says(LOGS "/two-nodes.json --topo H100-cluster01", 0, "# PERHAPS FINE: ");
}

/* Sizes far beyond what the model is ever off by decide, though most are as they should be and no fault explains them. */
static void sizes_that_are_far_too_slow_are_wrong(void)
{
    for (int hole = 20; hole <= 32; hole += 3) {
        FILE *file = fopen(LOG, "w");
        CU_ASSERT_FATAL(file != NULL);
        fputs(ABOVE, file);
        for (int k = 20; k <= 32; k++) {
            const double bytes = (double)(1ull << k);
            const double us = (45 + bytes * 1.75 / 470e3) * (k == hole ? 40 : 1);
            fprintf(file, "%.0f %.0f float sum -1 %.1f %.2f %.2f 0\n", bytes, bytes / 4, us,
                    bytes / us / 1e3, 1.75 * bytes / us / 1e3);
        }
        fclose(file);
        check_says(LOG " --topo H100-cluster01 -N 8", 1, "times as long as it should, far beyond");
    }
}

/* Rows of a table that contradict themselves are named; the others are diagnosed. */
static void rows_left_out_are_named(void)
{
    static const char table[] = RONDE_SCRATCH_DIR "/doctor_test.csv";
    char text[2048];
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "system,collective,gpus,nodes,bytes,time_us\n"
                                   "x,all_reduce,8,3,1024,10\n");
    for (int k = 28; k <= 32; k++)
        used += (size_t)snprintf(text + used, sizeof text - used, "x,all_reduce,8,1,%.0f,%.1f\n",
                                 (double)(1ull << k), (double)(1ull << k) / 1e3 / 250);
    write_text(table, text);
    said_expect("doctor " RONDE_SCRATCH_DIR "/doctor_test.csv --topo H100-cluster01", 0,
                "doctor_test.csv:2: 8 gpus are not equally many on 3 nodes (1 row)");
    said_expect("doctor " RONDE_SCRATCH_DIR "/doctor_test.csv --topo H100-cluster01", 0, "FINE");
    remove(table);
}

/* Platform files are machines, too. */
static void platforms_are_machines(void)
{
    if (!suite_can_read_platforms())
        return;
    write_log(ABOVE, 470);
    check_says(LOG " --topo dgx-h100", 0, "(hopper)");
    check_says(LOG " --topo crossbar-64", 2, "ronde.node_hosts");
}

/* What a log says is wrong by itself needs no numbers. */
static void troubles_of_the_log_are_wrong(void)
{
    write_text(LOG, ABOVE "1073741824 268435456 float sum -1 3998.0 268.57 469.99 7\n");
    check_says(LOG " --topo H100-cluster01", 1, LOG ":4: wrong results");
    check_says(LOG " --topo H100-cluster01", 1, "# WRONG: " LOG ":4: wrong results");
    check_says(LOG " --topo H100-cluster01", 1, "; the times are what the machine should give");
    write_text(LOG, ABOVE "host: Test NCCL failure common.cu:958 'unhandled system error'\n");
    check_says(LOG " --topo H100-cluster01", 1, "# WRONG: " LOG ":4: host: Test NCCL failure");
#define LONE                                                                                       \
    "# nThread 1 nGpus 1 minBytes 8\n# Using devices\n#  Rank  0 Pid  7 on  a device  0 [0x1] G\n"
    write_text(LOG, LONE LONE "# size count type redop root time algbw busbw #wrong\n"
                              "1048576 262144 float sum -1 5.00 209.7 0.00 0\n");
    check_says(LOG " --topo H100-cluster01", 1, "MPI=1");
}

static void what_cannot_be_diagnosed_is_2(void)
{
    check_says("", 2, "which log is missing");
    check_says(RONDE_SCRATCH_DIR "/none.log --topo H100-cluster01", 2, "none.log");
    write_log(ABOVE, 470);
    check_says(LOG, 2, "the machine is missing");
    check_says(LOG " --topo H100-cluster02", 2, "H100-cluster02");
    check_says(LOG " all_reduction --topo H100-cluster01", 2, "all_reduce");
    check_says(LOG " --topo A6000-NV-4", 2, "A6000-NV-4 is described without NICs");
    write_text(LOG, ABOVE "1073741824 268435456 float sum\n");
    check_says(LOG " --topo H100-cluster01", 1, "a row without times");
    write_text(LOG, ABOVE "1073741824 268435456 float sum -1 3998.0 268.57\n");
    check_says(LOG " --topo H100-cluster01", 2, LOG ":4: 3 cells");
    check_says(LOGS "/one-process.log --topo H100-cluster01", 2, "\"Tesla V100-SXM2-32GB\" (volta)");
    check_says(LOGS "/table.csv --topo H100-cluster01", 2, "--system names one");
    write_text(LOG, "# nThread 1 nGpus 8\n# Collective test starting: hypercube_perf\n"
                    "# size count type redop root time algbw busbw #wrong\n"
                    "1073741824 33554432 float none -1 3998.0 268.57 235.00 0\n");
    check_says(LOG " --topo H100-cluster01", 2, "no row of at least 1 KiB that the model has");
}

/** A table of 8 H100: two set-ups of a call, and one that its source calls faulty. */
static void of_several_set_ups_the_fastest_decides(void)
{
    write_text(LOG, "system,gpus,nodes,collective,bytes,time_us,notes\n"
                    "box,8,1,all_reduce,1073741824,4150,set-up 1\n"
                    "box,8,1,all_reduce,1073741824,16600,set-up 2\n"
                    "box,8,1,all_reduce,4294967296,16400,set-up 1\n"
                    "box,8,1,all_reduce,4294967296,65600,set-up 2\n"
                    "box,8,1,all_reduce,4294967296,164000,set-up 3; FAULTY config\n");
    check_says(LOG " --topo H100-cluster01", 0, "# FINE");
    check_says(LOG " --topo H100-cluster01", 0,
               ":3: slower by 4.0 times than another run of the same call: its set-up, or other "
               "load; of 2 such rows the fastest run decides");
    check_says(LOG " --topo H100-cluster01", 0, "rows marked FAULTY");
    check_says(LOG " --topo H100-cluster01", 0, "WRONG: 4G takes 10 times");
    write_text(LOG, "system,gpus,nodes,collective,bytes,time_us,notes\n"
                    "box,8,1,all_reduce,4294967296,164000,FAULTY\n");
    check_says(LOG " --topo H100-cluster01", 1, "WRONG: 4G takes 10 times");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"fine_is_0_and_wrong_is_1", fine_is_0_and_wrong_is_1},
        {"of_several_set_ups_the_fastest_decides", of_several_set_ups_the_fastest_decides},
        {"sizes_that_are_far_too_slow_are_wrong", sizes_that_are_far_too_slow_are_wrong},
        {"rows_left_out_are_named", rows_left_out_are_named},
        {"several_logs_are_of_one_machine", several_logs_are_of_one_machine},
        {"programs_read_objects", programs_read_objects},
        {"platforms_are_machines", platforms_are_machines},
        {"troubles_of_the_log_are_wrong", troubles_of_the_log_are_wrong},
        {"what_cannot_be_diagnosed_is_2", what_cannot_be_diagnosed_is_2},
    };
    return suite_run("doctor", cases, sizeof cases / sizeof cases[0]);
}
