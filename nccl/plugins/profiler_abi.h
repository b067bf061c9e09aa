/**
 * NCCL's profiler plug-in as binary interface, versions 1 to 6: declarations of our own, the layouts are NCCL's. Descriptors
 * begin alike: type (a byte before version 5), parent, rank, and from byte 24 on what the type says.
 */
#ifndef RONDE_NCCL_PLUGINS_PROFILER_ABI_H
#define RONDE_NCCL_PLUGINS_PROFILER_ABI_H

#include "tuner_abi.h"

#include <stdbool.h>
#include <sys/types.h>

/** Versions. */
enum { PROFILER_OLDEST = 1, PROFILER_NEWEST = 6, PROFILER_VERSIONS = 7 };

/** Types of events: bits of the mask that a plug-in sets. */
enum {
    EVENT_GROUP = 1,
    EVENT_COLL = 2,
    EVENT_P2P = 4,
    EVENT_PROXY_OP = 8,
    EVENT_PROXY_STEP = 16,
    EVENT_PROXY_CTRL = 32,
    EVENT_KERNEL = 64,
    EVENT_NET = 128,
    EVENT_GROUP_API = 256,
    EVENT_COLL_API = 512,
    EVENT_P2P_API = 1024,
    EVENT_LAUNCH = 2048,
    EVENT_CE_COLL = 4096,
    EVENT_CE_SYNC = 8192,
    EVENT_CE_BATCH = 16384
};

/** States: the last that versions 1 to 3 know, and the end of a channel's kernel with the GPU's time. */
enum { STATE_LAST_V3 = 18, STATE_NET_UPDATE = 21, STATE_KERNEL_STOP = 22 };

/** Collectives by version: numbers, then strings; a communicator's name and hash; traffic; from version 4 on neither. */
struct event_coll_v1 {
    const char *name;
    uint64_t comm, seq;
    uint8_t func;
    const void *send;
    void *recv;
    size_t count;
    int root;
    uint8_t datatype;
    uint32_t op;
    size_t traffic;
    uint8_t channels, warps, algorithm, protocol;
    int collnet, nvls;
};
struct event_p2p_v1 {
    const char *name;
    uint64_t comm;
    uint8_t func;
    void *buffer;
    uint8_t datatype;
    size_t count;
    int peer;
};
struct event_coll_v2 {
    const char *name;
    uint64_t comm, seq;
    const char *func;
    const void *send;
    void *recv;
    size_t count;
    int root;
    const char *datatype;
    size_t traffic;
    uint8_t channels, warps;
    const char *algorithm, *protocol;
};
struct event_p2p_v2 {
    const char *name;
    uint64_t comm;
    const char *func;
    void *buffer;
    const char *datatype;
    size_t count;
    int peer;
};
struct event_coll_v3 {
    const char *name;
    uint64_t comm, seq;
    const char *func;
    const void *send;
    void *recv;
    size_t count;
    int root;
    const char *datatype;
    uint8_t channels, warps;
    const char *algorithm, *protocol;
};
struct event_coll_v4 {
    uint64_t seq;
    const char *func;
    const void *send;
    void *recv;
    size_t count;
    int root;
    const char *datatype;
    uint8_t channels, warps;
    const char *algorithm, *protocol;
};
struct event_p2p_v4 {
    const char *func;
    void *buffer;
    const char *datatype;
    size_t count;
    int peer;
    uint8_t channels;
};
struct event_coll_v5 {
    struct event_coll_v4 as_v4;
    void *parent_group;
};
struct event_p2p_v5 {
    const char *func;
    void *buffer;
    const char *datatype;
    size_t count;
    int peer;
    uint8_t channels;
    void *parent_group;
};

