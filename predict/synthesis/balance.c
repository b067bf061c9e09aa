/* Balancing a forest. See forest.h. */
#include "forest.h"

#include <math.h>
#include <stdint.h>

/*
 * Random numbers of a search: the same on every machine (G. Marsaglia, "Xorshift RNGs", J. Stat. Software 8, 2003). The
 * next one; *state is not 0.
 */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* A number below `count`, which is not 0. */
static uint32_t random_below(uint64_t *state, uint32_t count)
{
    return (uint32_t)(next_random(state) >> 33) % count;
}

/* A load of a wire, in costs of an overloaded one of weight 1: wires that are full rather than idle are avoided. */
#define FULLNESS 1e-3
/* A level more, likewise. */
#define DEPTH 2e-4
/* A level more than there may be: taken only where there is no other way. */
#define TOO_DEEP 1e6
/* Every so many steps a whole tree is grown anew: seldom where that throws much away, since there are few. */
#define REGROW 16u
/* Steps of a search from one word about them to the next. */
#define SAY_EVERY 256u
#define FEW_TREES 16u

bool ronde_balance_create(struct ronde_balance *balance, struct ronde_forest *forest,
                          struct ronde_store *pool)
{
    const uint32_t wires = forest->ways->wire_count, n = forest->ways->ranks;
    *balance = (struct ronde_balance){
        .forest = forest,
        .limit = ronde_store_new(pool, wires, sizeof *balance->limit),
        .weight = ronde_store_new(pool, wires, sizeof *balance->weight),
        .overloaded = ronde_store_new(pool, wires, sizeof *balance->overloaded),
        .place = ronde_store_new(pool, wires, sizeof *balance->place),
        .most_depth = n,
        .random = 0x9e3779b97f4a7c15u,
        .cost = ronde_store_new(pool, n, sizeof *balance->cost),
        .from = ronde_store_new(pool, n, sizeof *balance->from),
        .depth = ronde_store_new(pool, n, sizeof *balance->depth),
        .price = ronde_store_new(pool, wires, sizeof *balance->price),
        .path = ronde_store_new(pool, n, sizeof *balance->path),
        .is_below = ronde_store_new(pool, n, sizeof *balance->is_below),
    };
    return balance->limit && balance->weight && balance->overloaded && balance->place &&
           balance->cost && balance->from && balance->depth && balance->price && balance->path &&
           balance->is_below;
}

/* What one more edge on a wire costs. */
static double price_of(const struct ronde_balance *balance, uint32_t wire)
{
    const uint32_t load = balance->forest->load[wire], limit = balance->limit[wire];
    const double fullness = FULLNESS * (load + 1.0) / (limit + 1.0);
    return load >= limit ? balance->weight[wire] + fullness : fullness;
}

/* Notes what a wire costs and whether it is above its limit, after its load changed: both are asked for far more often. */
static void note(struct ronde_balance *balance, uint32_t wire)
{
    balance->price[wire] = price_of(balance, wire);
    const bool is_over = balance->forest->load[wire] > balance->limit[wire];
    const uint32_t place = balance->place[wire];
    if (is_over && place == RONDE_NONE) {
        balance->place[wire] = balance->overloaded_count;
        balance->overloaded[balance->overloaded_count++] = wire;
    } else if (!is_over && place != RONDE_NONE) {
        const uint32_t last = balance->overloaded[--balance->overloaded_count];
        balance->overloaded[place] = last;
        balance->place[last] = place;
        balance->place[wire] = RONDE_NONE;
    }
}

static void note_pair(struct ronde_balance *balance, uint32_t pair)
{
    const struct ronde_ways *ways = balance->forest->ways;
    for (uint32_t h = ways->first[pair]; h < ways->first[pair + 1]; h++)
        note(balance, ways->hops[h]);
}

static void add_edge(struct ronde_balance *balance, uint32_t tree, uint32_t parent, uint32_t child)
{
    ronde_forest_link(balance->forest, tree, parent, child);
    note_pair(balance, parent * balance->forest->ways->ranks + child);
}

static void drop_edge(struct ronde_balance *balance, uint32_t tree, uint32_t child)
{
    const uint32_t n = balance->forest->ways->ranks;
    const uint32_t pair = balance->forest->parent[tree * n + child] * n + child;
    ronde_forest_unlink(balance->forest, tree, child);
    note_pair(balance, pair);
}

