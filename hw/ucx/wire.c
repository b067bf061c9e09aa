/* Messages of programs over UCX. See net.h. */
#include "hw/ucx/net.h"

#include "ronde/hw.h"

#include <poll.h>
#include <string.h>

/* See hw/README.md. */
#define DEFAULT_SLOT_BYTES 65536u

/* Progress calls of one poll while there is progress. */
#define PROGRESS_CALLS 4u

static uint64_t *theirs_of(const struct ronde_end *end)
{
    /* The counter that a lane reads as the peer's is written by the transport. */
    return (uint64_t *)(uintptr_t)end->theirs;
}

static struct ronde_ucx_links *find_links(const struct ronde_net *net, uint64_t id)
{
    struct ronde_ucx_links *at = net->programs;
    while (at && at->program->id != id)
        at = at->next;
    return at;
}

/* The link a message is for; NULL for one of a program that has been unloaded. */
static struct ronde_ucx_link *find_link(const struct ronde_net *net,
                                        const struct ronde_data_head *head)
{
    struct ronde_ucx_links *links = find_links(net, head->program);
    if (!links || head->channel >= links->program->loaded->task_count)
        return NULL;
    const struct ronde_loaded *loaded = links->program->loaded;
    const struct ronde_task *task = &loaded->tasks[head->channel];
    if (head->number >= task->view.program->connection_count)
        return NULL;
    const uint64_t end = (uint64_t)(task->ends - loaded->ends) + head->number;
    /* A connection that is not UCX's has no slots. */
    return loaded->ports[end].is_send || !links->links[end].slots ? NULL : &links->links[end];
}

/* Whether messages lie in the memory of a device. */
static bool are_on_device(const struct ronde_ucx_links *links)
{
    return links->program->device && links->program->device->is_used;
}

/* Passes UCX the memory type, which it would otherwise have to detect. */
static void describe_memory(const struct ronde_ucx_links *links, ucp_request_param_t *params)
{
    if (!are_on_device(links))
        return;
    params->op_attr_mask |= UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    params->memory_type = (ucs_memory_type_t)links->net->device_memory;
}

/* Publishes to the lanes what has arrived without a gap. */
static void publish(struct ronde_ucx_link *link)
{
    const struct ronde_comm_program *program = link->links->program;
    const uint32_t depth = program->loaded->frame.depth;
    uint64_t *posted = theirs_of(&program->loaded->ends[link->end]);
    uint64_t count = *posted;
    struct ronde_link_slot *slot_state = &link->slots[(count - link->base) % depth];
    while (slot_state->has_arrived) {
        slot_state->has_arrived = false;
        count++;
        slot_state = &link->slots[(count - link->base) % depth];
    }
    if (count != *posted && are_on_device(link->links))
        program->device->settle(program->device->self);
    RONDE_RELEASE(&program->loaded->frame, posted, count);
}

/* Completes a request; false if its program was unloaded, and only the memory UCX used is left. */
static bool complete_request(struct ronde_ucx_links *links, void *request)
{
    links->pending--;
    ucp_request_free(request);
    return links->program != NULL;
}

/* A long message has been fetched. */
static void on_fetched(void *request, ucs_status_t status, size_t bytes, void *self)
{
    struct ronde_link_slot *slot_state = self;
    struct ronde_ucx_links *links = slot_state->link->links;
    (void)bytes;
    if (!complete_request(links, request))
        return;
    if (status == UCS_OK) {
        slot_state->has_arrived = true;
        publish(slot_state->link);
    } else {
        ronde_net_fail(links->net, links->program->loaded->ports[slot_state->link->end].peer,
                       status);
    }
}

/* Fetches a long message, of which only the head has arrived (UCX rendezvous). */
static ucs_status_t fetch(struct ronde_net *net, struct ronde_link_slot *slot_state, void *handle,
                          unsigned char *slot, size_t bytes)
{
    ucp_request_param_t params;
    memset(&params, 0, sizeof params);
    params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    params.cb.recv_am = on_fetched;
    params.user_data = slot_state;
    describe_memory(slot_state->link->links, &params);
    ucs_status_ptr_t request = ucp_am_recv_data_nbx(net->worker, handle, slot, bytes, &params);
    if (UCS_PTR_IS_ERR(request))
        return UCS_PTR_STATUS(request);
    if (request) {
        slot_state->link->links->pending++;
        return UCS_INPROGRESS;
    }
    slot_state->has_arrived = true;
    publish(slot_state->link);
    return UCS_OK;
}

