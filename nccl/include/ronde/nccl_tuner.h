/**
 * What goes into NCCL's tuner and what comes out of it: the file that libnccl-tuner-ronde.so reads (RONDE_TUNER_FILE), and
 * the records of NCCL's own costs that it writes (RONDE_TUNER_RECORD), beside our copy of NCCL's formula.
 * docs/reference/nccl-plugins.md has both forms.
 */
#ifndef RONDE_NCCL_TUNER_H
#define RONDE_NCCL_TUNER_H

#include "ronde/doctor.h"
#include "ronde/mem.h"
#include "ronde/nccl_model.h"
#include "ronde/topologies.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Pairs of algorithm and protocol of the model. */
#define RONDE_NCCL_CHOICES (RONDE_NCCL_ALGORITHM_COUNT * RONDE_NCCL_PROTOCOL_COUNT)

/** Nodes of a file's largest communicators. */
#define RONDE_NCCL_TUNER_MAX_NODES 16384u

/** What a file is about. */
struct ronde_nccl_tuner_request {
    const struct ronde_nccl_constants *constants; /**< of the model */
    const struct ronde_nccl_machine *machine;     /**< where NCCL runs */
    const struct ronde_platform *platform; /**< whose links limit it; NULL: a description, which has none */
    const struct ronde_nccl_bands *bands; /**< how sure the model is */
    uint32_t nodes; /**< of the largest communicator; 1 .. RONDE_NCCL_TUNER_MAX_NODES */
};

/**
 * Writes the file: execution times of all choices by the model, of the five collectives that NCCL's tuner is asked for, from
 * 8 bytes to 32 GiB, for communicators of 1 to all GPUs a node. Numbers of nodes are all up to 8 and then four to a
 * doubling: the plug-in makes a change where both neighbours of its own number agree. Errors: BAD_ARGUMENT for a number of
 * nodes out of range; as ronde_nccl_limits_find; DEVICE where it cannot be written.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_nccl_tuner_file_write(const struct ronde_nccl_tuner_request *request, FILE *file,
                            struct ronde_error *error);

/** A call as NCCL has priced it. */
struct ronde_nccl_table {
    uint32_t line;               /**< in its file */
    struct ronde_nccl_call call; /**< version is that of the plug-in's interface */
    uint32_t pipe_ops;           /**< collectives of a group that NCCL took together */
    bool is_registered;
    double us[RONDE_NCCL_CHOICES]; /**< NCCL's costs of what the model has; NAN = impossible */
    double other_us; /**< the least cost of what the model does not have: PAT, CollNet; NAN = none */
};

/** Records of one machine, equal ones once. */
struct ronde_nccl_tables {
    struct ronde_nccl_table *tables; /**< by collective, nodes, ranks, bytes */
    size_t count, capacity;
    const struct ronde_mem *mem;
};

/** Whether a file's first line is such a record. */
RONDE_API bool ronde_nccl_tables_is(const char *path);

/**
 * Reads. Close the result whatever is returned. Errors: IO; BAD_INPUT ("path:line: ..."), also where two records of one
 * call differ: NCCL's ranks have to agree; UNAVAILABLE without jansson; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_nccl_tables_read(const char *path, const struct ronde_mem *mem, struct ronde_nccl_tables *out,
                       struct ronde_error *error);

/** Frees the records; zeroed is allowed. */
RONDE_API void ronde_nccl_tables_close(struct ronde_nccl_tables *tables);

/** What our copy of the formula says of a call: its costs, INFINITY = impossible. */
RONDE_API void ronde_nccl_tables_model(const struct ronde_nccl_constants *constants,
                                       const struct ronde_nccl_machine *machine,
                                       const struct ronde_nccl_table *table,
                                       double out_us[RONDE_NCCL_CHOICES]);

/** How far our copy is off, of the calls of one collective and communicator. */
struct ronde_nccl_tables_score {
    size_t calls;
    size_t costs;     /**< that both have */
    double median;    /**< of |ours / NCCL's - 1| */
    double worst;     /**< the largest */
    size_t lacking;   /**< costs that NCCL has and we do not */
    size_t excess;    /**< costs that we have and NCCL does not */
    size_t same;      /**< calls in which both take the same choice */
    size_t elsewhere; /**< calls in which NCCL takes what the model does not have */
};

/** The first call behind those that have the collective, ranks and nodes of `first`. */
RONDE_API size_t ronde_nccl_tables_group(const struct ronde_nccl_tables *tables, size_t first);

/** Scores calls first .. end - 1, those of single collectives without registration. Errors: NO_MEMORY. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_nccl_tables_score(const struct ronde_nccl_tables *tables, size_t first, size_t end,
                        const struct ronde_nccl_constants *constants,
                        const struct ronde_nccl_machine *machine,
                        struct ronde_nccl_tables_score *out, struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
