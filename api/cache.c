/* Kept programs. See cache.h. */
#include "cache.h"

#include "ronde/attach.h"
#include "ronde/select.h"

#include <stdio.h>
#include <string.h>

/* What the ranks tell each other before a program is loaded. */
struct proposal {
    uint64_t what;                         /* of the kind */
    uint64_t digest;                       /* of its sources */
    uint32_t status;                       /* of rank 0's choice */
    char algorithm[RONDE_ALGORITHM_BYTES]; /* rank 0's choice */
    char why[256];                         /* there is none */
};

/* How a step that each rank does alone went. */
struct outcome {
    uint32_t status;
    char why[256];
};

void ronde_cache_init(struct ronde_cache *cache, struct ronde_comm *comm)
{
    *cache = (struct ronde_cache){.comm = comm,
                                  .mem = ronde_comm_allocator(comm),
                                  .ranks = ronde_comm_ranks(comm)};
}

void ronde_cache_give(struct ronde_cache *cache, struct ronde_shared_schedule *shared)
{
    struct ronde_shared_schedule **at = &cache->schedules;
    if (--shared->uses > 0)
        return;
    while (*at != shared)
        at = &(*at)->next;
    *at = shared->next;
    ronde_schedule_destroy(shared->own);
    ronde_mem_free(cache->mem, shared, 1, sizeof *shared);
}

static void drop_program(struct ronde_cache *cache, uint32_t index)
{
    struct ronde_cached_program *kept = &cache->kept[index];
    ronde_comm_unload(kept->program);
    ronde_cache_give(cache, kept->shared);
    cache->kept[index] = cache->kept[--cache->count];
    cache->last = 0;
}

void ronde_cache_fini(struct ronde_cache *cache)
{
    while (cache->count > 0)
        drop_program(cache, cache->count - 1);
}

void ronde_cache_drop(struct ronde_cache *cache, enum ronde_collective collective)
{
    for (uint32_t k = cache->count; k-- > 0;)
        if (ronde_kind_collective(&cache->kept[k].kind) == collective)
            drop_program(cache, k);
}

struct ronde_cached_program *ronde_cache_find(struct ronde_cache *cache,
                                              const struct ronde_kind *kind)
{
    uint32_t at = cache->last;
    cache->finds++;
    if (at >= cache->count || cache->kept[at].kind.what != kind->what ||
        !ronde_kind_is_same(&cache->kept[at].kind, kind, cache->ranks))
        for (at = 0; at < cache->count; at++)
            if (ronde_kind_is_same(&cache->kept[at].kind, kind, cache->ranks))
                break;
    if (at == cache->count)
        return NULL;
    cache->last = at;
    cache->kept[at].used = cache->finds;
    return &cache->kept[at];
}

/* Kinds that differ in their size class share schedules. */
static struct ronde_kind without_class(const struct ronde_kind *kind)
{
    return (struct ronde_kind){kind->what & ~UINT64_C(0xff), kind->source_of};
}

static struct ronde_shared_schedule *
find_schedule(const struct ronde_cache *cache, const struct ronde_kind *kind, const char *algorithm)
{
    const struct ronde_kind wanted = without_class(kind);
    for (struct ronde_shared_schedule *at = cache->schedules; at; at = at->next)
        if (ronde_kind_is_same(&at->kind, &wanted, cache->ranks) &&
            strcmp(at->schedule->algorithm, algorithm) == 0)
            return at;
    return NULL;
}

/* The rank that a rank receives from in a send_recv. */
static uint32_t source_of(const struct ronde_kind *kind, uint32_t ranks, uint32_t rank)
{
    return kind->source_of ? kind->source_of[rank]
                           : (rank + ranks - ronde_kind_shift(kind) % ranks) % ranks;
}

