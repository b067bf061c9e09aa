/* ronde sim and ronde price: predictions of one schedule, size by size. */
#include "cli/options/lab_options.h"
#include "cli/options/schedule_file.h"
#include "cli/options/tune_options.h"
#include "cli/print/report.h"
#include "cli/print/table.h"
#include "cli/print/view.h"
#include "commands.h"
#include "nccl_style.h"

#include "ronde/pieces.h"
#include "ronde/setup.h"
#include "ronde/synthesize.h"

#include <inttypes.h>
#include <string.h>

/* What both commands hold. The second half is made anew for each placement of the ranks. */
struct session {
    const struct ronde_options *options;
    struct ronde_tune_options how; /* the same as predict/ takes it */
    struct ronde_platform *platform;
    struct ronde_compile_request request; /* before ranks are placed */
    struct ronde_schedule *given;         /* from a file, the same for all placements; else NULL */
    struct ronde_placements placements;
    struct ronde_scenario scenario;
    bool has_scenario;
    struct ronde_sink sink;

    struct ronde_selector selector; /* where no algorithm was named; made anew for each placement */
    struct ronde_candidate own;     /* where one was */
    const struct ronde_candidate *is; /* what is predicted: own, or what was chosen; NULL before */
    struct ronde_bound_share share;   /* of what is predicted, where it is known */
    struct ronde_forecast forecast;
    struct ronde_co_run co_run;
    bool is_whole; /* beside others: one piece where no slot is given */
    bool is_last_placement;
    bool is_last; /* no size and no placement follow: pictures show this one */
};

/*
 * Times are kept where something asks for them: an explanation, a picture of the last size. Where keeping them is
 * impossible (too many steps, routes that only SimGrid knows) the time is still worth having.
 */
static enum ronde_status find_view(struct session *session, struct ronde_result_view *view,
                                   struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    const bool has_picture = session->is_last && (options->trace || options->timeline);
    struct ronde_error why_not = {RONDE_OK, 0, ""};
    enum ronde_status status = RONDE_UNSUPPORTED;
    if (view->co_run)
        status = ronde_co_run_run(&session->co_run, &session->forecast, session->options->engine,
                                  &view->record, &view->kept, error);
    else if (options->why || has_picture)
        status = ronde_record_keep(&session->forecast, options->engine, &view->record, &view->kept,
                                   &why_not);
    view->is_kept = status == RONDE_OK && view->kept.on_path;
    view->result = view->kept.result;
    if (view->co_run && status == RONDE_OK && !view->is_kept && (options->why || has_picture))
        ronde_note("no explanation and no picture: too many steps to keep their times");
    if (view->co_run || status == RONDE_OK)
        return status;
    if (status != RONDE_UNSUPPORTED)
        return ronde_fail(error, status, "%s", why_not.message);
    if (why_not.status != RONDE_OK)
        ronde_note("no explanation and no picture: %s", why_not.message);
    return ronde_record_replay(&session->forecast, options->engine, &view->record, &view->result,
                               error);
}

/* As a plan calls it: schedules made for a machine are all of one algorithm. */
static void name_record(const struct session *session, struct ronde_record *record)
{
    if (!session->given)
        record->algorithm = session->is->request.algorithm;
}

/* One size replayed. */
static enum ronde_status sim_size(struct session *session, struct ronde_error *error)
{
    struct ronde_result_view view = {.says_why = session->options->why,
                                     .co_run = session->has_scenario ? &session->co_run : NULL,
                                     .share = &session->share};
    enum ronde_status status = find_view(session, &view, error);
    char label[RONDE_SETUP_LABEL_BYTES];
    name_record(session, &view.record);
    if (status == RONDE_OK && ronde_candidate_label(session->is, label)[0])
        ronde_record_label(&view.record, label);
    if (status == RONDE_OK)
        status = ronde_view_print(&view, &session->sink, error);
    if (status == RONDE_OK && view.is_kept && session->is_last)
        status = ronde_view_draw(&view, session->options, error);
    ronde_kept_release(&view.kept);
    return status;
}

/* One size priced twice: by formula and by the longest path. */
static enum ronde_status price_size(struct session *session, struct ronde_error *error)
{
    struct ronde_result_view view = {.is_kept = false, .share = &session->share};
    enum ronde_status status = RONDE_OK;
    /* A formula belongs to an algorithm; a schedule from a file has none, nor has one that was made for the machine. */
    if (session->is->algorithm)
        status = ronde_record_closed_form(&session->forecast, &view.record, error);
    if (status == RONDE_OK && session->is->algorithm)
        status = ronde_view_print(&view, &session->sink, error);
    if (status == RONDE_OK)
        status = ronde_record_dag(&session->forecast, &view.record, error);
    name_record(session, &view.record);
    return status == RONDE_OK ? ronde_view_print(&view, &session->sink, error) : status;
}

