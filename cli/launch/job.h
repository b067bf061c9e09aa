/**
 * A team: a command that runs in several processes, each a rank.
 *
 * They are forked here, or started by others (a launcher, several terminals) and meet at a rendezvous.
 */
#ifndef RONDE_CLI_JOB_H
#define RONDE_CLI_JOB_H

#include "cli/options/options.h"

#include "ronde/comm.h"

/** What every process of a team does; returns its exit code. `comm` is the body's to destroy. */
typedef int (*ronde_job_body)(const struct ronde_options *options, struct ronde_comm *comm);

/** Whether the ranks of a backend of that name are processes. */
bool ronde_job_is_wanted(const char *backend);

/**
 * Runs a body in every process of a team: the one that --rank or a launcher says this is, else in -N processes made
 * here. `launcher` (may be NULL) is taken over; without a name it is looked for. Returns the exit code: that of rank 0 here, unless another process did not end well. Prints its errors.
 */
int ronde_job_run(const struct ronde_options *options, struct ronde_launcher *launcher,
                  ronde_job_body body);

/**
 * remote_launch.c: runs this very command on the hosts of --hosts, a share of the ranks on each, and waits for them. Returns the
 * exit code as ronde_job_run does. Prints its errors.
 */
int ronde_remote_launch_run(const struct ronde_options *options);

/** remote_launch.c: where ronde_remote_launch_run has started this process, has it ended (SIGTERM) once that has, or its launcher has. */
void ronde_remote_launch_follow(void);

#endif
