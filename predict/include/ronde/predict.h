/**
 * Predictions of one load on one platform: replayed, by closed form, by the longest path of the step graph.
 *
 *     struct ronde_forecast forecast = ronde_forecast_of(platform, schedule, &request, &options);
 *     ronde_forecast_set_count(&forecast, count);
 *     ronde_forecast_replay(&forecast, "auto", &prediction, &error);
 */
#ifndef RONDE_PREDICT_H
#define RONDE_PREDICT_H

#include "ronde/scene.h"
#include "ronde/schedules.h"
#include "ronde/topologies.h"
#include "ronde/tune_options.h"
#include "ronde/why.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What is predicted. */
struct ronde_forecast {
    const struct ronde_platform *platform; /**< the machine */
    const struct ronde_schedule *schedule; /**< what runs on it */
    struct ronde_compile_request request;  /**< what it was compiled from */
    struct ronde_load load; /**< what is launched; ronde_forecast_set_count sets it */
    uint64_t slot_bytes; /**< of the load: asked for, or the machine's; 0 = by its size (pieces.h) */
    uint64_t most_steps;          /**< of what pieces are chosen for; 0 = any number */
    enum ronde_op op;             /**< of the load */
    bool puts;                    /**< as a library that puts carries it: ronde_time_params.puts */
    struct ronde_sim_options sim; /**< placement, SimGrid's flags, time limit */
};

/** Labels of a prediction, at most. */
#define RONDE_PREDICTION_LABELS 8u

/** A predicted time and how it came about. */
struct ronde_prediction {
    double time_ns;     /**< launch included */
    const char *engine; /**< what says so: flat, simgrid, ..., closed_form, dag */
    bool is_replayed;   /**< result holds; else a formula or a longest path */
    /**
     * What else is to be known of it: oversubscribed (ranks take turns on cores, which no model here resolves), symmetric
     * (replayed on the quotient), extrapolated, approximate, exact, contention_ignored, multicast_ignored (a run of the
     * schedule leaves the switch that would copy or add it), tcp_model, puts (by a library that puts), fair_share or
     * worst_pair (one network stands for unequal pairs), link_limited (a price that is what the busiest link takes). Texts of static storage.
     */
    const char *labels[RONDE_PREDICTION_LABELS];
    uint32_t label_count;           /**< how many */
    struct ronde_sim_result result; /**< of the engine; zeroes where nothing was replayed */
};

/** Whether two messages may be in a port at once by an algorithm, NULL of a file: its formula, which knows no sharing, is less then. */
RONDE_API bool ronde_forecast_shares_ports(const struct ronde_forecast *forecast,
                                           const struct ronde_algorithm *algorithm);

/** Whether a prediction has a label. */
RONDE_API bool ronde_prediction_has(const struct ronde_prediction *prediction, const char *label);

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
 * The forecast of a load whose count is set next: its slot is that of the options, else the one the platform's constants
 * were measured with, else by the load's size where the schedule is pipelined. What is given outlives it.
 */
RONDE_API struct ronde_forecast ronde_forecast_of(const struct ronde_platform *platform,
                                                  const struct ronde_schedule *schedule,
                                                  const struct ronde_compile_request *request,
                                                  const struct ronde_tune_options *options);

/** Sets the elements of a block, and with them the slots of a load that is cut by its size. */
RONDE_API void ronde_forecast_set_count(struct ronde_forecast *forecast, uint64_t count);

/** The slot of a load: that of the options, else the one the platform's constants were measured with. */
RONDE_API uint64_t ronde_forecast_slot(const struct ronde_platform *platform,
                                       const struct ronde_tune_options *options);

/** Bytes of a rank's input and output: what decides from which memory they come. */
RONDE_API uint64_t ronde_forecast_footprint(const struct ronde_forecast *forecast);

/** Refuses more ranks than the platform has hosts. Errors: BAD_INPUT with the file's name and both numbers. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_forecast_check(const struct ronde_forecast *forecast, struct ronde_error *error);

/** Replays with an engine of ronde_sim_job_run. Errors: BAD_ARGUMENT for another engine; those of the replay. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_forecast_replay(const struct ronde_forecast *forecast, const char *engine,
                      struct ronde_prediction *out_prediction, struct ronde_error *error);

/**
 * The same with everything kept; out_kept->result is the engine's. `out_kept` starts from zeroes; the caller releases it by
 * ronde_kept_release in every case. Errors: as ronde_forecast_replay and ronde_why_find; UNSUPPORTED beyond
 * RONDE_KEPT_STEPS.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_forecast_keep(const struct ronde_forecast *forecast, const char *engine,
                    struct ronde_kept *out_kept, struct ronde_error *error);

/** What a result of an engine says of the forecast. */
RONDE_API struct ronde_prediction ronde_forecast_replayed(const struct ronde_forecast *forecast,
                                                          const struct ronde_sim_result *result);

/** Steps of all ranks, channels and pieces: what a graph of the forecast would have. */
RONDE_API uint64_t ronde_forecast_steps(const struct ronde_forecast *forecast);

/** The step graph of a forecast, with origins. Owner: the caller. Errors: as ronde_dag_create_named. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_forecast_graph(const struct ronde_forecast *forecast, struct ronde_dag **out_dag,
                     struct ronde_error *error);

/**
 * Replays the scene of *kept with the options in it; the first part is the one in question. Engines:
 * auto, flat, simgrid, maxmin, flat_fifo. Errors: BAD_ARGUMENT for another; those of the engine; as
 * ronde_why_find.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_scene_keep(struct ronde_kept *kept, const struct ronde_platform *platform, const char *engine,
                 struct ronde_error *error);

/** Releases what is kept; zeroes are allowed. */
RONDE_API void ronde_kept_release(struct ronde_kept *kept);

/** The closed form on the flat network the platform offers. Errors: as ronde_platform_network. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_forecast_closed_form(const struct ronde_forecast *forecast,
                           struct ronde_prediction *out_prediction, struct ronde_error *error);

/** The DAG price on the same network. Errors: those of the two. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_forecast_dag(const struct ronde_forecast *forecast, struct ronde_prediction *out_prediction,
                   struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
