/**
 * Prices: closed forms against the longest path of the step graph, and both against formulas
 * written by hand.
 */
#include "support/buffers.h"
#include "support/suite.h"

#include "ronde/schedules.h"
#include "ronde/split.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/** Largest relative difference between two computations of the same time. */
#define TIME_TOLERANCE 1e-9

/** Bytes of a slot in these tests. */
#define SLOT_BYTES 1024u

/** Slots of a connection where a load leaves its depth 0 (ronde/dag.h). */
#define DEFAULT_DEPTH 8u

/** Machines and loads drawn for every algorithm. */
#define CHANCES 300u

/** Networks that stress different terms. */
static const struct ronde_network networks[] = {
    /* everything costs something; flows that share a port slow one another down */
    {.time = {.alpha_ns = 1000, .step_ns = 300, .launch_ns = 5000, .gamma_GBps = 20, .copy_GBps = 30},
     .latency_ns = 500,
     .port_GBps = 50},
    /* lanes so slow that sharing a port makes no difference */
    {.time = {.alpha_ns = 700, .step_ns = 20, .gamma_GBps = 3, .lane_GBps = 5}, .port_GBps = 100},
    /* no network at all: reductions only */
    {.time = {.gamma_GBps = 7}},
    /* so much latency that slots run out */
    {.time = {.alpha_ns = 50000, .step_ns = 10, .lane_GBps = 2}, .port_GBps = 50},
};
#define NETWORK_COUNT (sizeof networks / sizeof networks[0])

/** What was compared. */
struct tally {
    uint32_t exact;       /**< closed form claims to be exact */
    uint32_t approximate; /**< it does not */
    double worst;         /**< largest overestimate among the latter, relative to the DAG price */
};

static struct ronde_schedule *compile(const struct ronde_compile_request *request)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    const enum ronde_status status =
        ronde_compile(request, ronde_mem_default(), NULL, &schedule, &error);
    if (status != RONDE_OK && status != RONDE_UNSUPPORTED)
        suite_note("%s", error.message);
    CU_ASSERT(status == RONDE_OK || status == RONDE_UNSUPPORTED);
    return schedule;
}

static double dag_price(const struct ronde_schedule *schedule, const struct ronde_load *load,
                        const struct ronde_network *network)
{
    double time_ns = 0;
    struct ronde_error error = {0};
    const enum ronde_status status =
        ronde_dag_price(schedule, load, network, ronde_mem_default(), &time_ns, &error);
    if (status != RONDE_OK)
        suite_note("%s", error.message);
    CU_ASSERT_EQUAL_FATAL(status, RONDE_OK);
    return time_ns;
}

