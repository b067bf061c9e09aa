/**
 * NCCL's model from the command: `sim --style nccl` predicts sizes of a described machine and refuses what it cannot,
 * `validate --published` names its mode and tells faulty rows from counted ones.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include "cli/draw/gnuplot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE RONDE_SCRATCH_DIR "/nccl_test.csv"

#define HEAD                                                                                       \
    "system,gpus,nodes,nccl_version,collective,algorithm,protocol,bytes,time_us,algbw_GBps,"       \
    "notes\n"

static void write_table(const char *rows)
{
    FILE *file = fopen(TABLE, "w");
    CU_ASSERT_FATAL(file != NULL);
    fprintf(file, HEAD "%s", rows);
    fclose(file);
}

/* Small calls by LL, large ones by Simple; forced algorithms in the order in which they are named. */
static void style_nccl_predicts_described_machines(void)
{
    said_expect_row("sim all_reduce --style nccl -N 4 -b 1G -e 1G --topo A6000-NV-4 -a ring,tree",
                    0, "Tree Simple");
    said_expect("sim all_reduce --style nccl -N 4,64 -b 1K -e 1K --topo Alps-GH200", 0, "LL");
    said_expect_row("sim all_gather --style nccl --shape 8x2 -b 1M -e 1M --topo Perlmutter-A100", 0,
                    "16 8 Ring");
}

/* Bridged A6000s: NCCL takes the ring, whose slow link is crossed twice as often as the tree's. */
static void plans_say_what_nccl_takes_and_what_is_fastest(void)
{
    said_expect_row("plan all_reduce --style nccl -N 4 -b 16M -e 16M --topo A6000-NV-4", 0,
                    " Ring Simple ");
    said_expect_row("plan all_reduce --style nccl -N 4 -b 16M -e 16M --topo A6000-NV-4", 0,
                    " Tree Simple ");
    said_expect("plan all_reduce --style nccl -N 4 --backend cpu --topo A6000-NV-4", 2, "--backend");
    said_expect("plan all_reduce --style mpi -N 4 --topo A6000-NV-4", 2, "is none of nccl");
}

static void style_nccl_refuses_what_it_cannot(void)
{
    said_expect("sim all_reduce --style nccl -N 4 --topo A6000-NV-4 --engine flat", 2, "--engine");
    said_expect("sim all_reduce --style smpi -N 4 --topo A6000-NV-4", 2, "is none of nccl");
    said_expect("sim all_reduce --style nccl -N 8 --topo A6000-NV-4", 2, "without NICs");
    said_expect("sim all_reduce --style nccl -N 6 --topo Alps-GH200", 2, "do not fill nodes");
    said_expect("sim all_reduce --style nccl -N 4 --topo nowhere.txt", 2, "nowhere.txt");
    said_expect("sim all_reduce --style nccl -N 4 --topo crossbar-64.xml",
                RONDE_ALL_COMPONENTS ? 2 : 3, "crossbar-64.xml");
    said_expect_row("sim all_reduce --style nccl -b 1M -e 1M --topo A6000-NV-4", 0, "1048576 4 1");
    said_expect("sim all_reduce --style nccl -N 4 --topo A6000-NV-4 -a bruck", 2, "\"bruck\"");
    said_expect("sim all_gather --style nccl -N 4 --topo A6000-NV-4 -a tree", 2, "has no tree");
    said_expect("sim gather --style nccl -N 4 --topo A6000-NV-4 -a tree", 2, "has no tree");
    said_expect("sim barrier --style nccl -N 4 --topo A6000-NV-4", 2, "not modelled");
    said_expect("sim all_reduce --style nccl -N 4 --topo A6000-NV-4 --why", 2, "replays nothing");
    said_expect("sim all_reduce --style nccl -N 4 --topo A6000-NV-4 -b 0", 2, "a call of 0 bytes");
    said_expect("sim all_reduce --style nccl -N 4 --topo A6000", 2,
                "A6000: neither a file nor a machine that is shipped; did you mean A6000-NV-2?");
}

