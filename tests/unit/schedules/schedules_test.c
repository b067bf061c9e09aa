/**
 * The algorithms: shapes worked out by hand, volumes against the lower bounds, and requests that
 * must be refused.
 */
#include "support/schedule.h"
#include "support/suite.h"

#include "ronde/cursor.h"
#include "ronde/schedules.h"
#include "schedules/binary_tree.h"
#include "schedules/closed_form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Room for the step names of a program. */
#define PROGRAM_TEXT_BYTES 512

/** Step names of the program of a position, lanes parted by " | ". */
static void print_program(const struct ronde_schedule *schedule, uint32_t position, char *text)
{
    const struct ronde_program *program =
        &schedule->programs[schedule->program_of ? schedule->program_of[position] : 0];
    text[0] = '\0';
    for (uint32_t lane = 0; lane < program->lane_count; lane++) {
        strcat(text, lane > 0 ? " | " : "");
        for (uint32_t s = program->lane_first[lane]; s < program->lane_first[lane + 1]; s++) {
            strcat(text, s > program->lane_first[lane] ? " " : "");
            strcat(text, ronde_step_op_text((enum ronde_step_op)program->steps[s].op));
        }
    }
}

static void check_program(enum ronde_collective collective, const char *algorithm, uint32_t ranks,
                          uint32_t position, const char *expected)
{
    const struct ronde_compile_request request = {.collective = collective,
                                                  .algorithm = algorithm,
                                                  .ranks = ranks};
    struct ronde_schedule *schedule = schedule_compile_request(&request, NULL);
    char text[PROGRAM_TEXT_BYTES];
    print_program(schedule, position, text);
    if (strcmp(text, expected) != 0)
        suite_note("%s on %u, position %u: %s", algorithm, ranks, position, text);
    CU_ASSERT_STRING_EQUAL(text, expected);
    ronde_schedule_destroy(schedule);
}

