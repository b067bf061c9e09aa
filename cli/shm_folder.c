/* UCX's files in shared memory. See shm_folder.h. */
#include "shm_folder.h"

#include "report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What tells UCX where its files go. */
#define VARIABLE "UCX_POSIX_DIR"

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

/* Never returns. */
static void be_keeper(const char *path, int end)
{
    char nothing;
    (void)setsid();
    close_others(end);
    while (read(end, &nothing, 1) < 0 && errno == EINTR)
        continue;
    remove_folder(path);
    _exit(RONDE_EXIT_OK);
}

/* Signals are for those that work, the terminal's and those sent to all processes of a job: the keeper is born without. */
static pid_t fork_deaf(void)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    const pid_t pid = fork();
    if (pid != 0)
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

void ronde_shm_folder_open(struct ronde_shm_folder *folder)
{
    char path[] = "/dev/shm/ronde-XXXXXX";
    int ends[2];
    *folder = (struct ronde_shm_folder){.alive = -1};
    if (getenv(VARIABLE) || pipe2(ends, O_CLOEXEC) != 0)
        return;
    const bool is_made = mkdtemp(path) != NULL;
    const pid_t keeper = is_made ? fork_deaf() : -1;
    if (keeper == 0) {
        (void)close(ends[1]);
        be_keeper(path, ends[0]);
    }
    (void)close(ends[0]);
    if (keeper > 0 && setenv(VARIABLE, path, 1) == 0) {
        *folder = (struct ronde_shm_folder){.keeper = keeper, .alive = ends[1]};
        memcpy(folder->path, path, sizeof path);
        return;
    }
    (void)close(ends[1]);
    if (is_made && keeper < 0)
        (void)rmdir(path);
}

void ronde_shm_folder_close(struct ronde_shm_folder *folder)
{
    if (folder->keeper == 0)
        return;
    (void)close(folder->alive);
    (void)kill(folder->keeper, SIGCONT);
    while (waitpid(folder->keeper, NULL, 0) < 0 && errno == EINTR)
        continue;
    /* Nothing is left to do, unless somebody has killed the keeper. */
    remove_folder(folder->path);
    folder->keeper = 0;
}
