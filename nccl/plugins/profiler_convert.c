/** Descriptors of events between versions. See profiler.h. */
#define _GNU_SOURCE

#include "profiler.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/** Numbers of version 1 as the strings of later ones. */
static const char *const funcs[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                    "AllReduce", "SendRecv", "Send",      "Recv"};
static const char *const types[] = {"ncclInt8",     "ncclUint8",      "ncclInt32",
                                    "ncclUint32",   "ncclInt64",      "ncclUint64",
                                    "ncclFloat16",  "ncclFloat32",    "ncclFloat64",
                                    "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
static const char *const algorithms[] = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
static const char *const protocols[] = {"LL", "LL128", "SIMPLE"};

#define COUNT(names) (sizeof(names) / sizeof(names)[0])

static const char *name_of(const char *const *names, size_t count, uint8_t number)
{
    return number < count ? names[number] : "unknown";
}

/** The number of a name; 255 for one that version 1 does not have. */
static uint8_t number_of(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; name && i < count; i++)
        if (strcmp(names[i], name) == 0)
            return (uint8_t)i;
    return UINT8_MAX;
}

/** Members that two structs have under the same names. */
#define COPY_COLL(to, from)                                                                        \
    ((to).seq = (from).seq, (to).send = (from).send, (to).recv = (from).recv,                      \
     (to).count = (from).count, (to).root = (from).root, (to).channels = (from).channels,          \
     (to).warps = (from).warps)
#define COPY_TEXTS(to, from)                                                                       \
    ((to).func = (from).func, (to).datatype = (from).datatype, (to).algorithm = (from).algorithm,  \
     (to).protocol = (from).protocol)
#define COPY_P2P(to, from)                                                                         \
    ((to).buffer = (from).buffer, (to).count = (from).count, (to).peer = (from).peer)
#define COPY_HEAD(to, from) ((to)->parent = (from)->parent, (to)->rank = (from)->rank)

static void read_v1(const struct event_v1 *event, struct event_v6 *out, struct event_comm *comm)
{
    COPY_HEAD(out, event);
    out->type = event->type;
    if (event->type == EVENT_COLL) {
        struct event_coll_v4 *coll = &out->is.coll.as_v4;
        COPY_COLL(*coll, event->is.coll);
        coll->func = name_of(funcs, COUNT(funcs), event->is.coll.func);
        coll->datatype = name_of(types, COUNT(types), event->is.coll.datatype);
        coll->algorithm = name_of(algorithms, COUNT(algorithms), event->is.coll.algorithm);
        coll->protocol = name_of(protocols, COUNT(protocols), event->is.coll.protocol);
        *comm = (struct event_comm){event->is.coll.name, event->is.coll.comm};
    } else if (event->type == EVENT_P2P) {
        COPY_P2P(out->is.p2p, event->is.p2p);
        out->is.p2p.func = name_of(funcs, COUNT(funcs), event->is.p2p.func);
        out->is.p2p.datatype = name_of(types, COUNT(types), event->is.p2p.datatype);
        *comm = (struct event_comm){event->is.p2p.name, event->is.p2p.comm};
    } else if (event->type == EVENT_PROXY_OP) {
        out->is.op = event->is.op;
    } else if (event->type == EVENT_PROXY_STEP) {
        out->is.step = event->is.step;
    }
}

static void read_v3(const struct event_v3 *event, struct event_v6 *out, struct event_comm *comm)
{
    COPY_HEAD(out, event);
    out->type = event->type;
    if (event->type == EVENT_COLL) {
        COPY_COLL(out->is.coll.as_v4, event->is.coll);
        COPY_TEXTS(out->is.coll.as_v4, event->is.coll);
        *comm = (struct event_comm){event->is.coll.name, event->is.coll.comm};
    } else if (event->type == EVENT_P2P) {
        COPY_P2P(out->is.p2p, event->is.p2p);
        out->is.p2p.func = event->is.p2p.func;
        out->is.p2p.datatype = event->is.p2p.datatype;
        *comm = (struct event_comm){event->is.p2p.name, event->is.p2p.comm};
    } else if (event->type == EVENT_PROXY_OP) {
        out->is.op = event->is.op;
    } else if (event->type == EVENT_PROXY_STEP) {
        out->is.step = event->is.step;
    } else if (event->type == EVENT_KERNEL) {
        out->is.kernel.channel = event->is.kernel.channel;
    } else if (event->type == EVENT_NET) {
        out->is.net = event->is.net;
    }
}

