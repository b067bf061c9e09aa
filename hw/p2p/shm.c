/*
 * Messages between ranks of a host, through rings in its shared memory. See path.h.
 *
 * A message that fits into a slot is eager. Of a longer one (rendezvous) the slot holds the address, and the receiver reads
 * it there: in the sender's registered memory, or through the kernel (CMA). Where the system forbids that, the receiver
 * requests the data, which then stream through the ring, in turns with other messages. Rings are always read, whether
 * what is in them is expected or not, so that a message waits for no other.
 */
#include "hw/p2p/path.h"

#include "ronde/split.h"

#include <stdint.h>
#include <string.h>

/** Alignment without false sharing between two cores. */
#define RONDE_P2P_ALIGNMENT 128u

/** What a slot holds. */
enum ronde_p2p_slot_kind {
    RONDE_P2P_SLOT_EAGER, /**< a whole message */
    RONDE_P2P_SLOT_OFFER, /**< the envelope of one that is read in its sender's memory: struct ronde_p2p_pair */
    RONDE_P2P_SLOT_CLEAR, /**< the receiver cannot read it: struct ronde_p2p_pair of send and receive */
    RONDE_P2P_SLOT_PART,     /**< the next bytes of it, for the receive in tag */
    RONDE_P2P_SLOT_FINISHED, /**< the send in tag is done */
};

/** A slot, before its data. */
struct ronde_p2p_slot {
    uint64_t number; /**< atomic, written last: slots of the ring up to and including this one */
    uint64_t tag;    /**< of the message, or a cookie */
    uint64_t bytes;  /**< of the message, or of the part */
    uint32_t kind;   /**< enum ronde_p2p_slot_kind */
    uint32_t padding;
};

/** Two words in a slot's data. */
struct ronde_p2p_pair {
    uint64_t first;  /**< OFFER: address of the data; CLEAR: cookie of the send */
    uint64_t second; /**< OFFER: cookie of the send; CLEAR: cookie of the receive */
};

/** A ring, before its slots; written by the reader. */
struct ronde_p2p_ring {
    uint64_t freed;    /**< atomic: slots ever read */
    uint64_t returned; /**< atomic: eager bytes ever received, as the window counts them */
    uint64_t padding[14];
};

/** Flags of a rank that the ranks of its host read and write. */
struct ronde_p2p_flags {
    uint32_t has_new_writers; /**< atomic: a ring that this rank does not poll yet was written */
    uint32_t has_left;        /**< atomic */
    uint32_t padding[30];
};

/* Slots of a ring and their data, while all rings of a host take no more than so much. */
#define SLOTS 16u
#define SLOT_BYTES 8192u
#define LEAST_SLOTS 4u
#define LEAST_SLOT_BYTES 512u
#define MOST_TOTAL_BYTES ((uint64_t)1 << 29)

/* A round reads messages in pieces, a few of them, so that it ends soon. */
#define READ_BYTES ((uint64_t)1 << 20)
#define READS_PER_ROUND 4u

/* Bits of a word of new_writers. */
#define WORD_BITS 64u

static uint64_t slot_stride(const struct ronde_p2p_state *state)
{
    return ronde_round_up(sizeof(struct ronde_p2p_slot) + state->slot_bytes, 64);
}

static uint64_t ring_bytes(const struct ronde_p2p_state *state)
{
    return ronde_round_up(sizeof(struct ronde_p2p_ring) + state->slot_count * slot_stride(state),
                          RONDE_P2P_ALIGNMENT);
}

static uint64_t new_writers_bytes(const struct ronde_p2p_state *state)
{
    return ronde_round_up((uint64_t)(state->local_count + WORD_BITS - 1) / WORD_BITS * 8,
                          RONDE_P2P_ALIGNMENT);
}

