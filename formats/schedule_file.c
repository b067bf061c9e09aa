/* Schedules from files. See ronde/schedule_file.h. */
#include "whole_file.h"

#include "ronde/mem.h"
#include "ronde/mscclpp.h"
#include "ronde/schedule_file.h"
#include "ronde/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A whole file in memory. */

/* Largest file that is read: the text of a few million steps. */
#define MAX_FILE_BYTES ((size_t)1 << 30)

static enum ronde_status read_file(FILE *file, const char *path, const struct ronde_mem *mem,
                                   char **out_text, size_t *out_bytes, struct ronde_error *error)
{
    struct stat facts;
    if (fstat(fileno(file), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size < 0 ||
        (size_t)facts.st_size > MAX_FILE_BYTES)
        return ronde_fail(error, RONDE_IO, "%s: not a regular file of at most 1G", path);
    *out_bytes = (size_t)facts.st_size;
    *out_text = ronde_mem_new(mem, *out_bytes + 1, 1);
    if (!*out_text)
        return ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for %zu bytes", path, *out_bytes);
    return fread(*out_text, 1, *out_bytes, file) == *out_bytes
               ? RONDE_OK
               : ronde_fail(error, RONDE_IO, "%s: cannot be read", path);
}

enum ronde_status ronde_whole_file_read(const char *path, const struct ronde_mem *mem,
                                        char **out_text, size_t *out_bytes,
                                        struct ronde_error *error)
{
    FILE *file = fopen(path, "rb");
    *out_text = NULL;
    if (!file)
        return ronde_fail(error, RONDE_IO, "%s: cannot be read: %s", path, strerror(errno));
    const enum ronde_status status = read_file(file, path, mem, out_text, out_bytes, error);
    fclose(file);
    if (status != RONDE_OK) {
        ronde_whole_file_free(mem, *out_text, *out_bytes);
        *out_text = NULL;
    }
    return status;
}

void ronde_whole_file_free(const struct ronde_mem *mem, char *text, size_t bytes)
{
    ronde_mem_free(mem, text, bytes + 1, 1);
}

bool ronde_is_file(const char *word)
{
    enum ronde_collective unused;
    return !ronde_collective_parse(word, &unused) && (strchr(word, '.') || strchr(word, '/'));
}

enum ronde_status ronde_schedule_file_open(const char *path, struct ronde_proof *out_proof,
                                           struct ronde_schedule **out_schedule,
                                           struct ronde_error *error)
{
    return ronde_schedule_file_inspect(path, NULL, out_proof, out_schedule, error);
}

enum ronde_status ronde_schedule_file_inspect(const char *path, struct ronde_msccl_facts *out_facts,
                                              struct ronde_proof *out_proof,
                                              struct ronde_schedule **out_schedule,
                                              struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    char *text = NULL;
    size_t bytes = 0;
    *out_schedule = NULL;
    if (out_facts)
        memset(out_facts, 0, sizeof *out_facts);
    RONDE_TRY(ronde_whole_file_read(path, mem, &text, &bytes, error));
    /* By what is in it: names end in anything. */
    const enum ronde_status status =
        ronde_mscclpp_is(text, bytes)
            ? ronde_mscclpp_read(text, bytes, path, mem, out_proof, out_schedule, error)
        : ronde_msccl_is(text, bytes)
            ? ronde_msccl_read(text, bytes, path, mem, out_facts, out_proof, out_schedule, error)
            : ronde_schedule_read(text, bytes, path, mem, out_proof, out_schedule, error);
    ronde_whole_file_free(mem, text, bytes);
    return status;
}

struct ronde_compile_request ronde_schedule_file_request(const struct ronde_schedule *schedule)
{
    return (struct ronde_compile_request){.collective = schedule->collective,
                                          .ranks = schedule->ranks,
                                          .root = schedule->root,
                                          .channels = schedule->channel_count};
}
