/* Blocks of device memory that processes share. See peers.h. */
#include "hw/cuda/peers.h"

#include "hw/cuda/handles.h"

/* An exchange that is under way. */
struct exchange {
    struct ronde_cuda_peers *peers;
    const struct ronde_numbering *numbering;
    struct ronde_remote_fifos *fifos;
    struct ronde_handles handles; /* rank_map->most of every process */
};

/* A device's block as mapped for one of this process's parts. */
static struct ronde_shared_block *other_of(const struct ronde_cuda_peers *peers, uint32_t part,
                                           uint32_t device)
{
    return &peers->others[(size_t)part * peers->rank_map->count + device];
}

/* Which of its process's devices a device is. */
static uint32_t place_of(const struct ronde_rank_map *rank_map, uint32_t device)
{
    uint32_t first = device;
    while (first > 0 && rank_map->process[first - 1] == rank_map->process[device])
        first--;
    return device - first;
}

/* Layout of a device's block: counters, regions of slots, regions of lines. */
static struct ronde_remote_fifos fifos_in(unsigned char *block, const struct ronde_cuda_peers *peers,
                                          const struct ronde_numbering *numbering, uint32_t device)
{
    const struct ronde_schedule *schedule = numbering->schedule;
    const uint32_t *firsts = peers->rank_map->firsts;
    const uint64_t first = ronde_numbering_first(numbering, firsts[device]);
    const uint64_t received = ronde_numbering_first(numbering, firsts[device + 1]) - first;
    const uint64_t connections = ronde_numbering_first(numbering, schedule->ranks);
    unsigned char *const slots = block + (connections + 1) * sizeof(struct ronde_fifo);
    return (struct ronde_remote_fifos){
        block, slots,
        slots + received * ronde_shm_region_bytes(schedule, peers->slot_bytes, peers->depth), first};
}

/* Bytes of a device's block: the same arithmetic in every process. */
static uint64_t block_bytes(const struct ronde_cuda_peers *peers,
                            const struct ronde_numbering *numbering, uint32_t device)
{
    const struct ronde_remote_fifos fifos = fifos_in(NULL, peers, numbering, device);
    const uint64_t end = ronde_numbering_first(numbering, peers->rank_map->firsts[device + 1]);
    return (uint64_t)(uintptr_t)fifos.lines +
           (end - fifos.first) * 2 * peers->lines_up_to_bytes * peers->depth;
}

/* Sets the length of the blocks of other processes of this host that a part has connections with. */
static void mark_peers(const struct exchange *exchange, uint32_t part)
{
    const struct ronde_cuda_peers *peers = exchange->peers;
    const struct ronde_rank_map *rank_map = peers->rank_map;
    const struct ronde_loaded *loaded = peers->parts[part].loaded;
    for (uint64_t e = 0; e < loaded->end_count; e++) {
        if (loaded->ports[e].peer == RONDE_NONE)
            continue;
        const uint32_t device = ronde_rank_map_device_of(rank_map, loaded->ports[e].peer);
        struct ronde_shared_block *other = other_of(peers, part, device);
        if (other->bytes == 0 && !ronde_rank_map_is_here(rank_map, device) &&
            ronde_comm_is_local(peers->comm, rank_map->process[device]))
            other->bytes = block_bytes(peers, exchange->numbering, device);
    }
}

/* Shares the block of a device here, and moves the part's connections into it. */
static enum ronde_status share_part(struct exchange *exchange, uint32_t part,
                                    struct ronde_error *error)
{
    struct ronde_cuda_peers *peers = exchange->peers;
    struct ronde_device_program *mine = &peers->parts[part];
    struct ronde_shared_block *own = &peers->own[part];
    struct ronde_share *share = &exchange->handles.mine[part];
    const uint32_t device = peers->rank_map->own + part;
    own->bytes = block_bytes(peers, exchange->numbering, device);
    RONDE_TRY(
        mine->gpu->share(mine->gpu->self, peers->sharing, own->bytes, &own->start, share, error));
    own->sharing = share->sharing;
    const struct ronde_remote_fifos fifos = fifos_in(own->start, peers, exchange->numbering, device);
    for (uint32_t p = 0; p < peers->rank_map->own_count; p++)
        exchange->fifos[(size_t)p * peers->rank_map->count + device] = fifos;
    return ronde_device_program_move(mine, &fifos, own->bytes, error);
}

