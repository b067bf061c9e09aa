/*
 * Matching: which message a receive gets. See state.h.
 *
 * Receives and unexpected messages are kept by tag, each bin in the order in which they were posted or have arrived. A
 * receive from any rank is in the bin of its tag like all others, so that the first match in a bin is the right one.
 */
#include "hw/p2p/path.h"

#include <string.h>

/* Spreads tags that differ in few bits. */
static uint32_t bin_of(uint64_t tag)
{
    return (uint32_t)((tag * UINT64_C(0x9e3779b97f4a7c15)) >> 56) % RONDE_P2P_BINS;
}

static size_t class_bytes(uint32_t buffer_class)
{
    static const size_t bytes[RONDE_P2P_BUFFER_CLASSES] = {1024, 8192, RONDE_P2P_MOST_EAGER_BYTES};
    return bytes[buffer_class];
}

void ronde_p2p_buffers_open(struct ronde_p2p_state *state)
{
    for (uint32_t k = 0; k < RONDE_P2P_BUFFER_CLASSES; k++)
        ronde_p2p_pool_open(&state->buffers[k], state->mem, class_bytes(k), 4);
}

static bool fits(const struct ronde_p2p *receive, uint64_t tag, uint32_t rank)
{
    return receive->status.tag == tag &&
           (receive->source == rank || receive->source == RONDE_ANY_RANK);
}

/* The first posted receive that takes a message, or NULL. */
static struct ronde_p2p *find_receive(const struct ronde_p2p_state *state, uint64_t tag,
                                      uint32_t rank)
{
    const struct ronde_p2p_node *bin = &state->posted[bin_of(tag)];
    for (struct ronde_p2p_node *at = bin->next; at != bin; at = at->next) {
        struct ronde_p2p *receive = (struct ronde_p2p *)at;
        if (fits(receive, tag, rank))
            return receive;
    }
    return NULL;
}

/* The first unexpected message that a receive takes, or NULL. */
static struct ronde_p2p_message *find_message(const struct ronde_p2p_state *state,
                                              const struct ronde_p2p *receive)
{
    const struct ronde_p2p_node *bin = &state->unexpected[bin_of(receive->status.tag)];
    for (struct ronde_p2p_node *at = bin->next; at != bin; at = at->next) {
        struct ronde_p2p_message *message = (struct ronde_p2p_message *)at;
        if (fits(receive, message->arrival.tag, message->arrival.peer->rank))
            return message;
    }
    return NULL;
}

/* A buffer for unexpected data; false without memory. */
static bool take_buffer(struct ronde_p2p_state *state, struct ronde_p2p_message *message,
                        uint64_t bytes)
{
    message->buffer = NULL;
    if (bytes <= RONDE_P2P_INLINE_BYTES)
        return true;
    uint32_t buffer_class = 0;
    while (class_bytes(buffer_class) < bytes)
        buffer_class++;
    message->buffer_class = buffer_class;
    message->buffer = ronde_p2p_pool_take(&state->buffers[buffer_class]);
    return message->buffer != NULL;
}

struct ronde_p2p_message *ronde_p2p_store(struct ronde_p2p_state *state,
                                          const struct ronde_p2p_arrival *arrival)
{
    const uint64_t bytes = arrival->kind == RONDE_P2P_EAGER ? arrival->bytes : 0;
    struct ronde_p2p_message *message = ronde_p2p_pool_take(&state->messages);
    if (!message)
        return NULL;
    if (!take_buffer(state, message, bytes)) {
        ronde_p2p_pool_give(&state->messages, message);
        return NULL;
    }
    ronde_p2p_list_init(&message->node);
    message->arrival = *arrival;
    message->receive = NULL;
    if (arrival->kind == RONDE_P2P_EAGER) {
        void *data = message->buffer ? message->buffer : message->inline_data;
        if (bytes > 0)
            memcpy(data, arrival->data, (size_t)bytes);
        message->arrival.data = data;
    }
    return message;
}