void ronde_balance_aim(struct ronde_balance *balance, double time)
{
    const struct ronde_ways *ways = balance->forest->ways;
    balance->overloaded_count = 0;
    for (uint32_t w = 0; w < ways->wire_count; w++) {
        const double most = floor(time * ways->rate_GBps[w] * (1 + 1e-9) + 1e-9);
        balance->limit[w] = most < (double)(RONDE_NONE - 1) ? (uint32_t)most : RONDE_NONE - 1;
        balance->weight[w] = 1;
        balance->place[w] = RONDE_NONE;
        note(balance, w);
    }
}

/* What one more edge costs the wires of its way. */
static inline double way_cost(const struct ronde_balance *balance, uint32_t pair)
{
    const struct ronde_ways *ways = balance->forest->ways;
    double cost = 0;
    for (uint32_t h = ways->first[pair]; h < ways->first[pair + 1]; h++)
        cost += balance->price[ways->hops[h]];
    return cost;
}

/* ---- Growing a tree ---------------------------------------------------------------------------------------------- */

/* What a way from a rank of the tree costs, at the prices of now. */
static double offered(const struct ronde_balance *balance, uint32_t rank, uint32_t pair)
{
    const struct ronde_ways *ways = balance->forest->ways;
    double cost = DEPTH * balance->depth[rank];
    if (balance->depth[rank] >= balance->most_depth)
        cost += TOO_DEEP;
    for (uint32_t h = ways->first[pair]; h < ways->first[pair + 1]; h++)
        cost += balance->price[ways->hops[h]];
    return cost;
}

/* What ways from a rank that has just joined offer to the others. */
static void offer(struct ronde_balance *balance, uint32_t rank)
{
    const struct ronde_ways *ways = balance->forest->ways;
    for (uint32_t v = 0; v < ways->ranks; v++) {
        const uint32_t pair = rank * ways->ranks + v;
        if (balance->depth[v] != RONDE_NONE || !ways->is_open[pair])
            continue;
        const double cost = offered(balance, rank, pair) *
                            (1 + 1e-3 * (double)random_below(&balance->random, 1024) / 1024);
        if (cost < balance->cost[v]) {
            balance->cost[v] = cost;
            balance->from[v] = rank;
        }
    }
}

/* The rank outside the tree that is cheapest to reach; RONDE_NONE if none can be. */
static uint32_t cheapest(const struct ronde_balance *balance)
{
    uint32_t best = RONDE_NONE;
    for (uint32_t v = 0; v < balance->forest->ways->ranks; v++)
        if (balance->depth[v] == RONDE_NONE && isfinite(balance->cost[v]) &&
            (best == RONDE_NONE || balance->cost[v] < balance->cost[best]))
            best = v;
    return best;
}

/* Prices along a way change with its load, and with them what was offered by this way or the like. */
static void take(struct ronde_balance *balance, uint32_t tree, uint32_t child)
{
    const uint32_t parent = balance->from[child];
    add_edge(balance, tree, parent, child);
    balance->depth[child] = balance->depth[parent] + 1;
}

/* An offer may have become dearer: it is made again before it is taken. */
static bool is_current(struct ronde_balance *balance, uint32_t child)
{
    const struct ronde_ways *ways = balance->forest->ways;
    const uint32_t from = balance->from[child];
    if (offered(balance, from, from * ways->ranks + child) <= balance->cost[child] * 1.01 + 1e-12)
        return true;
    balance->cost[child] = INFINITY;
    for (uint32_t p = 0; p < ways->ranks; p++) {
        const uint32_t other = p * ways->ranks + child;
        if (balance->depth[p] == RONDE_NONE || !ways->is_open[other])
            continue;
        const double cost = offered(balance, p, other);
        if (cost < balance->cost[child]) {
            balance->cost[child] = cost;
            balance->from[child] = p;
        }
    }
    return false;
}

