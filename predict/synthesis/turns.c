/* Turns of a machine. See turns.h. */
#include "turns.h"

/* What looking for them holds. */
struct turning {
    const struct ronde_platform *platform;
    uint32_t ranks;
    struct ronde_index_pool *pool;
    struct ronde_turns *turns;
    uint32_t *hosts; /* 0, 1, ... */
};

static enum ronde_status no_memory(const struct turning *turning, struct ronde_error *error)
{
    return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the turns of %u ranks", turning->ranks);
}

/* Room for the turn that may be the next one. */
static bool make_room(struct turning *turning)
{
    struct ronde_turns *turns = turning->turns;
    uint32_t **rank_to = &turns->rank_to[turns->count], **link_to = &turns->link_to[turns->count];
    if (!*rank_to)
        *rank_to = ronde_pool_new(turning->pool, turning->ranks, sizeof **rank_to);
    if (!*link_to)
        *link_to = ronde_pool_new(turning->pool, ronde_platform_link_count(turning->platform),
                                  sizeof **link_to);
    return *rank_to && *link_to;
}

/* Whether the digit whose places are `step` apart can be counted on; if so, that is one more turn. */
static enum ronde_status try_digit(struct turning *turning, uint32_t step, uint32_t radix,
                                   bool *out_is_turn, struct ronde_error *error)
{
    struct ronde_turns *turns = turning->turns;
    if (!make_room(turning))
        return no_memory(turning, error);
    uint32_t *rank_to = turns->rank_to[turns->count];
    for (uint32_t r = 0; r < turning->ranks; r++)
        rank_to[r] = r / step % radix + 1 < radix ? r + step : r - step * (radix - 1);
    const struct ronde_exchange exchange = {turning->hosts, rank_to, turning->ranks};
    const enum ronde_status status =
        ronde_platform_symmetry(turning->platform, &exchange, turning->pool->mem,
                                turns->link_to[turns->count], out_is_turn, error);
    turns->count += status == RONDE_OK && *out_is_turn;
    return status;
}

/* The widest digit of places `step` apart that can be counted on; 1 = there is none. */
static enum ronde_status find_digit(struct turning *turning, uint32_t step, uint32_t *out_radix,
                                    struct ronde_error *error)
{
    const uint32_t most = turning->ranks / step;
    enum ronde_status status = RONDE_OK;
    bool is_turn = false;
    *out_radix = 1;
    for (uint32_t radix = most; radix > 1 && !is_turn && status == RONDE_OK; radix--) {
        if (most % radix != 0)
            continue;
        status = try_digit(turning, step, radix, &is_turn, error);
        if (is_turn)
            *out_radix = radix;
    }
    return status;
}

enum ronde_status ronde_turns_find(const struct ronde_platform *platform, uint32_t ranks,
                                   struct ronde_index_pool *pool, struct ronde_turns *out_turns,
                                   struct ronde_error *error)
{
    struct turning turning = {platform, ranks, pool, out_turns, NULL};
    uint32_t step = 1, radix = 0;
    enum ronde_status status = RONDE_OK;
    *out_turns = (struct ronde_turns){.count = 0};
    turning.hosts = ronde_pool_new(pool, ranks, sizeof *turning.hosts);
    out_turns->sources = ronde_pool_new(pool, ranks, sizeof *out_turns->sources);
    if (!turning.hosts || !out_turns->sources)
        return no_memory(&turning, error);
    for (uint32_t r = 0; r < ranks; r++)
        turning.hosts[r] = r;
    for (; step < ranks && radix != 1 && status == RONDE_OK; step *= radix)
        status = find_digit(&turning, step, &radix, error);
    for (uint32_t r = 0; r < ranks; r += step)
        out_turns->sources[out_turns->source_count++] = r;
    return status;
}
