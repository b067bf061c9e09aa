/**
 * What an operation does, looked up once per step where a walk asks once per chunk.
 */
#ifndef RONDE_ENGINE_OPERATION_H
#define RONDE_ENGINE_OPERATION_H

#include "ronde/ir.h"

/** The columns of RONDE_STEP_LIST. */
struct ronde_operation {
    bool reads;
    bool receives;
    bool reduces;
    bool sends;
    bool writes;
};

/** What a step's operation does. */
static inline struct ronde_operation ronde_operation_of(const struct ronde_step *step)
{
    const enum ronde_step_op op = (enum ronde_step_op)step->op;
    return (struct ronde_operation){
        .reads = ronde_step_reads_source(op),
        .receives = ronde_step_receives(op),
        .reduces = ronde_step_reduces(op),
        .sends = ronde_step_sends(op),
        .writes = ronde_step_writes(op),
    };
}

#endif
