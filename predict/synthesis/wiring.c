/* Routes of all pairs of ranks. See machine_graph.h. */
#include "machine_graph.h"

/* Turns of a machine. */

/* What looking for them holds. */
struct turning {
    const struct ronde_platform *platform;
    uint32_t ranks;
    struct ronde_store *pool;
    struct ronde_turns *turns;
    uint32_t *hosts; /* 0, 1, ... */
};

static enum ronde_status no_room(const struct turning *turning, struct ronde_error *error)
{
    return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the turns of %u ranks", turning->ranks);
}

/* Room for the turn that may be the next one. */
static bool make_room(struct turning *turning)
{
    struct ronde_turns *turns = turning->turns;
    uint32_t **rank_to = &turns->rank_to[turns->count], **link_to = &turns->link_to[turns->count];
    if (!*rank_to)
        *rank_to = ronde_store_new(turning->pool, turning->ranks, sizeof **rank_to);
    if (!*link_to)
        *link_to = ronde_store_new(turning->pool, ronde_platform_link_count(turning->platform),
                                   sizeof **link_to);
    return *rank_to && *link_to;
}

/* Whether the digit whose places are `step` apart can be counted on; if so, that is one more turn. */
static enum ronde_status try_digit(struct turning *turning, uint32_t step, uint32_t radix,
                                   bool *out_is_turn, struct ronde_error *error)
{
    struct ronde_turns *turns = turning->turns;
    if (!make_room(turning))
        return no_room(turning, error);
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
                                   struct ronde_store *pool, struct ronde_turns *out_turns,
                                   struct ronde_error *error)
{
    struct turning turning = {platform, ranks, pool, out_turns, NULL};
    uint32_t step = 1, radix = 0;
    enum ronde_status status = RONDE_OK;
    *out_turns = (struct ronde_turns){.count = 0};
    turning.hosts = ronde_store_new(pool, ranks, sizeof *turning.hosts);
    out_turns->sources = ronde_store_new(pool, ranks, sizeof *out_turns->sources);
    if (pool->is_short)
        return no_room(&turning, error);
    for (uint32_t r = 0; r < ranks; r++)
        turning.hosts[r] = r;
    for (; step < ranks && radix != 1 && status == RONDE_OK; step *= radix)
        status = find_digit(&turning, step, &radix, error);
    for (uint32_t r = 0; r < ranks; r += step)
        out_turns->sources[out_turns->source_count++] = r;
    return status;
}

/* Links of a route at first; a longer one grows the room. */
#define USUAL_LINKS 64u
/* Links of all routes at first, for each pair. */
#define USUAL_HOPS 4u

/* What finding them holds. */
struct finding {
    struct ronde_wiring *wiring;
    struct ronde_store *pool;
    struct ronde_router *router;
    uint32_t *wire_of; /* per link of the platform: its wire, or RONDE_NONE */
    uint32_t *links;   /* of one route */
    uint32_t link_room;
    uint32_t hop_room;
};

static bool grow(struct ronde_store *pool, uint32_t **block, uint32_t used, uint32_t *room,
                 uint32_t needed)
{
    if (needed <= *room)
        return true;
    const uint32_t larger = needed > 2 * *room ? needed : 2 * *room;
    uint32_t *grown = ronde_store_new(pool, larger, sizeof *grown);
    if (!grown)
        return false;
    for (uint32_t i = 0; i < used; i++)
        grown[i] = (*block)[i];
    *block = grown;
    *room = larger;
    return true;
}

static enum ronde_status no_memory(const struct finding *finding, struct ronde_error *error)
{
    return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the routes of %u ranks",
                      finding->wiring->ranks);
}

/* The wire of a platform link, made where it is new. */
static uint32_t wire_of(struct finding *finding, uint32_t link)
{
    struct ronde_wiring *wiring = finding->wiring;
    if (finding->wire_of[link] != RONDE_NONE)
        return finding->wire_of[link];
    const struct ronde_link *given = ronde_platform_link(wiring->platform, link);
    wiring->wires[wiring->wire_count] = (struct ronde_route_wire){.link = link,
                                                                  .rate_GBps = given->rate_GBps,
                                                                  .latency_ns = given->latency_ns,
                                                                  .is_free = given->is_fatpipe};
    finding->wire_of[link] = wiring->wire_count;
    return wiring->wire_count++;
}

/* Finds the links of a route. */
static enum ronde_status find_route(struct finding *finding, uint32_t from, uint32_t to,
                                    uint32_t *out_count, struct ronde_error *error)
{
    *out_count = 0;
    do {
        if (!grow(finding->pool, &finding->links, 0, &finding->link_room, *out_count))
            return no_memory(finding, error);
        RONDE_TRY(ronde_router_route(finding->router, from, to, finding->link_room, finding->links,
                                     out_count, error));
    } while (*out_count > finding->link_room);
    return RONDE_OK;
}

