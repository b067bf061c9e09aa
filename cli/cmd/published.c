/* ronde validate --published: measured, modelled and NCCL's own formula, by system. See published.h. */
#include "published.h"

#include "cli/draw/gnuplot.h"
#include "cli/draw/published_plot.h"
#include "cli/print/published_print.h"
#include "cli/print/report.h"
#include "nccl_machine.h"

#include "ronde/doctor.h"

#include <string.h>
#include <sys/stat.h>

/* How much of a system a prediction has seen. */
enum mode { NOMINAL, SMALLEST, LEAVE_ONE_OUT, MODE_COUNT };

static const struct ronde_published_mode modes[MODE_COUNT] = {
    [NOMINAL] = {"nominal", "nominal",
                 "the hardware's description and the shipped constants; nothing is "
                 "fitted to the system by itself"},
    [SMALLEST] = {"smallest", "fit",
                  "launch, latencies inside and between nodes and link efficiency "
                  "fitted to the smallest number of ranks and one collective there, "
                  "those rows not counted"},
    [LEAVE_ONE_OUT] = {"leave-one-out", "leave-one-system-out",
                       "the shipped constants fitted again to all systems but "
                       "the one that is predicted"},
};

/* What the command holds. */
struct session {
    const struct ronde_options *options;
    struct ronde_nccl_constants constants; /* as shipped */
    struct ronde_nccl_constants fitted;    /* those of the last prediction */
    struct ronde_published published;
    struct ronde_published
        whole; /* with --system: the others, too, for what is fitted to them; else of no row */
    struct ronde_sink sink;
    bool is_markdown;
};

/* What --fit names beside the modes: what is printed for files of the model. */
enum { CONSTANTS = MODE_COUNT, SPREAD };

/* The mode of --fit, or what it prints. */
static enum ronde_status find_mode(const char *text, unsigned *out, struct ronde_error *error)
{
    *out = NOMINAL;
    if (!text)
        return RONDE_OK;
    for (*out = 0; *out < MODE_COUNT; ++*out)
        if (strcmp(text, modes[*out].name) == 0)
            return RONDE_OK;
    *out = strcmp(text, "spread") == 0 ? SPREAD : CONSTANTS;
    return *out == SPREAD || strcmp(text, "constants") == 0
               ? RONDE_OK
               : ronde_fail(error, RONDE_BAD_ARGUMENT,
                            "--fit \"%s\" is not nominal, smallest, leave-one-out, constants or "
                            "spread",
                            text);
}

/* Fits to all systems of the table but one, whichever of them --system shows. */
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
    if (mode == SMALLEST)
        ronde_published_fit_system(published, system, &session->fitted);
    if (mode == LEAVE_ONE_OUT)
        fit_to_others(session, system);
    ronde_published_predict(published, system, &session->fitted);
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
    const char *plot = session->options->plot;
    if (!plot)
        return RONDE_OK;
    if (!is_folder(plot) && session->published.system_count > 1)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--plot %s: with %u systems this is to be a folder, which is there", plot,
                          session->published.system_count);
    return ronde_published_plot(&session->published, plot, is_folder(plot),
                                session->is_markdown ? session->sink.file : NULL, error);
}

static struct ronde_published_view view_of(struct session *session, unsigned mode)
{
    return (struct ronde_published_view){.sink = &session->sink,
                                         .published = &session->published,
                                         .mode = &modes[mode],
                                         .path = session->options->published,
                                         .is_markdown = session->is_markdown};
}

