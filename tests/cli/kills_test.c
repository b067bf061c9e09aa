/*
 * Signals to a run between processes, at moments spread over its start and its course: the command names the rank that was
 * hit, nothing outlives it, and nothing is left in /dev/shm or /tmp.
 *
 * Where RONDE_TEST_SCALE asks for all, every case is repeated 20 times, RONDE_TEST_KILLS=60 any number of times; then the
 * command is also held to its time limit and four seconds.
 */
#include "support/built_with.h"
#include "support/suite.h"

#include "ronde/comm.h"
#include "ronde/hw.h"
#include "ronde/sim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --timeout of the runs, what the issue allows beyond, and when a test gives up on a command that hangs. */
#define TIMEOUT "2"
#define TIMEOUT_NS 2e9
#define ALLOWED_NS 4e9
#define HANGS_NS 30e9

/* Orphans are gone as soon as the system gets to it. */
#define ORPHANS_NS 20e9

/* The signals are spread over so long. */
#define SPREAD_NS 600000000L
#define ONLY_NS 300000000L

#define RANKS 4u

/* What a run is done. */
struct deed {
    const char *name;
    int signal;
    bool is_at_rank; /* one of the ranks, not the command */
    int afterwards;  /* a signal for the command a little later, or 0 */
};

static const struct deed deeds[] = {
    {"SIGKILL to the command", SIGKILL, false, 0},
    {"SIGTERM to the command", SIGTERM, false, 0},
    {"SIGHUP to the command", SIGHUP, false, 0},
    {"SIGKILL to a rank", SIGKILL, true, 0},
    {"SIGTERM to a rank", SIGTERM, true, 0},
    {"SIGHUP to a rank", SIGHUP, true, 0},
    {"SIGSTOP to a rank", SIGSTOP, true, 0},
    {"SIGSTOP to a rank, then SIGTERM to the command", SIGSTOP, true, SIGTERM},
};

#define DEEDS (sizeof deeds / sizeof deeds[0])

static void rest(long ns)
{
    const struct timespec pause = {ns / 1000000000L, ns % 1000000000L};
    (void)nanosleep(&pause, NULL);
}

/* Entries of a folder, those that lead up aside. */
static unsigned count_entries(const char *path)
{
    unsigned count = 0;
    DIR *folder = opendir(path);
    for (const struct dirent *entry = folder ? readdir(folder) : NULL; entry;
         entry = readdir(folder))
        if (entry->d_name[0] != '.') {
            suite_note("left behind: %s/%s", path, entry->d_name);
            count++;
        }
    if (folder)
        (void)closedir(folder);
    return count;
}

/* The folders that are this test's own: what other programs leave there is not counted. */
static bool has_own_shm;
static bool has_own_tmp;

/* Own, empty ones, where the system lets this process have them. The program may lie in /tmp itself. */
static void take_folders(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return;
    has_own_shm = mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL) == 0;
    has_own_tmp = strncmp(suite_ronde(), "/tmp/", 5) != 0 &&
                  strncmp(RONDE_SCRATCH_DIR, "/tmp/", 5) != 0 &&
                  mount("tmpfs", "/tmp", "tmpfs", 0, NULL) == 0;
}

/* Starts a command whose words end with NULL, in a session of its own; what it complains of goes to `said`. */
static pid_t start(const char *const *words, int said)
{
    const pid_t pid = fork();
    if (pid != 0)
        return pid;
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)dup2(nowhere, STDIN_FILENO);
    (void)dup2(nowhere, STDOUT_FILENO);
    (void)dup2(said >= 0 ? said : nowhere, STDERR_FILENO);
    (void)setsid();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGHUP, SIG_DFL);
    execv(suite_ronde(), (char *const *)(uintptr_t)words);
    _exit(127);
}

/* Runs until it is ended. UCX also between ranks that could share memory. */
static pid_t start_run(const char *backend, int said)
{
    const bool is_ucx = strcmp(backend, "ucx") == 0;
    const char *const words[] = {"ronde", "run", "all_reduce",
                                 "-N",    "4",   "--backend",
                                 backend, "-n",  "10000000",
                                 "-c",    "0",   "--timeout",
                                 TIMEOUT, "-b",  "64K",
                                 "-e",    "64K", is_ucx ? "--transport" : NULL,
                                 "ucx",   NULL};
    return start(words, said);
}

