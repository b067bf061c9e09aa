/* Rows as JSON Lines and back, by jansson. */
#include "ronde/field.h"

#include "ronde/mem.h"
#include "ronde/utf8.h"

#include <jansson.h>
#include <string.h>

static json_t *object_of(const struct ronde_row *row);

/* A text as it is, but for bytes that are of no character: names of files may have any. NULL when there is no memory. */
static json_t *text_of(const char *text)
{
    json_t *plain = json_string(text);
    if (plain)
        return plain;
    const struct ronde_mem *mem = ronde_mem_default();
    const size_t bytes = RONDE_UTF8_MENDED_BYTES(strlen(text));
    char *mended = ronde_mem_new(mem, bytes, 1);
    if (!mended)
        return NULL;
    ronde_utf8_mend(text, mended);
    plain = json_string(mended);
    ronde_mem_free(mem, mended, bytes, 1);
    return plain;
}

static json_t *array_of(const struct ronde_field *field)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < field->count; i++) {
        json_t *item = field->kind == RONDE_FIELD_TEXTS     ? text_of(field->texts[i])
                       : field->kind == RONDE_FIELD_NUMBERS ? json_integer(field->numbers[i])
                                                            : object_of(&field->rows[i]);
        /* append_new takes the item even when it fails, and refuses NULL. */
        if (json_array_append_new(array, item) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

/* NULL when there is no memory. */
static json_t *value_of(const struct ronde_field *field)
{
    switch (field->kind) {
    case RONDE_FIELD_NULL:
        return json_null();
    case RONDE_FIELD_TEXT:
        return text_of(field->text);
    case RONDE_FIELD_INTEGER:
        return json_integer(field->integer);
    case RONDE_FIELD_REAL:
        return json_real(field->real);
    case RONDE_FIELD_BOOLEAN:
        return json_boolean(field->integer != 0);
    case RONDE_FIELD_TEXTS:
    case RONDE_FIELD_NUMBERS:
    case RONDE_FIELD_ROWS:
        return array_of(field);
    }
    return NULL;
}

/* In printed order, which the flag of dump keeps. */
static json_t *object_of(const struct ronde_row *row)
{
    json_t *object = json_object();
    for (size_t i = 0; object && i < row->count; i++)
        if (json_object_set_new(object, row->fields[i].name, value_of(&row->fields[i])) != 0) {
            json_decref(object);
            return NULL;
        }
    return object;
}

enum ronde_status ronde_json_print(const struct ronde_row *row, FILE *file,
                                   struct ronde_error *error)
{
    json_t *object = object_of(row);
    if (!object)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a JSON record");
    const int failed = json_dumpf(object, file, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
    json_decref(object);
    if (failed != 0 || fputc('\n', file) == EOF)
        return ronde_fail(error, RONDE_DEVICE, "cannot write a JSON record");
    return RONDE_OK;
}

/* Room for copied texts. */
struct room {
    char *at;
    size_t bytes;
};

static bool has_texts_alone(const json_t *value)
{
    bool has = json_is_array(value);
    for (size_t i = 0; has && i < json_array_size(value); i++)
        has = json_is_string(json_array_get(value, i));
    return has;
}

/* Texts as one, as CSV has them. False when that does not fit. */
static bool take_texts(const json_t *array, struct ronde_field *field, struct room *room)
{
    const size_t count = json_array_size(array);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const json_t *text = json_array_get(array, i);
        const size_t bytes = json_string_length(text);
        if (at + (i > 0) + bytes >= room->bytes)
            return false;
        if (i > 0)
            room->at[at++] = ';';
        memcpy(room->at + at, json_string_value(text), bytes);
        at += bytes;
    }
    if (at >= room->bytes)
        return false;
    room->at[at++] = '\0';
    *field = ronde_field_text(field->name, room->at);
    room->at += at;
    room->bytes -= at;
    return true;
}

/* False when a text does not fit. */
static bool take_value(const json_t *value, struct ronde_field *field, struct room *room)
{
    if (json_is_string(value)) {
        const size_t bytes = json_string_length(value) + 1;
        if (bytes > room->bytes)
            return false;
        memcpy(room->at, json_string_value(value), bytes);
        *field = ronde_field_text(field->name, room->at);
        room->at += bytes;
        room->bytes -= bytes;
        return true;
    }
    if (has_texts_alone(value))
        return take_texts(value, field, room);
    if (json_is_integer(value))
        *field = ronde_field_integer(field->name, (uint64_t)json_integer_value(value));
    else if (json_is_real(value))
        *field = ronde_field_real(field->name, json_real_value(value));
    else if (json_is_boolean(value))
        *field = ronde_field_boolean(field->name, json_is_true(value));
    else
        *field = ronde_field_null(field->name);
    return true;
}

enum ronde_status ronde_json_read(const char *line, struct ronde_field *fields, size_t count,
                                  char *texts, size_t text_bytes, struct ronde_error *error)
{
    json_error_t where;
    struct room room = {texts, text_bytes};
    bool fits = true;
    json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, &where);
    if (!json_is_object(object)) {
        json_decref(object);
        return ronde_fail(error, RONDE_BAD_INPUT, "not a JSON object: %s",
                          object ? "another kind of value" : where.text);
    }
    for (size_t i = 0; i < count; i++)
        fits = take_value(json_object_get(object, fields[i].name), &fields[i], &room) && fits;
    json_decref(object);
    return fits ? RONDE_OK
                : ronde_fail(error, RONDE_BAD_INPUT,
                             "a JSON object with texts of more than %zu bytes", text_bytes);
}

bool ronde_json_available(const char **out_text)
{
    *out_text = "jansson " JANSSON_VERSION;
    return true;
}
