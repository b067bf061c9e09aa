/* ronde sim: predictions of one schedule, size by size, replayed or priced. */
#include "cli/draw/gnuplot.h"
#include "cli/options/option_groups.h"
#include "cli/options/requests.h"
#include "cli/options/topology.h"
#include "cli/print/printer.h"
#include "cli/print/report.h"
#include "cli/print/results.h"
#include "commands.h"
#include "styles.h"

#include "ronde/pieces.h"
#include "ronde/setup.h"
#include "ronde/synthesize.h"

#include <inttypes.h>
#include <string.h>

/* The command's own options. */
struct sim_options {
    struct ronde_scenario_options scenario; /* what else happens */
    struct ronde_views_options views;       /* --why, --trace, --timeline */
    bool steps;                             /* --steps */
};

static const struct sim_options *own_of(const struct ronde_options *options)
{
    return options->own;
}

/* What both commands hold. The second half is made anew for each placement of the ranks. */
struct session {
    const struct ronde_options *options;
    struct ronde_tune_options how;        /* the same as predict/ takes it */
    struct ronde_invocation *call;        /* has the platform and the sink */
    struct ronde_compile_request request; /* before ranks are placed */
    struct ronde_schedule *given;         /* from a file, the same for all placements; else NULL */
    struct ronde_placements placements;
    struct ronde_scenario scenario;
    struct ronde_platform *healthy; /* the machine without links that are slow; NULL = none is */
    bool has_scenario;
    struct ronde_curves curves; /* of --plot */

    struct ronde_selector selector; /* where no algorithm was named; made anew for each placement */
    struct ronde_candidate own;     /* where one was */
    const struct ronde_candidate *is; /* what is predicted: own, or what was chosen; NULL before */
    struct ronde_bound_share share;   /* of what is predicted, where it is known */
    struct ronde_forecast forecast;
    struct ronde_co_run co_run;
    uint32_t placement_index;
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
    const struct ronde_views_options *views = &own_of(options)->views;
    const bool keeps = views->why || (session->is_last &&
                                      (views->trace || views->timeline || options->output.html));
    struct ronde_error why_not = {RONDE_OK, 0, ""};
    enum ronde_status status = RONDE_UNSUPPORTED;
    if (view->co_run)
        status =
            ronde_co_run_run(&session->co_run, &session->forecast, session->options->engine.name,
                             keeps, &view->record, &view->kept, error);
    else if (keeps)
        status = ronde_record_keep(&session->forecast, options->engine.name, &view->record,
                                   &view->kept, &why_not);
    view->is_kept = status == RONDE_OK && view->kept.on_path;
    view->result = view->kept.result;
    if (view->co_run && status == RONDE_OK && !view->is_kept && keeps)
        ronde_note("no explanation and no picture: too many steps to keep their times");
    if (view->co_run || status == RONDE_OK)
        return status;
    if (status != RONDE_UNSUPPORTED)
        return ronde_fail(error, status, "%s", why_not.message);
    if (why_not.status != RONDE_OK)
        ronde_note("no explanation and no picture: %s", why_not.message);
    return ronde_record_replay(&session->forecast, options->engine.name, &view->record,
                               &view->result, error);
}

/* As a plan calls it: schedules made for a machine are all of one algorithm. */
static void name_record(const struct session *session, struct ronde_record *record)
{
    if (!session->given)
        record->algorithm = session->is->request.algorithm;
}

/* A size in the picture. What has a machine's own algorithm at each size is one curve; a file's schedule is called as the file. */
static enum ronde_status draw_record(struct session *session, const struct ronde_record *record,
                                     struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    const char *slash = session->given ? strrchr(options->arguments[0], '/') : NULL;
    const char *name = slash                    ? slash + 1
                       : session->given         ? options->arguments[0]
                       : ronde_is_auto(options) ? "auto"
                                                : record->algorithm;
    char text[96];
    snprintf(text, sizeof text, "%s%s%s, %s", name, session->placements.count > 1 ? ", " : "",
             session->placements.count > 1 ? ronde_placement_text(session->how.placement) : "",
             record->engine);
    return options->output.plot ? ronde_curves_add_record(&session->curves, record, text, error)
                                : RONDE_OK;
}

static enum ronde_status draw(struct session *session, struct ronde_error *error)
{
    char title[256];
    snprintf(title, sizeof title, "How fast is %s on %s, size by size? (simulated)",
             ronde_collective_text(session->request.collective),
             ronde_platform_facts(session->call->platform)->name);
    return session->options->output.plot ? ronde_curves_plot(&session->curves, title, NULL,
                                                             session->options->output.plot, error)
                                         : RONDE_OK;
}

