/**
 * The algorithms: one file each, one registry table.
 */
#ifndef RONDE_SCHEDULES_H
#define RONDE_SCHEDULES_H

#include "ronde/builder.h"
#include "ronde/price.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What an algorithm needs per channel in its default shape, as its source states: a claim, which
 * tests hold a proof to.
 */
struct ronde_algorithm_counts {
    uint64_t messages;      /**< of all ranks */
    uint64_t sent_chunks;   /**< by the rank that sends most; chunks are those of the algorithm */
    uint32_t critical_path; /**< messages on the longest chain */
    uint32_t min_depth;     /**< least slots of a connection without deadlock */
};

/** A load of equal pieces on a flat network, as far as it decides whether a closed form is exact. */
struct ronde_price_case {
    uint32_t ranks;      /**< N */
    uint32_t channels;   /**< of equal weight */
    uint64_t pieces;     /**< of a chunk */
    uint32_t depth;      /**< slots of a connection */
    uint32_t port_flows; /**< flows that a port carries each as fast as alone */
};

/** What the positions of an algorithm are, where they have more than one digit: what the request's shape says. */
enum ronde_grid_kind {
    RONDE_GRID_NONE,
    RONDE_GRID_NODES, /**< nodes, and ranks in them */
    RONDE_GRID_TORUS, /**< the axes of a torus */
    RONDE_GRID_AXES,  /**< those, or nodes and ranks in them where there is none */
};

/** One algorithm of one collective. */
struct ronde_algorithm {
    enum ronde_collective collective; /**< what it computes */
    const char *name;                 /**< on the command line */
    const char *summary;              /**< one line for `ronde list` */
    /** Whether it can serve a request (any ranks, root and channels in range). Errors: UNSUPPORTED with a reason. */
    enum ronde_status (*supports)(const struct ronde_compile_request *request,
                                  struct ronde_error *why_not);
    enum ronde_grid_kind grid; /**< what it takes as shape */
    /** States the facts; a request that `supports` accepted. */
    void (*build)(const struct ronde_compile_request *request, struct ronde_builder *builder);
    /** Closed-form price of a load with `channels` channels; the formula and its source stand in the file. */
    struct ronde_price (*price)(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network);
    const char *source; /**< its authors, and the year; the file's opening comment has the full
                             citation */
    /** What a request of so many ranks (1 or more, as far as `supports` accepts them) needs. */
    struct ronde_algorithm_counts (*counts)(uint32_t ranks);
    /** Whether `price` is exact for such a load; NULL = wherever a port carries a flow of every channel at once. */
    bool (*is_exact)(const struct ronde_price_case *load);
    /** Whether two messages of a channel may be in a port at once; NULL = not where `is_exact` holds with port_flows 1. */
    bool (*shares_ports)(const struct ronde_price_case *load);
    /** Why some rank moves more than the least that any algorithm must; NULL = none does, in any number of ranks. */
    const char *why_more;
    /** Where `price` is an approximation although flows share no port, and why; NULL = it is exact there. */
    const char *why_approximate;
};

/** All algorithms, in the order of `ronde list`; *out_count entries. */
RONDE_API const struct ronde_algorithm *const *ronde_algorithms(uint32_t *out_count);

/** The algorithm of a name, or NULL with an error that lists the names of the collective (BAD_ARGUMENT). */
RONDE_API const struct ronde_algorithm *
ronde_algorithm_find(enum ronde_collective collective, const char *name, struct ronde_error *error);

/** A collective by the name as typed. Errors: BAD_ARGUMENT naming the nearest one. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_parse_collective(const char *text, enum ronde_collective *out, struct ronde_error *error);

/** An algorithm by the name as typed, or NULL with the nearest name in the error (BAD_ARGUMENT). */
RONDE_API const struct ronde_algorithm *
ronde_parse_algorithm(enum ronde_collective collective, const char *name, struct ronde_error *error);

/** Whether any collective has an algorithm of this name. Errors: BAD_ARGUMENT naming the nearest one. */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_check_algorithm(const char *name,
                                                                   struct ronde_error *error);

/** Whether a name ends in "+puts": the algorithm as a library runs it that puts (ronde_time_params.puts); NULL does not. */
RONDE_API bool ronde_name_puts(const char *name);

/** As ronde_parse_algorithm; the name may end so. */
RONDE_API const struct ronde_algorithm *
ronde_parse_carried(enum ronde_collective collective, const char *name, struct ronde_error *error);

/** The first algorithm of a collective that serves a request; NULL if none. Sets request->algorithm to its name, or NULL. */
RONDE_API const struct ronde_algorithm *ronde_first_algorithm(struct ronde_compile_request *request);

/**
 * Compiles a request: finds the algorithm, checks `supports`, builds, finishes. Errors: BAD_ARGUMENT (unknown name,
 * ranks outside 1 .. RONDE_MAX_RANKS, root >= ranks), UNSUPPORTED, NO_MEMORY, REJECTED. out_proof may be NULL.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_compile(const struct ronde_compile_request *request, const struct ronde_mem *mem,
              struct ronde_proof *out_proof, struct ronde_schedule **out_schedule,
              struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
