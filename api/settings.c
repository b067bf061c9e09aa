/* What can be set for a communicator's operations. See ronde/ronde.h. */
#include "api/stream.h"

#include "ronde/schedules.h"

#include <stdio.h>
#include <string.h>

const char *ronde_version(void)
{
    return RONDE_VERSION;
}

enum ronde_status ronde_comm_progress(struct ronde_comm *comm, enum ronde_progress progress,
                                      struct ronde_error *error)
{
    struct ronde_queue *queue = NULL;
    if ((unsigned)progress >= RONDE_PROGRESS_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "progress %u, there are %u",
                          (unsigned)progress, (unsigned)RONDE_PROGRESS_COUNT);
    RONDE_TRY(ronde_queue_of(comm, &queue, error));
    ronde_queue_enter(queue, false);
    ronde_lock_acquire(&queue->lock);
    queue->progress = progress;
    ronde_lock_release(&queue->lock);
    ronde_queue_leave(queue);
    return RONDE_OK;
}

enum ronde_status ronde_comm_timeout(struct ronde_comm *comm, uint64_t timeout_ns,
                                     struct ronde_error *error)
{
    struct ronde_queue *queue = NULL;
    RONDE_TRY(ronde_queue_of(comm, &queue, error));
    ronde_lock_acquire(&queue->lock);
    queue->timeout_ns = timeout_ns;
    ronde_lock_release(&queue->lock);
    return RONDE_OK;
}

/* Another wish than before: what was loaded by that one goes. */
static void set_wish(struct ronde_queue *queue, enum ronde_collective collective,
                     const struct ronde_wish *wish)
{
    ronde_queue_enter(queue, false);
    ronde_streams_drop(queue, collective);
    ronde_cache_drop(&queue->cache, collective);
    queue->cache.wishes[collective] = *wish;
    ronde_queue_leave(queue);
}

enum ronde_status ronde_comm_choose(struct ronde_comm *comm, enum ronde_collective collective,
                                    const char *algorithm, struct ronde_error *error)
{
    struct ronde_wish wish = {"", NULL};
    struct ronde_queue *queue = NULL;
    const enum ronde_status opened = ronde_queue_of(comm, &queue, error);
    if (opened != RONDE_OK)
        return opened;
    if ((unsigned)collective >= RONDE_COLLECTIVE_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "collective %u, there are %u",
                          (unsigned)collective, (unsigned)RONDE_COLLECTIVE_COUNT);
    if (algorithm && strcmp(algorithm, "auto") != 0) {
        const struct ronde_compile_request request = {.collective = collective,
                                                      .algorithm = algorithm,
                                                      .ranks = ronde_comm_ranks(comm)};
        const struct ronde_algorithm *found = ronde_algorithm_find(collective, algorithm, error);
        if (!found)
            return RONDE_BAD_ARGUMENT;
        RONDE_TRY(found->supports(&request, error));
        snprintf(wish.algorithm, sizeof wish.algorithm, "%s", found->name);
    }
    set_wish(queue, collective, &wish);
    return RONDE_OK;
}

enum ronde_status ronde_comm_use_schedule(struct ronde_comm *comm,
                                          const struct ronde_schedule *schedule,
                                          struct ronde_error *error)
{
    const struct ronde_wish wish = {"", schedule};
    struct ronde_queue *queue = NULL;
    const enum ronde_status opened = ronde_queue_of(comm, &queue, error);
    if (opened != RONDE_OK)
        return opened;
    if (!schedule)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "the schedule is NULL");
    if (schedule->ranks != ronde_comm_ranks(comm))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "the schedule is for %u ranks, the communicator has %u", schedule->ranks,
                          ronde_comm_ranks(comm));
    set_wish(queue, schedule->collective, &wish);
    return RONDE_OK;
}

void ronde_comm_algorithm(struct ronde_comm *comm, char text[RONDE_ALGORITHM_BYTES])
{
    struct ronde_queue *queue = NULL;
    text[0] = '\0';
    if (!comm || !ronde_comm_attachment(comm) || ronde_queue_of(comm, &queue, NULL) != RONDE_OK)
        return;
    ronde_queue_enter(queue, false);
    memcpy(text, queue->algorithm, RONDE_ALGORITHM_BYTES);
    ronde_queue_leave(queue);
}
