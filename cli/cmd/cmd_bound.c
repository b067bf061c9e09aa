/* ronde bound: the least time that any schedule can take on a machine. */
#include "cli/print/report.h"
#include "cli/print/table.h"
#include "commands.h"
#include "common.h"

#include "ronde/bound.h"

#include <inttypes.h>
#include <math.h>

#define COLUMNS 6u

static const struct ronde_column columns[COLUMNS] = {
    {"size", "(B)", 12},  {"count", "(elements)", 12}, {"type", "", 8},
    {"time", "(us)", 11}, {"algbw", "(GB/s)", 9},      {"limited by", "", 10},
};
static const struct ronde_table table = {columns, COLUMNS, 2};

/* One size. */
struct point {
    uint64_t bytes;
    uint64_t count;
    double time_ns;
    double algbw_GBps;
    const char *limit;
};

static struct point point_of(const struct ronde_options *options, const struct ronde_bound *bound,
                             uint64_t bytes)
{
    struct point point = {.bytes = bytes};
    point.count = ronde_record_count(bound->collective, bound->ranks, bytes, options->dtype);
    point.bytes =
        ronde_collective_bytes(bound->collective, bound->ranks, point.count, options->dtype);
    point.time_ns = ronde_bound_ns(bound, (double)point.bytes);
    point.algbw_GBps = point.time_ns > 0 ? (double)point.bytes / point.time_ns : 0;
    point.limit = point.time_ns > bound->latency_ns ? "links" : "latency";
    return point;
}

static void print_head(const struct ronde_bound *bound, const struct ronde_platform *platform,
                       FILE *file)
{
    fprintf(file, "# ronde %s: the least time of %s, %u ranks on %s (%s)\n", RONDE_VERSION,
            ronde_collective_text(bound->collective), bound->ranks,
            ronde_platform_facts(platform)->name, ronde_platform_path(platform));
    if (bound->collective == RONDE_ALL_REDUCE)
        fprintf(file,
                "# as reduce_scatter, then all_gather: %.6g GB/s; no schedule at all exceeds %.6g "
                "GB/s\n",
                bound->GBps, bound->certain_GBps);
    else if (isfinite(bound->GBps))
        fprintf(file, "# large blocks: %.6g GB/s%s\n", bound->GBps,
                bound->is_tight ? "" : " at most, by the cuts that were tried");
    if (bound->cut[0])
        fprintf(file, "# bottleneck: %s\n", bound->cut);
    fprintf(file, "# latency: %.6g us, the longest way of data\n#\n", bound->latency_ns / 1e3);
    ronde_table_head(file, &table);
}

static void print_point(const struct point *point, enum ronde_dtype dtype, FILE *file)
{
    const struct ronde_cell cells[COLUMNS] = {
        ronde_cell_integer(point->bytes),         ronde_cell_integer(point->count),
        ronde_cell_text(ronde_dtype_text(dtype)), ronde_cell_us(point->time_ns),
        ronde_cell_rate(point->algbw_GBps),       ronde_cell_text(point->limit),
    };
    ronde_table_row(file, &table, cells);
}

static struct ronde_field rate_field(const char *name, double GBps)
{
    return isfinite(GBps) ? ronde_field_real(name, GBps) : ronde_field_null(name);
}

static enum ronde_status print_row(const struct ronde_bound *bound, const struct point *point,
                                   const struct ronde_options *options, struct ronde_sink *sink,
                                   struct ronde_error *error)
{
    char exact[64] = "";
    if (bound->denominator > 0)
        snprintf(exact, sizeof exact, "%" PRIu64 "/%" PRIu64, bound->numerator, bound->denominator);
    const bool has_root = ronde_collective_traits(bound->collective)->has_root;
    const struct ronde_field fields[] = {
        ronde_field_text("kind", "bound"),
        ronde_field_text("collective", ronde_collective_text(bound->collective)),
        ronde_field_integer("ranks", bound->ranks),
        ronde_field_integer("bytes", point->bytes),
        ronde_field_integer("count", point->count),
        ronde_field_text("dtype", ronde_dtype_text(options->dtype)),
        has_root ? ronde_field_integer("root", bound->root) : ronde_field_null("root"),
        ronde_field_real("time_ns", point->time_ns),
        ronde_field_real("algbw_GBps", point->algbw_GBps),
        rate_field("bound_GBps", bound->GBps),
        ronde_field_text("bound_exact", exact[0] ? exact : NULL),
        rate_field("certain_GBps", bound->certain_GBps),
        ronde_field_boolean("tight", bound->is_tight),
        ronde_field_real("latency_ns", bound->latency_ns),
        ronde_field_text("limit", point->limit),
        ronde_field_text("cut", bound->cut[0] ? bound->cut : NULL),
        bound->cut[0] ? ronde_field_integer("cut_ranks", bound->cut_ranks)
                      : ronde_field_null("cut_ranks"),
        bound->cut[0] ? ronde_field_real("cut_GBps", bound->cut_GBps) : ronde_field_null("cut_GBps"),
        ronde_field_text("version", RONDE_VERSION),
    };
    const struct ronde_row row = {fields, sizeof fields / sizeof fields[0]};
    return ronde_sink_row(sink, &row, error);
}

static enum ronde_status print_sizes(const struct ronde_options *options,
                                     const struct ronde_bound *bound, struct ronde_sink *sink,
                                     struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    uint64_t bytes = options->min_bytes, last = UINT64_MAX;
    do {
        const struct point point = point_of(options, bound, bytes);
        if (point.count != last && ronde_sink_is_table(sink))
            print_point(&point, options->dtype, sink->file);
        else if (point.count != last)
            status = print_row(bound, &point, options, sink, error);
        last = point.count;
        bytes = ronde_options_next_size(options, bytes);
    } while (status == RONDE_OK && bytes != 0);
    return status;
}

int ronde_cmd_bound(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct ronde_platform *platform = NULL;
    struct ronde_compile_request request;
    struct ronde_bound bound;
    struct ronde_sink sink = {0};
    enum ronde_status status = ronde_open_platform(options, &platform, &error);
    if (status == RONDE_OK)
        status = ronde_open_request(options, &request, &error);
    if (status == RONDE_OK)
        status = ronde_bound_find(platform, &request, ronde_mem_default(), &bound, &error);
    if (status == RONDE_OK)
        status = ronde_sink_open(options, &sink, &error);
    if (status == RONDE_OK && ronde_sink_is_table(&sink))
        print_head(&bound, platform, sink.file);
    if (status == RONDE_OK)
        status = print_sizes(options, &bound, &sink, &error);
    if (sink.file && ronde_sink_close(&sink, &error) != RONDE_OK)
        status = error.status;
    ronde_platform_destroy(platform);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}
