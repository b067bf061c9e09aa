/* A file in memory. */
#include "readers.h"

#include "ronde/mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Largest file that is read. */
#define MOST_BYTES ((size_t)1 << 30)

/* The whole of a regular file; *out_data has a zero behind it and is freed with *out_bytes + 1. */
enum ronde_status workload_load_file(const char *path, const struct ronde_mem *mem, char **out_data,
                                     size_t *out_bytes, struct ronde_error *error)
{
    struct stat facts;
    FILE *file = fopen(path, "rb");
    *out_data = NULL;
    if (!file)
        return ronde_fail(error, RONDE_IO, "%s: cannot be read: %s", path, strerror(errno));
    enum ronde_status status = RONDE_OK;
    if (fstat(fileno(file), &facts) != 0 || !S_ISREG(facts.st_mode) ||
        (uint64_t)facts.st_size > MOST_BYTES)
        status = ronde_fail(error, RONDE_IO, "%s: not a regular file of at most 1G", path);
    const size_t bytes = status == RONDE_OK ? (size_t)facts.st_size : 0;
    char *data = status == RONDE_OK ? ronde_mem_new(mem, bytes + 1, 1) : NULL;
    if (status == RONDE_OK && !data)
        status = ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for %zu bytes", path, bytes);
    if (status == RONDE_OK && fread(data, 1, bytes, file) != bytes)
        status = ronde_fail(error, RONDE_IO, "%s: cannot be read", path);
    fclose(file);
    if (status != RONDE_OK) {
        ronde_mem_free(mem, data, bytes + 1, 1);
        return status;
    }
    *out_data = data;
    *out_bytes = bytes;
    return RONDE_OK;
}

/* Workloads from files, by what is in them. */

enum ronde_status ronde_workload_read(const char *path, const struct ronde_mem *mem,
                                      struct ronde_workload **out_workload,
                                      struct ronde_error *error)
{
    char *data = NULL;
    size_t bytes = 0;
    *out_workload = NULL;
    if (ronde_chakra_is(path))
        return ronde_chakra_read(path, mem, out_workload, error);
    enum ronde_status status = workload_load_file(path, mem, &data, &bytes, error);
    if (status != RONDE_OK)
        return status;
    status = ronde_workload_parse(data, bytes, path, mem, out_workload, error);
    ronde_mem_free(mem, data, bytes + 1, 1);
    return status;
}
