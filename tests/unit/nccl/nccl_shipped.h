/** The constants of NCCL's model as the sources have them. */
#ifndef RONDE_TESTS_NCCL_SHIPPED_H
#define RONDE_TESTS_NCCL_SHIPPED_H

#include "ronde/nccl_model.h"

/** Those of nccl/model/constants; the test ends where they cannot be read. */
struct ronde_nccl_constants nccl_shipped(void);

#endif
