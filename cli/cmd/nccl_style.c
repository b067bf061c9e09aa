/* --style nccl of sim and plan: sizes of a collective on a described machine. See styles.h. */
#include "cli/draw/gnuplot.h"
#include "cli/html/html.h"
#include "cli/options/requests.h"
#include "cli/print/report.h"
#include "styles.h"

#include "ronde/nccl_tuner.h"
#include "ronde/published.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* Choices that are nearer to the fastest are as good. */
#define LEAST_GAIN 1.1

/* What the command holds. */
struct session {
    const struct ronde_options *options;
    struct ronde_nccl_constants constants;
    struct ronde_nccl_bands bands;
    struct ronde_nccl_site site;
    enum ronde_collective collective;
    struct ronde_sink *sink;
    struct ronde_curves curves; /* of --plot */
    uint32_t log_nodes;         /* hosts of --nccl-log; 0 = none was given */
    bool is_plan; /* NCCL's choice beside the fastest, not how long what was asked for takes */
    double worst; /* of a plan: the largest ratio of NCCL's choice to the fastest */
    uint64_t worst_bytes; /* where that is */
};

static enum ronde_status check_options(const struct ronde_options *options,
                                       struct ronde_error *error)
{
    if (strcmp(options->style, "nccl") != 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--style \"%s\" is none of nccl, openmpi and mpich", options->style);
    if (options->argument_count == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "which collective is missing");
    if (!options->machine.topo)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--style nccl wants --topo with a machine's description "
                          "(topologies/published/README.md)");
    RONDE_TRY(
        ronde_takes_none(options, "slot depth channels engine placement synthesize timeout backend",
                         "--style nccl is a model of NCCL's own ways, and replays nothing", error));
    if (options->sizes.min_bytes == 0)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "--style nccl: a call of 0 bytes moves nothing; sizes (-b) are 1 and more");
    return ronde_plot_check(options->output.plot, error);
}

static enum ronde_status find_algorithm(const char *name, enum ronde_nccl_algorithm *out,
                                        struct ronde_error *error)
{
    for (unsigned a = 0; a <= RONDE_NCCL_ALGORITHM_COUNT; a++)
        if (strcasecmp(name, ronde_nccl_algorithm_text((enum ronde_nccl_algorithm)a)) == 0) {
            *out = (enum ronde_nccl_algorithm)a;
            return RONDE_OK;
        }
    return ronde_fail(error, RONDE_BAD_ARGUMENT,
                      "algorithm \"%s\" is not NCCL's Ring, Tree, NVLS, NVLSTree or auto", name);
}

/* Nodes of so many ranks: those of --shape, else full ones. */
static enum ronde_status find_nodes(const struct session *session, uint32_t ranks,
                                    uint32_t *out_nodes, struct ronde_error *error)
{
    const uint32_t gpus = session->site.machine.gpus;
    RONDE_TRY(ronde_shape_nodes(session->options, ranks, out_nodes, error));
    if (*out_nodes > 0)
        return RONDE_OK;
    *out_nodes = session->log_nodes;
    if (*out_nodes > 0)
        return RONDE_OK;
    *out_nodes = ranks <= gpus ? 1 : ranks / gpus;
    if (ranks > gpus && ranks % gpus != 0)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "%u ranks do not fill nodes of %u GPUs: --shape NODESxGPUS says how they lie", ranks,
            gpus);
    return RONDE_OK;
}

/* The last column is of a platform: a description has no links to name. */
static const struct ronde_column columns[] = {
    {"bytes", "size", "(B)", RONDE_CELL_PLAIN, 10, false},
    {"ranks", "ranks", "", RONDE_CELL_PLAIN, 5, false},
    {"nodes", "nodes", "", RONDE_CELL_PLAIN, 5, false},
    {"algorithm", "algorithm", "", RONDE_CELL_PLAIN, 9, false},
    {"protocol", "protocol", "", RONDE_CELL_PLAIN, 8, false},
    {"time_us", "time", "(us)", RONDE_CELL_US, 8, false},
    {"algbw_GBps", "algbw", "(GB/s)", RONDE_CELL_GBPS, 7, false},
    {"busbw_GBps", "busbw", "(GB/s)", RONDE_CELL_GBPS, 7, false},
    {"nccl_us", "NCCL's own", "(us)", RONDE_CELL_US, 10, true},
    {"low_us", "from", "(us)", RONDE_CELL_US, 8, false},
    {"high_us", "to", "(us)", RONDE_CELL_US, 8, false},
    {"limited_by", "limited by", "", RONDE_CELL_PLAIN, 14, false}};

