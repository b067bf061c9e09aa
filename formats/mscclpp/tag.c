/* Tags of the messages that a matched plan becomes. See plan.h. */
#include "plan.h"

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
static enum ronde_status give_tag(struct mscclpp_plan *plan, struct ronde_list *streams, uint32_t at)
{
    uint32_t sent, received, tags = 0;
    struct stream *all = streams->items;
    if (!ends_of(plan, at, &sent, &received))
        return RONDE_OK;
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
        return RONDE_OK;
    }
    struct stream *added = ronde_list_push(plan->mem, streams, sizeof *added);
    if (!added)
        return mscclpp_fail_memory(plan);
    *added = (struct stream){from->rank, from->tb, to->rank, to->tb, tags, sent, received};
    mscclpp_act_at(plan, at)->tag = tags;
    return RONDE_OK;
}

enum ronde_status mscclpp_give_tags(struct mscclpp_plan *plan)
{
    struct ronde_list streams = {NULL, 0, 0};
    enum ronde_status status = RONDE_OK;
    for (uint32_t a = 0; a < plan->acts.count && status == RONDE_OK; a++)
        status = give_tag(plan, &streams, a);
    ronde_list_free(plan->mem, &streams, sizeof(struct stream));
    return status;
}