static void programs_are_fused_to_what_the_files_say(void)
{
    check_program(RONDE_ALL_REDUCE, "ring", 2, 0, "send rrcs recv");
    check_program(RONDE_ALL_REDUCE, "ring", 4, 0, "send rrs rrs rrcs rcs rcs recv");
    check_program(RONDE_REDUCE_SCATTER, "ring", 4, 0, "send rrs rrs rrc");
    check_program(RONDE_ALL_GATHER, "ring", 4, 0, "send rcs rcs recv | copy");
    check_program(RONDE_ALL_REDUCE, "tree", 4, 0, "rrcs");
    check_program(RONDE_ALL_REDUCE, "tree", 4, 1, "send | recv");
    check_program(RONDE_ALL_REDUCE, "tree", 4, 2, "rrc | rrs | rcs | send");
    check_program(RONDE_ALL_REDUCE, "tree", 3, 2, "rrs | rcs");
    check_program(RONDE_ALL_REDUCE, "double_tree", 4, 2, "rrc | rrs | rcs | send");
    check_program(RONDE_ALL_REDUCE, "recursive_doubling", 8, 5, "send rrcs rrcs rrc");
    check_program(RONDE_ALL_REDUCE, "recursive_doubling", 6, 0, "send recv");
    check_program(RONDE_ALL_REDUCE, "recursive_doubling", 6, 1, "rrcs rrcs rrcs");
    check_program(RONDE_ALL_REDUCE, "rabenseifner", 4, 1, "send rrc send rrc send recv send recv");
    check_program(RONDE_ALL_REDUCE, "rabenseifner", 3, 1, "rrc send rrc send recv send");
    check_program(RONDE_ALL_REDUCE, "torus", 6, 0, "send rrc send rrs rrcs rcs recv send recv");
    check_program(RONDE_ALL_REDUCE, "hierarchical", 10, 0,
                  "send rrs rrs rrs rrc | send rrcs recv | send rcs rcs rcs recv");
    check_program(RONDE_ALL_REDUCE, "hierarchical_direct", 9, 0,
                  "send send | rrc rrc | send rrs rrcs rcs recv | send send | recv recv");
    check_program(RONDE_ALL_REDUCE, "hierarchical_tree", 9, 0,
                  "send rrs rrc | rrcs | send rcs recv");
    check_program(RONDE_ALL_REDUCE, "hierarchical_tree", 16, 1,
                  "send rrs rrs rrs rrs rrs rrs rrc | send | recv | "
                  "send rcs rcs rcs rcs rcs rcs recv");
    check_program(RONDE_ALL_REDUCE, "hierarchical_direct_tree", 20, 2,
                  "send send send send | rrc rrc rrc rrc | rrc | rrs | rcs | send | "
                  "send send send send | recv recv recv recv");
    check_program(RONDE_ALL_REDUCE, "direct", 3, 0, "send send send send | rrc rrc recv recv");
    check_program(RONDE_ALL_REDUCE, "direct_one_step", 4, 2, "send send send | rrc recv rrc reduce");
    check_program(RONDE_ALL_REDUCE, "direct_one_step", 5, 0,
                  "send send send send | rrc rrc rrc rrc");
    check_program(RONDE_ALL_REDUCE, "direct_one_step", 5, 3,
                  "send send send send | recv rrc rrc reduce rrc");
    check_program(RONDE_ALL_REDUCE, "direct_one_step", 5, 4,
                  "send send send send | recv rrc rrc rrc reduce copy");
    check_program(RONDE_REDUCE_SCATTER, "recursive_halving", 4, 3, "send rrc send rrc");
    check_program(RONDE_REDUCE_SCATTER, "recursive_halving", 3, 0, "send recv");
    check_program(RONDE_REDUCE_SCATTER, "recursive_halving", 3, 1, "rrc send rrc send | copy");
    check_program(RONDE_REDUCE_SCATTER, "direct", 3, 0, "send send | rrc rrc");
    check_program(RONDE_ALL_GATHER, "recursive_doubling", 4, 0, "send recv send recv | copy");
    check_program(RONDE_ALL_GATHER, "recursive_doubling", 3, 1, "recv send recv send | copy");
    check_program(RONDE_ALL_GATHER, "bruck", 5, 0, "send recv send recv send recv | copy");
    check_program(RONDE_ALL_GATHER, "direct", 3, 0, "send send | recv recv | copy");
    check_program(RONDE_ALL_GATHER, "hierarchical", 10, 0,
                  "send recv | send rcs rcs rcs recv | copy");
    check_program(RONDE_BROADCAST, "binomial", 8, 0, "send send send | copy");
    check_program(RONDE_BROADCAST, "binomial", 8, 4, "rcs send");
    check_program(RONDE_BROADCAST, "binomial", 8, 7, "recv");
    check_program(RONDE_BROADCAST, "chain", 4, 1, "rcs");
    check_program(RONDE_BROADCAST, "double_tree", 4, 2, "rcs | send");
    check_program(RONDE_BROADCAST, "scatter_allgather", 4, 0, "send send send send | copy");
    check_program(RONDE_BROADCAST, "scatter_allgather", 4, 3, "rcs recv send recv");
    check_program(RONDE_BROADCAST, "direct", 4, 0, "send send send | copy");
    check_program(RONDE_BROADCAST, "direct", 4, 3, "recv");
}

static void programs_that_bring_together_are_fused_too(void)
{
    check_program(RONDE_REDUCE, "chain", 4, 1, "rrs");
    check_program(RONDE_REDUCE, "binomial", 8, 0, "rrc rrc rrc");
    check_program(RONDE_REDUCE, "binomial", 8, 4, "rrc rrs");
    check_program(RONDE_REDUCE, "double_tree", 4, 2, "rrc | rrs");
    check_program(RONDE_REDUCE, "rabenseifner", 4, 0, "send rrc send rrc recv recv");
    check_program(RONDE_REDUCE, "rabenseifner", 4, 3, "send rrc send rrs");
    check_program(RONDE_SCATTER, "binomial", 8, 4, "recv send send | copy");
    check_program(RONDE_SCATTER, "direct", 4, 0, "send send send | copy");
    check_program(RONDE_SCATTER, "direct_parallel", 4, 0, "send | send | send | copy");
    check_program(RONDE_GATHER, "binomial", 8, 4, "recv recv send | copy");
    check_program(RONDE_GATHER, "direct", 4, 0, "recv recv recv | copy");
    check_program(RONDE_ALL_TO_ALL, "pairwise", 3, 0, "send recv send recv | copy");
    check_program(RONDE_ALL_TO_ALL, "direct", 3, 0, "send send | copy recv recv");
    check_program(RONDE_ALL_TO_ALL, "direct_parallel", 3, 0, "send | send | recv | recv | copy");
    check_program(RONDE_ALL_TO_ALL, "bruck", 3, 0, "copy copy send recv send recv copy copy | copy");
    check_program(RONDE_BARRIER, "dissemination", 5, 0, "send recv send recv send recv");
    check_program(RONDE_BARRIER, "tree", 4, 2, "recv recv send recv send send");
    check_program(RONDE_SEND_RECV, "direct", 4, 0, "send | recv");
}

