/* Symmetric machines. See forest.h. */
#include "forest.h"

#include "ronde/partition.h"

/* Digits that are remembered: no number of hosts that is looked at has more pairs of divisors. */
#define MOST_TRIED 1024u

/* A digit that was tried, and whether it can be turned. */
struct tried {
    uint32_t step, radix;
    bool can;
};

/* Most digits of a shape with ties, whose every digit has to be tried again beside others. */
#define MOST_TIED_DIGITS 4u

/* What looking for a symmetry holds. */
struct seeking {
    const struct ronde_wiring *wiring;
    struct ronde_wiring_symmetry *found;
    bool without_ties; /* pairs half way round some digit are left out */
    uint32_t *image;   /* per wire: the one it is carried onto, or RONDE_NONE */
    uint32_t *origin;  /* per wire: the one that is carried onto it */
    uint32_t *parent;  /* per wire: union-find of classes */
    uint32_t *next;    /* per position: what adding one to a digit makes of it */
    struct tried *tried;
    uint32_t tried_count;
};

static bool are_alike(const struct ronde_route_wire *a, const struct ronde_route_wire *b)
{
    return a->rate_GBps == b->rate_GBps && a->latency_ns == b->latency_ns &&
           a->is_free == b->is_free && a->is_medium == b->is_medium;
}

/* Whether a wire may be carried onto another one, which is noted. */
static bool carry(struct seeking *seeking, uint32_t from, uint32_t to)
{
    if (seeking->image[from] == to)
        return true;
    if (seeking->image[from] != RONDE_NONE || seeking->origin[to] != RONDE_NONE ||
        !are_alike(&seeking->wiring->wires[from], &seeking->wiring->wires[to]))
        return false;
    seeking->image[from] = to;
    seeking->origin[to] = from;
    return true;
}

static bool carry_route(struct seeking *seeking, uint32_t pair, uint32_t image)
{
    const struct ronde_wiring *wiring = seeking->wiring;
    const uint32_t count = wiring->first[pair + 1] - wiring->first[pair];
    if (wiring->first[image + 1] - wiring->first[image] != count)
        return false;
    for (uint32_t h = 0; h < count; h++)
        if (!carry(seeking, wiring->hops[wiring->first[pair] + h],
                   wiring->hops[wiring->first[image] + h]))
            return false;
    return true;
}

/* Adds one to the digit whose places are `step` apart. */
static void list_next(struct seeking *seeking, uint32_t step, uint32_t radix)
{
    for (uint32_t p = 0; p < seeking->wiring->ranks; p++)
        seeking->next[p] = p / step % radix + 1 < radix ? p + step : p - step * (radix - 1);
}

/* Whether two positions are half way round some digit: a ring of even length has two ways between them, and takes either. */
static bool are_tied(const struct ronde_wiring_symmetry *shape, uint32_t a, uint32_t b)
{
    uint32_t away = ronde_symmetry_seen(shape, b, a);
    bool are = false;
    for (uint32_t d = shape->digits; d-- > 0; away /= shape->radix[d])
        are |= shape->radix[d] > 2 && 2 * (away % shape->radix[d]) == shape->radix[d];
    return are;
}

static bool is_left_out(const struct seeking *seeking, uint32_t a, uint32_t b)
{
    return a == b || (seeking->without_ties && are_tied(seeking->found, a, b));
}

/* Whether a digit can be turned; if so, wires that are carried onto each other join. */
static bool can_turn(struct seeking *seeking, uint32_t step, uint32_t radix)
{
    const uint32_t n = seeking->wiring->ranks, wires = seeking->wiring->wire_count;
    list_next(seeking, step, radix);
    for (uint32_t w = 0; w < wires; w++)
        seeking->image[w] = seeking->origin[w] = RONDE_NONE;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            if (!is_left_out(seeking, i, j) &&
                !carry_route(seeking, i * n + j, seeking->next[i] * n + seeking->next[j]))
                return false;
    for (uint32_t w = 0; w < wires; w++)
        if (seeking->image[w] != RONDE_NONE)
            ronde_partition_join(seeking->parent, w, seeking->image[w]);
    return true;
}

