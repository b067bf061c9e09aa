/*
 * Changes to the structure of an input, whatever it is of: values of JSON, elements and attributes of XML, lines and cells, fields of
 * protobuf, operations of a pickle. A part is left out, doubled, repeated, exchanged with another, wrapped, or replaced by one of
 * another kind or by a value of the edge; around it all stays as it was. See target.h.
 */
#include "fuzz/target.h"

#include "support/buffers.h"

#include <ctype.h>
#include <string.h>

/* Parts of an input that are told apart; of more every second one is forgotten. */
#define MOST_PARTS 16384u
/* Values within values that are followed. */
#define MOST_DEPTH 256u

enum form { JSON, XML, LINES, PROTOBUF, PICKLE, FORM_COUNT };

/* What a part is: one is exchanged with its like. */
enum kind {
    SCALAR,
    LIST,
    MEMBER,
    KEY,
    ELEMENT,
    ATTRIBUTE,
    VALUE,
    LINE,
    BLOCK,
    CELL,
    RECORD,
    FIELD,
    OPERATION
};

struct part {
    size_t first, bytes;
    enum kind kind;
};

struct input {
    unsigned char *data;
    size_t bytes, capacity;
    uint64_t random;
    enum form form;
    struct part *parts;
    size_t count;
    size_t stride, skipped; /* one part in `stride` is kept */
};

static struct part room[MOST_PARTS];

/* Copies of parts that are moved; longer ones stay. */
#define MOST_COPIED ((size_t)1 << 16)
static unsigned char copies[2][MOST_COPIED];

static size_t draw(struct input *input, size_t bound)
{
    return bound == 0 ? 0 : (size_t)(buffers_draw(&input->random) % bound);
}

static void add(struct input *input, enum kind kind, size_t first, size_t end)
{
    if (end <= first || ++input->skipped % input->stride != 0)
        return;
    if (input->count == MOST_PARTS) {
        for (size_t p = 0; p < MOST_PARTS / 2; p++)
            input->parts[p] = input->parts[2 * p];
        input->count /= 2;
        input->stride *= 2;
    }
    input->parts[input->count++] = (struct part){first, end - first, kind};
}

/* --- JSON ---------------------------------------------------------------------------------------- */

static size_t skip_blanks(const struct input *input, size_t at)
{
    while (at < input->bytes && isspace(input->data[at]))
        at++;
    return at;
}

static size_t skip_string(const struct input *input, size_t at)
{
    for (at++; at < input->bytes && input->data[at] != '"'; at++)
        at += input->data[at] == '\\';
    return at < input->bytes ? at + 1 : input->bytes;
}

/* Finds a value; returns where it ends. What is no JSON ends it. */
static size_t find_value(struct input *input, size_t at, unsigned depth)
{
    const size_t first = at = skip_blanks(input, at);
    if (at >= input->bytes || depth > MOST_DEPTH)
        return input->bytes;
    const unsigned char open = input->data[at];
    if (open != '{' && open != '[') {
        if (open == '"')
            at = skip_string(input, at);
        else
            while (at < input->bytes && !strchr(",]} \t\r\n", input->data[at]))
                at++;
        add(input, SCALAR, first, at);
        return at > first ? at : at + 1;
    }
    at = skip_blanks(input, at + 1);
    while (at < input->bytes && input->data[at] != '}' && input->data[at] != ']') {
        const size_t member = at;
        if (open == '{') {
            at = skip_string(input, at);
            add(input, KEY, member, at);
            at = skip_blanks(input, at) + 1;
        }
        at = skip_blanks(input, find_value(input, at, depth + 1));
        if (open == '{')
            add(input, MEMBER, member, at < input->bytes ? at : input->bytes);
        if (at < input->bytes && input->data[at] == ',')
            at = skip_blanks(input, at + 1);
    }
    at = at < input->bytes ? at + 1 : input->bytes;
    add(input, LIST, first, at);
    return at;
}

/* --- XML ----------------------------------------------------------------------------------------- */

static size_t find_byte(const struct input *input, size_t at, unsigned char byte)
{
    while (at < input->bytes && input->data[at] != byte)
        at++;
    return at;
}

/* Attributes from `at` to the end of the tag, which is returned. */
static size_t find_attributes(struct input *input, size_t at)
{
    while (at < input->bytes && input->data[at] != '>') {
        const unsigned char quote = input->data[at];
        if (quote != '"' && quote != '\'') {
            at++;
            continue;
        }
        size_t name = at;
        while (name > 0 && !isspace(input->data[name - 1]) && input->data[name - 1] != '<')
            name--;
        const size_t end = find_byte(input, at + 1, quote);
        add(input, VALUE, at + 1, end);
        add(input, ATTRIBUTE, name, end < input->bytes ? end + 1 : end);
        at = end + 1;
    }
    return at;
}

