/*
 * Moments are found by time in a chained hash table, and by order in a heap with four children a node (LaMarca and
 * Ladner, "The influence of caches on the performance of heaps", JEA 1, 1996). Arrivals of a moment are sorted when
 * their time has come, by merging the runs they came in (Knuth, TAOCP vol. 3, 5.2.4, natural merge): serving links in
 * order also pushes in long ordered runs.
 */
#include "event_queue.h"

#include "ronde/split.h"

#include <string.h>

#define CHILDREN 4u

/* Arrivals side by side: following a link for each one would wait for memory each time. Two cache lines with the rest
   of the bunch. */
#define BUNCH 5u

/* Some arrivals of a moment. */
struct ronde_sim_bunch {
    struct ronde_sim_arrival arrivals[BUNCH];
    uint32_t count;
    uint32_t next; /* older bunch of the moment, or next free one; index + 1 */
};

/* A time at which something arrives. Links are index + 1. */
struct ronde_sim_moment {
    double at_ns;
    uint32_t bunch;    /* the one being filled; only it may have room */
    uint32_t count;    /* arrivals */
    uint32_t in_chain; /* next moment of the same chain, or of the free ones */
};

/* Chain of a time. Multiplicative hashing (Knuth, TAOCP vol. 3, 6.4) by the upper bits: the lower ones of round times
   are all zero. */
static uint32_t *chain_of(const struct ronde_sim_queue *queue, double at_ns)
{
    uint64_t bits;
    memcpy(&bits, &at_ns, sizeof bits);
    const uint64_t upper = bits * 0x9e3779b97f4a7c15u >> 32;
    return &queue->table[upper * queue->table_size >> 32];
}

/* Doubles the table when there are as many moments as chains. */
static bool enlarge_table(struct ronde_sim_queue *queue)
{
    if (queue->heap_count < queue->table_size)
        return true;
    const uint32_t size = queue->table_size ? queue->table_size * 2 : 64;
    uint32_t *table = ronde_mem_new(queue->mem, size, sizeof *table);
    if (!table)
        return false;
    ronde_mem_free(queue->mem, queue->table, queue->table_size, sizeof *table);
    queue->table = table;
    queue->table_size = size;
    for (uint32_t i = 0; i < queue->heap_count; i++) {
        struct ronde_sim_moment *moment = &queue->moments[queue->heap[i].moment];
        uint32_t *head = chain_of(queue, moment->at_ns);
        moment->in_chain = *head;
        *head = queue->heap[i].moment + 1;
    }
    return true;
}

/* Moves a new entry up to its place. */
static void heap_insert(struct ronde_sim_queue *queue, struct ronde_sim_heap_entry entry)
{
    struct ronde_sim_heap_entry *heap = queue->heap;
    uint32_t at = queue->heap_count++;
    while (at > 0 && entry.at_ns < heap[(at - 1) / CHILDREN].at_ns) {
        heap[at] = heap[(at - 1) / CHILDREN];
        at = (at - 1) / CHILDREN;
    }
    heap[at] = entry;
}

/* The earliest child of a node, or heap_count where it has none. */
static uint32_t first_child(const struct ronde_sim_queue *queue, uint32_t at)
{
    uint32_t best = at * CHILDREN + 1;
    if (best >= queue->heap_count)
        return queue->heap_count;
    const uint32_t end = best + CHILDREN < queue->heap_count ? best + CHILDREN : queue->heap_count;
    for (uint32_t child = best + 1; child < end; child++)
        best = queue->heap[child].at_ns < queue->heap[best].at_ns ? child : best;
    return best;
}

/* Takes the first entry out and closes the gap. */
static void heap_remove_first(struct ronde_sim_queue *queue)
{
    struct ronde_sim_heap_entry *heap = queue->heap;
    const struct ronde_sim_heap_entry last = heap[--queue->heap_count];
    uint32_t at = 0;
    uint32_t child = first_child(queue, at);
    while (child < queue->heap_count && heap[child].at_ns < last.at_ns) {
        heap[at] = heap[child];
        at = child;
        child = first_child(queue, at);
    }
    heap[at] = last;
}

