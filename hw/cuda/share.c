/* Blocks of device memory that processes share. See peers.h. */
#include "hw/cuda/peers.h"

#include "hw/cuda/backend.h"
#include "hw/cuda/fd_passing.h"

#include <unistd.h>

/* What a process publishes about one of its devices: its block's handle, and the process's socket for descriptors. */
struct offer {
    struct ronde_share share;
    struct ronde_fd_address fd_socket;
};

/* An exchange that is under way. */
struct exchange {
    struct ronde_cuda_peers *peers;
    const struct ronde_numbering *numbering;
    struct ronde_remote_fifos *fifos;
    struct ronde_fd_socket fd_socket;
    struct offer *mine;                   /* rank_map->most of them, */
    struct offer *all;                    /* and of every process as many */
    struct ronde_fd_delivery *deliveries; /* room for one per device */
    size_t delivery_count;
};

/* A device's block as mapped for one of this process's parts. */
static struct ronde_shared_block *other_of(const struct ronde_cuda_peers *peers, uint32_t part,
                                           uint32_t device)
{
    return &peers->others[(size_t)part * peers->rank_map->count + device];
}

/* The offer of a device, by its process. */
static const struct offer *offer_of(const struct exchange *exchange, uint32_t device)
{
    const struct ronde_rank_map *rank_map = exchange->peers->rank_map;
    uint32_t first = device;
    while (first > 0 && rank_map->process[first - 1] == rank_map->process[device])
        first--;
    return &exchange->all[(size_t)rank_map->process[device] * rank_map->most + (device - first)];
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
    struct ronde_share *share = &exchange->mine[part].share;
    const uint32_t device = peers->rank_map->own + part;
    own->bytes = block_bytes(peers, exchange->numbering, device);
    const enum ronde_status status =
        mine->gpu->share(mine->gpu->self, peers->sharing, own->bytes, &own->start, share, error);
    if (status != RONDE_OK)
        return status;
    own->sharing = share->sharing;
    const struct ronde_remote_fifos fifos = fifos_in(own->start, peers, exchange->numbering, device);
    for (uint32_t p = 0; p < peers->rank_map->own_count; p++)
        exchange->fifos[(size_t)p * peers->rank_map->count + device] = fifos;
    return ronde_device_program_move(mine, &fifos, own->bytes, error);
}

/* Shares the blocks of all devices here, and opens the socket. */
static enum ronde_status share_all(struct exchange *exchange, struct ronde_error *error)
{
    const struct ronde_cuda_peers *peers = exchange->peers;
    enum ronde_status status = RONDE_OK;
    struct ronde_error why = {0};
    const enum ronde_status opened = ronde_fd_socket_open(&exchange->fd_socket, &why);
    /* Others choose how they share; without descriptors of its own a process needs no socket unless it receives some. */
    if (opened != RONDE_OK &&
        (peers->sharing == RONDE_SHARING_AUTO || peers->sharing == RONDE_SHARING_DESCRIPTOR))
        status = ronde_fail(error, opened, "%s", why.message);
    for (uint32_t p = 0; p < peers->rank_map->own_count && status == RONDE_OK; p++) {
        mark_peers(exchange, p);
        status = share_part(exchange, p, error);
        exchange->mine[p].fd_socket = exchange->fd_socket.address;
    }
    return status;
}

/* Whether a device here has connections with any of a process. */
static bool has_connections_with(const struct ronde_cuda_peers *peers, uint32_t part,
                                 uint32_t process)
{
    for (uint32_t device = 0; device < peers->rank_map->count; device++)
        if (peers->rank_map->process[device] == process && other_of(peers, part, device)->bytes > 0)
            return true;
    return false;
}

/* Sends own descriptors to all processes that map them. These wait, so a failure ends the communicator. */
static enum ronde_status send_descriptors(const struct exchange *exchange, struct ronde_error *error)
{
    const struct ronde_cuda_peers *peers = exchange->peers;
    const struct ronde_rank_map *rank_map = peers->rank_map;
    enum ronde_status status = RONDE_OK;
    struct ronde_error why = {0};
    for (uint32_t p = 0; p < rank_map->own_count; p++) {
        const struct ronde_share *share = &exchange->mine[p].share;
        for (uint32_t process = 0; process < peers->comm->ranks && status == RONDE_OK; process++)
            if (share->descriptor >= 0 && has_connections_with(peers, p, process))
                status = ronde_fd_send(&exchange->all[(size_t)process * rank_map->most].fd_socket,
                                       rank_map->own + p, share->descriptor, &why);
    }
    if (status == RONDE_OK)
        return RONDE_OK;
    ronde_control_alarm(peers->comm->control, &why);
    return ronde_fail(error, status, "%s", why.message);
}

/* The delivery of a device's descriptor, or NULL. */
static struct ronde_fd_delivery *delivery_of(const struct exchange *exchange, uint32_t device)
{
    size_t k = 0;
    while (k < exchange->delivery_count && exchange->deliveries[k].number != device)
        k++;
    return k < exchange->delivery_count ? &exchange->deliveries[k] : NULL;
}

