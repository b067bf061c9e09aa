/**
 * A folder for the files that UCX makes of shared memory, which goes with them however the processes end.
 *
 * UCX takes a name away as soon as it has made its file (UCX_POSIX_USE_PROC_LINK); a process that is killed in between
 * leaves the file in /dev/shm, where nothing tells whose it is.
 */
#ifndef RONDE_CLI_SHM_FOLDER_H
#define RONDE_CLI_SHM_FOLDER_H

#include <sys/types.h>

/** A folder, and the process that removes it. */
struct ronde_shm_folder {
    pid_t remover; /**< 0 = there is no folder */
    char path[32]; /**< of the folder */
    int alive; /**< held by this process and those forked of it: the remover waits until all have let go */
};

/**
 * Makes the folder and has UCX use it, here and in processes forked from now on; to be called before any rank is made.
 * Does nothing where the user has named a folder (UCX_POSIX_DIR), or the system gives none: UCX uses /dev/shm itself then.
 */
void ronde_shm_folder_open(struct ronde_shm_folder *folder);

/** Has it removed once all ranks have ended, and waits for that. */
void ronde_shm_folder_close(struct ronde_shm_folder *folder);

#endif