static uint64_t total_bytes(const struct ronde_p2p_state *state)
{
    const uint64_t ranks = state->local_count;
    return ranks * (sizeof(struct ronde_p2p_flags) + new_writers_bytes(state)) +
           ranks * ranks * ring_bytes(state);
}

void ronde_p2p_shm_plan(struct ronde_p2p_state *state)
{
    const struct ronde_comm *comm = state->comm;
    state->local_count = 0;
    for (uint32_t rank = 0; rank < comm->ranks; rank++)
        state->local_rank[rank] =
            ronde_comm_is_local(comm, rank) ? state->local_count++ : RONDE_NONE;
    state->slot_count = SLOTS;
    state->slot_bytes = SLOT_BYTES;
    while (total_bytes(state) > MOST_TOTAL_BYTES && state->slot_count > LEAST_SLOTS)
        state->slot_count /= 2;
    while (total_bytes(state) > MOST_TOTAL_BYTES && state->slot_bytes > LEAST_SLOT_BYTES)
        state->slot_bytes /= 2;
}

uint64_t ronde_p2p_shm_bytes(const struct ronde_comm *comm)
{
    return comm->p2p->local_count > 1 ? total_bytes(comm->p2p) : 0;
}

void ronde_p2p_shm_attach(struct ronde_comm *comm, unsigned char *start)
{
    comm->p2p->rings = comm->p2p->local_count > 1 ? start : NULL;
}

static struct ronde_p2p_flags *flags_of(const struct ronde_p2p_state *state, uint32_t local_rank)
{
    return (struct ronde_p2p_flags *)(void *)state->rings + local_rank;
}

/* A bit per rank of the host: it has written a ring that the rank does not poll yet. */
static uint64_t *new_writers_of(const struct ronde_p2p_state *state, uint32_t local_rank)
{
    unsigned char *first = (unsigned char *)flags_of(state, state->local_count);
    return (uint64_t *)(void *)(first + local_rank * new_writers_bytes(state));
}

static struct ronde_p2p_ring *ring_of(const struct ronde_p2p_state *state, uint32_t reader,
                                      uint32_t writer)
{
    unsigned char *first = (unsigned char *)new_writers_of(state, state->local_count);
    const uint64_t index = (uint64_t)reader * state->local_count + writer;
    return (struct ronde_p2p_ring *)(void *)(first + index * ring_bytes(state));
}

static struct ronde_p2p_slot *slot_of(const struct ronde_p2p_state *state,
                                      struct ronde_p2p_ring *ring, uint64_t count)
{
    unsigned char *slots = (unsigned char *)(ring + 1);
    return (struct ronde_p2p_slot *)(void *)(slots + count % state->slot_count * slot_stride(state));
}

void ronde_p2p_shm_detach(struct ronde_comm *comm)
{
    struct ronde_p2p_state *state = comm->p2p;
    if (!state || !state->rings)
        return;
    __atomic_store_n(&flags_of(state, state->local_rank[comm->rank])->has_left, 1, __ATOMIC_RELEASE);
    state->rings = NULL;
}

void ronde_p2p_shm_add_peer(struct ronde_p2p_peer *peer)
{
    struct ronde_p2p_state *state = peer->state;
    const uint32_t mine = state->local_rank[state->comm->rank];
    const uint32_t theirs = state->local_rank[peer->rank];
    peer->out = ring_of(state, theirs, mine);
    peer->in = ring_of(state, mine, theirs);
    ronde_p2p_list_add(&state->shm_peers, &peer->node);
}

/* A free slot, or NULL. */
static struct ronde_p2p_slot *reserve(struct ronde_p2p_peer *peer)
{
    const uint32_t slots = peer->state->slot_count;
    if (peer->out_count - peer->out_freed >= slots)
        peer->out_freed = __atomic_load_n(&peer->out->freed, __ATOMIC_ACQUIRE);
    return peer->out_count - peer->out_freed < slots
               ? slot_of(peer->state, peer->out, peer->out_count)
               : NULL;
}

