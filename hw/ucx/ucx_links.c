/* Making and releasing the links of a program. See device_program.h. */
#include "hw/page.h"
#include "hw/ucx/net.h"

#include "ronde/hw.h"

#include <string.h>

/* Connection ends are aligned to a pair of cache lines, for their counters. */
#define REGION_ALIGNMENT 128u

/* How long loading waits for endpoints to be connected. */
#define SETTLE_NS 1e9

/* Which connection ends are UCX's. */
static enum ronde_status list_ends(struct ronde_ucx_links *links, struct ronde_error *error)
{
    const struct ronde_comm *comm = links->program->comm;
    const struct ronde_loaded *loaded = links->program->loaded;
    const size_t capacity = (size_t)loaded->end_count;
    links->link_count = capacity;
    links->depth = links->program->depth;
    links->ends = ronde_mem_new(comm->mem, capacity, sizeof *links->ends);
    links->links = ronde_mem_new(comm->mem, capacity, sizeof *links->links);
    if (!links->ends || !links->links)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu connections", capacity);
    for (uint64_t e = 0; e < loaded->end_count; e++)
        if (loaded->ports[e].peer != RONDE_NONE && !ronde_comm_is_local(comm, loaded->ports[e].peer))
            links->ends[links->end_count++] = e;
    return RONDE_OK;
}

/* Memory for those connections: whole pages, which a GPU's kernels may use too. */
static enum ronde_status make_links(struct ronde_ucx_links *links, struct ronde_error *error)
{
    const struct ronde_comm_program *program = links->program;
    const struct ronde_mem *mem = program->comm->mem;
    struct ronde_loaded *loaded = program->loaded;
    const uint64_t ends = links->end_count;
    const uint64_t region_bytes =
        (ronde_shm_region_bytes(loaded->schedule, program->slot_bytes, program->depth) +
         REGION_ALIGNMENT - 1) /
        REGION_ALIGNMENT * REGION_ALIGNMENT;
    if (ends > 0 && region_bytes > (SIZE_MAX - 2 * ronde_page_bytes()) / ends)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %llu connections",
                          (unsigned long long)ends);
    links->layout_bytes = (size_t)(ronde_page_up(ends * region_bytes) + ronde_page_bytes());
    links->layout = ronde_mem_new(mem, links->layout_bytes, 1);
    links->slots = ronde_mem_new(mem, (size_t)ends * program->depth, sizeof *links->slots);
    if (!links->layout || !links->slots)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %llu connections",
                          (unsigned long long)ends);
    unsigned char *region = ronde_page_in(links->layout);
    for (uint64_t k = 0; k < ends; k++, region += region_bytes) {
        struct ronde_ucx_link *link = &links->links[links->ends[k]];
        link->links = links;
        link->end = links->ends[k];
        link->slots = links->slots + k * program->depth;
        for (uint32_t slot = 0; slot < program->depth; slot++)
            link->slots[slot].link = link;
        ronde_loaded_place(loaded, link->end, region, program->depth);
        loaded->ends[link->end].is_copied = true;
    }
    return RONDE_OK;
}

bool ronde_links_flush(struct ronde_ucx_links *links)
{
    ucp_request_param_t params;
    if (links->pending > 0)
        return false;
    if (links->flush) {
        if (ucp_request_check_status(links->flush) == UCS_INPROGRESS)
            return false;
        ucp_request_free(links->flush);
        links->flush = NULL;
        links->is_flushed = true;
    }
    if (links->is_flushed)
        return true;
    memset(&params, 0, sizeof params);
    ucs_status_ptr_t request = ucp_worker_flush_nbx(links->net->worker, &params);
    links->flush = UCS_PTR_IS_PTR(request) ? request : NULL;
    links->is_flushed = !links->flush;
    return links->is_flushed;
}

/*
 * Lets new endpoints connect, for at most SETTLE_NS: UCX 1.13 aborts the process when a worker is destroyed whose
 * endpoints are still in their handshake, and a run may fail at once. What takes longer continues during the first run.
 * A rank that is done progresses its peers' handshakes from its wait on the control channel (progress hook).
 */
