/**
 * What reading and writing Chakra execution traces share.
 */
#ifndef RONDE_FORMATS_WORKLOAD_CHAKRA_H
#define RONDE_FORMATS_WORKLOAD_CHAKRA_H

#include "ronde/mem.h"
#include "ronde/workload.h"

/** Collectives by the numbers of the schema's CollectiveCommType; the last is the barrier. */
enum { CHAKRA_COLLECTIVES = 10 };
extern const enum ronde_collective chakra_collectives[CHAKRA_COLLECTIVES];

/** Whether a collective's comm_size, which is what a rank puts in, is one of the blocks that its size column counts. */
bool chakra_puts_in_block(enum ronde_collective collective);

/** chakra_names.c: the file of a rank. Errors: BAD_ARGUMENT for a prefix that is too long. */
RONDE_MUST_CHECK enum ronde_status chakra_path(const char *prefix, uint32_t rank,
                                               char out_path[4096], struct ronde_error *error);

/** chakra_names.c: what stands before the rank in a name, or all of it. Errors: BAD_INPUT for a name that has no rank. */
RONDE_MUST_CHECK enum ronde_status chakra_prefix(const char *path, char out_prefix[4096],
                                                 struct ronde_error *error);

/** chakra_names.c: how many ranks have a file, from 0 on until one is not there. Errors: IO where rank 0 has none. */
RONDE_MUST_CHECK enum ronde_status chakra_count_files(const char *prefix, uint32_t *out_ranks,
                                                      struct ronde_error *error);

/* Reading Chakra execution traces: what its parts share. Needs no protobuf-c. */

/** Sizes that a double still holds exactly. */
#define CHAKRA_MOST ((uint64_t)1 << 53)

/* What protobuf-c passes back: it says of a message that is wrong and of a lack of memory the same. */
struct arena {
    const struct ronde_mem *mem;
    bool is_short;
};

/* A node's id and its item. */
struct node_id {
    uint64_t id;
    uint32_t work;
};

/* A rank that uses a group. */
struct user {
    uint32_t name; /* of the group, into names: the first time it was seen */
    uint32_t rank;
    uint32_t family; /* its name, where the trace has one; else 0 */
};

/* What is being read. */
struct reading {
    struct ronde_workload *workload;
    const struct ronde_mem *mem;
    struct arena arena; /* of protobuf-c */
    const char *prefix;
    uint32_t rank;
    struct ronde_list ids;        /* struct node_id, of the rank */
    struct ronde_list deps;       /* uint64_t: ids, in the order of the items that have them */
    struct ronde_list dep_counts; /* uint32_t, per item of the rank */
    struct ronde_list users;      /* struct user */
    struct ronde_error *error;
    enum ronde_status status;
};

/** For a ProtobufCAllocator, whose data is a struct arena. */
void *chakra_allocate(void *data, size_t bytes);

/** Likewise: it frees without saying how much. */
void chakra_release(void *data, void *pointer);

/** Keeps the first status that is not OK. */
void chakra_keep(struct reading *reading, enum ronde_status status);

/** Makes groups of all ranks that use one name; items have had the place of the name for theirs. */
void chakra_make_groups(struct reading *reading);

#endif
