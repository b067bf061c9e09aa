/* ronde validate --published: measured, modelled and NCCL's own formula, by system. See styles.h. */
#include "styles.h"

#include "cli/draw/gnuplot.h"
#include "cli/html/html.h"
#include "cli/print/report.h"
#include "cli/print/results.h"

#include "ronde/doctor.h"

#include <string.h>
#include <sys/stat.h>

/* How much of a system a prediction has seen. */
enum mode { NOMINAL, ANCHORED, LEAVE_ONE_OUT, MODE_COUNT };

static const struct ronde_published_mode modes[MODE_COUNT] = {
    [NOMINAL] = {"nominal", "nominal",
                 "the hardware's description and the shipped constants; nothing is "
                 "fitted to the system by itself"},
    [ANCHORED] =
        {"anchored", "anchored",
         "the shipped constants fitted again to all systems but the one that is predicted, "
         "then efficiency of links, latency and launch to its rows of one collective on its "
         "smallest number of nodes, which are not counted"},
    [LEAVE_ONE_OUT] = {"leave-one-out", "leave-one-system-out",
                       "the shipped constants fitted again to all systems but "
                       "the one that is predicted"},
};

/* What the command holds. */
struct session {
    const struct ronde_options *options;
    struct ronde_nccl_constants constants; /* as shipped */
    struct ronde_nccl_constants fitted;    /* those of the last prediction */
    struct ronde_nccl_bands bands;
    struct ronde_published published;
    struct ronde_published
        whole; /* of a mode that is fitted to other systems' rows: see read_whole; else of no row */
    struct ronde_sink *sink;
};

/* What --fit names beside the modes: what is printed for files of the model. */
enum { CONSTANTS = MODE_COUNT, SPREAD, BANDS };

/* The mode of --fit, or what it prints. */
static enum ronde_status find_mode(const char *text, unsigned *out, struct ronde_error *error)
{
    *out = NOMINAL;
    if (!text)
        return RONDE_OK;
    for (*out = 0; *out < MODE_COUNT; ++*out)
        if (strcmp(text, modes[*out].name) == 0)
            return RONDE_OK;
    *out = strcmp(text, "spread") == 0 ? SPREAD : strcmp(text, "bands") == 0 ? BANDS : CONSTANTS;
    return *out != CONSTANTS || strcmp(text, "constants") == 0
               ? RONDE_OK
               : ronde_fail(error, RONDE_BAD_ARGUMENT,
                            "--fit \"%s\" is not nominal, anchored, leave-one-out, constants, "
                            "spread or bands",
                            text);
}

/* Fits to all systems of the table but one, whichever of them is shown. */
static void fit_to_others(struct session *session, uint32_t system)
{
    const struct ronde_published *whole = &session->whole;
    uint32_t except = 0;
    if (whole->count == 0) {
        ronde_published_fit_constants(&session->published, system, &session->fitted);
        return;
    }
    while (except < whole->system_count &&
           strcmp(whole->systems[except].name, session->published.systems[system].name) != 0)
        except++;
    ronde_published_fit_constants(whole, except, &session->fitted);
}

/* Predicts one system from what the mode allows. */
static void predict(struct session *session, unsigned mode, uint32_t system)
{
    struct ronde_published *published = &session->published;
    session->fitted = session->constants;
    if (mode == LEAVE_ONE_OUT || mode == ANCHORED)
        fit_to_others(session, system);
    ronde_published_predict(published, system, &session->fitted);
}

/* The same from its anchor; `bare` is of the rows that are left, without it. */
static enum ronde_status anchor(struct session *session, uint32_t system,
                                struct ronde_published_score *bare, struct ronde_error *error)
{
    struct ronde_published *published = &session->published;
    (void)ronde_published_mark_anchor(published, system, false);
    const enum ronde_status status = ronde_published_score_of(published, system, bare, error);
    (void)ronde_published_fit_system(published, system, &session->fitted);
    ronde_published_predict(published, system, &session->fitted);
    return status;
}

/* Rows that an earlier mode has fitted count again. */
static void forget_fit(struct ronde_published *published)
{
    for (size_t r = 0; r < published->count; r++)
        if (published->rows[r].state == RONDE_PUBLISHED_FITTED)
            published->rows[r].state = RONDE_PUBLISHED_PREDICTED;
}

static bool is_folder(const char *path)
{
    struct stat facts;
    return path && stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

/* --plot: a picture per system in a folder, or of the one system that has rows. */
static enum ronde_status draw(struct session *session, struct ronde_error *error)
{
    const char *plot = session->options->output.plot;
    if (!plot)
        return RONDE_OK;
    if (!is_folder(plot) && session->published.system_count > 1)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--plot %s: with %u systems this is to be a folder, which is there", plot,
                          session->published.system_count);
    return ronde_published_plot(&session->published, plot, is_folder(plot),
                                session->sink->is_markdown ? session->sink->file : NULL, error);
}

