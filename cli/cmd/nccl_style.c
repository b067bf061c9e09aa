/* --style nccl of sim and plan: sizes of a collective on a described machine. See nccl_style.h. */
#include "nccl_style.h"

#include "cli/print/report.h"
#include "cli/print/table.h"
#include "common.h"
#include "nccl_log.h"
#include "nccl_machine.h"
#include "nccl_tuner_csv.h"

#include "ronde/published.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* What the command holds. */
struct session {
    const struct ronde_options *options;
    struct ronde_nccl_constants constants;
    struct ronde_nccl_site site;
    enum ronde_collective collective;
    struct ronde_sink sink;
    uint32_t log_nodes; /* hosts of --nccl-log; 0 = none was given */
    bool is_plan; /* NCCL's choice beside the fastest, not how long what was asked for takes */
};

static enum ronde_status check_options(const struct ronde_options *options,
                                       struct ronde_error *error)
{
    if (strcmp(options->style, "nccl") != 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--style \"%s\" is not nccl", options->style);
    if (options->argument_count == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "which collective is missing");
    if (!options->topo)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--style nccl wants --topo with a machine's description "
                          "(topologies/published/README.md)");
    if (options->rank_counts == 0 && options->shape.count == 0 && !options->nccl_log)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "number of ranks is missing: -N, or --shape");
    if (options->why || options->trace || options->timeline || options->slot_bytes ||
        options->with_count || options->scenario || options->background_count ||
        options->straggler_count || options->plot || (options->channels && !options->to) ||
        options->has_backend || strcmp(options->engine, "auto") != 0)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "--style nccl is a model: it replays nothing, and takes no --why, --trace, "
            "--timeline, --slot, --channels, --with, --background, "
            "--straggler, --scenario, --engine, --backend or --plot");
    if (options->min_bytes == 0)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "--style nccl: a call of 0 bytes moves nothing; sizes (-b) are 1 and more");
    if (options->to && strcmp(options->to, "nccl-tuner") != 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--to \"%s\" is not nccl-tuner", options->to);
    if (options->to && (options->json || options->csv || options->algorithm_count > 0))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--to nccl-tuner is a file of its own form, for what is fastest: leave "
                          "out --json, --csv and -a");
    return RONDE_OK;
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
    const enum ronde_status status = ronde_shape_nodes(session->options, ranks, out_nodes, error);
    if (status != RONDE_OK || *out_nodes > 0)
        return status;
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

static const struct ronde_column columns[] = {{"size", "(B)", 14},        {"ranks", "", 7},
                                              {"nodes", "", 6},           {"algorithm", "", 10},
                                              {"protocol", "", 9},        {"time", "(us)", 11},
                                              {"algbw", "(GB/s)", 10},    {"busbw", "(GB/s)", 10},
                                              {"NCCL's own", "(us)", 11}, {"limited by", "", 14}};

#define COLUMN_COUNT (sizeof columns / sizeof columns[0])

static const struct ronde_column plan_columns[] = {
    {"size", "(B)", 14},   {"ranks", "", 7},    {"nodes", "", 6},     {"NCCL takes", "", 16},
    {"time", "(us)", 11},  {"fastest", "", 16}, {"time", "(us)", 11}, {"NCCL's is", "(times)", 9},
    {"limited by", "", 14}};

#define PLAN_COLUMN_COUNT (sizeof plan_columns / sizeof plan_columns[0])

/* The last column is of a platform: a description has no links to name. */
static struct ronde_table table_of(const struct session *session)
{
    const struct ronde_column *of = session->is_plan ? plan_columns : columns;
    const size_t count = session->is_plan ? PLAN_COLUMN_COUNT : COLUMN_COUNT;
    return (struct ronde_table){of, session->site.platform ? count : count - 1, 2};
}

/* A link of the fabric for which the call takes longer; "" = none. */
static const char *limiting(const struct session *session, const struct ronde_nccl_call *call,
                            struct ronde_nccl_choice choice)
{
    const char *link = ronde_nccl_site_limiting(&session->site, &session->constants, call, choice);
    return link ? link : "";
}

static struct ronde_cell cell_of_limit(const struct session *session,
                                       const struct ronde_nccl_call *call,
                                       struct ronde_nccl_choice choice)
{
    const char *link = limiting(session, call, choice);
    return ronde_cell_text(link[0] ? link : "-");
}

