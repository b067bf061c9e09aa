#include "readme/console.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct console_reader console_open(const char *text)
{
    return (struct console_reader){text, 1, false, CONSOLE_UNMARKED};
}

static size_t line_bytes(const char *line)
{
    return strcspn(line, "\n");
}

static const char *next_line(const char *line)
{
    const char *end = line + line_bytes(line);
    return *end ? end + 1 : end;
}

static bool is_fence(const char *line)
{
    return strncmp(line, "```", 3) == 0;
}

static enum console_mark read_mark(const char *fence)
{
    static const char *const words[] = {"golden", "shape", "manual"};
    const char *mark = fence + strlen("```console");
    mark += strspn(mark, " ");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strncmp(mark, words[i], strlen(words[i])) == 0 && mark[strlen(words[i])] == '\n')
            return (enum console_mark)i;
    return CONSOLE_UNMARKED;
}

static void step_line(struct console_reader *reader)
{
    reader->at = next_line(reader->at);
    reader->line++;
}

/** Takes the command at the reader and the output below it. */
static struct console_entry take_entry(struct console_reader *reader)
{
    struct console_entry entry = {.mark = reader->mark, .line = reader->line};
    entry.command = reader->at + 2;
    entry.command_bytes = line_bytes(entry.command);
    step_line(reader);
    entry.output = reader->at;
    while (*reader->at && !is_fence(reader->at) && strncmp(reader->at, "$ ", 2) != 0)
        step_line(reader);
    entry.output_bytes = (size_t)(reader->at - entry.output);
    return entry;
}

bool console_next(struct console_reader *reader, struct console_entry *out_entry)
{
    for (; *reader->at; step_line(reader)) {
        if (reader->is_inside && strncmp(reader->at, "$ ", 2) == 0) {
            *out_entry = take_entry(reader);
            return true;
        }
        if (!is_fence(reader->at))
            continue;
        reader->is_inside = !reader->is_inside && strncmp(reader->at, "```console", 10) == 0;
        reader->mark = reader->is_inside ? read_mark(reader->at) : CONSOLE_UNMARKED;
    }
    return false;
}

/** Columns of a line: words between blanks. */
static unsigned count_columns(const char *line, size_t bytes)
{
    unsigned columns = 0;
    for (size_t i = 0; i < bytes; i++)
        if (line[i] != ' ' && (i == 0 || line[i - 1] == ' '))
            columns++;
    return columns;
}

static bool is_row(const char *line, size_t bytes)
{
    const size_t blanks = strspn(line, " ");
    return blanks < bytes && isdigit((unsigned char)line[blanks]) && count_columns(line, bytes) > 1;
}

/** Appends a line with runs of blanks as one; `used` grows. */
static void append_collapsed(char *shape, size_t *used, const char *line, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (line[i] != ' ' || (i > 0 && line[i - 1] != ' '))
            shape[(*used)++] = line[i];
    shape[(*used)++] = '\n';
}

/** Whether a line can be part of a table's head: words, no number and not blank. */
static bool is_head(const char *line, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (isdigit((unsigned char)line[i]))
            return false;
    return bytes > 0;
}

char *console_shape(const char *output, size_t bytes)
{
    /* A head gains nothing but its newlines; a table adds one short line of numbers. */
    const size_t capacity = 2 * bytes + 64;
    char *shape = calloc(capacity, 1);
    size_t used = 0;
    unsigned columns = 0; /* of the row above, 0 outside a table */
    size_t head = 0;      /* where the head that may be growing begins in the shape */
    for (const char *line = output; shape && line < output + bytes; line = next_line(line)) {
        const size_t length = line_bytes(line);
        const unsigned here = is_row(line, length) ? count_columns(line, length) : 0;
        if (here && here != columns)
            used += (size_t)snprintf(shape + used, capacity - used, "%u columns\n", here);
        if (here)
            head = used;
        else if (is_head(line, length))
            append_collapsed(shape, &used, line, length);
        else
            used = head;
        columns = here;
    }
    if (shape)
        shape[head] = '\0';
    return shape;
}
