/** Descriptors of events between versions. See profiler.h. */
#define _GNU_SOURCE

#include "profiler.h"

#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/** What a descriptor says, as the newest version has it, and of its communicator. */
struct whole {
    struct event_v6 event;
    struct event_comm comm;
};

/** A member of a type's events, or several that lie alike, in the versions from one to another; and where it is in the whole. */
struct member {
    int first, last;
    uint64_t type;
    size_t there, here, bytes;
    const struct plugin_words *words; /**< a number there, here a string of these; NULL = as it is */
};

#define MEMBER(first, last, type, its, ours, words)                                                \
    {                                                                                              \
        first, last, type, offsetof(struct event_v##first, is.its), offsetof(struct whole, ours),  \
            sizeof(((struct event_v##first *)0)->is.its), words                                    \
    }
#define COLL(version, its, ours, words)                                                            \
    MEMBER(version, version, EVENT_COLL, coll.its, event.is.coll.as_v4.ours, words)
#define P2P(first, last, its, words)                                                               \
    MEMBER(first, last, EVENT_P2P, p2p.its, event.is.p2p.its, words)
#define COLL_OF(version)                                                                           \
    COLL(version, seq, seq, NULL), COLL(version, send, send, NULL),                                \
        COLL(version, recv, recv, NULL), COLL(version, count, count, NULL),                        \
        COLL(version, root, root, NULL), COLL(version, channels, channels, NULL),                  \
        COLL(version, warps, warps, NULL),                                                         \
        MEMBER(version, version, EVENT_COLL, coll.name, comm.name, NULL),                          \
        MEMBER(version, version, EVENT_COLL, coll.comm, comm.hash, NULL)
#define TEXTS_OF(version, funcs, types, algorithms, protocols)                                     \
    COLL(version, func, func, funcs), COLL(version, datatype, datatype, types),                    \
        COLL(version, algorithm, algorithm, algorithms),                                           \
        COLL(version, protocol, protocol, protocols)
#define P2P_OF(first, last, funcs, types)                                                          \
    P2P(first, last, func, funcs), P2P(first, last, buffer, NULL),                                 \
        P2P(first, last, datatype, types), P2P(first, last, count, NULL),                          \
        P2P(first, last, peer, NULL), MEMBER(first, last, EVENT_P2P, p2p.name, comm.name, NULL),   \
        MEMBER(first, last, EVENT_P2P, p2p.comm, comm.hash, NULL)

/** Versions 1 to 4; from 5 on members are where version 6 has them. What version 4 says of a send lies as in version 5. */
static const struct member members[] = {
    COLL_OF(1),
    TEXTS_OF(1, &plugin_funcs, &plugin_types, &plugin_algorithms, &plugin_protocols),
    COLL_OF(2),
    TEXTS_OF(2, NULL, NULL, NULL, NULL),
    COLL_OF(3),
    TEXTS_OF(3, NULL, NULL, NULL, NULL),
    P2P_OF(1, 1, &plugin_funcs, &plugin_types),
    P2P_OF(2, 3, NULL, NULL),
    MEMBER(4, 4, EVENT_COLL, coll, event.is.coll.as_v4, NULL),
    MEMBER(4, 4, EVENT_P2P, p2p, event.is.p2p, NULL),
    MEMBER(1, 4, EVENT_PROXY_OP, op, event.is.op, NULL),
    MEMBER(1, 4, EVENT_PROXY_STEP, step, event.is.step, NULL),
    MEMBER(3, 3, EVENT_KERNEL, kernel.channel, event.is.kernel.channel, NULL),
    MEMBER(4, 4, EVENT_KERNEL, kernel, event.is.kernel, NULL),
    MEMBER(3, 4, EVENT_NET, net, event.is.net, NULL),
};
#define COUNT(names) (sizeof(names) / sizeof(names)[0])

/** The next member of a version's event from `at` on; NULL behind the last. */
static const struct member *next_member(int version, uint64_t type, size_t *at)
{
    while (*at < COUNT(members)) {
        const struct member *member = &members[(*at)++];
        if (member->first <= version && version <= member->last && member->type == type)
            return member;
    }
    return NULL;
}

void event_read(int version, const void *event, struct event_v6 *out, struct event_comm *out_comm)
{
    const struct event_v1 *head = event;
    struct whole whole;
    size_t at = 0;
    memset(&whole, 0, sizeof whole);
    whole.comm = *out_comm;
    if (version >= 5) {
        /* Version 5 is the shorter one by none. */
        memcpy(out, event, version == 5 ? sizeof(struct event_v5) : sizeof *out);
        return;
    }
    whole.event.type = head->type;
    whole.event.parent = head->parent;
    whole.event.rank = head->rank;
    for (const struct member *member; (member = next_member(version, head->type, &at));) {
        const unsigned char *from = (const unsigned char *)event + member->there;
        char *to = (char *)&whole + member->here;
        if (member->words) {
            const char *word =
                *from < member->words->numbered ? member->words->all[*from].theirs : "unknown";
            memcpy(to, &word, sizeof word);
        } else {
            memcpy(to, from, member->bytes);
        }
    }
    /* Before version 5 a group is the parent. */
    if (head->type == EVENT_COLL)
        whole.event.is.coll.parent_group = head->parent;
    if (head->type == EVENT_P2P)
        whole.event.is.p2p.parent_group = head->parent;
    *out = whole.event;
    *out_comm = whole.comm;
}

/** The number of a word; 255 for one that version 1 does not have. */
static unsigned char number_of(const struct plugin_words *words, const char *name)
{
    const struct plugin_word *word = plugin_word_find(words, name);
    const ptrdiff_t number = word ? word - words->all : words->numbered;
    return number < words->numbered ? (unsigned char)number : UCHAR_MAX;
}

/** Writes one of a version; parents stand as they are in `event`. */
static void event_write(int version, const struct event_v6 *event, const struct event_comm *comm,
                        union event_any *out)
{
    const struct whole whole = {*event, *comm};
    size_t at = 0;
    memset(out, 0, sizeof *out);
    if (version >= 5) {
        memcpy(&out->v6, event, version == 5 ? sizeof out->v5 : sizeof out->v6);
        return;
    }
    out->v1.type = (uint8_t)event->type;
    out->v1.rank = event->rank;
    out->v1.parent = event->type == EVENT_COLL  ? event->is.coll.parent_group
                     : event->type == EVENT_P2P ? event->is.p2p.parent_group
                                                : event->parent;
    for (const struct member *member; (member = next_member(version, event->type, &at));) {
        const char *from = (const char *)&whole + member->here;
        unsigned char *to = (unsigned char *)out + member->there;
        if (member->words) {
            const char *word;
            memcpy(&word, from, sizeof word);
            *to = number_of(member->words, word);
        } else {
            memcpy(to, from, member->bytes);
        }
    }
}

/** Whether a version has events of a type. */
static bool event_is_known(int version, uint64_t type)
{
    static const uint64_t most[PROFILER_VERSIONS] = {
        0, EVENT_PROXY_CTRL, EVENT_PROXY_CTRL, EVENT_NET, EVENT_NET, EVENT_LAUNCH, EVENT_CE_BATCH};
    return type <= most[version];
}

/** The types that NCCL sends where a plug-in asks for `mask`: parents come unasked. */
static int event_mask_closure(int mask)
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
