/**
 * What the verbs of `ronde topo` share.
 */
#ifndef RONDE_CLI_TOPO_H
#define RONDE_CLI_TOPO_H

#include "ronde/import.h"

/** The fabric of a name, as --fabric takes it. Errors: BAD_ARGUMENT naming the nearest one. */
RONDE_MUST_CHECK enum ronde_status
ronde_parse_fabric(const char *text, enum ronde_fabric *out_fabric, struct ronde_error *error);

#endif
