/*
 * What would help a job: a fault that explains all of its rows together, as doctor finds one in a log; the other placement of its
 * groups. See ronde/explain.h.
 */
#include "explain_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Calls of a row of a trace from which on its time says something of the machine. */
#define LEAST_CALLS 3u

/* A kernel that shares the GPU with compute is slower by that: such rows say nothing of links. */
static const double most_hidden = .2;

/* Whether a row is evidence of the machine: time without waiting, of enough calls, beside no compute. */
static bool is_evidence(const struct ronde_explain_row *row)
{
    const double beside =
        row->hidden_us > 0 ? row->hidden_us / (row->hidden_us + row->exposed_us) : 0;
    return row->expected_us > 0 && row->time_us > 0 && !row->is_bound &&
           (row->is_log ||
            (row->calls >= LEAST_CALLS && beside < most_hidden && row->seen == row->size));
}

/* Rows as measurements of one machine. */
static void take_rows(const struct ronde_explanation *found,
                      const struct ronde_nccl_machine *machine, struct ronde_published *out)
{
    const struct ronde_explain_row *rows = found->rows.items;
    for (uint32_t r = 0; r < found->rows.count; r++) {
        struct ronde_nccl_call call;
        if (!is_evidence(&rows[r]) || !ronde_explain_call(&rows[r], machine, &call))
            continue;
        out->rows[out->count++] = (struct ronde_published_row){.line = r,
                                                               .state = RONDE_PUBLISHED_PREDICTED,
                                                               .call = call,
                                                               .limits = rows[r].limits,
                                                               .wish = {RONDE_NCCL_ALGORITHM_COUNT,
                                                                        RONDE_NCCL_PROTOCOL_COUNT},
                                                               .measured_us = rows[r].time_us,
                                                               .winner = RONDE_NCCL_ALGORITHM_COUNT};
    }
}

enum ronde_status ronde_explain_diagnose(const struct ronde_explanation *found,
                                         const struct ronde_nccl_machine *machine,
                                         const struct ronde_nccl_constants *constants,
                                         const struct ronde_doctor_spread *spread,
                                         struct ronde_diagnosis *out, bool *out_has,
                                         struct ronde_error *error)
{
    struct ronde_published *published = ronde_mem_new(found->mem, 1, sizeof *published);
    struct ronde_published_row *rows = ronde_mem_new(found->mem, found->rows.count, sizeof *rows);
    enum ronde_status status = RONDE_OK;
    *out_has = false;
    if (published && rows) {
        published->rows = rows;
        published->mem = found->mem;
        published->log = found->log;
        published->system_count = 1;
        published->systems[0].machine = *machine;
        published->systems[0].is_described = true;
        take_rows(found, machine, published);
        const struct ronde_doctor_request request = {.published = published,
                                                     .constants = constants,
                                                     .spread = spread};
        struct ronde_error why = {0};
        if (published->count > 0)
            status = ronde_doctor(&request, out, &why);
        *out_has = published->count > 0 && status == RONDE_OK;
        /* Rows that the model has not are no failure. */
        status = status == RONDE_NO_MEMORY ? status : RONDE_OK;
    } else {
        status = RONDE_NO_MEMORY;
    }
    ronde_mem_free(found->mem, rows, found->rows.count, sizeof *rows);
    ronde_mem_free(found->mem, published, 1, sizeof *published);
    return status == RONDE_OK ? RONDE_OK : ronde_fail(error, status, "explain: no memory");
}

/* --- placement ---------------------------------------------------------------------------------- */

/* The distance of a group's ranks; 0 where it is not one. */
static uint32_t stride_of(const struct ronde_explain_row *row)
{
    if (row->is_log || row->is_own_numbers || row->rank_count < 2 || row->rank_count != row->size ||
        row->expected_us <= 0)
        return 0;
    const uint32_t stride = row->ranks[1] - row->ranks[0];
    for (uint32_t r = 2; r < row->rank_count; r++)
        if (row->ranks[r] - row->ranks[r - 1] != stride)
            return 0;
    return stride;
}

/* Nodes that such ranks are on, each node being filled. */
static uint32_t nodes_at(uint32_t size, uint32_t stride, uint32_t gpus)
{
    uint32_t nodes = 1;
    for (uint32_t r = 1; r < size; r++)
        nodes += (uint64_t)r * stride / gpus != (uint64_t)(r - 1) * stride / gpus;
    return nodes;
}

/* What a call takes by NCCL's own choice, us; NAN where the model has none. */
static double time_us(const struct ronde_nccl_machine *machine,
                      const struct ronde_nccl_constants *constants,
                      const struct ronde_nccl_call *call)
{
    const struct ronde_nccl_choice any = {RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT};
    struct ronde_error ignored = {0};
    struct ronde_nccl_choice choice;
    if (ronde_nccl_call_check(machine, call, &ignored) != RONDE_OK)
        return NAN;
    const double us = ronde_nccl_choose(constants, machine, call, any, &choice);
    return isfinite(us) || choice.algorithm == RONDE_NCCL_POINT
               ? ronde_nccl_execution_us(constants, machine, call, choice)
               : NAN;
}

/*
 * Time of a step, a mean of ranks: as the groups are, and with the strides of both kinds exchanged; false where one is not modelled.
 * What lies between nodes is not looked at: exchanged groups are on other links.
 */
static bool price(const struct ronde_explanation *found, const struct ronde_nccl_machine *machine,
                  const struct ronde_nccl_constants *constants, struct ronde_explain_placement *out)
{
    const struct ronde_explain_row *rows = found->rows.items;
    out->now_us = out->other_us = 0;
    for (uint32_t r = 0; r < found->rows.count; r++) {
        const uint32_t stride = stride_of(&rows[r]);
        const bool is_inner = stride == 1 && rows[r].size == out->inner;
        struct ronde_nccl_call call;
        if (!is_inner && (stride != out->inner || rows[r].size != out->outer))
            continue;
        if (!ronde_explain_call(&rows[r], machine, &call))
            return false;
        const double weight = (double)rows[r].calls * rows[r].seen / found->ranks / found->steps;
        out->now_us += weight * time_us(machine, constants, &call);
        call.nodes = nodes_at(call.ranks, is_inner ? out->outer : 1, machine->gpus);
        out->other_us += weight * time_us(machine, constants, &call);
    }
    return out->now_us > 0 && isfinite(out->other_us);
}

bool ronde_explain_place(const struct ronde_explanation *found,
                         const struct ronde_nccl_machine *machine,
                         const struct ronde_nccl_constants *constants,
                         struct ronde_explain_placement *out)
{
    const struct ronde_explain_row *rows = found->rows.items;
    *out = (struct ronde_explain_placement){0};
    for (uint32_t r = 0; r < found->rows.count && machine->gpus > 0; r++) {
        const uint32_t stride = stride_of(&rows[r]);
        if (stride > 1)
            *out = (struct ronde_explain_placement){.inner = stride, .outer = rows[r].size};
        if (stride > 1 && price(found, machine, constants, out) && out->other_us < out->now_us)
            return true;
    }
    return false;
}
