/* A text that grows as it is printed. See out.h. */
#include "out.h"

#include <stdarg.h>
#include <stdio.h>

/* Room that one formatted piece never exceeds, its zero included. */
#define PIECE_BYTES 512

void ronde_text_put(struct ronde_text_out *out, const char *format, ...)
{
    if (out->is_short ||
        !ronde_mem_grow(out->mem, &out->text, &out->capacity, out->bytes + PIECE_BYTES, 1)) {
        out->is_short = true;
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    const int written = vsnprintf((char *)out->text + out->bytes, PIECE_BYTES, format, arguments);
    va_end(arguments);
    if (written > 0)
        out->bytes += (size_t)written;
}

/* Returns the text in a block of exactly its size; the caller put something in. */
static bool trim(struct ronde_text_out *out, char **out_text)
{
    if (out->is_short || out->bytes == 0)
        return false;
    char *text = ronde_mem_resize(out->mem, out->text, out->capacity, out->bytes + 1);
    if (!text)
        return false;
    out->text = NULL;
    *out_text = text;
    return true;
}

enum ronde_status ronde_text_finish(struct ronde_text_out *out, char **out_text, size_t *out_bytes,
                                    struct ronde_error *error)
{
    *out_text = NULL;
    const bool is_whole = trim(out, out_text);
    *out_bytes = is_whole ? out->bytes : 0;
    ronde_mem_free(out->mem, out->text, out->capacity, 1);
    out->text = NULL;
    return is_whole ? RONDE_OK : ronde_fail(error, RONDE_NO_MEMORY, "no memory to print a schedule");
}
