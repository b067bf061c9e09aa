/**
 * NCCL's files from the command: the rings and trees of its log in place of an algorithm, what its tuner plugin and its graph
 * file take from a plan and a schedule.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include "ronde/field.h"
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
    said_expect("convert all_gather " LOG("1x4-init.log"), 0, "order 0 1 3 2");
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
    said_expect("sim --engine price all_reduce --topo crossbar-64 -b 1M -e 1M " LOG("2x4.log"), 0,
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
    said_expect_row("sim all_reduce --style nccl --topo Alps-GH200 -b 1M -e 1M " LOG("2x4.log"), 0,
                    "1048576 8 2");
}

/* Every collective of every communicator that a machine can have: nodes by ranks a node, at sizes from 8 bytes on. */
static void tuner_files_cover_the_machine(void)
{
    static const struct {
        const char *arguments;
        unsigned shapes; /* of 1 to all GPUs a node on 1, 2, ... nodes, less the one rank alone */
    } cases[] = {
        {"plan --style nccl --topo A6000-NV-4 --to nccl-tuner", 3},
        {"plan --style nccl --topo Alps-GH200 -N 12 --to nccl-tuner", 4 * 3 - 1},
        {"plan --style nccl --topo Alps-GH200 --nodes 20 --to nccl-tuner", 4 * 13 - 1},
        {"plan --style nccl --topo Alps-GH200 --shape 5x4 --to nccl-tuner", 4 * 5 - 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *said = said_by_ronde(cases[i].arguments, 0), word[32], rest[256];
        unsigned shapes = 0, rows = 0, ends = 0;
        CU_ASSERT(strncmp(said, "ronde-tuner 1\n", 14) == 0);
        for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n")) {
            uint64_t bytes = 0;
            double sure = 0;
            shapes += strncmp(line, "shape ", 6) == 0;
            ends += strcmp(line, "end") == 0;
            if (sscanf(line, "%31[a-z_] %" SCNu64 " %lf %255[0-9. -]", word, &bytes, &sure, rest) !=
                4)
                continue;
            CU_ASSERT(bytes >= 8 && sure > 1 && sure < 6);
            rows++;
        }
        CU_ASSERT_EQUAL(shapes, cases[i].shapes);
        CU_ASSERT_EQUAL(rows, shapes * 5 * 33);
        CU_ASSERT_EQUAL(ends, 1);
        free(said);
    }
}

static void tuner_files_are_refused_with_the_reason(void)
{
#define TUNER "plan --style nccl --topo A6000-NV-4 --to nccl-tuner "
    said_expect("plan all_reduce --topo crossbar-64 --to nccl-tuner", 2, "only --style nccl knows");
    said_expect("plan --style nccl --topo A6000-NV-4 --to msccl", 2, "is not nccl-tuner");
    said_expect("plan all_reduce --style nccl --topo A6000-NV-4 --to nccl-tuner", 2,
                "leave out all_reduce");
    said_expect(TUNER "--json", 2, "leave out --json");
    said_expect(TUNER "-e 1G", 2, "leave out -b, -e");
    said_expect(TUNER "--channels 2", 2, "--channels");
    said_expect(TUNER "-N 8", 2, "one node only");
    said_expect("plan --style nccl --topo Alps-GH200 --nodes 20000 --to nccl-tuner", 2,
                "1 to 16384 nodes");
}

#define TABLE RONDE_SCRATCH_DIR "/nccl_files_table.jsonl"
#define VALIDATE "validate --published " TABLE " --topo A6000-NV-4"

static const char record[] =
    "{\"kind\": \"nccl_table\", \"engine\": \"nccl\", \"collective\": \"all_gather\", \"ranks\": "
    "4, "
    "\"nodes\": 1, \"bytes\": %u, \"pipe_ops\": %u, \"registered\": false, \"interface\": 6, "
    "\"Ring/Simple\": %.9g%s}\n";

/* Where NCCL's costs are ours times 1.25, ours are 20 % off; those of a group do not count. */
static void costs_of_nccl_are_compared(void)
{
    const char *reason;
    if (!ronde_json_available(&reason)) {
        suite_skip("%s", reason);
        return;
    }
    FILE *file = fopen(TABLE, "w");
    CU_ASSERT_FATAL(file != NULL);
    for (int turn = 0; turn < 2; turn++)
        fprintf(file, record, 1024u, 1u, 100., ", \"PAT/Simple\": 200");
    fprintf(file, record, 1024u, 4u, 1., "");
    fclose(file);
    said_expect_row(VALIDATE, 0, "all_gather 4 1 1 1");
    char *said = said_by_ronde(VALIDATE " --json", 0);
    const char *ours = strstr(said, "\"choice\": \"Ring/Simple\"");
    CU_ASSERT_FATAL(ours != NULL);
    const double model_us = strtod(strstr(ours, "\"model_us\": ") + 12, NULL);
    CU_ASSERT(model_us > 1 && model_us < 100);
    free(said);
    file = fopen(TABLE, "w");
    CU_ASSERT_FATAL(file != NULL);
    fprintf(file, record, 1024u, 1u, model_us * 1.25, "");
    fclose(file);
    said_expect_row(VALIDATE, 0, "all_gather 4 1 1 1 20.0 20.0 0");
}

static void costs_that_are_none_are_refused(void)
{
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"{\"kind\": \"nccl_table\"}\n", TABLE ":1: collective"},
        {"{\"nccl_table\"}\n", TABLE ":1: "},
        {"{\"kind\": \"measured\", \"x\": \"nccl_table\"}\n", TABLE ":1: not a record"},
        {"{\"kind\": \"nccl_table\", \"collective\": \"barrier\"}\n", ":1: collective is none"},
        {"{\"kind\": \"nccl_table\", \"collective\": \"reduce\", \"ranks\": 4, \"nodes\": 8, "
         "\"bytes\": "
         "8, \"pipe_ops\": 1, \"registered\": false, \"interface\": 6}\n",
         ":1: ranks, nodes"},
        {"{\"kind\": \"nccl_table\", \"collective\": \"reduce\", \"ranks\": 8, \"nodes\": 1, "
         "\"bytes\": "
         "8, \"pipe_ops\": 1, \"registered\": false, \"interface\": 6}\n",
         "--topo is to be the machine that was recorded"},
    };
    const char *reason;
    if (!ronde_json_available(&reason)) {
        suite_skip("%s", reason);
        return;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CU_ASSERT_FATAL(files_write(TABLE, cases[i].text));
        said_expect(VALIDATE, 2, cases[i].reason);
    }
    FILE *file = fopen(TABLE, "w");
    CU_ASSERT_FATAL(file != NULL);
    fprintf(file, record, 8u, 1u, 10., "");
    fprintf(file, record, 8u, 1u, 11., "");
    fclose(file);
    said_expect(VALIDATE, 2, TABLE ":2: NCCL's costs are not those that line 1 has");
    said_expect(VALIDATE " --fit anchored", 2, "say themselves what ran: leave out --fit");
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
        {"tuner_files_cover_the_machine", tuner_files_cover_the_machine},
        {"tuner_files_are_refused_with_the_reason", tuner_files_are_refused_with_the_reason},
        {"costs_of_nccl_are_compared", costs_of_nccl_are_compared},
        {"costs_that_are_none_are_refused", costs_that_are_none_are_refused},
        {"graph_files_have_the_order_of_every_channel", graph_files_have_the_order_of_every_channel},
        {"graph_files_are_refused_with_the_reason", graph_files_are_refused_with_the_reason},
    };
    return suite_run("nccl_files", cases, sizeof cases / sizeof cases[0]);
}
