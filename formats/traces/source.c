/* A window over a trace. See source.h. */
#include "source.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

/* A window grows from here by doubling. */
#define FIRST_BYTES ((size_t)256 << 10)

static bool is_gzip(FILE *file)
{
    const int first = getc(file), second = getc(file);
    rewind(file);
    return first == 0x1f && second == 0x8b;
}

/* A device or a pipe never ends, or cannot be read twice. */
static bool open_file(struct source *source)
{
    struct stat info;
    source->file = fopen(source->path, "rb");
    if (!source->file || fstat(fileno(source->file), &info) != 0)
        source->status =
            ronde_fail(source->error, RONDE_IO, "%.200s: %s", source->path, strerror(errno));
    else if (!S_ISREG(info.st_mode))
        source->status = ronde_fail(source->error, RONDE_IO,
                                    "%.200s: not a file; name a file or a folder", source->path);
    return source->status == RONDE_OK;
}

bool source_open(struct source *source, const char *path, const struct ronde_mem *mem,
                 struct ronde_error *error)
{
    *source = (struct source){.path = path, .mem = mem, .error = error};
    if (!open_file(source))
        return false;
    if (is_gzip(source->file))
        source->status = gzip_open(&source->gzip, source->file, path, mem, error);
    if (source->status != RONDE_OK)
        return false;
    return ronde_mem_grow(mem, (void **)&source->bytes, &source->capacity, FIRST_BYTES, 1) ||
           source_no_memory(source);
}

void source_open_text(struct source *source, const char *path, const char *text, size_t bytes,
                      const struct ronde_mem *mem, struct ronde_error *error)
{
    /* Never written: the window is only moved and grown where it has a capacity. */
    *source = (struct source){.path = path,
                              .mem = mem,
                              .error = error,
                              .bytes = (char *)text,
                              .end = bytes,
                              .is_at_end = true};
}

enum ronde_status source_close(struct source *source)
{
    const enum ronde_status status = source->status;
    gzip_close(source->gzip);
    if (source->file)
        (void)fclose(source->file);
    if (source->capacity > 0)
        ronde_mem_free(source->mem, source->bytes, source->capacity, 1);
    *source = (struct source){.path = source->path, .mem = source->mem};
    return status;
}

static bool make_room(struct source *source)
{
    memmove(source->bytes, source->bytes + source->at, source->end - source->at);
    source->before += source->at;
    source->end -= source->at;
    source->at = 0;
    if (source->end < source->capacity)
        return true;
    if (source->capacity >= SOURCE_MOST_BYTES)
        return source_refuse(source, "one value of more than %zu MiB; is this a trace?",
                             SOURCE_MOST_BYTES >> 20);
    return ronde_mem_grow(source->mem, (void **)&source->bytes, &source->capacity,
                          2 * source->capacity, 1) ||
           source_no_memory(source);
}

bool source_more(struct source *source)
{
    size_t got = 0;
    if (source->is_at_end)
        return true;
    if (source->end == source->capacity && !make_room(source))
        return false;
    char *to = source->bytes + source->end;
    const size_t room = source->capacity - source->end;
    if (source->gzip)
        source->status = gzip_read(source->gzip, (unsigned char *)to, room, &got, source->error);
    else
        got = fread(to, 1, room, source->file);
    if (source->status == RONDE_OK && ferror(source->file))
        source->status = ronde_fail(source->error, RONDE_IO, "%.200s: cannot be read", source->path);
    source->end += got;
    source->is_at_end = got == 0;
    return source->status == RONDE_OK;
}

bool source_refuse(struct source *source, const char *format, ...)
{
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    source->status =
        ronde_fail(source->error, RONDE_BAD_INPUT, "%.200s: byte %llu: %s", source->path,
                   (unsigned long long)(source->before + source->at), what);
    return false;
}

bool source_refuse_line(struct source *source, uint32_t line, const char *format, ...)
{
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    source->status = ronde_fail_at(source->error, RONDE_BAD_INPUT, line, "%.200s:%u: %s",
                                   source->path, line, what);
    return false;
}

bool source_no_memory(struct source *source)
{
    source->status = ronde_fail(source->error, RONDE_NO_MEMORY, "%.200s: no memory", source->path);
    return false;
}

bool source_keep(struct source *source, struct ronde_list *list, const void *item, size_t item_bytes)
{
    return ronde_list_append(source->mem, list, item, item_bytes) || source_no_memory(source);
}
