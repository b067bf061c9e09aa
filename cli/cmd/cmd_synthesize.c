/* ronde synthesize: the schedule that a machine's links allow at best. */
#include "cli/draw/forest_svg.h"
#include "cli/options/schedule_file.h"
#include "cli/print/report.h"
#include "cli/print/table.h"
#include "commands.h"
#include "common.h"

#include "ronde/hw.h"
#include "ronde/synthesize.h"
#include "ronde/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Between two lines of one phase. */
#define LINE_NS 1e8

/* What links carry of it. */
static void say_load(const struct ronde_synthesis *made)
{
    const struct ronde_bound *bound = &made->bound;
    const char *plural = made->trees == 1 ? "" : "s";
    if (made->is_joint)
        ronde_note(
            "%u tree%s of any root, up and down at once: %.6g GB/s by the busiest link, %.2f %% of "
            "what no schedule exceeds",
            made->trees, plural, made->GBps, 100 * made->GBps / bound->certain_GBps);
    else
        ronde_note("%u tree%s a root: %.6g GB/s by the busiest link, %.2f %% of the bound (whole "
                   "trees allow %.2f %%)",
                   made->trees, plural, made->GBps, 100 * made->GBps / bound->GBps,
                   100 * made->trees_GBps / bound->GBps);
}

/* Options that a schedule takes so long with: " (sim --slot 64K)", or nothing. */
static const char *in_sim(const char *options, char *text, size_t bytes)
{
    text[0] = '\0';
    if (options[0])
        snprintf(text, bytes, " (sim %s)", options);
    return text;
}

/* What was made, in lines beside the schedule. */
static void say(const struct ronde_synthesis *made, uint64_t bytes)
{
    char text[RONDE_SETUP_OPTIONS_BYTES + 8];
    const struct ronde_bound *bound = &made->bound;
    if (isinf(bound->GBps)) {
        ronde_note("no link limits it: %u tree%s a root", made->trees, made->trees == 1 ? "" : "s");
    } else {
        ronde_note("bound %.6g GB/s%s%s", bound->GBps, bound->cut[0] ? ": " : "", bound->cut);
        say_load(made);
    }
    if (bytes > 0)
        ronde_note("for %s: %s us predicted%s, the bound is %s us", ronde_cell_size(bytes).text,
                   ronde_cell_us(made->time_ns).text,
                   made->algorithm ? "" : in_sim(made->options, text, sizeof text),
                   ronde_cell_us(ronde_bound_ns(bound, (double)bytes)).text);
    ronde_note("at most %u messages in a row, %u connections into a rank", made->height,
               made->connections);
    if (made->algorithm)
        ronde_note("%s is faster, %s us%s: the schedule is that one, not trees", made->algorithm,
                   ronde_cell_us(made->algorithm_ns).text, in_sim(made->options, text, sizeof text));
}

/* When the line was last written, and what it said was being done. */
struct standing {
    const char *phase;
    double ns;
};

/* Ten times a second, and where something else begins. */
static void show_progress(void *context, const char *phase, uint64_t done, uint64_t total)
{
    struct standing *standing = context;
    const double ns = ronde_clock_ns();
    if (phase == standing->phase && ns - standing->ns < LINE_NS)
        return;
    *standing = (struct standing){phase, ns};
    if (total > 0)
        ronde_progress("%s: %" PRIu64 " of %" PRIu64, phase, done, total);
    else
        ronde_progress("%s", phase);
}

static enum ronde_status find_request(const struct ronde_options *options,
                                      struct ronde_synthesis_request *out_request,
                                      struct ronde_error *error)
{
    struct ronde_compile_request request;
    const enum ronde_status status = ronde_open_request(options, &request, error);
    if (status == RONDE_OK)
        *out_request = (struct ronde_synthesis_request){.collective = request.collective,
                                                        .ranks = request.ranks,
                                                        .root = request.root,
                                                        .trees = options->trees,
                                                        .connections = options->connections,
                                                        .bytes = options->for_bytes};
    return status;
}

/* The trees of one root, as a picture in a file of its own. */
static enum ronde_status draw(const struct ronde_options *options,
                              const struct ronde_schedule *schedule,
                              const struct ronde_platform *platform, struct ronde_error *error)
{
    if (!options->plot)
        return RONDE_OK;
    FILE *file = fopen(options->plot, "w");
    if (!file)
        return ronde_fail(error, RONDE_IO, "%s: %s", options->plot, strerror(errno));
    enum ronde_status status = ronde_forest_svg(schedule, platform, options->root, file, error);
    if (fclose(file) != 0 && status == RONDE_OK)
        status = ronde_fail(error, RONDE_DEVICE, "%s: could not be written", options->plot);
    return status;
}

int ronde_cmd_synthesize(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct ronde_platform *platform = NULL;
    struct ronde_schedule *schedule = NULL;
    struct ronde_synthesis_request request;
    struct ronde_synthesis made;
    struct standing standing = {.phase = NULL};
    char *text = NULL;
    size_t bytes = 0;
    enum ronde_status status = ronde_open_platform(options, &platform, &error);
    if (status == RONDE_OK)
        status = find_request(options, &request, &error);
    request.progress = (struct ronde_synthesis_progress){show_progress, &standing};
    if (status == RONDE_OK)
        status = ronde_synthesize(platform, &request, ronde_mem_default(), &schedule, &made, &error);
    ronde_progress_end();
    if (status == RONDE_OK)
        status = ronde_schedule_print(schedule, ronde_mem_default(), &text, &bytes, &error);
    if (status == RONDE_OK)
        status = ronde_schedule_text_write(options, text, bytes, &error);
    if (status == RONDE_OK)
        status = draw(options, schedule, platform, &error);
    if (status == RONDE_OK)
        say(&made, options->for_bytes);
    ronde_schedule_destroy(schedule);
    ronde_platform_destroy(platform);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}