static const struct ronde_column plan_columns[] = {
    {"bytes", "size", "(B)", RONDE_CELL_PLAIN, 10, false},
    {"ranks", "ranks", "", RONDE_CELL_PLAIN, 5, false},
    {"nodes", "nodes", "", RONDE_CELL_PLAIN, 5, false},
    {"nccl_algorithm", "NCCL takes", "", RONDE_CELL_PLAIN, 10, false},
    {"nccl_protocol", "by", "", RONDE_CELL_PLAIN, 6, false},
    {"nccl_time_us", "time", "(us)", RONDE_CELL_US, 8, false},
    {"algorithm", "fastest", "", RONDE_CELL_PLAIN, 8, false},
    {"protocol", "by", "", RONDE_CELL_PLAIN, 6, false},
    {"time_us", "time", "(us)", RONDE_CELL_US, 8, false},
    {"slower", "slower", "(x)", RONDE_CELL_RATIO, 6, false},
    {"nccl_low_us", "NCCL from", "(us)", RONDE_CELL_US, 9, false},
    {"nccl_high_us", "to", "(us)", RONDE_CELL_US, 8, false},
    {"limited_by", "limited by", "", RONDE_CELL_PLAIN, 10, true}};

static struct ronde_table table_of(const struct session *session)
{
    const size_t left_out = session->site.platform ? 0 : 1;
    const struct ronde_table own = RONDE_TABLE(columns), plan = RONDE_TABLE(plan_columns);
    return session->is_plan ? (struct ronde_table){plan.columns, plan.count - left_out}
                            : (struct ronde_table){own.columns, own.count - left_out};
}

/* A link of the fabric for which the call takes longer; "" = none. */
static const char *limiting(const struct session *session, const struct ronde_nccl_call *call,
                            struct ronde_nccl_choice choice)
{
    const char *link = ronde_nccl_site_limiting(&session->site, &session->constants, call, choice);
    return link ? link : "";
}

/* The top of a page: of the last size. */
static void answer(const struct session *session, const struct ronde_nccl_call *call,
                   struct ronde_nccl_choice choice, double us, struct ronde_nccl_band band)
{
    ronde_html_answer(session->sink->html, "%s by NCCL on %u ranks of %s: %s takes %s us (%s, %s).",
                      ronde_collective_text(call->collective), call->ranks,
                      session->site.machine.name, ronde_cell_tick(call->bytes).text,
                      ronde_cell_us(1e3 * us).text, ronde_nccl_algorithm_text(choice.algorithm),
                      ronde_nccl_protocol_text(choice.protocol));
    ronde_html_sure(
        session->sink->html,
        "A model of how NCCL executes it; nothing was measured here. On four of five machines that "
        "no constant was fitted to, the last size takes %s to %s us: docs/results/"
        "validation-nccl.md of ronde.",
        ronde_cell_us(1e3 * us * band.low).text, ronde_cell_us(1e3 * us * band.high).text);
}