/* Makes the reader of a ring poll it from now on. */
static void ask_for_polling(struct ronde_p2p_peer *peer)
{
    const struct ronde_p2p_state *state = peer->state;
    const uint32_t mine = state->local_rank[state->comm->rank];
    const uint32_t theirs = state->local_rank[peer->rank];
    (void)__atomic_fetch_or(new_writers_of(state, theirs) + mine / WORD_BITS,
                            UINT64_C(1) << mine % WORD_BITS, __ATOMIC_RELEASE);
    __atomic_store_n(&flags_of(state, theirs)->has_new_writers, 1, __ATOMIC_RELEASE);
    peer->is_polled = true;
}

/* Publishes a filled slot. */
static void commit(struct ronde_p2p_peer *peer, struct ronde_p2p_slot *slot,
                   enum ronde_p2p_slot_kind kind)
{
    slot->kind = kind;
    __atomic_store_n(&slot->number, ++peer->out_count, __ATOMIC_RELEASE);
    if (!peer->is_polled)
        ask_for_polling(peer);
    peer->has_posted = true;
}

static void put_pair(struct ronde_p2p_slot *slot, const void *first, const void *second)
{
    const struct ronde_p2p_pair pair = {(uint64_t)(uintptr_t)first, (uint64_t)(uintptr_t)second};
    memcpy(slot + 1, &pair, sizeof pair);
}

static struct ronde_p2p_pair get_pair(const struct ronde_p2p_slot *slot)
{
    struct ronde_p2p_pair pair;
    memcpy(&pair, slot + 1, sizeof pair);
    return pair;
}

/* Writes the envelope of a send, with its data if it is eager; false while there is no slot. */
static bool write_send(struct ronde_p2p_peer *peer, struct ronde_p2p *send)
{
    struct ronde_p2p_slot *slot = reserve(peer);
    if (!slot)
        return false;
    ronde_p2p_list_take(&send->node);
    slot->tag = send->status.tag;
    slot->bytes = send->bytes;
    if (send->bytes <= peer->state->slot_bytes && ronde_p2p_may_be_eager(peer, send->bytes)) {
        if (send->bytes > 0)
            memcpy(slot + 1, send->buffer, (size_t)send->bytes);
        commit(peer, slot, RONDE_P2P_SLOT_EAGER);
        ronde_p2p_finish(send);
        return true;
    }
    put_pair(slot, send->buffer, send);
    send->stage = RONDE_P2P_OFFERED;
    commit(peer, slot, RONDE_P2P_SLOT_OFFER);
    return true;
}

/* Writes the next part of a send whose data stream. */
static bool write_part(struct ronde_p2p_peer *peer, struct ronde_p2p *send)
{
    struct ronde_p2p_slot *slot = reserve(peer);
    const uint64_t left = send->bytes - send->moved;
    if (!slot)
        return false;
    slot->tag = send->cookie;
    slot->bytes = left < peer->state->slot_bytes ? left : peer->state->slot_bytes;
    memcpy(slot + 1, send->buffer + send->moved, (size_t)slot->bytes);
    send->moved += slot->bytes;
    /* Streams take turns. */
    ronde_p2p_list_take(&send->node);
    if (send->moved < send->bytes) {
        ronde_p2p_list_add(&peer->streams, &send->node);
    } else {
        peer->state->busy--;
        ronde_p2p_finish(send);
    }
    commit(peer, slot, RONDE_P2P_SLOT_PART);
    return true;
}

/* Writes a control message to the sender of a rendezvous; false while there is no slot. */
static bool write_control(struct ronde_p2p_peer *peer, struct ronde_p2p_message *message)
{
    struct ronde_p2p_slot *slot = reserve(peer);
    if (!slot)
        return false;
    slot->tag = message->arrival.cookie;
    slot->bytes = 0;
    if (message->control == RONDE_P2P_CLEAR)
        put_pair(slot, (void *)(uintptr_t)message->arrival.cookie, message->receive);
    commit(peer, slot,
           message->control == RONDE_P2P_CLEAR ? RONDE_P2P_SLOT_CLEAR : RONDE_P2P_SLOT_FINISHED);
    peer->state->busy--;
    ronde_p2p_drop(peer->state, message);
    return true;
}

