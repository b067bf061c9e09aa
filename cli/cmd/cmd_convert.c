/* ronde convert: the text of a schedule, in its own format or another tool's. */
#include "cli/options/option_groups.h"
#include "cli/options/requests.h"
#include "cli/options/topology.h"
#include "cli/print/report.h"
#include "commands.h"
#include "styles.h"

#include "ronde/executors.h"
#include "ronde/hw.h"
#include "ronde/mscclpp.h"
#include "ronde/nccl_graph_file.h"
#include "ronde/setup.h"
#include "ronde/text.h"

#include <string.h>

/* The command's own options. */
static const struct ronde_format_options *format_of(const struct ronde_options *options)
{
    return options->own;
}

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

/* Whether the name of a file says what is in it. */
static bool has_suffix(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return path && strchr(slash ? slash + 1 : path, '.');
}

/* --to first, else the output's name. */
static enum ronde_status find_format(const struct ronde_options *options, enum format *out_format,
                                     struct ronde_error *error)
{
    for (unsigned i = 0; i < FORMAT_COUNT; i++)
        if (format_of(options)->to ? strcmp(format_of(options)->to, formats[i].name) == 0
                                   : options->output.path && formats[i].suffix &&
                                         ends_in(options->output.path, formats[i].suffix)) {
            *out_format = (enum format)i;
            return RONDE_OK;
        }
    /* Its own form where nothing says another. */
    *out_format = FORMAT_RONDE;
    if (!format_of(options)->to && !has_suffix(options->output.path))
        return RONDE_OK;
    if (format_of(options)->to)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "unknown format \"%s\"; there are ronde, msccl, mscclpp, nccl-graph, goal, "
            "chakra",
            format_of(options)->to);
    return ronde_fail(
        error, RONDE_BAD_ARGUMENT,
        "convert into which format? name a file that ends in .ronde, .xml, .json or .goal, or "
        "say --to ronde, --to msccl, --to mscclpp, --to nccl-graph or --to goal");
}

static enum ronde_status find_style(const struct ronde_options *options, enum format format,
                                    struct ronde_msccl_style *out_style, struct ronde_error *error)
{
    *out_style = (struct ronde_msccl_style){RONDE_MSCCL_OF_MSCCL, RONDE_MSCCL_PROTOCOL_COUNT};
    if (!format_of(options)->dialect)
        return RONDE_OK;
    if (format != FORMAT_MSCCL)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--dialect is for MSCCL files");
    if (strcmp(format_of(options)->dialect, "rccl") == 0)
        out_style->dialect = RONDE_MSCCL_OF_RCCL;
    else if (strcmp(format_of(options)->dialect, "msccl") != 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "unknown dialect \"%s\"; there are msccl, rccl",
                          format_of(options)->dialect);
    return RONDE_OK;
}

/* The second word is the output, as -o is. */
static enum ronde_status name_output(struct ronde_options *options, struct ronde_error *error)
{
    if (options->argument_count < 2)
        return RONDE_OK;
    if (options->output.path)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "two outputs: %s and --output %s",
                          options->arguments[1], options->output.path);
    options->output.path = options->arguments[1];
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
    RONDE_TRY(ronde_open_nccl_machine(options, &machine, error));
    RONDE_TRY(ronde_nccl_constants_read(NULL, &constants, error));
    if (schedule->ranks > machine.gpus)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "a graph file is of one node, which names its own NICs: %u ranks, %s has "
                          "%u GPUs a node",
                          schedule->ranks, machine.name, machine.gpus);
    const struct ronde_nccl_node_links links = {.bus_GBps = ronde_nccl_bus_GBps(&constants,
                                                                                &machine, &call),
                                                .path = ronde_nccl_path_text(&machine,
                                                                             schedule->ranks)};
    return ronde_nccl_graph_file_print(schedule, &links, ronde_mem_default(), out_text, out_bytes,
                                       error);
}

/* The schedule that is fastest for the size of -b, on the machine or the backend of the options. */
static enum ronde_status choose(const struct ronde_options *options,
                                struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    struct ronde_compile_request request;
    struct ronde_tune_options how = ronde_tune_options_of(options);
    struct ronde_selector selector = {.quotes = NULL};
    struct ronde_platform *platform = NULL;
    struct ronde_decision decision;
    char text[RONDE_DECISION_BYTES], basis[RONDE_BASIS_BYTES];
    /* A schedule says how its rings go, and not where ranks sit. */
    how.is_placed = true;
    how.placement = RONDE_PLACE_AUTO;
    enum ronde_status status =
        options->machine.topo ? ronde_open_platform(options, &platform, error) : RONDE_OK;
    RONDE_THEN(status, ronde_open_request(options, platform, &request, error));
    RONDE_THEN(status, ronde_selector_open(&how, &request, &selector, error));
    RONDE_THEN(status, ronde_selector_use(&selector, platform,
                                          ronde_executor_times_of(options->backend.name),
                                          ronde_usable_cores(), error));
    RONDE_THEN(status, ronde_selector_decide(&selector,
                                             ronde_record_count(request.collective, request.ranks,
                                                                options->sizes.min_bytes,
                                                                options->what.dtype),
                                             &decision, error));
    if (status == RONDE_OK) {
        ronde_selector_say(&selector, &decision, text, sizeof text);
        ronde_note("algorithm %s, by %s", text, ronde_basis_text(&selector, basis));
        *out_schedule = ronde_choice_take_schedule(&selector.choice, decision.best);
    }
    ronde_selector_close(&selector);
    ronde_platform_destroy(platform);
    return status;
}

