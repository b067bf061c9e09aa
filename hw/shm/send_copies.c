/* Copies of what is sent. See send_copies.h. */
#include "hw/shm/send_copies.h"

#include "hw/comm/comm.h"

#include <string.h>

/*
 * Memory of a rank for the copies of all its runs. Every reader reads them within a few runs, so they should stay in the
 * second-level cache together with what they are read into; longer messages are read faster in place.
 */
#define AREA_BYTES ((uint64_t)1 << 19)
#define RUN_BYTES (AREA_BYTES / RONDE_SEND_COPY_RUNS)

/*
 * Ranks that only send gain by running ahead, unless others must wait to combine what they send. Where all ranks send to
 * each other they wait for one another in every run anyway.
 */
uint64_t ronde_send_copies_bytes(const struct ronde_comm *comm,
                                 const struct ronde_schedule *schedule)
{
    const bool has_copies = comm->is_oversubscribed && comm->transport == RONDE_TRANSPORT_SHM &&
                            schedule->traffic.has_pure_senders && !schedule->traffic.reduces;
    return has_copies ? comm->ranks * AREA_BYTES : 0;
}

/* Sends that may be offered, whatever the placement: those that lowering has not marked as to be buffered. */
static bool is_offered(const struct ronde_step *step)
{
    const uint32_t buffered = RONDE_FLAG_BUFFERED | RONDE_FLAG_BUFFERED_IN_PLACE;
    const int offers =
        (RONDE_OPS_THAT_SEND_SOURCE | RONDE_OPS_THAT_SEND_KEPT) & ~RONDE_OPS_THAT_REDUCE;
    return ronde_op_is_in(step->op, offers) && step->chunk_count > 0 &&
           (step->flags & buffered) == 0;
}

static bool is_same_source(const struct ronde_step *a, const struct ronde_step *b)
{
    return ronde_op_is_in(a->op, RONDE_OPS_THAT_SEND_SOURCE) &&
           ronde_op_is_in(b->op, RONDE_OPS_THAT_SEND_SOURCE) && a->source == b->source &&
           a->source_chunk == b->source_chunk && a->chunk_count == b->chunk_count &&
           (a->flags & RONDE_FLAG_SOURCE_RANGE) == (b->flags & RONDE_FLAG_SOURCE_RANGE);
}

/*
 * Whether a send offers the copy of the send just before it in its lane: nothing happens to an operand between two steps
 * in a row, unless the later one has a dependency.
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

enum ronde_status ronde_send_copies_open(struct ronde_comm_program *program, unsigned char *areas,
                                         struct ronde_error *error)
{
    const struct ronde_loaded *loaded = program->loaded;
    struct ronde_send_copies *send_copies = &program->send_copies;
    if (!areas)
        return RONDE_OK;
    for (uint32_t task = 0; task < loaded->task_count; task++) {
        const uint32_t steps = loaded->tasks[task].view.program->step_count;
        send_copies->pitch = steps > send_copies->pitch ? steps : send_copies->pitch;
    }
    send_copies->copies =
        ronde_mem_new(program->comm->mem, (size_t)loaded->task_count * send_copies->pitch,
                      sizeof *send_copies->copies);
    if (!send_copies->copies)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the copies of %u tasks",
                          loaded->task_count);
    for (uint32_t task = 0; task < loaded->task_count; task++) {
        const uint32_t count =
            number_copies(loaded->tasks[task].view.program,
                          send_copies->copies + (size_t)task * send_copies->pitch);
        send_copies->most = count > send_copies->most ? count : send_copies->most;
    }
    send_copies->areas = areas;
    return RONDE_OK;
}

void ronde_send_copies_close(struct ronde_comm_program *program)
{
    struct ronde_send_copies *send_copies = &program->send_copies;
    const size_t count =
        program->loaded ? (size_t)program->loaded->task_count * send_copies->pitch : 0;
    ronde_mem_free(program->comm->mem, send_copies->copies, count, sizeof *send_copies->copies);
    *send_copies = (struct ronde_send_copies){0};
}

bool ronde_send_copies_choose(struct ronde_comm_program *program, const struct ronde_launch *launch)
{
    struct ronde_send_copies *send_copies = &program->send_copies;
    struct ronde_loaded *loaded = program->loaded;
    struct ronde_frame *frame = &loaded->frame;
    const uint64_t copies = (uint64_t)loaded->task_count * send_copies->most;
    frame->copies_sends = false;
    if (!send_copies->areas || program->has_eager || program->drive ||
        launch->protocol != RONDE_PROTOCOL_AUTO || frame->piece_count > RUN_BYTES ||
        frame->slot_stride > RUN_BYTES / (copies + !copies) ||
        frame->piece_count * frame->slot_stride * copies > RUN_BYTES)
        return false;
    const uint64_t run_bytes = frame->piece_count * frame->slot_stride * copies;
    const bool is_other = send_copies->run_bytes != run_bytes;
    frame->copies_sends = true;
    frame->no_pull = ronde_loaded_buffered(loaded, frame->is_in_place);
    send_copies->run_bytes = run_bytes;
    return is_other;
}

void ronde_send_copies_next_run(struct ronde_comm_program *program)
{
    struct ronde_send_copies *send_copies = &program->send_copies;
    send_copies->run =
        (send_copies->run + program->loaded->frame.copies_sends) % RONDE_SEND_COPY_RUNS;
}

/* Where a copy begins: an offset from the areas of all ranks, which are mapped elsewhere in every process. */
static uint64_t place_of(const struct ronde_comm_program *program, const struct ronde_act *act,
                         uint32_t copy)
{
    const struct ronde_send_copies *send_copies = &program->send_copies;
    const struct ronde_task *task = act->lane->task;
    const uint64_t index = (uint64_t)(task - program->loaded->tasks);
    const uint64_t piece = index * task->frame->piece_count + act->lane->piece;
    return program->comm->rank * AREA_BYTES + send_copies->run * send_copies->run_bytes +
           (piece * send_copies->most + copy) * task->frame->slot_stride + act->moved;
}

const unsigned char *ronde_send_copies_copy(const struct ronde_act *act, const unsigned char *start,
                                            uint64_t bytes)
{
    const struct ronde_task *task = act->lane->task;
    const struct ronde_comm_program *program = task->frame->driver;
    const struct ronde_send_copies *send_copies = &program->send_copies;
    const size_t index = (size_t)(task - program->loaded->tasks) * send_copies->pitch +
                         (size_t)(act->step - task->view.program->steps);
    const uint32_t entry = send_copies->copies[index];
    const uint64_t place = place_of(program, act, entry / 2);
    if (entry % 2 != 0 && bytes > 0)
        memcpy(send_copies->areas + place, start, (size_t)bytes);
    return (const unsigned char *)(uintptr_t)(RONDE_SEND_COPY_BIT | place);
}
