/* Values as people read them in the cells of a table and on axes. See printer.h. */
#include "printer.h"

#include "ronde/values.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

RONDE_FORMAT(1, 2) static struct ronde_cell cell_print(const char *format, ...)
{
    struct ronde_cell cell;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cell.text, sizeof cell.text, format, arguments);
    va_end(arguments);
    return cell;
}

/* As many as fit, joined by commas. */
static struct ronde_cell join(const struct ronde_field *field)
{
    struct ronde_cell cell = {""};
    for (size_t i = 0, at = 0; i < field->count && at < sizeof cell.text; i++)
        at += (size_t)snprintf(cell.text + at, sizeof cell.text - at, "%s%s", i ? "," : "",
                               field->texts[i]);
    return cell;
}

/* How many numbers from the first on are equally far from each other. */
static size_t run_of(const uint32_t *numbers, size_t count)
{
    size_t run = count < 2 ? count : 2;
    while (run < count && numbers[run] - numbers[run - 1] == numbers[1] - numbers[0])
        run++;
    return run;
}

/* Ascending numbers as people write them: 0-7, 0-56:8 (by eights), 1,5,6; as many as fit. */
static struct ronde_cell spans(const struct ronde_field *field)
{
    struct ronde_cell cell = {""};
    for (size_t i = 0, at = 0, run; i < field->count && at < sizeof cell.text; i += run) {
        const uint32_t *from = field->numbers + i;
        run = run_of(from, field->count - i);
        run = run < 3 ? 1 : run;
        at += (size_t)snprintf(cell.text + at, sizeof cell.text - at, "%s%" PRIu32, i ? "," : "",
                               *from);
        if (run > 1 && at < sizeof cell.text)
            at +=
                (size_t)snprintf(cell.text + at, sizeof cell.text - at, "-%" PRIu32, from[run - 1]);
        if (run > 1 && from[1] - from[0] > 1 && at < sizeof cell.text)
            at += (size_t)snprintf(cell.text + at, sizeof cell.text - at, ":%" PRIu32,
                                   from[1] - from[0]);
    }
    return cell;
}

static struct ronde_cell plain(const struct ronde_field *field)
{
    switch (field->kind) {
    case RONDE_FIELD_TEXT:
        return cell_print("%s", field->text);
    case RONDE_FIELD_INTEGER:
        return cell_print("%" PRId64, field->integer);
    case RONDE_FIELD_REAL:
        /* Whole numbers with all their digits. */
        return fabs(field->real) < 1e15 && floor(field->real) == field->real
                   ? cell_print("%.0f", field->real)
                   : cell_print("%.6g", field->real);
    case RONDE_FIELD_BOOLEAN:
        return cell_print("%s", field->integer ? "yes" : "no");
    case RONDE_FIELD_TEXTS:
        return join(field);
    case RONDE_FIELD_NUMBERS:
        return spans(field);
    case RONDE_FIELD_NULL:
    case RONDE_FIELD_ROWS:
        break;
    }
    return cell_print("%s", "");
}

static struct ronde_cell error_cell(double relative)
{
    const double percent = relative * 100.0;
    return cell_print("%+.*f%%", fabs(percent) < 1000.0 ? 1 : 0, percent);
}

static struct ronde_cell shown_as(enum ronde_cell_form form, const struct ronde_field *field)
{
    const double value =
        field->kind == RONDE_FIELD_REAL ? field->real : (double)field->integer; /* clocks count */
    switch (form) {
    case RONDE_CELL_PLAIN:
        break;
    case RONDE_CELL_SIZE:
        return ronde_cell_size((uint64_t)field->integer);
    case RONDE_CELL_NS:
        return ronde_cell_us(value);
    case RONDE_CELL_US:
        return ronde_cell_us(1e3 * value);
    case RONDE_CELL_GBPS:
        return ronde_cell_rate(value);
    case RONDE_CELL_PERCENT:
        return cell_print("%.1f", 100 * value);
    case RONDE_CELL_ERROR:
        return error_cell(value);
    case RONDE_CELL_RATIO:
        return cell_print("%.2f", value);
    case RONDE_CELL_SAVING:
        return cell_print("%+.2f", value / 1e3);
    }
    return plain(field);
}

struct ronde_cell ronde_cell_of(const struct ronde_column *column, const struct ronde_row *row)
{
    const struct ronde_field *field = ronde_row_field(row, column->key);
    const struct ronde_cell cell = field ? shown_as(column->form, field) : (struct ronde_cell){""};
    return cell.text[0] ? cell : (struct ronde_cell){"-"};
}

struct ronde_cell ronde_cell_us(double ns)
{
    const double us = ns / 1000.0;
    /* 99999.95 would be rounded to eight characters. */
    return cell_print("%.*f", us < 1000.0 ? 2 : us < 99999.95 ? 1 : 0, us);
}

struct ronde_cell ronde_cell_rate(double rate_GBps)
{
    return cell_print("%.*f", rate_GBps < 1000.0 ? 2 : 0, rate_GBps);
}

struct ronde_cell ronde_cell_size(uint64_t bytes)
{
    struct ronde_cell cell;
    ronde_size_text(bytes, cell.text);
    return cell;
}

struct ronde_cell ronde_cell_tick(uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t power = 0;
    for (; value >= 1024 && power + 1 < sizeof units / sizeof units[0]; power++)
        value /= 1024;
    return cell_print("%.4g %s", value, units[power]);
}

struct ronde_cell ronde_cell_about(double bytes)
{
    static const char *const letters[] = {"", "K", "M", "G", "T", "P"};
    size_t power = 0;
    /* What would be rounded to a four-digit number belongs to the next letter. */
    for (; bytes >= 999.5 && power + 1 < sizeof letters / sizeof letters[0]; power++)
        bytes /= 1024.0;
    const int decimals = bytes < 9.995 ? 2 : bytes < 99.95 ? 1 : 0;
    return cell_print("%.*f%s", power ? decimals : 0, bytes, letters[power]);
}