static const struct ronde_algorithm *find(const struct ronde_compile_request *request)
{
    const struct ronde_algorithm *algorithm =
        ronde_algorithm_find(request->collective, request->algorithm, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(algorithm);
    return algorithm;
}

/**
 * Compares both prices of a load: equal where the closed form says so, at least the DAG price
 * elsewhere.
 */
static bool compare(const struct ronde_schedule *schedule,
                    const struct ronde_compile_request *request, const struct ronde_load *load,
                    const struct ronde_network *network, struct tally *tally)
{
    const struct ronde_price price = find(request)->price(request, load, network);
    const double dag_ns = dag_price(schedule, load, network);
    const double excess = dag_ns > 0 ? (price.time_ns - dag_ns) / dag_ns : price.time_ns;
    const bool is_ok = price.is_exact ? fabs(excess) <= TIME_TOLERANCE : excess >= -TIME_TOLERANCE;
    CU_ASSERT(is_ok);
    if (!is_ok)
        suite_note(
            "%s on %u ranks, %u channels, %llu bytes, depth %u: closed form %.17g, dag %.17g",
            request->algorithm, request->ranks, request->channels,
            (unsigned long long)load->count * 4, load->depth, price.time_ns, dag_ns);
    tally->exact += price.is_exact;
    tally->approximate += !price.is_exact;
    if (!price.is_exact && excess > tally->worst)
        tally->worst = excess;
    return price.is_exact;
}

/** The largest schedules of a sample: uneven trees, folds and powers of two. */
#define SAMPLE_RANKS 9u

/** Elements of `pieces` slots in every chunk. */
static uint64_t even_count(const struct ronde_schedule *schedule, uint64_t pieces)
{
    return pieces * SLOT_BYTES / 4 * schedule->chunks_per_block * schedule->channel_count;
}

/** Lanes of networks 1 and 3 are a twentieth of a port, or slower; the third has no ports. */
static uint32_t port_flows(size_t network)
{
    return network == 0 ? 1 : 20;
}

/** Whether equal chunks must be priced exactly: what the algorithm's own file claims. */
static bool must_be_exact(const struct ronde_compile_request *request, uint32_t flows,
                          uint64_t pieces, uint32_t depth)
{
    const struct ronde_algorithm *algorithm = find(request);
    const struct ronde_price_case load = {
        .ranks = request->ranks,
        .channels = request->channels > 0 ? request->channels : 1,
        .pieces = pieces,
        .depth = depth > 0 ? depth : DEFAULT_DEPTH,
        .port_flows = flows,
    };
    return algorithm->is_exact ? algorithm->is_exact(&load)
                               : load.ranks == 1 || load.channels <= load.port_flows;
}

/** Pieces to try after `pieces`: all small numbers, then fewer; on many ranks only two. */
static uint64_t next_pieces(const struct ronde_compile_request *request, uint64_t pieces)
{
    if (request->ranks > 17)
        return pieces * 4;
    return pieces + (pieces < 4 ? 1 : 4);
}

static void compare_even(const struct ronde_compile_request *request, struct tally *tally)
{
    struct ronde_schedule *schedule = compile(request);
    const uint64_t most = request->ranks > 17 ? 4 : suite_is_sample() ? 8 : 16;
    for (uint64_t pieces = 1; schedule && pieces <= most; pieces = next_pieces(request, pieces))
        for (size_t n = 0; n < NETWORK_COUNT; n++)
            for (uint32_t depth = 0; depth <= (pieces % 4 <= 1 ? 3u : 0u); depth++) {
                /* A slot holds a piece of every chunk of the widest message. */
                const struct ronde_load load = {.count = even_count(schedule, pieces),
                                                .dtype = RONDE_FLOAT32,
                                                .slot_bytes = SLOT_BYTES * schedule->max_chunk_count,
                                                .depth = depth};
                if (depth != 0 && depth < schedule->proof.min_depth)
                    continue;
                const bool is_exact = compare(schedule, request, &load, &networks[n], tally);
                CU_ASSERT(is_exact || !must_be_exact(request, port_flows(n), pieces, depth));
            }
    ronde_schedule_destroy(schedule);
}

/**
 * What fits into one piece costs the same in slots of any size, and the hundredth piece between many ranks as much as the
 * tenth.
 */
static bool is_worthwhile(const struct ronde_schedule *schedule, const struct ronde_load *load)
{
    if (load->slot_bytes == 0)
        return true;
    const uint64_t pieces = ronde_piece_count(schedule, load->count, 4, load->slot_bytes);
    return pieces == 1 ? load->slot_bytes == SLOT_BYTES
                       : pieces <= 64 || schedule->ranks <= SAMPLE_RANKS;
}

/** Counts at which chunks differ, channels differ, chunks are empty, or the last grain is short. */
static void compare_uneven(const struct ronde_compile_request *request, struct tally *tally)
{
    struct ronde_schedule *schedule = compile(request);
    const uint64_t parts = request->ranks > 17 ? 1 : 4;
    const uint64_t odd[] = {1, 3, 4, 5, 29, 64, 1003, 4096, 4444};
    for (size_t i = 0; schedule && i < sizeof odd / sizeof odd[0]; i++)
        for (size_t n = 0; n < NETWORK_COUNT; n++)
            for (uint64_t slot = 0; slot <= SLOT_BYTES; slot += SLOT_BYTES / parts) {
                const struct ronde_load load = {.count = odd[i],
                                                .dtype = RONDE_FLOAT32,
                                                .slot_bytes = slot};
                if (!is_worthwhile(schedule, &load))
                    continue;
                compare(schedule, request, &load, &networks[n], tally);
            }
    ronde_schedule_destroy(schedule);
}

/** A sequence of numbers that looks like chance and is the same on every machine (Knuth's MMIX). */
static uint64_t next_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/** 0 once in a while, else between `least` and 10^decades times that, evenly over the decades. */
static double some_cost(uint64_t *state, double least, double decades)
{
    const double share = (double)(next_number(state) % 4096) / 4096;
    return next_number(state) % 4 == 0 ? 0 : least * pow(10, share * decades);
}

/**
 * A machine, a load and a number of ranks by chance: every cost may be nothing or dominate. Its flows share
 * nothing, so that the longest path is the time.
 */
static void compare_by_chance(const struct ronde_algorithm *algorithm, uint64_t *state,
                              struct tally *tally)
{
    const struct ronde_network network = {.time = {.alpha_ns = some_cost(state, 1, 5),
                                                   .step_ns = 1 + some_cost(state, 1, 4),
                                                   .gamma_GBps = some_cost(state, 0.01, 4),
                                                   .copy_GBps = some_cost(state, 0.01, 4),
                                                   .lane_GBps = some_cost(state, 0.01, 4)}};
    const bool is_small = next_number(state) % 4 > 0;
    const uint64_t pieces = 1 + next_number(state) % 24;
    const struct ronde_compile_request request = {.collective = algorithm->collective,
                                                  .algorithm = algorithm->name,
                                                  .ranks = 2 + (uint32_t)next_number(state) %
                                                                   (is_small ? 18 : 47)};
    struct ronde_schedule *schedule = compile(&request);
    struct ronde_load load = {.dtype = RONDE_FLOAT32, .depth = (uint32_t)next_number(state) % 6};
    if (!schedule)
        return;
    if (load.depth > 0 && load.depth < schedule->proof.min_depth)
        load.depth = 0;
    load.count = even_count(schedule, pieces);
    load.slot_bytes = (uint64_t)SLOT_BYTES * schedule->max_chunk_count;
    const bool is_exact = compare(schedule, &request, &load, &network, tally);
    CU_ASSERT(is_exact || !must_be_exact(&request, UINT32_MAX, pieces, load.depth));
    ronde_schedule_destroy(schedule);
}

static void closed_forms_hold_on_machines_drawn_by_chance(void)
{
    uint32_t count = 0;
    uint64_t state = 20260117;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t a = 0; a < count; a++) {
        struct tally tally = {0};
        for (uint32_t i = 0; i < (suite_is_sample() ? CHANCES / 10 : CHANCES); i++)
            compare_by_chance(algorithms[a], &state, &tally);
        suite_note("%s %s: %u exact, %u approximate, at most %.0f %% above",
                   ronde_collective_text(algorithms[a]->collective), algorithms[a]->name,
                   tally.exact, tally.approximate, tally.worst * 100);
        /* Two pieces in one slot are the worst case; docs/reference/prices.md has the rest. */
        CU_ASSERT(tally.worst < 1);
    }
}

