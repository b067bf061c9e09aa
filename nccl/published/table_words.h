/** Words of a table's cells as people write them. */
#ifndef RONDE_NCCL_PUBLISHED_TABLE_WORDS_H
#define RONDE_NCCL_PUBLISHED_TABLE_WORDS_H

#include "ronde/nccl_model.h"

/**
 * Whether a column's heading is a name but for capitals, blanks and punctuation: "Time (us)" and "busbw (GB/s)" for time_us and
 * busbw_GBps. "size", "size (B)" and "ranks" stand for bytes and gpus.
 */
bool table_heading(const char *text, const char *name);

/** "AllReduce", "all-reduce", "all_reduce_perf"; false for a name that is none. */
bool table_collective(const char *text, enum ronde_collective *out);

/** "Ring", "ring", and "", "auto", "default" for no wish; false for one that NCCL does not have or that is not modelled. */
bool table_algorithm(const char *text, enum ronde_nccl_algorithm *out);

/** The same of protocols. */
bool table_protocol(const char *text, enum ronde_nccl_protocol *out);

/**
 * The version that a text has, as 100 major + minor: "2.29.2", "NCCL version 2.29.2+cuda13.1", "v2.29", "22902" (NCCL's
 * own number for it). False for a text without one.
 */
bool table_version(const char *text, uint32_t *out);

/** A whole number as tables have it: "8", and "8.0" and "1.6e1" of programs that know only such numbers. */
bool table_whole(const char *text, uint64_t *out);

/** What a printed number may be off by: half of its last digit. "0.01" 0.005; 0 for one with an exponent. */
double table_rounding(const char *text);

#endif
