/**
 * Every command's results are one thing in three forms: a table shows what CSV and JSON have under the keys named here, and
 * CSV has what JSON has. Tables are 100 characters wide at most.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include "ronde/field.h"
#include "ronde/values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DESCRIBED " --topo A6000-NV-4"
#define STEP RONDE_SCRATCH_DIR "/printer_test.workload"
#define MOST 48u
#define LINE 8192u

/** A command, and the keys of its table's columns with --wide; what varies from run to run behind '?'. */
struct trial {
    const char *arguments;
    const char *keys;
    int code;
    bool wants_all; /**< libxml2, SimGrid */
};

#define SIM_KEYS                                                                                   \
    "bytes count dtype algorithm time_ns algbw_GBps busbw_GBps bound_share channels pieces "       \
    "engine "                                                                                      \
    "busiest_utilisation busiest_link labels"
#define PLAN_KEYS                                                                                  \
    "bytes count dtype algorithm time_ns algbw_GBps busbw_GBps bound_share engine exact messages " \
    "sent_bytes latency_share runner_up runner_up_ns lead options"
#define RUN_KEYS                                                                                   \
    "bytes count dtype op root in_place algorithm protocol ?time_ns ?min_ns ?p95_ns ?algbw_GBps "  \
    "?busbw_GBps wrong labels"

static const struct trial trials[] = {
    {"sim all_reduce -N 16 -b 1K -e 64M -f 64 --topo fat-tree-2to1-64", SIM_KEYS, 0, true},
    {"sim all_reduce -a double_tree -N 16 -b 1M -e 1M --why --topo fat-tree-2to1-64", SIM_KEYS, 0,
     true},
    {"sim --engine price reduce -a chain -N 8 -b 1K -e 1M -f 32 --topo crossbar-64", SIM_KEYS, 0,
     true},
    {"plan broadcast -N 8 -b 1K -e 1M -f 32 --topo fat-tree-2to1-64", PLAN_KEYS, 0, true},
    {"bound all_gather -N 8 -b 1K -e 1M -f 32 --topo crossbar-64",
     "bytes count dtype time_ns algbw_GBps limit", 0, true},
    {"run reduce -N 3 -b 64 -e 256 -f 4 -n 1 -w 0 --backend host", RUN_KEYS, 0, false},
    {"run all_to_all -N 3 -b 64 -e 256 -f 4 -n 1 -w 0 --backend null", RUN_KEYS, 0, false},
    {"check all_reduce --all -N 4,6",
     "ok collective algorithm ranks messages sent_max sent_bound received_max received_bound "
     "critical_path min_depth",
     0, false},
    {"sim all_reduce --style nccl -N 4 -b 1K -e 1G -f 64" DESCRIBED,
     "bytes ranks nodes algorithm protocol time_us algbw_GBps busbw_GBps nccl_us", 0, false},
    {"plan all_reduce --style nccl -N 4 -b 1K -e 1G -f 64" DESCRIBED,
     "bytes ranks nodes nccl_algorithm nccl_protocol nccl_time_us algorithm protocol time_us "
     "slower",
     0, false},
    {"doctor docs/examples/nccl-tests.log --topo H100-cluster01",
     "collective ranks nodes forced_algorithm forced_protocol from_bytes to_bytes busbw_GBps "
     "expected_busbw_GBps time_ratio tolerance is_short",
     1, false},
    {"workload sim " STEP " --topo dgx-h100-pod",
     "groups collective bytes ranks calls algorithm alone_ns mean_ns path_ns", 0, true},
    {"workload sim " STEP " --topo dgx-h100-pod --what-if 2",
     "groups collective bytes ranks calls algorithm alone_ns mean_ns path_ns better saves_ns", 0,
     true},
};

/** Printed by a command run in the repository's root. */
static char *printed(const struct trial *trial, const char *how)
{
    char command[1024];
    snprintf(command, sizeof command, "cd '%s' && '%s' %s %s 2>/dev/null", RONDE_SOURCE_DIR,
             suite_ronde(), trial->arguments, how);
    return said_by(command, trial->code);
}

/** Takes a line off a text; NULL at its end. */
static char *take_line(char **io_text)
{
    char *line = *io_text, *end = strchr(line, '\n');
    if (!end)
        return NULL;
    *end = '\0';
    *io_text = end + 1;
    return line;
}

/** The next line that is no comment. */
static char *take_row(char **io_text)
{
    char *line;
    do
        line = take_line(io_text);
    while (line && line[0] == '#');
    return line;
}

