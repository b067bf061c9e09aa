/*
 * What the demo prints of a grid: its table, its picture, its crossovers and three sentences, on
 * made-up times.
 */
#define _XOPEN_SOURCE 700

#include "support/suite.h"

#include "cli/draw/brief.h"

#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define SIZES 13u
#define ALGORITHMS 3u
#define RANKS 3u

static const char *const algorithms[ALGORITHMS] = {"ring", "tree", "double_tree"};
static const uint32_t rank_counts[RANKS] = {2, 4, 8};

struct made {
    struct ronde_grid_point points[RANKS * SIZES * ALGORITHMS];
    struct ronde_validation grid;
};

/* Ring and tree meet at 2 KiB, as they are predicted to at `factor` times that; all is predicted 20 % too fast. */
static void make(struct made *made, double factor)
{
    *made = (struct made){.grid = {.collective = RONDE_ALL_REDUCE,
                                   .algorithms = algorithms,
                                   .algorithm_count = ALGORITHMS,
                                   .ranks = rank_counts,
                                   .rank_counts = RANKS,
                                   .size_count = SIZES,
                                   .has_cores = true}};
    made->grid.points = made->points;
    for (uint32_t i = 0; i < RANKS * SIZES * ALGORITHMS; i++) {
        struct ronde_grid_point *point = &made->points[i];
        const uint32_t a = i % ALGORITHMS, r = i / ALGORITHMS / SIZES;
        const double bytes = 8.0 * pow(4.0, i / ALGORITHMS % SIZES);
        const double measured[ALGORITHMS] = {sqrt(bytes * 3000.0), bytes, 5.0 * bytes};
        const double predicted[ALGORITHMS] = {sqrt(bytes * 3000.0 * factor), bytes, 5.0 * bytes};
        point->bytes = (uint64_t)bytes;
        point->is_oversubscribed = r > 0;
        point->measured = (struct ronde_stats){.median = measured[a], .p95 = measured[a]};
        point->time_ns[RONDE_SOURCE_MEASURED] = measured[a];
        point->time_ns[RONDE_SOURCE_CORES] = 0.8 * predicted[a];
    }
}

/* What is printed on a screen of so many columns; the caller frees it. */
static char *print(const struct made *made, uint32_t columns, bool has_colour,
                   void (*part)(const struct ronde_validation *, const struct ronde_screen *))
{
    char *text = NULL;
    size_t bytes = 0;
    const struct ronde_screen screen = {open_memstream(&text, &bytes), columns, has_colour};
    CU_ASSERT_PTR_NOT_NULL_FATAL(screen.file);
    part(&made->grid, &screen);
    fclose(screen.file);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    return text;
}

static void print_times(const struct ronde_validation *grid, const struct ronde_screen *screen)
{
    uint32_t shown[RONDE_BRIEF_RANKS];
    ronde_brief_times(grid, shown, ronde_brief_ranks(grid, shown), screen);
}

static void print_chart(const struct ronde_validation *grid, const struct ronde_screen *screen)
{
    uint32_t shown[RONDE_BRIEF_RANKS];
    const uint32_t count = ronde_brief_ranks(grid, shown);
    CU_ASSERT_EQUAL(ronde_chart_print(grid, shown, count, screen, NULL), RONDE_OK);
}

static void print_crossovers(const struct ronde_validation *grid, const struct ronde_screen *screen)
{
    ronde_brief_crossovers(grid, 2, screen);
}

static void print_trust(const struct ronde_validation *grid, const struct ronde_screen *screen)
{
    CU_ASSERT_EQUAL(ronde_brief_trust(grid, 2, 0, screen, NULL), RONDE_OK);
}

static size_t longest_line(const char *text)
{
    size_t longest = 0;
    for (; *text; text += text[strcspn(text, "\n")] ? strcspn(text, "\n") + 1 : strlen(text))
        longest = strcspn(text, "\n") > longest ? strcspn(text, "\n") : longest;
    return longest;
}

static uint32_t count_of(const char *text, const char *part)
{
    uint32_t count = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part))
        count++;
    return count;
}

