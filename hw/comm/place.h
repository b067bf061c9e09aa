/**
 * A meeting place of ranks that only share a machine and a job's name: a file that tells the port of rank 0.
 *
 * It lies in /tmp, belongs to the user, and goes away once everybody has come.
 */
#ifndef RONDE_HW_COMM_PLACE_H
#define RONDE_HW_COMM_PLACE_H

#include "ronde/status.h"

#include <stdbool.h>

/** Tells a job's port; what an earlier job of that name left is replaced. Errors: IO naming the file. */
enum ronde_status ronde_place_tell(const char *token, uint16_t port, struct ronde_error *error);

/** Reads a job's port; false while there is none, or one of another user. */
bool ronde_place_ask(const char *token, uint16_t *out_port);

/** Removes the file. */
void ronde_place_forget(const char *token);

#endif
