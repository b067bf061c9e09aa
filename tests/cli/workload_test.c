/* Workloads as a user meets them: made, replayed and written by `ronde workload`, exported by `ronde convert`. */
#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include "cli/draw/gnuplot.h"

#include "ronde/field.h"
#include "ronde/topologies.h"
#include "ronde/workload.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA RONDE_SOURCE_DIR "/tests/data/workload"
#define CROSSBAR " --topo " RONDE_SOURCE_DIR "/topologies/crossbar-64.xml"

/* Runs `ronde ARGUMENTS` in the scratch folder; what it says on both streams holds `part`. */
static void expect(const char *arguments, int code, const char *part)
{
    char command[2048];
    snprintf(command, sizeof command, "cd '%s' && \"%s\" %s 2>&1", RONDE_SCRATCH_DIR, suite_ronde(),
             arguments);
    said_has(said_by(command, code), part);
}

/* One call of a step takes what the model says of it, and the head says whose calls these are. */
static void calls_are_nccl_s_where_that_is_asked_for(void)
{
    if (!suite_can_read_platforms())
        return;
    expect("workload gpt --layers 2 --hidden 4096 --tp 8 --dp 2 -o nccl.workload", 0, "");
    expect("workload sim nccl.workload --topo H100-cluster01", 0,
           "# calls    by schedules of ronde, replayed: the fastest of each kind");
    expect("workload sim nccl.workload --topo H100-cluster01 --style nccl", 0,
           "# calls    as NCCL executes each of them alone, a model");
    char as_sim[64];
    char *said =
        said_by_ronde("sim all_reduce --topo H100-cluster01 --style nccl -N 8 -b 16M -e 16M --csv",
                      0);
    const char *row = strstr(said, ",NVLS,Simple,");
    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    const double ns = 1e3 * strtod(row + strlen(",NVLS,Simple,"), NULL);
    CU_ASSERT(ns > 0);
    snprintf(as_sim, sizeof as_sim, "NVLS/Simple,%.0f.", floor(ns));
    free(said);
    expect("workload sim nccl.workload --topo H100-cluster01 --style nccl --csv | grep ^call,tp | "
           "cut -d, -f7-8",
           0, as_sim);
    expect("workload sim nccl.workload --topo H100-cluster01 --style nccl -a ring", 2,
           "leave out -a and --what-if");
    expect("workload sim nccl.workload --topo H100-cluster01 --style ucc", 2, "is not nccl");
}

/* 8 ranks of a ring of 1 MiB over 50 GB/s and 1 us: 14 messages of 128 KiB. */
static void a_schedule_is_replayed_as_its_messages(void)
{
    const char *reason;
    if (!suite_can_read_platforms())
        return;
    expect("convert all_reduce -a ring -N 8 -b 1M w.goal", 0, "");
    expect("workload sim w.goal" CROSSBAR, 0, "# step     50.700 us");
    expect("sim all_reduce -a ring -N 8 -b 1M -e 1M" CROSSBAR, 0, " 50.70 ");
    expect("convert all_reduce -a ring -N 2 -b 32 --to goal", 0, "l0: send 16b to 1\n");
    if (!ronde_chakra_available(&reason))
        return;
    expect("convert all_reduce -a ring -N 8 -b 1M w.et", 0, "");
    expect("workload sim w.3.et" CROSSBAR, 0, "# step     50.700 us");
    expect("workload convert w.et again.goal", 2, "w.et: the name of a trace has a rank");
    expect("workload convert w again.goal", 0, "");
    expect("workload sim again.goal" CROSSBAR, 0, "# step     50.700 us");
    expect("convert all_reduce -a ring -N 8 --to chakra", 2, "Chakra traces are a file a rank");
}

/* How long a step takes, us. */
static double step_us(const char *words)
{
    char command[1024];
    snprintf(command, sizeof command, "cd '%s' && \"%s\" workload sim %s", RONDE_SCRATCH_DIR,
             suite_ronde(), words);
    char *said = said_by(command, 0);
    const char *row = strstr(said, "# step");
    const double us = row ? strtod(row + strlen("# step"), NULL) : NAN;
    free(said);
    return us;
}

