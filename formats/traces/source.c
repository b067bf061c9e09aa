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
static enum ronde_status open_file(struct source *source, struct ronde_error *error)
{
    struct stat info;
    source->file = fopen(source->path, "rb");
    if (!source->file || fstat(fileno(source->file), &info) != 0)
        return ronde_fail(error, RONDE_IO, "%.200s: %s", source->path, strerror(errno));
    return S_ISREG(info.st_mode)
               ? RONDE_OK
               : ronde_fail(error, RONDE_IO, "%.200s: not a file; name a file or a folder",
                            source->path);
}

enum ronde_status source_open(struct source *source, const char *path, const struct ronde_mem *mem,
                              struct ronde_error *error)
{
    *source = (struct source){.path = path, .mem = mem};
    const enum ronde_status status = open_file(source, error);
    if (status != RONDE_OK)
        return status;
    const enum ronde_status gzip_status =
        is_gzip(source->file) ? gzip_open(&source->gzip, source->file, path, mem, error) : RONDE_OK;
    if (gzip_status != RONDE_OK)
        return gzip_status;
    return ronde_mem_grow(mem, (void **)&source->bytes, &source->capacity, FIRST_BYTES, 1)
               ? RONDE_OK
               : ronde_fail(error, RONDE_NO_MEMORY, "%.200s: no memory", path);
}

void source_open_text(struct source *source, const char *path, const char *text, size_t bytes,
                      const struct ronde_mem *mem)
{
    /* Never written: the window is only moved and grown where it has a capacity. */
    *source = (struct source){
        .path = path, .mem = mem, .bytes = (char *)text, .end = bytes, .is_at_end = true};
}

void source_close(struct source *source)
{
    gzip_close(source->gzip);
    if (source->file)
        (void)fclose(source->file);
    if (source->capacity > 0)
        ronde_mem_free(source->mem, source->bytes, source->capacity, 1);
    *source = (struct source){.path = source->path, .mem = source->mem};
}

static enum ronde_status make_room(struct source *source, struct ronde_error *error)
{
    memmove(source->bytes, source->bytes + source->at, source->end - source->at);
    source->before += source->at;
    source->end -= source->at;
    source->at = 0;
    if (source->end < source->capacity)
        return RONDE_OK;
    if (source->capacity >= SOURCE_MOST_BYTES)
        return source_refuse(source, error, "one value of more than %zu MiB; is this a trace?",
                             SOURCE_MOST_BYTES >> 20);
    return ronde_mem_grow(source->mem, (void **)&source->bytes, &source->capacity,
                          2 * source->capacity, 1)
               ? RONDE_OK
               : ronde_fail(error, RONDE_NO_MEMORY, "%.200s: no memory", source->path);
}

enum ronde_status source_more(struct source *source, struct ronde_error *error)
{
    size_t got = 0;
    if (source->is_at_end)
        return RONDE_OK;
    enum ronde_status status = source->end == source->capacity ? make_room(source, error) : RONDE_OK;
    if (status != RONDE_OK)
        return status;
    char *to = source->bytes + source->end;
    const size_t room = source->capacity - source->end;
    if (source->gzip)
        status = gzip_read(source->gzip, (unsigned char *)to, room, &got, error);
    else
        got = fread(to, 1, room, source->file);
    if (status == RONDE_OK && ferror(source->file))
        return ronde_fail(error, RONDE_IO, "%.200s: cannot be read", source->path);
    source->end += got;
    source->is_at_end = got == 0;
    return status;
}

enum ronde_status source_refuse(const struct source *source, struct ronde_error *error,
                                const char *format, ...)
{
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return ronde_fail(error, RONDE_BAD_INPUT, "%.200s: byte %llu: %s", source->path,
                      (unsigned long long)(source->before + source->at), what);
}
