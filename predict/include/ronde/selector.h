/**
 * Chooses the algorithm of a request, size by size.
 *
 * Of a platform that is given: by prices on it (platform_price.h). Else by times measured on the backend (measured.h). Of a
 * backend without any: by prices on a shipped file that stands for its kind of machine.
 *
 *     ronde_selector_open(&options, &request, &selector, &error);
 *     ronde_selector_use(&selector, platform, backend, cores, &error);
 *     ronde_selector_decide(&selector, count, &decision, &error);
 *     selector.choice.candidates[decision.best].request.algorithm
 */
#ifndef RONDE_SELECTOR_H
#define RONDE_SELECTOR_H

#include "ronde/measured.h"
#include "ronde/platform_price.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a decision rests on. */
enum ronde_basis {
    RONDE_BASIS_NONE,     /**< not said yet */
    RONDE_BASIS_MEASURED, /**< times measured on the backend */
    RONDE_BASIS_PLATFORM, /**< prices on a platform that was given */
    RONDE_BASIS_TYPICAL,  /**< prices on a shipped platform that stands for the backend */
    RONDE_BASIS_DEFAULT,  /**< prices on a nominal network (select.h) */
    RONDE_BASIS_RACE      /**< times measured just before the run (autotune.h) */
};

/** A request's candidates and what prices them. Neither copied nor moved while it is open: its pricer points into it. */
struct ronde_selector {
    struct ronde_tune_options options; /**< slot, type */
    struct ronde_choice choice;        /**< the candidates */
    struct ronde_quote *quotes;        /**< of the last decision, one per candidate */
    struct ronde_platform *own;        /**< the platform where the selector reads it; else NULL */
    struct ronde_platform_pricer platform_pricer; /**< platform NULL where times were measured */
    struct ronde_measured *table;        /**< measured times, where they decide; else NULL */
    struct ronde_measured_view measured; /**< its rows; table NULL where a platform is priced */
    struct ronde_pricer pricer;          /**< of one of the two */
    enum ronde_basis basis;              /**< what decides */
    char words[400];                     /**< the same in words: which times or which platform */
};

/** What was decided for a load; the indices are those of the choice. */
struct ronde_decision {
    uint32_t best;      /**< the winner */
    uint32_t second;    /**< the runner-up; RONDE_NONE = nobody else serves the request */
    bool may_be_nearer; /**< the runner-up, by finer pieces: long to replay, and not expected to win */
    struct ronde_load load; /**< for which */
    uint64_t slot_bytes;    /**< that the winner takes so long with; 0 = one piece */
};

/**
 * Lists and compiles the candidates of a request; ronde_selector_use says next what prices them. The caller closes *out_selector in every
 * case. Errors: those of ronde_choice_init; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_selector_open(const struct ronde_tune_options *options,
                    const struct ronde_compile_request *request,
                    struct ronde_selector *out_selector, struct ronde_error *error);

/**
 * Offers a schedule as one more candidate, before ronde_selector_use. Errors: as ronde_choice_offer.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_selector_offer(struct ronde_selector *selector, const struct ronde_schedule *schedule,
                     const char *name, struct ronde_error *error);

/**
 * Prices candidates by a platform: the given one, else that of the options; without both by what is known of `backend` on `cores`
 * cores. Errors: those of ronde_platform_read, ronde_measured_find and ronde_platform_pricer_open; UNSUPPORTED where nothing speaks for the backend.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_selector_use(struct ronde_selector *selector, const struct ronde_platform *platform,
                   const char *backend, uint32_t cores, struct ronde_error *error);

/** Room for the options of a decision. */
#define RONDE_SETUP_OPTIONS_BYTES 80u

/**
 * The options beside -a that make `ronde sim` replay a candidate as it was priced for a load with a slot: "--channels 8
 * --slot 512K", as far as they are not the defaults. Returns out_text.
 */
RONDE_API const char *ronde_candidate_options(const struct ronde_candidate *candidate,
                                              const struct ronde_load *load, uint64_t slot_bytes,
                                              char out_text[RONDE_SETUP_OPTIONS_BYTES]);

/** Those of a decision's winner, --synthesize among them where it needs that; "" without a platform. Returns out_text. */
RONDE_API const char *ronde_decision_options(const struct ronde_selector *selector,
                                             const struct ronde_decision *decision,
                                             char out_text[RONDE_SETUP_OPTIONS_BYTES]);

/** The forecast of a decision's winner as it was priced; of a selector that prices a platform. Its count is set next. */
RONDE_API struct ronde_forecast ronde_decision_forecast(const struct ronde_selector *selector,
                                                        const struct ronde_decision *decision);

/**
 * Another selector of the same candidates on the same platform, for a thread of its own: they share what they note of candidates and
 * nothing else. It ends before the first, by ronde_selector_return in every case. Errors: NO_MEMORY.
 */
enum ronde_status ronde_selector_borrow(const struct ronde_selector *selector,
                                        struct ronde_selector *out_selector,
                                        struct ronde_error *error);

/** Ends what was borrowed; a zeroed one is allowed. */
void ronde_selector_return(struct ronde_selector *selector);

/** Frees what a selector holds; a zeroed one is allowed. */
RONDE_API void ronde_selector_close(struct ronde_selector *selector);

/** Decides for so many elements of a block; quotes are the decision's. Errors: the pricer's; UNSUPPORTED if none has a time. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_selector_decide(struct ronde_selector *selector, uint64_t count,
                      struct ronde_decision *out_decision, struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
