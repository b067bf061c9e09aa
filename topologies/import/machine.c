/* The machine an importer builds: places, edges, and the order and names of what the readers found. */
#include "machine.h"

#include "nccl_rates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Before anything is read. */
static enum ronde_status check_request(const struct ronde_import_request *request,
                                       struct ronde_error *error)
{
    const double rates[] = {request->nic_GBps, request->nvlink_GBps, request->memory_GBps};
    if (request->nodes == 0 || request->nodes > RONDE_MAX_RANKS / RONDE_MAX_GPUS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%u nodes, expected 1 to %u", request->nodes,
                          RONDE_MAX_RANKS / RONDE_MAX_GPUS);
    if ((unsigned)request->fabric >= RONDE_FABRIC_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "fabric number %d", (int)request->fabric);
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        if (!(rates[i] >= 0 && rates[i] <= 1e9))
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "a rate of %g GB/s, expected 0 to 1e9",
                              rates[i]);
    return RONDE_OK;
}

enum ronde_status ronde_import_open(const struct ronde_import_request *request,
                                    const struct ronde_mem *mem, struct ronde_import **out_import,
                                    struct ronde_error *error)
{
    RONDE_TRY(check_request(request, error));
    struct ronde_import *import = ronde_mem_new(mem, 1, sizeof *import);
    if (!import)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for an import");
    import->mem = mem;
    import->request = *request;
    import->nvswitch = RONDE_NONE;
    *out_import = import;
    return RONDE_OK;
}

/* Until its reader sets a rate nothing limits the path to the parent. */
enum ronde_status ronde_import_add_place(struct ronde_import *import, enum ronde_place_kind kind,
                                         uint32_t parent, uint32_t line, uint32_t *out_place)
{
    if (import->places.count == RONDE_MAX_PLACES)
        return RONDE_BAD_INPUT;
    struct ronde_import_place *place = ronde_list_push(import->mem, &import->places, sizeof *place);
    if (!place)
        return RONDE_NO_MEMORY;
    *out_place = import->places.count - 1;
    place->kind = kind;
    place->parent = parent;
    place->line = line;
    place->up_GBps = INFINITY;
    place->rank = RONDE_NONE;
    if (parent != RONDE_NONE)
        place->host = RONDE_PLACE(import, parent)->host;
    return RONDE_OK;
}

enum ronde_status ronde_import_nvswitch(struct ronde_import *import, uint32_t *out_place)
{
    enum ronde_status status = RONDE_OK;
    if (import->nvswitch == RONDE_NONE)
        status =
            ronde_import_add_place(import, RONDE_PLACE_NVSWITCH, RONDE_NONE, 0, &import->nvswitch);
    *out_place = import->nvswitch;
    return status;
}

static bool has_busid(const struct ronde_import_place *place, uint32_t host, const char *busid)
{
    return place->busid[0] != '\0' && place->host == host && strcmp(place->busid, busid) == 0;
}

/*
 * Busids are invented where a cloud hides the real ones, so they are compared as texts. Bridges of such machines repeat
 * them, also those of devices, which are what links mean.
 */
uint32_t ronde_import_find(const struct ronde_import *import, uint32_t host, const char *busid)
{
    uint32_t found = RONDE_NONE;
    for (uint32_t i = 0; i < import->places.count; i++) {
        const struct ronde_import_place *place = RONDE_PLACE(import, i);
        if (!has_busid(place, host, busid))
            continue;
        if (place->kind != RONDE_PLACE_SWITCH)
            return i;
        found = found == RONDE_NONE ? i : found;
    }
    return found;
}

bool ronde_import_is_ambiguous(const struct ronde_import *import, uint32_t place)
{
    const struct ronde_import_place *self = RONDE_PLACE(import, place);
    uint32_t count = 0;
    for (uint32_t i = 0; i < import->places.count && self->kind == RONDE_PLACE_SWITCH; i++)
        count += has_busid(RONDE_PLACE(import, i), self->host, self->busid) ? 1 : 0;
    return count > 1;
}

