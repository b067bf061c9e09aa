/*
 * Chakra execution traces as workloads. As in Chakra's feeder, a node waits for its data_deps; ctrl_deps are information. A
 * group is all ranks whose traces name it.
 */
#include "chakra.h"
#include "formats/whole_file.h"

#include <et_def.pb-c.h>

#include "ronde/mem.h"

#include <stdlib.h>
#include <string.h>

/* Processors of a rank: what runs on the host, and copies, do not hold up what the device computes. */
enum { CPU_DEVICE, CPU_HOST, CPU_COPIES };

/* --- nodes ------------------------------------------------------------------------------------------------ */

static void refuse(struct reading *reading, uint64_t id, const char *text)
{
    if (reading->status == RONDE_OK)
        reading->status = ronde_fail(reading->error, RONDE_BAD_INPUT, "%s.%u.et: node %llu: %s",
                                     reading->prefix, reading->rank, (unsigned long long)id, text);
}

static void no_memory(struct reading *reading)
{
    if (reading->status == RONDE_OK)
        reading->status =
            ronde_fail(reading->error, RONDE_NO_MEMORY, "%s: no memory", reading->prefix);
}

/* Appends an item to a list; without memory the reading ends. */
static void append(struct reading *reading, struct ronde_list *list, const void *item,
                   size_t item_bytes)
{
    if (reading->status == RONDE_OK && !ronde_list_append(reading->mem, list, item, item_bytes))
        no_memory(reading);
}

static const ChakraProtoMsg__AttributeProto *find(const ChakraProtoMsg__Node *node, const char *name)
{
    for (size_t i = 0; i < node->n_attr; i++)
        if (strcmp(node->attr[i]->name, name) == 0)
            return node->attr[i];
    return NULL;
}

/* A whole number of an attribute, whatever field it is in; -1 where there is none, or none that fits. */
static int64_t integer_of(const ChakraProtoMsg__Node *node, const char *name)
{
    const ChakraProtoMsg__AttributeProto *attribute = find(node, name);
    if (!attribute)
        return -1;
    switch ((int)attribute->value_case) {
    case CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_INT32_VAL:
        return attribute->int32_val;
    case CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_INT64_VAL:
        return attribute->int64_val;
    case CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_UINT32_VAL:
        return attribute->uint32_val;
    case CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_UINT64_VAL:
        return attribute->uint64_val <= INT64_MAX ? (int64_t)attribute->uint64_val : -1;
    case CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_BOOL_VAL:
        return attribute->bool_val;
    default:
        return -1;
    }
}

static void take_compute(struct reading *reading, const ChakraProtoMsg__Node *node,
                         struct ronde_work *work)
{
    const ChakraProtoMsg__AttributeProto *exact = find(node, "ronde_duration_ns");
    const int64_t cpu = integer_of(node, "ronde_cpu");
    const bool is_copy = node->type == CHAKRA_PROTO_MSG__NODE_TYPE__MEM_LOAD_NODE ||
                         node->type == CHAKRA_PROTO_MSG__NODE_TYPE__MEM_STORE_NODE;
    work->kind = RONDE_WORK_COMPUTE;
    work->duration_ns = (double)node->duration_micros * 1e3;
    if (exact && exact->value_case == CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_DOUBLE_VAL)
        work->duration_ns = exact->double_val;
    if (!(work->duration_ns >= 0 && work->duration_ns <= 1e18))
        refuse(reading, node->id, "takes no time, or longer than 1e9 s");
    work->cpu = is_copy ? CPU_COPIES : integer_of(node, "is_cpu_op") == 1 ? CPU_HOST : CPU_DEVICE;
    if (cpu >= 0 && cpu < UINT32_MAX)
        work->cpu = (uint32_t)cpu;
}

