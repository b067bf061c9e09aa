/* What rank 0 stores of other ranks' parts until it gathers. See control_channel.h. */
#include "hw/bootstrap/control_channel_parts.h"

void ronde_inbox_clear(const struct ronde_control_channel *control, struct ronde_inbox *inbox)
{
    ronde_mem_free(control->mem, inbox->data, inbox->bytes, 1);
    *inbox = (struct ronde_inbox){0};
}

enum ronde_status ronde_inbox_fill(struct ronde_control_channel *control, uint32_t entry,
                                   uint32_t bytes, struct ronde_error *error)
{
    struct ronde_inbox *inbox = control->inboxes ? &control->inboxes[entry] : NULL;
    struct ronde_error why = {0};
    if (!inbox || inbox->is_full || bytes > RONDE_MAX_ALLGATHER_BYTES / control->ranks)
        return ronde_control_refuse(control, entry, error);
    inbox->data = ronde_mem_new(control->mem, bytes, 1);
    if (!inbox->data) {
        (void)ronde_fail(&why, RONDE_NO_MEMORY, "no memory for %u bytes of rank %u", bytes, entry);
        return ronde_control_settle(control, &why, control->poll_count, error);
    }
    inbox->bytes = bytes;
    inbox->is_full = true;
    return ronde_frame_read(control->polls[entry].fd, inbox->data, bytes) == RONDE_OK
               ? RONDE_OK
               : ronde_control_lost(control, entry, error);
}
