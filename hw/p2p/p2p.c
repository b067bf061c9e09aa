/* Tagged messages: posting, testing, releasing. See ronde/p2p.h. */
#include "hw/p2p/path.h"
#include "hw/p2p/state.h"

#include "ronde/hw.h"

#include <stdalign.h>

/* Rounds between two clock readings, until so many in a row were empty. */
#define ROUNDS_PER_CLOCK 32u
#define IDLE_ROUNDS 100u

/* Between two polls of the control channel. */
#define CHECK_NS 2e6

void ronde_p2p_need(struct ronde_p2p *p2p, struct ronde_p2p_peer *peer)
{
    if (p2p->peer)
        p2p->peer->waiting--;
    p2p->state->unmatched_any -= p2p->needs_any;
    p2p->needs_any = false;
    p2p->peer = peer;
    if (peer)
        peer->waiting++;
}

void ronde_p2p_finish(struct ronde_p2p *p2p)
{
    struct ronde_p2p_state *state = p2p->state;
    p2p->stage = RONDE_P2P_DONE;
    state->pending--;
    state->net_pending -= p2p->needs_net;
    ronde_p2p_need(p2p, NULL);
    if (p2p->watch.self)
        ronde_p2p_list_add(&state->ended, &p2p->watch.node);
    if (p2p->is_released && !p2p->is_held)
        ronde_p2p_pool_give(&state->requests, p2p);
}

void ronde_p2p_transfer_ended(struct ronde_p2p *p2p)
{
    p2p->is_held = false;
    if (p2p->is_released && p2p->stage == RONDE_P2P_DONE)
        ronde_p2p_pool_give(&p2p->state->requests, p2p);
}

bool ronde_p2p_may_be_eager(struct ronde_p2p_peer *peer, uint64_t bytes)
{
    const uint64_t charged = peer->charged + ronde_p2p_charge(bytes);
    if (charged - peer->credited > RONDE_P2P_WINDOW_BYTES && peer->path == RONDE_P2P_SHM)
        peer->credited = ronde_p2p_shm_credited(peer);
    if (charged - peer->credited > RONDE_P2P_WINDOW_BYTES)
        return false;
    peer->charged = charged;
    return true;
}

/* One round of all transports, without a check for failures of the communicator; true if something has moved. */
static bool move_round(struct ronde_p2p_state *state)
{
    const bool has_shm_moved = ronde_p2p_shm_round(state);
    return (state->comm->net_self && ronde_p2p_net.round(state)) || has_shm_moved;
}

bool ronde_p2p_progress_pending(struct ronde_comm *comm)
{
    struct ronde_p2p_state *state = comm->p2p;
    const bool has_work = state->pending > 0 || state->busy > 0 || state->credits_due > 0 ||
                          ronde_p2p_list_first(&state->shm_peers) ||
                          ronde_p2p_shm_has_new_writers(state);
    return has_work && !state->has_failed && move_round(state);
}

int ronde_p2p_progress_hook(void *self)
{
    struct ronde_comm *comm = self;
    const struct ronde_p2p_state *state = comm->p2p;
    (void)ronde_p2p_progress_pending(comm);
    /* A rank with rings may be written to at any time. */
    return ronde_p2p_list_first(&state->shm_peers) ? RONDE_CONTROL_SOON : RONDE_CONTROL_LATER;
}

void ronde_p2p_fail(struct ronde_p2p_state *state, const struct ronde_error *why)
{
    struct ronde_error notices = {0};
    if (state->has_failed)
        return;
    state->has_failed = true;
    /* The failure may come from a rank that left because of another's end, of which this one has no notice yet. */
    if (ronde_control_linger(state->comm->control, RONDE_CONTROL_GRACE_NS, &notices) == RONDE_OK)
        ronde_control_alarm(state->comm->control, why);
}

/* The communicator has failed: offers are withdrawn, and UCX releases buffers. */
static void end_all(struct ronde_p2p_state *state)
{
    const struct ronde_comm *comm = state->comm;
    if (state->is_over)
        return;
    state->has_failed = true;
    state->is_over = true;
    if (state->pending > 0 && comm->wire->shared)
        comm->wire->shared->withdraw(comm);
    if (comm->net_self)
        ronde_p2p_net.abort(state);
}

