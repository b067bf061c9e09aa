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
    enum ronde_status status = ronde_whole_file_read(path, &text, &bytes, error);
    if (status != RONDE_OK)
        return status;
    /* By what is in it: names end in anything. */
    status =
        ronde_mscclpp_is(text, bytes)
            ? ronde_mscclpp_read(text, bytes, path, mem, out_proof, out_schedule, error)
        : ronde_msccl_is(text, bytes)
            ? ronde_msccl_read(text, bytes, path, mem, out_facts, out_proof, out_schedule, error)
            : ronde_schedule_read(text, bytes, path, mem, out_proof, out_schedule, error);
    ronde_whole_file_free(text, bytes);
    return status;
}

struct ronde_compile_request ronde_schedule_file_request(const struct ronde_schedule *schedule)
{
    return (struct ronde_compile_request){.collective = schedule->collective,
                                          .ranks = schedule->ranks,
                                          .root = schedule->root,
                                          .channels = schedule->channel_count};
}
