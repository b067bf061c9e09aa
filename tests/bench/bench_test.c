/*
 * The bench beside other libraries, as far as no clock is needed: command lines, the kernels of the limits, contenders
 * that answer, and the table of canned records.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BENCH RONDE_SOURCE_DIR "/bench"
#define DATA RONDE_SOURCE_DIR "/tests/data/bench"

/* Reads the canned records into one of its forms. */
#define READ_PEERS(form)                                                                           \
    "awk -v form=" form " -f '" BENCH "/record.awk' -f '" BENCH "/peers.awk' '" DATA               \
    "/targets.txt' '" DATA "/records.jsonl'"

/* Runs a command, expects an exit status and, in all it says, a part. */
static void expect(const char *command, int code, const char *part)
{
    char line[4096];
    char *said = NULL;
    snprintf(line, sizeof line, "{ %s; } 2>&1", command);
    const int got = files_command(line, &said);
    CU_ASSERT_EQUAL(got, code);
    CU_ASSERT_PTR_NOT_NULL(said);
    CU_ASSERT(said && strstr(said, part) != NULL);
    if (got != code || !said || !strstr(said, part))
        suite_note("%s\nexit %d: %s", command, got, said ? said : "");
    free(said);
}

static bool has_shell(void)
{
    if (system("command -v bash awk >/dev/null 2>&1") == 0)
        return true;
    suite_skip("no bash or no awk here (apt: bash, mawk)");
    return false;
}

static void command_lines_are_refused_before_anything_runs(void)
{
    static const char *const refused[][2] = {
        {"", "BUILD and FOLDER are needed"},
        {"a b c", "what is c for?"},
        {"a b --rank 2", "unknown option --rank"},
        {"a b --ranks", "--ranks needs a value"},
        {"a b --ranks 1", "--ranks: 1 is not one of"},
        {"a b --ranks 2,65", "--ranks: 65 is not one of"},
        {"a b --sizes 8,0", "--sizes: 0 is not one of"},
        {"a b --sizes 1Q", "--sizes: 1Q is not one of"},
        {"a b --collectives reduce", "--collectives: reduce is not one of"},
        {"a b --with cpu,nccl", "--with: nccl is not one of"},
        {"a b --rounds 0", "--rounds: 0 is not one of"},
        {"/nowhere /nowhere", "/nowhere/bench/bench_ronde is not there"},
    };
    char command[1024];
    if (!has_shell())
        return;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        snprintf(command, sizeof command, "'" BENCH "/peers.sh' %s", refused[i][0]);
        expect(command, 2, refused[i][1]);
    }
    expect("'" BENCH "/peers.sh' --help", 0, "--quick");
    expect("'" BENCH "/peers-table.sh' /nowhere", 2, "there is no /nowhere/records.jsonl");
}

static void kernels_of_the_limits_are_right_at_all_lengths(void)
{
    const char *const flags = RONDE_SANITIZE[0] ? "-O1 -fsanitize=" RONDE_SANITIZE : "-O2";
    char command[4096];
    snprintf(command, sizeof command,
             "cd '" BENCH "/peers' && '" RONDE_CC "' -std=c11 %s -pthread limit.c contender.c "
             "-o '" RONDE_SCRATCH_DIR "/limit' && '" RONDE_SCRATCH_DIR "/limit' check",
             flags);
    if (system("command -v '" RONDE_CC "' >/dev/null 2>&1") != 0) {
        suite_skip("the compiler of this build is gone");
        return;
    }
    expect(command, 0, "0 of ");
}

static void canned_records_become_the_table(void)
{
    char *made = NULL;
    if (!has_shell())
        return;
    CU_ASSERT_EQUAL(files_command(READ_PEERS("table"), &made), 0);
    char *expected = files_read(DATA "/table.txt");
    CU_ASSERT_PTR_NOT_NULL(expected);
    CU_ASSERT(made && expected && strcmp(made, expected) == 0);
    if (!made || !expected || strcmp(made, expected) != 0)
        suite_note("%s", made ? made : "nothing");
    free(expected);
    free(made);
}

static void canned_records_become_a_picture(void)
{
    if (!has_shell())
        return;
    expect(READ_PEERS("plot"), 0, "set title 'all_gather, 4 ranks'");
    if (system("command -v gnuplot >/dev/null 2>&1") != 0)
        return;
    expect(READ_PEERS("plot") " | gnuplot", 0, "</svg>");
}

/* A shell, and all that ronde's own contenders are built from; else the test has been skipped. */
static bool has_contenders(void)
{
    if (!has_shell())
        return false;
    if (!RONDE_ALL_COMPONENTS)
        suite_skip("built without some component: not all of ronde's contenders are here");
    return RONDE_ALL_COMPONENTS;
}

static void contenders_answer_with_right_results(void)
{
    const char *const folder = RONDE_SCRATCH_DIR "/bench";
    char command[2048];
    if (!has_contenders())
        return;
    snprintf(command, sizeof command,
             "'" BENCH "/peers.sh' '" RONDE_BUILD_DIR "' '%s' --with cpu,proc,limit --ranks 2,3 "
             "--sizes 8,4K --rounds 2",
             folder);
    expect(command, 0, "# all_gather, 3 ranks, float32, out of place");
    /* 3 collectives, 2 sizes, 2 numbers of ranks, 2 rounds, 3 contenders, nothing wrong. */
    snprintf(command, sizeof command, "grep -c '\"wrong\":0,' '%s/records.jsonl'", folder);
    expect(command, 0, "72\n");
    /* Blocks of one element where 8 bytes are not enough for 3 ranks. */
    snprintf(command, sizeof command,
             "grep -c '\"all_gather\".*\"ranks\":3,\"bytes\":12,\"count\":1,' '%s/records.jsonl'",
             folder);
    expect(command, 0, "6\n");
}

static void contenders_meet_before_each_run_where_asked(void)
{
    const char *const folder = RONDE_SCRATCH_DIR "/bench-apart";
    char command[2048];
    if (!has_contenders())
        return;
    snprintf(command, sizeof command,
             "'" BENCH "/peers.sh' '" RONDE_BUILD_DIR "' '%s' --with cpu,proc,limit --ranks 2 "
             "--sizes 8 --rounds 1 --apart && grep -c '\"wrong\":0,.*\"apart\"' '%s/records.jsonl'",
             folder, folder);
    expect(command, 0, "\n9\n");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"command_lines_are_refused_before_anything_runs",
         command_lines_are_refused_before_anything_runs},
        {"kernels_of_the_limits_are_right_at_all_lengths",
         kernels_of_the_limits_are_right_at_all_lengths},
        {"canned_records_become_the_table", canned_records_become_the_table},
        {"canned_records_become_a_picture", canned_records_become_a_picture},
        {"contenders_answer_with_right_results", contenders_answer_with_right_results},
        {"contenders_meet_before_each_run_where_asked", contenders_meet_before_each_run_where_asked},
    };
    /* No time is looked at: runs as few as there may be show the same. */
    return setenv("RONDE_BENCH_WINDOW_NS", "1e5", 1) == 0
               ? suite_run("bench", cases, sizeof cases / sizeof cases[0])
               : EXIT_FAILURE;
}
