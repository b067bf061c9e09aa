/**
 * How much memory a process can still take before the system ends one: a program asks before it takes much.
 */
#ifndef RONDE_MEMORY_AVAILABLE_H
#define RONDE_MEMORY_AVAILABLE_H

#include "ronde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What is left, and what says so. */
struct ronde_memory_available {
    uint64_t bytes; /**< UINT64_MAX where the system does not tell */
    char limit[96]; /**< whose: "the machine", or "memory.max of /a/group" */
};

/**
 * The least of what the machine has available and what its control groups (memory, both versions, all that enclose this
 * process) leave of their limits. Memory of files that can be dropped counts as available, swap of the machine too.
 * `root` is put before /proc and /sys: "" for this machine, a folder for a copy of another's.
 */
RONDE_API struct ronde_memory_available ronde_memory_available(const char *root);

#ifdef __cplusplus
}
#endif
#endif
