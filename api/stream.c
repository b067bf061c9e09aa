/* Operations in streams of a device. See stream.h. */
#include "api/stream.h"

#include "ronde/cuda.h"
#include "ronde/device_lines.h"
#include "ronde/hw.h"

#include <string.h>

/* No launch: an index beyond the last. */
#define NOWHERE ((uint32_t)RONDE_KEPT_PROGRAMS)

/* The GPUs here, which protocol serves which size on them, and one of them for this rank. */
static enum ronde_status open_device(struct ronde_comm *comm, uint32_t device,
                                     const struct ronde_mem *mem, void **out_cuda,
                                     struct ronde_error *error)
{
    struct ronde_machine machine = {.devices = 0};
    struct ronde_error unseen = {0};
    if (ronde_backend_cuda.probe(&machine, &unseen) == RONDE_OK)
        machine.lines_up_to_bytes = ronde_device_lines_up_to_bytes(&machine);
    const struct ronde_cuda_choices choices = {.devices = &device,
                                               .device_count = 1,
                                               .comm = comm,
                                               .lines_up_to_bytes = machine.lines_up_to_bytes};
    return ronde_cuda_open_with(&choices, mem, out_cuda, error);
}

enum ronde_status ronde_comm_use_device(struct ronde_comm *comm, uint32_t device,
                                        struct ronde_error *error)
{
    struct ronde_queue *queue = NULL;
    enum ronde_status status = ronde_queue_of(comm, &queue, error);
    if (status != RONDE_OK)
        return status;
    ronde_queue_enter(queue, false);
    struct ronde_streams *streams = NULL;
    if (queue->streams) {
        status = ronde_fail(error, RONDE_BAD_ARGUMENT, "the communicator has a device already");
    } else if (!(streams = ronde_mem_new(queue->mem, 1, sizeof *streams))) {
        /* The others wait for this rank. */
        ronde_comm_abort(comm);
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory for launches on a device");
    } else {
        status = open_device(comm, device, queue->mem, &streams->cuda, error);
    }
    if (status == RONDE_OK)
        queue->streams = streams;
    else
        ronde_mem_free(queue->mem, streams, streams ? 1 : 0, sizeof *streams);
    ronde_queue_leave(queue);
    return status;
}

const struct ronde_mem *ronde_comm_device_mem(struct ronde_comm *comm)
{
    struct ronde_queue *queue = NULL;
    if (!ronde_comm_attachment(comm) || ronde_queue_of(comm, &queue, NULL) != RONDE_OK ||
        !queue->streams)
        return NULL;
    return ronde_cuda_mem(queue->streams->cuda, 0);
}

static void unload(struct ronde_queue *queue, struct ronde_stream_launch *launch)
{
    if (!launch->shared)
        return;
    if (queue->streams->last == launch)
        queue->streams->last = NULL;
    ronde_backend_cuda.unload(launch->program);
    ronde_cache_give(&queue->cache, launch->shared);
    memset(launch, 0, sizeof *launch);
}

void ronde_streams_drop(struct ronde_queue *queue, enum ronde_collective collective)
{
    for (uint32_t k = 0; queue->streams && k < NOWHERE; k++) {
        struct ronde_stream_launch *launch = &queue->streams->kept[k];
        if (!launch->shared || ronde_kind_collective(&launch->kind) != collective)
            continue;
        if (launch->is_captured)
            launch->is_prepared = false;
        else
            unload(queue, launch);
    }
}

void ronde_streams_close(struct ronde_queue *queue)
{
    if (!queue->streams)
        return;
    for (uint32_t k = 0; k < NOWHERE; k++)
        unload(queue, &queue->streams->kept[k]);
    ronde_backend_cuda.close(queue->streams->cuda);
    ronde_mem_free(queue->mem, queue->streams, 1, sizeof *queue->streams);
    queue->streams = NULL;
}

void ronde_streams_stop(struct ronde_queue *queue)
{
    for (uint32_t k = 0; k < NOWHERE; k++) {
        struct ronde_stream_launch *launch = &queue->streams->kept[k];
        struct ronde_error ignored = {0};
        bool is_past = false;
        if (launch->pending == 0)
            continue;
        ronde_backend_cuda.abort(launch->program);
        while (ronde_cuda_is_past(launch->program, launch->mark, &is_past, &ignored) == RONDE_OK &&
               !is_past)
            ronde_thread_rest(0);
        /* How they ended is known: the communicator has failed. */
        if (ronde_cuda_check(launch->program, &ignored) != RONDE_OK)
            launch->is_prepared = false;
        launch->pending = 0;
    }
}

