/**
 * Values of options: texts to numbers, each refused in one line that names the value and the bound.
 */
#ifndef RONDE_CLI_VALUES_H
#define RONDE_CLI_VALUES_H

#include "ronde/builder.h"
#include "ronde/values.h"

/** Rank counts one -N can name: enough for 2..1025. */
#define RONDE_MAX_RANK_COUNTS 1024u
/** Ranks a list of pairs can name; more belong into a schedule file. */
#define RONDE_MAX_PAIRED_RANKS 4096u

/** A grid of ranks, slowest digit first. */
struct ronde_grid {
    uint32_t radix[RONDE_MAX_SHAPE]; /**< nodes, ranks of a node; the axes of a torus */
    uint32_t count;                  /**< digits; 0 = not given */
};

/** Who sends to whom. */
struct ronde_pairs {
    uint32_t source_of[RONDE_MAX_PAIRED_RANKS]; /**< per rank, RONDE_NONE where nobody sends to it */
    uint32_t ranks; /**< one more than the highest rank named; 0 = not given */
};

/** Room for a list of names. */
#define RONDE_NAMES_BYTES 384

/** "a, b, c": as many names as there is room for. Returns out_list. */
const char *ronde_names_list(const char *const *names, uint32_t count,
                             char out_list[RONDE_NAMES_BYTES]);

/** Refuses a name: LEAD "TEXT"; did you mean the nearest one, or, where none is near, all of them. Returns BAD_ARGUMENT. */
enum ronde_status ronde_name_refuse(const char *lead, const char *text, const char *const *names,
                                    uint32_t count, struct ronde_error *error);

/** Which of the names a text is. Errors: as ronde_name_refuse. */
RONDE_MUST_CHECK enum ronde_status ronde_name_parse(const char *lead, const char *text,
                                                    const char *const *names, uint32_t count,
                                                    uint32_t *out, struct ronde_error *error);

/** Parses "5" or "4..7" into the first and how many. Errors: BAD_ARGUMENT naming `what`. */
RONDE_MUST_CHECK enum ronde_status ronde_range_parse(const char *what, const char *text,
                                                     uint32_t *out_first, uint32_t *out_count,
                                                     struct ronde_error *error);

/**
 * Reads a sweep of sizes: 8:1G:x2 multiplies, 1M:8M:+1M adds; *out_step is then the step, else 0; or one size. Errors:
 * BAD_ARGUMENT.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_sizes_parse(const char *text, uint64_t *out_min, uint64_t *out_max, uint64_t *out_step,
                  uint64_t *out_factor, struct ronde_error *error);

/** Reads rank counts: 8, 2,4,8, 2..33 or 8:1024:x2 (8:32:+8). Errors: BAD_ARGUMENT for anything outside 1 .. RONDE_MAX_RANKS. */
RONDE_MUST_CHECK enum ronde_status ronde_ranks_parse(const char *text, uint32_t *out_ranks,
                                                     uint32_t *out_count, struct ronde_error *error);

/** Reads a shape: 4x8, 2x4x4. Errors: BAD_ARGUMENT for digits of 0, too many digits or ranks. */
RONDE_MUST_CHECK enum ronde_status ronde_shape_parse(const char *text, struct ronde_grid *out_shape,
                                                     struct ronde_error *error);

/** Ranks of a shape: the product of its digits, at most RONDE_MAX_RANKS. */
uint32_t ronde_shape_ranks(const struct ronde_grid *shape);

/** Reads pairs: 0>1,2>3, source first. Errors: BAD_ARGUMENT for junk, ranks too high, a rank that would receive twice. */
RONDE_MUST_CHECK enum ronde_status
ronde_pairs_parse(const char *text, struct ronde_pairs *out_pairs, struct ronde_error *error);

#endif
