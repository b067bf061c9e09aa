/* A rank per process: shared device memory and agreement. See peers.h. */
#include "hw/cuda/peers.h"

#include "hw/cuda/backend.h"
#include "ronde/hw.h"

#include <string.h>

/* Between two looks at the star. */
#define CHECK_NS 1e6

/* What a process says of itself: how a step of its own went, what it is about to do, and how to find its memory. */
struct statement {
    struct ronde_error error;
    struct ronde_card card;
    struct ronde_share share;
};

/* Every process hears all others; the verdict is the first failure of one, or the first disagreement. */
static enum ronde_status exchange(const struct ronde_cuda_peers *peers, const struct statement *mine,
                                  struct statement *all, struct ronde_error *error)
{
    const struct ronde_comm *comm = peers->comm;
    enum ronde_status status = ronde_star_allgather(comm->star, mine, sizeof *mine, all, error);
    for (uint32_t rank = 0; rank < comm->ranks && status == RONDE_OK; rank++)
        if (all[rank].error.status != RONDE_OK)
            status = ronde_fail(error, all[rank].error.status, "rank %u: %.480s", rank,
                                all[rank].error.message);
    for (uint32_t rank = 1; rank < comm->ranks && status == RONDE_OK; rank++)
        if (!ronde_card_is_same(&all[0].card, &all[rank].card))
            status = ronde_card_refuse(0, &all[0].card, rank, &all[rank].card, error);
    return status;
}

/* How a step went goes to the others; this process's own failure stays its own. */
static enum ronde_status tell(const struct ronde_cuda_peers *peers, struct statement *mine,
                              struct statement *all, enum ronde_status status,
                              struct ronde_error *error)
{
    struct ronde_error verdict = {0};
    mine->error.status = status;
    if (status != RONDE_OK && error)
        memcpy(mine->error.message, error->message, sizeof mine->error.message);
    const enum ronde_status heard = exchange(peers, mine, all, &verdict);
    if (status != RONDE_OK || heard == RONDE_OK)
        return status;
    return ronde_fail(error, heard, "%s", verdict.message);
}

static struct statement *new_statements(const struct ronde_cuda_peers *peers,
                                        struct ronde_error *error)
{
    struct ronde_comm *comm = peers->comm;
    struct statement *all = ronde_mem_new(comm->mem, comm->ranks, sizeof *all);
    if (all)
        return all;
    /* The others wait for what this process cannot say. */
    ronde_star_abort(comm->star);
    (void)ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", comm->ranks);
    return NULL;
}

static struct statement state(const struct ronde_schedule *schedule,
                              const struct ronde_launch *launch)
{
    struct statement mine;
    memset(&mine, 0, sizeof mine);
    ronde_card_fill(&mine.card, schedule);
    mine.card.slot_bytes = launch->slot_bytes;
    mine.card.depth = launch->depth;
    mine.card.count = launch->count;
    mine.card.dtype = launch->dtype;
    mine.card.op = ronde_collective_traits(schedule->collective)->reduces ? launch->op : 0;
    return mine;
}

/* Where things lie in a rank's block: counters, boxes of slots, boxes of lines. */
static struct ronde_depot depot_in(unsigned char *block, const struct ronde_cuda_peers *peers,
                                   const struct ronde_numbering *numbering, uint32_t rank)
{
    const struct ronde_schedule *schedule = numbering->schedule;
    const uint64_t first = ronde_numbering_first(numbering, rank);
    const uint64_t received = ronde_numbering_first(numbering, rank + 1) - first;
    const uint64_t connections = ronde_numbering_first(numbering, schedule->ranks);
    unsigned char *const slots = block + (connections + 1) * sizeof(struct ronde_fifo);
    return (struct ronde_depot){block, slots,
                                slots + received * ronde_box_bytes(schedule, peers->slot_bytes,
                                                                   peers->depth),
                                first};
}