static void find_elements(struct input *input)
{
    size_t open[MOST_DEPTH];
    unsigned depth = 0;
    for (size_t at = find_byte(input, 0, '<'); at < input->bytes; at = find_byte(input, at, '<')) {
        const size_t first = at;
        const unsigned char next = at + 1 < input->bytes ? input->data[at + 1] : 0;
        at = find_attributes(input, at + 1);
        if (next == '/' && depth > 0 && at < input->bytes)
            add(input, ELEMENT, open[--depth], at + 1);
        else if (at < input->bytes && (input->data[at - 1] == '/' || !isalpha(next)))
            add(input, ELEMENT, first, at + 1);
        else if (depth < MOST_DEPTH)
            open[depth++] = first;
    }
}

/* --- lines ---------------------------------------------------------------------------------------- */

static void find_lines(struct input *input)
{
    size_t block = 0, lines = 0;
    for (size_t at = 0; at < input->bytes;) {
        size_t end = find_byte(input, at, '\n');
        end += end < input->bytes;
        for (size_t cell = at, stop; cell < end; cell = stop + 1) {
            for (stop = cell; stop < end && !strchr(" ,:=;\t\r\n", input->data[stop]); stop++)
                ;
            add(input, CELL, cell, stop);
        }
        add(input, LINE, at, end);
        if (++lines % 4 == 0) {
            add(input, BLOCK, block, end);
            block = end;
        }
        at = end;
    }
}

/* --- protobuf ------------------------------------------------------------------------------------- */

static size_t read_varint(const struct input *input, size_t at, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; at < input->bytes && shift < 64; shift += 7) {
        *out |= (uint64_t)(input->data[at] & 0x7f) << shift;
        if (input->data[at++] < 0x80)
            break;
    }
    return at;
}

static size_t least(uint64_t a, size_t b)
{
    return a < b ? (size_t)a : b;
}

static void find_fields(struct input *input, size_t at, size_t end)
{
    while (at < end) {
        const size_t first = at;
        uint64_t key, bytes = 0;
        at = read_varint(input, at, &key);
        if ((key & 7) == 0 || (key & 7) == 2)
            at = read_varint(input, at, &bytes);
        bytes = (key & 7) == 1 ? 8 : (key & 7) == 5 ? 4 : (key & 7) == 2 ? bytes : 0;
        at += least(bytes, end > at ? end - at : 0);
        add(input, FIELD, first, at < end ? at : end);
    }
}

/* Messages, each behind its length. */
static void find_records(struct input *input)
{
    for (size_t at = 0; at < input->bytes;) {
        const size_t first = at;
        uint64_t bytes;
        at = read_varint(input, at, &bytes);
        const size_t end = at + least(bytes, input->bytes - at);
        find_fields(input, at, end);
        add(input, RECORD, first, end);
        at = end;
    }
}

/* A record's length after what it has has changed; the record that `at` is in is the last one to begin before it. */
static void mend_length(struct input *input, size_t at, size_t before)
{
    uint64_t bytes = 0;
    size_t first = 0, body = 0;
    for (size_t next = 0; next <= at && next < before; next = body + least(bytes, before - body)) {
        first = next;
        body = read_varint(input, first, &bytes);
    }
    const uint64_t now = bytes + input->bytes - before;
    unsigned char prefix[10];
    size_t used = 0;
    for (uint64_t rest = now; used == 0 || rest > 0; rest >>= 7)
        prefix[used++] = (unsigned char)((rest & 0x7f) | (rest >> 7 ? 0x80 : 0));
    if (body < first || input->bytes + used > input->capacity)
        return;
    memmove(input->data + first + used, input->data + body, input->bytes - body);
    memcpy(input->data + first, prefix, used);
    input->bytes += used - (body - first);
}

/* --- pickles --------------------------------------------------------------------------------------- */

