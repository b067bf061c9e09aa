/* UTF-8 as Unicode 15.0 has it, section 3.9, table 3-7. */
#include "ronde/utf8.h"

#include <string.h>

/* First bytes and what may follow them; the third and fourth byte are always 80..BF. */
static const struct {
    unsigned char first_low, first_high;
    unsigned char second_low, second_high;
    size_t bytes;
} forms[] = {
    {0x01, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

/* The zero at the end of a text is in no range, so nothing behind it is looked at. */
static bool follows(const unsigned char *text, size_t bytes, unsigned char low, unsigned char high)
{
    if (bytes > 1 && (text[1] < low || text[1] > high))
        return false;
    for (size_t i = 2; i < bytes; i++)
        if (text[i] < 0x80 || text[i] > 0xbf)
            return false;
    return true;
}

size_t ronde_utf8_bytes(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (at[0] >= forms[i].first_low && at[0] <= forms[i].first_high)
            return follows(at, forms[i].bytes, forms[i].second_low, forms[i].second_high)
                       ? forms[i].bytes
                       : 0;
    return 0;
}

bool ronde_utf8_has_control(const char *text)
{
    while (*text != '\0') {
        const unsigned char *at = (const unsigned char *)text;
        const size_t bytes = ronde_utf8_bytes(text);
        if (bytes == 0 || at[0] < 0x20 || at[0] == 0x7f || (at[0] == 0xc2 && at[1] < 0xa0))
            return true;
        text += bytes;
    }
    return false;
}

void ronde_utf8_mend(const char *text, char *out_text)
{
    while (*text != '\0') {
        const size_t bytes = ronde_utf8_bytes(text);
        memcpy(out_text, bytes > 0 ? text : "\xef\xbf\xbd", bytes > 0 ? bytes : 3);
        out_text += bytes > 0 ? bytes : 3;
        text += bytes > 0 ? bytes : 1;
    }
    *out_text = '\0';
}
