/**
 * The commands: each describes itself in a file of its own.
 */
#ifndef RONDE_CLI_COMMANDS_H
#define RONDE_CLI_COMMANDS_H

#include "cli/options/options.h"
#include "cli/print/printer.h"

#include "ronde/import.h"
#include "ronde/workload.h"

/** A command that runs. Its caller closes what is open here and prints the error; without an error it ends with the code. */
struct ronde_invocation {
    const struct ronde_options *options; /**< as typed */
    struct ronde_platform *platform;     /**< the machine, once it is opened */
    struct ronde_sink sink; /**< results, once it is opened: when nothing can be refused any more */
    int code;               /**< 0, or that the answer is no */
};

/** Commands, and verbs of one, at most. */
#define RONDE_MOST_COMMANDS 32u

/** All of them, in the order of help. */
const struct ronde_command *const *ronde_commands(uint32_t *out_count);

extern const struct ronde_command ronde_command_doctor;  /**< whether a log is what it should be */
extern const struct ronde_command ronde_command_explain; /**< what a job's collectives cost */
extern const struct ronde_command ronde_command_sim;     /**< how long on a machine */
extern const struct ronde_command ronde_command_plan;  /**< the best algorithm per size, and why */
extern const struct ronde_command ronde_command_bound; /**< the least time of any schedule */
extern const struct ronde_command ronde_command_synthesize; /**< the best schedule a machine allows */
extern const struct ronde_command ronde_command_check;      /**< proves a schedule */
extern const struct ronde_command ronde_command_run;        /**< executes, measures and checks */
extern const struct ronde_command ronde_command_topo;       /**< platform files */
extern const struct ronde_command ronde_command_workload;   /**< steps of programs */
extern const struct ronde_command ronde_command_validate; /**< measured and predicted side by side */
extern const struct ronde_command ronde_command_convert;  /**< schedules as files */
extern const struct ronde_command ronde_command_demo;  /**< the tour, then calibrate and validate */
extern const struct ronde_command ronde_command_list;  /**< what is here, and what is missing */
extern const struct ronde_command ronde_command_sweep; /**< a grid of ranks and sizes in parallel */
extern const struct ronde_command ronde_command_tune;  /**< times of this machine, for `auto` */
extern const struct ronde_command ronde_command_calibrate; /**< this machine as a platform file */

/** ronde topo generate KIND: a platform file of any size. */
RONDE_MUST_CHECK enum ronde_status ronde_topo_generate(struct ronde_invocation *call,
                                                       struct ronde_error *error);
/** ronde topo import FILE: NCCL topology XML or hwloc XML to a platform file. */
RONDE_MUST_CHECK enum ronde_status ronde_topo_import(struct ronde_invocation *call,
                                                     struct ronde_error *error);

/* What the verbs of `ronde topo` share. */

/** What a machine is made of that is generated or imported, and whether it is this one. */
struct ronde_topo_options {
    uint32_t gpus;           /**< --gpus, of a node; 0 = not given */
    uint32_t levels;         /**< --levels; 0 = not given */
    double oversubscription; /**< --oversubscription; 0 = not given */
    double nic_GBps;         /**< --nic-GBps; 0 = not given */
    double nvlink_GBps;      /**< --nvlink-GBps; 0 = not given */
    double memory_GBps;      /**< --memory-GBps; 0 = not given */
    const char *nvlink;      /**< --nvlink; NULL = not given */
    bool local;              /**< --local */
    bool multicast;          /**< --multicast */
};

/** Those of a command line. */
static inline const struct ronde_topo_options *ronde_topo_own(const struct ronde_options *options)
{
    return options->own;
}

/* Workloads, and schedules as such, in the formats of point-to-point operations: GOAL, Chakra execution traces. */

/**
 * The schedule with -b bytes of -d elements as messages and calculations; pieces by --slot, costs of steps by --topo, none
 * without. Owner: the caller. Errors: those of ronde_open_platform and ronde_workload_of_schedule.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_workload_exported(const struct ronde_options *options, const struct ronde_schedule *schedule,
                        struct ronde_workload **out_workload, struct ronde_error *error);

/**
 * Writes a workload as --to says, goal or chakra, else as the name of the output does: .goal, or .et for a file a rank.
 * Errors: BAD_ARGUMENT for another format; those of ronde_goal_print and ronde_chakra_write; IO.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_workload_write(const struct ronde_options *options, const char *to,
                     const struct ronde_workload *workload, struct ronde_error *error);

/** sim --steps: the schedule alone, round by round. Errors: those of the schedule; UNSUPPORTED for more ranks than people read. */
RONDE_MUST_CHECK enum ronde_status ronde_steps_command(struct ronde_invocation *call,
                                                       struct ronde_error *error);

#endif