/** Version 2 differs from 3 in its collectives, and has fewer types. */
static void read_v2(const struct event_v2 *event, struct event_v6 *out, struct event_comm *comm)
{
    struct event_v3 as_v3 = {.type = event->type};
    COPY_HEAD(&as_v3, event);
    if (event->type == EVENT_COLL) {
        COPY_COLL(as_v3.is.coll, event->is.coll);
        COPY_TEXTS(as_v3.is.coll, event->is.coll);
        as_v3.is.coll.name = event->is.coll.name;
        as_v3.is.coll.comm = event->is.coll.comm;
    } else if (event->type == EVENT_P2P) {
        as_v3.is.p2p = event->is.p2p;
    } else if (event->type == EVENT_PROXY_OP) {
        as_v3.is.op = event->is.op;
    } else if (event->type == EVENT_PROXY_STEP) {
        as_v3.is.step = event->is.step;
    }
    read_v3(&as_v3, out, comm);
}

static void read_v4(const struct event_v4 *event, struct event_v6 *out)
{
    COPY_HEAD(out, event);
    out->type = event->type;
    if (event->type == EVENT_COLL) {
        out->is.coll.as_v4 = event->is.coll;
    } else if (event->type == EVENT_P2P) {
        COPY_P2P(out->is.p2p, event->is.p2p);
        out->is.p2p.func = event->is.p2p.func;
        out->is.p2p.datatype = event->is.p2p.datatype;
        out->is.p2p.channels = event->is.p2p.channels;
    } else if (event->type == EVENT_PROXY_OP) {
        out->is.op = event->is.op;
    } else if (event->type == EVENT_PROXY_STEP) {
        out->is.step = event->is.step;
    } else if (event->type == EVENT_KERNEL) {
        out->is.kernel = event->is.kernel;
    } else if (event->type == EVENT_NET) {
        out->is.net = event->is.net;
    }
}

void event_read(int version, const void *event, struct event_v6 *out, struct event_comm *out_comm)
{
    memset(out, 0, sizeof *out);
    switch (version) {
    case 1:
        read_v1(event, out, out_comm);
        break;
    case 2:
        read_v2(event, out, out_comm);
        break;
    case 3:
        read_v3(event, out, out_comm);
        break;
    case 4:
        read_v4(event, out);
        break;
    case 5:
        /* Members are where version 6 has them; it is the shorter one by none. */
        memcpy(out, event, sizeof(struct event_v5));
        break;
    default:
        memcpy(out, event, sizeof *out);
    }
    /* Before version 5 a group is the parent. */
    if (version < 5 && out->type == EVENT_COLL)
        out->is.coll.parent_group = out->parent;
    if (version < 5 && out->type == EVENT_P2P)
        out->is.p2p.parent_group = out->parent;
}

static void write_v1(const struct event_v6 *event, const struct event_comm *comm,
                     struct event_v1 *out)
{
    if (event->type == EVENT_COLL) {
        const struct event_coll_v4 *coll = &event->is.coll.as_v4;
        COPY_COLL(out->is.coll, *coll);
        out->is.coll.func = number_of(funcs, COUNT(funcs), coll->func);
        out->is.coll.datatype = number_of(types, COUNT(types), coll->datatype);
        out->is.coll.algorithm = number_of(algorithms, COUNT(algorithms), coll->algorithm);
        out->is.coll.protocol = number_of(protocols, COUNT(protocols), coll->protocol);
        out->is.coll.name = comm->name;
        out->is.coll.comm = comm->hash;
    } else if (event->type == EVENT_P2P) {
        COPY_P2P(out->is.p2p, event->is.p2p);
        out->is.p2p.func = number_of(funcs, COUNT(funcs), event->is.p2p.func);
        out->is.p2p.datatype = number_of(types, COUNT(types), event->is.p2p.datatype);
        out->is.p2p.name = comm->name;
        out->is.p2p.comm = comm->hash;
    } else if (event->type == EVENT_PROXY_OP) {
        out->is.op = event->is.op;
    } else if (event->type == EVENT_PROXY_STEP) {
        out->is.step = event->is.step;
    }
}

