/*
 * Workloads as Chakra execution traces. Every message of two ranks has a tag of its own there, since feeders match by sender,
 * receiver and tag. Times in the schema are whole microseconds; an attribute of ours keeps the nanoseconds.
 */
#include "chakra.h"
#include "formats/workload/matching.h"

#include <et_def.pb-c.h>

#include "ronde/mem.h"
#include "ronde/output_file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Attributes of a node at most. */
#define ATTRIBUTES 8

/* A node that is being written, with room for what it points to. */
struct node {
    ChakraProtoMsg__Node message;
    ChakraProtoMsg__AttributeProto attributes[ATTRIBUTES];
    ChakraProtoMsg__AttributeProto *pointers[ATTRIBUTES];
    char name[256];
    char group[32];
    char family[256];
};

/* What is being written. */
struct writing {
    const struct ronde_workload *workload;
    const struct ronde_mem *mem;
    uint32_t *id_of;  /* per item: its node, counted by rank */
    uint32_t *tag_of; /* per item: of a message */
    uint64_t *deps;
    size_t dep_capacity;
    unsigned char *buffer;
    size_t buffer_capacity;
};

static ChakraProtoMsg__AttributeProto *add(struct node *node, const char *name)
{
    ChakraProtoMsg__AttributeProto *attribute = &node->attributes[node->message.n_attr];
    chakra_proto_msg__attribute_proto__init(attribute);
    /* protobuf-c has no const in its structs and writes nothing through them. */
    memcpy(&attribute->name, &name, sizeof attribute->name);
    node->pointers[node->message.n_attr++] = attribute;
    return attribute;
}

static void add_int32(struct node *node, const char *name, uint32_t value)
{
    ChakraProtoMsg__AttributeProto *attribute = add(node, name);
    attribute->value_case = CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_INT32_VAL;
    attribute->int32_val = (int32_t)value;
}

static void add_int64(struct node *node, const char *name, uint64_t value)
{
    ChakraProtoMsg__AttributeProto *attribute = add(node, name);
    attribute->value_case = CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_INT64_VAL;
    attribute->int64_val = (int64_t)value;
}

static void add_text(struct node *node, const char *name, char *value)
{
    ChakraProtoMsg__AttributeProto *attribute = add(node, name);
    attribute->value_case = CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_STRING_VAL;
    attribute->string_val = value;
}

static void add_compute(struct node *node, const struct ronde_work *work)
{
    node->message.type = CHAKRA_PROTO_MSG__NODE_TYPE__COMP_NODE;
    node->message.duration_micros = (uint64_t)round(work->duration_ns / 1e3);
    ChakraProtoMsg__AttributeProto *duration = add(node, "ronde_duration_ns");
    duration->value_case = CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_DOUBLE_VAL;
    duration->double_val = work->duration_ns;
    if (work->cpu != 0)
        add_int64(node, "ronde_cpu", work->cpu);
}

static void add_message(struct node *node, const struct ronde_work *work, uint32_t tag)
{
    const bool is_send = work->kind == RONDE_WORK_SEND;
    node->message.type = is_send ? CHAKRA_PROTO_MSG__NODE_TYPE__COMM_SEND_NODE
                                 : CHAKRA_PROTO_MSG__NODE_TYPE__COMM_RECV_NODE;
    add_int64(node, "comm_size", work->bytes);
    add_int32(node, "comm_src", is_send ? work->rank : work->peer);
    add_int32(node, "comm_dst", is_send ? work->peer : work->rank);
    add_int32(node, "comm_tag", tag);
}

/* ASTRA-sim's groups are numbers from 1 on, which PREFIX.groups.json explains; the family is for ronde. */
static void add_collective(const struct ronde_workload *workload, struct node *node,
                           const struct ronde_work *work)
{
    const struct ronde_work_group *group = &workload->groups[work->group];
    const char *family = ronde_workload_text(workload, workload->families[group->family]);
    node->message.type = CHAKRA_PROTO_MSG__NODE_TYPE__COMM_COLL_NODE;
    (void)snprintf(node->group, sizeof node->group, "%" PRIu32, work->group + 1);
    (void)snprintf(node->family, sizeof node->family, "%.200s", family);
    uint64_t type = 0;
    while (type + 1 < CHAKRA_COLLECTIVES && chakra_collectives[type] != work->collective)
        type++;
    const uint64_t blocks = chakra_puts_in_block(work->collective) ? group->member_count : 1;
    add_int64(node, "comm_type", type);
    add_int64(node, "comm_size", (work->bytes + blocks - 1) / blocks);
    add_text(node, "pg_name", node->group);
    add_text(node, "ronde_family", node->family);
    if (work->root != 0)
        add_int64(node, "ronde_root", work->root);
}

