/**
 * Synthesised schedules where they run: on every executor as on host, which is held to the definition, and as MSCCL files.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEDULE RONDE_SCRATCH_DIR "/forest.ronde"
#define MSCCL RONDE_SCRATCH_DIR "/forest.xml"
#define TREES RONDE_SCRATCH_DIR "/forest.svg"

static const char *const collectives[] = {"all_gather", "reduce_scatter", "all_reduce",
                                          "broadcast -r 2", "reduce -r 2"};
#define COLLECTIVES (sizeof collectives / sizeof *collectives)

/* Machines that look alike from all ranks and some that do not, with trees, sizes and connections. */
static const char *const machines[] = {
    "--topo crossbar-64 -N 6",
    "--topo mi300x -N 8 --connections 14",
    "--topo fat-tree-2to1-64 -N 10 --trees 2 --degrade up0=0.5",
    "--topo dgx-h100 -N 7 --for 64K",
    "--topo dgx-h100 -N 8 --degrade n0g0_v=0.5",
};
#define MACHINES (sizeof machines / sizeof *machines)

/* Runs the command; its output where it ends as it should. */
static char *command(const char *format, const char *a, const char *b)
{
    char words[1024], *text = NULL;
    size_t used = (size_t)snprintf(words, sizeof words, "'%s' ", suite_ronde());
    used += (size_t)snprintf(words + used, sizeof words - used, format, a, b);
    snprintf(words + used, sizeof words - used, " 2>&1");
    const int status = files_command(words, &text);
    CU_ASSERT_EQUAL(status, 0);
    if (status != 0)
        suite_note("%s: %s", words, text ? text : "");
    return text;
}

/* The schedule of a collective on a machine, which is synthesized when it is first asked for. */
static const char *made(size_t collective, size_t machine)
{
    static char paths[MACHINES][COLLECTIVES][512];
    char *path = paths[machine][collective], words[256];
    if (*path)
        return path;
    snprintf(path, sizeof paths[0][0], "%s/forest-%zu-%zu.ronde", RONDE_SCRATCH_DIR, machine,
             collective);
    snprintf(words, sizeof words, "synthesize %s %s -o %%s%%s", collectives[collective],
             machines[machine]);
    free(command(words, path, ""));
    return path;
}

/* `ronde run` compares with host, and host with the definition; what differs is an error. */
static void run_all(const char *backend)
{
    for (size_t m = 0; m < MACHINES; m += suite_is_sample() ? MACHINES - 1 : 1)
        for (size_t c = 0; c < COLLECTIVES; c++)
            free(command("run %s --backend %s -b 40 -e 64K -f 40 -n 1 -w 0 -c 1", made(c, m),
                         backend));
}

static void host_computes_what_the_definition_says(void)
{
    run_all("host");
}

static void cpu_computes_what_host_does(void)
{
    run_all("cpu");
}

/* Whether the executor is there. */
static bool has_backend(const char *name)
{
    char *list = command("list%s%s", "", ""), line[64];
    snprintf(line, sizeof line, "\n  %s ", name);
    const char *found = list ? strstr(list, line) : NULL;
    const bool is_there = found && strncmp(found + 27, "MISSING", 7) != 0;
    free(list);
    if (!is_there)
        suite_skip("%s is not here", name);
    return is_there;
}

/* GPUs made of this process's memory: one machine is enough, since they are slow. */
static void gpus_compute_what_host_does(void)
{
    for (size_t c = 0; c < COLLECTIVES; c++) {
        char words[1024], *text = NULL;
        snprintf(words, sizeof words, "'%s' run %s --backend cuda -b 4K -e 4K -n 1 -w 0 -c 1 2>&1",
                 RONDE_EMULATED, made(c, 0));
        CU_ASSERT_EQUAL(files_command(words, &text), 0);
        CU_ASSERT(text && strstr(text, "# Out of bounds values : 0 OK") != NULL);
        free(text);
    }
}

static void processes_compute_what_host_does(void)
{
    if (has_backend("proc"))
        run_all("proc");
}

static void ucx_computes_what_host_does(void)
{
    if (has_backend("ucx"))
        run_all("ucx");
}

static void msccl_files_are_proved_again(void)
{
    for (size_t m = 0; m < MACHINES; m += suite_is_sample() ? MACHINES - 1 : 1)
        for (size_t c = 0; c < COLLECTIVES; c++) {
            free(command("convert %s -o %s", made(c, m), MSCCL));
            char *text = command("check %s%s", MSCCL, "");
            CU_ASSERT(text && strstr(text, ": proved") != NULL);
            free(text);
        }
}

static void a_picture_has_every_rank(void)
{
    free(command("synthesize all_gather --topo mi300x --plot %s -o %s", TREES, SCHEDULE));
    char *text = files_read(TREES), name[32];
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT(strncmp(text, "<svg", 4) == 0);
    for (int gpu = 0; gpu < 8; gpu++) {
        snprintf(name, sizeof name, ">n0g%d<", gpu);
        CU_ASSERT(strstr(text, name) != NULL);
    }
    free(text);
}

