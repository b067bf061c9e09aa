/**
 * What the printers of a plan share: the text, channels and scratch of all ranks.
 */
#ifndef RONDE_FORMATS_MSCCLPP_EXPORT_H
#define RONDE_FORMATS_MSCCLPP_EXPORT_H

#include "plan.h"

#include "engine/text/out.h"
#include "formats/msccl/algo.h"

/** A channel between two threadblocks of different ranks. */
struct plan_link {
    uint32_t from, to, chan;
    uint32_t first_slot; /**< in the receiver's scratch */
};

/** The plan being printed. */
struct plan_exporter {
    struct ronde_text_out out;
    const struct msccl_algo *algo;
    struct ronde_list links; /**< struct plan_link, the same order for all ranks */
    uint32_t *scratch;       /**< per rank: chunks */
    uint32_t ops;            /**< of the threadblock, so far */
    struct ronde_error *error;
};

/** The i-th link. (export_step.c) */
struct plan_link *mscclpp_link_at(const struct plan_exporter *exporter, uint32_t i);

/** Number of the semaphore of a step that waits for another threadblock's; of a step that does not exist, how many there are. */
uint32_t mscclpp_semaphore_of(const struct msccl_algo *algo, const struct msccl_gpu *gpu,
                              uint32_t tb, uint32_t step);

/** Prints the operations of a threadblock, whose links may be RONDE_NONE. (export_step.c) */
void mscclpp_put_ops(struct plan_exporter *exporter, const struct msccl_gpu *gpu,
                     const struct msccl_tb *tb, uint32_t send_link, uint32_t receive_link);

#endif