/** Runs one comparison for every algorithm, 1 .. 17, 32 and 64 ranks, 1 and 3 channels. */
static void
for_all_requests(void (*compare_request)(const struct ronde_compile_request *, struct tally *))
{
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t a = 0; a < count; a++) {
        struct tally tally = {0};
        for (uint32_t i = 1; i <= (suite_is_sample() ? SAMPLE_RANKS : 19); i++)
            for (uint32_t channels = 1; channels <= 3; channels += 2) {
                const struct ronde_compile_request request = {.collective =
                                                                  algorithms[a]->collective,
                                                              .algorithm = algorithms[a]->name,
                                                              .ranks = i <= 17 ? i : 32 * (i - 17),
                                                              .channels = channels};
                compare_request(&request, &tally);
            }
        CU_ASSERT(tally.exact > 0);
        suite_note("%s %s: %u exact, %u approximate, at most %.0f %% above",
                   ronde_collective_text(algorithms[a]->collective), algorithms[a]->name,
                   tally.exact, tally.approximate, tally.worst * 100);
    }
}

static void closed_forms_equal_the_dag_price_for_equal_chunks(void)
{
    for_all_requests(compare_even);
}

static void closed_forms_are_upper_bounds_for_unequal_chunks(void)
{
    for_all_requests(compare_uneven);
}

/**
 * A row of known answers: 50 GB/s ports, everything in one piece, alpha 1 us, 0.5 us to reduce a
 * message of a chunk.
 */
struct known {
    enum ronde_collective collective;
    const char *algorithm;
    uint32_t ranks;
    uint64_t bytes;
    double chunk_bytes; /**< of a message */
    double expected_ns; /**< the formula, by hand */
};

/*
 * The ring and broadcast rows of vectors/simgrid/KNOWN.md that lie on a crossbar. There a reduction
 * is charged per message, here per byte: gamma is chosen so that a chunk costs as much. Recursive
 * doubling also reduces what it receives last, which KNOWN.md leaves out: one charge more.
 */
