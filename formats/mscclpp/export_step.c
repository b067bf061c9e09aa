/* Steps of a threadblock as operations of an MSCCL++ plan. See export.h. */
#include "export.h"

#include <inttypes.h>

struct plan_link *mscclpp_link_at(const struct plan_exporter *exporter, uint32_t i)
{
    return (struct plan_link *)exporter->links.items + i;
}

/* A local place; the scratch of a message is one. */
struct plan_place {
    uint8_t buffer;
    uint32_t first;
};

static void put_op(struct plan_exporter *exporter, const char *name)
{
    ronde_text_put(&exporter->out, "%s\n            {\"name\": \"%s\"",
                   exporter->ops > 0 ? "," : "", name);
    exporter->ops++;
}

static void end_op(struct plan_exporter *exporter)
{
    ronde_text_put(&exporter->out, "}");
}

static void put_plain(struct plan_exporter *exporter, const char *name)
{
    put_op(exporter, name);
    end_op(exporter);
}

static void put_channel(struct plan_exporter *exporter, const char *name, uint32_t channel)
{
    put_op(exporter, name);
    ronde_text_put(&exporter->out, ", \"channel_ids\": [%" PRIu32 "], \"channel_type\": \"memory\"",
                   channel);
    end_op(exporter);
}

static void put_semaphore(struct plan_exporter *exporter, const char *name, uint32_t semaphore)
{
    put_op(exporter, name);
    ronde_text_put(&exporter->out, ", \"semaphore_ids\": [%" PRIu32 "]", semaphore);
    end_op(exporter);
}

static void put_place(struct plan_exporter *exporter, const struct plan_place *place, uint32_t count)
{
    static const char letters[] = "ios";
    ronde_text_put(&exporter->out,
                   "{\"type\": \"%c\", \"index\": %" PRIu32 ", \"size\": %" PRIu32 "}",
                   letters[place->buffer], place->first, count);
}

/* Sources, a local destination unless there is none, and the peer's scratch where it is sent on. */
static void put_move(struct plan_exporter *exporter, const char *name,
                     const struct plan_place *const *sources, const struct plan_place *target,
                     uint32_t remote, uint32_t count)
{
    put_op(exporter, name);
    ronde_text_put(&exporter->out, ", \"src_buff\": [");
    put_place(exporter, sources[0], count);
    if (sources[1]) {
        ronde_text_put(&exporter->out, ", ");
        put_place(exporter, sources[1], count);
    }
    ronde_text_put(&exporter->out, "], \"dst_buff\": [");
    if (target)
        put_place(exporter, target, count);
    if (remote != RONDE_NONE)
        ronde_text_put(&exporter->out,
                       "%s{\"buffer_id\": 0, \"index\": %" PRIu32 ", \"size\": %" PRIu32
                       "}], \"channel_ids\": [0], \"channel_type\": \"memory\"",
                       target ? ", " : "", remote, count);
    else
        ronde_text_put(&exporter->out, "]");
    if (sources[1])
        ronde_text_put(&exporter->out, ", \"reduce_op\": \"sum\"");
    end_op(exporter);
}

/* Where a threadblock is in its channels. */
struct plan_walk {
    const struct msccl_tb *tb;
    uint32_t sent, received; /* next places in scratch: the peer's, the own */
    uint32_t receive_channel;
};

/* One step: the message is waited for, used, and what is sent on is signalled. */
static void put_step(struct plan_exporter *exporter, struct plan_walk *walk,
                     const struct msccl_step *step)
{
    const struct msccl_op_row *row = &msccl_ops[step->op];
    const struct plan_place message = {RONDE_SCRATCH, walk->received};
    const struct plan_place source = {step->src, (uint32_t)step->srcoff};
    const struct plan_place target = {step->dst, (uint32_t)step->dstoff};
    const uint32_t remote = row->sends ? walk->sent : RONDE_NONE;
    const struct plan_place *const copied[] = {row->receives ? &message : &source, NULL};
    const struct plan_place *const combined[] = {step->op == MSCCL_RE ? &target : &source,
                                                 step->op == MSCCL_RE ? &source : &message};
    const bool reduces = step->op == MSCCL_RE || (row->receives && row->reads);
    if (row->receives)
        put_channel(exporter, "wait", walk->receive_channel);
    put_plain(exporter, "nop");
    if (reduces)
        put_move(exporter, row->sends ? "res" : "re", combined, row->writes ? &target : &message,
                 remote, step->cnt);
    else if (row->writes)
        put_move(exporter, "copy", copied, &target, RONDE_NONE, step->cnt);
    if (!reduces && row->sends)
        put_move(exporter, "put", copied, NULL, remote, step->cnt);
    if (row->sends) {
        put_plain(exporter, "nop");
        put_channel(exporter, "signal", 0);
    }
    walk->sent += row->sends ? step->cnt : 0;
    walk->received += row->receives ? step->cnt : 0;
}

/* --- dependencies ---------------------------------------------------------------------------- */

/* Number of the semaphore of a step that waits for another threadblock's; or how many there are. */
uint32_t mscclpp_semaphore_of(const struct msccl_algo *algo, const struct msccl_gpu *gpu,
                              uint32_t tb, uint32_t step)
{
    uint32_t number = 0;
    for (uint32_t t = 0; t < gpu->tb_count; t++)
        for (uint32_t s = 0; s < msccl_tb_at(algo, gpu, t)->step_count; s++) {
            if (t == tb && s == step)
                return number;
            number += msccl_step_at(algo, msccl_tb_at(algo, gpu, t), s)->depid >= 0;
        }
    return number;
}

/* Releases what waits for this step. */
static void put_releases(struct plan_exporter *exporter, const struct msccl_gpu *gpu, uint32_t tb,
                         uint32_t step)
{
    const struct msccl_algo *algo = exporter->algo;
    bool is_first = true;
    for (uint32_t t = 0; t < gpu->tb_count; t++)
        for (uint32_t s = 0; s < msccl_tb_at(algo, gpu, t)->step_count; s++) {
            const struct msccl_step *other = msccl_step_at(algo, msccl_tb_at(algo, gpu, t), s);
            if (other->depid != (int32_t)tb || other->deps != (int32_t)step)
                continue;
            if (is_first)
                put_plain(exporter, "nop");
            is_first = false;
            put_semaphore(exporter, "sem_release", mscclpp_semaphore_of(algo, gpu, t, s));
        }
}

void mscclpp_put_ops(struct plan_exporter *exporter, const struct msccl_gpu *gpu,
                     const struct msccl_tb *tb, uint32_t send_link, uint32_t receive_link)
{
    const struct msccl_algo *algo = exporter->algo;
    struct plan_walk walk = {.tb = tb, .receive_channel = send_link != RONDE_NONE};
    exporter->ops = 0;
    if (send_link != RONDE_NONE)
        walk.sent = mscclpp_link_at(exporter, send_link)->first_slot;
    if (receive_link != RONDE_NONE) {
        walk.received = mscclpp_link_at(exporter, receive_link)->first_slot;
        put_channel(exporter, "rlxsignal", walk.receive_channel);
    }
    if (send_link != RONDE_NONE)
        put_channel(exporter, "rlxwait", 0);
    for (uint32_t s = 0; s < tb->step_count; s++) {
        const struct msccl_step *step = msccl_step_at(algo, tb, s);
        if (step->depid >= 0)
            put_semaphore(exporter, "sem_acquire", mscclpp_semaphore_of(algo, gpu, tb->id, s));
        if (step->op != MSCCL_NOP)
            put_step(exporter, &walk, step);
        put_releases(exporter, gpu, tb->id, s);
    }
}