/* Of ranks of other hosts only rank 0 learns that they have left, and the others that rank 0 has. */
static bool has_left(const struct ronde_comm *comm, uint32_t rank)
{
    return ronde_comm_is_local(comm, rank) ? ronde_p2p_shm_has_left(comm->p2p, rank)
                                           : ronde_control_has_left(comm->control, rank);
}

static bool have_all_others_left(const struct ronde_comm *comm)
{
    for (uint32_t rank = 0; rank < comm->ranks; rank++)
        if (rank != comm->rank && !has_left(comm, rank))
            return false;
    return comm->ranks > 1;
}

/* Whether what is awaited can't come any more, because of ranks that have left; why is then filled in. */
static bool find_loss(struct ronde_p2p_state *state, struct ronde_error *why)
{
    const char *reason = "it has left the communicator";
    const struct ronde_p2p_peer *lost = ronde_p2p_shm_lost(state);
    if (!lost && state->comm->net_self)
        lost = ronde_p2p_net.lost(state, &reason);
    if (lost)
        (void)ronde_fail(why, RONDE_DEVICE, "rank %u was lost while messages of it were awaited: %s",
                         lost->rank, reason);
    else if (state->unmatched_any > 0 && have_all_others_left(state->comm))
        (void)ronde_fail(why, RONDE_DEVICE,
                         "rank %u awaits a message of any rank, and all others have left the "
                         "communicator",
                         state->comm->rank);
    return why->status != RONDE_OK;
}

/* A rank that has left may have sent its reason: only if none arrives for a while is its loss the failure. */
static void look_for_losses(struct ronde_p2p_state *state, double now_ns)
{
    struct ronde_error why = {0};
    if (!find_loss(state, &why))
        state->lost_ns = 0;
    else if (state->lost_ns == 0)
        state->lost_ns = now_ns;
    else if (now_ns - state->lost_ns > RONDE_CONTROL_GRACE_NS)
        ronde_p2p_fail(state, &why);
}

/* After a round: returns a known failure, and looks for new ones now and then. */
static enum ronde_status check_failures(struct ronde_p2p_state *state, bool has_moved,
                                        struct ronde_error *error)
{
    struct ronde_comm *comm = state->comm;
    enum ronde_status status = ronde_control_known(comm->control, error);
    state->idle = has_moved ? 0 : state->idle + 1;
    const bool is_due = ++state->rounds % ROUNDS_PER_CLOCK == 0 || state->idle >= IDLE_ROUNDS ||
                        comm->is_oversubscribed;
    if (status == RONDE_OK && is_due) {
        const double now_ns = ronde_clock_ns();
        if (now_ns - comm->checked_ns >= CHECK_NS) {
            status = ronde_comm_check(comm, now_ns, error);
            if (status == RONDE_OK && !has_moved && state->pending > 0)
                look_for_losses(state, now_ns);
        }
        /* A failure found just now. */
        RONDE_THEN(status, ronde_control_known(comm->control, error));
    }
    if (status != RONDE_OK)
        end_all(state);
    return status;
}

enum ronde_status ronde_comm_p2p_progress(struct ronde_comm *comm, bool *out_moved,
                                          struct ronde_error *error)
{
    struct ronde_p2p_state *state = comm->p2p;
    if (out_moved)
        *out_moved = false;
    if (ronde_comm_is_foreign(comm))
        return ronde_comm_check_process(comm, error);
    const bool has_moved = !state->has_failed && move_round(state);
    if (out_moved)
        *out_moved = has_moved;
    return check_failures(state, has_moved, error);
}

static struct ronde_p2p_peer *new_peer(struct ronde_p2p_state *state, uint32_t rank)
{
    struct ronde_p2p_peer *peer = ronde_mem_new(state->mem, 1, sizeof *peer);
    if (!peer)
        return NULL;
    peer->state = state;
    peer->rank = rank;
    peer->path = rank == state->comm->rank                ? RONDE_P2P_SELF
                 : ronde_comm_is_local(state->comm, rank) ? RONDE_P2P_SHM
                                                          : RONDE_P2P_NET;
    ronde_p2p_list_init(&peer->node);
    ronde_p2p_list_init(&peer->controls);
    ronde_p2p_list_init(&peer->sends);
    ronde_p2p_list_init(&peer->streams);
    ronde_p2p_list_init(&peer->early);
    if (peer->path == RONDE_P2P_SHM)
        ronde_p2p_shm_add_peer(peer);
    if (peer->path == RONDE_P2P_NET)
        ronde_p2p_list_add(&state->net_peers, &peer->node);
    state->peers[rank] = peer;
    return peer;
}