/* Room for one more moment; what is reserved and not used stays reserved. */
static bool reserve_moment(struct ronde_sim_queue *queue)
{
    return ronde_mem_grow(queue->mem, &queue->heap, &queue->heap_capacity,
                          (size_t)queue->heap_count + 1, sizeof *queue->heap) &&
           ronde_mem_grow(queue->mem, &queue->moments, &queue->moment_capacity,
                          (size_t)queue->moment_count + 1, sizeof *queue->moments) &&
           enlarge_table(queue);
}

/* Room for one more bunch. */
static bool reserve_bunch(struct ronde_sim_queue *queue)
{
    return ronde_mem_grow(queue->mem, &queue->bunches, &queue->bunch_capacity,
                          (size_t)queue->bunch_count + 1, sizeof *queue->bunches);
}

/*
 * Room to return that many arrivals, sorted. Not before they are taken: the batch before may still
 * be read.
 */
static bool reserve_batch(struct ronde_sim_queue *queue, uint32_t count)
{
    bool fits = true;
    for (int i = 0; i < 2 && fits; i++) {
        fits = ronde_mem_grow(queue->mem, &queue->batch[i], &queue->batch_capacity[i], count,
                              sizeof *queue->batch[i]);
    }
    return fits;
}

/* A slot of a list of free ones, or the next unused. */
static uint32_t new_moment(struct ronde_sim_queue *queue)
{
    const uint32_t slot = queue->free_moment;
    if (slot == 0)
        return queue->moment_count++;
    queue->free_moment = queue->moments[slot - 1].in_chain;
    return slot - 1;
}

static uint32_t new_bunch(struct ronde_sim_queue *queue)
{
    const uint32_t slot = queue->free_bunch;
    if (slot == 0)
        return queue->bunch_count++;
    queue->free_bunch = queue->bunches[slot - 1].next;
    return slot - 1;
}

/* The moment of a time, index + 1, or 0 where nothing arrives then. */
static uint32_t look_up(const struct ronde_sim_queue *queue, double at_ns)
{
    uint32_t found = queue->table_size > 0 ? *chain_of(queue, at_ns) : 0;
    while (found != 0 && queue->moments[found - 1].at_ns != at_ns)
        found = queue->moments[found - 1].in_chain;
    return found;
}

/* A moment at which nothing arrives yet, index + 1, or 0 where there is no memory. */
static uint32_t add_moment(struct ronde_sim_queue *queue, double at_ns)
{
    if (!reserve_moment(queue))
        return 0;
    uint32_t *head = chain_of(queue, at_ns);
    const uint32_t slot = new_moment(queue);
    queue->moments[slot] = (struct ronde_sim_moment){.at_ns = at_ns, .in_chain = *head};
    *head = slot + 1;
    heap_insert(queue, (struct ronde_sim_heap_entry){at_ns, slot});
    return slot + 1;
}

/* The moment of a time; NULL where there is no memory. What arrives often follows something that arrives at the same
   time, so that is tried first. */
static struct ronde_sim_moment *find_moment(struct ronde_sim_queue *queue, double at_ns)
{
    if (queue->last == 0 || queue->moments[queue->last - 1].at_ns != at_ns)
        queue->last = look_up(queue, at_ns);
    if (queue->last == 0)
        queue->last = add_moment(queue, at_ns);
    return queue->last != 0 ? &queue->moments[queue->last - 1] : NULL;
}

/* A bunch with room. Only the first of a moment's list can have any. */
static struct ronde_sim_bunch *find_bunch(struct ronde_sim_queue *queue,
                                          struct ronde_sim_moment *moment)
{
    if (moment->count % BUNCH != 0)
        return &queue->bunches[moment->bunch - 1];
    if (!reserve_bunch(queue))
        return NULL;
    const uint32_t slot = new_bunch(queue);
    queue->bunches[slot].count = 0;
    queue->bunches[slot].next = moment->bunch;
    moment->bunch = slot + 1;
    return &queue->bunches[slot];
}

bool ronde_sim_queue_push(struct ronde_sim_queue *queue, double at_ns,
                          struct ronde_sim_arrival arrival)
{
    struct ronde_sim_moment *moment = find_moment(queue, at_ns);
    struct ronde_sim_bunch *bunch = moment ? find_bunch(queue, moment) : NULL;
    if (!bunch)
        return false;
    bunch->arrivals[bunch->count++] = arrival;
    moment->count++;
    return true;
}

