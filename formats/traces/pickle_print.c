/* Values of a pickle as JSON. See pickle.h. */
#include "pickle.h"

#include "ronde/traces.h"

#include <math.h>
#include <string.h>

/* Of the text at most: what is shared in a pickle is written out each time. */
#define MOST_BYTES ((size_t)512 << 20)

/* Values within each other at most; one that contains itself has no end. */
#define MOST_DEPTH 64u

bool pickle_append(const struct ronde_mem *mem, struct pickle_text *text, const char *bytes,
                   size_t count)
{
    if (count > MOST_BYTES - text->used)
        return false;
    if (text->used + count > text->capacity &&
        !ronde_mem_grow(mem, (void **)&text->bytes, &text->capacity, text->used + count, 1)) {
        text->is_refused = true;
        return false;
    }
    if (count > 0)
        memcpy(text->bytes + text->used, bytes, count);
    text->used += count;
    return true;
}

void pickle_text_free(const struct ronde_mem *mem, struct pickle_text *text)
{
    ronde_mem_free(mem, text->bytes, text->capacity, 1);
    *text = (struct pickle_text){.bytes = NULL};
}

static bool put(const struct pickle *pickle, struct pickle_text *out, const char *text)
{
    return pickle_append(pickle->source->mem, out, text, strlen(text));
}

/* Quotes and backslashes are escaped; control characters may stay. */
static bool put_text(const struct pickle *pickle, const struct pickle_value *value,
                     struct pickle_text *out)
{
    const char *at = pickle->texts.bytes + value->text;
    bool is_put = put(pickle, out, "\"");
    for (size_t from = 0, i = 0; is_put && i <= value->bytes; i++) {
        if (i < value->bytes && at[i] != '"' && at[i] != '\\')
            continue;
        is_put = pickle_append(pickle->source->mem, out, at + from, i - from) &&
                 (i == value->bytes || put(pickle, out, "\\"));
        from = i;
    }
    return is_put && put(pickle, out, "\"");
}

static bool put_number(const struct pickle *pickle, const struct pickle_value *value,
                       struct pickle_text *out)
{
    char text[40];
    if (value->kind == PICKLE_INTEGER)
        snprintf(text, sizeof text, "%lld", (long long)value->integer);
    else if (isfinite(value->real))
        snprintf(text, sizeof text, "%.17g", value->real);
    else
        snprintf(text, sizeof text, "null");
    return put(pickle, out, text);
}

static bool put_value(const struct pickle *pickle, uint32_t index, uint32_t depth, bool is_key,
                      struct pickle_text *out);

static bool put_parts(const struct pickle *pickle, const struct pickle_value *value, uint32_t depth,
                      struct pickle_text *out)
{
    const struct pickle_part *parts = pickle->parts.items;
    const bool is_dict = value->kind == PICKLE_DICT;
    bool is_put = put(pickle, out, is_dict ? "{" : "[");
    uint32_t count = 0;
    for (uint32_t p = value->first; is_put && p != RONDE_TRACE_NONE; p = parts[p].next) {
        const bool is_key = is_dict && count % 2 == 0;
        is_put = (count == 0 || put(pickle, out, is_dict && !is_key ? ":" : ",")) &&
                 put_value(pickle, parts[p].value, depth + 1, is_key, out);
        count++;
    }
    return is_put && put(pickle, out, is_dict ? "}" : "]");
}

static bool put_value(const struct pickle *pickle, uint32_t index, uint32_t depth, bool is_key,
                      struct pickle_text *out)
{
    const struct pickle_value *value = (const struct pickle_value *)pickle->values.items + index;
    static const char *const words[] = {
        [PICKLE_NONE] = "null", [PICKLE_FALSE] = "false", [PICKLE_TRUE] = "true"};
    const bool is_quoted = is_key && value->kind != PICKLE_TEXT;
    if (depth > MOST_DEPTH || (is_key && value->kind >= PICKLE_ARRAY) || value->kind == PICKLE_MARK)
        return false;
    if (value->kind >= PICKLE_ARRAY)
        return put_parts(pickle, value, depth, out);
    if (value->kind == PICKLE_TEXT)
        return put_text(pickle, value, out);
    return (!is_quoted || put(pickle, out, "\"")) &&
           (value->kind >= PICKLE_INTEGER ? put_number(pickle, value, out)
                                          : put(pickle, out, words[value->kind])) &&
           (!is_quoted || put(pickle, out, "\""));
}

bool pickle_print(const struct pickle *pickle, uint32_t value, struct pickle_text *out)
{
    if (put_value(pickle, value, 0, false, out))
        return true;
    return out->is_refused
               ? source_no_memory(pickle->source)
               : source_refuse(pickle->source,
                               "the pickle's value contains itself, or is larger than is read "
                               "(%u values within each other, %zu MiB)",
                               MOST_DEPTH, MOST_BYTES >> 20);
}
