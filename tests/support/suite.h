/**
 * The frame of every test program: a table of named tests, one line per result, visible skips.
 *
 * Asserts are CUnit's CU_ASSERT* macros. Where CUnit is absent, CMake puts tests/support/minimal on the include path,
 * whose <CUnit/CUnit.h> offers the same macros; tests need no distinction.
 */
#ifndef RONDE_TESTS_SUITE_H
#define RONDE_TESTS_SUITE_H

#include <CUnit/CUnit.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** One test. */
struct suite_case {
    const char *name;  /**< what it shows, e.g. "finish_rejects_read_of_unwritten_scratch" */
    void (*run)(void); /**< asserts with CU_ASSERT*; at least one, or suite_skip */
};

/** A test under its function's name. */
#define SUITE_CASE(test)                                                                           \
    {                                                                                              \
        .name = #test, .run = test                                                                 \
    }

/** Exit status of a program all of whose tests were skipped; CTest shows it as skipped, never as passed. */
#define SUITE_ALL_SKIPPED 77

/**
 * Runs all tests in order and prints a line for each, then "suite NAME: R run, S skipped, F failed".
 *
 * A test that neither asserts nor skips has failed: it could not have. Returns what main returns: 0, 1 if a test
 * failed, SUITE_ALL_SKIPPED if none ran. RONDE_TEST=text in the environment runs only tests whose name contains it.
 */
int suite_run(const char *name, const struct suite_case *cases, size_t count);

/** The same where every test needs platform files, SimGrid or threads: each skips visibly in builds without components. */
int suite_run_with_components(const char *name, const struct suite_case *cases, size_t count);

/** The same for a single test: false after a visible skip. */
bool suite_has_components(void);

/** Whether platform files can be read, and whether SimGrid is there: false after a visible skip that names the package. */
bool suite_can_read_platforms(void);
bool suite_has_simgrid(void); /**< likewise */

/** Marks the running test as skipped; the reason is printed and the skip is counted. The test returns after it. */
void suite_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Notes a line under the running test, for figures a reader wants to see (kill rates, sizes). */
void suite_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Path of a file of the repository: "topologies/crossbar.xml". Returns false, failing the test, if it is too long. */
bool suite_source(char *path, size_t bytes, const char *relative);

/**
 * Path of a file beside the repository: "vectors/simgrid/KNOWN.md". Returns false after a visible skip where it is not
 * there, since a plain clone has no shared folder.
 */
bool suite_shared(char *path, size_t bytes, const char *relative);

/** A number from the environment: RONDE_TEST_SCALE, the size of random samples in percent, and the like. */
uint64_t suite_number(const char *variable, uint64_t otherwise);

/**
 * The seed of what is to differ from day to day: RONDE_TEST_SEED, or the date (20261129), noted so that it can be repeated.
 */
uint64_t suite_seed(void);

/**
 * Whether a sample of what is computed will do (RONDE_TEST_SCALE below 100). CMake sets this for tests of the engine's
 * arithmetic in builds that look for something else: sanitizers, to which a large case shows nothing that a small one
 * does not, and builds without components, whose engine is the complete one's.
 */
bool suite_is_sample(void);

/** Path of the `ronde` that was built with the tests. */
const char *suite_ronde(void);

#endif
