/* Rendezvous files of one machine. See rendezvous_file.h. */
#include "hw/bootstrap/rendezvous_file.h"

#include "ronde/comm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 80

/* FNV-1a: names of jobs may hold what file names may not. */
static uint64_t hash_of(const char *job)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *job; job++)
        hash = (hash ^ (unsigned char)*job) * 0x100000001b3u;
    return hash;
}

static void path_of(const char *job, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "/tmp/ronde-%u-%016llx", (unsigned)geteuid(),
             (unsigned long long)hash_of(job));
}

enum ronde_status ronde_rendezvous_file_write(const char *job,
                                              const struct ronde_rendezvous_file *file,
                                              struct ronde_error *error)
{
    char path[PATH_BYTES];
    char draft[PATH_BYTES + 16];
    char text[RONDE_TOKEN_BYTES + 16];
    path_of(job, path);
    /* Written aside and renamed, so that no reader sees half of it. */
    snprintf(draft, sizeof draft, "%s-%u", path, (unsigned)getpid());
    const int bytes = snprintf(text, sizeof text, "%u %s\n", file->port, file->secret);
    (void)unlink(draft);
    const int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool is_done = fd >= 0 && write(fd, text, (size_t)bytes) == bytes;
    if (fd >= 0)
        close(fd);
    is_done = is_done && rename(draft, path) == 0;
    if (is_done)
        return RONDE_OK;
    const int reason = errno;
    (void)unlink(draft);
    return ronde_fail(error, RONDE_IO, "cannot write %s: %s", path, strerror(reason));
}

bool ronde_rendezvous_file_read(const char *job, struct ronde_rendezvous_file *out_file)
{
    char path[PATH_BYTES];
    char text[RONDE_TOKEN_BYTES + 16] = "";
    unsigned port = 0;
    struct stat about;
    path_of(job, path);
    /* Anybody may have made something of that name: opening a FIFO would wait for a writer. */
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    const bool is_ours = fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
                         about.st_uid == geteuid() && read(fd, text, sizeof text - 1) > 0;
    close(fd);
    _Static_assert(RONDE_TOKEN_BYTES == 128, "the width in the format below");
    if (!is_ours || sscanf(text, "%u %127s", &port, out_file->secret) != 2 || port == 0 ||
        port > UINT16_MAX)
        return false;
    out_file->port = (uint16_t)port;
    return true;
}

void ronde_rendezvous_file_remove(const char *job)
{
    char path[PATH_BYTES];
    path_of(job, path);
    (void)unlink(path);
}

/* What shows that a rank belongs to a communicator. */

enum ronde_status ronde_token_draw(char token[RONDE_TOKEN_BYTES], struct ronde_error *error)
{
    uint64_t number[2];
    if (getrandom(number, sizeof number, 0) != (ssize_t)sizeof number)
        return ronde_fail(error, RONDE_DEVICE, "the system gives no random numbers");
    snprintf(token, RONDE_TOKEN_BYTES, "%016llx%016llx", (unsigned long long)number[0],
             (unsigned long long)number[1]);
    return RONDE_OK;
}