/* Writes all that there are slots for: control messages first, then envelopes and parts in turns; wakes the reader. */
static bool write_queued(struct ronde_p2p_peer *peer)
{
    struct ronde_p2p_message *message;
    bool goes_on = true;
    while (goes_on && (message = ronde_p2p_list_first(&peer->controls)) != NULL)
        goes_on = write_control(peer, message);
    while (goes_on) {
        struct ronde_p2p *send = ronde_p2p_list_first(&peer->sends);
        goes_on = send && write_send(peer, send);
        struct ronde_p2p *stream = ronde_p2p_list_first(&peer->streams);
        goes_on |= stream && write_part(peer, stream);
    }
    const bool has_posted = peer->has_posted;
    peer->has_posted = false;
    if (has_posted)
        ronde_shm_wake(peer->state->comm, peer->rank);
    return has_posted;
}

void ronde_p2p_shm_send(struct ronde_p2p *send)
{
    ronde_p2p_list_add(&send->peer->sends, &send->node);
    (void)write_queued(send->peer);
}

void ronde_p2p_shm_return(struct ronde_p2p_peer *peer)
{
    __atomic_store_n(&peer->in->returned, peer->returned, __ATOMIC_RELEASE);
}

uint64_t ronde_p2p_shm_credited(const struct ronde_p2p_peer *peer)
{
    return __atomic_load_n(&peer->out->returned, __ATOMIC_ACQUIRE);
}

/* Queues a control message to the sender of the message a receive was matched with; owns the message from now on. */
static void send_control(struct ronde_p2p *receive, enum ronde_p2p_control control)
{
    struct ronde_p2p_message *message = receive->message;
    receive->message = NULL;
    message->control = control;
    message->receive = receive;
    receive->state->busy++;
    ronde_p2p_list_add(&receive->peer->controls, &message->node);
    (void)write_queued(receive->peer);
}

/* Completes a receive that has read its message, or was cancelled. */
static void finish_reading(struct ronde_p2p *receive)
{
    send_control(receive, RONDE_P2P_FINISHED);
    ronde_p2p_finish(receive);
}

/* Reads the next piece of a message; false once it is over, well or not. */
static bool read_piece(struct ronde_p2p *receive)
{
    const struct ronde_comm *comm = receive->state->comm;
    const struct ronde_p2p_arrival *from = &receive->message->arrival;
    const uint64_t left = from->bytes - receive->moved;
    const struct ronde_offer offer = {(const unsigned char *)from->data + receive->moved,
                                      left < READ_BYTES ? left : READ_BYTES};
    unsigned char *const to = receive->buffer + receive->moved;
    struct ronde_error why = {0};
    const unsigned char *found =
        comm->wire->shared->find(comm, receive->peer->rank, &offer, to, &why);
    if (found && found != to)
        memcpy(to, found, (size_t)offer.bytes);
    if (found)
        receive->moved += offer.bytes;
    if (found && receive->moved < from->bytes)
        return true;
    /* The memory of a rank whose communicator has failed may not contain the message any more. */
    if (found && comm->wire->shared->has_withdrawn(comm, receive->peer->rank))
        (void)ronde_fail(&why, RONDE_DEVICE, "rank %u has given its messages up",
                         receive->peer->rank);
    if (why.status != RONDE_OK)
        ronde_p2p_fail(receive->state, &why);
    else
        finish_reading(receive);
    return false;
}

