/*
 * hw/cuda/visit.sh, as far as it can be tested without a GPU: its parts fit the time they have, it is sound bash, and with
 * fake tools it runs what is there to run, whatever fails; what hangs is looked at and killed; one file comes back.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SCRIPT "'" RONDE_SOURCE_DIR "/hw/cuda/visit.sh'"

/* What the visits may take, and what takes the place of all but the first parts when one of these fails, s. */
static const unsigned long limits_s[2] = {260, 400};
#define DIAGNOSIS_S 120u

static void parts_fit_the_time_there_is(void)
{
    static const char *const names[2][12] = {
        {" stream: ", " small: ", " abort: ", " lines: ", " pull: ", " floor: ", " torch: ",
         " bench: ", " conformance: ", " memcheck: ", " racecheck: ", " calibrate: "},
        {" stream: ", " small: ", " abort: ", " bench: ", " floor: ", " lines: ", " slots: ",
         " calibrate: ", " validate: ", " conformance: ", " again: ", " profile: "}};
    for (uint32_t visit = 1; visit <= 2; visit++) {
        char command[1024];
        snprintf(command, sizeof command,
                 "bash " SCRIPT " --dry-run %u '" RONDE_SCRATCH_DIR "/tools' '" RONDE_SCRATCH_DIR
                 "/out'",
                 visit);
        char *said = said_by(command, 0);
        unsigned long sums_s[2] = {0, 0};
        for (const char *line = said; line && *line; line = strchr(line, '\n')) {
            line += *line == '\n';
            const unsigned long limit_s = strtoul(line + (*line == '['), NULL, 10);
            CU_ASSERT(limit_s > 0 || *line == '\0');
            sums_s[*line == '['] += limit_s;
        }
        CU_ASSERT(sums_s[0] > 200 && sums_s[0] <= limits_s[visit - 1]);
        CU_ASSERT(sums_s[1] > 0 && sums_s[1] <= DIAGNOSIS_S);
        suite_note("visit %u: %lu s at most", visit, sums_s[0]);
        for (size_t n = 0; n < sizeof names[0] / sizeof names[0][0]; n++)
            CU_ASSERT_PTR_NOT_NULL(strstr(said, names[visit - 1][n]));
        free(said);
    }
}

#define STAGE RONDE_SCRATCH_DIR "/visit-stage"

/*
 * Programs that print their arguments and fail if PLAY_FAILS is in them or names them; PLAY_HANGS likewise never ends. With
 * a limit on time a run fails.
 */
static const char play_program[] =
    "#!/bin/sh\n"
    "all=\"$(basename \"$0\") $* $RONDE_TEST_BACKEND\"\n"
    "echo \"$all\"\n"
    "[ -n \"$PLAY_HANGS\" ] && case $all in *\"$PLAY_HANGS\"*) sleep 100;; esac\n"
    "[ -n \"$PLAY_FAILS\" ] && case $all in *\"$PLAY_FAILS\"*) exit 1;; esac\n"
    "case $all in *0.00001*) echo rank 1 lane 0; exit 5;; *\" list \"*) echo '  libxml2 libxml2';; "
    "esac\n";
static const char play_gpu[] = "#!/bin/sh\necho 9.0\n";
static const char play_wrapper[] = "#!/bin/sh\necho \"tool $*\"\n";

static void write_tool(const char *name, const char *text)
{
    char path[1024];
    snprintf(path, sizeof path, STAGE "/%s", name);
    FILE *file = fopen(path, "w");
    CU_ASSERT_FATAL(file != NULL);
    fputs(text, file);
    CU_ASSERT_FATAL(fclose(file) == 0 && chmod(path, 0755) == 0);
}

/* Runs a visit with the fake tools, with a setting of theirs; what it printed, and its files unpacked. To be freed. */
static char *play(const char *setting, uint32_t visit, int code)
{
    static const char *const programs[] = {"tools/ronde", "tools/cuda_bench", "tools/cuda_stream",
                                           "tools/cuda_floor", "tools/test_conformance_conformance"};
    static const char *const wrappers[] = {"bin/compute-sanitizer", "bin/ncu",
                                           "bin/cuda-gdb",          "bin/nvcc",
                                           "bin/python3",           "bin/dmesg"};
    char command[2048];
    free(said_by("rm -rf '" STAGE "' && mkdir -p '" STAGE "/bin' '" STAGE "/tools' '" STAGE "/in'",
                 0));
    for (size_t p = 0; p < sizeof programs / sizeof programs[0]; p++)
        write_tool(programs[p], play_program);
    for (size_t w = 0; w < sizeof wrappers / sizeof wrappers[0]; w++)
        write_tool(wrappers[w], play_wrapper);
    write_tool("bin/nvidia-smi", play_gpu);
    snprintf(command, sizeof command,
             "%s PATH='" STAGE "/bin':\"$PATH\" bash " SCRIPT " %u '" STAGE "/tools' '" STAGE
             "/out' 64 2>&1",
             setting, visit);
    char *said = said_by(command, code);
    free(said_by("ls '" STAGE "/out'; tar xzf '" STAGE "/out/visit.tgz' -C '" STAGE "/in'", 0));
    return said;
}

