/* ronde topo generate and import: platform files of the usual kinds, of any size, and of machines that are described. */
#include "cli/options/topology.h"
#include "commands.h"

#include "styles.h"

#include "ronde/generate.h"
#include "ronde/import.h"
#include "ronde/nccl_node.h"

#include <stdlib.h>
#include <string.h>

/* Room for the names of all kinds. */
#define MAX_KINDS 32u

/* With the nearest name, or all of them. */
static enum ronde_status refuse_kind(const char *text, struct ronde_error *error)
{
    const char *names[MAX_KINDS];
    char list[RONDE_NAMES_BYTES];
    uint32_t count = 0;

    for (; count < MAX_KINDS && ronde_machine_kind(count); count++)
        names[count] = ronde_machine_kind(count)->name;
    return text[0] ? ronde_name_refuse("topo generate: unknown kind", text, names, count, error)
                   : ronde_fail(error, RONDE_BAD_ARGUMENT, "topo generate: which kind? there are %s",
                                ronde_names_list(names, count, list));
}

/* The name of a kind, or else a machine's description, which has a node by its numbers: *out_is_machine. */
static enum ronde_status check_kind(const struct ronde_options *options,
                                    struct ronde_nccl_machine *machine, bool *out_is_machine,
                                    struct ronde_error *error)
{
    const char *text = options->argument_count > 0 ? options->arguments[0] : "";
    struct ronde_options as_topo = *options;
    struct ronde_error why = {0};
    *out_is_machine = false;
    for (uint32_t i = 0; ronde_machine_kind(i); i++)
        if (strcmp(text, ronde_machine_kind(i)->name) == 0)
            return RONDE_OK;
    as_topo.machine.topo = text;
    const enum ronde_status status =
        text[0] ? ronde_open_nccl_machine(&as_topo, machine, &why) : RONDE_IO;
    if (status == RONDE_IO)
        return refuse_kind(text, error);
    *out_is_machine = status == RONDE_OK;
    if (status != RONDE_OK)
        return ronde_fail_at(error, status, why.line, "%s", why.message);
    return RONDE_OK;
}

/* A description's node. */
static enum ronde_status node_of(const struct ronde_nccl_machine *machine,
                                 struct ronde_node_description *out, struct ronde_error *error)
{
    struct ronde_nccl_constants constants;
    if (machine->nvlink_nodes > 1)
        return ronde_fail(
            error, RONDE_UNSUPPORTED,
            "topo generate: %s joins its nodes by NVLink, and nodes that are generated "
            "by NICs; `ronde topo import` takes all nodes, with sockets and slots",
            machine->name);
    RONDE_TRY(ronde_nccl_constants_read(NULL, &constants, error));
    *out = ronde_nccl_node_of_machine(machine, &constants);
    return RONDE_OK;
}

/* The node of a description, or one that --nvlink, --nics and --gpus say; request->node stays NULL where none of these does. */
static enum ronde_status take_node(const struct ronde_options *options,
                                   const struct ronde_nccl_machine *machine,
                                   struct ronde_node_description *node,
                                   struct ronde_generate_request *request, struct ronde_error *error)
{
    const bool has_words = ronde_topo_own(options)->nvlink || options->machine.nics;
    enum ronde_status status = RONDE_OK;
    if (!machine && !has_words && strcmp(request->kind, RONDE_KIND_BY_NUMBERS) != 0)
        return RONDE_OK;
    status =
        machine ? node_of(machine, node, error)
                : ronde_generate_node_of(request->kind, ronde_topo_own(options)->gpus, node, error);
    RONDE_THEN(status, ronde_generate_node_words(node, ronde_topo_own(options)->nvlink,
                                                 options->machine.nics, error));
    request->node = node;
    request->kind = machine ? NULL : request->kind;
    request->source =
        machine ? NULL : "DGX H100/H200 User Guide: NVLink 900 GB/s a GPU both ways, 8 x 400 Gbit/s";
    if (has_words)
        request->source = "NVLink and NICs as given to the generator; else data sheets";
    return status;
}

/* `torus 8x8x8` means --shape 8x8x8. */
static enum ronde_status shape_of(const struct ronde_options *options, struct ronde_grid *out_shape,
                                  struct ronde_error *error)
{
    *out_shape = options->what.shape;
    if (options->argument_count < 2)
        return RONDE_OK;
    if (options->what.shape.count > 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "topo generate: \"%s\" and --shape both say the shape",
                          options->arguments[1]);
    return ronde_shape_parse(options->arguments[1], out_shape, error);
}

