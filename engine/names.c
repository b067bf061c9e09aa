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
};

static const struct step_row step_rows[] = {
#define STEP_ROW(name, text, source, receives, reduces, sends, writes)                             \
    {text, source, receives, reduces, sends, writes},
    RONDE_STEP_LIST(STEP_ROW)
#undef STEP_ROW
};

static const char *const finding_texts[] = {
#define FINDING_TEXT(name, text) text,
    RONDE_FINDING_LIST(FINDING_TEXT)
#undef FINDING_TEXT
};

/* An operation out of range does nothing at all: callers meet it only in a step they are about to refuse. */
static const struct step_row *row_of(enum ronde_step_op op)
{
    static const struct step_row unknown = {"?", false, false, false, false, false};
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

static const char *const v_form_texts[] = {
#define V_FORM_TEXT(name, text) text,
    RONDE_V_FORM_LIST(V_FORM_TEXT)
#undef V_FORM_TEXT
};

const char *ronde_v_form_text(enum ronde_v_form v_form)
{
    return (uint32_t)v_form < RONDE_V_FORM_COUNT ? v_form_texts[v_form] : "?";
}

const char *ronde_finding_text(enum ronde_finding_code code)
{
    return (uint32_t)code < RONDE_FINDING_COUNT ? finding_texts[code] : "?";
}
