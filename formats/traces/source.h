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

struct inflate;

/* Longest value that must be in the window at once: an event, an entry. */
#define SOURCE_MOST_BYTES ((size_t)64 << 20)

/* What is read. `at` and `end` are the readers': [at, end) is not yet read. */
struct source {
    const char *path; /* the caller's */
    const struct ronde_mem *mem;
    FILE *file;
    struct inflate *inflate; /* NULL: the file is plain */
    char *bytes;             /* the window */
    size_t capacity;         /* 0: the window is a text of the caller's, all of it */
    size_t at, end;
    uint64_t before; /* bytes that left the window: before + at is the offset */
    bool is_at_end;  /* nothing comes behind `end` */
};

/* Opens a file; gzip is recognised by its first bytes. Errors: IO, NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status source_open(struct source *source, const char *path,
                                               const struct ronde_mem *mem,
                                               struct ronde_error *error);

/* The same of a text, which must outlive it. */
void source_open_text(struct source *source, const char *path, const char *text, size_t bytes,
                      const struct ronde_mem *mem);

void source_close(struct source *source);

/* Brings more bytes behind `end`, keeping those from `at` on; is_at_end where there are none. Errors: BAD_INPUT, IO, NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status source_more(struct source *source, struct ronde_error *error);

/* Refuses: "path: byte N: what", N that of `at`. */
RONDE_FORMAT(3, 4)
enum ronde_status source_refuse(const struct source *source, struct ronde_error *error,
                                const char *format, ...);

/* gzip files (RFC 1951, 1952) as a stream of bytes: traces come compressed, and a build should not need a library
 * for that. */

#define INFLATE_WINDOW 32768u              /* farthest that a match reaches back */
#define INFLATE_ROOM (INFLATE_WINDOW * 8u) /* decoded bytes that are held, the window included */
#define INFLATE_INPUT 65536u               /* compressed bytes that are held */
#define INFLATE_FAST_BITS 10u              /* codes up to so many bits are one look-up */
#define INFLATE_MOST_BITS 15u              /* bits of the longest code */
#define INFLATE_SYMBOLS 288u               /* literals, lengths and what is reserved */

/* A Huffman code: short codes by table, longer ones by counting. */
struct inflate_code {
    uint16_t fast[1u << INFLATE_FAST_BITS]; /* 16 * symbol + bits; 0 = a longer code */
    uint16_t count[INFLATE_MOST_BITS + 1];  /* codes of each length */
    uint16_t symbol[INFLATE_SYMBOLS];       /* in the order of codes */
};

enum inflate_mode { INFLATE_HEADER, INFLATE_BLOCK, INFLATE_STORED, INFLATE_CODED, INFLATE_END };

/* A file that is decoded. About 400 KiB: not for the stack. */
struct inflate {
    FILE *file;
    const char *path;
    enum inflate_mode mode;
    bool is_last;                /* the block is */
    bool is_at_end;              /* the file is read to its end */
    uint64_t bits;               /* read and not used, the next one lowest */
    uint32_t bit_count;          /* how many */
    uint32_t length;             /* of a match, or of a stored block, not yet copied */
    uint32_t distance;           /* of the match */
    uint32_t crc_table[8 * 256]; /* of a byte, and of one that one to seven zeroes follow */
    uint32_t crc;                /* of the member so far */
    uint64_t member_bytes;       /* decoded of it */
    uint64_t file_bytes;         /* of the file that were read */
    size_t input_at, input_end;
    size_t out_end;  /* decoded bytes in `out` */
    size_t out_done; /* of these, handed over */
    struct inflate_code lengths, distances;
    unsigned char input[INFLATE_INPUT];
    unsigned char out[INFLATE_ROOM];
};

/* Starts with the file at its beginning. */
void inflate_open(struct inflate *inflate, FILE *file, const char *path);

/* The next bytes, at most `capacity`; 0 at the end. Errors: BAD_INPUT with path and offset of the file, IO. */
RONDE_MUST_CHECK enum ronde_status inflate_read(struct inflate *inflate, unsigned char *to,
                                                size_t capacity, size_t *out_bytes,
                                                struct ronde_error *error);

#endif
