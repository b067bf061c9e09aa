/**
 * Predictions of one load on one platform: replayed, closed form, DAG price; each yields a record.
 */
#ifndef RONDE_CLI_PREDICT_H
#define RONDE_CLI_PREDICT_H

#include "common.h"

#include "ronde/sim.h"

/** What is predicted. */
struct ronde_forecast {
    const struct ronde_platform *platform; /**< the machine */
    const struct ronde_schedule *schedule; /**< what runs on it */
    struct ronde_request request;          /**< what it was compiled from */
    struct ronde_load load;                /**< what is launched */
    enum ronde_op op;                      /**< for the record */
};

/**
 * The forecast of a load: its slot is the command line's, else the one the platform's constants
 * were measured with.
 */
struct ronde_forecast
ronde_forecast_of(const struct ronde_platform *platform, const struct ronde_schedule *schedule,
                  const struct ronde_request *request, const struct ronde_options *options);

/** Refuses more ranks than the platform has hosts. Errors: BAD_INPUT with the file's name and both numbers. */
RONDE_MUST_CHECK enum ronde_status ronde_forecast_check(const struct ronde_forecast *forecast,
                                                        struct ronde_error *error);

/**
 * Replays with engine auto, flat or simgrid. out_result may be NULL. Errors: BAD_ARGUMENT for
 * another engine; those of
 * the replay.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_forecast_replay(const struct ronde_forecast *forecast, const char *engine,
                      struct ronde_record *out_record, struct ronde_sim_result *out_result,
                      struct ronde_error *error);

/** The closed form on the flat network the platform offers. Errors: as ronde_platform_network. */
RONDE_MUST_CHECK enum ronde_status ronde_forecast_closed_form(const struct ronde_forecast *forecast,
                                                              struct ronde_record *out_record,
                                                              struct ronde_error *error);

/** The DAG price on the same network. Errors: those of the two. */
RONDE_MUST_CHECK enum ronde_status ronde_forecast_dag(const struct ronde_forecast *forecast,
                                                      struct ronde_record *out_record,
                                                      struct ronde_error *error);

#endif