/* What was replayed or priced, on what. */
static void print_head(const struct session *session)
{
    const struct ronde_schedule *schedule = session->is->schedule;
    const struct ronde_platform_facts *facts = ronde_platform_facts(session->platform);
    const uint64_t slot_bytes = session->forecast.slot_bytes;
    const bool is_cut = !session->is_whole && (ronde_is_chosen(session->options) ||
                                               ronde_schedule_is_pipelined(schedule));
    const char *unlimited = is_cut ? "as NCCL's by size (--slot sets them)" : "unlimited";
    FILE *file = session->sink.file;
    fprintf(file, "# ronde %s: %s %s, %u ranks on %s (%s), slot bytes %s", RONDE_VERSION,
            ronde_collective_text(schedule->collective),
            ronde_is_auto(session->options) ? "auto" : schedule->algorithm, schedule->ranks,
            facts->name, ronde_platform_path(session->platform),
            slot_bytes ? ronde_cell_size(slot_bytes).text : unlimited);
    /* Of a choice every size may have another schedule. */
    if (!ronde_is_chosen(session->options))
        fprintf(file, ", schedule %016" PRIx64, schedule->hash);
    fputs("\n#\n", file);
    ronde_view_head(&session->sink);
}

/* What is asked for, by name or as a file. */
static enum ronde_status find_request(struct session *session, struct ronde_error *error)
{
    if (ronde_is_chosen(session->options))
        return ronde_open_request(session->options, &session->request, error);
    if (!ronde_is_schedule_file(session->options))
        return ronde_single_request(session->options, &session->request, error);
    const enum ronde_status status =
        ronde_schedule_file_read(session->options, NULL, NULL, &session->given, error);
    if (status == RONDE_OK)
        session->request = ronde_schedule_file_request(session->given);
    return status;
}

/* The file is read before compiling: a bad path is found at once, at any number of ranks. */
static enum ronde_status open_session(struct session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    enum ronde_status status = find_request(session, error);
    if (status == RONDE_OK)
        status = ronde_placements_parse(options->placement, &session->placements, error);
    if (status == RONDE_OK)
        status = ronde_scenario_of(options, &session->scenario, error);
    session->has_scenario = !ronde_scenario_is_empty(&session->scenario);
    /* What --degrade scales is part of the scenario. */
    return status == RONDE_OK ? ronde_open_healthy_platform(options, &session->platform, error)
                              : status;
}

static void close_session(struct session *session)
{
    ronde_scenario_free(&session->scenario);
    ronde_platform_destroy(session->platform);
    ronde_schedule_destroy(session->given);
}

/* Makes ready what is predicted next, and what else happens. */
static enum ronde_status
open_forecast(struct session *session, const struct ronde_candidate *candidate,
              const struct ronde_forecast *forecast, struct ronde_error *error)
{
    session->is = candidate;
    session->forecast = *forecast;
    /* What else happens in a scenario takes links from what the bound is of. */
    session->share = (struct ronde_bound_share){.is_known = false};
    if (!session->has_scenario)
        session->share =
            ronde_bound_share_find(session->platform, &candidate->request, candidate->host_of);
    /* Beside others all algorithms are whole; trees made for a machine are nothing without pieces. */
    session->is_whole =
        session->has_scenario && strcmp(candidate->schedule->algorithm, RONDE_SYNTHESIZED) != 0;
    enum ronde_status status = ronde_sim_check_engine(session->platform, session->options->engine,
                                                      &session->forecast.sim, error);
    if (status == RONDE_OK)
        status = ronde_forecast_check(&session->forecast, error);
    if (status == RONDE_OK && session->has_scenario)
        status = ronde_co_run_open(&session->scenario, &session->forecast, &session->co_run, error);
    return status;
}

/* An algorithm by name, or a schedule from a file, which keeps its own order unless it is asked to be laid. */
static enum ronde_status open_algorithm(struct session *session, struct ronde_error *error)
{
    const struct ronde_setup setup = {.platform = session->platform,
                                      .request = session->request,
                                      .given = session->given,
                                      .is_placed = session->how.is_placed,
                                      .placement = session->how.placement};
    const enum ronde_status status =
        ronde_candidate_open(&setup, ronde_mem_default(), &session->own, error);
    if (status != RONDE_OK)
        return status;
    const struct ronde_forecast forecast =
        ronde_candidate_forecast(&session->own, session->platform, &session->how);
    return open_forecast(session, &session->own, &forecast, error);
}

static enum ronde_status open_chooser(struct session *session, struct ronde_error *error)
{
    struct ronde_compile_request plain = session->request;
    enum ronde_status status = ronde_selector_open(&session->how, &plain, &session->selector, error);
    if (status == RONDE_OK)
        status = ronde_selector_rely(&session->selector, session->platform, NULL, 0, error);
    /* The engine asked for replays what is chosen; comparing a dozen algorithms is for what suits the platform. */
    session->selector.platform_pricer.engine = NULL;
    return status;
}

