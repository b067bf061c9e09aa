/**
 * What a calibration has found, for people.
 */
#ifndef RONDE_CLI_CALIBRATION_PRINT_H
#define RONDE_CLI_CALIBRATION_PRINT_H

#include "ronde/calibrate.h"

#include <stdio.h>

/** Notes on stderr which constants vary so much that they say little. */
void ronde_calibration_warn(const struct ronde_calibration_report *report);

/** Prints the constants as a table. */
void ronde_calibration_print(const struct ronde_calibration_report *report, FILE *file);

#endif
