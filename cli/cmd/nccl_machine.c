/* --topo as a machine of NCCL's model. See styles.h. */
#include "cli/options/topology.h"
#include "cli/print/report.h"
#include "styles.h"

#include "ronde/data_files.h"
#include "ronde/schedules.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    return access(out_path, F_OK) != 0 && !strchr(text, '/')
               ? ronde_refuse_machine(text, RONDE_IO, error)
               : RONDE_OK;
}

static bool is_whole(const struct ronde_options *options)
{
    return options->machine.degrade.count == 0 && options->machine.without.count == 0 &&
           !options->machine.nics;
}

static enum ronde_status open_whole(const struct ronde_options *options,
                                    struct ronde_nccl_site *out, struct ronde_error *error)
{
    RONDE_TRY(ronde_machine_open(options, &out->platform, error));
    return ronde_nccl_machine_of_platform(out->platform, &out->machine, error);
}

/* What is slow or out NCCL does not know: its machine is that of healthy links, while nodes are left whole. */
static enum ronde_status open_impaired(const struct ronde_options *options,
                                       struct ronde_nccl_site *out, struct ronde_error *error)
{
    struct ronde_options healthy = *options;
    struct ronde_platform *whole = NULL;
    healthy.machine.without.count = 0;
    healthy.machine.degrade.count = 0;
    healthy.machine.nics = NULL;
    enum ronde_status status = ronde_machine_open(&healthy, &whole, error);
    RONDE_THEN(status, ronde_nccl_machine_of_platform(whole, &out->machine, error));
    RONDE_THEN(status, ronde_machine_open(options, &out->platform, error));
    RONDE_THEN(status, ronde_degrade_links(options, out->platform, error));
    if (status == RONDE_OK && ronde_platform_facts(out->platform)->node_hosts != out->machine.gpus)
        status =
            ronde_fail(error, RONDE_UNSUPPORTED,
                       "%s: what is left are nodes of unequal numbers of GPUs, and NCCL's model "
                       "has equal ones; take whole nodes out, or replay: ronde sim without --style",
                       options->machine.topo);
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
    RONDE_TRY(find_file(options->machine.topo, path, sizeof path, error));
    /* What a description says of its fabric is all that there is, until something of it is missing. */
    if (!is_whole(options))
        return open_impaired(options, out, error);
    if (!ronde_is_nccl_machine(path))
        return open_whole(options, out, error);
    RONDE_TRY(ronde_takes_none(options, "fabric",
                               "a description has its network in it, of which all is there", error));
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

/* What was asked for: calls of one collective on as many ranks and nodes have the same. */
struct shape {
    struct ronde_nccl_call call;
    struct ronde_nccl_limit limits[RONDE_NCCL_LIMITS];
};

enum ronde_status
ronde_nccl_site_limits_of(struct ronde_nccl_site *site, const struct ronde_nccl_call *call,
                          const struct ronde_nccl_limit **out, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    struct shape *const *all = site->shapes.items;
    *out = NULL;
    if (!site->platform)
        return RONDE_OK;
    for (uint32_t s = 0; s < site->shapes.count; s++)
        if (all[s]->call.collective == call->collective && all[s]->call.ranks == call->ranks &&
            all[s]->call.nodes == call->nodes) {
            *out = all[s]->limits;
            return RONDE_OK;
        }
    struct shape *shape = ronde_mem_new(mem, 1, sizeof *shape), **to = NULL;
    enum ronde_status status =
        shape ? ronde_nccl_limits_find(site->platform, &site->machine, call, NULL, mem,
                                       shape->limits, error)
              : ronde_fail(error, RONDE_NO_MEMORY, "no memory for limits of links");
    if (status == RONDE_OK && !(to = ronde_list_push(mem, &site->shapes, sizeof *to)))
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory for limits of links");
    if (status != RONDE_OK) {
        ronde_mem_free(mem, shape, 1, sizeof *shape);
        return status;
    }
    shape->call = *call;
    *to = shape;
    *out = shape->limits;
    return RONDE_OK;
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
    struct shape **all = site->shapes.items;
    for (uint32_t s = 0; s < site->shapes.count; s++)
        ronde_mem_free(ronde_mem_default(), all[s], 1, sizeof **all);
    ronde_list_free(ronde_mem_default(), &site->shapes, sizeof *all);
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
    if (machine->link != RONDE_NODE_PCIE)
        fprintf(file, ", NVLink %g GB/s", machine->nvlink_GBps);
    if (machine->nvlink_nodes > 1)
        fprintf(file, " through %u nodes", machine->nvlink_nodes);
    if (machine->pcie_GBps > 0)
        fprintf(file, ", PCIe %g GB/s", machine->pcie_GBps);
    if (machine->link >= RONDE_NODE_PAIRS && machine->gpu_path != RONDE_NCCL_GPU_BRIDGE)
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
    const struct ronde_grid *shape = &options->what.shape;
    *out_nodes = shape->count > 0 ? shape->radix[0] : 0;
    if (shape->count > 0 &&
        (shape->count != 2 || (ranks > 0 && shape->radix[0] * shape->radix[1] != ranks)))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--shape is to be NODESxGPUS of %u ranks",
                          ranks);
    return RONDE_OK;
}

