/**
 * The tables of measured times, one file each, written by bench/measured.sh.
 */
#ifndef RONDE_SCHEDULES_MEASURED_TIMES_H
#define RONDE_SCHEDULES_MEASURED_TIMES_H

#include "ronde/measured.h"

/** Ranks as threads of one process. */
extern const struct ronde_measured ronde_measured_cpu;

/** Ranks as processes of one machine. */
extern const struct ronde_measured ronde_measured_proc;

#endif