#define POD "'" RONDE_SOURCE_DIR "/docs/examples/pod-dead-nic.xml'"

/* What is asked for is in the output of a command. */
static void expect(const char *words, const char *text)
{
    char *said = command("%s%s", words, "");
    const bool has_text = said && strstr(said, text) != NULL;
    CU_ASSERT(has_text);
    if (!has_text)
        suite_note("%s: no \"%s\" in %s", words, text, said ? said : "");
    free(said);
}

static void plans_weigh_what_is_made_for_each_size(void)
{
    expect("plan all_gather --topo " POD " -b 64M -e 64M", " forest_");
    expect("plan all_gather --topo " POD " -b 64M -e 64M --json", "\"algorithm\": \"forest_");
    expect("sim all_gather --topo " POD " -b 64M -e 64M", "# algorithm forest_");
    expect("sweep all_gather -a ring,forest --topo " POD " -N 16 --bytes 64M:64M:x2",
           "\"algorithm\": \"forest\"");
    /* A torus is one by symmetry, and its root has a tree for each axis and direction. */
    expect("plan all_gather --topo torus-8x8 -b 64M -e 64M", " forest_");
    expect("plan broadcast --topo torus-8x8 -b 64M -e 64M", " forest_axes");
    /* Too many that differ to be weighed unasked. */
    expect("plan all_gather --topo torus-8x8 -b 64M -e 64M --without chips_link_from_0_to_1",
           "weighed with --synthesize");
    expect("convert all_gather -a forest_h2 --topo " POD " -b 1M", "algorithm forest\n");
}

static void results_show_their_share_of_the_bound(void)
{
    expect("sim all_gather -a ring --topo crossbar-64 -N 8 -b 1G -e 1G", " bound");
    expect("sim --engine price all_gather -a ring --topo crossbar-64 -N 8 -b 1G -e 1G --json",
           "\"bound_share\": 0.99");
    expect("plan all_gather --topo crossbar-64 -N 8 -b 1G -e 1G --json", "\"bound_share\": 0.99");
}

static void a_slow_rank_is_a_leaf_of_all_reduce(void)
{
    expect("synthesize all_reduce --topo dgx-h100 -N 8 --degrade n0g0_v=0.5 -o " SCHEDULE,
           "of any root, up and down at once: 225 GB/s");
}

static void small_sizes_keep_what_is_faster_than_trees(void)
{
    expect("synthesize all_reduce --topo dgx-h100 -N 8 --for 64 -o " SCHEDULE,
           "direct_one_step is faster");
    expect("synthesize all_reduce --topo dgx-h100 -N 8 --for 64 --trees 1 -o " SCHEDULE,
           "2 messages in a row");
}

/* Who is where decides between a plan and such a bound. */
static void a_bound_says_whose_ranks_are_where(void)
{
    expect("bound send_recv --topo crossbar-64 -N 4 -b 1M -e 1M",
           "rank r is on host r of the file");
    expect("bound scatter --topo crossbar-64 -N 4 -b 1M -e 1M", "rank r is on host r of the file");
}

static void a_dead_link_is_planned_around(void)
{
    expect("bound all_gather --topo " POD " -b 1G -e 1G --degrade n0g0-leaf0_UP=0",
           "bottleneck: 4 of 16 hosts");
    expect("synthesize all_gather --topo mi300x --degrade n0g0-1=0 -o " SCHEDULE,
           "2 messages in a row");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"host_computes_what_the_definition_says", host_computes_what_the_definition_says},
        {"cpu_computes_what_host_does", cpu_computes_what_host_does},
        {"gpus_compute_what_host_does", gpus_compute_what_host_does},
        {"processes_compute_what_host_does", processes_compute_what_host_does},
        {"ucx_computes_what_host_does", ucx_computes_what_host_does},
        {"msccl_files_are_proved_again", msccl_files_are_proved_again},
        {"a_picture_has_every_rank", a_picture_has_every_rank},
        {"plans_weigh_what_is_made_for_each_size", plans_weigh_what_is_made_for_each_size},
        {"results_show_their_share_of_the_bound", results_show_their_share_of_the_bound},
        {"a_slow_rank_is_a_leaf_of_all_reduce", a_slow_rank_is_a_leaf_of_all_reduce},
        {"small_sizes_keep_what_is_faster_than_trees", small_sizes_keep_what_is_faster_than_trees},
        {"a_bound_says_whose_ranks_are_where", a_bound_says_whose_ranks_are_where},
        {"a_dead_link_is_planned_around", a_dead_link_is_planned_around},
    };
    return suite_run_with_components("run", cases, sizeof cases / sizeof *cases);
}