uint32_t ronde_import_root(const struct ronde_import *import, uint32_t place)
{
    while (RONDE_PLACE(import, place)->parent != RONDE_NONE)
        place = RONDE_PLACE(import, place)->parent;
    return place;
}

/* The kind of a path that crosses one PCI link: what it connects decides (ncclTopoGetPaths does the same). */
static enum ronde_path_kind pci_kind(const struct ronde_import *import, const uint32_t *ends)
{
    const enum ronde_place_kind a = RONDE_PLACE(import, ends[0])->kind;
    const enum ronde_place_kind b = RONDE_PLACE(import, ends[1])->kind;
    if (a == RONDE_PLACE_CPU || b == RONDE_PLACE_CPU)
        return RONDE_PATH_PHB;
    return a == RONDE_PLACE_SWITCH && b == RONDE_PLACE_SWITCH ? RONDE_PATH_PXB : RONDE_PATH_PIX;
}

static enum ronde_path_kind kind_of(const struct ronde_import *import,
                                    const struct ronde_import_edge *edge)
{
    if (strcmp(edge->word, "cpu") == 0)
        return RONDE_PATH_SYS;
    if (strcmp(edge->word, "local") == 0)
        return RONDE_PATH_LOCAL;
    if (strcmp(edge->word, "c2c") == 0)
        return RONDE_PATH_C2C;
    if (strcmp(edge->word, "pcie") == 0 || strcmp(edge->word, "pcilink") == 0)
        return pci_kind(import, edge->ends);
    return RONDE_PATH_NVLINK;
}

/** Latency of an edge by its kind and ends, from NCCL's model; see docs/guide/import.md. */
static double latency_of(const struct ronde_import *import, const struct ronde_import_edge *edge)
{
    const bool a_is_gpu = RONDE_PLACE(import, edge->ends[0])->kind == RONDE_PLACE_GPU;
    const bool b_is_gpu = RONDE_PLACE(import, edge->ends[1])->kind == RONDE_PLACE_GPU;
    const bool is_device = RONDE_PLACE(import, edge->ends[0])->kind == RONDE_PLACE_DEVICE ||
                           RONDE_PLACE(import, edge->ends[1])->kind == RONDE_PLACE_DEVICE;
    if (is_device && edge->kind != RONDE_PATH_LOCAL)
        return edge->kind >= RONDE_PATH_PIX ? 200 : 0;
    if (!a_is_gpu && !b_is_gpu)
        return 0;
    if (edge->kind >= RONDE_PATH_PIX)
        return 500;
    return a_is_gpu && b_is_gpu ? 600 : 300;
}

/* Parallel links to one target add up, whichever end names them. */
enum ronde_status ronde_import_add_rate(struct ronde_import *import, const char *word,
                                        uint32_t from, uint32_t to, double GBps)
{
    for (uint32_t i = 0; i < import->edges.count; i++) {
        struct ronde_import_edge *edge = RONDE_EDGE(import, i);
        for (uint32_t way = 0; way < 2; way++)
            if (strcmp(edge->word, word) == 0 && edge->ends[way] == from &&
                edge->ends[1 - way] == to) {
                edge->GBps[way] += GBps;
                return RONDE_OK;
            }
    }
    struct ronde_import_edge edge = {.ends = {from, to}, .GBps = {GBps}, .word = word};
    edge.kind = kind_of(import, &edge);
    edge.latency_ns = latency_of(import, &edge);
    return ronde_list_append(import->mem, &import->edges, &edge, sizeof edge) ? RONDE_OK
                                                                              : RONDE_NO_MEMORY;
}

enum ronde_status ronde_import_add_duplex(struct ronde_import *import, const char *word, uint32_t a,
                                          uint32_t b, double GBps, double back_GBps)
{
    RONDE_TRY(ronde_import_add_rate(import, word, a, b, GBps));
    return ronde_import_add_rate(import, word, b, a, back_GBps);
}

