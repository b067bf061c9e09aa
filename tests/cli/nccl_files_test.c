/**
 * NCCL's files from the command: the rings and trees of its log in place of an algorithm, what its tuner plugin and its graph
 * file take from a plan and a schedule.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include "ronde/topologies.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG(name) "--nccl-log '" RONDE_SOURCE_DIR "/tests/data/nccl-graph/" name "'"
#define BROKEN RONDE_SCRATCH_DIR "/nccl_files_test.log"

static void logs_stand_where_algorithms_do(void)
{
    said_expect("check all_reduce " LOG("2x4.log"), 0, "all_reduce ring on 8 ranks: proved");
    said_expect("check all_reduce -a tree " LOG("2x4.log"), 0, "nccl_tree on 8 ranks: proved");
    said_expect("compile all_gather " LOG("1x4-init.log"), 0, "order 0 1 3 2");
    said_expect("run all_reduce -a tree --backend host -b 64 -e 4K -n 1 -w 0 " LOG(
                    "3x2-mpirun.log"),
                0, "# Out of bounds values : 0 OK");
    said_expect("run broadcast -r 3 --backend host -b 64 -e 4K -n 1 -w 0 " LOG("2x4.log"), 0,
                "# Out of bounds values : 0 OK");
    const char *reason;
    if (!ronde_topologies_available(&reason)) {
        suite_note("no platform to replay on: %s", reason);
        return;
    }
    said_expect("sim all_reduce --topo crossbar-64 -b 1M -e 1M -a tree " LOG("2x4.log"), 0,
                "# ronde 0.1.0: all_reduce nccl_tree, 8 ranks");
    said_expect("price all_reduce --topo crossbar-64 -b 1M -e 1M " LOG("2x4.log"), 0,
                "all_reduce ring, 8 ranks");
}

static void what_the_log_decides_is_not_said_again(void)
{
    said_expect("check all_reduce --channels 2 " LOG("2x4.log"), 2, "leave out --shape");
    said_expect("check all_reduce -a bruck " LOG("2x4.log"), 2, "-a ring or -a tree, not bruck");
    said_expect("check all_to_all " LOG("2x4.log"), 2, "NCCL runs no all_to_all over rings");
    said_expect("check all_reduce -N 4 " LOG("2x4.log"), 2, "none of its 1 communicators has 4");
    said_expect("check all_reduce -N 8 " LOG("2x4.log"), 0, "8 ranks: proved");
    said_expect("check all_reduce --nccl-log /no/such.log", 2, "/no/such.log: cannot be read");
}

static void malformed_logs_are_refused_with_file_and_line(void)
{
    FILE *file = fopen(BROKEN, "w");
    CU_ASSERT_FATAL(file != NULL);
    fputs("first line\nh:1:1 [0] NCCL INFO Ring 00 : 1 -> 0 ->\n", file);
    fclose(file);
    said_expect("check all_reduce --nccl-log " BROKEN, 2, BROKEN ":2: neighbours that end early");
    remove(BROKEN);
}

static void style_nccl_takes_ranks_and_nodes_of_the_log(void)
{
    said_expect("sim all_reduce --style nccl --topo Alps-GH200 -b 1M -e 1M " LOG("2x4.log"), 0,
                "1048576        8       2");
}

/* Every size of every row once: from 0 on, without a gap, to the largest there is. */
static void tuner_files_cover_all_sizes(void)
{
    static const char *const arguments[] = {
        "plan all_reduce --style nccl -N 8 --topo Alps-GH200 --to nccl-tuner",
        "plan all_gather --style nccl -N 4 --topo A6000-NV-4 -b 1K -e 1G --to nccl-tuner",
        "plan broadcast --style nccl -N 4 --topo A6000-NV-4 --channels 3 --to nccl-tuner",
    };
    for (size_t i = 0; i < sizeof arguments / sizeof arguments[0]; i++) {
        char *said = said_by_ronde(arguments[i], 0), word[32], algorithm[32], protocol[32];
        uint64_t next = 0;
        unsigned rows = 0;
        for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n")) {
            uint64_t first, last;
            int channels, nodes, ranks, pipe_ops, registered;
            if (line[0] == '#')
                continue;
            CU_ASSERT_EQUAL(sscanf(line,
                                   "%31[a-z],%" SCNu64 ",%" SCNu64
                                   ",%31[a-z_],%31[a-z0-9],%d,%d,%d,%d,%d",
                                   word, &first, &last, algorithm, protocol, &channels, &nodes,
                                   &ranks, &pipe_ops, &registered),
                            10);
            CU_ASSERT_EQUAL(first, next);
            CU_ASSERT(last >= first && channels > 0 && pipe_ops == -1 && registered == -1);
            next = last + 1;
            rows++;
        }
        CU_ASSERT(rows > 0);
        CU_ASSERT_EQUAL(next, 0);
        free(said);
    }
}

