/* What stands in for the reader where libxml2 was not built in. */
#include "ronde/topologies.h"

static const char reason[] = "built without libxml2 (install libxml2-dev)";

enum ronde_status ronde_platform_read(const char *path, const struct ronde_mem *mem,
                                      struct ronde_platform **out_platform,
                                      struct ronde_error *error)
{
    (void)mem;
    *out_platform = NULL;
    return ronde_fail(error, RONDE_UNAVAILABLE, "%s: platform files cannot be read: %s", path,
                      reason);
}

enum ronde_status
ronde_platform_parse(const char *path, const char *text, size_t bytes, const struct ronde_mem *mem,
                     struct ronde_platform **out_platform, struct ronde_error *error)
{
    (void)text, (void)bytes;
    return ronde_platform_read(path, mem, out_platform, error);
}

enum ronde_status ronde_platform_copy(const struct ronde_platform *platform,
                                      const struct ronde_mem *mem, struct ronde_platform **out_copy,
                                      struct ronde_error *error)
{
    return ronde_platform_read(ronde_platform_path(platform), mem, out_copy, error);
}

bool ronde_topologies_available(const char **out_reason)
{
    *out_reason = reason;
    return false;
}
