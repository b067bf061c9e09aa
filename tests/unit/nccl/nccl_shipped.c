/* See nccl_shipped.h. */
#include "nccl_shipped.h"

#include "support/suite.h"

struct ronde_nccl_constants nccl_shipped(void)
{
    struct ronde_nccl_constants constants;
    struct ronde_error error = {0};
    char folder[4096];
    CU_ASSERT_FATAL(suite_source(folder, sizeof folder, "nccl/model/constants"));
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_constants_read(folder, &constants, &error), RONDE_OK);
    return constants;
}
