/* ronde plan: which algorithm for which size, by how much, and why. */
#include "cli/draw/gnuplot.h"
#include "cli/options/option_groups.h"
#include "cli/options/requests.h"
#include "cli/print/report.h"
#include "cli/print/results.h"
#include "commands.h"
#include "common.h"
#include "styles.h"

#include "ronde/executors.h"
#include "ronde/hw.h"
#include "ronde/plan.h"
#include "ronde/schedule_file.h"

#include <string.h>

/* -N may be left to the machine: all its hosts. */
static enum ronde_status
find_request(const struct ronde_options *options, const struct ronde_platform *platform,
             struct ronde_compile_request *out_request, struct ronde_error *error)
{
    struct ronde_options used = *options;
    for (uint32_t a = 0; a < options->what.algorithm_count; a++)
        if (!ronde_is_file(options->what.algorithms[a]))
            return ronde_fail(
                error, RONDE_BAD_ARGUMENT,
                "plan compares all algorithms, and with -a files of schedules besides: "
                "leave out -a %s; price takes one",
                options->what.algorithms[a]);
    used.what.algorithm_count = 0;
    if (platform && options->what.rank_counts == 0) {
        used.what.ranks[0] = ronde_platform_facts(platform)->hosts;
        used.what.rank_counts = 1;
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
    for (uint32_t a = 0; a < options->what.algorithm_count && status == RONDE_OK; a++) {
        struct ronde_schedule **schedule = &offered->schedules[offered->count];
        status = ronde_schedule_file_open(options->what.algorithms[a], NULL, schedule, error);
        if (status != RONDE_OK)
            break;
        offered->count++;
        status = ronde_selector_offer(selector, *schedule, options->what.algorithms[a], error);
    }
    return status;
}

/* What is missing is said before anything is priced. */
static enum ronde_status check_options(const struct ronde_options *options,
                                       struct ronde_error *error)
{
    if (options->engine.synthesize && !options->machine.topo)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--synthesize needs a machine: --topo");
    return ronde_plot_check(options->output.plot, error);
}

static enum ronde_status print_plan(struct ronde_call *call, const struct ronde_plan *plan,
                                    struct ronde_error *error)
{
    const char *plot = call->options->output.plot;
    enum ronde_status status = ronde_sink_open(call->options, &call->sink, error);
    if (status == RONDE_OK)
        status = ronde_plan_print(plan, &call->sink, error);
    return status == RONDE_OK && plot ? ronde_plan_plot(plan, plot, error) : status;
}

/* Sizes that come to the same number of elements are one. */
static enum ronde_status make_plan(const struct ronde_options *options,
                                   struct ronde_selector *selector, struct ronde_plan *out_plan,
                                   struct ronde_error *error)
{
    const struct ronde_compile_request *request = &selector->choice.candidates[0].request;
    uint64_t sizes[RONDE_PLAN_SIZES], last = UINT64_MAX, bytes = options->sizes.min_bytes;
    uint32_t count = 0;
    do {
        const uint64_t elements =
            ronde_collective_count(request->collective, request->ranks, bytes, options->what.dtype);
        if (elements != last && count == RONDE_PLAN_SIZES)
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "more than %u sizes: a larger factor than %llu makes fewer",
                              RONDE_PLAN_SIZES, (unsigned long long)options->sizes.factor);
        if (elements != last)
            sizes[count++] = bytes;
        last = elements;
        bytes = ronde_options_next_size(&options->sizes, bytes);
    } while (bytes != 0);
    return ronde_plan_make(selector, sizes, count, out_plan, error);
}

/* How long a size takes, nobody knows before: each is a part like the others. */
static void show_progress(void *context, uint64_t done, uint64_t total)
{
    (void)context;
    if (done == total)
        ronde_progress("replaying where the best algorithm changes");
    else
        ronde_progress_part((double)done / (double)total, (double)done / (double)total,
                            "comparing all algorithms, size %u of %u", (unsigned)done + 1,
                            (unsigned)total);
}

