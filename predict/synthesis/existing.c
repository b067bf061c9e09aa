/* The best algorithm that there is. See existing.h. */
#include "existing.h"

#include "timing.h"

#include "ronde/select.h"

enum ronde_status ronde_existing_find(const struct ronde_platform *platform,
                                      const struct ronde_synthesis_request *request,
                                      const struct ronde_mem *mem,
                                      struct ronde_existing *out_existing, struct ronde_error *error)
{
    struct ronde_select_query query = {.request = {.collective = request->collective,
                                                   .ranks = request->ranks,
                                                   .root = request->root},
                                       .dtype = RONDE_FLOAT32,
                                       .cores = UINT32_MAX,
                                       .platform = platform};
    struct ronde_selection selection;
    *out_existing = (struct ronde_existing){.schedule = NULL};
    query.count =
        ronde_collective_count(request->collective, request->ranks, request->bytes, query.dtype);
    query.count = query.count > 0 ? query.count : 1;
    enum ronde_status status = ronde_select(&query, mem, &selection, error);
    if (status == RONDE_UNSUPPORTED)
        return RONDE_OK;
    if (status != RONDE_OK)
        return status;
    query.request.algorithm = out_existing->algorithm = selection.algorithm;
    status = ronde_compile(&query.request, mem, NULL, &out_existing->schedule, error);
    if (status == RONDE_OK)
        status = ronde_synthesis_time(platform, out_existing->schedule, request->bytes,
                                      &out_existing->time_ns, error);
    if (status != RONDE_OK) {
        ronde_schedule_destroy(out_existing->schedule);
        out_existing->schedule = NULL;
    }
    return status;
}
