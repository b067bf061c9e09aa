/*
 * Which way data goes, as NCCL decides it (src/graph/paths.cc): the best kind of path wins, then the bandwidth, then the
 * number of links. Data passes through switches and CPUs, never through a GPU or a NIC on its way elsewhere: NCCL's NVB
 * and PXN paths do, with copies by the GPU between, which are two messages of a schedule and not one.
 */
#include "machine.h"

#include <math.h>

const struct ronde_label *ronde_import_label(const struct ronde_import *import, uint32_t gpu,
                                             uint32_t place)
{
    return &import->labels[(size_t)gpu * import->places.count + place];
}

/* Whether a path is better than another one; a place not reached has no path. */
static bool is_better(const struct ronde_label *a, const struct ronde_label *b)
{
    if (a->hops == RONDE_NONE || b->hops == RONDE_NONE)
        return b->hops == RONDE_NONE && a->hops != RONDE_NONE;
    if (a->kind != b->kind)
        return a->kind < b->kind;
    if (a->GBps > b->GBps || a->GBps < b->GBps)
        return a->GBps > b->GBps;
    return a->hops < b->hops;
}

/* The best open place, or NONE. Every further edge makes a path worse, so it is final. */
static uint32_t settle(const struct ronde_import *import, struct ronde_label *labels)
{
    uint32_t best = RONDE_NONE;
    for (uint32_t i = 0; i < import->places.count; i++)
        if (!labels[i].is_done && labels[i].hops != RONDE_NONE &&
            (best == RONDE_NONE || is_better(&labels[i], &labels[best])))
            best = i;
    if (best != RONDE_NONE)
        labels[best].is_done = true;
    return best;
}

/* Offers what lies beyond one edge the path over it. */
static void relax(const struct ronde_import *import, struct ronde_label *labels, uint32_t edge,
                  uint32_t from)
{
    const struct ronde_import_edge *self = RONDE_EDGE(import, edge);
    const uint32_t way = self->ends[0] == from ? 0 : 1;
    if (self->ends[way] != from || self->GBps[way] <= 0)
        return;
    const struct ronde_label *here = &labels[from];
    struct ronde_label *there = &labels[self->ends[1 - way]];
    const struct ronde_label offer = {here->kind > self->kind ? here->kind : self->kind,
                                      fmin(here->GBps, self->GBps[way]), here->hops + 1, edge,
                                      false};
    if (!there->is_done && is_better(&offer, there))
        *there = offer;
}

/* Dijkstra's algorithm; there are few places, so that nothing faster than a scan is needed. */
static void search(const struct ronde_import *import, uint32_t source, struct ronde_label *labels)
{
    for (uint32_t i = 0; i < import->places.count; i++)
        labels[i] = (struct ronde_label){RONDE_PATH_LOCAL, INFINITY, RONDE_NONE, RONDE_NONE, false};
    labels[source].hops = 0;
    for (uint32_t at; (at = settle(import, labels)) != RONDE_NONE;) {
        const enum ronde_place_kind kind = RONDE_PLACE(import, at)->kind;
        if (at != source && (kind == RONDE_PLACE_GPU || kind == RONDE_PLACE_NIC))
            continue;
        /* Through another device data gets to its own GPUs alone. */
        const bool is_end = kind == RONDE_PLACE_DEVICE && at != RONDE_PLACE(import, source)->parent;
        for (uint32_t edge = 0; edge < import->edges.count; edge++)
            if (!is_end || RONDE_EDGE(import, edge)->kind == RONDE_PATH_LOCAL)
                relax(import, labels, edge, at);
    }
}

/* Labels lead back to the source; the edges come out last first. */
uint32_t ronde_import_path(const struct ronde_import *import, uint32_t gpu, uint32_t place,
                           uint32_t *out_edges)
{
    const uint32_t hops = ronde_import_label(import, gpu, place)->hops;
    uint32_t at = place;
    for (uint32_t i = hops; i > 0; i--) {
        const uint32_t edge = ronde_import_label(import, gpu, at)->edge;
        const struct ronde_import_edge *self = RONDE_EDGE(import, edge);
        out_edges[i - 1] = edge;
        at = self->ends[0] == at ? self->ends[1] : self->ends[0];
    }
    return hops;
}

