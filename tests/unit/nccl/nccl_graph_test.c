/** Rings and trees from NCCL's logs: what they are, what is replayed of them, and what is wrong with a log that is refused. */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"
#include "support/sweep.h"

#include "unit/checked.h"

#include "ronde/nccl_graph.h"
#include "ronde/schedules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 512u

static struct ronde_nccl_graph *read_data(const char *name)
{
    char path[PATH_BYTES];
    struct ronde_nccl_graph *graph = NULL;
    struct ronde_error error = {0};
    snprintf(path, sizeof path, "%s/tests/data/nccl-graph/%s", RONDE_SOURCE_DIR, name);
    CU_ASSERT_EQUAL(ronde_nccl_graph_read(path, 0, ronde_mem_default(), &graph, &error), RONDE_OK);
    if (!graph)
        suite_note("%s", error.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(graph);
    return graph;
}

static struct ronde_schedule *replay(const struct ronde_nccl_graph *graph,
                                     enum ronde_collective collective, bool is_tree, uint32_t root)
{
    const struct ronde_nccl_request request = {collective, is_tree, root};
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    if (ronde_nccl_graph_schedule(graph, &request, ronde_mem_default(), &schedule, &error) !=
        RONDE_OK)
        suite_note("%s", error.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(schedule);
    return schedule;
}

static void logs_say_who_is_joined(void)
{
    static const struct {
        const char *name;
        uint32_t ranks, hosts, rings, trees;
    } rows[] = {
        {"2x4.log", 8, 2, 4, 4},
        {"1x4-init.log", 4, 1, 2, 2},
        {"3x2-mpirun.log", 6, 3, 4, 4},
        {"1x8-rank0.log", 8, 1, 2, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_nccl_graph *graph = read_data(rows[i].name);
        CU_ASSERT_EQUAL(graph->ranks, rows[i].ranks);
        CU_ASSERT_EQUAL(graph->hosts, rows[i].hosts);
        CU_ASSERT_EQUAL(graph->rings, rows[i].rings);
        CU_ASSERT_EQUAL(graph->trees, rows[i].trees);
        CU_ASSERT_EQUAL(graph->communicators, 1);
        ronde_nccl_graph_destroy(graph);
    }
}

/* Ring 00 of the log is 0 3 2 1 4 7 6 5. */
static void rings_keep_their_order(void)
{
    static const uint32_t next[8] = {3, 4, 1, 2, 7, 0, 5, 6};
    struct ronde_nccl_graph *graph = read_data("2x4.log");
    CU_ASSERT_EQUAL(memcmp(graph->next, next, sizeof next), 0);
    struct ronde_schedule *schedule = replay(graph, RONDE_ALL_REDUCE, false, 0);
    CU_ASSERT_EQUAL(schedule->channel_count, 4);
    for (uint32_t c = 0; c < schedule->channel_count; c++)
        for (uint32_t q = 0; q < 8; q++) {
            const uint32_t rank = schedule->channels[c].order[q];
            CU_ASSERT_EQUAL(schedule->channels[c].order[(q + 1) % 8], graph->next[8 * c + rank]);
        }
    ronde_schedule_destroy(schedule);
    ronde_nccl_graph_destroy(graph);
}

/* Every message of a tree goes between a rank and the one above it, once each way and tree. */
static void trees_are_those_of_the_log(void)
{
    static const char *const names[] = {"2x4.log", "1x4-init.log", "3x2-mpirun.log"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct ronde_nccl_graph *graph = read_data(names[i]);
        struct ronde_schedule *schedule = replay(graph, RONDE_ALL_REDUCE, true, 0);
        CU_ASSERT_EQUAL(schedule->proof.messages, 2ull * (graph->ranks - 1) * graph->trees);
        CU_ASSERT_EQUAL(schedule->chunks_per_block, graph->trees);
        checked_run("host", schedule, RONDE_SUM);
        checked_run("cpu", schedule, RONDE_SUM);
        ronde_schedule_destroy(schedule);
        ronde_nccl_graph_destroy(graph);
    }
}

/* Nodes and GPUs in their order: what the library makes without a log has as many messages, in as long a chain. */
static void trees_are_as_deep_as_the_library_s(void)
{
    struct ronde_nccl_graph *graph = read_data("2x4.log");
    struct ronde_schedule *schedule = replay(graph, RONDE_ALL_REDUCE, true, 0), *ours = NULL;
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "nccl_tree",
                                                  .ranks = 8,
                                                  .channels = 2,
                                                  .shape_count = 2,
                                                  .shape = {2, 4}};
    CU_ASSERT_EQUAL(ronde_compile(&request, ronde_mem_default(), NULL, &ours, NULL), RONDE_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(ours);
    CU_ASSERT_EQUAL(schedule->proof.critical_path, ours->proof.critical_path);
    CU_ASSERT_EQUAL(schedule->proof.messages, ours->proof.messages * ours->channel_count);
    ronde_schedule_destroy(ours);
    ronde_schedule_destroy(schedule);
    ronde_nccl_graph_destroy(graph);
}

static void every_collective_of_rings_runs(void)
{
    static const struct {
        enum ronde_collective collective;
        uint32_t root;
    } rows[] = {{RONDE_ALL_REDUCE, 0}, {RONDE_ALL_GATHER, 0}, {RONDE_REDUCE_SCATTER, 0},
                {RONDE_BROADCAST, 5},  {RONDE_REDUCE, 5},     {RONDE_REDUCE, 0}};
    struct ronde_nccl_graph *graph = read_data("2x4.log");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_schedule *schedule = replay(graph, rows[i].collective, false, rows[i].root);
        checked_run("host", schedule, RONDE_SUM);
        CU_ASSERT_EQUAL(schedule->root, rows[i].root);
        ronde_schedule_destroy(schedule);
    }
    ronde_nccl_graph_destroy(graph);
}

/* A chain's messages go the way of the ring, from the root or to it. */
static void chains_go_the_way_of_the_ring(void)
{
    struct ronde_nccl_graph *graph = read_data("2x4.log");
    struct ronde_schedule *there = replay(graph, RONDE_BROADCAST, false, 2);
    struct ronde_schedule *back = replay(graph, RONDE_REDUCE, false, 2);
    CU_ASSERT_EQUAL(there->channels[0].order[0], 2);
    CU_ASSERT_EQUAL(there->channels[0].order[1], graph->next[2]);
    CU_ASSERT_EQUAL(back->channels[0].order[0], 2);
    CU_ASSERT_EQUAL(graph->next[back->channels[0].order[1]], 2);
    ronde_schedule_destroy(there);
    ronde_schedule_destroy(back);
    ronde_nccl_graph_destroy(graph);
}

static void what_nccl_has_not_is_refused(void)
{
    static const struct {
        const char *name;
        struct ronde_nccl_request request;
        enum ronde_status status;
        const char *message;
    } rows[] = {
        {"2x4.log",
         {RONDE_ALL_TO_ALL, false, 0},
         RONDE_UNSUPPORTED,
         "NCCL runs no all_to_all over rings"},
        {"2x4.log",
         {RONDE_ALL_GATHER, true, 0},
         RONDE_UNSUPPORTED,
         "NCCL runs no all_gather over trees, only all_reduce"},
        {"2x4.log",
         {RONDE_BROADCAST, false, 8},
         RONDE_BAD_ARGUMENT,
         "root 8 is not below the log's 8 ranks"},
        {"1x8-rank0.log",
         {RONDE_ALL_REDUCE, true, 0},
         RONDE_UNSUPPORTED,
         "the log does not state the trees of all 8 ranks: each prints its own line \"Trees [0] "
         "...\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_nccl_graph *graph = read_data(rows[i].name);
        struct ronde_schedule *schedule = NULL;
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL(ronde_nccl_graph_schedule(graph, &rows[i].request, ronde_mem_default(),
                                                  &schedule, &error),
                        rows[i].status);
        CU_ASSERT_STRING_EQUAL(error.message, rows[i].message);
        CU_ASSERT_PTR_NULL(schedule);
        ronde_nccl_graph_destroy(graph);
    }
}

/* --- texts ----------------------------------------------------------------------------------- */

static enum ronde_status parse(const char *text, uint32_t ranks, struct ronde_nccl_graph **graph,
                               struct ronde_error *error)
{
    *error = (struct ronde_error){0};
    return ronde_nccl_graph_parse(text, strlen(text), "f", ranks, ronde_mem_default(), graph, error);
}

/* A log, and what it states. */
struct graph_row {
    const char *text;
    uint32_t ranks, rings, trees;
};

static void expect_graphs(const struct graph_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct ronde_nccl_graph *graph = NULL;
        struct ronde_error error;
        CU_ASSERT_EQUAL(parse(rows[i].text, 0, &graph, &error), RONDE_OK);
        if (!graph) {
            suite_note("row %zu: %s", i, error.message);
            continue;
        }
        CU_ASSERT_EQUAL(graph->ranks, rows[i].ranks);
        CU_ASSERT_EQUAL(graph->rings, rows[i].rings);
        CU_ASSERT_EQUAL(graph->trees, rows[i].trees);
        if (graph->trees != rows[i].trees || graph->ranks != rows[i].ranks)
            suite_note("row %zu: %u ranks, %u trees", i, graph->ranks, graph->trees);
        ronde_nccl_graph_destroy(graph);
    }
}

static void every_age_of_nccl_is_understood(void)
{
    static const struct graph_row rows[] = {
        {"h:1:2 [0] NCCL INFO Channel 00/02 :    0   1\nh:1:2 [0] NCCL INFO Channel 01/02 :    0   "
         "1\n",
         2, 2, 0},
        {"h:1:2 [0] NCCL INFO Channel 00 :    0   1   2\r\n", 3, 1, 0},
        {"NCCL INFO Trees [0] 1->0->-1/-1/-1\nNCCL INFO Trees [0] -1->1->0/-1/-1\n", 2, 0, 1},
        {"Trees [0] 1/-1/-1->0->-1|-1->0->1/-1/-1\nTrees [0] -1/-1/-1->1->0|0->1->-1/-1/-1", 2, 0, 1},
        {"x Ring 00 : 9 -> 9 -> 9\nRing 00 : 1 -> 0 -> 1\n", 2, 1, 0},
        {"Ring 00 : 34 -> 33 [send] via NET/Socket/0\nRing 00 : 0[1a] -> 1[2b] via P2P/IPC\n"
         "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\nRing 00 : 0 -> 0 -> 0\n",
         1, 1, 0},
        {"2025-11-12 20:41:43,851 - INFO - h:1:2 [0] NCCL INFO Ring 00 : 1 -> 0 -> 1\n"
         "Channel settings are kept\nRing buffers\n",
         2, 1, 0},
    };
    expect_graphs(rows, sizeof rows / sizeof rows[0]);
}

/* Rings of 20 ranks: the first of more, in what NCCL up to 2.11 prints, or all there are. */
static void twenty_ranks_of_a_ring_may_not_be_all(void)
{
    char text[4096], ring[128] = "";
    struct ronde_nccl_graph *graph = NULL;
    struct ronde_error error;
    for (int rank = 0; rank < 20; rank++)
        snprintf(ring + strlen(ring), sizeof ring - strlen(ring), " %3d", rank);
    static const uint32_t sizes[] = {0, 20, 21, 64};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int used = snprintf(text, sizeof text, "a:1:2 [0] NCCL INFO Channel 00/01 : %s\n", ring);
        if (sizes[i] > 0)
            snprintf(text + used, sizeof text - (size_t)used,
                     "a:1:2 [0] NCCL INFO comm 0x7 rank 0 nranks %u cudaDev 0 - Init COMPLETE\n",
                     sizes[i]);
        const bool is_whole = sizes[i] <= 20;
        CU_ASSERT_EQUAL(parse(text, 0, &graph, &error), is_whole ? RONDE_OK : RONDE_BAD_INPUT);
        CU_ASSERT(!is_whole || (graph && graph->ranks == 20));
        CU_ASSERT(is_whole || strstr(error.message, "NCCL up to 2.11 prints 20 ranks of a ring"));
        ronde_nccl_graph_destroy(graph);
    }
    /* Their neighbours, printed by each, tell the rest. */
    int used = snprintf(text, sizeof text, "Channel 00/01 : %s\n", ring);
    for (uint32_t rank = 0; rank < 32; rank++)
        used += snprintf(text + used, sizeof text - (size_t)used, "Ring 00 : %u -> %u -> %u\n",
                         (rank + 31) % 32, rank, (rank + 1) % 32);
    CU_ASSERT_EQUAL(parse(text, 0, &graph, &error), RONDE_OK);
    CU_ASSERT(graph && graph->ranks == 32 && graph->next[19] == 20);
    ronde_nccl_graph_destroy(graph);
}

/* What frameworks and launchers make of a log: an unreadable line costs itself, and nothing else. */
static void what_launchers_do_to_lines_is_undone(void)
{
#define PAIR                                                                                       \
    "a:1:2 [0] NCCL INFO Channel 00/01 : 0 1\na:1:2 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1\n"
#define OTHER "a:3:4 [1] NCCL INFO Trees [0] -1/-1/-1->1->0\n"
    static const struct graph_row rows[] = {
        {"a:1:2 [0] NCCL INFO Channel 00/01 : 0 1 comm 0xabc nRanks 02 busId 1b000\n"
         "a:1:2 [0] NCCL INFO Ring 00 : 1 -> 0 -> 1 comm 0xabc nRanks 02 busId 1b000\n"
         "a:1:2 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1 comm 0xabc nRanks 02 busId 1b000\n" OTHER,
         2, 1, 1},
        {"a:1:2 [0] NCCL INFO Channel 00/01 : 0 1\n"
         "a:1:2 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1 [repeated 2x across cluster]\n",
         2, 1, 0},
        {PAIR "a:3:4 [1] NCCL INFO Trees [0] -1/-1/-1->1->0 [1\n", 2, 1, 1},
        {"\x1b[36ma:1:2 [0] NCCL INFO Channel 00/01 : 0 1\x1b[0m\n"
         "\x1b[36ma:1:2 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1\x1b[0m\n" OTHER,
         2, 1, 1},
        {PAIR OTHER "a:3:4 [1] NCCL INFO Trees [0] -1/-1->\na:3:4 [1] NCCL INFO Ring 00 : 1 ->\n",
         2, 1, 1},
        {"a:1:2 [0] NCCL INFO Channel 00/01 : 0 1\na:1:2 [0] NCCL INFO Channel 00/01 : 0 1\n"
         "a:1:2 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1\na:1:2 [0] NCCL INFO Trees [0] "
         "1/-1/-1->0->-1\n" OTHER OTHER,
         2, 1, 1},
        {"[1,0]<stdout>:a:1:2 [0] NCCL INFO Channel 00/01 :[1,0]<stdout>: 0 1\n"
         "[1,0]<stdout>:a:1:2 [0] NCCL INFO Trees [0] [1,0]<stdout>:1/-1/-1->0->-1\n" OTHER,
         2, 1, 1},
        {"a:1:2 [0] NCCL INFO Channel 00/01 : 0 1a:1:2 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1\n"
         "a:1:2 [0] NCCL INFO Channel 00/01 : 0 1 a:3:4 [1] NCCL INFO Trees [0] "
         "-1/-1/-1->1->0\n",
         2, 1, 1},
    };
    expect_graphs(rows, sizeof rows / sizeof rows[0]);
}

static void malformed_logs_are_refused_with_their_line(void)
{
    static const struct {
        const char *text;
        uint32_t ranks;
        const char *message;
    } rows[] = {
        {"", 0,
         "f: no rings and no trees; NCCL prints them with NCCL_DEBUG=INFO and "
         "NCCL_DEBUG_SUBSYS=INIT,GRAPH"},
        {"\nRing 00 : 1 -> 0 ->", 0,
         "f:2: neighbours that end early: expected Ring NN : rank -> rank -> rank"},
        {"Ring 00 : 1 -> 0 -> -1", 0,
         "f:1: neighbours that end early: expected Ring NN : rank -> rank -> rank"},
        {"Ring 99999 : 1 -> 0 -> 1", 0,
         "f:1: neighbours that end early: expected Ring NN : rank -> rank -> rank"},
        {"Channel 00/02 :", 0, "f:1: a ring that ends early: expected Channel NN/NN : and ranks"},
        {"Channel 00/02 : 0 1 x", 0, "f:1: a ring with something among its ranks that is none"},
        {"Trees [0] 1/-1->0->-1", 0,
         "f:1: trees that end early: expected [N] child/child/child->rank->parent"},
        {"Trees [0] 1/-1/-1->0->-1 [1", 0,
         "f:1: trees that end early: expected [N] child/child/child->rank->parent"},
        {"Ring 00 : 1 -> 0 -> 1\nRing 00 : 2 -> 1 -> 0", 0,
         "f: ring 0 is back at rank 0 after 2 of 3 ranks"},
        {"Ring 00 : 3 -> 0 -> 1", 0,
         "f: 1 rings of 4 ranks, of which not all say their neighbours; "
         "NCCL_DEBUG_SUBSYS=INIT,GRAPH on every rank prints them"},
        {"Channel 00/03 : 0 1\nChannel 02/03 : 0 1\n", 0,
         "f: 3 rings of 2 ranks, of which not all say their neighbours; "
         "NCCL_DEBUG_SUBSYS=INIT,GRAPH on every rank prints them"},
        {"Channel 00/01 : 0 1 2\nRing 00 : 0 -> 2 -> 1\n", 0,
         "f:2: ring 0 goes from rank 0 to 2 here and to 1 before: is this another communicator's?"},
        {"Channel 00/01 : 0 1 0 1", 0, "f:1: a ring that is back at its first rank before its end"},
        {"Channel 00/01 : 0 1 ...\n", 0,
         "f:1: the ring is cut off after 128 characters, and no line \"Ring NN : \" tells the "
         "rest: "
         "NCCL_DEBUG_SUBSYS=INIT,GRAPH prints them"},
        {" <graphs version=\"1\">", 0,
         "f: this is XML, as NCCL writes it for NCCL_GRAPH_DUMP_FILE, not a log; what NCCL prints "
         "with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,GRAPH has rings and trees"},
        {"Channel 00/01 : 0 1\n", 4, "f: none of its 1 communicators has 4 ranks"},
        {"Trees [0] 1/-1/-1->0->-1\nTrees [0] -1/-1/-1->1->-1", 0,
         "f: tree 0: rank 0 and its neighbours do not agree on who is above whom"},
        {"Trees [0] 1/1/-1->0->-1\nTrees [0] -1/-1/-1->1->0", 0,
         "f: tree 0: rank 0 and its neighbours do not agree on who is above whom"},
        {"Trees [0] 1/-1/-1->0->1\nTrees [0] 0/-1/-1->1->0\nTrees [0] -1/-1/-1->2->-1", 0,
         "f: tree 0 has 1 roots, or ranks that are below none"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_nccl_graph *graph = NULL;
        struct ronde_error error;
        CU_ASSERT_EQUAL(parse(rows[i].text, rows[i].ranks, &graph, &error), RONDE_BAD_INPUT);
        CU_ASSERT_PTR_NULL(graph);
        if (rows[i].message)
            CU_ASSERT_STRING_EQUAL(error.message, rows[i].message);
        if (rows[i].message && strcmp(error.message, rows[i].message) != 0)
            suite_note("row %zu: \"%s\"", i, error.message);
    }
}

/* A process of a training job: rank of all four, then of a pair of its own, named or split off from all. */
static void put_process(FILE *file, uint32_t rank, const char *pair_name)
{
    const uint32_t own = rank % 2;
    fprintf(file,
            "h:%u:7 [%u] NCCL INFO ncclCommInitRank comm 0xa rank %u nranks 4 cudaDev 0 busId 1 "
            "commId 0xf00 - "
            "Init START\n",
            100 + rank, rank, rank);
    fprintf(file, "h:%u:7 [%u] NCCL INFO Ring 00 : %u -> %u -> %u\n", 100 + rank, rank,
            (rank + 3) % 4, rank, (rank + 1) % 4);
    fprintf(file, "h:%u:8 [%u] NCCL INFO %s comm 0xb rank %u nranks 2 cudaDev 0 busId 1 ",
            100 + rank, rank, pair_name, own);
    if (strcmp(pair_name, "ncclCommSplit") == 0)
        fprintf(file, "parent 0xa splitCount 1 color %u key %u- Init START\n", rank / 2, rank);
    else
        fprintf(file, "commId 0xb0%u - Init START\n", rank / 2);
    fprintf(file, "h:%u:8 [%u] NCCL INFO Ring 00 : %u -> %u -> %u\n", 100 + rank, rank, 1 - own,
            own, 1 - own);
}

/* Ranks of a pair have other numbers than among all: who they are with is in no line on rings. */
static void communicators_are_known_by_their_names(void)
{
    static const char *const names[] = {"ncclCommInitRank", "ncclCommSplit"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *text = NULL;
        size_t bytes = 0;
        FILE *file = open_memstream(&text, &bytes);
        CU_ASSERT_FATAL(file != NULL);
        for (uint32_t rank = 0; rank < 4; rank++)
            put_process(file, rank, names[i]);
        fclose(file);
        for (uint32_t wanted = 2; wanted <= 4; wanted += 2) {
            struct ronde_nccl_graph *graph = NULL;
            struct ronde_error error = {0};
            CU_ASSERT_EQUAL(ronde_nccl_graph_parse(text, bytes, "f", wanted, ronde_mem_default(),
                                                   &graph, &error),
                            RONDE_OK);
            if (!graph)
                suite_note("%s", error.message);
            CU_ASSERT_FATAL(graph != NULL);
            CU_ASSERT_EQUAL(graph->ranks, wanted);
            CU_ASSERT_EQUAL(graph->communicators, 3);
            ronde_nccl_graph_destroy(graph);
        }
        free(text);
    }
}

/* A process makes one communicator after the other: of 4 ranks, then of 2. */
static void communicators_are_told_apart(void)
{
    static const char text[] =
        "h:1:1 [0] NCCL INFO Channel 00/01 : 0 1 2 3\nh:1:1 [0] NCCL INFO Trees [0] "
        "1/-1/-1->0->-1\n"
        "h:2:2 [1] NCCL INFO Trees [0] -1/-1/-1->1->0\n"
        "h:1:1 [0] NCCL INFO Channel 00/01 : 0 1\nh:1:1 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1\n"
        "h:2:2 [1] NCCL INFO Trees [0] -1/-1/-1->1->0\n";
    struct ronde_nccl_graph *graph = NULL;
    struct ronde_error error;
    CU_ASSERT_EQUAL(parse(text, 0, &graph, &error), RONDE_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(graph);
    CU_ASSERT_EQUAL(graph->ranks, 4);
    CU_ASSERT_EQUAL(graph->communicators, 2);
    CU_ASSERT_EQUAL(graph->trees, 0);
    ronde_nccl_graph_destroy(graph);
    CU_ASSERT_EQUAL(parse(text, 2, &graph, &error), RONDE_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(graph);
    CU_ASSERT_EQUAL(graph->ranks, 2);
    CU_ASSERT_EQUAL(graph->rings, 1);
    CU_ASSERT_EQUAL(graph->trees, 1);
    ronde_nccl_graph_destroy(graph);
}

/* --- memory ---------------------------------------------------------------------------------- */

static enum ronde_status read_once(const void *context, const struct ronde_mem *mem,
                                   struct ronde_error *error)
{
    struct ronde_nccl_graph *graph = NULL;
    struct ronde_schedule *schedule = NULL;
    const struct ronde_nccl_request request = {RONDE_ALL_REDUCE, true, 0};
    const char *text = context;
    enum ronde_status status =
        ronde_nccl_graph_parse(text, strlen(text), "f", 0, mem, &graph, error);
    if (status == RONDE_OK)
        status = ronde_nccl_graph_schedule(graph, &request, mem, &schedule, error);
    CU_ASSERT_EQUAL(schedule != NULL, status == RONDE_OK);
    ronde_schedule_destroy(schedule);
    ronde_nccl_graph_destroy(graph);
    return status;
}

static void running_out_of_memory_is_survived(void)
{
    static const char text[] = "h:1:1 [0] NCCL INFO comm 0x1 rank 0 commId 0x2 - Init START\n"
                               "h:1:1 [0] NCCL INFO Ring 00 : 1 -> 0 -> 1\n"
                               "h:2:2 [1] NCCL INFO comm 0x1 rank 1 commId 0x2 - Init START\n"
                               "h:1:1 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1\n"
                               "h:2:1 [0] NCCL INFO Ring 00 : 0 -> 1 -> 0\n"
                               "h:2:1 [0] NCCL INFO Trees [0] -1/-1/-1->1->0\n";
    const struct sweep sweep = {"log", read_once, text};
    CU_ASSERT(sweep_run(&sweep) > 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"logs_say_who_is_joined", logs_say_who_is_joined},
        {"rings_keep_their_order", rings_keep_their_order},
        {"trees_are_those_of_the_log", trees_are_those_of_the_log},
        {"trees_are_as_deep_as_the_library_s", trees_are_as_deep_as_the_library_s},
        {"every_collective_of_rings_runs", every_collective_of_rings_runs},
        {"chains_go_the_way_of_the_ring", chains_go_the_way_of_the_ring},
        {"what_nccl_has_not_is_refused", what_nccl_has_not_is_refused},
        {"every_age_of_nccl_is_understood", every_age_of_nccl_is_understood},
        {"twenty_ranks_of_a_ring_may_not_be_all", twenty_ranks_of_a_ring_may_not_be_all},
        {"what_launchers_do_to_lines_is_undone", what_launchers_do_to_lines_is_undone},
        {"malformed_logs_are_refused_with_their_line", malformed_logs_are_refused_with_their_line},
        {"communicators_are_told_apart", communicators_are_told_apart},
        {"communicators_are_known_by_their_names", communicators_are_known_by_their_names},
        {"running_out_of_memory_is_survived", running_out_of_memory_is_survived},
    };
    return suite_run("nccl_graph", cases, sizeof cases / sizeof cases[0]);
}
