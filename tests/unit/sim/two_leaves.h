/**
 * Graphs by hand on two leaves of eight hosts with ports of 50 GB/s, whose uplinks carry four ports, for the engines in
 * which messages share links; and what such an engine must do whatever its way of sharing.
 */
#ifndef RONDE_TESTS_TWO_LEAVES_H
#define RONDE_TESTS_TWO_LEAVES_H

#include "messages.h"
#include "swept.h"
#include "unit/leaves.h"

/** The engine under test. */
struct two_leaves_engine {
    const char *name; /**< that its results have */
    swept_graph_engine run;
    bool is_exact;         /**< its results are said to be free of contention */
    const char *most_said; /**< in its refusal of a graph that is too large */
};

/** Set by main before the tests run. */
extern struct two_leaves_engine two_leaves_engine;

/** Operations of a graph, at most. */
#define TWO_LEAVES_OPS 64u

/** A graph and its replay. */
struct two_leaves {
    struct leaves leaves;
    struct messages messages; /**< the graph, filled by the test */
    struct ronde_sim_result result;
    struct ronde_error error;
    double finish_ns[TWO_LEAVES_OPS]; /**< of each message, as two_leaves_replay found it */
};

/** The shape of the platform. */
extern const struct leaves_shape two_leaves_shape;

/** Begins with an empty graph; false after a skip or a failed assertion. */
bool two_leaves_begin(struct two_leaves *stage);

/** Frees the graph and the platform. */
void two_leaves_end(struct two_leaves *stage);

/** Replays the graph; options may be NULL. */
enum ronde_status two_leaves_run(struct two_leaves *stage, const struct ronde_sim_options *options);

/** Replays the graph, which must succeed, and keeps when each message was over. */
void two_leaves_replay(struct two_leaves *stage);

/** Asserts when a message was over. */
void two_leaves_expect(const struct two_leaves *stage, uint32_t op, double expected_ns);

/** A case: delay, flow, latency of the route and alpha, release; empty messages and those to oneself do not flow. */
void two_leaves_time_model(void);

/** A case: graphs for more hosts, with cycles, or too large are refused. */
void two_leaves_bad_graphs(void);

/** A case: a graph without operations takes no time. */
void two_leaves_nothing(void);

/** A case: no allocation may fail unnoticed. */
void two_leaves_allocations(void);

#endif
