/**
 * Predictions of one load on one platform: replayed, closed form, DAG price; each yields a record.
 */
#ifndef RONDE_CLI_PREDICT_H
#define RONDE_CLI_PREDICT_H

#include "common.h"

#include "ronde/scene.h"
#include "ronde/why.h"

/** What is predicted. */
struct ronde_forecast {
    const struct ronde_platform *platform; /**< the machine */
    const struct ronde_schedule *schedule; /**< what runs on it */
    struct ronde_request request;          /**< what it was compiled from */
    struct ronde_load load;                /**< what is launched */
    enum ronde_op op;                      /**< for the record */
    struct ronde_sim_options sim;          /**< placement, SimGrid's flags, time limit */
};

/** A replay that keeps what explains it: the graph, when each step ran, why it took that long. */
struct ronde_kept {
    struct ronde_dag *dag;          /**< its own graph, with origins, or NULL */
    struct ronde_scene *scene;      /**< its own scene, or NULL: exactly one of the two */
    struct ronde_replay replay;     /**< points into this: do not copy it */
    struct ronde_sim_options sim;   /**< those of the forecast, with the times */
    struct ronde_sim_result result; /**< of the engine */
    struct ronde_why why;           /**< the explanation */
    bool *on_path;                  /**< per operation: on the critical path */
};

/** Steps a graph may have that is kept: some 2 GB. */
#define RONDE_KEPT_STEPS (16u << 20)

/**
 * The forecast of a load: its slot is the command line's, else the one the platform's constants
 * were measured with.
 */
struct ronde_forecast
ronde_forecast_of(const struct ronde_platform *platform, const struct ronde_schedule *schedule,
                  const struct ronde_request *request, const struct ronde_options *options);

/** The slot of a load: the command line's, else the one the platform's constants were measured with. */
uint64_t ronde_forecast_slot(const struct ronde_platform *platform,
                             const struct ronde_options *options);

/** Bytes of a rank's input and output: what decides from which memory they come. */
uint64_t ronde_forecast_footprint(const struct ronde_forecast *forecast);

/** Refuses more ranks than the platform has hosts. Errors: BAD_INPUT with the file's name and both numbers. */
RONDE_MUST_CHECK enum ronde_status ronde_forecast_check(const struct ronde_forecast *forecast,
                                                        struct ronde_error *error);

/**
 * Replays with an engine of ronde_sim_job_run. out_result may be NULL. Errors: BAD_ARGUMENT for
 * another engine; those of the replay.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_forecast_replay(const struct ronde_forecast *forecast, const char *engine,
                      struct ronde_record *out_record, struct ronde_sim_result *out_result,
                      struct ronde_error *error);

/**
 * The same with everything kept. `out_kept` starts from zeroes; the caller releases it by
 * ronde_kept_release in every case. Errors: as ronde_forecast_replay and ronde_why_find; UNSUPPORTED beyond
 * RONDE_KEPT_STEPS.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_forecast_keep(const struct ronde_forecast *forecast, const char *engine,
                    struct ronde_record *out_record, struct ronde_kept *out_kept,
                    struct ronde_error *error);

/** Steps of all ranks, channels and pieces: what a graph of the forecast would have. */
uint64_t ronde_forecast_steps(const struct ronde_forecast *forecast);

/** The step graph of a forecast, with origins. Owner: the caller. Errors: as ronde_dag_create_named. */
RONDE_MUST_CHECK enum ronde_status ronde_forecast_graph(const struct ronde_forecast *forecast,
                                                        struct ronde_dag **out_dag,
                                                        struct ronde_error *error);

/**
 * Replays the scene of *kept with the options in it; the first part is the one in question. Engines:
 * auto, flat, simgrid, flat_fifo. Errors: BAD_ARGUMENT for another; those of the engine; as
 * ronde_why_find.
 */
RONDE_MUST_CHECK enum ronde_status ronde_scene_keep(struct ronde_kept *kept,
                                                    const struct ronde_platform *platform,
                                                    const char *engine, struct ronde_error *error);

/** Releases what is kept; zeroes are allowed. */
void ronde_kept_release(struct ronde_kept *kept);

/** The record of a replay: what was asked, the engine, the time, and labels that say how it came about. */
struct ronde_record ronde_forecast_record(const struct ronde_forecast *forecast,
                                          const struct ronde_sim_result *result);

/** The closed form on the flat network the platform offers. Errors: as ronde_platform_network. */
RONDE_MUST_CHECK enum ronde_status ronde_forecast_closed_form(const struct ronde_forecast *forecast,
                                                              struct ronde_record *out_record,
                                                              struct ronde_error *error);

/** The DAG price on the same network. Errors: those of the two. */
RONDE_MUST_CHECK enum ronde_status ronde_forecast_dag(const struct ronde_forecast *forecast,
                                                      struct ronde_record *out_record,
                                                      struct ronde_error *error);

#endif