/* The schedule the user has given, if this kind is one that it serves. */
static const struct ronde_schedule *given_schedule(const struct ronde_cache *cache,
                                                   const struct ronde_kind *kind)
{
    const struct ronde_schedule *given = cache->wishes[ronde_kind_collective(kind)].schedule;
    if (!given || given->root != ronde_kind_root(kind) ||
        (ronde_kind_is_v(kind) && given->v_form == RONDE_V_NONE))
        return NULL;
    if (given->collective != RONDE_SEND_RECV)
        return given;
    /* What is kept under a table refers to the schedule's. */
    if (kind->source_of && !given->source_of)
        return NULL;
    for (uint32_t rank = 0; rank < cache->ranks; rank++)
        if (ronde_schedule_source(given, rank) != source_of(kind, cache->ranks, rank))
            return NULL;
    return given;
}

/* Compiles, or takes the user's. */
static enum ronde_status make_schedule(struct ronde_cache *cache, const struct ronde_kind *kind,
                                       const char *algorithm, struct ronde_shared_schedule *shared,
                                       struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    shared->schedule = given_schedule(cache, kind);
    if (!shared->schedule || strcmp(shared->schedule->algorithm, algorithm) != 0) {
        uint32_t *sources = ronde_mem_new(cache->mem, cache->ranks, sizeof *sources);
        if (!sources)
            return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", cache->ranks);
        struct ronde_compile_request request = ronde_kind_request(kind, cache->ranks, sources);
        request.algorithm = algorithm;
        status = ronde_compile(&request, cache->mem, NULL, &shared->own, error);
        shared->schedule = shared->own;
        ronde_mem_free(cache->mem, sources, cache->ranks, sizeof *sources);
    }
    if (status == RONDE_OK && ronde_kind_is_v(kind) && shared->schedule->v_form == RONDE_V_NONE)
        status = ronde_fail(error, RONDE_UNSUPPORTED, "%s %s takes no blocks of different lengths",
                            ronde_collective_text(ronde_kind_collective(kind)), algorithm);
    return status;
}

static enum ronde_status
take_schedule(struct ronde_cache *cache, const struct ronde_kind *kind, const char *algorithm,
              struct ronde_shared_schedule **out_shared, struct ronde_error *error)
{
    struct ronde_shared_schedule *shared = find_schedule(cache, kind, algorithm);
    *out_shared = shared;
    if (shared) {
        shared->uses++;
        return RONDE_OK;
    }
    shared = ronde_mem_new(cache->mem, 1, sizeof *shared);
    if (!shared)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a schedule");
    const enum ronde_status status = make_schedule(cache, kind, algorithm, shared, error);
    if (status != RONDE_OK) {
        ronde_schedule_destroy(shared->own);
        ronde_mem_free(cache->mem, shared, 1, sizeof *shared);
        return status;
    }
    shared->kind = without_class(kind);
    shared->kind.source_of = kind->source_of ? shared->schedule->source_of : NULL;
    shared->uses = 1;
    shared->next = cache->schedules;
    cache->schedules = shared;
    *out_shared = shared;
    return RONDE_OK;
}

/* Names the schedule or the algorithm that the user wishes, or else the best. */
static enum ronde_status
name_algorithm(const struct ronde_cache *cache, const struct ronde_kind *kind, const char *backend,
               char algorithm[RONDE_ALGORITHM_BYTES], struct ronde_error *error)
{
    const struct ronde_wish *wish = &cache->wishes[ronde_kind_collective(kind)];
    const struct ronde_schedule *given = given_schedule(cache, kind);
    const char *name = given ? given->algorithm : wish->algorithm;
    if (name[0] == '\0')
        return ronde_choose(cache->comm, kind, backend, cache->mem, algorithm, error);
    snprintf(algorithm, RONDE_ALGORITHM_BYTES, "%s", name);
    return RONDE_OK;
}

/* What this rank proposes; the choice of an algorithm is rank 0's. */
static struct proposal prepare_proposal(const struct ronde_cache *cache,
                                        const struct ronde_kind *kind, const char *backend)
{
    struct ronde_error error = {0};
    struct proposal mine;
    memset(&mine, 0, sizeof mine);
    mine.what = kind->what;
    mine.digest = ronde_kind_digest(kind, cache->ranks);
    if (ronde_comm_rank(cache->comm) != 0)
        return mine;
    mine.status = (uint32_t)name_algorithm(cache, kind, backend, mine.algorithm, &error);
    snprintf(mine.why, sizeof mine.why, "%.255s", error.message);
    return mine;
}