void ronde_p2p_drop(struct ronde_p2p_state *state, struct ronde_p2p_message *message)
{
    ronde_p2p_list_take(&message->node);
    if (message->buffer)
        ronde_p2p_pool_give(&state->buffers[message->buffer_class], message->buffer);
    ronde_p2p_pool_give(&state->messages, message);
}

/* Returns the window's credit for what was received. */
static void return_charge(struct ronde_p2p_peer *peer, uint64_t bytes)
{
    peer->returned += ronde_p2p_charge(bytes);
    if (peer->path == RONDE_P2P_SELF)
        peer->credited = peer->returned;
    else if (peer->path == RONDE_P2P_SHM)
        ronde_p2p_shm_return(peer);
    else
        ronde_p2p_net.give_back(peer);
}

/* The data of an eager message, or of a send of this rank, are here. */
static void copy_here(struct ronde_p2p *receive, const struct ronde_p2p_arrival *arrival)
{
    struct ronde_p2p *own =
        arrival->kind == RONDE_P2P_OWN ? (struct ronde_p2p *)(uintptr_t)arrival->cookie : NULL;
    if (!receive->status.is_truncated && arrival->bytes > 0)
        memcpy(receive->buffer, arrival->data, (size_t)arrival->bytes);
    if (own)
        ronde_p2p_finish(own);
    else
        return_charge(arrival->peer, arrival->bytes);
    ronde_p2p_finish(receive);
}

/* Completes a match. `stored` is the message, if it was stored; else it is stored here, if it has to be. */
static bool deliver(struct ronde_p2p *receive, const struct ronde_p2p_arrival *arrival,
                    struct ronde_p2p_message *stored)
{
    struct ronde_p2p_state *state = receive->state;
    const bool is_here = arrival->kind == RONDE_P2P_EAGER || arrival->kind == RONDE_P2P_OWN;
    if (!is_here && !stored && !(stored = ronde_p2p_store(state, arrival)))
        return false;
    ronde_p2p_list_take(&receive->node);
    receive->status.source = arrival->peer->rank;
    receive->status.bytes = arrival->bytes;
    receive->status.is_truncated = arrival->bytes > receive->bytes;
    if (is_here) {
        copy_here(receive, arrival);
        if (stored)
            ronde_p2p_drop(state, stored);
        return true;
    }
    ronde_p2p_list_take(&stored->node);
    receive->message = stored;
    ronde_p2p_need(receive, arrival->peer);
    if (arrival->kind == RONDE_P2P_SHM_OFFER)
        ronde_p2p_shm_fetch(receive);
    else
        ronde_p2p_net.fetch(receive);
    return true;
}

bool ronde_p2p_match(struct ronde_p2p *receive)
{
    const struct ronde_p2p_state *state = receive->state;
    struct ronde_p2p_message *message = find_message(state, receive);
    if (!message) {
        ronde_p2p_list_add(&state->posted[bin_of(receive->status.tag)], &receive->node);
        return false;
    }
    /* A stored message needs no memory. */
    return deliver(receive, &message->arrival, message);
}

bool ronde_p2p_arrive(struct ronde_p2p_state *state, const struct ronde_p2p_arrival *arrival)
{
    struct ronde_p2p *receive = find_receive(state, arrival->tag, arrival->peer->rank);
    if (receive)
        return deliver(receive, arrival, NULL);
    struct ronde_p2p_message *message = ronde_p2p_store(state, arrival);
    if (message)
        ronde_p2p_list_add(&state->unexpected[bin_of(arrival->tag)], &message->node);
    return message != NULL;
}

void ronde_p2p_arrive_stored(struct ronde_p2p_state *state, struct ronde_p2p_message *message)
{
    struct ronde_p2p *receive =
        find_receive(state, message->arrival.tag, message->arrival.peer->rank);
    ronde_p2p_list_take(&message->node);
    if (receive)
        (void)deliver(receive, &message->arrival, message);
    else
        ronde_p2p_list_add(&state->unexpected[bin_of(message->arrival.tag)], &message->node);
}