/* Grows a tree without edges, cheapest rank first. Errors: false where a rank cannot be reached. */
static bool grow_tree(struct ronde_balance *balance, uint32_t tree)
{
    const uint32_t n = balance->forest->ways->ranks, root = balance->forest->root[tree];
    for (uint32_t v = 0; v < n; v++) {
        balance->cost[v] = INFINITY;
        balance->depth[v] = RONDE_NONE;
    }
    balance->depth[root] = 0;
    offer(balance, root);
    for (uint32_t joined = 1; joined < n;) {
        const uint32_t next = cheapest(balance);
        if (next == RONDE_NONE)
            return false;
        if (!is_current(balance, next))
            continue;
        take(balance, tree, next);
        offer(balance, next);
        joined++;
    }
    return true;
}

bool ronde_balance_grow(struct ronde_balance *balance)
{
    const struct ronde_forest *forest = balance->forest;
    const uint32_t n = forest->ways->ranks;
    for (uint32_t t = 0; t < forest->tree_count; t++) {
        const uint32_t other = forest->root[t] == 0 ? 1 : 0;
        ronde_synthesis_say(balance->progress, "growing trees", t, forest->tree_count);
        if (n > 1 && forest->parent[t * n + other] == RONDE_NONE && !grow_tree(balance, t))
            return false;
    }
    return true;
}

/* ---- Changing trees ---------------------------------------------------------------------------------------------- */

/* Some edge whose way is on a wire. */
static uint32_t edge_on(struct ronde_balance *balance, uint32_t wire)
{
    const struct ronde_forest *forest = balance->forest;
    const struct ronde_ways *ways = forest->ways;
    const uint32_t *users = ways->users + ways->first_user[wire];
    const uint32_t count = ways->first_user[wire + 1] - ways->first_user[wire];
    uint32_t at = random_below(&balance->random, count);
    for (uint32_t i = 0; i < count; i++, at = at + 1 < count ? at + 1 : 0) {
        const uint32_t pair = users[at];
        uint32_t edge = forest->head[pair];
        if (edge == RONDE_NONE)
            continue;
        for (uint32_t skip = random_below(&balance->random, 8); skip > 0; skip--)
            edge = forest->next[edge] != RONDE_NONE ? forest->next[edge] : forest->head[pair];
        return edge;
    }
    return RONDE_NONE;
}

/* Depths of all ranks of a tree, and which of them hang below a rank or are it. Returns the greatest depth. */
static uint32_t survey(struct ronde_balance *balance, uint32_t tree, uint32_t top)
{
    const uint32_t n = balance->forest->ways->ranks, root = balance->forest->root[tree];
    const uint32_t *parent = balance->forest->parent + (size_t)tree * n;
    uint32_t *depth = balance->depth, *chain = balance->from;
    uint32_t greatest = 0;
    for (uint32_t v = 0; v < n; v++)
        depth[v] = RONDE_NONE;
    depth[root] = 0;
    balance->is_below[root] = root == top;
    for (uint32_t v = 0; v < n; v++) {
        uint32_t at = v, steps = 0;
        for (; depth[at] == RONDE_NONE; at = parent[at])
            chain[steps++] = at;
        uint32_t known = depth[at];
        bool is_below = balance->is_below[at];
        while (steps > 0) {
            at = chain[--steps];
            is_below = is_below || at == top;
            depth[at] = ++known;
            balance->is_below[at] = is_below;
        }
        if (depth[v] > greatest)
            greatest = depth[v];
    }
    return greatest;
}

/* Walks down from a rank, for as long as chance has it; the way goes to `path`, its end first. Returns its edges. */
static uint32_t descend(struct ronde_balance *balance, uint32_t tree, uint32_t top)
{
    const uint32_t n = balance->forest->ways->ranks;
    const uint32_t *parent = balance->forest->parent + (size_t)tree * n;
    uint32_t length = 0, bottom = top;
    while (random_below(&balance->random, 2) == 0) {
        uint32_t child = RONDE_NONE, children = 0;
        for (uint32_t v = 0; v < n; v++)
            if (parent[v] == bottom && random_below(&balance->random, ++children) == 0)
                child = v;
        if (child == RONDE_NONE || !balance->forest->ways->is_open[child * n + bottom])
            break;
        bottom = child;
        length++;
    }
    for (uint32_t i = 0; i <= length; i++, bottom = parent[bottom])
        balance->path[i] = bottom;
    return length;
}

