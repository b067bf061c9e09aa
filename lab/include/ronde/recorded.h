/**
 * A grid of measured and predicted times from the records of an earlier validate (--records, --json): what was measured once
 * is summed up and drawn again without measuring it again.
 */
#ifndef RONDE_RECORDED_H
#define RONDE_RECORDED_H

#include "ronde/validate.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Most algorithms of one collective in a file. */
#define RONDE_RECORDED_ALGORITHMS 32u
/** Most numbers of ranks. */
#define RONDE_RECORDED_RANKS 16u
/** Bytes of an algorithm's name, its NUL included. */
#define RONDE_RECORDED_NAME 48u

/** A grid that was read, and what its pointers point to: it must not be moved. */
struct ronde_recorded {
    struct ronde_validation grid; /**< medians and 95th percentiles; notches are not in records and are 0 */
    char names[RONDE_RECORDED_ALGORITHMS][RONDE_RECORDED_NAME]; /**< in the order of the file */
    const char *algorithms[RONDE_RECORDED_ALGORITHMS];          /**< the same */
    uint32_t ranks[RONDE_RECORDED_RANKS];                       /**< in the order of the file */
    uint64_t sizes[RONDE_RECORDED_RANKS][RONDE_MAX_SIZES];      /**< bytes, of each rank count */
    uint32_t size_counts[RONDE_RECORDED_RANKS];                 /**< how many of each */
};

/**
 * Reads the records of one collective; others in the file are passed over. *out must outlive its grid and is released by
 * ronde_recorded_close. Errors: IO; BAD_INPUT (path and line: no record, too many of a kind; or a grid with holes, or
 * none at all); UNAVAILABLE (built without jansson); NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_recorded_read(const char *path, enum ronde_collective collective, struct ronde_recorded *out,
                    struct ronde_error *error);

/** Frees the points; zeroed is allowed. */
RONDE_API void ronde_recorded_close(struct ronde_recorded *recorded);

#ifdef __cplusplus
}
#endif
#endif
