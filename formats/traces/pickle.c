/* A machine of pickles that makes plain data only. See pickle.h. */
#include "pickle.h"

#include "ronde/traces.h"

#include <stdlib.h>
#include <string.h>

/* Places of the memo at most. */
#define MOST_PLACES (1u << 26)

/* Longest line of a number in protocol 0. */
#define LINE_BYTES 64u

/* Opcodes by their names in Python's pickletools. */
enum opcode {
    OP_MARK = '(',
    OP_STOP = '.',
    OP_POP = '0',
    OP_POP_MARK = '1',
    OP_DUP = '2',
    OP_FLOAT = 'F',
    OP_BINFLOAT = 'G',
    OP_INT = 'I',
    OP_BININT = 'J',
    OP_BININT1 = 'K',
    OP_LONG = 'L',
    OP_BININT2 = 'M',
    OP_NONE = 'N',
    OP_BINSTRING = 'T',
    OP_SHORT_BINSTRING = 'U',
    OP_BINUNICODE = 'X',
    OP_EMPTY_LIST = ']',
    OP_APPEND = 'a',
    OP_DICT = 'd',
    OP_EMPTY_DICT = '}',
    OP_APPENDS = 'e',
    OP_GET = 'g',
    OP_BINGET = 'h',
    OP_LONG_BINGET = 'j',
    OP_LIST = 'l',
    OP_PUT = 'p',
    OP_BINPUT = 'q',
    OP_LONG_BINPUT = 'r',
    OP_SETITEM = 's',
    OP_TUPLE = 't',
    OP_EMPTY_TUPLE = ')',
    OP_SETITEMS = 'u',
    OP_BINBYTES = 'B',
    OP_SHORT_BINBYTES = 'C',
    OP_PROTO = 0x80,
    OP_TUPLE1 = 0x85,
    OP_TUPLE2 = 0x86,
    OP_TUPLE3 = 0x87,
    OP_NEWTRUE = 0x88,
    OP_NEWFALSE = 0x89,
    OP_LONG1 = 0x8a,
    OP_LONG4 = 0x8b,
    OP_SHORT_BINUNICODE = 0x8c,
    OP_BINUNICODE8 = 0x8d,
    OP_BINBYTES8 = 0x8e,
    OP_MEMOIZE = 0x94,
    OP_FRAME = 0x95
};

static enum ronde_status no_memory(const struct pickle *pickle, struct ronde_error *error)
{
    return ronde_fail(error, RONDE_NO_MEMORY, "%.200s: no memory", pickle->source->path);
}

/* The next `count` bytes, which stay until the next call. */
static enum ronde_status take(struct pickle *pickle, uint64_t count, const unsigned char **out,
                              struct ronde_error *error)
{
    struct source *source = pickle->source;
    while (source->end - source->at < count) {
        if (source->is_at_end || count > SOURCE_MOST_BYTES)
            return source_refuse(source, error, "the pickle ends in the middle; it was cut off");
        const enum ronde_status status = source_more(source, error);
        if (status != RONDE_OK)
            return status;
    }
    *out = (const unsigned char *)source->bytes + source->at;
    source->at += (size_t)count;
    return RONDE_OK;
}

/* A number of up to 8 bytes, the lowest first. */
static enum ronde_status number(struct pickle *pickle, uint32_t bytes, uint64_t *out,
                                struct ronde_error *error)
{
    const unsigned char *at = NULL;
    const enum ronde_status status = take(pickle, bytes, &at, error);
    *out = 0;
    for (uint32_t i = 0; status == RONDE_OK && i < bytes; i++)
        *out |= (uint64_t)at[i] << 8 * i;
    return status;
}

/* A line of protocol 0. */
static enum ronde_status line(struct pickle *pickle, char text[LINE_BYTES],
                              struct ronde_error *error)
{
    for (uint32_t i = 0; i + 1 < LINE_BYTES; i++) {
        const unsigned char *at = NULL;
        const enum ronde_status status = take(pickle, 1, &at, error);
        if (status != RONDE_OK)
            return status;
        text[i] = *at == '\n' ? '\0' : (char)*at;
        if (*at == '\n')
            return RONDE_OK;
    }
    return source_refuse(pickle->source, error, "a number of more than %u characters",
                         LINE_BYTES - 2);
}

