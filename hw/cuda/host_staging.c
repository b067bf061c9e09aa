/* Connections staged in memory of the host. See program.h. */
#include "hw/cuda/program.h"

#include "hw/page.h"

#include <string.h>

/* Whether connections between a device and any other are staged in the host. */
static bool has_host_staging(const struct ronde_host_stagings *stagings, uint32_t device)
{
    bool is_any = false;
    for (uint32_t other = 0; other < stagings->count; other++)
        is_any = is_any || stagings->is_host_staged[device * stagings->count + other];
    return is_any;
}

/* Access in one direction is not enough: data flows one way, counters the other. */
static bool mark_pairs(bool *is_host_staged, const bool *unreachable, uint32_t stride,
                       uint32_t count)
{
    bool is_any = false;
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t b = 0; b < count; b++) {
            is_host_staged[a * count + b] =
                unreachable[a * stride + b] || unreachable[b * stride + a];
            is_any = is_any || is_host_staged[a * count + b];
        }
    return is_any;
}

enum ronde_status ronde_host_stagings_init(struct ronde_host_stagings *stagings,
                                           const bool *unreachable, uint32_t stride, uint32_t count,
                                           const struct ronde_mem *mem, const struct ronde_gpu *gpu,
                                           struct ronde_error *error)
{
    stagings->mem = mem;
    stagings->gpu = gpu;
    if (!unreachable)
        return RONDE_OK;
    stagings->count = count;
    stagings->is_host_staged =
        ronde_mem_new(mem, (size_t)count * count, sizeof *stagings->is_host_staged);
    if (stagings->is_host_staged && !mark_pairs(stagings->is_host_staged, unreachable, stride, count))
        return RONDE_OK;
    stagings->stagings = ronde_mem_new(mem, count, sizeof *stagings->stagings);
    stagings->fifos = ronde_mem_new(mem, count, sizeof *stagings->fifos);
    return stagings->is_host_staged && stagings->stagings && stagings->fifos
               ? RONDE_OK
               : ronde_fail(error, RONDE_NO_MEMORY, "no memory for bridges between %u devices",
                            count);
}

static void release(const struct ronde_host_stagings *stagings, struct ronde_pinned *pinned)
{
    if (pinned->block)
        stagings->gpu->unpin(stagings->gpu->self, pinned->start, pinned->bytes);
    ronde_mem_free(stagings->mem, pinned->block, (size_t)(pinned->bytes + ronde_page_bytes()), 1);
    *pinned = (struct ronde_pinned){NULL, NULL, 0};
}

/* Allocates so many pinned bytes, zeroed when new. */
static enum ronde_status reserve(const struct ronde_host_stagings *stagings,
                                 struct ronde_pinned *pinned, uint64_t bytes,
                                 struct ronde_error *error)
{
    const uint64_t whole = ronde_page_up(bytes);
    const size_t with_rest = (size_t)(whole + ronde_page_bytes());
    if (pinned->block && whole <= pinned->bytes)
        return RONDE_OK;
    release(stagings, pinned);
    unsigned char *block = ronde_mem_new(stagings->mem, with_rest, 1);
    if (!block)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a bridge of %llu bytes",
                          (unsigned long long)bytes);
    unsigned char *const start = ronde_page_in(block);
    const enum ronde_status status = stagings->gpu->pin(stagings->gpu->self, start, whole, error);
    if (status != RONDE_OK) {
        ronde_mem_free(stagings->mem, block, with_rest, 1);
        return status;
    }
    *pinned = (struct ronde_pinned){block, start, whole};
    return RONDE_OK;
}

/* Old flags would match new messages where lines begin elsewhere, or counters restart (device_program.c). */
static void clear_lines(struct ronde_host_staging *staging, const struct ronde_frame *frame,
                        bool is_abandoned)
{
    const struct ronde_pinned *lines = &staging->regions[1];
    if (is_abandoned)
        staging->lines_depth = 0;
    if (!frame->has_lines ||
        (staging->lines_stride == frame->slot_stride && staging->lines_depth == frame->depth))
        return;
    memset(lines->start, 0, lines->bytes);
    staging->lines_stride = frame->slot_stride;
    staging->lines_depth = frame->depth;
}

static enum ronde_status prepare(const struct ronde_host_stagings *stagings, uint32_t device,
                                 const struct ronde_device_program *part, struct ronde_error *error)
{
    struct ronde_host_staging *staging = &stagings->stagings[device];
    const struct ronde_frame *frame = &part->loaded->frame;
    const uint64_t counter_bytes = (part->connections + 1) * sizeof(struct ronde_fifo);
    RONDE_TRY(reserve(stagings, &staging->counters, counter_bytes, error));
    RONDE_TRY(reserve(stagings, &staging->regions[frame->has_lines],
                      ronde_shm_region_length(frame) * part->received + 1, error));
    if (stagings->is_abandoned)
        memset(staging->counters.start, 0, counter_bytes);
    clear_lines(staging, frame, stagings->is_abandoned);
    stagings->fifos[device] =
        (struct ronde_remote_fifos){staging->counters.start, staging->regions[0].start,
                                    staging->regions[1].start, part->first_number};
    return RONDE_OK;
}

enum ronde_status ronde_host_stagings_prepare(struct ronde_host_stagings *stagings,
                                              const struct ronde_device_program *parts,
                                              struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t d = 0;
         ronde_host_stagings_exist(stagings) && d < stagings->count && status == RONDE_OK; d++)
        if (has_host_staging(stagings, d))
            status = prepare(stagings, d, &parts[d], error);
    stagings->is_abandoned = stagings->is_abandoned && status != RONDE_OK;
    return status;
}

void ronde_host_stagings_fini(struct ronde_host_stagings *stagings)
{
    for (uint32_t d = 0; stagings->stagings && d < stagings->count; d++) {
        release(stagings, &stagings->stagings[d].counters);
        release(stagings, &stagings->stagings[d].regions[0]);
        release(stagings, &stagings->stagings[d].regions[1]);
    }
    if (!stagings->mem)
        return;
    const size_t count = stagings->count;
    ronde_mem_free(stagings->mem, stagings->is_host_staged, count * count,
                   sizeof *stagings->is_host_staged);
    ronde_mem_free(stagings->mem, stagings->stagings, count, sizeof *stagings->stagings);
    ronde_mem_free(stagings->mem, stagings->fifos, count, sizeof *stagings->fifos);
}
