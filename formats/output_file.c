/* Files renamed into place. See ronde/output_file.h. */
#include "ronde/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(RONDE_OUTPUT_PATH_BYTES >= PATH_MAX, "realpath writes no more");

/* Whether a path names something that is not to be replaced: a pipe, a device, a descriptor of this process. */
static bool is_written_in_place(const char *path, const struct stat *found)
{
    return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0 ||
           !S_ISREG(found->st_mode);
}

/* More links in a row than the system follows. */
#define MOST_LINKS 40

/* Puts what a link says in the place of its name; false where it does not fit. */
static bool follow(char path[RONDE_OUTPUT_PATH_BYTES], const char *target)
{
    const char *const slash = target[0] == '/' ? NULL : strrchr(path, '/');
    const size_t kept = slash ? (size_t)(slash + 1 - path) : 0;
    if (kept + strlen(target) >= RONDE_OUTPUT_PATH_BYTES)
        return false;
    strcpy(path + kept, target);
    return true;
}

/* Where a name leads to through links: that file is replaced, or made, not the link. */
static bool resolve(const char *path, char out[RONDE_OUTPUT_PATH_BYTES])
{
    char target[RONDE_OUTPUT_PATH_BYTES];
    if (strlen(path) >= RONDE_OUTPUT_PATH_BYTES)
        return false;
    if (realpath(path, out))
        return true;
    strcpy(out, path);
    for (int links = 0; errno == ENOENT && links < MOST_LINKS; links++) {
        const ssize_t length = readlink(out, target, sizeof target - 1);
        if (length < 0)
            return errno == EINVAL || errno == ENOENT;
        target[length] = '\0';
        errno = follow(out, target) ? ENOENT : ENAMETOOLONG;
    }
    return false;
}

static enum ronde_status open_in_place(const char *path, const char *mode,
                                       struct ronde_output_file *out, struct ronde_error *error)
{
    out->draft[0] = '\0';
    (void)snprintf(out->path, sizeof out->path, "%s", path);
    out->file = fopen(path, mode);
    return out->file
               ? RONDE_OK
               : ronde_fail(error, RONDE_IO, "%s: cannot be written: %s", path, strerror(errno));
}

/* A new file beside the path, with the rights that the old one has; false with errno. */
static bool open_draft(struct ronde_output_file *out, const struct stat *old)
{
    const int length =
        snprintf(out->draft, sizeof out->draft, "%s.%ld.part", out->path, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof out->draft) {
        errno = ENAMETOOLONG;
        return false;
    }
    const int descriptor = open(out->draft, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return false;
    if (old)
        (void)fchmod(descriptor, old->st_mode & 07777);
    out->file = fdopen(descriptor, "w");
    if (out->file)
        return true;
    const int reason = errno;
    close(descriptor);
    (void)unlink(out->draft);
    errno = reason;
    return false;
}

enum ronde_status ronde_output_file_open(const char *path, struct ronde_output_file *out,
                                         struct ronde_error *error)
{
    struct stat found;
    *out = (struct ronde_output_file){.file = NULL};
    const bool is_there = stat(path, &found) == 0;
    if ((is_there && is_written_in_place(path, &found)) || !resolve(path, out->path))
        return open_in_place(path, "w", out, error);
    /* A file that may not be written is not replaced either. */
    if (is_there && access(path, W_OK) != 0)
        return ronde_fail(error, RONDE_IO, "%s: cannot be written: %s", path, strerror(errno));
    if (open_draft(out, is_there ? &found : NULL))
        return RONDE_OK;
    const int reason = errno;
    if (is_there || reason == ENAMETOOLONG)
        return open_in_place(path, "w", out, error);
    return ronde_fail(error, RONDE_IO, "%s: cannot be written: %s", path, strerror(reason));
}

enum ronde_status ronde_output_file_append(const char *path, struct ronde_output_file *out,
                                           struct ronde_error *error)
{
    struct stat found;
    out->is_new = stat(path, &found) != 0;
    return open_in_place(path, "a", out, error);
}

/* Why an earlier write failed. errno may be of something else since: what will be dropped, or is no file, is written again. */
static int ask_again(const struct ronde_output_file *output, FILE *file)
{
    struct stat found;
    const int reason = errno;
    if (!output->draft[0] && (fstat(fileno(file), &found) != 0 || S_ISREG(found.st_mode)))
        return reason;
    clearerr(file);
    return fputc('\n', file) == EOF || fflush(file) != 0 ? errno : reason;
}

enum ronde_status ronde_output_file_close(struct ronde_output_file *output,
                                          enum ronde_status status, struct ronde_error *error)
{
    FILE *file = output->file;
    struct stat found;
    output->file = NULL;
    if (!file)
        return status;
    const bool has_failed = ferror(file) != 0;
    bool is_whole = !has_failed && fflush(file) == 0;
    int reason = has_failed ? ask_again(output, file) : errno;
    if (fclose(file) != 0 && is_whole) {
        is_whole = false;
        reason = errno;
    }
    if (output->draft[0] && status == RONDE_OK && is_whole &&
        rename(output->draft, output->path) != 0) {
        is_whole = false;
        reason = errno;
    }
    if (output->draft[0] && (status != RONDE_OK || !is_whole))
        (void)unlink(output->draft);
    if (output->is_new && (status != RONDE_OK || !is_whole) && stat(output->path, &found) == 0 &&
        S_ISREG(found.st_mode) && found.st_size == 0)
        (void)unlink(output->path);
    if (is_whole || (status != RONDE_OK && status != RONDE_IO && status != RONDE_DEVICE))
        return status;
    /* What was said by who wrote into it names no file. */
    if (error)
        *error = (struct ronde_error){.status = RONDE_OK};
    return ronde_fail(error, RONDE_DEVICE, "%s: could not be written: %s", output->path,
                      reason ? strerror(reason) : "is the disk full?");
}
