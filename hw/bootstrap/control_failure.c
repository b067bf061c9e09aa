/* The failure of a communicator: the first is recorded and broadcast. See control_channel.h. */
#include "hw/bootstrap/control_channel_parts.h"

/* Sends an alarm to all entries but the one it came from. */
static void broadcast_alarm(struct ronde_control_channel *control, const struct ronde_error *why,
                            uint32_t except)
{
    for (uint32_t p = 0; p < control->poll_count; p++)
        if (control->polls[p].fd >= 0 && p != except)
            ronde_frame_alarm(control->polls[p].fd, why);
}

enum ronde_status ronde_control_settle(struct ronde_control_channel *control,
                                       const struct ronde_error *why, uint32_t except,
                                       struct ronde_error *error)
{
    if (control->failure.status == RONDE_OK) {
        control->failure = *why;
        broadcast_alarm(control, why, except);
    }
    return ronde_fail(error, control->failure.status, "%s", control->failure.message);
}

enum ronde_status ronde_control_lost(struct ronde_control_channel *control, uint32_t entry,
                                     struct ronde_error *error)
{
    struct ronde_error why = {0};
    (void)ronde_fail(&why, RONDE_DEVICE, "rank %u was lost: its connection has ended",
                     ronde_control_rank_of(control, entry));
    return ronde_control_settle(control, &why, entry, error);
}

enum ronde_status ronde_control_refuse(struct ronde_control_channel *control, uint32_t entry,
                                       struct ronde_error *error)
{
    struct ronde_error why = {0};
    (void)ronde_fail(&why, RONDE_IO, "rank %u sends what is no message of ronde",
                     ronde_control_rank_of(control, entry));
    return ronde_control_settle(control, &why, control->poll_count, error);
}

static enum ronde_status settle_abort(struct ronde_control_channel *control,
                                      struct ronde_error *error)
{
    struct ronde_error why = {0};
    (void)ronde_fail(&why, RONDE_TIMEOUT, "rank %u aborted the communicator", control->rank);
    return ronde_control_settle(control, &why, control->poll_count, error);
}

enum ronde_status ronde_control_known(struct ronde_control_channel *control,
                                      struct ronde_error *error)
{
    if (control->failure.status != RONDE_OK)
        return ronde_fail(error, control->failure.status, "%s", control->failure.message);
    return __atomic_load_n(&control->is_aborted, __ATOMIC_ACQUIRE) == 0
               ? RONDE_OK
               : settle_abort(control, error);
}

void ronde_control_alarm(struct ronde_control_channel *control, const struct ronde_error *why)
{
    (void)ronde_control_settle(control, why, control->poll_count, NULL);
}

void ronde_control_abort(struct ronde_control_channel *control)
{
    __atomic_store_n(&control->is_aborted, 1, __ATOMIC_RELEASE);
}
