/*
 * Known answers of an independent simulator: closed cases row by row, random graphs message by
 * message.
 */
#include "support/suite.h"

#include "messages.h"
#include "ronde/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1e-9

/* A row of the table. */
struct row {
    char platform[64];
    char algorithm[16];
    char extra[256];
    unsigned ranks;
    double bytes;
    double alpha_s;
    double reduce_s;
    double formula_s;
    double simulated_s;
};

/* What a table came to. */
struct tally {
    unsigned rows;
    unsigned certified;
    double worst;
};

static double relative(double value, double expected)
{
    return fabs(value - expected) / fabs(expected);
}

/* Cell i of a table line, trimmed. */
static void cell(const char *line, unsigned index, char *out, size_t bytes)
{
    const char *at = line;
    for (unsigned i = 0; i <= index && at; i++)
        at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL;
    at = at ? at + strspn(at, " ") : "";
    size_t length = strcspn(at, "|\n");
    while (length > 0 && at[length - 1] == ' ')
        length--;
    snprintf(out, bytes, "%.*s", (int)length, at);
}

static double number(const char *line, unsigned index)
{
    char text[64];
    cell(line, index, text, sizeof text);
    return strtod(text, NULL);
}

static bool parse_row(const char *line, struct row *row)
{
    cell(line, 0, row->platform, sizeof row->platform);
    if (line[0] != '|' || !strstr(row->platform, ".xml"))
        return false;
    row->ranks = (unsigned)number(line, 1);
    cell(line, 2, row->algorithm, sizeof row->algorithm);
    row->bytes = number(line, 3);
    row->alpha_s = number(line, 4);
    row->reduce_s = number(line, 5);
    cell(line, 6, row->extra, sizeof row->extra);
    row->formula_s = number(line, 8);
    row->simulated_s = number(line, 9);
    return true;
}

static struct ronde_platform *open_platform(const char *folder, const char *name)
{
    char path[2048];
    struct ronde_platform *platform = NULL;
    struct ronde_error error = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CU_ASSERT_EQUAL(ronde_platform_read(path, ronde_mem_default(), &platform, &error), RONDE_OK);
    if (!platform)
        suite_note("%s", error.message);
    return platform;
}

/* SimGrid gives the known answer; flat does so wherever it certifies itself. */
static void replay_row(const struct ronde_platform *platform, const struct row *row,
                       const struct ronde_dag *dag, struct tally *tally)
{
    struct ronde_sim_result result;
    struct ronde_error error = {0};
    const enum ronde_status flat =
        ronde_sim_flat(platform, dag, NULL, ronde_mem_default(), &result, &error);
    CU_ASSERT(flat == RONDE_OK || flat == RONDE_UNSUPPORTED);
    if (flat == RONDE_OK && result.is_contention_free) {
        tally->certified++;
        CU_ASSERT(relative(result.time_ns * 1e-9, row->formula_s) < TOLERANCE);
    }
    const char *text;
    if (!ronde_sim_simgrid_available(&text))
        return;
    error.status = RONDE_OK;
    CU_ASSERT_EQUAL(ronde_sim_simgrid(platform, dag, NULL, &result, &error), RONDE_OK);
    const double off = relative(result.time_ns * 1e-9, row->simulated_s);
    tally->worst = fmax(tally->worst, off);
    CU_ASSERT(off < TOLERANCE);
    CU_ASSERT(relative(result.time_ns * 1e-9, row->formula_s) < TOLERANCE);
    if (off >= TOLERANCE || error.status != RONDE_OK)
        suite_note("%s %s: %.17g s, expected %.17g %s", row->platform, row->algorithm,
                   result.time_ns * 1e-9, row->simulated_s, error.message);
}

static void check_row(const char *folder, const struct row *row, struct tally *tally)
{
    struct messages messages = {0};
    const struct messages_request request = {row->algorithm,     row->ranks,          row->bytes,
                                             row->alpha_s * 1e9, row->reduce_s * 1e9, row->extra};
    struct ronde_platform *platform = open_platform(folder, row->platform);
    const bool is_known = messages_build(&messages, &request);
    CU_ASSERT(is_known);
    if (platform && is_known) {
        tally->rows++;
        replay_row(platform, row, &messages.dag, tally);
    }
    ronde_platform_destroy(platform);
    messages_free(&messages);
}

static struct tally check_table(const char *path)
{
    struct tally tally = {0, 0, 0};
    char folder[1024];
    char line[1024];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL(file);
    while (file && fgets(line, sizeof line, file)) {
        struct row row;
        if (parse_row(line, &row))
            check_row(folder, &row, &tally);
    }
    if (file)
        fclose(file);
    suite_note("%u rows, %u certified by flat, worst relative difference of simgrid %.1e",
               tally.rows, tally.certified, tally.worst);
    return tally;
}

