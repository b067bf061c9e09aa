/**
 * What ranks send and receive, in blocks: every algorithm against the least that any must move, those of closed forms
 * against formulas by hand, whatever the root, the channels, their weights and the order.
 */
#include "support/schedule.h"
#include "support/suite.h"

#include "ronde/builder.h"
#include "ronde/cursor.h"
#include "ronde/schedules.h"

#include <math.h>
#include <string.h>

#define MOST_RANKS 17u
#define SLACK 1e-9

static bool can(const struct ronde_algorithm *algorithm, const struct ronde_compile_request *request)
{
    struct ronde_error ignored = {.status = RONDE_OK};
    return algorithm->supports(request, &ignored) == RONDE_OK;
}

/** The least that the busiest rank must send and receive, whatever the algorithm. */
static struct ronde_volume least_of(enum ronde_collective collective, double n)
{
    switch (collective) {
    case RONDE_ALL_REDUCE:
        return (struct ronde_volume){2 * (n - 1) / n, 2 * (n - 1) / n};
    case RONDE_REDUCE_SCATTER:
    case RONDE_ALL_GATHER:
    case RONDE_ALL_TO_ALL:
        return (struct ronde_volume){n - 1, n - 1};
    case RONDE_SCATTER:
        return (struct ronde_volume){n - 1, 1};
    case RONDE_GATHER:
        return (struct ronde_volume){1, n - 1};
    case RONDE_BARRIER:
        return (struct ronde_volume){0, 0};
    default:
        return (struct ronde_volume){1, 1};
    }
}

/** Called with every algorithm on 2 to 17 ranks. */
typedef void (*algorithm_visitor)(const struct ronde_algorithm *algorithm, uint32_t ranks);

static void each_algorithm(algorithm_visitor visit)
{
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t ranks = 2; ranks <= MOST_RANKS; ranks++) {
            const struct ronde_compile_request request = {.collective = algorithms[a]->collective,
                                                          .algorithm = algorithms[a]->name,
                                                          .ranks = ranks};
            if (can(algorithms[a], &request))
                visit(algorithms[a], ranks);
        }
}

static void check_least(const struct ronde_algorithm *algorithm, uint32_t ranks)
{
    const struct ronde_compile_request request = {.collective = algorithm->collective,
                                                  .algorithm = algorithm->name,
                                                  .ranks = ranks};
    struct ronde_schedule *schedule = schedule_compile_request(&request, NULL);
    const struct ronde_volume volume = ronde_schedule_volume(schedule);
    const struct ronde_volume least = least_of(algorithm->collective, ranks);
    CU_ASSERT(volume.sent >= least.sent - SLACK && volume.received >= least.received - SLACK);
    if (!algorithm->why_more) {
        CU_ASSERT_DOUBLE_EQUAL(volume.sent, least.sent, SLACK);
        CU_ASSERT_DOUBLE_EQUAL(volume.received, least.received, SLACK);
        if (volume.sent > least.sent + SLACK || volume.received > least.received + SLACK)
            suite_note("%s %s on %u: %g sent, %g received",
                       ronde_collective_text(algorithm->collective), algorithm->name, ranks,
                       volume.sent, volume.received);
    }
    ronde_schedule_destroy(schedule);
}

/* No algorithm moves less than the least, and who gives no reason for more moves no more. */
static void who_gives_no_reason_moves_the_least(void)
{
    each_algorithm(check_least);
}

/* --- formulas by hand ------------------------------------------------------------- */

static uint32_t floor_log2(uint32_t n)
{
    uint32_t log = 0;
    while (n >> (log + 1))
        log++;
    return log;
}

static uint32_t ceil_log2(uint32_t n)
{
    return n > 1u << floor_log2(n) ? floor_log2(n) + 1 : floor_log2(n);
}

static uint32_t surplus(uint32_t n)
{
    return n - (1u << floor_log2(n));
}

static double ring_2(uint32_t n)
{
    return 2. * (n - 1) / n;
}
static double others(uint32_t n)
{
    return n - 1.;
}
static double one(uint32_t n)
{
    (void)n;
    return 1;
}
static double none(uint32_t n)
{
    (void)n;
    return 0;
}

/* The root of a binomial tree has a child a bit of n - 1. */
static double children(uint32_t n)
{
    return ceil_log2(n);
}

/* A round of exchanges each; a partner of a surplus rank sends it the result as well. */
static double doubling(uint32_t n)
{
    return floor_log2(n) + (surplus(n) > 0 ? 1. : 0.);
}

