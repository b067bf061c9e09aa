/* ronde topo show: a platform as a tree, or as a picture. */
#include "cli/draw/svg.h"
#include "cli/draw/topo_view.h"
#include "commands.h"
#include "common.h"

#include "ronde/gpus.h"
#include "ronde/output_file.h"

#include <errno.h>
#include <string.h>

static const struct ronde_topo_options *own_of(const struct ronde_options *options)
{
    return options->own;
}

/* The numbers of the title, for programs. */
static enum ronde_status print_row(struct ronde_call *call, const struct ronde_topo_view *view,
                                   struct ronde_error *error)
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
    const enum ronde_status status = ronde_sink_open(call->options, &call->sink, error);
    return status == RONDE_OK ? ronde_sink_row(&call->sink, &RONDE_ROW(fields), error) : status;
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
    status = path && ronde_picture_is_svg(path) ? ronde_topo_view_print_svg(view, file, error)
                                                : ronde_topo_view_print_tree(view, file, error);
    if (!path && (fflush(file) != 0 || ferror(file)) && status == RONDE_OK)
        status = ronde_fail(error, RONDE_DEVICE, "stdout: %s", strerror(errno));
    const enum ronde_status closed = ronde_output_file_close(&output, status, error);
    return status == RONDE_OK ? closed : status;
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
    enum ronde_status status = RONDE_OK;
    for (uint32_t pair = 0; pair < survey->count * survey->count && status == RONDE_OK; pair++) {
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
        status = ronde_sink_row(sink, &RONDE_ROW(fields), error);
    }
    return status;
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

static enum ronde_status show_local(struct ronde_call *call, struct ronde_error *error)
{
    struct ronde_gpu_survey survey;

    enum ronde_status status = ronde_gpu_survey(ronde_mem_default(), &survey, error);
    if (status == RONDE_OK)
        status = ronde_sink_open(call->options, &call->sink, error);
    if (status != RONDE_OK)
        return status;
    if (!ronde_sink_is_table(&call->sink))
        return print_pairs(&call->sink, &survey, error);
    print_matrix(call->sink.file, &survey);
    return RONDE_OK;
}

enum ronde_status ronde_topo_show(struct ronde_call *call, struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    struct ronde_topo_view view = {.platform = NULL};

    if (own_of(options)->local && options->argument_count == 0)
        return show_local(call, error);
    if (options->argument_count < 1 || own_of(options)->local)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          own_of(options)->local
                              ? "topo show --local: no file, it shows this machine"
                              : "topo show: which file?");
    enum ronde_status status = ronde_open_argument(options, 0, &call->platform, error);
    if (status == RONDE_OK)
        status = ronde_topo_view_open(call->platform, &view, error);
    if (status == RONDE_OK)
        status = options->output.json || options->output.csv ? print_row(call, &view, error)
                                                             : print_view(options, &view, error);
    ronde_topo_view_close(&view);
    return status;
}