static void write_v3(const struct event_v6 *event, const struct event_comm *comm,
                     struct event_v3 *out)
{
    if (event->type == EVENT_COLL) {
        COPY_COLL(out->is.coll, event->is.coll.as_v4);
        COPY_TEXTS(out->is.coll, event->is.coll.as_v4);
        out->is.coll.name = comm->name;
        out->is.coll.comm = comm->hash;
    } else if (event->type == EVENT_P2P) {
        COPY_P2P(out->is.p2p, event->is.p2p);
        out->is.p2p.func = event->is.p2p.func;
        out->is.p2p.datatype = event->is.p2p.datatype;
        out->is.p2p.name = comm->name;
        out->is.p2p.comm = comm->hash;
    } else if (event->type == EVENT_PROXY_OP) {
        out->is.op = event->is.op;
    } else if (event->type == EVENT_PROXY_STEP) {
        out->is.step = event->is.step;
    } else if (event->type == EVENT_KERNEL) {
        out->is.kernel.channel = event->is.kernel.channel;
    } else if (event->type == EVENT_NET) {
        out->is.net = event->is.net;
    }
}

static void write_v2(const struct event_v6 *event, const struct event_comm *comm,
                     struct event_v2 *out)
{
    struct event_v3 as_v3;
    memset(&as_v3, 0, sizeof as_v3);
    write_v3(event, comm, &as_v3);
    if (event->type == EVENT_COLL) {
        COPY_COLL(out->is.coll, as_v3.is.coll);
        COPY_TEXTS(out->is.coll, as_v3.is.coll);
        out->is.coll.name = comm->name;
        out->is.coll.comm = comm->hash;
    } else if (event->type == EVENT_P2P) {
        out->is.p2p = as_v3.is.p2p;
    } else if (event->type == EVENT_PROXY_OP) {
        out->is.op = as_v3.is.op;
    } else if (event->type == EVENT_PROXY_STEP) {
        out->is.step = as_v3.is.step;
    }
}

static void write_v4(const struct event_v6 *event, struct event_v4 *out)
{
    if (event->type == EVENT_COLL) {
        out->is.coll = event->is.coll.as_v4;
    } else if (event->type == EVENT_P2P) {
        COPY_P2P(out->is.p2p, event->is.p2p);
        out->is.p2p.func = event->is.p2p.func;
        out->is.p2p.datatype = event->is.p2p.datatype;
        out->is.p2p.channels = event->is.p2p.channels;
    } else if (event->type == EVENT_PROXY_OP) {
        out->is.op = event->is.op;
    } else if (event->type == EVENT_PROXY_STEP) {
        out->is.step = event->is.step;
    } else if (event->type == EVENT_KERNEL) {
        out->is.kernel = event->is.kernel;
    } else if (event->type == EVENT_NET) {
        out->is.net = event->is.net;
    }
}

/** Parent, rank and type of versions 1 to 4, in which a group is the parent of collectives. */
static void write_head(const struct event_v6 *event, struct event_v1 *out)
{
    COPY_HEAD(out, event);
    out->type = (uint8_t)event->type;
    if (event->type == EVENT_COLL)
        out->parent = event->is.coll.parent_group;
    if (event->type == EVENT_P2P)
        out->parent = event->is.p2p.parent_group;
}

void event_write(int version, const struct event_v6 *event, const struct event_comm *comm,
                 union event_any *out)
{
    memset(out, 0, sizeof *out);
    if (version >= 5) {
        memcpy(&out->v6, event, version == 5 ? sizeof out->v5 : sizeof out->v6);
        return;
    }
    write_head(event, &out->v1);
    switch (version) {
    case 1:
        write_v1(event, comm, &out->v1);
        break;
    case 2:
        write_v2(event, comm, &out->v2);
        break;
    case 3:
        write_v3(event, comm, &out->v3);
        break;
    default:
        write_v4(event, &out->v4);
    }
}

bool event_is_known(int version, uint64_t type)
{
    static const uint64_t most[PROFILER_VERSIONS] = {
        0, EVENT_PROXY_CTRL, EVENT_PROXY_CTRL, EVENT_NET, EVENT_NET, EVENT_LAUNCH, EVENT_CE_BATCH};
    return type <= most[version];
}

int event_mask_closure(int mask)
{
    static const struct {
        int of, brings;
    } parents[] = {
        {EVENT_NET, EVENT_PROXY_STEP},
        {EVENT_PROXY_STEP, EVENT_PROXY_OP},
        {EVENT_PROXY_OP | EVENT_KERNEL, EVENT_COLL | EVENT_P2P},
        {EVENT_COLL, EVENT_COLL_API | EVENT_GROUP},
        {EVENT_P2P, EVENT_P2P_API | EVENT_GROUP},
        {EVENT_COLL_API | EVENT_P2P_API | EVENT_LAUNCH | EVENT_GROUP, EVENT_GROUP_API},
        {EVENT_CE_SYNC | EVENT_CE_BATCH, EVENT_CE_COLL},
    };
    for (size_t i = 0; i < COUNT(parents); i++)
        if (mask & parents[i].of)
            mask |= parents[i].brings;
    return mask;
}

