/*
 * ronde demo: the tour, calibration, then ring, tree and double tree predicted and measured; with
 * --operation or --world-size the cheatsheet of collectives alone. All of it runs in any case; what is
 * not asked for by --verbose is summed up.
 */
#include "cli/demo/tour.h"
#include "cli/draw/brief.h"
#include "cli/draw/gnuplot.h"
#include "cli/draw/screen.h"
#include "cli/html/html.h"
#include "cli/options/option_groups.h"
#include "cli/options/requests.h"
#include "cli/print/results.h"
#include "commands.h"

#include "ronde/data_files.h"
#include "ronde/sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The command's own options. */
struct demo_options {
    const char *operation; /* --operation; NULL = not given */
    uint32_t world_size;   /* --world-size; 0 = not given */
    bool again;            /* --again */
};

static const struct demo_options *own_of(const struct ronde_options *options)
{
    return options->own;
}

/* Ranks the machine file has hosts for. */
#define DEMO_HOSTS 64u

/* Time for a point, ns: a quarter of what validate takes, as a demo is to be short. */
#define DEMO_WINDOW_NS 5e7

/* And of --again, on a machine that others use: they weigh less the longer it takes. */
#define AGAIN_WINDOW_NS 3e8

/* What the demo holds. */
struct demo {
    const struct ronde_options *options;
    struct ronde_screen screen;
    FILE *nowhere; /* takes what is not asked for */
    char folder[RONDE_PATH_BYTES];
    char machine_path[RONDE_PATH_BYTES + 32];
    char plot_path[RONDE_PATH_BYTES + 32];
    char page_path[RONDE_PATH_BYTES + 32];
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
    const char *wanted = demo->options->output.path;
    if (!wanted)
        wanted = access("build", W_OK) == 0 ? "build" : ".";
    if (strlen(wanted) >= sizeof demo->folder)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--output: path too long");
    if (mkdir(wanted, 0777) != 0 && errno != EEXIST)
        return ronde_fail(error, RONDE_IO, "%s: cannot be created", wanted);
    snprintf(demo->folder, sizeof demo->folder, "%s", wanted);
    snprintf(demo->machine_path, sizeof demo->machine_path, "%s/demo-machine.xml", demo->folder);
    snprintf(demo->plot_path, sizeof demo->plot_path, "%s/demo-validate.svg", demo->folder);
    snprintf(demo->page_path, sizeof demo->page_path, "%s/demo.html", demo->folder);
    return RONDE_OK;
}

/* In full each part has a head; in short it is a paragraph. */
static void heading(const struct demo *demo, const char *text)
{
    if (!demo->options->output.verbose)
        return;
    fputc('\n', demo->screen.file);
    ronde_screen_bold(&demo->screen, true);
    fprintf(demo->screen.file, "== %s", text);
    ronde_screen_bold(&demo->screen, false);
    fputs("\n\n", demo->screen.file);
}

/* Where details go. */
static FILE *details(const struct demo *demo)
{
    return demo->options->output.verbose ? demo->screen.file : demo->nowhere;
}

/* Opens the backend; one without results has nothing to show. */
static enum ronde_status open_target(const struct ronde_options *options,
                                     struct ronde_target *out_target, struct ronde_error *error)
{
    RONDE_TRY(
        ronde_target_open(options->backend.name, options->backend.is_unbound, out_target, error));
    if (!ronde_target_moves_data(out_target))
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "backend %s moves no data: there is no result to show",
                          options->backend.name);
    return RONDE_OK;
}

/* The cheatsheet: a collective by name, or all of them; no files, no measurements, the same output everywhere. */
static enum ronde_status show_examples(const struct ronde_options *options,
                                       struct ronde_error *error)
{
    const char *operation = own_of(options)->operation ? own_of(options)->operation : "all";
    enum ronde_collective collective = RONDE_COLLECTIVE_COUNT;
    struct ronde_target target = {0};
    struct ronde_show show = {.target = &target,
                              .file = stdout,
                              .ranks = own_of(options)->world_size};

    if (show.ranks > RONDE_TOUR_MAX_RANKS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "world size %u is more than %u; see ronde run",
                          show.ranks, RONDE_TOUR_MAX_RANKS);
    enum ronde_status status = open_target(options, &target, error);
    if (status == RONDE_OK && strcmp(operation, "all") != 0)
        status = ronde_parse_collective(operation, &collective, error);
    RONDE_THEN(status, ronde_tour(&show, collective, error));
    ronde_target_close(&target);
    if (status == RONDE_OK && show.wrong)
        return ronde_fail(error, RONDE_REJECTED, "%u examples came out wrong", show.wrong);
    return status;
}

