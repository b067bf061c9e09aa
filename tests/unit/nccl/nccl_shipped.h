/** What tests of NCCL's model start from: its constants as the sources have them, and a machine. */
#ifndef RONDE_TESTS_NCCL_SHIPPED_H
#define RONDE_TESTS_NCCL_SHIPPED_H

#include "ronde/nccl_model.h"

/** Those of nccl/model/constants; the test ends where they cannot be read. */
struct ronde_nccl_constants nccl_shipped(void);

/** A node of eight H100 and eight NICs of 50 GB/s, named h100. */
extern const struct ronde_nccl_machine nccl_h100;

/** What a call takes on a machine of such constants as NCCL runs it; `out_choice` is what it takes. */
double nccl_chosen_us(const struct ronde_nccl_constants *constants,
                      const struct ronde_nccl_machine *machine, const struct ronde_nccl_call *call,
                      struct ronde_nccl_choice *out_choice);

#endif