/* The channels that `sim` gives an algorithm on the machine, and how their rings go. */
static enum ronde_status set_up(const struct ronde_options *options,
                                struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    struct ronde_platform *platform = NULL;
    struct ronde_setup setup = {.platform = NULL};
    struct ronde_candidate candidate = {.own = NULL};
    enum ronde_status status = ronde_open_platform(options, &platform, error);
    RONDE_THEN(status, ronde_single_request(options, platform, false, &setup.request, error));
    setup.platform = platform;
    RONDE_THEN(status, ronde_candidate_open(&setup, ronde_mem_default(), &candidate, error));
    *out_schedule = candidate.own;
    candidate.own = NULL;
    ronde_candidate_close(&candidate, ronde_mem_default());
    ronde_platform_destroy(platform);
    return status;
}

/*
 * What is converted. Without -a it is the registry's first: a text that did not change with a table's numbers is what files
 * are kept for. A graph of NCCL's is of one node, whose orders are asked for.
 */
static enum ronde_status open_schedule(const struct ronde_options *options, enum format format,
                                       struct ronde_schedule **out_schedule,
                                       struct ronde_error *error)
{
    const bool is_named = options->what.algorithm_count == 1 && !ronde_is_schedule_file(options);
    if (ronde_is_forest(options) || (is_named && strcmp(options->what.algorithms[0], "auto") == 0))
        return choose(options, out_schedule, error);
    return is_named && options->machine.topo && !options->what.nccl_log && format != FORMAT_NCCL_GRAPH
               ? set_up(options, out_schedule, error)
               : ronde_schedule_file_or_compiled(options, out_schedule, error);
}

static enum ronde_status print_as(const struct ronde_options *options, enum format format,
                                  const struct ronde_msccl_style *style, char **out_text,
                                  size_t *out_bytes, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    struct ronde_schedule *schedule = NULL;
    enum ronde_status status = open_schedule(options, format, &schedule, error);
    if (status == RONDE_OK && format == FORMAT_NCCL_GRAPH)
        status = print_graph(options, schedule, out_text, out_bytes, error);
    else if (status == RONDE_OK && format == FORMAT_MSCCLPP)
        status = ronde_mscclpp_print(schedule, mem, out_text, out_bytes, error);
    else if (status == RONDE_OK && format == FORMAT_MSCCL)
        status = ronde_msccl_print(schedule, style, mem, out_text, out_bytes, error);
    else
        RONDE_THEN(status, ronde_schedule_print(schedule, mem, out_text, out_bytes, error));
    ronde_schedule_destroy(schedule);
    return status;
}

/* Formats of messages and byte counts. */
static enum ronde_status convert_to_workload(const struct ronde_options *options,
                                             enum format format, struct ronde_error *error)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_workload *workload = NULL;
    enum ronde_status status = open_schedule(options, format, &schedule, error);
    RONDE_THEN(status, ronde_workload_exported(options, schedule, &workload, error));
    RONDE_THEN(status, ronde_workload_write(options, format_of(options)->to, workload, error));
    ronde_workload_destroy(workload);
    ronde_schedule_destroy(schedule);
    return status;
}

/* A machine, or a backend that was measured, is for a schedule that is yet to be made. */
static enum ronde_status check_options(const struct ronde_options *options, enum format format,
                                       struct ronde_error *error)
{
    const bool is_chosen = ronde_is_chosen(options) && options->what.algorithm_count > 0;
    if (!is_chosen || options->machine.topo)
        RONDE_TRY(ronde_takes_none(options, "backend",
                                   "-a auto without --topo takes times measured on a backend, and "
                                   "nothing else does",
                                   error));
    return ronde_is_schedule_file(options) && format != FORMAT_NCCL_GRAPH
               ? ronde_takes_none(options, "topo", "a schedule in a file is converted as it is",
                                  error)
               : RONDE_OK;
}

static enum ronde_status convert_command(struct ronde_invocation *call, struct ronde_error *error)
{
    struct ronde_options own = *call->options;
    struct ronde_msccl_style style;
    enum format format = FORMAT_RONDE;
    char *text = NULL;
    size_t bytes = 0;

    RONDE_TRY(name_output(&own, error));
    RONDE_TRY(find_format(&own, &format, error));
    RONDE_TRY(find_style(&own, format, &style, error));
    RONDE_TRY(check_options(&own, format, error));
    if (format == FORMAT_GOAL || format == FORMAT_CHAKRA)
        return convert_to_workload(&own, format, error);
    RONDE_TRY(print_as(&own, format, &style, &text, &bytes, error));
    return ronde_schedule_text_write(&own, text, bytes, error);
}

static const struct ronde_option_use uses[] = {
    RONDE_TAKES_OWN(ronde_format_group, 0, NULL),
    RONDE_TAKES(what, "ranks algorithm datatype root shape pairs channels nccl-log"),
    RONDE_TAKES(sizes, "minbytes"),
    RONDE_TAKES(machine, NULL),
    RONDE_TAKES(backend, "backend"),
    RONDE_TAKES(engine, "slot depth"),
    RONDE_TAKES(output, "output"),
    RONDE_TAKES_END,
};

const struct ronde_command ronde_command_convert = {
    .name = "convert",
    .arguments = "FILE|COLLECTIVE [FILE]",
    .summary = "print or store a schedule, in its own format or another tool's",
    .examples = "  ronde convert all_reduce -a ring -N 8\n"
                "  ronde convert all_reduce double_tree.ronde -a double_tree -N 8\n"
                "  ronde convert all_reduce -a auto -b 64M --topo dgx-h100\n"
                "  ronde convert msccl.xml schedule.ronde\n"
                "  ronde convert all_reduce ring.xml -a ring -N 8 --dialect rccl\n"
                "  ronde convert all_reduce ring.goal -a ring -N 8 -b 1M\n",
    .uses = uses,
    .max_arguments = 2,
    .run = convert_command,
};
