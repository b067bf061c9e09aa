/*
 * ronde demo: the tour, calibration, then ring, tree and double tree predicted and measured; with
 * --operation or --world-size the cheatsheet of collectives and compositions alone. All of it runs in any case; what is
 * not asked for by --verbose is summed up.
 */
#include "cli/demo/compose.h"
#include "cli/demo/examples.h"
#include "cli/draw/brief.h"
#include "cli/draw/chart.h"
#include "cli/draw/plot.h"
#include "cli/draw/screen.h"
#include "cli/options/lab_options.h"
#include "cli/print/calibration_print.h"
#include "cli/print/compare_print.h"
#include "cli/print/report.h"
#include "commands.h"

#include "ronde/sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Ranks the machine file has hosts for. */
#define DEMO_HOSTS 64u

/* Time for a point, ns: half of what validate takes, as a demo is to be short. */
#define DEMO_WINDOW_NS 1e8

/* Crossovers that are listed without --verbose. */
#define BRIEF_CROSSOVERS 10u

/* What the demo holds. */
struct demo {
    const struct ronde_options *options;
    struct ronde_screen screen;
    FILE *nowhere; /* takes what is not asked for */
    char folder[RONDE_PATH_BYTES];
    char machine_path[RONDE_PATH_BYTES + 32];
    char plot_path[RONDE_PATH_BYTES + 32];
    struct ronde_calibration_report report;
    struct ronde_platform *platform;
    struct ronde_comparison comparison;
    struct ronde_options compared; /* as if typed for validate */
};

/*
 * --output, else the build folder the executable lies in, else where the caller stands. The names are the demo's own:
 * machine.xml is what `ronde calibrate -o` is shown with, and half an hour of measuring.
 */
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
    snprintf(demo->machine_path, sizeof demo->machine_path, "%s/demo-machine.xml", demo->folder);
    snprintf(demo->plot_path, sizeof demo->plot_path, "%s/demo-validate.svg", demo->folder);
    return RONDE_OK;
}

static void heading(const struct demo *demo, const char *text)
{
    fputc('\n', demo->screen.file);
    ronde_screen_bold(&demo->screen, true);
    fprintf(demo->screen.file, "== %s", text);
    ronde_screen_bold(&demo->screen, false);
    fputs("\n\n", demo->screen.file);
}

/* Where details go. */
static FILE *details(const struct demo *demo)
{
    return demo->options->verbose ? demo->screen.file : demo->nowhere;
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

/* Opens the backend; one without results has nothing to show. */
static enum ronde_status open_target(const struct ronde_options *options,
                                     struct ronde_target *out_target, struct ronde_error *error)
{
    const enum ronde_status status =
        ronde_target_open(options->backend, options->is_unbound, out_target, error);
    if (status == RONDE_OK && !ronde_target_moves_data(out_target))
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "backend %s moves no data: there is no result to show", options->backend);
    return status;
}

/* By name: a collective, a composition, or everything. */
static enum ronde_status show_operation(struct ronde_show *show, const char *name,
                                        struct ronde_error *error)
{
    const char *names[MAX_OPERATIONS];
    enum ronde_collective collective = RONDE_COLLECTIVE_COUNT;
    const uint32_t count = list_operations(names);
    uint32_t found = 0;
    struct ronde_error no_collective = {0};
    if (ronde_parse_collective(name, &collective, &no_collective) == RONDE_OK)
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
    enum ronde_status status = open_target(options, &target, error);
    if (status == RONDE_OK)
        status = show_operation(&show, operation, error);
    ronde_target_close(&target);
    if (status == RONDE_OK && show.wrong)
        return ronde_fail(error, RONDE_REJECTED, "%u examples came out wrong", show.wrong);
    return status;
}

/* What the first example of a collective says of it. */
static const char *meaning_of(enum ronde_collective collective)
{
    uint32_t count = 0;
    const struct ronde_example *examples = ronde_examples(&count);
    for (uint32_t i = 0; i < count; i++)
        if (examples[i].collective == collective)
            return examples[i].meaning;
    return "";
}

