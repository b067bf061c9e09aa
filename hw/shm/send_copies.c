/* Copies of what is sent. See comm_parts.h. */
#include "hw/comm/comm_parts.h"

#include <string.h>

/*
 * Copies of a run, for whoever runs ahead. Every reader reads them within a few runs, so all should stay in the
 * second-level cache together with what they are read into.
 */
#define RUN_BYTES ((uint64_t)1 << 16)

/*
 * Memory of a rank: a few MiB, which its readers may be behind in a longer message, and with many ranks what their runs
 * take. Only what is used takes pages.
 */
#define AREA_BYTES ((uint64_t)1 << 22)
#define LEAST_AREA_BYTES (RUN_BYTES * RONDE_SEND_COPY_RUNS)
#define ALL_AREAS_BYTES ((uint64_t)1 << 26)

/* Fewer pieces are not worth holding: who copies would wait for each reader of each piece. */
#define LEAST_PIECES 4u

static uint64_t area_bytes(const struct ronde_comm *comm)
{
    const uint64_t share = ALL_AREAS_BYTES / comm->ranks / LEAST_AREA_BYTES * LEAST_AREA_BYTES;
    const uint64_t most = share < AREA_BYTES ? share : AREA_BYTES;
    return most > LEAST_AREA_BYTES ? most : LEAST_AREA_BYTES;
}

/*
 * Ranks that only send gain by running ahead, unless others must wait to combine what they send. Where all ranks send to
 * each other they wait for one another in every run anyway.
 */
uint64_t ronde_send_copies_bytes(const struct ronde_comm *comm,
                                 const struct ronde_schedule *schedule)
{
    const bool has_copies = comm->is_oversubscribed && comm->transport == RONDE_TRANSPORT_SHM &&
                            schedule->traffic.has_pure_senders && !schedule->traffic.reduces;
    return has_copies ? comm->ranks * area_bytes(comm) : 0;
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

/* Numbers the copies of a task and counts their readers; returns how many copies there are. */
static uint32_t number_copies(const struct ronde_program *program, uint32_t *copies,
                              uint32_t *readers)
{
    uint32_t count = 0;
    uint32_t maker = 0;
    for (uint32_t lane = 0; lane < program->lane_count; lane++) {
        const uint32_t first = program->lane_first[lane];
        for (uint32_t step = first; step < program->lane_first[lane + 1]; step++) {
            if (!is_offered(&program->steps[step]))
                continue;
            const bool is_shared = shares_copy(program, step, first);
            count += !is_shared;
            copies[step] = 2 * (count - 1) + !is_shared;
            maker = is_shared ? maker : step;
            readers[maker]++;
        }
    }
    return count;
}

/* Whether no connection carries two messages in a piece, so that its counters count pieces. */
static bool sends_once(const struct ronde_program *program)
{
    uint32_t sends = 0;
    uint32_t ends = 0;
    for (uint32_t step = 0; step < program->step_count; step++)
        sends += ronde_op_is_in(program->steps[step].op, RONDE_OPS_THAT_SEND);
    for (uint32_t c = 0; c < program->connection_count; c++)
        ends += program->connections[c].is_send;
    return sends == ends;
}

/* Whether several readers share a copy of some task, and pieces can be held in all. */
static bool has_shared_copies(const struct ronde_loaded *loaded,
                              const struct ronde_send_copies *send_copies)
{
    bool is_shared = false;
    for (uint32_t task = 0; task < loaded->task_count; task++) {
        const struct ronde_program *program = loaded->tasks[task].view.program;
        if (!sends_once(program))
            return false;
        for (uint32_t step = 0; step < program->step_count; step++)
            is_shared |= send_copies->readers[(size_t)task * send_copies->pitch + step] > 1;
    }
    return is_shared;
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
    const size_t entries = (size_t)loaded->task_count * send_copies->pitch;
    send_copies->copies = ronde_mem_new(program->comm->mem, entries, sizeof *send_copies->copies);
    send_copies->readers = ronde_mem_new(program->comm->mem, entries, sizeof *send_copies->readers);
    if (!send_copies->copies || !send_copies->readers)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the copies of %u tasks",
                          loaded->task_count);
    for (uint32_t task = 0; task < loaded->task_count; task++) {
        const size_t first = (size_t)task * send_copies->pitch;
        const uint32_t count =
            number_copies(loaded->tasks[task].view.program, send_copies->copies + first,
                          send_copies->readers + first);
        send_copies->most = count > send_copies->most ? count : send_copies->most;
    }
    send_copies->is_shared = has_shared_copies(loaded, send_copies);
    send_copies->areas = areas;
    return RONDE_OK;
}

