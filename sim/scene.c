/*
 * Several graphs as one: ranks, operations and edges of a part follow those of the parts before it.
 *
 * Parts share nothing but hosts and links, so their graphs are copied with all numbers raised, and every engine
 * replays the result as it replays any graph. Totals are added up in 64 bits before anything is reserved, so that
 * what does not fit is refused rather than wrapped. Costs that a graph has once (alpha, lane rate, launch) are the
 * first part's; a part's own launch is kept in its place and added to its end.
 */
#include "ronde/scene.h"

#include <math.h>
#include <string.h>

/* Totals before anything is reserved, wide enough to notice what does not fit. */
struct totals {
    uint64_t ranks;
    uint64_t ops;
    uint64_t edges;
    uint64_t groups;
    uint64_t members;
    bool is_named;   /* some part has origins */
    bool has_groups; /* some part has them */
};

static struct totals add_up(const struct ronde_scene_part *parts, uint32_t part_count)
{
    struct totals totals = {0};
    for (uint32_t i = 0; i < part_count; i++) {
        totals.ranks += parts[i].dag->ranks;
        totals.ops += parts[i].dag->op_count;
        totals.edges += parts[i].dag->edge_count;
        totals.groups += parts[i].dag->group_count;
        totals.members += parts[i].dag->member_count;
        totals.is_named |= parts[i].dag->origins != NULL;
        totals.has_groups |= parts[i].dag->group_of != NULL;
    }
    return totals;
}

static enum ronde_status reserve(struct ronde_scene *scene, const struct totals *totals,
                                 struct ronde_error *error)
{
    struct ronde_dag *dag = &scene->dag;
    if (totals->ranks >= RONDE_NONE || totals->ops >= RONDE_NONE || totals->edges >= RONDE_NONE)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "%llu operations and %llu edges at once: a graph has at most 2^32 - 2",
                          (unsigned long long)totals->ops, (unsigned long long)totals->edges);
    dag->ranks = (uint32_t)totals->ranks;
    dag->op_count = (uint32_t)totals->ops;
    dag->edge_count = (uint32_t)totals->edges;
    dag->ops = ronde_store_new(&scene->store, dag->op_count, sizeof *dag->ops);
    dag->edges = ronde_store_new(&scene->store, dag->edge_count, sizeof *dag->edges);
    if (totals->is_named)
        dag->origins = ronde_store_new(&scene->store, dag->op_count, sizeof *dag->origins);
    scene->host_of = ronde_store_new(&scene->store, dag->ranks, sizeof *scene->host_of);
    scene->release_ns = ronde_store_new(&scene->store, dag->ranks, sizeof *scene->release_ns);
    scene->places = ronde_store_new(&scene->store, scene->part_count, sizeof *scene->places);
    /* Groups of no part take no memory. */
    if (totals->has_groups) {
        dag->group_count = (uint32_t)totals->groups;
        dag->member_count = (uint32_t)totals->members;
        dag->group_of = ronde_store_new(&scene->store, dag->op_count, sizeof *dag->group_of);
        dag->groups = ronde_store_new(&scene->store, dag->group_count, sizeof *dag->groups);
        dag->members = ronde_store_new(&scene->store, dag->member_count, sizeof *dag->members);
    }
    if (!scene->store.is_short)
        return RONDE_OK;
    return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u operations, %u edges at once",
                      dag->op_count, dag->edge_count);
}

/* Where the next part goes. */
struct cursor {
    uint32_t rank;
    uint32_t op;
    uint32_t edge;
    uint32_t group;
    uint32_t member;
};

/* Of a part without groups each operation moves its own bytes. */
static void copy_groups(struct ronde_dag *to, const struct ronde_dag *from, struct cursor at)
{
    for (uint32_t i = 0; i < from->op_count && to->group_of; i++) {
        const uint32_t group = from->group_of ? from->group_of[i] : RONDE_NONE;
        to->group_of[at.op + i] = group == RONDE_NONE ? group : at.group + group;
    }
    for (uint32_t i = 0; i < from->group_count; i++) {
        struct ronde_dag_group group = from->groups[i];
        group.rank += at.rank;
        group.first_member += at.member;
        to->groups[at.group + i] = group;
    }
    for (uint32_t i = 0; i < from->member_count; i++)
        to->members[at.member + i] = at.rank + from->members[i];
}

static void copy_ops(struct ronde_dag *to, const struct ronde_dag *from, struct cursor at)
{
    for (uint32_t i = 0; i < from->op_count; i++) {
        struct ronde_dag_op op = from->ops[i];
        op.src += at.rank;
        op.dst += at.rank;
        op.first_edge += at.edge;
        to->ops[at.op + i] = op;
        if (from->origins)
            to->origins[at.op + i] = from->origins[i];
    }
    for (uint32_t i = 0; i < from->edge_count; i++) {
        to->edges[at.edge + i] = from->edges[i];
        to->edges[at.edge + i].op += at.op;
    }
}

