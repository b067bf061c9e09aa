/*
 * Loading schedules on a communicator. See comm_parts.h.
 *
 * All ranks take part in every step, also where one of them has failed: the status is allgathered, and all fail alike.
 */
#include "hw/comm/comm_parts.h"

/* Compares what the ranks load. */
static enum ronde_status check_loads(struct ronde_comm_program *program,
                                     const struct ronde_schedule *schedule,
                                     struct ronde_error *error)
{
    struct ronde_comm *comm = program->comm;
    ronde_handshake_fill(&program->handshake, schedule);
    program->handshake.slot_bytes = program->slot_bytes;
    program->handshake.depth = program->depth;
    struct ronde_handshake *all = ronde_mem_new(comm->mem, comm->ranks, sizeof *all);
    if (!all)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", comm->ranks);
    enum ronde_status status = ronde_control_allgather(comm->control, &program->handshake,
                                                       sizeof program->handshake, all, error);
    for (uint32_t rank = 1; rank < comm->ranks && status == RONDE_OK; rank++)
        if (!ronde_handshake_is_same(&all[0], &all[rank]))
            status = ronde_handshake_refuse(0, &all[0], rank, &all[rank], error);
    ronde_mem_free(comm->mem, all, comm->ranks, sizeof *all);
    return status;
}

/* The ranks at the other ends of the connections, each once. */
static enum ronde_status list_peers(struct ronde_comm_program *program, struct ronde_error *error)
{
    const struct ronde_loaded *loaded = program->loaded;
    const struct ronde_mem *mem = program->comm->mem;
    const uint32_t ranks = program->comm->ranks;
    uint32_t *positions = ronde_mem_new(mem, ranks, sizeof *positions);
    program->peers = ronde_arena_new(loaded->arena, ranks, sizeof *program->peers);
    program->peer_of = ronde_arena_new(loaded->arena, loaded->end_count, sizeof(*program->peer_of));
    const bool is_done = positions && program->peers && program->peer_of;
    if (is_done) {
        for (uint64_t e = 0; e < loaded->end_count; e++) {
            const struct ronde_port *port = &loaded->ports[e];
            if (port->peer == RONDE_NONE || port->peer == program->comm->rank)
                continue;
            if (positions[port->peer] == 0)
                positions[port->peer] = ++program->peer_count;
            struct ronde_peer *at = &program->peers[positions[port->peer] - 1];
            at->rank = port->peer;
            at->is_source |= !port->is_send;
            program->peer_of[e] = at;
        }
    }
    ronde_mem_free(mem, positions, ranks, sizeof *positions);
    return is_done ? RONDE_OK
                   : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u neighbours", ranks);
}

/* Takes a program out of its communicator's list, if it is there. */
static void unlist(const struct ronde_comm_program *program)
{
    struct ronde_comm_program **at = &program->comm->programs;
    while (*at && *at != program)
        at = &(*at)->next;
    if (*at)
        *at = program->next;
}

/* Everything but the program itself. */
static void release(struct ronde_comm_program *program)
{
    struct ronde_comm *comm = program->comm;
    unlist(program);
    ronde_comm_abandon(program);
    ronde_run_handshake_drop(program);
    comm->wire->unload(program);
    ronde_send_copies_close(program);
    ronde_loaded_destroy(program->loaded);
    program->comm = NULL;
}

static void free_program(struct ronde_comm_program *program)
{
    ronde_mem_free(program->mem, program, 1, sizeof *program);
}

void ronde_comm_release_programs(struct ronde_comm *comm)
{
    while (comm->programs)
        release(comm->programs);
}

void ronde_comm_unload(struct ronde_comm_program *program)
{
    if (!program)
        return;
    struct ronde_comm *comm = program->comm;
    if (!comm) {
        free_program(program);
        return;
    }
    /* A forked child must not release what is its parent's. */
    if (ronde_comm_is_foreign(comm))
        return;
    ronde_comm_enter(comm);
    release(program);
    free_program(program);
    ronde_comm_leave(comm);
}

