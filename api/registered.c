/* Memory of a communicator's device that all ranks of the host read in place. See ronde/ronde.h. */
#include "api/stream.h"

#include "ronde/cuda.h"

/* The queue of a communicator that has a device, driven until ronde_queue_leave: nothing is pending. */
static enum ronde_status enter(struct ronde_comm *comm, struct ronde_queue **out_queue,
                               struct ronde_error *error)
{
    enum ronde_status status = ronde_queue_of(comm, out_queue, error);
    if (status != RONDE_OK)
        return status;
    struct ronde_queue *queue = *out_queue;
    ronde_queue_enter(queue, false);
    if (queue->failure.status != RONDE_OK)
        status = ronde_queue_failed(queue, error);
    else if (!queue->streams)
        status = ronde_fail(error, RONDE_UNAVAILABLE,
                            "the communicator has no device whose memory could be registered "
                            "(ronde_comm_use_device); memory of the host is, if it is from "
                            "ronde_comm_mem");
    if (status != RONDE_OK)
        ronde_queue_leave(queue);
    return status;
}

static enum ronde_status leave(struct ronde_queue *queue, enum ronde_status status)
{
    if (status != RONDE_OK)
        ronde_queue_note(queue);
    ronde_queue_leave(queue);
    return status;
}

enum ronde_status ronde_register(struct ronde_comm *comm, void *start, uint64_t bytes,
                                 struct ronde_registration **out_registration,
                                 struct ronde_error *error)
{
    struct ronde_queue *queue = NULL;
    *out_registration = NULL;
    RONDE_TRY(enter(comm, &queue, error));
    return leave(queue,
                 ronde_cuda_register(queue->streams->cuda, start, bytes, out_registration, error));
}

enum ronde_status ronde_deregister(struct ronde_comm *comm, struct ronde_registration *registration,
                                   struct ronde_error *error)
{
    struct ronde_queue *queue = NULL;
    RONDE_TRY(enter(comm, &queue, error));
    return leave(queue, ronde_cuda_deregister(queue->streams->cuda, registration, error));
}
