/* Fields and their CSV form; the JSON form is in json.c or json_absent.c. */
#include "ronde/field.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct ronde_field ronde_field_null(const char *name)
{
    return (struct ronde_field){.name = name, .kind = RONDE_FIELD_NULL};
}

struct ronde_field ronde_field_text(const char *name, const char *text)
{
    return (struct ronde_field){.name = name,
                                .kind = text ? RONDE_FIELD_TEXT : RONDE_FIELD_NULL,
                                .text = text};
}

struct ronde_field ronde_field_integer(const char *name, uint64_t integer)
{
    return (
        struct ronde_field){.name = name, .kind = RONDE_FIELD_INTEGER, .integer = (int64_t)integer};
}

struct ronde_field ronde_field_integer_if(const char *name, bool is_known, uint64_t integer)
{
    return is_known ? ronde_field_integer(name, integer) : ronde_field_null(name);
}

struct ronde_field ronde_field_real(const char *name, double real)
{
    return (struct ronde_field){.name = name,
                                .kind = isfinite(real) ? RONDE_FIELD_REAL : RONDE_FIELD_NULL,
                                .real = real};
}

struct ronde_field ronde_field_boolean(const char *name, bool boolean)
{
    return (struct ronde_field){.name = name, .kind = RONDE_FIELD_BOOLEAN, .integer = boolean};
}

/* Commas, quotes and line ends need quotes around the cell. */
static void print_quoted(const char *text, FILE *file)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

/* Full precision: a table is rounded, a file is not. */
static void print_cell(const struct ronde_field *field, FILE *file)
{
    switch (field->kind) {
    case RONDE_FIELD_TEXT:
        print_quoted(field->text, file);
        break;
    case RONDE_FIELD_INTEGER:
        fprintf(file, "%" PRId64, field->integer);
        break;
    case RONDE_FIELD_REAL:
        fprintf(file, "%.17g", field->real);
        break;
    case RONDE_FIELD_BOOLEAN:
        fputs(field->integer ? "true" : "false", file);
        break;
    case RONDE_FIELD_TEXTS:
        for (size_t i = 0; i < field->count; i++)
            fprintf(file, "%s%s", i ? ";" : "", field->texts[i]);
        break;
    case RONDE_FIELD_NUMBERS:
        for (size_t i = 0; i < field->count; i++)
            fprintf(file, "%s%" PRIu32, i ? ";" : "", field->numbers[i]);
        break;
    case RONDE_FIELD_NULL:
    case RONDE_FIELD_ROWS:
        break;
    }
}

void ronde_csv_print_header(const struct ronde_row *row, FILE *file)
{
    const char *comma = "";
    for (size_t i = 0; i < row->count; i++) {
        if (row->fields[i].kind == RONDE_FIELD_ROWS)
            continue;
        fprintf(file, "%s%s", comma, row->fields[i].name);
        comma = ",";
    }
    fputc('\n', file);
}

void ronde_csv_print(const struct ronde_row *row, FILE *file)
{
    const char *comma = "";
    for (size_t i = 0; i < row->count; i++) {
        if (row->fields[i].kind == RONDE_FIELD_ROWS)
            continue;
        fputs(comma, file);
        print_cell(&row->fields[i], file);
        comma = ",";
    }
    fputc('\n', file);
}

const struct ronde_field *ronde_row_field(const struct ronde_row *row, const char *name)
{
    for (size_t i = 0; i < row->count; i++)
        if (strcmp(row->fields[i].name, name) == 0 && row->fields[i].kind != RONDE_FIELD_NULL)
            return &row->fields[i];
    return NULL;
}

double ronde_row_number(const struct ronde_row *row, const char *name)
{
    const struct ronde_field *field = ronde_row_field(row, name);
    if (!field)
        return NAN;
    return field->kind == RONDE_FIELD_REAL      ? field->real
           : field->kind == RONDE_FIELD_INTEGER ? (double)field->integer
                                                : NAN;
}

const char *ronde_row_text(const struct ronde_row *row, const char *name)
{
    const struct ronde_field *field = ronde_row_field(row, name);
    return field && field->kind == RONDE_FIELD_TEXT && field->text ? field->text : "";
}
