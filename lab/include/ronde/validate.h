/**
 * Validation: measured and predicted times on a grid of ranks, sizes and algorithms, and what they say together.
 * Pure functions of the grid: no clock, no printing.
 */
#ifndef RONDE_VALIDATE_H
#define RONDE_VALIDATE_H

#include "ronde/record.h"
#include "ronde/stats.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Where a time comes from: enumerator, text. */
#define RONDE_SOURCE_LIST(X)                                                                       \
    X(MEASURED, "measured")                                                                        \
    X(PORTS, "ports")                                                                              \
    X(CORES, "cores")                                                                              \
    X(SIMGRID, "simgrid")                                                                          \
    X(CLOSED_FORM, "closed form")

/** Source of a time. */
enum ronde_source {
#define RONDE_ENUMERATOR(name, text) RONDE_SOURCE_##name,
    RONDE_SOURCE_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_SOURCE_COUNT /**< number of sources */
};

/** One algorithm at one number of ranks and one size. */
struct ronde_grid_point {
    uint64_t bytes;                     /**< size column */
    struct ronde_stats measured;        /**< ns */
    double time_ns[RONDE_SOURCE_COUNT]; /**< per source; measured: the median */
    bool is_oversubscribed;             /**< more ranks than cores */
};

/** The grid. Points are ordered by ranks, then size, then algorithm. */
struct ronde_validation {
    enum ronde_collective collective; /**< of all points */
    const char *const *algorithms;    /**< names */
    uint32_t algorithm_count;         /**< how many */
    const uint32_t *ranks;            /**< rank counts */
    uint32_t rank_counts;             /**< how many */
    uint32_t size_count;              /**< sizes per rank count */
    bool has_ports;                   /**< packets are part of the model; else PORTS is empty */
    bool has_cores;                   /**< caches are part of the model; else CORES is empty */
    bool lacks_simgrid;              /**< SimGrid is not part of the build; then SIMGRID is empty */
    struct ronde_grid_point *points; /**< rank_counts * size_count * algorithm_count */
};

/** The printed name of a source. */
RONDE_API const char *ronde_source_text(enum ronde_source source);

/** Whether the grid has times of a source. */
RONDE_API bool ronde_validation_has(const struct ronde_validation *validation,
                                    enum ronde_source source);

/** What knows most of the machine: CORES or PORTS where the grid has them, else SIMGRID or, without that, CLOSED_FORM. */
RONDE_API enum ronde_source ronde_validation_replay(const struct ronde_validation *validation);

/** Points of the grid. */
RONDE_API size_t ronde_validation_size(const struct ronde_validation *validation);

/** A point of the grid, by indices. */
RONDE_API struct ronde_grid_point *ronde_validation_point(const struct ronde_validation *validation,
                                                          uint32_t rank_index, uint32_t size_index,
                                                          uint32_t algorithm_index);

/** Which points a summary looks at. */
enum ronde_subset {
    RONDE_SUBSET_ALL,           /**< every point */
    RONDE_SUBSET_FITTING,       /**< ranks <= cores */
    RONDE_SUBSET_OVERSUBSCRIBED /**< ranks > cores */
};

/** How far predictions are off: |predicted - measured| / measured. */
struct ronde_errors {
    size_t count;  /**< points */
    double median; /**< of the relative errors */
    double p95;    /**< nearest rank */
    double worst;  /**< largest */
    double bias;   /**< median of the signed errors: negative where predictions are too fast */
    uint32_t worst_ranks;     /**< where the worst is */
    uint64_t worst_bytes;     /**< where the worst is */
    uint32_t worst_algorithm; /**< where the worst is, index */
};

/** Errors of a source over a subset; scratch holds as many doubles as the grid has points. */
RONDE_API struct ronde_errors ronde_validation_errors(const struct ronde_validation *validation,
                                                      enum ronde_source source,
                                                      enum ronde_subset subset, double *scratch);

/** Two algorithms compared over sizes: times and the uncertainty of their difference. */
struct ronde_duel {
    const uint64_t *bytes;   /**< sizes, ascending */
    const double *first_ns;  /**< of the first algorithm */
    const double *second_ns; /**< of the second */
    const double *noise_ns;  /**< differences up to this are no difference; NULL = none */
    size_t count;            /**< sizes */
};

/** A change of winner between two neighbouring decided sizes. Where between: ronde_duel_crossover_bytes (score.h). */
struct ronde_crossover {
    uint64_t below_bytes;  /**< largest decided size before the change */
    uint64_t above_bytes;  /**< smallest decided size after it */
    double below_margin;   /**< (loser - winner) / winner at below_bytes */
    double above_margin;   /**< the same at above_bytes */
    bool first_wins_above; /**< who wins from above_bytes on */
};

/** -1 the first is faster, +1 the second, 0 within noise. */
RONDE_API int ronde_duel_winner(const struct ronde_duel *duel, size_t index);

/** The changes of winner; returns how many there are, of which up to `capacity` are written. */
RONDE_API size_t ronde_duel_crossovers(const struct ronde_duel *duel, struct ronde_crossover *out,
                                       size_t capacity);

/** How often a prediction names the measured winner. */
struct ronde_agreement {
    size_t decided; /**< points where the measured winner is beyond noise */
    size_t agreed;  /**< of them, predicted alike */
};

/** Agreement of a source over all sizes of one rank count, for two algorithms by index. */
RONDE_API struct ronde_agreement
ronde_validation_agreement(const struct ronde_validation *validation, enum ronde_source source,
                           uint32_t rank_index, uint32_t first, uint32_t second);

/** Buffers behind a duel taken from a grid. */
struct ronde_duel_buffers {
    uint64_t bytes[RONDE_MAX_SIZES];   /**< sizes */
    double first_ns[RONDE_MAX_SIZES];  /**< first algorithm */
    double second_ns[RONDE_MAX_SIZES]; /**< second algorithm */
    double noise_ns[RONDE_MAX_SIZES];  /**< measured: notches, at least 5 %; predicted: rounding */
};

/** Two algorithms' times of a source at one rank count; the duel points into the buffers. */
RONDE_API struct ronde_duel ronde_validation_duel(const struct ronde_validation *validation,
                                                  enum ronde_source source, uint32_t rank_index,
                                                  const uint32_t pair[2],
                                                  struct ronde_duel_buffers *buffers);

#ifdef __cplusplus
}
#endif
#endif
