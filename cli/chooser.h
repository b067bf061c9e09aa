/**
 * Who chooses the algorithm when the command line names none, or `auto`.
 *
 * With --topo: prices on that machine (appraise.h). Else times measured on the backend, as shipped (ronde/measured.h). For
 * a backend that has none: prices on a shipped file that stands for its kind of machine. Which of the three it was is
 * printed wherever a choice is.
 */
#ifndef RONDE_CLI_CHOOSER_H
#define RONDE_CLI_CHOOSER_H

#include "appraise.h"

#include "ronde/measured.h"

/** A request's candidates and what prices them. Neither copied nor moved while it is open: its pricer points into it. */
struct ronde_chooser {
    const struct ronde_options *options; /**< slot, type; outlives it */
    struct ronde_choice choice;          /**< the candidates */
    struct ronde_quote *quotes;          /**< of the last decision, one per candidate */
    struct ronde_platform *own;          /**< the platform where the chooser reads it; else NULL */
    struct ronde_appraiser appraiser;    /**< platform NULL where times were measured */
    struct ronde_measured_view measured; /**< table NULL where a platform is priced */
    struct ronde_pricer pricer;          /**< of one of the two */
    char basis[400];                     /**< who chooses, in words */
};

/** What was decided for a load; the indices are those of the choice. */
struct ronde_decision {
    uint32_t best;          /**< the winner */
    uint32_t second;        /**< the runner-up; RONDE_NONE = nobody else serves the request */
    struct ronde_load load; /**< for which */
};

/** Whether the command line leaves the choice to us: no -a, or -a auto, and no schedule from a file. */
bool ronde_is_auto(const struct ronde_options *options);

/**
 * Lists and compiles the candidates of a request; whom to rely on is said next. The caller closes *out_chooser in every
 * case. Errors: those of ronde_choice_init; NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_chooser_open(const struct ronde_options *options, const struct ronde_request *request,
                   struct ronde_chooser *out_chooser, struct ronde_error *error);

/**
 * Relies on a platform: the given one, else that of --topo; without both on what is known of `backend` on `cores` cores.
 * Errors: those of ronde_open_platform and ronde_appraiser_open; UNSUPPORTED where nothing speaks for the backend.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_chooser_rely(struct ronde_chooser *chooser, const struct ronde_platform *platform,
                   const char *backend, uint32_t cores, struct ronde_error *error);

/** Frees what a chooser holds; a zeroed one is allowed. */
void ronde_chooser_close(struct ronde_chooser *chooser);

/** Decides for so many elements of a block; quotes are the decision's. Errors: the pricer's; UNSUPPORTED if none has a time. */
RONDE_MUST_CHECK enum ronde_status
ronde_chooser_decide(struct ronde_chooser *chooser, uint64_t count,
                     struct ronde_decision *out_decision, struct ronde_error *error);

/** A decision in words: "ring: 17.20 us (closed_form), next tree 20.10 us". */
void ronde_chooser_say(const struct ronde_chooser *chooser, const struct ronde_decision *decision,
                       char *out_text, size_t bytes);

#endif
