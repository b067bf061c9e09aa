/* Stands in for gzip.c where zlib was not found. */
#include "source.h"

#include "ronde/traces.h"

static const char missing[] =
    "built without zlib (package zlib1g-dev), so no compressed trace is read";

bool ronde_traces_gzip_available(const char **out_text)
{
    *out_text = missing;
    return false;
}

enum ronde_status gzip_open(struct gzip **out_gzip, FILE *file, const char *path,
                            const struct ronde_mem *mem, struct ronde_error *error)
{
    (void)file;
    (void)mem;
    *out_gzip = NULL;
    return ronde_fail(error, RONDE_UNAVAILABLE, "%.200s: %s; unpack it first (gunzip)", path,
                      missing);
}

void gzip_close(struct gzip *gzip)
{
    (void)gzip;
}

enum ronde_status gzip_read(struct gzip *gzip, unsigned char *to, size_t capacity,
                            size_t *out_bytes, struct ronde_error *error)
{
    (void)gzip;
    (void)to;
    (void)capacity;
    *out_bytes = 0;
    return ronde_fail(error, RONDE_UNAVAILABLE, "%s", missing);
}