/* A kind in words: what a rank calls. */
static void describe(uint64_t what, char *text, size_t bytes)
{
    const struct ronde_kind kind = {what, NULL};
    const enum ronde_collective collective = ronde_kind_collective(&kind);
    int length = snprintf(text, bytes, "%s%s of blocks of about %llu bytes",
                          ronde_collective_text(collective), ronde_kind_is_v(&kind) ? "_v" : "",
                          (unsigned long long)ronde_kind_bytes(&kind));
    if (ronde_collective_traits(collective)->has_root && length > 0 && (size_t)length < bytes)
        snprintf(text + length, bytes - (size_t)length, ", root %u", ronde_kind_root(&kind));
}

/* All ranks call the same; they all find the same two that do not. */
static enum ronde_status compare(const struct ronde_cache *cache, const struct proposal *all,
                                 struct ronde_error *error)
{
    for (uint32_t rank = 1; rank < cache->ranks; rank++) {
        char first[96];
        char other[96];
        if (all[rank].what == all[0].what && all[rank].digest == all[0].digest)
            continue;
        describe(all[0].what, first, sizeof first);
        describe(all[rank].what, other, sizeof other);
        if (all[rank].what == all[0].what)
            return ronde_fail(error, RONDE_REJECTED,
                              "rank 0 and rank %u call %s with different sources", rank, first);
        return ronde_fail(error, RONDE_REJECTED, "rank 0 calls %s, rank %u calls %s", first, rank,
                          other);
    }
    return all[0].status == RONDE_OK
               ? RONDE_OK
               : ronde_fail(error, (enum ronde_status)all[0].status, "%s", all[0].why);
}

static enum ronde_status
exchange_proposals(struct ronde_cache *cache, const struct ronde_kind *kind, const char *backend,
                   char algorithm[RONDE_ALGORITHM_BYTES], struct ronde_error *error)
{
    const struct proposal mine = prepare_proposal(cache, kind, backend);
    struct proposal *all = ronde_mem_new(cache->mem, cache->ranks, sizeof *all);
    if (!all) {
        /* The others wait for this rank: it has to end their wait. */
        ronde_comm_abort(cache->comm);
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", cache->ranks);
    }
    enum ronde_status status = ronde_comm_allgather(cache->comm, &mine, sizeof mine, all, error);
    if (status == RONDE_OK) {
        struct ronde_error why = {0};
        status = compare(cache, all, &why);
        if (status == RONDE_REJECTED)
            ronde_comm_fail(cache->comm, &why);
        if (status != RONDE_OK)
            status = ronde_fail(error, status, "%s", why.message);
        snprintf(algorithm, RONDE_ALGORITHM_BYTES, "%s", all[0].algorithm);
    }
    ronde_mem_free(cache->mem, all, cache->ranks, sizeof *all);
    return status;
}

enum ronde_status ronde_cache_agree(struct ronde_cache *cache, enum ronde_status status,
                                    const struct ronde_error *why, struct ronde_error *error)
{
    struct outcome mine;
    struct outcome *all = ronde_mem_new(cache->mem, cache->ranks, sizeof *all);
    memset(&mine, 0, sizeof mine);
    mine.status = (uint32_t)status;
    snprintf(mine.why, sizeof mine.why, "%.255s", why->message);
    if (!all) {
        ronde_comm_abort(cache->comm);
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", cache->ranks);
    }
    status = ronde_comm_allgather(cache->comm, &mine, sizeof mine, all, error);
    for (uint32_t rank = 0; rank < cache->ranks && status == RONDE_OK; rank++)
        if (all[rank].status != RONDE_OK)
            status = ronde_fail(error, (enum ronde_status)all[rank].status, "%s", all[rank].why);
    ronde_mem_free(cache->mem, all, cache->ranks, sizeof *all);
    return status;
}

/* Room for one program more: the one unused for longest goes. */
static void make_room(struct ronde_cache *cache)
{
    uint32_t oldest = 0;
    if (cache->count < RONDE_KEPT_PROGRAMS)
        return;
    for (uint32_t k = 1; k < cache->count; k++)
        if (cache->kept[k].used < cache->kept[oldest].used)
            oldest = k;
    drop_program(cache, oldest);
}

