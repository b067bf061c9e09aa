/* Stands in for chakra_write.c where protobuf-c was not found. */
#include "ronde/workload.h"

enum ronde_status ronde_chakra_write(const struct ronde_workload *workload, const char *prefix,
                                     const struct ronde_mem *mem, struct ronde_error *error)
{
    const char *missing = "";
    (void)workload;
    (void)mem;
    (void)ronde_chakra_available(&missing);
    return ronde_fail(error, RONDE_UNAVAILABLE, "%s: %s", prefix, missing);
}
