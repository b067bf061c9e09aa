/* A rank per process: shared device memory and agreement. See peers.h. */
#include "hw/cuda/peers.h"

#include "hw/cuda/backend.h"
#include "hw/cuda/share.h"
#include "ronde/hw.h"

#include <string.h>

/* Between two looks at the star. */
#define CHECK_NS 1e6

/* What a process says of itself: how a step of its own went, and what it is about to do. */
struct statement {
    struct ronde_error error;
    struct ronde_card card;
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

/* Tables of the others, and what may be launched. */
static enum ronde_status prepare_tables(struct ronde_cuda_peers *peers,
                                        const struct ronde_schedule *schedule,
                                        struct ronde_error *error)
{
    struct ronde_comm *comm = peers->comm;
    const struct ronde_comm_plan *plan = &comm->options.plan;
    const struct ronde_launch none = {.depth = plan->depth};
    const struct ronde_roster *roster = peers->roster;
    peers->slot_bytes = plan->slot_bytes ? plan->slot_bytes : RONDE_CUDA_SLOT_BYTES;
    peers->depth = ronde_launch_depth(schedule, &none);
    peers->own = ronde_mem_new(comm->mem, roster->own_count, sizeof *peers->own);
    peers->others =
        ronde_mem_new(comm->mem, (size_t)roster->own_count * roster->count, sizeof *peers->others);
    return peers->own && peers->others
               ? RONDE_OK
               : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u devices", roster->count);
}

/* Every process says what it is about to load; has shared its memory; is in the others' and has cleared its own. */
enum ronde_status ronde_cuda_peers_meet(struct ronde_cuda_peers *peers,
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
    status = tell(peers, &mine, all, status, error);
    if (status == RONDE_OK)
        status =
            tell(peers, &mine, all, ronde_share_exchange(peers, numbering, depots, error), error);
    ronde_mem_free(comm->mem, all, comm->ranks, sizeof *all);
    return status;
}

void ronde_cuda_peers_leave(struct ronde_cuda_peers *peers)
{
    const struct ronde_comm *comm = peers->comm;
    const struct ronde_roster *roster = peers->roster;
    const bool is_met = peers->own && peers->others;
    struct ronde_error ignored = {0};
    if (is_met)
        ronde_share_leave_others(peers);
    /* Memory may go only after the others are out of it. Where the communicator has failed, nobody waits. */
    (void)ronde_star_allgather(comm->star, NULL, 0, NULL, &ignored);
    if (is_met)
        ronde_share_free_own(peers);
    ronde_mem_free(comm->mem, peers->own, roster->own_count, sizeof *peers->own);
    ronde_mem_free(comm->mem, peers->others, (size_t)roster->own_count * roster->count,
                   sizeof *peers->others);
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
