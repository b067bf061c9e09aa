/*
 * Both transports at once: connections inside a host lie in its shared memory, those between hosts are UCX's. Each of the
 * two leaves alone what is the other's (ronde_comm_is_near), so here they only take turns.
 */
#include "hw/comm/bells.h"
#include "hw/comm/comm.h"

#include <poll.h>

static enum ronde_status hybrid_open(struct ronde_comm *comm, struct ronde_error *error)
{
    enum ronde_status status = ronde_bells_open(comm, error);
    if (status == RONDE_OK)
        status = ronde_wire_proc.open(comm, error);
    return status == RONDE_OK ? ronde_wire_ucx.open(comm, error) : status;
}

static void hybrid_close(struct ronde_comm *comm)
{
    ronde_wire_ucx.close(comm);
    ronde_wire_proc.close(comm);
    ronde_bells_close(comm);
}

static uint64_t hybrid_default_slot_bytes(const struct ronde_schedule *schedule, uint32_t depth)
{
    const uint64_t near_bytes = ronde_wire_proc.default_slot_bytes(schedule, depth);
    const uint64_t far_bytes = ronde_wire_ucx.default_slot_bytes(schedule, depth);
    return near_bytes < far_bytes ? near_bytes : far_bytes;
}

static enum ronde_status hybrid_load(struct ronde_comm_program *program, struct ronde_error *error)
{
    const enum ronde_status status = ronde_wire_proc.load(program, error);
    return status == RONDE_OK ? ronde_wire_ucx.load(program, error) : status;
}

static void hybrid_unload(struct ronde_comm_program *program)
{
    ronde_wire_ucx.unload(program);
    ronde_wire_proc.unload(program);
}

static void hybrid_tell(struct ronde_comm_program *program, const struct ronde_card *card)
{
    ronde_wire_proc.tell(program, card);
    ronde_wire_ucx.tell(program, card);
}

static enum ronde_status hybrid_poll(struct ronde_comm_program *program, bool *io_moved,
                                     bool *out_is_quiet, struct ronde_error *error)
{
    bool is_near_quiet = false;
    const enum ronde_status status = ronde_wire_proc.poll(program, io_moved, &is_near_quiet, error);
    if (status != RONDE_OK)
        return status;
    const enum ronde_status far_status = ronde_wire_ucx.poll(program, io_moved, out_is_quiet, error);
    *out_is_quiet &= is_near_quiet;
    return far_status;
}

static void hybrid_spread(const struct ronde_comm *comm, double now_ns)
{
    ronde_wire_proc.spread(comm, now_ns);
}

static void hybrid_rest(struct ronde_comm_program *program, uint32_t idle)
{
    if (ronde_comm_spin(program->comm, idle))
        return;
    struct pollfd bells[2] = {{ronde_wire_proc.doze(program), POLLIN, 0}, {-1, POLLIN, 0}};
    if (bells[0].fd >= 0)
        bells[1].fd = ronde_wire_ucx.doze(program);
    if (bells[0].fd < 0 || bells[1].fd < 0)
        return;
    if (poll(bells, 2, RONDE_NAP_MS) > 0 && bells[0].revents != 0)
        ronde_bells_hush(program->comm->bells);
}

/* What is offered, is offered inside the host: lanes copy what they send beyond it (ronde_end.is_copied). */
static bool hybrid_is_readable(const struct ronde_comm *comm, const struct ronde_schedule *schedule,
                               const struct ronde_launch *launch, struct ronde_habits *io_habits)
{
    return ronde_wire_proc.is_readable(comm, schedule, launch, io_habits);
}

static const unsigned char *hybrid_find(const struct ronde_comm *comm, uint32_t rank,
                                        const struct ronde_offer *offer, unsigned char *place,
                                        struct ronde_error *error)
{
    return ronde_wire_proc.find(comm, rank, offer, place, error);
}

static void hybrid_withdraw(const struct ronde_comm *comm)
{
    ronde_wire_proc.withdraw(comm);
}

static bool hybrid_has_withdrawn(const struct ronde_comm *comm, uint32_t rank)
{
    return ronde_wire_proc.has_withdrawn(comm, rank);
}

static bool hybrid_reaches_devices(const struct ronde_comm *comm)
{
    return ronde_wire_ucx.reaches_devices(comm);
}

static const struct ronde_mem *hybrid_memory(struct ronde_comm *comm)
{
    return ronde_wire_proc.memory(comm);
}

const struct ronde_wire ronde_wire_hybrid = {
    .open = hybrid_open,
    .close = hybrid_close,
    .default_slot_bytes = hybrid_default_slot_bytes,
    .load = hybrid_load,
    .unload = hybrid_unload,
    .tell = hybrid_tell,
    .poll = hybrid_poll,
    .spread = hybrid_spread,
    .rest = hybrid_rest,
    .is_readable = hybrid_is_readable,
    .find = hybrid_find,
    .withdraw = hybrid_withdraw,
    .has_withdrawn = hybrid_has_withdrawn,
    .memory = hybrid_memory,
    .reaches_devices = hybrid_reaches_devices,
};
