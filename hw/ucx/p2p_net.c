/*
 * Messages between ranks over UCX. See hw/p2p/path.h.
 *
 * A message is one active message, headed by its envelope. Short ones within the window are eager; of others UCX sends
 * the envelope alone (its rendezvous), and the receiver fetches the data into the buffer of the receive. UCX delivers
 * active messages in any order, so envelopes are numbered and matched in the order of their numbers.
 *
 * Envelopes without a receive when a worker is destroyed are left to it, though UCX warns of them: to release one would
 * complete its send without an error.
 */
#include "hw/p2p/path.h"
#include "hw/ucx/net.h"

#include "ronde/hw.h"

#include <string.h>

/* The longest eager message: over TCP, what UCX fetches costs a round trip. See hw/README.md. */
#define EAGER_BYTES RONDE_P2P_MOST_EAGER_BYTES

/* Progress calls of one round while there is progress. */
#define PROGRESS_CALLS 4u

/* While nothing is pending on UCX it is polled in one of so many rounds: over TCP each poll is a system call. */
#define SKIPPED_ROUNDS 8u

/* After a failure UCX has so long to release buffers. */
#define ABORT_NS 2e8

static struct ronde_net *net_of(const struct ronde_p2p_state *state)
{
    return state->comm->net_self;
}

static struct ronde_remote *remote_of(const struct ronde_p2p_peer *peer)
{
    return &net_of(peer->state)->remotes[peer->rank];
}

static enum ronde_status net_connect(struct ronde_p2p_peer *peer, struct ronde_error *error)
{
    return remote_of(peer)->is_gone ? RONDE_OK
                                    : ronde_net_connect(net_of(peer->state), peer->rank, error);
}

/* UCX has completed a send or a fetch. If it failed, its rank counts as lost: reported once something waits for it. */
static void end_transfer(struct ronde_p2p *p2p, ucs_status_t status)
{
    if (status == UCS_OK && p2p->stage != RONDE_P2P_DONE)
        ronde_p2p_finish(p2p);
    else if (status != UCS_OK && p2p->peer)
        ronde_net_lose(remote_of(p2p->peer), status);
}

static void end_request(struct ronde_p2p *p2p, void *request, ucs_status_t status)
{
    ucp_request_free(request);
    p2p->state->held--;
    end_transfer(p2p, status);
    ronde_p2p_transfer_ended(p2p);
}

static void on_sent(void *request, ucs_status_t status, void *self)
{
    end_request(self, request, status);
}

static void on_fetched(void *request, ucs_status_t status, size_t bytes, void *self)
{
    (void)bytes;
    end_request(self, request, status);
}

/* The result of a UCX call that takes a buffer: completed, failed, or in progress (UCX holds the buffer). */
static void start_transfer(struct ronde_p2p *p2p, ucs_status_ptr_t request)
{
    p2p->stage = RONDE_P2P_IN_FLIGHT;
    if (UCS_PTR_IS_PTR(request)) {
        p2p->is_held = true;
        p2p->state->held++;
        return;
    }
    end_transfer(p2p, UCS_PTR_STATUS(request));
}

static void net_send(struct ronde_p2p *send)
{
    struct ronde_p2p_peer *peer = send->peer;
    const struct ronde_remote *remote = remote_of(peer);
    const bool is_eager = send->bytes <= EAGER_BYTES && ronde_p2p_may_be_eager(peer, send->bytes);
    ucp_request_param_t params;
    memset(&params, 0, sizeof params);
    params.op_attr_mask =
        UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
    params.cb.send = on_sent;
    params.user_data = send;
    params.flags = is_eager ? UCP_AM_SEND_FLAG_EAGER : UCP_AM_SEND_FLAG_RNDV;
    send->envelope = (struct ronde_p2p_envelope){peer->next_out++, send->status.tag, send->bytes,
                                                 peer->state->comm->rank, is_eager};
    send->stage = RONDE_P2P_IN_FLIGHT;
    if (remote->is_gone)
        return;
    /* A rendezvous without data carries one byte that is never fetched. */
    const bool is_bare = !is_eager && send->bytes == 0;
    start_transfer(send,
                   ucp_am_send_nbx(remote->endpoint, RONDE_NET_P2P, &send->envelope,
                                   sizeof send->envelope, is_bare ? (const void *)"" : send->buffer,
                                   is_bare ? 1 : (size_t)send->bytes, &params));
}

static void net_fetch(struct ronde_p2p *receive)
{
    struct ronde_p2p_state *state = receive->state;
    struct ronde_p2p_message *message = receive->message;
    ucp_worker_h worker = net_of(state)->worker;
    void *handle = (void *)(uintptr_t)message->arrival.data;
    ucp_request_param_t params;
    receive->message = NULL;
    if (receive->status.is_truncated || message->arrival.bytes == 0) {
        ronde_p2p_drop(state, message);
        ucp_am_data_release(worker, handle);
        ronde_p2p_finish(receive);
        return;
    }
    memset(&params, 0, sizeof params);
    params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    params.cb.recv_am = on_fetched;
    params.user_data = receive;
    const size_t bytes = (size_t)message->arrival.bytes;
    ronde_p2p_drop(state, message);
    start_transfer(receive, ucp_am_recv_data_nbx(worker, handle, receive->buffer, bytes, &params));
}