/* One size replayed. */
static enum ronde_status sim_size(struct session *session, struct ronde_error *error)
{
    struct ronde_result_view view = {.says_why = own_of(session->options)->views.why,
                                     .co_run = session->has_scenario ? &session->co_run : NULL,
                                     .share = &session->share};
    enum ronde_status status = find_view(session, &view, error);
    char label[RONDE_SETUP_LABEL_BYTES];
    name_record(session, &view.record);
    if (status == RONDE_OK && ronde_candidate_label(session->is, label)[0])
        ronde_record_label(&view.record, label);
    RONDE_THEN(status, ronde_view_print(&view, &session->call->sink, error));
    RONDE_THEN(status, draw_record(session, &view.record, error));
    if (status == RONDE_OK && view.is_kept && session->is_last)
        status = ronde_view_draw(&view, &own_of(session->options)->views, error);
    if (status == RONDE_OK && session->is_last)
        status = ronde_view_page(&view, session->call->sink.html, error);
    ronde_kept_release(&view.kept);
    return status;
}

/* One size priced twice: by formula and by the longest path. */
static enum ronde_status price_size(struct session *session, struct ronde_error *error)
{
    struct ronde_result_view view = {.is_kept = false, .share = &session->share};
    enum ronde_status status = RONDE_OK;
    /* A formula belongs to an algorithm; a schedule from a file has none, nor has one that was made for the machine. */
    if (session->is->algorithm) {
        status = ronde_record_closed_form(&session->forecast, &view.record, error);
        RONDE_THEN(status, ronde_view_print(&view, &session->call->sink, error));
        RONDE_THEN(status, draw_record(session, &view.record, error));
    }
    RONDE_THEN(status, ronde_record_dag(&session->forecast, &view.record, error));
    name_record(session, &view.record);
    RONDE_THEN(status, ronde_view_print(&view, &session->call->sink, error));
    RONDE_THEN(status, draw_record(session, &view.record, error));
    return status == RONDE_OK ? ronde_view_page(&view, session->call->sink.html, error) : status;
}

/* What was replayed or priced, on what. */
static void print_head(const struct session *session)
{
    const struct ronde_schedule *schedule = session->is->schedule;
    const struct ronde_platform_facts *facts = ronde_platform_facts(session->call->platform);
    const uint64_t slot_bytes = session->forecast.slot_bytes;
    const bool is_cut = ronde_is_chosen(session->options) || ronde_schedule_is_pipelined(schedule);
    const char *unlimited = is_cut ? "as NCCL's by size (--slot sets them)" : "unlimited";
    char hash[32] = "";
    /* Of a choice every size may have another schedule. */
    if (!ronde_is_chosen(session->options))
        snprintf(hash, sizeof hash, ", schedule %016" PRIx64, schedule->hash);
    ronde_sink_say(&session->call->sink, "ronde %s: %s %s, %u ranks on %s (%s)", RONDE_VERSION,
                   ronde_collective_text(schedule->collective),
                   ronde_is_auto(session->options) ? "auto" : schedule->algorithm, schedule->ranks,
                   facts->name, ronde_platform_path(session->call->platform));
    ronde_sink_say(&session->call->sink, "slot bytes %s%s",
                   slot_bytes ? ronde_cell_size(slot_bytes).text : unlimited, hash);
    fputs("#\n", session->call->sink.file);
    ronde_view_head(&session->call->sink);
}

/* What is asked for, by name or as a file. */
static enum ronde_status find_request(struct session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    if (ronde_is_chosen(options))
        return ronde_open_request(options, session->call->platform, &session->request, error);
    if (!ronde_is_schedule_file(options))
        return ronde_single_request(options, session->call->platform, true, &session->request,
                                    error);
    RONDE_TRY(ronde_schedule_file_read(options, NULL, NULL, &session->given, error));
    session->request = ronde_schedule_file_request(session->given);
    return RONDE_OK;
}

/* The file is read before compiling, where a bad path is found at once. */
static enum ronde_status open_session(struct session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    const bool is_named = options->machine.topo;
    struct ronde_platform **platform = &session->call->platform;
    enum ronde_status status =
        ronde_scenario_of(&own_of(options)->scenario, &session->scenario, error);
    if (status == RONDE_OK && is_named)
        status =
            ronde_open_as_it_is(options, &session->scenario, platform, &session->healthy, error);
    RONDE_THEN(status, find_request(session, error));
    RONDE_THEN(status,
               ronde_placements_parse(options->engine.placement, &session->placements, error));
    session->has_scenario = session->healthy || !ronde_scenario_is_empty(&session->scenario);
    return status != RONDE_OK || is_named ? status : ronde_open_platform(options, platform, error);
}

