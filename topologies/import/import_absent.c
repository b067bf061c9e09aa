/* What stands in for the importers where libxml2 was not built in. */
#include "ronde/import.h"

static const char reason[] = "built without libxml2 (install libxml2-dev)";

enum ronde_status ronde_import_read(const struct ronde_import_request *request,
                                    const struct ronde_mem *mem, struct ronde_import **out_import,
                                    struct ronde_error *error)
{
    (void)mem;
    *out_import = NULL;
    return ronde_fail(error, RONDE_UNAVAILABLE, "%s cannot be imported: %s",
                      request->path ? request->path : "this machine", reason);
}