/* A number of the only row below a head of CSV. */
static double csv_real(const char *text, const char *name)
{
    const char *head = strstr(text, name), *line = head;
    unsigned column = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(head);
    while (line > text && line[-1] != '\n')
        column += *--line == ',';
    const char *at = strchr(head, '\n');
    while (at && column-- > 0)
        at = strchr(at + 1, ',');
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    return strtod(at + 1, NULL);
}

/* Rates measured at a third of what is expected make other calls slower, too; what cannot be fitted to is refused. */
static void an_anchor_is_fitted_to(void)
{
    char *nominal =
        said_by_ronde("sim all_gather --style nccl -b 1G -e 1G --topo A6000-NV-4 --csv", 0);
    write_table("mine,4,1,2.27.5,all_reduce,auto,auto,536870912,100000,,\n"
                "mine,4,1,2.27.5,all_reduce,auto,auto,1073741824,200000,,\n");
    char *anchored = said_by_ronde(
        "sim all_gather --style nccl -b 1G -e 1G --topo A6000-NV-4 --csv --anchor " TABLE, 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(anchored, "anchored to 2 times of " TABLE ": rate of links times "));
    CU_ASSERT_PTR_NULL(strstr(nominal, "anchored"));
    CU_ASSERT(csv_real(anchored, "time_us") > 1.3 * csv_real(nominal, "time_us"));
    free(nominal);
    free(anchored);
    said_expect("plan all_gather --style nccl -b 1G -e 1G --topo A6000-NV-4 --anchor " TABLE, 0,
                "anchored to 2 times");
    said_expect("validate --published " TABLE " --topo A6000-NV-4 --anchor " TABLE, 0,
                "anchored to 2 times");
    said_expect("doctor " TABLE " --topo A6000-NV-4 --anchor " TABLE, 0, "anchored to 2 times");
    said_expect("validate --published " TABLE " --topo A6000-NV-4 --fit anchored --anchor " TABLE,
                2, "leave them out");
    said_expect("sim all_reduce -N 4 --topo crossbar-64 --anchor " TABLE, 2, "with --style nccl");
    said_expect("plan all_reduce --style mpich --topo crossbar-64 --anchor " TABLE, 2,
                "with --style nccl");
    said_expect("validate all_reduce --anchor " TABLE, 2, "with --style nccl");
    said_expect("sim all_reduce --style nccl --topo A6000-NV-4 --anchor nowhere.log", 2,
                "nowhere.log");
    write_table("a,4,1,2.27.5,all_reduce,auto,auto,1048576,100,,\n"
                "b,4,1,2.27.5,all_reduce,auto,auto,1048576,100,,\n");
    said_expect("sim all_reduce --style nccl --topo A6000-NV-4 --anchor " TABLE, 2,
                "none of its 2 systems is called A6000-NV-4");
    write_table("a,8,1,2.27.5,all_reduce,auto,auto,1048576,100,,\n");
    said_expect("sim all_reduce --style nccl --topo A6000-NV-4 --anchor " TABLE, 2,
                "no time in it is of a call");
    remove(TABLE);
}