/* Bytes of a rank's block: the same arithmetic in every process. */
static uint64_t block_bytes(const struct ronde_cuda_peers *peers,
                            const struct ronde_numbering *numbering, uint32_t rank)
{
    const struct ronde_depot depot = depot_in(NULL, peers, numbering, rank);
    const uint64_t received = ronde_numbering_first(numbering, rank + 1) - depot.first;
    return (uint64_t)(uintptr_t)depot.lines +
           received * 2 * RONDE_CUDA_LINES_UP_TO_BYTES * peers->depth;
}

/* Which ranks of this host the part has connections with. */
static void mark_neighbours(const struct ronde_cuda_peers *peers, const struct ronde_cuda_part *part)
{
    const struct ronde_loaded *loaded = part->loaded;
    for (uint64_t e = 0; e < loaded->end_count; e++)
        if (loaded->ports[e].peer != RONDE_NONE &&
            ronde_comm_is_near(peers->comm, loaded->ports[e].peer))
            peers->block_bytes[loaded->ports[e].peer] = 1;
}

/* Maps the memory of every neighbour. */
static enum ronde_status attach_all(struct ronde_cuda_peers *peers, const struct statement *all,
                                    const struct ronde_numbering *numbering,
                                    struct ronde_depot *depots, struct ronde_error *error)
{
    const struct ronde_comm *comm = peers->comm;
    enum ronde_status status = RONDE_OK;
    for (uint32_t rank = 0; rank < comm->ranks && status == RONDE_OK; rank++) {
        if (rank == comm->rank || peers->block_bytes[rank] == 0)
            continue;
        peers->block_bytes[rank] = block_bytes(peers, numbering, rank);
        status = peers->gpu->attach(peers->gpu->self, &all[rank].share, peers->block_bytes[rank],
                                    &peers->blocks[rank], error);
        depots[rank] = depot_in(peers->blocks[rank], peers, numbering, rank);
    }
    return status;
}

/* This process's own block. */
static enum ronde_status share(struct ronde_cuda_peers *peers, struct ronde_cuda_part *part,
                               const struct ronde_numbering *numbering, struct ronde_share *out,
                               struct ronde_error *error)
{
    const uint32_t rank = peers->comm->rank;
    peers->block_bytes[rank] = block_bytes(peers, numbering, rank);
    const enum ronde_status status = peers->gpu->share(peers->gpu->self, peers->block_bytes[rank],
                                                       &peers->blocks[rank], out, error);
    if (status != RONDE_OK)
        return status;
    const struct ronde_depot depot = depot_in(peers->blocks[rank], peers, numbering, rank);
    return ronde_cuda_part_move(part, &depot, peers->block_bytes[rank], error);
}

/* Tables of the others, and what may be launched. */
static enum ronde_status prepare_tables(struct ronde_cuda_peers *peers,
                                        const struct ronde_schedule *schedule,
                                        struct ronde_error *error)
{
    struct ronde_comm *comm = peers->comm;
    const struct ronde_comm_plan *plan = &comm->options.plan;
    const struct ronde_launch none = {.depth = plan->depth};
    peers->slot_bytes = plan->slot_bytes ? plan->slot_bytes : RONDE_CUDA_SLOT_BYTES;
    peers->depth = ronde_launch_depth(schedule, &none);
    peers->blocks = ronde_mem_new(comm->mem, comm->ranks, sizeof *peers->blocks);
    peers->block_bytes = ronde_mem_new(comm->mem, comm->ranks, sizeof *peers->block_bytes);
    return peers->blocks && peers->block_bytes
               ? RONDE_OK
               : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", comm->ranks);
}

/* This process's part of the first round. */
static enum ronde_status open_door(struct ronde_cuda_peers *peers, struct ronde_cuda_part *part,
                                   const struct ronde_numbering *numbering,
                                   struct ronde_depot *depots, struct ronde_share *out,
                                   struct ronde_error *error)
{
    const uint32_t rank = peers->comm->rank;
    mark_neighbours(peers, part);
    const enum ronde_status status = share(peers, part, numbering, out, error);
    if (status == RONDE_OK)
        depots[rank] = depot_in(peers->blocks[rank], peers, numbering, rank);
    return status;
}