struct ronde_p2p_peer *ronde_p2p_get_peer(struct ronde_p2p_state *state, uint32_t rank,
                                          struct ronde_error *error)
{
    struct ronde_p2p_peer *peer = state->peers[rank] ? state->peers[rank] : new_peer(state, rank);
    if (!peer)
        (void)ronde_fail(error, RONDE_NO_MEMORY, "no memory for messages with rank %u", rank);
    return peer;
}

/* The checks common to both kinds of posts; and the peer, if a rank is named. */
static enum ronde_status check_post(struct ronde_p2p_state *state, const void *buffer,
                                    uint64_t bytes, uint32_t rank, struct ronde_p2p_peer **out_peer,
                                    struct ronde_error *error)
{
    const struct ronde_comm *comm = state->comm;
    *out_peer = NULL;
    if (ronde_comm_is_foreign(comm))
        return ronde_comm_check_process(comm, error);
    RONDE_TRY(ronde_control_known(comm->control, error));
    if (!buffer && bytes > 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "a message of %llu bytes has no buffer",
                          (unsigned long long)bytes);
    if (rank == RONDE_ANY_RANK)
        return RONDE_OK;
    if (rank >= comm->ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "a message for rank %u of %u ranks", rank,
                          comm->ranks);
    *out_peer = ronde_p2p_get_peer(state, rank, error);
    if (!*out_peer)
        return RONDE_NO_MEMORY;
    return (*out_peer)->path == RONDE_P2P_NET ? ronde_p2p_net.connect(*out_peer, error) : RONDE_OK;
}

static struct ronde_p2p *new_request(struct ronde_p2p_state *state, struct ronde_p2p_peer *peer,
                                     uint64_t bytes, uint64_t tag, struct ronde_error *error)
{
    struct ronde_p2p *p2p = ronde_p2p_pool_take(&state->requests);
    if (!p2p) {
        (void)ronde_fail(error, RONDE_NO_MEMORY, "no memory for a message");
        return NULL;
    }
    ronde_p2p_list_init(&p2p->node);
    ronde_p2p_list_init(&p2p->watch.node);
    p2p->watch.self = NULL;
    p2p->state = state;
    p2p->peer = NULL;
    p2p->needs_any = false;
    p2p->is_released = false;
    p2p->is_held = false;
    p2p->stage = RONDE_P2P_POSTED;
    p2p->bytes = bytes;
    p2p->moved = 0;
    p2p->message = NULL;
    p2p->status = (struct ronde_p2p_status){.tag = tag};
    p2p->needs_net = peer ? peer->path == RONDE_P2P_NET : state->comm->net_self != NULL;
    ronde_p2p_need(p2p, peer);
    state->pending++;
    state->net_pending += p2p->needs_net;
    return p2p;
}

/* A message of this rank to itself. False without memory. */
static bool send_own(struct ronde_p2p *send)
{
    struct ronde_p2p_peer *peer = send->peer;
    const bool is_eager =
        send->bytes <= RONDE_P2P_MOST_EAGER_BYTES && ronde_p2p_may_be_eager(peer, send->bytes);
    const struct ronde_p2p_arrival arrival = {is_eager ? RONDE_P2P_EAGER : RONDE_P2P_OWN,
                                              peer,
                                              send->status.tag,
                                              send->bytes,
                                              send->buffer,
                                              (uint64_t)(uintptr_t)send};
    send->stage = RONDE_P2P_OFFERED;
    if (!ronde_p2p_arrive(send->state, &arrival)) {
        /* Nothing was kept, so no receive will ever give this part of the window back. */
        peer->charged -= is_eager ? ronde_p2p_charge(send->bytes) : 0;
        return false;
    }
    if (is_eager)
        ronde_p2p_finish(send);
    return true;
}