/* Every mode says which it is; a faulty row is counted as that alone. */
static void published_tables_are_scored_in_named_modes(void)
{
    write_table("A6000-NV-4,4,1,2.27.5,all_reduce,Ring,LL,1024,11.67,0.08775,\n"
                "A6000-NV-4,4,1,2.27.5,all_reduce,Ring,LL,2048,11.7,0.175,FAULTY: slow\n");
    said_expect("validate --published " TABLE, 0, "nominal");
    said_expect_row("validate --wide --published " TABLE, 0, "A6000-NV-4 1 0 1 0");
    said_expect_row("validate --wide --published " TABLE " --fit anchored", 0, "A6000-NV-4 0 1 1 0");
    said_expect("validate --published " TABLE " --fit leave-one-out", 0, "leave-one-system-out");
    said_expect("validate --published " TABLE " --markdown", 0, "worst ten");
    said_expect("validate --published " TABLE " --fit all", 2, "--fit \"all\"");
    said_expect("validate all_reduce --published " TABLE, 2, "all collectives");
    said_expect("validate --published " TABLE " --system other", 2, "no row of system other");
    write_table("A6000-NV-4,4,1,2.27.5,all_reduce,Ring,LL,1024,11.67,9,\n");
    said_expect("validate --published " TABLE, 2, "nccl_test.csv:2: algbw_GBps 9 contradicts");
    said_expect("validate --published " RONDE_SCRATCH_DIR "/none.csv", 2, "none.csv");
    remove(TABLE);
}

/* A log is a table of one system: of the file's name, or of --system, whose description then serves. */
static void logs_are_published_as_well(void)
{
    char command[4096];
    snprintf(command, sizeof command, "validate --published '%s/tests/data/nccl-logs/two-runs.log'",
             RONDE_SOURCE_DIR);
    said_expect_row(command, 0, "two-runs 0");
    snprintf(command, sizeof command,
             "validate --published '%s/tests/data/nccl-logs/two-runs.log' --system H100-cluster01",
             RONDE_SOURCE_DIR);
    said_expect_row(command, 0, "H100-cluster01 24");
    snprintf(command, sizeof command,
             "validate --published '%s/tests/data/nccl-logs/two-runs.log' --topo H100-cluster01 "
             "--csv",
             RONDE_SOURCE_DIR);
    said_expect(command, 0, "closed_form_error");
    write_table("A6000-NV-4,4,1,2.27.5,all_reduce,Ring,LL,1024,11.67,0.08775,\n"
                "A6000-NV-2,2,1,2.27.5,all_gather,Ring,LL,2048,11.7,0.175,\n");
    said_expect("validate --published " TABLE " --topo A6000-NV-4", 2, "--system names one");
    said_expect("validate --published " TABLE " -N 4", 2, "-N and --shape are for logs");
}

/* Two forced algorithms whose order changes between two sizes. */
static void crossovers_are_between_sizes(void)
{
    write_table("A6000-NV-4,4,1,2.27.5,all_reduce,Ring,LL,1024,10,0.1024,\n"
                "A6000-NV-4,4,1,2.27.5,all_reduce,Tree,LL,1024,20,0.0512,\n"
                "A6000-NV-4,4,1,2.27.5,all_reduce,Ring,LL,65536,100,0.65536,\n"
                "A6000-NV-4,4,1,2.27.5,all_reduce,Tree,LL,65536,98,0.66873,\n"
                "A6000-NV-4,4,1,2.27.5,all_reduce,Ring,Simple,1048576,300,3.4953,\n"
                "A6000-NV-4,4,1,2.27.5,all_reduce,Tree,Simple,1048576,200,5.2429,\n");
    said_expect("validate --published " TABLE, 0,
                "all_reduce, 4 ranks on 1 node, measured: Ring to Tree between 1K and 1M");
    said_expect("validate --published " TABLE " --csv", 0, "winner,predicted_winner,margin");
}

