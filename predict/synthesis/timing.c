/* Times of schedules that are compared. See timing.h. */
#include "timing.h"

#include "ronde/predict.h"

enum ronde_status ronde_synthesis_time(const struct ronde_platform *platform,
                                       const struct ronde_schedule *schedule, uint64_t bytes,
                                       double *out_ns, struct ronde_error *error)
{
    const struct ronde_tune_options options = {.dtype = RONDE_FLOAT32};
    const struct ronde_compile_request request = {.collective = schedule->collective,
                                                  .ranks = schedule->ranks,
                                                  .root = schedule->root};
    struct ronde_prediction prediction;
    struct ronde_forecast forecast = ronde_forecast_of(platform, schedule, &request, &options);
    const uint64_t count =
        ronde_collective_count(schedule->collective, schedule->ranks, bytes, RONDE_FLOAT32);
    ronde_forecast_set_count(&forecast, count > 0 ? count : 1);
    struct ronde_error why_not = {0};
    enum ronde_status status = ronde_forecast_replay(&forecast, "auto", &prediction, &why_not);
    /* Too many messages to share links exactly: candidates are compared coarsely, all alike. */
    if (status != RONDE_OK && status != RONDE_NO_MEMORY)
        status = ronde_forecast_replay(&forecast, "flat_fifo", &prediction, error);
    else if (status == RONDE_NO_MEMORY)
        (void)ronde_fail(error, status, "%s", why_not.message);
    if (status == RONDE_OK)
        *out_ns = prediction.time_ns;
    return status;
}
