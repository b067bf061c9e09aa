/**
 * From the graph to trees: the least cut and what a collective demands, ways of messages, trees packed, flattened and
 * balanced.
 */
#ifndef RONDE_SYNTHESIS_FOREST_H
#define RONDE_SYNTHESIS_FOREST_H

#include "machine_graph.h"

#include "ronde/ir.h"
#include "ronde/synthesize.h"

/* What an edge of a tree loads: the links of the file's route between its two ranks that have a limit. A tree grows
 * from its root; data runs along its edges (all_gather) or against them (reduce_scatter). A message takes the
 * file's route and no other, so trees are packed on routes, not on links. */

/** Ways of all pairs (parent, child): pair is parent * ranks + child. */
struct ronde_ways {
    uint32_t ranks;       /**< places a tree has */
    uint32_t wire_count;  /**< wires of the wiring */
    uint32_t *first;      /**< per pair and one more: into hops */
    uint32_t *hops;       /**< wires that a message of the pair loads */
    bool *is_open;        /**< per pair: a message can go */
    uint32_t *delay_ns;   /**< per pair: until a message without bytes is there, at least 1 */
    uint32_t *first_user; /**< per wire and one more: into users */
    uint32_t *users;      /**< pairs that load a wire */
    double *rate_GBps;    /**< per wire: INFINITY where it limits nothing */
};

/** Makes the ways of a wiring; `is_reversed`: data runs from child to parent. Errors: false, no memory. */
bool ronde_ways_make(const struct ronde_wiring *wiring, bool is_reversed, struct ronde_store *pool,
                     struct ronde_ways *out_ways);

/** Ways of trees that data runs up and down: an edge loads the routes of both directions. Errors: false, no memory. */
bool ronde_ways_make_joint(const struct ronde_wiring *wiring, struct ronde_store *pool,
                           struct ronde_ways *out_ways);

/**
 * Makes delays those of messages, one each: for trees that go together with others over all links, where what is under way
 * in one leaves links to the others.
 */
void ronde_ways_count_messages(struct ronde_ways *ways);

/** Lists the users of every wire anew, after hops were changed; `users` has room already. Errors: false, no memory. */
bool ronde_ways_list_users(struct ronde_ways *ways, struct ronde_store *pool);

/** Trees. The edge into rank v of tree t is number t * ranks + v. */
struct ronde_forest {
    const struct ronde_ways *ways; /**< must outlive it */
    uint32_t tree_count;           /**< trees */
    uint32_t *root;                /**< per tree */
    uint32_t *parent;              /**< per edge: the rank it comes from; RONDE_NONE = no edge */
    uint32_t *next;                /**< per edge: another one of the same pair, or RONDE_NONE */
    uint32_t *previous;            /**< per edge: likewise */
    uint32_t *head;                /**< per pair: an edge, or RONDE_NONE */
    uint32_t *load;                /**< per wire: edges whose way it is on */
};

/** Makes room for trees with these roots and no edges. Errors: false, no memory. */
bool ronde_forest_create(struct ronde_forest *forest, const struct ronde_ways *ways,
                         const uint32_t *roots, uint32_t count, struct ronde_store *pool);

/** Adds the edge from parent to child. */
void ronde_forest_link(struct ronde_forest *forest, uint32_t tree, uint32_t parent, uint32_t child);

/** Removes the edge into child. */
void ronde_forest_unlink(struct ronde_forest *forest, uint32_t tree, uint32_t child);

/** Edges from the root to a rank. */
uint32_t ronde_forest_depth(const struct ronde_forest *forest, uint32_t tree, uint32_t rank);

/** Edges from each rank of a tree to the farthest that hangs below it, into heights[rank]. */
void ronde_forest_heights(const struct ronde_forest *forest, uint32_t tree, uint32_t *heights);

/**
 * Makes the rank a root from which the farthest rank is nearest, by turning edges round: for ways that are the same in both
 * directions, whose loads stay. `room`: a number for each rank.
 */
void ronde_forest_centre(struct ronde_forest *forest, uint32_t tree, uint32_t *room);

