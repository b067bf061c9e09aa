#include "support/runner.h"

#include <CUnit/CUnit.h>
#include <CUnit/TestDB.h>
#include <CUnit/TestRun.h>

#include <stdio.h>
#include <stdlib.h>

static void print_failures(void)
{
    for (const CU_FailureRecord *record = CU_get_failure_list(); record; record = record->pNext)
        printf("        %s:%u: %s\n", record->strFileName, record->uiLineNumber,
               record->strCondition);
}

/** A framework that cannot run is no reason to pass. */
static void require(int is_true, const char *what)
{
    if (is_true)
        return;
    fprintf(stderr, "cunit: %s: %s\n", what, CU_get_error_msg());
    exit(EXIT_FAILURE);
}

struct runner_result runner_run(const char *name, void (*test)(void))
{
    /* A registry per test: CUnit keeps one result for the whole registry, and tests are counted one by one here. */
    require(CU_initialize_registry() == CUE_SUCCESS, "initialize");
    CU_pSuite suite = CU_add_suite("suite", NULL, NULL);
    require(suite != NULL, "add suite");
    CU_pTest registered = CU_add_test(suite, name, test);
    require(registered != NULL, "add test");
    require(CU_run_test(suite, registered) == CUE_SUCCESS, "run");
    print_failures();
    const struct runner_result result = {CU_get_number_of_asserts(), CU_get_number_of_failures()};
    CU_cleanup_registry();
    return result;
}
