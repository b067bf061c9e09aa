/**
 * The part of CUnit's assertion interface that the tests use, for builds without CUnit. The macros and their meaning
 * are CUnit 2.1's; only those in use are here.
 */
#ifndef RONDE_TESTS_MINIMAL_CUNIT_H
#define RONDE_TESTS_MINIMAL_CUNIT_H

#include <math.h>
#include <string.h>

/** Counts an assertion, prints a false one, and with is_fatal leaves the test. Returns is_true. */
int CU_assertImplementation(int is_true, unsigned line, const char *condition, const char *file,
                            const char *function, int is_fatal);

#define MINIMAL_ASSERT_(value, text, is_fatal)                                                     \
    do {                                                                                           \
        CU_assertImplementation((value), __LINE__, (text), __FILE__, "", (is_fatal));              \
    } while (0)

#define CU_PASS(message) MINIMAL_ASSERT_(1, "CU_PASS(" #message ")", 0)
#define CU_FAIL(message) MINIMAL_ASSERT_(0, "CU_FAIL(" #message ")", 0)
#define CU_FAIL_FATAL(message) MINIMAL_ASSERT_(0, "CU_FAIL_FATAL(" #message ")", 1)
#define CU_ASSERT(value) MINIMAL_ASSERT_(!!(value), #value, 0)
#define CU_ASSERT_FATAL(value) MINIMAL_ASSERT_(!!(value), #value, 1)
#define CU_TEST(value) CU_ASSERT(value)
#define CU_TEST_FATAL(value) CU_ASSERT_FATAL(value)
#define CU_ASSERT_TRUE(value) CU_ASSERT(value)
#define CU_ASSERT_TRUE_FATAL(value) CU_ASSERT_FATAL(value)
#define CU_ASSERT_FALSE(value) MINIMAL_ASSERT_(!(value), "!(" #value ")", 0)
#define CU_ASSERT_FALSE_FATAL(value) MINIMAL_ASSERT_(!(value), "!(" #value ")", 1)
#define CU_ASSERT_EQUAL(actual, expected)                                                          \
    MINIMAL_ASSERT_((actual) == (expected), #actual " == " #expected, 0)
#define CU_ASSERT_EQUAL_FATAL(actual, expected)                                                    \
    MINIMAL_ASSERT_((actual) == (expected), #actual " == " #expected, 1)
#define CU_ASSERT_NOT_EQUAL(actual, expected)                                                      \
    MINIMAL_ASSERT_((actual) != (expected), #actual " != " #expected, 0)
#define CU_ASSERT_NOT_EQUAL_FATAL(actual, expected)                                                \
    MINIMAL_ASSERT_((actual) != (expected), #actual " != " #expected, 1)
#define CU_ASSERT_PTR_EQUAL(actual, expected)                                                      \
    MINIMAL_ASSERT_((const void *)(actual) == (const void *)(expected), #actual " == " #expected, 0)
#define CU_ASSERT_PTR_EQUAL_FATAL(actual, expected)                                                \
    MINIMAL_ASSERT_((const void *)(actual) == (const void *)(expected), #actual " == " #expected, 1)
#define CU_ASSERT_PTR_NOT_EQUAL(actual, expected)                                                  \
    MINIMAL_ASSERT_((const void *)(actual) != (const void *)(expected), #actual " != " #expected, 0)
#define CU_ASSERT_PTR_NULL(value)                                                                  \
    MINIMAL_ASSERT_((const void *)(value) == NULL, #value " == NULL", 0)
#define CU_ASSERT_PTR_NULL_FATAL(value)                                                            \
    MINIMAL_ASSERT_((const void *)(value) == NULL, #value " == NULL", 1)
#define CU_ASSERT_PTR_NOT_NULL(value)                                                              \
    MINIMAL_ASSERT_((const void *)(value) != NULL, #value " != NULL", 0)
#define CU_ASSERT_PTR_NOT_NULL_FATAL(value)                                                        \
    MINIMAL_ASSERT_((const void *)(value) != NULL, #value " != NULL", 1)
#define CU_ASSERT_STRING_EQUAL(actual, expected)                                                   \
    MINIMAL_ASSERT_(strcmp((actual), (expected)) == 0, #actual " is " #expected, 0)
#define CU_ASSERT_STRING_EQUAL_FATAL(actual, expected)                                             \
    MINIMAL_ASSERT_(strcmp((actual), (expected)) == 0, #actual " is " #expected, 1)
#define CU_ASSERT_STRING_NOT_EQUAL(actual, expected)                                               \
    MINIMAL_ASSERT_(strcmp((actual), (expected)) != 0, #actual " is not " #expected, 0)
#define CU_ASSERT_NSTRING_EQUAL(actual, expected, count)                                           \
    MINIMAL_ASSERT_(strncmp((actual), (expected), (count)) == 0, #actual " begins " #expected, 0)
#define CU_ASSERT_DOUBLE_EQUAL(actual, expected, granularity)                                      \
    MINIMAL_ASSERT_(fabs((double)(actual) - (double)(expected)) <= fabs((double)(granularity)),    \
                    #actual " is close to " #expected, 0)
#define CU_ASSERT_DOUBLE_NOT_EQUAL(actual, expected, granularity)                                  \
    MINIMAL_ASSERT_(fabs((double)(actual) - (double)(expected)) > fabs((double)(granularity)),     \
                    #actual " is far from " #expected, 0)

#endif