/** Most units per GB/s on any wire: the time of the forest, in units. */
double ronde_forest_time(const struct ronde_forest *forest);

/* Whether a machine looks the same from every rank: then the trees of one position, turned, are those of all.
 * Positions are written in digits (node, local; the axes of a torus; the bits of a hypercube). The machine is
 * symmetric if adding one to any digit carries every route onto a route, wire by wire, each wire onto one of the
 * same kind. A tree of position 0 that loads a wire then loads, with its turned copies, every wire of that wire's
 * class alike. */

/** A symmetry of a wiring. */
struct ronde_wiring_symmetry {
    uint32_t digits;                 /**< of a position; 0 = there is no symmetry */
    uint32_t radix[RONDE_MAX_SHAPE]; /**< of each, slowest first; their product is the ranks */
    uint32_t *class_of;              /**< per wire */
    uint32_t *class_size;            /**< per class: its wires */
    uint32_t class_count;            /**< classes */
    const bool *may_take;            /**< per pair: it is carried along; NULL = all are */
};

/**
 * Looks for a symmetry, shapes with few digits first; where there is none, for one of all pairs that are not half way round a digit:
 * on a torus of even length these may go either way. Errors: false, no memory.
 */
bool ronde_symmetry_find(const struct ronde_wiring *wiring, struct ronde_store *pool,
                         struct ronde_wiring_symmetry *out_symmetry);

/** Where a position stands as seen from another one: their difference, digit by digit. */
uint32_t ronde_symmetry_seen(const struct ronde_wiring_symmetry *symmetry, uint32_t position,
                             uint32_t from);

/**
 * Rewrites ways for the trees of position 0 alone: a wire stands for its class, and has the rate that is left for each of
 * the turned copies. Messages are counted for their delays. Errors: false, no memory.
 */
bool ronde_symmetry_turn(const struct ronde_wiring_symmetry *symmetry, struct ronde_store *pool,
                         struct ronde_ways *ways);

/** Links trees of one root along the axes of a torus, two for each digit; whether no two of their edges share a link. */
bool ronde_symmetry_plant(const struct ronde_wiring_symmetry *torus, struct ronde_forest *forest);

/* How far a synthesis is, for those who wait for it. */

/** Says so, if anybody listens; NULL = nobody. */
static inline void ronde_synthesis_say(const struct ronde_synthesis_progress *progress,
                                       const char *phase, uint64_t done, uint64_t total)
{
    if (progress && progress->on_progress)
        progress->on_progress(progress->context, phase, done, total);
}

/* The cuts that limit a collective, exactly. */

/** A set of places, what must leave it, and the capacity of what leaves it. */
struct ronde_graph_cut {
    bool *inside;     /**< per place */
    int64_t capacity; /**< of the arcs that leave it, in units of the graph */
    int64_t blocks;   /**< that must leave it */
};

/** A cut without a set; false where there is no memory. */
bool ronde_cut_create(const struct ronde_graph *graph, struct ronde_store *pool,
                      struct ronde_graph_cut *out_cut);

/** Capacity of the arcs that leave the set. */
int64_t ronde_cut_capacity(const struct ronde_graph *graph, const bool *inside);

/** Ranks in the set. */
uint32_t ronde_cut_ranks(const struct ronde_graph *graph, const bool *inside);

/**
 * all_gather: the set that lacks a rank and has the least capacity for each of its ranks. Errors: false, no memory.
 */
bool ronde_cut_all_gather(const struct ronde_graph *graph, struct ronde_store *pool,
                          struct ronde_graph_cut *cut);

/** scatter: the set with the root that has the least capacity for each rank outside. Errors: false, no memory. */
bool ronde_cut_scatter(const struct ronde_graph *graph, uint32_t root, struct ronde_store *pool,
                       struct ronde_graph_cut *cut);

/** broadcast: the set with the root and without some rank that has the least capacity; one block. Errors: false, no memory. */
bool ronde_cut_broadcast(const struct ronde_graph *graph, uint32_t root, struct ronde_store *pool,
                         struct ronde_graph_cut *cut);

