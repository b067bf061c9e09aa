/*
 * A replayed step as a file of the trace event format, which Perfetto and chrome://tracing show: a process a rank, a track
 * for each of its cpus, for each family of groups and for messages. Items of one track may overlap (calls that wait for each
 * other's ranks): these go to further tracks of their kind.
 */
#include "workload_print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Tracks of one kind on one rank: what is still under way when another begins needs a track of its own. */
#define MOST_TRACKS 8u

/* Where the kinds of tracks begin. */
enum { FIRST_CPU = 0, FIRST_FAMILY = 1000, FIRST_MESSAGES = 1000000 };

/* The file in the making. */
struct pen {
    const struct ronde_workload_report *report;
    FILE *file;
    uint32_t *order; /* items by rank, kind of track and start */
    bool has_events; /* a comma is due */
};

static uint32_t kind_of(const struct ronde_workload *workload, const struct ronde_work *work)
{
    switch (work->kind) {
    case RONDE_WORK_COMPUTE:
        return FIRST_CPU + work->cpu % (FIRST_FAMILY / MOST_TRACKS);
    case RONDE_WORK_COLLECTIVE:
        return FIRST_FAMILY + workload->groups[work->group].family;
    default:
        return FIRST_MESSAGES;
    }
}

static void name_of(const struct ronde_workload *workload, const struct ronde_work *work,
                    char *text, size_t bytes)
{
    const char *name = ronde_workload_text(workload, work->name);
    if (name[0])
        (void)snprintf(text, bytes, "%s", name);
    else if (work->kind == RONDE_WORK_COLLECTIVE)
        (void)snprintf(text, bytes, "%s", ronde_collective_text(work->collective));
    else
        (void)snprintf(text, bytes, "%s", ronde_work_kind_text(work->kind));
}

static int by_track(const void *left, const void *right, void *context)
{
    const struct ronde_workload_report *report = context;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct ronde_workload *workload = report->workload;
    const struct ronde_work *one = &workload->works[a], *other = &workload->works[b];
    const uint32_t kinds[] = {kind_of(workload, one), kind_of(workload, other)};
    const double starts[] = {report->result->start_ns[a], report->result->start_ns[b]};
    if (one->rank != other->rank)
        return one->rank < other->rank ? -1 : 1;
    if (kinds[0] != kinds[1])
        return kinds[0] < kinds[1] ? -1 : 1;
    if (starts[0] < starts[1] || starts[0] > starts[1])
        return starts[0] < starts[1] ? -1 : 1;
    return (a > b) - (a < b);
}

static enum ronde_status put(struct pen *pen, const struct ronde_field *fields, size_t count,
                             struct ronde_error *error)
{
    const struct ronde_row row = {fields, count};
    fputs(pen->has_events ? "," : "", pen->file);
    pen->has_events = true;
    return ronde_json_print(&row, pen->file, error);
}

static enum ronde_status put_item(struct pen *pen, uint32_t index, uint32_t track,
                                  struct ronde_error *error)
{
    const struct ronde_workload *workload = pen->report->workload;
    const struct ronde_work *work = &workload->works[index];
    const struct ronde_workload_result *result = pen->report->result;
    char name[256];
    name_of(workload, work, name, sizeof name);
    const char *category =
        work->kind == RONDE_WORK_COLLECTIVE
            ? ronde_workload_text(workload, workload->families[workload->groups[work->group].family])
            : ronde_work_kind_text(work->kind);
    const struct ronde_field fields[] = {
        ronde_field_text("ph", "X"),
        ronde_field_text("name", name),
        ronde_field_text("cat", category),
        ronde_field_integer("pid", work->rank),
        ronde_field_integer("tid", track),
        ronde_field_real("ts", result->start_ns[index] / 1e3),
        ronde_field_real("dur", (result->end_ns[index] - result->start_ns[index]) / 1e3),
    };
    return put(pen, fields, sizeof fields / sizeof fields[0], error);
}

/* Items of a rank and a kind, each on the first track that is free. */
static enum ronde_status put_items(struct pen *pen, struct ronde_error *error)
{
    const struct ronde_workload *workload = pen->report->workload;
    const struct ronde_workload_result *result = pen->report->result;
    double ends_ns[MOST_TRACKS] = {0};
    uint32_t rank = UINT32_MAX, kind = UINT32_MAX;
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < workload->work_count && status == RONDE_OK; i++) {
        const uint32_t index = pen->order[i];
        const struct ronde_work *work = &workload->works[index];
        uint32_t track = 0;
        if (work->rank != rank || kind_of(workload, work) != kind)
            memset(ends_ns, 0, sizeof ends_ns);
        rank = work->rank;
        kind = kind_of(workload, work);
        while (track + 1 < MOST_TRACKS && ends_ns[track] > result->start_ns[index])
            track++;
        ends_ns[track] = result->end_ns[index];
        status = put_item(pen, index, kind * MOST_TRACKS + track, error);
    }
    return status;
}

static enum ronde_status write_file(struct pen *pen, struct ronde_error *error)
{
    const uint32_t count = pen->report->workload->work_count;
    for (uint32_t i = 0; i < count; i++)
        pen->order[i] = i;
    struct ronde_workload_report report = *pen->report;
    qsort_r(pen->order, count, sizeof *pen->order, by_track, &report);
    fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n", pen->file);
    const enum ronde_status status = put_items(pen, error);
    fputs("]}\n", pen->file);
    return status;
}

enum ronde_status ronde_workload_trace(const struct ronde_workload_report *report, const char *path,
                                       struct ronde_error *error)
{
    const char *missing = NULL;
    struct pen pen = {.report = report};
    if (!ronde_json_available(&missing))
        return ronde_fail(error, RONDE_UNAVAILABLE, "%s", missing);
    pen.order = calloc(report->workload->work_count + 1u, sizeof *pen.order);
    if (!pen.order)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a trace of %u items",
                          report->workload->work_count);
    pen.file = fopen(path, "w");
    enum ronde_status status = pen.file
                                   ? write_file(&pen, error)
                                   : ronde_fail(error, RONDE_IO, "%s: %s", path, strerror(errno));
    if (pen.file && fclose(pen.file) != 0 && status == RONDE_OK)
        status = ronde_fail(error, RONDE_DEVICE, "%s: could not be written", path);
    free(pen.order);
    return status;
}
