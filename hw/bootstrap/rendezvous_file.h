/**
 * The rendezvous file of ranks that only share a machine and a job's name: it holds rank 0's port and a secret.
 *
 * It lies in /tmp, mode 0600, and is removed once all ranks have connected. A job's name is often easy to guess, so it
 * is the file's secret that ranks send as token.
 */
#ifndef RONDE_HW_BOOTSTRAP_RENDEZVOUS_FILE_H
#define RONDE_HW_BOOTSTRAP_RENDEZVOUS_FILE_H

#include "ronde/comm.h"

#include <stdbool.h>

/** Contents of a rendezvous file. */
struct ronde_rendezvous_file {
    uint16_t port;                  /**< of rank 0, at the loopback */
    char secret[RONDE_TOKEN_BYTES]; /**< without white space */
};

/** Writes a job's file; one that an earlier job of that name left is replaced. Errors: IO naming the file. */
enum ronde_status ronde_rendezvous_file_write(const char *job,
                                              const struct ronde_rendezvous_file *file,
                                              struct ronde_error *error);

/** Reads it; false while there is none, or one of another user. */
bool ronde_rendezvous_file_read(const char *job, struct ronde_rendezvous_file *out_file);

/** Removes the file. */
void ronde_rendezvous_file_remove(const char *job);

#endif