/** Cuts a line of CSV at its commas, in place; quoted texts lose their quotes. */
static uint32_t cut_csv(char *line, char *out[MOST])
{
    uint32_t count = 0;
    for (char *at = line; at && count < MOST; count++) {
        char *to = at;
        bool is_quoted = *at == '"';
        out[count] = to;
        for (at += is_quoted; *at && (is_quoted || *at != ','); at++) {
            if (is_quoted && *at == '"' && *++at != '"') {
                is_quoted = false;
                at--;
                continue;
            }
            *to++ = *at;
        }
        at = *at ? at + 1 : NULL;
        *to = '\0';
    }
    return count;
}

/** Cuts a row of a table at its blanks; the last cell has the rest. */
static bool cut_row(char *line, uint32_t count, char *out[MOST])
{
    for (uint32_t i = 0; i < count; i++) {
        line += strspn(line, " ");
        out[i] = line;
        char *end = i + 1 < count ? strchr(line, ' ') : NULL;
        if (i + 1 < count && !end)
            return false;
        if (end)
            *end = '\0';
        line = end ? end + 1 : line;
    }
    return *out[count - 1] != '\0';
}

/** Whether a cell shows a number: in its unit or a thousandth of it or in percent, to half of its last digit. */
static bool shows_number(const char *cell, double value)
{
    static const double scales[] = {1, 1e-3, 100};
    char *end = NULL;
    double shown = strtod(cell, &end);
    const char *dot = strchr(cell, '.');
    const double unit = dot ? pow(10, -(double)strspn(dot + 1, "0123456789")) : 1;
    if (end == cell)
        return false;
    for (const char *letters = "KMGT"; *end && strchr(letters, *end); letters++) {
        shown *= 1024;
        if (*letters == *end)
            break;
    }
    for (size_t s = 0; s < sizeof scales / sizeof scales[0]; s++)
        if (fabs(shown - value * scales[s]) <= .500001 * unit + 5e-6 * fabs(value * scales[s]))
            return true;
    return false;
}

static bool shows(const char *cell, const char *value)
{
    char *end = NULL;
    const double number = strtod(value, &end);
    if (value[0] == '\0')
        return strcmp(cell, "-") == 0;
    if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
        return strcmp(cell, value[0] == 't' ? "yes" : "no") == 0;
    if (*end == '\0')
        return shows_number(cell, number);
    for (; *cell && (*cell == *value || (*cell == ',' && *value == ';')); cell++)
        value++;
    return *cell == *value;
}

/** A line of CSV under its header. */
struct record {
    char *names[MOST], *values[MOST];
    uint32_t count;
};

static const char *value_of(const struct record *record, const char *key, size_t length)
{
    for (uint32_t i = 0; i < record->count; i++)
        if (strlen(record->names[i]) == length && strncmp(record->names[i], key, length) == 0)
            return record->values[i];
    return NULL;
}

/** A row of the table with all columns beside the same row as CSV. */
static void compare_row(const struct trial *trial, char *row, const struct record *record)
{
    char *cells[MOST];
    uint32_t count = 1, column = 0;
    for (const char *at = trial->keys; *at; at++)
        count += *at == ' ';
    CU_ASSERT_FATAL(cut_row(row, count, cells));
    for (const char *key = trial->keys; column < count; column++) {
        const bool varies = *key == '?';
        key += varies;
        const size_t length = strcspn(key, " ");
        const char *value = value_of(record, key, length);
        const bool is_shown = value && (varies || shows(cells[column], value));
        CU_ASSERT(is_shown);
        if (!is_shown)
            suite_note("%s: %.*s is \"%s\" in the table and \"%s\" in CSV", trial->arguments,
                       (int)length, key, cells[column], value ? value : "not there");
        key += length + (key[length] == ' ');
    }
}

/** One value of CSV beside the same of JSON, which has arrays of texts as arrays and what varies as something else. */
static bool is_same_value(const struct trial *trial, const char *name, const char *value,
                          const struct ronde_field *field)
{
    char *end = NULL, varying[64];
    const double number = strtod(value, &end);
    snprintf(varying, sizeof varying, "?%s", name);
    if (strstr(trial->keys, varying))
        return true;
    switch (field->kind) {
    case RONDE_FIELD_TEXT:
        return strcmp(field->text, value) == 0;
    case RONDE_FIELD_INTEGER:
        return *end == '\0' && number == (double)field->integer;
    case RONDE_FIELD_REAL:
        return *end == '\0' && number == field->real;
    case RONDE_FIELD_BOOLEAN:
        return strcmp(value, field->integer ? "true" : "false") == 0;
    case RONDE_FIELD_NULL:
    case RONDE_FIELD_TEXTS:
    case RONDE_FIELD_NUMBERS:
    case RONDE_FIELD_ROWS:
        break;
    }
    return value[0] == '\0' || strcmp(name, "labels") == 0;
}

