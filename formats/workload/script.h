/**
 * Reading ronde's own form of workloads: what its parts share.
 */
#ifndef RONDE_FORMATS_WORKLOAD_SCRIPT_H
#define RONDE_FORMATS_WORKLOAD_SCRIPT_H

#include "labels.h"
#include "words.h"

/* A statement of a program, the same for all of its ranks. */
struct statement {
    struct ronde_work work; /* first_dep and dep_count are into the program's deps */
    int64_t offset;         /* of a relative peer */
    bool is_relative;       /* the peer is the rank plus offset */
    uint32_t family;        /* collective */
};

/* An array that grows. */
struct list {
    void *all;
    size_t capacity;
    uint32_t count;
};

/* What is being read. */
struct script {
    struct words words;
    const struct ronde_mem *mem;
    struct ronde_workload *workload;
    struct labels families; /* name -> family */
    struct list group_of;   /* uint32_t: family * ranks + rank -> group, or RONDE_NONE */
    struct labels labels;   /* of the program: name -> statement */
    struct list statements; /* struct statement */
    struct list deps;       /* uint32_t: statements */
    struct list set;        /* uint32_t: ranks of the program, or of a group */
};

/** Adds an element to one of the lists. False after a refusal, and without memory. */
bool script_append(struct script *script, struct list *list, const void *element, size_t bytes);

/** Keeps the first status that is not OK. */
void script_keep(struct script *script, enum ronde_status status);

/** Reads ranks, 0-7,16 or 0-56:8, into script->set. */
void script_read_set(struct script *script, struct label_text set);

/** Reads a family of groups behind its keyword. */
void script_read_groups(struct script *script);

#endif