/* Nine groups on a dragonfly share its cables: what is fastest alone takes more than twice as long then. */
static void groups_that_call_at_once_get_what_is_fastest_then(void)
{
    static const char *const others[] = {"direct", "ring", "torus", "hierarchical_direct"};
    char words[256];
    if (!suite_can_read_platforms())
        return;
    expect("workload gpt --model 7b --layers 1 --tp 8 --dp 9 -o at-once.workload", 0, "");
    const double chosen_us = step_us("at-once.workload --topo dragonfly-72");
    CU_ASSERT(chosen_us > 0);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        snprintf(words, sizeof words, "at-once.workload --topo dragonfly-72 -a %s", others[i]);
        const double us = step_us(words);
        CU_ASSERT(chosen_us < 0.8 * us);
        if (!(chosen_us < 0.8 * us))
            suite_note("%s: %f us, chosen: %f", others[i], us, chosen_us);
    }
}

static void a_step_is_made_and_replayed(void)
{
    if (!suite_can_read_platforms())
        return;
    expect("workload gpt --layers 4 --hidden 256 --seq 128 --tp 2 --dp 2 --pp 2 -o gpt.workload", 0,
           "");
    expect("workload sim gpt.workload" CROSSBAR " -a ring --what-if 1", 0, "all_reduce");
    expect("workload gpt --layers 4 --hidden 256 --tp 2 | \"$RONDE\" workload sim -" CROSSBAR, 0,
           "2 ranks on crossbar-64");
    expect("workload sim " DATA "/step.workload" CROSSBAR " -a ring --csv", 0,
           "call,tp,all_reduce,4194304,2,8,ring,");
    expect("workload gpt --layers 4", 2, "say --model, or --layers and --hidden");
    expect("workload gpt --model 9b", 2,
           "unknown model \"9b\"; there are gpt3-175b (175b), llama2-7b (7b)");
    expect("workload gpt --model llama3-70b --layers 1", 0,
           "# grouped-query attention (GQA): 64 heads of queries, 8 of keys and values\n"
           "# gated MLP (SwiGLU): three matrices of 8192 x 28672\n");
    expect("workload gpt --model 7b", 0, "# 6.738e+09 parameters");
    expect("workload gpt --model llama2-70b", 0, "# 6.898e+10 parameters");
    expect("workload gpt --model 405b", 0, "# 4.059e+11 parameters");
    expect("workload gpt --model 175b", 0, "# 1.746e+11 parameters");
    expect("workload gpt --layers 4 --hidden 256 --pp 3", 2, "4 layers do not divide into 3 stages");
    expect("workload gpt --layers 4 --hidden 256 --json", 2, "workload gpt: unknown option --json");
}

/* As many slices as items; each ends where the step does at the latest. */
static void a_step_is_traced(void)
{
    const char *why;
    if (!suite_can_read_platforms())
        return;
    if (!ronde_json_available(&why)) {
        suite_skip("%s", why);
        return;
    }
    expect("workload sim " DATA "/step.workload" CROSSBAR " -a ring --trace step.json", 0,
           "# step     ");
    char *said = said_by("cd '" RONDE_SCRATCH_DIR "' && grep -c '\"ph\": \"X\"' step.json", 0);
    CU_ASSERT_EQUAL(strtoul(said, NULL, 10), 40);
    free(said);
    expect("workload sim " DATA "/step.workload" CROSSBAR " -a ring --trace /nowhere/step.json", 2,
           "/nowhere/step.json");
}

/* A row a rank, and the kinds of what they do; where the time goes, where there is gnuplot. */
static void a_step_is_drawn(void)
{
    char *svg = NULL;
    const char *why;
    if (!suite_can_read_platforms())
        return;
    expect("workload sim " DATA "/step.workload" CROSSBAR " -a ring --timeline step.svg", 0,
           "# step     ");
    svg = files_read(RONDE_SCRATCH_DIR "/step.svg");
    CU_ASSERT_PTR_NOT_NULL_FATAL(svg);
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, "step.workload"));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, ">compute</text>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, ">rank 3</text>"));
    free(svg);
    expect("workload sim " DATA "/step.workload" CROSSBAR " --timeline /nowhere/step.svg", 2,
           "/nowhere/step.svg");
    if (!ronde_plot_available(&why)) {
        suite_skip("%s", why);
        return;
    }
    expect("workload sim " DATA "/step.workload" CROSSBAR " -a ring --plot step-plot.svg", 0,
           "# step     ");
    svg = files_read(RONDE_SCRATCH_DIR "/step-plot.svg");
    CU_ASSERT_PTR_NOT_NULL_FATAL(svg);
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, "critical path"));
    free(svg);
}

