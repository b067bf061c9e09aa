/**
 * The step graph: its shape, its delays, and the longest path, against numbers worked out by hand.
 */
#include "support/suite.h"

#include "ronde/schedules.h"
#include "ronde/split.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/** Largest relative difference between two computations of the same time. */
#define TIME_TOLERANCE 1e-9

static struct ronde_schedule *compile(enum ronde_collective collective, const char *algorithm,
                                      uint32_t ranks, uint32_t channels)
{
    const struct ronde_compile_request request = {.collective = collective,
                                                  .algorithm = algorithm,
                                                  .ranks = ranks,
                                                  .channels = channels};
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    const enum ronde_status status =
        ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &error);
    if (status != RONDE_OK && status != RONDE_UNSUPPORTED)
        suite_note("%s", error.message);
    CU_ASSERT(status == RONDE_OK || status == RONDE_UNSUPPORTED);
    return schedule;
}

static struct ronde_dag *expand(const struct ronde_schedule *schedule, const struct ronde_load *load,
                                const struct ronde_time_params *params)
{
    struct ronde_dag *dag = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_dag_create(schedule, load, params, ronde_mem_default(), &dag, &error),
                    RONDE_OK);
    if (error.status != RONDE_OK)
        suite_note("%s", error.message);
    return dag;
}

/**
 * Every edge leads backwards, messages arrive where they were sent, counts are those of the
 * schedule.
 */
static bool is_well_formed(const struct ronde_dag *dag)
{
    uint64_t edges = 0;
    bool is_ok = true;
    for (uint32_t i = 0; i < dag->op_count; i++) {
        const struct ronde_dag_op *op = &dag->ops[i];
        is_ok = is_ok && op->first_edge == edges && op->src < dag->ranks && op->dst < dag->ranks;
        edges += op->edge_count;
        for (uint32_t e = op->first_edge; is_ok && e < op->first_edge + op->edge_count; e++) {
            is_ok = dag->edges[e].op < i;
            if (is_ok && dag->edges[e].is_message)
                is_ok = dag->ops[dag->edges[e].op].dst == op->src;
        }
    }
    return is_ok && edges == dag->edge_count;
}

static uint64_t message_edges(const struct ronde_dag *dag)
{
    uint64_t count = 0;
    for (uint32_t e = 0; e < dag->edge_count; e++)
        count += dag->edges[e].is_message;
    return count;
}

static uint64_t sent_bytes(const struct ronde_dag *dag)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < dag->op_count; i++)
        bytes += dag->ops[i].bytes;
    return bytes;
}

static void graphs_are_topological_and_complete(void)
{
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    const struct ronde_time_params params = {.step_ns = 1};
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t ranks = 1; ranks <= 9; ranks++) {
            struct ronde_schedule *schedule =
                compile(algorithms[a]->collective, algorithms[a]->name, ranks, 2);
            for (uint32_t depth = 0; schedule && depth < 4; depth++) {
                const struct ronde_load load = {.count = 1003,
                                                .dtype = RONDE_FLOAT32,
                                                .slot_bytes = 256,
                                                .depth = depth + schedule->proof.min_depth};
                const uint64_t pieces = ronde_piece_count(schedule, load.count, 4, 256);
                struct ronde_dag *dag = expand(schedule, &load, &params);
                CU_ASSERT_FATAL(dag != NULL);
                CU_ASSERT(is_well_formed(dag));
                CU_ASSERT_EQUAL(dag->op_count,
                                schedule->proof.steps * schedule->channel_count * pieces);
                CU_ASSERT_EQUAL(message_edges(dag),
                                schedule->proof.messages * schedule->channel_count * pieces);
                ronde_dag_destroy(dag, ronde_mem_default());
            }
            ronde_schedule_destroy(schedule);
        }
}

/*
 * Any count, any slot: pieces and channels only cut what is sent. Slots below 16 bytes do not
 * exist.
 */
