/* From a calibration to the platform file that later runs of the command read. */
#include "ronde/calibrate.h"

#include <stdio.h>

enum ronde_status ronde_calibration_store(const struct ronde_calibration_report *report,
                                          const char *path, struct ronde_error *error)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return ronde_fail(error, RONDE_IO, "%s: cannot be written", path);
    const enum ronde_status status = ronde_platform_write(&report->calibration, file, error);
    if (fclose(file) != 0 && status == RONDE_OK)
        return ronde_fail(error, RONDE_DEVICE, "%s: could not be written", path);
    return status;
}

uint32_t ronde_calibration_unsure(const struct ronde_calibration_report *report)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < report->constant_count; i++)
        count += report->constants[i].spread > RONDE_ABSURD_SPREAD;
    return count;
}

enum ronde_status ronde_calibration_check(const struct ronde_calibration_report *report,
                                          struct ronde_error *error)
{
    for (uint32_t i = 0; i < report->constant_count; i++)
        if (report->constants[i].spread > RONDE_ABSURD_SPREAD)
            return ronde_fail(error, RONDE_REJECTED,
                              "%s varies by %.0f%%, more than %.0f%%: not written; is this machine "
                              "busy?",
                              report->constants[i].name, 100.0 * report->constants[i].spread,
                              100.0 * RONDE_ABSURD_SPREAD);
    return RONDE_OK;
}