static enum ronde_status print(struct session *session, const struct ronde_nccl_call *call,
                               struct ronde_nccl_choice choice, double nccl_us,
                               struct ronde_error *error)
{
    const double us =
        ronde_nccl_execution_us(&session->constants, &session->site.machine, call, choice);
    const struct ronde_nccl_band band =
        ronde_nccl_band_of(&session->bands, &session->site.machine, call);
    const double rate_GBps = (double)call->bytes / us / 1e3;
    const double busbw_GBps = rate_GBps * ronde_collective_bus_factor(call->collective, call->ranks);
    const char *algorithm = ronde_nccl_algorithm_text(choice.algorithm);
    const char *protocol = ronde_nccl_protocol_text(choice.protocol);
    const struct ronde_table table = table_of(session);
    const struct ronde_field fields[] = {ronde_field_text("style", "nccl"),
                                         ronde_field_text("machine", session->site.machine.name),
                                         RONDE_FIELDS_OF_A_CALL(call),
                                         ronde_field_integer("bytes", call->bytes),
                                         ronde_field_text("algorithm", algorithm),
                                         ronde_field_text("protocol", protocol),
                                         ronde_field_real("time_us", us),
                                         ronde_field_real("algbw_GBps", rate_GBps),
                                         ronde_field_real("busbw_GBps", busbw_GBps),
                                         ronde_field_real("nccl_us", nccl_us),
                                         ronde_field_real("low_us", us * band.low),
                                         ronde_field_real("high_us", us * band.high),
                                         ronde_field_text("limited_by",
                                                          limiting(session, call, choice)),
                                         ronde_field_text("kind", "modelled")};
    answer(session, call, choice, us, band);
    return ronde_sink_print(session->sink, &table, &RONDE_ROW(fields), error);
}

/* One size by every algorithm that was named; without names what NCCL takes. */
static enum ronde_status show_size(struct session *session, const struct ronde_nccl_call *call,
                                   struct ronde_error *error)
{
    static const char *const by_itself[] = {"auto"};
    const struct ronde_options *options = session->options;
    const bool is_named = options->what.algorithm_count > 0;
    RONDE_TRY(ronde_nccl_call_check(&session->site.machine, call, error));
    for (uint32_t a = 0; a < (is_named ? options->what.algorithm_count : 1); a++) {
        struct ronde_nccl_choice wish = {RONDE_NCCL_RING, RONDE_NCCL_PROTOCOL_COUNT}, choice;
        const char *name = is_named ? options->what.algorithms[a] : by_itself[a];
        RONDE_TRY(find_algorithm(name, &wish.algorithm, error));
        const double us =
            ronde_nccl_choose(&session->constants, &session->site.machine, call, wish, &choice);
        /* Sends and receives have no algorithms to name. */
        if (!isfinite(us) &&
            (choice.algorithm != RONDE_NCCL_POINT || wish.algorithm != RONDE_NCCL_ALGORITHM_COUNT))
            return ronde_fail(error, RONDE_UNSUPPORTED,
                              "NCCL has no %s for %s of %u ranks on %u nodes of %s", name,
                              ronde_collective_text(call->collective), call->ranks, call->nodes,
                              session->site.machine.name);
        RONDE_TRY(print(session, call, choice, us, error));
    }
    return RONDE_OK;
}

/* What NCCL takes by itself, and what would be fastest if NCCL_ALGO and NCCL_PROTO said so. */
static enum ronde_status plan_size(struct session *session, const struct ronde_nccl_call *call,
                                   struct ronde_error *error)
{
    const struct ronde_nccl_choice any = {RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT};
    struct ronde_nccl_choice taken, fastest;
    RONDE_TRY(ronde_nccl_call_check(&session->site.machine, call, error));
    (void)ronde_nccl_choose(&session->constants, &session->site.machine, call, any, &taken);
    const double us =
        ronde_nccl_execution_us(&session->constants, &session->site.machine, call, taken);
    const double least_us =
        ronde_nccl_fastest(&session->constants, &session->site.machine, call, &fastest);
    const struct ronde_table table = table_of(session);
    const struct ronde_nccl_band band =
        ronde_nccl_band_of(&session->bands, &session->site.machine, call);
    const struct ronde_field fields[] = {
        ronde_field_text("style", "nccl"),
        ronde_field_text("machine", session->site.machine.name),
        RONDE_FIELDS_OF_A_CALL(call),
        ronde_field_integer("bytes", call->bytes),
        ronde_field_text("nccl_algorithm", ronde_nccl_algorithm_text(taken.algorithm)),
        ronde_field_text("nccl_protocol", ronde_nccl_protocol_text(taken.protocol)),
        ronde_field_real("nccl_time_us", us),
        ronde_field_text("algorithm", ronde_nccl_algorithm_text(fastest.algorithm)),
        ronde_field_text("protocol", ronde_nccl_protocol_text(fastest.protocol)),
        ronde_field_real("time_us", least_us),
        ronde_field_real("slower", us / least_us),
        ronde_field_real("nccl_low_us", us * band.low),
        ronde_field_real("nccl_high_us", us * band.high),
        ronde_field_text("limited_by", limiting(session, call, fastest)),
        ronde_field_text("kind", "modelled")};
    answer(session, call, taken, us, band);
    if (us > session->worst * least_us) {
        session->worst = us / least_us;
        session->worst_bytes = call->bytes;
    }
    if (session->worst > LEAST_GAIN)
        ronde_html_answer(session->sink->html,
                          "%s by NCCL on %u ranks of %s: its own choice takes up to %.2f times the "
                          "fastest it could choose, at %s.",
                          ronde_collective_text(call->collective), call->ranks,
                          session->site.machine.name, session->worst,
                          ronde_cell_tick(session->worst_bytes).text);
    return ronde_sink_print(session->sink, &table, &RONDE_ROW(fields), error);
}