static void close_session(struct session *session)
{
    ronde_curves_free(&session->curves);
    ronde_scenario_free(&session->scenario);
    ronde_schedule_destroy(session->given);
    ronde_platform_destroy(session->healthy);
}

/* What else happens beside the collective: its companions have the slots that were asked for, not one that was chosen. */
static enum ronde_status open_co_run(struct session *session, struct ronde_error *error)
{
    const struct ronde_platform *platform = session->call->platform;
    struct ronde_forecast forecast = session->forecast;
    forecast.slot_bytes = ronde_forecast_slot(platform, &session->how);
    return ronde_co_run_open(&session->scenario, session->healthy ? session->healthy : platform,
                             &forecast, &session->co_run, error);
}

/* Makes ready what is predicted next, and what else happens. */
static enum ronde_status
open_forecast(struct session *session, const struct ronde_candidate *candidate,
              const struct ronde_forecast *forecast, struct ronde_error *error)
{
    const struct ronde_platform *platform = session->call->platform;
    const struct ronde_scenario *scenario = &session->scenario;
    session->is = candidate;
    session->forecast = *forecast;
    session->share = (struct ronde_bound_share){.is_known = false};
    /* What runs beside it takes links from what the bound is of, and what is late is no part of it. */
    if (scenario->companion_count + scenario->background_count + scenario->straggler_count == 0)
        session->share = ronde_bound_share_find(platform, &candidate->request, candidate->host_of);
    RONDE_TRY(ronde_sim_check_engine(platform, session->options->engine.name,
                                     &session->forecast.sim, error));
    RONDE_TRY(ronde_forecast_check(&session->forecast, error));
    return session->has_scenario ? open_co_run(session, error) : RONDE_OK;
}

/* An algorithm by name, or a schedule from a file, which keeps its own order unless --placement names one. */
static enum ronde_status open_algorithm(struct session *session, struct ronde_error *error)
{
    const struct ronde_setup setup = {.platform = session->call->platform,
                                      .request = session->request,
                                      .given = session->given,
                                      .is_placed = session->how.is_placed,
                                      .placement = session->how.placement};
    RONDE_TRY(ronde_candidate_open(&setup, ronde_mem_default(), &session->own, error));
    const struct ronde_forecast forecast =
        ronde_candidate_forecast(&session->own, session->call->platform, &session->how);
    return open_forecast(session, &session->own, &forecast, error);
}

static enum ronde_status open_chooser(struct session *session, struct ronde_error *error)
{
    struct ronde_compile_request plain = session->request;
    enum ronde_status status = ronde_selector_open(&session->how, &plain, &session->selector, error);
    RONDE_THEN(status,
               ronde_selector_use(&session->selector, session->call->platform, NULL, 0, error));
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
    RONDE_TRY(ronde_sink_open(session->options, &session->call->sink, error));
    if (ronde_sink_is_table(&session->call->sink))
        print_head(session);
    return RONDE_OK;
}

/* By the engine that was asked for, where exact ones refuse. */
static enum ronde_status decide(struct session *session, uint64_t count,
                                struct ronde_decision *out_decision, struct ronde_error *error)
{
    struct ronde_selector *selector = &session->selector;
    const enum ronde_status status = ronde_selector_decide(selector, count, out_decision, error);
    if (status != RONDE_UNSUPPORTED || strcmp(session->options->engine.name, "auto") == 0)
        return status;
    selector->platform_pricer.engine = session->options->engine.name;
    const enum ronde_status again = ronde_selector_decide(selector, count, out_decision, error);
    selector->platform_pricer.engine = NULL;
    return again;
}

/* The best at a size; what was chosen is said where it changes. */
static enum ronde_status choose(struct session *session, uint64_t count, struct ronde_error *error)
{
    struct ronde_decision decision;
    char text[RONDE_DECISION_BYTES];
    enum ronde_status status = decide(session, count, &decision, error);
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
    if (status == RONDE_OK && !session->call->sink.file)
        status = open_sink(session, error);
    if (status == RONDE_OK && is_other && ronde_sink_is_table(&session->call->sink)) {
        ronde_selector_say(&session->selector, &decision, text, sizeof text);
        ronde_progress_hide();
        fprintf(session->call->sink.file, "# algorithm %s\n", text);
    }
    return status;
}