static void find_operations(struct input *input)
{
    /* Bytes behind an operation's own, and of a length that tells how many more there are. */
    static const struct {
        const char *operations;
        unsigned bytes, length;
    } table[] = {{"Kqh\x80\x82", 1, 0}, {"M\x83", 2, 0},   {"Jrj\x84", 4, 0},     {"G\x95", 8, 0},
                 {"UC\x8c\x8a", 0, 1},  {"XBT\x8b", 0, 4}, {"\x8d\x8e\x96", 0, 8}};
    for (size_t at = 0; at < input->bytes;) {
        const size_t first = at;
        const unsigned char operation = input->data[at++];
        for (size_t t = 0; operation && t < sizeof table / sizeof table[0]; t++) {
            if (!strchr(table[t].operations, (char)operation))
                continue;
            uint64_t more = table[t].bytes;
            for (unsigned b = 0; b < table[t].length && at + b < input->bytes; b++)
                more |= (uint64_t)input->data[at + b] << (8 * b);
            at += table[t].length;
            at += least(more, at < input->bytes ? input->bytes - at : 0);
        }
        for (unsigned lines = operation == 'c' || operation == 'i'         ? 2
                              : operation && strchr("FILSVpgP", operation) ? 1
                                                                           : 0;
             lines > 0; lines--)
            at = find_byte(input, at, '\n') + 1;
        at = at < input->bytes ? at : input->bytes;
        add(input, OPERATION, first, at);
    }
}

/* --- changes ---------------------------------------------------------------------------------------- */

static bool replace(struct input *input, size_t first, size_t bytes, const void *by, size_t by_bytes)
{
    const size_t rest = input->bytes - first - bytes;
    if (first + by_bytes + rest > input->capacity)
        return false;
    memmove(input->data + first + by_bytes, input->data + first + bytes, rest);
    memcpy(input->data + first, by, by_bytes);
    input->bytes = first + by_bytes + rest;
    return true;
}

/* What lies between a part and its like beside it. */
static const char *separator_of(enum kind kind)
{
    return kind == SCALAR || kind == LIST || kind == MEMBER ? ", "
           : kind == ATTRIBUTE || kind == CELL              ? " "
                                                            : "";
}

static void leave_out(struct input *input, struct part part)
{
    size_t end = part.first + part.bytes;
    if (separator_of(part.kind)[0] == ',') {
        const size_t comma = skip_blanks(input, end);
        size_t before = part.first;
        while (before > 0 && isspace(input->data[before - 1]))
            before--;
        if (comma < input->bytes && input->data[comma] == ',')
            end = comma + 1;
        else if (before > 0 && input->data[before - 1] == ',')
            part.first = before - 1;
    }
    (void)replace(input, part.first, end - part.first, "", 0);
}

/* Puts it there so many times more. */
static void repeat(struct input *input, struct part part, size_t times)
{
    const char *separator = separator_of(part.kind);
    const size_t gap = strlen(separator);
    if (part.bytes + gap > MOST_COPIED)
        return;
    memcpy(copies[0], separator, gap);
    memcpy(copies[0] + gap, input->data + part.first, part.bytes);
    while (times-- > 0 && replace(input, part.first + part.bytes, 0, copies[0], gap + part.bytes))
        ;
}

static void put(struct input *input, struct part there, struct part what)
{
    if (what.bytes > MOST_COPIED)
        return;
    memcpy(copies[0], input->data + what.first, what.bytes);
    (void)replace(input, there.first, there.bytes, copies[0], what.bytes);
}

static void exchange(struct input *input, struct part a, struct part b)
{
    if (a.first > b.first) {
        const struct part swap = a;
        a = b;
        b = swap;
    }
    if (a.first + a.bytes > b.first || a.bytes > MOST_COPIED || b.bytes > MOST_COPIED)
        return;
    memcpy(copies[0], input->data + a.first, a.bytes);
    memcpy(copies[1], input->data + b.first, b.bytes);
    if (replace(input, b.first, b.bytes, copies[0], a.bytes))
        (void)replace(input, a.first, a.bytes, copies[1], b.bytes);
}

