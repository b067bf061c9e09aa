/* Writing into other processes' memory. See direct_write.h. */
#include "hw/shm/direct_write.h"

#include "hw/shm/layout.h"
#include "hw/shm/remote_read.h"

/* Receivers of a rank that pushes: its replica of each takes as much memory as its own part. */
#define MOST_RECEIVERS 64u

/* From this share of a chunk on messages are pushed where the launch leaves it open; see hw/README.md. */
#define PUSH_FROM_BYTES 1024u

/*
 * Where a rank's buffers are in a run, as it publishes them to its senders. One record is enough: a sender reads it only in
 * a step whose message the receiver takes before it ends that run and begins another.
 */
struct ronde_published_buffers {
    uint64_t sequence;                 /* atomic, written last: of the run; 0 = of none so far */
    uint64_t digest;                   /* of the rank's handshake record, with offers = 0 */
    uint64_t base[RONDE_BUFFER_COUNT]; /* where it has each buffer; 0 = nowhere */
    uint64_t is_in_place;
    uint64_t padding[10]; /* up to two cache lines */
};

_Static_assert(sizeof(struct ronde_published_buffers) == 128,
               "published buffers fill a pair of cache lines");

/* A receiver's part of the program, loaded once more by its sender. */
struct ronde_receiver_replica {
    struct ronde_loaded
        *loaded; /* the receiver's part of the schedule; NULL: receives nothing from this rank */
    uint64_t sequence; /* of the last run whose buffers were read */
    bool is_mapped;    /* and whether its memory could be mapped */
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

uint64_t ronde_direct_write_bytes(const struct ronde_schedule *schedule)
{
    return schedule->ranks * sizeof(struct ronde_published_buffers) +
           lanes_before(schedule, schedule->ranks) * sizeof(struct ronde_counter);
}

/*
 * Whether ranks send each other sums that are then stored as they are, as all_reduces do: their owner writes them anyway. A
 * rank without output of its own gains more by running ahead of the others than by waiting for their published buffers.
 */
static bool has_results(const struct ronde_schedule *schedule)
{
    const struct ronde_traffic *traffic = &schedule->traffic;
    return traffic->sends_results && traffic->stores_messages && !traffic->has_pure_sources;
}

/* Places the progress counters of a part's lanes in shared memory. */
static void place_progress(const struct ronde_direct_write *direct_write, struct ronde_loaded *part)
{
    const struct ronde_schedule *schedule = part->schedule;
    struct ronde_counter *counters =
        (struct ronde_counter *)(void *)(direct_write->published + schedule->ranks);
    part->progress = counters + lanes_before(schedule, part->first_rank);
    for (uint32_t t = 0; t < part->task_count; t++)
        part->tasks[t].progress = part->progress + part->tasks[t].first_lane;
}

void ronde_direct_write_open(struct ronde_comm_program *program, unsigned char *start,
                             const struct ronde_shm_layout *layout, struct ronde_remote_read *remote)
{
    struct ronde_direct_write *direct_write = &program->direct_write;
    direct_write->published = (struct ronde_published_buffers *)(void *)start;
    direct_write->layout = layout;
    direct_write->remote = remote;
    direct_write->has_results = has_results(program->loaded->schedule);
    place_progress(direct_write, program->loaded);
}

void ronde_direct_write_decide(const struct ronde_comm_program *program,
                               const struct ronde_launch *launch, struct ronde_habits *io_habits)
{
    const bool can_push =
        program->direct_write.published && !program->drive && program->peer_count <= MOST_RECEIVERS;
    /* Where ranks share processors a reader finds in the cache what has just been written: nothing is saved. */
    const bool pays = program->direct_write.has_results && !program->comm->is_oversubscribed;
    if (io_habits->farthest != RONDE_PROTOCOL_PUSH)
        return;
    if (!can_push || (launch->protocol == RONDE_PROTOCOL_AUTO && !pays)) {
        io_habits->farthest = RONDE_PROTOCOL_PULL;
        return;
    }
    io_habits->pull_from_bytes[0] = PUSH_FROM_BYTES;
    io_habits->pull_from_bytes[1] = PUSH_FROM_BYTES;
}

/* Loads a receiver's part, and attaches it to the receiver's own connections and counters. */
static enum ronde_status make_replica(const struct ronde_comm_program *program, uint32_t rank,
                                      struct ronde_receiver_replica *out, struct ronde_error *error)
{
    const struct ronde_comm *comm = program->comm;
    const struct ronde_loaded *own = program->loaded;
    RONDE_TRY(ronde_loaded_create_rank(own->schedule, rank, comm->mem, &out->loaded, error));
    struct ronde_loaded *part = out->loaded;
    ronde_shm_layout_place(program->direct_write.layout, program, part);
    place_progress(&program->direct_write, part);
    for (uint64_t e = 0; e < part->end_count; e++)
        part->ends[e].is_copied =
            part->ports[e].peer != RONDE_NONE && !ronde_comm_is_local(comm, part->ports[e].peer);
    for (uint32_t t = 0; t < part->task_count; t++)
        part->tasks[t].parts = own->tasks[t].parts;
    return RONDE_OK;
}

/* Finds the remote ends of the connections on which this rank sends inside its host. */
static enum ronde_status find_remote_ends(struct ronde_comm_program *program,
                                          struct ronde_error *error)
{
    const struct ronde_loaded *own = program->loaded;
    struct ronde_direct_write *direct_write = &program->direct_write;
    for (uint64_t e = 0; e < own->end_count; e++) {
        const struct ronde_port *port = &own->ports[e];
        const struct ronde_peer *at = program->peer_of[e];
        if (!at || !port->is_send || !ronde_comm_is_local(program->comm, at->rank))
            continue;
        struct ronde_receiver_replica *receiver = &direct_write->replicas[at - program->peers];
        if (!receiver->loaded) {
            RONDE_TRY(make_replica(program, at->rank, receiver, error));
        }
        direct_write->remote_ends[e] =
            (struct ronde_remote_end){&receiver->loaded->tasks[port->channel], port->number};
    }
    return RONDE_OK;
}

static enum ronde_status make_replicas(struct ronde_comm_program *program, struct ronde_error *error)
{
    const struct ronde_mem *mem = program->comm->mem;
    const struct ronde_loaded *own = program->loaded;
    struct ronde_direct_write *direct_write = &program->direct_write;
    direct_write->replicas = ronde_mem_new(mem, program->peer_count, sizeof *direct_write->replicas);
    direct_write->remote_ends =
        ronde_mem_new(mem, own->end_count, sizeof *direct_write->remote_ends);
    const enum ronde_status status =
        direct_write->replicas && direct_write->remote_ends
            ? find_remote_ends(program, error)
            : ronde_fail(error, RONDE_NO_MEMORY, "no memory to push to %u ranks",
                         program->peer_count);
    if (status != RONDE_OK) {
        ronde_direct_write_close(program);
        return status;
    }
    for (uint32_t t = 0; t < own->task_count; t++)
        own->tasks[t].remote_ends = direct_write->remote_ends + (own->tasks[t].ends - own->ends);
    return RONDE_OK;
}

enum ronde_status ronde_direct_write_prepare(struct ronde_comm_program *program,
                                             struct ronde_error *error)
{
    struct ronde_frame *frame = &program->loaded->frame;
    /* A rank that sends copies waits for no reader, and may have gone on to other runs. */
    frame->pushes = frame->pushes && !frame->copies_sends;
    if (!frame->pushes)
        return RONDE_OK;
    struct ronde_handshake handshake = program->handshake;
    handshake.offers = 0;
    program->direct_write.digest = ronde_handshake_digest(&handshake);
    return program->direct_write.remote_ends ? RONDE_OK : make_replicas(program, error);
}

void ronde_direct_write_publish(const struct ronde_comm_program *program)
{
    const struct ronde_loaded *own = program->loaded;
    if (!own->frame.pushes)
        return;
    struct ronde_published_buffers *published =
        &program->direct_write.published[program->comm->rank];
    published->digest = program->direct_write.digest;
    published->is_in_place = own->frame.is_in_place;
    for (unsigned buffer = 0; buffer < RONDE_BUFFER_COUNT; buffer++)
        published->base[buffer] = (uint64_t)(uintptr_t)own->tasks[0].base[buffer];
    __atomic_store_n(&published->sequence, program->handshake.sequence, __ATOMIC_RELEASE);
}

/* Bytes of a buffer of a rank's part, scratch included: how much of its registered memory may be written. */
static uint64_t buffer_bytes(const struct ronde_loaded *part, enum ronde_buffer buffer)
{
    const struct ronde_frame *frame = &part->frame;
    uint64_t bytes = 0;
    for (uint32_t t = 0; buffer == RONDE_SCRATCH && t < part->task_count; t++)
        bytes += part->tasks[t].chunks[RONDE_SCRATCH] * part->tasks[t].scratch_stride;
    if (buffer == RONDE_SCRATCH)
        return bytes;
    return ronde_schedule_blocks(part->schedule, buffer == RONDE_IN) * frame->count *
           frame->element_bytes;
}

/* Maps one of the receiver's buffers and points the replica at it; false if it cannot be mapped. */
static bool map_buffer(struct ronde_remote_read *remote, struct ronde_loaded *part,
                       enum ronde_buffer buffer, uint64_t theirs)
{
    const uint64_t bytes = theirs ? buffer_bytes(part, buffer) : 0;
    unsigned char *start =
        bytes > 0 ? ronde_remote_write_address(remote, part->first_rank, theirs, bytes) : NULL;
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

/* Gives a replica the receiver's addresses and settings of the current run. */
static bool map_receiver(const struct ronde_comm_program *program,
                         const struct ronde_published_buffers *published, struct ronde_loaded *part)
{
    const struct ronde_loaded *own = program->loaded;
    bool is_mapped = true;
    part->frame = own->frame;
    part->frame.is_in_place = published->is_in_place != 0;
    for (uint32_t t = 0; t < part->task_count; t++)
        part->tasks[t].scratch_stride = own->tasks[t].scratch_stride;
    for (unsigned buffer = 0; buffer < RONDE_BUFFER_COUNT; buffer++)
        is_mapped &= map_buffer(program->direct_write.remote, part, (enum ronde_buffer)buffer,
                                published->base[buffer]);
    return is_mapped;
}

/* Whether a receiver has begun this rank's run and has published its buffers for it. */
static bool is_published(const struct ronde_comm_program *program,
                         struct ronde_receiver_replica *receiver)
{
    const struct ronde_direct_write *direct_write = &program->direct_write;
    if (receiver->sequence == program->handshake.sequence)
        return receiver->is_mapped;
    const struct ronde_published_buffers *published =
        &direct_write->published[receiver->loaded->first_rank];
    if (__atomic_load_n(&published->sequence, __ATOMIC_ACQUIRE) != program->handshake.sequence ||
        published->digest != direct_write->digest)
        return false;
    receiver->sequence = program->handshake.sequence;
    receiver->is_mapped = map_receiver(program, published, receiver->loaded);
    return receiver->is_mapped;
}

const struct ronde_remote_end *ronde_direct_write_remote_end(const struct ronde_act *act)
{
    const struct ronde_task *task = act->lane->task;
    const struct ronde_comm_program *program = task->frame->driver;
    const uint64_t end = (uint64_t)(&task->ends[act->step->send] - program->loaded->ends);
    const struct ronde_remote_end *remote_end = &program->direct_write.remote_ends[end];
    if (!remote_end->task)
        return NULL;
    const struct ronde_peer *at = program->peer_of[end];
    return is_published(program, &program->direct_write.replicas[at - program->peers]) ? remote_end
                                                                                       : NULL;
}

const unsigned char *ronde_direct_write_seen(const struct ronde_act *act,
                                             const struct ronde_offer *offer)
{
    const struct ronde_task *task = act->lane->task;
    const struct ronde_comm_program *program = task->frame->driver;
    const uint64_t end = (uint64_t)(&task->ends[act->step->receive] - program->loaded->ends);
    const uint32_t rank = program->loaded->ports[end].peer;
    return ronde_memory_mapping_find(&program->direct_write.remote->others[rank].mapping,
                                     offer->start, offer->bytes);
}

void ronde_direct_write_close(struct ronde_comm_program *program)
{
    const struct ronde_mem *mem = program->comm->mem;
    struct ronde_direct_write *direct_write = &program->direct_write;
    for (uint32_t n = 0; direct_write->replicas && n < program->peer_count; n++)
        ronde_loaded_destroy(direct_write->replicas[n].loaded);
    ronde_mem_free(mem, direct_write->replicas, program->peer_count, sizeof *direct_write->replicas);
    if (program->loaded)
        ronde_mem_free(mem, direct_write->remote_ends, program->loaded->end_count,
                       sizeof *direct_write->remote_ends);
    direct_write->replicas = NULL;
    direct_write->remote_ends = NULL;
}