static bool push(struct pickle *pickle, struct pickle_value value)
{
    const struct ronde_mem *mem = pickle->source->mem;
    struct pickle_value *to = ronde_list_push(mem, &pickle->values, sizeof *to);
    uint32_t *top = to ? ronde_list_push(mem, &pickle->stack, sizeof *top) : NULL;
    if (!top)
        return false;
    value.first = value.last = RONDE_TRACE_NONE;
    *to = value;
    *top = pickle->values.count - 1;
    return true;
}

static enum ronde_status push_kind(struct pickle *pickle, enum pickle_kind kind,
                                   struct ronde_error *error)
{
    return push(pickle, (struct pickle_value){.kind = kind}) ? RONDE_OK : no_memory(pickle, error);
}

static enum ronde_status push_integer(struct pickle *pickle, int64_t integer,
                                      struct ronde_error *error)
{
    return push(pickle, (struct pickle_value){.kind = PICKLE_INTEGER, .integer = integer})
               ? RONDE_OK
               : no_memory(pickle, error);
}

static enum ronde_status push_real(struct pickle *pickle, double real, struct ronde_error *error)
{
    return push(pickle, (struct pickle_value){.kind = PICKLE_REAL, .real = real})
               ? RONDE_OK
               : no_memory(pickle, error);
}

/* A text whose length stands before it. */
static enum ronde_status push_text(struct pickle *pickle, uint32_t length_bytes,
                                   struct ronde_error *error)
{
    const unsigned char *at = NULL;
    uint64_t length = 0;
    struct pickle_value value = {.kind = PICKLE_TEXT, .text = pickle->texts.used};
    enum ronde_status status = number(pickle, length_bytes, &length, error);
    if (status == RONDE_OK)
        status = take(pickle, length, &at, error);
    if (status != RONDE_OK)
        return status;
    value.bytes = (size_t)length;
    return pickle_append(pickle->source->mem, &pickle->texts, (const char *)at, value.bytes) &&
                   push(pickle, value)
               ? RONDE_OK
               : no_memory(pickle, error);
}

/* LONG1 and LONG4: two's complement, the lowest byte first; none of a trace needs more than 8. */
static enum ronde_status push_long(struct pickle *pickle, uint32_t length_bytes,
                                   struct ronde_error *error)
{
    uint64_t length = 0, value = 0;
    enum ronde_status status = number(pickle, length_bytes, &length, error);
    if (status == RONDE_OK && length > 8)
        return source_refuse(pickle->source, error, "an integer of more than 8 bytes");
    if (status == RONDE_OK)
        status = number(pickle, (uint32_t)length, &value, error);
    if (status != RONDE_OK)
        return status;
    if (length > 0 && length < 8 && value >> (8 * length - 1))
        value |= UINT64_MAX << 8 * length;
    return push_integer(pickle, (int64_t)value, error);
}

/* INT, LONG and FLOAT of protocol 0; "00" and "01" are booleans. */
static enum ronde_status push_line(struct pickle *pickle, bool is_real, struct ronde_error *error)
{
    char text[LINE_BYTES], *end = text;
    const enum ronde_status status = line(pickle, text, error);
    if (status != RONDE_OK)
        return status;
    if (strcmp(text, "00") == 0 || strcmp(text, "01") == 0)
        return push_kind(pickle, text[1] == '1' ? PICKLE_TRUE : PICKLE_FALSE, error);
    if (is_real)
        return push_real(pickle, strtod(text, &end), error);
    return push_integer(pickle, strtoll(text, &end, 10), error);
}