static void close_placement(struct session *session)
{
    ronde_co_run_close(&session->co_run);
    ronde_candidate_close(&session->own, ronde_mem_default());
    ronde_selector_close(&session->selector);
    session->is = NULL;
}

/* Results are opened when nothing can be refused any more: what stood in the file is then gone. */
static enum ronde_status open_sink(struct session *session, struct ronde_error *error)
{
    const enum ronde_status status = ronde_sink_open(session->options, &session->sink, error);
    if (status == RONDE_OK && ronde_sink_is_table(&session->sink))
        print_head(session);
    return status;
}

/* The best at a size; what was chosen is said where it changes. */
static enum ronde_status choose(struct session *session, uint64_t count, struct ronde_error *error)
{
    struct ronde_decision decision;
    char text[RONDE_DECISION_BYTES];
    enum ronde_status status = ronde_selector_decide(&session->selector, count, &decision, error);
    if (status != RONDE_OK)
        return status;
    const struct ronde_candidate *best = &session->selector.choice.candidates[decision.best];
    const struct ronde_forecast forecast = ronde_decision_forecast(&session->selector, &decision);
    const bool is_other = session->is != best;
    if (is_other) {
        ronde_co_run_close(&session->co_run);
        status = open_forecast(session, best, &forecast, error);
    }
    session->forecast = forecast;
    if (status == RONDE_OK && !session->sink.file)
        status = open_sink(session, error);
    if (status == RONDE_OK && is_other && ronde_sink_is_table(&session->sink)) {
        ronde_selector_say(&session->selector, &decision, text, sizeof text);
        fprintf(session->sink.file, "# algorithm %s\n", text);
    }
    return status;
}

static uint64_t count_of(const struct session *session, uint64_t bytes)
{
    return ronde_record_count(session->request.collective, session->request.ranks, bytes,
                              session->options->dtype);
}

/* Sizes that come to the same number of elements are one. */
static uint64_t next_bytes(const struct session *session, uint64_t bytes)
{
    const uint64_t count = count_of(session, bytes);
    do
        bytes = ronde_options_next_size(session->options, bytes);
    while (bytes != 0 && count_of(session, bytes) == count);
    return bytes;
}

static enum ronde_status
walk_sizes(struct session *session,
           enum ronde_status (*one_size)(struct session *, struct ronde_error *),
           struct ronde_error *error)
{
    uint64_t bytes = session->options->min_bytes;
    enum ronde_status status = RONDE_OK;
    do {
        const uint64_t next = next_bytes(session, bytes), count = count_of(session, bytes);
        session->is_last = next == 0 && session->is_last_placement;
        if (ronde_is_chosen(session->options))
            status = choose(session, count, error);
        if (session->is_whole)
            session->forecast.load.count = count;
        else if (status == RONDE_OK)
            ronde_forecast_set_count(&session->forecast, count);
        if (status == RONDE_OK)
            status = one_size(session, error);
        bytes = next;
    } while (status == RONDE_OK && bytes != 0);
    return status;
}

/* Where nobody chooses size by size, everything that can be refused is refused before anything is printed. */
static enum ronde_status open_placement(struct session *session, struct ronde_error *error)
{
    if (ronde_is_chosen(session->options))
        return open_chooser(session, error);
    enum ronde_status status = open_algorithm(session, error);
    if (status == RONDE_OK && !session->sink.file)
        status = open_sink(session, error);
    return status;
}

/* Both commands are this walk; they differ in what they do with a size. */
static enum ronde_status
walk_placements(struct session *session,
                enum ronde_status (*one_size)(struct session *, struct ronde_error *),
                struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < session->placements.count && status == RONDE_OK; i++) {
        session->is_last_placement = i + 1 == session->placements.count;
        session->how.is_placed = session->options->placement != NULL;
        session->how.placement = session->placements.list[i];
        status = open_placement(session, error);
        if (status == RONDE_OK)
            status = walk_sizes(session, one_size, error);
        close_placement(session);
    }
    return status;
}

static int predict(const struct ronde_options *options,
                   enum ronde_status (*one_size)(struct session *, struct ronde_error *))
{
    struct ronde_error error = {0};
    struct session session = {.options = options, .how = ronde_tune_options_of(options)};
    enum ronde_status status = open_session(&session, &error);
    if (status == RONDE_OK)
        status = walk_placements(&session, one_size, &error);
    if (session.sink.file && ronde_sink_close(&session.sink, &error) != RONDE_OK)
        status = error.status;
    close_session(&session);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}

int ronde_cmd_sim(const struct ronde_options *options)
{
    return options->style ? ronde_nccl_style(options, false) : predict(options, sim_size);
}

int ronde_cmd_price(const struct ronde_options *options)
{
    return predict(options, price_size);
}