static void place(struct ronde_scene *scene, const struct ronde_scene_part *part,
                  struct ronde_scene_place *out_place, struct cursor *at)
{
    const struct ronde_dag *dag = part->dag;
    *out_place = (struct ronde_scene_place){.first_rank = at->rank,
                                            .ranks = dag->ranks,
                                            .first_op = at->op,
                                            .op_count = dag->op_count,
                                            .launch_ns = dag->launch_ns};
    copy_ops(&scene->dag, dag, *at);
    copy_groups(&scene->dag, dag, *at);
    for (uint32_t rank = 0; rank < dag->ranks; rank++)
        scene->host_of[at->rank + rank] = part->hosts ? part->hosts[rank] : rank;
    at->rank += dag->ranks;
    at->op += dag->op_count;
    at->edge += dag->edge_count;
    at->group += dag->group_count;
    at->member += dag->member_count;
}

/* Late ranks are handled by the engines; slow ones are longer operations of the graph. */
static enum ronde_status hold_up(struct ronde_scene *scene, const struct ronde_straggler *straggler,
                                 struct ronde_error *error)
{
    if (straggler->rank >= scene->dag.ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "straggler: rank %u, but there are %u ranks",
                          straggler->rank, scene->dag.ranks);
    /* Written so that NaN fails too. */
    if (!(straggler->delay_ns >= 0 && isfinite(straggler->delay_ns)) ||
        !(straggler->slow_down > 0 && isfinite(straggler->slow_down)))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "straggler: rank %u late by %g ns and slower by %g", straggler->rank,
                          straggler->delay_ns, straggler->slow_down);
    scene->release_ns[straggler->rank] =
        fmax(scene->release_ns[straggler->rank], straggler->delay_ns);
    for (uint32_t i = 0; i < scene->dag.op_count; i++) {
        struct ronde_dag_op *op = &scene->dag.ops[i];
        if (op->src != straggler->rank)
            continue;
        op->delay_ns *= straggler->slow_down;
        op->stage_ns *= straggler->slow_down;
    }
    return RONDE_OK;
}

enum ronde_status ronde_scene_create(const struct ronde_scene_part *parts, uint32_t part_count,
                                     const struct ronde_straggler *stragglers,
                                     uint32_t straggler_count, const struct ronde_mem *mem,
                                     struct ronde_scene **out_scene, struct ronde_error *error)
{
    const struct totals totals = add_up(parts, part_count);
    struct ronde_scene *scene = ronde_mem_new(mem, 1, sizeof *scene);
    struct cursor at = {0};
    *out_scene = NULL;
    if (!scene)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u graphs at once", part_count);
    scene->store.mem = mem;
    scene->part_count = part_count;
    if (part_count > 0) {
        scene->dag.alpha_ns = parts[0].dag->alpha_ns;
        scene->dag.lane_GBps = parts[0].dag->lane_GBps;
        scene->dag.launch_ns = parts[0].dag->launch_ns;
    }
    enum ronde_status status = reserve(scene, &totals, error);
    for (uint32_t i = 0; i < part_count && status == RONDE_OK; i++)
        place(scene, &parts[i], &scene->places[i], &at);
    for (uint32_t i = 0; i < straggler_count && status == RONDE_OK; i++)
        status = hold_up(scene, &stragglers[i], error);
    if (status == RONDE_OK)
        *out_scene = scene;
    else
        ronde_scene_destroy(scene);
    return status;
}

void ronde_scene_destroy(struct ronde_scene *scene)
{
    if (!scene)
        return;
    const struct ronde_mem *mem = scene->store.mem;
    ronde_store_clear(&scene->store);
    ronde_mem_free(mem, scene, 1, sizeof *scene);
}

double ronde_scene_end_ns(const struct ronde_scene *scene, const double *finish_ns, uint32_t part)
{
    const struct ronde_scene_place *place = &scene->places[part];
    double end_ns = 0;
    for (uint32_t i = 0; i < place->op_count; i++)
        end_ns = fmax(end_ns, finish_ns[place->first_op + i]);
    return end_ns + place->launch_ns;
}

enum ronde_status ronde_scene_flow(uint64_t bytes, uint32_t repeats, const struct ronde_mem *mem,
                                   struct ronde_dag **out_dag, struct ronde_error *error)
{
    struct ronde_dag *dag = ronde_mem_new(mem, 1, sizeof *dag);
    *out_dag = NULL;
    if (dag) {
        dag->ranks = 2;
        dag->op_count = repeats;
        dag->edge_count = repeats > 0 ? repeats - 1 : 0;
        dag->ops = ronde_mem_new(mem, dag->op_count, sizeof *dag->ops);
        dag->edges = ronde_mem_new(mem, dag->edge_count, sizeof *dag->edges);
    }
    if (!dag || !dag->ops || !dag->edges) {
        ronde_dag_destroy(dag, mem);
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a flow of %u messages", repeats);
    }
    for (uint32_t i = 0; i < repeats; i++) {
        const uint32_t first_edge = i > 0 ? i - 1 : 0;
        dag->ops[i] = (struct ronde_dag_op){.dst = 1,
                                            .bytes = bytes,
                                            .first_edge = first_edge,
                                            .edge_count = i > 0 ? 1 : 0};
        if (i > 0)
            dag->edges[i - 1] = (struct ronde_dag_edge){.op = i - 1};
    }
    *out_dag = dag;
    return RONDE_OK;
}
