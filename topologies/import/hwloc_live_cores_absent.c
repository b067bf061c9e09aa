/* What stands in for hwloc_live_cores.c in a build without hwloc. */
#include "ronde/processors.h"

#include <stddef.h>

enum ronde_status ronde_processors_list(const char *synthetic, const struct ronde_mem *mem,
                                        struct ronde_processor **out_list, uint32_t *out_count,
                                        struct ronde_error *error)
{
    (void)synthetic;
    (void)mem;
    *out_list = NULL;
    *out_count = 0;
    return ronde_fail(error, RONDE_UNAVAILABLE,
                      "built without hwloc and libxml2 (install libhwloc-dev, libxml2-dev)");
}
