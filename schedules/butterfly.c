/** Distances and orders of butterflies. */
#include "butterfly.h"

#include <string.h>

struct ronde_butterfly ronde_butterfly_of(const struct ronde_compile_request *request,
                                          enum ronde_butterfly_order order)
{
    const struct ronde_fold fold = ronde_fold_of(request->ranks);
    struct ronde_butterfly butterfly = {.fold = fold,
                                        .order = order,
                                        .rounds = ronde_log2_floor(fold.members),
                                        .axes = 1,
                                        .axis_rounds = {ronde_log2_floor(fold.members)}};
    uint32_t product = 1;
    for (uint32_t axis = 0; axis < request->shape_count; axis++)
        if ((request->shape[axis] & (request->shape[axis] - 1)) == 0)
            product *= request->shape[axis];
    if (order != RONDE_SWING || request->shape_count == 0 || product != request->ranks)
        return butterfly;
    butterfly.axes = request->shape_count;
    for (uint32_t axis = 0; axis < butterfly.axes; axis++)
        butterfly.axis_rounds[axis] = ronde_log2_floor(request->shape[butterfly.axes - 1 - axis]);
    return butterfly;
}

/** A round as swing sees it. */
struct turn {
    uint32_t first_bit; /**< of the axis in a member's number */
    uint32_t bits;      /**< of the axis */
    uint32_t round;     /**< among the rounds of the axis */
};

/** Axes that have rounds left take turns, the fastest first. */
static struct turn turn_of(const struct ronde_butterfly *butterfly, uint32_t round)
{
    for (uint32_t level = 0; level < butterfly->rounds; level++) {
        uint32_t first_bit = 0;
        for (uint32_t axis = 0; axis < butterfly->axes; axis++) {
            const uint32_t bits = butterfly->axis_rounds[axis];
            if (level < bits && round-- == 0)
                return (struct turn){first_bit, bits, level};
            first_bit += bits;
        }
    }
    return (struct turn){0, 0, 0};
}

/** Bits of which the powers of -2 that are negative are ones. */
#define NEGATIVE_POWERS 0xaaaaaaaau

/** The digits of a number in base -2, as bits; as many as matter are right, modulo a power of two. */
static uint32_t negabinary(uint32_t number)
{
    return (number + NEGATIVE_POWERS) ^ NEGATIVE_POWERS;
}

/** 1, -1, 3, -5, 11, ..: the number whose digits in base -2 are round + 1 ones. */
static uint32_t distance_of(uint32_t round)
{
    const uint32_t ones = round >= 31 ? UINT32_MAX : (2u << round) - 1;
    return (ones ^ NEGATIVE_POWERS) - NEGATIVE_POWERS;
}

/**
 * The rounds of an axis, as bits, that lead from 0 to a place on it. Signs alternate on the way: an odd place is a sum in
 * which the longest distance is positive, and so is an even one if rounds are taken backwards; else it is less such a sum.
 * Distances being prefixes of ones in base -2, such a sum has the exclusive or of prefixes as its digits, whose changes are
 * where they end.
 */
static uint32_t rounds_to(uint32_t place, uint32_t bits, bool is_backwards)
{
    const uint32_t all = (1u << bits) - 1;
    const uint32_t digits = negabinary(is_backwards || place % 2 == 1 ? place : 0 - place) & all;
    return digits ^ digits >> 1;
}

uint32_t ronde_butterfly_partner(const struct ronde_butterfly *butterfly, uint32_t member,
                                 uint32_t round)
{
    if (butterfly->order == RONDE_FARTHEST_FIRST)
        return member ^ butterfly->fold.members >> (round + 1);
    if (butterfly->order == RONDE_NEAREST_FIRST)
        return member ^ 1u << round;
    const struct turn turn = turn_of(butterfly, round);
    const uint32_t all = (1u << turn.bits) - 1;
    const uint32_t place = member >> turn.first_bit & all, distance = distance_of(turn.round);
    const uint32_t to = (place % 2 == 0 ? place + distance : place - distance) & all;
    return (member & ~(all << turn.first_bit)) | to << turn.first_bit;
}

/** Whether the way from 0 to a member takes a round. */
static bool takes_round(const struct ronde_butterfly *butterfly, uint32_t member, uint32_t round,
                        bool is_backwards)
{
    if (butterfly->order == RONDE_FARTHEST_FIRST)
        return member & ronde_butterfly_width(butterfly, round);
    if (butterfly->order == RONDE_NEAREST_FIRST)
        return member >> round & 1;
    const struct turn turn = turn_of(butterfly, round);
    const uint32_t place = member >> turn.first_bit & ((1u << turn.bits) - 1);
    return rounds_to(place, turn.bits, is_backwards) >> turn.round & 1;
}

