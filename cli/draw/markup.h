/**
 * Text inside SVG.
 */
#ifndef RONDE_CLI_DRAW_MARKUP_H
#define RONDE_CLI_DRAW_MARKUP_H

#include <stdio.h>

/** Prints text with what would be markup written out. */
void ronde_markup_print(FILE *file, const char *text);

#endif
