/* ronde synthesize: the schedule that a machine's links allow at best. */
#include "commands.h"
#include "common.h"
#include "report.h"
#include "schedule_file.h"
#include "table.h"
#include "without_links.h"

#include "ronde/synthesize.h"
#include "ronde/text.h"

#include <math.h>

/* What was made, in lines beside the schedule. */
static void say(const struct ronde_synthesis *made, uint64_t bytes)
{
    const struct ronde_bound *bound = &made->bound;
    if (isinf(bound->GBps)) {
        ronde_note("no link limits it: %u tree%s a root", made->trees, made->trees == 1 ? "" : "s");
    } else {
        ronde_note("bound %.6g GB/s%s%s", bound->GBps, bound->cut[0] ? ": " : "", bound->cut);
        ronde_note("%u tree%s a root: %.6g GB/s by the busiest link, %.2f %% of the bound (whole "
                   "trees allow %.2f %%)",
                   made->trees, made->trees == 1 ? "" : "s", made->GBps,
                   100 * made->GBps / bound->GBps, 100 * made->trees_GBps / bound->GBps);
    }
    if (bytes > 0)
        ronde_note("for %s: %s us predicted, the bound is %s us", ronde_cell_size(bytes).text,
                   ronde_cell_us(made->time_ns).text,
                   ronde_cell_us(ronde_bound_ns(bound, (double)bytes)).text);
    ronde_note("at most %u messages in a row, %u connections into a rank", made->height,
               made->connections);
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

int ronde_cmd_synthesize(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct ronde_platform *platform = NULL;
    struct ronde_schedule *schedule = NULL;
    struct ronde_synthesis_request request;
    struct ronde_synthesis made;
    char *text = NULL;
    size_t bytes = 0;
    enum ronde_status status = ronde_open_platform(options, &platform, &error);
    if (status == RONDE_OK)
        status = ronde_without_links(options, platform, &error);
    if (status == RONDE_OK)
        status = find_request(options, &request, &error);
    if (status == RONDE_OK)
        status = ronde_synthesize(platform, &request, ronde_mem_default(), &schedule, &made, &error);
    if (status == RONDE_OK)
        status = ronde_schedule_print(schedule, ronde_mem_default(), &text, &bytes, &error);
    if (status == RONDE_OK)
        status = ronde_schedule_text_write(options, text, bytes, &error);
    if (status == RONDE_OK)
        say(&made, options->for_bytes);
    ronde_schedule_destroy(schedule);
    ronde_platform_destroy(platform);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}