static void bytes_do_not_depend_on_pieces_or_channels(void)
{
    const uint64_t counts[] = {1, 3, 4, 5, 17, 64, 1000, 12345};
    const struct ronde_time_params params = {0};
    for (uint32_t channels = 1; channels <= 3; channels++) {
        struct ronde_schedule *ring = compile(RONDE_ALL_REDUCE, "ring", 6, channels);
        struct ronde_schedule *tree = compile(RONDE_ALL_REDUCE, "double_tree", 7, channels);
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
            for (uint64_t slot = 0; slot <= 4096; slot = slot ? slot * 16 : 16) {
                const struct ronde_load load = {.count = counts[i],
                                                .dtype = RONDE_FLOAT32,
                                                .slot_bytes = slot};
                struct ronde_dag *dag = expand(ring, &load, &params);
                CU_ASSERT_EQUAL(sent_bytes(dag), 2u * 5u * counts[i] * 4u);
                ronde_dag_destroy(dag, ronde_mem_default());
                dag = expand(tree, &load, &params);
                CU_ASSERT_EQUAL(sent_bytes(dag), 2u * 6u * counts[i] * 4u);
                ronde_dag_destroy(dag, ronde_mem_default());
            }
        ronde_schedule_destroy(ring);
        ronde_schedule_destroy(tree);
    }
}

/** 1000 ns and 2 GB/s one way, 3000 ns and 4 GB/s the other. */
static const struct ronde_path slow_paths[] = {{.latency_ns = 1000, .rate_GBps = 2},
                                               {.latency_ns = 3000, .rate_GBps = 4}};

/** The longest path of a small graph over those two; releases, starts and finishes as in a timing. */
static double replay(const struct ronde_dag *dag, const double *release_ns, double *start_ns,
                     double *finish_ns)
{
    uint32_t path_of[16] = {0};
    CU_ASSERT_FATAL(dag->op_count <= 16);
    for (uint32_t i = 0; i < dag->op_count; i++)
        path_of[i] = dag->ops[i].src < dag->ops[i].dst ? 0 : 1;
    const struct ronde_dag_timing timing = {.paths = slow_paths,
                                            .path_of = path_of,
                                            .release_ns = release_ns,
                                            .out_start_ns = start_ns,
                                            .out_finish_ns = finish_ns};
    return ronde_dag_longest_path(dag, &timing);
}

/** Compares times of operations in the order of the graph, and the end of the run. */
static void check_times(const struct ronde_dag *dag, const double *start_ns,
                        const double *finish_ns, double end_ns)
{
    double starts[16] = {0};
    double finishes[16] = {0};
    const double end = replay(dag, NULL, starts, finishes);
    for (uint32_t i = 0; i < dag->op_count; i++) {
        CU_ASSERT(fabs(starts[i] - start_ns[i]) <= TIME_TOLERANCE * end_ns);
        CU_ASSERT(fabs(finishes[i] - finish_ns[i]) <= TIME_TOLERANCE * end_ns);
    }
    CU_ASSERT(fabs(end - end_ns) <= TIME_TOLERANCE * end_ns);
}

/*
 * Tree on two ranks, 400 bytes: rank 1 sends (delay 10 + 400/4), rank 0 adds and sends back (10 +
 * 400/4 + 400/8), rank 1 receives (10 + 400/4). Lanes carry 3 GB/s at most, so the 4 GB/s way up
 * takes 400/3.
 */
