/*
 * ronde demo: the tour, calibration, then ring, tree and double tree predicted and measured; with
 * --operation or --world-size the cheatsheet of collectives and compositions alone.
 */
#define _POSIX_C_SOURCE 200809L

#include "calibrate.h"
#include "commands.h"
#include "compare.h"
#include "compose.h"
#include "plot.h"
#include "report.h"

#include "ronde/sim.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Ranks the machine file has hosts for. */
#define DEMO_HOSTS 64u

/* What the demo holds. */
struct demo {
    const struct ronde_options *options;
    char folder[RONDE_PATH_BYTES];
    char machine_path[RONDE_PATH_BYTES + 16];
    char plot_path[RONDE_PATH_BYTES + 16];
    struct ronde_calibration_report report;
    struct ronde_platform *platform;
    struct ronde_comparison comparison;
    struct ronde_options compared; /* as if typed for validate */
};

/* --output, else the build folder the executable lies in, else where the caller stands. */
static enum ronde_status choose_folder(struct demo *demo, struct ronde_error *error)
{
    const char *wanted = demo->options->output;
    if (!wanted)
        wanted = access("build", W_OK) == 0 ? "build" : ".";
    if (strlen(wanted) >= sizeof demo->folder)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--output: path too long");
    if (mkdir(wanted, 0777) != 0 && errno != EEXIST)
        return ronde_fail(error, RONDE_IO, "%s: cannot be created", wanted);
    snprintf(demo->folder, sizeof demo->folder, "%s", wanted);
    snprintf(demo->machine_path, sizeof demo->machine_path, "%s/machine.xml", demo->folder);
    snprintf(demo->plot_path, sizeof demo->plot_path, "%s/validate.svg", demo->folder);
    return RONDE_OK;
}

static void heading(const char *text)
{
    printf("\n== %s\n\n", text);
}

/* Every composition, or the one of a name. */
static enum ronde_status show_compositions(struct ronde_show *show, const char *only,
                                           struct ronde_error *error)
{
    uint32_t count = 0;
    const struct ronde_composition *all = ronde_compositions(&count);
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; status == RONDE_OK && i < count; i++)
        if (!only || strcmp(only, all[i].name) == 0)
            status = ronde_composition_show(&all[i], show, error);
    return status;
}

/* Most names --operation takes: collectives, compositions, all. */
#define MAX_OPERATIONS 32u

static uint32_t list_operations(const char *names[MAX_OPERATIONS])
{
    uint32_t count = 0, total = 0;
    const struct ronde_composition *all = ronde_compositions(&total);
    for (; count < RONDE_COLLECTIVE_COUNT; count++)
        names[count] = ronde_collective_text((enum ronde_collective)count);
    for (uint32_t i = 0; i < total && count + 1 < MAX_OPERATIONS; i++)
        names[count++] = all[i].name;
    names[count++] = "all";
    return count;
}

/* By name: a collective, a composition, or everything. */
static enum ronde_status show_operation(struct ronde_show *show, const char *name,
                                        struct ronde_error *error)
{
    const char *names[MAX_OPERATIONS];
    enum ronde_collective collective = RONDE_COLLECTIVE_COUNT;
    const uint32_t count = list_operations(names);
    uint32_t found = 0;
    if (ronde_collective_parse(name, &collective))
        return ronde_tour(show, collective, error);
    while (found < count && strcmp(names[found], name) != 0)
        found++;
    if (found == count) {
        const char *nearest = ronde_nearest(name, names, count);
        if (nearest)
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "unknown operation \"%s\"; did you mean %s?", name, nearest);
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "unknown operation \"%s\"; see ronde demo --help", name);
    }
    if (strcmp(name, "all") != 0)
        return show_compositions(show, name, error);
    const enum ronde_status status = ronde_tour(show, RONDE_COLLECTIVE_COUNT, error);
    return status == RONDE_OK ? show_compositions(show, NULL, error) : status;
}

/* A wrong example ends the demo: nothing after it would mean anything. */
static enum ronde_status show_examples(const struct ronde_options *options, const char *operation,
                                       struct ronde_error *error)
{
    struct ronde_target target = {0};
    struct ronde_show show = {.target = &target, .file = stdout, .ranks = options->world_size};
    if (show.ranks > RONDE_TOUR_MAX_RANKS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "world size %u is more than %u; see ronde run",
                          show.ranks, RONDE_TOUR_MAX_RANKS);
    enum ronde_status status =
        ronde_target_open(options->backend, options->is_unbound, &target, error);
    if (status == RONDE_OK)
        status = operation ? show_operation(&show, operation, error)
                           : ronde_tour(&show, RONDE_COLLECTIVE_COUNT, error);
    ronde_target_close(&target);
    if (status == RONDE_OK && show.wrong)
        return ronde_fail(error, RONDE_REJECTED, "%u examples came out wrong", show.wrong);
    return status;
}