/* The end of an operation whose launch is past. */
static enum ronde_status conclude(struct ronde_queue *queue, struct ronde_stream_launch *launch,
                                  enum ronde_status status, struct ronde_error *error)
{
    /* The check would wait for later runs as well. */
    if (status == RONDE_OK && ronde_cuda_is_stopped(launch->program))
        status = ronde_cuda_check(launch->program, error);
    launch->pending--;
    if (status == RONDE_OK)
        return RONDE_OK;
    launch->is_prepared = false;
    /* A kernel that was stopped on one rank leaves the others with a part of its messages. */
    ronde_comm_fail(queue->comm, error);
    ronde_queue_note(queue);
    return status;
}

bool ronde_stream_advance(struct ronde_request *request)
{
    struct ronde_queue *queue = request->queue;
    struct ronde_stream_launch *launch = request->launch;
    struct ronde_error error = {0};
    bool is_past = true;
    enum ronde_status status = RONDE_OK;
    if (launch) {
        const double deadline_ns = ronde_request_deadline_of(request);
        if (deadline_ns > 0 && ronde_clock_ns() > deadline_ns)
            ronde_backend_cuda.abort(launch->program);
        status = ronde_cuda_is_past(launch->program, request->mark, &is_past, &error);
        if (status == RONDE_OK && !is_past)
            return false;
        status = conclude(queue, launch, status, &error);
    }
    ronde_queue_end_first(queue, status, &error);
    return true;
}

/* Waits until no more operations of a launch are pending; NULL: of none. */
static void await(struct ronde_queue *queue, const struct ronde_stream_launch *launch)
{
    while (queue->first && (!launch || launch->pending > 0))
        if (!ronde_queue_advance(queue))
            ronde_queue_idle(queue);
}

/* Where a launch is kept; NOWHERE = it is not. */
static uint32_t find_launch(const struct ronde_queue *queue, const struct ronde_kind *kind,
                            const struct ronde_launch *given)
{
    uint32_t at = 0;
    for (; at < NOWHERE; at++) {
        const struct ronde_stream_launch *launch = &queue->streams->kept[at];
        if (launch->is_prepared && launch->count == given->count && launch->dtype == given->dtype &&
            launch->op == given->op && ronde_kind_is_same(&launch->kind, kind, queue->ranks))
            break;
    }
    return at;
}

/*
 * The place of a launch that is not kept, NULL where all have been captured. It follows from the calls so far, which are the
 * same on all ranks; blocks of different lengths are not compared, so a kind has one launch with such beside those in graphs.
 */
static struct ronde_stream_launch *choose_place(struct ronde_queue *queue,
                                                const struct ronde_kind *kind)
{
    struct ronde_stream_launch *kept = queue->streams->kept;
    struct ronde_stream_launch *chosen = NULL;
    for (uint32_t k = 0; k < NOWHERE; k++) {
        if (kept[k].is_captured)
            continue;
        if (kept[k].shared && ronde_kind_is_v(kind) &&
            ronde_kind_is_same(&kept[k].kind, kind, queue->ranks))
            return &kept[k];
        if (!chosen || kept[k].used < chosen->used)
            chosen = &kept[k];
    }
    return chosen;
}

/* Loads what a place has to hold; what it holds may be that already. Collective. */
static enum ronde_status load(struct ronde_queue *queue, struct ronde_stream_launch *launch,
                              const struct ronde_kind *kind, struct ronde_error *error)
{
    struct ronde_shared_schedule *shared = NULL;
    enum ronde_status status = ronde_cache_take(&queue->cache, kind, "cuda", &shared, error);
    if (status != RONDE_OK)
        return status;
    if (launch->shared == shared) {
        ronde_cache_give(&queue->cache, shared);
    } else {
        unload(queue, launch);
        status = ronde_backend_cuda.load(queue->streams->cuda, shared->schedule, &launch->program,
                                         error);
        if (status != RONDE_OK) {
            ronde_cache_give(&queue->cache, shared);
            return status;
        }
        launch->shared = shared;
    }
    launch->kind = *kind;
    launch->kind.source_of = kind->source_of ? shared->schedule->source_of : NULL;
    return RONDE_OK;
}

