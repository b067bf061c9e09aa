/*
 * A machine of pickles that makes plain data only. See pickle.h.
 *
 * A pickle is a program for a machine with a stack of values and a memo of those that are used again. The opcodes
 * here make plain data; those that import or call (GLOBAL, REDUCE, BUILD and their kin) are not among them, and what
 * is not among them is refused. Values lie in one list and name their parts by number, so one value may be part of
 * several; a hostile file may make it part of itself, or a few bytes expand without end: printing refuses both.
 */
#include "pickle.h"

#include "ronde/traces.h"

#include <stdlib.h>
#include <string.h>

/* Places of the memo at most. */
#define MOST_PLACES (1u << 26)

/* Longest line of a number in protocol 0. */
#define LINE_BYTES 64u

/* The next `count` bytes, which stay until the next call; NULL where they are refused. */
static const unsigned char *take(struct pickle *pickle, uint64_t count)
{
    struct source *source = pickle->source;
    while (source->end - source->at < count) {
        if (source->is_at_end || count > SOURCE_MOST_BYTES) {
            (void)source_refuse(source, "the pickle ends in the middle; it was cut off");
            return NULL;
        }
        if (!source_more(source))
            return NULL;
    }
    source->at += (size_t)count;
    return (const unsigned char *)source->bytes + source->at - count;
}

/* A number of up to 8 bytes, the lowest first. */
static bool number(struct pickle *pickle, uint64_t bytes, uint64_t *out)
{
    const unsigned char *at = take(pickle, bytes);
    *out = 0;
    for (uint32_t i = 0; at && i < bytes; i++)
        *out |= (uint64_t)at[i] << 8 * i;
    return at != NULL;
}

/* A line of protocol 0. */
static bool line(struct pickle *pickle, char text[LINE_BYTES])
{
    for (uint32_t i = 0; i + 1 < LINE_BYTES; i++) {
        const unsigned char *at = take(pickle, 1);
        if (!at)
            return false;
        text[i] = *at == '\n' ? '\0' : (char)*at;
        if (*at == '\n')
            return true;
    }
    return source_refuse(pickle->source, "a number of more than %u characters", LINE_BYTES - 2);
}

/* Puts a value that is there on the stack. */
static bool push_index(struct pickle *pickle, uint32_t value)
{
    return source_keep(pickle->source, &pickle->stack, &value, sizeof value);
}

static bool push(struct pickle *pickle, struct pickle_value value)
{
    value.first = value.last = RONDE_TRACE_NONE;
    return source_keep(pickle->source, &pickle->values, &value, sizeof value) &&
           push_index(pickle, pickle->values.count - 1);
}

static bool push_kind(struct pickle *pickle, unsigned kind)
{
    return push(pickle, (struct pickle_value){.kind = (enum pickle_kind)kind});
}

/* BININT and the shorter ones, of so many bytes: the longest has a sign. */
static bool push_number(struct pickle *pickle, unsigned bytes)
{
    uint64_t value = 0;
    return number(pickle, bytes, &value) &&
           push(pickle, (struct pickle_value){.kind = PICKLE_INTEGER,
                                              .integer = bytes == 4 ? (int32_t)(uint32_t)value
                                                                    : (int64_t)value});
}

/* A text whose length stands before it. */
static bool push_text(struct pickle *pickle, unsigned length_bytes)
{
    uint64_t length = 0;
    struct pickle_value value = {.kind = PICKLE_TEXT, .text = pickle->texts.used};
    const unsigned char *at = number(pickle, length_bytes, &length) ? take(pickle, length) : NULL;
    if (!at)
        return false;
    value.bytes = (size_t)length;
    return pickle_append(pickle->source->mem, &pickle->texts, (const char *)at, value.bytes)
               ? push(pickle, value)
               : source_no_memory(pickle->source);
}

/* LONG1 and LONG4: two's complement, the lowest byte first; none of a trace needs more than 8. */
static bool push_long(struct pickle *pickle, unsigned length_bytes)
{
    uint64_t length = 0, value = 0;
    if (!number(pickle, length_bytes, &length))
        return false;
    if (length > 8)
        return source_refuse(pickle->source, "an integer of more than 8 bytes");
    if (!number(pickle, length, &value))
        return false;
    if (length > 0 && length < 8 && value >> (8 * length - 1))
        value |= UINT64_MAX << 8 * length;
    return push(pickle, (struct pickle_value){.kind = PICKLE_INTEGER, .integer = (int64_t)value});
}