static void take_message(struct reading *reading, const ChakraProtoMsg__Node *node,
                         struct ronde_work *work)
{
    const bool is_send = node->type == CHAKRA_PROTO_MSG__NODE_TYPE__COMM_SEND_NODE;
    const int64_t bytes = integer_of(node, "comm_size"), tag = integer_of(node, "comm_tag");
    const int64_t peer = integer_of(node, is_send ? "comm_dst" : "comm_src");
    work->kind = is_send ? RONDE_WORK_SEND : RONDE_WORK_RECV;
    if (bytes < 0 || (uint64_t)bytes > CHAKRA_MOST)
        refuse(reading, node->id, "has no comm_size, or more than 2^53");
    if (peer < 0 || peer >= reading->workload->ranks || peer == reading->rank)
        refuse(reading, node->id,
               is_send ? "comm_dst is no other rank" : "comm_src is no other rank");
    work->bytes = (uint64_t)bytes;
    work->peer = (uint32_t)peer;
    work->tag = tag >= 0 && tag < RONDE_WORK_ANY_TAG ? (uint32_t)tag : 0;
}

/* Until all ranks are read a group is the place of its name. */
static void take_collective(struct reading *reading, const ChakraProtoMsg__Node *node,
                            struct ronde_work *work)
{
    const ChakraProtoMsg__AttributeProto *group = find(node, "pg_name");
    const bool is_named =
        group && group->value_case == CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_STRING_VAL &&
        group->string_val[0];
    const char *name = is_named ? group->string_val : "world";
    const int64_t bytes = integer_of(node, "comm_size"), root = integer_of(node, "ronde_root");
    work->kind = RONDE_WORK_COLLECTIVE;
    const int64_t type = integer_of(node, "comm_type");
    if (type >= 0 && type < CHAKRA_COLLECTIVES)
        work->collective = chakra_collectives[type];
    else
        refuse(reading, node->id, "its comm_type is no collective");
    if (work->collective != RONDE_BARRIER && (bytes < 0 || (uint64_t)bytes > CHAKRA_MOST))
        refuse(reading, node->id, "has no comm_size, or more than 2^53");
    work->bytes = work->collective == RONDE_BARRIER ? 0 : (uint64_t)bytes;
    work->root = root > 0 && root < UINT32_MAX ? (uint32_t)root : 0;
    work->group = RONDE_NONE;
    /* Those of the rank are the last. */
    const struct user *users = reading->users.items;
    for (uint32_t u = reading->users.count;
         u-- > 0 && users[u].rank == reading->rank && work->group == RONDE_NONE;)
        if (strcmp(ronde_workload_text(reading->workload, users[u].name), name) == 0)
            work->group = users[u].name;
    if (work->group != RONDE_NONE || reading->status != RONDE_OK)
        return;
    const ChakraProtoMsg__AttributeProto *family = find(node, "ronde_family");
    uint32_t family_name = 0;
    chakra_keep(reading, ronde_workload_name(reading->workload, name, strlen(name), &work->group,
                                             reading->error));
    if (family && family->value_case == CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_STRING_VAL &&
        reading->status == RONDE_OK)
        chakra_keep(reading,
                    ronde_workload_name(reading->workload, family->string_val,
                                        strlen(family->string_val), &family_name, reading->error));
    const struct user user = {work->group, reading->rank, family_name};
    append(reading, &reading->users, &user, sizeof user);
}

static void take_kind(struct reading *reading, const ChakraProtoMsg__Node *node,
                      struct ronde_work *work)
{
    switch ((int)node->type) {
    case CHAKRA_PROTO_MSG__NODE_TYPE__METADATA_NODE:
    case CHAKRA_PROTO_MSG__NODE_TYPE__MEM_LOAD_NODE:
    case CHAKRA_PROTO_MSG__NODE_TYPE__MEM_STORE_NODE:
    case CHAKRA_PROTO_MSG__NODE_TYPE__COMP_NODE:
        take_compute(reading, node, work);
        break;
    case CHAKRA_PROTO_MSG__NODE_TYPE__COMM_SEND_NODE:
    case CHAKRA_PROTO_MSG__NODE_TYPE__COMM_RECV_NODE:
        take_message(reading, node, work);
        break;
    case CHAKRA_PROTO_MSG__NODE_TYPE__COMM_COLL_NODE:
        /* PyTorch's converter marks the call on the host too; the collective is the device's node. */
        if (integer_of(node, "is_cpu_op") == 1 && !find(node, "comm_type"))
            take_compute(reading, node, work);
        else
            take_collective(reading, node, work);
        break;
    default:
        refuse(reading, node->id, "has no type");
    }
}