/* PREFIX.groups.json: the ranks of each group, as ASTRA-sim takes them. */
static enum ronde_status write_groups(const struct ronde_workload *workload, const char *prefix,
                                      struct ronde_error *error)
{
    char path[4096];
    if (workload->group_count == 0)
        return RONDE_OK;
    struct ronde_output_file output;
    const int length = snprintf(path, sizeof path, "%s.groups.json", prefix);
    if (length < 0 || length >= (int)sizeof path)
        return ronde_fail(error, RONDE_IO, "%s.groups.json: path too long", prefix);
    const enum ronde_status status = ronde_output_file_open(path, &output, error);
    if (status != RONDE_OK)
        return status;
    FILE *file = output.file;
    for (uint32_t g = 0; g < workload->group_count; g++) {
        const struct ronde_work_group *group = &workload->groups[g];
        fprintf(file, "%s\"%" PRIu32 "\": [", g == 0 ? "{" : ",\n ", g + 1);
        for (uint32_t m = 0; m < group->member_count; m++)
            fprintf(file, "%s%" PRIu32, m == 0 ? "" : ", ",
                    workload->members[group->first_member + m]);
        fputs("]", file);
    }
    fputs("}\n", file);
    return ronde_output_file_close(&output, status, error);
}

/* --- files --------------------------------------------------------------------------------------- */

/* Room for so many bytes. */
static bool reserve(struct writing *writing, size_t bytes)
{
    void *block = writing->buffer;
    const bool fits = ronde_mem_grow(writing->mem, &block, &writing->buffer_capacity, bytes, 1);
    writing->buffer = block;
    return fits;
}

static bool put(FILE *file, const unsigned char *data, size_t bytes)
{
    unsigned char length[10];
    size_t used = 0;
    for (uint64_t rest = bytes; used == 0 || rest > 0; rest >>= 7)
        length[used++] = (unsigned char)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
    return fwrite(length, 1, used, file) == used && fwrite(data, 1, bytes, file) == bytes;
}

static enum ronde_status put_item(struct writing *writing, uint32_t item, FILE *file,
                                  const char *path, struct ronde_error *error)
{
    const struct ronde_workload *workload = writing->workload;
    const struct ronde_work *work = &workload->works[item];
    struct node node;
    void *deps = writing->deps;
    chakra_proto_msg__node__init(&node.message);
    node.message.id = writing->id_of[item];
    (void)snprintf(node.name, sizeof node.name, "%s", ronde_workload_text(workload, work->name));
    node.message.name = node.name;
    node.message.attr = node.pointers;
    if (!ronde_mem_grow(writing->mem, &deps, &writing->dep_capacity, (size_t)work->dep_count + 1,
                        sizeof *writing->deps))
        return ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for dependencies", path);
    writing->deps = deps;
    for (uint32_t d = 0; d < work->dep_count; d++)
        writing->deps[d] = writing->id_of[workload->deps[work->first_dep + d].work];
    node.message.data_deps = writing->deps;
    node.message.n_data_deps = work->dep_count;
    /* What the feeder asks of every node. */
    add(&node, "is_cpu_op")->value_case = CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_BOOL_VAL;
    if (work->kind == RONDE_WORK_COMPUTE)
        add_compute(&node, work);
    else if (work->kind == RONDE_WORK_COLLECTIVE)
        add_collective(workload, &node, work);
    else
        add_message(&node, work, writing->tag_of[item]);
    const size_t bytes = chakra_proto_msg__node__get_packed_size(&node.message);
    if (!reserve(writing, bytes))
        return ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for a node", path);
    (void)chakra_proto_msg__node__pack(&node.message, writing->buffer);
    return put(file, writing->buffer, bytes)
               ? RONDE_OK
               : ronde_fail(error, RONDE_IO, "%s: %s", path, strerror(errno));
}

static bool put_head(struct writing *writing, FILE *file)
{
    ChakraProtoMsg__GlobalMetadata head;
    char version[] = "0.0.4";
    chakra_proto_msg__global_metadata__init(&head);
    head.version = version;
    const size_t bytes = chakra_proto_msg__global_metadata__get_packed_size(&head);
    if (!reserve(writing, bytes))
        return false;
    (void)chakra_proto_msg__global_metadata__pack(&head, writing->buffer);
    return put(file, writing->buffer, bytes);
}