static void no_line_is_longer_than_the_screen(void)
{
    static const uint32_t columns[] = {100, 98, 80, 60};
    void (*const parts[])(const struct ronde_validation *,
                          const struct ronde_screen *) = {print_times, print_chart, print_trust};
    struct made made;
    make(&made, 1.0);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++) {
            char *text = print(&made, columns[i], false, parts[p]);
            CU_ASSERT(longest_line(text) <= columns[i]);
            free(text);
        }
}

/* The numbers of ranks that are shown: those with a core each, and the most. */
static void the_table_shows_two_numbers_of_ranks(void)
{
    struct made made;
    make(&made, 1.0);
    char *text = print(&made, 100, false, print_times);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, " 2 ranks "));
    CU_ASSERT_PTR_NULL(strstr(text, " 4 ranks"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, " 8 ranks, more than cores"));
    /* 8 bytes: 0.155 us of ring, 0.008 of tree, which is the fastest and predicted 20 % too fast. */
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "     8    0.15   -20%    0.01*  -20%    0.04   -20% |"));
    CU_ASSERT_EQUAL(count_of(text, "*"), 2 * SIZES + 1);
    free(text);
    for (uint32_t i = 0; i < SIZES * ALGORITHMS; i++)
        made.points[2 * SIZES * ALGORITHMS + i].is_oversubscribed =
            made.points[SIZES * ALGORITHMS + i].is_oversubscribed = false;
    uint32_t shown[RONDE_BRIEF_RANKS];
    CU_ASSERT_EQUAL(ronde_brief_ranks(&made.grid, shown), 2);
    CU_ASSERT_EQUAL(shown[0], 0);
    CU_ASSERT_EQUAL(shown[1], 2);
}

/* What is within 5 % of the fastest is as fast, and errors of ten times and more are only that. */
static void ties_have_no_winner_and_absurd_errors_no_digits(void)
{
    struct made made;
    make(&made, 1.0);
    for (uint32_t i = 0; i < RANKS * SIZES * ALGORITHMS; i++) {
        made.points[i].time_ns[RONDE_SOURCE_MEASURED] = 1000.0 + i % ALGORITHMS;
        made.points[i].time_ns[RONDE_SOURCE_CORES] = 2e7;
    }
    char *text = print(&made, 100, false, print_times);
    CU_ASSERT_EQUAL(count_of(text, "*"), 1);
    CU_ASSERT_EQUAL(count_of(text, ">999%"), 2 * SIZES * ALGORITHMS);
    CU_ASSERT(longest_line(text) <= 100);
    free(text);
}

