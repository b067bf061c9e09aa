/* Names of Chakra traces: PREFIX.RANK.et, one a rank. */
#include "chakra.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 4096

const enum ronde_collective chakra_collectives[CHAKRA_COLLECTIVES] = {
    RONDE_ALL_REDUCE, RONDE_REDUCE,     RONDE_ALL_GATHER,     RONDE_GATHER,         RONDE_SCATTER,
    RONDE_BROADCAST,  RONDE_ALL_TO_ALL, RONDE_REDUCE_SCATTER, RONDE_REDUCE_SCATTER, RONDE_BARRIER,
};

bool chakra_puts_in_block(enum ronde_collective collective)
{
    return collective == RONDE_ALL_GATHER || collective == RONDE_GATHER;
}

enum ronde_status chakra_path(const char *prefix, uint32_t rank, char out_path[PATH_BYTES],
                              struct ronde_error *error)
{
    const int length = snprintf(out_path, PATH_BYTES, "%s.%u.et", prefix, rank);
    return length > 0 && length < PATH_BYTES
               ? RONDE_OK
               : ronde_fail(error, RONDE_BAD_ARGUMENT, "the name %.64s... is too long", prefix);
}

static bool ends_in_et(const char *path)
{
    const size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".et") == 0;
}

enum ronde_status chakra_prefix(const char *path, char out_prefix[PATH_BYTES],
                                struct ronde_error *error)
{
    size_t length = strlen(path);
    if (length >= PATH_BYTES)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "the name %.64s... is too long", path);
    memcpy(out_prefix, path, length + 1);
    if (!ends_in_et(path))
        return RONDE_OK;
    const size_t end = length -= 3;
    while (length > 0 && path[length - 1] >= '0' && path[length - 1] <= '9')
        length--;
    if (length == end || length < 2 || path[length - 1] != '.')
        return ronde_fail(error, RONDE_BAD_INPUT,
                          "%s: the name of a trace has a rank, as in PREFIX.0.et", path);
    out_prefix[length - 1] = '\0';
    return RONDE_OK;
}

bool ronde_chakra_is(const char *path)
{
    char first[PATH_BYTES];
    if (ends_in_et(path))
        return true;
    FILE *file = chakra_path(path, 0, first, NULL) == RONDE_OK ? fopen(first, "rb") : NULL;
    if (file)
        fclose(file);
    return file != NULL;
}

/* Files from rank 0 on, until one is not there. */
enum ronde_status chakra_count_files(const char *prefix, uint32_t *out_ranks,
                                     struct ronde_error *error)
{
    char path[PATH_BYTES];
    for (*out_ranks = 0; *out_ranks <= RONDE_WORKLOAD_RANKS; ++*out_ranks) {
        const enum ronde_status status = chakra_path(prefix, *out_ranks, path, error);
        FILE *file = status == RONDE_OK ? fopen(path, "rb") : NULL;
        if (status != RONDE_OK)
            return status;
        if (!file)
            break;
        fclose(file);
    }
    return *out_ranks > 0
               ? RONDE_OK
               : ronde_fail(error, RONDE_IO, "%s.0.et: cannot be read: %s", prefix, strerror(errno));
}
