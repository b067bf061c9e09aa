/**
 * libnccl-profiler-ronde.so: what NCCL ran, by which algorithm and protocol, on how many channels and how long, as records in a
 * file (docs/reference/nccl-plugins.md). Versions 1 to 6 of NCCL's interface.
 *
 * A collective's event begins and stops when NCCL hands it to the GPU. When it ran is told later and by another thread: an
 * event for each channel with the GPU's own times (since version 4; the proxy's in version 3; in 1 and 2 what the network's
 * proxy does). So a record is written with the last channel's end. RONDE_PROFILER_NEXT names another profiler, which gets
 * every event that it asks for, with handles of its own.
 *
 * Any thread may call. A context has a lock, held for some ten instructions; lines go to a thread that writes them, which ends
 * with the last communicator: NCCL unloads the library then. Nothing is ever an error.
 */
#define _GNU_SOURCE
#include "profiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static const char default_file[] = "ronde-profile-%h-%p.jsonl";

/* NCCL takes the highest version that it knows. */
extern const struct profiler_v1 ncclProfiler_v1, ncclProfiler_v2, ncclProfiler_v3;
extern const struct profiler_v4 ncclProfiler_v4;
extern const struct profiler_v5 ncclProfiler_v5, ncclProfiler_v6;

static const void *const own_symbols[PROFILER_VERSIONS] = {NULL,
                                                           &ncclProfiler_v1,
                                                           &ncclProfiler_v2,
                                                           &ncclProfiler_v3,
                                                           &ncclProfiler_v4,
                                                           &ncclProfiler_v5,
                                                           &ncclProfiler_v6};

