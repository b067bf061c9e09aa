/* What all ranks exchange outside runs: data, and whether each of them is well. */
#include "hw/comm/comm.h"
#include "ronde/attach.h"

#include <stdio.h>

enum ronde_status ronde_comm_allgather(struct ronde_comm *comm, const void *mine, size_t bytes,
                                       void *out_all, struct ronde_error *error)
{
    ronde_comm_enter(comm);
    const enum ronde_status status =
        ronde_control_allgather(comm->control, mine, bytes, out_all, error);
    ronde_comm_leave(comm);
    return status;
}

enum ronde_status ronde_comm_agree(struct ronde_comm *comm, enum ronde_status status,
                                   struct ronde_error *error)
{
    /* A rank's error is sent whole, so that all ranks return the same text. */
    struct ronde_error mine = {.status = status};
    if (status == RONDE_OK && comm->ranks == 1)
        return RONDE_OK;
    if (status != RONDE_OK)
        snprintf(mine.message, sizeof mine.message, "%s", error ? error->message : "it failed");
    struct ronde_error *all = ronde_mem_new(comm->mem, comm->ranks, sizeof *all);
    if (!all) {
        ronde_control_abort(comm->control);
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", comm->ranks);
    }
    enum ronde_status verdict =
        ronde_control_allgather(comm->control, &mine, sizeof mine, all, error);
    for (uint32_t rank = 0; rank < comm->ranks && verdict == RONDE_OK; rank++)
        if (all[rank].status != RONDE_OK)
            verdict =
                ronde_fail(error, all[rank].status, "rank %u: %.480s", rank, all[rank].message);
    ronde_mem_free(comm->mem, all, comm->ranks, sizeof *all);
    return status != RONDE_OK ? status : verdict;
}