static uint64_t count_of(const struct session *session, uint64_t bytes)
{
    return ronde_record_count(session->request.collective, session->request.ranks, bytes,
                              session->options->what.dtype);
}

/* Sizes that come to the same number of elements are one. */
static uint64_t next_bytes(const struct session *session, uint64_t bytes)
{
    const uint64_t count = count_of(session, bytes);
    do
        bytes = ronde_options_next_size(&session->options->sizes, bytes);
    while (bytes != 0 && count_of(session, bytes) == count);
    return bytes;
}

/* What a replay of a size is beside those of others: its steps, where they are known before. */
static double weight_of(const struct session *session, uint64_t bytes)
{
    struct ronde_load load = session->forecast.load;
    if (ronde_is_chosen(session->options))
        return 1;
    load.count = count_of(session, bytes);
    return (double)ronde_candidate_cut_steps(session->is, &load);
}

/* The weights of all sizes. */
static double total_weight(const struct session *session)
{
    double total = 0;
    for (uint64_t bytes = session->options->sizes.min_bytes; bytes != 0;
         bytes = next_bytes(session, bytes))
        total += weight_of(session, bytes);
    return total;
}

/* `done` of all weights have been replayed, with those of placements before. */
static void show_progress(const struct session *session, double done, double weight, double total,
                          uint64_t bytes)
{
    const double before = session->placement_index, placements = session->placements.count;
    ronde_progress_part((before + done / total) / placements,
                        (before + (done + weight) / total) / placements, "replaying %s",
                        ronde_cell_tick(bytes).text);
}

static enum ronde_status
walk_sizes(struct session *session,
           enum ronde_status (*one_size)(struct session *, struct ronde_error *),
           struct ronde_error *error)
{
    uint64_t bytes = session->options->sizes.min_bytes;
    enum ronde_status status = RONDE_OK;
    const double total = total_weight(session);
    double done = 0;
    do {
        const double weight = weight_of(session, bytes);
        show_progress(session, done, weight, total, bytes);
        done += weight;
        const uint64_t next = next_bytes(session, bytes), count = count_of(session, bytes);
        session->is_last = next == 0 && session->is_last_placement;
        if (ronde_is_chosen(session->options))
            status = choose(session, count, error);
        if (status == RONDE_OK)
            ronde_forecast_set_count(&session->forecast, count);
        RONDE_THEN(status, one_size(session, error));
        bytes = next;
    } while (status == RONDE_OK && bytes != 0);
    return status;
}

/* Where nobody chooses size by size, everything that can be refused is refused before anything is printed. */
static enum ronde_status open_placement(struct session *session, struct ronde_error *error)
{
    if (ronde_is_chosen(session->options))
        return open_chooser(session, error);
    RONDE_TRY(open_algorithm(session, error));
    if (!session->call->sink.file)
        RONDE_TRY(open_sink(session, error));
    return RONDE_OK;
}

/* Both commands are this walk; they differ in what they do with a size. */
static enum ronde_status
walk_placements(struct session *session,
                enum ronde_status (*one_size)(struct session *, struct ronde_error *),
                struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < session->placements.count && status == RONDE_OK; i++) {
        session->placement_index = i;
        session->is_last_placement = i + 1 == session->placements.count;
        session->how.is_placed = session->options->engine.placement != NULL;
        session->how.placement = session->placements.list[i];
        status = open_placement(session, error);
        RONDE_THEN(status, walk_sizes(session, one_size, error));
        close_placement(session);
    }
    return status;
}

static enum ronde_status
predict(struct ronde_invocation *call, const struct ronde_options *options,
        enum ronde_status (*one_size)(struct session *, struct ronde_error *),
        struct ronde_error *error)
{
    struct session session = {.options = options,
                              .call = call,
                              .how = ronde_tune_options_of(options)};

    if (!ronde_is_chosen(options))
        RONDE_TRY(ronde_takes_none(options, "synthesize",
                                   "-a and files name the schedule, and none is made besides",
                                   error));
    enum ronde_status status = ronde_plot_check(options->output.plot, error);
    RONDE_THEN(status, open_session(&session, error));
    RONDE_THEN(status, walk_placements(&session, one_size, error));
    ronde_progress_end();
    RONDE_THEN(status, draw(&session, error));
    close_session(&session);
    return status;
}

