/**
 * Butterflies: in every order partners are each other's, chunks are a permutation whose intervals are what is kept, and trees
 * reach everyone; on a torus the rounds of swing take its axes in turn, and go less far than others.
 */
#include "support/suite.h"

#include "ronde/schedules.h"
#include "schedules/butterfly.h"

#include <string.h>

static const enum ronde_butterfly_order orders[] = {RONDE_FARTHEST_FIRST, RONDE_NEAREST_FIRST,
                                                    RONDE_SWING};

static void check_rounds(const struct ronde_butterfly *butterfly)
{
    const uint32_t members = butterfly->fold.members;
    for (uint32_t round = 0; round < butterfly->rounds; round++)
        for (uint32_t member = 0; member < members; member++) {
            const uint32_t width = ronde_butterfly_width(butterfly, round);
            const uint32_t partner = ronde_butterfly_partner(butterfly, member, round);
            CU_ASSERT(partner < members && partner != member);
            CU_ASSERT_EQUAL(ronde_butterfly_partner(butterfly, partner, round), member);
            CU_ASSERT_EQUAL(ronde_butterfly_kept(butterfly, member, width) ^ width,
                            ronde_butterfly_kept(butterfly, partner, width));
        }
}

static void check_chunks(const struct ronde_butterfly *butterfly)
{
    bool is_taken[256] = {false};
    for (uint32_t member = 0; member < butterfly->fold.members; member++) {
        const uint32_t chunk = ronde_butterfly_chunk(butterfly, member);
        CU_ASSERT_FATAL(chunk < butterfly->fold.members && !is_taken[chunk]);
        is_taken[chunk] = true;
    }
}

/* Parents join before their children, in the order of rounds. */
static void check_tree(const struct ronde_butterfly *butterfly, bool is_backwards)
{
    CU_ASSERT_EQUAL(ronde_butterfly_joins(butterfly, 0, is_backwards), RONDE_NONE);
    for (uint32_t member = 1; member < butterfly->fold.members; member++) {
        const uint32_t round = ronde_butterfly_joins(butterfly, member, is_backwards);
        CU_ASSERT_FATAL(round < butterfly->rounds);
        const uint32_t parent = ronde_butterfly_partner(butterfly, member, round);
        const uint32_t before = ronde_butterfly_joins(butterfly, parent, is_backwards);
        CU_ASSERT(parent == 0 || (is_backwards ? before > round : before < round));
    }
}

static void everyone_meets_everyones_data_once(void)
{
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        for (uint32_t ranks = 1; ranks <= 256; ranks = ranks < 9 ? ranks + 1 : 2 * ranks) {
            const struct ronde_compile_request request = {.ranks = ranks};
            const struct ronde_butterfly butterfly = ronde_butterfly_of(&request, orders[i]);
            check_rounds(&butterfly);
            check_chunks(&butterfly);
            check_tree(&butterfly, false);
            check_tree(&butterfly, orders[i] == RONDE_SWING);
        }
}

/* Bine trees: a subtree is members side by side, around the ring. */
static void subtrees_are_arcs(void)
{
    const struct ronde_compile_request request = {.ranks = 64};
    const struct ronde_butterfly butterfly = ronde_butterfly_of(&request, RONDE_SWING);
    for (uint32_t top = 1; top < 64; top++) {
        const uint32_t joined = ronde_butterfly_joins(&butterfly, top, true);
        const uint32_t first = ronde_butterfly_subtree(top, joined);
        for (uint32_t i = 0; i < 1u << joined; i++) {
            /* Up from a member of the arc one comes to its top. */
            uint32_t member = (first + i) % 64;
            while (member != top && member != 0)
                member = ronde_butterfly_partner(&butterfly, member,
                                                 ronde_butterfly_joins(&butterfly, member, true));
            CU_ASSERT_EQUAL(member, top);
        }
    }
}

/* Hops between two members of a torus whose first axis is the fastest. */
static uint32_t hops_between(const uint32_t *radix, uint32_t axes, uint32_t a, uint32_t b)
{
    uint32_t hops = 0;
    for (uint32_t axis = 0; axis < axes; a /= radix[axis], b /= radix[axis], axis++) {
        const uint32_t up = (a + radix[axis] - b % radix[axis]) % radix[axis];
        hops += up < radix[axis] - up ? up : radix[axis] - up;
    }
    return hops;
}

static void axes_of_a_torus_take_turns(void)
{
    const struct ronde_compile_request request = {.ranks = 64, .shape_count = 3, .shape = {2, 4, 8}};
    static const uint32_t radix[] = {8, 4, 2}, steps[] = {1, 8, 32, 63, 56, 3};
    static const uint32_t hops[] = {1, 1, 1, 1, 1, 3};
    const struct ronde_butterfly butterfly = ronde_butterfly_of(&request, RONDE_SWING);
    for (uint32_t round = 0; round < 6; round++) {
        const uint32_t partner = ronde_butterfly_partner(&butterfly, 0, round);
        if (round < 3)
            CU_ASSERT_EQUAL(partner, steps[round]);
        CU_ASSERT_EQUAL(hops_between(radix, 3, 0, partner), hops[round]);
    }
    check_rounds(&butterfly);
    check_chunks(&butterfly);
    check_tree(&butterfly, true);
}

/* Shapes of powers of two are taken, others are as good as none. */
static void schedules_with_shapes_are_proved(void)
{
    static const uint32_t shapes[][3] = {{4, 4, 4}, {2, 4, 8}, {16, 2, 2}, {3, 4, 4}};
    static const struct {
        enum ronde_collective collective;
        const char *algorithm;
    } all[] = {{RONDE_ALL_REDUCE, "rabenseifner_swing"},
               {RONDE_ALL_REDUCE, "recursive_doubling_swing"},
               {RONDE_REDUCE, "rabenseifner_swing"},
               {RONDE_REDUCE, "binomial_bine"},
               {RONDE_BROADCAST, "binomial_bine"},
               {RONDE_ALL_GATHER, "recursive_doubling_swing"},
               {RONDE_REDUCE_SCATTER, "recursive_halving_swing"}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            struct ronde_compile_request request = {.collective = all[i].collective,
                                                    .algorithm = all[i].algorithm,
                                                    .shape_count = 3};
            memcpy(request.shape, shapes[s], sizeof shapes[s]);
            request.ranks = shapes[s][0] * shapes[s][1] * shapes[s][2];
            struct ronde_schedule *schedule = NULL;
            struct ronde_proof proof;
            struct ronde_error error = {0};
            const enum ronde_status status =
                ronde_compile(&request, ronde_mem_default(), &proof, &schedule, &error);
            const bool serves_any = strcmp(request.algorithm, "rabenseifner_swing") == 0 ||
                                    request.collective == RONDE_ALL_REDUCE;
            CU_ASSERT_EQUAL(status,
                            request.ranks == 48 && !serves_any ? RONDE_UNSUPPORTED : RONDE_OK);
            if (status == RONDE_UNSUPPORTED)
                CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "serves powers of two, not 48 ranks"));
            ronde_schedule_destroy(schedule);
        }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"everyone_meets_everyones_data_once", everyone_meets_everyones_data_once},
        {"subtrees_are_arcs", subtrees_are_arcs},
        {"axes_of_a_torus_take_turns", axes_of_a_torus_take_turns},
        {"schedules_with_shapes_are_proved", schedules_with_shapes_are_proved},
    };
    return suite_run("butterfly", cases, sizeof cases / sizeof cases[0]);
}
