/**
 * How much a few lines of input may ask for: hosts of a torus, items of a workload. More is refused before any is made, with the
 * variable that raises the bound.
 */
#ifndef RONDE_LIMITS_H
#define RONDE_LIMITS_H

#include "ronde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** enumerator, variable of the environment, bound without it, highest bound, what */
#define RONDE_LIMIT_LIST(X)                                                                        \
    X(HOSTS, "RONDE_MAX_HOSTS", 1u << 17, 1u << 20, "hosts")                                       \
    X(LINKS, "RONDE_MAX_LINKS", 1u << 17, 1u << 26, "links of a topology")                         \
    X(RANKS, "RONDE_MAX_COMPILED", 1u << 17, 1u << 20, "ranks of a schedule")                      \
    X(INFLATION, "RONDE_MAX_INFLATION", 100, 2000, "times the size of the compressed file")        \
    X(PROCESSES, "RONDE_MAX_PROCESSES", 1u << 10, 1u << 17, "ranks as processes of one machine")   \
    X(LINES, "RONDE_MAX_LINES", 1u << 20, 1u << 28, "lines of a workload")                         \
    X(ITEMS, "RONDE_MAX_ITEMS", 1u << 21, 1u << 24, "items of a workload")

/** What is bounded. */
enum ronde_limit {
#define RONDE_ENUMERATOR(name, variable, usual, most, what) RONDE_LIMIT_##name,
    RONDE_LIMIT_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_LIMIT_COUNT /**< number of bounds */
};

/** Refuses more than the bound. Errors: BAD_ARGUMENT with the number, the bound, and how it is raised. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_limit_check(enum ronde_limit limit, uint64_t wanted, struct ronde_error *error);

/** The same of what a file asks for, on a line of it or (0) as a whole. Errors: BAD_INPUT with the file and the line in front. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_limit_check_file(enum ronde_limit limit, uint64_t wanted, const char *path, uint32_t line,
                       struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