/* A size of one choice in the picture: a colour for each algorithm, a dash for each protocol. */
static enum ronde_status draw_choice(struct session *session, const struct ronde_nccl_call *call,
                                     struct ronde_nccl_choice choice, bool is_taken,
                                     struct ronde_error *error)
{
    const double us =
        ronde_nccl_execution_us(&session->constants, &session->site.machine, call, choice);
    const struct ronde_plot_point point = {.bytes = call->bytes,
                                           .busbw_GBps =
                                               (double)call->bytes / us / 1e3 *
                                               ronde_collective_bus_factor(call->collective,
                                                                           call->ranks),
                                           .is_marked = is_taken};
    struct ronde_plot_curve curve = {.colour = choice.algorithm, .dash = choice.protocol};
    char panel[64];
    snprintf(panel, sizeof panel, "%u ranks on %u node%s", call->ranks, call->nodes,
             call->nodes == 1 ? "" : "s");
    snprintf(curve.name, sizeof curve.name, "%s %s", ronde_nccl_algorithm_text(choice.algorithm),
             ronde_nccl_protocol_text(choice.protocol));
    return ronde_curves_add(&session->curves, panel, &curve, &point, error);
}

/* All that NCCL could choose at a size, and what it does. Sends and receives have nothing to choose from. */
static enum ronde_status draw_size(struct session *session, const struct ronde_nccl_call *call,
                                   struct ronde_error *error)
{
    const struct ronde_nccl_choice any = {RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT};
    struct ronde_nccl_choice taken, choice;
    (void)ronde_nccl_choose(&session->constants, &session->site.machine, call, any, &taken);
    /* What cannot be wished for. */
    if (taken.algorithm > RONDE_NCCL_ALGORITHM_COUNT)
        RONDE_TRY(draw_choice(session, call, taken, true, error));
    if (taken.algorithm == RONDE_NCCL_POINT)
        return RONDE_OK;
    for (unsigned c = 0; c < RONDE_NCCL_CHOICES; c++) {
        const struct ronde_nccl_choice wish = {
            (enum ronde_nccl_algorithm)(c / RONDE_NCCL_PROTOCOL_COUNT),
            (enum ronde_nccl_protocol)(c % RONDE_NCCL_PROTOCOL_COUNT)};
        const double us =
            ronde_nccl_choose(&session->constants, &session->site.machine, call, wish, &choice);
        if (isfinite(us))
            RONDE_TRY(
                draw_choice(session, call, wish,
                            wish.algorithm == taken.algorithm && wish.protocol == taken.protocol,
                            error));
    }
    return RONDE_OK;
}

static enum ronde_status draw(struct session *session, struct ronde_error *error)
{
    const char *path = session->options->output.plot;
    char title[256];
    if (!path)
        return RONDE_OK;
    snprintf(title, sizeof title, "How fast is NCCL's %s on %s, and what does it choose? (model)",
             ronde_collective_text(session->collective), session->site.machine.name);
    RONDE_TRY(ronde_curves_plot(&session->curves, title, "NCCL's own choice", path, error));
    ronde_note("wrote %s", path);
    return RONDE_OK;
}

