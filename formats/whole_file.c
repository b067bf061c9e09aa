/* A whole file in memory. See whole_file.h. */
#include "whole_file.h"

#include "ronde/mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Largest file that is read: the text of a few million steps. */
#define MAX_FILE_BYTES ((size_t)1 << 30)

enum ronde_status ronde_whole_file_read(const char *path, char **out_text, size_t *out_bytes,
                                        struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    struct stat facts;
    FILE *file = fopen(path, "rb");
    if (!file)
        return ronde_fail(error, RONDE_IO, "%s: cannot be read: %s", path, strerror(errno));
    enum ronde_status status = RONDE_OK;
    char *text = NULL;
    size_t bytes = 0;
    if (fstat(fileno(file), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size < 0 ||
        (size_t)facts.st_size > MAX_FILE_BYTES) {
        status = ronde_fail(error, RONDE_IO, "%s: not a regular file of at most 1G", path);
        goto out;
    }
    bytes = (size_t)facts.st_size;
    text = ronde_mem_new(mem, bytes + 1, 1);
    if (!text)
        status = ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for %zu bytes", path, bytes);
    else if (fread(text, 1, bytes, file) != bytes)
        status = ronde_fail(error, RONDE_IO, "%s: cannot be read", path);
out:
    fclose(file);
    if (status == RONDE_OK) {
        *out_text = text;
        *out_bytes = bytes;
    } else {
        ronde_mem_free(mem, text, bytes + 1, 1);
    }
    return status;
}

void ronde_whole_file_free(char *text, size_t bytes)
{
    ronde_mem_free(ronde_mem_default(), text, bytes + 1, 1);
}
