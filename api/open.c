/* The beginning and the end of a communicator's queue. See queue.h. */
#include "api/progress.h"

/* Ends the use of a communicator that is destroyed. */
static void close_queue(struct ronde_attachment *self)
{
    struct ronde_queue *queue = (struct ronde_queue *)self;
    ronde_queue_close(queue);
    if (queue->uses_thread)
        ronde_progress_release();
    ronde_queue_release(queue);
}

static void enter_queue(struct ronde_attachment *self)
{
    ronde_queue_enter((struct ronde_queue *)self, false);
}

static void leave_queue(struct ronde_attachment *self)
{
    ronde_queue_leave((struct ronde_queue *)self);
}

/* A queue that no communicator knows yet. */
static struct ronde_queue *new_queue(struct ronde_comm *comm)
{
    const struct ronde_mem *mem = ronde_comm_allocator(comm);
    struct ronde_queue *queue = ronde_mem_new(mem, 1, sizeof *queue);
    if (!queue)
        return NULL;
    ronde_progress_forget_on_fork();
    ronde_comm_set_wait_hook(ronde_queue_progress);
    queue->attachment = (struct ronde_attachment){close_queue, enter_queue, leave_queue};
    queue->comm = comm;
    queue->mem = mem;
    queue->rank = ronde_comm_rank(comm);
    queue->ranks = ronde_comm_ranks(comm);
    queue->generation = ronde_process_generation();
    queue->references = 1;
    queue->progress = RONDE_PROGRESS_THREAD;
    ronde_lock_init(&queue->lock);
    ronde_cache_init(&queue->cache, comm);
    queue->in = ronde_mem_new(mem, queue->ranks, sizeof *queue->in);
    queue->out = ronde_mem_new(mem, queue->ranks, sizeof *queue->out);
    if (queue->in && queue->out)
        return queue;
    ronde_queue_release(queue);
    return NULL;
}

enum ronde_status ronde_queue_refuse_child(const struct ronde_queue *queue,
                                           struct ronde_error *error)
{
    return ronde_fail(
        error, RONDE_BAD_ARGUMENT,
        "this process was forked after rank %u had called the operation, which is its "
        "parent's alone",
        queue->rank);
}

enum ronde_status ronde_queue_of(struct ronde_comm *comm, struct ronde_queue **out_queue,
                                 struct ronde_error *error)
{
    RONDE_TRY(ronde_comm_check_process(comm, error));
    struct ronde_attachment *attachment = ronde_comm_attachment(comm);
    if (!attachment) {
        struct ronde_queue *queue = new_queue(comm);
        if (!queue)
            return ronde_fail(error, RONDE_NO_MEMORY, "no memory for operations of %u ranks",
                              ronde_comm_ranks(comm));
        attachment = ronde_comm_attach(comm, &queue->attachment);
        /* Another thread was faster. */
        if (attachment != &queue->attachment)
            ronde_queue_release(queue);
    }
    *out_queue = (struct ronde_queue *)attachment;
    return RONDE_OK;
}