static void take_node(struct reading *reading, const ChakraProtoMsg__Node *node)
{
    struct ronde_workload *workload = reading->workload;
    struct ronde_work work = {.rank = reading->rank,
                              .line = node->id <= UINT32_MAX ? (uint32_t)node->id : UINT32_MAX};
    take_kind(reading, node, &work);
    const struct node_id id = {node->id, workload->work_count};
    const uint32_t dep_count = (uint32_t)node->n_data_deps;
    append(reading, &reading->ids, &id, sizeof id);
    append(reading, &reading->dep_counts, &dep_count, sizeof dep_count);
    for (size_t d = 0; d < node->n_data_deps; d++)
        append(reading, &reading->deps, &node->data_deps[d], sizeof node->data_deps[d]);
    if (reading->status == RONDE_OK)
        chakra_keep(reading, ronde_workload_name(workload, node->name, strlen(node->name),
                                                 &work.name, reading->error));
    if (reading->status == RONDE_OK)
        chakra_keep(reading, ronde_workload_add(workload, &work, reading->error));
}

/* --- the file of a rank ------------------------------------------------------------------------------------- */

/* The length before a message, and the message behind it; NULL at the end, or with a refusal. */
static const unsigned char *next_message(struct reading *reading,
                                         const struct ronde_chakra_file *file, size_t *at,
                                         size_t *out_bytes)
{
    uint64_t bytes = 0;
    const size_t start = *at;
    if (start == file->bytes)
        return NULL;
    for (unsigned shift = 0; shift < 63; shift += 7) {
        if (*at == file->bytes)
            break;
        const unsigned char byte = file->data[(*at)++];
        bytes |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        if (bytes > file->bytes - *at)
            break;
        *out_bytes = (size_t)bytes;
        *at += (size_t)bytes;
        return file->data + *at - bytes;
    }
    if (reading->status == RONDE_OK)
        reading->status =
            ronde_fail(reading->error, RONDE_BAD_INPUT, "%s.%u.et: byte %zu: %s", reading->prefix,
                       reading->rank, start,
                       file->bytes > 1 && file->data[0] == 0x1f && file->data[1] == 0x8b
                           ? "compressed by gzip: unpack it first"
                           : "a message that goes beyond the end of the file");
    return NULL;
}

