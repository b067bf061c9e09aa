/* ronde topo: one verb each for pictures, generators, importers and checks of platform files. */
#include "cli/draw/svg.h"
#include "cli/draw/topo_view.h"
#include "cli/options/option_groups.h"
#include "cli/options/topology.h"
#include "commands.h"

#include "ronde/gpus.h"
#include "ronde/output_file.h"

#include <errno.h>
#include <string.h>

/* ---- show ------------------------------------------------------------------------------------------------------- */

/* The numbers of the title, for programs. */
static enum ronde_status print_row(struct ronde_invocation *call,
                                   const struct ronde_topo_view *view, struct ronde_error *error)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(view->platform);
    const struct ronde_field fields[] = {
        ronde_field_text("topology", ronde_platform_path(view->platform)),
        ronde_field_text("machine", facts->name),
        ronde_field_integer("hosts", facts->hosts),
        ronde_field_integer("nodes", view->nodes.count),
        ronde_field_integer("switches", view->shape.vertex_count - facts->hosts),
        ronde_field_integer("wires", view->shape.edge_count),
    };
    RONDE_TRY(ronde_sink_open(call->options, &call->sink, error));
    return ronde_sink_row(&call->sink, &RONDE_ROW(fields), error);
}

/* To the file of -o, else to stdout. */
static enum ronde_status print_view(const struct ronde_options *options,
                                    const struct ronde_topo_view *view, struct ronde_error *error)
{
    const char *path =
        options->output.path && strcmp(options->output.path, "-") != 0 ? options->output.path : NULL;
    enum ronde_status status = path ? ronde_picture_check(path, error) : RONDE_OK;
    if (status != RONDE_OK)
        return status;
    struct ronde_output_file output = {.file = NULL};
    if (path)
        status = ronde_output_file_open(path, &output, error);
    if (status != RONDE_OK)
        return status;
    FILE *file = path ? output.file : stdout;
    status = path && ronde_picture_is(path, ".svg") ? ronde_topo_view_print_svg(view, file, error)
                                                    : ronde_topo_view_print_tree(view, file, error);
    if (!path && (fflush(file) != 0 || ferror(file)) && status == RONDE_OK)
        status = ronde_fail(error, RONDE_DEVICE, "stdout: %s", strerror(errno));
    return ronde_output_file_close(&output, status, error);
}

/* ronde topo show --local: the GPUs of this machine, how each reaches the others, and what it is near to. */

/* A cell of the matrix: nvidia-smi's words, so that they can be looked up. */
static void write_cell(const struct ronde_gpu_survey *survey, uint32_t from, uint32_t to,
                       char *text, size_t bytes)
{
    const enum ronde_gpu_path path = survey->paths[from][to];
    if (path == RONDE_GPU_PATH_NVLINK)
        snprintf(text, bytes, "%s%u", ronde_gpu_path_text(path), survey->links[from][to]);
    else
        snprintf(text, bytes, "%s", ronde_gpu_path_text(path));
}

/* A row for each pair, for programs. */
static enum ronde_status print_pairs(struct ronde_sink *sink, const struct ronde_gpu_survey *survey,
                                     struct ronde_error *error)
{
    for (uint32_t pair = 0; pair < survey->count * survey->count; pair++) {
        const uint32_t from = pair / survey->count;
        const uint32_t to = pair % survey->count;
        const struct ronde_field fields[] = {
            ronde_field_integer("from", from),
            ronde_field_integer("to", to),
            ronde_field_text("name", survey->gpus[from].name),
            ronde_field_text("path", ronde_gpu_path_text(survey->paths[from][to])),
            ronde_field_integer("nvlinks", survey->links[from][to]),
            ronde_field_text("bus", survey->gpus[from].bus),
            ronde_field_text("processors", survey->gpus[from].place.processors),
            ronde_field_text("nic", survey->gpus[from].place.nic),
        };
        RONDE_TRY(ronde_sink_row(sink, &RONDE_ROW(fields), error));
    }
    return RONDE_OK;
}

/* A number that only exists where there is one of the kind. */
static void write_number(char *text, size_t bytes, uint32_t number)
{
    if (number == RONDE_NONE)
        snprintf(text, bytes, "-");
    else
        snprintf(text, bytes, "%u", number);
}