static enum ronde_status plan_by_table(struct ronde_call *call, struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    struct ronde_compile_request request;
    struct ronde_tune_options how = ronde_tune_options_of(options);
    struct ronde_selector selector = {.quotes = NULL};
    struct ronde_plan plan = {.selector = NULL};
    struct offered offered = {.count = 0};
    enum ronde_status status = check_options(options, error);
    if (status == RONDE_OK && options->machine.topo)
        status = ronde_open_platform(options, &call->platform, error);
    if (status == RONDE_OK)
        status = find_request(options, call->platform, &request, error);
    how.plan_progress.on_progress = show_progress;
    if (status == RONDE_OK)
        status = ronde_selector_open(&how, &request, &selector, error);
    if (status == RONDE_OK)
        status = offer_files(options, &selector, &offered, error);
    if (status == RONDE_OK)
        status = ronde_selector_rely(&selector, call->platform,
                                     ronde_executor_times_of(options->backend.name),
                                     ronde_usable_cores(), error);
    /* A picture has a curve for every candidate. */
    selector.settles_all = options->output.plot || options->output.html;
    if (status == RONDE_OK)
        status = make_plan(options, &selector, &plan, error);
    ronde_progress_end();
    if (status == RONDE_OK)
        status = print_plan(call, &plan, error);
    ronde_plan_free(&plan);
    ronde_selector_close(&selector);
    for (uint32_t i = 0; i < offered.count; i++)
        ronde_schedule_destroy(offered.schedules[i]);
    return status;
}

/* --to, or what the output's name says. */
static const char *format_of(const struct ronde_options *options)
{
    const char *to = ((const struct ronde_format_options *)options->own)->to;
    const char *dot = options->output.path ? strrchr(options->output.path, '.') : NULL;
    return !to && dot && strcmp(dot, ".tuner") == 0 ? "nccl-tuner" : to;
}

static enum ronde_status plan_command(struct ronde_call *call, struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    const char *to = format_of(options);
    const bool is_nccl = options->style && !ronde_is_mpi_style(options->style);

    if (!is_nccl && ronde_refuse_anchor(options, error) != RONDE_OK)
        return RONDE_BAD_ARGUMENT;
    if (to && !options->style)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "--to %s: which of NCCL's algorithms and protocols is fastest, only --style nccl "
            "knows",
            to);
    if (to)
        return ronde_nccl_tuner_file(call, to, error);
    if (options->style)
        return is_nccl ? ronde_nccl_style(call, true, error) : ronde_mpi_style(call, true, error);
    return plan_by_table(call, error);
}

static const struct ronde_option compared_rows[] = {
    {"algorithm", 'a', "FILE,...", ronde_take_algorithms,
     offsetof(struct ronde_what_options, algorithms),
     "schedules in files, compared with all algorithms", NULL, 0, true},
};

static const struct ronde_option_group compared_group =
    RONDE_GROUP(RONDE_SECTION_WHAT, compared_rows, struct ronde_what_options, NULL, NULL);

static const struct ronde_option own_rows[] = {
    {"to", 0, "FORMAT", ronde_take_text, offsetof(struct ronde_format_options, to),
     "nccl-tuner (and -o NAME.tuner), with --style nccl: what libnccl-tuner-ronde.so reads, of all "
     "collectives and communicators of the machine",
     "nccl-tuner", 0, true},
};

static const struct ronde_option_group own_group =
    RONDE_GROUP(RONDE_SECTION_OUTPUT, own_rows, struct ronde_format_options, NULL, NULL);

static const struct ronde_option_use uses[] = {
    {&compared_group, offsetof(struct ronde_options, what), NULL, false},
    RONDE_TAKES_OWN(own_group, 0, NULL),
    RONDE_TAKES(what, "ranks datatype root shape pairs channels anchor"),
    RONDE_TAKES(sizes, NULL),
    RONDE_TAKES(machine, NULL),
    RONDE_TAKES(style, NULL),
    RONDE_TAKES(engine, "slot synthesize engine depth"),
    RONDE_TAKES(backend, "backend"),
    RONDE_TAKES(output, "json csv wide output plot html"),
    RONDE_TAKES_END,
};

const struct ronde_command ronde_command_plan = {
    .name = "plan",
    .arguments = "[COLLECTIVE]",
    .summary = "best algorithm per size on a machine, and why",
    .examples = "  ronde plan all_reduce --topo dgx-h100-pod -b 8 -e 1G\n"
                "  ronde plan broadcast -N 16 --topo crossbar-64 --slot 64K --plot plan.svg\n"
                "  ronde plan all_reduce -N 4 --backend cpu\n"
                "  ronde plan all_reduce --style nccl -N 64 -b 1K -e 1G --topo Alps-GH200\n"
                "  ronde plan --style nccl --topo Alps-GH200 --nodes 64 -o ronde.tuner\n",
    .uses = uses,
    .max_arguments = 1,
    .run = plan_command,
};