static enum ronde_status show_tour(const struct demo *demo, struct ronde_error *error)
{
    struct ronde_target target = {0};
    struct ronde_show show = {.target = &target, .file = details(demo)};
    heading(demo,
            "1. every collective by every algorithm on 4 ranks, compared with results by hand");
    enum ronde_status status = open_target(demo->options, &target, error);
    for (uint32_t c = 0; status == RONDE_OK && c < RONDE_COLLECTIVE_COUNT; c++)
        status = ronde_tour(&show, (enum ronde_collective)c, error);
    ronde_target_close(&target);
    if (status == RONDE_OK && show.wrong)
        return ronde_fail(error, RONDE_REJECTED, "%u examples came out wrong", show.wrong);
    if (status == RONDE_OK && !demo->options->output.verbose)
        fprintf(demo->screen.file,
                "right       %u collectives by every algorithm on 4 ranks: all %u results are as "
                "worked "
                "out by hand\n",
                (unsigned)RONDE_COLLECTIVE_COUNT, show.runs);
    return status;
}

/* The constants that tell most, or all of them. */
static enum ronde_status print_calibration(const struct demo *demo, struct ronde_error *error)
{
    const struct ronde_time_params *time = &ronde_platform_facts(demo->platform)->time;
    if (demo->options->output.verbose) {
        struct ronde_sink sink = {.file = demo->screen.file};
        ronde_calibration_warn(&demo->report);
        return ronde_calibration_print(&demo->report, &sink, error);
    }
    fprintf(demo->screen.file,
            "measured    %.80s:\n            a run starts in %.2f us, a message takes %.0f ns, a "
            "core copies %.1f GB/s\n",
            demo->report.machine, time->launch_ns / 1e3,
            time->step_ns + demo->report.calibration.latency_ns, time->copy_GBps);
    return RONDE_OK;
}

/* The file is written and read back: what follows uses what a user could use. */
static enum ronde_status show_calibration(struct demo *demo, struct ronde_error *error)
{
    heading(demo, "2. this machine, measured point to point");
    const struct ronde_calibrate_options how = ronde_calibrate_options_of(demo->options);
    RONDE_TRY(ronde_calibrate(&how, DEMO_HOSTS, &demo->report, error));
    RONDE_TRY(ronde_calibration_store(&demo->report, demo->machine_path, error));
    RONDE_TRY(ronde_platform_read(demo->machine_path, ronde_mem_default(), &demo->platform, error));
    return print_calibration(demo, error);
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
    memcpy(options->what.algorithms, algorithms, sizeof algorithms);
    options->what.algorithm_count = 3;
    memcpy(options->what.ranks, ranks, sizeof ranks);
    options->what.rank_counts = 3;
    options->sizes.min_bytes = 8;
    options->sizes.max_bytes = (uint64_t)64 << 20;
    options->sizes.factor = 4;
}

/* The SVG is a bonus here: without gnuplot the page has the curves. */
static void draw_plot(const struct demo *demo)
{
    struct ronde_error error = {0};
    if (ronde_plot_validation(&demo->comparison.grid, demo->plot_path, &error) == RONDE_OK)
        fprintf(demo->screen.file, "picture     %s\n", demo->plot_path);
    else
        ronde_screen_wrap(&demo->screen, 2, error.message);
    fprintf(demo->screen.file, "page        %s, which can be forwarded: answer, curves, data\n",
            demo->page_path);
}

/* Measures; rows appear as they are done where they are asked for. */
static enum ronde_status run_comparison(struct demo *demo, struct ronde_error *error)
{
    struct ronde_sink sink = {.file = details(demo)};
    struct ronde_comparison_printer printer = {.sink = &sink};
    struct ronde_compare_options how;
    fill_options(demo);
    demo->compared.output.html = demo->page_path;
    RONDE_TRY(ronde_compare_options_of(&demo->compared, demo->platform, &how, error));
    how.window_ns = own_of(demo->options)->again ? AGAIN_WINDOW_NS : DEMO_WINDOW_NS;
    enum ronde_status status = ronde_html_open(&demo->compared, demo->nowhere, &sink.html, error);
    RONDE_THEN(status, ronde_comparison_open(&how, &demo->comparison, error));
    RONDE_THEN(status, ronde_comparison_show(&demo->comparison, &printer, error));
    RONDE_THEN(status, ronde_answer_validation(sink.html, &demo->comparison.grid, error));
    status = ronde_html_close(sink.html, status, error);
    RONDE_THEN(status, ronde_summary_errors(&demo->comparison.grid, details(demo), error));
    if (status == RONDE_OK && demo->options->output.verbose)
        fputc('\n', demo->screen.file);
    return status;
}