/* All systems in one mode. */
static enum ronde_status show_mode(struct session *session, unsigned mode, struct ronde_error *error)
{
    const bool is_table = ronde_sink_is_table(&session->sink);
    const struct ronde_published_view view = view_of(session, mode);
    enum ronde_status status = RONDE_OK;
    if (is_table)
        ronde_published_print_head(&view);
    for (uint32_t s = 0; status == RONDE_OK && s < session->published.system_count; s++) {
        struct ronde_published_score score;
        ronde_progress("%s: %s", modes[mode].name, session->published.systems[s].name);
        predict(session, mode, s);
        if (session->options->replay)
            status = ronde_published_replay(&session->published, s, &session->fitted, error);
        if (status == RONDE_OK)
            status = ronde_published_score_of(&session->published, s, &score, error);
        if (status == RONDE_OK && is_table)
            ronde_published_print_score(&view, session->published.systems[s].name, &score);
        if (status == RONDE_OK && !is_table)
            status = ronde_published_print_rows(&view, s, error);
    }
    ronde_progress_end();
    if (status == RONDE_OK && !is_table)
        return ronde_published_print_refused(&view, error);
    if (status == RONDE_OK && (!session->is_markdown || mode == NOMINAL))
        status = ronde_published_print_crossovers(&view, error);
    if (status == RONDE_OK && (!session->is_markdown || mode == NOMINAL))
        ronde_published_print_whys(&view);
    return status;
}

/* A document: every mode, and the worst of the first. */
static enum ronde_status show_all(struct session *session, struct ronde_error *error)
{
    const struct ronde_published_view view = view_of(session, NOMINAL);
    enum ronde_status status = show_mode(session, NOMINAL, error);
    if (status == RONDE_OK)
        status = draw(session, error);
    if (status == RONDE_OK)
        status = ronde_published_print_worst(&view, error);
    if (status == RONDE_OK)
        status = show_mode(session, SMALLEST, error);
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
        fprintf(session->sink.file, "%s %.4g start %.4g\n", name, constant->value, constant->start);
    }
}

/* --topo that is no folder describes the one system there is. */
static enum ronde_status take_machine(struct session *session, struct ronde_error *error)
{
    struct ronde_nccl_machine machine;
    if (!session->options->topo || is_folder(session->options->topo))
        return RONDE_OK;
    if (session->published.system_count > 1)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--topo %s is one machine, %s has %u systems: --system names one",
                          session->options->topo, session->options->published,
                          session->published.system_count);
    const enum ronde_status status = ronde_open_nccl_machine(session->options, &machine, error);
    if (status == RONDE_OK)
        ronde_published_describe(&session->published, 0, &machine, &session->constants);
    return status;
}

/* What --auto-topo makes of a table's words, so that it can be judged, and put into a file where it is wrong. */
static void print_machines(const struct session *session)
{
    const struct ronde_published *published = &session->published;
    FILE *file = session->sink.file;
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
    enum ronde_status status = ronde_log_request_of(options, options->published, 0, &request, error);
    request.is_auto = options->auto_topo;
    if (status == RONDE_OK && options->auto_topo && options->topo)
        status = ronde_fail(error, RONDE_BAD_ARGUMENT,
                            "--auto-topo takes machines from the table, --topo %s from a file: "
                            "one of them",
                            options->topo);
    if (status == RONDE_OK)
        status = ronde_published_open(&request, ronde_mem_default(), &session->published, error);
    if (status == RONDE_OK && !session->published.log.is_log &&
        (options->rank_counts > 0 || options->shape.count > 0))
        status = ronde_fail(error, RONDE_BAD_ARGUMENT,
                            "-N and --shape are for logs; a table says itself how many ranks ran");
    if (status == RONDE_OK && session->published.log.is_log && options->auto_topo)
        status = ronde_fail(error, RONDE_BAD_ARGUMENT,
                            "--auto-topo is for tables; a log says little of its machine");
    if (status == RONDE_OK && !session->published.log.is_log && options->argument_count > 0)
        status = ronde_fail(error, RONDE_BAD_ARGUMENT,
                            "--published takes all collectives of the table, not \"%s\"",
                            options->arguments[0]);
    return status;
}

