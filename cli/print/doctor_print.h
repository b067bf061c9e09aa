/** What ronde doctor prints. */
#ifndef RONDE_CLI_DOCTOR_PRINT_H
#define RONDE_CLI_DOCTOR_PRINT_H

#include "cli/cmd/common.h"

#include "ronde/doctor.h"

/** What was diagnosed, and where it goes. */
struct ronde_doctor_view {
    struct ronde_sink *sink;
    const struct ronde_published *published;
    const struct ronde_doctor_spread *spread;
    const char *path; /**< of the log or table */
    bool is_faulty;   /**< of the rows that are marked so */
};

/** What the log says of itself that no numbers are needed for; *out_is_wrong: something that is wrong. Errors: as ronde_sink_row. */
RONDE_MUST_CHECK enum ronde_status ronde_doctor_print_log(const struct ronde_doctor_view *view,
                                                          bool *out_is_wrong,
                                                          struct ronde_error *error);

/** Sizes, verdict, causes and how sure all that is. Errors: as ronde_sink_row. */
RONDE_MUST_CHECK enum ronde_status ronde_doctor_print(const struct ronde_doctor_view *view,
                                                      const struct ronde_diagnosis *diagnosis,
                                                      struct ronde_error *error);

#endif