/*
 * NCCL's model has one latency per hop of a ring, in its low-latency protocol: 0.6 us over NVLink, 1 us over PCI, 2.7 us
 * over the network (hwLat in src/graph/tuning.cc). The ends of a path carry it, so that a path costs the same however
 * many switches the file happens to name. A device with several GPUs has what is left of that from its own ends.
 */
/* A place counts if a GPU or a NIC is there or below; the rest of a machine moves none of our data. */
static void mark_used(struct ronde_import *import)
{
    for (uint32_t i = 0; i < import->places.count; i++) {
        const struct ronde_import_place *place = RONDE_PLACE(import, i);
        const bool is_end = place->kind == RONDE_PLACE_GPU || place->kind == RONDE_PLACE_NIC ||
                            place->kind == RONDE_PLACE_NVSWITCH;
        for (uint32_t at = i; is_end && at != RONDE_NONE; at = RONDE_PLACE(import, at)->parent)
            RONDE_PLACE(import, at)->is_used = true;
    }
}

/* Ranks first, then bus order, which is how drivers number GPUs; the file's order decides between equals. */
static bool precedes(const struct ronde_import_place *a, const struct ronde_import_place *b)
{
    if (a->rank != b->rank)
        return a->rank < b->rank;
    if (a->host != b->host)
        return a->host < b->host;
    return a->bus < b->bus;
}

/* Insertion keeps equals in order, and there are few. */
static enum ronde_status insert_gpu(struct ronde_import *import, uint32_t place)
{
    if (!ronde_list_push(import->mem, &import->gpus, sizeof(uint32_t)))
        return RONDE_NO_MEMORY;
    uint32_t *gpus = import->gpus.items;
    uint32_t at = import->gpus.count - 1;
    for (; at > 0 && precedes(RONDE_PLACE(import, place), RONDE_PLACE(import, gpus[at - 1])); at--)
        gpus[at] = gpus[at - 1];
    gpus[at] = place;
    return RONDE_OK;
}

/* NICs keep the order of the file: their numbers in NCCL are the plugin's. */
static enum ronde_status collect_ends(struct ronde_import *import)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < import->places.count && status == RONDE_OK; i++) {
        const enum ronde_place_kind kind = RONDE_PLACE(import, i)->kind;
        if (kind == RONDE_PLACE_GPU)
            status = insert_gpu(import, i);
        if (kind != RONDE_PLACE_NIC)
            continue;
        if (!ronde_list_append(import->mem, &import->nics, &i, sizeof i))
            return RONDE_NO_MEMORY;
    }
    return status;
}

/* Its busid, with the host where the file has several, and a number where the busid has been seen before. */
static void name_switch(struct ronde_import_place *place)
{
    char host[16] = "";
    char repeat[12] = "";
    if (place->host > 0)
        (void)snprintf(host, sizeof host, "host%u-", place->host);
    if (place->repeat > 0)
        (void)snprintf(repeat, sizeof repeat, "-%u", place->repeat + 1);
    (void)snprintf(place->name, sizeof place->name, "%s%.31s%s", host, place->busid, repeat);
}

/* GPUs and NICs get numbers; switches keep their busid. */
static void name_places(struct ronde_import *import)
{
    for (uint32_t i = 0; i < import->places.count; i++) {
        struct ronde_import_place *place = RONDE_PLACE(import, i);
        if (place->kind == RONDE_PLACE_NVSWITCH)
            (void)snprintf(place->name, sizeof place->name, "nvswitch");
        else if (place->kind == RONDE_PLACE_SWITCH || place->kind == RONDE_PLACE_DEVICE)
            name_switch(place);
    }
    for (uint32_t i = 0; i < import->gpus.count; i++)
        (void)snprintf(RONDE_PLACE(import, *RONDE_AT(import->gpus, uint32_t, i))->name,
                       sizeof RONDE_PLACE(import, 0)->name, "gpu%u", i);
    for (uint32_t i = 0; i < import->nics.count; i++)
        (void)snprintf(RONDE_PLACE(import, *RONDE_AT(import->nics, uint32_t, i))->name,
                       sizeof RONDE_PLACE(import, 0)->name, "nic%u", i);
}