/* Order of an arrival among those of its moment. Times are not negative, so their bits order as they do. */
static ronde_wide rank_of(const struct ronde_sim_arrival *arrival)
{
    uint64_t ready_bits;
    memcpy(&ready_bits, &arrival->ready_ns, sizeof ready_bits);
    return (ronde_wide)ready_bits << 64 | arrival->op;
}

static bool precedes(const struct ronde_sim_arrival *a, const struct ronde_sim_arrival *b)
{
    return rank_of(a) < rank_of(b);
}

/* End of the ordered run that begins at `from`. */
static uint32_t run_end(const struct ronde_sim_arrival *batch, uint32_t from, uint32_t count)
{
    uint32_t at = from + 1;
    while (at < count && !precedes(&batch[at], &batch[at - 1]))
        at++;
    return at < count ? at : count;
}

/* Merges neighbouring runs into the other half; returns how many runs that gave. */
static uint32_t merge_runs(const struct ronde_sim_arrival *from, struct ronde_sim_arrival *to,
                           uint32_t count)
{
    uint32_t runs = 0;
    for (uint32_t begin = 0, out = 0; begin < count; runs++) {
        const uint32_t middle = run_end(from, begin, count);
        const uint32_t end = middle < count ? run_end(from, middle, count) : count;
        uint32_t left = begin;
        uint32_t right = middle;
        /* Without branches: which side comes first is as good as random. */
        while (left < middle && right < end) {
            const bool is_right = precedes(&from[right], &from[left]);
            to[out++] = from[is_right ? right : left];
            right += is_right;
            left += !is_right;
        }
        while (left < middle)
            to[out++] = from[left++];
        while (right < end)
            to[out++] = from[right++];
        begin = end;
    }
    return runs;
}

/* Moves a moment's arrivals into the batch, in the order in which they came, and frees their slots. */
static uint32_t collect(struct ronde_sim_queue *queue, const struct ronde_sim_moment *moment)
{
    uint32_t at = moment->count;
    for (uint32_t slot = moment->bunch; slot != 0;) {
        struct ronde_sim_bunch *bunch = &queue->bunches[slot - 1];
        const uint32_t older = bunch->next;
        at -= bunch->count;
        memcpy(queue->batch[0] + at, bunch->arrivals, bunch->count * sizeof *bunch->arrivals);
        bunch->next = queue->free_bunch;
        queue->free_bunch = slot;
        slot = older;
    }
    return moment->count;
}

/* Takes a moment out of its chain and onto the free list. */
static void forget(struct ronde_sim_queue *queue, uint32_t index)
{
    uint32_t *link = chain_of(queue, queue->moments[index].at_ns);
    while (*link != index + 1)
        link = &queue->moments[*link - 1].in_chain;
    *link = queue->moments[index].in_chain;
    queue->moments[index].in_chain = queue->free_moment;
    queue->free_moment = index + 1;
    queue->last = queue->last == index + 1 ? 0 : queue->last;
}

bool ronde_sim_queue_pop(struct ronde_sim_queue *queue, double *out_at_ns,
                         const struct ronde_sim_arrival **out_batch, uint32_t *out_count)
{
    *out_count = 0;
    if (queue->heap_count == 0)
        return true;
    const uint32_t index = queue->heap[0].moment;
    if (!reserve_batch(queue, queue->moments[index].count))
        return false;
    *out_at_ns = queue->heap[0].at_ns;
    *out_count = collect(queue, &queue->moments[index]);
    heap_remove_first(queue);
    forget(queue, index);
    unsigned sorted = 0;
    if (run_end(queue->batch[0], 0, *out_count) < *out_count)
        do {
            sorted = 1 - sorted;
        } while (merge_runs(queue->batch[1 - sorted], queue->batch[sorted], *out_count) > 1);
    *out_batch = queue->batch[sorted];
    return true;
}

void ronde_sim_queue_free(struct ronde_sim_queue *queue)
{
    for (int i = 0; i < 2; i++)
        ronde_mem_free(queue->mem, queue->batch[i], queue->batch_capacity[i],
                       sizeof *queue->batch[i]);
    ronde_mem_free(queue->mem, queue->bunches, queue->bunch_capacity, sizeof *queue->bunches);
    ronde_mem_free(queue->mem, queue->table, queue->table_size, sizeof *queue->table);
    ronde_mem_free(queue->mem, queue->moments, queue->moment_capacity, sizeof *queue->moments);
    ronde_mem_free(queue->mem, queue->heap, queue->heap_capacity, sizeof *queue->heap);
}