static void one_rank_stands_for_many(void)
{
    if (!suite_can_read_platforms())
        return;
    char path[] = RONDE_SCRATCH_DIR "/one.workload";
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs("ronde-workload 1\nranks 1\ngroups dp 0\non 0\n a compute 10us\n"
          " r all_reduce dp 1M after a\n",
          file);
    fclose(file);
    expect("workload sim one.workload" CROSSBAR " -a ring", 0, "# step     10.000 us");
    expect("workload sim one.workload" CROSSBAR " -a ring -N 8", 0, "# step     60.700 us");
    expect("workload sim " DATA "/step.workload" CROSSBAR " -N 8", 2, "has 4 ranks");
    expect("workload sim one.workload" CROSSBAR " -N 65", 2, "has 64 hosts, fewer than 65 ranks");
}

static void collectives_become_messages_of_goal(void)
{
    if (!suite_can_read_platforms())
        return;
    expect("workload convert " DATA "/step.workload step.goal" CROSSBAR " -a ring", 0, "");
    expect("workload sim step.goal" CROSSBAR, 0, "160 items");
}

static void what_is_wrong_is_said_with_file_and_line(void)
{
    if (!suite_can_read_platforms())
        return;
    char path[] = RONDE_SCRATCH_DIR "/bad.workload";
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs("ronde-workload 1\nranks 2\non 0\n a send 8 to 1\n", file);
    fclose(file);
    expect("workload sim bad.workload" CROSSBAR, 2,
           "ronde: bad.workload:4: rank 0 sends a message that rank 1 does not receive");
    expect("workload sim none.workload" CROSSBAR, 2, "none.workload: cannot be read");
    expect("workload sim bad.workload", 2, "--topo is missing");
    expect("workload sim" CROSSBAR, 2, "which workload?");
    expect("workload", 2, "workload: which verb? there are sim, gpt, convert");
    expect("workload simm", 2, "did you mean sim?");
    expect("workload sim " DATA "/step.workload" CROSSBAR " -a rnig", 2,
           "no collective has an algorithm \"rnig\"; did you mean ring?");
    expect("workload sim " DATA "/step.workload" CROSSBAR " -a nccl", 2,
           "\"nccl\" is a library and no algorithm; --style nccl");
    expect("workload convert " DATA "/step.workload step.goal", 2, "GOAL has no collectives");
    expect("workload convert " DATA "/step.workload step.goal" CROSSBAR " -a ring,tree", 2,
           "one -a is for all collectives");
    expect("workload convert " DATA "/step.workload step.txt", 2, "written as what?");
    expect("workload sim --help", 0, "--what-if");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_step_is_traced", a_step_is_traced},
        {"a_step_is_drawn", a_step_is_drawn},
        {"calls_are_nccl_s_where_that_is_asked_for", calls_are_nccl_s_where_that_is_asked_for},
        SUITE_CASE(groups_that_call_at_once_get_what_is_fastest_then),
        {"a_schedule_is_replayed_as_its_messages", a_schedule_is_replayed_as_its_messages},
        {"a_step_is_made_and_replayed", a_step_is_made_and_replayed},
        {"one_rank_stands_for_many", one_rank_stands_for_many},
        {"collectives_become_messages_of_goal", collectives_become_messages_of_goal},
        {"what_is_wrong_is_said_with_file_and_line", what_is_wrong_is_said_with_file_and_line},
    };
    setenv("RONDE", suite_ronde(), 1);
    return suite_run("cli/workload", cases, sizeof cases / sizeof cases[0]);
}