/* Makes the trees of a balanced forest lower, without loading any wire above its limit. A pipeline fills one level
 * after the other, so a tall tree costs a replay more than the last percent of balance, and so does one that goes to another
 * node and back. Two trees that enter a rank from different parents may exchange these, which changes no load at all; and a
 * rank may move to a parent nearer the root where the way has room. Both are done wherever the sum of the squares of all
 * delays falls and that of all depths does not rise. */

/**
 * Flattens a forest whose loads are at most `limit`, per wire; overfills: a way that is on a wire twice, as on turned ways, is taken for
 * one that is on it once, which loads some links more, and makes trees lower. Errors: false, no memory.
 */
bool ronde_flatten(struct ronde_forest *forest, const uint32_t *limit, bool overfills,
                   const struct ronde_synthesis_progress *progress, struct ronde_store *pool);

/* Balances a forest: trees are grown and changed until no wire carries more than its limit. A search with weights
 * that learn: of an overloaded wire some edge is taken, and its child gets the parent whose way costs least, where
 * a way costs the weights of the wires it would overload. Wires that stay overloaded become heavier, which drives
 * trees out of dead ends (P. Morris, "The breakout method for escaping from local minima", AAAI 1993); now and then
 * a tree is taken away and grown anew at these costs. It finds packings on fixed routes, where splitting edges off
 * switches (ForestColl, section 5) may choose ways that no message takes. */

/** A search over a forest. */
struct ronde_balance {
    struct ronde_forest *forest; /**< of the trees */
    uint32_t *limit;             /**< per wire: edges it may carry */
    double *weight;              /**< per wire: what overloading it costs */
    uint32_t *overloaded;        /**< wires above their limits */
    uint32_t *place;             /**< per wire: its place among those, or RONDE_NONE */
    uint32_t overloaded_count;   /**< of those */
    uint32_t most_depth;         /**< edges from root to leaf at most */
    uint64_t random;             /**< state of its random numbers */
    double *cost;                /**< per rank: of the cheapest way into it, while a tree grows */
    uint32_t *from;              /**< per rank: where that comes from; room otherwise */
    uint32_t *depth;             /**< per rank: while a tree grows; room otherwise */
    uint32_t *path;              /**< ranks whose edges are turned round */
    bool *is_below;              /**< per rank: it hangs below the edge that moves */
    double *price;               /**< per wire: of one more edge */
    const struct ronde_synthesis_progress *progress; /**< told of trees and steps; NULL = nobody */
};

/** Makes a search for a forest. Errors: false, no memory. */
bool ronde_balance_create(struct ronde_balance *balance, struct ronde_forest *forest,
                          struct ronde_store *pool);

/** Sets the limits to the most edges that fit `time` (in units per GB/s), and weighs all wires alike again. */
void ronde_balance_aim(struct ronde_balance *balance, double time);

/** Grows all trees that have no edges. Errors: false where some rank cannot be reached. */
bool ronde_balance_grow(struct ronde_balance *balance);

/** Searches for so many steps at most; whether no wire is above its limit. */
bool ronde_balance_search(struct ronde_balance *balance, uint64_t steps);

/* Packs trees: so many for each root, balanced to the least time that so few of them can take. */

/** Trees, those of root 0 first. */
struct ronde_packing {
    struct ronde_forest forest; /**< balanced */
    uint32_t trees;             /**< for each root */
    double time; /**< units of a tree per GB/s on the busiest link: data of a root moves at trees / time GB/s */
    double bound_time; /**< the least that is known of so few trees */
};

/** Numbers of trees that are tried, the most promising first. */
#define RONDE_PACK_TRIES 4u

/** Packings of every number that was tried, so that none is packed twice; start from zeroes. */
struct ronde_packings {
    struct ronde_packing all[RONDE_PACK_TRIES];
    uint32_t count;
};