static enum ronde_status print(struct session *session, const struct ronde_nccl_call *call,
                               struct ronde_nccl_choice choice, double nccl_us,
                               struct ronde_error *error)
{
    const double us =
        ronde_nccl_execution_us(&session->constants, &session->site.machine, call, choice);
    const double rate_GBps = (double)call->bytes / us / 1e3;
    const double busbw_GBps = rate_GBps * ronde_published_bus_factor(call);
    const char *algorithm = ronde_nccl_algorithm_text(choice.algorithm);
    const char *protocol = ronde_nccl_protocol_text(choice.protocol);
    if (ronde_sink_is_table(&session->sink)) {
        const struct ronde_cell cells[COLUMN_COUNT] = {ronde_cell_integer(call->bytes),
                                                       ronde_cell_integer(call->ranks),
                                                       ronde_cell_integer(call->nodes),
                                                       ronde_cell_text(algorithm),
                                                       ronde_cell_text(protocol),
                                                       ronde_cell_us(1e3 * us),
                                                       ronde_cell_rate(rate_GBps),
                                                       ronde_cell_rate(busbw_GBps),
                                                       isfinite(nccl_us)
                                                           ? ronde_cell_us(1e3 * nccl_us)
                                                           : ronde_cell_text("-"),
                                                       cell_of_limit(session, call, choice)};
        const struct ronde_table table = table_of(session);
        ronde_table_row(session->sink.file, &table, cells);
        return RONDE_OK;
    }
    const struct ronde_field fields[] = {ronde_field_text("style", "nccl"),
                                         ronde_field_text("machine", session->site.machine.name),
                                         ronde_field_text("collective",
                                                          ronde_collective_text(call->collective)),
                                         ronde_field_integer("ranks", call->ranks),
                                         ronde_field_integer("nodes", call->nodes),
                                         ronde_field_integer("bytes", call->bytes),
                                         ronde_field_text("algorithm", algorithm),
                                         ronde_field_text("protocol", protocol),
                                         ronde_field_real("time_us", us),
                                         ronde_field_real("algbw_GBps", rate_GBps),
                                         ronde_field_real("busbw_GBps", busbw_GBps),
                                         ronde_field_real("nccl_us", nccl_us),
                                         ronde_field_text("limited_by",
                                                          limiting(session, call, choice)),
                                         ronde_field_text("kind", "modelled")};
    const struct ronde_row row = {fields, sizeof fields / sizeof fields[0]};
    return ronde_sink_row(&session->sink, &row, error);
}

/* One size by every algorithm that was named; without names what NCCL takes. */
static enum ronde_status show_size(struct session *session, const struct ronde_nccl_call *call,
                                   struct ronde_error *error)
{
    static const char *const by_itself[] = {"auto"};
    const struct ronde_options *options = session->options;
    const bool is_named = options->algorithm_count > 0;
    enum ronde_status status = ronde_nccl_call_check(&session->site.machine, call, error);
    for (uint32_t a = 0; status == RONDE_OK && a < (is_named ? options->algorithm_count : 1); a++) {
        struct ronde_nccl_choice wish = {RONDE_NCCL_RING, RONDE_NCCL_PROTOCOL_COUNT}, choice;
        const char *name = is_named ? options->algorithms[a] : by_itself[a];
        status = find_algorithm(name, &wish.algorithm, error);
        if (status != RONDE_OK)
            break;
        const double us =
            ronde_nccl_choose(&session->constants, &session->site.machine, call, wish, &choice);
        /* Sends and receives have no algorithms to name. */
        if (!isfinite(us) &&
            (choice.algorithm != RONDE_NCCL_POINT || wish.algorithm != RONDE_NCCL_ALGORITHM_COUNT))
            return ronde_fail(error, RONDE_UNSUPPORTED,
                              "NCCL has no %s for %s of %u ranks on %u nodes of %s", name,
                              ronde_collective_text(call->collective), call->ranks, call->nodes,
                              session->site.machine.name);
        status = print(session, call, choice, us, error);
    }
    return status;
}

static struct ronde_cell cell_of(struct ronde_nccl_choice choice)
{
    struct ronde_cell cell;
    snprintf(cell.text, sizeof cell.text, "%s/%s", ronde_nccl_algorithm_text(choice.algorithm),
             ronde_nccl_protocol_text(choice.protocol));
    return cell;
}

/* What NCCL takes by itself, and what would be fastest if NCCL_ALGO and NCCL_PROTO said so. */
static enum ronde_status plan_size(struct session *session, const struct ronde_nccl_call *call,
                                   struct ronde_error *error)
{
    const struct ronde_nccl_choice any = {RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT};
    struct ronde_nccl_choice taken, fastest;
    const enum ronde_status status = ronde_nccl_call_check(&session->site.machine, call, error);
    if (status != RONDE_OK)
        return status;
    (void)ronde_nccl_choose(&session->constants, &session->site.machine, call, any, &taken);
    const double us =
        ronde_nccl_execution_us(&session->constants, &session->site.machine, call, taken);
    const double least_us =
        ronde_nccl_fastest(&session->constants, &session->site.machine, call, &fastest);
    const struct ronde_cell names[] = {cell_of(taken), cell_of(fastest)};
    if (ronde_sink_is_table(&session->sink)) {
        struct ronde_cell times = {""};
        snprintf(times.text, sizeof times.text, "%.2f", us / least_us);
        const struct ronde_cell cells[PLAN_COLUMN_COUNT] = {ronde_cell_integer(call->bytes),
                                                            ronde_cell_integer(call->ranks),
                                                            ronde_cell_integer(call->nodes),
                                                            names[0],
                                                            ronde_cell_us(1e3 * us),
                                                            names[1],
                                                            ronde_cell_us(1e3 * least_us),
                                                            times,
                                                            cell_of_limit(session, call, fastest)};
        const struct ronde_table table = table_of(session);
        ronde_table_row(session->sink.file, &table, cells);
        return RONDE_OK;
    }
    const struct ronde_field fields[] = {
        ronde_field_text("style", "nccl"),
        ronde_field_text("machine", session->site.machine.name),
        ronde_field_text("collective", ronde_collective_text(call->collective)),
        ronde_field_integer("ranks", call->ranks),
        ronde_field_integer("nodes", call->nodes),
        ronde_field_integer("bytes", call->bytes),
        ronde_field_text("nccl_algorithm", ronde_nccl_algorithm_text(taken.algorithm)),
        ronde_field_text("nccl_protocol", ronde_nccl_protocol_text(taken.protocol)),
        ronde_field_real("nccl_time_us", us),
        ronde_field_text("algorithm", ronde_nccl_algorithm_text(fastest.algorithm)),
        ronde_field_text("protocol", ronde_nccl_protocol_text(fastest.protocol)),
        ronde_field_real("time_us", least_us),
        ronde_field_text("limited_by", limiting(session, call, fastest)),
        ronde_field_text("kind", "modelled")};
    const struct ronde_row row = {fields, sizeof fields / sizeof fields[0]};
    return ronde_sink_row(&session->sink, &row, error);
}

