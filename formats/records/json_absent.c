/* Stands in for json.c where jansson was not found. */
#include "ronde/field.h"

#define MISSING "built without jansson (package libjansson-dev), so no JSON is written or read"

enum ronde_status ronde_json_print(const struct ronde_row *row, FILE *file,
                                   struct ronde_error *error)
{
    (void)row;
    (void)file;
    return ronde_fail(error, RONDE_UNAVAILABLE, MISSING);
}

enum ronde_status ronde_json_read(const char *line, struct ronde_field *fields, size_t count,
                                  char *texts, size_t text_bytes, struct ronde_error *error)
{
    (void)line;
    (void)fields;
    (void)count;
    (void)texts;
    (void)text_bytes;
    return ronde_fail(error, RONDE_UNAVAILABLE, MISSING);
}

bool ronde_json_available(const char **out_text)
{
    *out_text = MISSING;
    return false;
}
