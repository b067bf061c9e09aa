/* Which processors the threads of a gang use. See seats.h. */
#include "hw/cpu/seats.h"

#include <sched.h>
#include <string.h>

struct ronde_seats {
    const struct ronde_mem *mem;
    uint32_t workers;
    uint32_t capacity;              /* entries of each list */
    uint32_t count;                 /* usable processors; fewer than workers = nothing to arrange */
    struct ronde_processor *usable; /* near ones beside each other */
    struct ronde_processor *turned; /* the same, beginning with the core that worker 0 was on */
    uint32_t own;                   /* entries of turned up to which worker 0's group reaches */
    uint64_t arrangement;           /* counts changes of turned */
};

struct ronde_seats *ronde_seats_create(const struct ronde_bind *bind, uint32_t workers)
{
    const struct ronde_mem *mem = bind->mem;
    struct ronde_seats *seats = ronde_mem_new(mem, 1, sizeof *seats);
    if (!seats)
        return NULL;
    seats->mem = mem;
    seats->workers = workers;
    seats->capacity = bind->count;
    seats->usable = ronde_mem_new(mem, seats->capacity, sizeof *seats->usable);
    seats->turned = ronde_mem_new(mem, seats->capacity, sizeof *seats->turned);
    if (seats->capacity > 0 && (!seats->usable || !seats->turned)) {
        ronde_seats_destroy(seats);
        return NULL;
    }
    seats->count = ronde_bind_usable(bind, seats->usable);
    return seats;
}

void ronde_seats_destroy(struct ronde_seats *seats)
{
    if (!seats)
        return;
    ronde_mem_free(seats->mem, seats->usable, seats->capacity, sizeof *seats->usable);
    ronde_mem_free(seats->mem, seats->turned, seats->capacity, sizeof *seats->turned);
    ronde_mem_free(seats->mem, seats, 1, sizeof *seats);
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

uint64_t ronde_seats_arrange(struct ronde_seats *seats)
{
    if (seats->count < seats->workers)
        return 0;
    if (current_index(seats->turned, seats->own) < seats->own)
        return seats->arrangement;
    uint32_t first = current_index(seats->usable, seats->count);
    if (first == seats->count)
        return seats->arrangement;
    /* A core is never split between the end of the list and its beginning. */
    while (first > 0 && seats->usable[first - 1].core == seats->usable[first].core)
        first--;
    const uint32_t rest = seats->count - first;
    memcpy(seats->turned, seats->usable + first, rest * sizeof *seats->turned);
    memcpy(seats->turned + rest, seats->usable, first * sizeof *seats->turned);
    seats->own = ronde_bind_group(seats->turned, seats->count, seats->workers, 0).end;
    return ++seats->arrangement;
}

void ronde_seats_settle(const struct ronde_seats *seats, uint32_t worker)
{
    (void)ronde_bind_take(seats->turned,
                          ronde_bind_group(seats->turned, seats->count, seats->workers, worker));
}
