/**
 * One algorithm for one launch: what a program asks that does not want to know how algorithms are chosen.
 *
 * The first of these that says anything decides: a platform, if one is given, by prices on it (platform_price.h); times
 * measured on the backend (measured.h); a network that stands for the backend's kind of machine, by closed forms and longest
 * paths. Every call compiles and proves all candidates: keep the answer.
 *
 * The networks are nominal, and what they fix is where few messages beat few bytes. Ranks of one host: 200 ns for a message,
 * two transfers of a cache line between cores (some 50 to 100 ns each on current servers: Molka et al., PACT 2009 and
 * ICPP 2015), copies and sums at 8 GB/s, what one core does to memory out of its caches. Ranks of several hosts: 100 Gbit/s
 * ports on one switch, 20 us between two TCP sockets (topologies/ethernet-16.xml has the sources). A message and a byte
 * cost as much as each other at some 1,600 bytes in the first and 250,000 in the second.
 */
#ifndef RONDE_SELECT_H
#define RONDE_SELECT_H

#include "ronde/selector.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What is launched, and where. What it points to outlives the call. */
struct ronde_select_query {
    struct ronde_compile_request request; /**< collective, ranks, root, pairs; its algorithm is not read */
    uint64_t count;                       /**< elements of a block */
    enum ronde_dtype dtype;               /**< their type */
    enum ronde_op op;                     /**< where something is reduced */
    uint64_t slot_bytes; /**< of a connection's slot; 0 = the default of what prices */
    bool needs_v_form;   /**< blocks may differ in length: only algorithms with such a form */
    const char *backend; /**< backend or transport, as tables name it */
    uint32_t cores;      /**< that all ranks together have; UINT32_MAX where that does not apply */
    bool is_one_host;    /**< ranks share the memory of one machine */
    const struct ronde_platform *platform; /**< prices on it decide; NULL = none */
};

/** What was chosen. */
struct ronde_selection {
    const char *algorithm;  /**< a name of the registry, of static storage */
    enum ronde_basis basis; /**< what decided: PLATFORM, MEASURED or DEFAULT */
    double time_ns;         /**< what that says it takes */
    char words[400]; /**< the basis in words: which machine, which table, which was left out */
    char left_out[RONDE_LEFT_OUT_BYTES]; /**< the last of these alone; "" = none */
};

/**
 * Chooses. The answer depends on the query, the table found and the platform alone; ranks that may have other tables ask one
 * of them. Errors: those of ronde_choice_init, ronde_measured_find and ronde_platform_pricer_open; UNSUPPORTED where no
 * algorithm has the form that is needed; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_select(const struct ronde_select_query *query, const struct ronde_mem *mem,
             struct ronde_selection *out_selection, struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
