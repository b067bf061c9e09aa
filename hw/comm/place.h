/**
 * A meeting place of ranks that only share a machine and a job's name: a file that tells the port of rank 0, and a secret.
 *
 * It lies in /tmp, nobody but the user may read it, and it goes away once everybody has come. A job's name is often easy
 * to guess, so it is the file's secret that ranks show at the port.
 */
#ifndef RONDE_HW_COMM_PLACE_H
#define RONDE_HW_COMM_PLACE_H

#include "ronde/comm.h"

#include <stdbool.h>

/** What a meeting place tells. */
struct ronde_place {
    uint16_t port;                  /**< of rank 0, at the loopback */
    char secret[RONDE_TOKEN_BYTES]; /**< without white space */
};

/** Tells where a job meets; what an earlier job of that name left is replaced. Errors: IO naming the file. */
enum ronde_status ronde_place_tell(const char *job, const struct ronde_place *place,
                                   struct ronde_error *error);

/** Reads it; false while there is none, or one of another user. */
bool ronde_place_ask(const char *job, struct ronde_place *out_place);

/** Removes the file. */
void ronde_place_forget(const char *job);

#endif
