/** What NCCL does with a profiler plug-in, without NCCL: it is loaded, told of events in every version, and given back handles. */
#ifndef RONDE_TESTS_PLUGINS_PROFILER_HOST_H
#define RONDE_TESTS_PLUGINS_PROFILER_HOST_H

#include "nccl/plugins/profiler_abi.h"

#include <stdatomic.h>

/** A plug-in in one version. */
struct profiler_host {
    void *library;
    void *symbol;
    int version;
};

/** A communicator of a rank. */
struct host_comm {
    const char *name;
    uint64_t hash;
    int nodes, ranks, rank;
    void *context;
};

/** A collective: what NCCL says of it. */
struct host_coll {
    uint64_t seq;
    enum abi_collective collective;
    size_t count;
    uint8_t channels;
    bool is_ring; /**< by Simple; else Tree by LL */
    void *parent, *group;
};

/** NCCL's one mask. */
extern atomic_int host_mask;

/** Loads the plug-in; fails the test and returns false where that does not work. */
bool profiler_host_open(struct profiler_host *out, int version);
void profiler_host_close(struct profiler_host *host);

/** Errors are counted; 0 = none since the last call. */
int profiler_host_faults(void);

/** The last warning; "" for none since the last call. */
const char *profiler_host_warning(void);

void profiler_host_init(const struct profiler_host *host, struct host_comm *comm);
void profiler_host_finalize(const struct profiler_host *host, struct host_comm *comm);

/**
 * The handle of a collective's event, in the layout of the version. NCCL's descriptor is on its stack: it is overwritten, and its
 * strings, too.
 */
void *profiler_host_coll(const struct profiler_host *host, const struct host_comm *comm,
                         const struct host_coll *coll);

/** The same of other events, where the version has them: type, parent, and what stands from byte 24 on. */
void *profiler_host_event(const struct profiler_host *host, const struct host_comm *comm,
                          uint64_t type, void *parent, const void *is, size_t bytes);

void profiler_host_stop(const struct profiler_host *host, void *handle);
void profiler_host_state(const struct profiler_host *host, void *handle, int state, uint64_t timer);

#endif
