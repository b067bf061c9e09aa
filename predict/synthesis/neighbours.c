/* Whom a rank may receive from. See neighbours.h. */
#include "neighbours.h"

#include <stdlib.h>

/* A route between two ranks. */
struct candidate {
    uint32_t from, to;
    uint32_t uses; /* edges of trees that take it */
    uint32_t hops; /* links that it has */
};

static int compare_numbers(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

/* The most used first, of those the shortest. */
static int compare(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    int order = compare_numbers(b->uses, a->uses);
    if (order == 0)
        order = compare_numbers(a->hops, b->hops);
    if (order == 0)
        order = compare_numbers(a->from, b->from);
    return order != 0 ? order : compare_numbers(a->to, b->to);
}

static void count_uses(const struct ronde_forest *forest, bool goes_up, uint32_t ranks,
                       struct candidate *routes)
{
    const uint32_t edges = forest ? forest->tree_count * ranks : 0;
    for (uint32_t e = 0; e < edges; e++) {
        const uint32_t parent = forest->parent[e], child = e % ranks;
        if (parent != RONDE_NONE)
            routes[goes_up ? child * ranks + parent : parent * ranks + child].uses++;
    }
}

/* Opens a route if its receiver, or either rank where both directions are opened, has room. */
static void open_route(const struct ronde_neighbours_task *task, uint32_t from, uint32_t to,
                       uint32_t *received, bool *may_take)
{
    const uint32_t n = task->wiring->ranks;
    if (from == to || may_take[from * n + to] || received[to] >= task->most ||
        (task->is_mutual && received[from] >= task->most))
        return;
    may_take[from * n + to] = true;
    received[to]++;
    if (task->is_mutual) {
        may_take[to * n + from] = true;
        received[from]++;
    }
}

bool *ronde_neighbours_choose(const struct ronde_neighbours_task *task,
                              struct ronde_index_pool *pool)
{
    const struct ronde_wiring *wiring = task->wiring;
    const uint32_t n = wiring->ranks;
    const size_t count = (size_t)n * n;
    struct candidate *routes = ronde_pool_new(pool, count, sizeof *routes);
    uint32_t *received = ronde_pool_new(pool, n, sizeof *received);
    bool *may_take = ronde_pool_new(pool, count, sizeof *may_take);
    if (!routes || !received || !may_take)
        return NULL;
    for (uint32_t r = 0; r < count; r++)
        routes[r] = (struct candidate){r / n, r % n, 0, wiring->first[r + 1] - wiring->first[r]};
    count_uses(task->up, true, n, routes);
    count_uses(task->down, false, n, routes);
    qsort(routes, count, sizeof *routes, compare);
    for (uint32_t r = 0; r < n; r++)
        open_route(task, r, (r + 1) % n, received, may_take);
    for (size_t r = 0; r < count; r++)
        open_route(task, routes[r].from, routes[r].to, received, may_take);
    return may_take;
}