static struct ronde_published_view view_of(struct session *session, unsigned mode)
{
    return (struct ronde_published_view){.sink = session->sink,
                                         .published = &session->published,
                                         .mode = &modes[mode],
                                         .bands = &session->bands,
                                         .path = ronde_validate_own(session->options)->published};
}

/* The top of the page, where it is of one system. */
static void answer(struct session *session, uint32_t system,
                   const struct ronde_published_score *score)
{
    const size_t rows = score->count[RONDE_PUBLISHED_PREDICTED];
    if (session->published.system_count > 1) {
        ronde_html_answer(session->sink->html,
                          "NCCL on %u systems, measured and predicted: a line each.",
                          session->published.system_count);
        return;
    }
    ronde_html_answer(session->sink->html,
                      "NCCL on %s: predictions are off by %.1f %% in the median of %zu rows.",
                      session->published.systems[system].name, 100 * score->median, rows);
    ronde_html_sure(
        session->sink->html,
        "Measurements are others'; a prediction in ten is off by more than %.0f %%. NCCL's own "
        "formula is off by %.0f %% in the median.",
        100 * score->p90, 100 * score->nccl_median);
}

/* All systems in one mode. */
static enum ronde_status show_mode(struct session *session, unsigned mode, struct ronde_error *error)
{
    const bool is_table = ronde_sink_is_table(session->sink);
    const struct ronde_published_view view = view_of(session, mode);
    struct ronde_published_score scores[RONDE_PUBLISHED_MAX_SYSTEMS];
    struct ronde_published_score bare[RONDE_PUBLISHED_MAX_SYSTEMS];
    enum ronde_status status = RONDE_OK;
    if (is_table)
        ronde_published_print_head(&view);
    for (uint32_t s = 0; status == RONDE_OK && s < session->published.system_count; s++) {
        const double systems = session->published.system_count;
        ronde_progress_part(s / systems, (s + 1) / systems, "%s: %s", modes[mode].name,
                            session->published.systems[s].name);
        predict(session, mode, s);
        if (mode == ANCHORED)
            status = anchor(session, s, &bare[s], error);
        if (status == RONDE_OK && ronde_validate_own(session->options)->replay)
            status = ronde_published_replay(&session->published, s, &session->fitted, error);
        RONDE_THEN(status, ronde_published_score_of(&session->published, s, &scores[s], error));
        if (status == RONDE_OK && is_table)
            status = ronde_published_print_score(&view, session->published.systems[s].name,
                                                 &scores[s], error);
        /* Of a table the page of --html alone has rows. */
        if (status == RONDE_OK && (!is_table || session->sink->html))
            status = ronde_published_print_rows(&view, s, error);
        if (status == RONDE_OK)
            answer(session, s, &scores[s]);
    }
    ronde_progress_end();
    if (status == RONDE_OK && is_table)
        ronde_published_print_summary(&view, "", scores, session->published.system_count);
    if (status == RONDE_OK && is_table && mode == ANCHORED)
        ronde_published_print_summary(&view, "The same rows without an anchor. ", bare,
                                      session->published.system_count);
    if (status == RONDE_OK && !is_table)
        return ronde_published_print_refused(&view, error);
    if (status == RONDE_OK && (!session->sink->is_markdown || mode == NOMINAL))
        status = ronde_published_print_crossovers(&view, error);
    if (status == RONDE_OK && (!session->sink->is_markdown || mode == NOMINAL))
        ronde_published_print_whys(&view);
    return status;
}

/* A document: every mode, and the worst of the first. */
static enum ronde_status show_all(struct session *session, struct ronde_error *error)
{
    const struct ronde_published_view view = view_of(session, NOMINAL);
    enum ronde_status status = show_mode(session, NOMINAL, error);
    RONDE_THEN(status, draw(session, error));
    RONDE_THEN(status, ronde_published_print_worst(&view, error));
    RONDE_THEN(status, show_mode(session, ANCHORED, error));
    forget_fit(&session->published);
    return status == RONDE_OK ? show_mode(session, LEAVE_ONE_OUT, error) : status;
}

/* The shipped constants, fitted anew to all systems: lines for their files. */
static void show_constants(struct session *session)
{
    session->fitted = session->constants;
    ronde_published_fit_constants(&session->published, UINT32_MAX, &session->fitted);
    for (size_t i = 0; i < RONDE_NCCL_CONSTANT_COUNT; i++) {
        char name[64];
        const struct ronde_nccl_constant *constant = &session->fitted.all[i];
        if (!(constant->start > 0))
            continue;
        ronde_nccl_constant_name(i, name, sizeof name);
        fprintf(session->sink->file, "%s %.4g start %.4g\n", name, constant->value, constant->start);
    }
}

