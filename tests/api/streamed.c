/* Streams of an emulated device, and ranks that have one. See streamed.h. */
#include "api/streamed.h"

#include "api/calls.h"
#include "cuda/emulated/one.h"
#include "hw/cuda/job.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Communicators of a process: each opens the device for itself. */
#define OPENED_MAX 2

static struct {
    const struct ronde_gpu *inner;
    struct ronde_gpu gpu;
    const unsigned char *first; /* the block the rank has there */
    size_t bytes;
} devices[OPENED_MAX];

/* A communicator's calls are one thread's at a time, those of several are not. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A start of a kernel, a call of a function, or the end of a kernel in another stream that what follows waits for. */
struct item {
    void *queue; /* of a kernel */
    void (*function)(void *self);
    void *self;
    enum ronde_dtype dtype;
    const struct ronde_job *job;
    struct ronde_given given;
    uint32_t blocks;
    char *after; /* the other stream */
    size_t until;
};

#define ITEMS_MAX 40000u

/* Items in the order in which they begin, each when that before it is over. A graph is one that does not move. */
struct sequence {
    struct item *items;
    size_t count;
    size_t done;
    bool is_running; /* the first that is not done */
};

/* Names of streamed_names: what each has is in a sequence. */
char streamed_names[2];
static struct sequence sequences[2];
static struct sequence graph;

/* How far a stream was when a queue was marked, by the mark's number. */
struct mark {
    char *stream;
    size_t count;
};

static struct marks {
    void *queue;
    struct mark of[RONDE_GPU_MARKS];
} marks[OPENED_MAX * RONDE_KEPT_PROGRAMS];

bool streamed_is_capturing;
bool streamed_is_lazy;

static enum ronde_status add(struct sequence *to, struct item item, struct ronde_error *error)
{
    pthread_mutex_lock(&lock);
    if (!to->items)
        to->items = malloc(ITEMS_MAX * sizeof *to->items);
    const bool has_room = to->items && to->count < ITEMS_MAX;
    if (has_room)
        to->items[to->count++] = item;
    pthread_mutex_unlock(&lock);
    return has_room ? RONDE_OK
                    : ronde_fail(error, RONDE_NO_MEMORY, "no memory for an item of a stream");
}

/* A stream as it is: others may move it on. */
static struct sequence look_at(const char *stream)
{
    pthread_mutex_lock(&lock);
    const struct sequence found = sequences[stream - streamed_names];
    pthread_mutex_unlock(&lock);
    return found;
}

