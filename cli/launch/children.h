/**
 * The processes a command makes: waited for together, and none outlives the command or keeps it waiting for ever.
 *
 * A child is killed by the system when its parent ends, however that ends. Once a child has failed the others may say
 * why, and are then ended; so is one that a SIGSTOP keeps from ending by itself.
 */
#ifndef RONDE_CLI_CHILDREN_H
#define RONDE_CLI_CHILDREN_H

#include "ronde/mem.h"
#include "ronde/status.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
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
    const char *kind;        /**< what they are called in messages, "rank" */
    uint32_t first;          /**< number of the first of them */
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

/* Work in forked processes, several at a time, whose lines come back to one place. Processes rather than threads:
 * SimGrid allows one engine per process, and one that dies takes nobody with it. */

/** What is to be done, and what becomes of it. */
struct ronde_pool {
    void *self;     /**< handed to all of the following */
    uint32_t tasks; /**< numbered 0 .. tasks - 1, started in this order */
    uint32_t jobs;  /**< processes at a time, >= 1 */
    /** In a child: does a task, printing lines into `out`; returns the child's exit code. */
    int (*work)(void *self, uint32_t task, FILE *out);
    /** In the parent: one whole line, without its end. Errors stop the pool. */
    enum ronde_status (*on_line)(void *self, const char *line, struct ronde_error *error);
    /** In the parent: a task is over; `code` is its exit code, or minus the signal that ended it. */
    void (*on_end)(void *self, uint32_t task, int code);
};

/** Does all tasks. Errors: NO_MEMORY, DEVICE (no pipe, no process), those of on_line; children are then ended. */
RONDE_MUST_CHECK enum ronde_status ronde_pool_run(const struct ronde_pool *pool,
                                                  struct ronde_error *error);

/* A folder for the files that UCX makes of shared memory, which goes with them however the processes end. UCX
 * takes a name away as soon as it has made its file (UCX_POSIX_USE_PROC_LINK); a process that is killed in between
 * leaves the file in /dev/shm, where nothing tells whose it is. */

/** A folder, and the process that removes it. */
struct ronde_shm_folder {
    pid_t remover; /**< 0 = there is no folder */
    char path[32]; /**< of the folder */
    int alive; /**< held by this process and those forked of it: the remover waits until all have let go */
};

/**
 * Makes the folder and has UCX use it, here and in processes forked from now on; to be called before any rank is made.
 * Does nothing where the user has named a folder (UCX_POSIX_DIR), or the system gives none: UCX uses /dev/shm itself then.
 */
void ronde_shm_folder_open(struct ronde_shm_folder *folder);

/** Has it removed once all ranks have ended, and waits for that. */
void ronde_shm_folder_close(struct ronde_shm_folder *folder);

#endif