/* The rank's own part; not collective. */
static enum ronde_status load_part(struct ronde_comm_program *program,
                                   const struct ronde_schedule *schedule, struct ronde_error *error)
{
    const struct ronde_comm *comm = program->comm;
    RONDE_TRY(ronde_loaded_create_rank(schedule, comm->rank, comm->mem, &program->loaded, error));
    program->loaded->frame.driver = program;
    program->lanes = ronde_arena_new(program->loaded->arena, program->loaded->lane_count,
                                     sizeof *program->lanes);
    if (!program->lanes)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u lanes",
                          program->loaded->lane_count);
    return list_peers(program, error);
}

static enum ronde_status check_plan(const struct ronde_comm *comm,
                                    const struct ronde_schedule *schedule,
                                    const struct ronde_comm_plan *plan, struct ronde_error *error)
{
    if (schedule->ranks != comm->ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "the schedule is for %u ranks, the communicator has %u", schedule->ranks,
                          comm->ranks);
    if (plan->slot_bytes > 0 && plan->slot_bytes < RONDE_GRAIN_BYTES)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "load: slot_bytes %llu, at least %u",
                          (unsigned long long)plan->slot_bytes, RONDE_GRAIN_BYTES);
    if (plan->depth > 0 && plan->depth < schedule->proof.min_depth)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "load: depth %u, this schedule needs at least %u", plan->depth,
                          schedule->proof.min_depth);
    return RONDE_OK;
}

/* Length and number of slots: what the plan says, or what launches usually have and the most that pays. */
static void settle_slots(struct ronde_comm_program *program, const struct ronde_schedule *schedule,
                         const struct ronde_comm_plan *plan)
{
    const struct ronde_comm *comm = program->comm;
    const struct ronde_wire *wire = comm->wire;
    const struct ronde_launch none = {.depth = plan->depth};
    const bool is_open = plan->depth == 0 && plan->slot_bytes == 0;
    const uint32_t depth = ronde_launch_depth(schedule, &none);
    const uint64_t bytes =
        plan->slot_bytes ? plan->slot_bytes : wire->default_slot_bytes(schedule, depth);
    program->usual_depth = depth;
    program->usual_slot_bytes = bytes;
    program->depth = is_open && wire->most_depth ? wire->most_depth(schedule, depth) : depth;
    program->slot_bytes = is_open && wire->most_slot_bytes
                              ? wire->most_slot_bytes(comm, schedule, depth, bytes)
                              : bytes;
}

/* The steps of loading, in which all ranks take part even where one of them has failed. */
static enum ronde_status load_steps(struct ronde_comm_program *program,
                                    const struct ronde_schedule *schedule,
                                    const struct ronde_comm_plan *plan, struct ronde_error *error)
{
    struct ronde_comm *comm = program->comm;
    program->id = comm->loads++;
    settle_slots(program, schedule, plan);
    RONDE_TRY(check_loads(program, schedule, error));
    enum ronde_status status = load_part(program, schedule, error);
    status = ronde_comm_agree(comm, status, error);
    return status == RONDE_OK ? comm->wire->load(program, error) : status;
}

enum ronde_status ronde_comm_load(struct ronde_comm *comm, const struct ronde_schedule *schedule,
                                  const struct ronde_comm_plan *plan,
                                  struct ronde_comm_program **out_program, struct ronde_error *error)
{
    *out_program = NULL;
    enum ronde_status status = ronde_comm_check_process(comm, error);
    if (status == RONDE_OK && !schedule)
        status = ronde_fail(error, RONDE_BAD_ARGUMENT, "the schedule is NULL");
    if (status != RONDE_OK)
        return status;
    if (!plan)
        plan = &comm->options.plan;
    status = check_plan(comm, schedule, plan, error);
    if (status != RONDE_OK)
        return status;
    struct ronde_comm_program *program = ronde_mem_new(comm->mem, 1, sizeof *program);
    if (!program)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to load the schedule");
    program->comm = comm;
    program->mem = comm->mem;
    ronde_comm_enter(comm);
    status = load_steps(program, schedule, plan, error);
    if (status == RONDE_OK) {
        program->next = comm->programs;
        comm->programs = program;
        *out_program = program;
    } else {
        release(program);
        free_program(program);
    }
    ronde_comm_leave(comm);
    return status;
}

uint64_t ronde_comm_slot_bytes(const struct ronde_comm_program *program)
{
    return program->usual_slot_bytes;
}
