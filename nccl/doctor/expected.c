/* What a call is expected to take, and how far off healthy systems are. See doctor_parts.h. */
#include "doctor_parts.h"

#include <math.h>

uint32_t doctor_size_class(const struct ronde_doctor_spread *spread, uint64_t bytes)
{
    uint32_t c = 0;
    while (c + 1 < RONDE_DOCTOR_SIZES && bytes > spread->most_bytes[c])
        c++;
    return c;
}

bool doctor_takes(const struct ronde_doctor_request *request, const struct ronde_published_row *row)
{
    struct ronde_error ignored = {0};
    const struct ronde_published_system *system = &request->published->systems[row->system];
    return row->system == request->system &&
           request->is_faulty == (row->state == RONDE_PUBLISHED_FAULTY) &&
           (row->state == RONDE_PUBLISHED_FAULTY || row->state <= RONDE_PUBLISHED_FITTED) &&
           row->call.bytes >= RONDE_PUBLISHED_LEAST_BYTES &&
           ronde_nccl_call_check(&system->machine, &row->call, &ignored) == RONDE_OK;
}

double doctor_off(const struct ronde_doctor_request *request, const struct ronde_nccl_call *call)
{
    return request->spread->off[call->nodes > 1][doctor_size_class(request->spread, call->bytes)];
}

double ronde_doctor_tolerance(const struct ronde_doctor_spread *spread,
                              const struct ronde_nccl_call *call)
{
    return exp(DOCTOR_SPREADS * spread->off[call->nodes > 1][doctor_size_class(spread, call->bytes)]);
}

double doctor_predict_us(const struct ronde_doctor_request *request,
                         const struct ronde_published_row *row,
                         const struct ronde_doctor_variant *variant, uint32_t strength)
{
    struct ronde_nccl_machine machine = ronde_published_machine_of(request->published, row);
    struct ronde_nccl_constants constants = *request->constants;
    struct ronde_nccl_choice choice;
    double add_us = 0;
    bool no_nvls = false;
    if (variant &&
        !ronde_doctor_apply(variant, strength, &row->call, &machine, &constants, &add_us, &no_nvls))
        return 0;
    double us = ronde_nccl_choose(&constants, &machine, &row->call, row->wish, &choice);
    const bool is_point = choice.algorithm == RONDE_NCCL_POINT;
    if (is_point && no_nvls)
        return 0;
    if (isfinite(us) && no_nvls &&
        (choice.algorithm == RONDE_NCCL_NVLS || choice.algorithm == RONDE_NCCL_NVLS_TREE)) {
        const struct ronde_nccl_choice ring = {RONDE_NCCL_RING, row->wish.protocol};
        us = ronde_nccl_choose(&constants, &machine, &row->call, ring, &choice);
    }
    return isfinite(us) || is_point
               ? add_us + ronde_nccl_execution_us(&constants, &machine, &row->call, choice)
               : 0;
}

double ronde_doctor_expected_us(const struct ronde_doctor_request *request,
                                const struct ronde_published_row *row)
{
    return doctor_takes(request, row) ? doctor_predict_us(request, row, NULL, 0) : 0;
}