void ronde_p2p_shm_fetch(struct ronde_p2p *receive)
{
    struct ronde_p2p_state *state = receive->state;
    const struct ronde_p2p_arrival *from = &receive->message->arrival;
    const struct ronde_offer offer = {from->data, from->bytes};
    receive->moved = 0;
    if (receive->status.is_truncated || from->bytes == 0) {
        finish_reading(receive);
    } else if (ronde_shm_can_read(state->comm, receive->peer->rank, &offer)) {
        receive->stage = RONDE_P2P_READING;
        if (read_piece(receive)) {
            state->busy++;
            ronde_p2p_list_add(&state->reading, &receive->node);
        }
    } else {
        receive->stage = RONDE_P2P_STREAMING;
        send_control(receive, RONDE_P2P_CLEAR);
    }
}

void ronde_p2p_shm_cancel(struct ronde_p2p *receive)
{
    if (receive->stage == RONDE_P2P_STREAMING) {
        receive->buffer = NULL;
        return;
    }
    ronde_p2p_list_take(&receive->node);
    receive->state->busy--;
    finish_reading(receive);
}

/* Continues the messages that are being read, in turns. */
static bool read_pieces(struct ronde_p2p_state *state)
{
    struct ronde_p2p *receive = NULL;
    bool has_moved = false;
    for (uint32_t k = 0; k < READS_PER_ROUND && !state->has_failed &&
                         (receive = ronde_p2p_list_first(&state->reading)) != NULL;
         k++) {
        has_moved = true;
        ronde_p2p_list_take(&receive->node);
        if (read_piece(receive))
            ronde_p2p_list_add(&state->reading, &receive->node);
        else
            state->busy--;
    }
    return has_moved;
}

/* The receiver of a send has requested its data. */
static void stream(const struct ronde_p2p_pair *pair)
{
    struct ronde_p2p *send = (struct ronde_p2p *)(uintptr_t)pair->first;
    send->cookie = pair->second;
    send->stage = RONDE_P2P_STREAMING;
    send->state->busy++;
    ronde_p2p_list_add(&send->peer->streams, &send->node);
}

/* The next bytes of a message that streams. */
static void take_part(const struct ronde_p2p_slot *slot)
{
    struct ronde_p2p *receive = (struct ronde_p2p *)(uintptr_t)slot->tag;
    if (receive->buffer)
        memcpy(receive->buffer + receive->moved, slot + 1, (size_t)slot->bytes);
    receive->moved += slot->bytes;
    if (receive->moved == receive->status.bytes)
        ronde_p2p_finish(receive);
}

/* Accepts a slot; false without memory for its contents, which stay there. */
static bool take_slot(struct ronde_p2p_peer *peer, const struct ronde_p2p_slot *slot)
{
    struct ronde_p2p_arrival arrival = {RONDE_P2P_EAGER, peer, slot->tag, slot->bytes, slot + 1, 0};
    const struct ronde_p2p_pair pair = get_pair(slot);
    switch ((enum ronde_p2p_slot_kind)slot->kind) {
    case RONDE_P2P_SLOT_EAGER:
        return ronde_p2p_arrive(peer->state, &arrival);
    case RONDE_P2P_SLOT_OFFER:
        arrival.kind = RONDE_P2P_SHM_OFFER;
        arrival.data = (const void *)(uintptr_t)pair.first;
        arrival.cookie = pair.second;
        return ronde_p2p_arrive(peer->state, &arrival);
    case RONDE_P2P_SLOT_CLEAR:
        stream(&pair);
        break;
    case RONDE_P2P_SLOT_PART:
        take_part(slot);
        break;
    case RONDE_P2P_SLOT_FINISHED:
        ronde_p2p_finish((struct ronde_p2p *)(uintptr_t)slot->tag);
        break;
    }
    return true;
}