/* Connections are between two: who wants the block of a device here has blocks that are wanted here. */
static void mark_handles(struct exchange *exchange, uint32_t part)
{
    const struct ronde_rank_map *rank_map = exchange->peers->rank_map;
    const struct ronde_handles *handles = &exchange->handles;
    for (uint32_t device = 0; device < rank_map->count; device++) {
        const size_t first = (size_t)rank_map->process[device] * handles->most;
        if (other_of(exchange->peers, part, device)->bytes == 0)
            continue;
        handles->is_due[first + part] = true;
        handles->is_wanted[first + place_of(rank_map, device)] = true;
    }
}

/* Shares the blocks of all devices here. */
static enum ronde_status share_all(struct exchange *exchange, struct ronde_error *error)
{
    for (uint32_t p = 0; p < exchange->peers->rank_map->own_count; p++) {
        mark_peers(exchange, p);
        mark_handles(exchange, p);
        RONDE_TRY(share_part(exchange, p, error));
    }
    return RONDE_OK;
}

/* Maps a device's block for one of the devices here. */
static enum ronde_status attach_one(const struct exchange *exchange, uint32_t part, uint32_t device,
                                    struct ronde_error *error)
{
    const struct ronde_cuda_peers *peers = exchange->peers;
    const struct ronde_gpu *gpu = peers->parts[part].gpu;
    struct ronde_shared_block *other = other_of(peers, part, device);
    const struct ronde_share share =
        ronde_handles_find(&exchange->handles, peers->rank_map->process[device],
                           place_of(peers->rank_map, device));
    struct ronde_error why = {0};
    other->sharing = share.sharing;
    const enum ronde_status status =
        gpu->attach(gpu->self, &share, &other->bytes, 1, &other->start, &why);
    if (status != RONDE_OK)
        return ronde_fail(error, status, "memory of rank %u's device: %.420s",
                          peers->rank_map->firsts[device], why.message);
    exchange->fifos[(size_t)part * peers->rank_map->count + device] =
        fifos_in(other->start, peers, exchange->numbering, device);
    return RONDE_OK;
}

static enum ronde_status attach_all(const struct exchange *exchange, struct ronde_error *error)
{
    const struct ronde_cuda_peers *peers = exchange->peers;
    enum ronde_status status = RONDE_OK;
    for (uint32_t p = 0; p < peers->rank_map->own_count; p++)
        for (uint32_t device = 0; device < peers->rank_map->count && status == RONDE_OK; device++)
            if (other_of(peers, p, device)->bytes > 0)
                status = attach_one(exchange, p, device, error);
    return status;
}

enum ronde_status ronde_share_exchange(struct ronde_cuda_peers *peers,
                                       const struct ronde_numbering *numbering,
                                       struct ronde_remote_fifos *fifos, struct ronde_error *error)
{
    struct exchange exchange = {.peers = peers, .numbering = numbering, .fifos = fifos};
    enum ronde_status status =
        ronde_handles_open(&exchange.handles, peers->comm, peers->rank_map->most, error);
    const bool has_room = status == RONDE_OK;
    if (has_room)
        status = share_all(&exchange, error);
    status = has_room ? ronde_handles_exchange(&exchange.handles, status, error)
                      : ronde_comm_agree(peers->comm, status, error);
    RONDE_THEN(status, attach_all(&exchange, error));
    ronde_handles_close(&exchange.handles);
    return status;
}

void ronde_share_unmap_others(struct ronde_cuda_peers *peers)
{
    for (uint32_t p = 0; p < peers->rank_map->own_count; p++) {
        const struct ronde_gpu *gpu = peers->parts[p].gpu;
        for (uint32_t device = 0; device < peers->rank_map->count; device++) {
            const struct ronde_shared_block *other = other_of(peers, p, device);
            if (other->start)
                gpu->detach(gpu->self, other->sharing, other->start, &other->bytes, 1);
        }
    }
}

void ronde_share_free_own(struct ronde_cuda_peers *peers)
{
    for (uint32_t p = 0; p < peers->rank_map->own_count; p++) {
        const struct ronde_gpu *gpu = peers->parts[p].gpu;
        const struct ronde_shared_block *own = &peers->own[p];
        if (own->start)
            gpu->unshare(gpu->self, own->sharing, own->start, own->bytes);
    }
}
