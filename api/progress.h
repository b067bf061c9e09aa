/**
 * Queues with something pending that no thread drives: those the progress thread moves on, and those that calls which wait
 * move on beside their own. The one state of the process: one thread serves all its communicators.
 */
#ifndef RONDE_API_PROGRESS_H
#define RONDE_API_PROGRESS_H

#include "api/queue.h"

/** Turns in which nothing moved: so many that offer the processor, then naps of this length or more. */
#define RONDE_YIELDS 2000u
#define RONDE_NAP_NS UINT64_C(50000)

/** Before the first queue: a child that is forked from now on begins without any. */
void ronde_progress_forget_on_fork(void);

/** Counts a queue among those that need the progress thread, and starts it with the first. Errors: those of a start. */
enum ronde_status ronde_progress_acquire(struct ronde_error *error);

/** The end of that; with the last the thread ends. */
void ronde_progress_release(void);

/** Under the queue's lock: lists it by its kind of progress, or takes it off the list. */
void ronde_progress_list(struct ronde_queue *queue, bool is_listed);

/** A queue whose communicator is about to go: it is not woken any more. */
void ronde_progress_forget(const struct ronde_queue *queue);

/** Moves on the queues that have no thread, but this one. Returns whether there are any. */
bool ronde_progress_callers(const struct ronde_queue *except);

/** Whether there are queues without a thread that have something pending. */
bool ronde_progress_has_callers(void);

/** Whether the calling thread is the progress thread. */
bool ronde_progress_is_this_thread(void);

/** Whether this queue is the only one that the progress thread has to move on. */
bool ronde_progress_is_alone(void);

#endif