/** The rest, which has hardly changed. */
struct event_proxy_op {
    pid_t pid;
    uint8_t channel;
    int peer, steps, chunk, is_send;
};
struct event_proxy_step {
    int step;
};
struct event_kernel_v3 {
    uint8_t channel;
};
struct event_kernel_v4 {
    uint8_t channel;
    uint64_t timer; /**< of the GPU, ns */
};
struct event_net {
    int64_t id;
    void *data;
};
struct event_group_api {
    bool is_captured;
    int depth;
};
struct event_coll_api {
    const char *func;
    size_t count;
    const char *datatype;
    int root;
    void *stream;
    bool is_captured;
};
struct event_p2p_api {
    const char *func;
    size_t count;
    const char *datatype;
    void *stream;
    bool is_captured;
};
struct event_launch {
    void *stream;
};
struct event_ce_coll {
    uint64_t seq;
    const char *func;
    const void *send;
    void *recv;
    size_t count;
    int root;
    const char *datatype, *sync;
    bool has_intra_sync;
    uint32_t batch_size, batches, ce_seq;
    void *stream;
};
struct event_ce_sync {
    bool is_complete;
    int ranks;
};
struct event_ce_batch {
    int ops;
    size_t bytes;
    bool has_intra_sync;
};

struct event_v1 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct event_coll_v1 coll;
        struct event_p2p_v1 p2p;
        struct event_proxy_op op;
        struct event_proxy_step step;
    } is;
};
struct event_v2 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct event_coll_v2 coll;
        struct event_p2p_v2 p2p;
        struct event_proxy_op op;
        struct event_proxy_step step;
    } is;
};
struct event_v3 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct event_coll_v3 coll;
        struct event_p2p_v2 p2p;
        struct event_proxy_op op;
        struct event_proxy_step step;
        struct event_kernel_v3 kernel;
        struct event_net net;
    } is;
};
struct event_v4 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct event_coll_v4 coll;
        struct event_p2p_v4 p2p;
        struct event_proxy_op op;
        struct event_proxy_step step;
        struct event_kernel_v4 kernel;
        struct event_net net;
    } is;
};
struct event_v5 {
    uint64_t type;
    void *parent;
    int rank;
    union {
        struct event_group_api group_api;
        struct event_coll_api coll_api;
        struct event_p2p_api p2p_api;
        struct event_launch launch;
        struct event_coll_v5 coll;
        struct event_p2p_v5 p2p;
        struct event_proxy_op op;
        struct event_proxy_step step;
        struct event_kernel_v4 kernel;
        struct event_net net;
    } is;
};
struct event_v6 {
    uint64_t type;
    void *parent;
    int rank;
    union {
        struct event_group_api group_api;
        struct event_coll_api coll_api;
        struct event_p2p_api p2p_api;
        struct event_launch launch;
        struct event_coll_v5 coll;
        struct event_p2p_v5 p2p;
        struct event_proxy_op op;
        struct event_proxy_step step;
        struct event_kernel_v4 kernel;
        struct event_net net;
        struct event_ce_coll ce_coll;
        struct event_ce_sync ce_sync;
        struct event_ce_batch ce_batch;
    } is;
};

/** What comes with a state. */
union state_v1 {
    struct {
        size_t size;
        int steps;
    } op;
    struct {
        int appended;
    } ctrl;
};
union state_v4 {
    struct {
        size_t size;
    } step;
    struct {
        int appended;
    } ctrl;
    struct {
        void *data;
    } net;
    struct {
        uint64_t timer;
    } kernel;
};

/** Plug-ins: versions 1 to 3, 4, and 5 and 6 are alike but for the descriptor. */
struct profiler_v1 {
    const char *name;
    int (*init)(void **context, int *mask);
    int (*start)(void *context, void **handle, void *event);
    int (*stop)(void *handle);
    int (*state)(void *handle, int state, void *arguments);
    int (*finalize)(void *context);
};
struct profiler_v4 {
    const char *name;
    int (*init)(void **context, int *mask, const char *comm_name, uint64_t comm, int nodes,
                int ranks, int rank, abi_log log);
    int (*start)(void *context, void **handle, void *event);
    int (*stop)(void *handle);
    int (*state)(void *handle, int state, void *arguments);
    int (*finalize)(void *context);
};
struct profiler_v5 {
    const char *name;
    int (*init)(void **context, uint64_t comm, int *mask, const char *comm_name, int nodes,
                int ranks, int rank, abi_log log);
    int (*start)(void *context, void **handle, void *event);
    int (*stop)(void *handle);
    int (*state)(void *handle, int state, void *arguments);
    int (*finalize)(void *context);
};

#endif