/* Appends the route from one of the sources. */
static enum ronde_status add_pair(struct finding *finding, uint32_t source, uint32_t to,
                                  struct ronde_error *error)
{
    struct ronde_wiring *wiring = finding->wiring;
    const uint32_t pair = source * wiring->ranks + to, begin = wiring->first[pair];
    const uint32_t from = ronde_wiring_source(wiring, source);
    uint32_t count = 0;
    wiring->first[pair + 1] = begin;
    if (from == to)
        return RONDE_OK;
    struct ronde_error none = {.status = RONDE_OK};
    const enum ronde_status status = find_route(finding, from, to, &count, &none);
    /* Others relay between hosts that what is out has parted. */
    if (status == RONDE_BAD_INPUT && ronde_platform_has_detours(wiring->platform))
        return RONDE_OK;
    if (status != RONDE_OK)
        return ronde_fail_at(error, status, none.line, "%s", none.message);
    if (!grow(finding->pool, &wiring->hops, begin, &finding->hop_room, begin + count))
        return no_memory(finding, error);
    for (uint32_t i = 0; i < count; i++)
        wiring->hops[begin + i] = wire_of(finding, finding->links[i]);
    wiring->first[pair + 1] = begin + count;
    return RONDE_OK;
}

/* A link that a message and its answer both take has one capacity for the two. */
static void find_media(struct ronde_wiring *wiring, uint32_t *seen)
{
    const uint32_t n = wiring->ranks;
    uint32_t mark = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = i + 1; j < n; j++) {
            mark++;
            for (uint32_t h = wiring->first[i * n + j]; h < wiring->first[i * n + j + 1]; h++)
                seen[wiring->hops[h]] = mark;
            for (uint32_t h = wiring->first[j * n + i]; h < wiring->first[j * n + i + 1]; h++)
                if (seen[wiring->hops[h]] == mark)
                    wiring->wires[wiring->hops[h]].is_medium = true;
        }
}

/* Routes of all sources. */
static enum ronde_status find_pairs(struct finding *finding, struct ronde_error *error)
{
    const struct ronde_wiring *wiring = finding->wiring;
    for (uint32_t i = 0; i < ronde_wiring_source_count(wiring); i++)
        for (uint32_t j = 0; j < wiring->ranks; j++)
            RONDE_TRY(add_pair(finding, i, j, error));
    return RONDE_OK;
}

static enum ronde_status find_all(struct finding *finding, struct ronde_error *error)
{
    struct ronde_wiring *wiring = finding->wiring;
    RONDE_TRY(find_pairs(finding, error));
    uint32_t *seen = ronde_store_new(finding->pool, wiring->wire_count, sizeof *seen);
    if (!seen)
        return no_memory(finding, error);
    find_media(wiring, seen);
    return RONDE_OK;
}

/* ---- Turned routes ----------------------------------------------------------------------------------------------- */

/*
 * What turns make of every wire; new wires are made so and follow in their turn. Links of routes always become links, since
 * turns compare all that routes are made of. Errors: false, no memory.
 */
static bool turn_wires(struct finding *finding)
{
    struct ronde_wiring *wiring = finding->wiring;
    const struct ronde_turns *turns = wiring->turns;
    const size_t links = ronde_platform_link_count(wiring->platform);
    wiring->turned = ronde_store_new(finding->pool, links * turns->count, sizeof *wiring->turned);
    if (!wiring->turned)
        return false;
    for (uint32_t w = 0; w < wiring->wire_count; w++)
        for (uint32_t t = 0; t < turns->count; t++) {
            const uint32_t image = turns->link_to[t][wiring->wires[w].link];
            wiring->turned[turns->count * w + t] = image == RONDE_NONE ? w : wire_of(finding, image);
        }
    return true;
}

/* A link of a route that its answer takes, too. */
static void mark_media(struct finding *finding, uint32_t pair, uint32_t back_count, uint32_t *seen)
{
    struct ronde_wiring *wiring = finding->wiring;
    const uint32_t mark = pair + 1;
    for (uint32_t h = wiring->first[pair]; h < wiring->first[pair + 1]; h++)
        seen[wiring->hops[h]] = mark;
    for (uint32_t i = 0; i < back_count; i++) {
        const uint32_t wire = finding->wire_of[finding->links[i]];
        if (wire != RONDE_NONE && seen[wire] == mark)
            wiring->wires[wire].is_medium = true;
    }
}

/* What a medium is turned into is one. `queue`: room for all wires. */
static void turn_media(struct ronde_wiring *wiring, uint32_t *queue)
{
    const uint32_t turns = wiring->turns->count;
    uint32_t count = 0;
    for (uint32_t w = 0; w < wiring->wire_count; w++)
        if (wiring->wires[w].is_medium)
            queue[count++] = w;
    while (count > 0) {
        const uint32_t wire = queue[--count];
        for (uint32_t t = 0; t < turns; t++) {
            const uint32_t image = wiring->turned[turns * wire + t];
            if (wiring->wires[image].is_medium)
                continue;
            wiring->wires[image].is_medium = true;
            queue[count++] = image;
        }
    }
}