/* The launch of a call, in tables that the next call of the queue fills again. */
static enum ronde_status fill(struct ronde_queue *queue, const struct ronde_call *call,
                              uint64_t count, struct ronde_launch *launch, struct ronde_error *error)
{
    const enum ronde_status status = ronde_queue_fill_launch(queue, call, count, launch, error);
    launch->timeout_ns = call->timeout_ns ? call->timeout_ns : queue->timeout_ns;
    return status;
}

/* Prepares a launch in a place of its own. Collective: it is done on all ranks or on none. */
static enum ronde_status prepare(struct ronde_queue *queue, const struct ronde_kind *kind,
                                 const struct ronde_call *call, uint64_t count, double deadline_ns,
                                 struct ronde_stream_launch **out_launch, struct ronde_error *error)
{
    struct ronde_stream_launch *launch = choose_place(queue, kind);
    struct ronde_launch given;
    struct ronde_error why = {0};
    if (!launch)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "%s: all %u launches that a communicator keeps are in captured graphs",
                          ronde_collective_text(call->collective), NOWHERE);
    /* Messages between hosts are moved by a thread of a program, which has the communicator meanwhile. */
    await(queue, ronde_comm_transport(queue->comm) == RONDE_TRANSPORT_SHM ? launch : NULL);
    launch->is_prepared = false;
    ronde_queue_limit(queue, deadline_ns);
    enum ronde_status status = load(queue, launch, kind, error);
    if (status == RONDE_OK) {
        enum ronde_status own = fill(queue, call, count, &given, &why);
        /* Not made alone: the other ranks meet in it. */
        if (own == RONDE_OK)
            own = ronde_cuda_prepare(launch->program, &given, &why);
        else
            ronde_comm_fail(queue->comm, &why);
        status = ronde_cache_agree(&queue->cache, own, &why, error);
    }
    ronde_comm_limit(queue->comm, 0);
    if (status == RONDE_OK) {
        launch->count = given.count;
        launch->dtype = given.dtype;
        launch->op = given.op;
        launch->is_prepared = !ronde_kind_is_v(kind);
        *out_launch = launch;
    }
    return status;
}

/* A launch that all ranks have, with the buffers of a call: this rank's alone, as are its mistakes. */
static enum ronde_status give(struct ronde_queue *queue, const struct ronde_stream_launch *launch,
                              const struct ronde_launch *given, struct ronde_error *error)
{
    struct ronde_error why = {0};
    const enum ronde_status status = ronde_cuda_give(launch->program, given, &why);
    if (status == RONDE_OK)
        return RONDE_OK;
    /* The others' kernels will wait for this rank's. */
    ronde_comm_fail(queue->comm, &why);
    return ronde_fail(error, status, "%s", why.message);
}

/* Finds the launch of a call, or makes it. */
static enum ronde_status find_or_prepare(struct ronde_queue *queue, const struct ronde_call *call,
                                         uint64_t count, double deadline_ns,
                                         struct ronde_stream_launch **out_launch,
                                         struct ronde_error *error)
{
    const struct ronde_kind kind = ronde_kind_of(call, count);
    struct ronde_launch given;
    RONDE_TRY(fill(queue, call, count, &given, error));
    const uint32_t at = find_launch(queue, &kind, &given);
    if (at == NOWHERE)
        return prepare(queue, &kind, call, count, deadline_ns, out_launch, error);
    *out_launch = &queue->streams->kept[at];
    return give(queue, *out_launch, &given, error);
}

/* What was called last, in another stream, comes first: operations of a communicator are in order. */
static enum ronde_status follow_last(struct ronde_queue *queue, void *stream,
                                     struct ronde_error *error)
{
    struct ronde_stream_launch *const last = queue->streams->last;
    return last && queue->streams->stream != stream
               ? ronde_cuda_follow(last->program, &stream, error)
               : RONDE_OK;
}