/* Another profiler behind ours. */

/** What all versions have at the same places. */
static const struct profiler_v1 *calls_of(const struct next *next)
{
    return next->symbol;
}

/** NCCL's rule: the name as it is, then libnccl-profiler-NAME.so where it is neither a path nor a library's name. */
static void *open_library(const char *name)
{
    char path[300];
    const size_t bytes = strlen(name);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const bool is_file = strchr(name, '/') || (bytes > 6 && strncmp(name, "lib", 3) == 0 &&
                                               strcmp(name + bytes - 3, ".so") == 0);
    if (library || is_file ||
        snprintf(path, sizeof path, "libnccl-profiler-%s.so", name) >= (int)sizeof path)
        return library;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

bool next_open(const char *name, int version, const void *own, struct next *out,
               char out_reason[NEXT_REASON_BYTES])
{
    *out = (struct next){.library = open_library(name)};
    if (!out->library) {
        const char *why = dlerror();
        snprintf(out_reason, NEXT_REASON_BYTES, "%.200s", why ? why : name);
        return false;
    }
    for (out->version = version; out->version >= PROFILER_OLDEST; out->version--) {
        char symbol[32];
        snprintf(symbol, sizeof symbol, "ncclProfiler_v%d", out->version);
        out->symbol = dlsym(out->library, symbol);
        if (out->symbol)
            break;
    }
    if (out->symbol && out->symbol != own)
        return true;
    snprintf(out_reason, NEXT_REASON_BYTES, "%.100s: %s", name,
             out->symbol ? "is this profiler itself" : "no profiler of a version that NCCL knows");
    next_close(out);
    return false;
}

void next_close(struct next *next)
{
    if (next->library)
        dlclose(next->library);
    *next = (struct next){.library = NULL};
}

bool next_init(const struct next *next, const struct next_comm *comm, int *mask, void **out_context)
{
    *out_context = NULL;
    *mask = 0;
    if (next->version <= 3)
        return calls_of(next)->init(out_context, mask) == ABI_SUCCESS;
    if (next->version == 4)
        return ((const struct profiler_v4 *)next->symbol)
                   ->init(out_context, mask, comm->name, comm->hash, comm->nodes, comm->ranks,
                          comm->rank, comm->log) == ABI_SUCCESS;
    return ((const struct profiler_v5 *)next->symbol)
               ->init(out_context, comm->hash, mask, comm->name, comm->nodes, comm->ranks,
                      comm->rank, comm->log) == ABI_SUCCESS;
}

void next_ask(struct next *next, int mask)
{
    __atomic_fetch_or(&next->mask, mask, __ATOMIC_RELAXED);
}

int next_asked(const struct next *next)
{
    return __atomic_load_n(&next->mask, __ATOMIC_RELAXED);
}

int next_sees(const struct next *next)
{
    return event_mask_closure(next_asked(next));
}

void *next_start(const struct next *next, void *context, const struct event_v6 *event,
                 const struct event_comm *comm)
{
    void *handle = NULL;
    union event_any as_its;
    if (!event_is_known(next->version, event->type))
        return NULL;
    event_write(next->version, event, comm, &as_its);
    (void)calls_of(next)->start(context, &handle, &as_its);
    return handle;
}

/** Arguments of version 1 to 3 have the size of a step, and a number of steps that later ones do not say. */
void next_state(const struct next *next, int version, void *handle, int state, const void *arguments)
{
    union state_v1 old = {.op = {0, 0}};
    if (!handle || (next->version <= 3 && state > STATE_LAST_V3))
        return;
    if (version > 3 && next->version <= 3 && arguments) {
        const union state_v4 *new = arguments;
        /* Sizes and numbers of appended operations stand in one place in both. */
        old.op.size = new->step.size;
        arguments = &old;
    }
    (void)calls_of(next)->state(handle, state, (void *)(uintptr_t)arguments);
}

void next_stop(const struct next *next, void *handle)
{
    if (handle)
        (void)calls_of(next)->stop(handle);
}

void next_finalize(const struct next *next, void *context)
{
    (void)calls_of(next)->finalize(context);
}
