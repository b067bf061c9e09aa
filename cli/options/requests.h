/**
 * From the command line to what lab/ and predict/ take, what stands where an option is absent, and schedules from
 * files.
 */
#ifndef RONDE_CLI_OPTIONS_REQUESTS_H
#define RONDE_CLI_OPTIONS_REQUESTS_H

#include "lab/validate/compare.h"
#include "options.h"

#include "ronde/calibrate.h"
#include "ronde/nccl_graph.h"
#include "ronde/scenario.h"
#include "ronde/schedule_file.h"
#include "ronde/selector.h"
#include "ronde/sweep.h"
#include "ronde/topologies.h"

/**
 * What the options ask of a collective on so many ranks: root, channels, shape, pairs; no algorithm
 * yet. Pairs stay in the options, which must outlive it. Errors: BAD_ARGUMENT for a root or a pair
 * beyond the ranks, a shape of other ranks, pairs for anything but send_recv.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_compile_request_of(const struct ronde_options *options, enum ronde_collective collective,
                         uint32_t ranks, struct ronde_compile_request *out_request,
                         struct ronde_error *error);

/**
 * What a command asks that takes one collective and one -N, or ronde_default_ranks of `platform`; no algorithm yet. Errors:
 * BAD_ARGUMENT for anything missing, unknown or plural; as ronde_default_ranks.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_open_request(const struct ronde_options *options, const struct ronde_platform *platform,
                   struct ronde_compile_request *out_request, struct ronde_error *error);

/**
 * The request of a command that takes one collective, one -a and one -N. Without -a the first algorithm that serves
 * the request is taken. What is only predicted may be a library's that puts (-a NAME+puts). Errors: BAD_ARGUMENT for anything missing, unknown or plural.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_single_request(const struct ronde_options *options, const struct ronde_platform *platform,
                     bool is_predicted, struct ronde_compile_request *out_request,
                     struct ronde_error *error);

/**
 * The one schedule a command is about: read, or compiled as ronde_single_request has it. Owner: the caller.
 * Errors: theirs.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_schedule_file_or_compiled(const struct ronde_options *options,
                                struct ronde_schedule **out_schedule, struct ronde_error *error);

/* From the command line to the option structs of lab/. */

/** How runs are launched: -d, --op, --slot, --depth, --protocol, --seed, --timeout. */
struct ronde_benchmark_options ronde_benchmark_options_of(const struct ronde_options *options);

/** What is calibrated: --backend, and as above; progress goes to stderr. */
struct ronde_calibrate_options ronde_calibrate_options_of(const struct ronde_options *options);

/**
 * The statements of --scenario's file and of --with, --background and --straggler; what --degrade scales is the machine's. The
 * caller frees *out_scenario by ronde_scenario_free in every case. Errors: as ronde_scenario_read and ronde_scenario_add, naming the option.
 */
RONDE_MUST_CHECK enum ronde_status ronde_scenario_of(const struct ronde_scenario_options *said,
                                                     struct ronde_scenario *out_scenario,
                                                     struct ronde_error *error);

/**
 * The machine of --topo as it is, with what --degrade and the scenario scale, and the one without, NULL where nothing is scaled.
 * Owner: the caller destroys both. Errors: as ronde_open_platform and ronde_scenario_degrade.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_open_as_it_is(const struct ronde_options *options, const struct ronde_scenario *scenario,
                    struct ronde_platform **out_platform, struct ronde_platform **out_healthy,
                    struct ronde_error *error);

/**
 * What `ronde sweep` asks for: the collective, -N, -a, -d, the sizes, --shard. It points into the options. Errors:
 * BAD_ARGUMENT for what is missing or unknown, more than RONDE_MAX_SIZES sizes, a shard that is not i/n.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_sweep_options_of(const struct ronde_options *options, const char *shard,
                       struct ronde_sweep_options *out_options, struct ronde_error *error);

/**
 * What `ronde validate` asks for: the collective, -N, -a, the sizes from -b to -e, --backend, how runs are launched and
 * replays are made. It points into the options and the platform; who measures is left open. Errors: BAD_ARGUMENT for what
 * is missing or unknown, too many sizes, and as ronde_compile_request_of.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_compare_options_of(const struct ronde_options *options, const struct ronde_platform *platform,
                         struct ronde_compare_options *out_options, struct ronde_error *error);

/* From the command line to what predict/ takes, and from what it decides to words. */

/** How it is predicted and chosen: -d, --op, --slot, --depth, --engine, --cfg, --native-latency, --timeout, --topo. */
struct ronde_tune_options ronde_tune_options_of(const struct ronde_options *options);

