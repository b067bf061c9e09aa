/*
 * hw/cuda/on-gpu.sh, as far as it can be tested without a GPU: its parts fit the time they have, it is sound bash, and with
 * fake tools it runs what is there to run, whatever fails.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SCRIPT "'" RONDE_SOURCE_DIR "/hw/cuda/on-gpu.sh'"

/* What it may take, s. */
#define LIMIT_S 480u

static void parts_fit_the_time_there_is(void)
{
    static const char *const names[] = {" build: ",       " stream: ",    " bench: ",
                                        " conformance: ", " calibrate: ", " validate: ",
                                        " memcheck: ",    " racecheck: "};
    char *said = said_by("bash " SCRIPT " --dry-run '" RONDE_SCRATCH_DIR "/on-gpu' 64", 0);
    unsigned long sum_s = 0;
    for (const char *line = said; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const unsigned long limit_s = strtoul(line, NULL, 10);
        CU_ASSERT(limit_s > 0 || *line == '\0');
        sum_s += limit_s;
    }
    CU_ASSERT(sum_s > 0 && sum_s <= LIMIT_S);
    suite_note("%lu s at most", sum_s);
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
        CU_ASSERT_PTR_NOT_NULL(strstr(said, names[n]));
    free(said);
}

#define STAGE RONDE_SCRATCH_DIR "/on-gpu-stage"

/*
 * A fake cmake: building a target puts a program in its place, unless PLAY_UNBUILT names it. The programs print their
 * arguments and fail if PLAY_FAILS names them.
 */
static const char play_cmake[] =
    "#!/bin/sh\n"
    "if [ \"$1\" != --build ]; then mkdir -p \"$4/tests\"; exit; fi\n"
    "for target; do :; done\n"
    "[ \"$target\" = \"$PLAY_UNBUILT\" ] && { echo \"no rule for $target\"; exit 2; }\n"
    "case $target in ronde) to=$2/ronde;; *) to=$2/tests/$target;; esac\n"
    "cp \"$(dirname \"$0\")/program\" \"$to\"\n";
static const char play_program[] = "#!/bin/sh\n"
                                   "echo \"$(basename \"$0\") $* $RONDE_TEST_BACKEND\"\n"
                                   "[ \"$(basename \"$0\")\" != \"$PLAY_FAILS\" ]\n";
static const char play_gpu[] = "#!/bin/sh\necho 9.0\n";
static const char play_sanitizer[] = "#!/bin/sh\necho sanitizer; shift 4; exec \"$@\"\n";

static void write_tool(const char *name, const char *text)
{
    char path[1024];
    snprintf(path, sizeof path, STAGE "/bin/%s", name);
    FILE *file = fopen(path, "w");
    CU_ASSERT_FATAL(file != NULL);
    fputs(text, file);
    CU_ASSERT_FATAL(fclose(file) == 0 && chmod(path, 0755) == 0);
}

/* Runs the script with the fake tools, with a setting of theirs; the summary, to be freed. */
static char *play(const char *setting, int code)
{
    char command[2048];
    free(said_by("rm -rf '" STAGE "' && mkdir -p '" STAGE "/bin'", 0));
    write_tool("cmake", play_cmake);
    write_tool("program", play_program);
    write_tool("nvidia-smi", play_gpu);
    write_tool("compute-sanitizer", play_sanitizer);
    snprintf(command, sizeof command,
             "%s PATH='" STAGE "/bin':\"$PATH\" bash " SCRIPT " '" STAGE "/out' 64 2>&1", setting);
    free(said_by(command, code));
    return said_by("cat '" STAGE "/out/summary.txt'", 0);
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
static void expect_status(const char *summary, const char *part, const char *status)
{
    char end[64];
    snprintf(end, sizeof end, "\t%s\n", part);
    const char *line = strstr(summary, end);
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    while (line > summary && line[-1] != '\n')
        line--;
    const size_t length = strcspn(line, "\t");
    CU_ASSERT(length == strlen(status) && strncmp(line, status, length) == 0);
}

/* All but validate: this ronde lists no libxml2. */
static const char *const played[] = {
    "configure", "build", "build-bench", "build-stream", "build-conformance",
    "list",      "local", "stream",      "check",        "lines",
    "slots",     "bench", "conformance", "calibrate",    "memcheck",
    "racecheck"};

#define PLAYED (sizeof played / sizeof played[0])

static void all_parts_run_and_leave_records(void)
{
    static const char *const texts[] = {"cuda_bench 64 \n", "test_conformance_conformance  cuda\n",
                                        "sanitizer\n", "== racecheck: exit 0", "1 records\n"};
    char *summary = play("", 0);
    CU_ASSERT_EQUAL(count_text(summary, "\n"), PLAYED + 1);
    expect_status(summary, "validate", "-");
    for (size_t p = 0; p < PLAYED; p++)
        expect_status(summary, played[p], "0");
    free(summary);
    char *said = said_by("cat '" STAGE "/out/records.jsonl' '" STAGE "/out/parts/'* '" STAGE
                         "/out/log.txt'; test -e '" STAGE "/out/build'",
                         1);
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++)
        CU_ASSERT_PTR_NOT_NULL(strstr(said, texts[t]));
    free(said);
}

static void what_fails_costs_only_itself(void)
{
    char *summary = play("PLAY_FAILS=cuda_bench", 1);
    for (size_t p = 0; p < PLAYED; p++)
        expect_status(summary, played[p], strcmp(played[p], "bench") == 0 ? "1" : "0");
    free(summary);
    summary = play("PLAY_UNBUILT=test_conformance_conformance", 1);
    expect_status(summary, "build-conformance", "2");
    expect_status(summary, "conformance", "127");
    expect_status(summary, "memcheck", "127");
    expect_status(summary, "bench", "0");
    expect_status(summary, "calibrate", "0");
    free(summary);
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

static void a_missing_folder_is_reported(void)
{
    char *said = said_by("bash " SCRIPT " --dry-run 2>&1", 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "usage: hw/cuda/on-gpu.sh [--dry-run] FOLDER [MIB]"));
    free(said);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"parts_fit_the_time_there_is", parts_fit_the_time_there_is},
        {"the_script_is_sound", the_script_is_sound},
        {"all_parts_run_and_leave_records", all_parts_run_and_leave_records},
        {"what_fails_costs_only_itself", what_fails_costs_only_itself},
        {"a_missing_folder_is_reported", a_missing_folder_is_reported},
    };
    return suite_run("script", cases, sizeof cases / sizeof cases[0]);
}