ucs_status_t ronde_net_on_data(void *self, const void *header, size_t head_bytes, void *data,
                               size_t bytes, const ucp_am_recv_param_t *param)
{
    struct ronde_net *net = self;
    struct ronde_data_head head;
    if (head_bytes != sizeof head)
        return UCS_OK;
    memcpy(&head, header, sizeof head);
    struct ronde_ucx_link *link = find_link(net, &head);
    if (!link)
        return UCS_OK;
    const struct ronde_frame *frame = &link->links->program->loaded->frame;
    const struct ronde_end *end = &link->links->program->loaded->ends[link->end];
    /* A message that does not fit is not of a rank that runs the same. */
    if (bytes != head.bytes || bytes > frame->slot_stride || head.sequence < link->base ||
        head.sequence - *theirs_of(end) >= frame->depth) {
        ronde_net_fail(net, link->links->program->loaded->ports[link->end].peer,
                       UCS_ERR_MESSAGE_TRUNCATED);
        return UCS_OK;
    }
    const uint64_t slot = (head.sequence - link->base) % frame->depth;
    struct ronde_link_slot *slot_state = &link->slots[slot];
    link->sender = head.end;
    end->lengths[slot] = bytes;
    const bool is_fetched = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    /* Ranks that run the same send in the same way. */
    if (!is_fetched && bytes > 0 && are_on_device(link->links)) {
        ronde_net_fail(net, link->links->program->loaded->ports[link->end].peer,
                       UCS_ERR_UNSUPPORTED);
        return UCS_OK;
    }
    if (is_fetched)
        return fetch(net, slot_state, data, end->slots + slot * frame->slot_stride, bytes);
    if (bytes > 0)
        memcpy(end->slots + slot * frame->slot_stride, data, bytes);
    slot_state->has_arrived = true;
    publish(link);
    return UCS_OK;
}

/* Slots are free once they are consumed and UCX is done with them. */
static void free_slots(struct ronde_ucx_link *link)
{
    const struct ronde_end *end = &link->links->program->loaded->ends[link->end];
    const uint64_t freed = link->credited < link->left ? link->credited : link->left;
    RONDE_RELEASE(&link->links->program->loaded->frame, theirs_of(end), freed);
}

ucs_status_t ronde_net_on_credit(void *self, const void *header, size_t head_bytes, void *data,
                                 size_t bytes, const ucp_am_recv_param_t *param)
{
    struct ronde_credit_head head;
    (void)data;
    (void)bytes;
    (void)param;
    if (head_bytes != sizeof head)
        return UCS_OK;
    memcpy(&head, header, sizeof head);
    struct ronde_ucx_links *links = find_links(self, head.program);
    if (!links || head.end >= links->program->loaded->end_count || !links->links[head.end].slots)
        return UCS_OK;
    struct ronde_ucx_link *link = &links->links[head.end];
    if (head.consumed > link->credited && head.consumed <= link->sent) {
        link->credited = head.consumed;
        free_slots(link);
    }
    return UCS_OK;
}

/* A send has completed, at once or later; a failed one is the endpoint's failure, which its handler has recorded. */
static void on_data_sent(void *request, ucs_status_t status, void *self)
{
    struct ronde_link_slot *slot_state = self;
    (void)status;
    if (!complete_request(slot_state->link->links, request))
        return;
    slot_state->link->left++;
    free_slots(slot_state->link);
}

static void on_credit_sent(void *request, ucs_status_t status, void *self)
{
    struct ronde_ucx_link *link = self;
    (void)status;
    if (complete_request(link->links, request))
        link->is_credit_in_flight = false;
}

static void on_handshake_sent(void *request, ucs_status_t status, void *self)
{
    (void)status;
    (void)complete_request(self, request);
}

/* An active message to send: kind, head, data and completion callback. */
struct message {
    enum ronde_net_kind kind;
    const void *head;
    size_t head_bytes;
    const void *data;
    size_t bytes;
    ucp_send_nbx_callback_t on_sent;
    void *self;
};

