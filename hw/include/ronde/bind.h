/**
 * Affinity of the workers of one machine: threads of the cpu backend, ranks that are processes.
 *
 * The usable processors, ordered so that near ones are adjacent, are cut into one group per worker: whole cores while there
 * are enough, and of one NUMA node, so that memory a worker touches first is local to it and stays so.
 */
#ifndef RONDE_BIND_H
#define RONDE_BIND_H

#include "ronde/processors.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The processors of this machine. */
struct ronde_bind {
    const struct ronde_mem *mem;  /**< owns the list */
    struct ronde_processor *list; /**< near ones adjacent */
    uint32_t count;               /**< of list */
    const char *source; /**< "hwloc", or "numbers": the system's, where hwloc is not there */
};

/** A run of a list of processors. */
struct ronde_bind_group {
    uint32_t begin; /**< first entry */
    uint32_t end;   /**< one past the last; begin = end: the worker is not bound */
};

/** Lists the processors. Owner: the caller closes *out_bind. Errors: NO_MEMORY. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_bind_open(const struct ronde_mem *mem, struct ronde_bind *out_bind, struct ronde_error *error);

/** Frees the list. */
RONDE_API void ronde_bind_close(struct ronde_bind *bind);

/** Writes those processors that the calling thread may use now; `out_list` has room for all. Returns how many. */
RONDE_API uint32_t ronde_bind_usable(const struct ronde_bind *bind,
                                     struct ronde_processor *out_list);

/** The group of a worker; empty for all where there are more workers than processors. Pure. */
RONDE_API struct ronde_bind_group ronde_bind_group(const struct ronde_processor *list,
                                                   uint32_t count, uint32_t workers,
                                                   uint32_t worker);

/** Restricts the calling thread to a group. False where it is empty, or the system refuses, which only costs speed. */
RONDE_API bool ronde_bind_take(const struct ronde_processor *list, struct ronde_bind_group group);

/** Called for a rank. */
typedef void (*ronde_bind_visitor)(void *context, uint32_t rank);

/**
 * Calls `visit` for ranks in order, bound to the processors where the cpu backend will run the rank if this thread starts
 * it, so that memory that is touched first there is local to them. Afterwards the thread's affinity is as before, and it
 * is where rank 0 will run. Without processors (`bind` NULL or empty), memory, or permission nothing is bound.
 */
RONDE_API void ronde_bind_visit(const struct ronde_bind *bind, uint32_t ranks,
                                ronde_bind_visitor visit, void *context);

/** Writes which processors the calling thread may use: "0-3,8"; what does not fit is left out, "?" if unknown. */
RONDE_API void ronde_bind_text(char *out_text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