static void put_edge(struct input *input, struct part part)
{
    static const char *const values[] = {"0",
                                         "-1",
                                         "1",
                                         "4294967295",
                                         "4294967296",
                                         "18446744073709551616",
                                         "-9223372036854775808",
                                         "1e308",
                                         "-1e-308",
                                         "0.5",
                                         "nan",
                                         "inf",
                                         "0x10",
                                         "00",
                                         "",
                                         "-",
                                         "1,2",
                                         "a b",
                                         "%s%n"};
    static const char *const json[] = {"null",
                                       "true",
                                       "\"\"",
                                       "[]",
                                       "{}",
                                       "[[]]",
                                       "\"\\u0000\"",
                                       "\"\\ud800\"",
                                       "\"[0, 1\"",
                                       "\"nan\"",
                                       "1E400",
                                       "-0",
                                       "0",
                                       "-1",
                                       "4294967296",
                                       "1.5",
                                       "9223372036854775808",
                                       "\"4294967295\""};
    static const char *const binary[] = {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
                                         "\x0a\xff\xff\xff\xff\x0f",
                                         "\x0b",
                                         "\x12\x01",
                                         "\x80\x02",
                                         "N.",
                                         "(d",
                                         "]",
                                         "}",
                                         "0",
                                         "2",
                                         "Rb",
                                         "\x8a\x09\x01\x01\x01\x01\x01\x01\x01\x01\x01",
                                         "K\xff",
                                         "s",
                                         "e",
                                         "u"};
    const bool is_binary = part.kind >= RECORD;
    const bool is_json = part.kind <= KEY;
    const char *edge = is_binary ? binary[draw(input, sizeof binary / sizeof binary[0])]
                       : is_json ? json[draw(input, sizeof json / sizeof json[0])]
                                 : values[draw(input, sizeof values / sizeof values[0])];
    (void)replace(input, part.first, part.bytes, edge, strlen(edge));
}

/* In so many of what may hold it. */
static void wrap(struct input *input, struct part part)
{
    static const char *const opens[] = {"[", "{\"a\": ", "<a>", "(", "\"", "# "};
    static const char *const closes[] = {"]", "}", "</a>", ")", "\"", "\n"};
    const size_t way = part.kind <= KEY     ? draw(input, 2)
                       : part.kind <= VALUE ? 2
                                            : 3 + draw(input, 3);
    for (size_t times = 1 + (draw(input, 4) == 0 ? draw(input, 400) : 0); times > 0; times--) {
        if (!replace(input, part.first + part.bytes, 0, closes[way], strlen(closes[way])) ||
            !replace(input, part.first, 0, opens[way], strlen(opens[way])))
            return;
        part.bytes += strlen(opens[way]) + strlen(closes[way]);
    }
}

/* Another part of that kind; itself where there is none. */
static struct part like(struct input *input, struct part part)
{
    for (unsigned tries = 0; tries < 16; tries++) {
        const struct part other = input->parts[draw(input, input->count)];
        if (other.kind == part.kind && other.first != part.first)
            return other;
    }
    return part;
}

static void change(struct input *input)
{
    const struct part part = input->parts[draw(input, input->count)];
    const size_t before = input->bytes;
    /* A member has one key. */
    switch (part.kind == KEY ? 6 : draw(input, 12)) {
    case 0:
    case 1:
        leave_out(input, part);
        break;
    case 2:
        repeat(input, part, 1);
        break;
    case 3:
        repeat(input, part, draw(input, 60));
        break;
    case 4:
    case 5:
        exchange(input, part, like(input, part));
        break;
    case 6:
        put(input, part, like(input, part));
        break;
    case 7:
        put(input, part, input->parts[draw(input, input->count)]);
        break;
    case 8:
        wrap(input, part);
        break;
    case 9:
        input->bytes = part.first + draw(input, 2) * part.bytes;
        break;
    default:
        put_edge(input, part);
    }
    if (part.kind == FIELD && input->bytes != before && draw(input, 8) > 0)
        mend_length(input, part.first, before);
}

static enum form form_of(const struct input *input)
{
    const size_t at = skip_blanks(input, 0);
    const unsigned char first = at < input->bytes ? input->data[at] : ' ';
    if (first == 0x80)
        return PICKLE;
    if (first == '{' || first == '[')
        return JSON;
    if (first == '<')
        return XML;
    for (size_t b = 0; b < input->bytes && b < 64; b++)
        if (input->data[b] < ' ' && !isspace(input->data[b]))
            return PROTOBUF;
    return LINES;
}

static void find_all(struct input *input)
{
    static void (*const finders[FORM_COUNT])(struct input *) = {
        [XML] = find_elements, [LINES] = find_lines, [PROTOBUF] = find_records, [PICKLE] = find_operations};
    input->count = input->skipped = 0;
    input->stride = 1;
    input->form = form_of(input);
    if (finders[input->form])
        finders[input->form](input);
    for (size_t at = 0; input->form == JSON && at < input->bytes;)
        at = skip_blanks(input, find_value(input, at, 0));
}

size_t fuzz_mutate_structure(unsigned char *data, size_t bytes, size_t capacity, uint64_t seed)
{
    struct input input = {
        .data = data, .bytes = bytes, .capacity = capacity, .random = seed, .parts = room};
    for (size_t times = 1 + draw(&input, 3); times > 0; times--) {
        find_all(&input);
        if (input.count > 0)
            change(&input);
    }
    return input.bytes;
}
