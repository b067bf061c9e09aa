/* Writing into other processes' memory. See push.h. */
#include "hw/comm/push.h"

#include "hw/comm/boxes.h"
#include "hw/comm/reach.h"

/* Receivers of a rank that pushes: what it has to know of each takes as much memory as its own part. */
#define MOST_NEIGHBOURS 64u

/* From this share of a chunk on messages are pushed where the launch leaves it open; see hw/README.md. */
#define PUSH_FROM_BYTES 1024u

/*
 * A rank's welcome to a run. One is enough: a sender looks at it only in a step whose message the receiver takes before it
 * ends that run, and begins another.
 */
struct ronde_welcome {
    uint64_t sequence;                 /* atomic, written last: of the run; 0 = of none so far */
    uint64_t digest;                   /* of the rank's card, whatever it offers */
    uint64_t base[RONDE_BUFFER_COUNT]; /* where it has each buffer; 0 = nowhere */
    uint64_t is_in_place;
    uint64_t padding[10]; /* up to two cache lines */
};

_Static_assert(sizeof(struct ronde_welcome) == 128, "a welcome fills a pair of cache lines");

/* A receiver as its sender sees it. */
struct ronde_stand_in {
    struct ronde_loaded *loaded; /* the receiver's part of the schedule; NULL for who receives nothing here */
    uint64_t sequence;           /* of the last run that it welcomed */
    bool is_reached;             /* and whether its memory could be mapped */
};

/* Lanes of the ranks before one. */
static uint64_t lanes_before(const struct ronde_schedule *schedule, uint32_t end)
{
    uint64_t count = 0;
    for (uint32_t rank = 0; rank < end; rank++)
        for (uint32_t channel = 0; channel < schedule->channel_count; channel++)
            count += ronde_view_open(schedule, channel, rank).program->lane_count;
    return count;
}

uint64_t ronde_push_bytes(const struct ronde_schedule *schedule)
{
    return schedule->ranks * sizeof(struct ronde_welcome) +
           lanes_before(schedule, schedule->ranks) * sizeof(struct ronde_counter);
}

/*
 * Whether ranks send each other sums that are then kept as they are, as all_reduces do: their owner writes them anyway. Of
 * a collective with a root some ranks only send, and had better be ahead of the others than wait for what they are shown.
 */
static bool has_results(const struct ronde_schedule *schedule)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(schedule->collective);
    const uint32_t sends = 1u << RONDE_STEP_RRS | 1u << RONDE_STEP_RRCS;
    const uint32_t keeps = 1u << RONDE_STEP_RECV | 1u << RONDE_STEP_RCS;
    uint32_t ops = 0;
    for (uint32_t p = 0; p < schedule->program_count; p++)
        for (uint32_t s = 0; s < schedule->programs[p].step_count; s++)
            ops |= 1u << schedule->programs[p].steps[s].op;
    return traits->reduces && !traits->has_root && (ops & sends) != 0 && (ops & keeps) != 0;
}

/* Lets the lanes of a rank's part count where all ranks see it. */
static void place_progress(const struct ronde_push *push, struct ronde_loaded *part)
{
    const struct ronde_schedule *schedule = part->schedule;
    struct ronde_counter *counters =
        (struct ronde_counter *)(void *)(push->welcomes + schedule->ranks);
    part->progress = counters + lanes_before(schedule, part->first_rank);
    for (uint32_t t = 0; t < part->task_count; t++)
        part->tasks[t].progress = part->progress + part->tasks[t].first_lane;
}

void ronde_push_open(struct ronde_comm_program *program, unsigned char *start,
                     const struct ronde_boxes *boxes, struct ronde_reach *reach)
{
    struct ronde_push *push = &program->push;
    push->welcomes = (struct ronde_welcome *)(void *)start;
    push->boxes = boxes;
    push->reach = reach;
    push->has_results = has_results(program->loaded->schedule);
    place_progress(push, program->loaded);
}

void ronde_push_settle(const struct ronde_comm_program *program, const struct ronde_launch *launch,
                       struct ronde_habits *io_habits)
{
    const bool can_push =
        program->push.welcomes && !program->drive && program->neighbour_count <= MOST_NEIGHBOURS;
    /* Where ranks share processors whoever reads finds in the cache what has just been written: nothing is saved. */
    const bool pays = program->push.has_results && !program->comm->is_crowded;
    if (io_habits->farthest != RONDE_PROTOCOL_PUSH)
        return;
    if (!can_push || (launch->protocol == RONDE_PROTOCOL_AUTO && !pays)) {
        io_habits->farthest = RONDE_PROTOCOL_PULL;
        return;
    }
    io_habits->pull_from_bytes[0] = PUSH_FROM_BYTES;
    io_habits->pull_from_bytes[1] = PUSH_FROM_BYTES;
}

