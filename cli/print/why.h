/**
 * Why a replay took as long as it did, as text under a table and as fields of a record.
 */
#ifndef RONDE_CLI_WHY_H
#define RONDE_CLI_WHY_H

#include "ronde/field.h"

#include "ronde/why.h"

/** Fields that explain a record. */
#define RONDE_WHY_FIELDS (RONDE_WHY_PART_COUNT + 6u)

/** Room for the fields; they point into it. */
struct ronde_why_row {
    struct ronde_field fields[RONDE_WHY_FIELDS];  /**< in the fixed order */
    char names[RONDE_WHY_PART_COUNT][32];         /**< latency_fraction ... */
    char bottleneck[160];                         /**< as ronde_why_sentence says it */
    struct ronde_field links[RONDE_WHY_LINKS][2]; /**< of `links` */
    struct ronde_row link_rows[RONDE_WHY_LINKS];  /**< of `links` */
    struct ronde_row row;                         /**< the fields */
};

/** What holds the run up, e.g. "bandwidth, 93% of the critical path: x_link_0_UP and 7 more". */
void ronde_why_sentence(const struct ronde_why *why, const struct ronde_platform *platform,
                        char *out_text, size_t bytes);

/** Three comment lines: bottleneck, parts of the critical path, busiest links. */
void ronde_why_print(const struct ronde_why *why, const struct ronde_platform *platform, FILE *file);

/** The same as fields: a fraction per part, counts of the path, the busiest links as objects. */
void ronde_why_layout(const struct ronde_why *why, const struct ronde_platform *platform,
                      struct ronde_why_row *out);

#endif