/* What hwloc knows of each GPU; threads that serve one, and cards that send what it has, are best among these. */
static void print_places(FILE *file, const struct ronde_gpu_survey *survey)
{
    char node[16], package[16], rate[16];
    fprintf(file, "\n  gpu memory package PCIe GB/s network    processors\n");
    for (uint32_t g = 0; g < survey->count; g++) {
        const struct ronde_gpu_place *place = &survey->gpus[g].place;
        if (place->bus[0] == '\0') {
            fprintf(file, "%5u  unknown: hwloc does not see it\n", g);
            continue;
        }
        write_number(node, sizeof node, place->node);
        write_number(package, sizeof package, place->package);
        snprintf(rate, sizeof rate, "-");
        if (place->slot_GBps > 0)
            snprintf(rate, sizeof rate, "%.1f", place->slot_GBps);
        fprintf(file, "%5u %6s %7s %9s %-10s %s\n", g, node, package, rate,
                place->nic[0] ? place->nic : "-", place->processors);
    }
}

/* What the words in the matrix mean, those only that are there. */
static void print_legend(FILE *file, const struct ronde_gpu_survey *survey)
{
    for (unsigned path = 0; path < RONDE_GPU_PATH_COUNT; path++) {
        bool is_there = false;
        for (uint32_t from = 0; from < survey->count; from++)
            for (uint32_t to = 0; to < survey->count; to++)
                is_there |= from != to && survey->paths[from][to] == (enum ronde_gpu_path)path;
        if (is_there)
            fprintf(file, "%-5s %s\n", ronde_gpu_path_text((enum ronde_gpu_path)path),
                    ronde_gpu_path_meaning((enum ronde_gpu_path)path));
    }
}

static void print_matrix(FILE *file, const struct ronde_gpu_survey *survey)
{
    char cell[16];
    fprintf(file, "%u GPUs, driver %s\n      ", survey->count, survey->driver);
    for (uint32_t to = 0; to < survey->count; to++)
        fprintf(file, " %5u", to);
    fprintf(file, "\n");
    for (uint32_t from = 0; from < survey->count; from++) {
        fprintf(file, "%5u ", from);
        for (uint32_t to = 0; to < survey->count; to++) {
            write_cell(survey, from, to, cell, sizeof cell);
            fprintf(file, " %5s", cell);
        }
        fprintf(file, "  %s %s\n", survey->gpus[from].bus, survey->gpus[from].name);
    }
    print_legend(file, survey);
    print_places(file, survey);
}

static enum ronde_status show_local(struct ronde_invocation *call, struct ronde_error *error)
{
    struct ronde_gpu_survey survey;

    RONDE_TRY(ronde_gpu_survey(ronde_mem_default(), &survey, error));
    RONDE_TRY(ronde_sink_open(call->options, &call->sink, error));
    if (!ronde_sink_is_table(&call->sink))
        return print_pairs(&call->sink, &survey, error);
    print_matrix(call->sink.file, &survey);
    return RONDE_OK;
}

/* ronde topo show FILE: a tree on a terminal, or an SVG. */
static enum ronde_status show(struct ronde_invocation *call, struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    struct ronde_topo_view view = {.platform = NULL};

    if (ronde_topo_own(options)->local && options->argument_count == 0)
        return show_local(call, error);
    if (options->argument_count < 1 || ronde_topo_own(options)->local)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          ronde_topo_own(options)->local
                              ? "topo show --local: no file, it shows this machine"
                              : "topo show: which file?");
    enum ronde_status status = ronde_open_argument(options, 0, &call->platform, error);
    RONDE_THEN(status, ronde_topo_view_open(call->platform, NULL, &view, error));
    RONDE_THEN(status, options->output.json || options->output.csv
                           ? print_row(call, &view, error)
                           : print_view(options, &view, error));
    ronde_topo_view_close(&view);
    return status;
}

/* ronde topo check: reads a platform file as every command does and says what is there. */

/* Facts of a check, at most. */
#define MAX_FIELDS 24u

