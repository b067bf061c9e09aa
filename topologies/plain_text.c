/* Text that a platform file has as it is. See platform.h. */
#include "platform.h"

#include <string.h>

void ronde_plain_text(char *out, size_t bytes, const char *text, const char *more)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-";
    size_t used = 0;
    for (; text[used] != '\0' && used + 1 < bytes; used++) {
        const bool is_safe = strchr(safe, text[used]) || strchr(more, text[used]);
        /* Two in a row end a comment. */
        const bool is_second = text[used] == '-' && used > 0 && out[used - 1] == '-';
        out[used] = is_safe && !is_second ? text[used] : '_';
    }
    out[used] = '\0';
}
