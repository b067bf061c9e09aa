/**
 * Programs of a communicator, by kind of call: compiled, proved and loaded once, kept while they are used.
 *
 * What is looked up, loaded and unloaded follows from the calls and their order alone, which are the same on all ranks: so
 * all ranks load together, and what one has kept the others have, too. Belongs to the thread that uses the communicator.
 */
#ifndef RONDE_API_CACHE_H
#define RONDE_API_CACHE_H

#include "ronde/attach.h"
#include "ronde/ronde.h"
#include "ronde/schedules.h"

/* What a call is, as far as the choice of its program goes, and what it asks of its arguments. */

/** Calls of one kind run the same program. Equal on all ranks of a communicator for the same call. */
struct ronde_kind {
    uint64_t what; /**< size class, collective, is_v, how sources are given; root or shift above */
    const uint32_t *source_of; /**< send_recv by a table: that table, else NULL */
};

/** The collective of a kind. */
enum ronde_collective ronde_kind_collective(const struct ronde_kind *kind);
/** Its root; 0 where it has none. */
uint32_t ronde_kind_root(const struct ronde_kind *kind);
/** The shift of a send_recv without a table. */
uint32_t ronde_kind_shift(const struct ronde_kind *kind);
/** Whether its blocks differ in length. */
bool ronde_kind_is_v(const struct ronde_kind *kind);
/** Bytes of a block in the middle of its size class; 0 in the class of empty blocks. */
uint64_t ronde_kind_bytes(const struct ronde_kind *kind);

/** The kind of a call whose blocks have `count` elements. */
struct ronde_kind ronde_kind_of(const struct ronde_call *call, uint64_t count);

/** Whether two kinds are the same; tables of sources have `ranks` entries. */
bool ronde_kind_is_same(const struct ronde_kind *a, const struct ronde_kind *b, uint32_t ranks);

/** A number that equal tables of sources share, and others as good as never; 0 without one. */
uint64_t ronde_kind_digest(const struct ronde_kind *kind, uint32_t ranks);

/** Refuses what can be seen to be wrong on this rank alone. Errors: BAD_ARGUMENT naming the argument; NO_MEMORY. */
enum ronde_status ronde_call_check(const struct ronde_call *call, uint32_t rank, uint32_t ranks,
                                   const struct ronde_mem *mem, struct ronde_error *error);

/** Elements of the longest block in this rank's tables. */
uint64_t ronde_call_longest(const struct ronde_call *call, uint32_t rank, uint32_t ranks);

/* Which algorithm a kind of call runs, where the user has not said. Rank 0 of a communicator asks; the others are
 * told. */

/** What a call of a kind is compiled from, the algorithm aside. `sources` has room for a table of `ranks` entries. */
struct ronde_compile_request ronde_kind_request(const struct ronde_kind *kind, uint32_t ranks,
                                                uint32_t *sources);

/**
 * Chooses an algorithm for a kind on a communicator: by times measured on a backend or transport, as tables name it, where
 * there are some, else by price on a network that stands for it. Errors: UNSUPPORTED where no algorithm serves it; NO_MEMORY.
 */
enum ronde_status ronde_choose(const struct ronde_comm *comm, const struct ronde_kind *kind,
                               const char *backend, const struct ronde_mem *mem,
                               char algorithm[RONDE_ALGORITHM_BYTES], struct ronde_error *error);

/** A schedule that programs of several size classes share. */
struct ronde_shared_schedule {
    struct ronde_shared_schedule *next;
    struct ronde_kind kind; /**< as far as it decides: without size class; source_of is the schedule's */
    const struct ronde_schedule *schedule; /**< proved */
    struct ronde_schedule *own;            /**< the same where it is freed with this; else NULL */
    uint32_t uses;                         /**< programs */
};

/** A loaded program. */
struct ronde_cached_program {
    struct ronde_kind kind; /**< source_of is the schedule's */
    struct ronde_comm_program *program;
    struct ronde_shared_schedule *shared;
    uint64_t used; /**< when, counted in look-ups */
};

/** What the user has said about a collective. */
struct ronde_wish {
    char algorithm[RONDE_ALGORITHM_BYTES]; /**< "" = chosen by ronde */
    const struct ronde_schedule *schedule; /**< instead of an algorithm, or NULL */
};

/** The cache of a communicator. */
struct ronde_cache {
    struct ronde_comm *comm;
    const struct ronde_mem *mem;
    uint32_t ranks;
    struct ronde_cached_program kept[RONDE_KEPT_PROGRAMS];
    uint32_t count;
    uint32_t last;  /**< index of what was found last */
    uint64_t finds; /**< look-ups so far */
    struct ronde_shared_schedule *schedules;
    struct ronde_wish wishes[RONDE_COLLECTIVE_COUNT];
};

/** Prepares an empty cache. */
void ronde_cache_init(struct ronde_cache *cache, struct ronde_comm *comm);

/** Unloads and frees all. */
void ronde_cache_fini(struct ronde_cache *cache);

/** The program of a kind; NULL where it is not loaded. */
struct ronde_cached_program *ronde_cache_find(struct ronde_cache *cache,
                                              const struct ronde_kind *kind);

/**
 * Meets the other ranks, agrees on an algorithm and loads it. Collective, and blocks. Errors: REJECTED where ranks call
 * different things, on all of them; those of ronde_choose, ronde_compile and ronde_comm_load, then on all ranks, too.
 */
enum ronde_status ronde_cache_load(struct ronde_cache *cache, const struct ronde_kind *kind,
                                   struct ronde_error *error);

/**
 * Meets the other ranks, agrees on an algorithm for a backend or transport, as tables name it, and takes its schedule, to
 * be given back. Collective, and blocks. Errors: as ronde_cache_load.
 */
enum ronde_status ronde_cache_take(struct ronde_cache *cache, const struct ronde_kind *kind,
                                   const char *backend, struct ronde_shared_schedule **out_shared,
                                   struct ronde_error *error);

/**
 * After a step that each rank does alone, and whose error is in `why`: ranks go on together or not at all. Collective.
 * Errors: on every rank those of the first rank that has one.
 */
enum ronde_status ronde_cache_agree(struct ronde_cache *cache, enum ronde_status status,
                                    const struct ronde_error *why, struct ronde_error *error);

/** Gives a schedule back, which is freed after its last use. */
void ronde_cache_give(struct ronde_cache *cache, struct ronde_shared_schedule *shared);

/** Unloads what was loaded for a collective: another wish than before decides from now on. */
void ronde_cache_drop(struct ronde_cache *cache, enum ronde_collective collective);

#endif