/* Lists the descriptors to receive, one per device however many here map it, and waits for them. */
static enum ronde_status receive_descriptors(struct exchange *exchange, struct ronde_error *error)
{
    const struct ronde_cuda_peers *peers = exchange->peers;
    const uint64_t limit_ns = peers->comm->options.timeout_ns;
    for (uint32_t device = 0; device < peers->rank_map->count; device++) {
        const struct offer *offer = offer_of(exchange, device);
        bool is_wanted = false;
        for (uint32_t p = 0; p < peers->rank_map->own_count; p++)
            is_wanted = is_wanted || other_of(peers, p, device)->bytes > 0;
        if (is_wanted && offer->share.descriptor >= 0)
            exchange->deliveries[exchange->delivery_count++] =
                (struct ronde_fd_delivery){offer->fd_socket.process, device, -1};
    }
    return ronde_fd_receive(&exchange->fd_socket, exchange->deliveries, exchange->delivery_count,
                            peers->comm->control, limit_ns ? limit_ns : RONDE_COMM_TIMEOUT_NS,
                            error);
}

/* Maps a device's block for one of the devices here. */
static enum ronde_status attach_one(const struct exchange *exchange, uint32_t part, uint32_t device,
                                    struct ronde_error *error)
{
    const struct ronde_cuda_peers *peers = exchange->peers;
    const struct ronde_gpu *gpu = peers->parts[part].gpu;
    struct ronde_shared_block *other = other_of(peers, part, device);
    struct ronde_share share = offer_of(exchange, device)->share;
    struct ronde_error why = {0};
    const struct ronde_fd_delivery *delivery = delivery_of(exchange, device);
    share.descriptor = delivery ? delivery->descriptor : -1;
    other->sharing = share.sharing;
    const enum ronde_status status =
        gpu->attach(gpu->self, &share, other->bytes, &other->start, &why);
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

/* Mappings keep the memory alive without descriptors. */
static void close_descriptors(const struct exchange *exchange)
{
    const struct ronde_rank_map *rank_map = exchange->peers->rank_map;
    for (uint32_t p = 0; exchange->mine && p < rank_map->own_count; p++)
        if (exchange->mine[p].share.descriptor >= 0)
            close(exchange->mine[p].share.descriptor);
    for (size_t k = 0; k < exchange->delivery_count; k++)
        if (exchange->deliveries[k].descriptor >= 0)
            close(exchange->deliveries[k].descriptor);
}

static enum ronde_status make_room(struct exchange *exchange, struct ronde_error *error)
{
    const struct ronde_comm *comm = exchange->peers->comm;
    const struct ronde_rank_map *rank_map = exchange->peers->rank_map;
    exchange->mine = ronde_mem_new(comm->mem, rank_map->most, sizeof *exchange->mine);
    exchange->all =
        ronde_mem_new(comm->mem, (size_t)comm->ranks * rank_map->most, sizeof *exchange->all);
    exchange->deliveries = ronde_mem_new(comm->mem, rank_map->count, sizeof *exchange->deliveries);
    for (uint32_t p = 0; exchange->mine && p < rank_map->most; p++)
        exchange->mine[p].share.descriptor = -1;
    return exchange->mine && exchange->all && exchange->deliveries
               ? RONDE_OK
               : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u devices", rank_map->count);
}

enum ronde_status ronde_share_exchange(struct ronde_cuda_peers *peers,
                                       const struct ronde_numbering *numbering,
                                       struct ronde_remote_fifos *fifos, struct ronde_error *error)
{
    struct ronde_comm *comm = peers->comm;
    struct exchange exchange = {.peers = peers, .numbering = numbering, .fifos = fifos};
    const uint32_t most = peers->rank_map->most;
    exchange.fd_socket.listener = -1;
    enum ronde_status status = make_room(&exchange, error);
    if (status == RONDE_OK)
        status = share_all(&exchange, error);
    /* All agree first, so that no process waits for descriptors of one that has failed. */
    status = ronde_comm_agree(comm, status, error);
    if (status == RONDE_OK)
        status = ronde_control_allgather(comm->control, exchange.mine, most * sizeof *exchange.mine,
                                         exchange.all, error);
    if (status == RONDE_OK)
        status = send_descriptors(&exchange, error);
    if (status == RONDE_OK)
        status = receive_descriptors(&exchange, error);
    if (status == RONDE_OK)
        status = attach_all(&exchange, error);
    close_descriptors(&exchange);
    ronde_fd_socket_close(&exchange.fd_socket);
    ronde_mem_free(comm->mem, exchange.mine, most, sizeof *exchange.mine);
    ronde_mem_free(comm->mem, exchange.all, (size_t)comm->ranks * most, sizeof *exchange.all);
    ronde_mem_free(comm->mem, exchange.deliveries, peers->rank_map->count,
                   sizeof *exchange.deliveries);
    return status;
}

void ronde_share_unmap_others(struct ronde_cuda_peers *peers)
{
    for (uint32_t p = 0; p < peers->rank_map->own_count; p++) {
        const struct ronde_gpu *gpu = peers->parts[p].gpu;
        for (uint32_t device = 0; device < peers->rank_map->count; device++) {
            const struct ronde_shared_block *other = other_of(peers, p, device);
            if (other->start)
                gpu->detach(gpu->self, other->sharing, other->start, other->bytes);
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