/* INT, LONG and FLOAT of protocol 0, of which `kind` is made; "00" and "01" are booleans. */
static bool push_line(struct pickle *pickle, unsigned kind)
{
    char text[LINE_BYTES];
    struct pickle_value value = {.kind = (enum pickle_kind)kind};
    if (!line(pickle, text))
        return false;
    if (strcmp(text, "00") == 0 || strcmp(text, "01") == 0)
        return push_kind(pickle, text[1] == '1' ? PICKLE_TRUE : PICKLE_FALSE);
    if (kind == PICKLE_REAL)
        value.real = strtod(text, NULL);
    else
        value.integer = strtoll(text, NULL, 10);
    return push(pickle, value);
}

/* BINFLOAT: IEEE 754, the highest byte first. */
static bool push_double(struct pickle *pickle, unsigned bytes)
{
    const unsigned char *at = take(pickle, bytes);
    struct pickle_value value = {.kind = PICKLE_REAL};
    uint64_t bits = 0;
    for (uint32_t i = 0; at && i < bytes; i++)
        bits = bits << 8 | at[i];
    memcpy(&value.real, &bits, sizeof value.real);
    return at && push(pickle, value);
}

/* Where the values above the last mark begin; NONE where there is no mark. */
static uint32_t mark(const struct pickle *pickle)
{
    const uint32_t *stack = pickle->stack.items;
    const struct pickle_value *values = pickle->values.items;
    for (uint32_t i = pickle->stack.count; i > 0; i--)
        if (values[stack[i - 1]].kind == PICKLE_MARK)
            return i;
    return RONDE_TRACE_NONE;
}

static bool refuse_stack(const struct pickle *pickle)
{
    return source_refuse(pickle->source, "the pickle takes values that are not there");
}

/* Appends a value to another. */
static bool add_part(struct pickle *pickle, uint32_t to, uint32_t value)
{
    const struct pickle_part part = {value, RONDE_TRACE_NONE};
    struct pickle_value *owner = (struct pickle_value *)pickle->values.items + to;
    const uint32_t index = pickle->parts.count;
    if (!source_keep(pickle->source, &pickle->parts, &part, sizeof part))
        return false;
    if (owner->first == RONDE_TRACE_NONE)
        owner->first = index;
    else
        ((struct pickle_part *)pickle->parts.items)[owner->last].next = index;
    owner->last = index;
    return true;
}

/* Makes what is above `from` the parts of a value, and leaves so many values on the stack. */
static bool move_parts(struct pickle *pickle, uint32_t from, uint32_t owner, uint32_t left)
{
    const uint32_t *stack = pickle->stack.items;
    const struct pickle_value *values = pickle->values.items;
    if (values[owner].kind == PICKLE_DICT && (pickle->stack.count - from) % 2 != 0)
        return refuse_stack(pickle);
    for (uint32_t i = from; i < pickle->stack.count; i++) {
        if (values[stack[i]].kind == PICKLE_MARK)
            return refuse_stack(pickle);
        if (!add_part(pickle, owner, stack[i]))
            return false;
    }
    pickle->stack.count = left;
    return true;
}

/* Moves what is above `from` into the value below it, which must be of such a kind. */
static bool collect(struct pickle *pickle, uint32_t from, uint32_t below, enum pickle_kind kind)
{
    const uint32_t *stack = pickle->stack.items;
    const struct pickle_value *values = pickle->values.items;
    if (from == RONDE_TRACE_NONE || from < below + 1 || from > pickle->stack.count ||
        values[stack[from - below - 1]].kind != kind)
        return refuse_stack(pickle);
    return move_parts(pickle, from, stack[from - below - 1], from - below);
}

/* APPEND and SETITEM: one part, or a key and a value. */
static bool collect_one(struct pickle *pickle, unsigned kind)
{
    const uint32_t count = pickle->stack.count, parts = kind == PICKLE_DICT ? 2 : 1;
    return collect(pickle, count < parts ? 0 : count - parts, 0, (enum pickle_kind)kind);
}

static bool collect_all(struct pickle *pickle, unsigned kind)
{
    return collect(pickle, mark(pickle), 1, (enum pickle_kind)kind);
}

