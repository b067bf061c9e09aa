/* What stands in for hwloc where it was not built in. */
#include "hwloc_live.h"

#include "ronde/import.h"

static const char reason[] = "built without hwloc and libxml2 (install libhwloc-dev, libxml2-dev)";

enum ronde_status ronde_hwloc_describe_machine(const struct ronde_mem *mem, char **out_text,
                                               size_t *out_bytes, struct ronde_error *error)
{
    (void)mem;
    *out_text = NULL;
    *out_bytes = 0;
    return ronde_fail(error, RONDE_UNAVAILABLE, "this machine cannot be asked: %s", reason);
}

bool ronde_import_can_ask_machine(const char **out_reason)
{
    *out_reason = reason;
    return false;
}
