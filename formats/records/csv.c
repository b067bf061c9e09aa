/** Lines of comma-separated cells. See csv.h. */
#include "ronde/csv.h"

#include "engine/text/refuse.h"

#include <stdarg.h>
#include <string.h>

/** What some programs put before the first column (UTF-8). */
static const char byte_order_mark[] = "\xef\xbb\xbf";

/** What a file of the encoding UTF-16 begins with. */
static const char *const wide_marks[] = {"\xff\xfe", "\xfe\xff"};

enum ronde_status ronde_csv_refuse(const struct ronde_csv *csv, struct ronde_error *error,
                                   const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const enum ronde_status status =
        ronde_refuse_line(error, csv->path, csv->line, format, arguments);
    va_end(arguments);
    return status;
}

/** Cuts blanks off both ends of a cell. */
static char *trim(char *cell)
{
    cell += strspn(cell, " \t");
    size_t bytes = strlen(cell);
    while (bytes > 0 && strchr(" \t", cell[bytes - 1]))
        bytes--;
    cell[bytes] = '\0';
    return cell;
}

static bool is_wide(const char *text)
{
    return strncmp(text, wide_marks[0], 2) == 0 || strncmp(text, wide_marks[1], 2) == 0;
}

/** What separates the cells of a file with such a first line. */
static char separator_of(const char *line)
{
    return strchr(line, ',') ? ',' : strchr(line, ';') ? ';' : strchr(line, '\t') ? '\t' : ',';
}

/** Takes one cell off a line, unquoting it in place; NULL where a quote is not closed. */
static char *take_cell(char **rest, char separator, bool *out_is_last)
{
    char *from = *rest, *cell = from, *to = from;
    const bool is_quoted = *from == '"';
    if (is_quoted)
        from++;
    for (;; from++) {
        if (is_quoted && from[0] == '"' && from[1] == '"')
            from++;
        else if (is_quoted && *from == '"')
            break;
        else if (*from == '\0' || (!is_quoted && *from == separator))
            break;
        *to++ = *from;
    }
    if (is_quoted && *from++ != '"')
        return NULL;
    *out_is_last = *from == '\0';
    *rest = from + 1;
    if (*from != '\0' && *from != separator)
        return NULL;
    *to = '\0';
    return is_quoted ? cell : trim(cell);
}

static enum ronde_status cut_cells(struct ronde_csv *csv, char *rest, struct ronde_error *error)
{
    bool is_last = false;
    for (csv->cell_count = 0; !is_last; csv->cell_count++) {
        if (csv->cell_count == RONDE_CSV_MAX_CELLS)
            return ronde_csv_refuse(csv, error, "more than %u columns", RONDE_CSV_MAX_CELLS);
        csv->cells[csv->cell_count] = take_cell(&rest, csv->separator, &is_last);
        if (!csv->cells[csv->cell_count])
            return ronde_csv_refuse(
                csv, error,
                "a quote in column %u is not closed before its '%c'; a cell is of one line",
                csv->cell_count + 1, csv->separator);
    }
    return RONDE_OK;
}

/** Goes on behind a line that did not fit, or whose rest a zero byte hides. */
static enum ronde_status skip_line(struct ronde_csv *csv, struct ronde_error *error)
{
    const size_t seen = strlen(csv->text);
    if (seen + 1 == sizeof csv->text)
        for (int byte = fgetc(csv->file); byte != '\n' && byte != EOF; byte = fgetc(csv->file)) {
        }
    return ronde_csv_refuse(csv, error, "longer than %u bytes, or has a zero byte",
                            RONDE_CSV_LINE_BYTES - 2);
}

enum ronde_status ronde_csv_next(struct ronde_csv *csv, bool *out_is_end, struct ronde_error *error)
{
    *out_is_end = false;
    while (fgets(csv->text, sizeof csv->text, csv->file)) {
        char *text = csv->text;
        csv->line++;
        if (csv->line == 1 && strncmp(text, byte_order_mark, strlen(byte_order_mark)) == 0)
            text += strlen(byte_order_mark);
        if (csv->line == 1 && is_wide(text))
            return ronde_csv_refuse(csv, error, "this is UTF-16; save the table as UTF-8");
        if (!strchr(text, '\n') && !feof(csv->file))
            return skip_line(csv, error);
        text[strcspn(text, "\r\n")] = '\0';
        if (csv->separator == '\0')
            csv->separator = separator_of(text);
        if (text[strspn(text, " \t")] != '\0')
            return cut_cells(csv, text, error);
    }
    *out_is_end = true;
    return ferror(csv->file) ? ronde_fail(error, RONDE_IO, "%s: cannot be read", csv->path)
                             : RONDE_OK;
}
