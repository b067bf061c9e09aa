/**
 * What a person is told besides results: errors, notes, progress, suggestions, and the exit code
 * of a status.
 */
#ifndef RONDE_CLI_REPORT_H
#define RONDE_CLI_REPORT_H

#include "ronde/reporter.h"
#include "ronde/sim.h"

#include <stdbool.h>

/** Exit codes, the same for every command. */
enum ronde_exit {
    RONDE_EXIT_OK = 0,      /**< done */
    RONDE_EXIT_NO = 1,      /**< the answer is no: wrong result, failed proof */
    RONDE_EXIT_USAGE = 2,   /**< bad usage or input */
    RONDE_EXIT_MISSING = 3, /**< a component is missing */
    RONDE_EXIT_FAILED = 4   /**< the run failed: timeout, memory, device */
};

/** The exit code of a status: the only place that maps one to the other. */
int ronde_exit_code(enum ronde_status status);

/** Prints "ronde: message" on stderr and returns the exit code of the error. */
int ronde_report(const struct ronde_error *error);

/** Prints a line on stderr. */
void ronde_note(const char *format, ...) RONDE_FORMAT(1, 2);

/*
 * Progress: one line on stderr, where that is a terminal and stdout no pipe; nothing within the first two seconds. Errors
 * and notes hide it. Children of the process that began it show nothing.
 */

/** Shows nothing from now on: for --json and --csv. */
void ronde_progress_silence(void);

/** Says what is being done, where how much of it is not counted. */
void ronde_progress(const char *format, ...) RONDE_FORMAT(1, 2);

/** Says what is being done, from this share of the whole up to that (0 to 1), and so how long the rest takes. */
void ronde_progress_part(double from, double upto, const char *format, ...) RONDE_FORMAT(3, 4);

/** Takes the line away until it is next written: before anything else is printed. */
void ronde_progress_hide(void);

/** Takes the line away: nothing goes on any more. */
void ronde_progress_end(void);

/** What replays say of how far they are, shown within the part that goes on. */
struct ronde_sim_progress ronde_replay_progress(void);

/** What the libraries say of their progress, shown the same way. */
struct ronde_reporter ronde_progress_reporter(void);

#endif
