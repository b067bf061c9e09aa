/* Copies of what is sent. See keep.h. */
#include "hw/comm/keep.h"

#include "hw/comm/comm.h"

#include <string.h>

/*
 * Room of a rank for the copies of all its runs. Every reader reads them within a few runs, so they should stay in a
 * cache of the second level together with what is read into; what is longer is read faster where it lies.
 */
#define ROOM_BYTES ((uint64_t)1 << 19)
#define RUN_BYTES (ROOM_BYTES / RONDE_KEEP_RUNS)

/*
 * Where there is a root and nothing is reduced some ranks only send, and gain by being ahead. Where all ranks send to each
 * other they wait for one another in every run anyway.
 */
uint64_t ronde_keep_bytes(const struct ronde_comm *comm, const struct ronde_schedule *schedule)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(schedule->collective);
    const bool is_kept = comm->is_crowded && comm->transport == RONDE_TRANSPORT_PROC &&
                         traits->has_root && !traits->reduces;
    return is_kept ? comm->ranks * ROOM_BYTES : 0;
}

/* Sends that may be offered, whatever the placement: those that lowering lets no reader hold up. */
static bool is_offered(const struct ronde_step *step)
{
    const uint32_t buffered = RONDE_FLAG_BUFFERED | RONDE_FLAG_BUFFERED_IN_PLACE;
    const bool keeps_data = step->op == RONDE_STEP_SEND || step->op == RONDE_STEP_RCS;
    return keeps_data && step->chunk_count > 0 && (step->flags & buffered) == 0;
}

static bool is_same_source(const struct ronde_step *a, const struct ronde_step *b)
{
    return a->op == RONDE_STEP_SEND && b->op == RONDE_STEP_SEND && a->source == b->source &&
           a->source_chunk == b->source_chunk && a->chunk_count == b->chunk_count &&
           (a->flags & RONDE_FLAG_SOURCE_RANGE) == (b->flags & RONDE_FLAG_SOURCE_RANGE);
}

/*
 * Whether a send offers the copy of the send just before it in its lane: nothing happens to an operand between two steps
 * in a row, unless the later one waits for somebody.
 */
static bool shares_copy(const struct ronde_program *program, uint32_t step, uint32_t first)
{
    const struct ronde_step *at = &program->steps[step];
    return step > first && at->dependency_count == 0 && is_offered(at - 1) &&
           is_same_source(at - 1, at);
}

/* Numbers the copies of a task; returns how many there are. */
static uint32_t number_copies(const struct ronde_program *program, uint32_t *copies)
{
    uint32_t count = 0;
    for (uint32_t lane = 0; lane < program->lane_count; lane++) {
        const uint32_t first = program->lane_first[lane];
        for (uint32_t step = first; step < program->lane_first[lane + 1]; step++) {
            if (!is_offered(&program->steps[step]))
                continue;
            const bool is_shared = shares_copy(program, step, first);
            count += !is_shared;
            copies[step] = 2 * (count - 1) + !is_shared;
        }
    }
    return count;
}

enum ronde_status ronde_keep_open(struct ronde_comm_program *program, unsigned char *rooms,
                                  struct ronde_error *error)
{
    const struct ronde_loaded *loaded = program->loaded;
    struct ronde_keep *keep = &program->keep;
    if (!rooms)
        return RONDE_OK;
    for (uint32_t task = 0; task < loaded->task_count; task++) {
        const uint32_t steps = loaded->tasks[task].view.program->step_count;
        keep->pitch = steps > keep->pitch ? steps : keep->pitch;
    }
    keep->copies = ronde_mem_new(program->comm->mem, (size_t)loaded->task_count * keep->pitch,
                                 sizeof *keep->copies);
    if (!keep->copies)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the copies of %u tasks",
                          loaded->task_count);
    for (uint32_t task = 0; task < loaded->task_count; task++) {
        const uint32_t count = number_copies(loaded->tasks[task].view.program,
                                             keep->copies + (size_t)task * keep->pitch);
        keep->most = count > keep->most ? count : keep->most;
    }
    keep->rooms = rooms;
    return RONDE_OK;
}

void ronde_keep_close(struct ronde_comm_program *program)
{
    struct ronde_keep *keep = &program->keep;
    const size_t count = program->loaded ? (size_t)program->loaded->task_count * keep->pitch : 0;
    ronde_mem_free(program->comm->mem, keep->copies, count, sizeof *keep->copies);
    *keep = (struct ronde_keep){0};
}

bool ronde_keep_choose(struct ronde_comm_program *program, const struct ronde_launch *launch)
{
    struct ronde_keep *keep = &program->keep;
    struct ronde_loaded *loaded = program->loaded;
    struct ronde_frame *frame = &loaded->frame;
    const uint64_t copies = (uint64_t)loaded->task_count * keep->most;
    frame->keeps = false;
    if (!keep->rooms || program->has_letters || program->drive ||
        launch->protocol != RONDE_PROTOCOL_AUTO || frame->piece_count > RUN_BYTES ||
        frame->slot_stride > RUN_BYTES / (copies + !copies) ||
        frame->piece_count * frame->slot_stride * copies > RUN_BYTES)
        return false;
    const uint64_t run_bytes = frame->piece_count * frame->slot_stride * copies;
    const bool is_other = keep->run_bytes != run_bytes;
    frame->keeps = true;
    frame->no_pull = ronde_loaded_buffered(loaded, frame->is_in_place);
    keep->run_bytes = run_bytes;
    return is_other;
}

void ronde_keep_turn(struct ronde_comm_program *program)
{
    struct ronde_keep *keep = &program->keep;
    keep->run = (keep->run + program->loaded->frame.keeps) % RONDE_KEEP_RUNS;
}

/* Where a copy begins: counted from the rooms of all ranks, which begin elsewhere in every process. */
static uint64_t place_of(const struct ronde_comm_program *program, const struct ronde_act *act,
                         uint32_t copy)
{
    const struct ronde_keep *keep = &program->keep;
    const struct ronde_task *task = act->lane->task;
    const uint64_t index = (uint64_t)(task - program->loaded->tasks);
    const uint64_t piece = index * task->frame->piece_count + act->lane->piece;
    return program->comm->rank * ROOM_BYTES + keep->run * keep->run_bytes +
           (piece * keep->most + copy) * task->frame->slot_stride + act->moved;
}

const unsigned char *ronde_keep_copy(const struct ronde_act *act, const unsigned char *start,
                                     uint64_t bytes)
{
    const struct ronde_task *task = act->lane->task;
    const struct ronde_comm_program *program = task->frame->driver;
    const struct ronde_keep *keep = &program->keep;
    const size_t index = (size_t)(task - program->loaded->tasks) * keep->pitch +
                         (size_t)(act->step - task->view.program->steps);
    const uint32_t entry = keep->copies[index];
    const uint64_t place = place_of(program, act, entry / 2);
    if (entry % 2 != 0 && bytes > 0)
        memcpy(keep->rooms + place, start, (size_t)bytes);
    return (const unsigned char *)(uintptr_t)(RONDE_KEPT_BIT | place);
}
