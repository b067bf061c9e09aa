/*
 * "How true it is" in the README says what the pages of results say: each number of a row stands on its page, to the digits that the
 * README gives.
 */
#include "support/files.h"
#include "support/suite.h"

#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NUMBERS 3

/** A row of the README and where its numbers come from: as many groups in both, in the same order. */
struct quote {
    const char *row, *page, *source;
};

/** What the page of supercomputers says below a system's head. */
#define SUPERCOMPUTER_ROWS                                                                         \
    ".*\n\n([0-9]+) rows, ([0-9]+) % off in the median, ([0-9]+) % at the 90th percentile"

static const struct quote quotes[] = {
    {"engines-against-simgrid.md\\) \\| ([0-9,]+) \\| median ([0-9e-]+), worst ([0-9.]+) %",
     "docs/results/engines-against-simgrid.md",
     "([0-9]+) replays: median ([0-9e-]+), .*, worst ([0-9.]+) %"},
    {"validation.md\\) \\| ([0-9]+) choices \\| all right", "docs/results/validation.md",
     "of ([0-9]+) winners are right"},
    {"NCCL, ([0-9]+) systems left out.* median ([0-9]+) %, p90 ([0-9]+) %",
     "docs/results/nccl/leave-one-out.txt",
     "Medians over ([0-9]+) systems: median ([0-9.]+)%, p90 ([0-9.]+)%"},
    {"NCCL, ([0-9]+) machines, blind.* \\| ([0-9,]+) \\| median", "docs/results/validation-nccl.md",
     "the model met ([0-9]+) machines .*: ([0-9,]+) rows"},
    {"machines, blind.* median ([0-9]+) %", "docs/results/validation-nccl.md",
     "median error, median over machines \\| ([0-9.]+) %"},
    {"cpu-validate.md\\) \\| ([0-9]+) \\| median ([0-9]+) %, worst ([0-9]+) %",
     "docs/results/cpu-validate.md",
     "cores +all points +([0-9]+) points: median +([0-9.]+)%.* worst +([0-9.]+)%"},
    {"regret.md\\) \\| ([0-9,]+) \\|", "docs/results/regret.md", "Of ([0-9,]+) combinations"},
    {"regret.md\\) .* at worst ([0-9.]+) % slower", "docs/results/regret.md",
     "The worst is ([0-9.]+) %"},
    {"MPI, Fugaku, .* \\| ([0-9]+) \\| median ([0-9]+) %, p90 ([0-9]+) %",
     "docs/results/supercomputers.md", "fugaku: one machine" SUPERCOMPUTER_ROWS},
    {"MPI, Leonardo, .* \\| ([0-9]+) \\| median ([0-9]+) %, p90 ([0-9]+) %",
     "docs/results/supercomputers.md", "leonardo: one machine" SUPERCOMPUTER_ROWS},
};

/** A number as it is written: its value without commas, and half of its last digit. */
struct number {
    double value, half;
};

static struct number number_of(const char *text, regmatch_t at)
{
    char digits[32] = "";
    size_t used = 0;
    for (regoff_t c = at.rm_so; c < at.rm_eo && used + 1 < sizeof digits; c++)
        if (text[c] != ',')
            digits[used++] = text[c];
    const char *point = strchr(digits, '.');
    const double decimals = point ? (double)strlen(point + 1) : 0;
    const double value = strtod(digits, NULL);
    return (struct number){value, strchr(digits, 'e') ? .5 * value : .5 * pow(10, -decimals)};
}

/** The numbers that a pattern finds in a file of the repository; how many. */
static size_t find(const char *path, const char *pattern, struct number *out)
{
    char whole[512];
    char *text = suite_source(whole, sizeof whole, path) ? files_read(whole) : NULL;
    regex_t compiled;
    regmatch_t at[MOST_NUMBERS + 1];
    size_t count = 0;
    CU_ASSERT_FATAL(text != NULL && regcomp(&compiled, pattern, REG_EXTENDED | REG_NEWLINE) == 0);
    if (regexec(&compiled, text, MOST_NUMBERS + 1, at, 0) == 0)
        for (; count < compiled.re_nsub && at[count + 1].rm_so >= 0; count++)
            out[count] = number_of(text, at[count + 1]);
    regfree(&compiled);
    free(text);
    return count;
}

static bool agree(struct number quoted, struct number source)
{
    return fabs(quoted.value - source.value) <= quoted.half * (1 + 1e-9);
}

static void check_quote(const struct quote *quote)
{
    struct number said[MOST_NUMBERS], found[MOST_NUMBERS];
    const size_t count = find("README.md", quote->row, said);
    const size_t sources = find(quote->page, quote->source, found);
    CU_ASSERT(count > 0 && sources == count);
    if (count == 0 || sources != count)
        suite_note("\"%s\": %zu numbers in README.md, %zu in %s", quote->row, count, sources,
                   quote->page);
    for (size_t n = 0; n < count && n < sources; n++) {
        CU_ASSERT(agree(said[n], found[n]));
        if (!agree(said[n], found[n]))
            suite_note("README.md: %g, where %s has %g", said[n].value, quote->page, found[n].value);
    }
}

static void the_readme_says_what_its_pages_say(void)
{
    for (size_t q = 0; q < sizeof quotes / sizeof quotes[0]; q++)
        check_quote(&quotes[q]);
}

static void digits_decide_how_near_is_near(void)
{
    const regmatch_t all = {0, 5};
    CU_ASSERT(agree(number_of("12", (regmatch_t){0, 2}), number_of("11.9 ", all)));
    CU_ASSERT(!agree(number_of("28", (regmatch_t){0, 2}), number_of("26.2 ", all)));
    CU_ASSERT(agree(number_of("3,947", all), number_of("3947", (regmatch_t){0, 4})));
    CU_ASSERT(!agree(number_of("2e-16", all), number_of("5e-02", all)));
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"digits_decide_how_near_is_near", digits_decide_how_near_is_near},
        {"the_readme_says_what_its_pages_say", the_readme_says_what_its_pages_say},
    };
    return suite_run("quotes", cases, sizeof cases / sizeof cases[0]);
}