/* Makes a new value of what is above `from`, of which so many values are left on the stack. */
static bool gather(struct pickle *pickle, uint32_t from, uint32_t left, enum pickle_kind kind)
{
    if (!push_kind(pickle, kind))
        return false;
    const uint32_t made = pickle->values.count - 1;
    pickle->stack.count--;
    return move_parts(pickle, from, made, left) && push_index(pickle, made);
}

static bool gather_all(struct pickle *pickle, unsigned kind)
{
    const uint32_t from = mark(pickle);
    return from == RONDE_TRACE_NONE ? refuse_stack(pickle)
                                    : gather(pickle, from, from - 1, (enum pickle_kind)kind);
}

static bool gather_top(struct pickle *pickle, unsigned count)
{
    const uint32_t left = pickle->stack.count - count;
    return pickle->stack.count < count ? refuse_stack(pickle)
                                       : gather(pickle, left, left, PICKLE_ARRAY);
}

/* The number of a place of the memo: a line (0 bytes), or of so many bytes. */
static bool place_of(struct pickle *pickle, unsigned bytes, uint64_t *out)
{
    char text[LINE_BYTES];
    if (bytes > 0)
        return number(pickle, bytes, out);
    if (!line(pickle, text))
        return false;
    *out = strtoull(text, NULL, 10);
    return true;
}

static bool put_at(struct pickle *pickle, uint64_t place)
{
    const uint32_t *stack = pickle->stack.items;
    if (pickle->stack.count == 0 || place >= MOST_PLACES)
        return refuse_stack(pickle);
    if (pickle->memo.count <= place) {
        if (!ronde_mem_grow(pickle->source->mem, &pickle->memo.items, &pickle->memo.capacity,
                            (size_t)place + 1, sizeof(uint32_t)))
            return source_no_memory(pickle->source);
        pickle->memo.count = (uint32_t)place + 1;
    }
    ((uint32_t *)pickle->memo.items)[place] = stack[pickle->stack.count - 1] + 1;
    return true;
}

static bool put(struct pickle *pickle, unsigned bytes)
{
    uint64_t place = 0;
    return place_of(pickle, bytes, &place) && put_at(pickle, place);
}

static bool memoize(struct pickle *pickle, unsigned unused)
{
    (void)unused;
    return put_at(pickle, pickle->memo.count);
}

static bool get(struct pickle *pickle, unsigned bytes)
{
    const uint32_t *memo = pickle->memo.items;
    uint64_t place = 0;
    if (!place_of(pickle, bytes, &place))
        return false;
    return place < pickle->memo.count && memo[place] > 0 ? push_index(pickle, memo[place] - 1)
                                                         : refuse_stack(pickle);
}

static bool pop(struct pickle *pickle, unsigned unused)
{
    (void)unused;
    if (pickle->stack.count == 0)
        return refuse_stack(pickle);
    pickle->stack.count--;
    return true;
}

static bool pop_mark(struct pickle *pickle, unsigned unused)
{
    const uint32_t from = mark(pickle);
    (void)unused;
    if (from == RONDE_TRACE_NONE)
        return refuse_stack(pickle);
    pickle->stack.count = from - 1;
    return true;
}

static bool double_top(struct pickle *pickle, unsigned unused)
{
    const uint32_t *stack = pickle->stack.items;
    (void)unused;
    return pickle->stack.count == 0 ? refuse_stack(pickle)
                                    : push_index(pickle, stack[pickle->stack.count - 1]);
}

/* PROTO and FRAME, of which nothing is needed. */
static bool skip(struct pickle *pickle, unsigned bytes)
{
    return take(pickle, bytes) != NULL;
}

static bool stop(struct pickle *pickle, unsigned unused)
{
    (void)unused;
    pickle->is_done = true;
    return true;
}