/* GPUs that already use a NIC. */
static uint32_t users_of(const struct ronde_import *import, uint32_t nic)
{
    uint32_t users = 0;
    for (uint32_t i = 0; i < import->nic_of.count; i++)
        users += *RONDE_AT(import->nic_of, uint32_t, i) == nic ? 1 : 0;
    return users;
}

/* Whether the links of a path lead back as well; a damaged file may know only one direction. */
static bool leads_back(const struct ronde_import *import, uint32_t gpu, uint32_t place)
{
    uint32_t edges[RONDE_MAX_PLACES];
    const uint32_t count = ronde_import_path(import, gpu, place, edges);
    for (uint32_t i = 0; i < count; i++)
        if (RONDE_EDGE(import, edges[i])->GBps[0] <= 0 || RONDE_EDGE(import, edges[i])->GBps[1] <= 0)
            return false;
    return true;
}

/* The path through a NIC's ports, which data takes in both directions; no path where it cannot. */
static struct ronde_label exit_of(const struct ronde_import *import, uint32_t gpu, uint32_t nic)
{
    struct ronde_label label = *ronde_import_label(import, gpu, nic);
    label.GBps = fmin(label.GBps, RONDE_PLACE(import, nic)->net_GBps);
    if (label.hops != RONDE_NONE && !leads_back(import, gpu, nic))
        label.hops = RONDE_NONE;
    return label;
}

/* The nearest NIC; of several equally near ones the one with the fewest GPUs, so that all are used. */
static uint32_t pick_nic(const struct ronde_import *import, uint32_t gpu)
{
    uint32_t best = RONDE_NONE;
    struct ronde_label nearest = {RONDE_PATH_LOCAL, 0, RONDE_NONE, RONDE_NONE, false};
    for (uint32_t i = 0; i < import->nics.count; i++) {
        const uint32_t nic = *RONDE_AT(import->nics, uint32_t, i);
        const struct ronde_label label = exit_of(import, gpu, nic);
        if (RONDE_PLACE(import, nic)->net_GBps <= 0 || is_better(&nearest, &label))
            continue;
        if (is_better(&label, &nearest) ||
            (best != RONDE_NONE && users_of(import, nic) < users_of(import, best))) {
            best = nic;
            nearest = label;
        }
    }
    return best;
}

/* In rank order, which is what makes the choice among equals even. */
static enum ronde_status pick_nics(struct ronde_import *import)
{
    for (uint32_t gpu = 0; gpu < import->gpus.count; gpu++) {
        const uint32_t nic = pick_nic(import, gpu);
        if (!ronde_list_append(import->mem, &import->nic_of, &nic, sizeof nic))
            return RONDE_NO_MEMORY;
    }
    for (uint32_t i = 0; i < import->nics.count; i++) {
        const uint32_t nic = *RONDE_AT(import->nics, uint32_t, i);
        if (RONDE_PLACE(import, nic)->net_GBps > 0 && users_of(import, nic) == 0)
            ronde_import_note(import, RONDE_REMARK_IDLE_NIC, RONDE_PLACE(import, nic)->line);
    }
    return RONDE_OK;
}

static bool has_nvlink(const struct ronde_import *import, uint32_t place)
{
    for (uint32_t i = 0; i < import->edges.count; i++) {
        const struct ronde_import_edge *edge = RONDE_EDGE(import, i);
        if (edge->kind == RONDE_PATH_NVLINK && (edge->ends[0] == place || edge->ends[1] == place))
            return true;
    }
    return false;
}

/* GPUs without NVLink, where most of the others have it; *out_first is one of these. */
static uint32_t count_linkless(const struct ronde_import *import, uint32_t *out_first)
{
    uint32_t count = 0;
    for (uint32_t gpu = import->gpus.count; gpu-- > 0;) {
        const uint32_t place = *RONDE_AT(import->gpus, uint32_t, gpu);
        const uint32_t above = RONDE_PLACE(import, place)->parent;
        if (has_nvlink(import, place) ||
            (above != RONDE_NONE && RONDE_PLACE(import, above)->kind == RONDE_PLACE_DEVICE &&
             has_nvlink(import, above)))
            continue;
        count++;
        *out_first = gpu;
    }
    return 2 * count < import->gpus.count ? count : 0;
}

