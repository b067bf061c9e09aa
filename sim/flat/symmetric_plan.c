/* Slots for vectors, taken and given back in the order of the operations. */
#include "symmetric_plan.h"

#include <string.h>

/* The state of the planning. */
struct planner {
    const struct ronde_quotient *quotient;
    const struct ronde_sim_group *group;
    struct ronde_sim_plan *plan;
    uint32_t *last_use; /* per operation: the last that reads its times; then NONE once given back */
    uint32_t *last_bytes; /* per operation: the last that moves its bytes */
    uint32_t *free_slots; /* a stack: what was used last is still in the cache */
    uint32_t free_count;
};

static uint32_t take_slot(struct planner *planner)
{
    return planner->free_count > 0 ? planner->free_slots[--planner->free_count]
                                   : planner->plan->slot_count++;
}

static void give_slot(struct planner *planner, uint32_t slot)
{
    planner->free_slots[planner->free_count++] = slot;
}

/* What is received was sent by the first edge's operation, as far away as its message came. */
static void trace_bytes(struct planner *planner, uint32_t op)
{
    const struct ronde_dag *dag = planner->quotient->dag;
    struct ronde_sim_plan *plan = planner->plan;
    plan->bytes_from[op] = op;
    if (ronde_step_receives(dag->origins[op].op)) {
        const struct ronde_dag_edge *edge = &dag->edges[dag->ops[op].first_edge];
        plan->bytes_from[op] = plan->bytes_from[edge->op];
        plan->bytes_shift[op] =
            ronde_sim_group_add(planner->group, plan->bytes_shift[edge->op],
                                ronde_quotient_offset(planner->quotient, op, edge));
    }
    planner->last_bytes[plan->bytes_from[op]] = op;
}

/* The last reader of every vector. */
static void find_uses(struct planner *planner)
{
    const struct ronde_dag *dag = planner->quotient->dag;
    for (uint32_t i = 0; i < dag->op_count; i++) {
        const struct ronde_dag_op *op = &dag->ops[i];
        planner->last_use[i] = i;
        for (uint32_t e = op->first_edge; e < op->first_edge + op->edge_count; e++)
            planner->last_use[dag->edges[e].op] = i;
        if (planner->plan->bytes_from)
            trace_bytes(planner, i);
    }
}

/* Gives back what an operation was the last to read; never its own slot before it is written. */
static void give_back(struct planner *planner, uint32_t index)
{
    const struct ronde_dag *dag = planner->quotient->dag;
    const struct ronde_dag_op *op = &dag->ops[index];
    struct ronde_sim_plan *plan = planner->plan;
    for (uint32_t e = op->first_edge; e < op->first_edge + op->edge_count; e++) {
        const uint32_t before = dag->edges[e].op;
        if (planner->last_use[before] != index)
            continue;
        planner->last_use[before] = RONDE_NONE;
        give_slot(planner, plan->slot_of[before]);
    }
    plan->is_last[index] = planner->last_use[index] == index;
    if (plan->is_last[index])
        give_slot(planner, plan->slot_of[index]);
    if (plan->bytes_from && planner->last_bytes[plan->bytes_from[index]] == index)
        give_slot(planner, plan->bytes_slot[plan->bytes_from[index]]);
}

static void assign_slots(struct planner *planner)
{
    struct ronde_sim_plan *plan = planner->plan;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        plan->slot_of[i] = take_slot(planner);
        if (plan->bytes_from && plan->bytes_from[i] == i)
            plan->bytes_slot[i] = take_slot(planner);
        give_back(planner, i);
    }
}

/* The arrays that stay; those about bytes only where positions differ in them. */
static bool reserve(struct ronde_sim_plan *plan, bool is_uniform, const struct ronde_mem *mem)
{
    const uint32_t count = plan->op_count;
    plan->slot_of = ronde_mem_new(mem, count, sizeof *plan->slot_of);
    plan->is_last = ronde_mem_new(mem, count, sizeof *plan->is_last);
    if (is_uniform)
        return plan->slot_of && plan->is_last;
    plan->bytes_from = ronde_mem_new(mem, count, sizeof *plan->bytes_from);
    plan->bytes_shift = ronde_mem_new(mem, count, sizeof *plan->bytes_shift);
    plan->bytes_slot = ronde_mem_new(mem, count, sizeof *plan->bytes_slot);
    return plan->slot_of && plan->is_last && plan->bytes_from && plan->bytes_shift &&
           plan->bytes_slot;
}

bool ronde_sim_plan_make(const struct ronde_quotient *quotient, const struct ronde_sim_group *group,
                         const struct ronde_mem *mem, struct ronde_sim_plan *out_plan)
{
    struct planner planner = {.quotient = quotient, .group = group, .plan = out_plan};
    memset(out_plan, 0, sizeof *out_plan);
    out_plan->op_count = quotient->dag->op_count;
    const size_t count = out_plan->op_count;
    planner.last_use = ronde_mem_new(mem, count, sizeof *planner.last_use);
    planner.last_bytes = ronde_mem_new(mem, count, sizeof *planner.last_bytes);
    planner.free_slots = ronde_mem_new(mem, 2 * count, sizeof *planner.free_slots);
    const bool fits = reserve(out_plan, quotient->is_uniform, mem) && planner.last_use &&
                      planner.last_bytes && planner.free_slots;
    if (fits) {
        find_uses(&planner);
        assign_slots(&planner);
    }
    ronde_mem_free(mem, planner.free_slots, 2 * count, sizeof *planner.free_slots);
    ronde_mem_free(mem, planner.last_bytes, count, sizeof *planner.last_bytes);
    ronde_mem_free(mem, planner.last_use, count, sizeof *planner.last_use);
    return fits;
}

void ronde_sim_plan_free(struct ronde_sim_plan *plan, const struct ronde_mem *mem)
{
    const uint32_t count = plan->op_count;
    ronde_mem_free(mem, plan->bytes_slot, count, sizeof *plan->bytes_slot);
    ronde_mem_free(mem, plan->bytes_shift, count, sizeof *plan->bytes_shift);
    ronde_mem_free(mem, plan->bytes_from, count, sizeof *plan->bytes_from);
    ronde_mem_free(mem, plan->is_last, count, sizeof *plan->is_last);
    ronde_mem_free(mem, plan->slot_of, count, sizeof *plan->slot_of);
}
