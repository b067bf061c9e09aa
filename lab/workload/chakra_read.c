/*
 * Chakra execution traces as workloads. As in Chakra's feeder, a node waits for its data_deps; ctrl_deps are information. A
 * group is all ranks whose traces name it.
 */
#include "chakra.h"
#include "readers.h"

#include "et_def.pb-c.h"

#include "ronde/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Processors of a rank: what runs on the host, and copies, do not hold up what the device computes. */
enum { CPU_DEVICE, CPU_HOST, CPU_COPIES };

/* Sizes that a double still holds exactly. */
#define MOST ((uint64_t)1 << 53)

/* A node's id and its item. */
struct node_id {
    uint64_t id;
    uint32_t work;
};

/* A rank that uses a group. */
struct user {
    uint32_t name; /* of the group, into names: the first time it was seen */
    uint32_t rank;
};

/* What is being read. */
struct reading {
    struct ronde_workload *workload;
    const struct ronde_mem *mem;
    ProtobufCAllocator allocator;
    const char *prefix;
    uint32_t rank;
    struct node_id *ids; /* of the rank */
    uint32_t id_count;
    size_t id_capacity;
    uint64_t *deps; /* ids, in the order of the items that have them */
    uint32_t dep_count;
    size_t dep_capacity;
    uint32_t *dep_counts; /* per item of the rank */
    size_t dep_counts_capacity;
    struct user *users;
    uint32_t user_count;
    size_t user_capacity;
    struct ronde_error *error;
    enum ronde_status status;
};

/* --- memory for protobuf-c, which frees without saying how much ------------------------------------------- */

/* Keeps what follows it aligned for any type. */
union header {
    size_t bytes;
    max_align_t aligned;
};

/* What protobuf-c passes back: it says of a message that is wrong and of a lack of memory the same. */
struct arena {
    const struct ronde_mem *mem;
    bool is_short;
};

static void *allocate(void *data, size_t bytes)
{
    struct arena *arena = data;
    if (bytes > SIZE_MAX - sizeof(union header))
        return NULL;
    union header *header = ronde_mem_resize(arena->mem, NULL, 0, bytes + sizeof *header);
    arena->is_short = arena->is_short || !header;
    if (!header)
        return NULL;
    header->bytes = bytes + sizeof *header;
    return header + 1;
}

static void release(void *data, void *pointer)
{
    const struct arena *arena = data;
    union header *header = pointer;
    if (header)
        (void)ronde_mem_resize(arena->mem, header - 1, header[-1].bytes, 0);
}

/* --- nodes ------------------------------------------------------------------------------------------------ */

static void refuse(struct reading *reading, uint64_t id, const char *text)
{
    if (reading->status == RONDE_OK)
        reading->status = ronde_fail(reading->error, RONDE_BAD_INPUT, "%s.%u.et: node %llu: %s",
                                     reading->prefix, reading->rank, (unsigned long long)id, text);
}

static void keep(struct reading *reading, enum ronde_status status)
{
    if (reading->status == RONDE_OK)
        reading->status = status;
}

/* Room for one more; without memory the reading ends. */
static void grow(struct reading *reading, void *array, size_t *capacity, size_t count,
                 size_t element_bytes)
{
    void *block;
    memcpy(&block, array, sizeof block);
    if (reading->status == RONDE_OK &&
        !ronde_mem_grow(reading->mem, &block, capacity, count + 1, element_bytes))
        reading->status =
            ronde_fail(reading->error, RONDE_NO_MEMORY, "%s: no memory", reading->prefix);
    memcpy(array, &block, sizeof block);
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
    if (bytes < 0 || (uint64_t)bytes > MOST)
        refuse(reading, node->id, "has no comm_size, or more than 2^53");
    if (peer < 0 || peer >= reading->workload->ranks || peer == reading->rank)
        refuse(reading, node->id,
               is_send ? "comm_dst is no other rank" : "comm_src is no other rank");
    work->bytes = (uint64_t)bytes;
    work->peer = (uint32_t)peer;
    work->tag = tag >= 0 && tag < RONDE_WORK_ANY_TAG ? (uint32_t)tag : 0;
}

