/**
 * What libraries do by themselves (--style nccl, openmpi, mpich), and machines of NCCL's model as --topo
 * names them.
 */
#ifndef RONDE_CLI_CMD_STYLES_H
#define RONDE_CLI_CMD_STYLES_H

#include "commands.h"

#include "ronde/nccl_graph.h"
#include "ronde/nccl_platform.h"
#include "ronde/published.h"

#include <stdio.h>

/* Machines of NCCL's model, as --topo names them. */

/** A machine of NCCL's model, and what its platform leaves of its rates. */
struct ronde_nccl_site {
    struct ronde_nccl_machine machine;
    struct ronde_platform *platform; /**< NULL: a description, which says nothing of what lies between nodes */
    struct ronde_nccl_limit
        limits[RONDE_NCCL_LIMITS]; /**< of the call last asked for; what machine.limits points at */
    struct ronde_list shapes;      /**< limits that were asked for with ronde_nccl_site_limits_of */
};

/**
 * Opens the machine of --topo: a description (topologies/published/README.md), the name of a shipped one, or a platform
 * file with --degrade on its links. A site must not move while it is used. Owner: the caller closes it. Errors: BAD_ARGUMENT
 * without --topo, and for links of a description; as ronde_nccl_machine_read; as ronde_nccl_machine_of_platform.
 */
RONDE_MUST_CHECK enum ronde_status ronde_nccl_site_open(const struct ronde_options *options,
                                                        struct ronde_nccl_site *out,
                                                        struct ronde_error *error);

/** Lays a call of such hosts (NULL: the first) on the platform, if there is one, for the machine's limits. Errors: those of ronde_nccl_limits_find. */
RONDE_MUST_CHECK enum ronde_status
ronde_nccl_site_limit(struct ronde_nccl_site *site, const struct ronde_nccl_call *call,
                      const uint32_t *hosts, struct ronde_error *error);

/** The limits of a call on the first hosts, found once for its collective and ranks; NULL without a platform. They live as long as the site. Errors: likewise. */
RONDE_MUST_CHECK enum ronde_status
ronde_nccl_site_limits_of(struct ronde_nccl_site *site, const struct ronde_nccl_call *call,
                          const struct ronde_nccl_limit **out, struct ronde_error *error);

/** The link for which a call takes longer than it would by the machine's own rates, 1 % or more; NULL: there is none. */
const char *ronde_nccl_site_limiting(const struct ronde_nccl_site *site,
                                     const struct ronde_nccl_constants *constants,
                                     const struct ronde_nccl_call *call,
                                     struct ronde_nccl_choice choice);

/** Frees its platform; a zeroed site is allowed. */
void ronde_nccl_site_close(struct ronde_nccl_site *site);

/** The machine alone, for what does not run on its fabric. Errors: as ronde_nccl_site_open. */
RONDE_MUST_CHECK enum ronde_status ronde_open_nccl_machine(const struct ronde_options *options,
                                                           struct ronde_nccl_machine *out,
                                                           struct ronde_error *error);

/** What a machine is taken for, in a line without its end, so that it can be judged: words and data sheets say most of it. */
void ronde_print_nccl_machine(FILE *file, const struct ronde_nccl_machine *machine);

/** nodes of --shape NODESxGPUS, 0 without one. Errors: BAD_ARGUMENT where they are not those of -N. */
RONDE_MUST_CHECK enum ronde_status ronde_shape_nodes(const struct ronde_options *options,
                                                     uint32_t ranks, uint32_t *out_nodes,
                                                     struct ronde_error *error);

/**
 * What is read of a table or log: --system, --topo where that is a folder of descriptions, and what a log may not say of
 * itself: the collective as argument number `collective_at`, ranks (-N), nodes (--shape). The result points into the
 * options. Errors: BAD_ARGUMENT.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_log_request_of(const struct ronde_options *options, const char *path, const char *system,
                     uint32_t collective_at, struct ronde_published_request *out,
                     struct ronde_error *error);

/** A log of other GPUs than a description's says nothing about them. Errors: BAD_INPUT. */
RONDE_MUST_CHECK enum ronde_status ronde_check_log_gpu(const char *path, const char *gpu,
                                                       const struct ronde_nccl_machine *machine,
                                                       struct ronde_error *error);