/* One run at the end of the stream. From here on a failure is the communicator's: the other ranks may have theirs. */
static enum ronde_status enqueue(struct ronde_queue *queue, struct ronde_stream_launch *launch,
                                 void *stream, bool is_captured, struct ronde_error *error)
{
    struct ronde_error why = {0};
    enum ronde_status status = is_captured ? RONDE_OK : follow_last(queue, stream, &why);
    RONDE_THEN(status, ronde_cuda_enqueue(launch->program, &stream, &why));
    if (status == RONDE_OK && !is_captured)
        status = ronde_cuda_mark(launch->program, &stream, &launch->mark, &why);
    if (status != RONDE_OK) {
        launch->is_prepared = false;
        ronde_comm_fail(queue->comm, &why);
        return ronde_fail(error, status, "%s", why.message);
    }
    launch->used = ++queue->streams->calls;
    launch->is_captured |= is_captured;
    if (is_captured)
        return RONDE_OK;
    launch->pending++;
    queue->streams->stream = stream;
    queue->streams->last = launch;
    return RONDE_OK;
}

/* Ranks find out the longest block before, where the tables here do not tell. */
static enum ronde_status find_count(struct ronde_queue *queue, const struct ronde_call *call,
                                    double deadline_ns, uint64_t *out_count,
                                    struct ronde_error *error)
{
    *out_count = call->count;
    if (!call->is_v || call->count > 0)
        return RONDE_OK;
    await(queue, NULL);
    const enum ronde_status status =
        ronde_queue_run_here(queue, ronde_queue_agreement(queue, call), 1, deadline_ns, error);
    *out_count = queue->agreed[1];
    return status;
}

/* A replay of a graph has no request that could fail; the next call reports one that was stopped. */
static enum ronde_status check_replays(struct ronde_queue *queue, struct ronde_error *error)
{
    for (uint32_t k = 0; k < NOWHERE; k++) {
        const struct ronde_stream_launch *launch = &queue->streams->kept[k];
        struct ronde_error why = {0};
        if (!launch->is_captured || launch->pending > 0 || !ronde_cuda_is_stopped(launch->program))
            continue;
        const enum ronde_status status = ronde_cuda_check(launch->program, &why);
        if (status == RONDE_OK)
            continue;
        ronde_comm_fail(queue->comm, &why);
        return ronde_fail(error, status, "a replayed graph: %.480s", why.message);
    }
    return RONDE_OK;
}

/* What is not the stream's: all ranks do the same, one call after another. *out_over: nothing of it is pending. */
static enum ronde_status start(struct ronde_request *request, bool *out_over,
                               struct ronde_error *error)
{
    struct ronde_queue *queue = request->queue;
    const struct ronde_call *call = &request->call;
    uint64_t count = 0;
    if (queue->failure.status != RONDE_OK)
        return ronde_queue_failed(queue, error);
    enum ronde_status status = check_replays(queue, error);
    RONDE_THEN(status, ronde_cuda_is_captured(queue->streams->cuda, call->stream, out_over, error));
    RONDE_THEN(status, find_count(queue, call, ronde_request_deadline_of(request), &count, error));
    if (status != RONDE_OK || ronde_call_is_empty(call, count))
        return status;
    status = find_or_prepare(queue, call, count, ronde_request_deadline_of(request),
                             &request->launch, error);
    RONDE_THEN(status, enqueue(queue, request->launch, call->stream, *out_over, error));
    request->mark = status == RONDE_OK ? request->launch->mark : 0;
    return status;
}

enum ronde_status ronde_stream_start(struct ronde_request *request, struct ronde_error *error)
{
    struct ronde_queue *queue = request->queue;
    bool is_over = false;
    ronde_queue_enter(queue, true);
    enum ronde_status status = RONDE_OK;
    if (!queue->streams)
        status = ronde_fail(error, RONDE_UNAVAILABLE,
                            "%s: a stream was given, and the communicator has no device "
                            "(ronde_comm_use_device)",
                            ronde_collective_text(request->call.collective));
    else
        status = start(request, &is_over, error);
    if (status != RONDE_OK)
        ronde_queue_note(queue);
    else if (is_over)
        ronde_queue_end(request, RONDE_OK, NULL);
    else
        ronde_queue_append_stream(request);
    ronde_queue_leave(queue);
    return status;
}
