/**
 * The picture of a validation, as the script that gnuplot gets (one that keeps it takes gnuplot's place on the PATH): as many
 * data blocks as curves, numbers that are numbers, all within the axes; and what gnuplot does not draw is an error.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include "cli/draw/gnuplot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_POINTS 512u
#define FOLDER RONDE_SCRATCH_DIR "/plot-bin"
#define SCRIPT RONDE_SCRATCH_DIR "/plot-script"
#define PICTURE RONDE_SCRATCH_DIR "/plot.svg"

static const char *const names[] = {"ring",  "tree",      "direct",     "recursive_doubling",
                                    "torus", "nccl_tree", "double_tree"};
static const uint32_t ranks[] = {2, 4, 8, 64};

/** A grid whose times are a latency and a rate each. */
static struct {
    struct ronde_validation grid;
    struct ronde_grid_point points[MAX_POINTS];
} made;

static void make(uint32_t rank_counts, uint32_t sizes, uint32_t algorithms)
{
    memset(&made, 0, sizeof made);
    made.grid = (struct ronde_validation){.collective = RONDE_ALL_REDUCE,
                                          .algorithms = names,
                                          .algorithm_count = algorithms,
                                          .ranks = ranks,
                                          .rank_counts = rank_counts,
                                          .size_count = sizes,
                                          .points = made.points};
    CU_ASSERT_FATAL(ronde_validation_size(&made.grid) <= MAX_POINTS);
    for (uint32_t r = 0; r < rank_counts; r++)
        for (uint32_t s = 0; s < sizes; s++)
            for (uint32_t a = 0; a < algorithms; a++) {
                struct ronde_grid_point *point = ronde_validation_point(&made.grid, r, s, a);
                const double bytes = (double)((uint64_t)64 << s);
                point->bytes = (uint64_t)64 << s;
                point->time_ns[RONDE_SOURCE_MEASURED] =
                    1e3 * ranks[r] / (a + 1) + bytes * (a + 1) / 10;
                point->time_ns[RONDE_SOURCE_SIMGRID] =
                    point->time_ns[RONDE_SOURCE_MEASURED] * (1 + .1 * a - .1);
                point->measured.median = point->time_ns[RONDE_SOURCE_MEASURED];
            }
}

/** A gnuplot that keeps its script and says `answer`. */
static bool stand_in(const char *answer, int code)
{
    char text[512];
    (void)mkdir(FOLDER, 0700);
    snprintf(text, sizeof text, "#!/bin/sh\n/bin/cat > '%s'\necho '%s'\nexit %d\n", SCRIPT, answer,
             code);
    return files_write(FOLDER "/gnuplot", text) && chmod(FOLDER "/gnuplot", 0700) == 0 &&
           setenv("PATH", FOLDER, 1) == 0;
}

static void remove_stand_in(void)
{
    (void)unlink(FOLDER "/gnuplot");
    (void)rmdir(FOLDER);
    (void)unlink(SCRIPT);
    (void)unlink(PICTURE);
}