static enum ronde_status show_ranks(struct session *session, uint32_t ranks,
                                    struct ronde_error *error)
{
    struct ronde_nccl_call call = {.collective = session->collective, .ranks = ranks};
    RONDE_TRY(find_nodes(session, ranks, &call.nodes, error));
    call.bytes = session->options->sizes.min_bytes;
    RONDE_TRY(ronde_nccl_call_check(&session->site.machine, &call, error));
    RONDE_TRY(ronde_nccl_site_limit(&session->site, &call, NULL, error));
    while (call.bytes != 0) {
        RONDE_TRY(session->is_plan ? plan_size(session, &call, error)
                                   : show_size(session, &call, error));
        if (session->options->output.plot)
            RONDE_TRY(draw_size(session, &call, error));
        call.bytes = ronde_options_next_size(&session->options->sizes, call.bytes);
    }
    return RONDE_OK;
}

/* --nccl-log: the ranks and nodes of a communicator that NCCL made. */
static enum ronde_status show_log(struct session *session, struct ronde_error *error)
{
    struct ronde_nccl_graph *graph = NULL;
    RONDE_TRY(ronde_nccl_log_read(session->options, &graph, error));
    session->log_nodes = graph->hosts;
    const enum ronde_status status = show_ranks(session, graph->ranks, error);
    ronde_nccl_graph_destroy(graph);
    return status;
}

/* All GPUs that there are, where no -N says how many take part. */
static uint32_t all_ranks(const struct session *session)
{
    const uint32_t nodes = session->options->machine.nodes;
    return session->site.platform ? ronde_platform_facts(session->site.platform)->hosts
                                  : session->site.machine.gpus * (nodes > 0 ? nodes : 1);
}

static enum ronde_status show(struct session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    if (ronde_sink_is_table(session->sink)) {
        ronde_sink_say(session->sink,
                       "ronde %s: %s as NCCL executes it on %s, a model: "
                       "docs/results/validation-nccl.md",
                       RONDE_VERSION, ronde_collective_text(session->collective),
                       session->site.machine.name);
        fputs("# ", session->sink->file);
        ronde_print_nccl_machine(session->sink->file, &session->site.machine);
        if (!session->site.platform && session->site.machine.nics > 0)
            fputs("\n# between nodes only NICs limit: a description says nothing of the fabric",
                  session->sink->file);
        fputs("\n# from, to: where four of five times lie on machines that no constant was fitted "
              "to\n#\n",
              session->sink->file);
        const struct ronde_table table = table_of(session);
        ronde_sink_head(session->sink, &table);
    }
    if (options->what.nccl_log)
        return show_log(session, error);
    if (options->what.rank_counts == 0 && options->what.shape.count == 0)
        return show_ranks(session, all_ranks(session), error);
    if (options->what.rank_counts == 0)
        return show_ranks(session, options->what.shape.radix[0] * options->what.shape.radix[1],
                          error);
    for (uint32_t r = 0; r < options->what.rank_counts; r++)
        RONDE_TRY(show_ranks(session, options->what.ranks[r], error));
    return RONDE_OK;
}

enum ronde_status ronde_nccl_style(struct ronde_invocation *call, bool is_plan,
                                   struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    struct session session = {.options = options, .sink = &call->sink, .is_plan = is_plan};

    enum ronde_status status = check_options(options, error);
    if (is_plan)
        RONDE_THEN(status, ronde_takes_none(options, "algorithm",
                                            "plan --style nccl compares all that NCCL has", error));
    RONDE_THEN(status, ronde_parse_collective(options->arguments[0], &session.collective, error));
    RONDE_THEN(status, ronde_nccl_constants_read(NULL, &session.constants, error));
    RONDE_THEN(status, ronde_nccl_bands_read(NULL, &session.bands, error));
    RONDE_THEN(status, ronde_nccl_site_open(options, &session.site, error));
    RONDE_THEN(status, ronde_nccl_anchor(options, &session.site.machine, &session.constants,
                                         &session.bands, error));
    RONDE_THEN(status, ronde_sink_open(options, session.sink, error));
    RONDE_THEN(status, show(&session, error));
    RONDE_THEN(status, draw(&session, error));
    ronde_curves_free(&session.curves);
    ronde_nccl_site_close(&session.site);
    return status;
}