/** False for an object of another kind than the CSV has. */
static bool compare_json(const struct trial *trial, const char *line, const struct record *record)
{
    static char texts[LINE];
    struct ronde_field fields[MOST];
    struct ronde_error error = {0};
    for (uint32_t i = 0; i < record->count; i++) {
        char quoted[64];
        snprintf(quoted, sizeof quoted, "\"%s\": ", record->names[i]);
        if (!strstr(line, quoted))
            return false;
        fields[i].name = record->names[i];
    }
    CU_ASSERT_EQUAL_FATAL(ronde_json_read(line, fields, record->count, texts, sizeof texts, &error),
                          RONDE_OK);
    for (uint32_t i = 0; i < record->count; i++) {
        const bool is_same = is_same_value(trial, record->names[i], record->values[i], &fields[i]);
        CU_ASSERT(is_same);
        if (!is_same)
            suite_note("%s: %s is \"%s\" in CSV, not so in %.400s", trial->arguments,
                       record->names[i], record->values[i], line);
    }
    return true;
}

static void compare(const struct trial *trial)
{
    const bool has_json = ronde_json_available(&(const char *){NULL});
    char *texts[] = {printed(trial, "--wide"), printed(trial, "--csv"),
                     has_json ? printed(trial, "--json") : NULL};
    char *wide = texts[0], *csv = texts[1], *json = texts[2], *row, *line;
    struct record record;
    uint32_t rows = 0;
    char *header = take_line(&csv);
    CU_ASSERT_PTR_NOT_NULL_FATAL(header);
    record.count = cut_csv(header, record.names);
    while ((row = take_row(&wide)) != NULL && (line = take_line(&csv)) != NULL) {
        CU_ASSERT_EQUAL_FATAL(cut_csv(line, record.values), record.count);
        compare_row(trial, row, &record);
        char *object = json ? take_line(&json) : NULL;
        while (object && !compare_json(trial, object, &record))
            object = take_line(&json);
        CU_ASSERT(!has_json || object);
        rows++;
    }
    /* As many rows in the one as in the other. */
    CU_ASSERT(rows > 0 && !row && !take_line(&csv));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        free(texts[i]);
}

/** Leaves out what this build cannot do; makes the step that is replayed. */
static bool is_ready(const struct trial *trial)
{
    if (trial->wants_all && !RONDE_ALL_COMPONENTS)
        return false;
    if (strstr(trial->arguments, STEP))
        said_expect("workload gpt --layers 2 --hidden 512 --tp 8 --dp 4 -o " STEP, 0, "");
    return true;
}

static void tables_csv_and_json_say_the_same(void)
{
    for (size_t t = 0; t < sizeof trials / sizeof trials[0]; t++)
        if (is_ready(&trials[t]))
            compare(&trials[t]);
}

static void tables_are_a_hundred_characters_wide(void)
{
    static const struct trial also[] = {
        {"validate --published ../shared/measurements/nccl-published.csv", "", 0, false},
        {"plan all_reduce -b 1K -e 1G --topo dgx-h100-pod -N 64", "", 0, true},
    };
    for (size_t t = 0; t < sizeof trials / sizeof trials[0] + 2; t += suite_is_sample() ? 3 : 1) {
        const size_t own = sizeof trials / sizeof trials[0];
        const struct trial *trial = t < own ? &trials[t] : &also[t - own];
        if (!is_ready(trial) || (strstr(trial->arguments, "../shared") &&
                                 access(RONDE_SOURCE_DIR "/../shared/measurements", R_OK) != 0))
            continue;
        char *said = printed(trial, ""), *at = said;
        for (char *line = take_row(&at); line; line = take_row(&at)) {
            CU_ASSERT(strlen(line) <= 100);
            if (strlen(line) > 100)
                suite_note("%s: %s", trial->arguments, line);
        }
        free(said);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"tables_csv_and_json_say_the_same", tables_csv_and_json_say_the_same},
        {"tables_are_a_hundred_characters_wide", tables_are_a_hundred_characters_wide},
    };
    return suite_run("printer", cases, sizeof cases / sizeof cases[0]);
}
