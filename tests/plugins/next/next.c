/**
 * A profiler that stands behind ours, in one version (NEXT_VERSION): it writes a line for every event, with the number that
 * is its handle and that of its parent, to the file of NEXT_LOG.
 */
#include "nccl/plugins/profiler_abi.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define PASTE(a, b) a##b
#define OF_VERSION(name, version) PASTE(name, version)
#define EXPORTED __attribute__((visibility("default")))

static atomic_long handles;
static FILE *log_file;
static int users;

static int begin(void **context, int *mask)
{
    const char *path = getenv("NEXT_LOG");
    if (users++ == 0 && path)
        log_file = fopen(path, "w");
    *context = &users;
    *mask = EVENT_COLL | EVENT_PROXY_OP;
    return ABI_SUCCESS;
}

static const char *func_of(const struct OF_VERSION(event_v, NEXT_VERSION) * event)
{
#if NEXT_VERSION == 1
    return event->type == EVENT_COLL && event->is.coll.func == ABI_ALL_REDUCE ? "AllReduce" : "-";
#elif NEXT_VERSION <= 4
    return event->type == EVENT_COLL ? event->is.coll.func : "-";
#else
    return event->type == EVENT_COLL ? event->is.coll.as_v4.func : "-";
#endif
}

static int start(void *context, void **handle, void *descriptor)
{
    const struct OF_VERSION(event_v, NEXT_VERSION) *event = descriptor;
    const long number = ++handles;
    if (context != &users)
        return 1;
    *handle = (void *)number;
    if (log_file)
        fprintf(log_file, "%lu %ld parent %ld %s\n", (unsigned long)event->type, number,
                (long)event->parent, func_of(event));
    return ABI_SUCCESS;
}

static int stop(void *handle)
{
    if (log_file)
        fprintf(log_file, "stop %ld\n", (long)handle);
    return ABI_SUCCESS;
}

static int state(void *handle, int state, void *arguments)
{
    (void)arguments;
    if (log_file)
        fprintf(log_file, "state %ld %d\n", (long)handle, state);
    return ABI_SUCCESS;
}

static int finalize(void *context)
{
    if (--users == 0 && log_file) {
        fclose(log_file);
        log_file = NULL;
    }
    return context != &users;
}

#if NEXT_VERSION <= 3
EXPORTED const struct profiler_v1
    OF_VERSION(ncclProfiler_v, NEXT_VERSION) = {"next", begin, start, stop, state, finalize};
#elif NEXT_VERSION == 4
static int begin_v4(void **context, int *mask, const char *name, uint64_t comm, int nodes,
                    int ranks, int rank, abi_log log)
{
    (void)name, (void)comm, (void)nodes, (void)ranks, (void)rank, (void)log;
    return begin(context, mask);
}
EXPORTED const struct profiler_v4
    OF_VERSION(ncclProfiler_v, NEXT_VERSION) = {"next", begin_v4, start, stop, state, finalize};
#else
static int begin_v5(void **context, uint64_t comm, int *mask, const char *name, int nodes,
                    int ranks, int rank, abi_log log)
{
    (void)name, (void)comm, (void)nodes, (void)ranks, (void)rank, (void)log;
    return begin(context, mask);
}
EXPORTED const struct profiler_v5
    OF_VERSION(ncclProfiler_v, NEXT_VERSION) = {"next", begin_v5, start, stop, state, finalize};
#endif
