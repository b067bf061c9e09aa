/* The UCX transport of a build without UCX: communicators that ask for it are refused before it is reached. */
#include "hw/comm/comm_parts.h"

const char *const ronde_wire_ucx_missing =
    "ucx: built without UCX (-DRONDE_UCX=ON, package libucx-dev)";

static enum ronde_status absent_open(struct ronde_comm *comm, struct ronde_error *error)
{
    (void)comm;
    return ronde_fail(error, RONDE_UNAVAILABLE, "%s", ronde_wire_ucx_missing);
}

static void absent_close(struct ronde_comm *comm)
{
    (void)comm;
}

static uint64_t absent_slot(const struct ronde_schedule *schedule, uint32_t depth)
{
    (void)schedule;
    (void)depth;
    return 0;
}

static enum ronde_status absent_load(struct ronde_comm_program *program, struct ronde_error *error)
{
    (void)program;
    return ronde_fail(error, RONDE_UNAVAILABLE, "%s", ronde_wire_ucx_missing);
}

static void absent_unload(struct ronde_comm_program *program)
{
    (void)program;
}

static void absent_announce(struct ronde_comm_program *program,
                            const struct ronde_handshake *handshake)
{
    (void)program;
    (void)handshake;
}

static enum ronde_status absent_poll(struct ronde_comm_program *program, bool *io_moved,
                                     bool *out_is_quiet, struct ronde_error *error)
{
    (void)program;
    (void)io_moved;
    *out_is_quiet = true;
    return ronde_fail(error, RONDE_UNAVAILABLE, "%s", ronde_wire_ucx_missing);
}

static bool absent_sleep_begin(struct ronde_comm *comm)
{
    (void)comm;
    return false;
}

static void absent_sleep(struct ronde_comm *comm)
{
    (void)comm;
}

static int absent_descriptor(const struct ronde_comm *comm)
{
    (void)comm;
    return -1;
}

static bool absent_reaches_devices(const struct ronde_comm *comm)
{
    (void)comm;
    return false;
}

enum ronde_status ronde_gpu_direct_probe(struct ronde_error *why_not)
{
    return ronde_fail(why_not, RONDE_UNAVAILABLE, "%s", ronde_wire_ucx_missing);
}

const struct ronde_wire ronde_wire_ucx = {
    .open = absent_open,
    .close = absent_close,
    .default_slot_bytes = absent_slot,
    .load = absent_load,
    .unload = absent_unload,
    .announce = absent_announce,
    .poll = absent_poll,
    .spin = ronde_comm_spin,
    .sleep_begin = absent_sleep_begin,
    .sleep = absent_sleep,
    .wake = absent_sleep,
    .descriptor = absent_descriptor,
    .reaches_devices = absent_reaches_devices,
};