static void longest_path_matches_a_tree_by_hand(void)
{
    struct ronde_schedule *schedule = compile(RONDE_ALL_REDUCE, "tree", 2, 1);
    const struct ronde_time_params params = {
        .step_ns = 10, .launch_ns = 7, .gamma_GBps = 8, .copy_GBps = 4, .lane_GBps = 3};
    const struct ronde_load load = {.count = 100, .dtype = RONDE_INT32};
    struct ronde_dag *dag = expand(schedule, &load, &params);
    CU_ASSERT_EQUAL_FATAL(dag->op_count, 3);
    const double up = 110 + 400 / 3.0; /* from rank 1 to 0: the 4 GB/s path, cut to the lane's 3 */
    const double turn = up + 3000;
    const double down = turn + 160 + 200; /* from 0 to 1: 2 GB/s */
    const double starts[] = {0, turn, down + 1000};
    const double finishes[] = {up, down, down + 1000 + 110};
    check_times(dag, starts, finishes, down + 1000 + 110 + 7);
    CU_ASSERT_EQUAL(dag->ops[0].touched_bytes, 800);
    CU_ASSERT_EQUAL(dag->ops[1].touched_bytes, 1600);
    CU_ASSERT_EQUAL(dag->ops[2].touched_bytes, 800);
    CU_ASSERT(dag->ops[1].delay_ns == 160 && dag->ops[1].stage_ns == 150);
    /* Rank 0 comes 500 ns after the message, rank 1 in good time for the way back. */
    const double release_ns[] = {turn + 500, 20};
    double late_ns[16] = {0}, finish_again_ns[16] = {0};
    CU_ASSERT_DOUBLE_EQUAL(replay(dag, release_ns, late_ns, finish_again_ns),
                           down + 500 + 1000 + 110 + 7, TIME_TOLERANCE * down);
    CU_ASSERT(late_ns[0] == 20 && late_ns[1] == turn + 500);
    ronde_dag_destroy(dag, ronde_mem_default());
    ronde_schedule_destroy(schedule);
}

static void a_time_by_size_is_straight_between_its_points(void)
{
    const struct ronde_sized_ns none = {0}, one = {1, {100}, {7}};
    const struct ronde_sized_ns three = {3, {100, 200, 400}, {10, 30, 20}};
    CU_ASSERT(ronde_sized_ns_at(&none, 100) == 0);
    CU_ASSERT(ronde_sized_ns_at(&one, 1) == 7 && ronde_sized_ns_at(&one, 1e9) == 7);
    CU_ASSERT(ronde_sized_ns_at(&three, 0) == 10 && ronde_sized_ns_at(&three, 100) == 10);
    CU_ASSERT(ronde_sized_ns_at(&three, 150) == 20 && ronde_sized_ns_at(&three, 300) == 25);
    CU_ASSERT(ronde_sized_ns_at(&three, 500) == 15); /* the last line, prolonged */
    CU_ASSERT(ronde_sized_ns_at(&three, 1e6) == 0);  /* but no time is negative */
}

/*
 * The tree by hand again, its messages priced by size: 400 bytes cost the sender 50 ns, the receiver 20, their sum 5.
 */
static void sizes_of_messages_cost_their_ends(void)
{
    struct ronde_schedule *schedule = compile(RONDE_ALL_REDUCE, "tree", 2, 1);
    const struct ronde_time_params params = {.lane_GBps = 3,
                                             .send = {2, {300, 500}, {0, 100}},
                                             .receive = {1, {4}, {20}},
                                             .combine = {1, {4}, {5}}};
    const struct ronde_load load = {.count = 100, .dtype = RONDE_INT32};
    struct ronde_dag *dag = expand(schedule, &load, &params);
    CU_ASSERT_EQUAL_FATAL(dag->op_count, 3);
    CU_ASSERT(ronde_time_is_sized(&params));
    CU_ASSERT_EQUAL(dag->ops[0].delay_ns, 50);
    CU_ASSERT_EQUAL(dag->ops[1].delay_ns, 50 + 20 + 5);
    CU_ASSERT_EQUAL(dag->ops[2].delay_ns, 20);
    CU_ASSERT_EQUAL(dag->ops[1].stage_ns, 0);
    const double up = 50 + 400 / 3.0, down = up + 3000 + 75 + 200;
    const double starts[] = {0, up + 3000, down + 1000};
    const double finishes[] = {up, down, down + 1000 + 20};
    check_times(dag, starts, finishes, down + 1000 + 20);
    ronde_dag_destroy(dag, ronde_mem_default());
    ronde_schedule_destroy(schedule);
}

