/* Rows as tables, JSON Lines and CSV, on the screen or in a file. See printer.h. */
#include "printer.h"
#include "report.h"

#include "cli/draw/screen.h"
#include "cli/html/html.h"
#include "cli/options/options.h"

#include <stdarg.h>
#include <string.h>

/* Longest line of a head, and blanks between columns. */
#define LINE_BYTES 512
#define GAP 1

enum ronde_status ronde_sink_open(const struct ronde_options *options, struct ronde_sink *out_sink,
                                  struct ronde_error *error)
{
    const char *missing = NULL;
    /* Said before any work is done, not after it. */
    if (options->output.json && !ronde_json_available(&missing))
        return ronde_fail(error, RONDE_UNAVAILABLE, "%s", missing);
    struct ronde_output_file output = {.file = NULL};
    if (options->output.path && strcmp(options->output.path, "-") != 0 &&
        ronde_output_file_open(options->output.path, &output, error) != RONDE_OK)
        return RONDE_IO;
    FILE *file = output.file ? output.file : stdout;
    struct ronde_html *html = NULL;
    const enum ronde_status status = ronde_html_open(options, file, &html, error);
    if (status != RONDE_OK)
        return ronde_output_file_close(&output, status, error);
    *out_sink = (struct ronde_sink){.file = file,
                                    .output = output,
                                    .json = options->output.json,
                                    .csv = options->output.csv,
                                    .is_markdown = options->output.markdown,
                                    .is_wide = options->output.wide,
                                    .width = options->output.wide ? 0 : ronde_screen_terminal(file),
                                    .html = html};
    if (html && ronde_sink_is_table(out_sink))
        out_sink->file = ronde_html_report(html);
    return RONDE_OK;
}

bool ronde_sink_is_table(const struct ronde_sink *sink)
{
    return !sink->json && !sink->csv;
}

/* The longest comment, and characters of lines. */
#define COMMENT_BYTES 1200
#define TABLE_WIDTH 100u

void ronde_sink_say(const struct ronde_sink *sink, const char *format, ...)
{
    char text[COMMENT_BYTES];
    size_t at = 1;
    va_list arguments;
    if (!ronde_sink_is_table(sink))
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fputc('#', sink->file);
    const size_t hang = strspn(text, " ") + 3;
    for (const char *word = text; *word;) {
        const size_t blanks = strspn(word, " "), bytes = strcspn(word + blanks, " ");
        if (at > 1 && at + blanks + bytes > TABLE_WIDTH)
            at = (size_t)fprintf(sink->file, "\n#%*s%.*s", (int)hang, "", (int)bytes, word + blanks) -
                 1;
        else
            at += (size_t)fprintf(sink->file, "%s%.*s", at > 1 ? "" : " ", (int)(blanks + bytes),
                                  word);
        word += blanks + bytes;
    }
    fputc('\n', sink->file);
}

/* Whether the table that is printed has the column; documents have all. */
static bool is_shown(const struct ronde_sink *sink, const struct ronde_column *column)
{
    return sink->is_wide || sink->is_markdown || !column->is_wide;
}

/* Trailing blanks would only trip comparisons of output. */
static void print_trimmed(FILE *file, char *line)
{
    size_t length = strlen(line);
    while (length > 0 && line[length - 1] == ' ')
        length--;
    line[length] = '\0';
    fprintf(file, "%s\n", line);
}

/* One line of the head. The '#' takes one character of the first column, so that rows and heads line up. */
static void print_head_line(const struct ronde_sink *sink, const struct ronde_table *table,
                            bool is_unit)
{
    char line[LINE_BYTES] = "#";
    size_t at = 1;
    for (size_t i = 0; i < table->count && at < sizeof line; i++) {
        const struct ronde_column *column = &table->columns[i];
        const int taken = at == 1;
        if (is_shown(sink, column))
            at += (size_t)snprintf(line + at, sizeof line - at, "%*s%*s", taken ? 0 : GAP, "",
                                   column->width < 0 ? column->width + taken : column->width - taken,
                                   is_unit ? column->unit : column->name);
    }
    print_trimmed(sink->file, line);
}

