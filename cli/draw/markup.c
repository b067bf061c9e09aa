/* Text inside SVG. */
#include "markup.h"

#include "ronde/utf8.h"

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
