/**
 * The bytes of a trace, as a window that moves over a file (plain or gzip) or over a text in memory.
 */
#ifndef RONDE_FORMATS_TRACES_SOURCE_H
#define RONDE_FORMATS_TRACES_SOURCE_H

#include "ronde/mem.h"
#include "ronde/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct gzip;

/* Longest value that must be in the window at once: an event, an entry. */
#define SOURCE_MOST_BYTES ((size_t)64 << 20)

/*
 * What is read. `at` and `end` are the readers': [at, end) is not yet read. Whoever refuses what is there says so in `status` and
 * returns false, as does everyone who called: the one that opened the source has both from source_close.
 */
struct source {
    const char *path; /* the caller's */
    const struct ronde_mem *mem;
    struct ronde_error *error; /* where a refusal is said; NULL: nobody asks why */
    enum ronde_status status;
    FILE *file;
    struct gzip *gzip; /* NULL: the file is plain */
    char *bytes;       /* the window */
    size_t capacity;   /* 0: the window is a text of the caller's, all of it */
    size_t at, end;
    uint64_t before; /* bytes that left the window: before + at is the offset */
    bool is_at_end;  /* nothing comes behind `end` */
};

/* Opens a file; gzip is recognised by its first bytes. Refuses what cannot be read (IO), and without memory. */
RONDE_MUST_CHECK bool source_open(struct source *source, const char *path,
                                  const struct ronde_mem *mem, struct ronde_error *error);

/* The same of a text, which must outlive it. */
void source_open_text(struct source *source, const char *path, const char *text, size_t bytes,
                      const struct ronde_mem *mem, struct ronde_error *error);

/* Closes it, whether it was opened or refused. Returns its status. */
enum ronde_status source_close(struct source *source);

/* Brings more bytes behind `end`, keeping those from `at` on; is_at_end where there are none. False: BAD_INPUT, IO, NO_MEMORY. */
RONDE_MUST_CHECK bool source_more(struct source *source);

/* Refuses: "path: byte N: what", N that of `at`; "path:line: what". Each returns false. */
RONDE_FORMAT(2, 3) bool source_refuse(struct source *source, const char *format, ...);
RONDE_FORMAT(3, 4)
bool source_refuse_line(struct source *source, uint32_t line, const char *format, ...);
bool source_no_memory(struct source *source);

/* Appends an item to a list; false where there is no memory, which is refused. */
RONDE_MUST_CHECK bool source_keep(struct source *source, struct ronde_list *list, const void *item,
                                  size_t item_bytes);

/* Starts to decode a file of gzip (RFC 1952) at its beginning. Errors: NO_MEMORY, UNAVAILABLE without zlib. */
RONDE_MUST_CHECK enum ronde_status gzip_open(struct gzip **out_gzip, FILE *file, const char *path,
                                             const struct ronde_mem *mem, struct ronde_error *error);

/* The file stays the caller's. NULL does nothing. */
void gzip_close(struct gzip *gzip);

/* The next bytes, at most `capacity`; 0 at the end. Errors: BAD_INPUT with path and offset of the file, IO, NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status gzip_read(struct gzip *gzip, unsigned char *to, size_t capacity,
                                             size_t *out_bytes, struct ronde_error *error);

#endif
