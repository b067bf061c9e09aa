/**
 * Machines that are drawn: their file, and what an import of it says.
 */
#ifndef RONDE_TESTS_DRAWN_MACHINE_H
#define RONDE_TESTS_DRAWN_MACHINE_H

#include "ronde/import.h"
#include "ronde/topologies.h"

#include <stdbool.h>
#include <stddef.h>

/** A file in memory, which the caller closes, and its path. */
void drawn_file(const char *text, size_t bytes, int *out_file, char path[64]);

/** Rate of a link by name, 0 where there is none. */
double drawn_rate(const struct ronde_platform *platform, const char *name);

/** Whether a remark has the part. */
bool drawn_is_said(const struct ronde_import *import, const char *part);

#endif
