/*
 * The max-plus replay: start = max over predecessors, finish = start + delay + bytes / rate, along the routes of the
 * platform. On runs where no link is ever overloaded, that is what SimGrid's max-min sharing gives (measured: all
 * 2,095,104 finish times of a 1024-rank ring equal to the last bit). Whether this was such a run is certified
 * (certificate.h) by the intervals in which the flows occupy their links.
 */
#include "certificate.h"
#include "sim/check.h"
#include "sim/routes.h"
#include "sim/shared/forward_graph.h"

#include <string.h>

/* Operations that are checked, routed, timed and recorded together: they and their edges stay in the nearest cache. */
#define BLOCK 64u

/* What a route has carried. */
struct cargo {
    double bytes;
    uint64_t flows;
};

/* The state of a replay. */
struct flat {
    struct ronde_sim_scene scene;
    struct ronde_sim_routes routes;
    struct ronde_sim_search search;
    struct ronde_certificate certificate;
    uint32_t *recent;         /* as ronde_sim_search_block has it */
    struct ronde_path *paths; /* per route, next to each other */
    struct cargo *cargo;      /* per route */
    size_t path_capacity;
    size_t cargo_capacity;
    uint32_t path_count;
    double *finish_ns; /* the caller's or ours */
};

/* The flow of an operation on its route; false if it has none. */
static bool find_flow(const struct flat *flat, uint32_t index, const struct ronde_sim_route *route,
                      struct ronde_flow *out_flow)
{
    const struct ronde_dag_op *op = &flat->scene.dag->ops[index];
    if (op->bytes == 0 || route->hop_count == 0)
        return false;
    out_flow->rate_GBps = route->path.rate_GBps;
    out_flow->end_ns = flat->finish_ns[index];
    out_flow->start_ns = out_flow->end_ns - (double)op->bytes / out_flow->rate_GBps;
    return true;
}

/* Records the flows of a block. */
static void note_block(struct flat *flat, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        const struct ronde_sim_route *route = &flat->routes.all[flat->routes.of_op[i]];
        const uint32_t *links = flat->routes.hops + route->first_hop;
        struct ronde_flow flow;
        if (!find_flow(flat, i, route, &flow))
            continue;
        struct cargo *cargo = &flat->cargo[flat->routes.of_op[i]];
        cargo->bytes += (double)flat->scene.dag->ops[i].bytes;
        cargo->flows++;
        for (uint32_t k = 0; k < route->hop_count; k++)
            ronde_certificate_note(&flat->certificate, links[k], &flow);
    }
}

/*
 * Passes all flows to the certificate again, link by link. A function of its own: note_block must
 * keep its numbers in registers.
 */
static enum ronde_status repeat_flows(void *self, ronde_flow_say say)
{
    struct flat *flat = self;
    struct ronde_flow flow;
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < flat->scene.dag->op_count && status == RONDE_OK; i++) {
        if (i % BLOCK == 0)
            status = ronde_sim_check_cancel(&flat->scene);
        const struct ronde_sim_route *route = &flat->routes.all[flat->routes.of_op[i]];
        const uint32_t *links = flat->routes.hops + route->first_hop;
        if (find_flow(flat, i, route, &flow))
            for (uint32_t k = 0; k < route->hop_count; k++)
                say(&flat->certificate, links[k], &flow);
    }
    return status;
}

/* Paths of the routes that are new. */
static bool add_paths(struct flat *flat)
{
    bool fits = ronde_mem_grow(flat->scene.mem, &flat->paths, &flat->path_capacity,
                               flat->routes.count, sizeof *flat->paths);
    fits = fits && ronde_mem_grow(flat->scene.mem, &flat->cargo, &flat->cargo_capacity,
                                  flat->routes.count, sizeof *flat->cargo);
    for (; fits && flat->path_count < flat->routes.count; flat->path_count++)
        flat->paths[flat->path_count] = flat->routes.all[flat->path_count].path;
    return fits;
}

/* Everything about a block. Its latest finish goes to *end_ns if it is later. */
static enum ronde_status walk_block(struct flat *flat, uint32_t first, uint32_t end, double *end_ns)
{
    const struct ronde_dag *dag = flat->scene.dag;
    RONDE_TRY(ronde_sim_check_cancel(&flat->scene));
    RONDE_TRY(ronde_sim_search_block(&flat->search, dag, flat->recent, first, end));
    if (!add_paths(flat))
        RONDE_TRY(ronde_sim_no_memory(&flat->scene));
    const struct ronde_dag_timing timing = {.paths = flat->paths,
                                            .path_of = flat->routes.of_op,
                                            .release_ns = flat->scene.options->release_ns,
                                            .out_start_ns = flat->scene.options->out_start_ns,
                                            .out_finish_ns = flat->finish_ns};
    const double block_ns = ronde_dag_advance(dag, &timing, first, end);
    *end_ns = block_ns > *end_ns ? block_ns : *end_ns;
    note_block(flat, first, end);
    return RONDE_OK;
}