void ronde_send_copies_close(struct ronde_comm_program *program)
{
    struct ronde_send_copies *send_copies = &program->send_copies;
    const size_t count =
        program->loaded ? (size_t)program->loaded->task_count * send_copies->pitch : 0;
    ronde_mem_free(program->comm->mem, send_copies->copies, count, sizeof *send_copies->copies);
    ronde_mem_free(program->comm->mem, send_copies->readers, count, sizeof *send_copies->readers);
    *send_copies = (struct ronde_send_copies){0};
}

/* Bytes of the copies of a whole run; 0 if they do not fit into the memory of one. */
static uint64_t bytes_of_run(const struct ronde_comm_program *program)
{
    const struct ronde_frame *frame = &program->loaded->frame;
    const uint64_t copies = (uint64_t)program->loaded->task_count * program->send_copies.most;
    if (frame->piece_count > RUN_BYTES || frame->slot_stride > RUN_BYTES / (copies + !copies) ||
        frame->piece_count * frame->slot_stride * copies > RUN_BYTES)
        return 0;
    return frame->piece_count * frame->slot_stride * (copies + !copies);
}

/* Pieces whose copies can be held: no more than a connection has slots. 0: none, or what is sent is read in place. */
static uint32_t pieces_held(const struct ronde_comm_program *program)
{
    const struct ronde_frame *frame = &program->loaded->frame;
    const uint64_t copies = (uint64_t)program->loaded->task_count * program->send_copies.most;
    const uint64_t area = area_bytes(program->comm);
    if (!program->send_copies.is_shared || frame->no_pull != 0 || frame->piece_count == 0 ||
        frame->slot_stride > area / LEAST_PIECES / copies)
        return 0;
    const uint64_t fit = area / (frame->slot_stride * copies);
    return (uint32_t)(fit < frame->depth ? fit : frame->depth);
}

void ronde_send_copies_undo(struct ronde_comm_program *program)
{
    struct ronde_frame *frame = &program->loaded->frame;
    if (frame->copies_sends)
        frame->no_pull = program->send_copies.no_pull;
    frame->copies_sends = false;
}

bool ronde_send_copies_choose(struct ronde_comm_program *program, const struct ronde_launch *launch)
{
    struct ronde_send_copies *send_copies = &program->send_copies;
    struct ronde_loaded *loaded = program->loaded;
    struct ronde_frame *frame = &loaded->frame;
    if (!send_copies->areas || program->has_eager || program->drive ||
        launch->protocol != RONDE_PROTOCOL_AUTO)
        return false;
    uint64_t bytes = bytes_of_run(program);
    const uint32_t pieces = bytes > 0 ? 0 : pieces_held(program);
    if (pieces > 0)
        bytes = (uint64_t)loaded->task_count * send_copies->most * frame->slot_stride;
    if (bytes == 0)
        return false;
    const bool is_other = send_copies->run_bytes != bytes || send_copies->pieces != pieces;
    frame->copies_sends = true;
    send_copies->no_pull = frame->no_pull;
    frame->no_pull = ronde_loaded_buffered(loaded, frame->is_in_place);
    send_copies->run_bytes = bytes;
    send_copies->pieces = pieces;
    return is_other;
}

bool ronde_send_copies_may_copy(const struct ronde_comm_program *program,
                                const struct ronde_lane *lane)
{
    const struct ronde_send_copies *send_copies = &program->send_copies;
    const struct ronde_task *task = lane->task;
    const size_t first = (size_t)(task - program->loaded->tasks) * send_copies->pitch;
    if (send_copies->pieces == 0 || lane->piece == task->frame->piece_count)
        return true;
    for (uint32_t k = 0; k < send_copies->readers[first + lane->step]; k++) {
        struct ronde_end *end = &task->ends[task->view.program->steps[lane->step + k].send];
        if (end->count - end->seen >= send_copies->pieces)
            end->seen = RONDE_ACQUIRE(task->frame, end->theirs);
        if (end->count - end->seen >= send_copies->pieces)
            return false;
    }
    return true;
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
    const struct ronde_frame *frame = task->frame;
    const uint64_t index = (uint64_t)(task - program->loaded->tasks);
    const uint64_t area = program->comm->rank * area_bytes(program->comm);
    /* Pieces of all runs are numbered on, as the messages of each connection are. */
    const uint64_t piece = send_copies->pieces > 0
                               ? (frame->first_piece + act->lane->piece) % send_copies->pieces
                               : act->lane->piece;
    const uint64_t pieces = send_copies->pieces > 0 ? send_copies->pieces : frame->piece_count;
    const uint64_t run = send_copies->pieces > 0 ? 0 : send_copies->run * send_copies->run_bytes;
    return area + run + ((index * pieces + piece) * send_copies->most + copy) * frame->slot_stride +
           act->moved;
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