/* Bruck's all_to_all: in round k all blocks go whose distance has bit k. */
static double bruck_blocks(uint32_t n)
{
    uint32_t blocks = 0;
    for (uint32_t distance = 1; distance < n; distance++)
        for (uint32_t bits = distance; bits; bits &= bits - 1)
            blocks++;
    return blocks;
}

/* Children are powers of two away from the root: the farthest has all beyond it, the next half of the distance between. */
static double subtree(uint32_t n)
{
    const uint32_t half = 1u << (ceil_log2(n) - 1);
    return fmax(n - half, half / 2);
}

static double messages_ring_2(uint32_t n)
{
    return 2. * n * (n - 1);
}
static double messages_all_pairs(uint32_t n)
{
    return (double)n * (n - 1);
}
static double messages_tree(uint32_t n)
{
    return n - 1.;
}
static double messages_tree_2(uint32_t n)
{
    return 2. * (n - 1);
}
static double messages_tree_4(uint32_t n)
{
    return 4. * (n - 1);
}
static double messages_rounds(uint32_t n)
{
    return (double)n * ceil_log2(n);
}
static double messages_folded(uint32_t n)
{
    return (double)(1u << floor_log2(n)) * floor_log2(n) + 2. * surplus(n);
}
static double messages_each(uint32_t n)
{
    return n;
}

typedef double (*formula)(uint32_t ranks);

static const struct {
    enum ronde_collective collective;
    const char *algorithm;
    formula sent, received, messages; /**< NULL = not by a formula */
} forms[] = {
    {RONDE_ALL_REDUCE, "ring", ring_2, ring_2, messages_ring_2},
    {RONDE_ALL_REDUCE, "direct", ring_2, ring_2, messages_ring_2},
    {RONDE_ALL_REDUCE, "direct_one_step", others, others, messages_all_pairs},
    {RONDE_ALL_REDUCE, "tree", NULL, NULL, messages_tree_2},
    {RONDE_ALL_REDUCE, "double_tree", NULL, NULL, messages_tree_4},
    {RONDE_ALL_REDUCE, "recursive_doubling", doubling, doubling, messages_folded},
    {RONDE_REDUCE_SCATTER, "ring", others, others, messages_all_pairs},
    {RONDE_REDUCE_SCATTER, "direct", others, others, messages_all_pairs},
    {RONDE_REDUCE_SCATTER, "circulant", others, others, messages_rounds},
    {RONDE_ALL_GATHER, "ring", others, others, messages_all_pairs},
    {RONDE_ALL_GATHER, "direct", others, others, messages_all_pairs},
    {RONDE_ALL_GATHER, "bruck", others, others, messages_rounds},
    {RONDE_BROADCAST, "chain", one, one, messages_tree},
    {RONDE_BROADCAST, "direct", others, one, messages_tree},
    {RONDE_BROADCAST, "binomial", children, one, messages_tree},
    {RONDE_BROADCAST, "double_tree", NULL, one, messages_tree_2},
    {RONDE_REDUCE, "chain", one, one, messages_tree},
    {RONDE_REDUCE, "binomial", one, children, messages_tree},
    {RONDE_REDUCE, "double_tree", one, NULL, messages_tree_2},
    {RONDE_SCATTER, "direct", others, one, messages_tree},
    {RONDE_SCATTER, "direct_parallel", others, one, messages_tree},
    {RONDE_SCATTER, "binomial", others, subtree, messages_tree},
    {RONDE_GATHER, "direct", one, others, messages_tree},
    {RONDE_GATHER, "binomial", subtree, others, messages_tree},
    {RONDE_ALL_TO_ALL, "direct", others, others, messages_all_pairs},
    {RONDE_ALL_TO_ALL, "direct_parallel", others, others, messages_all_pairs},
    {RONDE_ALL_TO_ALL, "pairwise", others, others, messages_all_pairs},
    {RONDE_ALL_TO_ALL, "bruck", bruck_blocks, bruck_blocks, messages_rounds},
    {RONDE_BARRIER, "dissemination", none, none, messages_rounds},
    {RONDE_BARRIER, "tree", none, none, messages_tree_2},
    {RONDE_SEND_RECV, "direct", one, one, messages_each},
};

