/**
 * Groups of the step graph: stores of one rank, or loads of one, that a switch makes of one message (multicast, and
 * reductions in the switch). They are numbered actor after actor, run after run; pieces share them.
 *
 * The bytes of a group move once: with the first send of a run of stores, with the last receive of a run of loads.
 * Other operations of the group, and those at the far ends, take no time of their own. Where what a rank stores is
 * loaded by another one's run, the loads move it, and the run of stores is no group.
 */
#include "dag_index.h"

#include "ronde/dag.h"

/** The step at the other end of a step's message. */
struct other {
    const struct ronde_dag_actor *actor;
    uint32_t step;
};

static struct other other_end(const struct ronde_dag_index *index,
                              const struct ronde_dag_actor *actor, uint32_t step, bool is_send)
{
    const struct ronde_step *own = &actor->program->steps[step];
    const struct ronde_dag_step *facts = &actor->steps[step];
    const struct ronde_dag_link link = actor->links[is_send ? own->send : own->receive];
    const struct ronde_dag_actor *peer = &index->actors[link.actor];
    const uint32_t place = is_send ? facts->send_place : facts->receive_place;
    return (struct other){peer, peer->queues[link.connection].steps[place]};
}

/** The run of a step, or NULL. */
static const struct ronde_dag_run *run_of(const struct ronde_dag_actor *actor, uint32_t step)
{
    const uint32_t run = actor->steps[step].run;
    return run == RONDE_NONE ? NULL : &actor->runs[run];
}

static bool is_loaded(const struct ronde_dag_index *index, const struct ronde_dag_actor *actor,
                      uint32_t send)
{
    const struct other other = other_end(index, actor, send, true);
    const struct ronde_dag_run *run = run_of(other.actor, other.step);
    return run && run->is_load;
}

/** Whether what a rank stores is loaded by some other: then the loads move it, and the run is none. */
static bool has_part(const struct ronde_dag_index *index, const struct ronde_dag_actor *actor,
                     const struct ronde_dag_run *run)
{
    bool has_part = true;
    for (uint32_t i = 0; i < run->step_count && !run->is_load; i++)
        has_part &= !is_loaded(index, actor, run->first_step + i);
    return has_part;
}

static void fill(const struct ronde_dag_index *index, const struct ronde_dag_actor *actor,
                 struct ronde_dag *dag, uint32_t *members)
{
    for (uint32_t r = 0; r < actor->run_count; r++) {
        const struct ronde_dag_run *run = &actor->runs[r];
        dag->groups[actor->first_group + r] = (struct ronde_dag_group){
            .rank = actor->view.rank,
            .first_member = *members,
            .member_count = has_part(index, actor, run) ? run->step_count : 0,
            .is_load = run->is_load,
        };
        for (uint32_t i = 0; i < run->step_count; i++)
            dag->members[(*members)++] =
                other_end(index, actor, run->first_step + i, !run->is_load).actor->view.rank;
    }
}

bool ronde_dag_groups_make(const struct ronde_dag_index *index, const struct ronde_mem *mem,
                           struct ronde_dag *dag)
{
    uint32_t members = 0;
    dag->group_count = index->group_count;
    dag->member_count = index->member_count;
    dag->groups = ronde_mem_new(mem, index->group_count, sizeof *dag->groups);
    dag->members = ronde_mem_new(mem, index->member_count, sizeof *dag->members);
    dag->group_of = ronde_mem_new(mem, index->op_count, sizeof *dag->group_of);
    if (!dag->groups || !dag->members || !dag->group_of)
        return false;
    for (uint32_t a = 0; a < index->actor_count; a++)
        fill(index, &index->actors[a], dag, &members);
    return true;
}

/** What a step is to the group that moves its bytes. */
enum part {
    PART_NONE,  /**< they are its own */
    PART_MOVES, /**< it moves those of the group */
    PART_RESTS  /**< another operation moves them */
};

static enum part part_of_send(const struct ronde_dag_index *index,
                              const struct ronde_dag_actor *actor, uint32_t step,
                              const struct ronde_dag *dag)
{
    const struct ronde_dag_run *run = run_of(actor, step);
    if (is_loaded(index, actor, step))
        return PART_RESTS;
    if (!run || dag->groups[actor->first_group + actor->steps[step].run].member_count == 0)
        return PART_NONE;
    return step == run->first_step ? PART_MOVES : PART_RESTS;
}

