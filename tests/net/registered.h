/**
 * Processes with emulated devices and a segment of memory there, which tests register: where buffers of launches lie in it is
 * each process's own.
 */
#ifndef RONDE_TESTS_NET_REGISTERED_H
#define RONDE_TESTS_NET_REGISTERED_H

#include "hw/cuda/backend.h"
#include "net/run.h"
#include "support/emulated_gpu.h"

#include "ronde/cuda.h"
#include "ronde/hw.h"

/** The memory that a process may register. */
#define REGISTERED_BYTES ((size_t)24 << 20)

/** What the processes of a team have in common, and what one of them lacks. */
struct registered_plan {
    uint32_t ranks; /**< of each process */
    uint32_t devices;
    bool lacks_descriptors;
    uint64_t piece_bytes;
    uint32_t without; /**< this process registers nothing; RONDE_NONE = all do */
};

/** A process of a team. */
struct registered_proc {
    struct ronde_comm *comm;
    const struct ronde_gpu *gpus[2];
    uint32_t devices;
    void *self;
    void *program;
    struct ronde_schedule *schedule;
    unsigned char *segment;
    struct ronde_registration *registration;
    uint64_t random; /**< of this process alone */
    struct ronde_mem mem; /**< a buffer somewhere in the segment, aligned to any element; one at a time */
};

/** Joins the team, opens the backend, and takes the segment. On failure the caller closes all the same. */
enum ronde_status registered_open(struct registered_proc *proc, const struct team_member *member,
                                  const struct registered_plan *plan, struct ronde_error *error);

/** The same, and registers the segment. */
enum ronde_status
registered_open_shared(struct registered_proc *proc, const struct team_member *member,
                       const struct registered_plan *plan, struct ronde_error *error);

/** Takes the segment, from the last device. */
void registered_take(struct registered_proc *proc);

/** Loads an algorithm for the team, of one rank a process; close unloads it. */
enum ronde_status registered_load(struct registered_proc *proc, enum ronde_collective collective,
                                  const char *algorithm, struct ronde_error *error);

/** Frees it. */
void registered_free(struct registered_proc *proc);

/** Unloads the program and its schedule. */
void registered_unload(struct registered_proc *proc);

/** Ends all, and checks that nothing of a device is left. */
void registered_close(struct registered_proc *proc, const struct team_member *member);

/** Launches of which this process's messages were offered to others. */
uint64_t registered_pulled(const struct registered_proc *proc);

#endif
