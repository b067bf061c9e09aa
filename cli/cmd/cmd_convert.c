/* ronde convert: a schedule from one format into another. */
#include "cli/options/schedule_file.h"
#include "cli/print/report.h"
#include "commands.h"
#include "nccl_machine.h"
#include "workload_export.h"

#include "ronde/mscclpp.h"
#include "ronde/nccl_graph_file.h"
#include "ronde/text.h"

#include <string.h>

/* Formats that are written, and how their files are called. The last two are of messages and byte counts. */
enum format {
    FORMAT_RONDE,
    FORMAT_MSCCL,
    FORMAT_NCCL_GRAPH,
    FORMAT_MSCCLPP,
    FORMAT_GOAL,
    FORMAT_CHAKRA,
    FORMAT_COUNT
};

static const struct {
    const char *name, *suffix;
} formats[FORMAT_COUNT] = {{"ronde", ".ronde"},  {"msccl", ".xml"}, {"nccl-graph", NULL},
                           {"mscclpp", ".json"}, {"goal", ".goal"}, {"chakra", ".et"}};

static bool ends_in(const char *name, const char *suffix)
{
    const size_t length = strlen(name);
    return length >= strlen(suffix) && strcmp(name + length - strlen(suffix), suffix) == 0;
}

/* --to first, else the output's name. */
static enum ronde_status find_format(const struct ronde_options *options, enum format *out_format,
                                     struct ronde_error *error)
{
    for (unsigned i = 0; i < FORMAT_COUNT; i++)
        if (options->to ? strcmp(options->to, formats[i].name) == 0
                        : options->output && formats[i].suffix &&
                              ends_in(options->output, formats[i].suffix)) {
            *out_format = (enum format)i;
            return RONDE_OK;
        }
    if (options->to)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "unknown format \"%s\"; there are ronde, msccl, mscclpp, nccl-graph, goal, "
            "chakra",
            options->to);
    return ronde_fail(
        error, RONDE_BAD_ARGUMENT,
        "convert into which format? name a file that ends in .ronde, .xml, .json or .goal, or "
        "say --to ronde, --to msccl, --to mscclpp, --to nccl-graph or --to goal");
}

static enum ronde_status find_style(const struct ronde_options *options, enum format format,
                                    struct ronde_msccl_style *out_style, struct ronde_error *error)
{
    *out_style = (struct ronde_msccl_style){RONDE_MSCCL_OF_MSCCL, RONDE_MSCCL_PROTOCOL_COUNT};
    if (!options->dialect)
        return RONDE_OK;
    if (format != FORMAT_MSCCL)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--dialect is for MSCCL files");
    if (strcmp(options->dialect, "rccl") == 0)
        out_style->dialect = RONDE_MSCCL_OF_RCCL;
    else if (strcmp(options->dialect, "msccl") != 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "unknown dialect \"%s\"; there are msccl, rccl", options->dialect);
    return RONDE_OK;
}

/* The second word is the output, as -o is. */
static enum ronde_status name_output(struct ronde_options *options, struct ronde_error *error)
{
    if (options->argument_count < 2)
        return RONDE_OK;
    if (options->output)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "two outputs: %s and --output %s",
                          options->arguments[1], options->output);
    options->output = options->arguments[1];
    return RONDE_OK;
}

/* What NCCL's search would have found beside the orders, on the machine of --topo. */
static enum ronde_status print_graph(const struct ronde_options *options,
                                     const struct ronde_schedule *schedule, char **out_text,
                                     size_t *out_bytes, struct ronde_error *error)
{
    const struct ronde_nccl_call call = {.collective = RONDE_ALL_REDUCE,
                                         .ranks = schedule->ranks,
                                         .nodes = 1,
                                         .bytes = 1};
    struct ronde_nccl_constants constants;
    struct ronde_nccl_machine machine;
    enum ronde_status status = ronde_open_nccl_machine(options, &machine, error);
    if (status == RONDE_OK)
        status = ronde_nccl_constants_read(NULL, &constants, error);
    if (status == RONDE_OK && schedule->ranks > machine.gpus)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "a graph file is of one node, which names its own NICs: %u ranks, %s has "
                          "%u GPUs a node",
                          schedule->ranks, machine.name, machine.gpus);
    if (status != RONDE_OK)
        return status;
    const struct ronde_nccl_node_links links = {.bus_GBps = ronde_nccl_bus_GBps(&constants,
                                                                                &machine, &call),
                                                .path = ronde_nccl_path_text(&machine,
                                                                             schedule->ranks)};
    return ronde_nccl_graph_file_print(schedule, &links, ronde_mem_default(), out_text, out_bytes,
                                       error);
}

static enum ronde_status print_as(const struct ronde_options *options, enum format format,
                                  const struct ronde_msccl_style *style, char **out_text,
                                  size_t *out_bytes, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    struct ronde_schedule *schedule = NULL;
    enum ronde_status status = ronde_schedule_file_or_compiled(options, &schedule, error);
    if (status == RONDE_OK && format == FORMAT_NCCL_GRAPH)
        status = print_graph(options, schedule, out_text, out_bytes, error);
    else if (status == RONDE_OK && format == FORMAT_MSCCLPP)
        status = ronde_mscclpp_print(schedule, mem, out_text, out_bytes, error);
    else if (status == RONDE_OK && format == FORMAT_MSCCL)
        status = ronde_msccl_print(schedule, style, mem, out_text, out_bytes, error);
    else if (status == RONDE_OK)
        status = ronde_schedule_print(schedule, mem, out_text, out_bytes, error);
    ronde_schedule_destroy(schedule);
    return status;
}

/* Formats of messages and byte counts. */
static enum ronde_status convert_to_workload(const struct ronde_options *options,
                                             struct ronde_error *error)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_workload *workload = NULL;
    enum ronde_status status = ronde_schedule_file_or_compiled(options, &schedule, error);
    if (status == RONDE_OK)
        status = ronde_workload_exported(options, schedule, &workload, error);
    if (status == RONDE_OK)
        status = ronde_workload_write(options, workload, error);
    ronde_workload_destroy(workload);
    ronde_schedule_destroy(schedule);
    return status;
}

int ronde_cmd_convert(const struct ronde_options *options)
{
    struct ronde_options own = *options;
    struct ronde_error error = {0};
    struct ronde_msccl_style style;
    enum format format = FORMAT_RONDE;
    char *text = NULL;
    size_t bytes = 0;
    enum ronde_status status = name_output(&own, &error);
    if (status == RONDE_OK)
        status = find_format(&own, &format, &error);
    if (status == RONDE_OK)
        status = find_style(&own, format, &style, &error);
    if (status == RONDE_OK && (format == FORMAT_GOAL || format == FORMAT_CHAKRA)) {
        status = convert_to_workload(&own, &error);
    } else if (status == RONDE_OK) {
        status = print_as(&own, format, &style, &text, &bytes, &error);
        if (status == RONDE_OK)
            status = ronde_schedule_text_write(&own, text, bytes, &error);
    }
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}
