/** Events of a context. See profiler.h. */
#define _GNU_SOURCE

#include "profiler.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool event_is_run(uint64_t type)
{
    return type == EVENT_COLL || type == EVENT_P2P || type == EVENT_CE_COLL;
}

static void append(struct event_list *list, struct event *event)
{
    event->newer = NULL;
    event->older = list->newest;
    if (list->newest)
        list->newest->newer = event;
    else
        list->oldest = event;
    list->newest = event;
    list->count++;
}

static void take_out(struct event_list *list, struct event *event)
{
    *(event->older ? &event->older->newer : &list->oldest) = event->newer;
    *(event->newer ? &event->newer->older : &list->newest) = event->older;
    event->older = event->newer = NULL;
    list->count--;
}

/** A block more, if there may be one. */
static void grow(struct context *context)
{
    if (context->block_count == EVENT_BLOCKS)
        return;
    struct event *block = calloc(EVENT_BLOCK, sizeof *block);
    if (!block)
        return;
    context->blocks[context->block_count++] = block;
    for (int i = 0; i < EVENT_BLOCK; i++)
        append(&context->free, &block[i]);
}

struct event *event_take(struct context *context, uint64_t type)
{
    pthread_mutex_lock(&context->lock);
    if (context->free.count <= (context->has_next ? EVENT_KEPT : 0))
        grow(context);
    struct event *event = context->free.oldest;
    if (event) {
        take_out(&context->free, event);
        memset(event, 0, sizeof *event);
        event->home = context;
        event->asker = context;
        event->type = type;
        event->is_live = true;
    } else {
        context->lost++;
    }
    pthread_mutex_unlock(&context->lock);
    return event;
}

static void give(struct context *context, struct event *event)
{
    event->is_live = false;
    append(&context->free, event);
}

/** Writes the record of a collective and frees it. */
static void record(struct context *context, struct event *event)
{
    char line[RUN_LINE_BYTES];
    if (event->is_waiting)
        take_out(&context->waiting, event);
    event->is_waiting = false;
    if (context->is_recording) {
        if (writer_line(line, run_print(&event->run, &context->comm, line)))
            context->records++;
        else
            context->lost++;
    }
    give(context, event);
}

/** Whether all of its channels, as far as it is known how many they are, have been told of. */
static bool is_whole(const struct context *context, const struct event *event)
{
    return event->type == EVENT_CE_COLL || context->await == AWAIT_NOTHING ||
           (context->await == AWAIT_CHANNELS && event->run.channels > 0 &&
            event->run.seen >= event->run.awaited);
}

/** Records what has waited long enough. */
static void give_up(struct context *context, struct event *event)
{
    if (context->await == AWAIT_CHANNELS && event->run.seen < event->run.awaited)
        event->run.is_incomplete = true;
    record(context, event);
}

/** One thing less that a collective waits for. */
static void release(struct context *context, struct event *event)
{
    if (--event->refs > 0)
        return;
    if (is_whole(context, event)) {
        record(context, event);
        return;
    }
    append(&context->waiting, event);
    event->is_waiting = true;
    const uint32_t lag = context->await == AWAIT_CHANNELS ? EVENT_LAG_CHANNELS : EVENT_LAG_ANY;
    if (context->waiting.count > lag)
        give_up(context, context->waiting.oldest);
}

void event_begin_run(struct event *event, const struct event_v6 *descriptor, uint64_t host_ns)
{
    struct context *context = event->home;
    pthread_mutex_lock(&context->lock);
    run_begin(&event->run, descriptor, host_ns);
    event->run.awaited = event->run.channels;
    event->refs = 1;
    pthread_mutex_unlock(&context->lock);
}

bool event_adopt(struct event *child, struct event *parent)
{
    struct context *context = parent->home;
    pthread_mutex_lock(&context->lock);
    const bool is_parent = parent->is_live && (parent->type & (EVENT_COLL | EVENT_P2P));
    if (is_parent && parent->is_waiting) {
        take_out(&context->waiting, parent);
        parent->is_waiting = false;
    }
    if (is_parent && child) {
        parent->refs++;
        child->parent = parent;
    } else if (is_parent) {
        /* There was no memory for the child: it is not waited for. */
        parent->run.is_incomplete = true;
        parent->run.awaited -= parent->run.awaited > 0;
        parent->refs++;
        release(context, parent);
    }
    pthread_mutex_unlock(&context->lock);
    return is_parent;
}

/** A channel's time goes to its collective. */
static void end_child(struct event *child)
{
    struct event *parent = child->parent;
    struct context *context = parent->home;
    pthread_mutex_lock(&context->lock);
    if (parent->is_live && parent->refs > 0) {
        if (child->clock != RUN_UNTIMED)
            run_add_channel(&parent->run, child->clock, child->start_ns, child->stop_ns);
        release(context, parent);
    }
    pthread_mutex_unlock(&context->lock);
}