/*
 * Whether a child of a command is at work: while one is made it has signals blocked, and is not yet sure to end with its
 * parent; who removes UCX's files has them blocked for ever.
 */
static bool is_at_work(pid_t child)
{
    char path[64];
    char line[256];
    unsigned long long blocked = ~0ull;
    snprintf(path, sizeof path, "/proc/%d/status", (int)child);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "SigBlk: %llx", &blocked) == 1)
            break;
    if (file)
        (void)fclose(file);
    return (blocked & (1ull << (SIGCHLD - 1))) == 0;
}

/* A child of a process, the n-th of those at work; 0 where it has none. *out_place: among all, as they were made. */
static pid_t child_of(pid_t parent, unsigned n, unsigned *out_place)
{
    char path[64];
    char text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    FILE *file = fopen(path, "r");
    pid_t children[RANKS + 1] = {0};
    unsigned places[RANKS + 1] = {0};
    unsigned count = 0, place = 0;
    if (file && fgets(text, sizeof text, file))
        for (char *at = text, *end; count < RANKS; at = end) {
            children[count] = (pid_t)strtol(at, &end, 10);
            places[count] = place++;
            if (end == at)
                break;
            count += is_at_work(children[count]);
        }
    if (file)
        (void)fclose(file);
    if (count > 0 && out_place)
        *out_place = places[n % count];
    return count > 0 ? children[n % count] : 0;
}

/* Waits for the command's end, at most for so long; *out_ns: how long it took. */
static bool await_end(pid_t command, double limit_ns, double *out_ns)
{
    const double start_ns = ronde_clock_ns();
    int state = 0;
    do {
        if (waitpid(command, &state, WNOHANG) == command) {
            *out_ns = ronde_clock_ns() - start_ns;
            return true;
        }
        rest(1000000);
    } while (ronde_clock_ns() - start_ns < limit_ns);
    return false;
}

/* Whatever the command has left behind becomes a child of this process: waits until none is left. */
static bool await_orphans(void)
{
    const double start_ns = ronde_clock_ns();
    while (ronde_clock_ns() - start_ns < ORPHANS_NS) {
        const pid_t got = waitpid(-1, NULL, WNOHANG);
        if (got < 0 && errno == ECHILD)
            return true;
        if (got <= 0)
            rest(1000000);
    }
    return false;
}

/* So that a failure does not spoil what comes after it. */
static void end_orphans(void)
{
    do
        for (unsigned n = 0; n < RANKS; n++) {
            const pid_t orphan = child_of(getpid(), n, NULL);
            if (orphan > 0)
                (void)kill(orphan, SIGKILL);
        }
    while (waitpid(-1, NULL, 0) > 0);
}

/* What a command has complained of names the rank that was hit. */
static void check_words(int said, const char *backend, const struct deed *deed, unsigned rank)
{
    char text[4096], name[32];
    const ssize_t bytes = pread(said, text, sizeof text - 1, 0);
    text[bytes > 0 ? bytes : 0] = '\0';
    (void)snprintf(name, sizeof name, "rank %u", rank);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, name));
    if (!strstr(text, name))
        suite_note("%s, %s: not %s, but %s", backend, deed->name, name, text);
}

/* One run, and what is left of it. A command that has no rank yet is not interrupted. */
static void check_one(const char *backend, const struct deed *deed, uint64_t turn, uint64_t turns)
{
    double took_ns = 0;
    unsigned place = 0;
    const int said = memfd_create("said", MFD_CLOEXEC);
    const pid_t command = start_run(backend, said);
    rest(turns == 1 ? ONLY_NS : (long)((turn + 1) * SPREAD_NS / turns));
    const pid_t target = deed->is_at_rank ? child_of(command, (unsigned)turn, &place) : command;
    if (target > 0)
        (void)kill(target, deed->signal);
    else
        (void)kill(command, SIGTERM);
    if (deed->afterwards) {
        rest(SPREAD_NS / 10);
        (void)kill(command, deed->afterwards);
    }
    bool is_over = await_end(command, HANGS_NS, &took_ns);
    CU_ASSERT_TRUE(is_over);
    if (!is_over)
        (void)kill(command, SIGKILL);
    else if (deed->is_at_rank && target > 0 && !deed->afterwards)
        check_words(said, backend, deed, place - (strcmp(backend, "proc") != 0));
    (void)close(said);
    if (turns > 1 && took_ns > TIMEOUT_NS + ALLOWED_NS) {
        CU_FAIL("a run takes too long to end");
        suite_note("%s, %s: %.1f s", backend, deed->name, took_ns / 1e9);
    }
    is_over = await_orphans() && is_over;
    CU_ASSERT_TRUE(is_over);
    if (!is_over) {
        suite_note("%s, %s, turn %u: not over", backend, deed->name, (unsigned)turn);
        end_orphans();
    }
}

