/**
 * The record: one result of run, sim, price or validate, with fixed keys.
 */
#ifndef RONDE_RECORD_H
#define RONDE_RECORD_H

#include "ronde/backend.h"
#include "ronde/dag.h"
#include "ronde/field.h"
#include "ronde/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How a time came about: enumerator, text. */
#define RONDE_RECORD_KIND_LIST(X)                                                                  \
    X(MEASURED, "measured")                                                                        \
    X(SIMULATED, "simulated")                                                                      \
    X(MODELLED, "modelled")                                                                        \
    X(PUBLISHED, "published")

/** Kind of a record. */
enum ronde_record_kind {
#define RONDE_ENUMERATOR(name, text) RONDE_RECORD_##name,
    RONDE_RECORD_KIND_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
};

/** Sizes of a grid of records, at most. */
#define RONDE_MAX_SIZES 64u

/** Labels of a record, at most. */
#define RONDE_MAX_LABELS 8u

/** Elements found wrong when nobody looked. */
#define RONDE_NOT_CHECKED UINT64_MAX

/** One result. Texts belong to the caller. */
struct ronde_record {
    enum ronde_record_kind kind;          /**< measured, simulated, modelled, published */
    const char *engine;                   /**< host, cpu, simgrid, flat, closed_form, dag ... */
    enum ronde_collective collective;     /**< what */
    const char *algorithm;                /**< how */
    uint32_t ranks;                       /**< N */
    uint64_t count;                       /**< elements of a block */
    enum ronde_dtype dtype;               /**< element type */
    enum ronde_op op;                     /**< operator; null in print where nothing is reduced */
    uint32_t root;                        /**< root; null in print where there is none */
    uint32_t channels;                    /**< channels */
    uint64_t pieces;                      /**< pieces of the run */
    enum ronde_protocol protocol;         /**< staged is printed as NCCL's "simple" */
    bool in_place;                        /**< input and output share memory */
    double time_ns;                       /**< median, or the predicted time */
    double min_ns;                        /**< smallest; equals time_ns where predicted */
    double p95_ns;                        /**< 95th percentile; equals time_ns where predicted */
    uint64_t reps;                        /**< repetitions; 1 where predicted */
    uint64_t wrong;                       /**< wrong elements, or RONDE_NOT_CHECKED */
    const char *machine;                  /**< processor and cores, or the platform's name */
    const char *topology;                 /**< platform file, or NULL */
    uint64_t schedule;                    /**< its hash */
    const char *labels[RONDE_MAX_LABELS]; /**< oversubscribed, approximate ... */
    uint32_t label_count;                 /**< how many */
};

/** Fields of a printed record. */
#define RONDE_RECORD_FIELDS 26u

/** Room for the parts of a printed record that are not in the record itself. */
struct ronde_record_row {
    struct ronde_field fields[RONDE_RECORD_FIELDS]; /**< in the fixed order */
    char hash[20];                                  /**< text of the schedule's hash */
    struct ronde_row row;                           /**< the fields as a row */
};

/** Starts a record with what the schedule and the load say. */
RONDE_API struct ronde_record ronde_record_of(const struct ronde_schedule *schedule,
                                              const struct ronde_load *load);

/** Sets a predicted time. */
RONDE_API void ronde_record_predict(struct ronde_record *record, double time_ns);

/** Adds a label; beyond RONDE_MAX_LABELS it is dropped, which no caller reaches. */
RONDE_API void ronde_record_label(struct ronde_record *record, const char *label);

/** Whether a record has a label. */
RONDE_API bool ronde_record_has_label(const struct ronde_record *record, const char *label);

/** nccl-tests' size column: the larger of a rank's two buffers, bytes. */
RONDE_API uint64_t ronde_record_bytes(enum ronde_collective collective, uint32_t ranks,
                                      uint64_t count, enum ronde_dtype dtype);

/** Elements of a block so that the size column is at most `bytes`; at least 1 unless bytes is 0. */
RONDE_API uint64_t ronde_record_count(enum ronde_collective collective, uint32_t ranks,
                                      uint64_t bytes, enum ronde_dtype dtype);

/** bytes / time, GB/s (1e9); 0 where there was no time. */
RONDE_API double ronde_record_algbw_GBps(const struct ronde_record *record);

/** How messages travelled, as records and tables say it: "simple" where they were copied through slots. */
RONDE_API const char *ronde_record_protocol_text(const struct ronde_record *record);

/** algbw scaled to what a link carries: nccl-tests' factor of the collective. */
RONDE_API double ronde_record_busbw_GBps(const struct ronde_record *record);

/** Lays a record out as a row; *out points into itself and into the record. */
RONDE_API void ronde_record_layout(const struct ronde_record *record, struct ronde_record_row *out);

#ifdef __cplusplus
}
#endif
#endif