/* Bruck's first message has blocks 0, 2 and 4, 6 of scratch; its last is in one piece. */
static void blocks_that_lie_apart_are_packed(void)
{
    struct ronde_schedule *schedule = compile(RONDE_ALL_TO_ALL, "bruck", 8, 1);
    const struct ronde_time_params params = {.gamma_GBps = 2,
                                             .send = {1, {4}, {50}},
                                             .receive = {1, {4}, {20}}};
    const struct ronde_load load = {.count = 8, .dtype = RONDE_INT32};
    struct ronde_dag *dag = expand(schedule, &load, &params);
    unsigned packed = 0, whole = 0, unpacked = 0, copies = 0;
    for (uint32_t i = 0; i < dag->op_count; i++) {
        const double delay_ns = dag->ops[i].delay_ns;
        packed += delay_ns == 50 + (50 + 20) + 4 * 32 / 2.0;
        unpacked += delay_ns == 20 + (50 + 20) + 4 * 32 / 2.0;
        whole += delay_ns == 50 || delay_ns == 20;
        copies += delay_ns == 32 / 2.0;
    }
    CU_ASSERT(packed == 16 && unpacked == 16 && whole == 16 && copies == 8 * 15);
    CU_ASSERT(dag->busy_ns == 0); /* one lane */
    ronde_dag_destroy(dag, ronde_mem_default());
    ronde_schedule_destroy(schedule);
}

/* Bruck's all_gather has its blocks in a buffer that turns with the rank: messages of several wrap around its end. */
static void buffers_that_turn_are_turned(void)
{
    struct ronde_schedule *schedule = compile(RONDE_ALL_GATHER, "bruck", 8, 1);
    const struct ronde_time_params params = {.gamma_GBps = 2,
                                             .send = {1, {4}, {50}},
                                             .receive = {1, {4}, {20}}};
    const struct ronde_load load = {.count = 8, .dtype = RONDE_INT32};
    struct ronde_dag *dag = expand(schedule, &load, &params);
    unsigned alone = 0, turned = 0;
    for (uint32_t i = 0; i < dag->op_count; i++) {
        const double delay_ns = dag->ops[i].delay_ns;
        alone += delay_ns == 50 || delay_ns == 20;
        turned += delay_ns == 50 + 64 / 2.0 || delay_ns == 20 + 64 / 2.0 ||
                  delay_ns == 50 + 128 / 2.0 || delay_ns == 20 + 128 / 2.0;
    }
    CU_ASSERT(alone == 16 && turned == 32);
    ronde_dag_destroy(dag, ronde_mem_default());
    ronde_schedule_destroy(schedule);
}

/* 1 ns a byte: what is received to be added, a copy of the input where the output has no room for sums, a turned buffer. */
static void memory_of_every_call_is_paid_first(void)
{
    static const struct {
        enum ronde_collective collective;
        const char *algorithm;
        double blocks;
    } known[] = {
        {RONDE_ALL_REDUCE, "recursive_doubling", 1},
        {RONDE_ALL_REDUCE, "ring", 0.25},
        {RONDE_REDUCE_SCATTER, "recursive_halving", 6},
        {RONDE_REDUCE_SCATTER, "ring", 5},
        {RONDE_ALL_GATHER, "bruck", 4},
        {RONDE_ALL_GATHER, "ring", 0},
        {RONDE_GATHER, "binomial", 2},
        {RONDE_REDUCE, "binomial", 2},
    };
    const struct ronde_time_params params = {.launch_ns = 11, .fresh = {2, {1, 2}, {1, 2}}};
    const struct ronde_load load = {.count = 100, .dtype = RONDE_INT32};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct ronde_schedule *schedule = compile(known[i].collective, known[i].algorithm, 4, 1);
        struct ronde_dag *dag = expand(schedule, &load, &params);
        CU_ASSERT_EQUAL(dag->launch_ns, 11 + 400 * known[i].blocks);
        ronde_dag_destroy(dag, ronde_mem_default());
        ronde_schedule_destroy(schedule);
    }
    /* Without copies of the input: what is received, and what the schedule itself keeps, which a ring does not. */
    const struct ronde_time_params in_place = {.fresh = params.fresh, .sums_in_place = 1};
    struct ronde_schedule *ring = compile(RONDE_REDUCE_SCATTER, "ring", 4, 1);
    CU_ASSERT_EQUAL(ronde_time_launch_ns(&in_place, ring, &load), 400);
    ronde_schedule_destroy(ring);
}