/* Loads a neighbour's part, and joins it to the neighbour's own connections and counters. */
static enum ronde_status make_stand_in(const struct ronde_comm_program *program, uint32_t rank,
                                       struct ronde_stand_in *out, struct ronde_error *error)
{
    const struct ronde_comm *comm = program->comm;
    const struct ronde_loaded *own = program->loaded;
    const enum ronde_status status =
        ronde_loaded_create_rank(own->schedule, rank, comm->mem, &out->loaded, error);
    if (status != RONDE_OK)
        return status;
    struct ronde_loaded *part = out->loaded;
    ronde_boxes_place(program->push.boxes, program, part);
    place_progress(&program->push, part);
    for (uint64_t e = 0; e < part->end_count; e++)
        part->ends[e].is_copied =
            part->ports[e].peer != RONDE_NONE && !ronde_comm_is_near(comm, part->ports[e].peer);
    for (uint32_t t = 0; t < part->task_count; t++)
        part->tasks[t].parts = own->tasks[t].parts;
    return RONDE_OK;
}

/* The other ends of what this rank sends inside its host. */
static enum ronde_status find_twins(struct ronde_comm_program *program, struct ronde_error *error)
{
    const struct ronde_loaded *own = program->loaded;
    struct ronde_push *push = &program->push;
    for (uint64_t e = 0; e < own->end_count; e++) {
        const struct ronde_port *port = &own->ports[e];
        const struct ronde_neighbour *at = program->neighbour_of[e];
        if (!at || !port->is_send || !ronde_comm_is_near(program->comm, at->rank))
            continue;
        struct ronde_stand_in *receiver = &push->stand_ins[at - program->neighbours];
        if (!receiver->loaded) {
            const enum ronde_status status = make_stand_in(program, at->rank, receiver, error);
            if (status != RONDE_OK)
                return status;
        }
        push->twins[e] = (struct ronde_twin){&receiver->loaded->tasks[port->channel], port->number};
    }
    return RONDE_OK;
}

static enum ronde_status make_stand_ins(struct ronde_comm_program *program,
                                        struct ronde_error *error)
{
    const struct ronde_mem *mem = program->comm->mem;
    const struct ronde_loaded *own = program->loaded;
    struct ronde_push *push = &program->push;
    push->stand_ins = ronde_mem_new(mem, program->neighbour_count, sizeof *push->stand_ins);
    push->twins = ronde_mem_new(mem, own->end_count, sizeof *push->twins);
    const enum ronde_status status =
        push->stand_ins && push->twins
            ? find_twins(program, error)
            : ronde_fail(error, RONDE_NO_MEMORY, "no memory to push to %u ranks",
                         program->neighbour_count);
    if (status != RONDE_OK) {
        ronde_push_close(program);
        return status;
    }
    for (uint32_t t = 0; t < own->task_count; t++)
        own->tasks[t].twins = push->twins + (own->tasks[t].ends - own->ends);
    return RONDE_OK;
}

enum ronde_status ronde_push_prepare(struct ronde_comm_program *program, struct ronde_error *error)
{
    struct ronde_frame *frame = &program->loaded->frame;
    /* Who keeps copies waits for nobody, and may have gone on to other runs. */
    frame->pushes = frame->pushes && !frame->keeps;
    if (!frame->pushes)
        return RONDE_OK;
    struct ronde_card card = program->card;
    card.offers = 0;
    program->push.digest = ronde_card_digest(&card);
    return program->push.twins ? RONDE_OK : make_stand_ins(program, error);
}

void ronde_push_welcome(const struct ronde_comm_program *program)
{
    const struct ronde_loaded *own = program->loaded;
    if (!own->frame.pushes)
        return;
    struct ronde_welcome *welcome = &program->push.welcomes[program->comm->rank];
    welcome->digest = program->push.digest;
    welcome->is_in_place = own->frame.is_in_place;
    for (unsigned buffer = 0; buffer < RONDE_BUFFER_COUNT; buffer++)
        welcome->base[buffer] = (uint64_t)(uintptr_t)own->tasks[0].base[buffer];
    __atomic_store_n(&welcome->sequence, program->card.sequence, __ATOMIC_RELEASE);
}