/* The answer, in the order it is printed. */
struct answer {
    struct ronde_field fields[MAX_FIELDS];
    uint32_t count;
    char note[128];
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

/* What the file has and no message's time depends on. */
static void add_note(struct answer *answer, const struct ronde_platform_counts *counts)
{
    const struct {
        uint32_t count;
        const char *what;
    } ignored[] = {{counts->configs, "options of SimGrid"},
                   {counts->disks, "disks"},
                   {counts->pstates, "hosts of several speeds"}};
    size_t at = 0;
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        if (ignored[i].count > 0)
            at += (size_t)snprintf(answer->note + at, sizeof answer->note - at, "%s%s (%u)",
                                   at > 0 ? ", " : "without effect here: ", ignored[i].what,
                                   ignored[i].count);
    if (at > 0)
        add(answer, ronde_field_text("note", answer->note));
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
    add_note(answer, &counts);
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

static enum ronde_status check(struct ronde_invocation *call, struct ronde_error *error)
{
    struct answer answer = {.count = 0};

    if (call->options->argument_count < 1)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "topo check: which file?");
    RONDE_TRY(ronde_open_argument(call->options, 0, &call->platform, error));
    RONDE_TRY(ronde_sink_open(call->options, &call->sink, error));
    collect(call->platform, &answer);
    if (!ronde_sink_is_table(&call->sink))
        return ronde_sink_row(&call->sink, &(struct ronde_row){answer.fields, answer.count}, error);
    print_table(&call->sink, &answer);
    return RONDE_OK;
}

#define OWN(member) offsetof(struct ronde_topo_options, member)

/* What a node has, of a machine that is generated. */
static const struct ronde_option node_rows[] = {
    {"gpus", 0, "COUNT", ronde_take_count, OWN(gpus), NULL, 1, false, "GPUs of a node"},
    {"nvlink", 0, "RATE", ronde_take_text, OWN(nvlink), NULL, 0, false,
     "all links of a GPU, one direction: 450GBps, 3600Gbps"},
    {"multicast", 0, NULL, ronde_take_switch, OWN(multicast), NULL, 0, false,
     "the switch of a node's GPUs copies and adds, as NVLink SHARP does"},
    {"levels", 0, "COUNT", ronde_take_count, OWN(levels), NULL, 1, false, "levels of switches"},
    {"oversubscription", 0, "RATIO", ronde_take_positive, OWN(oversubscription), NULL, 0, false,
     "ports below a switch per port above"},
    {"nic-GBps", 0, "RATE", ronde_take_positive, OWN(nic_GBps), NULL, 0, false,
     "of each NIC whose rate the imported file leaves out"},
    {"nvlink-GBps", 0, "RATE", ronde_take_positive, OWN(nvlink_GBps), NULL, 0, false,
     "of each GPU into NVSwitches that the imported file leaves out"},
    {"memory-GBps", 0, "RATE", ronde_take_positive, OWN(memory_GBps), NULL, 0, false,
     "of the memory that cores share, for a machine without GPUs"},
};

static const struct ronde_option_group node_group =
    RONDE_GROUP(RONDE_SECTION_MACHINE, node_rows, struct ronde_topo_options, NULL, NULL);

/* Nodes that are made, not described ones. */
static const struct ronde_option made_rows[] = {
    {"nodes", 0, "COUNT", ronde_take_count, offsetof(struct ronde_machine_options, nodes), NULL, 1,
     false, "nodes of the machine"},
    {"nics", 0, "COUNTxRATE", ronde_take_text, offsetof(struct ronde_machine_options, nics), NULL,
     0, false, "NICs of a node, one direction: 8x50GBps, 8x400Gbps"},
    {"fabric", 0, "NAME", ronde_take_word, offsetof(struct ronde_machine_options, fabric),
     "crossbar rail fat-tree", 0, false, "what joins nodes: crossbar, rail or fat-tree"},
};

static const struct ronde_option_group made_group =
    RONDE_GROUP(RONDE_SECTION_MACHINE, made_rows, struct ronde_machine_options, NULL, NULL);

static const struct ronde_option local_rows[] = {
    {"local", 0, NULL, ronde_take_switch, 0, NULL, 0, false,
     "this machine's GPUs, and how they reach each other, in place of a file"},
};

static const struct ronde_option_group local_group =
    RONDE_GROUP(RONDE_SECTION_MACHINE, local_rows, bool, NULL, NULL);

#define NODE(names)                                                                                \
    {                                                                                              \
        &node_group, 0, names, true                                                                \
    }
#define MADE(names)                                                                                \
    {                                                                                              \
        &made_group, offsetof(struct ronde_options, machine), names, false                         \
    }

static const struct ronde_option_use show_uses[] = {
    RONDE_TAKES_OWN(local_group, OWN(local), NULL),
    RONDE_TAKES(machine, "degrade without nics nodes fabric"),
    RONDE_TAKES(output, "json csv wide output"),
    RONDE_TAKES_END,
};
static const struct ronde_option_use generate_uses[] = {
    MADE(NULL),
    NODE("gpus nvlink multicast levels oversubscription"),
    RONDE_TAKES(what, "shape"),
    RONDE_TAKES(output, "output"),
    RONDE_TAKES_END,
};
static const struct ronde_option_use import_uses[] = {
    MADE("nodes fabric"),
    NODE("nic-GBps nvlink-GBps memory-GBps multicast"),
    RONDE_TAKES(output, "output"),
    RONDE_TAKES_END,
};
static const struct ronde_option_use check_uses[] = {
    RONDE_TAKES(machine, "degrade without nics nodes fabric"),
    RONDE_TAKES(output, "json csv wide output"),
    RONDE_TAKES_END,
};

/* Each verb has options and arguments of its own. */
static const struct ronde_command verbs[] = {
    {.name = "topo show",
     .arguments = "FILE",
     .summary = "a machine as a tree on a terminal, or as a picture",
     .examples =
         "  ronde topo show crossbar-64\n  ronde topo show dgx-h100-pod -o pod.svg\n"
         "  ronde topo show --local\n  ronde topo generate rail --nodes 4 | ronde topo show -\n",
     .uses = show_uses,
     .max_arguments = 1,
     .run = show},
    {.name = "topo generate",
     .arguments = "KIND [SHAPE]",
     .summary = "a platform file of one of the usual kinds, of any size",
     .examples = "  ronde topo generate rail --nodes 16 -o pod.xml\n"
                 "  ronde topo generate torus 8x8x8 -o torus.xml\n"
                 "  ronde topo generate dgx --gpus 8 --nvlink 450GBps --nics 8x50GBps --nodes 64 "
                 "-o pod.xml\n"
                 "  ronde topo generate H100-cluster01 --nodes 4 -o four.xml\n"
                 "Kinds are listed by `ronde topo generate` alone; a machine's description\n"
                 "(topologies/published/README.md) is one, too.\n",
     .uses = generate_uses,
     .max_arguments = 2,
     .run = ronde_topo_generate},
    {.name = "topo import",
     .arguments = "[FILE]",
     .summary = "a dump of NCCL, RCCL or hwloc, a description, or this machine, as a platform file",
     .examples = "  ronde topo import nccl-topo.xml --nodes 4 --fabric rail -o cluster.xml\n"
                 "  ronde topo import H100-cluster01 --nodes 10 -o cluster.xml\n"
                 "  ronde topo import live -o machine.xml\n",
     .uses = import_uses,
     .max_arguments = 1,
     .run = ronde_topo_import},
    {.name = "topo check",
     .arguments = "FILE",
     .summary = "reads a platform file as every command does and says what is there",
     .examples = "  ronde topo check pod.xml\n  ronde topo check dgx-h100 --json\n",
     .uses = check_uses,
     .max_arguments = 1,
     .run = check},
};

const struct ronde_command ronde_command_topo = {
    .name = "topo",
    .arguments = "show|generate|import|check",
    .summary = "platform files: pictures, generators, importers, checks",
    .examples = "  ronde topo show crossbar-64\n  ronde topo generate rail --nodes 16 -o pod.xml\n"
                "  ronde topo import nccl-topo.xml --nodes 4 --fabric rail -o cluster.xml\n"
                "  ronde topo check pod.xml\n",
    .verbs = verbs,
    .verb_count = sizeof verbs / sizeof verbs[0],
};
