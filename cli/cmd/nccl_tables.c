/* validate --published of RONDE_TUNER_RECORD: NCCL's own costs beside our copy of its formula. See styles.h. */
#include "cli/print/printer.h"
#include "styles.h"

#include "ronde/nccl_tuner.h"

#include <math.h>
#include <string.h>

static const struct ronde_column columns[] = {
    {"collective", "collective", "", RONDE_CELL_PLAIN, 14, false},
    {"ranks", "ranks", "", RONDE_CELL_PLAIN, 6, false},
    {"nodes", "nodes", "", RONDE_CELL_PLAIN, 5, false},
    {"calls", "calls", "", RONDE_CELL_PLAIN, 6, false},
    {"costs", "costs", "", RONDE_CELL_PLAIN, 6, false},
    {"median", "median", "(%)", RONDE_CELL_PERCENT, 7, false},
    {"worst", "worst", "(%)", RONDE_CELL_PERCENT, 7, false},
    {"lacking", "lacking", "", RONDE_CELL_PLAIN, 7, false},
    {"excess", "excess", "", RONDE_CELL_PLAIN, 6, false},
    {"same", "same choice", "", RONDE_CELL_PLAIN, 11, false},
    {"elsewhere", "elsewhere", "", RONDE_CELL_PLAIN, 9, false},
};
static const struct ronde_table table = RONDE_TABLE(columns);

/* What the command holds. */
struct session {
    const struct ronde_options *options;
    struct ronde_nccl_constants constants;
    struct ronde_nccl_machine machine;
    struct ronde_nccl_tables tables;
    struct ronde_sink *sink;
};

static const char *text_of(uint32_t choice, char room[32])
{
    if (choice == RONDE_NCCL_CHOICES)
        return NULL;
    snprintf(
        room, 32, "%s/%s",
        ronde_nccl_algorithm_text((enum ronde_nccl_algorithm)(choice / RONDE_NCCL_PROTOCOL_COUNT)),
        ronde_nccl_protocol_text((enum ronde_nccl_protocol)(choice % RONDE_NCCL_PROTOCOL_COUNT)));
    return room;
}

/* A cost as a record. */
static enum ronde_status print_cost(struct session *session, const struct ronde_nccl_table *call,
                                    uint32_t choice, double model_us, struct ronde_error *error)
{
    char name[32];
    const double us = call->us[choice];
    const struct ronde_field fields[] = {
        ronde_field_text("kind", "nccl_table"),
        ronde_field_text("machine", session->machine.name),
        ronde_field_integer("line", call->line),
        RONDE_FIELDS_OF_A_CALL(&call->call),
        ronde_field_integer("bytes", call->call.bytes),
        ronde_field_integer("pipe_ops", call->pipe_ops),
        ronde_field_boolean("registered", call->is_registered),
        ronde_field_text("choice", text_of(choice, name)),
        ronde_field_real("nccl_us", us),
        ronde_field_real("model_us", model_us),
        ronde_field_real("error", model_us / us - 1),
    };
    return ronde_sink_row(session->sink, &RONDE_ROW(fields), error);
}

static enum ronde_status print_costs(struct session *session, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (size_t i = 0; i < session->tables.count; i++) {
        const struct ronde_nccl_table *call = &session->tables.tables[i];
        double model[RONDE_NCCL_CHOICES];
        ronde_nccl_tables_model(&session->constants, &session->machine, call, model);
        for (uint32_t c = 0; status == RONDE_OK && c < RONDE_NCCL_CHOICES; c++)
            if (isfinite(call->us[c]) || isfinite(model[c]))
                status = print_cost(session, call, c, model[c], error);
    }
    return status;
}

static enum ronde_status print_group(struct session *session, size_t first, size_t end,
                                     struct ronde_error *error)
{
    struct ronde_nccl_tables_score score;
    const struct ronde_nccl_call *call = &session->tables.tables[first].call;
    const enum ronde_status status =
        ronde_nccl_tables_score(&session->tables, first, end, &session->constants,
                                &session->machine, &score, error);
    const struct ronde_field fields[] = {
        RONDE_FIELDS_OF_A_CALL(call),
        ronde_field_integer("calls", score.calls),
        ronde_field_integer("costs", score.costs),
        ronde_field_real("median", score.costs > 0 ? score.median : NAN),
        ronde_field_real("worst", score.costs > 0 ? score.worst : NAN),
        ronde_field_integer("lacking", score.lacking),
        ronde_field_integer("excess", score.excess),
        ronde_field_integer("same", score.same),
        ronde_field_integer("elsewhere", score.elsewhere),
    };
    return status == RONDE_OK && score.calls > 0
               ? ronde_sink_print(session->sink, &table, &RONDE_ROW(fields), error)
               : status;
}

static enum ronde_status print_table(struct session *session, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    ronde_sink_say(session->sink,
                   "ronde %s: NCCL's own costs in %s, and our copy of its formula on %s",
                   RONDE_VERSION, ronde_validate_own(session->options)->published,
                   session->machine.name);
    fputs("#\n", session->sink->file);
    ronde_sink_head(session->sink, &table);
    for (size_t i = 0, end; status == RONDE_OK && i < session->tables.count; i = end) {
        end = ronde_nccl_tables_group(&session->tables, i);
        status = print_group(session, i, end, error);
    }
    fputs("#\n", session->sink->file);
    ronde_sink_say(
        session->sink,
        "single calls without registered buffers; costs: those that both have, and how far "
        "ours are off; lacking: NCCL has them and we do not, excess: the other way round; "
        "same choice: calls in which the least cost is the same one's; elsewhere: NCCL "
        "takes PAT or CollNet, which the model does not have");
    return status;
}

