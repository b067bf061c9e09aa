/**
 * Choosing an algorithm: every algorithm that serves a request is compiled once and priced for each load.
 *
 *     ronde_choice_init(&request, mem, &choice, &error)
 *     for each load:
 *         ronde_choice_price(&choice, &load, &pricer, quotes, &error)
 *         best = ronde_choice_best(&choice, quotes, RONDE_NONE)
 *
 * The answer depends on the request, the load and the pricer's numbers alone, so ranks that hold the same numbers choose
 * alike. Where they may not (another file, another build), one rank decides and tells the others the name.
 */
#ifndef RONDE_CHOICE_H
#define RONDE_CHOICE_H

#include "ronde/place.h"
#include "ronde/schedules.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ronde_outline;
struct ronde_sim_memo;

/** An algorithm that may be chosen, compiled, and where it was set up on a machine (setup.h), how. */
struct ronde_candidate {
    const struct ronde_algorithm
        *algorithm; /**< whose closed form it has; NULL = a schedule that was offered */
    struct ronde_compile_request request;  /**< what it was compiled from; names the algorithm */
    const struct ronde_schedule *schedule; /**< proved */
    struct ronde_schedule *own;            /**< the same where the candidate frees it; else NULL */
    bool is_eligible; /**< all ranks get the same bits; others are priced, and never chosen */
    bool is_placed;   /**< as was asked for */
    enum ronde_placement placement; /**< of its ranks */
    uint32_t *host_of; /**< per rank, for ronde_sim_options.host_of; NULL = rank r on host r */
    uint32_t *orders;  /**< the order of each channel that was laid through the machine, or NULL */
    size_t orders_count; /**< entries of it */
    const char *rings;   /**< how those were found: "snake", "torus", ...; or NULL */
    uint32_t turns_of; /**< 1 + the candidate of whose channels it has more copies: priced where that is near the best; 0 = none */
    uint64_t most_steps; /**< of a load cut finer than by default, until replays tell what a step costs; 0 = as many as usual */
    struct ronde_outline *outline; /**< what its pricer has noted of it, or NULL */
    struct ronde_sim_memo *memo;   /**< routes of its replays, or NULL */
};

/** The candidates of a request, in the order of the registry. */
struct ronde_choice {
    const struct ronde_mem *mem;        /**< theirs */
    struct ronde_candidate *candidates; /**< `count` of them */
    uint32_t count;                     /**< how many */
    size_t capacity;                    /**< reserved */
    bool lacks_forests; /**< some schedules made for the machine were left out, as they would take long */
};

/** What a bound rests on: each is closer than those before it, and takes longer to find. */
enum ronde_bound_of {
    RONDE_BOUND_OF_BYTES,   /**< what the busiest rank sends */
    RONDE_BOUND_OF_LINKS,   /**< what the busiest link carries */
    RONDE_BOUND_OF_OUTLINE, /**< that and latency */
    RONDE_BOUND_OF_PIECES   /**< the best cut by its estimate, or a replay that was ended */
};

/** What a candidate takes for a load. */
struct ronde_quote {
    double time_ns; /**< launch included; INFINITY where nobody knows: it is then never chosen */
    uint64_t slot_bytes; /**< of the load that takes so long; 0 = one piece, or as the load has it */
    const char *engine;  /**< who says so: closed_form, dag, or a pricer of another kind */
    bool is_exact;       /**< the time of the model; else approximate */
    bool is_bound; /**< it takes no less: what it does take is for the pricer's `settle` to find */
    enum ronde_bound_of bound_of; /**< of a bound */
    uint64_t work;                /**< of a replay (ronde_sim_result); 0 = next to none */
    double promised_ns; /**< an estimate, less than its time, of what long replays would find; 0 = none */
    uint64_t promised_slot_bytes; /**< of such a replay, which `settle` has put off; 0 = it is not to be done any more */
};

/** Whoever says what a candidate takes: a formula, a replay, a table. */
struct ronde_pricer {
    const void *self; /**< its own */
    /** Prices a load. Errors: its own. */
    enum ronde_status (*price)(const void *self, struct ronde_candidate *candidate,
                               const struct ronde_load *load, const struct ronde_mem *mem,
                               struct ronde_quote *out_quote, struct ronde_error *error);
    /**
     * The time itself where `price` gave a bound, which is never more, or a closer bound; NULL where it never gives one. It
     * may take long, so it is asked for only while the bound is the cheapest; a bound above most_ns will do, where the time
     * takes long to find, and what takes longest is put off, and done only where it promises less than fastest_ns. Errors: its
     * own.
     */
    enum ronde_status (*settle)(const void *self, struct ronde_candidate *candidate,
                                const struct ronde_load *load, double most_ns, double fastest_ns,
                                struct ronde_quote *out_quote, struct ronde_error *error);
};

/** A candidate of so many steps is looked at no more than it must be. */
#define RONDE_LONG_STEPS ((uint64_t)1 << 20)

/** Steps of all ranks, channels and pieces up to which the longest path is looked for where no formula is exact. */
#define RONDE_MOST_PRICED_STEPS ((uint64_t)1 << 19)

