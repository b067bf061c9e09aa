/**
 * Numbers that lower the loss of measured rows: what fits of all machines and of one have in common. The method (lower.c), and how
 * much it leaves to the starts (prior.c), are apart from what is fitted and from which start (fit.c, anchor.c), so that each can change alone.
 */
#ifndef RONDE_NCCL_PUBLISHED_LOWER_H
#define RONDE_NCCL_PUBLISHED_LOWER_H

#include "ronde/published.h"

/** Numbers of a fit at most. */
#define PUBLISHED_MOST_KNOBS 64u

/** One number that is fitted. */
struct published_knob {
    double *value;
    double start;
    double spread; /**< logarithmic distance from the start that costs a weight */
    double most;   /**< it stays below */
    bool is_guess; /**< so is the start: published_lower_by_rows finds how far such numbers lie from theirs */
};

/** Rows that count with their weights, and what changes. */
struct published_fit {
    const struct ronde_published *published;
    const struct ronde_nccl_constants *constants; /**< knobs' values are in there */
    enum ronde_published_state state;             /**< rows that count */
    double start_weight;
    bool is_of_all; /**< constants of all machines, not three numbers of one */
    double weight[RONDE_PUBLISHED_MAX_SYSTEMS]; /**< of a row; 0 = the system does not count */
    size_t stride[RONDE_PUBLISHED_MAX_SYSTEMS]; /**< every so manieth row of the system counts */
    struct published_knob knobs[PUBLISHED_MOST_KNOBS];
    size_t count;
};

/** Normal equations of a fit: curvature and slope of its loss. */
struct published_equations {
    double curve[PUBLISHED_MOST_KNOBS][PUBLISHED_MOST_KNOBS];
    double slope[PUBLISHED_MOST_KNOBS];
};

/** Gives a system's rows their weight: systems weigh alike, whatever the number of their rows. */
void published_weigh(struct published_fit *fit, uint32_t system);

/** Adds what the rows of a system say; UINT32_MAX: of all. */
void published_add_rows(const struct published_fit *fit, uint32_t system,
                        struct published_equations *to);

/** Adds what leaving the starts costs. */
void published_add_starts(const struct published_fit *fit, struct published_equations *to);

/** The step downhill of damped equations, by Cholesky's decomposition; false where rounding makes them singular. */
bool published_solve(const struct published_fit *fit, const struct published_equations *equations,
                     double damping, double out_step[PUBLISHED_MOST_KNOBS]);

/** How far a number is from its start, in the logarithm. */
double published_off_start(const struct published_knob *knob);

/** Lowers the loss from where the knobs are. */
void published_lower(const struct published_fit *fit);

/**
 * The same, with the weight of starts and the spread of guesses as the rows of the systems have them, where these are enough; those
 * of `fit` are where the search begins. Formulas: prior.c.
 */
void published_lower_by_rows(struct published_fit *fit);

#endif