static enum ronde_status find_turned(struct finding *finding, struct ronde_error *error)
{
    struct ronde_wiring *wiring = finding->wiring;
    const uint32_t n = wiring->ranks;
    enum ronde_status status = find_pairs(finding, error);
    if (status == RONDE_OK && !turn_wires(finding))
        status = no_memory(finding, error);
    uint32_t *seen = ronde_store_new(finding->pool, wiring->wire_count, sizeof *seen);
    if (status == RONDE_OK && !seen)
        status = no_memory(finding, error);
    for (uint32_t i = 0; status == RONDE_OK && i < ronde_wiring_source_count(wiring); i++)
        for (uint32_t j = 0; status == RONDE_OK && j < n; j++) {
            uint32_t count = 0;
            if (j == ronde_wiring_source(wiring, i))
                continue;
            status = find_route(finding, j, ronde_wiring_source(wiring, i), &count, error);
            mark_media(finding, i * n + j, count, seen);
        }
    if (status == RONDE_OK)
        turn_media(wiring, seen);
    return status;
}

/* ---- Either ------------------------------------------------------------------------------------------------------ */

static enum ronde_status check(const struct ronde_platform *platform, uint32_t ranks,
                               struct ronde_error *error)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(platform);
    if (facts->shared.cores > 0)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "%s: its ranks share the memory of one host; bounds are of links",
                          ronde_platform_path(platform));
    if (ranks > facts->hosts)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: %u ranks on %u hosts",
                          ronde_platform_path(platform), ranks, facts->hosts);
    if (ranks > RONDE_WIRING_RANKS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%u ranks: the routes of all pairs are found for at most %u", ranks,
                          RONDE_WIRING_RANKS);
    return RONDE_OK;
}

/* Room, and a router. */
static enum ronde_status prepare(struct finding *finding, const struct ronde_platform *platform,
                                 struct ronde_error *error)
{
    const uint32_t links = ronde_platform_link_count(platform);
    struct ronde_wiring *wiring = finding->wiring;
    struct ronde_store *pool = finding->pool;
    const size_t pairs = (size_t)ronde_wiring_source_count(wiring) * wiring->ranks;
    wiring->alpha_ns = ronde_platform_facts(platform)->time.alpha_ns;
    finding->wire_of = ronde_store_new(pool, links, sizeof *finding->wire_of);
    finding->links = ronde_store_new(pool, USUAL_LINKS, sizeof *finding->links);
    wiring->wires = ronde_store_new(pool, links, sizeof *wiring->wires);
    wiring->first = ronde_store_new(pool, pairs + 1, sizeof *wiring->first);
    if (!finding->wire_of || !finding->links || !wiring->wires || !wiring->first ||
        !grow(pool, &wiring->hops, 0, &finding->hop_room, (uint32_t)(USUAL_HOPS * pairs)))
        return no_memory(finding, error);
    for (uint32_t i = 0; i < links; i++)
        finding->wire_of[i] = RONDE_NONE;
    return ronde_router_create(platform, pool->mem, &finding->router, error);
}

enum ronde_status ronde_wiring_find_turned(const struct ronde_platform *platform, uint32_t ranks,
                                           const struct ronde_turns *turns,
                                           struct ronde_store *pool, struct ronde_wiring *out_wiring,
                                           struct ronde_error *error)
{
    struct finding finding = {.wiring = out_wiring, .pool = pool, .link_room = USUAL_LINKS};
    RONDE_TRY(check(platform, ranks, error));
    *out_wiring = (struct ronde_wiring){.platform = platform, .ranks = ranks, .turns = turns};
    enum ronde_status status = prepare(&finding, platform, error);
    RONDE_THEN(status, turns ? find_turned(&finding, error) : find_all(&finding, error));
    ronde_router_destroy(finding.router);
    return status;
}

enum ronde_status ronde_wiring_find(const struct ronde_platform *platform, uint32_t ranks,
                                    struct ronde_store *pool, struct ronde_wiring *out_wiring,
                                    struct ronde_error *error)
{
    return ronde_wiring_find_turned(platform, ranks, NULL, pool, out_wiring, error);
}

uint32_t ronde_wiring_source_count(const struct ronde_wiring *wiring)
{
    return wiring->turns ? wiring->turns->source_count : wiring->ranks;
}

uint32_t ronde_wiring_source(const struct ronde_wiring *wiring, uint32_t index)
{
    return wiring->turns ? wiring->turns->sources[index] : index;
}

bool ronde_wiring_has_way(const struct ronde_wiring *wiring, uint32_t from, uint32_t to)
{
    const uint32_t pair = from * wiring->ranks + to;
    return wiring->first[pair] < wiring->first[pair + 1] ||
           !ronde_platform_has_detours(wiring->platform);
}

bool ronde_wiring_is_open(const struct ronde_wiring *wiring, uint32_t from, uint32_t to)
{
    return ronde_wiring_has_way(wiring, from, to) &&
           (!wiring->may_take || wiring->may_take[from * wiring->ranks + to]);
}
