/** Text files of "name word word ..." lines; '#' begins a comment. What the model's data files are. */
#ifndef RONDE_NCCL_NCCL_WORDS_H
#define RONDE_NCCL_NCCL_WORDS_H

#include "ronde/data_files.h"
#include "ronde/nccl_model.h"
#include "ronde/status.h"

#include <stdbool.h>
#include <stdint.h>

/** Words of a line at most, its name included. */
#define RONDE_NCCL_MAX_WORDS 24u

/** A line that is read. */
struct ronde_nccl_words {
    const char *path;                       /**< of the file */
    uint32_t line;                          /**< from 1 */
    uint32_t count;                         /**< words, the name among them; 1 at least */
    const char *word[RONDE_NCCL_MAX_WORDS]; /**< zero-terminated */
};

/** Takes a line; what it refuses ends the reading. */
typedef enum ronde_status (*ronde_nccl_take)(void *self, const struct ronde_nccl_words *words,
                                             struct ronde_error *error);

/** Reads a file line by line. Errors: IO, BAD_INPUT, and those of `take`. */
RONDE_MUST_CHECK enum ronde_status ronde_nccl_words_read(const char *path, ronde_nccl_take take,
                                                         void *self, struct ronde_error *error);

/** Refuses a line: "path:line: name: what". */
RONDE_FORMAT(3, 4)
enum ronde_status ronde_nccl_words_refuse(const struct ronde_nccl_words *words,
                                          struct ronde_error *error, const char *format, ...);

/** A number from low to high in word `at`; refuses anything else. */
RONDE_MUST_CHECK enum ronde_status ronde_nccl_words_number(const struct ronde_nccl_words *words,
                                                           uint32_t at, double low, double high,
                                                           double *out, struct ronde_error *error);

/** Which of `count` names word `at` is; refuses anything else and says what there is. */
RONDE_MUST_CHECK enum ronde_status
ronde_nccl_words_name(const struct ronde_nccl_words *words, uint32_t at, const char *const *names,
                      uint32_t count, uint32_t *out, struct ronde_error *error);

/** The path of a file of constants, NAME.txt, in a folder or, where that is NULL, in the shipped one. Errors: IO. */
RONDE_MUST_CHECK enum ronde_status ronde_nccl_shipped_file(const char *folder, const char *name,
                                                           char out_path[RONDE_PATH_BYTES],
                                                           struct ronde_error *error);

/* Words of the model's files and of NCCL's settings, in the order of their enumerations. */

extern const char *const ronde_nccl_generations[RONDE_NCCL_GENERATION_COUNT];
extern const char *const ronde_nccl_links[RONDE_NODE_PCIE + 1];
extern const char *const ronde_nccl_gpu_paths[RONDE_NCCL_GPU_PATH_COUNT];
extern const char *const ronde_nccl_fabrics[RONDE_NCCL_FABRIC_COUNT];
extern const char *const ronde_nccl_cpus[RONDE_NCCL_CPU_COUNT];

#endif
