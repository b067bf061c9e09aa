/* ronde plan: which algorithm for which size, by how much, and why. */
#include "cli/draw/gnuplot.h"
#include "cli/draw/plan_plot.h"
#include "cli/options/tune_options.h"
#include "cli/print/bound_share.h"
#include "cli/print/plan_print.h"
#include "cli/print/report.h"
#include "commands.h"
#include "common.h"
#include "nccl_style.h"

#include "ronde/executors.h"
#include "ronde/hw.h"
#include "ronde/plan.h"
#include "ronde/schedule_file.h"

/* -N may be left to the machine: all its hosts. */
static enum ronde_status
find_request(const struct ronde_options *options, const struct ronde_platform *platform,
             struct ronde_compile_request *out_request, struct ronde_error *error)
{
    struct ronde_options used = *options;
    for (uint32_t a = 0; a < options->algorithm_count; a++)
        if (!ronde_is_file(options->algorithms[a]))
            return ronde_fail(
                error, RONDE_BAD_ARGUMENT,
                "plan compares all algorithms, and with -a files of schedules besides: "
                "leave out -a %s; price takes one",
                options->algorithms[a]);
    used.algorithm_count = 0;
    if (platform && options->rank_counts == 0) {
        used.ranks[0] = ronde_platform_facts(platform)->hosts;
        used.rank_counts = 1;
    }
    return ronde_open_request(&used, out_request, error);
}

/* Schedules of files, which are weighed beside the algorithms. */
struct offered {
    struct ronde_schedule *schedules[RONDE_MAX_NAMES];
    uint32_t count;
};

static enum ronde_status offer_files(const struct ronde_options *options,
                                     struct ronde_selector *selector, struct offered *offered,
                                     struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t a = 0; a < options->algorithm_count && status == RONDE_OK; a++) {
        struct ronde_schedule **schedule = &offered->schedules[offered->count];
        status = ronde_schedule_file_open(options->algorithms[a], NULL, schedule, error);
        if (status != RONDE_OK)
            break;
        offered->count++;
        status = ronde_selector_offer(selector, *schedule, options->algorithms[a], error);
    }
    return status;
}

/* What is missing is said before anything is priced. */
static enum ronde_status check_options(const struct ronde_options *options,
                                       struct ronde_error *error)
{
    const char *text = NULL;
    if (options->synthesize && !options->topo)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--synthesize needs a machine: --topo");
    if (options->plot && !ronde_plot_available(&text))
        return ronde_fail(error, RONDE_UNAVAILABLE, "%s", text);
    return RONDE_OK;
}

static enum ronde_status print_plan(const struct ronde_options *options,
                                    const struct ronde_plan *plan, struct ronde_sink *sink,
                                    struct ronde_error *error)
{
    const struct ronde_bound_share share =
        ronde_bound_share_find(plan->selector->platform_pricer.platform,
                               &plan->selector->choice.candidates[0].request, NULL);
    enum ronde_status status = ronde_sink_open(options, sink, error);
    if (status == RONDE_OK && ronde_sink_is_table(sink))
        ronde_plan_print_table(plan, &share, sink);
    else if (status == RONDE_OK)
        status = ronde_plan_print_rows(plan, &share, sink, error);
    if (status == RONDE_OK && options->plot)
        status = ronde_plan_plot(plan, options->plot, error);
    if (sink->file && ronde_sink_close(sink, error) != RONDE_OK)
        status = error->status;
    return status;
}

/* Sizes that come to the same number of elements are one. */
static enum ronde_status make_plan(const struct ronde_options *options,
                                   struct ronde_selector *selector, struct ronde_plan *out_plan,
                                   struct ronde_error *error)
{
    const struct ronde_compile_request *request = &selector->choice.candidates[0].request;
    uint64_t sizes[RONDE_PLAN_SIZES], last = UINT64_MAX, bytes = options->min_bytes;
    uint32_t count = 0;
    do {
        const uint64_t elements =
            ronde_collective_count(request->collective, request->ranks, bytes, options->dtype);
        if (elements != last && count == RONDE_PLAN_SIZES)
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "more than %u sizes: a larger factor than %llu makes fewer",
                              RONDE_PLAN_SIZES, (unsigned long long)options->factor);
        if (elements != last)
            sizes[count++] = bytes;
        last = elements;
        bytes = ronde_options_next_size(options, bytes);
    } while (bytes != 0);
    return ronde_plan_make(selector, sizes, count, out_plan, error);
}

static int plan_by_table(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct ronde_platform *platform = NULL;
    struct ronde_compile_request request;
    const struct ronde_tune_options how = ronde_tune_options_of(options);
    struct ronde_selector selector = {.quotes = NULL};
    struct ronde_plan plan = {.selector = NULL};
    struct offered offered = {.count = 0};
    struct ronde_sink sink = {0};
    enum ronde_status status = check_options(options, &error);
    if (status == RONDE_OK && options->topo)
        status = ronde_open_platform(options, &platform, &error);
    if (status == RONDE_OK)
        status = find_request(options, platform, &request, &error);
    if (status == RONDE_OK)
        status = ronde_selector_open(&how, &request, &selector, &error);
    if (status == RONDE_OK)
        status = offer_files(options, &selector, &offered, &error);
    if (status == RONDE_OK)
        status = ronde_selector_rely(&selector, platform, ronde_executor_times_of(options->backend),
                                     ronde_usable_cores(), &error);
    /* A picture has a curve for every candidate. */
    selector.settles_all = options->plot != NULL;
    if (status == RONDE_OK)
        status = make_plan(options, &selector, &plan, &error);
    if (status == RONDE_OK)
        status = print_plan(options, &plan, &sink, &error);
    ronde_plan_free(&plan);
    ronde_selector_close(&selector);
    for (uint32_t i = 0; i < offered.count; i++)
        ronde_schedule_destroy(offered.schedules[i]);
    ronde_platform_destroy(platform);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}

int ronde_cmd_plan(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    if (options->to && !options->style) {
        ronde_fail(
            &error, RONDE_BAD_ARGUMENT,
            "--to %s: which of NCCL's algorithms and protocols is fastest, only --style nccl "
            "knows",
            options->to);
        return ronde_report(&error);
    }
    return options->style ? ronde_nccl_style(options, true) : plan_by_table(options);
}
