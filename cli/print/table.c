/* Tables: fixed columns, numbers right-aligned, nothing wrapped. */
#include "table.h"

#include "ronde/values.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Longest line of a table. */
#define LINE_BYTES 512

/* Trailing blanks would only trip comparisons of output. */
static void print_trimmed(FILE *file, char *line)
{
    size_t length = strlen(line);
    while (length > 0 && line[length - 1] == ' ')
        length--;
    line[length] = '\0';
    fprintf(file, "%s\n", line);
}

bool ronde_table_fits(const struct ronde_table *table, uint32_t characters)
{
    size_t width = (table->count - 1) * (size_t)table->gap;
    for (size_t i = 0; i < table->count; i++)
        width += (size_t)table->columns[i].width;
    return characters == 0 || width <= characters;
}

void ronde_table_head(FILE *file, const struct ronde_table *table)
{
    for (int is_unit = 0; is_unit < 2; is_unit++) {
        char line[LINE_BYTES] = "#";
        /* The '#' takes one character of the first column, so that rows and heads line up. */
        for (size_t i = 0, at = 1; i < table->count && at < sizeof line; i++)
            at += (size_t)snprintf(line + at, sizeof line - at, "%*s%*s", i ? table->gap : 0, "",
                                   table->columns[i].width - (i == 0),
                                   is_unit ? table->columns[i].unit : table->columns[i].name);
        print_trimmed(file, line);
    }
}

void ronde_table_row(FILE *file, const struct ronde_table *table, const struct ronde_cell *cells)
{
    for (size_t i = 0; i < table->count; i++)
        fprintf(file, "%*s%*s", i ? table->gap : 0, "", table->columns[i].width,
                cells[i].text[0] ? cells[i].text : "-");
    fputc('\n', file);
}

struct ronde_cell ronde_cell_text(const char *text)
{
    struct ronde_cell cell;
    snprintf(cell.text, sizeof cell.text, "%s", text);
    return cell;
}

struct ronde_cell ronde_cell_integer(uint64_t integer)
{
    struct ronde_cell cell;
    snprintf(cell.text, sizeof cell.text, "%" PRIu64, integer);
    return cell;
}

struct ronde_cell ronde_cell_us(double ns)
{
    struct ronde_cell cell;
    const double us = ns / 1000.0;
    /* 99999.95 would be rounded to eight characters. */
    const int decimals = us < 1000.0 ? 2 : us < 99999.95 ? 1 : 0;
    snprintf(cell.text, sizeof cell.text, "%.*f", decimals, us);
    return cell;
}

struct ronde_cell ronde_cell_rate(double rate_GBps)
{
    struct ronde_cell cell;
    snprintf(cell.text, sizeof cell.text, "%.*f", rate_GBps < 1000.0 ? 2 : 0, rate_GBps);
    return cell;
}

struct ronde_cell ronde_cell_error(double relative)
{
    struct ronde_cell cell;
    const double percent = relative * 100.0;
    snprintf(cell.text, sizeof cell.text, "%+.*f%%", fabs(percent) < 1000.0 ? 1 : 0, percent);
    return cell;
}

struct ronde_cell ronde_cell_size(uint64_t bytes)
{
    struct ronde_cell cell;
    ronde_size_text(bytes, cell.text);
    return cell;
}

struct ronde_cell ronde_cell_about(double bytes)
{
    static const char *const letters[] = {"", "K", "M", "G", "T", "P"};
    struct ronde_cell cell;
    size_t power = 0;
    /* What would be rounded to a four-digit number belongs to the next letter. */
    for (; bytes >= 999.5 && power + 1 < sizeof letters / sizeof letters[0]; power++)
        bytes /= 1024.0;
    const int decimals = bytes < 9.995 ? 2 : bytes < 99.95 ? 1 : 0;
    snprintf(cell.text, sizeof cell.text, "%.*f%s", power ? decimals : 0, bytes, letters[power]);
    return cell;
}