/* Letters stand above the line where an algorithm is slower than the ring, below it where it is faster. */
static void the_picture_has_a_letter_for_every_measurement(void)
{
    struct made made;
    make(&made, 1.0);
    char *text = print(&made, 100, false, print_chart);
    const char *body = strstr(text, "2 ranks");
    CU_ASSERT_PTR_NOT_NULL_FATAL(body);
    CU_ASSERT_EQUAL(count_of(body, "T"), 2 * SIZES);
    CU_ASSERT_EQUAL(count_of(body, "D"), 2 * SIZES);
    CU_ASSERT_PTR_NULL(strstr(body, "R"));
    /* `tree` is the faster one at 8 B: its letter is not above the line, and is at the left end of it. */
    const char *line = strstr(body, "1.00x ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    const char *above = body;
    for (; above < line; above += strcspn(above, "\n") + 1)
        if (strchr(" 0123456789", *above) && strcspn(above, "\n") > 8)
            CU_ASSERT(above[7] != 'T');
    CU_ASSERT_PTR_NULL(strchr(text, '\033'));
    free(text);
    char *coloured = print(&made, 100, true, print_chart);
    CU_ASSERT_PTR_NOT_NULL(strchr(coloured, '\033'));
    free(coloured);
}

static void crossovers_are_a_table(void)
{
    struct made made;
    make(&made, 1.5);
    char *text = print(&made, 100, false, print_crossovers);
    CU_ASSERT_PTR_NOT_NULL(strstr(
        text,
        "\n      2  tree          ring              2.93K  2K to 8K           4.39K   x1.50\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "  and 4 more\n"));
    CU_ASSERT(longest_line(text) <= 100);
    free(text);
}

/* A busy machine is reported as such, whatever the errors are. */
static void three_sentences_say_what_to_trust(void)
{
    struct made made;
    make(&made, 1.0);
    char *quiet = print(&made, 100, false, print_trust);
    CU_ASSERT_PTR_NOT_NULL(strstr(quiet, "20 % in the median"));
    CU_ASSERT_PTR_NOT_NULL(strstr(quiet, "Trust winners more than times"));
    free(quiet);
    for (uint32_t i = 0; i < 20; i++)
        made.points[i].measured.p95 = 10.0 * made.points[i].measured.median;
    char *busy = print(&made, 100, false, print_trust);
    CU_ASSERT_PTR_NOT_NULL(strstr(busy, "Others used the machine"));
    CU_ASSERT_PTR_NOT_NULL(strstr(busy, "20 of 117 points"));
    CU_ASSERT_PTR_NULL(strstr(busy, "Trust winners"));
    free(busy);
}

/* Columns of a stream: a terminal of so many, 0 = a file; `variable` is COLUMNS, or NULL. */
static uint32_t columns_of(unsigned short terminal, const char *variable)
{
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    const struct winsize size = {.ws_row = 24, .ws_col = terminal};
    CU_ASSERT_FATAL(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    FILE *file = terminal > 0 ? fopen(ptsname(master), "r+") : tmpfile();
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    if (terminal > 0)
        CU_ASSERT_EQUAL(ioctl(fileno(file), TIOCSWINSZ, &size), 0);
    CU_ASSERT_EQUAL(variable ? setenv("COLUMNS", variable, 1) : unsetenv("COLUMNS"), 0);
    const uint32_t columns = ronde_screen_of(file).columns;
    (void)unsetenv("COLUMNS");
    (void)fclose(file);
    (void)close(master);
    return columns;
}

static void the_width_is_the_terminals(void)
{
    CU_ASSERT_EQUAL(columns_of(0, NULL), 100);
    CU_ASSERT_EQUAL(columns_of(80, NULL), 80);
    CU_ASSERT_EQUAL(columns_of(80, "60"), 80);
    CU_ASSERT_EQUAL(columns_of(0, "72"), 72);
    CU_ASSERT_EQUAL(columns_of(0, "wide"), 100);
    CU_ASSERT_EQUAL(columns_of(240, NULL), 100);
    CU_ASSERT_EQUAL(columns_of(3, NULL), 40);
}

static void texts_are_broken_at_blanks(void)
{
    char *text = NULL;
    size_t bytes = 0;
    const struct ronde_screen screen = {open_memstream(&text, &bytes), 12, false};
    CU_ASSERT_PTR_NOT_NULL_FATAL(screen.file);
    ronde_screen_wrap(&screen, 2, " one two three  four averyveryverylongword x\n");
    fclose(screen.file);
    CU_ASSERT_STRING_EQUAL(text, "  one two\n  three four\n  averyveryverylongword\n  x\n");
    free(text);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"no_line_is_longer_than_the_screen", no_line_is_longer_than_the_screen},
        {"the_table_shows_two_numbers_of_ranks", the_table_shows_two_numbers_of_ranks},
        {"ties_have_no_winner_and_absurd_errors_no_digits",
         ties_have_no_winner_and_absurd_errors_no_digits},
        {"the_picture_has_a_letter_for_every_measurement",
         the_picture_has_a_letter_for_every_measurement},
        {"crossovers_are_a_table", crossovers_are_a_table},
        {"three_sentences_say_what_to_trust", three_sentences_say_what_to_trust},
        {"the_width_is_the_terminals", the_width_is_the_terminals},
        {"texts_are_broken_at_blanks", texts_are_broken_at_blanks},
    };
    return suite_run("brief", cases, sizeof cases / sizeof cases[0]);
}
