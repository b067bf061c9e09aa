/**
 * Compositions: what people build from collectives, step by step, and what must come out.
 */
#ifndef RONDE_CLI_COMPOSE_H
#define RONDE_CLI_COMPOSE_H

#include "tour.h"

/** One composition. */
struct ronde_composition {
    const char *name;  /**< for --operation */
    const char *title; /**< one line */
    /** Runs, prints and checks it. Errors: those of the runs. */
    enum ronde_status (*run)(struct ronde_show *show, struct ronde_error *error);
};

/** All compositions; *out_count entries. */
const struct ronde_composition *ronde_compositions(uint32_t *out_count);

/** Runs one composition under its title. Errors: those of the runs. */
RONDE_MUST_CHECK enum ronde_status
ronde_composition_show(const struct ronde_composition *composition, struct ronde_show *show,
                       struct ronde_error *error);

/** compose_steps.c: all_reduce from send_recv alone, in a ring. */
enum ronde_status ronde_compose_ring(struct ronde_show *show, struct ronde_error *error);
/** compose_steps.c: all_reduce as reduce_scatter, then all_gather. */
enum ronde_status ronde_compose_halves(struct ronde_show *show, struct ronde_error *error);
/** compose_steps.c: subsets of ranks as communicators of their own, three at once. */
enum ronde_status ronde_compose_groups(struct ronde_show *show, struct ronde_error *error);

#endif
