/* Bridges. See bridge.h. */
#include "hw/cuda/bridge.h"

#include <string.h>

#define ALIGNMENT UINT64_C(128)

/* Whether a device has a bridge to any other. */
static bool is_ashore(const struct ronde_bridges *bridges, uint32_t device)
{
    bool is_any = false;
    for (uint32_t other = 0; other < bridges->count; other++)
        is_any = is_any || bridges->is_bridged[device * bridges->count + other];
    return is_any;
}

/* One way is not enough: data flows one way, counters the other. */
static bool mark_pairs(bool *is_bridged, const bool *strangers, uint32_t stride, uint32_t count)
{
    bool is_any = false;
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t b = 0; b < count; b++) {
            is_bridged[a * count + b] = strangers[a * stride + b] || strangers[b * stride + a];
            is_any = is_any || is_bridged[a * count + b];
        }
    return is_any;
}

enum ronde_status ronde_bridges_init(struct ronde_bridges *bridges, const bool *strangers,
                                     uint32_t stride, uint32_t count, const struct ronde_mem *mem,
                                     const struct ronde_gpu *gpu, struct ronde_error *error)
{
    bridges->mem = mem;
    bridges->gpu = gpu;
    if (!strangers)
        return RONDE_OK;
    bridges->count = count;
    bridges->is_bridged = ronde_mem_new(mem, (size_t)count * count, sizeof *bridges->is_bridged);
    if (bridges->is_bridged && !mark_pairs(bridges->is_bridged, strangers, stride, count))
        return RONDE_OK;
    bridges->bridges = ronde_mem_new(mem, count, sizeof *bridges->bridges);
    bridges->depots = ronde_mem_new(mem, count, sizeof *bridges->depots);
    return bridges->is_bridged && bridges->bridges && bridges->depots
               ? RONDE_OK
               : ronde_fail(error, RONDE_NO_MEMORY, "no memory for bridges between %u devices",
                            count);
}

static void release(const struct ronde_bridges *bridges, struct ronde_pinned *pinned)
{
    if (pinned->block)
        bridges->gpu->unpin(bridges->gpu->self, pinned->block, pinned->bytes);
    ronde_mem_free(bridges->mem, pinned->block, pinned->bytes, 1);
    *pinned = (struct ronde_pinned){NULL, NULL, 0};
}

/* Makes room for so many bytes, all zero where they are new. */
static enum ronde_status reserve(const struct ronde_bridges *bridges, struct ronde_pinned *pinned,
                                 uint64_t bytes, struct ronde_error *error)
{
    const uint64_t whole = bytes + ALIGNMENT;
    if (pinned->block && whole <= pinned->bytes)
        return RONDE_OK;
    release(bridges, pinned);
    unsigned char *block = ronde_mem_new(bridges->mem, (size_t)whole, 1);
    if (!block)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a bridge of %llu bytes",
                          (unsigned long long)bytes);
    const enum ronde_status status = bridges->gpu->pin(bridges->gpu->self, block, whole, error);
    if (status != RONDE_OK) {
        ronde_mem_free(bridges->mem, block, (size_t)whole, 1);
        return status;
    }
    const uintptr_t start = ((uintptr_t)block + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *pinned = (struct ronde_pinned){block, (unsigned char *)start, whole};
    return RONDE_OK;
}

/* Old flags would be taken for new ones where lines begin elsewhere, or counters start again (part.c). */
static void clear_lines(struct ronde_bridge *bridge, const struct ronde_frame *frame,
                        bool is_abandoned)
{
    const struct ronde_pinned *lines = &bridge->boxes[1];
    if (is_abandoned)
        bridge->lines_depth = 0;
    if (!frame->has_lines ||
        (bridge->lines_stride == frame->slot_stride && bridge->lines_depth == frame->depth))
        return;
    memset(lines->start, 0, lines->bytes - ALIGNMENT);
    bridge->lines_stride = frame->slot_stride;
    bridge->lines_depth = frame->depth;
}

static enum ronde_status prepare(const struct ronde_bridges *bridges, uint32_t device,
                                 const struct ronde_cuda_part *part, struct ronde_error *error)
{
    struct ronde_bridge *bridge = &bridges->bridges[device];
    const struct ronde_frame *frame = &part->loaded->frame;
    const uint64_t counter_bytes = (part->connections + 1) * sizeof(struct ronde_fifo);
    enum ronde_status status = reserve(bridges, &bridge->counters, counter_bytes, error);
    if (status == RONDE_OK)
        status = reserve(bridges, &bridge->boxes[frame->has_lines],
                         ronde_box_length(frame) * part->received + 1, error);
    if (status != RONDE_OK)
        return status;
    if (bridges->is_abandoned)
        memset(bridge->counters.start, 0, counter_bytes);
    clear_lines(bridge, frame, bridges->is_abandoned);
    bridges->depots[device] = (struct ronde_depot){bridge->counters.start, bridge->boxes[0].start,
                                                   bridge->boxes[1].start, part->first_number};
    return RONDE_OK;
}

enum ronde_status ronde_bridges_prepare(struct ronde_bridges *bridges,
                                        const struct ronde_cuda_part *parts,
                                        struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t d = 0; ronde_bridges_exist(bridges) && d < bridges->count && status == RONDE_OK;
         d++)
        if (is_ashore(bridges, d))
            status = prepare(bridges, d, &parts[d], error);
    bridges->is_abandoned = bridges->is_abandoned && status != RONDE_OK;
    return status;
}

void ronde_bridges_fini(struct ronde_bridges *bridges)
{
    for (uint32_t d = 0; bridges->bridges && d < bridges->count; d++) {
        release(bridges, &bridges->bridges[d].counters);
        release(bridges, &bridges->bridges[d].boxes[0]);
        release(bridges, &bridges->bridges[d].boxes[1]);
    }
    if (!bridges->mem)
        return;
    const size_t count = bridges->count;
    ronde_mem_free(bridges->mem, bridges->is_bridged, count * count, sizeof *bridges->is_bridged);
    ronde_mem_free(bridges->mem, bridges->bridges, count, sizeof *bridges->bridges);
    ronde_mem_free(bridges->mem, bridges->depots, count, sizeof *bridges->depots);
}