void event_stop(struct event *event, uint64_t host_ns)
{
    struct context *context = event->home;
    if (event->parent) {
        if (event->clock == RUN_HOST)
            event->stop_ns = host_ns;
        end_child(event);
    }
    pthread_mutex_lock(&context->lock);
    if (event->is_live && event_is_run(event->type)) {
        if (event->refs > 0)
            release(context, event);
    } else if (event->is_live) {
        give(context, event);
    }
    pthread_mutex_unlock(&context->lock);
}

void event_settle_all(struct context *context)
{
    char line[RUN_LINE_BYTES];
    pthread_mutex_lock(&context->lock);
    while (context->waiting.oldest)
        give_up(context, context->waiting.oldest);
    for (uint32_t b = 0; b < context->block_count; b++)
        for (int i = 0; i < EVENT_BLOCK; i++) {
            struct event *event = &context->blocks[b][i];
            if (!event->is_live)
                continue;
            event->run.is_incomplete = true;
            if (event_is_run(event->type))
                record(context, event);
            else
                give(context, event);
        }
    if (context->is_recording)
        (void)writer_line(line,
                          run_print_end(&context->comm, context->records, context->lost, line));
    pthread_mutex_unlock(&context->lock);
}

/* Two buffers: one is filled while the other is written. */

/** A buffer, and from how many bytes on it is written; and after how many seconds at most, in case the job is killed. */
enum { BUFFER_BYTES = 1 << 18, FLUSH_BYTES = 1 << 16, FLUSH_SECONDS = 1 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    int file;
    bool is_open, is_ending;
    unsigned filling; /**< which buffer lines are added to */
    size_t used;      /**< of it */
    uint64_t lost;
    char buffers[2][BUFFER_BYTES];
} writer = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .file = -1};

/** Until there is enough, or time is over, or it ends. The lock is held. */
static void wait_for_lines(void)
{
    struct timespec until;
    int code = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += FLUSH_SECONDS;
    while (!writer.is_ending && writer.used < FLUSH_BYTES && code == 0)
        code = pthread_cond_timedwait(&writer.wake, &writer.lock, &until);
}

static void *write_lines(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&writer.lock);
    for (bool is_last = false; !is_last;) {
        wait_for_lines();
        is_last = writer.is_ending;
        const char *text = writer.buffers[writer.filling];
        const size_t bytes = writer.used;
        writer.filling = 1 - writer.filling;
        writer.used = 0;
        pthread_mutex_unlock(&writer.lock);
        const bool is_written = plugin_write(writer.file, text, bytes);
        pthread_mutex_lock(&writer.lock);
        for (size_t i = 0; !is_written && i < bytes; i++)
            writer.lost += text[i] == '\n';
    }
    pthread_mutex_unlock(&writer.lock);
    return NULL;
}

bool writer_open(const char *pattern, char out_reason[WRITER_REASON_BYTES])
{
    char path[PLUGIN_PATH_BYTES];
    if (!plugin_path(pattern, path)) {
        snprintf(out_reason, WRITER_REASON_BYTES, "%.100s: too long, or %% without h, p or %%",
                 pattern);
        return false;
    }
    writer.file = plugin_append_open(path);
    if (writer.file < 0) {
        snprintf(out_reason, WRITER_REASON_BYTES, "%.100s: %s", path, strerror(errno));
        return false;
    }
    writer.is_ending = false;
    writer.used = writer.filling = 0;
    writer.lost = 0;
    writer.is_open = pthread_create(&writer.thread, NULL, write_lines, NULL) == 0;
    if (!writer.is_open) {
        snprintf(out_reason, WRITER_REASON_BYTES, "no thread to write %.100s", path);
        close(writer.file);
    }
    return writer.is_open;
}

bool writer_line(const char *line, size_t bytes)
{
    pthread_mutex_lock(&writer.lock);
    const bool has_room = writer.is_open && bytes <= BUFFER_BYTES - writer.used;
    if (has_room) {
        memcpy(writer.buffers[writer.filling] + writer.used, line, bytes);
        writer.used += bytes;
        if (writer.used >= FLUSH_BYTES)
            pthread_cond_signal(&writer.wake);
    }
    pthread_mutex_unlock(&writer.lock);
    return has_room;
}

uint64_t writer_close(void)
{
    pthread_mutex_lock(&writer.lock);
    const bool was_open = writer.is_open;
    writer.is_open = false;
    writer.is_ending = true;
    pthread_cond_signal(&writer.wake);
    pthread_mutex_unlock(&writer.lock);
    if (!was_open)
        return 0;
    pthread_join(writer.thread, NULL);
    close(writer.file);
    writer.file = -1;
    return writer.lost;
}
