/** Stands in for log_json.c where jansson was not found. */
#include "nccl/published/reader.h"

enum ronde_status published_read_json(const struct ronde_published_request *request, FILE *file,
                                      struct ronde_published *out, struct ronde_error *error)
{
    (void)file;
    (void)out;
    return ronde_fail(error, RONDE_UNAVAILABLE,
                      "%s: built without jansson (package libjansson-dev), so no JSON is read",
                      request->path);
}