/** The script of the grid that was made; free it. */
static char *script_of(void)
{
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_FATAL(stand_in("<svg></svg>", 0));
    CU_ASSERT_EQUAL(ronde_plot_validation(&made.grid, PICTURE, &error), RONDE_OK);
    if (error.status != RONDE_OK)
        suite_note("%s", error.message);
    char *script = files_read(SCRIPT), *picture = files_read(PICTURE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(script);
    CU_ASSERT_PTR_NOT_NULL_FATAL(picture);
    CU_ASSERT_STRING_EQUAL(picture, "<svg></svg>\n");
    free(picture);
    remove_stand_in();
    return script;
}

static uint32_t count_of(const char *text, const char *part)
{
    uint32_t count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        count++;
    return count;
}

/** Every number of a data block lies within the axes that were set before it; returns how many blocks there are. */
static uint32_t check_blocks(const char *script)
{
    double low = 0, high = 0, from = 0, to = 0;
    uint32_t blocks = 0;
    bool is_data = false;
    for (const char *line = script; *line; line += strcspn(line, "\n") + 1) {
        double bytes = 0, height = 0;
        if (sscanf(line, "set yrange [%lf:%lf]", &low, &high) == 2)
            CU_ASSERT(low < high && isfinite(low) && isfinite(high));
        if (sscanf(line, "set xrange [%lf:%lf]", &from, &to) == 2)
            CU_ASSERT(from < to && from > 0);
        if (strncmp(line, "plot ", 5) == 0) {
            is_data = true;
        } else if (strncmp(line, "e\n", 2) == 0) {
            blocks++;
        } else if (is_data && sscanf(line, "%lf %lf", &bytes, &height) == 2) {
            CU_ASSERT(bytes > from && bytes < to && height >= low && height <= high);
        } else {
            is_data = false;
        }
        if (!strchr(line, '\n'))
            break;
    }
    return blocks;
}

static void every_curve_has_its_data(void)
{
    for (uint32_t rank_counts = 1; rank_counts <= 4; rank_counts++)
        for (uint32_t sizes = 1; sizes <= 12; sizes += 11)
            for (uint32_t algorithms = 1; algorithms <= 7; algorithms += 3) {
                make(rank_counts, sizes, algorithms);
                char *script = script_of();
                const uint32_t marks = count_of(script, "'-' with points pt 2");
                CU_ASSERT_EQUAL(count_of(script, "\nplot "), 2 * rank_counts);
                CU_ASSERT_EQUAL(check_blocks(script), count_of(script, "'-' with "));
                CU_ASSERT_EQUAL(count_of(script, "'-' with ") - marks, 3 * algorithms * rank_counts);
                CU_ASSERT(!strstr(script, "nan") && !strstr(script, "inf"));
                CU_ASSERT_PTR_NOT_NULL(strstr(script, "unset multiplot\n"));
                free(script);
            }
}

/* Times of one algorithm, else relative to ring's; each column says its ranks, the replay is named. */
static void axes_say_what_is_drawn(void)
{
    make(3, 8, 1);
    char *script = script_of();
    CU_ASSERT_PTR_NOT_NULL(strstr(script, "set ylabel 'time (us)'"));
    CU_ASSERT_PTR_NOT_NULL(strstr(script, "all_reduce by ring: how far is the replay off"));
    CU_ASSERT_PTR_NOT_NULL(strstr(script, "set terminal svg size 1380,700 "));
    CU_ASSERT_PTR_NOT_NULL(strstr(script, "set title '8 ranks' "));
    free(script);
    make(1, 8, 2);
    made.grid.has_ports = true;
    for (size_t p = 0; p < ronde_validation_size(&made.grid); p++) {
        made.points[p].time_ns[RONDE_SOURCE_PORTS] = 5;
        made.points[p].is_oversubscribed = true;
    }
    script = script_of();
    CU_ASSERT_PTR_NOT_NULL(strstr(script, "set ylabel 'time relative to ring"));
    CU_ASSERT_PTR_NOT_NULL(strstr(script, "simulated (ports)"));
    CU_ASSERT_PTR_NOT_NULL(strstr(script, "set terminal svg size 720,700 "));
    CU_ASSERT_PTR_NOT_NULL(strstr(script, "(more than cores: they take turns)"));
    free(script);
}

/* Where lines cross a bar lies between the sizes, and a size is written on it. */
static void crossovers_are_marked(void)
{
    make(2, 12, 2);
    char *script = script_of();
    CU_ASSERT_EQUAL(count_of(script, "set arrow from "), 2 + 5);
    CU_ASSERT_EQUAL(count_of(script, " boxed\n"), 2);
    CU_ASSERT_EQUAL(count_of(script, "'-' with points pt 2"), 2);
    free(script);
    /* One is always faster: nothing crosses. */
    for (size_t p = 0; p < ronde_validation_size(&made.grid); p++)
        made.points[p].time_ns[RONDE_SOURCE_MEASURED] = p % 2 ? 50 : 100;
    script = script_of();
    CU_ASSERT_EQUAL(count_of(script, " boxed\n"), 0);
    CU_ASSERT_EQUAL(count_of(script, "'-' with points pt 2"), 0);
    free(script);
}

/* What was not measured, or not predicted, leaves a gap; what is far off is drawn at the edge. */
static void gaps_and_outliers_are_drawn(void)
{
    make(1, 10, 3);
    ronde_validation_point(&made.grid, 0, 3, 1)->time_ns[RONDE_SOURCE_MEASURED] = 0;
    ronde_validation_point(&made.grid, 0, 4, 2)->time_ns[RONDE_SOURCE_SIMGRID] = 0;
    ronde_validation_point(&made.grid, 0, 5, 0)->time_ns[RONDE_SOURCE_MEASURED] = 0;
    ronde_validation_point(&made.grid, 0, 6, 1)->time_ns[RONDE_SOURCE_SIMGRID] = 1e15;
    ronde_validation_point(&made.grid, 0, 7, 1)->time_ns[RONDE_SOURCE_MEASURED] = 1e-3;
    char *script = script_of();
    (void)check_blocks(script);
    CU_ASSERT(!strstr(script, "nan") && !strstr(script, "inf"));
    CU_ASSERT_PTR_NOT_NULL(strstr(script, " 16\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(script, " 0.0625\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(script, " 200\n"));
    free(script);
}

/* A gnuplot that fails, or ends well with half a picture; the file that was there stays. */
static void what_is_not_drawn_is_an_error(void)
{
    static const struct {
        const char *answer;
        int code;
        enum ronde_status status;
    } rows[] = {{"<svg></svg>", 0, RONDE_OK},
                {"<svg></svg>", 1, RONDE_DEVICE},
                {"<svg>", 0, RONDE_DEVICE},
                {"", 0, RONDE_DEVICE}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_error error = {.status = RONDE_OK};
        make(1, 4, 2);
        CU_ASSERT_FATAL(stand_in(rows[i].answer, rows[i].code));
        CU_ASSERT_FATAL(files_write(PICTURE, "before"));
        CU_ASSERT_EQUAL(ronde_plot_validation(&made.grid, PICTURE, &error), rows[i].status);
        char *picture = files_read(PICTURE);
        CU_ASSERT_PTR_NOT_NULL_FATAL(picture);
        CU_ASSERT_EQUAL(strcmp(picture, "before") == 0, rows[i].status != RONDE_OK);
        free(picture);
        remove_stand_in();
    }
}

static void without_gnuplot_it_says_so(void)
{
    struct ronde_error error = {.status = RONDE_OK};
    make(1, 4, 2);
    CU_ASSERT_EQUAL(setenv("PATH", "/nowhere::", 1), 0);
    CU_ASSERT_EQUAL(ronde_plot_validation(&made.grid, PICTURE, &error), RONDE_UNAVAILABLE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "gnuplot"));
    CU_ASSERT_NOT_EQUAL(access(PICTURE, F_OK), 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_curve_has_its_data", every_curve_has_its_data},
        {"axes_say_what_is_drawn", axes_say_what_is_drawn},
        {"crossovers_are_marked", crossovers_are_marked},
        {"gaps_and_outliers_are_drawn", gaps_and_outliers_are_drawn},
        {"what_is_not_drawn_is_an_error", what_is_not_drawn_is_an_error},
        {"without_gnuplot_it_says_so", without_gnuplot_it_says_so},
    };
    return suite_run("validation_plot", cases, sizeof cases / sizeof cases[0]);
}
