/* --topo as a machine of NCCL's model. See nccl_machine.h. */
#include "nccl_machine.h"
#include "cli/options/shipped_names.h"
#include "cli/options/topology.h"

#include "ronde/data_files.h"
#include "ronde/schedules.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

void ronde_find_nccl_machine(const char *text, char *out_path, size_t bytes)
{
    char folder[RONDE_PATH_BYTES];
    snprintf(out_path, bytes, "%s", text);
    if (access(text, R_OK) == 0 || strchr(text, '/'))
        return;
    for (unsigned p = 0; p < RONDE_DATA_PLACE_COUNT; p++) {
        if (!ronde_data_folder(RONDE_DATA_MACHINES, (enum ronde_data_place)p, folder, sizeof folder))
            continue;
        if (snprintf(out_path, bytes, "%s/%s.txt", folder, text) < (int)bytes &&
            access(out_path, R_OK) == 0)
            return;
    }
    snprintf(out_path, bytes, "%s", text);
}

static bool is_platform(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && strcasecmp(dot, ".xml") == 0;
}

bool ronde_is_nccl_machine(const char *path)
{
    char text[256];
    if (is_platform(path))
        return false;
    FILE *file = fopen(path, "r");
    const bool has_line = file && fgets(text, sizeof text, file);
    if (file)
        (void)fclose(file);
    const char *at = has_line ? text + strspn(text, " \t\r\n") : "<";
    return *at == '#' || (*at >= 'a' && *at <= 'z');
}

/* With the nearest name, or else all of them, as far as there is room. */
static enum ronde_status refuse_name(const char *text, struct ronde_error *error)
{
    char folder[RONDE_PATH_BYTES], list[384] = "";
    struct ronde_shipped_names names = {.count = 0};
    size_t used = 0;
    for (unsigned p = 0; p < RONDE_DATA_PLACE_COUNT && names.count == 0; p++)
        if (ronde_data_folder(RONDE_DATA_MACHINES, (enum ronde_data_place)p, folder, sizeof folder))
            ronde_shipped_names_read(folder, ".txt", &names);
    const char *nearest = ronde_shipped_nearest(&names, text);
    for (uint32_t i = 0; i < names.count && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "",
                                 names.name[i]);
    return nearest
               ? ronde_fail(error, RONDE_IO,
                            "--topo %.80s: neither a file nor a machine that is shipped; did you "
                            "mean %s?",
                            text, nearest)
               : ronde_fail(error, RONDE_IO,
                            "--topo %.80s: neither a file nor a machine that is shipped: %s", text,
                            list);
}

/* The file that --topo names. */
static enum ronde_status find_file(const char *text, char *out_path, size_t bytes,
                                   struct ronde_error *error)
{
    if (!text)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--topo with a machine's description is missing "
                          "(topologies/published/README.md)");
    ronde_find_nccl_machine(text, out_path, bytes);
    if (access(out_path, R_OK) != 0)
        ronde_find_topology(text, out_path, bytes);
    return access(out_path, F_OK) != 0 && !strchr(text, '/') ? refuse_name(text, error) : RONDE_OK;
}

static bool is_whole(const struct ronde_options *options)
{
    return options->degrade_count == 0 && options->without_count == 0 && !options->nics;
}

static enum ronde_status open_whole(const struct ronde_options *options,
                                    struct ronde_nccl_site *out, struct ronde_error *error)
{
    const enum ronde_status status = ronde_machine_open(options, &out->platform, error);
    return status == RONDE_OK ? ronde_nccl_machine_of_platform(out->platform, &out->machine, error)
                              : status;
}

/* What is slow or out NCCL does not know: its machine is that of healthy links, while nodes are left whole. */
static enum ronde_status open_impaired(const struct ronde_options *options,
                                       struct ronde_nccl_site *out, struct ronde_error *error)
{
    struct ronde_options healthy = *options;
    struct ronde_platform *whole = NULL;
    healthy.without_count = 0;
    healthy.degrade_count = 0;
    healthy.nics = NULL;
    enum ronde_status status = ronde_machine_open(&healthy, &whole, error);
    if (status == RONDE_OK)
        status = ronde_nccl_machine_of_platform(whole, &out->machine, error);
    if (status == RONDE_OK)
        status = ronde_machine_open(options, &out->platform, error);
    if (status == RONDE_OK)
        status = ronde_degrade_links(options, out->platform, error);
    if (status == RONDE_OK && ronde_platform_facts(out->platform)->node_hosts != out->machine.gpus)
        status =
            ronde_fail(error, RONDE_UNSUPPORTED,
                       "%s: what is left are nodes of unequal numbers of GPUs, and NCCL's model "
                       "has equal ones; take whole nodes out, or replay: ronde sim without --style",
                       options->topo);
    if (status == RONDE_OK &&
        ronde_platform_facts(out->platform)->hosts < ronde_platform_facts(whole)->hosts)
        snprintf(out->machine.name, sizeof out->machine.name, "%s",
                 ronde_platform_facts(out->platform)->name);
    ronde_platform_destroy(whole);
    return status;
}

