/* ronde topo check: reads a platform file as every command does and says what is there. */
#include "commands.h"
#include "common.h"

#include "cli/options/topology.h"
#include "cli/print/report.h"

/* Facts of a check, at most. */
#define MAX_FIELDS 24u

/* The answer, in the order it is printed. */
struct answer {
    struct ronde_field fields[MAX_FIELDS];
    uint32_t count;
};

static void add(struct answer *answer, struct ronde_field field)
{
    answer->fields[answer->count++] = field;
}

/* Costs that the file leaves out are 0 and not worth a line. */
static void add_cost(struct answer *answer, const char *name, double value)
{
    if (value > 0)
        add(answer, ronde_field_real(name, value));
}

static void add_facts(struct answer *answer, const struct ronde_platform_facts *facts)
{
    add_cost(answer, "alpha_ns", facts->time.alpha_ns);
    add_cost(answer, "step_ns", facts->time.step_ns);
    add_cost(answer, "launch_ns", facts->time.launch_ns);
    add_cost(answer, "gamma_GBps", facts->time.gamma_GBps);
    add_cost(answer, "copy_GBps", facts->time.copy_GBps);
    add_cost(answer, "lane_GBps", facts->time.lane_GBps);
    add_cost(answer, "memory_GBps", facts->shared.memory_GBps);
    if (facts->shared.cores > 0)
        add(answer, ronde_field_integer("cores", facts->shared.cores));
    if (facts->slot_bytes > 0)
        add(answer, ronde_field_integer("slot_bytes", facts->slot_bytes));
    if (facts->measured_by[0] != '\0')
        add(answer, ronde_field_text("measured_by", facts->measured_by));
}

static void collect(const struct ronde_platform *platform, struct answer *answer)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(platform);
    const struct ronde_platform_counts counts = ronde_platform_count(platform);
    add(answer, ronde_field_text("path", ronde_platform_path(platform)));
    add(answer, ronde_field_text("name", facts->name));
    if (facts->description[0] != '\0')
        add(answer, ronde_field_text("description", facts->description));
    add(answer, ronde_field_integer("hosts", counts.hosts));
    if (facts->node_hosts > 0)
        add(answer, ronde_field_integer("node_hosts", facts->node_hosts));
    add(answer, ronde_field_integer("zones", counts.zones));
    add(answer, ronde_field_integer("routers", counts.routers));
    add(answer, ronde_field_integer("links", counts.links));
    add(answer, ronde_field_integer("routes", counts.routes));
    add_cost(answer, "slowest_GBps", counts.slowest_GBps);
    add_cost(answer, "fastest_GBps", counts.fastest_GBps);
    add(answer, ronde_field_text("routed_by", counts.is_foreign ? "simgrid" : "ronde and simgrid"));
    add_facts(answer, facts);
}

/* One line a fact for people. */
static void print_table(const struct ronde_sink *sink, const struct answer *answer)
{
    for (uint32_t i = 0; i < answer->count; i++) {
        const struct ronde_field *field = &answer->fields[i];
        fprintf(sink->file, "%-13s ", field->name);
        if (field->kind == RONDE_FIELD_TEXT)
            fprintf(sink->file, "%s\n", field->text);
        else if (field->kind == RONDE_FIELD_INTEGER)
            fprintf(sink->file, "%lld\n", (long long)field->integer);
        else
            fprintf(sink->file, "%.6g\n", field->real);
    }
}

static enum ronde_status print(const struct ronde_options *options, const struct answer *answer,
                               struct ronde_error *error)
{
    struct ronde_sink sink = {0};
    const struct ronde_row row = {answer->fields, answer->count};
    enum ronde_status status = ronde_sink_open(options, &sink, error);
    if (status != RONDE_OK)
        return status;
    if (ronde_sink_is_table(&sink))
        print_table(&sink, answer);
    else
        status = ronde_sink_row(&sink, &row, error);
    const enum ronde_status closed = ronde_sink_close(&sink, error);
    return status == RONDE_OK ? closed : status;
}

int ronde_topo_check(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct ronde_platform *platform = NULL;
    struct answer answer = {.count = 0};
    enum ronde_status status = RONDE_OK;
    if (options->argument_count < 2)
        status = ronde_fail(&error, RONDE_BAD_ARGUMENT, "topo check: which file?");
    if (status == RONDE_OK)
        status = ronde_open_argument(options, 1, &platform, &error);
    if (status == RONDE_OK) {
        collect(platform, &answer);
        status = print(options, &answer, &error);
    }
    ronde_platform_destroy(platform);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}