static void one_rank_is_a_copy(void)
{
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t a = 0; a < count; a++)
        check_program(algorithms[a]->collective, algorithms[a]->name, 1, 0,
                      algorithms[a]->collective == RONDE_BARRIER ? "" : "copy");
}

static void check_counts(const struct ronde_algorithm *algorithm, uint32_t ranks)
{
    const struct ronde_compile_request request = {.collective = algorithm->collective,
                                                  .algorithm = algorithm->name,
                                                  .ranks = ranks};
    const struct ronde_algorithm_counts counts = algorithm->counts(ranks);
    struct ronde_proof proof;
    struct ronde_schedule *schedule = schedule_compile_request(&request, &proof);
    const bool is_claimed =
        proof.messages == counts.messages && proof.sent_chunks_max == counts.sent_chunks &&
        proof.critical_path == counts.critical_path && proof.min_depth == counts.min_depth;
    CU_ASSERT(proof.ok);
    CU_ASSERT(is_claimed);
    CU_ASSERT_EQUAL(proof.dead_chunks, 0);
    CU_ASSERT(!proof.rank_dependent_bits);
    if (!is_claimed)
        suite_note("%s %s on %u ranks: %llu messages, %llu sent, path %u, depth %u",
                   ronde_collective_text(algorithm->collective), algorithm->name, ranks,
                   (unsigned long long)proof.messages, (unsigned long long)proof.sent_chunks_max,
                   proof.critical_path, proof.min_depth);
    ronde_schedule_destroy(schedule);
}

static void messages_and_volumes_are_those_of_the_papers(void)
{
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    const uint32_t large[] = {31, 32, 33, 64, 100, 128};
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t i = 1; i <= 17 + sizeof large / sizeof large[0]; i++) {
            const uint32_t ranks = i <= 17 ? i : large[i - 18];
            const struct ronde_compile_request request = {.collective = algorithms[a]->collective,
                                                          .ranks = ranks};
            if (algorithms[a]->supports(&request, NULL) == RONDE_OK)
                check_counts(algorithms[a], ranks);
        }
}

/* Of a route every position sends to one position at most, which is beside it. */
static void check_route(const struct ronde_schedule *schedule)
{
    const uint32_t ranks = schedule->ranks;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const struct ronde_view view = ronde_view_open(schedule, 0, rank);
        uint32_t target = RONDE_NONE;
        for (uint32_t c = 0; c < view.program->connection_count; c++) {
            const uint32_t peer = ronde_view_peer_position(&view, c);
            CU_ASSERT(peer == (view.position + 1) % ranks || view.position == (peer + 1) % ranks);
            if (!view.program->connections[c].is_send)
                continue;
            CU_ASSERT(target == RONDE_NONE || target == peer);
            target = peer;
        }
    }
}

/* Compiles an algorithm, if it serves so many ranks, and checks it if it is a route; whether it is. */
static bool is_checked_route(const struct ronde_algorithm *algorithm, uint32_t ranks)
{
    const struct ronde_compile_request request = {.collective = algorithm->collective,
                                                  .algorithm = algorithm->name,
                                                  .ranks = ranks};
    if (algorithm->supports(&request, NULL) != RONDE_OK)
        return false;
    struct ronde_schedule *schedule = schedule_compile_request(&request, NULL);
    const bool is_route = schedule->traffic.is_route;
    if (is_route)
        check_route(schedule);
    ronde_schedule_destroy(schedule);
    return is_route;
}

static void routes_send_to_one_neighbour(void)
{
    uint32_t count = 0, routes = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t ranks = 3; ranks <= 17; ranks++)
            routes += is_checked_route(algorithms[a], ranks);
    CU_ASSERT(routes >= 5 * 15);
}

static void roots_and_orders_move_positions_only(void)
{
    const uint32_t order[] = {3, 0, 4, 1, 2};
    struct ronde_compile_request request = {.collective = RONDE_BROADCAST,
                                            .algorithm = "binomial",
                                            .ranks = 5,
                                            .root = 3};
    struct ronde_schedule *schedule = schedule_compile_request(&request, NULL);
    CU_ASSERT_EQUAL(schedule->channels[0].order[0], 3);
    ronde_schedule_destroy(schedule);
    request.order = order;
    schedule = schedule_compile_request(&request, NULL);
    CU_ASSERT_EQUAL(schedule->channels[0].order[2], 4);
    ronde_schedule_destroy(schedule);
    request.collective = RONDE_ALL_REDUCE;
    request.algorithm = "double_tree";
    schedule = schedule_compile_request(&request, NULL);
    CU_ASSERT_EQUAL(schedule->channels[0].order[4], 2);
    CU_ASSERT_EQUAL(schedule->channels[1].order[4], 3);
    ronde_schedule_destroy(schedule);
}

