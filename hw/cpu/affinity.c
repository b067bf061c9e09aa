/* Which processors the threads of a pool use. See affinity.h. */
#include "hw/cpu/affinity.h"

#include <sched.h>
#include <string.h>

struct ronde_affinity {
    const struct ronde_mem *mem;
    uint32_t workers;
    uint32_t capacity;              /* entries of each list */
    uint32_t count;                 /* usable processors; fewer than workers = nothing to arrange */
    struct ronde_processor *usable; /* in the order of memories and cores */
    struct ronde_processor *turned; /* the same, beginning with the core that worker 0 was on */
    uint32_t own;                   /* entries of turned up to which worker 0's group reaches */
    uint64_t arrangement;           /* counts changes of turned */
};

struct ronde_affinity *ronde_affinity_create(const struct ronde_bind *bind, uint32_t workers)
{
    const struct ronde_mem *mem = bind->mem;
    struct ronde_affinity *affinity = ronde_mem_new(mem, 1, sizeof *affinity);
    if (!affinity)
        return NULL;
    affinity->mem = mem;
    affinity->workers = workers;
    affinity->capacity = bind->count;
    affinity->usable = ronde_mem_new(mem, affinity->capacity, sizeof *affinity->usable);
    affinity->turned = ronde_mem_new(mem, affinity->capacity, sizeof *affinity->turned);
    if (affinity->capacity > 0 && (!affinity->usable || !affinity->turned)) {
        ronde_affinity_destroy(affinity);
        return NULL;
    }
    affinity->count = ronde_bind_usable(bind, affinity->usable);
    return affinity;
}

void ronde_affinity_destroy(struct ronde_affinity *affinity)
{
    if (!affinity)
        return;
    ronde_mem_free(affinity->mem, affinity->usable, affinity->capacity, sizeof *affinity->usable);
    ronde_mem_free(affinity->mem, affinity->turned, affinity->capacity, sizeof *affinity->turned);
    ronde_mem_free(affinity->mem, affinity, 1, sizeof *affinity);
}

/* Index in a list of the processor the calling thread is on; `end` if it is none of them up to there. */
static uint32_t current_index(const struct ronde_processor *list, uint32_t end)
{
    const int cpu = sched_getcpu();
    uint32_t index = 0;
    while (index < end && (int)list[index].cpu != cpu)
        index++;
    return index;
}

uint64_t ronde_affinity_arrange(struct ronde_affinity *affinity)
{
    if (affinity->count < affinity->workers)
        return 0;
    if (current_index(affinity->turned, affinity->own) < affinity->own)
        return affinity->arrangement;
    uint32_t first = current_index(affinity->usable, affinity->count);
    if (first == affinity->count)
        return affinity->arrangement;
    /* A core is never split between the end of the list and its beginning. */
    while (first > 0 && affinity->usable[first - 1].core == affinity->usable[first].core)
        first--;
    const uint32_t rest = affinity->count - first;
    memcpy(affinity->turned, affinity->usable + first, rest * sizeof *affinity->turned);
    memcpy(affinity->turned + rest, affinity->usable, first * sizeof *affinity->turned);
    affinity->own = ronde_bind_group(affinity->turned, affinity->count, affinity->workers, 0).end;
    return ++affinity->arrangement;
}

void ronde_affinity_bind(const struct ronde_affinity *affinity, uint32_t worker)
{
    (void)ronde_bind_take(affinity->turned, ronde_bind_group(affinity->turned, affinity->count,
                                                             affinity->workers, worker));
}
