/* Standard input as a file. See stdin_file.h. */
#include "stdin_file.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH "/dev/stdin"

/* As much as any of the readers takes. */
#define MOST_BYTES ((size_t)1 << 30)

/* Whether an input is standard input; it is then called by its path. */
static uint32_t settle(const char **input)
{
    if (!*input || (strcmp(*input, "-") != 0 && strcmp(*input, PATH) != 0))
        return 0;
    *input = PATH;
    return 1;
}

/* How many of the inputs are standard input. */
static uint32_t settle_all(struct ronde_options *options)
{
    static const char file_with_size[] = PATH ":";
    uint32_t count = settle(&options->topo) + settle(&options->scenario) + settle(&options->from);
    for (uint32_t i = 0; i < options->argument_count; i++)
        count += settle(&options->arguments[i]);
    for (uint32_t i = 0; i < options->with_count; i++)
        count += strncmp(options->with[i], file_with_size, sizeof file_with_size - 1) == 0 ? 1 : 0;
    return count;
}

/* Whole, or the rest of it: a pipe takes and gives parts. */
static bool write_all(int file, const char *bytes, size_t count)
{
    while (count > 0) {
        const ssize_t done = write(file, bytes, count);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        bytes += done;
        count -= (size_t)done;
    }
    return true;
}

static enum ronde_status copy(int file, struct ronde_error *error)
{
    char block[65536];
    size_t total = 0;
    for (;;) {
        const ssize_t got = read(STDIN_FILENO, block, sizeof block);
        if (got == 0)
            return RONDE_OK;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ronde_fail(error, RONDE_IO, PATH ": cannot be read: %s", strerror(errno));
        total += (size_t)got;
        if (total > MOST_BYTES)
            return ronde_fail(error, RONDE_IO, PATH ": more than 1G");
        if (!write_all(file, block, (size_t)got))
            return ronde_fail(error, RONDE_IO, PATH ": cannot be kept: %s", strerror(errno));
    }
}

/* Opened again by its path a file of memory begins at its beginning, in this process and in those it makes. */
static enum ronde_status keep(struct ronde_error *error)
{
    const int file = memfd_create("stdin", MFD_CLOEXEC);
    if (file < 0)
        return ronde_fail(error, RONDE_IO, PATH ": cannot be kept: %s", strerror(errno));
    enum ronde_status status = copy(file, error);
    if (status == RONDE_OK && dup2(file, STDIN_FILENO) < 0)
        status = ronde_fail(error, RONDE_IO, PATH ": cannot be kept: %s", strerror(errno));
    (void)close(file);
    return status;
}

enum ronde_status ronde_stdin_to_file(struct ronde_options *options, struct ronde_error *error)
{
    struct stat facts;
    const uint32_t inputs = settle_all(options);
    if (inputs == 0)
        return RONDE_OK;
    if (inputs > 1 || (options->token && strcmp(options->token, "-") == 0))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "only one input can be - (standard input): give the other as a file");
    if (fstat(STDIN_FILENO, &facts) != 0)
        return ronde_fail(error, RONDE_IO, PATH ": %s", strerror(errno));
    return S_ISREG(facts.st_mode) ? RONDE_OK : keep(error);
}