static void refuse(struct ronde_compile_request request, enum ronde_status expected,
                   const char *text)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &error), expected);
    CU_ASSERT_PTR_NULL(schedule);
    if (!strstr(error.message, text))
        suite_note("%s", error.message);
    CU_ASSERT(strstr(error.message, text) != NULL);
}

static void impossible_requests_are_refused_with_the_bound(void)
{
    struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE, .algorithm = "ring"};
    refuse(request, RONDE_BAD_ARGUMENT, "ranks 0 is outside 1 .. 1048576");
    request.ranks = RONDE_MAX_RANKS + 1;
    refuse(request, RONDE_BAD_ARGUMENT, "ranks 1048577 is outside 1 .. 1048576");
    request.ranks = 6;
    request.root = 6;
    refuse(request, RONDE_BAD_ARGUMENT, "root 6 is not below ranks 6");
    request.root = 0;
    request.channels = 1025;
    refuse(request, RONDE_BAD_ARGUMENT, "channels 1025 is above 1024");
    request.channels = 1;
    request.algorithm = "hierarchical";
    request.shape_count = 3;
    refuse(request, RONDE_UNSUPPORTED, "needs a shape of 2 digits, nodes x local, not of 3");
    request.shape_count = 2;
    request.shape[0] = request.shape[1] = 2;
    refuse(request, RONDE_UNSUPPORTED, "shape 2 x 2 is not that of 6 ranks");
    request.algorithm = "torus";
    refuse(request, RONDE_BAD_ARGUMENT, "a shape of 2 digits multiplies to 4, not to 6 ranks");
    request.shape_count = 0;
    request.algorithm = "direct_one_step";
    request.ranks = 1025;
    refuse(request, RONDE_UNSUPPORTED, "needs a program for each of 1025 ranks, more than 1024");
}

/* Blocks that travel together must come out of scratch in the order of their ranks. */
static void recursive_halving_takes_orders_that_turn_no_message(void)
{
    const uint32_t halves[] = {1, 3, 0, 2}, turned[] = {1, 0, 2, 3}, rotated[] = {1, 2, 0};
    struct ronde_compile_request request = {.collective = RONDE_REDUCE_SCATTER,
                                            .algorithm = "recursive_halving",
                                            .ranks = 4,
                                            .order = halves};
    struct ronde_schedule *schedule = schedule_compile_request(&request, NULL);
    CU_ASSERT_EQUAL(schedule->channels[0].order[1], 3);
    ronde_schedule_destroy(schedule);
    request.order = turned;
    refuse(request, RONDE_UNSUPPORTED, "sorts blocks: rank 0 follows 1 at position 1 of the order");
    request.order = rotated;
    request.ranks = 3;
    refuse(request, RONDE_UNSUPPORTED, "sorts blocks: rank 0 follows 2 at position 2 of the order");
}

/* A user's shape, and the order that puts a node's ranks side by side. */
static void shapes_place_rings(void)
{
    struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                            .algorithm = "torus",
                                            .ranks = 24,
                                            .shape_count = 3,
                                            .shape = {2, 3, 4}};
    struct ronde_proof proof;
    struct ronde_schedule *schedule = schedule_compile_request(&request, &proof);
    CU_ASSERT_EQUAL(schedule->shape_count, 3);
    CU_ASSERT_EQUAL(proof.critical_path, 2 * (1 + 2 + 3));
    CU_ASSERT_EQUAL(proof.sent_chunks_max, 2 * 23);
    ronde_schedule_destroy(schedule);
    request.algorithm = "hierarchical";
    request.shape_count = 2;
    request.shape[0] = 6; /* nodes of 4 */
    request.shape[1] = 4;
    schedule = schedule_compile_request(&request, &proof);
    CU_ASSERT_EQUAL(proof.critical_path, 2 * (5 + 3));
    CU_ASSERT_EQUAL(schedule->channels[0].order[0], 0);
    CU_ASSERT_EQUAL(schedule->channels[0].order[1], 4); /* the same local rank of the next node */
    CU_ASSERT_EQUAL(schedule->channels[0].order[6], 1); /* the next local rank */
    ronde_schedule_destroy(schedule);
}