/* Moves a stream on as far as it goes. */
static enum ronde_status advance(char *stream, struct ronde_error *error)
{
    struct sequence *of = &sequences[stream - streamed_names];
    const struct ronde_gpu *inner = devices[0].inner;
    enum ronde_status status = RONDE_OK;
    pthread_mutex_lock(&lock);
    while (of->done < of->count && status == RONDE_OK) {
        const struct item *item = &of->items[of->done];
        void *const in = stream;
        bool is_past = item->after && sequences[item->after - streamed_names].done >= item->until;
        if (item->function)
            item->function(item->self);
        is_past |= item->function != NULL;
        if (item->queue && !of->is_running)
            status = inner->start(item->queue, &in, item->dtype, item->job, &item->given,
                                  item->blocks, error);
        of->is_running = item->queue != NULL;
        if (status == RONDE_OK && item->queue)
            status = inner->is_past(item->queue, 1, &is_past, error);
        if (!is_past)
            break;
        of->is_running = false;
        of->done++;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static enum ronde_status start(void *queue, void *const *stream, enum ronde_dtype dtype,
                               const struct ronde_job *job, const struct ronde_given *given,
                               uint32_t blocks, struct ronde_error *error)
{
    const struct item item = {
        .queue = queue, .dtype = dtype, .job = job, .given = *given, .blocks = blocks};
    if (!stream)
        return devices[0].inner->start(queue, stream, dtype, job, given, blocks, error);
    if (streamed_is_lazy)
        return RONDE_OK;
    return add(streamed_is_capturing ? &graph : &sequences[(char *)*stream - streamed_names], item,
               error);
}

static enum ronde_status call(void *queue, void *stream, void (*function)(void *self), void *self,
                              struct ronde_error *error)
{
    const struct item item = {.function = function, .self = self};
    (void)queue;
    return add(streamed_is_capturing ? &graph : &sequences[(char *)stream - streamed_names], item,
               error);
}

static struct mark *mark_of(void *queue, uint64_t number)
{
    size_t k = 0;
    pthread_mutex_lock(&lock);
    while (marks[k].queue && marks[k].queue != queue)
        k++;
    marks[k].queue = queue;
    pthread_mutex_unlock(&lock);
    return &marks[k].of[number % RONDE_GPU_MARKS];
}

static enum ronde_status mark(void *queue, void *stream, uint64_t number, struct ronde_error *error)
{
    *mark_of(queue, number) = (struct mark){stream, look_at(stream).count};
    return streamed_is_capturing ? ronde_fail(error, RONDE_DEVICE, "marked in a capture") : RONDE_OK;
}

static enum ronde_status follow(void *queue, void *stream, uint64_t number,
                                struct ronde_error *error)
{
    const struct mark *of = mark_of(queue, number);
    const struct item item = {.after = of->stream, .until = of->count};
    return add(&sequences[(char *)stream - streamed_names], item, error);
}

static enum ronde_status is_past(void *queue, uint64_t number, bool *out_past,
                                 struct ronde_error *error)
{
    const struct mark *of = mark_of(queue, number);
    enum ronde_status status = advance(&streamed_names[0], error);
    if (status == RONDE_OK)
        status = advance(&streamed_names[1], error);
    *out_past = look_at(of->stream).done >= of->count;
    return status;
}

/* Starts what was captured, once more. */
enum ronde_status streamed_replay(char *stream, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (size_t k = 0; k < graph.count && status == RONDE_OK; k++)
        status = add(&sequences[stream - streamed_names], graph.items[k], error);
    return status;
}

enum ronde_status streamed_synchronise(char *stream, struct ronde_error *error)
{
    struct sequence of = look_at(stream);
    enum ronde_status status = RONDE_OK;
    while (of.done < of.count && status == RONDE_OK) {
        status = advance(stream, error);
        of = look_at(stream);
    }
    return status;
}

static void close_queue(void *queue)
{
    size_t k = 0;
    pthread_mutex_lock(&lock);
    while (k < OPENED_MAX * RONDE_KEPT_PROGRAMS && marks[k].queue != queue)
        k++;
    for (; k + 1 < OPENED_MAX * RONDE_KEPT_PROGRAMS; k++)
        marks[k] = marks[k + 1];
    pthread_mutex_unlock(&lock);
    devices[0].inner->close_queue(queue);
}

static bool reaches(void *self, const void *memory, uint64_t bytes)
{
    (void)self;
    for (size_t k = 0; k < OPENED_MAX; k++) {
        const uintptr_t offset = (uintptr_t)memory - (uintptr_t)devices[k].first;
        if (devices[k].first && offset <= devices[k].bytes && bytes <= devices[k].bytes - offset)
            return true;
    }
    return false;
}

uint32_t streamed_captured(void)
{
    return (uint32_t)graph.count;
}

static enum ronde_status is_captured(void *self, void *stream, bool *out_captured,
                                     struct ronde_error *error)
{
    (void)self;
    (void)stream;
    (void)error;
    *out_captured = streamed_is_capturing;
    return RONDE_OK;
}

const struct emulated_options emulated_one_options = {.movers = 3, .resident = 4, .room_bytes = 4096};

const struct ronde_gpu *emulated_one_open(const struct ronde_gpu *inner)
{
    struct ronde_gpu *gpu = &devices[devices[0].inner ? 1 : 0].gpu;
    devices[devices[0].inner ? 1 : 0].inner = inner;
    *gpu = *inner;
    gpu->start = start;
    gpu->call = call;
    gpu->close_queue = close_queue;
    gpu->is_captured = is_captured;
    gpu->mark = mark;
    gpu->follow = follow;
    gpu->is_past = is_past;
    gpu->reaches = reaches;
    return gpu;
}

const struct ronde_gpu *emulated_one_close(const struct ronde_gpu *gpu)
{
    return devices[gpu == &devices[1].gpu].inner;
}

enum ronde_status streamed_open(struct streamed_rank *rank, const struct team_member *member,
                                size_t count, struct ronde_error *error)
{
    *rank = (struct streamed_rank){.member = member, .count = count};
    enum ronde_status status = calls_join(member, &rank->comm, error);
    if (status == RONDE_OK)
        status = ronde_comm_use_device(rank->comm, 0, error);
    if (status != RONDE_OK)
        return status;
    rank->rank = ronde_comm_rank(rank->comm);
    rank->ranks = ronde_comm_ranks(rank->comm);
    rank->data = ronde_mem_new(ronde_comm_device_mem(rank->comm), count, sizeof *rank->data);
    const size_t opened = devices[1].inner ? 1 : 0;
    devices[opened].first = (const unsigned char *)rank->data;
    devices[opened].bytes = count * sizeof *rank->data;
    return rank->data ? RONDE_OK : ronde_fail(error, RONDE_NO_MEMORY, "no memory of the device");
}

/* Other memory of the device, which may outlive the communicator: an operation that is pending when that goes needs it. */
enum ronde_status streamed_own_memory(struct streamed_rank *rank, struct ronde_error *error)
{
    ronde_mem_free(ronde_comm_device_mem(rank->comm), rank->data, rank->count, sizeof *rank->data);
    rank->data = calloc(rank->count, sizeof *rank->data);
    devices[0].first = (const unsigned char *)rank->data;
    return rank->data ? RONDE_OK : ronde_fail(error, RONDE_NO_MEMORY, "no memory");
}

void streamed_close(struct streamed_rank *rank)
{
    if (rank->data)
        ronde_mem_free(ronde_comm_device_mem(rank->comm), rank->data, rank->count,
                       sizeof *rank->data);
    ronde_comm_destroy(rank->comm);
}

uint64_t streamed_pulled(void)
{
    return emulated_gpu_counts(devices[0].inner).pulled_launches;
}

uint64_t streamed_writes(void)
{
    return emulated_gpu_counts(devices[0].inner).writes;
}
