/* What stands in for the reader of MSCCL files where libxml2 was not built in. */
#include "algo.h"

static const char reason[] = "built without libxml2 (install libxml2-dev)";

enum ronde_status msccl_parse(const char *text, size_t bytes, struct msccl_algo *algo,
                              struct ronde_error *error)
{
    (void)text;
    (void)bytes;
    return ronde_fail(error, RONDE_UNAVAILABLE, "%s: MSCCL files cannot be read: %s", algo->path,
                      reason);
}

bool ronde_msccl_available(const char **out_reason)
{
    *out_reason = reason;
    return false;
}
