/* Names and properties of step operations and findings: tables made from the lists of ir.h. */
#include "engine/execute/operation.h"
#include "ronde/ir.h"

static const char *const step_texts[] = {
#define STEP_TEXT(name, text, ...) text,
    RONDE_STEP_LIST(STEP_TEXT)
#undef STEP_TEXT
};

/* Where the bytes of an operation are read and written; the columns that say what is done to them on the way cost none. */
#define TOUCHES(source, receives, sends, writes, rereads)                                          \
    ((source) + (receives) + (sends) + (writes) + (rereads))

/*
 * A row that contradicts itself does not compile: a column is 0 or 1; only nop moves nothing, so that no operation is free
 * of charge by oversight; a destination is read before it is written, and what is sent from it is written there first.
 */
#define STEP_CHECK(name, text, source, receives, reduces, sends, writes, rereads, kept)            \
    _Static_assert(((source) | (receives) | (reduces) | (sends) | (writes)) <= 1 &&                \
                       ((rereads) | (kept)) <= 1,                                                  \
                   text ": a column is neither 0 nor 1");                                          \
    _Static_assert((TOUCHES(source, receives, sends, writes, rereads) == 0) ==                     \
                       (RONDE_STEP_##name == RONDE_STEP_NOP),                                      \
                   text ": an operation other than nop moves nothing");                            \
    _Static_assert((rereads) <= (writes) && (kept) <= ((sends) & (writes)),                        \
                   text ": reads or sends a destination that it does not write");
RONDE_STEP_LIST(STEP_CHECK)
#undef STEP_CHECK

static const char *const finding_texts[] = {RONDE_FINDING_LIST(RONDE_LIST_TEXT)};

/* An operation out of range does nothing at all: callers see it only in a step they are about to refuse. */
static bool is_in(enum ronde_step_op op, int set)
{
    return (uint32_t)op < RONDE_STEP_OP_COUNT && ronde_op_is_in(op, set);
}

const char *ronde_step_op_text(enum ronde_step_op op)
{
    return (uint32_t)op < RONDE_STEP_OP_COUNT ? step_texts[op] : "?";
}

bool ronde_step_reads_source(enum ronde_step_op op)
{
    return is_in(op, RONDE_OPS_WITH_SOURCE);
}

bool ronde_step_receives(enum ronde_step_op op)
{
    return is_in(op, RONDE_OPS_THAT_RECEIVE);
}

bool ronde_step_reduces(enum ronde_step_op op)
{
    return is_in(op, RONDE_OPS_THAT_REDUCE);
}

bool ronde_step_sends(enum ronde_step_op op)
{
    return is_in(op, RONDE_OPS_THAT_SEND);
}

bool ronde_step_writes(enum ronde_step_op op)
{
    return is_in(op, RONDE_OPS_THAT_WRITE);
}

bool ronde_step_reads_destination(enum ronde_step_op op)
{
    return is_in(op, RONDE_OPS_THAT_REREAD);
}

bool ronde_step_sends_kept(enum ronde_step_op op)
{
    return is_in(op, RONDE_OPS_THAT_SEND_KEPT);
}

uint32_t ronde_step_touches(enum ronde_step_op op)
{
    return (uint32_t)TOUCHES(is_in(op, RONDE_OPS_WITH_SOURCE), is_in(op, RONDE_OPS_THAT_RECEIVE),
                             is_in(op, RONDE_OPS_THAT_SEND), is_in(op, RONDE_OPS_THAT_WRITE),
                             is_in(op, RONDE_OPS_THAT_REREAD));
}

bool ronde_program_takes_over(const struct ronde_program *program, uint32_t step)
{
    return step > 0 && (program->steps[step - 1].flags & RONDE_FLAG_JOINED) != 0;
}

uint32_t ronde_program_touches(const struct ronde_program *program, uint32_t step)
{
    const struct ronde_step *self = &program->steps[step];
    return ronde_step_touches((enum ronde_step_op)self->op) -
           ((self->flags & RONDE_FLAG_JOINED) != 0) - ronde_program_takes_over(program, step);
}

static const char *const v_form_texts[] = {RONDE_V_FORM_LIST(RONDE_LIST_TEXT)};

const char *ronde_v_form_text(enum ronde_v_form v_form)
{
    return (uint32_t)v_form < RONDE_V_FORM_COUNT ? v_form_texts[v_form] : "?";
}

static const char *const form_texts[] = {RONDE_FORM_LIST(RONDE_LIST_TEXT)};

const char *ronde_form_text(enum ronde_form form)
{
    return (uint32_t)form < RONDE_FORM_COUNT ? form_texts[form] : "?";
}

const char *ronde_finding_text(enum ronde_finding_code code)
{
    return (uint32_t)code < RONDE_FINDING_COUNT ? finding_texts[code] : "?";
}
