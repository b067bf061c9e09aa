/* UCX's files in shared memory. See shm_folder.h. */
#include "shm_folder.h"

#include "cli/print/report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Bytes of a folder's path. */
#define PATH_BYTES ((ssize_t)sizeof((struct ronde_shm_folder *)NULL)->path)

/* What tells UCX where its files go. */
#define VARIABLE "UCX_POSIX_DIR"

/* Does nothing where the path is empty. */
static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    for (const struct dirent *entry = folder ? readdir(folder) : NULL; entry;
         entry = readdir(folder))
        (void)unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        (void)closedir(folder);
    (void)rmdir(path);
}

/* Lets go of everything that somebody may wait for, such as the end of a pipe of a launcher's. */
static void close_others(int kept)
{
    const int nowhere = open("/dev/null", O_RDWR);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        (void)dup2(nowhere, fd);
    for (int fd = STDERR_FILENO + 1; fd < (int)sysconf(_SC_OPEN_MAX) && fd < 4096; fd++)
        if (fd != kept)
            (void)close(fd);
}

/* Never returns. Makes the folder itself, so that none is there without a process that removes it. */
static void be_remover(char *path, int end)
{
    (void)setsid();
    close_others(end);
    char nothing;
    if (!mkdtemp(path))
        path[0] = '\0';
    const bool is_told = send(end, path, PATH_BYTES, MSG_NOSIGNAL) == PATH_BYTES;
    while (is_told && path[0] && read(end, &nothing, 1) < 0 && errno == EINTR)
        continue;
    remove_folder(path);
    _exit(RONDE_EXIT_OK);
}

/* The remover starts with all signals blocked: those of a terminal, or sent to all processes of a job, are for the ranks. */
static pid_t fork_blocked(void)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    const pid_t pid = fork();
    if (pid != 0)
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

/* Waits for the folder; false where there is none. */
static bool await_folder(int end, char *path)
{
    ssize_t got;
    while ((got = recv(end, path, PATH_BYTES, MSG_WAITALL)) < 0 && errno == EINTR)
        continue;
    if (got != PATH_BYTES)
        path[0] = '\0';
    return path[0] != '\0' && setenv(VARIABLE, path, 1) == 0;
}

void ronde_shm_folder_open(struct ronde_shm_folder *folder)
{
    int ends[2];
    *folder = (struct ronde_shm_folder){.path = "/dev/shm/ronde-XXXXXX", .alive = -1};
    if (getenv(VARIABLE) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    folder->remover = fork_blocked();
    if (folder->remover == 0) {
        (void)close(ends[1]);
        be_remover(folder->path, ends[0]);
    }
    (void)close(ends[0]);
    folder->alive = ends[1];
    if (folder->remover < 0) {
        (void)close(folder->alive);
        folder->remover = 0;
    } else if (!await_folder(folder->alive, folder->path)) {
        ronde_shm_folder_close(folder);
    }
}

void ronde_shm_folder_close(struct ronde_shm_folder *folder)
{
    if (folder->remover == 0)
        return;
    (void)close(folder->alive);
    (void)kill(folder->remover, SIGCONT);
    while (waitpid(folder->remover, NULL, 0) < 0 && errno == EINTR)
        continue;
    /* Nothing is left to do, unless somebody has killed the remover. */
    remove_folder(folder->path);
    folder->remover = 0;
}
