/**
 * A Kineto trace while it is read: what of its events can belong to collectives, in the order of the file, which is none.
 * kineto.c collects it, kineto_join.c makes calls of it; as one file they would be too long.
 */
#ifndef RONDE_FORMATS_TRACES_KINETO_H
#define RONDE_FORMATS_TRACES_KINETO_H

#include "gather.h"
#include "json_pull.h"

/* A process group as events name it, until the trace's end says what its ranks are. */
struct kineto_group {
    uint64_t hash;                /* of all that follows */
    uint32_t size, start, stride; /* 0: not said; stride 0: start not either */
    bool is_cut;                  /* `ranks` are the first ones */
    uint32_t group;               /* index in the traces, in the end */
    char name[64];
    struct ronde_list ranks; /* of uint32_t */
};

/* A record of a call: arguments of a kernel, of record_param_comms, or an annotation's shapes. */
struct kineto_record {
    int64_t start_ns, end_ns;
    uint64_t external, thread, sequence;
    int64_t in, out; /* elements; below 0: not said */
    uint32_t type_bytes, size;
    uint32_t group; /* index in `groups` below; NONE */
    enum ronde_collective collective;
    bool is_call;
};

/* What put a kernel onto a stream. */
struct kineto_launch {
    uint64_t correlation, external, thread;
    int64_t start_ns;
    bool is_graph; /* of a CUDA graph: of many kernels, whose records are those of its capture */
};

/* A kernel of NCCL's. */
struct kineto_kernel {
    int64_t start_ns, end_ns;
    uint64_t device, lane, correlation, external, name;
    uint32_t record; /* index of the record in its arguments; NONE */
};

struct kineto_interval {
    int64_t start_ns, end_ns;
};

struct kineto_step {
    int64_t start_ns, end_ns;
    uint32_t number;
};

struct kineto {
    struct source *source;
    struct ronde_traces *traces;
    uint32_t process;              /* index */
    struct ronde_list groups;      /* of struct kineto_group */
    struct ronde_list config;      /* the same, as distributedInfo has them: whole */
    struct ronde_list records;     /* of struct kineto_record: kernels' own */
    struct ronde_list host;        /* the same: record_param_comms */
    struct ronde_list annotations; /* the same: nccl:*, and gloo:* */
    struct ronde_list launches;    /* of struct kineto_launch */
    struct ronde_list kernels;     /* of struct kineto_kernel */
    struct ronde_list computing;   /* of struct kineto_interval */
    struct ronde_list steps;       /* of struct kineto_step */
    bool is_gloo;                  /* annotations are gloo's */
    int64_t base_ns;
};

/* Sorts time intervals and joins those that touch. */
void kineto_unite(struct ronde_list *intervals);

/* Finds each kernel's record and makes calls of them. False without memory, which is refused. */
RONDE_MUST_CHECK bool kineto_join(struct kineto *kineto);

#endif
