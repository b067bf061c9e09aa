/* Names and properties of step operations and findings: tables made from the lists of ir.h. */
#include "ronde/ir.h"

/* One row of RONDE_STEP_LIST. */
struct step_row {
    const char *text;
    bool reads_source;
    bool receives;
    bool reduces;
    bool sends;
    bool writes;
    bool reads_destination;
    bool sends_kept;
    uint8_t touches;
};

/* Where the bytes of an operation are read and written; the columns that say what is done to them on the way cost none. */
#define TOUCHES(source, receives, sends, writes, rereads)                                          \
    ((source) + (receives) + (sends) + (writes) + (rereads))

static const struct step_row step_rows[] = {
#define STEP_ROW(name, text, source, receives, reduces, sends, writes, rereads, kept)              \
    {text,    source, receives,                                                                    \
     reduces, sends,  writes,                                                                      \
     rereads, kept,   TOUCHES(source, receives, sends, writes, rereads)},
    RONDE_STEP_LIST(STEP_ROW)
#undef STEP_ROW
};

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

static const char *const finding_texts[] = {
#define FINDING_TEXT(name, text) text,
    RONDE_FINDING_LIST(FINDING_TEXT)
#undef FINDING_TEXT
};

/*
 * An operation out of range does nothing at all: callers see it only in a step they are about to
 * refuse.
 */
static const struct step_row *row_of(enum ronde_step_op op)
{
    static const struct step_row unknown = {.text = "?"};
    return (uint32_t)op < RONDE_STEP_OP_COUNT ? &step_rows[op] : &unknown;
}

const char *ronde_step_op_text(enum ronde_step_op op)
{
    return row_of(op)->text;
}

bool ronde_step_reads_source(enum ronde_step_op op)
{
    return row_of(op)->reads_source;
}

bool ronde_step_receives(enum ronde_step_op op)
{
    return row_of(op)->receives;
}

bool ronde_step_reduces(enum ronde_step_op op)
{
    return row_of(op)->reduces;
}

bool ronde_step_sends(enum ronde_step_op op)
{
    return row_of(op)->sends;
}

bool ronde_step_writes(enum ronde_step_op op)
{
    return row_of(op)->writes;
}

bool ronde_step_reads_destination(enum ronde_step_op op)
{
    return row_of(op)->reads_destination;
}

bool ronde_step_sends_kept(enum ronde_step_op op)
{
    return row_of(op)->sends_kept;
}

uint32_t ronde_step_touches(enum ronde_step_op op)
{
    return row_of(op)->touches;
}

static const char *const v_form_texts[] = {
#define V_FORM_TEXT(name, text) text,
    RONDE_V_FORM_LIST(V_FORM_TEXT)
#undef V_FORM_TEXT
};

const char *ronde_v_form_text(enum ronde_v_form v_form)
{
    return (uint32_t)v_form < RONDE_V_FORM_COUNT ? v_form_texts[v_form] : "?";
}

static const char *const form_texts[] = {
#define FORM_TEXT(name, text) text,
    RONDE_FORM_LIST(FORM_TEXT)
#undef FORM_TEXT
};

const char *ronde_form_text(enum ronde_form form)
{
    return (uint32_t)form < RONDE_FORM_COUNT ? form_texts[form] : "?";
}

const char *ronde_finding_text(enum ronde_finding_code code)
{
    return (uint32_t)code < RONDE_FINDING_COUNT ? finding_texts[code] : "?";
}
