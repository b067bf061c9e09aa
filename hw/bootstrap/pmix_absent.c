/* PMIx in a build without it. See pmix.h. */
#include "hw/bootstrap/pmix.h"

#include "ronde/comm.h"

#define MISSING "built without PMIx (-DRONDE_PMIX=ON, package libpmix-dev)"

bool ronde_pmix_available(const char **out_reason)
{
    *out_reason = MISSING;
    return false;
}

enum ronde_status ronde_pmix_ranks(uint32_t *out_ranks, struct ronde_error *error)
{
    *out_ranks = 0;
    return ronde_fail(error, RONDE_UNAVAILABLE, "pmix: " MISSING);
}

void ronde_pmix_leave(void)
{
}

enum ronde_status ronde_pmix_share(const struct ronde_pmix *pmix, void *data, size_t bytes,
                                   struct ronde_error *error)
{
    (void)pmix;
    (void)data;
    (void)bytes;
    return ronde_fail(error, RONDE_UNAVAILABLE, "pmix: " MISSING);
}
