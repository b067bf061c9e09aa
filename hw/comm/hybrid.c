/*
 * Both transports at once: connections inside a host are in its shared memory, those between hosts are UCX's. Each of
 * the two skips the other's connections (ronde_comm_is_local), so here each call only goes to one after the other.
 */
#include "hw/comm/comm_parts.h"
#include "hw/shm/layout.h"

#include <poll.h>

static enum ronde_status hybrid_open(struct ronde_comm *comm, struct ronde_error *error)
{
    RONDE_TRY(ronde_doorbells_open(comm, error));
    RONDE_TRY(ronde_wire_shm.open(comm, error));
    return ronde_wire_ucx.open(comm, error);
}

static void hybrid_close(struct ronde_comm *comm)
{
    ronde_wire_ucx.close(comm);
    ronde_wire_shm.close(comm);
    ronde_doorbells_close(comm);
}

static uint64_t hybrid_default_slot_bytes(const struct ronde_schedule *schedule, uint32_t depth)
{
    const uint64_t shm_bytes = ronde_wire_shm.default_slot_bytes(schedule, depth);
    const uint64_t ucx_bytes = ronde_wire_ucx.default_slot_bytes(schedule, depth);
    return shm_bytes < ucx_bytes ? shm_bytes : ucx_bytes;
}

static enum ronde_status hybrid_load(struct ronde_comm_program *program, struct ronde_error *error)
{
    RONDE_TRY(ronde_wire_shm.load(program, error));
    return ronde_wire_ucx.load(program, error);
}

static void hybrid_unload(struct ronde_comm_program *program)
{
    ronde_wire_ucx.unload(program);
    ronde_wire_shm.unload(program);
}

static void hybrid_announce(struct ronde_comm_program *program,
                            const struct ronde_handshake *handshake)
{
    ronde_wire_shm.announce(program, handshake);
    ronde_wire_ucx.announce(program, handshake);
}

static enum ronde_status hybrid_poll(struct ronde_comm_program *program, bool *io_moved,
                                     bool *out_is_quiet, struct ronde_error *error)
{
    bool is_shm_quiet = false;
    RONDE_TRY(ronde_wire_shm.poll(program, io_moved, &is_shm_quiet, error));
    const enum ronde_status ucx_status = ronde_wire_ucx.poll(program, io_moved, out_is_quiet, error);
    *out_is_quiet &= is_shm_quiet;
    return ucx_status;
}

static bool hybrid_sleep_begin(struct ronde_comm *comm)
{
    return ronde_wire_shm.sleep_begin(comm) && ronde_wire_ucx.sleep_begin(comm);
}

static void hybrid_sleep(struct ronde_comm *comm)
{
    struct pollfd doorbells[2] = {{ronde_doorbells_fd(comm->doorbells), POLLIN, 0},
                                  {ronde_wire_ucx.descriptor(comm), POLLIN, 0}};
    if (poll(doorbells, 2, RONDE_SLEEP_MS) > 0 && doorbells[0].revents != 0)
        ronde_doorbells_clear(comm->doorbells);
}

static void hybrid_wake(struct ronde_comm *comm)
{
    ronde_wire_shm.wake(comm);
}

static bool hybrid_reaches_devices(const struct ronde_comm *comm)
{
    return ronde_wire_ucx.reaches_devices(comm);
}

const struct ronde_wire ronde_wire_hybrid = {
    .open = hybrid_open,
    .close = hybrid_close,
    .default_slot_bytes = hybrid_default_slot_bytes,
    .load = hybrid_load,
    .unload = hybrid_unload,
    .announce = hybrid_announce,
    .poll = hybrid_poll,
    .spin = ronde_comm_spin,
    .sleep_begin = hybrid_sleep_begin,
    .sleep = hybrid_sleep,
    .wake = hybrid_wake,
    /* Offers are made inside the host only: lanes copy what they send to other hosts (ronde_end.is_copied). */
    .shared = &ronde_wire_shm_memory,
    .reaches_devices = hybrid_reaches_devices,
};
