/** NCCL's side of a profiler plug-in. See profiler_host.h. */
#include "profiler_host.h"

#include "support/built_with.h"
#include "support/suite.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The layouts that NCCL has; a version's never changes. */
_Static_assert(sizeof(struct event_v1) == 120 && sizeof(struct event_v2) == 128 &&
                   sizeof(struct event_v3) == 120 && sizeof(struct event_v4) == 104 &&
                   sizeof(struct event_v5) == 112 && sizeof(struct event_v6) == 112,
               "descriptors");
_Static_assert(offsetof(struct event_v1, is) == 24 && offsetof(struct event_v6, is) == 24 &&
                   offsetof(struct event_v4, parent) == 8 && offsetof(struct event_v6, rank) == 16,
               "what a type says begins at byte 24");
_Static_assert(sizeof(struct profiler_v1) == 48 && sizeof(struct profiler_v5) == 48,
               "six pointers");
_Static_assert(sizeof(union state_v1) == 16 && sizeof(union state_v4) == 8, "arguments of states");

atomic_int host_mask;
static atomic_int faults;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char warning[512], said[512];

static void host_log(int level, unsigned long flags, const char *file, int line, const char *format,
                     ...)
{
    va_list arguments;
    (void)flags, (void)file, (void)line;
    if (level != ABI_WARN)
        return;
    pthread_mutex_lock(&log_lock);
    va_start(arguments, format);
    vsnprintf(warning, sizeof warning, format, arguments);
    va_end(arguments);
    pthread_mutex_unlock(&log_lock);
}

const char *profiler_host_warning(void)
{
    memcpy(said, warning, sizeof said);
    warning[0] = '\0';
    return said;
}

int profiler_host_faults(void)
{
    return atomic_exchange(&faults, 0);
}

bool profiler_host_open(struct profiler_host *out, int version)
{
    char symbol[32];
    snprintf(symbol, sizeof symbol, "ncclProfiler_v%d", version);
    *out = (struct profiler_host){.version = version};
    out->library = dlopen(RONDE_NCCL_PROFILER, RTLD_NOW | RTLD_LOCAL);
    CU_ASSERT_PTR_NOT_NULL(out->library);
    out->symbol = out->library ? dlsym(out->library, symbol) : NULL;
    CU_ASSERT_PTR_NOT_NULL(out->symbol);
    atomic_store(&host_mask, 0);
    return out->symbol != NULL;
}

void profiler_host_close(struct profiler_host *host)
{
    if (host->library)
        CU_ASSERT_EQUAL(dlclose(host->library), 0);
    CU_ASSERT_EQUAL(profiler_host_faults(), 0);
    host->library = NULL;
}

void profiler_host_init(const struct profiler_host *host, struct host_comm *comm)
{
    int *mask = (int *)&host_mask, code;
    if (host->version <= 3)
        code = ((const struct profiler_v1 *)host->symbol)->init(&comm->context, mask);
    else if (host->version == 4)
        code = ((const struct profiler_v4 *)host->symbol)
                   ->init(&comm->context, mask, comm->name, comm->hash, comm->nodes, comm->ranks,
                          comm->rank, host_log);
    else
        code = ((const struct profiler_v5 *)host->symbol)
                   ->init(&comm->context, comm->hash, mask, comm->name, comm->nodes, comm->ranks,
                          comm->rank, host_log);
    faults += code != ABI_SUCCESS;
}

static const struct profiler_v1 *calls_of(const struct profiler_host *host)
{
    return host->symbol;
}

void profiler_host_finalize(const struct profiler_host *host, struct host_comm *comm)
{
    faults += calls_of(host)->finalize(comm->context) != ABI_SUCCESS;
    comm->context = NULL;
}

/* A descriptor of any version. */
union any {
    struct event_v1 v1;
    struct event_v2 v2;
    struct event_v3 v3;
    struct event_v4 v4;
    struct event_v6 v6;
};

static void set_head(int version, union any *to, uint64_t type, void *parent, int rank)
{
    memset(to, 0xA5, sizeof *to);
    if (version >= 5)
        to->v6.type = type;
    else
        to->v1.type = (uint8_t)type;
    to->v6.parent = parent;
    to->v6.rank = rank;
}