/* A CPU to every later one of its host. */
static enum ronde_status add_cpu_edges(struct ronde_import *import, uint32_t cpu)
{
    const struct ronde_import_place *self = RONDE_PLACE(import, cpu);
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = cpu + 1; i < import->places.count && status == RONDE_OK; i++) {
        const struct ronde_import_place *other = RONDE_PLACE(import, i);
        if (!other->is_used || other->kind != RONDE_PLACE_CPU || other->host != self->host)
            continue;
        status = ronde_import_add_duplex(import, "cpu", cpu, i, self->cpu_GBps, other->cpu_GBps);
        if (fmax(self->cpu_GBps, other->cpu_GBps) >= RONDE_NCCL_NO_LIMIT_GBPS)
            ronde_import_note(import, RONDE_REMARK_CPU, self->line);
    }
    return status;
}

/* The PCI trees, and the CPUs they hang from. */
static enum ronde_status add_tree_edges(struct ronde_import *import)
{
    for (uint32_t i = 0; i < import->places.count; i++) {
        const struct ronde_import_place *place = RONDE_PLACE(import, i);
        if (!place->is_used)
            continue;
        if (place->parent != RONDE_NONE)
            RONDE_TRY(ronde_import_add_duplex(
                import,
                RONDE_PLACE(import, place->parent)->kind == RONDE_PLACE_DEVICE ? "local" : "pcie",
                i, place->parent, place->up_GBps, place->up_GBps));
        else if (place->kind == RONDE_PLACE_CPU)
            RONDE_TRY(add_cpu_edges(import, i));
    }
    return RONDE_OK;
}

/* Files of the cloud images leave NVLink to the driver; the caller may give it. */
static enum ronde_status add_given_nvlink(struct ronde_import *import)
{
    const double GBps = import->request.nvlink_GBps;
    uint32_t centre;
    for (uint32_t i = 0; i < import->edges.count; i++)
        if (RONDE_EDGE(import, i)->kind == RONDE_PATH_NVLINK)
            return RONDE_OK;
    if (GBps <= 0) {
        if (import->gpus.count > 1)
            ronde_import_note(import, RONDE_REMARK_NO_NVLINK, 0);
        return RONDE_OK;
    }
    enum ronde_status status = ronde_import_nvswitch(import, &centre);
    for (uint32_t i = 0; i < import->gpus.count && status == RONDE_OK; i++)
        status = ronde_import_add_duplex(import, "nvlink", *RONDE_AT(import->gpus, uint32_t, i),
                                         centre, GBps, GBps);
    ronde_import_note(import, RONDE_REMARK_GIVEN_NVLINK, 0);
    return status;
}

/* A NIC whose rate neither the file nor the caller gives is treated as absent. */
static void rate_nics(struct ronde_import *import)
{
    for (uint32_t i = 0; i < import->nics.count; i++) {
        struct ronde_import_place *nic = RONDE_PLACE(import, *RONDE_AT(import->nics, uint32_t, i));
        if (nic->net_GBps <= 0 && import->request.nic_GBps > 0) {
            nic->net_GBps = import->request.nic_GBps;
            ronde_import_note(import, RONDE_REMARK_GIVEN_NIC, nic->line);
        } else if (nic->net_GBps <= 0) {
            ronde_import_note(import, RONDE_REMARK_SILENT_NIC, nic->line);
        } else if (nic->net_GBps > nic->up_GBps) {
            ronde_import_note(import, RONDE_REMARK_FAST_NET, nic->line);
        }
    }
}

static enum ronde_status refuse_multicast(const char *path, struct ronde_error *error)
{
    return ronde_fail(error, RONDE_BAD_ARGUMENT,
                      "%s: no NVSwitch: nothing copies or adds there (multicast)", path);
}

