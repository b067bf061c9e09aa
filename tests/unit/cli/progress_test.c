/*
 * The line of progress: on a terminal alone, after two seconds, with how long the rest takes, and gone at the end. Each case
 * runs in a child whose streams are terminals or pipes; they wait at the same time.
 */
#define _DEFAULT_SOURCE

#include "support/suite.h"

#include "cli/print/report.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* More than the silence; and much more, since nobody knows when a thread runs that writes the line. */
#define WAIT_US 2150000
#define STILL_US 4000000

/* Reports, so far apart that one of them finds that a line may be written. */
#define REPORTS 10
#define REPORT_US 30000

/* What is seen on stderr of a child. */
struct seen {
    bool has_terminal; /* stderr is one */
    bool is_piped;     /* stdout is a pipe */
    bool is_silenced;  /* --json */
    bool is_quick;     /* over before two seconds are */
    bool is_still;     /* nothing reports after the first time */
    const char *part;  /* of what is to be seen; NULL = nothing */
    int words;         /* where it is read */
    pid_t child;
};

static void be_child(const struct seen *seen)
{
    const struct ronde_sim_progress replay = ronde_replay_progress();
    (void)setenv("TERM", "xterm", 1);
    if (seen->is_silenced)
        ronde_progress_silence();
    ronde_progress_part(0.0, 0.5, "replaying %s", "1 MiB");
    replay.on_progress(replay.context, 1, 4);
    if (!seen->is_quick)
        (void)usleep(seen->is_still ? STILL_US : WAIT_US);
    for (int i = 0; i < REPORTS && !seen->is_still; i++) {
        replay.on_progress(replay.context, 1, 2);
        (void)usleep(REPORT_US);
    }
    ronde_note("a note");
    ronde_progress_end();
    _exit(0);
}

/* The slave of a new terminal; its master is to be read. */
static int open_terminal(int *out_master)
{
    *out_master = posix_openpt(O_RDWR | O_NOCTTY);
    CU_ASSERT_FATAL(*out_master >= 0 && grantpt(*out_master) == 0 && unlockpt(*out_master) == 0);
    const int slave = open(ptsname(*out_master), O_RDWR | O_NOCTTY);
    CU_ASSERT_FATAL(slave >= 0);
    return slave;
}

static void start(struct seen *seen)
{
    int ends[2], output[2];
    CU_ASSERT_EQUAL_FATAL(pipe(output), 0);
    if (seen->has_terminal)
        ends[1] = open_terminal(&ends[0]);
    else
        CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    fflush(NULL);
    seen->child = fork();
    if (seen->child == 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        if (dup2(seen->is_piped ? output[1] : nowhere, STDOUT_FILENO) < 0 ||
            dup2(ends[1], STDERR_FILENO) < 0)
            _exit(1);
        be_child(seen);
    }
    close(output[0]);
    close(output[1]);
    close(ends[1]);
    seen->words = ends[0];
}

static void finish(const struct seen *seen)
{
    char text[1024] = "";
    size_t bytes = 0;
    ssize_t got;
    int state = -1;
    /* A terminal that nobody holds any more is an error to read, not an end. */
    while ((got = read(seen->words, text + bytes, sizeof text - 1 - bytes)) > 0)
        bytes += (size_t)got;
    close(seen->words);
    CU_ASSERT_EQUAL(waitpid(seen->child, &state, 0), seen->child);
    CU_ASSERT_EQUAL(state, 0);
    const char *note = strstr(text, "a note");
    CU_ASSERT_PTR_NOT_NULL(note);
    if (!seen->part) {
        CU_ASSERT_EQUAL(note - text, 0);
        return;
    }
    const char *part = strstr(text, seen->part);
    CU_ASSERT(part != NULL && part < note);
    /* The line is taken away before anything else is said. */
    CU_ASSERT(note - text > 4 && strncmp(note - 4, "\r\033[K", 4) == 0);
    if (!part)
        suite_note("seen: %s", text);
}

static void it_is_seen_where_somebody_waits(void)
{
    struct seen all[] = {
        {.has_terminal = true, .part = "replaying 1 MiB: 25 %, about "},
        {.has_terminal = true, .is_still = true, .part = "replaying 1 MiB: 12 %, about "},
        {.has_terminal = true, .is_quick = true},
        {.has_terminal = true, .is_piped = true},
        {.has_terminal = true, .is_silenced = true},
        {.has_terminal = false},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        start(&all[i]);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        finish(&all[i]);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"it_is_seen_where_somebody_waits", it_is_seen_where_somebody_waits},
    };
    return suite_run("unit/cli/progress", cases, sizeof cases / sizeof cases[0]);
}
