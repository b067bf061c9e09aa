/** Declarations of all algorithms, one file each: a row of algorithms.def makes them and the table of registry.c. */
#ifndef RONDE_SCHEDULES_CATALOGUE_H
#define RONDE_SCHEDULES_CATALOGUE_H

#include "ronde/schedules.h"

#define RONDE_ALGORITHM(file) extern const struct ronde_algorithm ronde_algorithm_##file;
#include "algorithms.def"
#undef RONDE_ALGORITHM

#endif