static enum ronde_status show_ranks(struct session *session, uint32_t ranks,
                                    struct ronde_error *error)
{
    struct ronde_nccl_call call = {.collective = session->collective, .ranks = ranks};
    enum ronde_status status = find_nodes(session, ranks, &call.nodes, error);
    call.bytes = session->options->min_bytes;
    if (status == RONDE_OK)
        status = ronde_nccl_call_check(&session->site.machine, &call, error);
    if (status == RONDE_OK)
        status = ronde_nccl_site_limit(&session->site, &call, NULL, error);
    if (session->options->to) {
        const struct ronde_tuner_csv csv = {session->options, &session->constants,
                                            &session->site.machine};
        return status == RONDE_OK ? ronde_tuner_csv_rows(&csv, call, session->sink.file, error)
                                  : status;
    }
    while (status == RONDE_OK && call.bytes != 0) {
        status =
            session->is_plan ? plan_size(session, &call, error) : show_size(session, &call, error);
        call.bytes = ronde_options_next_size(session->options, call.bytes);
    }
    return status;
}

/* The ranks and nodes of a communicator that NCCL made. */
static enum ronde_status show_log(struct session *session, struct ronde_error *error)
{
    struct ronde_nccl_graph *graph = NULL;
    enum ronde_status status = ronde_nccl_log_read(session->options, &graph, error);
    if (status != RONDE_OK)
        return status;
    session->log_nodes = graph->hosts;
    status = show_ranks(session, graph->ranks, error);
    ronde_nccl_graph_destroy(graph);
    return status;
}

static enum ronde_status show(struct session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    enum ronde_status status = RONDE_OK;
    if (options->to) {
        const struct ronde_tuner_csv csv = {options, &session->constants, &session->site.machine};
        ronde_tuner_csv_head(&csv, session->sink.file);
    } else if (ronde_sink_is_table(&session->sink)) {
        fprintf(
            session->sink.file, "# ronde %s: %s as NCCL executes it on %s, a model: docs/results/validation-nccl.md\n# ",
            RONDE_VERSION, ronde_collective_text(session->collective), session->site.machine.name);
        ronde_print_nccl_machine(session->sink.file, &session->site.machine);
        if (!session->site.platform && session->site.machine.nics > 0)
            fputs("\n# between nodes only NICs limit: a description says nothing of the fabric",
                  session->sink.file);
        fputs("\n#\n", session->sink.file);
        const struct ronde_table table = table_of(session);
        ronde_table_head(session->sink.file, &table);
    }
    if (options->nccl_log)
        return show_log(session, error);
    if (options->rank_counts == 0)
        return show_ranks(session, options->shape.radix[0] * options->shape.radix[1], error);
    for (uint32_t r = 0; status == RONDE_OK && r < options->rank_counts; r++)
        status = show_ranks(session, options->ranks[r], error);
    return status;
}

int ronde_nccl_style(const struct ronde_options *options, bool is_plan)
{
    struct ronde_error error = {0};
    struct session session = {.options = options, .is_plan = is_plan};
    enum ronde_status status = check_options(options, &error);
    if (status == RONDE_OK)
        status = ronde_parse_collective(options->arguments[0], &session.collective, &error);
    if (status == RONDE_OK)
        status = ronde_nccl_constants_read(NULL, &session.constants, &error);
    if (status == RONDE_OK)
        status = ronde_nccl_site_open(options, &session.site, &error);
    if (status == RONDE_OK)
        status = ronde_sink_open(options, &session.sink, &error);
    if (status == RONDE_OK)
        status = show(&session, &error);
    if (session.sink.file && ronde_sink_close(&session.sink, &error) != RONDE_OK &&
        status == RONDE_OK)
        status = error.status;
    ronde_nccl_site_close(&session.site);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}
