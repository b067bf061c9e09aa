/* A replayed step, for people and for programs. See results.h. */
#include "results.h"

#include "cli/html/html.h"

#include <math.h>

static const struct ronde_column columns[] = {
    {"groups", "groups", "", RONDE_CELL_PLAIN, 8, false},
    {"collective", "collective", "", RONDE_CELL_PLAIN, 14, false},
    {"bytes", "size", "(B)", RONDE_CELL_PLAIN, 10, false},
    {"ranks", "ranks", "", RONDE_CELL_PLAIN, 5, false},
    {"calls", "calls", "", RONDE_CELL_PLAIN, 6, false},
    {"algorithm", "algorithm", "", RONDE_CELL_PLAIN, 24, false},
    {"alone_ns", "alone", "(us)", RONDE_CELL_NS, 8, false},
    {"mean_ns", "in step", "(us)", RONDE_CELL_NS, 8, false},
    {"path_ns", "on path", "(us)", RONDE_CELL_NS, 8, false},
};
static const struct ronde_table table = RONDE_TABLE(columns);

/* Where other algorithms were tried. */
static const struct ronde_column what_if_columns[] = {
    {"groups", "groups", "", RONDE_CELL_PLAIN, 8, false},
    {"collective", "collective", "", RONDE_CELL_PLAIN, 14, false},
    {"bytes", "size", "(B)", RONDE_CELL_PLAIN, 10, false},
    {"ranks", "ranks", "", RONDE_CELL_PLAIN, 5, false},
    {"calls", "calls", "", RONDE_CELL_PLAIN, 6, true},
    {"algorithm", "algorithm", "", RONDE_CELL_PLAIN, 20, false},
    {"alone_ns", "alone", "(us)", RONDE_CELL_NS, 8, true},
    {"mean_ns", "in step", "(us)", RONDE_CELL_NS, 8, true},
    {"path_ns", "on path", "(us)", RONDE_CELL_NS, 8, false},
    {"better", "what if", "", RONDE_CELL_PLAIN, 16, false},
    {"saves_ns", "saves", "(us)", RONDE_CELL_SAVING, 8, false},
};
static const struct ronde_table what_if_table = RONDE_TABLE(what_if_columns);

static double percent(double part_ns, const struct ronde_workload_result *result)
{
    return result->time_ns > 0 ? 100 * part_ns / result->time_ns : 0;
}

static void print_ranks(const struct ronde_workload_result *result, FILE *file)
{
    fprintf(file,
            "# ranks    compute %.1f%%, exposed communication %.1f%%, idle %.1f%% of the step "
            "(mean)\n",
            percent(result->mean.compute_ns, result), percent(result->mean.exposed_ns, result),
            percent(result->mean.idle_ns, result));
    fprintf(file, "# most     exposed is rank %u: compute %.1f%%, exposed %.1f%%, idle %.1f%%\n",
            result->worst_rank, percent(result->worst.compute_ns, result),
            percent(result->worst.exposed_ns, result), percent(result->worst.idle_ns, result));
}

/* Families that take no part of anything are left out. */
static void print_families(const struct ronde_workload_result *result, FILE *file)
{
    fprintf(file, "# exposed %s", result->mean.exposed_ns > 0 ? "" : " nothing");
    for (uint32_t f = 0; f < result->family_count; f++)
        if (result->families[f].exposed_ns > 0)
            fprintf(file, " %s %.1f%%", result->families[f].name,
                    percent(result->families[f].exposed_ns, result));
    fprintf(file, "\n# path      compute %.1f%%", percent(result->path_compute_ns, result));
    for (uint32_t f = 0; f < result->family_count; f++)
        if (result->families[f].path_ns > 0)
            fprintf(file, " %s %.1f%%", result->families[f].name,
                    percent(result->families[f].path_ns, result));
    fputs("\n", file);
}

static void print_head(const struct ronde_workload_report *report, const struct ronde_sink *sink)
{
    const struct ronde_workload_result *result = report->result;
    FILE *file = sink->file;
    fprintf(file, "# ronde %s: %s, %u ranks on %s (%s)\n", RONDE_VERSION, report->path,
            report->workload->ranks, ronde_platform_facts(report->platform)->name,
            ronde_platform_path(report->platform));
    if (report->is_nccl)
        fputs("# calls    as NCCL executes each of them alone, a model "
              "(docs/results/validation-nccl.md): those under way at once do not slow each other\n",
              file);
    else
        fprintf(file, "# calls    by schedules of ronde, replayed: %s where they name none\n",
                report->algorithm ? report->algorithm : "the fastest alone of each kind");
    fprintf(file, "# step     %.3f us, simulated by %s%s: %u items, %u operations\n",
            result->time_ns / 1e3, result->engine,
            result->is_contention_free ? "" : " (contention ignored)", report->workload->work_count,
            result->ops);
    print_ranks(result, file);
    print_families(result, file);
    if (result->busiest_link[0])
        fprintf(file, "# busiest  link %s, used %.0f%%\n", result->busiest_link,
                100 * result->busiest_utilisation);
    fputs("#\n", file);
    if (result->call_count > 0)
        ronde_sink_head(sink, report->has_alternatives ? &what_if_table : &table);
}

