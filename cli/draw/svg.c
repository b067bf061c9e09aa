/* Names of pictures, and text in them. See svg.h. */
#include "svg.h"

#include "ronde/utf8.h"

#include <string.h>
#include <strings.h>

/* Names of pictures. */

bool ronde_picture_is(const char *path, const char *suffix)
{
    const char *dot = strrchr(path, '.');
    return dot && strcasecmp(dot, suffix) == 0;
}

enum ronde_status ronde_picture_check(const char *path, struct ronde_error *error)
{
    static const char *const others[] = {".png", ".pdf", ".jpg", ".jpeg", ".gif", ".ps",
                                         ".eps", ".bmp", ".tif", ".tiff", ".webp"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof others / sizeof others[0]; i++)
        if (strcasecmp(dot, others[i]) == 0)
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "%s: pictures are SVG; call it x.svg, of which rsvg-convert or "
                              "inkscape makes a %s",
                              path, others[i] + 1);
    return RONDE_OK;
}

/* Text inside SVG. */

/* A picture with a byte that is no character, or with one that XML has not, is refused whole by its viewer. */
static size_t print_character(FILE *file, const char *text)
{
    const size_t bytes = ronde_utf8_bytes(text);
    const bool is_fine = bytes > 1 || (bytes == 1 && (unsigned char)*text >= 0x20);
    if (is_fine)
        fwrite(text, 1, bytes, file);
    else
        fputs("\xef\xbf\xbd", file);
    return bytes > 0 ? bytes : 1;
}

void ronde_markup_print(FILE *file, const char *text)
{
    while (*text) {
        if (*text == '<')
            fputs("&lt;", file);
        else if (*text == '>')
            fputs("&gt;", file);
        else if (*text == '&')
            fputs("&amp;", file);
        else {
            text += print_character(file, text);
            continue;
        }
        text++;
    }
}