static enum ronde_status write_rank(struct writing *writing, const char *prefix, uint32_t rank,
                                    const uint32_t *items, uint32_t count, struct ronde_error *error)
{
    char path[4096];
    RONDE_TRY(chakra_path(prefix, rank, path, error));
    struct ronde_output_file output;
    enum ronde_status status = ronde_output_file_open(path, &output, error);
    if (status != RONDE_OK)
        return status;
    FILE *file = output.file;
    if (!put_head(writing, file))
        status = ronde_fail(error, RONDE_IO, "%s: cannot be written", path);
    for (uint32_t i = 0; i < count && status == RONDE_OK; i++)
        status = put_item(writing, items[i], file, path, error);
    return ronde_output_file_close(&output, status, error);
}

/* --- the whole --------------------------------------------------------------------------------------- */

/* Messages of two ranks are numbered in the order in which the receiver comes to them. */
static enum ronde_status number_messages(struct writing *writing, struct ronde_error *error)
{
    const struct ronde_workload *workload = writing->workload;
    const size_t ranks = workload->ranks;
    struct workload_matching matching;
    uint32_t *next = ronde_mem_new(writing->mem, ranks, sizeof *next);
    enum ronde_status status = ronde_workload_match(workload, writing->mem, &matching, error);
    if (status == RONDE_OK && !next)
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu ranks", ranks);
    /* One counter a receiver suffices: it tells apart what one sender's messages must not share. */
    for (uint32_t s = 0; s < workload->work_count && status == RONDE_OK; s++) {
        const uint32_t recv = matching.sequence[s], sender = matching.partner[recv];
        if (sender == RONDE_NONE)
            continue;
        writing->tag_of[recv] = writing->tag_of[sender] = next[workload->works[recv].rank]++;
    }
    ronde_workload_matching_free(&matching);
    ronde_mem_free(writing->mem, next, ranks, sizeof *next);
    return status;
}

static enum ronde_status check(const struct ronde_workload *workload, struct ronde_error *error)
{
    for (uint32_t d = 0; d < workload->dep_count; d++)
        if (workload->deps[d].on_start)
            return ronde_fail(
                error, RONDE_UNSUPPORTED,
                "%s: an item waits for the start of another (irequires), which Chakra "
                "has no word for",
                ronde_workload_text(workload, workload->path));
    return RONDE_OK;
}

enum ronde_status ronde_chakra_write(const struct ronde_workload *workload, const char *prefix,
                                     const struct ronde_mem *mem, struct ronde_error *error)
{
    const size_t count = workload->work_count, ranks = (size_t)workload->ranks + 1;
    struct writing writing = {.workload = workload, .mem = mem};
    uint32_t *first = ronde_mem_new(mem, ranks, sizeof *first);
    uint32_t *items = ronde_mem_new(mem, count, sizeof *items);
    writing.id_of = ronde_mem_new(mem, count, sizeof *writing.id_of);
    writing.tag_of = ronde_mem_new(mem, count, sizeof *writing.tag_of);
    enum ronde_status status = check(workload, error);
    if (status == RONDE_OK && (!first || !items || !writing.id_of || !writing.tag_of))
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory to write %zu items", count);
    RONDE_THEN(status, number_messages(&writing, error));
    if (status == RONDE_OK) {
        ronde_workload_sort_by_rank(workload, first, items);
        for (uint32_t r = 0; r < workload->ranks; r++)
            for (uint32_t i = first[r]; i < first[r + 1]; i++)
                writing.id_of[items[i]] = i - first[r];
    }
    for (uint32_t r = 0; r < workload->ranks && status == RONDE_OK; r++)
        status = write_rank(&writing, prefix, r, items + first[r], first[r + 1] - first[r], error);
    RONDE_THEN(status, write_groups(workload, prefix, error));
    ronde_mem_free(mem, writing.deps, writing.dep_capacity, sizeof *writing.deps);
    ronde_mem_free(mem, writing.buffer, writing.buffer_capacity, 1);
    ronde_mem_free(mem, first, ranks, sizeof *first);
    ronde_mem_free(mem, items, count, sizeof *items);
    ronde_mem_free(mem, writing.id_of, count, sizeof *writing.id_of);
    ronde_mem_free(mem, writing.tag_of, count, sizeof *writing.tag_of);
    return status;
}