/* Publishes which slots are free. A writer that may wait for them, since half of all were not, is woken. */
static void free_slots(struct ronde_p2p_peer *peer)
{
    __atomic_store_n(&peer->in->freed, peer->in_count, __ATOMIC_RELEASE);
    if (peer->in_count - peer->in_woken < peer->state->slot_count / 2)
        return;
    peer->in_woken = peer->in_count;
    ronde_shm_wake(peer->state->comm, peer->rank);
}

/* Accepts what has arrived from a peer, at most all slots once. */
static bool drain(struct ronde_p2p_peer *peer)
{
    const struct ronde_p2p_state *state = peer->state;
    uint32_t taken = 0;
    while (taken < state->slot_count) {
        const struct ronde_p2p_slot *slot = slot_of(state, peer->in, peer->in_count);
        if (__atomic_load_n(&slot->number, __ATOMIC_ACQUIRE) != peer->in_count + 1)
            break;
        if (!take_slot(peer, slot)) {
            struct ronde_error why = {0};
            (void)ronde_fail(&why, RONDE_NO_MEMORY, "no memory for a message of rank %u",
                             peer->rank);
            ronde_p2p_fail(peer->state, &why);
            break;
        }
        peer->in_count++;
        if (++taken % (state->slot_count / 4) == 0)
            free_slots(peer);
    }
    if (taken % (state->slot_count / 4) != 0)
        free_slots(peer);
    return taken > 0;
}

bool ronde_p2p_shm_has_new_writers(const struct ronde_p2p_state *state)
{
    return state->rings &&
           __atomic_load_n(&flags_of(state, state->local_rank[state->comm->rank])->has_new_writers,
                           __ATOMIC_RELAXED) != 0;
}

/* Polls the rings of ranks that have written to this one for the first time. */
static void add_new_writers(struct ronde_p2p_state *state)
{
    const uint32_t mine = state->local_rank[state->comm->rank];
    uint64_t *new_writers = new_writers_of(state, mine);
    (void)__atomic_exchange_n(&flags_of(state, mine)->has_new_writers, 0, __ATOMIC_ACQ_REL);
    for (uint32_t rank = 0; rank < state->comm->ranks; rank++) {
        const uint32_t local_rank = state->local_rank[rank];
        const uint64_t bit = UINT64_C(1) << local_rank % WORD_BITS;
        if (local_rank == RONDE_NONE ||
            (__atomic_load_n(&new_writers[local_rank / WORD_BITS], __ATOMIC_ACQUIRE) & bit) == 0)
            continue;
        struct ronde_error why = {0};
        if (!ronde_p2p_get_peer(state, rank, &why))
            ronde_p2p_fail(state, &why);
    }
}

bool ronde_p2p_shm_round(struct ronde_p2p_state *state)
{
    bool has_moved = false;
    if (ronde_p2p_shm_has_new_writers(state))
        add_new_writers(state);
    struct ronde_p2p_node *next;
    for (struct ronde_p2p_node *at = state->shm_peers.next; at != &state->shm_peers; at = next) {
        struct ronde_p2p_peer *peer = (struct ronde_p2p_peer *)at;
        next = at->next;
        has_moved |= drain(peer);
        has_moved |= write_queued(peer);
    }
    return read_pieces(state) || has_moved;
}

bool ronde_p2p_shm_has_left(const struct ronde_p2p_state *state, uint32_t rank)
{
    return state->rings && __atomic_load_n(&flags_of(state, state->local_rank[rank])->has_left,
                                           __ATOMIC_ACQUIRE) != 0;
}

const struct ronde_p2p_peer *ronde_p2p_shm_lost(const struct ronde_p2p_state *state)
{
    for (const struct ronde_p2p_node *at = state->shm_peers.next; at != &state->shm_peers;
         at = at->next) {
        const struct ronde_p2p_peer *peer = (const struct ronde_p2p_peer *)at;
        if (peer->waiting > 0 && ronde_p2p_shm_has_left(state, peer->rank))
            return peer;
    }
    return NULL;
}