static void own_rows_come_out(void)
{
    char path[1024];
    if (!suite_can_read_platforms() ||
        !suite_source(path, sizeof path, "tests/data/simgrid/KNOWN.md"))
        return;
    const struct tally tally = check_table(path);
    CU_ASSERT_EQUAL(tally.rows, 19);
    /* Rings, the tree and doubling on ports of their own, and all that stays inside a leaf's share. */
    CU_ASSERT(tally.certified >= 8);
}

static void all_rows_come_out(void)
{
    char path[1024];
    if (!suite_can_read_platforms() || !suite_shared(path, sizeof path, "vectors/simgrid/KNOWN.md"))
        return;
    const struct tally tally = check_table(path);
    CU_ASSERT_EQUAL(tally.rows, 38);
}

/* "id src dst bytes delay_s finish_s preds..." into the graph; *out_finish_s is the expected end. */
static bool parse_message(char *line, struct messages *messages, double *out_finish_s)
{
    unsigned id;
    unsigned src;
    unsigned dst;
    unsigned long long bytes;
    double delay_s;
    int used = 0;
    if (sscanf(line, "%u %u %u %llu %lf %lf%n", &id, &src, &dst, &bytes, &delay_s, out_finish_s,
               &used) != 6)
        return false;
    messages_add(messages, src, dst, (double)bytes, delay_s * 1e9);
    char *rest = line + used;
    for (char *word = strtok(rest, " \n"); word; word = strtok(NULL, " \n"))
        messages_after(messages, (uint32_t)strtoul(word, NULL, 10));
    return true;
}

#define MOST_MESSAGES 1000

static uint32_t load_messages(const char *path, struct messages *messages, double *expected_s)
{
    char line[1024];
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL(file);
    while (file && fgets(line, sizeof line, file) && messages->dag.op_count < MOST_MESSAGES)
        if (line[0] != '#')
            CU_ASSERT(parse_message(line, messages, &expected_s[messages->dag.op_count]));
    if (file)
        fclose(file);
    return messages->dag.op_count;
}

static void replay_vector(const char *vector, const char *platform_path)
{
    static double expected_s[MOST_MESSAGES];
    static double finish_ns[MOST_MESSAGES];
    struct messages messages = {0};
    const uint32_t count = load_messages(vector, &messages, expected_s);
    CU_ASSERT_EQUAL(count, 300);
    struct ronde_platform *platform = NULL;
    struct ronde_error error = {0};
    struct ronde_sim_result result;
    const struct ronde_sim_options options = {.out_finish_ns = finish_ns};
    enum ronde_status status =
        ronde_platform_read(platform_path, ronde_mem_default(), &platform, &error);
    if (status == RONDE_OK)
        status = ronde_sim_simgrid(platform, &messages.dag, &options, &result, &error);
    CU_ASSERT_EQUAL(status, RONDE_OK);
    double worst = 0;
    for (uint32_t i = 0; i < count && status == RONDE_OK; i++)
        worst = fmax(worst, relative(finish_ns[i] * 1e-9, expected_s[i]));
    suite_note("worst of %u messages: %.1e", count, worst);
    CU_ASSERT(worst < TOLERANCE);
    ronde_platform_destroy(platform);
    messages_free(&messages);
}

static void random_vector(const char *vector, const char *platform)
{
    char vector_path[1024];
    char platform_path[1024];
    if (!suite_can_read_platforms())
        return;
    if (!suite_has_simgrid())
        return;
    if (suite_shared(vector_path, sizeof vector_path, vector) &&
        suite_shared(platform_path, sizeof platform_path, platform))
        replay_vector(vector_path, platform_path);
}

static void random_leafspine_message_by_message(void)
{
    random_vector("vectors/simgrid/random-leafspine-16-2to1.txt",
                  "vectors/simgrid/leafspine-16-2to1.xml");
}

static void random_torus_message_by_message(void)
{
    random_vector("vectors/simgrid/random-torus-4x4.txt", "vectors/simgrid/torus-4x4.xml");
}

static void random_rails_message_by_message(void)
{
    random_vector("vectors/simgrid/random-dgx-2x8-rails.txt", "vectors/simgrid/dgx-2x8-rails.xml");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"own_rows_come_out", own_rows_come_out},
        {"all_rows_come_out", all_rows_come_out},
        {"random_leafspine_message_by_message", random_leafspine_message_by_message},
        {"random_torus_message_by_message", random_torus_message_by_message},
        {"random_rails_message_by_message", random_rails_message_by_message},
    };
    return suite_run("known_answers", cases, sizeof cases / sizeof cases[0]);
}