/* The same code as validate, with its options filled in. */
static enum ronde_status show_comparison(struct demo *demo, struct ronde_error *error)
{
    const struct ronde_validation *grid = &demo->comparison.grid;
    uint32_t shown[RONDE_BRIEF_RANKS];
    heading(demo, "3. all_reduce by ring, tree and double tree: measured, replayed, priced");
    RONDE_TRY(run_comparison(demo, error));
    /* Where two numbers of ranks do not fit beside each other, one is a screen. */
    const bool is_whole =
        demo->options->output.verbose || demo->screen.columns >= RONDE_SCREEN_COLUMNS;
    const uint32_t all = ronde_brief_ranks(grid, shown), count = is_whole ? all : 1;
    if (!demo->options->output.verbose)
        fputs("who wins    all_reduce, us; * is the fastest, the percentage how far off the replay "
              "is\n",
              demo->screen.file);
    ronde_brief_times(grid, shown, count, &demo->screen);
    if (demo->options->output.verbose) {
        fputc('\n', demo->screen.file);
        RONDE_TRY(ronde_chart_print(grid, shown, count, &demo->screen, error));
    }
    draw_plot(demo);
    if (demo->options->output.verbose) {
        fputc('\n', demo->screen.file);
        ronde_brief_crossovers(grid, UINT32_MAX, &demo->screen);
    }
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
    fprintf(file,
            "next        %s demo --verbose\n"
            "            %s plan all_reduce -N 8 --topo %s\n"
            "            %s sim all_reduce -a ring -N 8 --topo crossbar-64 --timeline ring.svg\n"
            "            %s sim all_reduce -N 1024 -b 1G -e 1G --topo dgx-h100-pod --why\n",
            self, self, demo->machine_path, self, self);
}

/* The end: what it was worth, and what else there is. */
static enum ronde_status show_trust(const struct demo *demo, struct ronde_error *error)
{
    const uint32_t cores = ronde_platform_facts(demo->platform)->shared.cores;
    heading(demo, "4. how far to trust this");
    RONDE_TRY(ronde_brief_trust(&demo->comparison.grid, cores,
                                ronde_calibration_unsure(&demo->report), &demo->screen, error));
    if (demo->options->output.verbose)
        RONDE_TRY(print_paragraph(demo, error));
    print_next(demo);
    return RONDE_OK;
}

static enum ronde_status demo_command(struct ronde_invocation *call, struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    struct demo demo = {.options = options, .screen = ronde_screen_of(stdout)};
    const char *missing = NULL;
    const bool is_shown = own_of(options)->operation || own_of(options)->world_size;
    if (is_shown && options->output.path)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--operation and --world-size write no files: leave out --output");
    if (is_shown)
        return show_examples(options, error);
    enum ronde_status status = choose_folder(&demo, error);
    demo.nowhere = fopen("/dev/null", "w");
    if (status == RONDE_OK && !demo.nowhere)
        status = ronde_fail(error, RONDE_IO, "/dev/null: cannot be written");
    if (status == RONDE_OK && !own_of(options)->again)
        status = show_tour(&demo, error);
    /* Everything beyond the tour rests on the platform file and its replay. */
    if (status == RONDE_OK && !ronde_topologies_available(&missing))
        status = ronde_fail(error, RONDE_UNAVAILABLE, "%s", missing);
    if (status == RONDE_OK && !ronde_sim_simgrid_available(&missing))
        status = ronde_fail(error, RONDE_UNAVAILABLE, "%s", missing);
    RONDE_THEN(status, show_calibration(&demo, error));
    RONDE_THEN(status, show_comparison(&demo, error));
    RONDE_THEN(status, show_trust(&demo, error));
    ronde_comparison_close(&demo.comparison);
    ronde_platform_destroy(demo.platform);
    if (demo.nowhere)
        fclose(demo.nowhere);
    return status;
}

#define OWN(member) offsetof(struct demo_options, member)

static const struct ronde_option own_rows[] = {
    {"operation", 0, "NAME", ronde_take_text, OWN(operation), "all @collective", 0, false,
     "show a collective, or all"},
    {"world-size", 0, "N", ronde_take_count, OWN(world_size), NULL, 1, false,
     "number of ranks shown (default 4)"},
    {"again", 0, NULL, ronde_take_switch, OWN(again), NULL, 0, false,
     "only measure once more, three times as long: for machines that others use"},
};

static const struct ronde_option_use uses[] = {
    RONDE_TAKES_ROWS(RONDE_SECTION_WHAT, own_rows, struct demo_options, NULL),
    RONDE_TAKES(backend, "backend"),
    RONDE_TAKES(output, "output verbose"),
    RONDE_TAKES_END,
};

const struct ronde_command ronde_command_demo = {
    .name = "demo",
    .arguments = "",
    .summary = "the tour, then ring, tree and double tree: predicted and measured",
    .examples =
        "  ronde demo\n  ronde demo --verbose\n  ronde demo --output /tmp/demo\n"
        "  ronde demo --operation all --world-size 4\n  ronde demo --operation reduce_scatter\n"
        "What is built of collectives (mean, argmax, softmax, a ring of sends, halves, groups) "
        "are\n"
        "programs: docs/examples.\n",
    .uses = uses,
    .max_arguments = 0,
    .run = demo_command,
};