/* All examples of a collective: in full, or as a line. */
static enum ronde_status show_collective(const struct demo *demo, struct ronde_show *show,
                                         enum ronde_collective collective, struct ronde_error *error)
{
    const uint32_t runs = show->runs, wrong = show->wrong;
    const enum ronde_status status = ronde_tour(show, collective, error);
    if (status != RONDE_OK || demo->options->verbose)
        return status;
    fprintf(demo->screen.file, "  %-14s", ronde_collective_text(collective));
    if (show->wrong > wrong)
        fprintf(demo->screen.file, "%3u of %u WRONG", show->wrong - wrong, show->runs - runs);
    else
        fprintf(demo->screen.file, "%3u right", show->runs - runs);
    fprintf(demo->screen.file, "  %.*s\n", (int)demo->screen.columns - 27, meaning_of(collective));
    return RONDE_OK;
}

static enum ronde_status show_tour(const struct demo *demo, struct ronde_error *error)
{
    struct ronde_target target = {0};
    struct ronde_show show = {.target = &target, .file = details(demo)};
    heading(demo,
            "1. every collective by every algorithm on 4 ranks, compared with results by hand");
    enum ronde_status status = open_target(demo->options, &target, error);
    for (uint32_t c = 0; status == RONDE_OK && c < RONDE_COLLECTIVE_COUNT; c++)
        status = show_collective(demo, &show, (enum ronde_collective)c, error);
    ronde_target_close(&target);
    if (status == RONDE_OK && show.wrong)
        return ronde_fail(error, RONDE_REJECTED, "%u examples came out wrong", show.wrong);
    return status;
}

/* The constants that tell most, or all of them. */
static void print_calibration(const struct demo *demo)
{
    const struct ronde_time_params *time = &ronde_platform_facts(demo->platform)->time;
    if (demo->options->verbose) {
        ronde_calibration_print(&demo->report, demo->screen.file);
        ronde_calibration_warn(&demo->report);
        return;
    }
    fprintf(
        demo->screen.file,
        "  %.90s\n  a run starts in %.2f us, a message takes %.0f ns and a core copies %.1f GB/s\n",
        demo->report.machine, time->launch_ns / 1e3,
        time->step_ns + demo->report.calibration.latency_ns, time->copy_GBps);
}

