/* ronde topo show: a platform as a tree, or as a picture. */
#include "commands.h"

#include "cli/draw/picture.h"
#include "cli/draw/topo_view.h"
#include "cli/options/topology.h"
#include "cli/print/report.h"
#include "common.h"

#include <errno.h>
#include <string.h>

/* The numbers of the title, for programs. */
static enum ronde_status print_row(const struct ronde_options *options,
                                   const struct ronde_topo_view *view, struct ronde_error *error)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(view->platform);
    struct ronde_sink sink;
    const struct ronde_field fields[] = {
        ronde_field_text("topology", ronde_platform_path(view->platform)),
        ronde_field_text("machine", facts->name),
        ronde_field_integer("hosts", facts->hosts),
        ronde_field_integer("nodes", view->nodes.count),
        ronde_field_integer("switches", view->shape.vertex_count - facts->hosts),
        ronde_field_integer("wires", view->shape.edge_count),
    };
    const struct ronde_row row = {fields, sizeof fields / sizeof fields[0]};
    enum ronde_status status = ronde_sink_open(options, &sink, error);
    if (status != RONDE_OK)
        return status;
    status = ronde_sink_row(&sink, &row, error);
    const enum ronde_status closed = ronde_sink_close(&sink, status == RONDE_OK ? error : NULL);
    return status == RONDE_OK ? closed : status;
}

/* To the file of -o, else to stdout. */
static enum ronde_status print_view(const struct ronde_options *options,
                                    const struct ronde_topo_view *view, struct ronde_error *error)
{
    const char *path = options->output && strcmp(options->output, "-") != 0 ? options->output : NULL;
    enum ronde_status status = path ? ronde_picture_check(path, error) : RONDE_OK;
    if (status != RONDE_OK)
        return status;
    FILE *file = path ? fopen(path, "w") : stdout;
    if (!file)
        return ronde_fail(error, RONDE_IO, "%s: %s", path, strerror(errno));
    status = path && ronde_picture_is_svg(path) ? ronde_topo_view_print_svg(view, file, error)
                                                : ronde_topo_view_print_tree(view, file, error);
    if ((fflush(file) != 0 || ferror(file)) && status == RONDE_OK)
        status = ronde_fail(error, RONDE_DEVICE, "%s: %s", path ? path : "stdout", strerror(errno));
    if (path && fclose(file) != 0 && status == RONDE_OK)
        status = ronde_fail(error, RONDE_DEVICE, "%s: %s", path, strerror(errno));
    return status;
}

int ronde_topo_show(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct ronde_platform *platform = NULL;
    struct ronde_topo_view view = {.platform = NULL};
    if (options->local && options->argument_count == 1)
        return ronde_topo_show_local(options);
    if (options->argument_count < 2 || options->local) {
        ronde_fail(&error, RONDE_BAD_ARGUMENT,
                   options->local ? "topo show --local: no file, it shows this machine"
                                  : "topo show: which file?");
        return ronde_report(&error);
    }
    enum ronde_status status = ronde_open_argument(options, 1, &platform, &error);
    if (status == RONDE_OK)
        status = ronde_topo_view_open(platform, &view, &error);
    if (status == RONDE_OK)
        status = options->json || options->csv ? print_row(options, &view, &error)
                                               : print_view(options, &view, &error);
    ronde_topo_view_close(&view);
    ronde_platform_destroy(platform);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}
