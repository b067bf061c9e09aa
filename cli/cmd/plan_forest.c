/* Synthesised schedules beside a plan. See plan_forest.h. */
#include "plan_forest.h"

#include "cli/print/table.h"

#include "ronde/synthesize.h"

#include <inttypes.h>
#include <math.h>

/* A row and what was made for it. */
struct weighed {
    const struct ronde_plan *plan;
    const struct ronde_plan_row *row;
    const struct ronde_synthesis *made;
    double best_ns; /* of the plan's winner */
};

static const char *winner_of(const struct weighed *weighed)
{
    return weighed->plan->selector->choice.candidates[weighed->row->decision.best].request.algorithm;
}

/* What decides, in words. */
static void say_why(const struct weighed *weighed, char *text, size_t bytes)
{
    const struct ronde_plan *plan = weighed->plan;
    const struct ronde_schedule *other =
        plan->selector->choice.candidates[weighed->row->decision.best].schedule;
    const struct ronde_synthesis *made = weighed->made;
    const double bound_ns = ronde_bound_ns(&made->bound, (double)weighed->row->bytes);
    const bool is_faster = made->time_ns < weighed->best_ns;
    if (bound_ns > made->bound.latency_ns && isfinite(made->bound.GBps))
        snprintf(text, bytes,
                 "its busiest link allows %.0f%% of the bound, %u messages in a row to %u",
                 100 * made->GBps / made->bound.GBps, made->height, other->proof.critical_path);
    else
        snprintf(text, bytes, "%u messages in a row to %u%s", made->height,
                 other->proof.critical_path,
                 is_faster || made->height > other->proof.critical_path
                     ? ""
                     : ", but more of them at once");
}

static enum ronde_status print_one(const struct weighed *weighed, struct ronde_sink *sink,
                                   struct ronde_error *error)
{
    char why[160];
    const struct ronde_synthesis *made = weighed->made;
    const double ratio = made->time_ns > 0 ? weighed->best_ns / made->time_ns : 0;
    const double share =
        made->time_ns > 0 ? ronde_bound_ns(&made->bound, (double)weighed->row->bytes) / made->time_ns
                          : 0;
    say_why(weighed, why, sizeof why);
    if (ronde_sink_is_table(sink)) {
        fprintf(sink->file,
                "# %" PRIu64 " B: %s %s us, %.1f%% of the bound, %s by x%.2f than %s: %s\n",
                weighed->row->bytes, RONDE_SYNTHESIZED, ronde_cell_us(made->time_ns).text,
                100 * share, ratio >= 1 ? "faster" : "slower", ratio >= 1 ? ratio : 1 / ratio,
                winner_of(weighed), why);
        return RONDE_OK;
    }
    const struct ronde_field fields[] = {
        ronde_field_text("kind", "synthesised"),
        ronde_field_integer("bytes", weighed->row->bytes),
        ronde_field_text("algorithm", RONDE_SYNTHESIZED),
        ronde_field_real("time_ns", made->time_ns),
        ronde_field_real("bound_share", share),
        ronde_field_integer("trees", made->trees),
        ronde_field_integer("messages", made->height),
        ronde_field_integer("connections", made->connections),
        ronde_field_text("against", winner_of(weighed)),
        ronde_field_real("against_ns", weighed->best_ns),
        ronde_field_text("why", why),
    };
    const struct ronde_row row = {fields, sizeof fields / sizeof fields[0]};
    return ronde_sink_row(sink, &row, error);
}

enum ronde_status ronde_plan_forest_print(const struct ronde_plan *plan, struct ronde_sink *sink,
                                          struct ronde_error *error)
{
    const struct ronde_platform *platform = plan->selector->platform_pricer.platform;
    const struct ronde_compile_request *asked = &plan->selector->choice.candidates[0].request;
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; status == RONDE_OK && i < plan->row_count; i++) {
        const struct ronde_plan_row *row = &plan->rows[i];
        const struct ronde_synthesis_request request = {.collective = asked->collective,
                                                        .ranks = asked->ranks,
                                                        .root = asked->root,
                                                        .bytes = row->bytes > 0 ? row->bytes : 1,
                                                        .is_of_trees = true};
        struct ronde_synthesis made;
        struct ronde_schedule *schedule = NULL;
        status = ronde_synthesize(platform, &request, ronde_mem_default(), &schedule, &made, error);
        const struct weighed weighed = {plan, row, &made, row->quotes[row->decision.best].time_ns};
        if (status == RONDE_OK)
            status = print_one(&weighed, sink, error);
        ronde_schedule_destroy(schedule);
    }
    return status;
}
