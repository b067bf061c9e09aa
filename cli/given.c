/* Schedules from files. See given.h. */
#define _POSIX_C_SOURCE 200809L

#include "given.h"

#include "ronde/text.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* Largest schedule file that is read: the text of a few million steps. */
#define MAX_FILE_BYTES ((size_t)1 << 30)

bool ronde_is_file(const char *word)
{
    enum ronde_collective unused;
    return !ronde_collective_parse(word, &unused) && (strchr(word, '.') || strchr(word, '/'));
}

bool ronde_is_given(const struct ronde_options *options)
{
    return options->argument_count > 0 && ronde_is_file(options->arguments[0]);
}

/* The whole file at once, with a bound: a schedule is text, not a device that never ends. */
static enum ronde_status read_file(const char *path, char **out_text, size_t *out_bytes,
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

/* What an algorithm would be asked for is decided in the file: nothing that is said beside it may be ignored. */
static enum ronde_status check_options(const struct ronde_options *options, uint32_t ranks,
                                       struct ronde_error *error)
{
    const char *path = options->arguments[0];
    if (options->algorithm_count > 0 || options->shape.count > 0 || options->channels > 0 ||
        options->pairs.ranks > 0 || options->root > 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s is a schedule, which has its algorithm, root, shape, channels and "
                          "pairs: leave out -a, -r, --shape, --channels and --pairs",
                          path);
    if (options->rank_counts > 1 || (options->rank_counts == 1 && options->ranks[0] != ranks))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s is for %u ranks: leave out -N", path,
                          ranks);
    return RONDE_OK;
}

enum ronde_status ronde_given_open(const char *path, struct ronde_proof *out_proof,
                                   struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    char *text = NULL;
    size_t bytes = 0;
    *out_schedule = NULL;
    enum ronde_status status = read_file(path, &text, &bytes, error);
    if (status != RONDE_OK)
        return status;
    status = ronde_schedule_read(text, bytes, path, mem, out_proof, out_schedule, error);
    ronde_mem_free(mem, text, bytes + 1, 1);
    return status;
}

enum ronde_status ronde_given_read(const struct ronde_options *options,
                                   struct ronde_proof *out_proof,
                                   struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    enum ronde_status status =
        ronde_given_open(options->arguments[0], out_proof, out_schedule, error);
    if (status == RONDE_OK)
        status = check_options(options, (*out_schedule)->ranks, error);
    if (status != RONDE_OK) {
        ronde_schedule_destroy(*out_schedule);
        *out_schedule = NULL;
    }
    return status;
}

struct ronde_request ronde_given_request(const struct ronde_schedule *schedule)
{
    return (struct ronde_request){.collective = schedule->collective,
                                  .ranks = schedule->ranks,
                                  .root = schedule->root,
                                  .channels = schedule->channel_count};
}

enum ronde_status ronde_given_or_compiled(const struct ronde_options *options,
                                          struct ronde_schedule **out_schedule,
                                          struct ronde_error *error)
{
    struct ronde_request request;
    if (ronde_is_given(options))
        return ronde_given_read(options, NULL, out_schedule, error);
    const enum ronde_status status = ronde_single_request(options, &request, error);
    return status == RONDE_OK ? ronde_request_compile(&request, out_schedule, error) : status;
}
