/**
 * What a person is told besides results: errors, notes, progress, suggestions, and the exit code
 * of a status.
 */
#ifndef RONDE_CLI_REPORT_H
#define RONDE_CLI_REPORT_H

#include "ronde/reporter.h"

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

/** Shows what is being done, on stderr if it is a terminal; the line is overwritten by the next one. */
void ronde_progress(const char *format, ...) RONDE_FORMAT(1, 2);

/** Erases the progress line. */
void ronde_progress_end(void);

/** What the libraries say of their progress, shown the same way. */
struct ronde_reporter ronde_progress_reporter(void);

#endif
