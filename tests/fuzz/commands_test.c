/**
 * Files of each kind whose structure is changed, given to the command that takes them and to readers that take a folder: an answer, or
 * one message that names the file and the line; no crash, no hang, no flood, and the exit code that fits. RONDE_TEST_SCALE is how many a
 * kind, others each day.
 */
#include "fuzz/target.h"

#include "nccl/plugins/plugin_words.h"
#include "support/buffers.h"
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include "ronde/doctor.h"
#include "ronde/measured.h"
#include "ronde/nccl_bands.h"
#include "ronde/scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GROWTH = 64 << 10, MOST_FILES = 256, MOST_BYTES = 256 << 10 };
enum { MOST_LINES = 40, MOST_MESSAGE_BYTES = 1000, DISTINCT = 64 };

#define FOLDER RONDE_SCRATCH_DIR "/changed"
#define SAID RONDE_SCRATCH_DIR "/changed.said"
#define ANSWER RONDE_SCRATCH_DIR "/changed.answer"

/** A kind of file. */
struct kind {
    const char *name;  /**< that the changed file has */
    const char *files; /**< folder of those that are changed */
    const char *ending;
    const char *arguments; /**< of the command that takes it, in place of %s; NULL: `read` does */
    bool (*read)(const char *path, struct ronde_error *error);
};

static bool read_scenario(const char *path, struct ronde_error *error)
{
    struct ronde_scenario scenario = {.companion_count = 0};
    const enum ronde_status status = ronde_scenario_read(&scenario, path, error);
    ronde_scenario_free(&scenario);
    return status == RONDE_OK;
}

static bool read_constants(const char *path, struct ronde_error *error)
{
    struct ronde_nccl_constants constants;
    (void)path;
    return ronde_nccl_constants_read(FOLDER, &constants, error) == RONDE_OK;
}

static bool read_bands(const char *path, struct ronde_error *error)
{
    struct ronde_nccl_bands bands;
    (void)path;
    return ronde_nccl_bands_read(FOLDER, &bands, error) == RONDE_OK;
}

static bool read_spread(const char *path, struct ronde_error *error)
{
    struct ronde_doctor_spread spread;
    (void)path;
    return ronde_doctor_spread_read(FOLDER, &spread, error) == RONDE_OK;
}

static bool read_measured(const char *path, struct ronde_error *error)
{
    struct ronde_measured *table = NULL;
    const enum ronde_status status = ronde_measured_read(path, ronde_mem_default(), &table, error);
    ronde_measured_destroy(table, ronde_mem_default());
    return status == RONDE_OK;
}

static bool read_tuner(const char *path, struct ronde_error *error)
{
    static struct tuner_table table;
    char reason[TUNER_REASON_BYTES] = "";
    const bool is_read = tuner_table_read(path, 16, 4, &table, reason);
    snprintf(error->message, sizeof error->message, "%s", reason);
    return is_read;
}

#define CONSTANTS "nccl/model/constants"
#define ON " --topo hgx-h200"