/* The file is written and read back: what follows uses what a user could use. */
static enum ronde_status show_calibration(struct demo *demo, struct ronde_error *error)
{
    heading(demo, "2. this machine, measured point to point");
    const struct ronde_calibrate_options how = ronde_calibrate_options_of(demo->options);
    enum ronde_status status = ronde_calibrate(&how, DEMO_HOSTS, &demo->report, error);
    if (status == RONDE_OK)
        status = ronde_calibration_store(&demo->report, demo->machine_path, error);
    if (status == RONDE_OK)
        status =
            ronde_platform_read(demo->machine_path, ronde_mem_default(), &demo->platform, error);
    if (status == RONDE_OK)
        print_calibration(demo);
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

/* The SVG is a bonus here: without gnuplot the picture of characters is still there. */
static void draw_plot(const struct demo *demo)
{
    struct ronde_error error = {0};
    if (ronde_plot_validation(&demo->comparison.grid, demo->plot_path, &error) == RONDE_OK)
        fprintf(demo->screen.file, "  the same for all numbers of ranks: %s\n", demo->plot_path);
    else
        ronde_screen_wrap(&demo->screen, 2, error.message);
}

/* Measures; rows appear as they are done where they are asked for. */
static enum ronde_status run_comparison(struct demo *demo, struct ronde_error *error)
{
    struct ronde_sink sink = {.file = details(demo)};
    struct ronde_comparison_printer printer = {.sink = &sink};
    struct ronde_compare_options how;
    fill_options(demo);
    enum ronde_status status =
        ronde_compare_options_of(&demo->compared, demo->platform, &how, error);
    if (status != RONDE_OK)
        return status;
    how.window_ns = DEMO_WINDOW_NS;
    status = ronde_comparison_open(&how, &demo->comparison, error);
    if (status == RONDE_OK)
        status = ronde_comparison_show(&demo->comparison, &printer, error);
    if (status == RONDE_OK)
        status = ronde_summary_errors(&demo->comparison.grid, details(demo), error);
    if (status == RONDE_OK && demo->options->verbose)
        fputc('\n', demo->screen.file);
    return status;
}

/* The same code as validate, with its options filled in. */
static enum ronde_status show_comparison(struct demo *demo, struct ronde_error *error)
{
    const struct ronde_validation *grid = &demo->comparison.grid;
    uint32_t shown[RONDE_BRIEF_RANKS];
    heading(demo, "3. all_reduce by ring, tree and double tree: measured, replayed, priced");
    enum ronde_status status = run_comparison(demo, error);
    if (status != RONDE_OK)
        return status;
    const uint32_t count = ronde_brief_ranks(grid, shown);
    ronde_brief_times(grid, shown, count, &demo->screen);
    fputc('\n', demo->screen.file);
    status = ronde_chart_print(grid, shown, count, &demo->screen, error);
    if (status != RONDE_OK)
        return status;
    draw_plot(demo);
    fputc('\n', demo->screen.file);
    ronde_brief_crossovers(grid, demo->options->verbose ? UINT32_MAX : BRIEF_CROSSOVERS,
                           &demo->screen);
    return demo->comparison.wrong
               ? ronde_fail(error, RONDE_REJECTED, "%zu elements differ from host",
                            demo->comparison.wrong)
               : RONDE_OK;
}

/* One paragraph, broken into lines. */
static enum ronde_status print_paragraph(const struct demo *demo, struct ronde_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a paragraph");
    const enum ronde_status status = ronde_paragraph_print(&demo->comparison, memory, error);
    fclose(memory);
    fputc('\n', demo->screen.file);
    if (status == RONDE_OK)
        ronde_screen_wrap(&demo->screen, 2, text);
    free(text);
    return status;
}

/* Commands that work as they stand, where this one was typed. */
static void print_next(const struct demo *demo)
{
    FILE *file = demo->screen.file;
    const char *self = program_invocation_name;
    heading(demo, "5. what to type next");
    if (!demo->options->verbose)
        fprintf(file,
                "  %s demo --verbose\n      all examples, constants, points and errors of this\n",
                self);
    fprintf(file,
            "  %s run all_reduce -N 4 --backend proc\n      four processes, checked and measured\n"
            "  %s plan all_reduce -N 8 --topo %s\n      which algorithm for which size, on this "
            "machine\n"
            "  %s sim all_reduce -a ring -N 1024 -b 1G -e 1G --topo dgx-h100-pod --why\n"
            "      1,024 GPUs that are not here\n",
            self, self, demo->machine_path, self);
}

/* The end: what it was worth, and what else there is. */
static enum ronde_status show_trust(const struct demo *demo, struct ronde_error *error)
{
    const uint32_t cores = ronde_platform_facts(demo->platform)->shared.cores;
    heading(demo, "4. how far to trust this");
    enum ronde_status status =
        ronde_brief_trust(&demo->comparison.grid, cores, ronde_calibration_unsure(&demo->report),
                          &demo->screen, error);
    if (status == RONDE_OK && demo->options->verbose)
        status = print_paragraph(demo, error);
    if (status == RONDE_OK)
        print_next(demo);
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
    struct demo demo = {.options = options, .screen = ronde_screen_of(stdout)};
    const char *missing = NULL;
    if (options->operation || options->world_size)
        return run_cheatsheet(options);
    enum ronde_status status = choose_folder(&demo, &error);
    demo.nowhere = fopen("/dev/null", "w");
    if (status == RONDE_OK && !demo.nowhere)
        status = ronde_fail(&error, RONDE_IO, "/dev/null: cannot be written");
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
        status = show_trust(&demo, &error);
    ronde_comparison_close(&demo.comparison);
    ronde_platform_destroy(demo.platform);
    if (demo.nowhere)
        fclose(demo.nowhere);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}
