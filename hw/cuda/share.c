/* Blocks of device memory that processes share. See share.h. */
#include "hw/cuda/share.h"

#include "hw/cuda/backend.h"
#include "hw/cuda/door.h"

#include <unistd.h>

/* What a process tells of one of its sites: where its block is, and where descriptors for the process are taken. */
struct offer {
    struct ronde_share share;
    struct ronde_door_address door;
};

/* An exchange that is under way. */
struct exchange {
    struct ronde_cuda_peers *peers;
    const struct ronde_numbering *numbering;
    struct ronde_depot *depots;
    struct ronde_door door;
    struct offer *mine;                /* roster->most of them, */
    struct offer *all;                 /* and of every process as many */
    struct ronde_delivery *deliveries; /* room for one per site */
    size_t delivery_count;
};

/* What this process has of a site as one of its own sees it. */
static struct ronde_shared_block *other_of(const struct ronde_cuda_peers *peers, uint32_t part,
                                           uint32_t site)
{
    return &peers->others[(size_t)part * peers->roster->count + site];
}

/* What the process of a site tells of it. */
static const struct offer *offer_of(const struct exchange *exchange, uint32_t site)
{
    const struct ronde_roster *roster = exchange->peers->roster;
    uint32_t first = site;
    while (first > 0 && roster->process[first - 1] == roster->process[site])
        first--;
    return &exchange->all[(size_t)roster->process[site] * roster->most + (site - first)];
}

/* Where things lie in a site's block: counters, boxes of slots, boxes of lines. */
static struct ronde_depot depot_in(unsigned char *block, const struct ronde_cuda_peers *peers,
                                   const struct ronde_numbering *numbering, uint32_t site)
{
    const struct ronde_schedule *schedule = numbering->schedule;
    const uint32_t *firsts = peers->roster->firsts;
    const uint64_t first = ronde_numbering_first(numbering, firsts[site]);
    const uint64_t received = ronde_numbering_first(numbering, firsts[site + 1]) - first;
    const uint64_t connections = ronde_numbering_first(numbering, schedule->ranks);
    unsigned char *const slots = block + (connections + 1) * sizeof(struct ronde_fifo);
    return (struct ronde_depot){block, slots,
                                slots + received * ronde_box_bytes(schedule, peers->slot_bytes,
                                                                   peers->depth),
                                first};
}

/* Bytes of a site's block: the same arithmetic in every process. */
static uint64_t block_bytes(const struct ronde_cuda_peers *peers,
                            const struct ronde_numbering *numbering, uint32_t site)
{
    const struct ronde_depot depot = depot_in(NULL, peers, numbering, site);
    const uint64_t end = ronde_numbering_first(numbering, peers->roster->firsts[site + 1]);
    return (uint64_t)(uintptr_t)depot.lines +
           (end - depot.first) * 2 * RONDE_CUDA_LINES_UP_TO_BYTES * peers->depth;
}

/* Which sites of other processes of this host a part has connections with: their length is set. */
static void mark_neighbours(const struct exchange *exchange, uint32_t part)
{
    const struct ronde_cuda_peers *peers = exchange->peers;
    const struct ronde_roster *roster = peers->roster;
    const struct ronde_loaded *loaded = peers->parts[part].loaded;
    for (uint64_t e = 0; e < loaded->end_count; e++) {
        if (loaded->ports[e].peer == RONDE_NONE)
            continue;
        const uint32_t site = ronde_roster_site_of(roster, loaded->ports[e].peer);
        struct ronde_shared_block *other = other_of(peers, part, site);
        if (other->bytes == 0 && !ronde_roster_is_here(roster, site) &&
            ronde_comm_is_near(peers->comm, roster->process[site]))
            other->bytes = block_bytes(peers, exchange->numbering, site);
    }
}

/* The block of a site here, in use from now on. */
static enum ronde_status share_part(struct exchange *exchange, uint32_t part,
                                    struct ronde_error *error)
{
    struct ronde_cuda_peers *peers = exchange->peers;
    struct ronde_cuda_part *mine = &peers->parts[part];
    struct ronde_shared_block *own = &peers->own[part];
    struct ronde_share *share = &exchange->mine[part].share;
    const uint32_t site = peers->roster->own + part;
    own->bytes = block_bytes(peers, exchange->numbering, site);
    const enum ronde_status status =
        mine->gpu->share(mine->gpu->self, peers->sharing, own->bytes, &own->start, share, error);
    if (status != RONDE_OK)
        return status;
    own->sharing = share->sharing;
    const struct ronde_depot depot = depot_in(own->start, peers, exchange->numbering, site);
    for (uint32_t p = 0; p < peers->roster->own_count; p++)
        exchange->depots[(size_t)p * peers->roster->count + site] = depot;
    return ronde_cuda_part_move(mine, &depot, own->bytes, error);
}