static const struct kind kinds[] = {
    {"a.scenario", "tests/data/scenario", "", NULL, read_scenario},
    {"common.txt", CONSTANTS, "common.txt", NULL, read_constants},
    {"hopper.txt", CONSTANTS, "hopper.txt", NULL, read_constants},
    {"bands.txt", CONSTANTS, "bands.txt", NULL, read_bands},
    {"spread.txt", CONSTANTS, "spread.txt", NULL, read_spread},
    {"proc.txt", "predict/tables", ".txt", NULL, read_measured},
    {"a.tuner", "tests/data/tuner", "", NULL, read_tuner},
    {"b.scenario", "tests/data/scenario", "",
     "sim all_reduce -a ring --bytes 1M" ON " --scenario %s", NULL},
    {"machine.txt", "topologies/published", ".txt",
     "sim all_reduce --style nccl -b 1M -e 1M --topo %s", NULL},
    {"platform.xml", "topologies", ".xml", "sim barrier --topo %s", NULL},
    {"nccl.xml", "tests/data/import", ".xml", "topo import %s -o /dev/null --memory-GBps 9", NULL},
    {"hwloc.xml", "tests/data/hwloc", ".xml", "topo import %s -o /dev/null --memory-GBps 9", NULL},
    {"msccl.xml", "tests/data/msccl", ".xml", "check %s", NULL},
    {"mscclpp.json", "tests/data/mscclpp", ".json", "check %s", NULL},
    {"a.ronde", "tests/golden", ".ronde", "check %s", NULL},
    {"a.workload", "tests/data/workload", ".workload", "workload sim %s" ON, NULL},
    {"a.goal", "tests/data/workload", ".goal", "workload sim %s" ON, NULL},
    {"mpi.csv", "tests/data/mpi", ".csv", "calibrate --from-table %s -N 8 -o /dev/null", NULL},
    {"nccl.log", "tests/data/nccl-graph", ".log", "sim all_reduce --bytes 1M" ON " --nccl-log %s",
     NULL},
    {"tests.log", "tests/data/nccl-logs", ".log", "doctor %s --topo H100-cluster01", NULL},
    {"tests.csv", "tests/data/nccl-logs", ".csv", "validate --published %s", NULL},
    {"trace.json", "tests/data/traces/kineto", "", "explain %s", NULL},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

struct paths {
    char path[MOST_FILES][256];
    size_t count;
};

static void keep_path(const char *path, void *context)
{
    struct paths *paths = context;
    struct stat info;
    if (stat(path, &info) == 0 && info.st_size <= MOST_BYTES && paths->count < MOST_FILES &&
        strlen(path) < sizeof paths->path[0])
        strcpy(paths->path[paths->count++], path);
}

/* Files of a folder that is read as a whole are those of the repository, but for the changed one. */
static void link_file(const char *path, void *context)
{
    char to[512];
    (void)context;
    snprintf(to, sizeof to, "%s/%s", FOLDER, strrchr(path, '/') + 1);
    CU_ASSERT(unlink(to) == 0 || errno == ENOENT);
    CU_ASSERT_EQUAL(symlink(path, to), 0);
}

/* Writes a changed copy; false where nothing is changed in the end. */
static bool write_changed(const char *from, const char *to, uint64_t seed)
{
    static unsigned char data[MOST_BYTES + GROWTH], before[MOST_BYTES];
    FILE *file = fopen(from, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    const size_t bytes = fread(before, 1, sizeof before, file);
    fclose(file);
    memcpy(data, before, bytes);
    const size_t now = fuzz_mutate_structure(data, bytes, bytes + GROWTH, seed);
    (void)unlink(to);
    file = fopen(to, "wb");
    CU_ASSERT_FATAL(file && fwrite(data, 1, now, file) == now && fclose(file) == 0);
    return now != bytes || memcmp(data, before, bytes) != 0;
}

/* Where a message names the changed file, and whether a line of it, too. */
static bool names_file(const char *message, const char *name, bool *out_line)
{
    const char *at = strstr(message, name);
    *out_line =
        at && at[strlen(name)] == ':' && at[strlen(name) + 1] >= '0' && at[strlen(name) + 1] <= '9';
    return at != NULL;
}

/** What became of the files of a kind. */
struct tally {
    unsigned tries, answers, refused, lineless, wrong;
    char seen[DISTINCT][96];
    unsigned seen_count;
};

static void complain(struct tally *tally, const struct kind *kind, const char *from, uint64_t seed,
                     const char *what)
{
    if (++tally->wrong <= 5)
        suite_note("%s of %s, seed %llu: %.300s", kind->name, from, (unsigned long long)seed, what);
}

/* Messages about the file as a whole are few: each is shown once in a campaign. */
static void note_lineless(struct tally *tally, const struct kind *kind, const char *message)
{
    const char *text = strstr(message, kind->name);
    char start[96];
    snprintf(start, sizeof start, "%.40s", text ? text : message);
    tally->lineless++;
    for (unsigned i = 0; i < tally->seen_count; i++)
        if (strcmp(tally->seen[i], start) == 0)
            return;
    if (tally->seen_count == DISTINCT)
        return;
    strcpy(tally->seen[tally->seen_count++], start);
    if (suite_number("RONDE_TEST_SCALE", 0) >= 100)
        suite_note("%s, no line: %.160s", kind->name, text ? text : message);
}

/* A refusal is one line that names the file. */
static void judge_message(struct tally *tally, const struct kind *kind, const char *from,
                          uint64_t seed, const char *message)
{
    bool has_line = false;
    const char *end = strchr(message, '\n');
    tally->refused++;
    /* Of a machine with one GPU nothing is wrong; what is asked for needs two. */
    if (strstr(message, "at least 2 ranks"))
        return;
    if ((end && end[1] != '\0') || message[0] == '\0' || strlen(message) > MOST_MESSAGE_BYTES ||
        !names_file(message, kind->name, &has_line))
        complain(tally, kind, from, seed, message[0] ? message : "refused without a word");
    else if (!has_line)
        note_lineless(tally, kind, message);
}

static unsigned count_lines(const char *text)
{
    unsigned lines = 0;
    for (; (text = strchr(text, '\n')); text++)
        lines++;
    return lines;
}

/* A command; 124 and 137 are timeout's, above 128 is a signal's. */
static void try_command(struct tally *tally, const struct kind *kind, const char *from,
                        const char *path, uint64_t seed)
{
    char arguments[512], command[1024], what[64];
    snprintf(arguments, sizeof arguments, kind->arguments, path);
    snprintf(command, sizeof command, "timeout 60 %s %s >" ANSWER " 2>" SAID " </dev/null",
             suite_ronde(), arguments);
    const int ended = system(command);
    const int code = WIFEXITED(ended) ? WEXITSTATUS(ended) : 255;
    char *said = files_read(SAID);
    struct stat answer = {.st_size = 0};
    CU_ASSERT_FATAL(said && stat(ANSWER, &answer) == 0);
    snprintf(what, sizeof what, "exit code %d, %lld bytes, %u lines said", code,
             (long long)answer.st_size, count_lines(said));
    if (code > 3 || count_lines(said) > MOST_LINES || answer.st_size > 1 << 20)
        complain(tally, kind, from, seed, what);
    else if (code == 3)
        tally->refused++; /* a component is missing */
    else if (code == 2)
        judge_message(tally, kind, from, seed, said);
    else
        tally->answers++;
    free(said);
}

static void try_reader(struct tally *tally, const struct kind *kind, const char *from,
                       const char *path, uint64_t seed)
{
    struct ronde_error error = {0};
    if (kind->read(path, &error))
        tally->answers++;
    else
        judge_message(tally, kind, from, seed, error.message);
}

static void try_kind(const struct kind *kind, uint64_t tries, uint64_t random)
{
    static struct paths paths;
    static struct tally tally;
    char path[512];
    paths.count = 0;
    tally = (struct tally){0};
    CU_ASSERT_FATAL(files_walk(kind->files, kind->ending, keep_path, &paths) > 0);
    snprintf(path, sizeof path, "%s/%s", FOLDER, kind->name);
    if (strcmp(kind->files, CONSTANTS) == 0)
        (void)files_walk(CONSTANTS, ".txt", link_file, NULL);
    for (; tally.tries < tries; tally.tries++) {
        const char *from = paths.path[buffers_draw(&random) % paths.count];
        const uint64_t seed = buffers_draw(&random);
        if (!write_changed(from, path, seed))
            continue;
        (kind->arguments ? try_command : try_reader)(&tally, kind, strrchr(from, '/') + 1, path,
                                                     seed);
    }
    suite_note("%s: %u changed, %u answers, %u refused, %u of these without a line, %u wrong",
               kind->name, tally.tries, tally.answers, tally.refused, tally.lineless, tally.wrong);
    CU_ASSERT_EQUAL(tally.wrong, 0);
}

static void try_all(bool has_command, uint64_t usual)
{
    const uint64_t seed = suite_seed(), tries = suite_number("RONDE_TEST_SCALE", usual);
    const char *only = getenv("RONDE_TEST_KIND");
    CU_ASSERT(mkdir(FOLDER, 0777) == 0 || errno == EEXIST);
    for (size_t k = 0; k < KINDS; k++)
        if ((kinds[k].arguments != NULL) == has_command &&
            (!only || strcmp(only, kinds[k].name) == 0))
            try_kind(&kinds[k], tries, seed + k);
}

static void readers_answer_or_name_file_and_line(void)
{
    try_all(false, 100);
}

static void commands_answer_or_name_file_and_line(void)
{
    if (!suite_can_read_platforms())
        return;
    try_all(true, strlen(RONDE_SANITIZE) > 0 ? 1 : 3);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(readers_answer_or_name_file_and_line),
        SUITE_CASE(commands_answer_or_name_file_and_line),
    };
    return suite_run("commands", cases, sizeof cases / sizeof cases[0]);
}
