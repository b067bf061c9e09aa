/**
 * The processes a command makes: waited for together, and none outlives the command or keeps it waiting for ever.
 *
 * A child is killed by the system when its parent ends, however that ends. Once a child has failed the others may say
 * why, and are then ended; so is one that a SIGSTOP keeps from ending by itself.
 */
#ifndef RONDE_CLI_CHILDREN_H
#define RONDE_CLI_CHILDREN_H

#include "ronde/mem.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/** A child as its parent sees it. */
struct ronde_child {
    pid_t pid;          /**< 0 = it is over */
    bool is_stopped;    /**< by SIGSTOP, and not continued since */
    bool is_terminated; /**< it was sent SIGTERM, at since_ns */
    double since_ns;    /**< when it was stopped, or told to end */
};

/** All of them. */
struct ronde_children {
    struct ronde_child *all; /**< in the order of their making */
    uint32_t count;          /**< made so far */
    uint32_t room;           /**< of `all` */
    double stop_limit_ns;    /**< how long one may stay stopped */
    sigset_t mask;           /**< the signals that were blocked before */
    /**
     * Called when a child is over, with what waitpid tells of it; returns its exit code. Not called for one that was
     * told to end.
     */
    int (*judge)(void *self, uint32_t index, int state);
    void *self; /**< its argument */
};

/** Makes room for so many children, and watches for their ends from now on. Errors: NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status ronde_children_open(struct ronde_children *children,
                                                       uint32_t room, struct ronde_error *error);

/** As fork: 0 in the child, which has nothing of `children` any more. Errors: -1 with errno. */
pid_t ronde_children_fork(struct ronde_children *children);

/**
 * Waits until all are over. Returns the first child's exit code unless another did not end well. `code`, unless it is
 * RONDE_EXIT_OK, is that of a start that failed: those that were made are ended at once, and it is returned.
 * *out_is_cut: the first was terminated while it ran, before it printed why.
 */
int ronde_children_await(struct ronde_children *children, int code, bool *out_is_cut);

/** Releases the memory; the children must be over. */
void ronde_children_close(struct ronde_children *children);

/** In a forked process: it is killed when its parent ends. `parent` is what getpid() said there; if that is over, it ends at once. */
void ronde_child_follow(pid_t parent);

#endif
