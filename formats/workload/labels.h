/**
 * Names of items within one program, and which item each names.
 */
#ifndef RONDE_FORMATS_WORKLOAD_LABELS_H
#define RONDE_FORMATS_WORKLOAD_LABELS_H

#include "ronde/workload.h"

/** A word of a file, not terminated. */
struct label_text {
    const char *at; /**< first character */
    size_t bytes;   /**< how many */
};

/** An open-addressed table. Start from zeroes with `mem` set. */
struct labels {
    const struct ronde_mem *mem; /**< whose memory */
    struct label_slot *slots;    /**< table */
    size_t slot_count;           /**< a power of two, or 0 */
    size_t count;                /**< used */
};

/** One entry. */
struct label_slot {
    struct label_text text; /**< points into the file */
    uint64_t value;         /**< what it names */
    bool is_used;           /**< whether it is an entry */
};

/** What a name names, or NULL. */
const uint64_t *labels_find(const struct labels *labels, struct label_text text);

/** Adds a name that is not there. Returns false without memory. */
bool labels_add(struct labels *labels, struct label_text text, uint64_t value);

/** Forgets all names and keeps the memory. */
void labels_clear(struct labels *labels);

/** Frees the memory. */
void labels_free(struct labels *labels);

#endif