static void prices_are_the_known_answers_on_a_crossbar(void)
{
    const double a = 1000, r = 500, B = 50;
    const struct known rows[] = {
        {RONDE_ALL_REDUCE, "ring", 8, 8000000, 1e6, 2 * (8 - 1) * (a + 1e6 / B) + (8 - 1) * r},
        {RONDE_ALL_REDUCE, "ring", 64, 64000000, 1e6, 2 * (64 - 1) * (a + 1e6 / B) + (64 - 1) * r},
        {RONDE_ALL_REDUCE, "ring", 8, 128, 16, 2 * (8 - 1) * (a + 16 / B) + (8 - 1) * r},
        {RONDE_BROADCAST, "binomial", 8, 8000000, 8e6, 3 * (a + 8e6 / B)},
        {RONDE_BROADCAST, "binomial", 64, 8000000, 8e6, 6 * (a + 8e6 / B)},
        {RONDE_ALL_REDUCE, "recursive_doubling", 8, 8000000, 8e6, 3 * (a + 8e6 / B) + 3 * r},
        {RONDE_ALL_REDUCE, "recursive_doubling", 64, 8000000, 8e6, 6 * (a + 8e6 / B) + 6 * r},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct known *row = &rows[i];
        const struct ronde_compile_request request = {.collective = row->collective,
                                                      .algorithm = row->algorithm,
                                                      .ranks = row->ranks};
        const struct ronde_load load = {.count = row->bytes, .dtype = RONDE_UINT8};
        const struct ronde_network network = {.time = {.gamma_GBps = row->chunk_bytes / r},
                                              .latency_ns = a,
                                              .port_GBps = B};
        struct ronde_schedule *schedule = compile(&request);
        const struct ronde_price price = find(&request)->price(&request, &load, &network);
        const double dag_ns = dag_price(schedule, &load, &network);
        CU_ASSERT(price.is_exact);
        CU_ASSERT(fabs(price.time_ns - row->expected_ns) <= TIME_TOLERANCE * row->expected_ns);
        CU_ASSERT(fabs(dag_ns - row->expected_ns) <= TIME_TOLERANCE * row->expected_ns);
        ronde_schedule_destroy(schedule);
    }
}

/*
 * Architecture section 6: 3 b beta per piece for the tree, 4 b' beta for the double tree, b' of
 * half the bytes.
 */
static void trees_approach_the_load_of_their_busiest_port(void)
{
    const struct ronde_network network = {.latency_ns = 1000, .port_GBps = 10};
    const double piece_ns = 1e6 / 10;
    double time_ns[2][2];
    for (uint32_t trees = 1; trees <= 2; trees++)
        for (uint32_t i = 0; i < 2; i++) {
            const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                          .algorithm =
                                                              trees == 1 ? "tree" : "double_tree",
                                                          .ranks = 16};
            const struct ronde_load load = {.count = 1000000u * (100 + i) * trees,
                                            .dtype = RONDE_UINT8,
                                            .slot_bytes = 1000000};
            const struct ronde_price price = find(&request)->price(&request, &load, &network);
            CU_ASSERT(!price.is_exact);
            time_ns[trees - 1][i] = price.time_ns;
        }
    CU_ASSERT(fabs(time_ns[0][1] - time_ns[0][0] - 3 * piece_ns) <= TIME_TOLERANCE * time_ns[0][0]);
    CU_ASSERT(fabs(time_ns[1][1] - time_ns[1][0] - 4 * piece_ns) <= TIME_TOLERANCE * time_ns[1][0]);
}

/** The rank whose input each rank gets, drawn at random: any, itself, none. */
static void draw_sources(uint64_t *random, uint32_t ranks, uint32_t *out_sources)
{
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const uint32_t drawn = (uint32_t)(buffers_draw(random) % (ranks + 1));
        out_sources[rank] = drawn == ranks ? RONDE_NONE : drawn;
    }
}