/* Seven sends in one lane, seven receives in another, on one processor: 7 x 50 is not enough. */
static void lanes_share_the_processor_of_their_rank(void)
{
    struct ronde_schedule *schedule = compile(RONDE_ALL_TO_ALL, "direct", 8, 1);
    const struct ronde_time_params params = {.launch_ns = 11,
                                             .send = {1, {4}, {50}},
                                             .receive = {1, {4}, {20}}};
    const struct ronde_load load = {.count = 8, .dtype = RONDE_INT32};
    const struct ronde_path path = {.latency_ns = 10};
    struct ronde_dag *dag = expand(schedule, &load, &params);
    double finish_ns[256];
    const struct ronde_dag_timing timing = {.paths = &path, .out_finish_ns = finish_ns};
    CU_ASSERT_FATAL(dag->op_count <= 256);
    CU_ASSERT(dag->busy_ns == 7 * 70);
    CU_ASSERT(ronde_dag_advance(dag, &timing, 0, dag->op_count) == 7 * 50 + 10 + 20);
    CU_ASSERT(ronde_dag_longest_path(dag, &timing) == 7 * 70 + 11);
    ronde_dag_destroy(dag, ronde_mem_default());
    ronde_schedule_destroy(schedule);
}

/*
 * Broadcast on two ranks, three pieces of 16 bytes at 2 GB/s: each send takes 8 ns and each message
 * 1000. With one slot a send waits for the receive of the one before, with eight slots for nothing
 * but its own lane.
 */
static void a_send_waits_for_a_free_slot(void)
{
    struct ronde_schedule *schedule = compile(RONDE_BROADCAST, "binomial", 2, 1);
    const struct ronde_time_params params = {.step_ns = 1};
    struct ronde_load load = {.count = 12, .dtype = RONDE_INT32, .slot_bytes = 16};
    double finish_ns[9];
    load.depth = 1;
    struct ronde_dag *dag = expand(schedule, &load, &params);
    CU_ASSERT_EQUAL_FATAL(dag->op_count, 9);
    double end_ns = replay(dag, NULL, NULL, finish_ns);
    CU_ASSERT(fabs(end_ns - 3 * (9 + 1000 + 1)) <= TIME_TOLERANCE * end_ns);
    ronde_dag_destroy(dag, ronde_mem_default());

    load.depth = 2; /* the third send starts when the first receive is over */
    dag = expand(schedule, &load, &params);
    end_ns = replay(dag, NULL, NULL, finish_ns);
    CU_ASSERT(fabs(end_ns - 2 * (9 + 1000 + 1)) <= TIME_TOLERANCE * end_ns);
    ronde_dag_destroy(dag, ronde_mem_default());

    load.depth = 0; /* eight */
    dag = expand(schedule, &load, &params);
    end_ns = replay(dag, NULL, NULL, finish_ns);
    CU_ASSERT(fabs(end_ns - (3 * 9 + 1000 + 1)) <= TIME_TOLERANCE * end_ns);
    ronde_dag_destroy(dag, ronde_mem_default());
    ronde_schedule_destroy(schedule);
}

/**
 * gather on 3 ranks along a chain; rank 1 passes rank 2's block on through scratch, first or last.
 */
static struct ronde_schedule *chain_gather(bool passes_first)
{
    const struct ronde_compile_request request = {.collective = RONDE_GATHER,
                                                  .algorithm = "chain",
                                                  .ranks = 3};
    struct ronde_builder *builder = NULL;
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_builder_create(&request, ronde_mem_default(), &builder, &error),
                          RONDE_OK);
    ronde_builder_scratch(builder, 1);
    const struct ronde_operand own = ronde_chunks(RONDE_IN, 0, 1);
    const struct ronde_operand kept = ronde_chunks(RONDE_SCRATCH, 0, 1);
    const struct ronde_transfer in = {.from = 2, .to = 1, .source = own, .target = kept};
    const struct ronde_transfer pass = {.from = 1,
                                        .to = 0,
                                        .source = kept,
                                        .target = ronde_chunks(RONDE_OUT, 2, 1)};
    const struct ronde_transfer mine = {.from = 1,
                                        .to = 0,
                                        .source = own,
                                        .target = ronde_chunks(RONDE_OUT, 1, 1)};
    ronde_builder_transfer(builder, &in);
    ronde_builder_transfer(builder, passes_first ? &pass : &mine);
    ronde_builder_transfer(builder, passes_first ? &mine : &pass);
    ronde_builder_copy(builder, 0, 0, own, ronde_chunks(RONDE_OUT, 0, 1));
    if (ronde_schedule_finish(builder, NULL, &schedule, &error) != RONDE_OK)
        suite_note("%s", error.message);
    CU_ASSERT_FATAL(schedule != NULL);
    return schedule;
}