/* From options to a request; only what the command line alone can know is checked here. */
static enum ronde_status request_of(const struct ronde_options *options,
                                    struct ronde_generate_request *out_request,
                                    struct ronde_error *error)
{
    struct ronde_grid shape;
    RONDE_TRY(shape_of(options, &shape, error));
    *out_request = (struct ronde_generate_request){
        .kind = options->arguments[0],
        .nodes = options->machine.nodes,
        .gpus = ronde_topo_own(options)->gpus,
        .levels = ronde_topo_own(options)->levels,
        .oversubscription = ronde_topo_own(options)->oversubscription,
        .fabric = RONDE_FABRIC_COUNT,
        .multicasts = ronde_topo_own(options)->multicast,
        .axis_count = shape.count,
    };
    if (shape.count > RONDE_GENERATE_AXES)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "topo generate: shape has %u axes, at most %u",
                          shape.count, RONDE_GENERATE_AXES);
    memcpy(out_request->shape, shape.radix, shape.count * sizeof *out_request->shape);
    return options->machine.fabric
               ? ronde_parse_fabric(options->machine.fabric, &out_request->fabric, error)
               : RONDE_OK;
}

/* A refused request must not empty the file of an earlier one, so the output is opened only for a good one. */
static enum ronde_status generate(struct ronde_invocation *call,
                                  const struct ronde_generate_request *request,
                                  struct ronde_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *rehearsal = open_memstream(&text, &bytes);
    if (!rehearsal)
        return ronde_fail(error, RONDE_NO_MEMORY, "topo generate: no memory for a platform file");
    enum ronde_status status = ronde_generate(request, rehearsal, error);
    (void)fclose(rehearsal);
    RONDE_THEN(status, ronde_sink_open(call->options, &call->sink, error));
    if (status == RONDE_OK)
        (void)fwrite(text, 1, bytes, call->sink.file);
    free(text);
    return status;
}

/* Without a file, or with the word `live`, this machine is meant. */
static enum ronde_status import_of(const struct ronde_options *options,
                                   struct ronde_import_request *out_request,
                                   struct ronde_error *error)
{
    const char *file = options->argument_count > 0 ? options->arguments[0] : NULL;
    *out_request = (struct ronde_import_request){
        .path = file && strcmp(file, "live") != 0 ? file : NULL,
        .nodes = options->machine.nodes > 0 ? options->machine.nodes : 1,
        .nic_GBps = ronde_topo_own(options)->nic_GBps,
        .nvlink_GBps = ronde_topo_own(options)->nvlink_GBps,
        .memory_GBps = ronde_topo_own(options)->memory_GBps,
        .multicasts = ronde_topo_own(options)->multicast,
    };
    return options->machine.fabric
               ? ronde_parse_fabric(options->machine.fabric, &out_request->fabric, error)
               : RONDE_OK;
}

/* To stderr: the platform itself may go to a pipe. */
static void print_summary(const struct ronde_import *import)
{
    const struct ronde_import_summary summary = ronde_import_summary(import);
    char line[256];
    if (summary.gpus > 0)
        fprintf(stderr,
                "%s: %u GPUs, %u NICs (%u ports), %u CPUs, %u PCI switches, %u links a node\n",
                summary.kind, summary.gpus, summary.nics, summary.ports, summary.cpus,
                summary.switches, summary.links);
    else
        fprintf(stderr, "%s: no GPU; %u cores that share a memory\n", summary.kind, summary.cores);
    for (uint32_t i = 0; ronde_import_remark(import, i, line, sizeof line); i++)
        fprintf(stderr, "note: %s\n", line);
    if (summary.gpus > 0)
        fputs("note: latencies are nominal (NVLink 0.6 us, PCI 1 us, network 2.7 us): no such file "
              "has any\n",
              stderr);
    fprintf(stderr, "%u hosts\n", summary.hosts);
}

enum ronde_status ronde_topo_import(struct ronde_invocation *call, struct ronde_error *error)
{
    struct ronde_import_request request;
    struct ronde_import *import = NULL;

    enum ronde_status status = import_of(call->options, &request, error);
    RONDE_THEN(status, ronde_node_open(&request, &import, error));
    /* Opened last, so that a refused file leaves an existing one alone. */
    RONDE_THEN(status, ronde_sink_open(call->options, &call->sink, error));
    RONDE_THEN(status, ronde_import_write(import, call->sink.file, error));
    status = ronde_sink_close(&call->sink, status, error);
    if (status == RONDE_OK)
        print_summary(import);
    ronde_import_destroy(import);
    return status;
}

/* What only a generated fabric and a generated node have: without any of it a description is imported, by both verbs alike. */
static bool asks_for_generator(const struct ronde_options *options)
{
    return ronde_topo_own(options)->gpus > 0 || ronde_topo_own(options)->nvlink ||
           options->machine.nics || ronde_topo_own(options)->levels > 0 ||
           ronde_topo_own(options)->oversubscription > 0 || options->what.shape.count > 0 ||
           options->argument_count > 1;
}

enum ronde_status ronde_topo_generate(struct ronde_invocation *call, struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    struct ronde_generate_request request;
    struct ronde_node_description node;
    struct ronde_nccl_machine machine;
    bool is_machine = false;

    RONDE_TRY(check_kind(options, &machine, &is_machine, error));
    if (is_machine && !asks_for_generator(options))
        return ronde_topo_import(call, error);
    RONDE_TRY(request_of(options, &request, error));
    RONDE_TRY(take_node(options, is_machine ? &machine : NULL, &node, &request, error));
    return generate(call, &request, error);
}