/* A picture of one system, a folder of pictures of several. */
static void pictures_are_drawn_per_system(void)
{
    const char *reason;
    char command[4096];
    if (!ronde_plot_available(&reason)) {
        suite_skip("%s", reason);
        return;
    }
    snprintf(command, sizeof command,
             "validate --published '%s/tests/data/nccl-logs/one-process.log' --topo H100-cluster01 "
             "--plot '" RONDE_SCRATCH_DIR "/one.svg'",
             RONDE_SOURCE_DIR);
    said_expect(command, 0, "one-process");
    char *picture = files_read(RONDE_SCRATCH_DIR "/one.svg");
    CU_ASSERT_PTR_NOT_NULL_FATAL(picture);
    CU_ASSERT_PTR_NOT_NULL(strstr(picture, "all_reduce"));
    CU_ASSERT_PTR_NOT_NULL(strstr(picture, "8 on 1"));
    free(picture);
    write_table("A6000-NV-4,4,1,2.27.5,all_reduce,Ring,LL,1024,11.67,0.08775,\n"
                "A6000-NV-2,2,1,2.27.5,all_gather,Ring,LL,2048,11.7,0.175,\n");
    said_expect("validate --published " TABLE " --plot " RONDE_SCRATCH_DIR "/two.svg", 2,
                "is to be a folder");
}

/* All that NCCL could choose, its own choice marked, in SVG or PDF as the name says. */
static void pictures_show_what_nccl_could_choose(void)
{
    static const char *const parts[] = {"all_reduce on A6000-NV-4, and what does it choose?",
                                        "4 ranks on 1 node",
                                        "2 ranks on 1 node",
                                        "Ring LL",
                                        "Ring Simple",
                                        "own choice"};
    const char *reason;
    if (!ronde_plot_available(&reason)) {
        suite_skip("%s", reason);
        return;
    }
    said_expect("sim all_reduce --style nccl -N 2,4 --topo A6000-NV-4 -b 1K -e 16M --plot "
                "\"" RONDE_SCRATCH_DIR "/chosen.svg\"",
                0, "busbw");
    char *picture = files_read(RONDE_SCRATCH_DIR "/chosen.svg");
    CU_ASSERT_PTR_NOT_NULL_FATAL(picture);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        CU_ASSERT_PTR_NOT_NULL(strstr(picture, parts[i]));
    free(picture);
    said_expect("plan all_reduce --style nccl -N 4 --topo A6000-NV-4 -b 1K -e 16M --plot "
                "\"" RONDE_SCRATCH_DIR "/chosen.pdf\"",
                0, "NCCL takes");
    picture = files_read(RONDE_SCRATCH_DIR "/chosen.pdf");
    CU_ASSERT_PTR_NOT_NULL_FATAL(picture);
    CU_ASSERT_EQUAL(strncmp(picture, "%PDF-", 5), 0);
    free(picture);
    said_expect("sim send_recv --style nccl -N 2 --topo A6000-NV-4 -b 1K -e 1M --plot "
                "\"" RONDE_SCRATCH_DIR "/chosen.svg\"",
                0, "busbw");
}

/* Machines by the table's own columns; words that are not understood are shown, and their rows have no prediction. */
static void tables_describe_their_machines(void)
{
    FILE *file = fopen(TABLE, "w");
    CU_ASSERT_FATAL(file != NULL);
    fputs("system,gpus,nodes,nccl_version,collective,algorithm,protocol,bytes,time_us,algbw_GBps,"
          "notes,gpu,interconnect_intra,interconnect_inter\n"
          "mine,16,2,2.27.5,all_reduce,auto,auto,1024,40,0.0256,,NVIDIA H200,NVSwitch NVLink4,8x "
          "NDR IB\n"
          "lone,8,1,2.27.5,all_reduce,auto,auto,1024,40,0.0256,,NVIDIA H200,NVSwitch NVLink4,\n"
          "many,8,1,2.27.5,all_reduce,auto,auto,1024,40,0.0256,by mpirun,NVIDIA H200,NVSwitch,\n"
          "other,8,1,2.27.5,all_reduce,auto,auto,1024,40,0.0256,,Gaudi 3,Ethernet,\n",
          file);
    fclose(file);
    said_expect(
        "validate --published " TABLE " --auto-topo", 0,
        "mine: hopper, 8 GPUs a node, link switch, NVLink 450 GB/s, PCIe 63 GB/s, 8 NICs of "
        "50 GB/s infiniband");
    said_expect("validate --published " TABLE " --auto-topo", 0, "50 GB/s infiniband\n");
    said_expect("validate --published " TABLE " --auto-topo", 0,
                "lone: hopper, 8 GPUs a node, link switch, NVLink 450 GB/s, PCIe 63 GB/s, one "
                "process\n");
    said_expect("validate --published " TABLE " --auto-topo", 0,
                "many: hopper, 8 GPUs a node, link switch, NVLink 450 GB/s, PCIe 63 GB/s\n");
    said_expect("validate --published " TABLE " --auto-topo", 0, "other: not understood");
    said_expect_row("validate --wide --published " TABLE " --auto-topo", 0, "mine 1 0");
    said_expect_row("validate --wide --published " TABLE, 0, "mine 0 0");
    said_expect("validate --published " TABLE " --auto-topo --topo x.txt", 2, "one of them");
    remove(TABLE);
}