/* rs has no operand that gives its length, and neither does a chunk of scratch. */
static void steps_without_user_memory_know_their_bytes(void)
{
    const struct ronde_time_params params = {0};
    const struct ronde_load load = {.count = 9, .dtype = RONDE_FLOAT64};
    for (int passes_first = 0; passes_first < 2; passes_first++) {
        struct ronde_schedule *schedule = chain_gather(passes_first);
        struct ronde_dag *dag = expand(schedule, &load, &params);
        CU_ASSERT_FATAL(dag != NULL);
        CU_ASSERT_EQUAL(dag->op_count, passes_first ? 6 : 7);
        CU_ASSERT_EQUAL(sent_bytes(dag), 3 * 72);
        ronde_dag_destroy(dag, ronde_mem_default());
        ronde_schedule_destroy(schedule);
    }
}

static void nothing_to_do_is_an_empty_graph_and_takes_no_time(void)
{
    struct ronde_schedule *schedule = compile(RONDE_ALL_REDUCE, "ring", 4, 1);
    const struct ronde_time_params params = {.launch_ns = 100, .step_ns = 1};
    const struct ronde_load load = {.count = 0, .dtype = RONDE_FLOAT32};
    struct ronde_dag *dag = expand(schedule, &load, &params);
    CU_ASSERT_EQUAL(dag->op_count, 0);
    CU_ASSERT(replay(dag, NULL, NULL, NULL) == 0);
    ronde_dag_destroy(dag, ronde_mem_default());
    ronde_dag_destroy(NULL, ronde_mem_default());
    ronde_schedule_destroy(schedule);
}

static void refuse(const struct ronde_schedule *schedule, struct ronde_load load,
                   enum ronde_status status, const char *text)
{
    const struct ronde_time_params params = {0};
    struct ronde_error error = {0};
    struct ronde_dag *dag = NULL;
    CU_ASSERT_EQUAL(ronde_dag_create(schedule, &load, &params, ronde_mem_default(), &dag, &error),
                    status);
    CU_ASSERT_PTR_NULL(dag);
    CU_ASSERT(strstr(error.message, text) != NULL);
}

static void impossible_loads_are_refused(void)
{
    struct ronde_schedule *schedule = compile(RONDE_ALL_REDUCE, "ring", 4, 1);
    refuse(schedule, (struct ronde_load){.count = 4, .dtype = RONDE_DTYPE_COUNT},
           RONDE_BAD_ARGUMENT, "does not exist");
    refuse(schedule, (struct ronde_load){.count = 4, .depth = 1}, RONDE_BAD_ARGUMENT,
           "depth 1 is below 2");
    refuse(schedule, (struct ronde_load){.count = 4, .slot_bytes = 15}, RONDE_BAD_ARGUMENT,
           "slot of 15 bytes is below 16");
    refuse(schedule, (struct ronde_load){.count = (uint64_t)1 << 36, .slot_bytes = 16},
           RONDE_UNSUPPORTED, "a step graph has at most 2^32 - 2");
    ronde_schedule_destroy(schedule);
}

/** An allocator that fails one allocation and counts what lives. */
struct failing {
    uint64_t left; /**< allocations until the failing one */
    int64_t live;  /**< blocks */
};

