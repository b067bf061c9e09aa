/**
 * The text of a schedule, printed.
 */
#ifndef RONDE_CLI_SCHEDULE_TEXT_H
#define RONDE_CLI_SCHEDULE_TEXT_H

#include "ronde/ir.h"

#include <stdio.h>

/** Prints the canonical text; reading it back gives the same schedule. Errors: NO_MEMORY; DEVICE. */
RONDE_MUST_CHECK enum ronde_status ronde_schedule_text_print(const struct ronde_schedule *schedule,
                                                             FILE *file, struct ronde_error *error);

#endif
