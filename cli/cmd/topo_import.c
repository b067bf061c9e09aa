/* ronde topo import: a machine described by NCCL, RCCL, hwloc or in some lines, or this machine, as a platform file. */
#include "commands.h"
#include "common.h"

#include "cli/options/topology.h"
#include "cli/print/report.h"
#include "topo.h"

#include "ronde/import.h"

#include <string.h>

enum ronde_status ronde_parse_fabric(const char *text, enum ronde_fabric *out_fabric,
                                     struct ronde_error *error)
{
    const char *names[RONDE_FABRIC_COUNT];
    for (uint32_t i = 0; i < RONDE_FABRIC_COUNT; i++) {
        names[i] = ronde_fabric_name((enum ronde_fabric)i);
        *out_fabric = (enum ronde_fabric)i;
        if (strcmp(text, names[i]) == 0)
            return RONDE_OK;
    }
    const char *nearest = ronde_nearest(text, names, RONDE_FABRIC_COUNT);
    return nearest ? ronde_fail(error, RONDE_BAD_ARGUMENT,
                                "unknown fabric \"%s\"; did you mean %s?", text, nearest)
                   : ronde_fail(error, RONDE_BAD_ARGUMENT,
                                "unknown fabric \"%s\"; there are crossbar, rail, fat-tree", text);
}

/* Without a file, or with the word `live`, this machine is meant. */
static enum ronde_status request_of(const struct ronde_options *options,
                                    struct ronde_import_request *out_request,
                                    struct ronde_error *error)
{
    const char *file = options->argument_count > 1 ? options->arguments[1] : NULL;
    *out_request = (struct ronde_import_request){
        .path = file && strcmp(file, "live") != 0 ? file : NULL,
        .nodes = options->nodes > 0 ? options->nodes : 1,
        .nic_GBps = options->nic_GBps,
        .nvlink_GBps = options->nvlink_GBps,
        .memory_GBps = options->memory_GBps,
        .multicasts = options->multicast,
    };
    return options->fabric ? ronde_parse_fabric(options->fabric, &out_request->fabric, error)
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

int ronde_topo_import(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct ronde_import_request request;
    struct ronde_import *import = NULL;
    struct ronde_sink sink = {0};
    enum ronde_status status = request_of(options, &request, &error);
    if (status == RONDE_OK)
        status = ronde_node_open(&request, &import, &error);
    /* Opened last, so that a refused file leaves an existing one alone. */
    if (status == RONDE_OK)
        status = ronde_sink_open(options, &sink, &error);
    if (status == RONDE_OK)
        status = ronde_import_write(import, sink.file, &error);
    if (status == RONDE_OK)
        status = ronde_sink_close(&sink, &error);
    if (status == RONDE_OK)
        print_summary(import);
    ronde_import_destroy(import);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}