enum ronde_status ronde_cache_take(struct ronde_cache *cache, const struct ronde_kind *kind,
                                   const char *backend, struct ronde_shared_schedule **out_shared,
                                   struct ronde_error *error)
{
    char algorithm[RONDE_ALGORITHM_BYTES];
    struct ronde_shared_schedule *shared = NULL;
    struct ronde_error why = {0};
    *out_shared = NULL;
    RONDE_TRY(exchange_proposals(cache, kind, backend, algorithm, error));
    const enum ronde_status own = take_schedule(cache, kind, algorithm, &shared, &why);
    const enum ronde_status status = ronde_cache_agree(cache, own, &why, error);
    if (status == RONDE_OK)
        *out_shared = shared;
    else if (shared)
        ronde_cache_give(cache, shared);
    return status;
}

enum ronde_status ronde_cache_load(struct ronde_cache *cache, const struct ronde_kind *kind,
                                   struct ronde_error *error)
{
    struct ronde_shared_schedule *shared = NULL;
    struct ronde_comm_program *program = NULL;
    enum ronde_status status =
        ronde_cache_take(cache, kind, ronde_transport_text(ronde_comm_transport(cache->comm)),
                         &shared, error);
    RONDE_THEN(status, ronde_comm_load(cache->comm, shared->schedule, NULL, &program, error));
    if (status != RONDE_OK) {
        if (shared)
            ronde_cache_give(cache, shared);
        return status;
    }
    make_room(cache);
    struct ronde_cached_program *kept = &cache->kept[cache->count];
    *kept = (struct ronde_cached_program){.kind = *kind, .program = program, .shared = shared};
    kept->kind.source_of = kind->source_of ? shared->schedule->source_of : NULL;
    kept->used = cache->finds;
    cache->last = cache->count++;
    return RONDE_OK;
}

/* Choosing an algorithm. */

struct ronde_compile_request ronde_kind_request(const struct ronde_kind *kind, uint32_t ranks,
                                                uint32_t *sources)
{
    struct ronde_compile_request request = {.collective = ronde_kind_collective(kind),
                                            .ranks = ranks,
                                            .root = ronde_kind_root(kind)};
    if (request.collective != RONDE_SEND_RECV)
        return request;
    request.source_of = kind->source_of ? kind->source_of : sources;
    for (uint32_t rank = 0; !kind->source_of && rank < ranks; rank++)
        sources[rank] = source_of(kind, ranks, rank);
    return request;
}

enum ronde_status ronde_choose(const struct ronde_comm *comm, const struct ronde_kind *kind,
                               const char *backend, const struct ronde_mem *mem,
                               char algorithm[RONDE_ALGORITHM_BYTES], struct ronde_error *error)
{
    const uint32_t ranks = ronde_comm_ranks(comm);
    struct ronde_selection selection;
    uint32_t *sources = ronde_mem_new(mem, ranks, sizeof *sources);
    if (!sources)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", ranks);
    const struct ronde_select_query query = {
        .request = ronde_kind_request(kind, ranks, sources),
        .count = ronde_kind_bytes(kind),
        .dtype = RONDE_UINT8,
        .needs_v_form = ronde_kind_is_v(kind),
        .backend = backend,
        .cores = ronde_comm_processors(comm),
        .is_one_host = ronde_comm_transport(comm) == RONDE_TRANSPORT_SHM,
    };
    const enum ronde_status status = ronde_select(&query, mem, &selection, error);
    if (status == RONDE_OK)
        snprintf(algorithm, RONDE_ALGORITHM_BYTES, "%s", selection.algorithm);
    if (status == RONDE_OK && selection.left_out[0]) {
        char text[RONDE_LEFT_OUT_BYTES + 64];
        snprintf(text, sizeof text, "a table of measured times is left out: %s", selection.left_out);
        ronde_comm_note(comm, text);
    }
    ronde_mem_free(mem, sources, ranks, sizeof *sources);
    return status;
}