enum ronde_status ronde_nccl_site_open(const struct ronde_options *options,
                                       struct ronde_nccl_site *out, struct ronde_error *error)
{
    char path[RONDE_PATH_BYTES];
    *out = (struct ronde_nccl_site){.platform = NULL};
    enum ronde_status status = find_file(options->topo, path, sizeof path, error);
    if (status != RONDE_OK)
        return status;
    /* What a description says of its fabric is all that there is, until something of it is missing. */
    if (!is_whole(options))
        return open_impaired(options, out, error);
    if (!ronde_is_nccl_machine(path))
        return open_whole(options, out, error);
    return ronde_nccl_machine_read(path, &out->machine, error);
}

enum ronde_status ronde_nccl_site_limit(struct ronde_nccl_site *site,
                                        const struct ronde_nccl_call *call, const uint32_t *hosts,
                                        struct ronde_error *error)
{
    if (!site->platform)
        return RONDE_OK;
    site->machine.limits = site->limits;
    return ronde_nccl_limits_find(site->platform, &site->machine, call, hosts, ronde_mem_default(),
                                  site->limits, error);
}

/* What is longer by less is not worth a word. */
static const double least_excess = 1.01;

const char *ronde_nccl_site_limiting(const struct ronde_nccl_site *site,
                                     const struct ronde_nccl_constants *constants,
                                     const struct ronde_nccl_call *call,
                                     struct ronde_nccl_choice choice)
{
    struct ronde_nccl_machine free = site->machine;
    free.limits = NULL;
    if (!site->machine.limits)
        return NULL;
    const double us = ronde_nccl_execution_us(constants, &site->machine, call, choice);
    return us > least_excess * ronde_nccl_execution_us(constants, &free, call, choice)
               ? ronde_platform_link(site->platform, site->limits[choice.algorithm].link)->name
               : NULL;
}

void ronde_nccl_site_close(struct ronde_nccl_site *site)
{
    ronde_platform_destroy(site->platform);
    *site = (struct ronde_nccl_site){.platform = NULL};
}

enum ronde_status ronde_open_nccl_machine(const struct ronde_options *options,
                                          struct ronde_nccl_machine *out, struct ronde_error *error)
{
    struct ronde_nccl_site site;
    const enum ronde_status status = ronde_nccl_site_open(options, &site, error);
    *out = site.machine;
    ronde_nccl_site_close(&site);
    return status;
}

/** How GPUs without NVLink between them meet, where that is not the usual way. */
static const char *path_text(enum ronde_nccl_gpu_path path)
{
    return path == RONDE_NCCL_GPU_SWITCH ? "through switches" : "and host memory between GPUs";
}

void ronde_print_nccl_machine(FILE *file, const struct ronde_nccl_machine *machine)
{
    fprintf(file, "%s, %u GPU%s a node, link %s", ronde_nccl_generation_text(machine->generation),
            machine->gpus, machine->gpus > 1 ? "s" : "", ronde_nccl_link_text(machine->link));
    if (machine->link != RONDE_NCCL_PCIE)
        fprintf(file, ", NVLink %g GB/s", machine->nvlink_GBps);
    if (machine->nvlink_nodes > 1)
        fprintf(file, " through %u nodes", machine->nvlink_nodes);
    if (machine->pcie_GBps > 0)
        fprintf(file, ", PCIe %g GB/s", machine->pcie_GBps);
    if (machine->link >= RONDE_NCCL_PAIRS && machine->gpu_path != RONDE_NCCL_GPU_BRIDGE)
        fprintf(file, " %s", path_text(machine->gpu_path));
    if (machine->nics > 0)
        fprintf(file, ", %u NIC%s of %g GB/s %s%s", machine->nics, machine->nics > 1 ? "s" : "",
                machine->nic_GBps, ronde_nccl_fabric_text(machine->fabric),
                machine->behind_bridge ? " behind the host bridge" : "");
    if (machine->is_one_process)
        fputs(", one process", file);
}

enum ronde_status ronde_shape_nodes(const struct ronde_options *options, uint32_t ranks,
                                    uint32_t *out_nodes, struct ronde_error *error)
{
    const struct ronde_grid *shape = &options->shape;
    *out_nodes = shape->count > 0 ? shape->radix[0] : 0;
    if (shape->count > 0 &&
        (shape->count != 2 || (ranks > 0 && shape->radix[0] * shape->radix[1] != ranks)))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--shape is to be NODESxGPUS of %u ranks",
                          ranks);
    return RONDE_OK;
}

enum ronde_status ronde_log_request_of(const struct ronde_options *options, const char *path,
                                       uint32_t collective_at, struct ronde_published_request *out,
                                       struct ronde_error *error)
{
    struct stat facts;
    const bool is_folder =
        options->topo && stat(options->topo, &facts) == 0 && S_ISDIR(facts.st_mode);
    *out =
        (struct ronde_published_request){.path = path,
                                         .folder = is_folder ? options->topo : NULL,
                                         .system = options->system,
                                         .has_collective = options->argument_count > collective_at};
    if (options->rank_counts > 1)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "a log is of one number of ranks, -N of %u",
                          options->rank_counts);
    if (out->has_collective) {
        const enum ronde_status status =
            ronde_parse_collective(options->arguments[collective_at], &out->collective, error);
        if (status != RONDE_OK)
            return status;
    }
    out->ranks = options->rank_counts > 0 ? options->ranks[0] : 0;
    if (out->ranks == 0 && options->shape.count == 2)
        out->ranks = options->shape.radix[0] * options->shape.radix[1];
    return ronde_shape_nodes(options, out->ranks, &out->nodes, error);
}