/**
 * Compiles every algorithm of the request's collective that serves it and is not too large to prove; request->algorithm is
 * not read. Whatever the request points to must outlive the choice. Owner: the caller, by ronde_choice_fini. Errors:
 * BAD_ARGUMENT for impossible ranks, root or channels; UNSUPPORTED where no algorithm serves it (the reason is the last one's);
 * NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_choice_init(const struct ronde_compile_request *request, const struct ronde_mem *mem,
                  struct ronde_choice *out_choice, struct ronde_error *error);

/**
 * Offers one more candidate: a schedule that the user wrote, which has no closed form, under a name (NULL: that of its
 * algorithm). Both must outlive the choice, and it must do what the others do. Errors: BAD_ARGUMENT for another collective, root or number of ranks; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_choice_offer(struct ronde_choice *choice, const struct ronde_schedule *schedule,
                   const char *name, struct ronde_error *error);

/** Adds a zeroed candidate, for the caller to fill in. Errors: NO_MEMORY. */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_choice_add(struct ronde_choice *choice,
                                                              struct ronde_candidate **out_candidate,
                                                              struct ronde_error *error);

/**
 * Adds a schedule that was made for a request, under a name of static storage; the choice owns it, and has destroyed it where
 * this fails. Errors: NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_choice_take(struct ronde_choice *choice, const struct ronde_compile_request *request,
                  const char *name, struct ronde_schedule *schedule,
                  struct ronde_candidate **out_candidate, struct ronde_error *error);

/**
 * The schedule of a candidate, which is the caller's from then on and only lent to the choice; NULL for one that was offered.
 */
RONDE_API struct ronde_schedule *ronde_choice_take_schedule(struct ronde_choice *choice,
                                                            uint32_t candidate);

/** Frees what a choice holds; a zeroed one is allowed. */
RONDE_API void ronde_choice_fini(struct ronde_choice *choice);

/** Index of the candidate of a name; RONDE_NONE if there is none. */
RONDE_API uint32_t ronde_choice_find(const struct ronde_choice *choice, const char *algorithm);

/** Whether no candidate before this one is a set-up of the same algorithm. */
RONDE_API bool ronde_choice_is_first(const struct ronde_choice *choice, uint32_t candidate);

/** Of the set-ups of a candidate's algorithm the one whose price is the least, a bound or not. */
RONDE_API uint32_t ronde_choice_least_of(const struct ronde_choice *choice,
                                         const struct ronde_quote *quotes, uint32_t of);

/**
 * Prices all candidates: out_quotes has choice->count entries. The winner and the runner-up, of another algorithm, have their
 * times; of others a bound may be known that is no less than 0.985 of the winner's time. Errors: the pricer's.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_choice_price(const struct ronde_choice *choice, const struct ronde_load *load,
                   const struct ronde_pricer *pricer, struct ronde_quote *out_quotes,
                   struct ronde_error *error);

/** Finds the time of the best set-up of every algorithm, where all are shown. Errors: the pricer's. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_choice_settle(const struct ronde_choice *choice, const struct ronde_load *load,
                    const struct ronde_pricer *pricer, struct ronde_quote *quotes,
                    struct ronde_error *error);

/** The time of one candidate. Errors: the pricer's. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_choice_time(const struct ronde_choice *choice, uint32_t candidate,
                  const struct ronde_load *load, const struct ronde_pricer *pricer,
                  struct ronde_quote *out_quote, struct ronde_error *error);

/**
 * The cheapest eligible candidate with a finite time, bounds aside, but those of the algorithm of `without` (RONDE_NONE: of all);
 * of equals the one of fewer steps, then of fewer lanes, then the first. RONDE_NONE if there is none.
 * Asked again without the winner it names the runner-up.
 */
RONDE_API uint32_t ronde_choice_best(const struct ronde_choice *choice,
                                     const struct ronde_quote *quotes, uint32_t without);

/** What a candidate that takes so long is compared by: one made for the machine counts as a little slower than it is. */
RONDE_API double ronde_candidate_compared(const struct ronde_candidate *candidate, double time_ns);

/** Steps of all ranks, channels and pieces of a candidate: what a replay of it has to go through. */
RONDE_API uint64_t ronde_candidate_steps(const struct ronde_candidate *candidate,
                                         const struct ronde_load *load);

/** The same of a load that is cut into pieces as replays cut it. */
RONDE_API uint64_t ronde_candidate_cut_steps(const struct ronde_candidate *candidate,
                                             const struct ronde_load *load);

/**
 * The pricer of a flat network, which must outlive it. A closed form that is exact speaks for itself. One that is not,
 * but says the same with ports as without, only has unequal chunks: then the longest path is exact, and taken up to
 * RONDE_MOST_PRICED_STEPS. Where flows share ports the longest path knows nothing of it, and the closed form stands,
 * approximate. An offered schedule has its longest path, exact on a network without port limits.
 */
RONDE_API struct ronde_pricer ronde_network_pricer(const struct ronde_network *network);

#ifdef __cplusplus
}
#endif
#endif