/* Posts a message to UCX; true if it completed at once. */
static bool post_message(struct ronde_ucx_links *links, uint32_t rank, const struct message *message)
{
    struct ronde_remote *remote = &links->net->remotes[rank];
    ucp_request_param_t params;
    if (remote->is_gone)
        return true;
    memset(&params, 0, sizeof params);
    params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    params.cb.send = message->on_sent;
    params.user_data = message->self;
    if (message->kind == RONDE_NET_DATA && message->bytes > 0 && are_on_device(links)) {
        /* The receiver's memory is a device's too: with rendezvous the receiver chooses the target. */
        params.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
        params.flags = UCP_AM_SEND_FLAG_RNDV;
        describe_memory(links, &params);
    }
    links->is_flushed = false;
    ucs_status_ptr_t request =
        ucp_am_send_nbx(remote->endpoint, (unsigned)message->kind, message->head,
                        message->head_bytes, message->data, message->bytes, &params);
    if (UCS_PTR_IS_ERR(request))
        ronde_net_lose(remote, UCS_PTR_STATUS(request));
    if (!UCS_PTR_IS_PTR(request))
        return true;
    links->pending++;
    return false;
}

/* Sends the next message that the lanes have posted on a link; false if there is none. */
static bool send_next(struct ronde_ucx_link *link)
{
    struct ronde_ucx_links *links = link->links;
    const struct ronde_loaded *loaded = links->program->loaded;
    const struct ronde_end *end = &loaded->ends[link->end];
    const struct ronde_port *port = &loaded->ports[link->end];
    if (link->sent >= end->count)
        return false;
    const uint64_t slot = (link->sent - link->base) % loaded->frame.depth;
    struct ronde_link_slot *slot_state = &link->slots[slot];
    const uint64_t bytes = end->lengths[slot];
    slot_state->head =
        (struct ronde_data_head){links->program->id, link->sent,          port->channel,
                                 port->number,       (uint32_t)link->end, (uint32_t)bytes};
    const struct message message = {RONDE_NET_DATA,
                                    &slot_state->head,
                                    sizeof slot_state->head,
                                    end->slots + slot * loaded->frame.slot_stride,
                                    bytes,
                                    on_data_sent,
                                    slot_state};
    link->sent++;
    if (post_message(links, port->peer, &message)) {
        link->left++;
        free_slots(link);
    }
    return true;
}

/* Sends all that is posted, connections in turn: many messages of one do not delay the others. */
static bool send_posted(struct ronde_ucx_links *links)
{
    const struct ronde_loaded *loaded = links->program->loaded;
    bool has_sent = false;
    for (bool goes_on = true; goes_on; has_sent |= goes_on) {
        goes_on = false;
        for (uint64_t k = 0; k < links->end_count; k++)
            if (loaded->ports[links->ends[k]].is_send)
                goes_on |= send_next(&links->links[links->ends[k]]);
    }
    return has_sent;
}

/* Sends credit: per half of the slots while messages move, for everything consumed when nothing moves. */
static void send_credit(struct ronde_ucx_link *link, bool has_moved)
{
    struct ronde_ucx_links *links = link->links;
    const struct ronde_loaded *loaded = links->program->loaded;
    const uint64_t consumed = loaded->ends[link->end].count;
    const uint64_t unsent = consumed - link->credit_sent;
    if (link->is_credit_in_flight || unsent == 0 || (has_moved && unsent * 2 < loaded->frame.depth))
        return;
    link->credit = (struct ronde_credit_head){links->program->id, consumed, link->sender, 0};
    const struct message message = {RONDE_NET_CREDIT, &link->credit, sizeof link->credit, NULL, 0,
                                    on_credit_sent,   link};
    link->credit_sent = consumed;
    link->is_credit_in_flight = !post_message(links, loaded->ports[link->end].peer, &message);
}

/* A rank that is gone and that this one waits for; NULL if there is none. */
static const struct ronde_remote *find_missed(const struct ronde_ucx_links *links)
{
    const struct ronde_comm_program *program = links->program;
    const struct ronde_loaded *loaded = program->loaded;
    const struct ronde_remote *remotes = links->net->remotes;
    for (uint32_t k = 0; k < program->lane_count; k++) {
        const struct ronde_lane *lane = &loaded->lanes[program->lanes[k]];
        if (lane->reason != RONDE_REASON_MESSAGE && lane->reason != RONDE_REASON_SLOT)
            continue;
        const uint64_t end = (uint64_t)(lane->task->ends - loaded->ends) + lane->about;
        if (remotes[loaded->ports[end].peer].is_gone)
            return &remotes[loaded->ports[end].peer];
    }
    for (uint32_t n = 0; n < program->peer_count; n++)
        if (!program->peers[n].is_verified && remotes[program->peers[n].rank].is_gone)
            return &remotes[program->peers[n].rank];
    return NULL;
}