/* What is wrong with a row leaves the others predicted, and is said with its line; records have it row by row. */
static void faulty_rows_leave_the_others(void)
{
    write_table("A6000-NV-4,4,1,2.27.5,all_reduce,Ring,LL,1024,11.67,0.08775,\n"
                "A6000-NV-4,4,3,2.27.5,all_reduce,Ring,LL,1024,11.67,0.08775,\n"
                "A6000-NV-4,4,1,2.27.5,allreducev,auto,auto,1024,11.67,0.08775,\n"
                "A6000-NV-4,8,1,2.27.5,all_reduce,auto,auto,1024,11.67,0.08775,\n"
                "A6000-NV-4,4,1,latest,all_reduce,auto,auto,2048,,,\n");
    said_expect_row("validate --wide --published " TABLE, 0, "A6000-NV-4 1 0 0 3");
    said_expect("validate --published " TABLE, 0,
                "nccl_test.csv:3: 4 gpus are not equally many on 3 nodes");
    said_expect("validate --published " TABLE, 0,
                "nccl_test.csv:4: collective \"allreducev\" is not known");
    said_expect("validate --published " TABLE, 0, "nccl_test.csv:5: A6000-NV-4 has 4 GPUs a node");
    said_expect("validate --published " TABLE, 0, "nccl_test.csv:6: nccl_version \"latest\" is not");
    if (RONDE_ALL_COMPONENTS) {
        said_expect("validate --published " TABLE " --json", 0,
                    "\"state\": \"not measured\", \"collective\": \"all_reduce\"");
        said_expect("validate --published " TABLE " --json", 0,
                    "\"why\": \"4 gpus are not equally many on 3 nodes\"");
    }
    said_expect("validate --published " TABLE " --markdown", 0, "| 1 | 3 to 3 | 4 gpus are not");
    said_expect_row("validate --wide --published " TABLE " --fit anchored", 0, "A6000-NV-4 0 1 0 3");
    remove(TABLE);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"style_nccl_predicts_described_machines", style_nccl_predicts_described_machines},
        {"plans_say_what_nccl_takes_and_what_is_fastest",
         plans_say_what_nccl_takes_and_what_is_fastest},
        {"tables_describe_their_machines", tables_describe_their_machines},
        {"style_nccl_refuses_what_it_cannot", style_nccl_refuses_what_it_cannot},
        {"an_anchor_is_fitted_to", an_anchor_is_fitted_to},
        {"published_tables_are_scored_in_named_modes", published_tables_are_scored_in_named_modes},
        {"faulty_rows_leave_the_others", faulty_rows_leave_the_others},
        {"logs_are_published_as_well", logs_are_published_as_well},
        {"crossovers_are_between_sizes", crossovers_are_between_sizes},
        {"pictures_are_drawn_per_system", pictures_are_drawn_per_system},
        {"pictures_show_what_nccl_could_choose", pictures_show_what_nccl_could_choose},
    };
    return suite_run("nccl", cases, sizeof cases / sizeof cases[0]);
}