uint32_t ronde_butterfly_joins(const struct ronde_butterfly *butterfly, uint32_t member,
                               bool is_backwards)
{
    uint32_t joins = RONDE_NONE;
    for (uint32_t round = 0; round < butterfly->rounds; round++)
        if (takes_round(butterfly, member, round, is_backwards)) {
            joins = round;
            if (is_backwards)
                break;
        }
    return joins;
}

uint32_t ronde_butterfly_subtree(uint32_t member, uint32_t round)
{
    const uint32_t below = (1u << round) - 1, before = NEGATIVE_POWERS & below;
    return member - (member % 2 == 0 ? before : below - before);
}

uint32_t ronde_butterfly_chunk(const struct ronde_butterfly *butterfly, uint32_t member)
{
    uint32_t chunk = 0;
    if (butterfly->order == RONDE_FARTHEST_FIRST)
        return member;
    for (uint32_t round = 0; round < butterfly->rounds; round++)
        chunk = 2 * chunk + takes_round(butterfly, member, round, false);
    return chunk;
}

uint32_t ronde_butterfly_kept(const struct ronde_butterfly *butterfly, uint32_t member,
                              uint32_t width)
{
    return ronde_butterfly_chunk(butterfly, member) & ~(width - 1);
}

struct ronde_algorithm_counts ronde_butterfly_counts_owned(uint32_t ranks)
{
    const struct ronde_compile_request request = {.ranks = ranks};
    const struct ronde_butterfly butterfly = ronde_butterfly_of(&request, RONDE_SWING);
    const uint32_t more = ranks > 2;
    uint32_t moved = 0;
    for (uint32_t member = 0; member < ranks; member++)
        moved += ronde_butterfly_chunk(&butterfly, member) != member;
    return (struct ronde_algorithm_counts){
        .messages = (uint64_t)ranks * butterfly.rounds + moved,
        .sent_chunks = ranks - 1 + more,
        .critical_path = butterfly.rounds + more,
        .min_depth = 1,
    };
}

/** Ways from an even member to one so far behind it are those from an odd one to one so far before it. */
uint32_t ronde_butterfly_apart(const struct ronde_butterfly *butterfly)
{
    uint32_t most = 0;
    for (uint32_t back = 0; back <= 1; back++)
        for (uint32_t by = 0; by < butterfly->fold.extras; by++) {
            const uint32_t way = rounds_to(back ? 0 - by : by, butterfly->rounds, true);
            uint32_t crossed = 0;
            for (uint32_t rest = way; rest > 0; rest &= rest - 1)
                crossed++;
            most = crossed > most ? crossed : most;
        }
    return butterfly->rounds - most;
}

uint32_t ronde_butterfly_position(const struct ronde_butterfly *butterfly, uint32_t member)
{
    return ronde_fold_position(butterfly->fold, member);
}

uint32_t ronde_butterfly_width(const struct ronde_butterfly *butterfly, uint32_t round)
{
    return butterfly->fold.members >> (round + 1);
}

uint32_t ronde_butterfly_speakers(const struct ronde_butterfly *butterfly)
{
    return butterfly->order == RONDE_FARTHEST_FIRST ? ronde_fold_speakers(butterfly->fold)
                                                    : butterfly->fold.members;
}

/** Who asks before it compiles has named no algorithm. */
static const char *name_of(const struct ronde_compile_request *request)
{
    return request->algorithm ? request->algorithm : "a butterfly";
}

enum ronde_status ronde_butterfly_supports(const struct ronde_compile_request *request,
                                           struct ronde_error *why_not)
{
    return request->ranks <= RONDE_BUTTERFLY_MOST
               ? RONDE_OK
               : ronde_fail(why_not, RONDE_UNSUPPORTED,
                            "%s serves up to %u ranks: no program of it serves two; rabenseifner "
                            "and recursive_doubling do",
                            name_of(request), RONDE_BUTTERFLY_MOST);
}

enum ronde_status ronde_butterfly_supports_trees(const struct ronde_compile_request *request,
                                                 struct ronde_error *why_not)
{
    const char *name = name_of(request), *end = strrchr(name, '_');
    if ((request->ranks & (request->ranks - 1)) != 0)
        return ronde_fail(why_not, RONDE_UNSUPPORTED,
                          "%s serves powers of two, not %u ranks; %.*s serves any number", name,
                          request->ranks, end ? (int)(end - name) : 0, name);
    return ronde_butterfly_supports(request, why_not);
}