enum ronde_status ronde_comm_send_post(struct ronde_comm *comm, const void *buffer, uint64_t bytes,
                                       uint32_t peer, uint64_t tag, struct ronde_p2p **out_p2p,
                                       struct ronde_error *error)
{
    struct ronde_p2p_state *state = comm->p2p;
    struct ronde_p2p_peer *to = NULL;
    *out_p2p = NULL;
    enum ronde_status status = check_post(state, buffer, bytes, peer, &to, error);
    if (status == RONDE_OK && !to)
        status = ronde_fail(error, RONDE_BAD_ARGUMENT, "a message needs a rank to be sent to");
    struct ronde_p2p *send = status == RONDE_OK ? new_request(state, to, bytes, tag, error) : NULL;
    if (!send)
        return status == RONDE_OK ? RONDE_NO_MEMORY : status;
    send->is_send = true;
    /* Nothing is ever written there. */
    send->buffer = (unsigned char *)(uintptr_t)buffer;
    send->status.source = comm->rank;
    send->status.bytes = bytes;
    *out_p2p = send;
    if (to->path == RONDE_P2P_SHM) {
        ronde_p2p_shm_send(send);
    } else if (to->path == RONDE_P2P_NET) {
        ronde_p2p_net.send(send);
    } else if (!send_own(send)) {
        send->is_released = true;
        ronde_p2p_finish(send);
        *out_p2p = NULL;
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a message");
    }
    return RONDE_OK;
}

enum ronde_status ronde_comm_recv_post(struct ronde_comm *comm, void *buffer, uint64_t bytes,
                                       uint32_t peer, uint64_t tag, struct ronde_p2p **out_p2p,
                                       struct ronde_error *error)
{
    struct ronde_p2p_state *state = comm->p2p;
    struct ronde_p2p_peer *from = NULL;
    *out_p2p = NULL;
    const enum ronde_status status = check_post(state, buffer, bytes, peer, &from, error);
    struct ronde_p2p *receive =
        status == RONDE_OK ? new_request(state, from, bytes, tag, error) : NULL;
    if (!receive)
        return status == RONDE_OK ? RONDE_NO_MEMORY : status;
    receive->is_send = false;
    receive->needs_any = !from;
    state->unmatched_any += !from;
    receive->buffer = buffer;
    receive->source = peer;
    receive->status.source = peer;
    *out_p2p = receive;
    (void)ronde_p2p_match(receive);
    return RONDE_OK;
}

void ronde_p2p_watch(struct ronde_p2p *p2p, void *self)
{
    p2p->watch.self = self;
    if (p2p->stage == RONDE_P2P_DONE)
        ronde_p2p_list_add(&p2p->state->ended, &p2p->watch.node);
}

void *ronde_comm_p2p_take_ended(struct ronde_comm *comm)
{
    struct ronde_p2p_watch *watch =
        ronde_comm_is_foreign(comm) ? NULL : ronde_p2p_list_first(&comm->p2p->ended);
    if (watch)
        ronde_p2p_list_take(&watch->node);
    return watch ? watch->self : NULL;
}

enum ronde_status ronde_p2p_test(struct ronde_p2p *p2p, bool *out_done,
                                 struct ronde_p2p_status *out_status, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    *out_done = false;
    if (ronde_comm_is_foreign(p2p->state->comm))
        return ronde_comm_check_process(p2p->state->comm, error);
    struct ronde_error why;
    why.status = RONDE_OK;
    if (p2p->stage != RONDE_P2P_DONE)
        status = ronde_comm_p2p_progress(p2p->state->comm, NULL, &why);
    *out_done = p2p->stage == RONDE_P2P_DONE || status != RONDE_OK;
    if (*out_done && out_status)
        *out_status = p2p->status;
    if (p2p->stage != RONDE_P2P_DONE)
        return status == RONDE_OK ? RONDE_OK : ronde_fail(error, status, "%s", why.message);
    if (!p2p->status.is_truncated)
        return RONDE_OK;
    return ronde_fail(error, RONDE_REJECTED,
                      "a message of %llu bytes of rank %u with tag %llu is longer than the buffer "
                      "of its receive, %llu bytes",
                      (unsigned long long)p2p->status.bytes, p2p->status.source,
                      (unsigned long long)p2p->status.tag, (unsigned long long)p2p->bytes);
}