/* The handle; the descriptor is gone afterwards. */
static void *start(const struct profiler_host *host, const struct host_comm *comm, union any *event)
{
    void *handle = NULL;
    faults += calls_of(host)->start(comm->context, &handle, event) != ABI_SUCCESS;
    memset(event, 0x5A, sizeof *event);
    return handle;
}

#define COLL_V4(coll, texts)                                                                       \
    {                                                                                              \
        (coll)->seq, (texts)->func, (void *)16, (void *)32, (coll)->count, 0, (texts)->type,       \
            (coll)->channels, 16, (texts)->algorithm, (texts)->protocol                            \
    }

void *profiler_host_coll(const struct profiler_host *host, const struct host_comm *comm,
                         const struct host_coll *coll)
{
    static const char *const funcs[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter",
                                        "AllReduce"};
    struct texts {
        char func[16], type[16], algorithm[8], protocol[8];
    } texts;
    union any event;
    snprintf(texts.func, sizeof texts.func, "%s", funcs[coll->collective]);
    snprintf(texts.type, sizeof texts.type, "ncclFloat32");
    snprintf(texts.algorithm, sizeof texts.algorithm, "%s", coll->is_ring ? "RING" : "TREE");
    snprintf(texts.protocol, sizeof texts.protocol, "%s", coll->is_ring ? "SIMPLE" : "LL");
    set_head(host->version, &event, EVENT_COLL, host->version < 5 ? coll->group : coll->parent,
             comm->rank);
    const struct event_coll_v4 as_v4 = COLL_V4(coll, &texts);
    switch (host->version) {
    case 1:
        event.v1.is.coll = (struct event_coll_v1){comm->name,
                                                  comm->hash,
                                                  coll->seq,
                                                  (uint8_t)coll->collective,
                                                  (void *)16,
                                                  (void *)32,
                                                  coll->count,
                                                  0,
                                                  7,
                                                  0,
                                                  0,
                                                  coll->channels,
                                                  16,
                                                  coll->is_ring ? ABI_RING : ABI_TREE,
                                                  coll->is_ring ? ABI_SIMPLE : ABI_LL,
                                                  0,
                                                  0};
        break;
    case 2:
        event.v2.is.coll = (struct event_coll_v2){comm->name,      comm->hash,
                                                  coll->seq,       texts.func,
                                                  (void *)16,      (void *)32,
                                                  coll->count,     0,
                                                  texts.type,      0,
                                                  coll->channels,  16,
                                                  texts.algorithm, texts.protocol};
        break;
    case 3:
        event.v3.is.coll =
            (struct event_coll_v3){comm->name,    comm->hash,     coll->seq,   texts.func,
                                   (void *)16,    (void *)32,     coll->count, 0,
                                   texts.type,    coll->channels, 16,          texts.algorithm,
                                   texts.protocol};
        break;
    case 4:
        event.v4.is.coll = as_v4;
        break;
    default:
        event.v6.is.coll = (struct event_coll_v5){as_v4, coll->group};
    }
    void *handle = start(host, comm, &event);
    memset(&texts, 'x', sizeof texts);
    return handle;
}

void *profiler_host_event(const struct profiler_host *host, const struct host_comm *comm,
                          uint64_t type, void *parent, const void *is, size_t bytes)
{
    static const uint64_t most[] = {0, 32, 32, 128, 128, 2048, 16384};
    union any event;
    if (type > most[host->version])
        return NULL;
    set_head(host->version, &event, type, parent, comm->rank);
    if (bytes > 0)
        memcpy(&event.v6.is, is, bytes);
    return start(host, comm, &event);
}

void profiler_host_stop(const struct profiler_host *host, void *handle)
{
    if (handle)
        faults += calls_of(host)->stop(handle) != ABI_SUCCESS;
}

void profiler_host_state(const struct profiler_host *host, void *handle, int state, uint64_t timer)
{
    union state_v1 old = {.op = {(size_t)timer, 0}};
    union state_v4 arguments = {.kernel = {timer}};
    if (handle)
        faults += calls_of(host)->state(handle, state,
                                        host->version <= 3 ? (void *)&old : (void *)&arguments) !=
                  ABI_SUCCESS;
}