static enum ronde_status walk(struct flat *flat, struct ronde_sim_result *out_result)
{
    const struct ronde_dag *dag = flat->scene.dag;
    enum ronde_status status = RONDE_OK;
    double end_ns = 0;
    uint32_t end = 0;
    for (uint32_t first = 0; first < dag->op_count && status == RONDE_OK; first = end) {
        end = dag->op_count - first < BLOCK ? dag->op_count : first + BLOCK;
        status = walk_block(flat, first, end, &end_ns);
    }
    out_result->engine = "flat";
    out_result->time_ns = ronde_dag_end_ns(dag, end_ns);
    return status;
}

/* What every link carried. */
static void add_cargo(struct flat *flat)
{
    for (uint32_t i = 0; i < flat->routes.count; i++) {
        const struct ronde_sim_route *route = &flat->routes.all[i];
        const uint32_t *links = flat->routes.hops + route->first_hop;
        for (uint32_t k = 0; k < route->hop_count; k++)
            ronde_certificate_carry(&flat->certificate, links[k], flat->cargo[i].bytes,
                                    flat->cargo[i].flows);
    }
}

/* Decides what the walk left open. */
static enum ronde_status certify(struct flat *flat, struct ronde_sim_result *result)
{
    add_cargo(flat);
    /* No link can be busy during the launch. */
    ronde_certificate_busiest(&flat->certificate, result->time_ns - flat->scene.dag->launch_ns,
                              result);
    return ronde_certificate_decide(&flat->certificate, repeat_flows, flat,
                                    &result->is_contention_free, flat->scene.error);
}

/* What the walk needs besides finish times. Freed in every case by free_flat. */
static enum ronde_status prepare(struct flat *flat)
{
    const struct ronde_sim_scene *scene = &flat->scene;
    const struct ronde_dag *dag = scene->dag;
    const bool fits = ronde_certificate_open(&flat->certificate, scene->platform, scene->mem);
    flat->recent = ronde_mem_new(scene->mem, 2 * (size_t)dag->ranks, sizeof *flat->recent);
    flat->routes.of_op = ronde_sim_pages_new(scene->mem, dag->op_count, sizeof *flat->routes.of_op);
    flat->routes.op_count = dag->op_count;
    flat->search = ronde_sim_search_for(scene, &flat->routes);
    return fits && flat->recent && flat->routes.of_op ? ronde_sim_search_begin(&flat->search)
                                                      : ronde_sim_no_memory(scene);
}

static void free_flat(struct flat *flat)
{
    const struct ronde_mem *mem = flat->scene.mem;
    ronde_sim_search_end(&flat->search);
    ronde_mem_free(mem, flat->cargo, flat->cargo_capacity, sizeof *flat->cargo);
    ronde_mem_free(mem, flat->paths, flat->path_capacity, sizeof *flat->paths);
    ronde_mem_free(mem, flat->recent, 2 * (size_t)flat->scene.dag->ranks, sizeof *flat->recent);
    ronde_sim_routes_free(&flat->routes, mem);
    ronde_certificate_close(&flat->certificate);
}

/* Finish times go to the caller's array where there is one: the certificate needs them in any case. */
enum ronde_status ronde_sim_flat(const struct ronde_platform *platform, const struct ronde_dag *dag,
                                 const struct ronde_sim_options *options,
                                 const struct ronde_mem *mem, struct ronde_sim_result *out_result,
                                 struct ronde_error *error)
{
    struct flat flat = {
        .scene = {platform, dag, options ? options : &ronde_sim_defaults, mem, error}};
    memset(out_result, 0, sizeof *out_result);
    enum ronde_status status =
        ronde_sim_check_hosts(platform, dag->ranks, flat.scene.options, error);
    RONDE_THEN(status, ronde_sim_refuse_shared(platform, "flat", error));
    if (status != RONDE_OK)
        return status;
    double *own = flat.scene.options->out_finish_ns
                      ? NULL
                      : ronde_sim_pages_new(mem, dag->op_count, sizeof *flat.finish_ns);
    flat.finish_ns = own ? own : flat.scene.options->out_finish_ns;
    if (!flat.finish_ns)
        return ronde_sim_no_memory(&flat.scene);
    status = prepare(&flat);
    RONDE_THEN(status, walk(&flat, out_result));
    RONDE_THEN(status, certify(&flat, out_result));
    ronde_mem_free(mem, own, dag->op_count, sizeof *own);
    free_flat(&flat);
    return status;
}