/* --anchor: of the one machine there is. */
static enum ronde_status take_anchor(struct session *session, unsigned mode,
                                     struct ronde_error *error)
{
    const struct ronde_published_system *system = &session->published.systems[0];
    if (!session->options->what.anchor)
        return RONDE_OK;
    if (session->published.system_count != 1 || !system->is_described)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "--anchor %s is of one machine, %s has %u systems, or it is not described: "
            "--system names one, --topo its description",
            session->options->what.anchor, ronde_validate_own(session->options)->published,
            session->published.system_count);
    if (mode != NOMINAL || session->options->output.markdown)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "--anchor %s: --fit and --markdown fit to the table itself: leave them out",
            session->options->what.anchor);
    return ronde_nccl_anchor(session->options, &system->machine, &session->constants,
                             &session->bands, error);
}

/* --topo that is no folder describes the one system there is. */
static enum ronde_status take_machine(struct session *session, struct ronde_error *error)
{
    struct ronde_nccl_machine machine;
    if (!session->options->machine.topo || is_folder(session->options->machine.topo))
        return RONDE_OK;
    if (session->published.system_count > 1)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--topo %s is one machine, %s has %u systems: --system names one",
                          session->options->machine.topo,
                          ronde_validate_own(session->options)->published,
                          session->published.system_count);
    RONDE_TRY(ronde_open_nccl_machine(session->options, &machine, error));
    ronde_published_describe(&session->published, 0, &machine, &session->constants);
    return RONDE_OK;
}

/* What --auto-topo makes of a table's words, so that it can be judged, and put into a file where it is wrong. */
static void print_machines(const struct session *session)
{
    const struct ronde_published *published = &session->published;
    FILE *file = session->sink->file;
    fprintf(file, "# machines by the table's own words (--auto-topo)\n");
    for (uint32_t s = 0; s < published->system_count; s++) {
        const struct ronde_published_system *system = &published->systems[s];
        const struct ronde_nccl_machine *machine = &system->machine;
        if (!system->is_described) {
            fprintf(file, "#   %s: not understood: gpu \"%s\", inside \"%s\", between \"%s\"\n",
                    system->name, system->said.gpu, system->said.inside, system->said.between);
            continue;
        }
        fprintf(file, "#   %s: ", system->name);
        ronde_print_nccl_machine(file, machine);
        if (machine->nics == 0 && system->said.between[0] != '\0')
            fprintf(file, ", one node: network \"%s\" not understood", system->said.between);
        fputc('\n', file);
    }
    fprintf(file, "#\n");
}

/* The table, or a log and what it does not say of itself. */
static enum ronde_status read_published(struct session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    struct ronde_published_request request;
    RONDE_TRY(ronde_log_request_of(options, ronde_validate_own(options)->published,
                                   ronde_validate_own(options)->system, 0, &request, error));
    request.is_auto = ronde_validate_own(options)->auto_topo;
    if (ronde_validate_own(options)->auto_topo && options->machine.topo)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--auto-topo takes machines from the table, --topo %s from a file: "
                          "one of them",
                          options->machine.topo);
    RONDE_TRY(ronde_published_open(&request, ronde_mem_default(), &session->published, error));
    if (!session->published.log.is_log &&
        (options->what.rank_counts > 0 || options->what.shape.count > 0))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "-N and --shape are for logs; a table says itself how many ranks ran");
    if (session->published.log.is_log && ronde_validate_own(options)->auto_topo)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--auto-topo is for tables; a log says little of its machine");
    if (!session->published.log.is_log && options->argument_count > 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--published takes all collectives of the table, not \"%s\"",
                          options->arguments[0]);
    return RONDE_OK;
}

/*
 * What a mode is fitted to of all systems: also those that --system does not show, and rows that become anchors of their own system,
 * which count for all others.
 */
static enum ronde_status read_whole(struct session *session, unsigned mode,
                                    struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    struct ronde_published_request request;
    const bool is_needed = mode == ANCHORED || options->output.markdown ||
                           (mode == LEAVE_ONE_OUT && ronde_validate_own(options)->system);
    if (!is_needed || session->published.log.is_log)
        return RONDE_OK;
    RONDE_TRY(ronde_log_request_of(options, ronde_validate_own(options)->published,
                                   ronde_validate_own(options)->system, 0, &request, error));
    request.is_auto = ronde_validate_own(options)->auto_topo;
    request.system = NULL;
    RONDE_TRY(ronde_published_open(&request, ronde_mem_default(), &session->whole, error));
    ronde_published_choose(&session->whole, &session->constants);
    return RONDE_OK;
}

/* Predicts every system from constants that were fitted without it. */
static void leave_each_out(struct session *session)
{
    for (uint32_t s = 0; s < session->published.system_count; s++) {
        ronde_progress("%s", session->published.systems[s].name);
        predict(session, LEAVE_ONE_OUT, s);
    }
    ronde_progress_end();
}