static void tuner_files_are_refused_with_the_reason(void)
{
    said_expect("plan all_reduce --topo crossbar-64 --to nccl-tuner", 2, "only --style nccl knows");
    said_expect("plan all_reduce --style nccl -N 4 --topo A6000-NV-4 --to msccl", 2,
                "is not nccl-tuner");
    said_expect("plan all_reduce --style nccl -N 4 --topo A6000-NV-4 --to nccl-tuner --json", 2,
                "leave out --json");
    said_expect("plan all_to_all --style nccl -N 4 --topo A6000-NV-4 --to nccl-tuner", 2,
                "does not choose for all_to_all");
}

/* An order that NCCL logged, as the file that makes NCCL take it. */
static void graph_files_have_the_order_of_every_channel(void)
{
    const char *arguments =
        "convert all_reduce --to nccl-graph --topo A6000-NV-4 " LOG("1x4-init.log");
    said_expect(arguments, 0,
                "    <channel>\n      <gpu dev=\"0x0\" rank=\"0\"/>\n      <gpu dev=\"0x1\" "
                "rank=\"1\"/>\n      <gpu dev=\"0x3\" rank=\"3\"/>\n      <gpu dev=\"0x2\" "
                "rank=\"2\"/>\n    </channel>\n");
    said_expect(arguments, 0, "<graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"2\"");
    said_expect(arguments, 0, "<graph id=\"1\" pattern=\"3\" crossnic=\"0\" nchannels=\"2\"");
}

static void graph_files_are_refused_with_the_reason(void)
{
    said_expect("convert all_reduce -a nccl_tree -N 4 --to nccl-graph --topo A6000-NV-4", 2,
                "channel 0 is no ring through all ranks, at rank 1");
    said_expect("convert all_reduce -a ring -N 8 --to nccl-graph --topo A6000-NV-4", 2,
                "a graph file is of one node");
    said_expect("convert all_reduce -a ring -N 4 --to nccl-graph", 2, "--topo");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"logs_stand_where_algorithms_do", logs_stand_where_algorithms_do},
        {"what_the_log_decides_is_not_said_again", what_the_log_decides_is_not_said_again},
        {"malformed_logs_are_refused_with_file_and_line",
         malformed_logs_are_refused_with_file_and_line},
        {"style_nccl_takes_ranks_and_nodes_of_the_log", style_nccl_takes_ranks_and_nodes_of_the_log},
        {"tuner_files_cover_all_sizes", tuner_files_cover_all_sizes},
        {"tuner_files_are_refused_with_the_reason", tuner_files_are_refused_with_the_reason},
        {"graph_files_have_the_order_of_every_channel", graph_files_have_the_order_of_every_channel},
        {"graph_files_are_refused_with_the_reason", graph_files_are_refused_with_the_reason},
    };
    return suite_run("nccl_files", cases, sizeof cases / sizeof cases[0]);
}