/** What to pack. */
struct ronde_pack_task {
    const struct ronde_graph *graph; /**< reversed where ways are */
    const struct ronde_ways *ways;   /**< of the trees' edges */
    uint32_t root;                   /**< the only one, or RONDE_NONE: every rank is one */
    const struct ronde_wiring_symmetry
        *symmetry; /**< the trees of rank 0 stand for those of all, on turned ways; NULL = no */
    const struct ronde_wiring_symmetry
        *torus; /**< whose axes the trees of one root follow; NULL = they are packed */
    const struct ronde_graph_cut *cut; /**< the worst cut: what leaves it limits all trees */
    double rate_GBps;                  /**< of the data of a root, by that cut */
    uint32_t arrivals; /**< messages of a tree in all, where that may limit them; 0 = it does not */
    uint32_t trees;    /**< for each root; 0 = as few as serve */
    uint32_t usual_trees; /**< for each root by preference, where `trees` is 0; 0 = most_trees */
    uint32_t most_trees;  /**< for each root at most: where the usual ones allow less than ENOUGH */
    uint32_t most_height; /**< of a tree, as far as links allow; 0 = any */
    bool descends; /**< balanced to less and less time from how they grew; else to more and more from the bound */
    bool overfills;               /**< made lower at the cost of wires that a way is on twice */
    bool is_quick;                /**< what they are for is to be replayed quickly */
    struct ronde_packings *tried; /**< gets what is tried; NULL = nobody asks again */
    const struct ronde_synthesis_progress *progress; /**< told what is being done; NULL = nobody */
};

/**
 * Packs. Everything is in the pool. Time: see docs/guide/synthesis.md. Errors: NO_MEMORY; BAD_INPUT where some rank cannot be
 * reached from a root.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_pack(const struct ronde_pack_task *task, struct ronde_store *pool,
           struct ronde_packing *out_packing, struct ronde_error *error);

/* Trees of all_reduce that data runs up and down at once, of roots that are free. Where ranks are equal,
 * reduce_scatter and then all_gather load links as evenly as can be. Where some are not, a rank with slow links is
 * a leaf of as many trees as can be, and sends and receives each tree's data once: both directions of an edge
 * count, and what links carry for one half they need not have for the other. */

/** What to pack. */
struct ronde_joint_task {
    const struct ronde_graph *graph; /**< of the wiring */
    double rate_GBps;                /**< that no schedule exceeds */
    uint32_t most_height;            /**< of a tree, as far as links allow; 0 = any */
    const struct ronde_synthesis_progress *progress; /**< told what is being done; NULL = nobody */
};

/**
 * Packs trees, each for its own part of the data, rooted in their centres. Errors: NO_MEMORY; BAD_INPUT where some rank
 * cannot be reached.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_joint_pack(const struct ronde_joint_task *task, struct ronde_store *pool,
                 struct ronde_packing *out_packing, struct ronde_error *error);

/* Bounds of collectives whose data has one destination each: all_to_all and send_recv. The worst cut of many
 * demands is hard to find (sparsest cut); these are the best of cuts that machines have: single ranks, groups that
 * faster links join than others, the cuts of all_gather; and of two lengths, by which all data together must go
 * further than all links carry in a time (T. Leighton, S. Rao, "Multicommodity max-flow min-cut theorems", JACM 46,
 * 1999, the dual). */

/** Who sends a block to whom. */
struct ronde_demand {
    const struct ronde_graph *graph; /**< of the ranks */
    const uint32_t *
        source_of; /**< send_recv: per rank, the rank whose block it receives, or RONDE_NONE; NULL = all_to_all */
};

/**
 * The least time for blocks of one unit of capacity, in 1 / capacity. `cut` is the set that decides; its capacity is 0 where
 * lengths do. Errors: false, no memory.
 */
bool ronde_demand_bound(const struct ronde_demand *demand, struct ronde_store *pool,
                        struct ronde_graph_cut *cut, double *out_time);

/* A cut in words, for people: which ranks, through which links, how fast. */

/**
 * Writes "2 of 12 hosts, h10 .. h11, take in 10 blocks by 30 GB/s: spine0-leaf2_UP, ..." into out_text. `is_reversed`: the
 * cut was found on the reversed graph. Returns the ranks on the side that is named.
 */
uint32_t ronde_cut_words(const struct ronde_graph *graph, const struct ronde_graph_cut *cut,
                         bool is_reversed, char *out_text, size_t bytes);

#endif
