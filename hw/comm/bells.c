/* Bells through pipes. See bells.h. */
#include "hw/comm/bells.h"

#include "hw/comm/borrow.h"
#include "hw/comm/comm.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct ronde_bells {
    int own[2]; /* both ends of this rank's pipe */
    int *fds;   /* one per rank: to ring it, or -1 */
    uint32_t ranks;
};

/* Through which of whose descriptors a bell is reached. */
struct cord {
    int32_t process;
    int32_t descriptor;
};

/* For reading, too: nobody gets a signal from writing to a pipe whose reader has died if that reader is not the last. */
static int grasp(const struct cord *cord)
{
    return ronde_borrow(cord->process, cord->descriptor, O_RDWR | O_NONBLOCK);
}

static enum ronde_status open_alone(struct ronde_comm *comm, struct ronde_error *error)
{
    struct ronde_bells *bells = ronde_mem_new(comm->mem, 1, sizeof *bells);
    comm->bells = bells;
    if (!bells)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for bells");
    bells->own[0] = bells->own[1] = -1;
    bells->ranks = comm->ranks;
    bells->fds = ronde_mem_new(comm->mem, comm->ranks, sizeof *bells->fds);
    if (!bells->fds)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u bells", comm->ranks);
    for (uint32_t rank = 0; rank < comm->ranks; rank++)
        bells->fds[rank] = -1;
    if (pipe2(bells->own, O_NONBLOCK | O_CLOEXEC) != 0)
        return ronde_fail(error, RONDE_DEVICE, "the system gives no pipe: %s", strerror(errno));
    return RONDE_OK;
}

static enum ronde_status open_others(struct ronde_comm *comm, const struct cord *cords,
                                     struct ronde_error *error)
{
    for (uint32_t rank = 0; rank < comm->ranks; rank++) {
        if (rank == comm->rank || !ronde_comm_is_near(comm, rank))
            continue;
        comm->bells->fds[rank] = grasp(&cords[rank]);
        if (comm->bells->fds[rank] < 0)
            return ronde_fail(error, RONDE_DEVICE, "cannot open the bell of rank %u: %s", rank,
                              strerror(errno));
    }
    return RONDE_OK;
}

enum ronde_status ronde_bells_open(struct ronde_comm *comm, struct ronde_error *error)
{
    struct cord cord = {(int32_t)getpid(), -1};
    struct cord *cords = ronde_mem_new(comm->mem, comm->ranks, sizeof *cords);
    enum ronde_status status =
        cords ? open_alone(comm, error)
              : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u bells", comm->ranks);
    if (status == RONDE_OK)
        cord.descriptor = comm->bells->own[1];
    status = ronde_comm_agree(comm, status, error);
    if (status == RONDE_OK)
        status = ronde_star_allgather(comm->star, &cord, sizeof cord, cords, error);
    if (status == RONDE_OK)
        status = open_others(comm, cords, error);
    ronde_mem_free(comm->mem, cords, comm->ranks, sizeof *cords);
    /* A rank's own must stay open until all have theirs of it. */
    return ronde_comm_agree(comm, status, error);
}

void ronde_bells_close(struct ronde_comm *comm)
{
    struct ronde_bells *bells = comm->bells;
    if (!bells)
        return;
    for (uint32_t rank = 0; bells->fds && rank < bells->ranks; rank++)
        if (bells->fds[rank] >= 0)
            close(bells->fds[rank]);
    for (int end = 0; end < 2; end++)
        if (bells->own[end] >= 0)
            close(bells->own[end]);
    ronde_mem_free(comm->mem, bells->fds, bells->ranks, sizeof *bells->fds);
    ronde_mem_free(comm->mem, bells, 1, sizeof *bells);
    comm->bells = NULL;
}

void ronde_bells_ring(const struct ronde_bells *bells, uint32_t rank)
{
    /* A pipe that is full has rung. */
    (void)!write(bells->fds[rank], "", 1);
}

int ronde_bells_fd(const struct ronde_bells *bells)
{
    return bells->own[0];
}

void ronde_bells_hush(const struct ronde_bells *bells)
{
    char rings[256];
    while (read(bells->own[0], rings, sizeof rings) == (ssize_t)sizeof rings)
        ;
}
