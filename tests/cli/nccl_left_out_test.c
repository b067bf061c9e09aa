/**
 * What the documents say of systems that are left out of the fit is what the command says: two systems of the training tables, predicted
 * from constants that are fitted to all others (./dev left-out writes all).
 */
#include "support/built_with.h"
#include "support/said.h"
#include "support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRAINING RONDE_SCRATCH_DIR "/nccl_left_out_training.csv"

/** A line of scores. */
struct score {
    unsigned rows;
    double median, p90;
};

/** The line of a system in what the command prints. */
static bool score_of(const char *text, const char *system, struct score *out)
{
    const char *at = strstr(text, system);
    return at &&
           sscanf(at + strlen(system), " %u %lf %lf", &out->rows, &out->median, &out->p90) == 3;
}

static char *documents(void)
{
    char path[4096];
    static char text[16384];
    CU_ASSERT_FATAL(suite_source(path, sizeof path, "docs/results/nccl/leave-one-out.txt"));
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    CU_ASSERT_EQUAL(fclose(file), 0);
    return text;
}

/** Both tables as one. */
static bool join_tables(void)
{
    char first[4096], second[4096], script[4096], command[16384];
    if (!suite_shared(first, sizeof first, "measurements/nccl-published.csv") ||
        !suite_shared(second, sizeof second, "measurements/nccl-published-2.csv"))
        return false;
    CU_ASSERT_FATAL(suite_source(script, sizeof script, "bench/nccl_training.py"));
    snprintf(command, sizeof command, "python3 '%s' '%s' '%s' >" TRAINING, script, first, second);
    CU_ASSERT_EQUAL_FATAL(system(command), 0);
    return true;
}

static void documents_say_what_the_command_says(void)
{
    static const char *const systems[] = {"L40S-PCIe-2", "AWS-p4de-2node"};
    if (!join_tables())
        return;
    for (size_t s = 0; s < sizeof systems / sizeof systems[0]; s++) {
        char arguments[512];
        struct score said = {0}, written = {0};
        snprintf(arguments, sizeof arguments,
                 "validate --published " TRAINING " --system %s --fit leave-one-out 2>/dev/null",
                 systems[s]);
        char *text = said_by_ronde(arguments, 0);
        CU_ASSERT(score_of(text, systems[s], &said));
        CU_ASSERT(score_of(documents(), systems[s], &written));
        CU_ASSERT_EQUAL(said.rows, written.rows);
        /* A fit ends a little elsewhere with another compiler. */
        CU_ASSERT(fabs(said.median - written.median) <= 1 && fabs(said.p90 - written.p90) <= 2);
        suite_note("%s: %.1f and %.1f %%, written %.1f and %.1f", systems[s], said.median, said.p90,
                   written.median, written.p90);
        free(text);
    }
    CU_ASSERT_EQUAL(unlink(TRAINING), 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"documents_say_what_the_command_says", documents_say_what_the_command_says}};
    return suite_run("nccl_left_out", cases, sizeof cases / sizeof cases[0]);
}
