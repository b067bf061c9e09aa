/**
 * Whether a machine looks the same from every rank: then the trees of one position, turned, are those of all.
 *
 * Positions are written in digits (node, local; the axes of a torus; the bits of a hypercube). The machine is symmetric if
 * adding one to any digit carries every route onto a route, wire by wire, each wire onto one of the same kind. A tree of
 * position 0 that loads a wire then loads, with its turned copies, every wire of that wire's class alike.
 */
#ifndef RONDE_SYNTHESIS_SYMMETRY_H
#define RONDE_SYNTHESIS_SYMMETRY_H

#include "ways.h"

#include "ronde/ir.h"

/** A symmetry of a wiring. */
struct ronde_wiring_symmetry {
    uint32_t digits;                 /**< of a position; 0 = there is no symmetry */
    uint32_t radix[RONDE_MAX_SHAPE]; /**< of each, slowest first; their product is the ranks */
    uint32_t *class_of;              /**< per wire */
    uint32_t *class_size;            /**< per class: its wires */
    uint32_t class_count;            /**< classes */
};

/** Looks for a symmetry, shapes with few digits first. Errors: false, no memory. */
bool ronde_symmetry_find(const struct ronde_wiring *wiring, struct ronde_index_pool *pool,
                         struct ronde_wiring_symmetry *out_symmetry);

/** Where a position stands as seen from another one: their difference, digit by digit. */
uint32_t ronde_symmetry_seen(const struct ronde_wiring_symmetry *symmetry, uint32_t position,
                             uint32_t from);

/**
 * Rewrites ways for the trees of position 0 alone: a wire stands for its class, and has the rate that is left for each of
 * the turned copies. Errors: false, no memory.
 */
bool ronde_symmetry_turn(const struct ronde_wiring_symmetry *symmetry,
                         struct ronde_index_pool *pool, struct ronde_ways *ways);

#endif