/* Turns the edges of `path` round, so that its first rank stands on top and its order is reversed. Returns the cost. */
static double turn(struct ronde_balance *balance, uint32_t tree, uint32_t length)
{
    const uint32_t n = balance->forest->ways->ranks;
    uint32_t *path = balance->path;
    double cost = 0;
    for (uint32_t i = 0; i < length; i++) {
        drop_edge(balance, tree, path[i]);
        cost -= way_cost(balance, path[i + 1] * n + path[i]);
    }
    for (uint32_t i = 0; i < length; i++) {
        cost += way_cost(balance, path[i] * n + path[i + 1]);
        add_edge(balance, tree, path[i], path[i + 1]);
    }
    for (uint32_t i = 0; i < length - i; i++) {
        const uint32_t swapped = path[i];
        path[i] = path[length - i];
        path[length - i] = swapped;
    }
    return cost;
}

/* The cheapest parent outside what hangs below; NONE where there is none. */
static uint32_t new_parent(struct ronde_balance *balance, uint32_t child, uint32_t old,
                           double *out_cost)
{
    const struct ronde_ways *ways = balance->forest->ways;
    uint32_t best = RONDE_NONE;
    *out_cost = INFINITY;
    for (uint32_t p = 0; p < ways->ranks; p++) {
        const uint32_t pair = p * ways->ranks + child;
        if (p == old || balance->is_below[p] || !ways->is_open[pair])
            continue;
        const double cost = way_cost(balance, pair) + DEPTH * balance->depth[p] +
                            FULLNESS * (double)random_below(&balance->random, 1024) / 1024;
        if (cost >= *out_cost)
            continue;
        *out_cost = cost;
        best = p;
    }
    return best;
}

/*
 * What hangs below an edge is hung up elsewhere, by its top or by a rank further down, which then is its top. Returns
 * whether that was done.
 */
static bool move_edge(struct ronde_balance *balance, uint32_t edge)
{
    const uint32_t n = balance->forest->ways->ranks;
    const uint32_t tree = edge / n, child = edge % n, old = balance->forest->parent[edge];
    double cost;
    survey(balance, tree, child);
    const uint32_t length = descend(balance, tree, child), top = balance->path[0];
    drop_edge(balance, tree, child);
    const double saved = way_cost(balance, old * n + child) + 2 * FULLNESS;
    const double turned = turn(balance, tree, length);
    const uint32_t parent = new_parent(balance, top, length == 0 ? old : RONDE_NONE, &cost);
    bool is_done = parent != RONDE_NONE && cost + turned < saved;
    if (is_done) {
        add_edge(balance, tree, parent, top);
        is_done = balance->most_depth >= n || survey(balance, tree, n) <= balance->most_depth;
        if (!is_done)
            drop_edge(balance, tree, top);
    }
    if (!is_done) {
        (void)turn(balance, tree, length);
        add_edge(balance, tree, old, child);
    }
    return is_done;
}

static bool regrow(struct ronde_balance *balance, uint32_t tree)
{
    const uint32_t n = balance->forest->ways->ranks;
    for (uint32_t v = 0; v < n; v++)
        if (v != balance->forest->root[tree])
            drop_edge(balance, tree, v);
    return grow_tree(balance, tree);
}

bool ronde_balance_search(struct ronde_balance *balance, uint64_t steps)
{
    const uint32_t n = balance->forest->ways->ranks;
    const uint32_t regrow_every = balance->forest->tree_count < FEW_TREES ? REGROW * n : REGROW;
    for (uint64_t step = 1; balance->overloaded_count > 0 && step <= steps; step++) {
        if (step % SAY_EVERY == 0)
            ronde_synthesis_say(balance->progress, "levelling links, steps", step, steps);
        const uint32_t wire =
            balance->overloaded[random_below(&balance->random, balance->overloaded_count)];
        const uint32_t edge = edge_on(balance, wire);
        if (edge == RONDE_NONE)
            return false;
        if (step % regrow_every == 0 && !regrow(balance, edge / n))
            return false;
        if (step % regrow_every != 0 && !move_edge(balance, edge)) {
            balance->weight[wire] += 0.1;
            balance->price[wire] = price_of(balance, wire);
        }
    }
    return balance->overloaded_count == 0;
}