/** Whether the command line leaves the choice to us: no -a, or -a auto, and no schedule from a file. */
bool ronde_is_auto(const struct ronde_options *options);

/** Whether schedules made for the machine are asked for: `-a forest`. */
bool ronde_is_forest(const struct ronde_options *options);

/** Whether what is predicted is chosen size by size: either of the two. */
bool ronde_is_chosen(const struct ronde_options *options);

/** Whether algorithms are to be measured against one another: -a race. */
bool ronde_is_autotune(const struct ronde_options *options);

/** Room for what a choice rests on. */
#define RONDE_BASIS_BYTES 512u

/** What a choice rests on, and which option would change it. Returns out_text. */
const char *ronde_basis_text(const struct ronde_selector *selector,
                             char out_text[RONDE_BASIS_BYTES]);

/** Room for a decision in words. */
#define RONDE_DECISION_BYTES 256u

/** A decision in words: "ring --channels 8: 17.20 us (maxmin), next tree 20.10 us". */
void ronde_selector_say(const struct ronde_selector *selector,
                        const struct ronde_decision *decision, char *out_text, size_t bytes);

/** The placements of an option. */
struct ronde_placements {
    enum ronde_placement list[RONDE_PLACEMENT_COUNT]; /**< in the order given, each once */
    uint32_t count; /**< 1 (auto) where the option was not given */
};

/** "file,auto". Errors: BAD_ARGUMENT for an unknown name (names the nearest), or one given twice. */
RONDE_MUST_CHECK enum ronde_status ronde_placements_parse(const char *text,
                                                          struct ronde_placements *out_placements,
                                                          struct ronde_error *error);

/* How many ranks there are where -N is absent. */

/**
 * Those of the schedule, where a file is given, else the hosts of --topo, else 2. `platform` is that of --topo, NULL where it is
 * not open yet. Errors: as ronde_schedule_file_open and ronde_machine_open.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_default_ranks(const struct ronde_options *options, const struct ronde_platform *platform,
                    uint32_t *out_ranks, struct ronde_error *error);

/* Which ranks and algorithms a grid has where -N and -a are absent. */

/**
 * Adds to options: without -N the hosts of the platform, without -a the algorithms of the collective, all of them or only
 * those that serve every number of ranks. Nothing without a collective. Errors: BAD_ARGUMENT for an unknown collective, or
 * too many algorithms.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_default_grid(const struct ronde_platform *platform, bool must_serve_all,
                   struct ronde_options *options, struct ronde_error *error);

/* Schedules that the user gives as a file instead of naming a collective and an algorithm. A file is proved when
 * it is read, so what follows cannot tell it from a compiled one: it runs, is replayed and priced. */

/** Whether the command's first argument names a file, or --nccl-log one. */
bool ronde_is_schedule_file(const struct ronde_options *options);

/**
 * Reads and proves the file. out_facts and out_proof may be NULL; they are set also when the schedule is rejected. Errors: IO,
 * BAD_INPUT and REJECTED naming file and line; BAD_ARGUMENT for options that say otherwise than the file.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_schedule_file_read(const struct ronde_options *options, struct ronde_msccl_facts *out_facts,
                         struct ronde_proof *out_proof, struct ronde_schedule **out_schedule,
                         struct ronde_error *error);

/**
 * Writes a printed schedule where --output says, and frees it. Called last, so that a refused request leaves an existing file
 * alone. Errors: IO; DEVICE.
 */
RONDE_MUST_CHECK enum ronde_status ronde_schedule_text_write(const struct ronde_options *options,
                                                             char *text, size_t bytes,
                                                             struct ronde_error *error);

/* --nccl-log: the communicator that NCCL made, and its rings and trees as the schedule that a command is about. */

/**
 * The graph of the communicator that -N names, else of the largest, which is said where there are several. Owner: the caller.
 * Errors: BAD_ARGUMENT for several -N; as ronde_nccl_graph_read.
 */
RONDE_MUST_CHECK enum ronde_status ronde_nccl_log_read(const struct ronde_options *options,
                                                       struct ronde_nccl_graph **out_graph,
                                                       struct ronde_error *error);

/**
 * The schedule of the collective that is named first: over the rings, or the trees for -a tree. Owner: the caller.
 * Errors: BAD_ARGUMENT for what the log decides, said otherwise; as ronde_nccl_graph_schedule.
 */
RONDE_MUST_CHECK enum ronde_status ronde_nccl_log_schedule(const struct ronde_options *options,
                                                           struct ronde_schedule **out_schedule,
                                                           struct ronde_error *error);

#endif