/* In two rounds: everybody has shared its memory; everybody is in the others' and has cleared its own. */
enum ronde_status ronde_cuda_peers_meet(struct ronde_cuda_peers *peers, struct ronde_cuda_part *part,
                                        const struct ronde_numbering *numbering,
                                        struct ronde_depot *depots, enum ronde_status status,
                                        struct ronde_error *error)
{
    struct ronde_comm *comm = peers->comm;
    struct statement *all = new_statements(peers, error);
    if (!all)
        return RONDE_NO_MEMORY;
    const enum ronde_status prepared = prepare_tables(peers, numbering->schedule, error);
    status = status == RONDE_OK ? prepared : status;
    const struct ronde_launch plan = {.slot_bytes = peers->slot_bytes, .depth = peers->depth};
    struct statement mine = state(numbering->schedule, &plan);
    if (status == RONDE_OK)
        status = open_door(peers, part, numbering, depots, &mine.share, error);
    status = tell(peers, &mine, all, status, error);
    if (status == RONDE_OK) {
        status = attach_all(peers, all, numbering, depots, error);
        status = tell(peers, &mine, all, status, error);
    }
    ronde_mem_free(comm->mem, all, comm->ranks, sizeof *all);
    return status;
}

void ronde_cuda_peers_leave(struct ronde_cuda_peers *peers)
{
    const struct ronde_comm *comm = peers->comm;
    const uint32_t own = comm->rank;
    const bool is_met = peers->blocks && peers->block_bytes;
    struct ronde_error ignored = {0};
    for (uint32_t rank = 0; is_met && rank < comm->ranks; rank++)
        if (rank != own && peers->blocks[rank])
            peers->gpu->detach(peers->gpu->self, peers->blocks[rank], peers->block_bytes[rank]);
    /* Memory may go only after the others are out of it. Where the communicator has failed, nobody waits. */
    (void)ronde_star_allgather(comm->star, NULL, 0, NULL, &ignored);
    if (is_met && peers->blocks[own])
        peers->gpu->unshare(peers->gpu->self, peers->blocks[own], peers->block_bytes[own]);
    ronde_mem_free(comm->mem, peers->blocks, comm->ranks, sizeof *peers->blocks);
    ronde_mem_free(comm->mem, peers->block_bytes, comm->ranks, sizeof *peers->block_bytes);
}

enum ronde_status ronde_cuda_peers_settle(const struct ronde_cuda_peers *peers,
                                          struct ronde_launch *launch, struct ronde_error *error)
{
    const bool is_open = launch->slot_bytes == 0;
    launch->depth = launch->depth ? launch->depth : peers->depth;
    if (launch->depth > peers->depth || (!is_open && launch->slot_bytes > peers->slot_bytes))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "launch: slot_bytes %llu and depth %u, loaded for %llu and %u",
                          (unsigned long long)launch->slot_bytes, launch->depth,
                          (unsigned long long)peers->slot_bytes, peers->depth);
    if (launch->protocol > RONDE_PROTOCOL_STAGED)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "launch: protocol %s, processes share slots, not buffers",
                          ronde_protocol_text(launch->protocol));
    return RONDE_OK;
}

enum ronde_status ronde_cuda_peers_agree(struct ronde_cuda_peers *peers,
                                         const struct ronde_schedule *schedule,
                                         const struct ronde_launch *launch,
                                         enum ronde_status status, struct ronde_error *error)
{
    struct statement *all = new_statements(peers, error);
    struct statement mine = state(schedule, launch);
    if (!all)
        return RONDE_NO_MEMORY;
    status = tell(peers, &mine, all, status, error);
    ronde_mem_free(peers->comm->mem, all, peers->comm->ranks, sizeof *all);
    return status;
}

enum ronde_status ronde_cuda_peers_check(struct ronde_cuda_peers *peers, struct ronde_error *error)
{
    const double now_ns = ronde_clock_ns();
    if (now_ns - peers->checked_ns < CHECK_NS)
        return RONDE_OK;
    peers->checked_ns = now_ns;
    return ronde_star_check(peers->comm->star, error);
}

void ronde_cuda_peers_alarm(struct ronde_cuda_peers *peers, const struct ronde_error *why)
{
    ronde_star_alarm(peers->comm->star, why);
}
