/** The step graph on the quotient of a symmetric schedule: see ronde/quotient.h. */
#include "ronde/quotient.h"

#include "engine/ir/arena.h"
#include "engine/price/dag_bytes.h"
#include "engine/price/dag_index.h"

/** Everything but the object itself, which the caller frees on failure. */
static enum ronde_status fill(const struct ronde_quotient_request *request,
                              struct ronde_quotient *quotient, const struct ronde_mem *mem,
                              struct ronde_error *error)
{
    const enum ronde_status status = ronde_dag_create_quotient(request, mem, &quotient->dag, error);
    if (status != RONDE_OK)
        return status;
    quotient->arena = ronde_arena_create(mem);
    struct ronde_dag_sizes *sizes =
        quotient->arena ? ronde_arena_new(quotient->arena, 1, sizeof *sizes) : NULL;
    if (!sizes || !ronde_dag_sizes_make(request->schedule, request->load, quotient->arena, sizes))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the chunks of %u ranks",
                          request->schedule->ranks);
    quotient->sizes = sizes;
    quotient->is_uniform = ronde_dag_sizes_are_symmetric(sizes, request->channel);
    return RONDE_OK;
}

enum ronde_status
ronde_quotient_create(const struct ronde_quotient_request *request, const struct ronde_mem *mem,
                      struct ronde_quotient **out_quotient, struct ronde_error *error)
{
    const struct ronde_schedule *schedule = request->schedule;
    *out_quotient = NULL;
    if (schedule->symmetry == RONDE_SYMMETRY_NONE)
        return ronde_fail(error, RONDE_UNSUPPORTED, "%s on %u ranks has a program per position",
                          schedule->algorithm, schedule->ranks);
    struct ronde_quotient *quotient = ronde_mem_new(mem, 1, sizeof *quotient);
    if (!quotient)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a quotient");
    quotient->schedule = schedule;
    quotient->channel = request->channel;
    quotient->params = *request->params;
    const enum ronde_status status = fill(request, quotient, mem, error);
    if (status != RONDE_OK)
        ronde_quotient_destroy(quotient, mem);
    else
        *out_quotient = quotient;
    return status;
}

void ronde_quotient_destroy(struct ronde_quotient *quotient, const struct ronde_mem *mem)
{
    if (!quotient)
        return;
    ronde_arena_destroy(quotient->arena);
    ronde_dag_destroy(quotient->dag, mem);
    ronde_mem_free(mem, quotient, 1, sizeof *quotient);
}

uint32_t ronde_quotient_offset(const struct ronde_quotient *quotient, uint32_t op,
                               const struct ronde_dag_edge *edge)
{
    if (edge->is_message)
        return ronde_group_negate(quotient->schedule, quotient->dag->ops[edge->op].dst);
    return edge->is_credit ? quotient->dag->ops[op].dst : 0;
}

uint64_t ronde_quotient_bytes(const struct ronde_quotient *quotient, uint32_t op, uint32_t position)
{
    const struct ronde_dag_origin *origin = &quotient->dag->origins[op];
    const struct ronde_schedule *schedule = quotient->schedule;
    const uint32_t rank = ronde_channel_rank(&schedule->channels[quotient->channel], position);
    const struct ronde_view view = ronde_view_open(schedule, quotient->channel, rank);
    return ronde_dag_operand_bytes(quotient->sizes, &view, quotient->channel,
                                   view.program->lane_first[origin->lane] + origin->step,
                                   origin->piece);
}