static void settle_endpoints(struct ronde_ucx_links *links)
{
    const double until_ns = ronde_clock_ns() + SETTLE_NS;
    links->is_flushed = false;
    while (!ronde_links_flush(links) && ronde_clock_ns() < until_ns)
        ronde_net_step(links->net);
}

enum ronde_status ronde_links_load(struct ronde_comm_program *program, struct ronde_error *error)
{
    struct ronde_comm *comm = program->comm;
    struct ronde_net *net = comm->net_self;
    struct ronde_ucx_links *links = ronde_mem_new(comm->mem, 1, sizeof *links);
    enum ronde_status status =
        links ? RONDE_OK : ronde_fail(error, RONDE_NO_MEMORY, "no memory for UCX");
    if (links) {
        links->program = program;
        links->net = net;
        links->is_flushed = true;
        program->net_self = links;
        status = list_ends(links, error);
    }
    RONDE_THEN(status, make_links(links, error));
    if (status == RONDE_OK) {
        links->next = net->programs;
        net->programs = links;
    }
    for (uint32_t n = 0; n < program->peer_count && status == RONDE_OK; n++)
        if (!ronde_comm_is_local(comm, program->peers[n].rank))
            status = ronde_net_connect(net, program->peers[n].rank, error);
    if (status == RONDE_OK)
        settle_endpoints(links);
    /* No rank sends before all can receive. */
    return ronde_comm_agree(comm, status, error);
}

/* After a failed run UCX may still use this program's memory: closing endpoints by force cancels that. */
static void cancel_pending(struct ronde_ucx_links *links)
{
    struct ronde_net *net = links->net;
    for (uint32_t rank = 0; links->pending > 0 && rank < net->comm->ranks; rank++) {
        ucp_request_param_t params;
        if (!net->remotes[rank].endpoint)
            continue;
        memset(&params, 0, sizeof params);
        params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
        params.flags = UCP_EP_CLOSE_FLAG_FORCE;
        void *request = ucp_ep_close_nbx(net->remotes[rank].endpoint, &params);
        net->remotes[rank].endpoint = NULL;
        net->remotes[rank].is_gone = true;
        while (UCS_PTR_IS_PTR(request) && ucp_request_check_status(request) == UCS_INPROGRESS)
            ronde_net_step(net);
        if (UCS_PTR_IS_PTR(request))
            ucp_request_free(request);
    }
    while (links->flush && ucp_request_check_status(links->flush) == UCS_INPROGRESS)
        ronde_net_step(net);
    if (links->flush)
        ucp_request_free(links->flush);
}

static void free_links(const struct ronde_mem *mem, struct ronde_ucx_links *links)
{
    const size_t capacity = (size_t)links->link_count;
    ronde_mem_free(mem, links->layout, links->layout_bytes, 1);
    ronde_mem_free(mem, links->slots, (size_t)links->end_count * links->depth, sizeof *links->slots);
    ronde_mem_free(mem, links->links, capacity, sizeof *links->links);
    ronde_mem_free(mem, links->ends, capacity, sizeof *links->ends);
    ronde_mem_free(mem, links, 1, sizeof *links);
}

/* UCX 1.13 does not cancel a fetch from a lost rank until its worker is destroyed: the target memory must last until then. */
void ronde_links_unload(struct ronde_comm_program *program)
{
    struct ronde_ucx_links *links = program->net_self;
    if (!links)
        return;
    cancel_pending(links);
    struct ronde_net *net = links->net;
    struct ronde_ucx_links **at = &net->programs;
    while (*at && *at != links)
        at = &(*at)->next;
    if (*at)
        *at = links->next;
    program->net_self = NULL;
    if (links->pending == 0) {
        free_links(program->comm->mem, links);
        return;
    }
    if (program->device)
        program->device->is_held = true;
    links->program = NULL;
    links->next = net->orphans;
    net->orphans = links;
}

void ronde_links_free_orphans(struct ronde_net *net)
{
    while (net->orphans) {
        struct ronde_ucx_links *links = net->orphans;
        net->orphans = links->next;
        free_links(net->comm->mem, links);
    }
}