/* Edges of NVLink are there already; trees and CPUs follow from the places. */
enum ronde_status ronde_import_finish(struct ronde_import *import, const char *path,
                                      struct ronde_error *error)
{
    mark_used(import);
    enum ronde_status status = collect_ends(import);
    /* Ranks that are cores have no use for devices. */
    if (status == RONDE_OK && import->gpus.count == 0)
        return import->request.multicasts ? refuse_multicast(path, error) : RONDE_OK;
    name_places(import);
    rate_nics(import);
    if (status == RONDE_OK && import->gpus.count > RONDE_MAX_GPUS)
        return ronde_fail(error, RONDE_BAD_INPUT, "%s: %u GPUs, at most %u can be imported", path,
                          import->gpus.count, RONDE_MAX_GPUS);
    RONDE_THEN(status, add_tree_edges(import));
    RONDE_THEN(status, add_given_nvlink(import));
    if (status == RONDE_BAD_INPUT)
        return ronde_fail(error, status, "%s: more than %u processors, switches and devices", path,
                          RONDE_MAX_PLACES);
    if (status != RONDE_OK)
        return ronde_fail(error, status, "%s: no memory for the machine", path);
    if (import->request.multicasts && import->nvswitch == RONDE_NONE)
        return refuse_multicast(path, error);
    return ronde_import_find_paths(import, path, error);
}

void ronde_import_destroy(struct ronde_import *import)
{
    if (!import)
        return;
    const struct ronde_mem *mem = import->mem;
    const size_t labels = (size_t)import->gpus.count * import->places.count;
    ronde_mem_free(mem, import->labels, labels, sizeof *import->labels);
    ronde_list_free(mem, &import->places, sizeof(struct ronde_import_place));
    ronde_list_free(mem, &import->edges, sizeof(struct ronde_import_edge));
    ronde_list_free(mem, &import->gpus, sizeof(uint32_t));
    ronde_list_free(mem, &import->nics, sizeof(uint32_t));
    ronde_list_free(mem, &import->nic_of, sizeof(uint32_t));
    ronde_mem_free(mem, import, 1, sizeof *import);
}

/* A link between two places as links of a platform file. */

/* Written so that two infinities are equal. */
bool ronde_import_is_symmetric(const struct ronde_import_edge *edge)
{
    return !(edge->GBps[0] < edge->GBps[1]) && !(edge->GBps[0] > edge->GBps[1]);
}

static uint32_t links_of(const struct ronde_import_edge *edge)
{
    uint32_t links = 0;
    for (uint32_t way = 0; way < 2; way++)
        links += isfinite(edge->GBps[way]) && edge->GBps[way] > 0 ? 1 : 0;
    return ronde_import_is_symmetric(edge) && links == 2 ? 1 : links;
}

/* Links as they are written: one for both directions where these are equal. */
static uint32_t count_links(const struct ronde_import *import)
{
    uint32_t links = 0;
    for (uint32_t i = 0; i < import->edges.count; i++)
        links += links_of(RONDE_EDGE(import, i));
    for (uint32_t i = 0; i < import->nics.count; i++)
        links += RONDE_PLACE(import, *RONDE_AT(import->nics, uint32_t, i))->net_GBps > 0 ? 1 : 0;
    return links;
}

struct ronde_import_summary ronde_import_summary(const struct ronde_import *import)
{
    struct ronde_import_summary summary = {
        .kind = import->kind,
        .gpus = import->gpus.count,
        .cores = import->cores,
        .nics = import->nics.count,
        .links = count_links(import),
        .hosts = import->gpus.count > 0 ? import->gpus.count * import->request.nodes : import->cores,
    };
    for (uint32_t i = 0; i < import->places.count; i++) {
        const struct ronde_import_place *place = RONDE_PLACE(import, i);
        summary.cpus += place->is_used && place->kind == RONDE_PLACE_CPU ? 1 : 0;
        summary.switches += place->is_used && place->kind == RONDE_PLACE_SWITCH ? 1 : 0;
        summary.ports += place->port_count;
    }
    return summary;
}