/** Of the process; the lock is for init and finalize. */
static struct {
    pthread_mutex_t lock;
    uint32_t users;           /**< contexts that are used */
    struct context *contexts; /**< all, to be used again */
    int version;              /**< NCCL's */
    int own_mask;             /**< what we ask for */
    bool is_recording;
    struct next next;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/** By NCCL's logger, or where the version has none on stderr. */
static void warn(abi_log log, const char *what, const char *reason)
{
    if (log)
        log(ABI_WARN, ABI_PROFILE, "ronde", __LINE__, "ronde: %s: %s", what, reason);
    else
        fprintf(stderr, "ronde: %s: %s\n", what, reason);
}

static bool is_set(const char *text)
{
    return text && *text;
}

/** With the first communicator: the file, and the profiler behind. */
static void open_process(int version, abi_log log)
{
    const char *file = getenv("RONDE_PROFILER_FILE"), *next = getenv("RONDE_PROFILER_NEXT");
    const char *times = getenv("RONDE_PROFILER_TIMES");
    char reason[WRITER_REASON_BYTES];
    process.version = version;
    process.is_recording = writer_open(is_set(file) ? file : default_file, reason);
    if (!process.is_recording)
        warn(log, "RONDE_PROFILER_FILE: nothing is recorded", reason);
    if (is_set(next) && !next_open(next, version, own_symbols[version], &process.next, reason))
        warn(log, "RONDE_PROFILER_NEXT: no other profiler is called", reason);
    process.own_mask = process.is_recording ? EVENT_COLL | EVENT_P2P : 0;
    if (process.is_recording && version >= 6)
        process.own_mask |= EVENT_CE_COLL;
    if (process.is_recording && !(is_set(times) && strcmp(times, "0") == 0))
        process.own_mask |= version >= 3 ? EVENT_KERNEL : EVENT_PROXY_OP;
}

/** Asks NCCL for what we and the next profiler want, never for less than before. */
static void ask(struct context *context)
{
    context->next_asked = context->next_mask;
    next_ask(&process.next, context->next_mask);
    __atomic_fetch_or(context->mask, process.own_mask | context->next_mask, __ATOMIC_RELAXED);
}

/** A context that was freed, or a new one. The process's lock is held. */
static struct context *take_context(void)
{
    struct context *context = process.contexts;
    while (context && context->is_used)
        context = context->other;
    if (context)
        return context;
    context = calloc(1, sizeof *context);
    if (!context)
        return NULL;
    pthread_mutex_init(&context->lock, NULL);
    context->other = process.contexts;
    process.contexts = context;
    return context;
}

static void begin_context(struct context *context, const struct next_comm *comm)
{
    context->is_used = true;
    context->records = context->lost = 0;
    context->comm = (struct run_comm){.hash = comm->hash,
                                      .nodes = comm->nodes,
                                      .ranks = comm->ranks,
                                      .rank = comm->rank,
                                      .interface = process.version};
    snprintf(context->comm.name, sizeof context->comm.name, "%s", comm->name ? comm->name : "");
    context->is_recording = process.is_recording;
    context->next_mask = 0;
    context->has_next = process.next.library &&
                        next_init(&process.next, comm, &context->next_mask, &context->next_context);
    if (process.own_mask & EVENT_KERNEL)
        context->await = AWAIT_CHANNELS;
    else
        context->await =
            context->has_next || process.own_mask & EVENT_PROXY_OP ? AWAIT_ANY : AWAIT_NOTHING;
}

static int create(int version, void **context, int *mask, const struct next_comm *comm)
{
    *context = NULL;
    pthread_mutex_lock(&process.lock);
    struct context *made = take_context();
    if (made) {
        if (process.users++ == 0)
            open_process(version, comm->log);
        made->mask = mask;
        begin_context(made, comm);
        ask(made);
        *context = made;
    }
    pthread_mutex_unlock(&process.lock);
    return ABI_SUCCESS;
}

/** With the last communicator: threads are joined and nothing is left behind. */
static void close_process(void)
{
    const uint64_t lost = writer_close();
    if (lost > 0)
        fprintf(stderr, "ronde: RONDE_PROFILER_FILE: %llu records could not be written\n",
                (unsigned long long)lost);
    next_close(&process.next);
    while (process.contexts) {
        struct context *context = process.contexts;
        process.contexts = context->other;
        for (uint32_t b = 0; b < context->block_count; b++)
            free(context->blocks[b]);
        pthread_mutex_destroy(&context->lock);
        free(context);
    }
}

static int finalize(void *handle)
{
    struct context *context = handle;
    if (!context)
        return ABI_SUCCESS;
    event_settle_all(context);
    pthread_mutex_lock(&process.lock);
    if (context->has_next)
        next_finalize(&process.next, context->next_context);
    context->is_used = context->has_next = false;
    if (--process.users == 0)
        close_process();
    pthread_mutex_unlock(&process.lock);
    return ABI_SUCCESS;
}

/** What versions 1 to 3 say of a communicator with its events only. */
static void learn_comm(struct context *context, const struct event_v6 *event,
                       const struct event_comm *comm)
{
    pthread_mutex_lock(&context->lock);
    context->comm.hash = comm->hash;
    context->comm.rank = event->rank;
    if (comm->name)
        snprintf(context->comm.name, sizeof context->comm.name, "%s", comm->name);
    pthread_mutex_unlock(&context->lock);
}

/** A proxy works for a rank of another process, too: whose parent is a pointer there. */
static bool is_foreign(const struct event_v6 *event)
{
    return event->type == EVENT_PROXY_OP && event->is.op.pid != getpid();
}

/** Whether an event is one of a collective's or send's own that it waits for. */
static bool is_child(const struct event_v6 *event)
{
    return (event->type == EVENT_KERNEL || event->type == EVENT_PROXY_OP) && event->parent &&
           !is_foreign(event);
}

static bool is_own(const struct context *context, const struct event_v6 *event)
{
    return context->is_recording &&
           (event_is_run(event->type) ||
            ((process.own_mask & (EVENT_KERNEL | EVENT_PROXY_OP) & event->type) && is_child(event)));
}

/** The next profiler's handle of an event of ours. */
static void *next_of(void *handle)
{
    return handle ? ((struct event *)handle)->next : NULL;
}

static void begin_child(struct event *child, const struct event_v6 *event)
{
    if (event->type == EVENT_KERNEL && process.version > 3) {
        child->start_ns = child->stop_ns = event->is.kernel.timer;
        child->clock = RUN_GPU;
    } else if (event->type == EVENT_KERNEL || process.own_mask & EVENT_PROXY_OP) {
        child->start_ns = clock_ns(CLOCK_MONOTONIC);
        child->clock = RUN_HOST;
    }
}

/** Hands an event on, with handles of the next profiler for parents. */
static void hand_on(struct event *to, struct event_v6 *event, const struct event_comm *comm)
{
    if (!is_foreign(event))
        event->parent = next_of(event->parent);
    if (event->type == EVENT_COLL)
        event->is.coll.parent_group = next_of(event->is.coll.parent_group);
    if (event->type == EVENT_P2P)
        event->is.p2p.parent_group = next_of(event->is.p2p.parent_group);
    to->next = next_start(&process.next, to->asker->next_context, event, comm);
}

static int start(int version, void *handle, void **out_event, const void *descriptor)
{
    struct context *context = handle;
    struct event_v6 event;
    struct event_comm comm = {NULL, 0};
    *out_event = NULL;
    if (!context)
        return ABI_SUCCESS;
    event_read(version, descriptor, &event, &comm);
    /* The next profiler may ask for more at any time. */
    if (context->next_mask != context->next_asked)
        ask(context);
    /* Versions 1 to 3 name the communicator in descriptors of runs, later ones in init. */
    if (version <= 3 && event_is_run(event.type))
        learn_comm(context, &event, &comm);
    else if (version > 3)
        comm = (struct event_comm){context->comm.name, context->comm.hash};
    const bool is_handed_on = context->has_next && ((uint64_t)next_sees(&process.next) & event.type);
    if (!is_own(context, &event) && !is_handed_on)
        return ABI_SUCCESS;
    struct event *made = event_take(context, event.type);
    if (is_child(&event))
        (void)event_adopt(made, event.parent);
    if (!made)
        return ABI_SUCCESS;
    if (event_is_run(event.type))
        event_begin_run(made, &event, clock_ns(CLOCK_REALTIME));
    if (made->parent)
        begin_child(made, &event);
    if (is_handed_on)
        hand_on(made, &event, &comm);
    *out_event = made;
    return ABI_SUCCESS;
}

static int stop(void *handle)
{
    struct event *event = handle;
    if (!event)
        return ABI_SUCCESS;
    next_stop(&process.next, event->next);
    event_stop(event, clock_ns(CLOCK_MONOTONIC));
    return ABI_SUCCESS;
}

static int state(void *handle, int state, void *arguments)
{
    struct event *event = handle;
    if (!event)
        return ABI_SUCCESS;
    if (event->type == EVENT_KERNEL && state == STATE_KERNEL_STOP && arguments &&
        event->clock == RUN_GPU)
        event->stop_ns = ((const union state_v4 *)arguments)->kernel.timer;
    next_state(&process.next, process.version, event->next, state, arguments);
    return ABI_SUCCESS;
}

static const struct next_comm unknown = {.rank = -1};

#define INIT_V1(version)                                                                           \
    static int init_v##version(void **context, int *mask)                                          \
    {                                                                                              \
        return create(version, context, mask, &unknown);                                           \
    }
#define START(version)                                                                             \
    static int start_v##version(void *context, void **handle, void *event)                         \
    {                                                                                              \
        return start(version, context, handle, event);                                             \
    }
#define INIT_V5(version)                                                                           \
    static int init_v##version(void **context, uint64_t comm, int *mask, const char *name,         \
                               int nodes, int ranks, int rank, abi_log log)                        \
    {                                                                                              \
        const struct next_comm said = {name, comm, nodes, ranks, rank, log};                       \
        return create(version, context, mask, &said);                                              \
    }

INIT_V1(1)
INIT_V1(2)
INIT_V1(3)
static int init_v4(void **context, int *mask, const char *name, uint64_t comm, int nodes, int ranks,
                   int rank, abi_log log)
{
    const struct next_comm said = {name, comm, nodes, ranks, rank, log};
    return create(4, context, mask, &said);
}
INIT_V5(5)
INIT_V5(6)
START(1)
START(2)
START(3)
START(4)
START(5)
START(6)

#define PROFILER(version)                                                                          \
    {                                                                                              \
        "ronde", init_v##version, start_v##version, stop, state, finalize                          \
    }

EXPORTED const struct profiler_v1 ncclProfiler_v1 = PROFILER(1);
EXPORTED const struct profiler_v1 ncclProfiler_v2 = PROFILER(2);
EXPORTED const struct profiler_v1 ncclProfiler_v3 = PROFILER(3);
EXPORTED const struct profiler_v4 ncclProfiler_v4 = PROFILER(4);
EXPORTED const struct profiler_v5 ncclProfiler_v5 = PROFILER(5);
EXPORTED const struct profiler_v5 ncclProfiler_v6 = PROFILER(6);