/* Opcodes by their names in Python's pickletools. */
static const struct {
    bool (*run)(struct pickle *pickle, unsigned with);
    unsigned with;
} opcodes[256] = {
    ['('] = {push_kind, PICKLE_MARK},    /* MARK */
    ['N'] = {push_kind, PICKLE_NONE},    /* NONE */
    [0x88] = {push_kind, PICKLE_TRUE},   /* NEWTRUE */
    [0x89] = {push_kind, PICKLE_FALSE},  /* NEWFALSE */
    [']'] = {push_kind, PICKLE_ARRAY},   /* EMPTY_LIST */
    [')'] = {push_kind, PICKLE_ARRAY},   /* EMPTY_TUPLE */
    ['}'] = {push_kind, PICKLE_DICT},    /* EMPTY_DICT */
    ['K'] = {push_number, 1},            /* BININT1 */
    ['M'] = {push_number, 2},            /* BININT2 */
    ['J'] = {push_number, 4},            /* BININT */
    [0x8a] = {push_long, 1},             /* LONG1 */
    [0x8b] = {push_long, 4},             /* LONG4 */
    ['I'] = {push_line, PICKLE_INTEGER}, /* INT */
    ['L'] = {push_line, PICKLE_INTEGER}, /* LONG */
    ['F'] = {push_line, PICKLE_REAL},    /* FLOAT */
    ['G'] = {push_double, 8},            /* BINFLOAT */
    ['U'] = {push_text, 1},              /* SHORT_BINSTRING */
    [0x8c] = {push_text, 1},             /* SHORT_BINUNICODE */
    ['C'] = {push_text, 1},              /* SHORT_BINBYTES */
    ['T'] = {push_text, 4},              /* BINSTRING */
    ['X'] = {push_text, 4},              /* BINUNICODE */
    ['B'] = {push_text, 4},              /* BINBYTES */
    [0x8d] = {push_text, 8},             /* BINUNICODE8 */
    [0x8e] = {push_text, 8},             /* BINBYTES8 */
    ['a'] = {collect_one, PICKLE_ARRAY}, /* APPEND */
    ['s'] = {collect_one, PICKLE_DICT},  /* SETITEM */
    ['e'] = {collect_all, PICKLE_ARRAY}, /* APPENDS */
    ['u'] = {collect_all, PICKLE_DICT},  /* SETITEMS */
    ['l'] = {gather_all, PICKLE_ARRAY},  /* LIST */
    ['t'] = {gather_all, PICKLE_ARRAY},  /* TUPLE */
    ['d'] = {gather_all, PICKLE_DICT},   /* DICT */
    [0x85] = {gather_top, 1},            /* TUPLE1 */
    [0x86] = {gather_top, 2},            /* TUPLE2 */
    [0x87] = {gather_top, 3},            /* TUPLE3 */
    ['p'] = {put, 0},                    /* PUT */
    ['q'] = {put, 1},                    /* BINPUT */
    ['r'] = {put, 4},                    /* LONG_BINPUT */
    [0x94] = {memoize, 0},               /* MEMOIZE */
    ['g'] = {get, 0},                    /* GET */
    ['h'] = {get, 1},                    /* BINGET */
    ['j'] = {get, 4},                    /* LONG_BINGET */
    ['0'] = {pop, 0},                    /* POP */
    ['1'] = {pop_mark, 0},               /* POP_MARK */
    ['2'] = {double_top, 0},             /* DUP */
    [0x80] = {skip, 1},                  /* PROTO */
    [0x95] = {skip, 8},                  /* FRAME */
    ['.'] = {stop, 0},                   /* STOP */
};

static bool step(struct pickle *pickle)
{
    const unsigned char *at = take(pickle, 1);
    if (!at)
        return false;
    if (opcodes[*at].run)
        return opcodes[*at].run(pickle, opcodes[*at].with);
    pickle->source->at--;
    return source_refuse(pickle->source,
                         "opcode 0x%02x is none of plain data: a pickle that would call something "
                         "is not read",
                         *at);
}

bool pickle_to_json(struct source *source, struct pickle_text *out_json)
{
    struct pickle pickle = {.source = source};
    *out_json = (struct pickle_text){.bytes = NULL};
    bool is_read = true;
    while (is_read && !pickle.is_done)
        is_read = step(&pickle);
    if (is_read)
        is_read = pickle.stack.count == 0
                      ? refuse_stack(&pickle)
                      : pickle_print(&pickle,
                                     ((const uint32_t *)pickle.stack.items)[pickle.stack.count - 1],
                                     out_json);
    ronde_list_free(source->mem, &pickle.values, sizeof(struct pickle_value));
    ronde_list_free(source->mem, &pickle.parts, sizeof(struct pickle_part));
    ronde_list_free(source->mem, &pickle.stack, sizeof(uint32_t));
    ronde_list_free(source->mem, &pickle.memo, sizeof(uint32_t));
    pickle_text_free(source->mem, &pickle.texts);
    return is_read;
}
