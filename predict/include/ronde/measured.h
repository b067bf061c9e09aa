/**
 * Times measured on a backend, for choosing an algorithm where no model of the machine is at hand.
 *
 * A machine's own caches and scheduler decide what is fastest among ranks that share it, and no formula here knows them
 * (remote reads, stores past the caches). So times are measured, by `ronde tune`, and kept in a text file per backend:
 *
 *     ronde measured times 1
 *     backend proc
 *     machine Intel(R) Xeon(R) Processor, 2 usable cores
 *     date 2026-11-22
 *     cores 2
 *     bytes 8 512 32768
 *     all_reduce ring 2 0.31 0.36 2.5
 *
 * First the version, then the five header lines, each once, then the rows: collective, algorithm, ranks, and the median
 * time of the slowest rank at each size in microseconds, out of place; 0 = not measured. What follows a # at the
 * beginning of a line, and empty lines, are for people.
 *
 * Files are looked for in this order: in the folder $RONDE_TUNE_DIR; in $XDG_CONFIG_HOME/ronde/tune, or
 * $HOME/.config/ronde/tune without it, where `ronde tune` writes this machine's; and where ronde ships them
 * (data_files.h), measured on a machine that they name. There what holds for the reader's machine is which algorithm is
 * faster, not how fast it is.
 */
#ifndef RONDE_MEASURED_H
#define RONDE_MEASURED_H

#include "ronde/choice.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Most sizes of a table. */
#define RONDE_MEASURED_MAX_SIZES 32u
/** Most rows of a table. */
#define RONDE_MEASURED_MAX_ROWS 16384u

/** One algorithm on one number of ranks. */
struct ronde_measured_row {
    enum ronde_collective collective;         /**< what */
    const char *algorithm;                    /**< how; a name of the registry */
    uint32_t ranks;                           /**< N */
    double time_us[RONDE_MEASURED_MAX_SIZES]; /**< at each size of the table; 0 = not measured */
};

/** All that was measured on a backend. Whoever fills one in by hand keeps its rows; a read one is freed as a whole. */
struct ronde_measured {
    char backend[32];                         /**< its name, or the transport's */
    char machine[192];                        /**< where, in one line */
    char date[16];                            /**< when: YYYY-MM-DD */
    uint32_t cores;                           /**< that the ranks had; at least 1 */
    uint32_t size_count;                      /**< sizes of every row; at least 1 */
    uint64_t bytes[RONDE_MEASURED_MAX_SIZES]; /**< sizes, as nccl-tests counts them, ascending */
    struct ronde_measured_row *rows;          /**< `row_count` of them */
    uint32_t row_count;                       /**< how many */
    uint32_t unknown_rows; /**< rows of the file whose collective or algorithm this build lacks: left out */
    size_t capacity; /**< of rows, where they were read */
};

/** Bytes of what is said of a table that cannot be used. */
#define RONDE_LEFT_OUT_BYTES 256u

/** The rows of a table that speak for some ranks. */
struct ronde_measured_view {
    const struct ronde_measured *table; /**< whose; NULL = no table speaks for them */
    uint32_t ranks;                     /**< of these rows */
    char left_out[RONDE_LEFT_OUT_BYTES]; /**< why a table of the user's, or ronde's, was passed over; "" = none was */
};

/**
 * Reads a file. Owner: the caller, by ronde_measured_destroy. Errors: IO where it cannot be read (error.line 0);
 * BAD_INPUT with "path:line: what" for anything malformed: another version, a header line missing or twice, a number that
 * is none, a row of other than one time per size, a row twice; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_measured_read(const char *path, const struct ronde_mem *mem,
                    struct ronde_measured **out_table, struct ronde_error *error);

/** Frees a table that was read; NULL is allowed. */
RONDE_API void ronde_measured_destroy(struct ronde_measured *table, const struct ronde_mem *mem);

/**
 * Writes a table to a file as ronde_measured_read reads it: beside it first, under another name, then renamed, so that
 * readers see all of the old one or all of the new one. Missing folders are made. Errors: IO and DEVICE naming the path.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_measured_write(const struct ronde_measured *table,
                                                                  const char *path,
                                                                  struct ronde_error *error);

/** Adds to words on what decided that a table was left out, where one was. */
RONDE_API void ronde_measured_say(const char *left_out, char *io_words, size_t bytes);

/** Places where tables are looked for, in that order. */
enum ronde_measured_place {
    RONDE_MEASURED_NAMED,                              /**< $RONDE_TUNE_DIR */
    RONDE_MEASURED_USER,                               /**< the user's own */
    RONDE_MEASURED_SHIPPED,                            /**< ronde's own */
    RONDE_MEASURED_PLACES = RONDE_MEASURED_SHIPPED + 4 /**< one per place of data_files.h */
};

/**
 * The path a backend's table has at a place, whether or not it is there. False where the environment names no such place,
 * there is no such folder of ronde's, or the path is longer than RONDE_PATH_BYTES.
 */
RONDE_API bool ronde_measured_path(uint32_t place, const char *backend, char *out_path,
                                   size_t bytes);

/**
 * The first table in the order of the places that has rows for a launch, see ronde_measured_look. *out_table is NULL, and
 * out_view without a table, where none has. A file that is there and cannot be used is passed over, which out_view->left_out
 * says, unless it is in the folder that RONDE_TUNE_DIR names. Owner: the caller, by ronde_measured_destroy. Errors: those of
 * ronde_measured_read, and BAD_INPUT for a table of another backend, in that folder; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_measured_find(const char *backend, enum ronde_collective collective, uint32_t ranks,
                    uint32_t cores, const struct ronde_mem *mem, struct ronde_measured **out_table,
                    struct ronde_measured_view *out_view, struct ronde_error *error);

/**
 * The rows for `ranks` ranks on `cores` cores: of those measured with as many ranks as cores or fewer where these fit too,
 * or with more where these have to take turns, the nearest number. False where the table has none for the collective.
 */
RONDE_API bool ronde_measured_look(const struct ronde_measured *table,
                                   enum ronde_collective collective, uint32_t ranks, uint32_t cores,
                                   struct ronde_measured_view *out_view);

/**
 * A pricer from a view, which must outlive it: between two sizes times are interpolated over the logarithms of both, below
 * the first they stay, above the last they grow with the bytes. An algorithm without a row has no time, so it is not
 * chosen until it is measured. No errors.
 */
RONDE_API struct ronde_pricer ronde_measured_pricer(const struct ronde_measured_view *view);

#ifdef __cplusplus
}
#endif
#endif
