/*
 * What belongs together in a plan: signals and waits, puts and fetches and these, packets and who reads them first,
 * barriers and semaphores. See plan.h.
 *
 * MSCCL++ has no messages: a rank writes into a peer's memory, and a signal later says so. What ronde calls a message
 * is a put and the wait that the first signal behind it ends: the n-th signal of a channel ends the n-th wait at its
 * other end. A plan has an order within a threadblock alone, so a channel that several threadblocks signal or wait on
 * has no n-th: refused, as is a wait whose signal nobody gives.
 */
#include "plan.h"

#include <inttypes.h>

/* Acts of one threadblock; [first, end). */
struct extent {
    uint32_t first, end;
};

static struct extent extent_of(const struct mscclpp_plan *plan, const struct mscclpp_act *act)
{
    const struct mscclpp_tb *tb = mscclpp_tb_at(plan, act->rank, act->tb);
    return (struct extent){tb->first_act, tb->first_act + tb->act_count};
}

/* Acts of a rank. */
static struct extent extent_of_rank(const struct mscclpp_plan *plan, uint32_t rank)
{
    const struct mscclpp_gpu *gpu = mscclpp_gpu_at(plan, rank);
    if (gpu->tb_count == 0)
        return (struct extent){0, 0};
    const struct mscclpp_tb *last = mscclpp_tb_at(plan, rank, gpu->tb_count - 1);
    return (struct extent){mscclpp_tb_at(plan, rank, 0)->first_act,
                           last->first_act + last->act_count};
}

uint32_t mscclpp_same_barrier(const struct mscclpp_plan *plan, uint32_t at, uint32_t tb)
{
    const struct mscclpp_act *barrier = mscclpp_act_at(plan, at);
    const struct extent own = extent_of(plan, barrier);
    const struct mscclpp_tb *other = mscclpp_tb_at(plan, barrier->rank, tb);
    uint32_t before = 0;
    for (uint32_t a = own.first; a < at; a++) {
        const struct mscclpp_act *act = mscclpp_act_at(plan, a);
        before += act->kind == MSCCLPP_BARRIER && act->channel == barrier->channel;
    }
    for (uint32_t a = other->first_act; a < other->first_act + other->act_count; a++) {
        const struct mscclpp_act *act = mscclpp_act_at(plan, a);
        if (act->kind == MSCCLPP_BARRIER && act->channel == barrier->channel && before-- == 0)
            return a;
    }
    return RONDE_NONE;
}

/* --- signals --------------------------------------------------------------------------------- */

/* Ends of one channel: both ranks count those between them alike. */
static bool is_other_end(const struct mscclpp_act *signal, const struct mscclpp_act *wait)
{
    return wait->kind == MSCCLPP_WAIT && wait->peer == signal->rank && signal->peer == wait->rank &&
           wait->channel == signal->channel && wait->channel_type == signal->channel_type;
}

static bool is_same_channel(const struct mscclpp_act *a, const struct mscclpp_act *b)
{
    return a->kind == b->kind && a->rank == b->rank && a->peer == b->peer &&
           a->channel == b->channel && a->channel_type == b->channel_type;
}

/* The n-th signal of a channel and the n-th wait at its other end. */
static bool match_signal(struct mscclpp_plan *plan, uint32_t at)
{
    struct mscclpp_act *signal = mscclpp_act_at(plan, at);
    const struct extent own = extent_of_rank(plan, signal->rank);
    const struct extent other = extent_of_rank(plan, signal->peer);
    uint32_t before = 0;
    for (uint32_t a = own.first; a < at; a++) {
        const struct mscclpp_act *act = mscclpp_act_at(plan, a);
        before += is_same_channel(act, signal);
        if (is_same_channel(act, signal) && act->tb != signal->tb)
            return mscclpp_fail(plan, RONDE_UNSUPPORTED, signal,
                                "threadblock %" PRIu32
                                " signals on this channel too, in no order that the plan says",
                                act->tb);
    }
    uint32_t tb = RONDE_NONE;
    for (uint32_t a = other.first; a < other.end; a++) {
        struct mscclpp_act *wait = mscclpp_act_at(plan, a);
        if (!is_other_end(signal, wait))
            continue;
        if (tb != RONDE_NONE && tb != wait->tb)
            return mscclpp_fail(plan, RONDE_UNSUPPORTED, wait,
                                "threadblock %" PRIu32
                                " waits on this channel too, in no order that the plan says",
                                tb);
        tb = wait->tb;
        if (before-- == 0) {
            signal->partner = a;
            wait->partner = at;
            return true;
        }
    }
    return true;
}

