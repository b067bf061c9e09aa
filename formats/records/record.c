/*
 * Records: nccl-tests' sizes and bandwidths, and the fixed keys.
 *
 * The order of keys is part of the format: CSV readers go by column, and people compare lines.
 */
#include "ronde/record.h"

#include "ronde/split.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *kind_text(enum ronde_record_kind kind)
{
    static const char *const texts[] = {
#define KIND_TEXT(name, text) text,
        RONDE_RECORD_KIND_LIST(KIND_TEXT)
#undef KIND_TEXT
    };
    return texts[kind];
}

struct ronde_record ronde_record_of(const struct ronde_schedule *schedule,
                                    const struct ronde_load *load)
{
    const uint32_t dtype_bytes = ronde_dtype_bytes(load->dtype);
    return (struct ronde_record){
        .collective = schedule->collective,
        .algorithm = schedule->algorithm,
        .ranks = schedule->ranks,
        .count = load->count,
        .dtype = load->dtype,
        .root = schedule->root,
        .channels = schedule->channel_count,
        .pieces = load->slot_bytes
                      ? ronde_piece_count(schedule, load->count, dtype_bytes, load->slot_bytes)
                      : 1,
        .wrong = RONDE_NOT_CHECKED,
        .schedule = schedule->hash,
    };
}

void ronde_record_predict(struct ronde_record *record, double time_ns)
{
    record->time_ns = time_ns;
    record->min_ns = time_ns;
    record->p95_ns = time_ns;
    record->reps = 1;
}

void ronde_record_label(struct ronde_record *record, const char *label)
{
    if (record->label_count < RONDE_MAX_LABELS)
        record->labels[record->label_count++] = label;
}

bool ronde_record_has_label(const struct ronde_record *record, const char *label)
{
    for (uint32_t i = 0; i < record->label_count; i++)
        if (strcmp(record->labels[i], label) == 0)
            return true;
    return false;
}

uint64_t ronde_record_bytes(enum ronde_collective collective, uint32_t ranks, uint64_t count,
                            enum ronde_dtype dtype)
{
    return ronde_collective_bytes(collective, ranks, count, dtype);
}

uint64_t ronde_record_count(enum ronde_collective collective, uint32_t ranks, uint64_t bytes,
                            enum ronde_dtype dtype)
{
    return ronde_collective_count(collective, ranks, bytes, dtype);
}

double ronde_record_algbw_GBps(const struct ronde_record *record)
{
    /* Bytes per nanosecond is 1e9 bytes per second. */
    const uint64_t bytes =
        ronde_record_bytes(record->collective, record->ranks, record->count, record->dtype);
    return record->time_ns > 0.0 ? (double)bytes / record->time_ns : 0.0;
}

double ronde_record_busbw_GBps(const struct ronde_record *record)
{
    return ronde_record_algbw_GBps(record) *
           ronde_collective_bus_factor(record->collective, record->ranks);
}

/* Predicted times keep all their digits; a clock's nanoseconds are whole. */
static struct ronde_field time_field(const struct ronde_record *record, const char *name, double ns)
{
    return record->kind == RONDE_RECORD_MEASURED ? ronde_field_integer(name, (uint64_t)llround(ns))
                                                 : ronde_field_real(name, ns);
}

/* Slots on both sides is what NCCL calls simple; predictions model that. */
const char *ronde_record_protocol_text(const struct ronde_record *record)
{
    const bool is_copied =
        record->protocol == RONDE_PROTOCOL_AUTO || record->protocol == RONDE_PROTOCOL_STAGED;
    return is_copied ? "simple" : ronde_protocol_text(record->protocol);
}

/* The first keys: what was asked for. */
static size_t layout_request(const struct ronde_record *record, struct ronde_field *field)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(record->collective);
    const uint64_t bytes =
        ronde_record_bytes(record->collective, record->ranks, record->count, record->dtype);
    size_t at = 0;
    field[at++] = ronde_field_text("kind", kind_text(record->kind));
    field[at++] = ronde_field_text("engine", record->engine);
    field[at++] = ronde_field_text("collective", ronde_collective_text(record->collective));
    field[at++] = ronde_field_text("algorithm", record->algorithm);
    field[at++] = ronde_field_integer("ranks", record->ranks);
    field[at++] = ronde_field_integer("bytes", bytes);
    field[at++] = ronde_field_integer("count", record->count);
    field[at++] = ronde_field_text("dtype", ronde_dtype_text(record->dtype));
    field[at++] = ronde_field_text("op", traits->reduces ? ronde_op_text(record->op) : NULL);
    field[at++] =
        traits->has_root ? ronde_field_integer("root", record->root) : ronde_field_null("root");
    field[at++] = ronde_field_integer("channels", record->channels);
    field[at++] = ronde_field_integer("pieces", record->pieces);
    field[at++] = ronde_field_text("protocol", ronde_record_protocol_text(record));
    field[at++] = ronde_field_boolean("in_place", record->in_place);
    return at;
}

/* The other keys: what came of it. */
static size_t layout_result(const struct ronde_record *record, struct ronde_record_row *out,
                            struct ronde_field *field)
{
    size_t at = 0;
    snprintf(out->hash, sizeof out->hash, "%016" PRIx64, record->schedule);
    field[at++] = time_field(record, "time_ns", record->time_ns);
    field[at++] = time_field(record, "min_ns", record->min_ns);
    field[at++] = time_field(record, "p95_ns", record->p95_ns);
    field[at++] = ronde_field_integer("reps", record->reps);
    field[at++] = ronde_field_real("algbw_GBps", ronde_record_algbw_GBps(record));
    field[at++] = ronde_field_real("busbw_GBps", ronde_record_busbw_GBps(record));
    field[at++] = record->wrong == RONDE_NOT_CHECKED ? ronde_field_null("wrong")
                                                     : ronde_field_integer("wrong", record->wrong);
    field[at++] = ronde_field_text("machine", record->machine);
    field[at++] = ronde_field_text("topology", record->topology);
    field[at++] = ronde_field_text("schedule", out->hash);
    field[at++] = (struct ronde_field){.name = "labels",
                                       .kind = RONDE_FIELD_TEXTS,
                                       .texts = record->labels,
                                       .count = record->label_count};
    field[at++] = ronde_field_text("version", RONDE_VERSION);
    return at;
}

void ronde_record_layout(const struct ronde_record *record, struct ronde_record_row *out)
{
    size_t count = layout_request(record, out->fields);
    count += layout_result(record, out, out->fields + count);
    out->row = (struct ronde_row){out->fields, count};
}
