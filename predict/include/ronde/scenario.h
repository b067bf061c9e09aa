/**
 * What else happens beside a collective: other collectives, background traffic, degraded links, stragglers; as statements
 * of a keyword and a value, one by one or from a file with one a line.
 */
#ifndef RONDE_SCENARIO_H
#define RONDE_SCENARIO_H

#include "ronde/collective.h"
#include "ronde/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Statements of one kind, at most. */
#define RONDE_SCENARIO_STATEMENTS 16u

/** A set of hosts, by number. */
struct ronde_host_list {
    uint32_t *all;   /**< in the order they were named; NULL = not given */
    uint32_t count;  /**< how many */
    size_t capacity; /**< reserved */
};

/** Another collective at the same time. */
struct ronde_companion {
    char path[256];                   /**< a schedule file, or "": what follows says what and how */
    enum ronde_collective collective; /**< what */
    const char *algorithm;            /**< how, a name of the registry */
    uint64_t bytes;                   /**< its size column */
    struct ronde_host_list hosts;     /**< where; not given = where the main collective is */
};

/** A flow that is repeated as long as the collectives last. */
struct ronde_background {
    uint32_t src;   /**< host */
    uint32_t dst;   /**< host */
    uint64_t bytes; /**< of one message */
};

/** A link that runs at another rate. */
struct ronde_degraded {
    char link[128]; /**< name */
    double factor;  /**< of the rate in the file; 0 = it is out */
};

/** Kinds of statements. */
enum ronde_scenario_kind {
    RONDE_SCENARIO_WITH,
    RONDE_SCENARIO_BACKGROUND,
    RONDE_SCENARIO_DEGRADE,
    RONDE_SCENARIO_STRAGGLER,
    RONDE_SCENARIO_KIND_COUNT /**< how many */
};

/** Everything that happens beside the main collective. */
struct ronde_scenario {
    struct ronde_companion companions[RONDE_SCENARIO_STATEMENTS];   /**< --with */
    uint32_t companion_count;                                       /**< how many */
    struct ronde_background backgrounds[RONDE_SCENARIO_STATEMENTS]; /**< --background */
    uint32_t background_count;                                      /**< how many */
    struct ronde_degraded degraded[RONDE_SCENARIO_STATEMENTS];      /**< --degrade */
    uint32_t degraded_count;                                        /**< how many */
    struct ronde_straggler
        stragglers[RONDE_SCENARIO_STATEMENTS]; /**< --straggler; ranks of the main collective */
    uint32_t straggler_count;                  /**< how many */
    const char *path; /**< of the file that was read, which outlives it; NULL = none */
    uint32_t line;    /**< of it that is read; 0 = none */
    uint32_t lines[RONDE_SCENARIO_KIND_COUNT]
                  [RONDE_SCENARIO_STATEMENTS]; /**< where each statement stands in it; 0 = nowhere */
};

/**
 * Adds the statements of a file: one a line, '#' begins a comment. The caller frees *scenario in every case. Errors:
 * BAD_INPUT "file:line: ..."; IO; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_scenario_read(struct ronde_scenario *scenario, const char *path, struct ronde_error *error);

/**
 * Adds one statement: with COLLECTIVE:ALGORITHM:SIZE[:HOSTS] or FILE:SIZE[:HOSTS], background S>D:SIZE, degrade
 * LINK=FACTOR, straggler rank=R[,delay=TIME][,slow=FACTOR]. A zeroed scenario is empty. The caller frees *scenario in
 * every case. Errors: BAD_ARGUMENT; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_scenario_add(struct ronde_scenario *scenario, const char *keyword, const char *value,
                   struct ronde_error *error);

/** What is wrong with a statement on the machine, with its file and line in front where it has them. Returns `status`. */
RONDE_API enum ronde_status
ronde_scenario_refuse(const struct ronde_scenario *scenario, enum ronde_scenario_kind kind,
                      uint32_t index, enum ronde_status status, struct ronde_error *error);

/** Scales the degraded links of a machine, and takes out those of factor 0. Errors: as ronde_platform_degrade and ronde_platform_without, naming the statement's line. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_scenario_degrade(const struct ronde_scenario *scenario, struct ronde_platform *platform,
                       struct ronde_error *error);

/** Whether nothing happens. */
RONDE_API bool ronde_scenario_is_empty(const struct ronde_scenario *scenario);

/** Frees what it holds; zeroes are allowed. */
RONDE_API void ronde_scenario_free(struct ronde_scenario *scenario);

#ifdef __cplusplus
}
#endif
#endif