static char *summary(void)
{
    return said_by("cat '" STAGE "/in/summary.txt'", 0);
}

static uint32_t count_text(const char *text, const char *part)
{
    uint32_t count = 0;
    while ((text = strstr(text, part)) != NULL) {
        count++;
        text += strlen(part);
    }
    return count;
}

/* Whether the summary's line of a part begins with its exit status; how long it took is not compared. */
static void expect_status(const char *lines, const char *part, const char *status)
{
    char end[64];
    snprintf(end, sizeof end, "\t%s\n", part);
    const char *line = strstr(lines, end);
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    while (line > lines && line[-1] != '\n')
        line--;
    const size_t length = strcspn(line, "\t");
    CU_ASSERT(length == strlen(status) && strncmp(line, status, length) == 0);
}

static void all_parts_run_and_one_file_comes_back(void)
{
    for (uint32_t visit = 1; visit <= 2; visit++) {
        /* On a busy machine limits are no matter of this test. */
        char *said = play("RONDE_PATIENCE=6", visit, 0);
        char *lines = summary();
        CU_ASSERT(strncmp(lines, "0\t", 2) == 0);
        CU_ASSERT_EQUAL(count_text(lines, "\n"), count_text(lines, "\n0\t") + 1);
        CU_ASSERT_PTR_NULL(strstr(lines, "diagnose"));
        expect_status(lines, "abort", "0");
        /* The last lines are the parts, each with the last of what it said. */
        CU_ASSERT_PTR_NOT_NULL(
            strstr(said, " s  conformance      test_conformance_conformance  cuda"));
        free(lines);
        free(said);
        said = said_by("ls '" STAGE "/out'; cat '" STAGE "/in/records.jsonl'", 0);
        CU_ASSERT_STRING_EQUAL(said, "visit.tgz\ncuda_bench 64 \n");
        free(said);
    }
}

static void what_fails_costs_only_itself(void)
{
    free(play("RONDE_PATIENCE=6 PLAY_FAILS=cuda_bench", 1, 1));
    char *lines = summary();
    expect_status(lines, "bench", "1");
    expect_status(lines, "conformance", "0");
    expect_status(lines, "calibrate", "0");
    free(lines);
}

/* Nothing else would work either: the time goes on finding out why. */
static void a_failed_smoke_test_leads_to_diagnosis(void)
{
    free(play("RONDE_PATIENCE=6 PLAY_FAILS=cuda_stream", 1, 1));
    char *lines = summary();
    expect_status(lines, "stream", "1");
    expect_status(lines, "small", "-");
    expect_status(lines, "bench", "-");
    expect_status(lines, "diagnose-one", "0");
    expect_status(lines, "diagnose-memory", "0");
    free(lines);
}

/* What hangs is looked at before it is killed. */
static void what_hangs_is_looked_at(void)
{
    free(play("PLAY_HANGS='-N 2 -b 8 -e 8'", 1, 1));
    char *lines = summary();
    expect_status(lines, "small", "124");
    expect_status(lines, "abort", "-");
    expect_status(lines, "diagnose-driver", "0");
    free(lines);
    char *said = said_by("cat '" STAGE "/in/small.hang.txt'", 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "tool -batch -p "));
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "info cuda kernels"));
    free(said);
}

static void the_script_is_sound(void)
{
    free(said_by("bash -n " SCRIPT " 2>&1", 0));
    char *found = NULL;
    const int has_checker = files_command("command -v shellcheck", &found);
    free(found);
    if (has_checker != 0)
        suite_skip("no shellcheck here (apt: shellcheck)");
    else
        free(said_by("shellcheck " SCRIPT " 2>&1", 0));
}

static void what_is_missing_is_reported(void)
{
    char *said = said_by("bash " SCRIPT " --dry-run 1 2>&1", 1);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(said, "usage: hw/cuda/visit.sh [--dry-run] VISIT TOOLS OUT [MIB]"));
    free(said);
    said = said_by("bash " SCRIPT " --dry-run 3 tools out 2>&1", 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "visit: 3 is neither 1 nor 2"));
    free(said);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"parts_fit_the_time_there_is", parts_fit_the_time_there_is},
        {"the_script_is_sound", the_script_is_sound},
        {"all_parts_run_and_one_file_comes_back", all_parts_run_and_one_file_comes_back},
        {"what_fails_costs_only_itself", what_fails_costs_only_itself},
        {"a_failed_smoke_test_leads_to_diagnosis", a_failed_smoke_test_leads_to_diagnosis},
        {"what_hangs_is_looked_at", what_hangs_is_looked_at},
        {"what_is_missing_is_reported", what_is_missing_is_reported},
    };
    return suite_run("script", cases, sizeof cases / sizeof cases[0]);
}
