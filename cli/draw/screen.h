/**
 * What a stream that people read looks like: how wide it is, whether it has colours, and texts broken into its lines.
 */
#ifndef RONDE_CLI_DRAW_SCREEN_H
#define RONDE_CLI_DRAW_SCREEN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** Columns where nothing is known, and at most: wider lines are hard to read. */
#define RONDE_SCREEN_COLUMNS 100u
/** Columns at least: narrower terminals break lines themselves. */
#define RONDE_SCREEN_LEAST 40u

/** A screen. */
struct ronde_screen {
    FILE *file;       /**< where it is printed */
    uint32_t columns; /**< characters of a line */
    bool has_colour;  /**< escape sequences are understood and wanted */
};

/**
 * A stream as it is: columns of the terminal, else those of the variable COLUMNS, within the bounds above; colours on a
 * terminal that has them unless the variable NO_COLOR is set (no-color.org).
 */
struct ronde_screen ronde_screen_of(FILE *file);

/** Characters of a line where a stream is a terminal, as it or COLUMNS says, else RONDE_SCREEN_COLUMNS; 0: no terminal. */
uint32_t ronde_screen_terminal(FILE *file);

/** Prints a text, broken at blanks, every line behind `indent` blanks, and ends the last line. */
void ronde_screen_wrap(const struct ronde_screen *screen, uint32_t indent, const char *text);

/**
 * Prints a text that begins `at` characters from the left, broken at blanks before `columns` (0: nowhere), its further
 * lines below its beginning, and ends the last line.
 */
void ronde_screen_hang(FILE *file, uint32_t columns, uint32_t at, const char *text);

/** Switches to bold, or back; nothing where there are no colours. */
void ronde_screen_bold(const struct ronde_screen *screen, bool is_bold);

/** Switches to the colour of an algorithm, or back for RONDE_NONE; nothing where there are no colours. */
void ronde_screen_colour(const struct ronde_screen *screen, uint32_t algorithm);

#endif