/* The same, from memory: which other digits there are says only which pairs are tied. */
static bool could_turn(struct seeking *seeking, uint32_t step, uint32_t radix)
{
    if (seeking->without_ties)
        return true;
    for (uint32_t t = 0; t < seeking->tried_count; t++)
        if (seeking->tried[t].step == step && seeking->tried[t].radix == radix)
            return seeking->tried[t].can;
    const bool can = can_turn(seeking, step, radix);
    if (seeking->tried_count < MOST_TRIED)
        seeking->tried[seeking->tried_count++] = (struct tried){step, radix, can};
    return can;
}

/* Whether all digits of the shape can be turned. */
static bool fits(struct seeking *seeking)
{
    const struct ronde_wiring_symmetry *shape = seeking->found;
    for (uint32_t d = shape->digits, step = 1; d-- > 0; step *= shape->radix[d])
        if (!could_turn(seeking, step, shape->radix[d]))
            return false;
    for (uint32_t w = 0; w < seeking->wiring->wire_count; w++)
        seeking->parent[w] = w;
    for (uint32_t d = shape->digits, step = 1; d-- > 0; step *= shape->radix[d])
        if (!can_turn(seeking, step, shape->radix[d]))
            return false;
    return true;
}

/* Tries all shapes of so many more digits whose product is `rest`. */
static bool try_shapes(struct seeking *seeking, uint32_t digit, uint32_t rest)
{
    struct ronde_wiring_symmetry *shape = seeking->found;
    if (digit >= RONDE_MAX_SHAPE)
        return false;
    if (digit + 1 == shape->digits) {
        shape->radix[digit] = rest;
        return rest > 1 && fits(seeking);
    }
    for (uint32_t radix = 2; radix <= rest / 2; radix++) {
        shape->radix[digit] = radix;
        if (rest % radix == 0 && try_shapes(seeking, digit + 1, rest / radix))
            return true;
    }
    return false;
}

/* Numbers the classes. */
static void number_classes(struct seeking *seeking)
{
    struct ronde_wiring_symmetry *found = seeking->found;
    const uint32_t wires = seeking->wiring->wire_count;
    for (uint32_t w = 0; w < wires; w++)
        seeking->image[w] = RONDE_NONE;
    for (uint32_t w = 0; w < wires; w++) {
        uint32_t *number = &seeking->image[ronde_partition_find(seeking->parent, w)];
        if (*number == RONDE_NONE)
            *number = found->class_count++;
        found->class_of[w] = *number;
        found->class_size[*number]++;
    }
}

/* Shapes with few digits first; whether there is one. */
static bool seek(struct seeking *seeking)
{
    const uint32_t most = seeking->without_ties ? MOST_TIED_DIGITS : RONDE_MAX_SHAPE;
    uint32_t *digits = &seeking->found->digits;
    for (*digits = 1; *digits <= most; ++*digits)
        if (try_shapes(seeking, 0, seeking->wiring->ranks))
            return true;
    *digits = 0;
    return false;
}

/* Trees may take all pairs but those that were left out. */
static bool list_open(const struct seeking *seeking, struct ronde_store *pool)
{
    const uint32_t n = seeking->wiring->ranks;
    bool *may_take = ronde_store_new(pool, (size_t)n * n, sizeof *may_take);
    for (uint32_t pair = 0; may_take && pair < n * n; pair++)
        may_take[pair] = !is_left_out(seeking, pair / n, pair % n);
    seeking->found->may_take = may_take;
    return may_take != NULL;
}