static void *failing_resize(void *self, void *old, size_t old_bytes, size_t new_bytes)
{
    struct failing *failing = self;
    if (new_bytes > 0 && failing->left-- == 0)
        return NULL;
    failing->live += (old == NULL && new_bytes > 0) - (old != NULL && new_bytes == 0);
    const struct ronde_mem *mem = ronde_mem_default();
    return mem->resize(mem->self, old, old_bytes, new_bytes);
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void)
{
    struct ronde_schedule *schedule = compile(RONDE_ALL_REDUCE, "double_tree", 9, 1);
    const struct ronde_network network = {.port_GBps = 1};
    const struct ronde_load load = {.count = 1000, .slot_bytes = 64};
    uint64_t allowed = 0;
    enum ronde_status status = RONDE_NO_MEMORY;
    for (; status == RONDE_NO_MEMORY && allowed < 1000; allowed++) {
        struct failing failing = {.left = allowed};
        const struct ronde_mem mem = {.resize = failing_resize, .self = &failing};
        double time_ns = 0;
        status = ronde_dag_price(schedule, &load, &network, &mem, &time_ns, NULL);
        CU_ASSERT_EQUAL(failing.live, 0);
        CU_ASSERT(status == RONDE_NO_MEMORY || time_ns > 0);
    }
    CU_ASSERT_EQUAL(status, RONDE_OK);
    suite_note("%llu allocations", (unsigned long long)allowed - 1);
    ronde_schedule_destroy(schedule);
}

/* Named graphs are the plain ones, and their names say what each operation does, lane by lane in order. */
static void origins_name_every_step(void)
{
    static const struct ronde_time_params params = {.step_ns = 10};
    static const struct ronde_load load = {.count = 5000, .dtype = RONDE_FLOAT32, .slot_bytes = 2048};
    struct ronde_schedule *schedule = compile(RONDE_ALL_REDUCE, "double_tree", 5, 1);
    struct ronde_dag *plain = expand(schedule, &load, &params), *named = NULL;
    uint64_t last[5][8] = {{0}};
    CU_ASSERT_EQUAL_FATAL(ronde_dag_create_named(schedule, &load, &params, ronde_mem_default(),
                                                 &named, NULL),
                          RONDE_OK);
    CU_ASSERT_PTR_NULL(plain->origins);
    CU_ASSERT_PTR_NOT_NULL_FATAL(named->origins);
    CU_ASSERT_EQUAL_FATAL(named->op_count, plain->op_count);
    CU_ASSERT_EQUAL(memcmp(named->ops, plain->ops, plain->op_count * sizeof *plain->ops), 0);
    for (uint32_t i = 0; i < named->op_count; i++) {
        const struct ronde_dag_origin *origin = &named->origins[i];
        const struct ronde_dag_op *op = &named->ops[i];
        CU_ASSERT_EQUAL(ronde_step_sends(origin->op), op->dst != op->src);
        CU_ASSERT_FATAL(origin->channel < 2 && origin->lane < 4);
        /* Later than the one before it in its lane, by piece and then by step. */
        const uint64_t place = ((uint64_t)origin->piece << 32 | origin->step) + 1;
        uint64_t *const before = &last[op->src][origin->channel * 4 + origin->lane];
        CU_ASSERT(place > *before);
        *before = place;
    }
    ronde_dag_destroy(named, ronde_mem_default());
    ronde_dag_destroy(plain, ronde_mem_default());
    ronde_schedule_destroy(schedule);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(graphs_are_topological_and_complete),
        SUITE_CASE(bytes_do_not_depend_on_pieces_or_channels),
        SUITE_CASE(longest_path_matches_a_tree_by_hand),
        SUITE_CASE(a_time_by_size_is_straight_between_its_points),
        SUITE_CASE(sizes_of_messages_cost_their_ends),
        SUITE_CASE(blocks_that_lie_apart_are_packed),
        SUITE_CASE(buffers_that_turn_are_turned),
        SUITE_CASE(memory_of_every_call_is_paid_first),
        SUITE_CASE(lanes_share_the_processor_of_their_rank),
        SUITE_CASE(a_send_waits_for_a_free_slot),
        SUITE_CASE(steps_without_user_memory_know_their_bytes),
        SUITE_CASE(nothing_to_do_is_an_empty_graph_and_takes_no_time),
        SUITE_CASE(impossible_loads_are_refused),
        SUITE_CASE(origins_name_every_step),
        SUITE_CASE(every_failing_allocation_is_reported_and_leaks_nothing),
    };
    return suite_run("dag", cases, sizeof cases / sizeof cases[0]);
}