static void print_markdown_head(const struct ronde_sink *sink, const struct ronde_table *table)
{
    size_t shown = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct ronde_column *column = &table->columns[i];
        if (!is_shown(sink, column))
            continue;
        shown++;
        fprintf(sink->file, "| %s%s%s ", column->name, column->unit[0] ? " " : "", column->unit);
    }
    fputs("|\n", sink->file);
    while (shown-- > 0)
        fputs("|---", sink->file);
    fputs("|\n", sink->file);
}

void ronde_sink_head(const struct ronde_sink *sink, const struct ronde_table *table)
{
    if (!ronde_sink_is_table(sink))
        return;
    if (sink->is_markdown) {
        print_markdown_head(sink, table);
        return;
    }
    print_head_line(sink, table, false);
    print_head_line(sink, table, true);
}

/* A last column without a width has sentences, which go on below their beginning. */
static void print_table_row(const struct ronde_sink *sink, const struct ronde_table *table,
                            const struct ronde_row *row)
{
    uint32_t at = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct ronde_column *column = &table->columns[i];
        if (!is_shown(sink, column))
            continue;
        const struct ronde_cell cell = ronde_cell_of(column, row);
        const int gap = at > 0 ? GAP : 0;
        if (i + 1 == table->count && column->width == 0) {
            fprintf(sink->file, "%*s", gap, "");
            ronde_screen_hang(sink->file, sink->is_wide ? 0 : TABLE_WIDTH, at + (uint32_t)gap,
                              cell.text);
            return;
        }
        at += (uint32_t)fprintf(sink->file, "%*s%*s", gap, "", column->width, cell.text);
    }
    fputc('\n', sink->file);
}

static void print_markdown_row(const struct ronde_sink *sink, const struct ronde_table *table,
                               const struct ronde_row *row)
{
    for (size_t i = 0; i < table->count; i++)
        if (is_shown(sink, &table->columns[i]))
            fprintf(sink->file, "| %s ", ronde_cell_of(&table->columns[i], row).text);
    fputs("|\n", sink->file);
}

enum ronde_status ronde_sink_print(struct ronde_sink *sink, const struct ronde_table *table,
                                   const struct ronde_row *row, struct ronde_error *error)
{
    ronde_progress_hide();
    if (!ronde_sink_is_table(sink))
        return ronde_sink_row(sink, row, error);
    ronde_html_row(sink->html, row);
    if (sink->is_markdown)
        print_markdown_row(sink, table, row);
    else
        print_table_row(sink, table, row);
    sink->rows++;
    return RONDE_OK;
}

enum ronde_status ronde_sink_row(struct ronde_sink *sink, const struct ronde_row *row,
                                 struct ronde_error *error)
{
    ronde_progress_hide();
    sink->rows++;
    ronde_html_row(sink->html, row);
    if (sink->json)
        return ronde_json_print(row, sink->file, error);
    if (sink->csv && !sink->is_headed)
        ronde_csv_print_header(row, sink->file);
    sink->is_headed = true;
    if (sink->csv)
        ronde_csv_print(row, sink->file);
    return RONDE_OK;
}

enum ronde_status ronde_sink_record(struct ronde_sink *sink, const struct ronde_record *record,
                                    struct ronde_error *error)
{
    struct ronde_record_row row;
    ronde_record_layout(record, &row);
    return ronde_sink_row(sink, &row.row, error);
}

/* A pipe, a device or stdout, which is written as it is. */
static enum ronde_status close_stream(FILE *file, struct ronde_error *error)
{
    const bool failed = fflush(file) != 0 || ferror(file);
    const bool close_failed = file != stdout && fclose(file) != 0;
    if (failed || close_failed)
        return ronde_fail(error, RONDE_DEVICE, "results could not be written: is the disk full?");
    return RONDE_OK;
}

enum ronde_status ronde_sink_close(struct ronde_sink *sink, enum ronde_status status,
                                   struct ronde_error *error)
{
    FILE *file = sink->file;
    sink->file = NULL;
    if (!file)
        return status;
    FILE *report = ronde_html_report_end(sink->html);
    const enum ronde_status closed = sink->output.file
                                         ? ronde_output_file_close(&sink->output, status, error)
                                         : close_stream(report ? report : file, error);
    const enum ronde_status is = status == RONDE_OK ? closed : status;
    status = ronde_html_close(sink->html, is, error);
    sink->html = NULL;
    return status;
}
