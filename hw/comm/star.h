/**
 * A star: rank 0 holds a connection to every other rank. Carries what is rare: bytes to gather, bad news, and, once somebody
 * has waited too long, the question who is doing what.
 *
 * Rank 0 listens, the others greet it with version, rank and token. Whoever does not know the token, sends nonsense or
 * nothing is dropped and noted. The connections stay open: when one ends without a farewell, its rank is lost, and rank
 * 0 passes that on. Belongs to one thread, but for ronde_star_abort.
 */
#ifndef RONDE_HW_COMM_STAR_H
#define RONDE_HW_COMM_STAR_H

#include "ronde/comm.h"

/** First word of a greeting, in the sender's byte order: another order is another number, and refused. */
#define RONDE_STAR_MAGIC 0x656e64726f6e6472u

/** Version of what travels between ranks; greetings begin alike in all of them. */
#define RONDE_STAR_WIRE 2u

/** What a rank says first. No version may change it, or versions could not tell each other apart. */
struct ronde_greeting {
    uint64_t magic;                /**< RONDE_STAR_MAGIC */
    uint32_t wire;                 /**< RONDE_STAR_WIRE */
    uint32_t rank;                 /**< of the sender */
    uint32_t ranks;                /**< it expects */
    uint32_t reserved;             /**< 0 */
    char library[24];              /**< version of ronde, zero-padded */
    char token[RONDE_TOKEN_BYTES]; /**< zero-padded */
};

struct ronde_star;

/** What a rank may be doing. */
enum ronde_doing {
    RONDE_DOING_NOTHING, /**< it answers, and is in no run */
    RONDE_DOING_RUN,     /**< it is in a run */
    RONDE_DOING_GATHER,  /**< it has come to gather */
    RONDE_DOING_COUNT    /**< number of these */
};

/** Of a rank in a run that waits for others without knowing for whom. */
#define RONDE_ANYBODY (UINT32_MAX - 1)

/** What a rank says it is doing. */
struct ronde_report {
    uint32_t doing;      /**< enum ronde_doing */
    uint32_t waits_for;  /**< a rank, RONDE_ANYBODY, or RONDE_NONE */
    uint64_t run;        /**< that it is in, or was in last */
    uint64_t still_ns;   /**< since something moved there */
    uint32_t is_unbegun; /**< the rank it waits for has not begun the run */
    uint32_t reserved;   /**< 0 */
    char name[96];       /**< of what runs */
    char reason[192];    /**< what stops it, a sentence without its end */
};

/** Fills in a report of a rank that is not gathering; what comes is zeroed, but for waits_for, which is RONDE_NONE. */
typedef void (*ronde_star_account)(void *self, struct ronde_report *out);

/**
 * Meets the other ranks. join->listener, if any, is taken over in every case. Time: O(ranks) at rank 0.
 * Owner: the caller destroys *out_star. Errors: those of ronde_comm_join.
 */
enum ronde_status ronde_star_create(const struct ronde_join *join,
                                    const struct ronde_comm_options *options,
                                    const struct ronde_mem *mem, struct ronde_star **out_star,
                                    struct ronde_error *error);

/** Says farewell and closes; NULL is allowed. */
void ronde_star_destroy(struct ronde_star *star);

/** Gathers bytes of all ranks, in order of ranks. Collective. Errors: TIMEOUT, DEVICE naming a rank; those of a failed star. */
enum ronde_status ronde_star_allgather(struct ronde_star *star, const void *mine, size_t bytes,
                                       void *out_all, struct ronde_error *error);

/** Looks for bad news; at rank 0 it also passes them on. Never blocks. Errors: DEVICE naming a lost rank; what was told. */
enum ronde_status ronde_star_check(struct ronde_star *star, struct ronde_error *error);

/** How long the star is given to tell more of a lost rank than a message does that has failed. */
#define RONDE_STAR_GRACE_NS 3e8

/** The same, waiting at most so long for them. */
enum ronde_status ronde_star_linger(struct ronde_star *star, double wait_ns,
                                    struct ronde_error *error);

/** Looks for bad news without asking the system: a failure of before, or an abort asked for since. */
enum ronde_status ronde_star_known(struct ronde_star *star, struct ronde_error *error);

/** Tells all ranks that it is over, and why. Best effort: who is gone is told nothing. */
void ronde_star_alarm(struct ronde_star *star, const struct ronde_error *why);

/**
 * What else a rank keeps going while it waits at the star: called before each wait, it returns a descriptor that becomes
 * readable when it wants to be called again, or -1 when it soon does. NULL = nothing.
 */
typedef int (*ronde_star_tend)(void *self);

/** Has something tended to from now on. */
void ronde_star_set_tend(struct ronde_star *star, ronde_star_tend tend, void *self);

/** Says who accounts for this rank from now on; nobody: it is in no run. */
void ronde_star_set_account(struct ronde_star *star, ronde_star_account account, void *self);

/**
 * Time is over, which was limit_ns: finds out which rank all the others wait for, and tells everybody. Takes half a second
 * where a rank is silent, a second where that is rank 0. Always fails: TIMEOUT naming that rank, or news that came before.
 */
enum ronde_status ronde_star_late(struct ronde_star *star, double limit_ns,
                                  struct ronde_error *error);

/** Asks for an alarm from any thread; the next check, gather or run raises it. */
void ronde_star_abort(struct ronde_star *star);

/** Whether a rank is known to have left; only rank 0 knows it of all, the others of rank 0. */
bool ronde_star_has_left(const struct ronde_star *star, uint32_t rank);

/** The address under which the others reach this rank, as far as the star shows it. */
void ronde_star_host(const struct ronde_star *star, char *text, size_t bytes);

#endif
