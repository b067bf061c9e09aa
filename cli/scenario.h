/**
 * What else happens: other collectives, background traffic, degraded links, stragglers; from the command line and from
 * a file with the same statements, one a line.
 */
#ifndef RONDE_CLI_SCENARIO_H
#define RONDE_CLI_SCENARIO_H

#include "common.h"

#include "ronde/scene.h"

/** A set of hosts, by number. */
struct ronde_hosts {
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
    struct ronde_hosts hosts;         /**< where; not given = where the main collective is */
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
    double factor;  /**< of the rate in the file */
};

/** Everything that happens beside the main collective. */
struct ronde_scenario {
    struct ronde_companion companions[RONDE_MAX_REPEATS];   /**< --with */
    uint32_t companion_count;                               /**< how many */
    struct ronde_background backgrounds[RONDE_MAX_REPEATS]; /**< --background */
    uint32_t background_count;                              /**< how many */
    struct ronde_degraded degraded[RONDE_MAX_REPEATS];      /**< --degrade */
    uint32_t degraded_count;                                /**< how many */
    struct ronde_straggler stragglers[RONDE_MAX_REPEATS]; /**< --straggler; ranks of the main collective */
    uint32_t straggler_count;                             /**< how many */
};

/**
 * Reads the statements of the options and of the file of --scenario. The caller frees *out_scenario by
 * ronde_scenario_free in every case. Errors: BAD_ARGUMENT for a statement, BAD_INPUT "file:line: ..." for one of the
 * file, IO.
 */
RONDE_MUST_CHECK enum ronde_status ronde_scenario_read(const struct ronde_options *options,
                                                       struct ronde_scenario *out_scenario,
                                                       struct ronde_error *error);

/** Reads one statement: "with", "background", "degrade" or "straggler" and its value. Errors: BAD_ARGUMENT. */
RONDE_MUST_CHECK enum ronde_status ronde_scenario_add(struct ronde_scenario *scenario,
                                                      const char *keyword, const char *value,
                                                      struct ronde_error *error);

/** Whether nothing happens. */
bool ronde_scenario_is_empty(const struct ronde_scenario *scenario);

/** Frees what it holds; zeroes are allowed. */
void ronde_scenario_free(struct ronde_scenario *scenario);

#endif
