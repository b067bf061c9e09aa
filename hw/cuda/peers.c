/* Ranks in several processes: shared device memory and handshakes. See peers.h. */
#include "hw/cuda/peers.h"

#include "hw/cuda/backend.h"
#include "hw/cuda/rank_map.h"

#include "ronde/hw.h"

#include <string.h>

/* Interval of checks of the control channel. */
#define CHECK_NS 1e6

/* What a process sends to the others: the status of its last step, and what it is about to run. */
struct report {
    struct ronde_error error;
    struct ronde_handshake handshake;
};

/* Exchanges reports among all; the result is the first failure of one, or the first disagreement. */
static enum ronde_status exchange(const struct ronde_cuda_peers *peers, const struct report *mine,
                                  struct report *all, struct ronde_error *error)
{
    const struct ronde_comm *comm = peers->comm;
    RONDE_TRY(ronde_control_allgather(comm->control, mine, sizeof *mine, all, error));
    for (uint32_t rank = 0; rank < comm->ranks; rank++)
        if (all[rank].error.status != RONDE_OK)
            return ronde_fail(error, all[rank].error.status, "rank %u: %.480s", rank,
                              all[rank].error.message);
    /* Messages that are to be read in place, however short, do not travel in lines. */
    for (uint32_t rank = 1; rank < comm->ranks; rank++)
        if (all[0].handshake.offers != all[rank].handshake.offers)
            return ronde_fail(error, RONDE_REJECTED,
                              "ranks 0 and %u disagree about the protocol: one of them asks for "
                              "pull",
                              rank);
    for (uint32_t rank = 1; rank < comm->ranks; rank++)
        if (!ronde_handshake_is_same(&all[0].handshake, &all[rank].handshake))
            RONDE_TRY(
                ronde_handshake_refuse(0, &all[0].handshake, rank, &all[rank].handshake, error));
    return RONDE_OK;
}

/* Sends a step's status to the others. A failure of this process's own is returned before one of theirs. */
static enum ronde_status share_status(const struct ronde_cuda_peers *peers, struct report *mine,
                                      struct report *all, enum ronde_status status,
                                      struct ronde_error *error)
{
    struct ronde_error verdict = {0};
    mine->error.status = status;
    if (status != RONDE_OK && error)
        memcpy(mine->error.message, error->message, sizeof mine->error.message);
    const enum ronde_status received = exchange(peers, mine, all, &verdict);
    if (status != RONDE_OK || received == RONDE_OK)
        return status;
    return ronde_fail(error, received, "%s", verdict.message);
}

static struct report *new_reports(const struct ronde_cuda_peers *peers, struct ronde_error *error)
{
    struct ronde_comm *comm = peers->comm;
    struct report *all = ronde_mem_new(comm->mem, comm->ranks, sizeof *all);
    if (all)
        return all;
    /* The others wait in the exchange, which this process cannot enter. */
    ronde_control_abort(comm->control);
    (void)ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", comm->ranks);
    return NULL;
}

static struct report make_report(const struct ronde_schedule *schedule,
                                 const struct ronde_launch *launch)
{
    struct report mine;
    memset(&mine, 0, sizeof mine);
    ronde_handshake_fill(&mine.handshake, schedule);
    mine.handshake.slot_bytes = launch->slot_bytes;
    mine.handshake.depth = launch->depth;
    mine.handshake.count = launch->count;
    mine.handshake.dtype = launch->dtype;
    mine.handshake.offers = launch->protocol == RONDE_PROTOCOL_PULL;
    mine.handshake.op = ronde_collective_traits(schedule->collective)->reduces ? launch->op : 0;
    return mine;
}