static void check_backend(const char *backend)
{
    const uint64_t turns =
        suite_number("RONDE_TEST_KILLS", suite_number("RONDE_TEST_SCALE", 100) > 100 ? 20 : 1);
    for (size_t d = 0; d < DEEDS; d++)
        for (uint64_t turn = 0; turn < turns; turn++)
            check_one(backend, &deeds[d], turn, turns);
    if (has_own_shm)
        CU_ASSERT_EQUAL(count_entries("/dev/shm"), 0);
    if (has_own_tmp)
        CU_ASSERT_EQUAL(count_entries("/tmp"), 0);
    if (!has_own_shm || !has_own_tmp)
        suite_note("files left in %s are not looked for: no file system of its own",
                   has_own_shm ? "/tmp" : "/dev/shm and /tmp");
}

static void nothing_of_a_killed_job_of_one_machine_is_left(void)
{
    check_backend("proc");
}

static void nothing_of_a_killed_job_of_ucx_is_left(void)
{
    const char *reason = NULL;
    if (ronde_transport_available(RONDE_TRANSPORT_UCX, &reason))
        check_backend("ucx");
    else
        suite_skip("%s", reason);
}

static void nothing_of_a_killed_job_of_both_is_left(void)
{
    const char *reason = NULL;
    if (ronde_transport_available(RONDE_TRANSPORT_HYBRID, &reason))
        check_backend("hybrid");
    else
        suite_skip("%s", reason);
}

/* SimGrid replays in a process of its own, which would go on for as long as the replay takes. */
static void nothing_of_a_killed_replay_is_left(void)
{
    static const char *const words[] = {"ronde",
                                        "sim",
                                        "all_to_all",
                                        "-a",
                                        "direct",
                                        "-N",
                                        "64",
                                        "-b",
                                        "64M",
                                        "-e",
                                        "64M",
                                        "--slot",
                                        "64K",
                                        "--engine",
                                        "simgrid",
                                        "--topo",
                                        "fat-tree-2to1-64",
                                        NULL};
    static const int signals[] = {SIGKILL, SIGTERM, SIGHUP};
    if (!suite_has_simgrid())
        return;
    for (size_t s = 0; s < sizeof signals / sizeof signals[0]; s++) {
        double took_ns = 0;
        const pid_t command = start(words, -1);
        const double start_ns = ronde_clock_ns();
        while (child_of(command, 0, NULL) == 0 && ronde_clock_ns() - start_ns < HANGS_NS)
            rest(1000000);
        CU_ASSERT_NOT_EQUAL(child_of(command, 0, NULL), 0);
        (void)kill(command, signals[s]);
        CU_ASSERT_TRUE(await_end(command, HANGS_NS, &took_ns));
        CU_ASSERT_TRUE(await_orphans());
        end_orphans();
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"nothing_of_a_killed_job_of_one_machine_is_left",
         nothing_of_a_killed_job_of_one_machine_is_left},
        {"nothing_of_a_killed_replay_is_left", nothing_of_a_killed_replay_is_left},
        {"nothing_of_a_killed_job_of_ucx_is_left", nothing_of_a_killed_job_of_ucx_is_left},
        {"nothing_of_a_killed_job_of_both_is_left", nothing_of_a_killed_job_of_both_is_left},
    };
    take_folders();
    /* Before ranks that use UCX is one process that removes its files, where nobody has said where these go. */
    (void)unsetenv("UCX_POSIX_DIR");
    /* Processes whose parent has ended come to this one. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    return suite_run("kills", cases, sizeof cases / sizeof cases[0]);
}