/* Every call has to be one that the machine can make. */
static enum ronde_status check_calls(const struct session *session, struct ronde_error *error)
{
    for (size_t i = 0; i < session->tables.count; i++) {
        struct ronde_error why = {.status = RONDE_OK};
        const struct ronde_nccl_table *call = &session->tables.tables[i];
        const enum ronde_status status = ronde_nccl_call_check(&session->machine, &call->call, &why);
        if (status != RONDE_OK)
            return ronde_fail_at(error, status, call->line,
                                 "%.200s:%u: %.200s; --topo is to be the machine that was recorded",
                                 ronde_validate_own(session->options)->published, call->line,
                                 why.message);
    }
    return RONDE_OK;
}

static enum ronde_status check_options(const struct ronde_options *options,
                                       struct ronde_error *error)
{
    static const char what[] = "records of NCCL's tuner say themselves what ran";
    if (options->argument_count > 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: leave out %s", what,
                          options->arguments[0]);
    return ronde_takes_only(options,
                            "published topo without degrade nodes nics fabric json csv wide output "
                            "html",
                            what, error);
}

enum ronde_status ronde_validate_nccl_tables(struct ronde_invocation *call,
                                             struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    struct session session = {.options = options, .sink = &call->sink};

    enum ronde_status status = check_options(options, error);
    RONDE_THEN(status, ronde_nccl_constants_read(NULL, &session.constants, error));
    RONDE_THEN(status, ronde_open_nccl_machine(options, &session.machine, error));
    RONDE_THEN(status, ronde_nccl_tables_read(ronde_validate_own(options)->published,
                                              ronde_mem_default(), &session.tables, error));
    RONDE_THEN(status, check_calls(&session, error));
    RONDE_THEN(status, ronde_sink_open(options, session.sink, error));
    RONDE_THEN(status, ronde_sink_is_table(session.sink) ? print_table(&session, error)
                                                         : print_costs(&session, error));
    ronde_nccl_tables_close(&session.tables);
    return status;
}

/* plan --style nccl --to nccl-tuner: the file of a machine for libnccl-tuner-ronde.so. */

/* Nodes of the largest communicator where nothing says how many a described machine has. */
#define DESCRIBED_NODES 128u

/* Sizes as they are where no option says others. */
static bool has_default_sizes(const struct ronde_sizes_options *sizes)
{
    return sizes->min_bytes == 8 && sizes->max_bytes == UINT64_C(16) << 20 &&
           sizes->step_bytes == 0 && sizes->factor == 4;
}

static enum ronde_status check_file_options(const struct ronde_options *options, const char *to,
                                            struct ronde_error *error)
{
    if (strcmp(options->style, "nccl") != 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--style \"%s\" is not nccl", options->style);
    if (strcmp(to, "nccl-tuner") != 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--to \"%s\" is not nccl-tuner", to);
    if (options->argument_count > 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--to nccl-tuner writes all collectives that NCCL's tuner is asked for: "
                          "leave out %s",
                          options->arguments[0]);
    if (!has_default_sizes(&options->sizes))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--to nccl-tuner writes all sizes: leave out -b, -e, -f and -i");
    if (options->output.json || options->output.csv || options->output.plot)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--to nccl-tuner is a file of its own form: leave out --json, --csv and "
                          "--plot");
    return ronde_takes_none(options, "algorithm channels engine slot depth synthesize backend root",
                            "--to nccl-tuner weighs what NCCL has", error);
}

/* Of the platform, of --nodes, of --shape, of the most ranks of -N, or many. */
static enum ronde_status find_nodes(const struct ronde_options *options,
                                    const struct ronde_nccl_site *site, uint32_t *out_nodes,
                                    struct ronde_error *error)
{
    const uint32_t gpus = site->machine.gpus;
    uint32_t ranks = 0;
    for (uint32_t r = 0; r < options->what.rank_counts; r++)
        ranks = options->what.ranks[r] > ranks ? options->what.ranks[r] : ranks;
    RONDE_TRY(ronde_shape_nodes(options, ranks, out_nodes, error));
    if (*out_nodes > 0)
        return RONDE_OK;
    if (ranks > 0)
        *out_nodes = (ranks - 1) / gpus + 1;
    else if (site->platform)
        *out_nodes = ronde_platform_facts(site->platform)->hosts / gpus;
    else if (options->machine.nodes > 0)
        *out_nodes = options->machine.nodes;
    else
        *out_nodes = site->machine.nics > 0 ? DESCRIBED_NODES : 1;
    return RONDE_OK;
}

enum ronde_status ronde_nccl_tuner_file(struct ronde_invocation *call, const char *to,
                                        struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    struct ronde_nccl_constants constants;
    struct ronde_nccl_bands bands;
    struct ronde_nccl_site site = {.platform = NULL};
    struct ronde_nccl_tuner_request request = {.constants = &constants, .bands = &bands};

    enum ronde_status status = check_file_options(options, to, error);
    RONDE_THEN(status, ronde_nccl_constants_read(NULL, &constants, error));
    RONDE_THEN(status, ronde_nccl_bands_read(NULL, &bands, error));
    RONDE_THEN(status, ronde_nccl_site_open(options, &site, error));
    RONDE_THEN(status, ronde_nccl_anchor(options, &site.machine, &constants, &bands, error));
    RONDE_THEN(status, find_nodes(options, &site, &request.nodes, error));
    request.machine = &site.machine;
    request.platform = site.platform;
    RONDE_THEN(status, ronde_sink_open(options, &call->sink, error));
    RONDE_THEN(status, ronde_nccl_tuner_file_write(&request, call->sink.file, error));
    ronde_nccl_site_close(&site);
    return status;
}