static bool match_signals(struct mscclpp_plan *plan)
{
    for (uint32_t a = 0; a < plan->acts.count; a++)
        if (mscclpp_act_at(plan, a)->kind == MSCCLPP_SIGNAL && !match_signal(plan, a))
            return false;
    for (uint32_t a = 0; a < plan->acts.count; a++) {
        const struct mscclpp_act *act = mscclpp_act_at(plan, a);
        if (act->kind == MSCCLPP_WAIT && act->partner == RONDE_NONE)
            return mscclpp_fail(plan, RONDE_REJECTED, act,
                                "cycle: waits for a signal of gpu %" PRIu32 " that is never given",
                                act->peer);
    }
    return true;
}

/* --- data ------------------------------------------------------------------------------------ */

/* The wait at the receiver for the first signal behind a put. */
static bool match_put(struct mscclpp_plan *plan, uint32_t at)
{
    struct mscclpp_act *put = mscclpp_act_at(plan, at);
    const struct extent own = extent_of(plan, put);
    for (uint32_t a = at + 1; a < own.end; a++) {
        const struct mscclpp_act *signal = mscclpp_act_at(plan, a);
        if (signal->kind != MSCCLPP_SIGNAL || signal->peer != put->peer ||
            signal->partner == RONDE_NONE)
            continue;
        put->partner = signal->partner;
        return true;
    }
    return mscclpp_fail(plan, RONDE_UNSUPPORTED, put,
                        "no signal of this threadblock behind the put tells gpu %" PRIu32
                        " that the data has come",
                        put->peer);
}

/* The signal at the peer that the last wait before a fetch waits for. */
static bool match_fetch(struct mscclpp_plan *plan, uint32_t at)
{
    struct mscclpp_act *fetch = mscclpp_act_at(plan, at);
    const struct extent own = extent_of(plan, fetch);
    for (uint32_t a = at; a-- > own.first;) {
        const struct mscclpp_act *wait = mscclpp_act_at(plan, a);
        if (wait->kind == MSCCLPP_WAIT && wait->peer == fetch->peer) {
            fetch->partner = wait->partner;
            return true;
        }
    }
    return mscclpp_fail(plan, RONDE_UNSUPPORTED, fetch,
                        "no wait of this threadblock before the read says that the data of gpu "
                        "%" PRIu32 " is there",
                        fetch->peer);
}

/* --- packets --------------------------------------------------------------------------------- */

/* Packets are sent once into a place, whose first reader is where they are received. */
static bool match_packet(struct mscclpp_plan *plan, uint32_t at)
{
    struct mscclpp_act *put = mscclpp_act_at(plan, at);
    const struct extent there = extent_of_rank(plan, put->peer);
    if (put->target.buffer != RONDE_SCRATCH)
        return mscclpp_fail(plan, RONDE_BAD_INPUT, put, "packets go into scratch");
    for (uint32_t a = 0; a < at; a++) {
        const struct mscclpp_act *other = mscclpp_act_at(plan, a);
        if (other->kind == MSCCLPP_PUT_PACKET && other->peer == put->peer &&
            mscclpp_overlaps(&other->target, &put->target))
            return mscclpp_fail(plan, RONDE_UNSUPPORTED, put,
                                "packets come twice to s[%" PRIu32 "] of gpu %" PRIu32
                                ": which a reader waits for is not said",
                                put->target.first, put->peer);
    }
    for (uint32_t a = there.first; a < there.end; a++) {
        const struct mscclpp_act *reader = mscclpp_act_at(plan, a);
        if (reader->kind == MSCCLPP_READ_PACKET && mscclpp_overlaps(&reader->source, &put->target)) {
            put->partner = a;
            return true;
        }
    }
    if (put->rank == put->peer)
        return true;
    return mscclpp_fail(plan, RONDE_UNSUPPORTED, put, "nobody reads these packets");
}

