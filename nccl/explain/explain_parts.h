/** Inside `explain`: calls of ranks put together into calls of groups. */
#ifndef RONDE_NCCL_EXPLAIN_EXPLAIN_PARTS_H
#define RONDE_NCCL_EXPLAIN_EXPLAIN_PARTS_H

#include "ronde/explain.h"

/* What one rank saw, and which call that is. */
struct explain_part {
    uint32_t call;     /* index in the traces */
    uint64_t instance; /* number among the calls of its group and collective */
};

/* A call of a group. */
struct explain_instance {
    uint32_t group;   /* index; NONE */
    uint32_t process; /* of no group: whose it is; else 0 */
    enum ronde_collective collective;
    uint64_t bytes;     /* most of its ranks */
    uint32_t seen;      /* ranks with a time */
    uint32_t missing;   /* ranks that recorded it without a time */
    uint32_t last;      /* process with the least time */
    uint32_t last_rank; /* its rank, in the job or else in the group */
    int64_t exposed_ns; /* of all ranks together, where it is known */
    int64_t hidden_ns;
    uint32_t overlapped; /* ranks where it is */
    int64_t least_ns;    /* NO_TIME: nobody's is known */
    int64_t lead_ns;     /* by how much the next one's is longer */
    int64_t sum_ns;      /* of them all */
    int64_t median_ns;   /* of its ranks */
    int64_t apart_ns;    /* median less the second least: what the others are apart */
};

/* The steps that rates are over: the most of any trace, 1 where none marks any. */
uint32_t explain_count_steps(const struct ronde_traces *traces);

/* The calls of a step, or all: `parts` has room for all. Errors: BAD_INPUT where there is no such step. */
RONDE_MUST_CHECK enum ronde_status explain_select(const struct ronde_traces *traces, uint32_t step,
                                                  struct explain_part *parts, size_t *out_count,
                                                  struct ronde_error *error);

/* Numbers parts by the calls they are of and sorts them: by group (calls of no group are each process's own), collective, call. */
void explain_number(const struct ronde_traces *traces, struct explain_part *parts, size_t count);

/* How many parts from the first on are of its call. */
size_t explain_run(const struct ronde_traces *traces, const struct explain_part *parts,
                   size_t count);

/* The parts of one instance as it. `scratch` has room for their times. */
struct explain_instance explain_put_together(const struct ronde_traces *traces,
                                             const struct explain_part *parts, size_t count,
                                             int64_t *scratch);

/* What qsort asks of two numbers. */
static inline int explain_order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static inline int explain_order_ns(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

#endif
