/**
 * What direct algorithms have in common: in step k every position sends to the one k further on (or
 * to its own number xor k), so that no port ever carries two messages. Sends are in one lane and
 * receives in another, for a receive that reduces may take longer than a send.
 */
#ifndef RONDE_SCHEDULES_ALL_PAIRS_H
#define RONDE_SCHEDULES_ALL_PAIRS_H

#include "closed_form.h"

/** Lanes of all direct algorithms. */
enum ronde_pairs_lane {
    RONDE_PAIRS_SEND,    /**< all sends */
    RONDE_PAIRS_RECEIVE, /**< all receives, and reductions of what they bring */
    RONDE_PAIRS_COPY     /**< local copies that no message waits for */
};

/**
 * Message to position `to`, on the lanes above; source, with and target as in ronde_transfer. The
 * caller fills in operands.
 */
struct ronde_transfer ronde_pairs_message(uint32_t to);

/**
 * ns from the first of n-1 sends to the end of the last of n-1 receives that take `receive_ns` each:
 * a + max((s + f) + (n-1) receive, (n-1) (s + f) + receive).
 */
double ronde_pairs_ns(const struct ronde_costs *costs, uint32_t n, double receive_ns);

/** What a piece costs a position. */
struct ronde_pairs_piece {
    double first_ns;   /**< a piece alone */
    double send_ns;    /**< the sending lane's work */
    double receive_ns; /**< the receiving lane's work */
    double message_ns; /**< from the start of a send to the end of its receive, nothing in the way */
};

/**
 * The price of pieces that follow one another through both lanes: the slower lane sets the pace,
 * unless slots are too few. Exact for equal pieces when they are not.
 */
struct ronde_price ronde_pairs_price(const struct ronde_pieces *pieces,
                                     const struct ronde_network *network, struct ronde_cut cut,
                                     const struct ronde_pairs_piece *pairs);

/**
 * The price of one round in which every position sends a block to every other, n-1 messages each way in one lane each;
 * `reduces` where what comes in is added.
 */
struct ronde_price ronde_pairs_round_price(const struct ronde_compile_request *request,
                                           const struct ronde_load *load,
                                           const struct ronde_network *network, bool reduces);

/** Lane of the message to the position `offset` further on, where each message has a lane of its own at either end. */
static inline uint32_t ronde_pairs_own_send(uint32_t offset)
{
    return offset - 1;
}

/** Lane in which the receiver of that message takes it. */
static inline uint32_t ronde_pairs_own_receive(uint32_t offset, uint32_t ranks)
{
    return ranks - 1 + offset - 1;
}

/** The lane after those, for local copies. */
static inline uint32_t ronde_pairs_own_copy(uint32_t ranks)
{
    return 2 * (ranks - 1);
}

/**
 * The price of n-1 messages that leave a port or enter it all at once, each in a lane of its own at one end; `receives` of them are
 * taken one after another at the other.
 */
struct ronde_price ronde_pairs_at_once_price(const struct ronde_compile_request *request,
                                             const struct ronde_load *load,
                                             const struct ronde_network *network, uint32_t receives);

/** `is_exact` of those: as many flows as messages fit the port. */
bool ronde_pairs_at_once_is_exact(const struct ronde_price_case *load);

/** The price of a root that sends every other position a block, n-1 messages one after another in one lane. */
struct ronde_price ronde_pairs_root_price(const struct ronde_compile_request *request,
                                          const struct ronde_load *load,
                                          const struct ronde_network *network);

#endif
