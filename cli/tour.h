/**
 * The tour: every collective before and after, on small numbers, run and checked.
 */
#ifndef RONDE_CLI_TOUR_H
#define RONDE_CLI_TOUR_H

#include "options.h"

/**
 * Runs the examples of every collective that has an algorithm, with each algorithm that serves
 * them, and prints what
 * every rank holds before and after. *out_wrong counts runs whose results differ from the
 * example's. Errors: those of
 * compiling and running.
 */
RONDE_MUST_CHECK enum ronde_status ronde_tour(const struct ronde_options *options, FILE *file,
                                              uint32_t *out_wrong, struct ronde_error *error);

#endif
