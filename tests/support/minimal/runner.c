#include "support/runner.h"

#include <CUnit/CUnit.h>

#include <setjmp.h>
#include <stdio.h>

/** Counts of the running test, and where a fatal assertion leaves it. */
static struct {
    struct runner_result result;
    jmp_buf leave;
} running;

int CU_assertImplementation(int is_true, unsigned line, const char *condition, const char *file,
                            const char *function, int is_fatal)
{
    (void)function; /* CUnit's signature; its own macros leave it empty as well */
    running.result.asserts++;
    if (is_true)
        return 1;
    running.result.failures++;
    printf("        %s:%u: %s\n", file, line, condition);
    if (is_fatal)
        longjmp(running.leave, 1);
    return 0;
}

struct runner_result runner_run(const char *name, void (*test)(void))
{
    (void)name;
    running.result = (struct runner_result){0, 0};
    if (setjmp(running.leave) == 0)
        test();
    return running.result;
}
