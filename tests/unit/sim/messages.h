/**
 * Graphs of messages built by hand, for tests of the replay: "send after these have arrived and this delay".
 */
#ifndef RONDE_TESTS_MESSAGES_H
#define RONDE_TESTS_MESSAGES_H

#include "ronde/dag.h"

/** A growing graph; start from zeroes, end with messages_free. */
struct messages {
    struct ronde_dag dag; /**< valid after every call */
    size_t op_capacity;   /**< reserved */
    size_t edge_capacity; /**< reserved */
};

/** The parameters of an algorithm of the known answers; see messages_build. */
struct messages_request {
    const char *algorithm; /**< ring, stride, bcast, ... */
    uint32_t ranks;        /**< n */
    double bytes;          /**< of the vector, or of a message */
    double alpha_ns;       /**< delay of every message */
    double reduce_ns;      /**< further delay of a message that carries a fresh sum */
    const char *extra;     /**< steps=K, or f=SRC:DST:BYTES:START ... */
};

/** Appends a message and returns its number. */
uint32_t messages_add(struct messages *messages, uint32_t src, uint32_t dst, double bytes,
                      double delay_ns);

/** The last message waits for this earlier one. */
void messages_after(struct messages *messages, uint32_t earlier);

/** The same, as the receiver of the earlier one: alpha lies between. */
void messages_after_arrival(struct messages *messages, uint32_t earlier);

/** Builds an algorithm of tests/data/simgrid/KNOWN.md; false for an unknown one. */
bool messages_build(struct messages *messages, const struct messages_request *request);

/** Frees the graph. */
void messages_free(struct messages *messages);

#endif
