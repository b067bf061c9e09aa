/**
 * A plan, printed: a row a size with its winner, by how much it wins and why.
 */
#ifndef RONDE_CLI_PLAN_PRINT_H
#define RONDE_CLI_PLAN_PRINT_H

#include "bound_share.h"
#include "table.h"

#include "ronde/plan.h"

/** Prints a table, and where the winner changes. */
void ronde_plan_print_table(const struct ronde_plan *plan, const struct ronde_bound_share *share,
                            const struct ronde_sink *sink);

/** The same for programs, with the prices of all candidates. Errors: NO_MEMORY; those of ronde_sink_row. */
enum ronde_status ronde_plan_print_rows(const struct ronde_plan *plan,
                                        const struct ronde_bound_share *share,
                                        struct ronde_sink *sink, struct ronde_error *error);

#endif