static void check_form(size_t form, uint32_t ranks)
{
    const struct ronde_compile_request request = {.collective = forms[form].collective,
                                                  .algorithm = forms[form].algorithm,
                                                  .ranks = ranks};
    struct ronde_schedule *schedule = schedule_compile_request(&request, NULL);
    const struct ronde_volume volume = ronde_schedule_volume(schedule);
    const double messages = (double)(schedule->proof.messages * (uint64_t)schedule->channel_count);
    const double expected[] = {forms[form].sent ? forms[form].sent(ranks) : volume.sent,
                               forms[form].received ? forms[form].received(ranks) : volume.received,
                               forms[form].messages(ranks)};
    const double got[] = {volume.sent, volume.received, messages};
    for (unsigned i = 0; i < 3; i++) {
        CU_ASSERT_DOUBLE_EQUAL(got[i], expected[i], SLACK);
        if (fabs(got[i] - expected[i]) > SLACK)
            suite_note("%s %s on %u: %s %g, by hand %g",
                       ronde_collective_text(forms[form].collective), forms[form].algorithm, ranks,
                       i == 0   ? "sent"
                       : i == 1 ? "received"
                                : "messages",
                       got[i], expected[i]);
    }
    ronde_schedule_destroy(schedule);
}

static void volumes_are_those_of_formulas_by_hand(void)
{
    for (size_t form = 0; form < sizeof forms / sizeof forms[0]; form++)
        for (uint32_t ranks = 2; ranks <= MOST_RANKS; ranks++)
            check_form(form, ranks);
}

/* --- what does not change them ---------------------------------------------------- */

static void expect_same(const struct ronde_compile_request *request, struct ronde_volume volume)
{
    struct ronde_schedule *schedule = schedule_compile_request(request, NULL);
    const struct ronde_volume other = ronde_schedule_volume(schedule);
    CU_ASSERT_DOUBLE_EQUAL(other.sent, volume.sent, SLACK);
    CU_ASSERT_DOUBLE_EQUAL(other.received, volume.received, SLACK);
    if (fabs(other.sent - volume.sent) + fabs(other.received - volume.received) > SLACK)
        suite_note("%s %s on %u, root %u, %u channels: %g and %g, not %g and %g",
                   ronde_collective_text(request->collective), request->algorithm, request->ranks,
                   request->root, request->channels, other.sent, other.received, volume.sent,
                   volume.received);
    ronde_schedule_destroy(schedule);
}

/* Another root, an order backwards and, where channels are equal, more of them: the busiest rank has as much to do. */
static void check_invariance(const struct ronde_algorithm *algorithm, uint32_t ranks)
{
    uint32_t backwards[MOST_RANKS];
    struct ronde_compile_request request = {.collective = algorithm->collective,
                                            .algorithm = algorithm->name,
                                            .ranks = ranks};
    struct ronde_schedule *schedule = schedule_compile_request(&request, NULL);
    const struct ronde_volume volume = ronde_schedule_volume(schedule);
    const uint32_t channels = schedule->channel_count;
    ronde_schedule_destroy(schedule);
    const bool is_rooted = ronde_collective_traits(algorithm->collective)->has_root;
    for (request.root = 0; request.root < (is_rooted ? ranks : 1); request.root += ranks - 1)
        expect_same(&request, volume);
    request.root = 0;
    for (uint32_t rank = 0; rank < ranks; rank++)
        backwards[rank] = ranks - 1 - rank;
    request.order = backwards;
    if (!is_rooted && can(algorithm, &request))
        expect_same(&request, volume);
    request.order = NULL;
    request.channels = 2;
    if (channels == 1 && can(algorithm, &request))
        expect_same(&request, volume);
}

static void roots_orders_and_channels_change_nothing(void)
{
    each_algorithm(check_invariance);
}

/** Blocks that a rank sends to others, and receives, by every channel's weight. */
static void add_rank(const struct ronde_schedule *schedule, uint32_t rank, double *sent,
                     double *received)
{
    const double whole = (double)schedule->weight_total * schedule->chunks_per_block;
    for (uint32_t k = 0; k < schedule->channel_count; k++) {
        const struct ronde_view view = ronde_view_open(schedule, k, rank);
        for (uint32_t s = 0; s < view.program->step_count; s++) {
            const struct ronde_step *step = &view.program->steps[s];
            const double blocks = step->chunk_count * schedule->channels[k].weight / whole;
            if (step->send != RONDE_NONE)
                sent[ronde_view_peer(&view, step->send)] += blocks;
            if (step->receive != RONDE_NONE)
                received[ronde_view_peer(&view, step->receive)] += blocks;
        }
    }
}

