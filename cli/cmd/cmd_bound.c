/* ronde bound: the least time that any schedule can take on a machine. */
#include "cli/options/option_groups.h"
#include "cli/options/requests.h"
#include "cli/options/topology.h"
#include "commands.h"

#include "ronde/bound.h"

#include <inttypes.h>
#include <math.h>

static const struct ronde_column columns[] = {
    {"bytes", "size", "(B)", RONDE_CELL_PLAIN, 12, false},
    {"count", "count", "(elements)", RONDE_CELL_PLAIN, 13, false},
    {"dtype", "type", "", RONDE_CELL_PLAIN, 9, false},
    {"time_ns", "time", "(us)", RONDE_CELL_NS, 12, false},
    {"algbw_GBps", "algbw", "(GB/s)", RONDE_CELL_GBPS, 10, false},
    {"limit", "limited by", "", RONDE_CELL_PLAIN, 11, false},
};
static const struct ronde_table table = RONDE_TABLE(columns);

static void print_head(const struct ronde_bound *bound, const struct ronde_platform *platform,
                       const struct ronde_sink *sink)
{
    const char *at_most = bound->is_tight ? "" : " at most, by the cuts that were tried";
    ronde_sink_say(sink, "ronde %s: the least time of %s, %u ranks on %s (%s)", RONDE_VERSION,
                   ronde_collective_text(bound->collective), bound->ranks,
                   ronde_platform_facts(platform)->name, ronde_platform_path(platform));
    if (isfinite(bound->certain_GBps))
        ronde_sink_say(sink, "large blocks: %.6g GB/s%s", bound->certain_GBps, at_most);
    /* Where links are unequal, its two halves one after the other are not the best there is, and the cut is of theirs. */
    if (bound->certain_GBps > bound->GBps * (1 + 1e-9))
        ronde_sink_say(sink, "reduce_scatter, then all_gather: %.6g GB/s: %s", bound->GBps,
                       bound->cut);
    else if (bound->cut[0])
        ronde_sink_say(sink, "bottleneck: %s", bound->cut);
    ronde_sink_say(sink, "latency: %.6g us, the longest way of data", bound->latency_ns / 1e3);
    if (ronde_collective_traits(bound->collective)->has_root || bound->collective == RONDE_SEND_RECV)
        ronde_sink_say(sink, "rank r is on host r of the file; a plan may place ranks otherwise");
    fputs("#\n", sink->file);
    ronde_sink_head(sink, &table);
}

/* A size, as so many elements. */
static enum ronde_status print_point(const struct ronde_bound *bound, uint64_t count,
                                     const struct ronde_options *options, struct ronde_sink *sink,
                                     struct ronde_error *error)
{
    const uint64_t bytes =
        ronde_collective_bytes(bound->collective, bound->ranks, count, options->what.dtype);
    const double time_ns = ronde_bound_ns(bound, (double)bytes);
    char exact[64] = "";

    if (bound->denominator > 0)
        snprintf(exact, sizeof exact, "%" PRIu64 "/%" PRIu64, bound->numerator, bound->denominator);
    const bool has_root = ronde_collective_traits(bound->collective)->has_root;
    const struct ronde_field fields[] = {
        ronde_field_text("kind", "bound"),
        ronde_field_text("collective", ronde_collective_text(bound->collective)),
        ronde_field_integer("ranks", bound->ranks),
        ronde_field_integer("bytes", bytes),
        ronde_field_integer("count", count),
        ronde_field_text("dtype", ronde_dtype_text(options->what.dtype)),
        ronde_field_integer_if("root", has_root, bound->root),
        ronde_field_real("time_ns", time_ns),
        ronde_field_real("algbw_GBps", time_ns > 0 ? (double)bytes / time_ns : 0),
        ronde_field_real("bound_GBps", bound->GBps),
        ronde_field_text("bound_exact", exact[0] ? exact : NULL),
        ronde_field_real("certain_GBps", bound->certain_GBps),
        ronde_field_boolean("tight", bound->is_tight),
        ronde_field_real("latency_ns", bound->latency_ns),
        ronde_field_text("limit", time_ns > bound->latency_ns ? "links" : "latency"),
        ronde_field_text("cut", bound->cut[0] ? bound->cut : NULL),
        ronde_field_integer_if("cut_ranks", bound->cut[0], bound->cut_ranks),
        ronde_field_real("cut_GBps", bound->cut[0] ? bound->cut_GBps : NAN),
        ronde_field_text("version", RONDE_VERSION),
    };
    return ronde_sink_print(sink, &table, &RONDE_ROW(fields), error);
}

static enum ronde_status print_sizes(const struct ronde_options *options,
                                     const struct ronde_bound *bound, struct ronde_sink *sink,
                                     struct ronde_error *error)
{
    uint64_t bytes = options->sizes.min_bytes, last = UINT64_MAX;

    do {
        const uint64_t count =
            ronde_record_count(bound->collective, bound->ranks, bytes, options->what.dtype);
        if (count != last)
            RONDE_TRY(print_point(bound, count, options, sink, error));
        last = count;
        bytes = ronde_options_next_size(&options->sizes, bytes);
    } while (bytes != 0);
    return RONDE_OK;
}

static enum ronde_status bound_command(struct ronde_invocation *call, struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    struct ronde_compile_request request;
    struct ronde_bound bound;

    RONDE_TRY(ronde_open_platform(options, &call->platform, error));
    RONDE_TRY(ronde_open_request(options, call->platform, &request, error));
    RONDE_TRY(ronde_bound_find(call->platform, &request, ronde_mem_default(), &bound, error));
    RONDE_TRY(ronde_sink_open(options, &call->sink, error));
    if (ronde_sink_is_table(&call->sink))
        print_head(&bound, call->platform, &call->sink);
    return print_sizes(options, &bound, &call->sink, error);
}

static const struct ronde_option_use uses[] = {
    RONDE_TAKES(what, "ranks root pairs datatype"),
    RONDE_TAKES(sizes, NULL),
    RONDE_TAKES(machine, NULL),
    RONDE_TAKES(output, "json csv wide output"),
    RONDE_TAKES_END,
};

const struct ronde_command ronde_command_bound = {
    .name = "bound",
    .arguments = "COLLECTIVE",
    .summary = "the least time any schedule can take on a machine, and what limits it",
    .examples = "  ronde bound all_gather --topo dgx-h100-pod\n"
                "  ronde bound all_reduce --topo pod.xml --without n5g0_c --json\n",
    .uses = uses,
    .max_arguments = 1,
    .run = bound_command,
};