static enum ronde_status show_tour(const struct demo *demo, struct ronde_error *error)
{
    heading("1. the tour: what each collective does, run and checked");
    return show_examples(demo->options, NULL, error);
}

/* The file is written and read back: what follows uses what a user could use. */
static enum ronde_status show_calibration(struct demo *demo, struct ronde_error *error)
{
    heading("2. this machine, measured point to point");
    enum ronde_status status = ronde_calibrate(demo->options, DEMO_HOSTS, &demo->report, error);
    if (status == RONDE_OK)
        status = ronde_calibration_store(&demo->report, demo->machine_path, error);
    if (status == RONDE_OK)
        ronde_calibration_print(&demo->report, stdout);
    if (status == RONDE_OK)
        ronde_calibration_warn(&demo->report);
    if (status == RONDE_OK)
        status =
            ronde_platform_read(demo->machine_path, ronde_mem_default(), &demo->platform, error);
    return status;
}

/* The validate command that the third part stands for. */
static void fill_options(struct demo *demo)
{
    static const char *const algorithms[] = {"ring", "tree", "double_tree"};
    static const uint32_t ranks[] = {2, 4, 8};
    struct ronde_options *options = &demo->compared;
    *options = *demo->options;
    options->arguments[0] = "all_reduce";
    options->argument_count = 1;
    memcpy(options->algorithms, algorithms, sizeof algorithms);
    options->algorithm_count = 3;
    memcpy(options->ranks, ranks, sizeof ranks);
    options->rank_counts = 3;
    options->min_bytes = 8;
    options->max_bytes = (uint64_t)64 << 20;
    options->factor = 4;
}

/* A plot is a bonus here: without gnuplot the numbers are still all there. */
static void draw_plot(const struct demo *demo)
{
    struct ronde_error error = {0};
    if (ronde_plot_validation(&demo->comparison.grid, demo->plot_path, &error) != RONDE_OK)
        ronde_note("ronde: note: %s", error.message);
}

/* The same code as validate, with its options filled in. */
static enum ronde_status show_comparison(struct demo *demo, struct ronde_error *error)
{
    struct ronde_sink sink = {.file = stdout};
    heading("3. all_reduce by ring, tree and double tree: measured, replayed, priced");
    fill_options(demo);
    enum ronde_status status =
        ronde_comparison_open(&demo->compared, demo->platform, &demo->comparison, error);
    if (status == RONDE_OK)
        status = ronde_comparison_run(&demo->comparison, &sink, error);
    if (status == RONDE_OK)
        status = ronde_summary_print(&demo->comparison.grid, stdout, error);
    if (status == RONDE_OK)
        draw_plot(demo);
    if (status == RONDE_OK && demo->comparison.wrong)
        status = ronde_fail(error, RONDE_REJECTED, "%zu elements differ from host",
                            demo->comparison.wrong);
    return status;
}

/* The end: what it was worth, and where the files are. */
static enum ronde_status show_paragraph(const struct demo *demo, struct ronde_error *error)
{
    heading("4. how far to trust this");
    const enum ronde_status status = ronde_paragraph_print(&demo->comparison, stdout, error);
    printf("\nmachine file: %s\n", demo->machine_path);
    if (access(demo->plot_path, R_OK) == 0)
        printf("plot:         %s\n", demo->plot_path);
    return status;
}

/* The cheatsheet: no files, no measurements, the same output everywhere. */
static int run_cheatsheet(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    const char *operation = options->operation ? options->operation : "all";
    return show_examples(options, operation, &error) == RONDE_OK ? RONDE_EXIT_OK
                                                                 : ronde_report(&error);
}

int ronde_cmd_demo(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct demo demo = {.options = options};
    const char *missing = NULL;
    if (options->operation || options->world_size)
        return run_cheatsheet(options);
    enum ronde_status status = choose_folder(&demo, &error);
    if (status == RONDE_OK)
        status = show_tour(&demo, &error);
    /* Everything beyond the tour rests on the platform file and its replay. */
    if (status == RONDE_OK && !ronde_topologies_available(&missing))
        status = ronde_fail(&error, RONDE_UNAVAILABLE, "%s", missing);
    if (status == RONDE_OK && !ronde_sim_simgrid_available(&missing))
        status = ronde_fail(&error, RONDE_UNAVAILABLE, "%s", missing);
    if (status == RONDE_OK)
        status = show_calibration(&demo, &error);
    if (status == RONDE_OK)
        status = show_comparison(&demo, &error);
    if (status == RONDE_OK)
        status = show_paragraph(&demo, &error);
    ronde_comparison_close(&demo.comparison);
    ronde_platform_destroy(demo.platform);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}
