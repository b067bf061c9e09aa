/* ronde synthesize: the schedule that a machine's links allow at best. */
#include "cli/draw/svg.h"
#include "cli/options/option_groups.h"
#include "cli/options/requests.h"
#include "cli/options/topology.h"
#include "cli/print/printer.h"
#include "cli/print/report.h"
#include "commands.h"

#include "ronde/synthesize.h"
#include "ronde/text.h"

#include <math.h>

/* The command's own options. */
struct synthesize_options {
    uint32_t trees;       /* --trees; 0 = not given */
    uint32_t connections; /* --connections; 0 = not given */
    uint64_t for_bytes;   /* --for; 0 = not given */
};

static const struct synthesize_options *own_of(const struct ronde_options *options)
{
    return options->own;
}

/* What links carry of it. */
static void say_load(const struct ronde_synthesis *made)
{
    const struct ronde_bound *bound = &made->bound;
    const char *plural = made->trees == 1 ? "" : "s";
    const double share = 100 * made->GBps / bound->certain_GBps;
    if (made->is_joint)
        ronde_note("%u tree%s of any root, up and down at once: %.6g GB/s by the busiest link, "
                   "%.2f %% of the bound",
                   made->trees, plural, made->GBps, share);
    else
        ronde_note("%u tree%s a root: %.6g GB/s by the busiest link, %.2f %% of the bound (whole "
                   "trees allow %.2f %%)",
                   made->trees, plural, made->GBps, share,
                   100 * made->trees_GBps / bound->certain_GBps);
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
        /* The cut is that of reduce_scatter and all_gather, which is another where links are unequal. */
        const bool is_of_cut = bound->cut[0] && bound->certain_GBps <= bound->GBps * (1 + 1e-9);
        ronde_note("bound %.6g GB/s%s%s", bound->certain_GBps, is_of_cut ? ": " : "",
                   is_of_cut ? bound->cut : "");
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

static void show_progress(void *context, const char *phase, uint64_t done, uint64_t total)
{
    (void)context;
    if (total > 0)
        ronde_progress_part((double)done / (double)total, (double)done / (double)total, "%s", phase);
    else
        ronde_progress("%s", phase);
}

static enum ronde_status
find_request(const struct ronde_options *options, const struct ronde_platform *platform,
             struct ronde_synthesis_request *out_request, struct ronde_error *error)
{
    struct ronde_compile_request request;
    RONDE_TRY(ronde_open_request(options, platform, &request, error));
    *out_request = (struct ronde_synthesis_request){.collective = request.collective,
                                                    .ranks = request.ranks,
                                                    .root = request.root,
                                                    .trees = own_of(options)->trees,
                                                    .connections = own_of(options)->connections,
                                                    .bytes = own_of(options)->for_bytes};
    return RONDE_OK;
}

/* The trees of one root, as a picture in a file of its own. */
static enum ronde_status draw(const struct ronde_options *options,
                              const struct ronde_schedule *schedule,
                              const struct ronde_platform *platform, struct ronde_error *error)
{
    struct ronde_output_file output;
    if (!options->output.plot)
        return RONDE_OK;
    RONDE_TRY(ronde_output_file_open(options->output.plot, &output, error));
    const enum ronde_status status =
        ronde_forest_svg(schedule, platform, options->what.root, output.file, error);
    return ronde_output_file_close(&output, status, error);
}

static enum ronde_status synthesize_command(struct ronde_invocation *call, struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    struct ronde_schedule *schedule = NULL;
    struct ronde_synthesis_request request;
    struct ronde_synthesis made;
    char *text = NULL;
    size_t bytes = 0;
    enum ronde_status status = RONDE_OK;

    if (options->output.plot)
        status = ronde_picture_check(options->output.plot, error);
    RONDE_THEN(status, ronde_open_platform(options, &call->platform, error));
    RONDE_THEN(status, find_request(options, call->platform, &request, error));
    request.progress = (struct ronde_synthesis_progress){show_progress, NULL};
    RONDE_THEN(status, ronde_synthesize(call->platform, &request, ronde_mem_default(), &schedule,
                                        &made, error));
    ronde_progress_end();
    RONDE_THEN(status, ronde_schedule_print(schedule, ronde_mem_default(), &text, &bytes, error));
    RONDE_THEN(status, ronde_schedule_text_write(options, text, bytes, error));
    RONDE_THEN(status, draw(options, schedule, call->platform, error));
    if (status == RONDE_OK)
        say(&made, own_of(options)->for_bytes);
    ronde_schedule_destroy(schedule);
    return status;
}

#define OWN(member) offsetof(struct synthesize_options, member)

static const struct ronde_option own_rows[] = {
    {"for", 0, "SIZE", ronde_take_size, OWN(for_bytes), NULL, 0,
     false, "the size that it is to be fastest at: trees of several heights are replayed (default: large)"},
    {"trees", 0, "COUNT", ronde_take_count, OWN(trees), NULL, 1, false,
     "trees of each root (default: as few as come near the best of 16)"},
    {"connections", 0, "COUNT", ronde_take_count, OWN(connections), NULL, 1, true,
     "connections that a rank may receive by (default: one for each edge of a tree)"},
};

static const struct ronde_option_use uses[] = {
    RONDE_TAKES_ROWS(RONDE_SECTION_WHAT, own_rows, struct synthesize_options, NULL),
    RONDE_TAKES(what, "ranks root"),
    RONDE_TAKES(machine, NULL),
    RONDE_TAKES(output, "output plot"),
    RONDE_TAKES_END,
};

const struct ronde_command ronde_command_synthesize = {
    .name = "synthesize",
    .arguments = "COLLECTIVE",
    .summary = "make the schedule that a machine's links allow at best, proved",
    .examples = "  ronde synthesize all_gather --topo pod.xml -o forest.ronde --plot trees.svg\n"
                "  ronde synthesize all_reduce --topo pod.xml --without n5g0_c -o around.ronde\n"
                "  ronde synthesize all_gather --topo pod.xml --for 64K -o quick.ronde\n"
                "  ronde synthesize broadcast -r 3 --topo pod.xml --trees 4 -o forest.ronde\n",
    .uses = uses,
    .max_arguments = 1,
    .run = synthesize_command,
};
