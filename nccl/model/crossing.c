/** Where LL stops being faster than Simple for one message. See nccl_model.h. */
#include "setting.h"

#include <math.h>

/** A size at which every channel is in use, so that rates are those of all of them. */
static const uint64_t large_bytes = (uint64_t)1 << 30;

static struct ronde_nccl_setting
setting_by(const struct ronde_nccl_constants *constants, const struct ronde_nccl_machine *machine,
           const struct ronde_nccl_call *call, enum ronde_nccl_protocol protocol)
{
    const struct ronde_nccl_choice choice = {RONDE_NCCL_RING, protocol};
    return ronde_nccl_setting_of(constants, machine, call, choice);
}

double ronde_nccl_lines_up_to_bytes(const struct ronde_nccl_constants *constants,
                                    const struct ronde_nccl_machine *machine, uint32_t gpus)
{
    const struct ronde_nccl_call call = {RONDE_ALL_GATHER, gpus, 1, 0, large_bytes};
    const struct ronde_nccl_setting lines = setting_by(constants, machine, &call, RONDE_NCCL_LL),
                                    plain = setting_by(constants, machine, &call, RONDE_NCCL_SIMPLE);
    const double dearer = lines.channels / lines.inside_GBps - plain.channels / plain.inside_GBps;
    const double sooner_us = plain.hop_us - lines.hop_us;
    if (sooner_us <= 0)
        return 0;
    return dearer > 0 ? sooner_us * 1e3 / dearer : INFINITY;
}
