/* The programs of docs/guide/api.md, each by itself and as several ranks: what they print follows from their numbers of ranks. */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 160u

/* Starts a program as so many ranks of this machine and compares all that they print with one line. */
static void expect_line(const char *program, uint32_t ranks, const char *line)
{
    char command[2048];
    char *printed = NULL;
    snprintf(
        command, sizeof command,
        "token=examples-$$; list=; for rank in $(seq 0 %u); do RONDE_RANK=$rank RONDE_RANKS=%u "
        "RONDE_TOKEN=$token '%s/%s' 2>&1 & list=\"$list $!\"; done; "
        "code=0; for one in $list; do wait $one || code=$?; done; exit $code",
        ranks - 1, ranks, RONDE_EXAMPLES_DIR, program);
    const int code = files_command(command, &printed);
    CU_ASSERT_EQUAL(code, 0);
    CU_ASSERT_STRING_EQUAL(printed ? printed : "", line);
    if (code != 0 || !printed || strcmp(printed, line) != 0)
        suite_note("%s on %u ranks exits with %d: %s", program, ranks, code, printed ? printed : "");
    free(printed);
}

/* 1 + 2 + ... + n. */
static uint32_t triangle(uint32_t n)
{
    return n * (n + 1) / 2;
}

static void for_ranks(void (*expect)(uint32_t ranks))
{
    static const uint32_t ranks[] = {1, 2, 5};
    for (size_t k = 0; k < sizeof ranks / sizeof ranks[0]; k++)
        expect(ranks[k]);
}

static void expect_sum(uint32_t ranks)
{
    char line[LINE_BYTES];
    snprintf(line, sizeof line, "ronde " RONDE_VERSION ": %u ranks add up to %u\n", ranks,
             triangle(ranks));
    expect_line("all_reduce", ranks, line);
}

static void numbers_add_up(void)
{
    for_ranks(expect_sum);
}

static void expect_mean(uint32_t ranks)
{
    char line[LINE_BYTES];
    const double mean = 5.0 * (ranks + 1);
    snprintf(line, sizeof line, "%u ranks: %u / %u = %g, avg gives %g\n", ranks,
             10 * triangle(ranks), ranks, mean, mean);
    expect_line("mean", ranks, line);
}

static void a_mean_is_the_same_both_ways(void)
{
    for_ranks(expect_mean);
}

/* By looking at all values in order, which no rank can. */
static void expect_largest(uint32_t ranks)
{
    char line[LINE_BYTES];
    uint32_t owner = 0;
    for (uint32_t rank = 1; rank < ranks; rank++)
        if ((rank * 37 + 5) % 11 > (owner * 37 + 5) % 11)
            owner = rank;
    snprintf(line, sizeof line, "%u ranks: the largest value is %u, of rank %u\n", ranks,
             (owner * 37 + 5) % 11, owner);
    expect_line("argmax", ranks, line);
}

static void the_largest_value_and_its_rank_are_found(void)
{
    for_ranks(expect_largest);
}

/* p_a = 1 / sum over b of exp(x_b - x_a): nothing is taken away, and nothing overflows. */
static double softmax_of(uint32_t ranks, double value)
{
    double sum = 0;
    for (uint32_t rank = 0; rank < ranks; rank++)
        sum += exp(1000.0 + rank - value) + exp(1000.5 + rank - value);
    return 1.0 / sum;
}

static void expect_softmax(uint32_t ranks)
{
    char line[LINE_BYTES];
    snprintf(line, sizeof line, "%u ranks: softmax of rank 0 is %.6f %.6f\n", ranks,
             softmax_of(ranks, 1000.0), softmax_of(ranks, 1000.5));
    expect_line("softmax", ranks, line);
}

static void softmax_is_its_definition(void)
{
    for_ranks(expect_softmax);
}

static void expect_ring(uint32_t ranks)
{
    char line[LINE_BYTES];
    snprintf(line, sizeof line, "%u ranks: sums from %u to %u\n", ranks, triangle(ranks),
             ranks * triangle(ranks));
    expect_line("ring", ranks, line);
}

static void a_ring_adds_up_and_hands_out(void)
{
    for_ranks(expect_ring);
}

static void expect_halves(uint32_t ranks)
{
    char line[LINE_BYTES];
    snprintf(line, sizeof line, "%u ranks: %u to %u, as all_reduce gives them\n", ranks,
             triangle(ranks), ranks * triangle(ranks));
    expect_line("halves", ranks, line);
}

static void two_halves_are_an_all_reduce(void)
{
    for_ranks(expect_halves);
}

static void expect_groups(uint32_t ranks)
{
    char line[LINE_BYTES];
    const uint32_t evens = (ranks + 1) / 2;
    snprintf(line, sizeof line, "%u ranks: even ranks add up to %u, all ranks to %u\n", ranks,
             evens * evens, triangle(ranks));
    expect_line("groups", ranks, line);
}

static void groups_add_up_among_themselves(void)
{
    for_ranks(expect_groups);
}

/* What a reader of the page sees is what is built: each is short, and in the table. */
static void check_page(const char *path, void *context)
{
    const char *page = context;
    const char *name = strrchr(path, '/') + 1;
    char link[LINE_BYTES];
    char *text = files_read(path);
    uint32_t lines = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    if (strstr(text, "#include <ronde/ronde.h>")) {
        for (const char *at = text; *at; at++)
            lines += *at == '\n';
        CU_ASSERT(lines <= 40);
        snprintf(link, sizeof link, "](../examples/%s)", name);
        CU_ASSERT_PTR_NOT_NULL(strstr(page, link));
        if (lines > 40 || !strstr(page, link))
            suite_note("%s: %u lines, or docs/guide/api.md has no link to it", name, lines);
    }
    free(text);
}

static void programs_are_short_and_listed(void)
{
    char path[1024];
    if (!suite_source(path, sizeof path, "docs/guide/api.md"))
        return;
    char *page = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(page);
    CU_ASSERT(files_walk("docs/examples", ".c", check_page, page) >= 7);
    free(page);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"numbers_add_up", numbers_add_up},
        {"a_mean_is_the_same_both_ways", a_mean_is_the_same_both_ways},
        {"the_largest_value_and_its_rank_are_found", the_largest_value_and_its_rank_are_found},
        {"softmax_is_its_definition", softmax_is_its_definition},
        {"a_ring_adds_up_and_hands_out", a_ring_adds_up_and_hands_out},
        {"two_halves_are_an_all_reduce", two_halves_are_an_all_reduce},
        {"groups_add_up_among_themselves", groups_add_up_among_themselves},
        {"programs_are_short_and_listed", programs_are_short_and_listed},
    };
    return suite_run("examples", cases, sizeof cases / sizeof cases[0]);
}
