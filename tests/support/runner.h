/**
 * What suite.c needs of a test framework; CUnit's and the built-in one each provide it.
 */
#ifndef RONDE_TESTS_RUNNER_H
#define RONDE_TESTS_RUNNER_H

/** What a test did. */
struct runner_result {
    unsigned asserts;  /**< assertions evaluated */
    unsigned failures; /**< of them false; each has been printed with file and line */
};

/** Runs one test and returns its counts. */
struct runner_result runner_run(const char *name, void (*test)(void));

#endif