enum ronde_status ronde_log_request_of(const struct ronde_options *options, const char *path,
                                       const char *system, uint32_t collective_at,
                                       struct ronde_published_request *out,
                                       struct ronde_error *error)
{
    struct stat facts;
    const bool is_folder =
        options->machine.topo && stat(options->machine.topo, &facts) == 0 && S_ISDIR(facts.st_mode);
    *out =
        (struct ronde_published_request){.path = path,
                                         .folder = is_folder ? options->machine.topo : NULL,
                                         .system = system,
                                         .has_collective = options->argument_count > collective_at};
    if (options->what.rank_counts > 1)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "a log is of one number of ranks, -N of %u",
                          options->what.rank_counts);
    if (out->has_collective) {
        RONDE_TRY(ronde_parse_collective(options->arguments[collective_at], &out->collective, error));
    }
    out->ranks = options->what.rank_counts > 0 ? options->what.ranks[0] : 0;
    if (out->ranks == 0 && options->what.shape.count == 2)
        out->ranks = options->what.shape.radix[0] * options->what.shape.radix[1];
    return ronde_shape_nodes(options, out->ranks, &out->nodes, error);
}

/* --anchor. */

enum ronde_status ronde_check_log_gpu(const char *path, const char *gpu,
                                      const struct ronde_nccl_machine *machine,
                                      struct ronde_error *error)
{
    enum ronde_nccl_generation generation;
    if (!ronde_nccl_generation_find(gpu, &generation) || generation == machine->generation)
        return RONDE_OK;
    return ronde_fail(error, RONDE_BAD_INPUT,
                      "%s was measured on \"%s\" (%s), --topo %s describes %s GPUs", path, gpu,
                      ronde_nccl_generation_text(generation), machine->name,
                      ronde_nccl_generation_text(machine->generation));
}

/* A table of several has to name the machine. */
static enum ronde_status find_system(const struct ronde_published *anchor, const char *path,
                                     const char *name, uint32_t *out, struct ronde_error *error)
{
    for (*out = 0; anchor->system_count > 1 && *out < anchor->system_count; ++*out)
        if (strcmp(anchor->systems[*out].name, name) == 0)
            break;
    return *out < anchor->system_count
               ? RONDE_OK
               : ronde_fail(
                     error, RONDE_BAD_INPUT,
                     "--anchor %s: none of its %u systems is called %s: keep the rows of one", path,
                     anchor->system_count, name);
}

static enum ronde_status fit_to(struct ronde_published *anchor, const char *path, uint32_t system,
                                struct ronde_nccl_constants *constants,
                                struct ronde_nccl_bands *bands, struct ronde_error *error)
{
    struct ronde_published_anchor found;
    char text[RONDE_PUBLISHED_ANCHOR_BYTES];
    RONDE_TRY(ronde_published_anchor_to(anchor, system, path, constants, bands, &found, error));
    ronde_published_anchor_text(&found, text);
    ronde_note("anchored to %zu times of %s: %s", found.rows, path, text);
    return RONDE_OK;
}

enum ronde_status ronde_nccl_anchor(const struct ronde_options *options,
                                    const struct ronde_nccl_machine *machine,
                                    struct ronde_nccl_constants *constants,
                                    struct ronde_nccl_bands *bands, struct ronde_error *error)
{
    const char *path = options->what.anchor;
    const struct ronde_published_request request = {.path = path, .is_alone = true};
    struct ronde_nccl_machine own = *machine;
    struct ronde_published anchor = {.rows = NULL};
    uint32_t system = 0;
    if (!path)
        return RONDE_OK;
    /* Limits are of one call of another kind. */
    own.limits = NULL;
    enum ronde_status status = ronde_published_open(&request, ronde_mem_default(), &anchor, error);
    RONDE_THEN(status, ronde_check_log_gpu(path, anchor.log.gpu, machine, error));
    RONDE_THEN(status, find_system(&anchor, path, machine->name, &system, error));
    if (status == RONDE_OK) {
        ronde_published_choose(&anchor, constants);
        ronde_published_describe(&anchor, system, &own, constants);
        status = fit_to(&anchor, path, system, constants, bands, error);
    }
    if (anchor.mem)
        ronde_published_close(&anchor);
    return status;
}

enum ronde_status ronde_refuse_anchor(const struct ronde_options *options, struct ronde_error *error)
{
    return options->what.anchor
               ? ronde_fail(error, RONDE_BAD_ARGUMENT,
                            "--anchor %s fits the model of NCCL: it goes with --style nccl, with "
                            "validate --published of NCCL's times, and with doctor",
                            options->what.anchor)
               : RONDE_OK;
}
