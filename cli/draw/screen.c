/* Width, colours and line breaks of what people read. */
#include "screen.h"

#include "ronde/ir.h"
#include "ronde/values.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Columns by what a terminal says (0: no terminal) and what the variable COLUMNS says (NULL: not set). */
static uint32_t columns_of(uint32_t terminal, const char *variable)
{
    uint64_t columns = terminal;
    if (columns == 0 && variable &&
        ronde_number_parse("COLUMNS", variable, 1, UINT32_MAX, &columns, NULL) != RONDE_OK)
        columns = 0;
    if (columns == 0 || columns > RONDE_SCREEN_COLUMNS)
        return RONDE_SCREEN_COLUMNS;
    return columns < RONDE_SCREEN_LEAST ? RONDE_SCREEN_LEAST : (uint32_t)columns;
}

/* What a terminal says of itself; 0 where it does not, or is none. */
static uint32_t ask_terminal(FILE *file)
{
    struct winsize size = {0};
    return isatty(fileno(file)) && ioctl(fileno(file), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

uint32_t ronde_screen_terminal(FILE *file)
{
    const uint32_t said = ask_terminal(file);
    if (!isatty(fileno(file)))
        return 0;
    return said > 0 ? said : columns_of(0, getenv("COLUMNS"));
}

struct ronde_screen ronde_screen_of(FILE *file)
{
    const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    const bool is_terminal = isatty(fileno(file)) != 0;
    return (struct ronde_screen){
        .file = file,
        .columns = columns_of(ask_terminal(file), getenv("COLUMNS")),
        .has_colour = is_terminal && term && strcmp(term, "dumb") != 0 && !(no_colour && *no_colour),
    };
}

void ronde_screen_wrap(const struct ronde_screen *screen, uint32_t indent, const char *text)
{
    size_t at = 0;
    for (text += strspn(text, " \n"); *text; text += strspn(text, " \n")) {
        const size_t bytes = strcspn(text, " \n");
        if (at > 0 && at + 1 + bytes > screen->columns) {
            fputc('\n', screen->file);
            at = 0;
        }
        at += (size_t)fprintf(screen->file, "%*s%.*s", at > 0 ? 1 : (int)indent, "", (int)bytes,
                              text);
        text += bytes;
    }
    fputc('\n', screen->file);
}

void ronde_screen_hang(FILE *file, uint32_t columns, uint32_t at, const char *text)
{
    /* Less than this in a line would be a column of words. */
    const size_t least = 20;
    const size_t room = columns >= at + least ? columns - at : columns > 0 ? least : SIZE_MAX;
    size_t used = 0;
    while (*text) {
        const size_t blanks = strspn(text, " "), bytes = strcspn(text + blanks, " ");
        const bool is_broken = used > 0 && used + blanks + bytes > room;
        if (is_broken)
            fprintf(file, "\n%*s", (int)at, "");
        used = is_broken ? bytes : used + blanks + bytes;
        fprintf(file, "%*s%.*s", is_broken ? 0 : (int)blanks, "", (int)bytes, text + blanks);
        text += blanks + bytes;
    }
    fputc('\n', file);
}

void ronde_screen_bold(const struct ronde_screen *screen, bool is_bold)
{
    if (screen->has_colour)
        fputs(is_bold ? "\033[1m" : "\033[0m", screen->file);
}

/* As far apart as sixteen colours allow, in the order of ronde_colour. */
void ronde_screen_colour(const struct ronde_screen *screen, uint32_t algorithm)
{
    static const unsigned codes[] = {34, 33, 32, 35, 36, 31};
    if (!screen->has_colour)
        return;
    if (algorithm == RONDE_NONE)
        fputs("\033[0m", screen->file);
    else
        fprintf(screen->file, "\033[%um", codes[algorithm % (sizeof codes / sizeof codes[0])]);
}