/* What belongs to a replay is refused where there is none, not ignored. */
static enum ronde_status check_no_replay(const char *who, const struct ronde_options *options,
                                         struct ronde_error *error)
{
    const struct ronde_views_options *views = &own_of(options)->views;
    const struct ronde_scenario_options *scenario = &own_of(options)->scenario;
    if (views->why || views->trace || views->timeline || scenario->with.count > 0 ||
        scenario->background.count > 0 || scenario->straggler.count > 0 || scenario->file ||
        options->engine.cfg.count > 0 || options->engine.native_latency)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s replays nothing: leave out --why, --trace, --timeline, --with, "
                          "--background, --straggler, --scenario, --cfg and --native-latency",
                          who);
    return RONDE_OK;
}

static enum ronde_status price(struct ronde_invocation *call, struct ronde_error *error)
{
    struct ronde_options own = *call->options;
    own.engine.name = "auto"; /* of the comparison, where the best is priced */
    RONDE_TRY(check_no_replay("--engine price", &own, error));
    return predict(call, &own, price_size, error);
}

static enum ronde_status sim_command(struct ronde_invocation *call, struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    const bool is_mpi = options->style && ronde_is_mpi_style(options->style);
    const bool is_nccl = options->style && !is_mpi;

    if ((own_of(options)->steps || !is_nccl) && ronde_refuse_anchor(options, error) != RONDE_OK)
        return RONDE_BAD_ARGUMENT;
    if (own_of(options)->steps)
        return ronde_steps_command(call, error);
    if (!options->style)
        return strcmp(options->engine.name, "price") == 0 ? price(call, error)
                                                          : predict(call, options, sim_size, error);
    RONDE_TRY(check_no_replay(is_mpi ? "--style" : "--style nccl is a model, which", options, error));
    return is_mpi ? ronde_mpi_style(call, false, error) : ronde_nccl_style(call, false, error);
}

#define OWN(member) offsetof(struct ronde_engine_options, member)

static const struct ronde_option own_rows[] = {
    {"engine", 0, "NAME", ronde_take_word, OWN(name),
     "auto flat simgrid maxmin flat_fifo ports cores extrapolate price", 0, false,
     "what replays: auto (default), flat, simgrid, maxmin, flat_fifo, ports, cores or extrapolate; "
     "or price: a formula and the longest path, no replay"},
};

static const struct ronde_option_group own_group =
    RONDE_GROUP(RONDE_SECTION_ENGINE, own_rows, struct ronde_engine_options, NULL, NULL);

static const struct ronde_option steps_rows[] = {
    {"steps", 0, NULL, ronde_take_switch, offsetof(struct sim_options, steps), NULL, 0, false,
     "no machine and no times: round by round who sends what to whom"},
};

static const struct ronde_option_use uses[] = {
    RONDE_TAKES_ROWS(RONDE_SECTION_WHAT, steps_rows, struct sim_options, NULL),
    {&own_group, offsetof(struct ronde_options, engine), NULL, false},
    RONDE_TAKES(what, "ranks algorithm datatype root shape pairs channels nccl-log anchor"),
    RONDE_TAKES(sizes, NULL),
    RONDE_TAKES(machine, NULL),
    RONDE_TAKES_OWN(ronde_scenario_group, offsetof(struct sim_options, scenario), NULL),
    RONDE_TAKES(style, NULL),
    RONDE_TAKES(engine, "placement slot synthesize depth timeout cfg native-latency"),
    RONDE_TAKES_OWN(ronde_views_group, offsetof(struct sim_options, views), NULL),
    RONDE_TAKES(output, "json csv wide output plot html"),
    RONDE_TAKES_END,
};

const struct ronde_command ronde_command_sim = {
    .name = "sim",
    .arguments = "FILE|COLLECTIVE",
    .summary =
        "predict how long a collective takes on a machine: replayed, by NCCL's model, or priced",
    .examples = "  ronde sim all_reduce -a ring -N 16 --topo crossbar-64\n"
                "  ronde sim all_reduce --topo dgx-h100-pod -b 1K -e 1G --why\n"
                "  ronde sim all_reduce -a ring -N 16 --topo crossbar-64 --engine price\n"
                "  ronde sim all_reduce -a ring -N 4 --steps\n"
                "  ronde sim broadcast -a binomial_bine+puts --topo torus-8x8: by a library that "
                "puts (RDMA)\n"
                "  ronde sim my.ronde --topo crossbar-64 -b 1M -e 1M\n"
                "  ronde sim all_reduce --nccl-log nccl.log -a tree --topo dgx-h100-pod\n"
                "  ronde sim all_reduce --style nccl -N 64 -b 1K -e 1G --topo Alps-GH200\n"
                "  ronde sim all_reduce --style openmpi --topo crossbar-64\n",
    .uses = uses,
    .max_arguments = 1,
    .run = sim_command,
};
