/*
 * Gathering over a star. See star.h.
 *
 * Rank 0 takes what a rank has sent as soon as it comes, wherever it is itself, and keeps it until it gathers: behind
 * these bytes may be news.
 */
#include "hw/comm/socket.h"
#include "hw/comm/star_parts.h"
#include "ronde/hw.h"

#include <string.h>
#include <sys/socket.h>

/* More than any gathering of this library, less than a wrong number would ask for. */
#define MAX_GATHER_BYTES (1u << 26)

void ronde_inbox_clear(const struct ronde_star *star, struct ronde_inbox *inbox)
{
    ronde_mem_free(star->mem, inbox->data, inbox->bytes, 1);
    *inbox = (struct ronde_inbox){0};
}

/* Whatever ends here ends for all. */
static enum ronde_status fail_all(struct ronde_star *star, const struct ronde_error *why,
                                  struct ronde_error *error)
{
    return ronde_star_settle(star, why, star->poll_count, error);
}

enum ronde_status ronde_inbox_fill(struct ronde_star *star, uint32_t entry, uint32_t bytes,
                                   struct ronde_error *error)
{
    struct ronde_inbox *inbox = star->inboxes ? &star->inboxes[entry] : NULL;
    struct ronde_error why = {0};
    if (!inbox || inbox->is_full || bytes > MAX_GATHER_BYTES / star->ranks)
        return ronde_star_refuse(star, entry, error);
    inbox->data = ronde_mem_new(star->mem, bytes, 1);
    if (!inbox->data) {
        (void)ronde_fail(&why, RONDE_NO_MEMORY, "no memory for %u bytes of rank %u", bytes, entry);
        return fail_all(star, &why, error);
    }
    inbox->bytes = bytes;
    inbox->is_full = true;
    return ronde_frame_read(star->polls[entry].fd, inbox->data, bytes) == RONDE_OK
               ? RONDE_OK
               : ronde_star_lose(star, entry, error);
}

/* Whether what this rank waits for has come: at rank 0 a rank's bytes, elsewhere those of all. */
static bool has_come(const struct ronde_star *star, uint32_t entry)
{
    struct ronde_frame_head head;
    if (star->rank == 0)
        return star->inboxes[entry].is_full;
    return recv(star->polls[entry].fd, &head, sizeof head, MSG_PEEK | MSG_DONTWAIT) ==
               (ssize_t)sizeof head &&
           head.kind == RONDE_FRAME_GATHERED;
}

/* Waits for one entry, while bad news of any count. */
static enum ronde_status await(struct ronde_star *star, uint32_t entry, double deadline_ns,
                               struct ronde_error *error)
{
    while (true) {
        if (star->polls[entry].fd < 0) {
            struct ronde_error why = {0};
            (void)ronde_fail(&why, RONDE_DEVICE, "rank %u has left the communicator",
                             ronde_star_rank_of(star, entry));
            return fail_all(star, &why, error);
        }
        if (has_come(star, entry))
            return ronde_star_known(star, error);
        const int left_ms = ronde_socket_left_ms(deadline_ns, 10);
        if (left_ms == 0)
            return ronde_star_late(star, (double)star->timeout_ns, error);
        const enum ronde_status status = ronde_star_look(star, left_ms, error);
        if (status != RONDE_OK)
            return status;
    }
}

/* Compares what another rank gathers with what this one does. */
static enum ronde_status check_bytes(struct ronde_star *star, uint32_t entry, size_t bytes,
                                     size_t expected, struct ronde_error *error)
{
    struct ronde_error why = {0};
    if (bytes == expected)
        return RONDE_OK;
    (void)ronde_fail(&why, RONDE_REJECTED,
                     "rank %u and rank %u gather different things: %zu bytes and %zu",
                     ronde_star_rank_of(star, entry), star->rank, bytes, expected);
    return fail_all(star, &why, error);
}

/* Rank 0: takes from all, gives to all. */
static enum ronde_status gather_all(struct ronde_star *star, const void *mine, size_t bytes,
                                    char *all, double deadline_ns, struct ronde_error *error)
{
    enum ronde_status status = ronde_star_known(star, error);
    if (bytes > 0)
        memcpy(all, mine, bytes);
    for (uint32_t rank = 1; rank < star->ranks && status == RONDE_OK; rank++) {
        struct ronde_inbox *inbox = &star->inboxes[rank];
        status = await(star, rank, deadline_ns, error);
        if (status == RONDE_OK)
            status = check_bytes(star, rank, inbox->bytes, bytes, error);
        if (status == RONDE_OK && bytes > 0)
            memcpy(all + rank * bytes, inbox->data, bytes);
    }
    for (uint32_t rank = 1; rank < star->ranks && status == RONDE_OK; rank++) {
        ronde_inbox_clear(star, &star->inboxes[rank]);
        if (ronde_frame_send(star->polls[rank].fd, RONDE_FRAME_GATHERED, all,
                             (uint32_t)(bytes * star->ranks), deadline_ns) != RONDE_OK)
            status = ronde_star_lose(star, rank, error);
    }
    return status;
}

/* The others: give theirs to rank 0, take all from it. */
static enum ronde_status gather_there(struct ronde_star *star, const void *mine, size_t bytes,
                                      void *out_all, double deadline_ns, struct ronde_error *error)
{
    struct ronde_frame_head head = {0, 0};
    enum ronde_status status = ronde_star_look(star, 0, error);
    if (status != RONDE_OK)
        return status;
    const int fd = star->polls[0].fd;
    if (fd < 0 ||
        ronde_frame_send(fd, RONDE_FRAME_GATHER, mine, (uint32_t)bytes, deadline_ns) != RONDE_OK)
        return ronde_star_lose(star, 0, error);
    status = await(star, 0, deadline_ns, error);
    if (status != RONDE_OK)
        return status;
    if (ronde_frame_read(fd, &head, sizeof head) != RONDE_OK)
        return ronde_star_lose(star, 0, error);
    status = check_bytes(star, 0, head.bytes / star->ranks, bytes, error);
    if (status == RONDE_OK && ronde_frame_read(fd, out_all, bytes * star->ranks) != RONDE_OK)
        status = ronde_star_lose(star, 0, error);
    return status;
}

enum ronde_status ronde_star_allgather(struct ronde_star *star, const void *mine, size_t bytes,
                                       void *out_all, struct ronde_error *error)
{
    const double deadline_ns = ronde_clock_ns() + (double)star->timeout_ns;
    if (bytes > MAX_GATHER_BYTES / star->ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%zu bytes of each of %u ranks are too many",
                          bytes, star->ranks);
    star->is_gathering = true;
    const enum ronde_status status =
        star->rank == 0 ? gather_all(star, mine, bytes, out_all, deadline_ns, error)
                        : gather_there(star, mine, bytes, out_all, deadline_ns, error);
    star->is_gathering = false;
    return status;
}