/* Everything this process has to show. */
static enum ronde_status share_all(struct exchange *exchange, struct ronde_error *error)
{
    const struct ronde_cuda_peers *peers = exchange->peers;
    enum ronde_status status = RONDE_OK;
    struct ronde_error why = {0};
    const enum ronde_status opened = ronde_door_open(&exchange->door, &why);
    /* What others hand out is their choice; who has none to hand may do without a door until somebody knocks. */
    if (opened != RONDE_OK &&
        (peers->sharing == RONDE_SHARING_AUTO || peers->sharing == RONDE_SHARING_DESCRIPTOR))
        status = ronde_fail(error, opened, "%s", why.message);
    for (uint32_t p = 0; p < peers->roster->own_count && status == RONDE_OK; p++) {
        mark_neighbours(exchange, p);
        status = share_part(exchange, p, error);
        exchange->mine[p].door = exchange->door.address;
    }
    return status;
}

/* Whether a site here has connections with any of a process. */
static bool knows_process(const struct ronde_cuda_peers *peers, uint32_t part, uint32_t process)
{
    for (uint32_t site = 0; site < peers->roster->count; site++)
        if (peers->roster->process[site] == process && other_of(peers, part, site)->bytes > 0)
            return true;
    return false;
}

/* Hands the own descriptors to all who map them. They wait: a failure is the end of the communicator. */
static enum ronde_status hand_out(const struct exchange *exchange, struct ronde_error *error)
{
    const struct ronde_cuda_peers *peers = exchange->peers;
    const struct ronde_roster *roster = peers->roster;
    enum ronde_status status = RONDE_OK;
    struct ronde_error why = {0};
    for (uint32_t p = 0; p < roster->own_count; p++) {
        const struct ronde_share *share = &exchange->mine[p].share;
        for (uint32_t process = 0; process < peers->comm->ranks && status == RONDE_OK; process++)
            if (share->descriptor >= 0 && knows_process(peers, p, process))
                status = ronde_door_hand(&exchange->all[(size_t)process * roster->most].door,
                                         roster->own + p, share->descriptor, &why);
    }
    if (status == RONDE_OK)
        return RONDE_OK;
    ronde_star_alarm(peers->comm->star, &why);
    return ronde_fail(error, status, "%s", why.message);
}

/* The delivery of a site's descriptor, or NULL. */
static struct ronde_delivery *delivery_of(const struct exchange *exchange, uint32_t site)
{
    size_t k = 0;
    while (k < exchange->delivery_count && exchange->deliveries[k].number != site)
        k++;
    return k < exchange->delivery_count ? &exchange->deliveries[k] : NULL;
}

/* Notes what has to come, once per site however many here map it, and waits for it. */
static enum ronde_status take_in(struct exchange *exchange, struct ronde_error *error)
{
    const struct ronde_cuda_peers *peers = exchange->peers;
    const uint64_t limit_ns = peers->comm->options.timeout_ns;
    for (uint32_t site = 0; site < peers->roster->count; site++) {
        const struct offer *offer = offer_of(exchange, site);
        bool is_wanted = false;
        for (uint32_t p = 0; p < peers->roster->own_count; p++)
            is_wanted = is_wanted || other_of(peers, p, site)->bytes > 0;
        if (is_wanted && offer->share.descriptor >= 0)
            exchange->deliveries[exchange->delivery_count++] =
                (struct ronde_delivery){offer->door.process, site, -1};
    }
    return ronde_door_take(&exchange->door, exchange->deliveries, exchange->delivery_count,
                           peers->comm->star, limit_ns ? limit_ns : RONDE_COMM_TIMEOUT_NS, error);
}

/* Maps a site's block for one of the devices here. */
static enum ronde_status attach_one(const struct exchange *exchange, uint32_t part, uint32_t site,
                                    struct ronde_error *error)
{
    const struct ronde_cuda_peers *peers = exchange->peers;
    const struct ronde_gpu *gpu = peers->parts[part].gpu;
    struct ronde_shared_block *other = other_of(peers, part, site);
    struct ronde_share share = offer_of(exchange, site)->share;
    struct ronde_error why = {0};
    const struct ronde_delivery *delivery = delivery_of(exchange, site);
    share.descriptor = delivery ? delivery->descriptor : -1;
    other->sharing = share.sharing;
    const enum ronde_status status =
        gpu->attach(gpu->self, &share, other->bytes, &other->start, &why);
    if (status != RONDE_OK)
        return ronde_fail(error, status, "memory of rank %u's device: %.420s",
                          peers->roster->firsts[site], why.message);
    exchange->depots[(size_t)part * peers->roster->count + site] =
        depot_in(other->start, peers, exchange->numbering, site);
    return RONDE_OK;
}