static void net_give_back(struct ronde_p2p_peer *peer)
{
    const uint64_t half = RONDE_P2P_WINDOW_BYTES / 2;
    /* Noted when it crosses half the window: sent in the next round. */
    const uint64_t owed = peer->returned - peer->credit_sent;
    if (owed >= half && !peer->is_credit_due) {
        peer->is_credit_due = true;
        peer->state->credits_due++;
    }
}

/* Matches early messages whose predecessors have arrived. */
static bool advance(struct ronde_p2p_peer *peer)
{
    bool has_moved = false;
    struct ronde_p2p_message *message;
    while ((message = ronde_p2p_list_first(&peer->early)) != NULL &&
           message->sequence == peer->next_in) {
        peer->next_in++;
        peer->state->busy--;
        has_moved = true;
        ronde_p2p_arrive_stored(peer->state, message);
    }
    return has_moved;
}

/* Stores a message until those before it have arrived, or until the next round. */
static bool store_early(struct ronde_p2p_peer *peer, const struct ronde_p2p_arrival *arrival,
                        uint64_t sequence)
{
    struct ronde_p2p_message *message = ronde_p2p_store(peer->state, arrival);
    struct ronde_p2p_node *at = peer->early.previous;
    if (!message)
        return false;
    message->sequence = sequence;
    while (at != &peer->early && ((struct ronde_p2p_message *)at)->sequence > sequence)
        at = at->previous;
    ronde_p2p_list_add(at->next, &message->node);
    peer->state->busy++;
    return true;
}

/* Notes as the failure that a message cannot be accepted. */
static ucs_status_t refuse(struct ronde_p2p_state *state, enum ronde_status status, uint32_t rank)
{
    (void)ronde_fail(&net_of(state)->failure, status,
                     status == RONDE_NO_MEMORY ? "no memory for a message of rank %u"
                                               : "ucx: rank %u sends what is no message of ronde",
                     rank);
    return UCS_OK;
}

ucs_status_t ronde_p2p_net_on_message(void *self, const void *head, size_t head_bytes, void *data,
                                      size_t bytes, const ucp_am_recv_param_t *param)
{
    const struct ronde_net *net = self;
    struct ronde_p2p_state *state = net->comm->p2p;
    struct ronde_p2p_envelope envelope;
    struct ronde_error why = {0};
    const bool is_fetched = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    if (head_bytes != sizeof envelope)
        return UCS_OK;
    memcpy(&envelope, head, sizeof envelope);
    if (envelope.rank >= net->comm->ranks ||
        (bytes != envelope.bytes && (!is_fetched || envelope.bytes > 0)) ||
        (!is_fetched && bytes > EAGER_BYTES))
        return refuse(state, RONDE_IO, envelope.rank);
    struct ronde_p2p_peer *peer = ronde_p2p_get_peer(state, envelope.rank, &why);
    if (!peer)
        return refuse(state, RONDE_NO_MEMORY, envelope.rank);
    const struct ronde_p2p_arrival arrival = {is_fetched ? RONDE_P2P_NET_OFFER : RONDE_P2P_EAGER,
                                              peer,
                                              envelope.tag,
                                              envelope.bytes,
                                              data,
                                              0};
    /* UCX is not called from its own callback: a rendezvous waits for the next round, and so do the messages after it. */
    const bool is_next = envelope.sequence == peer->next_in && !is_fetched;
    const bool is_taken = is_next ? ronde_p2p_arrive(state, &arrival)
                                  : store_early(peer, &arrival, envelope.sequence);
    if (!is_taken)
        return refuse(state, RONDE_NO_MEMORY, envelope.rank);
    peer->next_in += is_next;
    return is_fetched ? UCS_INPROGRESS : UCS_OK;
}

ucs_status_t ronde_p2p_net_on_credit(void *self, const void *head, size_t head_bytes, void *data,
                                     size_t bytes, const ucp_am_recv_param_t *param)
{
    const struct ronde_net *net = self;
    struct ronde_p2p_state *state = net->comm->p2p;
    struct ronde_p2p_envelope credit;
    (void)data;
    (void)bytes;
    (void)param;
    if (head_bytes != sizeof credit)
        return UCS_OK;
    memcpy(&credit, head, sizeof credit);
    struct ronde_p2p_peer *peer = credit.rank < net->comm->ranks ? state->peers[credit.rank] : NULL;
    if (peer && credit.bytes > peer->credited && credit.bytes <= peer->charged)
        peer->credited = credit.bytes;
    return UCS_OK;
}