/* One GPU alone without the links of the others is why a file was dumped, more often than not. */
static enum ronde_status fail_linkless(const struct ronde_import *import, const char *path,
                                       uint32_t count, uint32_t first, struct ronde_error *error)
{
    const uint32_t line = RONDE_PLACE(import, *RONDE_AT(import->gpus, uint32_t, first))->line;
    return ronde_fail_at(error, RONDE_BAD_INPUT, line,
                         "%s:%u: of %u GPUs gpu%u %s no NVLink, and nothing else of known rate "
                         "leads there: a fault?",
                         path, line, import->gpus.count, first,
                         count == 1 ? "alone has" : "and others have");
}

/* Every GPU reaches every other one, over at least one link whose rate is known. */
static enum ronde_status check_pairs(struct ronde_import *import, const char *path,
                                     struct ronde_error *error)
{
    uint32_t first = 0;
    const uint32_t linkless = count_linkless(import, &first);
    for (uint32_t from = 0; from < import->gpus.count; from++)
        for (uint32_t to = 0; to < import->gpus.count; to++) {
            const uint32_t place = *RONDE_AT(import->gpus, uint32_t, to);
            const struct ronde_label *label = ronde_import_label(import, from, place);
            if (from == to || (label->hops != RONDE_NONE && isfinite(label->GBps)))
                continue;
            const uint32_t line = RONDE_PLACE(import, place)->line;
            if (linkless > 0)
                return fail_linkless(import, path, linkless, first, error);
            return ronde_fail_at(error, RONDE_BAD_INPUT, line,
                                 "%s:%u: no link of known rate leads from gpu%u to gpu%u, which is "
                                 "on this line",
                                 path, line, from, to);
        }
    for (uint32_t k = 0; k < linkless; k++)
        ronde_import_note(import, RONDE_REMARK_LINKLESS,
                          RONDE_PLACE(import, *RONDE_AT(import->gpus, uint32_t, first))->line);
    return RONDE_OK;
}

/* Several nodes communicate through NICs, and rails require one for each GPU. */
static enum ronde_status check_fabric(const struct ronde_import *import, const char *path,
                                      struct ronde_error *error)
{
    for (uint32_t gpu = 0; gpu < import->gpus.count && import->request.nodes > 1; gpu++) {
        const uint32_t nic = *RONDE_AT(import->nic_of, uint32_t, gpu);
        if (nic == RONDE_NONE)
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "%s: %u nodes, but gpu%u reaches no NIC whose rate the file knows "
                              "and that reaches it; say --nic-GBps if there are NICs",
                              path, import->request.nodes, gpu);
        if (import->request.fabric == RONDE_FABRIC_RAIL && users_of(import, nic) > 1)
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "%s: a rail fabric needs a NIC for each GPU, but %u GPUs share %s; "
                              "use --fabric crossbar or fat-tree",
                              path, users_of(import, nic), RONDE_PLACE(import, nic)->name);
    }
    return RONDE_OK;
}

/* Room for every GPU at once: routes are written in an order of their own. */
enum ronde_status ronde_import_find_paths(struct ronde_import *import, const char *path,
                                          struct ronde_error *error)
{
    const size_t count = (size_t)import->gpus.count * import->places.count;
    import->labels = ronde_mem_new(import->mem, count, sizeof *import->labels);
    if (!import->labels)
        return ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for the paths of %u GPUs", path,
                          import->gpus.count);
    for (uint32_t gpu = 0; gpu < import->gpus.count; gpu++)
        search(import, *RONDE_AT(import->gpus, uint32_t, gpu),
               &import->labels[(size_t)gpu * import->places.count]);
    if (pick_nics(import) != RONDE_OK)
        return ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for the NICs of %u GPUs", path,
                          import->gpus.count);
    RONDE_TRY(check_pairs(import, path, error));
    return check_fabric(import, path, error);
}
