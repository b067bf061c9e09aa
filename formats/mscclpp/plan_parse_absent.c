/* What stands in for the reader of MSCCL++ plans where jansson was not built in. */
#include "plan.h"

static const char reason[] = "built without jansson (install libjansson-dev)";

bool mscclpp_parse(const char *text, size_t bytes, struct mscclpp_plan *plan)
{
    (void)text;
    (void)bytes;
    (void)ronde_fail(plan->error, RONDE_UNAVAILABLE, "%s: MSCCL++ plans cannot be read: %s",
                     plan->path, reason);
    return false;
}

bool ronde_mscclpp_available(const char **out_reason)
{
    *out_reason = reason;
    return false;
}