/* Bytes of a buffer of a rank's part, scratch included: as much of its heap as may be written. */
static uint64_t buffer_bytes(const struct ronde_loaded *part, enum ronde_buffer buffer)
{
    const struct ronde_schedule *schedule = part->schedule;
    const struct ronde_frame *frame = &part->frame;
    uint64_t bytes = 0;
    for (uint32_t t = 0; buffer == RONDE_SCRATCH && t < part->task_count; t++)
        bytes += part->tasks[t].chunks[RONDE_SCRATCH] * part->tasks[t].scratch_stride;
    if (buffer == RONDE_SCRATCH)
        return bytes;
    const uint32_t blocks =
        buffer == RONDE_IN ? ronde_collective_in_blocks(schedule->collective, schedule->ranks)
                           : ronde_collective_out_blocks(schedule->collective, schedule->ranks);
    return blocks * frame->count * frame->element_bytes;
}

/* Points a stand-in at one of the receiver's buffers; false if that cannot be mapped. */
static bool point_at(struct ronde_reach *reach, struct ronde_loaded *part, enum ronde_buffer buffer,
                     uint64_t theirs)
{
    const uint64_t bytes = theirs ? buffer_bytes(part, buffer) : 0;
    unsigned char *start =
        bytes > 0 ? ronde_reach_place(reach, part->first_rank, theirs, bytes) : NULL;
    if (bytes > 0 && !start)
        return false;
    for (uint32_t t = 0; t < part->task_count; t++) {
        struct ronde_task *task = &part->tasks[t];
        task->base[buffer] = start;
        if (buffer == RONDE_SCRATCH && start)
            start += task->chunks[buffer] * task->scratch_stride;
    }
    return true;
}

/* Sees a stand-in's run with the receiver's eyes. */
static bool reach_receiver(const struct ronde_comm_program *program,
                           const struct ronde_welcome *welcome, struct ronde_loaded *part)
{
    const struct ronde_loaded *own = program->loaded;
    bool is_reached = true;
    part->frame = own->frame;
    part->frame.is_in_place = welcome->is_in_place != 0;
    for (uint32_t t = 0; t < part->task_count; t++)
        part->tasks[t].scratch_stride = own->tasks[t].scratch_stride;
    for (unsigned buffer = 0; buffer < RONDE_BUFFER_COUNT; buffer++)
        is_reached &=
            point_at(program->push.reach, part, (enum ronde_buffer)buffer, welcome->base[buffer]);
    return is_reached;
}

/* Whether a receiver has begun the run this rank is in, and welcomes it. */
static bool is_welcome(const struct ronde_comm_program *program, struct ronde_stand_in *receiver)
{
    const struct ronde_push *push = &program->push;
    if (receiver->sequence == program->card.sequence)
        return receiver->is_reached;
    const struct ronde_welcome *welcome = &push->welcomes[receiver->loaded->first_rank];
    if (__atomic_load_n(&welcome->sequence, __ATOMIC_ACQUIRE) != program->card.sequence ||
        welcome->digest != push->digest)
        return false;
    receiver->sequence = program->card.sequence;
    receiver->is_reached = reach_receiver(program, welcome, receiver->loaded);
    return receiver->is_reached;
}

const struct ronde_twin *ronde_push_twin(const struct ronde_act *act)
{
    const struct ronde_task *task = act->lane->task;
    const struct ronde_comm_program *program = task->frame->driver;
    const uint64_t end = (uint64_t)(&task->ends[act->step->send] - program->loaded->ends);
    const struct ronde_twin *twin = &program->push.twins[end];
    if (!twin->task)
        return NULL;
    const struct ronde_neighbour *at = program->neighbour_of[end];
    return is_welcome(program, &program->push.stand_ins[at - program->neighbours]) ? twin : NULL;
}

const unsigned char *ronde_push_seen(const struct ronde_act *act, const struct ronde_offer *offer)
{
    const struct ronde_task *task = act->lane->task;
    const struct ronde_comm_program *program = task->frame->driver;
    const uint64_t end = (uint64_t)(&task->ends[act->step->receive] - program->loaded->ends);
    const uint32_t rank = program->loaded->ports[end].peer;
    return ronde_window_find(&program->push.reach->others[rank].window, offer->start, offer->bytes);
}

void ronde_push_close(struct ronde_comm_program *program)
{
    const struct ronde_mem *mem = program->comm->mem;
    struct ronde_push *push = &program->push;
    for (uint32_t n = 0; push->stand_ins && n < program->neighbour_count; n++)
        ronde_loaded_destroy(push->stand_ins[n].loaded);
    ronde_mem_free(mem, push->stand_ins, program->neighbour_count, sizeof *push->stand_ins);
    if (program->loaded)
        ronde_mem_free(mem, push->twins, program->loaded->end_count, sizeof *push->twins);
    push->stand_ins = NULL;
    push->twins = NULL;
}