static enum part part_of_receive(const struct ronde_dag_index *index,
                                 const struct ronde_dag_actor *actor, uint32_t step,
                                 const struct ronde_dag *dag)
{
    const struct ronde_dag_run *run = run_of(actor, step);
    if (run)
        return step == run->first_step + run->step_count - 1 ? PART_MOVES : PART_RESTS;
    const struct other other = other_end(index, actor, step, false);
    const uint32_t stored = other.actor->steps[other.step].run;
    return actor->program->steps[step].op == RONDE_STEP_RECV && stored != RONDE_NONE &&
                   dag->groups[other.actor->first_group + stored].member_count > 0
               ? PART_RESTS
               : PART_NONE;
}

void ronde_dag_place_group(const struct ronde_dag_index *index, const struct ronde_dag_actor *actor,
                           uint32_t step, uint64_t bytes, struct ronde_dag *dag)
{
    const struct ronde_step *own = &actor->program->steps[step];
    struct ronde_dag_op *op = &dag->ops[dag->op_count];
    enum part part = PART_NONE;
    if (own->op == RONDE_STEP_SEND)
        part = part_of_send(index, actor, step, dag);
    else if (own->receive != RONDE_NONE && own->send == RONDE_NONE)
        part = part_of_receive(index, actor, step, dag);
    dag->group_of[dag->op_count] =
        part == PART_MOVES ? actor->first_group + actor->steps[step].run : RONDE_NONE;
    if (part == PART_MOVES)
        op->bytes = bytes;
    if (part == PART_RESTS) {
        op->bytes = 0;
        op->delay_ns = 0;
        op->stage_ns = 0;
    }
}

/* The longest path through a step graph: the max-plus recurrence, one pass in graph order. */

/** Time an operation's bytes flow alone on their route. */
static double flow_ns(const struct ronde_dag *dag, const struct ronde_dag_op *op, double route_GBps)
{
    const double lane_GBps = dag->lane_GBps;
    const bool is_lane_slower = lane_GBps > 0 && !(route_GBps > 0 && route_GBps < lane_GBps);
    const double rate_GBps = is_lane_slower ? lane_GBps : route_GBps;
    return rate_GBps > 0 ? (double)op->bytes / rate_GBps : 0;
}

/** The path of an operation's message. */
static struct ronde_path path_at(const struct ronde_dag_timing *timing, uint32_t op)
{
    return timing->paths[timing->path_of ? timing->path_of[op] : 0];
}

/** When the last predecessor lets an operation start. */
static double ready_ns(const struct ronde_dag *dag, const struct ronde_dag_timing *timing,
                       const struct ronde_dag_op *op)
{
    double latest_ns = timing->release_ns ? timing->release_ns[op->src] : 0;
    const struct ronde_dag_edge *edges = dag->edges + op->first_edge;
    for (uint32_t e = 0; e < op->edge_count; e++) {
        double edge_ns = timing->out_finish_ns[edges[e].op];
        if (edges[e].is_message)
            edge_ns += path_at(timing, edges[e].op).latency_ns;
        latest_ns = edge_ns > latest_ns ? edge_ns : latest_ns;
    }
    return latest_ns;
}

double ronde_dag_advance(const struct ronde_dag *dag, const struct ronde_dag_timing *timing,
                         uint32_t first, uint32_t end)
{
    double end_ns = 0;
    for (uint32_t i = first; i < end; i++) {
        const struct ronde_dag_op *op = &dag->ops[i];
        const double start_ns = ready_ns(dag, timing, op);
        double finish_ns = start_ns + op->delay_ns;
        if (op->bytes > 0)
            finish_ns += flow_ns(dag, op, path_at(timing, i).rate_GBps);
        if (timing->out_start_ns)
            timing->out_start_ns[i] = start_ns;
        timing->out_finish_ns[i] = finish_ns;
        end_ns = finish_ns > end_ns ? finish_ns : end_ns;
    }
    return end_ns;
}

double ronde_dag_longest_path(const struct ronde_dag *dag, const struct ronde_dag_timing *timing)
{
    return ronde_dag_end_ns(dag, ronde_dag_advance(dag, timing, 0, dag->op_count));
}
