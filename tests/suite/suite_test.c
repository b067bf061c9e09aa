/*
 * The frame itself: a failure must fail, a skip must show, and a test that asserts nothing must not pass. The program runs
 * itself with SUITE_DEMO set, in which case it is a suite of such tests.
 */
#include "support/suite.h"

#include "support/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void demo_passes(void)
{
    CU_ASSERT(1 < 2);
    CU_ASSERT_STRING_EQUAL("a", "a");
}

static void demo_fails(void)
{
    CU_ASSERT_EQUAL(1, 2);
    CU_ASSERT_DOUBLE_EQUAL(1.0, 1.5, 0.25);
}

static void demo_leaves(void)
{
    CU_ASSERT_FATAL(1 > 2);
    printf("not reached\n");
}

static void demo_skips(void)
{
    suite_skip("no %s here", "moon");
}

static void demo_asserts_nothing(void)
{
}

static int run_demo(const char *name)
{
    static const struct suite_case cases[] = {
        {"passes", demo_passes},
        {"skips", demo_skips},
        {"fails", demo_fails},
        {"leaves", demo_leaves},
        {"asserts_nothing", demo_asserts_nothing},
    };
    if (strcmp(name, "good") == 0)
        return suite_run("demo", cases, 2);
    if (strcmp(name, "skipped") == 0)
        return suite_run("demo", cases + 1, 1);
    return suite_run("demo", cases, sizeof cases / sizeof cases[0]);
}

/** Runs this program as a demo; *out_text is what it printed. */
static int run_self(const char *demo, char **out_text)
{
    char self[4096];
    char command[8192];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    CU_ASSERT_FATAL(length > 0);
    self[length] = '\0';
    snprintf(command, sizeof command, "RONDE_TEST= SUITE_DEMO=%s '%s'", demo, self);
    const int status = files_command(command, out_text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(*out_text);
    return status;
}

static void failures_fail_and_are_named(void)
{
    char *text;
    CU_ASSERT_EQUAL(run_self("bad", &text), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "FAIL    fails (2 of 2 asserts)\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "FAIL    leaves (1 of 1 asserts)\n"));
    CU_ASSERT_PTR_NULL(strstr(text, "not reached"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "FAIL    asserts_nothing: asserted nothing\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "suite_test.c:"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "suite demo: 4 run, 1 skipped, 3 failed\n"));
    free(text);
}

static void skips_show_their_reason(void)
{
    char *text;
    CU_ASSERT_EQUAL(run_self("good", &text), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "ok      passes (2 asserts)\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "skip    skips: no moon here\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "suite demo: 1 run, 1 skipped, 0 failed\n"));
    free(text);
}

static void all_skipped_is_not_passed(void)
{
    char *text;
    CU_ASSERT_EQUAL(run_self("skipped", &text), SUITE_ALL_SKIPPED);
    free(text);
}

int main(void)
{
    const char *demo = getenv("SUITE_DEMO");
    if (demo)
        return run_demo(demo);
    static const struct suite_case cases[] = {
        {"failures_fail_and_are_named", failures_fail_and_are_named},
        {"skips_show_their_reason", skips_show_their_reason},
        {"all_skipped_is_not_passed", all_skipped_is_not_passed},
    };
    return suite_run("suite", cases, sizeof cases / sizeof cases[0]);
}