bool ronde_symmetry_find(const struct ronde_wiring *wiring, struct ronde_store *pool,
                         struct ronde_wiring_symmetry *out_symmetry)
{
    const uint32_t wires = wiring->wire_count;
    struct seeking seeking = {.wiring = wiring, .found = out_symmetry};
    *out_symmetry = (struct ronde_wiring_symmetry){.digits = 1};
    out_symmetry->class_of = ronde_store_new(pool, wires, sizeof *out_symmetry->class_of);
    out_symmetry->class_size = ronde_store_new(pool, wires, sizeof *out_symmetry->class_size);
    seeking.image = ronde_store_new(pool, wires, sizeof *seeking.image);
    seeking.origin = ronde_store_new(pool, wires, sizeof *seeking.origin);
    seeking.parent = ronde_store_new(pool, wires, sizeof *seeking.parent);
    seeking.next = ronde_store_new(pool, wiring->ranks, sizeof *seeking.next);
    seeking.tried = ronde_store_new(pool, MOST_TRIED, sizeof *seeking.tried);
    if (pool->is_short)
        return false;
    if (seek(&seeking)) {
        number_classes(&seeking);
        return true;
    }
    seeking.without_ties = true;
    if (!seek(&seeking))
        return true;
    number_classes(&seeking);
    return list_open(&seeking, pool);
}

uint32_t ronde_symmetry_seen(const struct ronde_wiring_symmetry *symmetry, uint32_t position,
                             uint32_t from)
{
    uint32_t seen = 0, step = 1;
    for (uint32_t d = symmetry->digits; d-- > 0; step *= symmetry->radix[d]) {
        const uint32_t radix = symmetry->radix[d];
        seen += (position / step % radix + radix - from / step % radix) % radix * step;
    }
    return seen;
}

/*
 * Trees of one root on a torus that share no link, one for each axis and direction. Seen from the root, the link into a position
 * whose digit of the tree's axis is nought runs along that axis, from the far end of the ring; into any other along the
 * nearest axis before it, in cyclic order, whose digit is not nought. So trees of one direction enter a position along
 * different axes, and each goes on until its own axis alone leads to the root.
 */
static uint32_t parent_on_torus(const struct ronde_wiring_symmetry *symmetry, uint32_t tree,
                                uint32_t root, uint32_t position)
{
    const uint32_t digits = symmetry->digits, own = tree % digits;
    uint32_t places[RONDE_MAX_SHAPE], seen = ronde_symmetry_seen(symmetry, position, root);
    bool is_away[RONDE_MAX_SHAPE];
    for (uint32_t d = digits, place = 1; d-- > 0; place *= symmetry->radix[d]) {
        places[d] = place;
        is_away[d] = seen % symmetry->radix[d] != 0;
        seen /= symmetry->radix[d];
    }
    uint32_t axis = own;
    if (is_away[own])
        do
            axis = (axis + digits - 1) % digits;
        while (!is_away[axis]);
    const uint32_t radix = symmetry->radix[axis], digit = position / places[axis] % radix;
    const uint32_t before = (digit + (tree < digits ? radix - 1 : 1)) % radix;
    return position - digit * places[axis] + before * places[axis];
}

bool ronde_symmetry_plant(const struct ronde_wiring_symmetry *torus, struct ronde_forest *forest)
{
    const uint32_t n = forest->ways->ranks;
    bool are_apart = true;
    for (uint32_t edge = 0; edge < forest->tree_count * n; edge++)
        if (edge % n != forest->root[edge / n])
            ronde_forest_link(forest, edge / n,
                              parent_on_torus(torus, edge / n, forest->root[edge / n], edge % n),
                              edge % n);
    for (uint32_t w = 0; w < forest->ways->wire_count; w++)
        are_apart &= forest->load[w] <= 1;
    return are_apart;
}

bool ronde_symmetry_turn(const struct ronde_wiring_symmetry *symmetry, struct ronde_store *pool,
                         struct ronde_ways *ways)
{
    const uint32_t pairs = ways->ranks * ways->ranks;
    double *rate_GBps = ronde_store_new(pool, symmetry->class_count, sizeof *rate_GBps);
    if (!rate_GBps)
        return false;
    for (uint32_t w = 0; w < ways->wire_count; w++)
        rate_GBps[symmetry->class_of[w]] =
            ways->rate_GBps[w] * symmetry->class_size[symmetry->class_of[w]] / ways->ranks;
    ronde_ways_count_messages(ways);
    for (uint32_t h = 0; h < ways->first[pairs]; h++)
        ways->hops[h] = symmetry->class_of[ways->hops[h]];
    ways->rate_GBps = rate_GBps;
    ways->wire_count = symmetry->class_count;
    return ronde_ways_list_users(ways, pool);
}
