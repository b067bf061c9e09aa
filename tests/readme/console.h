/**
 * Console blocks of a Markdown text: commands and what they print.
 *
 *     ```console golden      output is compared byte for byte
 *     ```console shape       measured: headers and number of columns are compared
 *     ```console manual      shown, not run (installs, builds, takes minutes)
 *
 * A line that begins "$ " is a command, the lines after it are its standard output. An unmarked block is an error.
 */
#ifndef RONDE_TESTS_CONSOLE_H
#define RONDE_TESTS_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

/** How a block is checked. */
enum console_mark { CONSOLE_GOLDEN, CONSOLE_SHAPE, CONSOLE_MANUAL, CONSOLE_UNMARKED };

/** A command and its output; the strings point into the text. */
struct console_entry {
    enum console_mark mark; /**< of its block */
    unsigned line;          /**< of the command, from 1 */
    const char *command;    /**< after "$ " */
    size_t command_bytes;   /**< up to the end of the line */
    const char *output;     /**< what should be printed */
    size_t output_bytes;    /**< up to the next command or the end of the block */
};

/** Position in a text; see console_open. */
struct console_reader {
    const char *at;         /**< next line to look at */
    unsigned line;          /**< its number */
    bool is_inside;         /**< within a console block */
    enum console_mark mark; /**< of that block */
};

/** A reader at the start of a text. */
struct console_reader console_open(const char *text);

/** The next command; false at the end of the text. */
bool console_next(struct console_reader *reader, struct console_entry *out_entry);

/**
 * The shape of an output, to be freed: for each table, the lines without numbers right above its first row, blanks
 * collapsed, and the number of columns of its rows. A row is a line that begins with a number and has more than one
 * column. NULL without memory, "" without a table.
 */
char *console_shape(const char *output, size_t bytes);

#endif