static void on_credit_sent(void *request, ucs_status_t status, void *self)
{
    struct ronde_p2p_peer *peer = self;
    (void)status;
    ucp_request_free(request);
    peer->is_sending_credit = false;
}

/* Sends a sender its credit: how much of its window was received. */
static void send_credit(struct ronde_p2p_peer *peer)
{
    struct ronde_remote *remote = remote_of(peer);
    ucp_request_param_t params;
    if (peer->is_sending_credit)
        return;
    peer->is_credit_due = false;
    peer->state->credits_due--;
    peer->credit_sent = peer->returned;
    peer->credit =
        (struct ronde_p2p_envelope){.bytes = peer->returned, .rank = peer->state->comm->rank};
    if (remote->is_gone)
        return;
    memset(&params, 0, sizeof params);
    params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    params.cb.send = on_credit_sent;
    params.user_data = peer;
    ucs_status_ptr_t request = ucp_am_send_nbx(remote->endpoint, RONDE_NET_P2P_CREDIT,
                                               &peer->credit, sizeof peer->credit, NULL, 0, &params);
    if (UCS_PTR_IS_ERR(request))
        ronde_net_lose(remote, UCS_PTR_STATUS(request));
    peer->is_sending_credit = UCS_PTR_IS_PTR(request);
}

/*
 * Peers with early messages or with credit due. A peer that has sent something and was sent nothing gets an endpoint:
 * credit needs it, and so does the detection of its loss.
 */
static bool serve_peers(struct ronde_p2p_state *state)
{
    struct ronde_error why = {0};
    bool has_moved = false;
    for (struct ronde_p2p_node *at = state->net_peers.next; at != &state->net_peers; at = at->next) {
        struct ronde_p2p_peer *peer = (struct ronde_p2p_peer *)at;
        if (net_connect(peer, &why) != RONDE_OK) {
            ronde_p2p_fail(state, &why);
            return has_moved;
        }
        has_moved |= advance(peer);
        if (peer->is_credit_due)
            send_credit(peer);
    }
    return has_moved;
}

static bool net_round(struct ronde_p2p_state *state)
{
    struct ronde_net *net = net_of(state);
    bool has_moved = false;
    if (state->net_pending == 0 && state->busy == 0 && state->credits_due == 0 &&
        ++state->net_skips % SKIPPED_ROUNDS != 0)
        return false;
    for (uint32_t k = 0; k < PROGRESS_CALLS && ucp_worker_progress(net->worker) > 0; k++)
        has_moved = true;
    has_moved |= serve_peers(state);
    if (net->failure.status != RONDE_OK)
        ronde_p2p_fail(state, &net->failure);
    return has_moved;
}

static const struct ronde_p2p_peer *net_lost(const struct ronde_p2p_state *state,
                                             const char **out_reason)
{
    const struct ronde_net *net = net_of(state);
    if (!net->has_losses)
        return NULL;
    for (const struct ronde_p2p_node *at = state->net_peers.next; at != &state->net_peers;
         at = at->next) {
        const struct ronde_p2p_peer *peer = (const struct ronde_p2p_peer *)at;
        *out_reason = remote_of(peer)->reason;
        if (peer->waiting > 0 && remote_of(peer)->is_gone)
            return peer;
    }
    return NULL;
}

/* Closes an endpoint by force, which ends the transfers on it. */
static void close_endpoint(struct ronde_net *net, struct ronde_remote *remote)
{
    ucp_request_param_t params;
    if (!remote->endpoint)
        return;
    memset(&params, 0, sizeof params);
    params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = UCP_EP_CLOSE_FLAG_FORCE;
    void *request = ucp_ep_close_nbx(remote->endpoint, &params);
    remote->endpoint = NULL;
    remote->is_gone = true;
    while (UCS_PTR_IS_PTR(request) && ucp_request_check_status(request) == UCS_INPROGRESS)
        ronde_net_step(net);
    if (UCS_PTR_IS_PTR(request))
        ucp_request_free(request);
}

static void net_abort(struct ronde_p2p_state *state)
{
    struct ronde_net *net = net_of(state);
    const double until_ns = ronde_clock_ns() + ABORT_NS;
    if (state->held == 0)
        return;
    for (struct ronde_p2p_node *at = state->net_peers.next; at != &state->net_peers; at = at->next)
        close_endpoint(net, remote_of((struct ronde_p2p_peer *)at));
    while (state->held > 0 && ronde_clock_ns() < until_ns)
        ronde_net_step(net);
}

const struct ronde_p2p_net ronde_p2p_net = {
    .connect = net_connect,
    .send = net_send,
    .fetch = net_fetch,
    .give_back = net_give_back,
    .round = net_round,
    .lost = net_lost,
    .abort = net_abort,
};