/* What one rank sends to another is what that one receives from it, and nobody sends to itself. */
static void check_pairs(const struct ronde_algorithm *algorithm, uint32_t ranks)
{
    static double sent[MOST_RANKS][MOST_RANKS], received[MOST_RANKS][MOST_RANKS];
    const struct ronde_compile_request request = {.collective = algorithm->collective,
                                                  .algorithm = algorithm->name,
                                                  .ranks = ranks};
    struct ronde_schedule *schedule = schedule_compile_request(&request, NULL);
    const struct ronde_volume most = ronde_schedule_volume(schedule);
    double sent_most = 0, received_most = 0;
    memset(sent, 0, sizeof sent);
    memset(received, 0, sizeof received);
    for (uint32_t rank = 0; rank < ranks; rank++)
        add_rank(schedule, rank, sent[rank], received[rank]);
    for (uint32_t a = 0; a < ranks; a++) {
        double sent_all = 0, received_all = 0;
        CU_ASSERT_EQUAL(sent[a][a], 0);
        for (uint32_t b = 0; b < ranks; b++) {
            CU_ASSERT_DOUBLE_EQUAL(sent[a][b], received[b][a], SLACK);
            sent_all += sent[a][b];
            received_all += received[a][b];
        }
        sent_most = fmax(sent_most, sent_all);
        received_most = fmax(received_most, received_all);
    }
    CU_ASSERT_DOUBLE_EQUAL(most.sent, sent_most, SLACK);
    CU_ASSERT_DOUBLE_EQUAL(most.received, received_most, SLACK);
    ronde_schedule_destroy(schedule);
}

static void what_is_sent_is_received(void)
{
    each_algorithm(check_pairs);
}

/* Two channels of weights 1 and 3, the second backwards: an end of a chain on one is the other end on the other. */
static void weights_count(void)
{
    static const uint32_t backwards[] = {2, 1, 0};
    for (uint32_t weight = 1; weight <= 4; weight++) {
        const struct ronde_compile_request gather = {.collective = RONDE_ALL_GATHER, .ranks = 3};
        struct ronde_builder *builder = NULL;
        struct ronde_schedule *schedule = NULL;
        struct ronde_error error = {.status = RONDE_OK};
        CU_ASSERT_EQUAL_FATAL(ronde_builder_create(&gather, ronde_mem_default(), &builder, &error),
                              RONDE_OK);
        ronde_builder_channel(builder, 1, NULL);
        ronde_builder_channel(builder, weight, backwards);
        /* Position 0 sends everything on for the others: two blocks of others and its own to each. */
        for (uint32_t from = 1; from < 3; from++) {
            const struct ronde_transfer in = {.from = from,
                                              .to = 0,
                                              .source = ronde_chunks(RONDE_IN, 0, 1),
                                              .target = ronde_chunks(RONDE_OUT, from, 1)};
            ronde_builder_transfer(builder, &in);
            ronde_builder_copy(builder, from, 0, ronde_chunks(RONDE_IN, 0, 1),
                               ronde_chunks(RONDE_OUT, from, 1));
        }
        ronde_builder_copy(builder, 0, 0, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, 0, 1));
        for (uint32_t to = 1; to < 3; to++)
            for (uint32_t block = 0; block < 3; block++) {
                const struct ronde_transfer out = {.from = 0,
                                                   .to = to,
                                                   .source = ronde_chunks(RONDE_OUT, block, 1),
                                                   .target = ronde_chunks(RONDE_OUT, block, 1)};
                if (block != to)
                    ronde_builder_transfer(builder, &out);
            }
        CU_ASSERT_EQUAL_FATAL(ronde_schedule_finish(builder, NULL, &schedule, &error), RONDE_OK);
        /* Rank 0 sends four blocks on the first channel and one on the other, rank 2 the other way round. */
        const double whole = 1. + weight;
        CU_ASSERT_DOUBLE_EQUAL(ronde_schedule_volume(schedule).sent,
                               fmax(4 + weight, 1 + 4. * weight) / whole, SLACK);
        CU_ASSERT_DOUBLE_EQUAL(ronde_schedule_volume(schedule).received, 2, SLACK);
        ronde_schedule_destroy(schedule);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"who_gives_no_reason_moves_the_least", who_gives_no_reason_moves_the_least},
        {"volumes_are_those_of_formulas_by_hand", volumes_are_those_of_formulas_by_hand},
        {"roots_orders_and_channels_change_nothing", roots_orders_and_channels_change_nothing},
        {"what_is_sent_is_received", what_is_sent_is_received},
        {"weights_count", weights_count},
    };
    return suite_run("volume", cases, sizeof cases / sizeof cases[0]);
}