static enum ronde_status print_step(const struct ronde_workload_report *report,
                                    struct ronde_sink *sink, struct ronde_error *error)
{
    const struct ronde_workload_result *result = report->result;
    const struct ronde_field fields[] = {
        ronde_field_text("kind", "step"),
        ronde_field_text("workload", report->path),
        ronde_field_text("topology", ronde_platform_path(report->platform)),
        ronde_field_integer("ranks", report->workload->ranks),
        ronde_field_integer("items", report->workload->work_count),
        ronde_field_integer("operations", result->ops),
        ronde_field_text("calls_by", report->is_nccl ? "nccl" : "ronde"),
        ronde_field_text("source", "simulated"),
        ronde_field_text("engine", result->engine),
        ronde_field_boolean("contention_ignored", !result->is_contention_free),
        ronde_field_real("time_ns", result->time_ns),
        ronde_field_real("compute_ns", result->mean.compute_ns),
        ronde_field_real("exposed_ns", result->mean.exposed_ns),
        ronde_field_real("idle_ns", result->mean.idle_ns),
        ronde_field_integer("worst_rank", result->worst_rank),
        ronde_field_real("worst_exposed_ns", result->worst.exposed_ns),
        ronde_field_real("path_compute_ns", result->path_compute_ns),
        ronde_field_text("busiest_link", result->busiest_link[0] ? result->busiest_link : NULL),
        ronde_field_real("busiest_utilisation", result->busiest_utilisation),
        ronde_field_text("version", RONDE_VERSION),
    };
    return ronde_sink_row(sink, &RONDE_ROW(fields), error);
}

static enum ronde_status print_family(const struct ronde_workload_family *family,
                                      struct ronde_sink *sink, struct ronde_error *error)
{
    const struct ronde_field fields[] = {
        ronde_field_text("kind", "family"),
        ronde_field_text("groups", family->name),
        ronde_field_real("exposed_ns", family->exposed_ns),
        ronde_field_real("path_ns", family->path_ns),
    };
    return ronde_sink_row(sink, &RONDE_ROW(fields), error);
}

static enum ronde_status print_call(const struct ronde_workload_report *report,
                                    const struct ronde_workload_call *call, struct ronde_sink *sink,
                                    struct ronde_error *error)
{
    const struct ronde_field fields[] = {
        ronde_field_text("kind", "call"),
        ronde_field_text("groups", call->family),
        ronde_field_text("collective", ronde_collective_text(call->collective)),
        ronde_field_integer("bytes", call->bytes),
        ronde_field_integer("ranks", call->ranks),
        ronde_field_integer("calls", call->count),
        ronde_field_text("algorithm", call->algorithm),
        ronde_field_real("alone_ns", call->alone_ns),
        ronde_field_real("mean_ns", call->mean_ns),
        ronde_field_real("path_ns", call->path_ns),
        ronde_field_text("better", call->better),
        ronde_field_real("better_step_ns", call->better ? call->better_ns : NAN),
        ronde_field_real("saves_ns", call->better ? report->result->time_ns - call->better_ns : NAN),
    };
    return ronde_sink_print(sink, report->has_alternatives ? &what_if_table : &table,
                            &RONDE_ROW(fields), error);
}

enum ronde_status ronde_workload_print(const struct ronde_workload_report *report,
                                       struct ronde_sink *sink, struct ronde_error *error)
{
    const struct ronde_workload_result *result = report->result;
    enum ronde_status status = RONDE_OK;
    if (ronde_sink_is_table(sink))
        print_head(report, sink);
    /* A CSV has rows of one kind: those of calls. */
    if (sink->json)
        status = print_step(report, sink, error);
    for (uint32_t f = 0; sink->json && f < result->family_count && status == RONDE_OK; f++)
        status = print_family(&result->families[f], sink, error);
    for (uint32_t c = 0; c < result->call_count && status == RONDE_OK; c++)
        status = print_call(report, &result->calls[c], sink, error);
    ronde_answer_workload(sink->html, report);
    return status == RONDE_OK ? ronde_workload_page(report, sink->html, error) : status;
}