static bool find_collective(int64_t type, enum ronde_collective *out)
{
    static const enum ronde_collective all[] = {
        RONDE_ALL_REDUCE,     RONDE_REDUCE,    RONDE_ALL_GATHER, RONDE_GATHER,
        RONDE_SCATTER,        RONDE_BROADCAST, RONDE_ALL_TO_ALL, RONDE_REDUCE_SCATTER,
        RONDE_REDUCE_SCATTER, RONDE_BARRIER,
    };
    if (type < 0 || type >= (int64_t)(sizeof all / sizeof all[0]))
        return false;
    *out = all[type];
    return true;
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
    if (!find_collective(integer_of(node, "comm_type"), &work->collective))
        refuse(reading, node->id, "its comm_type is no collective");
    if (work->collective != RONDE_BARRIER && (bytes < 0 || (uint64_t)bytes > MOST))
        refuse(reading, node->id, "has no comm_size, or more than 2^53");
    work->bytes = work->collective == RONDE_BARRIER ? 0 : (uint64_t)bytes;
    work->root = root > 0 && root < UINT32_MAX ? (uint32_t)root : 0;
    work->group = RONDE_NONE;
    for (uint32_t u = 0; u < reading->user_count && work->group == RONDE_NONE; u++)
        if (reading->users[u].rank == reading->rank &&
            strcmp(ronde_workload_text(reading->workload, reading->users[u].name), name) == 0)
            work->group = reading->users[u].name;
    if (work->group != RONDE_NONE || reading->status != RONDE_OK)
        return;
    keep(reading,
         ronde_workload_name(reading->workload, name, strlen(name), &work->group, reading->error));
    grow(reading, &reading->users, &reading->user_capacity, reading->user_count,
         sizeof *reading->users);
    if (reading->status == RONDE_OK)
        reading->users[reading->user_count++] = (struct user){work->group, reading->rank};
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
    grow(reading, &reading->ids, &reading->id_capacity, reading->id_count, sizeof *reading->ids);
    grow(reading, &reading->dep_counts, &reading->dep_counts_capacity, reading->id_count,
         sizeof *reading->dep_counts);
    for (size_t d = 0; d < node->n_data_deps; d++) {
        grow(reading, &reading->deps, &reading->dep_capacity, reading->dep_count,
             sizeof *reading->deps);
        if (reading->status == RONDE_OK)
            reading->deps[reading->dep_count++] = node->data_deps[d];
    }
    if (reading->status == RONDE_OK)
        keep(reading, ronde_workload_name(workload, node->name, strlen(node->name), &work.name,
                                          reading->error));
    if (reading->status != RONDE_OK)
        return;
    reading->dep_counts[reading->id_count] = (uint32_t)node->n_data_deps;
    reading->ids[reading->id_count++] = (struct node_id){node->id, workload->work_count};
    keep(reading, ronde_workload_add(workload, &work, reading->error));
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
    const uint32_t count = reading->id_count, first = workload->work_count - count;
    uint32_t at = 0;
    if (count > 0)
        qsort(reading->ids, count, sizeof *reading->ids, by_id);
    for (uint32_t i = 1; i < count; i++)
        if (reading->ids[i - 1].id == reading->ids[i].id)
            refuse(reading, reading->ids[i].id, "is there twice");
    for (uint32_t i = 0; i < count && reading->status == RONDE_OK; i++) {
        struct ronde_work *work = &workload->works[first + i];
        const uint32_t first_dep = workload->dep_count;
        for (uint32_t d = 0; d < reading->dep_counts[i] && reading->status == RONDE_OK; d++) {
            const struct node_id key = {reading->deps[at++], 0};
            const struct node_id *found = bsearch(&key, reading->ids, count, sizeof key, by_id);
            if (!found)
                refuse(reading, work->line, "waits for a node that is not there");
            else
                keep(reading,
                     ronde_workload_depend(workload, (struct ronde_work_dep){found->work, false},
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
    const struct arena *arena = reading->allocator.allocator_data;
    if (reading->status == RONDE_OK && arena->is_short)
        reading->status =
            ronde_fail(reading->error, RONDE_NO_MEMORY, "%s: no memory", reading->prefix);
    if (reading->status == RONDE_OK)
        reading->status = ronde_fail(reading->error, RONDE_BAD_INPUT, "%s.%u.et: %s",
                                     reading->prefix, reading->rank, what);
}

static void read_rank(struct reading *reading, const struct ronde_chakra_file *file)
{
    size_t at = 0, bytes = 0;
    reading->id_count = reading->dep_count = 0;
    const unsigned char *message = next_message(reading, file, &at, &bytes);
    ChakraProtoMsg__GlobalMetadata *head =
        message ? chakra_proto_msg__global_metadata__unpack(&reading->allocator, bytes, message)
                : NULL;
    if (!head)
        refuse_message(reading, "does not begin with Chakra's metadata");
    else
        chakra_proto_msg__global_metadata__free_unpacked(head, &reading->allocator);
    while (reading->status == RONDE_OK &&
           (message = next_message(reading, file, &at, &bytes)) != NULL) {
        ChakraProtoMsg__Node *node =
            chakra_proto_msg__node__unpack(&reading->allocator, bytes, message);
        if (!node) {
            refuse_message(reading, "holds a message that is no node");
            return;
        }
        take_node(reading, node);
        chakra_proto_msg__node__free_unpacked(node, &reading->allocator);
    }
    if (reading->status == RONDE_OK)
        settle_deps(reading);
}

/* --- groups ---------------------------------------------------------------------------------------------------- */

/* Groups called NAME.NUMBER are one family; those that are numbers only are "pg". */
static size_t family_bytes(const char *name)
{
    size_t bytes = strlen(name);
    const size_t all = bytes;
    while (bytes > 0 && name[bytes - 1] >= '0' && name[bytes - 1] <= '9')
        bytes--;
    return bytes == 0 ? 0 : bytes < all && bytes > 1 && name[bytes - 1] == '.' ? bytes - 1 : all;
}

static uint32_t find_family(struct reading *reading, const char *name)
{
    struct ronde_workload *workload = reading->workload;
    char text[256];
    uint32_t place = 0;
    const size_t bytes = family_bytes(name);
    (void)snprintf(text, sizeof text, "%.*s", (int)(bytes < 255 ? bytes : 255), name);
    if (bytes == 0)
        (void)snprintf(text, sizeof text, "pg");
    for (uint32_t f = 0; f < workload->family_count; f++)
        if (strcmp(ronde_workload_text(workload, workload->families[f]), text) == 0)
            return f;
    keep(reading, ronde_workload_name(workload, text, strlen(text), &place, reading->error));
    if (reading->status == RONDE_OK)
        keep(reading, ronde_workload_family(workload, place, reading->error));
    return workload->family_count - (reading->status == RONDE_OK);
}

/* Users sorted by name, then rank. There is no context for qsort, so that names are compared by a list made first. */
struct named_user {
    const char *text;
    uint32_t name, rank;
};

static int by_name(const void *left, const void *right)
{
    const struct named_user *a = left, *b = right;
    const int names = strcmp(a->text, b->text);
    return names != 0 ? names : (a->rank > b->rank) - (a->rank < b->rank);
}

/* Makes a group of all users of one name; `group_of` goes by place of the name. */
static void make_group(struct reading *reading, const struct named_user *users, uint32_t count,
                       uint32_t *members, uint32_t *group_of)
{
    const struct ronde_work_group group = {.name = users[0].name,
                                           .family = find_family(reading, users[0].text),
                                           .member_count = count};
    for (uint32_t i = 0; i < count; i++) {
        members[i] = users[i].rank;
        group_of[users[i].name] = reading->workload->group_count;
    }
    if (reading->status == RONDE_OK)
        keep(reading, ronde_workload_group(reading->workload, group, members, reading->error));
}

/* Names must stay where they are while they are compared, so families get theirs in a second copy. */
static void make_groups(struct reading *reading)
{
    struct ronde_workload *workload = reading->workload;
    const size_t count = reading->user_count, names = workload->name_bytes;
    struct named_user *users = ronde_mem_new(reading->mem, count, sizeof *users);
    uint32_t *members = ronde_mem_new(reading->mem, count, sizeof *members);
    uint32_t *group_of = ronde_mem_new(reading->mem, names, sizeof *group_of);
    char *texts = ronde_mem_new(reading->mem, names, 1);
    if (!users || !members || !group_of || !texts) {
        reading->status =
            ronde_fail(reading->error, RONDE_NO_MEMORY, "%s: no memory", reading->prefix);
    } else {
        memcpy(texts, workload->names, names);
        for (size_t u = 0; u < count; u++)
            users[u] = (struct named_user){texts + reading->users[u].name, reading->users[u].name,
                                           reading->users[u].rank};
        if (count > 0)
            qsort(users, count, sizeof *users, by_name);
        uint32_t end;
        for (uint32_t first = 0; first < count && reading->status == RONDE_OK; first = end) {
            for (end = first + 1; end < count; end++)
                if (strcmp(users[end].text, users[first].text) != 0)
                    break;
            make_group(reading, users + first, end - first, members, group_of);
        }
    }
    for (uint32_t w = 0; w < workload->work_count && reading->status == RONDE_OK; w++) {
        struct ronde_work *work = &workload->works[w];
        if (work->kind != RONDE_WORK_COLLECTIVE)
            continue;
        work->group = group_of[work->group];
        const uint32_t ranks = workload->groups[work->group].member_count;
        if (chakra_puts_in_block(work->collective))
            work->bytes = work->bytes <= MOST / ranks ? work->bytes * ranks : MOST;
        if (work->root >= ranks)
            keep(reading, ronde_work_fail(workload, w, reading->error,
                                          "root %u of a group of %u ranks", work->root, ranks));
    }
    ronde_mem_free(reading->mem, users, count, sizeof *users);
    ronde_mem_free(reading->mem, members, count, sizeof *members);
    ronde_mem_free(reading->mem, group_of, names, sizeof *group_of);
    ronde_mem_free(reading->mem, texts, names, 1);
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

bool ronde_chakra_available(const char **out_text)
{
    *out_text = protobuf_c_version();
    return true;
}

enum ronde_status ronde_chakra_parse(const struct ronde_chakra_file *files, uint32_t ranks,
                                     const char *prefix, const struct ronde_mem *mem,
                                     struct ronde_workload **out_workload, struct ronde_error *error)
{
    struct reading reading = {.mem = mem, .prefix = prefix, .error = error};
    struct arena arena = {mem, false};
    reading.allocator.allocator_data = &arena;
    reading.allocator.alloc = allocate;
    reading.allocator.free = release;
    *out_workload = NULL;
    reading.status = ronde_workload_create(ranks, prefix, mem, &reading.workload, error);
    if (reading.status == RONDE_OK)
        reading.workload->has_nodes = true;
    for (uint32_t r = 0; r < ranks && reading.status == RONDE_OK; r++) {
        reading.rank = r;
        read_rank(&reading, &files[r]);
    }
    if (reading.status == RONDE_OK)
        make_groups(&reading);
    ronde_mem_free(mem, reading.ids, reading.id_capacity, sizeof *reading.ids);
    ronde_mem_free(mem, reading.deps, reading.dep_capacity, sizeof *reading.deps);
    ronde_mem_free(mem, reading.dep_counts, reading.dep_counts_capacity, sizeof *reading.dep_counts);
    ronde_mem_free(mem, reading.users, reading.user_capacity, sizeof *reading.users);
    if (reading.status == RONDE_OK)
        *out_workload = reading.workload;
    else
        ronde_workload_destroy(reading.workload);
    return reading.status;
}

/* Files from rank 0 on, until one is not there. */
static enum ronde_status count_files(const char *prefix, uint32_t *out_ranks,
                                     struct ronde_error *error)
{
    char path[4096];
    for (*out_ranks = 0; *out_ranks <= RONDE_WORKLOAD_RANKS; ++*out_ranks) {
        const enum ronde_status status = chakra_path(prefix, *out_ranks, path, error);
        FILE *file = status == RONDE_OK ? fopen(path, "rb") : NULL;
        if (status != RONDE_OK)
            return status;
        if (!file)
            break;
        fclose(file);
    }
    return *out_ranks > 0
               ? RONDE_OK
               : ronde_fail(error, RONDE_IO, "%s.0.et: cannot be read: %s", prefix, strerror(errno));
}

enum ronde_status ronde_chakra_read(const char *path, const struct ronde_mem *mem,
                                    struct ronde_workload **out_workload, struct ronde_error *error)
{
    char prefix[4096], name[4096];
    uint32_t ranks = 0;
    struct ronde_chakra_file *files = NULL;
    *out_workload = NULL;
    enum ronde_status status = chakra_prefix(path, prefix, error);
    if (status == RONDE_OK)
        status = count_files(prefix, &ranks, error);
    if (status != RONDE_OK)
        return status;
    files = ronde_mem_new(mem, ranks, sizeof *files);
    if (!files)
        return ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for %u ranks", prefix, ranks);
    for (uint32_t r = 0; r < ranks && status == RONDE_OK; r++) {
        char *data = NULL;
        status = chakra_path(prefix, r, name, error);
        if (status == RONDE_OK)
            status = workload_load_file(name, mem, &data, &files[r].bytes, error);
        files[r].data = (const unsigned char *)data;
    }
    if (status == RONDE_OK)
        status = ronde_chakra_parse(files, ranks, prefix, mem, out_workload, error);
    for (uint32_t r = 0; r < ranks; r++) {
        void *data;
        memcpy(&data, &files[r].data, sizeof data);
        ronde_mem_free(mem, data, files[r].bytes + 1, 1);
    }
    ronde_mem_free(mem, files, ranks, sizeof *files);
    return status;
}
