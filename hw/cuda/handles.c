/* Exchanging handles. See handles.h. */
#include "hw/cuda/handles.h"

#include <unistd.h>

/* Bytes and flags of all processes. */
static size_t entries(const struct ronde_handles *handles)
{
    return (size_t)handles->comm->ranks * handles->most;
}

enum ronde_status ronde_handles_open(struct ronde_handles *handles, struct ronde_comm *comm,
                                     uint32_t most, struct ronde_error *error)
{
    *handles = (struct ronde_handles){.comm = comm, .most = most, .fd_socket.listener = -1};
    const size_t all = entries(handles);
    handles->mine = ronde_mem_new(comm->mem, most, sizeof *handles->mine);
    handles->own = ronde_mem_new(comm->mem, most, sizeof *handles->own);
    handles->is_due = ronde_mem_new(comm->mem, all, sizeof *handles->is_due);
    handles->is_wanted = ronde_mem_new(comm->mem, all, sizeof *handles->is_wanted);
    handles->all = ronde_mem_new(comm->mem, all, sizeof *handles->all);
    handles->deliveries = ronde_mem_new(comm->mem, all, sizeof *handles->deliveries);
    for (uint32_t k = 0; handles->mine && k < most; k++)
        handles->mine[k].descriptor = -1;
    return handles->mine && handles->own && handles->is_due && handles->is_wanted && handles->all &&
                   handles->deliveries
               ? RONDE_OK
               : ronde_fail(error, RONDE_NO_MEMORY, "no memory for the handles of %u processes",
                            comm->ranks);
}

/* Others choose how they share; without descriptors of its own a process needs no socket unless it receives some. */
static enum ronde_status open_socket(struct ronde_handles *handles, struct ronde_error *error)
{
    struct ronde_error why = {0};
    bool has_descriptors = false;
    const enum ronde_status opened = ronde_fd_socket_open(&handles->fd_socket, &why);
    for (uint32_t k = 0; k < handles->most; k++)
        has_descriptors |= handles->mine[k].descriptor >= 0;
    return opened != RONDE_OK && has_descriptors ? ronde_fail(error, opened, "%s", why.message)
                                                 : RONDE_OK;
}

/* Sends own descriptors to all processes that map them. These wait, so a failure ends the communicator. */
static enum ronde_status send_all(const struct ronde_handles *handles, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    struct ronde_error why = {0};
    for (size_t k = 0; k < entries(handles) && status == RONDE_OK; k++) {
        const int descriptor = handles->mine[k % handles->most].descriptor;
        const size_t process = k / handles->most;
        if (descriptor >= 0 && handles->is_due[k])
            status = ronde_fd_send(&handles->all[process * handles->most].fd_socket,
                                   (uint32_t)(k % handles->most), descriptor, &why);
    }
    if (status == RONDE_OK)
        return RONDE_OK;
    ronde_control_alarm(handles->comm->control, &why);
    return ronde_fail(error, status, "%s", why.message);
}

/* Lists the descriptors to receive, and waits for them. */
static enum ronde_status receive_all(struct ronde_handles *handles, struct ronde_error *error)
{
    const uint64_t limit_ns = handles->comm->options.timeout_ns;
    for (size_t k = 0; k < entries(handles); k++) {
        const struct ronde_handle_offer *offer = &handles->all[k];
        if (handles->is_wanted[k] && offer->share.descriptor >= 0)
            handles->deliveries[handles->delivery_count++] =
                (struct ronde_fd_delivery){offer->fd_socket.process, (uint32_t)(k % handles->most),
                                           -1};
    }
    return ronde_fd_receive(&handles->fd_socket, handles->deliveries, handles->delivery_count,
                            handles->comm->control, limit_ns ? limit_ns : RONDE_COMM_TIMEOUT_NS,
                            error);
}

enum ronde_status ronde_handles_exchange(struct ronde_handles *handles, enum ronde_status status,
                                         struct ronde_error *error)
{
    struct ronde_comm *comm = handles->comm;
    RONDE_THEN(status, open_socket(handles, error));
    /* All agree first, so that no process waits for descriptors of one that has failed. */
    status = ronde_comm_agree(comm, status, error);
    for (uint32_t k = 0; status == RONDE_OK && k < handles->most; k++)
        handles->own[k] = (struct ronde_handle_offer){handles->mine[k], handles->fd_socket.address};
    RONDE_THEN(status,
               ronde_control_allgather(comm->control, handles->own,
                                       handles->most * sizeof *handles->own, handles->all, error));
    RONDE_THEN(status, send_all(handles, error));
    return status == RONDE_OK ? receive_all(handles, error) : status;
}

struct ronde_share ronde_handles_find(const struct ronde_handles *handles, uint32_t process,
                                      uint32_t which)
{
    const struct ronde_handle_offer *offer = &handles->all[(size_t)process * handles->most + which];
    struct ronde_share share = offer->share;
    share.descriptor = -1;
    for (size_t k = 0; k < handles->delivery_count; k++)
        if (handles->deliveries[k].process == offer->fd_socket.process &&
            handles->deliveries[k].number == which)
            share.descriptor = handles->deliveries[k].descriptor;
    return share;
}

void ronde_handles_close(struct ronde_handles *handles)
{
    const struct ronde_mem *mem = handles->comm->mem;
    const size_t all = entries(handles);
    for (uint32_t k = 0; handles->mine && k < handles->most; k++)
        if (handles->mine[k].descriptor >= 0)
            close(handles->mine[k].descriptor);
    for (size_t k = 0; k < handles->delivery_count; k++)
        if (handles->deliveries[k].descriptor >= 0)
            close(handles->deliveries[k].descriptor);
    ronde_fd_socket_close(&handles->fd_socket);
    ronde_mem_free(mem, handles->mine, handles->most, sizeof *handles->mine);
    ronde_mem_free(mem, handles->own, handles->most, sizeof *handles->own);
    ronde_mem_free(mem, handles->is_due, all, sizeof *handles->is_due);
    ronde_mem_free(mem, handles->is_wanted, all, sizeof *handles->is_wanted);
    ronde_mem_free(mem, handles->all, all, sizeof *handles->all);
    ronde_mem_free(mem, handles->deliveries, all, sizeof *handles->deliveries);
}
