/**
 * Sets of operations, a bit each, made from the columns of RONDE_STEP_LIST: what a step does is
 * looked up in these sets, once per step where a walk would do so once per chunk. Free of libc: the
 * step interpreter uses them on GPUs as well.
 */
#ifndef RONDE_ENGINE_EXECUTE_OPERATION_H
#define RONDE_ENGINE_EXECUTE_OPERATION_H

#include "ronde/ir.h"

/* A column as a set. */
#define RONDE_BIT_SOURCE(name, text, source, receives, reduces, sends, writes, rereads, kept)      \
    | ((source) << RONDE_STEP_##name)
#define RONDE_BIT_RECEIVES(name, text, source, receives, reduces, sends, writes, rereads, kept)    \
    | ((receives) << RONDE_STEP_##name)
#define RONDE_BIT_REDUCES(name, text, source, receives, reduces, sends, writes, rereads, kept)     \
    | ((reduces) << RONDE_STEP_##name)
#define RONDE_BIT_SENDS(name, text, source, receives, reduces, sends, writes, rereads, kept)       \
    | ((sends) << RONDE_STEP_##name)
#define RONDE_BIT_WRITES(name, text, source, receives, reduces, sends, writes, rereads, kept)      \
    | ((writes) << RONDE_STEP_##name)
#define RONDE_BIT_REREADS(name, text, source, receives, reduces, sends, writes, rereads, kept)     \
    | ((rereads) << RONDE_STEP_##name)
#define RONDE_BIT_KEPT(name, text, source, receives, reduces, sends, writes, rereads, kept)        \
    | ((kept) << RONDE_STEP_##name)

/** Sets of operations. The operation decides which fields of a step mean something. */
enum ronde_op_bits {
    RONDE_OPS_WITH_SOURCE = 0 RONDE_STEP_LIST(RONDE_BIT_SOURCE),    /**< read their source */
    RONDE_OPS_THAT_RECEIVE = 0 RONDE_STEP_LIST(RONDE_BIT_RECEIVES), /**< consume a message */
    RONDE_OPS_THAT_REDUCE = 0 RONDE_STEP_LIST(RONDE_BIT_REDUCES),   /**< apply the operator */
    RONDE_OPS_THAT_SEND = 0 RONDE_STEP_LIST(RONDE_BIT_SENDS),       /**< produce a message */
    RONDE_OPS_THAT_WRITE = 0 RONDE_STEP_LIST(RONDE_BIT_WRITES),     /**< write their destination */
    RONDE_OPS_THAT_REREAD = 0 RONDE_STEP_LIST(RONDE_BIT_REREADS), /**< read their destination first */
    RONDE_OPS_THAT_SEND_KEPT = 0 RONDE_STEP_LIST(RONDE_BIT_KEPT), /**< send what they write */
    /** Have an operand: the others move messages on, or nothing. */
    RONDE_OPS_WITH_OPERAND = RONDE_OPS_WITH_SOURCE | RONDE_OPS_THAT_WRITE,
    /** Pass a message on as it is and keep nothing of it: rs. */
    RONDE_OPS_THAT_PASS = RONDE_OPS_THAT_RECEIVE & RONDE_OPS_THAT_SEND & ~RONDE_OPS_WITH_OPERAND,
    /** Keep a message as it came: recv, rcs. */
    RONDE_OPS_THAT_STORE = RONDE_OPS_THAT_RECEIVE & RONDE_OPS_THAT_WRITE & ~RONDE_OPS_THAT_REDUCE,
    /** Send their source as it is: send. */
    RONDE_OPS_THAT_SEND_SOURCE = RONDE_OPS_THAT_SEND & RONDE_OPS_WITH_SOURCE &
                                 ~RONDE_OPS_THAT_REDUCE & ~RONDE_OPS_THAT_RECEIVE,
    /** Send what they have just computed: rrs, rrcs. */
    RONDE_OPS_THAT_SEND_RESULT = RONDE_OPS_THAT_SEND & RONDE_OPS_THAT_REDUCE,
    /** Move data within the rank's memory as it is: copy. */
    RONDE_OPS_THAT_COPY = RONDE_OPS_WITH_SOURCE & RONDE_OPS_THAT_WRITE & ~RONDE_OPS_THAT_REDUCE &
                          ~RONDE_OPS_THAT_RECEIVE & ~RONDE_OPS_THAT_SEND
};
#undef RONDE_BIT_SOURCE
#undef RONDE_BIT_RECEIVES
#undef RONDE_BIT_REDUCES
#undef RONDE_BIT_SENDS
#undef RONDE_BIT_WRITES
#undef RONDE_BIT_REREADS
#undef RONDE_BIT_KEPT

/** Whether an operation is in a set; it is below RONDE_STEP_OP_COUNT. */
RONDE_INLINE bool ronde_op_is_in(uint32_t op, int set)
{
    return (set >> op & 1) != 0;
}

/** What an operation does, for walks that keep it over the chunks of a step. */
struct ronde_operation {
    bool reads;
    bool receives;
    bool reduces;
    bool sends;
    bool writes;
    bool reads_destination;
};

/** What a step's operation does. */
RONDE_INLINE struct ronde_operation ronde_operation_of(const struct ronde_step *step)
{
    struct ronde_operation does;
    does.reads = ronde_op_is_in(step->op, RONDE_OPS_WITH_SOURCE);
    does.receives = ronde_op_is_in(step->op, RONDE_OPS_THAT_RECEIVE);
    does.reduces = ronde_op_is_in(step->op, RONDE_OPS_THAT_REDUCE);
    does.sends = ronde_op_is_in(step->op, RONDE_OPS_THAT_SEND);
    does.writes = ronde_op_is_in(step->op, RONDE_OPS_THAT_WRITE);
    does.reads_destination = ronde_op_is_in(step->op, RONDE_OPS_THAT_REREAD);
    return does;
}

#endif