/* How far predictions of systems that were left out are off: lines for bands.txt. */
static enum ronde_status show_bands(struct session *session, struct ronde_error *error)
{
    struct ronde_nccl_bands bands;
    struct ronde_published_sureness sure;
    leave_each_out(session);
    RONDE_TRY(ronde_published_bands_of(&session->published, &bands, error));
    RONDE_TRY(ronde_published_sureness_of(&session->published, &sure, error));
    for (unsigned k = 0; k < RONDE_NCCL_BAND_KIND_COUNT; k++)
        for (unsigned s = 0; s < RONDE_NCCL_BAND_SIZES; s++)
            fprintf(session->sink->file, "%s %u %.3f %.3f %u\n",
                    ronde_nccl_band_kind_text((enum ronde_nccl_band_kind)k), s, bands.at[k][s].low,
                    bands.at[k][s].high, bands.systems[k][s]);
    fprintf(session->sink->file,
            "# of systems that bands were made without %.0f %% of %zu rows lie inside; high over "
            "low is %.2f in the median\n",
            100. * (double)sure.inside / (double)(sure.rows > 0 ? sure.rows : 1), sure.rows,
            sure.width);
    return RONDE_OK;
}

/* The same as lines for spread.txt. */
static void show_spread(struct session *session)
{
    struct ronde_doctor_spread spread;
    leave_each_out(session);
    ronde_doctor_spread_of(&session->published, &spread);
    for (unsigned p = 0; p < RONDE_DOCTOR_PLACES; p++)
        for (unsigned c = 0; c < RONDE_DOCTOR_SIZES; c++)
            fprintf(session->sink->file, "%u %u %.3f %u\n", p, c, spread.off[p][c],
                    spread.systems[p][c]);
}

static enum ronde_status show(struct session *session, unsigned mode, struct ronde_error *error)
{
    if (mode == CONSTANTS)
        show_constants(session);
    if (mode == SPREAD)
        show_spread(session);
    if (mode == BANDS)
        return show_bands(session, error);
    if (mode >= MODE_COUNT)
        return RONDE_OK;
    if (session->sink->is_markdown)
        return show_all(session, error);
    if (ronde_validate_own(session->options)->auto_topo && ronde_sink_is_table(session->sink))
        print_machines(session);
    RONDE_TRY(show_mode(session, mode, error));
    return draw(session, error);
}

/* Nothing is measured and no schedule is made: what asks for either is no wish that could be granted. */
static enum ronde_status check_options(const struct ronde_options *options, unsigned mode,
                                       struct ronde_error *error)
{
    if (mode >= MODE_COUNT && ronde_validate_own(options)->system)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--fit %s is fitted to all systems of a table: leave out --system",
                          ronde_validate_own(options)->fit);
    if (ronde_validate_own(options)->records)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "--published has its records by --json, and -o FILE: leave out --records");
    RONDE_TRY(ronde_takes_only(options,
                               "published system fit auto-topo replay ranks shape anchor topo "
                               "without degrade nodes nics fabric json csv wide output plot html "
                               "markdown",
                               "--published measures nothing, and takes all sizes of its file",
                               error));
    if (options->output.markdown &&
        (options->output.json || options->output.csv || ronde_validate_own(options)->fit))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--markdown prints every mode, and no records");
    return RONDE_OK;
}

enum ronde_status ronde_validate_published(struct ronde_invocation *call, struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    struct session session = {.options = options, .sink = &call->sink};
    unsigned mode = NOMINAL;
    enum ronde_status status = find_mode(ronde_validate_own(options)->fit, &mode, error);
    RONDE_THEN(status, check_options(options, mode, error));
    RONDE_THEN(status, ronde_plot_check(options->output.plot, error));
    RONDE_THEN(status, ronde_nccl_constants_read(NULL, &session.constants, error));
    RONDE_THEN(status, ronde_nccl_bands_read(NULL, &session.bands, error));
    RONDE_THEN(status, read_published(&session, error));
    if (status == RONDE_OK) {
        const struct ronde_log_facts *log = &session.published.log;
        if (log->unread_count > 0)
            ronde_note("%s:%u: %s (%u left out)", ronde_validate_own(options)->published,
                       log->unread_line, log->unread, log->unread_count);
        ronde_published_choose(&session.published, &session.constants);
        status = take_machine(&session, error);
    }
    RONDE_THEN(status, take_anchor(&session, mode, error));
    RONDE_THEN(status, read_whole(&session, mode, error));
    RONDE_THEN(status, ronde_sink_open(options, session.sink, error));
    RONDE_THEN(status, show(&session, mode, error));
    if (session.published.mem)
        ronde_published_close(&session.published);
    if (session.whole.mem)
        ronde_published_close(&session.whole);
    return status;
}