/* The systems that --system does not show, where a mode is fitted to them. */
static enum ronde_status read_whole(struct session *session, unsigned mode,
                                    struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    struct ronde_published_request request;
    if (!options->system || session->published.log.is_log ||
        (mode != LEAVE_ONE_OUT && !session->is_markdown))
        return RONDE_OK;
    enum ronde_status status = ronde_log_request_of(options, options->published, 0, &request, error);
    request.is_auto = options->auto_topo;
    request.system = NULL;
    if (status == RONDE_OK)
        status = ronde_published_open(&request, ronde_mem_default(), &session->whole, error);
    if (status == RONDE_OK)
        ronde_published_choose(&session->whole, &session->constants);
    return status;
}

/* How far predictions of systems that were left out are off: lines for spread.txt. */
static void show_spread(struct session *session)
{
    struct ronde_doctor_spread spread;
    for (uint32_t s = 0; s < session->published.system_count; s++) {
        ronde_progress("%s", session->published.systems[s].name);
        predict(session, LEAVE_ONE_OUT, s);
    }
    ronde_progress_end();
    ronde_doctor_spread_of(&session->published, &spread);
    for (unsigned p = 0; p < RONDE_DOCTOR_PLACES; p++)
        for (unsigned c = 0; c < RONDE_DOCTOR_SIZES; c++)
            fprintf(session->sink.file, "%u %u %.3f %u\n", p, c, spread.off[p][c],
                    spread.systems[p][c]);
}

static enum ronde_status show(struct session *session, unsigned mode, struct ronde_error *error)
{
    if (mode == CONSTANTS)
        show_constants(session);
    if (mode == SPREAD)
        show_spread(session);
    if (mode >= MODE_COUNT)
        return RONDE_OK;
    if (session->is_markdown)
        return show_all(session, error);
    if (session->options->auto_topo && ronde_sink_is_table(&session->sink))
        print_machines(session);
    const enum ronde_status status = show_mode(session, mode, error);
    return status == RONDE_OK ? draw(session, error) : status;
}

/* Nothing is measured and no schedule is made: what asks for either is no wish that could be granted. */
static enum ronde_status check_options(const struct ronde_options *options, unsigned mode,
                                       struct ronde_error *error)
{
    if (mode >= MODE_COUNT && options->system)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--fit %s is fitted to all systems of a table: leave out --system",
                          options->fit);
    if (options->algorithm_count > 0 || options->from || options->has_backend || options->rig ||
        options->slot_bytes || options->channels || options->depth || options->pairs.ranks > 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--published measures nothing: it takes no -a, --from, --backend, --rig, "
                          "--slot, --channels, --depth or --pairs");
    if (options->records)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "--published has its records by --json, and -o FILE: leave out --records");
    if (options->markdown && (options->json || options->csv || options->fit))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--markdown prints every mode, and no records");
    return RONDE_OK;
}

int ronde_validate_published(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct session session = {.options = options, .is_markdown = options->markdown};
    unsigned mode = NOMINAL;
    const char *missing = NULL;
    enum ronde_status status = find_mode(options->fit, &mode, &error);
    if (status == RONDE_OK)
        status = check_options(options, mode, &error);
    if (status == RONDE_OK && options->plot && !ronde_plot_available(&missing))
        status = ronde_fail(&error, RONDE_UNAVAILABLE, "%s", missing);
    if (status == RONDE_OK)
        status = ronde_nccl_constants_read(NULL, &session.constants, &error);
    if (status == RONDE_OK)
        status = read_published(&session, &error);
    if (status == RONDE_OK) {
        ronde_published_choose(&session.published, &session.constants);
        status = take_machine(&session, &error);
    }
    if (status == RONDE_OK)
        status = read_whole(&session, mode, &error);
    if (status == RONDE_OK)
        status = ronde_sink_open(options, &session.sink, &error);
    if (status == RONDE_OK)
        status = show(&session, mode, &error);
    if (session.sink.file && ronde_sink_close(&session.sink, &error) != RONDE_OK &&
        status == RONDE_OK)
        status = error.status;
    if (session.published.mem)
        ronde_published_close(&session.published);
    if (session.whole.mem)
        ronde_published_close(&session.whole);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}
