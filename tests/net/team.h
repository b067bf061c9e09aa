/**
 * A team: processes that a test forks, each a rank of a communicator, and what became of them.
 *
 * Asserts of a child would be lost, so a child notes what went wrong in memory it shares with the test.
 */
#ifndef RONDE_TESTS_TEAM_H
#define RONDE_TESTS_TEAM_H

#include "ronde/comm.h"

#include <stdbool.h>

/** What team_options asks for. */
extern enum ronde_transport team_transport;

/** Members in a row that name the same host; 0 = the machine's own name counts. */
extern uint32_t team_ranks_per_host;

/** Ranks of a team, at most. */
#define TEAM_MAX 64u

/** What became of a member. */
struct team_result {
    enum ronde_status status;                /**< what its part returned */
    char message[RONDE_ERROR_MESSAGE_BYTES]; /**< of the part's error */
    uint64_t checks;                         /**< conditions that held */
    uint64_t failures;                       /**< conditions that did not */
    char failure[256];                       /**< the first of them */
    uint64_t number;                         /**< the part's own */
    int exit_code;                           /**< of the process; -1 if a signal ended it */
    int signal;                              /**< that ended it, or 0 */
};

/** A member in its own process. */
struct team_member {
    struct ronde_join join;     /**< how it joins the others */
    struct team_result *result; /**< shared with the test */
    const void *self;           /**< the part's own */
};

/** What a member does; the status and the error become its result. */
typedef enum ronde_status (*team_part)(const struct team_member *member, struct ronde_error *error);

/** Forks `ranks` members that meet at 127.0.0.1, waits for all, fills `results`. False if the system refuses. */
bool team_run(uint32_t ranks, team_part part, const void *self, struct team_result *results);

/** Notes a condition of a child; false if it does not hold. */
bool team_check(const struct team_member *member, bool condition, const char *text);

/** Asserts that every member ended by itself, without failed conditions, with this status. */
void team_expect(const struct team_result *results, uint32_t ranks, enum ronde_status status);

/**
 * What time limits are multiplied by: beside programs that never sleep a rank that yields waits seconds for a processor, and
 * builds run many times slower under a sanitizer.
 */
uint64_t team_patience(void);

/** Runs a case once over UCX alone and once with hosts of two ranks; skips it visibly where this build has no UCX. */
void team_over_ucx(void (*run)(void));

/** Options with a limit of so many seconds, at normal speed. */
struct ronde_comm_options team_options(uint64_t seconds);

/** Joins the others with these options. Owner: the caller destroys *out_comm. */
enum ronde_status team_join(const struct team_member *member, uint64_t seconds,
                            struct ronde_comm **out_comm, struct ronde_error *error);

/** Runs a team as team_run does and asserts of its members what team_expect does. */
void team_run_expecting(uint32_t ranks, team_part part, const void *self,
                        struct team_result *results, enum ronde_status status);

#endif
