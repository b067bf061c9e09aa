/* Files to read as a command line names them: standard input as one of them, and those that are compressed. See options.h. */
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Standard input as a file ----------------------------------------------------------------------------------- */

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
    uint32_t count = 0;
    for (uint32_t i = 0; i < options->input_count; i++)
        count += settle(options->inputs[i]);
    for (uint32_t i = 0; i < options->argument_count; i++)
        count += settle(&options->arguments[i]);
    /* --with FILE:SIZE reads it by its path. */
    for (int i = 1; i < options->argc; i++)
        count += strstr(options->argv[i], PATH ":") ? 1 : 0;
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
    if (inputs > 1 || (options->backend.token && strcmp(options->backend.token, "-") == 0))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "only one input can be - (standard input): give the other as a file");
    if (fstat(STDIN_FILENO, &facts) != 0)
        return ronde_fail(error, RONDE_IO, PATH ": %s", strerror(errno));
    return S_ISREG(facts.st_mode) ? RONDE_OK : keep(error);
}

/* ---- Compressed files ------------------------------------------------------------------------------------------- */

/* What compressed files begin with. */
static const struct packing {
    const char *name;
    const char *tool; /* prints what is in it */
    size_t bytes;     /* of start */
    unsigned char start[5];
} packings[] = {
    {"gzip", "gunzip -c", 2, {0x1f, 0x8b}},
    {"zstd", "zstd -dc", 4, {0x28, 0xb5, 0x2f, 0xfd}},
    {"xz", "xz -dc", 5, {0xfd, '7', 'z', 'X', 'Z'}},
    {"bzip2", "bzip2 -dc", 3, {'B', 'Z', 'h'}},
    {"zip", "unzip -p", 4, {'P', 'K', 3, 4}},
};

/* The first bytes of a file; none of what is no file, which may not be read twice. */
static size_t peek(const char *path, unsigned char *first, size_t bytes)
{
    struct stat facts;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = 0;
    if (file >= 0 && fstat(file, &facts) == 0 && S_ISREG(facts.st_mode))
        got = pread(file, first, bytes, 0);
    if (file >= 0)
        (void)close(file);
    return got > 0 ? (size_t)got : 0;
}

enum ronde_status ronde_refuse_compressed(const char *path, struct ronde_error *error)
{
    unsigned char first[sizeof packings[0].start];
    const size_t bytes = path ? peek(path, first, sizeof first) : 0;
    for (size_t p = 0; p < sizeof packings / sizeof packings[0]; p++)
        if (bytes >= packings[p].bytes && memcmp(first, packings[p].start, packings[p].bytes) == 0)
            return ronde_fail(error, RONDE_BAD_INPUT,
                              "%s: compressed (%s), and is read unpacked only; unpack it, or give "
                              "- in its place behind `%s FILE |`",
                              path, packings[p].name, packings[p].tool);
    return RONDE_OK;
}

enum ronde_status ronde_inputs_check(const struct ronde_command *command,
                                     struct ronde_options *options, struct ronde_error *error)
{
    RONDE_TRY(ronde_stdin_to_file(options, error));
    for (uint32_t i = 0; i < options->input_count; i++)
        RONDE_TRY(ronde_refuse_compressed(*options->inputs[i], error));
    for (uint32_t i = 0; !command->unpacks && i < options->argument_count; i++)
        RONDE_TRY(ronde_refuse_compressed(options->arguments[i], error));
    return RONDE_OK;
}
