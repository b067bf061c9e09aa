/**
 * The connections of a program by what they lead to. Whoever looks for the other end of a message searches here.
 */
#ifndef RONDE_ENGINE_IR_ENDS_H
#define RONDE_ENGINE_IR_ENDS_H

#include "engine/ir/arena.h"

#include "ronde/cursor.h"

/** A connection in the order it is searched in. */
struct ronde_end_entry {
    uint64_t key; /**< its peer, as stored, and its tag */
    uint32_t end; /**< number in the program */
    bool is_send;
};

/** All connections of a program: those that receive, then those that send, each by key and then by number. */
struct ronde_ends {
    struct ronde_end_entry *entries;
    uint32_t count;
};

/** Lists a program's connections; false when there is no memory. */
bool ronde_ends_list(struct ronde_ends *out, const struct ronde_program *program,
                     struct ronde_arena *arena);

/** Lists those of all programs of a schedule; NULL when there is no memory. */
struct ronde_ends *ronde_ends_list_all(const struct ronde_schedule *schedule,
                                       struct ronde_arena *arena);

/** Whether two entries are alike but for their number: no schedule that was checked has such. */
static inline bool ronde_ends_are_same(const struct ronde_end_entry *a,
                                       const struct ronde_end_entry *b)
{
    return a->key == b->key && a->is_send == b->is_send;
}

/**
 * The entries that are the same as `wanted`: *out_count from the first on. Several only where a schedule was not checked.
 */
const struct ronde_end_entry *ronde_ends_find(const struct ronde_ends *ends,
                                              const struct ronde_end_entry *wanted,
                                              uint32_t *out_count);

/** What to look for in the ends of position `there`: the other end of a connection of position `here`. */
static inline struct ronde_end_entry ronde_ends_other(const struct ronde_schedule *schedule,
                                                      const struct ronde_connection *connection,
                                                      uint32_t here, uint32_t there)
{
    const uint32_t peer = schedule->absolute_peers
                              ? here
                              : ronde_group_add(schedule, here, ronde_group_negate(schedule, there));
    return (struct ronde_end_entry){(uint64_t)peer << 32 | connection->tag, RONDE_NONE,
                                    !connection->is_send};
}

#endif