static void listed_pairs_cost_what_the_busiest_sender_takes(void)
{
    struct tally tally = {0};
    uint64_t random = 5;
    for (uint32_t trial = 0; trial < 200; trial++) {
        uint32_t sources[9];
        const struct ronde_compile_request request = {.collective = RONDE_SEND_RECV,
                                                      .algorithm = "direct",
                                                      .ranks =
                                                          1 + (uint32_t)(buffers_draw(&random) % 9),
                                                      .channels = 1 + trial % 2,
                                                      .source_of = sources};
        draw_sources(&random, request.ranks, sources);
        struct ronde_schedule *schedule = compile(&request);
        CU_ASSERT_PTR_NOT_NULL_FATAL(schedule);
        for (uint64_t pieces = 1; pieces <= 20; pieces += 19) {
            const struct ronde_load load = {.count = even_count(schedule, pieces),
                                            .dtype = RONDE_FLOAT32,
                                            .slot_bytes = SLOT_BYTES};
            for (size_t n = 0; n < NETWORK_COUNT; n++)
                compare(schedule, &request, &load, &networks[n], &tally);
        }
        ronde_schedule_destroy(schedule);
    }
    suite_note("%u exact, %u approximate", tally.exact, tally.approximate);
    CU_ASSERT(tally.exact > tally.approximate);
}

/* Senders are counted some thousands at a time: the busiest may be among the first, in the middle and the last. */
static void the_busiest_of_many_senders_is_found(void)
{
    enum { RANKS = 9000 };
    static const uint32_t busiest[] = {0, 4095, 4096, 5000, RANKS - 1};
    static uint32_t sources[RANKS];
    const struct ronde_network network = {.latency_ns = 1000, .port_GBps = 10};
    const struct ronde_load load = {.count = 1000000, .dtype = RONDE_UINT8};
    const struct ronde_compile_request request = {.collective = RONDE_SEND_RECV,
                                                  .algorithm = "direct",
                                                  .ranks = RANKS,
                                                  .source_of = sources};
    for (size_t i = 0; i < sizeof busiest / sizeof busiest[0]; i++) {
        for (uint32_t rank = 0; rank < RANKS; rank++)
            sources[rank] = rank % 3 == 0 ? busiest[i] : rank % 3 == 1 ? rank - 1 : RONDE_NONE;
        /* A third of the ranks want what it has; itself among them, it has a neighbour who does besides. */
        const uint32_t messages = RANKS / 3;
        const struct ronde_price price = find(&request)->price(&request, &load, &network);
        const double expected_ns = 1000 + messages * 1e6 / 10;
        CU_ASSERT(fabs(price.time_ns - expected_ns) <= TIME_TOLERANCE * expected_ns);
    }
}

/* On a flat network placement does not matter. */
static void order_and_root_do_not_change_prices(void)
{
    const uint32_t order[] = {4, 2, 0, 6, 1, 5, 3};
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t a = 0; a < count; a++) {
        struct ronde_compile_request request = {.collective = algorithms[a]->collective,
                                                .algorithm = algorithms[a]->name,
                                                .ranks = 7};
        const struct ronde_load load = {.count = 70001,
                                        .dtype = RONDE_INT32,
                                        .slot_bytes = SLOT_BYTES};
        struct ronde_schedule *plain = compile(&request);
        request.order = order;
        request.root = ronde_collective_traits(request.collective)->has_root ? order[0] : 0;
        struct ronde_schedule *moved = compile(&request);
        for (size_t n = 0; plain && moved && n < NETWORK_COUNT; n++) {
            const double plain_ns = dag_price(plain, &load, &networks[n]);
            const double moved_ns = dag_price(moved, &load, &networks[n]);
            CU_ASSERT(fabs(plain_ns - moved_ns) <= TIME_TOLERANCE * plain_ns);
        }
        ronde_schedule_destroy(plain);
        ronde_schedule_destroy(moved);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"closed_forms_equal_the_dag_price_for_equal_chunks",
         closed_forms_equal_the_dag_price_for_equal_chunks},
        {"closed_forms_are_upper_bounds_for_unequal_chunks",
         closed_forms_are_upper_bounds_for_unequal_chunks},
        {"closed_forms_hold_on_machines_drawn_by_chance",
         closed_forms_hold_on_machines_drawn_by_chance},
        {"prices_are_the_known_answers_on_a_crossbar", prices_are_the_known_answers_on_a_crossbar},
        {"trees_approach_the_load_of_their_busiest_port",
         trees_approach_the_load_of_their_busiest_port},
        {"listed_pairs_cost_what_the_busiest_sender_takes",
         listed_pairs_cost_what_the_busiest_sender_takes},
        {"the_busiest_of_many_senders_is_found", the_busiest_of_many_senders_is_found},
        {"order_and_root_do_not_change_prices", order_and_root_do_not_change_prices},
    };
    return suite_run("price", cases, sizeof cases / sizeof cases[0]);
}
