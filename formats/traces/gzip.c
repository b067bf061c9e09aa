/* gzip (RFC 1952), decoded by zlib as it is asked for. See source.h. */
#include "source.h"

#include "ronde/limits.h"
#include "ronde/traces.h"

#include <zlib.h>

/* Compressed bytes that are held. */
#define INPUT_BYTES 65536u

/* So much may come of any file: beyond it what a byte becomes is bounded, traces being a tenth when compressed, not a hundredth. */
#define FREE_BYTES ((uint64_t)64 << 20)

/* gzip's head and check sum are zlib's to read, with the widest window. */
#define GZIP_WINDOW (16 + MAX_WBITS)

struct gzip {
    FILE *file;
    const char *path;
    const struct ronde_mem *mem;
    z_stream stream;
    uint64_t file_bytes; /* of the file that were read */
    uint64_t made_bytes; /* of them */
    bool is_in_member;   /* a file may have several, one behind the other */
    unsigned char input[INPUT_BYTES];
};

bool ronde_traces_gzip_available(const char **out_text)
{
    *out_text = zlibVersion();
    return true;
}

enum ronde_status gzip_open(struct gzip **out_gzip, FILE *file, const char *path,
                            const struct ronde_mem *mem, struct ronde_error *error)
{
    struct gzip *gzip = ronde_mem_new(mem, 1, sizeof *gzip);
    *out_gzip = NULL;
    if (!gzip)
        return ronde_fail(error, RONDE_NO_MEMORY, "%.200s: no memory", path);
    gzip->file = file;
    gzip->path = path;
    gzip->mem = mem;
    gzip->is_in_member = true;
    if (inflateInit2(&gzip->stream, GZIP_WINDOW) != Z_OK) {
        ronde_mem_free(mem, gzip, 1, sizeof *gzip);
        return ronde_fail(error, RONDE_NO_MEMORY, "%.200s: no memory", path);
    }
    *out_gzip = gzip;
    return RONDE_OK;
}

void gzip_close(struct gzip *gzip)
{
    if (!gzip)
        return;
    (void)inflateEnd(&gzip->stream);
    ronde_mem_free(gzip->mem, gzip, 1, sizeof *gzip);
}

static enum ronde_status refuse(const struct gzip *gzip, const char *what, struct ronde_error *error)
{
    return ronde_fail(error, RONDE_BAD_INPUT, "%.200s: byte %llu: %s; write the file again",
                      gzip->path, (unsigned long long)(gzip->file_bytes - gzip->stream.avail_in),
                      what);
}

/* Has input ready, unless the file is at its end. */
static void fill(struct gzip *gzip)
{
    if (gzip->stream.avail_in > 0)
        return;
    const size_t bytes = fread(gzip->input, 1, sizeof gzip->input, gzip->file);
    gzip->stream.next_in = gzip->input;
    gzip->stream.avail_in = (uInt)bytes;
    gzip->file_bytes += bytes;
}

/* Looks for another member. Zeroes may fill the last block of a tape. */
static void begin_member(struct gzip *gzip)
{
    while (gzip->stream.avail_in > 0 && *gzip->stream.next_in == 0) {
        gzip->stream.next_in++;
        gzip->stream.avail_in--;
        fill(gzip);
    }
    gzip->is_in_member = gzip->stream.avail_in > 0 && inflateReset(&gzip->stream) == Z_OK;
}

static enum ronde_status decode(struct gzip *gzip, struct ronde_error *error)
{
    switch (inflate(&gzip->stream, Z_NO_FLUSH)) {
    case Z_STREAM_END:
        gzip->is_in_member = false;
        return RONDE_OK;
    case Z_OK:
        return RONDE_OK;
    case Z_MEM_ERROR:
        return ronde_fail(error, RONDE_NO_MEMORY, "%.200s: no memory", gzip->path);
    default:
        return refuse(gzip, gzip->stream.msg ? gzip->stream.msg : "no gzip", error);
    }
}

enum ronde_status gzip_read(struct gzip *gzip, unsigned char *to, size_t capacity,
                            size_t *out_bytes, struct ronde_error *error)
{
    const uInt room = capacity < UINT32_MAX ? (uInt)capacity : UINT32_MAX;
    enum ronde_status status = RONDE_OK;
    gzip->stream.next_out = to;
    gzip->stream.avail_out = room;
    *out_bytes = 0;
    while (status == RONDE_OK && gzip->stream.avail_out == room && room > 0) {
        fill(gzip);
        if (ferror(gzip->file))
            return ronde_fail(error, RONDE_IO, "%.200s: cannot be read", gzip->path);
        if (!gzip->is_in_member)
            begin_member(gzip);
        if (gzip->stream.avail_in == 0)
            return gzip->is_in_member ? refuse(gzip, "it ends before its check sum", error)
                                      : RONDE_OK;
        status = decode(gzip, error);
    }
    *out_bytes = room - gzip->stream.avail_out;
    gzip->made_bytes += *out_bytes;
    if (status != RONDE_OK || gzip->made_bytes < FREE_BYTES)
        return status;
    return ronde_limit_check_file(RONDE_LIMIT_INFLATION, gzip->made_bytes / gzip->file_bytes,
                                  gzip->path, 0, error);
}