/* Everything that is read as packets has come as such. */
static bool check_reader(const struct mscclpp_plan *plan, const struct mscclpp_act *reader)
{
    uint32_t come = 0;
    for (uint32_t a = 0; a < plan->acts.count; a++) {
        const struct mscclpp_act *put = mscclpp_act_at(plan, a);
        if (put->kind != MSCCLPP_PUT_PACKET || put->peer != reader->rank ||
            !mscclpp_overlaps(&put->target, &reader->source))
            continue;
        const uint32_t first =
            put->target.first > reader->source.first ? put->target.first : reader->source.first;
        const uint32_t put_end = put->target.first + put->target.count;
        const uint32_t end = reader->source.first + reader->source.count;
        come += (put_end < end ? put_end : end) - first;
    }
    if (come < reader->source.count)
        return mscclpp_fail(plan, RONDE_REJECTED, reader,
                            "cycle: waits for packets in s[%" PRIu32 "+%" PRIu32
                            "], of which some never come",
                            reader->source.first, reader->source.count);
    return true;
}

/* --- semaphores ------------------------------------------------------------------------------ */

/* The n-th acquire needs the n-th release, not counting what the semaphore holds at first. */
static bool match_acquire(struct mscclpp_plan *plan, uint32_t at)
{
    struct mscclpp_act *acquire = mscclpp_act_at(plan, at);
    const struct mscclpp_gpu *gpu = mscclpp_gpu_at(plan, acquire->rank);
    const struct extent own = extent_of_rank(plan, acquire->rank);
    uint32_t before = 0, tb = RONDE_NONE;
    if (acquire->channel >= gpu->semaphore_count)
        return mscclpp_fail(plan, RONDE_BAD_INPUT, acquire, "semaphore %" PRIu32 " of %" PRIu32,
                            acquire->channel, gpu->semaphore_count);
    const int32_t held =
        ((const int32_t *)plan->semaphores.items)[gpu->first_semaphore + acquire->channel];
    for (uint32_t a = own.first; a < own.end; a++) {
        const struct mscclpp_act *act = mscclpp_act_at(plan, a);
        if (act->channel != acquire->channel || act->kind != MSCCLPP_ACQUIRE)
            continue;
        if (act->tb != acquire->tb)
            return mscclpp_fail(plan, RONDE_UNSUPPORTED, acquire,
                                "threadblock %" PRIu32 " acquires this semaphore too", act->tb);
        before += a < at;
    }
    if (before < (uint32_t)held)
        return true;
    before -= (uint32_t)held;
    for (uint32_t a = own.first; a < own.end; a++) {
        const struct mscclpp_act *act = mscclpp_act_at(plan, a);
        if (act->channel != acquire->channel || act->kind != MSCCLPP_RELEASE)
            continue;
        if (tb != RONDE_NONE && tb != act->tb)
            return mscclpp_fail(plan, RONDE_UNSUPPORTED, act,
                                "threadblock %" PRIu32 " releases this semaphore too", tb);
        tb = act->tb;
        if (before-- == 0) {
            acquire->partner = a;
            return true;
        }
    }
    return mscclpp_fail(plan, RONDE_REJECTED, acquire,
                        "cycle: acquires semaphore %" PRIu32 " more often than it is released",
                        acquire->channel);
}

/* --- tags of the messages --------------------------------------------------------------------- */

/* A FIFO of messages between two threadblocks. */
struct stream {
    uint32_t from, from_tb, to, to_tb, tag;
    uint32_t last_sent, last_received; /* acts */
};