static void orders_that_would_turn_messages_are_refused(void)
{
    const uint32_t order[] = {2, 3, 0, 1, 5, 4};
    struct ronde_compile_request request = {
        .collective = RONDE_SCATTER, .algorithm = "binomial", .ranks = 6, .root = 2, .order = order};
    refuse(request, RONDE_UNSUPPORTED, "position 2 of the order is rank 0 instead of 4");
    request.collective = RONDE_GATHER;
    refuse(request, RONDE_UNSUPPORTED, "position 2 of the order is rank 0 instead of 4");
    request.root = 0;
    request.collective = RONDE_SEND_RECV;
    request.algorithm = "direct";
    refuse(request, RONDE_UNSUPPORTED, "takes no order");
    request.collective = RONDE_ALL_TO_ALL;
    request.algorithm = "hierarchical";
    request.shape_count = 2;
    request.shape[0] = 3;
    request.shape[1] = 2;
    refuse(request, RONDE_UNSUPPORTED, "rank 0 at position 2 of the order is below one before it");
    request.collective = RONDE_REDUCE_SCATTER;
    request.algorithm = "hierarchical_pairs";
    refuse(request, RONDE_UNSUPPORTED, "rank 0 at position 2 of the order is below 2, of its local");
    request.collective = RONDE_ALL_TO_ALL;
    request.algorithm = "hierarchical";
    request.shape_count = 1;
    request.shape[0] = 6;
    refuse(request, RONDE_UNSUPPORTED, "a shape of 2 digits");
}

/* Up to seven other nodes have a bundle each. */
static void bundles_turn_no_blocks(void)
{
    const uint32_t order[] = {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
    struct ronde_compile_request request = {.collective = RONDE_SCATTER,
                                            .algorithm = "hierarchical",
                                            .ranks = 18,
                                            .order = order,
                                            .shape_count = 2,
                                            .shape = {9, 2}};
    refuse(request, RONDE_UNSUPPORTED,
           "rank 2 at position 4 of the order is below the one before it");
    request.ranks = 16;
    request.shape[0] = 8;
    ronde_schedule_destroy(schedule_compile_request(&request, NULL));
    request.shape[0] = 16;
    request.shape[1] = 1;
    refuse(request, RONDE_UNSUPPORTED, "with one it would be direct");
}

/* Two ranks receive rank 2's block, rank 0's goes to rank 3, and rank 1 receives nothing. */
static void listed_pairs_are_served(void)
{
    const uint32_t sources[] = {2, RONDE_NONE, 2, 0};
    const uint32_t wrong[] = {0, 4, 0, 0};
    struct ronde_compile_request request = {.collective = RONDE_SEND_RECV,
                                            .algorithm = "direct",
                                            .ranks = 4,
                                            .source_of = sources};
    struct ronde_proof proof;
    struct ronde_schedule *schedule = schedule_compile_request(&request, &proof);
    CU_ASSERT_EQUAL(proof.messages, 2);
    CU_ASSERT_EQUAL(proof.sent_chunks_max, 1);
    CU_ASSERT_EQUAL(schedule->programs[schedule->program_of[1]].step_count, 0);
    ronde_schedule_destroy(schedule);
    request.source_of = wrong;
    refuse(request, RONDE_UNSUPPORTED, "rank 1 wants what rank 4 has, there are 4 ranks");
}

static void all_to_all_takes_any_shape_of_nodes(void)
{
    for (uint32_t nodes = 2; nodes <= 6; nodes++)
        for (uint32_t local = 2; local <= 6; local++) {
            const struct ronde_compile_request request = {.collective = RONDE_ALL_TO_ALL,
                                                          .algorithm = "hierarchical",
                                                          .ranks = nodes * local,
                                                          .channels = 2,
                                                          .shape_count = 2,
                                                          .shape = {nodes, local}};
            struct ronde_proof proof;
            ronde_schedule_destroy(schedule_compile_request(&request, &proof));
            CU_ASSERT_EQUAL(proof.critical_path, nodes - 1 + local - 1);
        }
}

/* The algorithms of a collective, as an error lists them. */
static void list_names(enum ronde_collective collective, char *text, size_t bytes)
{
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    size_t length = 0;
    for (uint32_t a = 0; a < count; a++)
        if (algorithms[a]->collective == collective)
            length += (size_t)snprintf(text + length, bytes - length, "%s%s", length ? ", " : "",
                                       algorithms[a]->name);
    CU_ASSERT_FATAL(length > 0 && length < bytes);
}

static void unknown_names_are_refused_with_the_known_ones(void)
{
    struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                            .algorithm = "rign",
                                            .ranks = 4};
    char known[512] = "all_reduce has no algorithm 'rign'; it has: ";
    list_names(RONDE_ALL_REDUCE, known + strlen(known), sizeof known - strlen(known));
    refuse(request, RONDE_BAD_ARGUMENT, known);
    refuse(request, RONDE_BAD_ARGUMENT, " (did you mean ring?)");
    request.algorithm = "double-tree";
    refuse(request, RONDE_BAD_ARGUMENT, "(did you mean double_tree?)");
    request.algorithm = "a name that is longer than any name of an algorithm can ever be";
    refuse(request, RONDE_BAD_ARGUMENT, "it has: ring, tree, double_tree, recursive_doubling");
    request.algorithm = NULL;
    refuse(request, RONDE_BAD_ARGUMENT, "no algorithm ''");
    request.collective = RONDE_BARRIER;
    request.algorithm = "ring";
    refuse(request, RONDE_BAD_ARGUMENT,
           "barrier has no algorithm 'ring'; it has: dissemination, tree");
}

