/* ronde topo generate: a platform file of one of the usual kinds, of any size. */
#include "commands.h"
#include "common.h"

#include "report.h"
#include "topo.h"

#include "ronde/generate.h"

#include <string.h>

/* Room for the names of all kinds. */
#define MAX_KINDS 32u

/* With the nearest name, or all of them. */
static enum ronde_status refuse_kind(const char *text, struct ronde_error *error)
{
    const char *names[MAX_KINDS];
    char list[256];
    size_t used = 0;
    uint32_t count = 0;
    for (; count < MAX_KINDS && ronde_machine_kind(count); count++) {
        names[count] = ronde_machine_kind(count)->name;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", count > 0 ? ", " : "",
                                 names[count]);
    }
    const char *nearest = ronde_nearest(text, names, count);
    if (!text[0])
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "topo generate: which kind? there are %s",
                          list);
    return nearest
               ? ronde_fail(error, RONDE_BAD_ARGUMENT,
                            "topo generate: unknown kind \"%s\"; did you mean %s?", text, nearest)
               : ronde_fail(error, RONDE_BAD_ARGUMENT,
                            "topo generate: unknown kind \"%s\"; there are %s", text, list);
}

static enum ronde_status check_kind(const struct ronde_options *options, struct ronde_error *error)
{
    const char *text = options->argument_count > 1 ? options->arguments[1] : "";
    for (uint32_t i = 0; ronde_machine_kind(i); i++)
        if (strcmp(text, ronde_machine_kind(i)->name) == 0)
            return RONDE_OK;
    return refuse_kind(text, error);
}

/* `torus 8x8x8` means --shape 8x8x8. */
static enum ronde_status shape_of(const struct ronde_options *options, struct ronde_grid *out_shape,
                                  struct ronde_error *error)
{
    *out_shape = options->shape;
    if (options->argument_count < 3)
        return RONDE_OK;
    if (options->shape.count > 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "topo generate: \"%s\" and --shape both say the shape",
                          options->arguments[2]);
    return ronde_shape_parse(options->arguments[2], out_shape, error);
}

/* From options to a request; only what the command line alone can know is checked here. */
static enum ronde_status request_of(const struct ronde_options *options,
                                    struct ronde_generate_request *out_request,
                                    struct ronde_error *error)
{
    struct ronde_grid shape;
    const enum ronde_status status = shape_of(options, &shape, error);
    if (status != RONDE_OK)
        return status;
    *out_request = (struct ronde_generate_request){
        .kind = options->arguments[1],
        .nodes = options->nodes,
        .gpus = options->gpus,
        .levels = options->levels,
        .oversubscription = options->oversubscription,
        .fabric = RONDE_FABRIC_COUNT,
        .axis_count = shape.count,
    };
    if (shape.count > RONDE_GENERATE_AXES)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "topo generate: shape has %u axes, at most %u",
                          shape.count, RONDE_GENERATE_AXES);
    memcpy(out_request->shape, shape.radix, shape.count * sizeof *out_request->shape);
    return options->fabric ? ronde_parse_fabric(options->fabric, &out_request->fabric, error)
                           : RONDE_OK;
}

/* A refused request must not empty the file of an earlier one, so the output is opened only for a good one. */
static enum ronde_status generate(const struct ronde_options *options,
                                  const struct ronde_generate_request *request,
                                  struct ronde_error *error)
{
    struct ronde_sink sink = {0};
    FILE *rehearsal = tmpfile();
    if (!rehearsal)
        return ronde_fail(error, RONDE_DEVICE, "topo generate: no temporary file");
    enum ronde_status status = ronde_generate(request, rehearsal, error);
    rewind(rehearsal);
    if (status == RONDE_OK)
        status = ronde_sink_open(options, &sink, error);
    char block[65536];
    size_t bytes;
    while (status == RONDE_OK && (bytes = fread(block, 1, sizeof block, rehearsal)) > 0)
        fwrite(block, 1, bytes, sink.file);
    fclose(rehearsal);
    return status == RONDE_OK ? ronde_sink_close(&sink, error) : status;
}

int ronde_topo_generate(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct ronde_generate_request request;
    enum ronde_status status = check_kind(options, &error);
    if (status == RONDE_OK)
        status = request_of(options, &request, &error);
    if (status == RONDE_OK)
        status = generate(options, &request, &error);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}