/* BINFLOAT: IEEE 754, the highest byte first. */
static enum ronde_status push_double(struct pickle *pickle, struct ronde_error *error)
{
    const unsigned char *at = NULL;
    uint64_t bits = 0;
    double real = 0;
    const enum ronde_status status = take(pickle, 8, &at, error);
    if (status != RONDE_OK)
        return status;
    for (uint32_t i = 0; i < 8; i++)
        bits = bits << 8 | at[i];
    memcpy(&real, &bits, sizeof real);
    return push_real(pickle, real, error);
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

static enum ronde_status refuse_stack(const struct pickle *pickle, struct ronde_error *error)
{
    return source_refuse(pickle->source, error, "the pickle takes values that are not there");
}

/* Appends a value to another. */
static bool add_part(struct pickle *pickle, uint32_t to, uint32_t value)
{
    struct pickle_part *part = ronde_list_push(pickle->source->mem, &pickle->parts, sizeof *part);
    struct pickle_value *owner = (struct pickle_value *)pickle->values.items + to;
    const uint32_t index = pickle->parts.count - 1;
    if (!part)
        return false;
    *part = (struct pickle_part){value, RONDE_TRACE_NONE};
    if (owner->first == RONDE_TRACE_NONE)
        owner->first = index;
    else
        ((struct pickle_part *)pickle->parts.items)[owner->last].next = index;
    owner->last = index;
    return true;
}

/* Moves what is above `from` into the value below it, which must be of such a kind. */
static enum ronde_status collect(struct pickle *pickle, uint32_t from, uint32_t below,
                                 enum pickle_kind kind, struct ronde_error *error)
{
    const uint32_t *stack = pickle->stack.items;
    const struct pickle_value *values = pickle->values.items;
    if (from == RONDE_TRACE_NONE || from < below + 1 || from > pickle->stack.count ||
        values[stack[from - below - 1]].kind != kind ||
        (kind == PICKLE_DICT && (pickle->stack.count - from) % 2 != 0))
        return refuse_stack(pickle, error);
    for (uint32_t i = from; i < pickle->stack.count; i++) {
        if (values[stack[i]].kind == PICKLE_MARK)
            return refuse_stack(pickle, error);
        if (!add_part(pickle, stack[from - below - 1], stack[i]))
            return no_memory(pickle, error);
    }
    pickle->stack.count = from - below;
    return RONDE_OK;
}

/* Makes a new value of what is above `from`; a mark there goes. */
static enum ronde_status gather(struct pickle *pickle, uint32_t from, bool has_mark,
                                enum pickle_kind kind, struct ronde_error *error)
{
    if (from == RONDE_TRACE_NONE || from > pickle->stack.count)
        return refuse_stack(pickle, error);
    enum ronde_status status = push_kind(pickle, kind, error);
    if (status != RONDE_OK)
        return status;
    uint32_t *stack = pickle->stack.items;
    const uint32_t made = stack[pickle->stack.count - 1];
    const struct pickle_value *values = pickle->values.items;
    pickle->stack.count--;
    if (kind == PICKLE_DICT && (pickle->stack.count - from) % 2 != 0)
        return refuse_stack(pickle, error);
    for (uint32_t i = from; i < pickle->stack.count; i++) {
        if (values[stack[i]].kind == PICKLE_MARK)
            return refuse_stack(pickle, error);
        if (!add_part(pickle, made, stack[i]))
            return no_memory(pickle, error);
    }
    from -= has_mark;
    if (from == pickle->stack.count) {
        uint32_t *top = ronde_list_push(pickle->source->mem, &pickle->stack, sizeof *top);
        if (!top)
            return no_memory(pickle, error);
        stack = pickle->stack.items;
    }
    stack[from] = made;
    pickle->stack.count = from + 1;
    return RONDE_OK;
}

static enum ronde_status gather_top(struct pickle *pickle, uint32_t count, struct ronde_error *error)
{
    return pickle->stack.count < count
               ? refuse_stack(pickle, error)
               : gather(pickle, pickle->stack.count - count, false, PICKLE_ARRAY, error);
}

static enum ronde_status put(struct pickle *pickle, uint64_t place, struct ronde_error *error)
{
    const uint32_t *stack = pickle->stack.items;
    if (pickle->stack.count == 0 || place >= MOST_PLACES)
        return refuse_stack(pickle, error);
    if (pickle->memo.count <= place) {
        if (!ronde_mem_grow(pickle->source->mem, &pickle->memo.items, &pickle->memo.capacity,
                            (size_t)place + 1, sizeof(uint32_t)))
            return no_memory(pickle, error);
        pickle->memo.count = (uint32_t)place + 1;
    }
    ((uint32_t *)pickle->memo.items)[place] = stack[pickle->stack.count - 1] + 1;
    return RONDE_OK;
}

static enum ronde_status get(struct pickle *pickle, uint64_t place, struct ronde_error *error)
{
    const uint32_t *memo = pickle->memo.items;
    if (place >= pickle->memo.count || memo[place] == 0)
        return refuse_stack(pickle, error);
    const uint32_t value = memo[place] - 1;
    uint32_t *top = ronde_list_push(pickle->source->mem, &pickle->stack, sizeof *top);
    if (!top)
        return no_memory(pickle, error);
    *top = value;
    return RONDE_OK;
}

/* PUT, GET and their binary kinds. */
static enum ronde_status move(struct pickle *pickle, unsigned char opcode, struct ronde_error *error)
{
    uint64_t place = pickle->memo.count;
    char text[LINE_BYTES];
    enum ronde_status status = RONDE_OK;
    if (opcode == OP_PUT || opcode == OP_GET) {
        status = line(pickle, text, error);
        place = status == RONDE_OK ? strtoull(text, NULL, 10) : 0;
    } else if (opcode != OP_MEMOIZE) {
        status = number(pickle, opcode == OP_BINPUT || opcode == OP_BINGET ? 1 : 4, &place, error);
    }
    if (status != RONDE_OK)
        return status;
    return opcode == OP_GET || opcode == OP_BINGET || opcode == OP_LONG_BINGET
               ? get(pickle, place, error)
               : put(pickle, place, error);
}

static enum ronde_status pop(struct pickle *pickle, struct ronde_error *error)
{
    if (pickle->stack.count == 0)
        return refuse_stack(pickle, error);
    pickle->stack.count--;
    return RONDE_OK;
}

static enum ronde_status pop_mark(struct pickle *pickle, struct ronde_error *error)
{
    const uint32_t from = mark(pickle);
    if (from == RONDE_TRACE_NONE)
        return refuse_stack(pickle, error);
    pickle->stack.count = from - 1;
    return RONDE_OK;
}

static enum ronde_status double_top(struct pickle *pickle, struct ronde_error *error)
{
    const uint32_t *stack = pickle->stack.items;
    if (pickle->stack.count == 0)
        return refuse_stack(pickle, error);
    const uint32_t value = stack[pickle->stack.count - 1];
    uint32_t *top = ronde_list_push(pickle->source->mem, &pickle->stack, sizeof *top);
    if (!top)
        return no_memory(pickle, error);
    *top = value;
    return RONDE_OK;
}

/* Opcodes that put a plain value on the stack. */
static enum ronde_status push_plain(struct pickle *pickle, unsigned char opcode, bool *out_is_known,
                                    struct ronde_error *error)
{
    uint64_t value = 0;
    enum ronde_status status;
    *out_is_known = true;
    switch (opcode) {
    case OP_MARK:
        return push_kind(pickle, PICKLE_MARK, error);
    case OP_NONE:
        return push_kind(pickle, PICKLE_NONE, error);
    case OP_NEWTRUE:
        return push_kind(pickle, PICKLE_TRUE, error);
    case OP_NEWFALSE:
        return push_kind(pickle, PICKLE_FALSE, error);
    case OP_BININT:
        status = number(pickle, 4, &value, error);
        return status == RONDE_OK ? push_integer(pickle, (int32_t)(uint32_t)value, error) : status;
    case OP_BININT1:
    case OP_BININT2:
        status = number(pickle, opcode == OP_BININT1 ? 1 : 2, &value, error);
        return status == RONDE_OK ? push_integer(pickle, (int64_t)value, error) : status;
    case OP_LONG1:
    case OP_LONG4:
        return push_long(pickle, opcode == OP_LONG1 ? 1 : 4, error);
    case OP_INT:
    case OP_LONG:
    case OP_FLOAT:
        return push_line(pickle, opcode == OP_FLOAT, error);
    case OP_BINFLOAT:
        return push_double(pickle, error);
    case OP_SHORT_BINUNICODE:
    case OP_SHORT_BINSTRING:
    case OP_SHORT_BINBYTES:
        return push_text(pickle, 1, error);
    case OP_BINUNICODE:
    case OP_BINSTRING:
    case OP_BINBYTES:
        return push_text(pickle, 4, error);
    case OP_BINUNICODE8:
    case OP_BINBYTES8:
        return push_text(pickle, 8, error);
    case OP_EMPTY_LIST:
    case OP_EMPTY_TUPLE:
        return push_kind(pickle, PICKLE_ARRAY, error);
    case OP_EMPTY_DICT:
        return push_kind(pickle, PICKLE_DICT, error);
    default:
        *out_is_known = false;
        return RONDE_OK;
    }
}

static enum ronde_status step(struct pickle *pickle, unsigned char opcode, struct ronde_error *error)
{
    const unsigned char *unused = NULL;
    bool is_known = false;
    const uint32_t count = pickle->stack.count;
    const enum ronde_status status = push_plain(pickle, opcode, &is_known, error);
    if (is_known || status != RONDE_OK)
        return status;
    switch (opcode) {
    case OP_PROTO:
        return take(pickle, 1, &unused, error);
    case OP_FRAME:
        return take(pickle, 8, &unused, error);
    case OP_STOP:
        pickle->is_done = true;
        return RONDE_OK;
    case OP_POP:
        return pop(pickle, error);
    case OP_POP_MARK:
        return pop_mark(pickle, error);
    case OP_DUP:
        return double_top(pickle, error);
    case OP_APPEND:
        return collect(pickle, count - (count > 0), 0, PICKLE_ARRAY, error);
    case OP_SETITEM:
        return collect(pickle, count > 1 ? count - 2 : 0, 0, PICKLE_DICT, error);
    case OP_APPENDS:
        return collect(pickle, mark(pickle), 1, PICKLE_ARRAY, error);
    case OP_SETITEMS:
        return collect(pickle, mark(pickle), 1, PICKLE_DICT, error);
    case OP_LIST:
    case OP_TUPLE:
        return gather(pickle, mark(pickle), true, PICKLE_ARRAY, error);
    case OP_DICT:
        return gather(pickle, mark(pickle), true, PICKLE_DICT, error);
    case OP_TUPLE1:
    case OP_TUPLE2:
    case OP_TUPLE3:
        return gather_top(pickle, (uint32_t)opcode - OP_TUPLE1 + 1, error);
    case OP_PUT:
    case OP_BINPUT:
    case OP_LONG_BINPUT:
    case OP_MEMOIZE:
    case OP_GET:
    case OP_BINGET:
    case OP_LONG_BINGET:
        return move(pickle, opcode, error);
    default:
        pickle->source->at--;
        return source_refuse(pickle->source, error,
                             "opcode 0x%02x is none of plain data: a pickle that would call "
                             "something is not read",
                             opcode);
    }
}

enum ronde_status pickle_to_json(struct source *source, struct pickle_text *out_json,
                                 struct ronde_error *error)
{
    struct pickle pickle = {.source = source};
    enum ronde_status status = RONDE_OK;
    *out_json = (struct pickle_text){.bytes = NULL};
    while (status == RONDE_OK && !pickle.is_done) {
        const unsigned char *opcode = NULL;
        status = take(&pickle, 1, &opcode, error);
        if (status == RONDE_OK)
            status = step(&pickle, *opcode, error);
    }
    if (status == RONDE_OK && pickle.stack.count == 0)
        status = refuse_stack(&pickle, error);
    if (status == RONDE_OK)
        status =
            pickle_print(&pickle, ((const uint32_t *)pickle.stack.items)[pickle.stack.count - 1],
                         out_json, error);
    ronde_list_free(source->mem, &pickle.values, sizeof(struct pickle_value));
    ronde_list_free(source->mem, &pickle.parts, sizeof(struct pickle_part));
    ronde_list_free(source->mem, &pickle.stack, sizeof(uint32_t));
    ronde_list_free(source->mem, &pickle.memo, sizeof(uint32_t));
    pickle_text_free(source->mem, &pickle.texts);
    return status;
}