/* An alarm may explain a lost rank: UCX's error is used only if none arrives within RONDE_CONTROL_GRACE_NS. */
static void check_losses(struct ronde_ucx_links *links)
{
    const struct ronde_remote *missed = find_missed(links);
    const double now_ns = ronde_clock_ns();
    if (!missed)
        links->missed_ns = 0;
    else if (links->missed_ns == 0)
        links->missed_ns = now_ns;
    /* The control channel must have been polled since: UCX may spend all that time in one call. */
    else if (now_ns - links->missed_ns > RONDE_CONTROL_GRACE_NS &&
             links->program->comm->checked_ns - links->missed_ns > RONDE_CONTROL_GRACE_NS / 2)
        (void)ronde_fail(&links->net->failure, RONDE_DEVICE, "ucx: rank %u was lost: %s",
                         missed->rank, missed->reason);
}

static enum ronde_status ucx_poll(struct ronde_comm_program *program, bool *io_moved,
                                  bool *out_is_quiet, struct ronde_error *error)
{
    struct ronde_ucx_links *links = program->net_self;
    struct ronde_net *net = links->net;
    const struct ronde_loaded *loaded = program->loaded;
    *io_moved |= send_posted(links);
    for (uint64_t k = 0; k < links->end_count; k++)
        if (!loaded->ports[links->ends[k]].is_send)
            send_credit(&links->links[links->ends[k]], *io_moved);
    for (uint32_t k = 0; k < PROGRESS_CALLS && ucp_worker_progress(net->worker) > 0; k++)
        *io_moved = true;
    *out_is_quiet = program->lane_count == 0 && ronde_links_flush(links);
    if (net->has_losses && !*io_moved)
        check_losses(links);
    if (net->failure.status == RONDE_OK)
        return RONDE_OK;
    return ronde_fail(error, net->failure.status, "%s", net->failure.message);
}

static void ucx_announce(struct ronde_comm_program *program, const struct ronde_handshake *handshake)
{
    struct ronde_ucx_links *links = program->net_self;
    const struct ronde_loaded *loaded = program->loaded;
    /* All connections are empty, and restart at their ends' current slot, on each side independently. */
    for (uint64_t k = 0; program->is_rearranged && k < links->end_count; k++) {
        const struct ronde_end *end = &loaded->ends[links->ends[k]];
        links->links[links->ends[k]].base = end->count - end->slot;
    }
    links->handshake.rank = program->comm->rank;
    links->handshake.handshake = *handshake;
    for (uint32_t n = 0; n < program->peer_count; n++) {
        const struct message message = {RONDE_NET_HANDSHAKE,
                                        &links->handshake,
                                        sizeof links->handshake,
                                        NULL,
                                        0,
                                        on_handshake_sent,
                                        links};
        if (!ronde_comm_is_local(program->comm, program->peers[n].rank))
            (void)post_message(links, program->peers[n].rank, &message);
    }
}

static bool ucx_sleep_begin(struct ronde_comm *comm)
{
    return ronde_net_wait_fd(comm->net_self) >= 0;
}

static int ucx_descriptor(const struct ronde_comm *comm)
{
    const struct ronde_net *net = comm->net_self;
    return net->event_fd;
}

static void ucx_sleep(struct ronde_comm *comm)
{
    struct pollfd event = {ucx_descriptor(comm), POLLIN, 0};
    (void)poll(&event, 1, RONDE_SLEEP_MS);
}

static void ucx_wake(struct ronde_comm *comm)
{
    const struct ronde_net *net = comm->net_self;
    (void)ucp_worker_signal(net->worker);
}

static uint64_t ucx_default_slot_bytes(const struct ronde_schedule *schedule, uint32_t depth)
{
    (void)schedule;
    (void)depth;
    return DEFAULT_SLOT_BYTES;
}

static bool ucx_reaches_devices(const struct ronde_comm *comm)
{
    const struct ronde_net *net = comm->net_self;
    return net->reaches_devices;
}

const struct ronde_wire ronde_wire_ucx = {
    .open = ronde_net_open,
    .close = ronde_net_close,
    .default_slot_bytes = ucx_default_slot_bytes,
    .load = ronde_links_load,
    .unload = ronde_links_unload,
    .announce = ucx_announce,
    .poll = ucx_poll,
    .spin = ronde_comm_spin,
    .sleep_begin = ucx_sleep_begin,
    .sleep = ucx_sleep,
    .wake = ucx_wake,
    .descriptor = ucx_descriptor,
    .reaches_devices = ucx_reaches_devices,
};