/**
 * --anchor: fits the constants to what was measured on the machine, narrows the bands of such calls, and says so on standard error; without
 * the option nothing changes. Errors: as ronde_published_open; BAD_INPUT where the log is of another machine, or has no
 * row that the model predicts.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_nccl_anchor(const struct ronde_options *options, const struct ronde_nccl_machine *machine,
                  struct ronde_nccl_constants *constants, struct ronde_nccl_bands *bands,
                  struct ronde_error *error);

/** What asks no model of NCCL has no use for an anchor. Errors: BAD_ARGUMENT. */
RONDE_MUST_CHECK enum ronde_status ronde_refuse_anchor(const struct ronde_options *options,
                                                       struct ronde_error *error);

/* --style nccl of ronde sim and plan: what NCCL takes on a described machine, by the model of ronde/nccl_model.h. */

/**
 * Predicts every size, rank count and algorithm that is asked for; `is_plan`: sets what NCCL would choose beside what would
 * be fastest. Errors: BAD_ARGUMENT; those of the model and the sink.
 */
RONDE_MUST_CHECK enum ronde_status ronde_nccl_style(struct ronde_invocation *call, bool is_plan,
                                                    struct ronde_error *error);

/* NCCL's tuner: plan --to nccl-tuner, the file that libnccl-tuner-ronde.so reads, and validate --published of its
 * records. */

/** Writes the file of a whole machine; `to` is to be nccl-tuner. */
RONDE_MUST_CHECK enum ronde_status ronde_nccl_tuner_file(struct ronde_invocation *call,
                                                         const char *to, struct ronde_error *error);

/** NCCL's own costs (RONDE_TUNER_RECORD) beside our copy of its formula on the machine of --topo. */
RONDE_MUST_CHECK enum ronde_status ronde_validate_nccl_tables(struct ronde_invocation *call,
                                                              struct ronde_error *error);

/* ronde validate --published: measurements that others have published beside the model of NCCL. */

/** The own options of validate: measurements of others, and records. */
struct ronde_validate_options {
    const char *records;   /**< --records; NULL = none */
    const char *from;      /**< --from; NULL = measure */
    const char *published; /**< --published; NULL = measure */
    const char *meanings;  /**< --meanings: of algorithms in such a table; NULL = its own */
    const char *system;    /**< --system, of a published table; NULL = all */
    const char *fit;       /**< --fit; NULL = nominal */
    bool auto_topo;        /**< --auto-topo */
    const char *rig;       /**< --rig, name of a virtual cluster; NULL = none */
    bool replay;           /**< --replay */
};

/** Those of a command line. */
static inline const struct ronde_validate_options *
ronde_validate_own(const struct ronde_options *options)
{
    return options->own;
}

/** Reads, predicts, scores and prints. */
RONDE_MUST_CHECK enum ronde_status ronde_validate_published(struct ronde_invocation *call,
                                                            struct ronde_error *error);

/** The same of collectives whose algorithms are ronde's (ronde/collective_table.h), replayed on --topo. */
RONDE_MUST_CHECK enum ronde_status ronde_validate_collectives(struct ronde_invocation *call,
                                                              struct ronde_error *error);

/* --style openmpi and mpich of ronde sim and plan: what an MPI library takes by itself, and how long that takes on
 * a machine. */

/** Whether a style is one of these. */
bool ronde_is_mpi_style(const char *style);

/**
 * Replays what the library takes at every size; `is_plan`: sets the fastest of its algorithms beside it.
 */
RONDE_MUST_CHECK enum ronde_status ronde_mpi_style(struct ronde_invocation *call, bool is_plan,
                                                   struct ronde_error *error);

#endif