static enum ronde_status attach_all(const struct exchange *exchange, struct ronde_error *error)
{
    const struct ronde_cuda_peers *peers = exchange->peers;
    enum ronde_status status = RONDE_OK;
    for (uint32_t p = 0; p < peers->roster->own_count; p++)
        for (uint32_t site = 0; site < peers->roster->count && status == RONDE_OK; site++)
            if (other_of(peers, p, site)->bytes > 0)
                status = attach_one(exchange, p, site, error);
    return status;
}

/* Memory that was mapped holds itself. */
static void close_descriptors(const struct exchange *exchange)
{
    const struct ronde_roster *roster = exchange->peers->roster;
    for (uint32_t p = 0; exchange->mine && p < roster->own_count; p++)
        if (exchange->mine[p].share.descriptor >= 0)
            close(exchange->mine[p].share.descriptor);
    for (size_t k = 0; k < exchange->delivery_count; k++)
        if (exchange->deliveries[k].descriptor >= 0)
            close(exchange->deliveries[k].descriptor);
}

static enum ronde_status make_room(struct exchange *exchange, struct ronde_error *error)
{
    const struct ronde_comm *comm = exchange->peers->comm;
    const struct ronde_roster *roster = exchange->peers->roster;
    exchange->mine = ronde_mem_new(comm->mem, roster->most, sizeof *exchange->mine);
    exchange->all =
        ronde_mem_new(comm->mem, (size_t)comm->ranks * roster->most, sizeof *exchange->all);
    exchange->deliveries = ronde_mem_new(comm->mem, roster->count, sizeof *exchange->deliveries);
    for (uint32_t p = 0; exchange->mine && p < roster->most; p++)
        exchange->mine[p].share.descriptor = -1;
    return exchange->mine && exchange->all && exchange->deliveries
               ? RONDE_OK
               : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u devices", roster->count);
}

enum ronde_status ronde_share_exchange(struct ronde_cuda_peers *peers,
                                       const struct ronde_numbering *numbering,
                                       struct ronde_depot *depots, struct ronde_error *error)
{
    struct ronde_comm *comm = peers->comm;
    struct exchange exchange = {.peers = peers, .numbering = numbering, .depots = depots};
    const uint32_t most = peers->roster->most;
    exchange.door.listener = -1;
    enum ronde_status status = make_room(&exchange, error);
    if (status == RONDE_OK)
        status = share_all(&exchange, error);
    /* Nobody waits for descriptors of a process that has none to give. */
    status = ronde_comm_agree(comm, status, error);
    if (status == RONDE_OK)
        status = ronde_star_allgather(comm->star, exchange.mine, most * sizeof *exchange.mine,
                                      exchange.all, error);
    if (status == RONDE_OK)
        status = hand_out(&exchange, error);
    if (status == RONDE_OK)
        status = take_in(&exchange, error);
    if (status == RONDE_OK)
        status = attach_all(&exchange, error);
    close_descriptors(&exchange);
    ronde_door_close(&exchange.door);
    ronde_mem_free(comm->mem, exchange.mine, most, sizeof *exchange.mine);
    ronde_mem_free(comm->mem, exchange.all, (size_t)comm->ranks * most, sizeof *exchange.all);
    ronde_mem_free(comm->mem, exchange.deliveries, peers->roster->count,
                   sizeof *exchange.deliveries);
    return status;
}

void ronde_share_leave_others(struct ronde_cuda_peers *peers)
{
    for (uint32_t p = 0; p < peers->roster->own_count; p++) {
        const struct ronde_gpu *gpu = peers->parts[p].gpu;
        for (uint32_t site = 0; site < peers->roster->count; site++) {
            const struct ronde_shared_block *other = other_of(peers, p, site);
            if (other->start)
                gpu->detach(gpu->self, other->sharing, other->start, other->bytes);
        }
    }
}

void ronde_share_free_own(struct ronde_cuda_peers *peers)
{
    for (uint32_t p = 0; p < peers->roster->own_count; p++) {
        const struct ronde_gpu *gpu = peers->parts[p].gpu;
        const struct ronde_shared_block *own = &peers->own[p];
        if (own->start)
            gpu->unshare(gpu->self, own->sharing, own->start, own->bytes);
    }
}