/* Where a message leaves and where it arrives. */
static bool ends_of(const struct mscclpp_plan *plan, uint32_t at, uint32_t *out_sent,
                    uint32_t *out_received)
{
    const struct mscclpp_act *act = mscclpp_act_at(plan, at);
    const bool is_put =
        act->kind == MSCCLPP_PUT || (act->kind == MSCCLPP_PUT_PACKET && act->peer != act->rank);
    const bool is_fetch = act->kind == MSCCLPP_FETCH || act->kind == MSCCLPP_FETCH_REDUCE;
    *out_sent = is_put ? at : act->partner;
    *out_received = is_put ? act->partner : at;
    return is_put || is_fetch;
}

/* Messages share a tag as long as they arrive in the order in which they are sent. */
static bool give_tag(struct mscclpp_plan *plan, struct ronde_list *streams, uint32_t at)
{
    uint32_t sent, received, tags = 0;
    struct stream *all = streams->items;
    if (!ends_of(plan, at, &sent, &received))
        return true;
    const struct mscclpp_act *from = mscclpp_act_at(plan, sent);
    const struct mscclpp_act *to = mscclpp_act_at(plan, received);
    for (uint32_t s = 0; s < streams->count; s++) {
        struct stream *stream = &all[s];
        if (stream->from != from->rank || stream->to != to->rank)
            continue;
        tags++;
        if (stream->from_tb != from->tb || stream->to_tb != to->tb || stream->last_sent > sent ||
            stream->last_received > received)
            continue;
        stream->last_sent = sent;
        stream->last_received = received;
        mscclpp_act_at(plan, at)->tag = stream->tag;
        return true;
    }
    const struct stream added = {from->rank, from->tb, to->rank, to->tb, tags, sent, received};
    mscclpp_act_at(plan, at)->tag = tags;
    return ronde_list_append(plan->mem, streams, &added, sizeof added) || mscclpp_fail_memory(plan);
}

static bool give_tags(struct mscclpp_plan *plan)
{
    struct ronde_list streams = {NULL, 0, 0};
    bool has_memory = true;
    for (uint32_t a = 0; a < plan->acts.count && has_memory; a++)
        has_memory = give_tag(plan, &streams, a);
    ronde_list_free(plan->mem, &streams, sizeof(struct stream));
    return has_memory;
}

/* --- the whole ------------------------------------------------------------------------------- */

static bool check_bounds(const struct mscclpp_plan *plan, const struct mscclpp_act *act,
                         uint32_t rank, const struct mscclpp_span *span)
{
    static const char letters[] = "ios";
    const uint32_t chunks = mscclpp_gpu_at(plan, rank)->chunks[span->buffer];
    if (span->first <= chunks && span->count <= chunks - span->first)
        return true;
    return mscclpp_fail(plan, RONDE_REJECTED, act,
                        "bounds: %c[%" PRIu32 "+%" PRIu32 "] of %" PRIu32 " chunks of gpu %" PRIu32,
                        letters[span->buffer], span->first, span->count, chunks, rank);
}

static bool check_act(const struct mscclpp_plan *plan, const struct mscclpp_act *act)
{
    return check_bounds(plan, act, mscclpp_source_rank(act), &act->source) &&
           check_bounds(plan, act, mscclpp_target_rank(act), &act->target) &&
           check_bounds(plan, act, act->rank, &act->with);
}

static bool match_act(struct mscclpp_plan *plan, uint32_t at)
{
    const struct mscclpp_act *act = mscclpp_act_at(plan, at);
    switch (act->kind) {
    case MSCCLPP_PUT:
        return match_put(plan, at);
    case MSCCLPP_FETCH:
    case MSCCLPP_FETCH_REDUCE:
        return match_fetch(plan, at);
    case MSCCLPP_PUT_PACKET:
        return match_packet(plan, at);
    case MSCCLPP_READ_PACKET:
        return check_reader(plan, act);
    case MSCCLPP_ACQUIRE:
        return match_acquire(plan, at);
    default:
        return true;
    }
}

bool mscclpp_match(struct mscclpp_plan *plan)
{
    for (uint32_t a = 0; a < plan->acts.count; a++)
        if (!check_act(plan, mscclpp_act_at(plan, a)))
            return false;
    if (!match_signals(plan))
        return false;
    for (uint32_t a = 0; a < plan->acts.count; a++)
        if (!match_act(plan, a))
            return false;
    return give_tags(plan);
}