/* Cancels a receive that is not done. */
static void cancel(struct ronde_p2p *receive)
{
    struct ronde_p2p_state *state = receive->state;
    struct ronde_error why = {0};
    switch (receive->stage) {
    case RONDE_P2P_READING:
    case RONDE_P2P_STREAMING:
        ronde_p2p_shm_cancel(receive);
        break;
    case RONDE_P2P_IN_FLIGHT:
        while (receive->stage != RONDE_P2P_DONE && !state->has_failed)
            if (ronde_comm_p2p_progress(state->comm, NULL, &why) == RONDE_OK && state->idle > 0)
                ronde_comm_p2p_rest(state->comm, state->idle);
        break;
    case RONDE_P2P_POSTED:
    case RONDE_P2P_OFFERED:
    case RONDE_P2P_DONE:
        ronde_p2p_list_take(&receive->node);
        ronde_p2p_finish(receive);
        break;
    }
}

void ronde_p2p_release(struct ronde_p2p *p2p)
{
    if (!p2p || ronde_comm_is_foreign(p2p->state->comm))
        return;
    struct ronde_p2p_state *state = p2p->state;
    const bool is_done = p2p->stage == RONDE_P2P_DONE;
    ronde_p2p_list_take(&p2p->watch.node);
    p2p->watch.self = NULL;
    /* The failure may have been found by a run; the buffer is about to be the caller's again. */
    if (!is_done && ronde_control_known(state->comm->control, NULL) != RONDE_OK)
        end_all(state);
    /* UCX holds the buffer: waits, before the request may be released on completion. */
    if (!is_done && !p2p->is_send && p2p->stage == RONDE_P2P_IN_FLIGHT)
        cancel(p2p);
    p2p->is_released = true;
    if (p2p->stage == RONDE_P2P_DONE) {
        if (!p2p->is_held)
            ronde_p2p_pool_give(&state->requests, p2p);
    } else if (state->has_failed) {
        ronde_p2p_list_take(&p2p->node);
        ronde_p2p_finish(p2p);
    } else if (!p2p->is_send) {
        cancel(p2p);
    }
}

uint64_t ronde_comm_p2p_pending(const struct ronde_comm *comm)
{
    return comm->p2p->pending;
}

void ronde_comm_p2p_rest(struct ronde_comm *comm, uint32_t idle)
{
    ronde_comm_rest(comm, idle);
}

bool ronde_comm_sleep_begin(struct ronde_comm *comm)
{
    return comm->wire->sleep_begin(comm);
}

void ronde_comm_sleep(struct ronde_comm *comm)
{
    comm->wire->sleep(comm);
}

void ronde_comm_wake(struct ronde_comm *comm)
{
    comm->wire->wake(comm);
}

/* Elements that are reused. */

/* The header of a slab, before its elements. */
struct ronde_p2p_slab {
    alignas(16) struct ronde_p2p_slab *next;
    size_t bytes;
};

void ronde_p2p_pool_open(struct ronde_p2p_pool *pool, const struct ronde_mem *mem,
                         size_t element_bytes, uint32_t per_slab)
{
    *pool = (struct ronde_p2p_pool){.mem = mem,
                                    .element_bytes = (element_bytes + 15) / 16 * 16,
                                    .per_slab = per_slab};
}

static bool add_slab(struct ronde_p2p_pool *pool)
{
    const size_t bytes = sizeof(struct ronde_p2p_slab) + pool->per_slab * pool->element_bytes;
    struct ronde_p2p_slab *slab = ronde_mem_new(pool->mem, bytes, 1);
    if (!slab)
        return false;
    slab->next = pool->slabs;
    slab->bytes = bytes;
    pool->slabs = slab;
    for (uint32_t k = 0; k < pool->per_slab; k++)
        ronde_p2p_pool_give(pool, (unsigned char *)(slab + 1) + k * pool->element_bytes);
    return true;
}

void *ronde_p2p_pool_take(struct ronde_p2p_pool *pool)
{
    if (!pool->free && !add_slab(pool))
        return NULL;
    void **element = pool->free;
    pool->free = *element;
    return element;
}

void ronde_p2p_pool_give(struct ronde_p2p_pool *pool, void *element)
{
    *(void **)element = pool->free;
    pool->free = element;
}

void ronde_p2p_pool_close(struct ronde_p2p_pool *pool)
{
    while (pool->slabs) {
        struct ronde_p2p_slab *slab = pool->slabs;
        pool->slabs = slab->next;
        ronde_mem_free(pool->mem, slab, slab->bytes, 1);
    }
    pool->free = NULL;
}
