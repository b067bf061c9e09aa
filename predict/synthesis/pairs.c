/* A set of pairs by open addressing. See pairs.h. */
#include "pairs.h"

/* Slots at first. */
#define FEW_SLOTS 64u

/* The slot of a pair: where it is, or where it would be. */
static uint32_t slot_of(const struct ronde_pair_set *set, uint32_t from, uint32_t to)
{
    const uint64_t mixed = (((uint64_t)from << 32) | to) * 0x9e3779b97f4a7c15u;
    uint32_t slot = (uint32_t)(mixed >> 32) & (set->slot_count - 1);
    while (set->slots[slot] != 0) {
        const struct ronde_index_pair *pair = &set->pairs[set->slots[slot] - 1];
        if (pair->from == from && pair->to == to)
            break;
        slot = (slot + 1) & (set->slot_count - 1);
    }
    return slot;
}

/* Doubles the slots. What there was stays in the pool, together no more than what there is now. */
static bool grow(struct ronde_pair_set *set)
{
    struct ronde_pair_set larger = *set;
    larger.slot_count = set->slot_count > 0 ? 2 * set->slot_count : FEW_SLOTS;
    larger.slots = ronde_pool_new(set->pool, larger.slot_count, sizeof *larger.slots);
    larger.pairs = ronde_pool_new(set->pool, larger.slot_count / 2, sizeof *larger.pairs);
    if (!larger.slots || !larger.pairs)
        return false;
    for (uint32_t i = 0; i < set->count; i++) {
        larger.pairs[i] = set->pairs[i];
        larger.slots[slot_of(&larger, set->pairs[i].from, set->pairs[i].to)] = i + 1;
    }
    *set = larger;
    return true;
}

bool ronde_pair_set_add(struct ronde_pair_set *set, uint32_t from, uint32_t to)
{
    if (2 * set->count >= set->slot_count && !grow(set))
        return false;
    const uint32_t slot = slot_of(set, from, to);
    if (set->slots[slot] != 0)
        return true;
    set->pairs[set->count++] = (struct ronde_index_pair){from, to};
    set->slots[slot] = set->count;
    return true;
}