static int by_id(const void *left, const void *right)
{
    const struct node_id *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

/* Items of the rank get their dependencies, now that all ids are known. */
static void settle_deps(struct reading *reading)
{
    struct ronde_workload *workload = reading->workload;
    struct node_id *ids = reading->ids.items;
    const uint64_t *deps = reading->deps.items;
    const uint32_t *dep_counts = reading->dep_counts.items;
    const uint32_t count = reading->ids.count, first = workload->work_count - count;
    uint32_t at = 0;
    if (count > 0)
        qsort(ids, count, sizeof *ids, by_id);
    for (uint32_t i = 1; i < count; i++)
        if (ids[i - 1].id == ids[i].id)
            refuse(reading, ids[i].id, "is there twice");
    for (uint32_t i = 0; i < count && reading->status == RONDE_OK; i++) {
        struct ronde_work *work = &workload->works[first + i];
        const uint32_t first_dep = workload->dep_count;
        for (uint32_t d = 0; d < dep_counts[i] && reading->status == RONDE_OK; d++) {
            const struct node_id key = {deps[at++], 0};
            const struct node_id *found = bsearch(&key, ids, count, sizeof key, by_id);
            if (!found)
                refuse(reading, work->line, "waits for a node that is not there");
            else
                chakra_keep(reading,
                            ronde_workload_depend(workload,
                                                  (struct ronde_work_dep){found->work, false},
                                                  reading->error));
        }
        if (reading->status != RONDE_OK)
            return;
        /* ronde_workload_depend counts for the item added last. */
        workload->works[workload->work_count - 1].dep_count -= workload->dep_count - first_dep;
        work = &workload->works[first + i];
        work->first_dep = first_dep;
        work->dep_count = workload->dep_count - first_dep;
    }
}

static void refuse_message(struct reading *reading, const char *what)
{
    if (reading->arena.is_short)
        no_memory(reading);
    if (reading->status == RONDE_OK)
        reading->status = ronde_fail(reading->error, RONDE_BAD_INPUT, "%s.%u.et: %s",
                                     reading->prefix, reading->rank, what);
}

static void read_rank(struct reading *reading, const struct ronde_chakra_file *file)
{
    size_t at = 0, bytes = 0;
    ProtobufCAllocator allocator = {chakra_allocate, chakra_release, &reading->arena};
    reading->ids.count = reading->dep_counts.count = reading->deps.count = 0;
    const unsigned char *message = next_message(reading, file, &at, &bytes);
    ChakraProtoMsg__GlobalMetadata *head =
        message ? chakra_proto_msg__global_metadata__unpack(&allocator, bytes, message) : NULL;
    if (!head)
        refuse_message(reading, "does not begin with Chakra's metadata");
    else
        chakra_proto_msg__global_metadata__free_unpacked(head, &allocator);
    while (reading->status == RONDE_OK &&
           (message = next_message(reading, file, &at, &bytes)) != NULL) {
        ChakraProtoMsg__Node *node = chakra_proto_msg__node__unpack(&allocator, bytes, message);
        if (!node) {
            refuse_message(reading, "holds a message that is no node");
            return;
        }
        take_node(reading, node);
        chakra_proto_msg__node__free_unpacked(node, &allocator);
    }
    if (reading->status == RONDE_OK)
        settle_deps(reading);
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

bool ronde_chakra_available(const char **out_text)
{
    *out_text = "protobuf-c " PROTOBUF_C_VERSION;
    return true;
}

enum ronde_status ronde_chakra_parse(const struct ronde_chakra_file *files, uint32_t ranks,
                                     const char *prefix, const struct ronde_mem *mem,
                                     struct ronde_workload **out_workload, struct ronde_error *error)
{
    struct reading reading = {.mem = mem, .arena = {mem, false}, .prefix = prefix, .error = error};
    *out_workload = NULL;
    reading.status = ronde_workload_create(ranks, prefix, mem, &reading.workload, error);
    if (reading.status == RONDE_OK)
        reading.workload->has_nodes = true;
    for (uint32_t r = 0; r < ranks && reading.status == RONDE_OK; r++) {
        reading.rank = r;
        read_rank(&reading, &files[r]);
    }
    if (reading.status == RONDE_OK)
        chakra_make_groups(&reading);
    ronde_list_free(mem, &reading.ids, sizeof(struct node_id));
    ronde_list_free(mem, &reading.deps, sizeof(uint64_t));
    ronde_list_free(mem, &reading.dep_counts, sizeof(uint32_t));
    ronde_list_free(mem, &reading.users, sizeof(struct user));
    if (reading.status == RONDE_OK)
        *out_workload = reading.workload;
    else
        ronde_workload_destroy(reading.workload);
    return reading.status;
}

enum ronde_status ronde_chakra_read(const char *path, const struct ronde_mem *mem,
                                    struct ronde_workload **out_workload, struct ronde_error *error)
{
    char prefix[4096], name[4096];
    uint32_t ranks = 0;
    struct ronde_chakra_file *files = NULL;
    *out_workload = NULL;
    enum ronde_status status = chakra_prefix(path, prefix, error);
    RONDE_THEN(status, chakra_count_files(prefix, &ranks, error));
    if (status != RONDE_OK)
        return status;
    files = ronde_mem_new(mem, ranks, sizeof *files);
    if (!files)
        return ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for %u ranks", prefix, ranks);
    for (uint32_t r = 0; r < ranks && status == RONDE_OK; r++) {
        char *data = NULL;
        status = chakra_path(prefix, r, name, error);
        RONDE_THEN(status, ronde_whole_file_read(name, mem, &data, &files[r].bytes, error));
        files[r].data = (const unsigned char *)data;
    }
    RONDE_THEN(status, ronde_chakra_parse(files, ranks, prefix, mem, out_workload, error));
    for (uint32_t r = 0; r < ranks; r++) {
        char *data;
        memcpy(&data, &files[r].data, sizeof data);
        ronde_whole_file_free(mem, data, files[r].bytes);
    }
    ronde_mem_free(mem, files, ranks, sizeof *files);
    return status;
}
