/**
 * Files that a command writes: whole, or as they were before.
 *
 * What is written goes to a file beside the one that was named, which is renamed into place when all has arrived; a command
 * that fails leaves what was there. Pipes and devices, and files in folders where none can be made, are written as they are.
 */
#ifndef RONDE_OUTPUT_FILE_H
#define RONDE_OUTPUT_FILE_H

#include "ronde/status.h"

#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes of a path, its end included. */
#define RONDE_OUTPUT_PATH_BYTES 4096u

/** A file that is being written; zeroed, none is. */
struct ronde_output_file {
    FILE *file;                          /**< to write to */
    char path[RONDE_OUTPUT_PATH_BYTES];  /**< where it goes in the end */
    char draft[RONDE_OUTPUT_PATH_BYTES]; /**< where it is until then; "" = there */
    bool is_new;                         /**< one that grows, of which there was nothing before */
};

/** Opens a file to be written. Errors: IO naming the path and the reason. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_output_file_open(const char *path, struct ronde_output_file *out, struct ronde_error *error);

/** Opens a file that grows: what is written is added to what is there, and stays; a new one of nothing does not. Errors: IO, the same. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_output_file_append(const char *path, struct ronde_output_file *out, struct ronde_error *error);

/**
 * Closes it after what came to `status`, which is returned: with OK it takes its place, else it is dropped, but for what was
 * written as it is. One that is not open is closed already. Errors: DEVICE naming the path and the reason, where not all of it
 * could be written, also in place of IO and DEVICE, and of what was said for these; then it is dropped.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_output_file_close(struct ronde_output_file *output, enum ronde_status status,
                        struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