/** An allocator that counts how much is in use. */
struct meter {
    size_t live_bytes;
    size_t peak_bytes;
};

static void *metered_resize(void *self, void *old, size_t old_bytes, size_t new_bytes)
{
    struct meter *meter = self;
    const struct ronde_mem *mem = ronde_mem_default();
    void *block = mem->resize(mem->self, old, old_bytes, new_bytes);
    if (!block && new_bytes > 0)
        return NULL;
    meter->live_bytes += new_bytes - old_bytes;
    if (meter->live_bytes > meter->peak_bytes)
        meter->peak_bytes = meter->live_bytes;
    return block;
}

/* A block has as many chunks as there are ranks, and indices have 32 bits: enough for more ranks than 2^16, as it is one block. */
static void compile_in_a_kilobyte_a_rank(uint32_t ranks)
{
    struct meter meter = {0};
    const struct ronde_mem mem = {.resize = metered_resize, .self = &meter};
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "ring",
                                                  .ranks = ranks};
    struct ronde_schedule *schedule = NULL;
    struct ronde_proof proof;
    CU_ASSERT_EQUAL_FATAL(ronde_compile(&request, &mem, &proof, &schedule, NULL), RONDE_OK);
    CU_ASSERT(proof.ok && proof.quotient);
    CU_ASSERT_EQUAL(schedule->program_count, 1);
    CU_ASSERT_EQUAL(schedule->programs[0].step_count, 2 * ranks - 1);
    CU_ASSERT(meter.peak_bytes < (size_t)ranks << 10);
    suite_note("%zu bytes at most, %zu kept", meter.peak_bytes, meter.live_bytes);
    ronde_schedule_destroy(schedule);
    CU_ASSERT_EQUAL(meter.live_bytes, 0);
}

static void large_rings_compile_in_a_kilobyte_a_rank(void)
{
    compile_in_a_kilobyte_a_rank(16384);
    compile_in_a_kilobyte_a_rank(131072);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(programs_are_fused_to_what_the_files_say),
        SUITE_CASE(programs_that_bring_together_are_fused_too),
        SUITE_CASE(one_rank_is_a_copy),
        SUITE_CASE(messages_and_volumes_are_those_of_the_papers),
        SUITE_CASE(routes_send_to_one_neighbour),
        SUITE_CASE(roots_and_orders_move_positions_only),
        SUITE_CASE(impossible_requests_are_refused_with_the_bound),
        SUITE_CASE(recursive_halving_takes_orders_that_turn_no_message),
        SUITE_CASE(shapes_place_rings),
        SUITE_CASE(orders_that_would_turn_messages_are_refused),
        SUITE_CASE(bundles_turn_no_blocks),
        SUITE_CASE(listed_pairs_are_served),
        SUITE_CASE(all_to_all_takes_any_shape_of_nodes),
        SUITE_CASE(unknown_names_are_refused_with_the_known_ones),
        SUITE_CASE(large_rings_compile_in_a_kilobyte_a_rank),
    };
    return suite_run("schedules", cases, sizeof cases / sizeof cases[0]);
}