/* Tables of the other processes' blocks, and the limits of launches. */
static enum ronde_status prepare_tables(struct ronde_cuda_peers *peers,
                                        const struct ronde_schedule *schedule,
                                        struct ronde_error *error)
{
    struct ronde_comm *comm = peers->comm;
    const struct ronde_comm_plan *plan = &comm->options.plan;
    const struct ronde_launch none = {.depth = plan->depth};
    const struct ronde_rank_map *rank_map = peers->rank_map;
    peers->slot_bytes = plan->slot_bytes ? plan->slot_bytes : RONDE_CUDA_SLOT_BYTES;
    peers->depth = ronde_launch_depth(schedule, &none);
    peers->own = ronde_mem_new(comm->mem, rank_map->own_count, sizeof *peers->own);
    peers->others = ronde_mem_new(comm->mem, (size_t)rank_map->own_count * rank_map->count,
                                  sizeof *peers->others);
    return peers->own && peers->others
               ? RONDE_OK
               : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u devices", rank_map->count);
}

/* Two exchanges: what each process is about to load; then that its memory is cleared and shared, and others' mapped. */
enum ronde_status ronde_cuda_peers_connect(struct ronde_cuda_peers *peers,
                                           const struct ronde_numbering *numbering,
                                           struct ronde_remote_fifos *fifos,
                                           enum ronde_status status, struct ronde_error *error)
{
    struct ronde_comm *comm = peers->comm;
    struct report *all = new_reports(peers, error);
    if (!all)
        return RONDE_NO_MEMORY;
    const enum ronde_status prepared = prepare_tables(peers, numbering->schedule, error);
    status = status == RONDE_OK ? prepared : status;
    const struct ronde_launch plan = {.slot_bytes = peers->slot_bytes, .depth = peers->depth};
    struct report mine = make_report(numbering->schedule, &plan);
    status = share_status(peers, &mine, all, status, error);
    RONDE_THEN(status, share_status(peers, &mine, all,
                                    ronde_share_exchange(peers, numbering, fifos, error), error));
    ronde_mem_free(comm->mem, all, comm->ranks, sizeof *all);
    return status;
}

void ronde_cuda_peers_disconnect(struct ronde_cuda_peers *peers)
{
    const struct ronde_comm *comm = peers->comm;
    const struct ronde_rank_map *rank_map = peers->rank_map;
    const bool has_tables = peers->own && peers->others;
    struct ronde_error ignored = {0};
    if (has_tables)
        ronde_share_unmap_others(peers);
    /* Memory is freed only after the others have unmapped it. Where the communicator has failed, this returns at once. */
    (void)ronde_control_allgather(comm->control, NULL, 0, NULL, &ignored);
    if (has_tables)
        ronde_share_free_own(peers);
    ronde_mem_free(comm->mem, peers->own, rank_map->own_count, sizeof *peers->own);
    ronde_mem_free(comm->mem, peers->others, (size_t)rank_map->own_count * rank_map->count,
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
    if (launch->protocol > RONDE_PROTOCOL_PULL ||
        (launch->protocol == RONDE_PROTOCOL_PULL && !peers->has_registry))
        return ronde_fail(error, RONDE_UNSUPPORTED, "launch: protocol %s, processes %s",
                          ronde_protocol_text(launch->protocol),
                          peers->has_registry ? "read each other's buffers, and write none"
                                              : "on several hosts share slots, not buffers");
    return RONDE_OK;
}

enum ronde_status ronde_cuda_peers_agree(struct ronde_cuda_peers *peers,
                                         const struct ronde_schedule *schedule,
                                         const struct ronde_launch *launch,
                                         enum ronde_status status, struct ronde_error *error)
{
    struct report *all = new_reports(peers, error);
    struct report mine = make_report(schedule, launch);
    if (!all)
        return RONDE_NO_MEMORY;
    status = share_status(peers, &mine, all, status, error);
    ronde_mem_free(peers->comm->mem, all, peers->comm->ranks, sizeof *all);
    return status;
}

enum ronde_status ronde_cuda_peers_check(struct ronde_cuda_peers *peers, struct ronde_error *error)
{
    const double now_ns = ronde_clock_ns();
    if (now_ns - peers->checked_ns < CHECK_NS)
        return RONDE_OK;
    peers->checked_ns = now_ns;
    return ronde_control_check(peers->comm->control, error);
}
