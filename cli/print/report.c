/* Errors, notes, and the line that says what goes on and how long it still takes: everything on stderr, and nothing of it
 * in results. */
#define _POSIX_C_SOURCE 200809L

#include "report.h"

#include "ronde/hw.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is over sooner says nothing. */
#define SILENCE_NS 2e9

/* The line is written ten times a second at most. */
#define LINE_NS 1e8

/* Where less is done, nobody can tell how long the rest takes. */
#define LEAST_SHARE 0.01

/* How often a line that stands is written anew where nothing reports. */
#define TICK_US 500000

/* What goes on. stderr is shared by all that print on it, so there is one of them; `guard` is for the thread that ticks. */
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct {
    pid_t owner;       /* the process that shows it, not its children; 0 = nothing goes on */
    bool is_silent;    /* asked for, or nobody would see it */
    bool is_open;      /* a line is standing */
    bool is_hidden;    /* until something reports: others print */
    bool is_ticking;   /* there is a thread that does */
    double started_ns; /* when it began */
    double written_ns; /* when the line was last written */
    double counted_ns; /* when counting began: phases count anew */
    double from,
        upto; /* shares of the whole that what goes on begins and ends with; negative: not counted */
    double shown; /* the share that was reported last */
    char words[160];
} line;

/* A dumb terminal cannot take a line back; a pager shows its own lines there. */
static bool is_seen(void)
{
    struct stat output;
    const char *term = getenv("TERM");
    const bool is_piped = fstat(STDOUT_FILENO, &output) == 0 && S_ISFIFO(output.st_mode);
    return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0 && !is_piped;
}

void ronde_progress_silence(void)
{
    line.is_silent = true;
}

/* In one piece, and by no stream, whose lock a child might inherit. */
static void put(const char *text)
{
    const ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written; /* a terminal that is gone */
}

static void hide(bool is_end)
{
    /* Children of a fork have no thread, and may have its lock. */
    if (line.owner != getpid())
        return;
    pthread_mutex_lock(&guard);
    if (line.is_open)
        put("\r\033[K");
    line.is_open = false;
    line.is_hidden = true;
    if (is_end)
        line.owner = 0;
    pthread_mutex_unlock(&guard);
}

void ronde_progress_hide(void)
{
    hide(false);
}

void ronde_progress_end(void)
{
    hide(true);
}

/* "about 3 min left": no more digits than anybody can know. */
static void print_rest(char *out, size_t bytes, double share, double rest_s)
{
    const double percent = floor(100 * share);
    if (rest_s < 100)
        snprintf(out, bytes, ": %.0f %%, about %.0f s left", percent, fmax(rest_s, 1));
    else if (rest_s < 100 * 60)
        snprintf(out, bytes, ": %.0f %%, about %.0f min left", percent, rest_s / 60);
    else
        snprintf(out, bytes, ": %.0f %%, about %.0f h left", percent, rest_s / 3600);
}

/* No longer than a terminal is wide, or it could not be taken back. */
static void write_line(double now_ns, double share)
{
    char rest[64];
    if (share >= LEAST_SHARE)
        print_rest(rest, sizeof rest, share, (now_ns - line.counted_ns) / 1e9 * (1 - share) / share);
    else
        snprintf(rest, sizeof rest, ", %.0f s so far", (now_ns - line.started_ns) / 1e9);
    char text[128];
    snprintf(text, sizeof text, "\r\033[K%.45s%s", line.words, rest);
    put(text);
    line.is_open = true;
    line.written_ns = now_ns;
}

static void show(double share)
{
    const double now_ns = ronde_clock_ns();
    if (!line.is_silent && now_ns - line.started_ns >= SILENCE_NS &&
        now_ns - line.written_ns >= LINE_NS)
        write_line(now_ns, fmin(share, 1));
    line.shown = share;
}

/* Time goes on in what does not report, too. */
static void *tick(void *unused)
{
    bool goes_on = true;
    (void)unused;
    while (goes_on) {
        usleep(TICK_US);
        pthread_mutex_lock(&guard);
        goes_on = line.is_ticking = line.owner != 0;
        if (goes_on && !line.is_hidden)
            show(line.shown);
        pthread_mutex_unlock(&guard);
    }
    return NULL;
}

/* Without one the line changes where something reports. */
static void start_ticking(void)
{
    pthread_t thread;
    line.is_ticking = pthread_create(&thread, NULL, tick, NULL) == 0;
    if (line.is_ticking)
        pthread_detach(thread);
}

RONDE_FORMAT(3, 0)
static void say(double from, double upto, const char *format, va_list arguments)
{
    if (line.owner != 0 && line.owner != getpid())
        return;
    pthread_mutex_lock(&guard);
    if (line.owner == 0) {
        line.owner = getpid();
        line.is_silent = line.is_silent || !is_seen();
        line.started_ns = ronde_clock_ns();
        line.written_ns = 0;
        line.from = 1;
    }
    if (from < line.from)
        line.counted_ns = ronde_clock_ns();
    line.from = from;
    line.upto = upto;
    vsnprintf(line.words, sizeof line.words, format, arguments);
    line.is_hidden = false;
    show(from);
    if (!line.is_silent && !line.is_ticking)
        start_ticking();
    pthread_mutex_unlock(&guard);
}

void ronde_progress(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(RONDE_REPORTER_UNCOUNTED, RONDE_REPORTER_UNCOUNTED, format, arguments);
    va_end(arguments);
}

void ronde_progress_part(double from, double upto, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(from, upto, format, arguments);
    va_end(arguments);
}

/* Of what has several replays, each is a part of unknown length: the line only shows that it goes on. */
static void show_replay(void *context, uint64_t done, uint64_t total)
{
    const double inner = total > 0 ? (double)done / (double)total : 0;
    (void)context;
    if (line.owner != getpid())
        return;
    pthread_mutex_lock(&guard);
    line.is_hidden = false;
    show(line.from + (line.upto - line.from) * inner);
    pthread_mutex_unlock(&guard);
}

struct ronde_sim_progress ronde_replay_progress(void)
{
    return (struct ronde_sim_progress){.on_progress = show_replay};
}

static void show_reported(void *context, double share, const char *text)
{
    (void)context;
    if (text)
        ronde_progress_part(share, share, "%s", text);
    else
        ronde_progress_end();
}

struct ronde_reporter ronde_progress_reporter(void)
{
    return (struct ronde_reporter){.on_progress = show_reported};
}

int ronde_exit_code(enum ronde_status status)
{
    switch (status) {
    case RONDE_OK:
        return RONDE_EXIT_OK;
    case RONDE_REJECTED:
        return RONDE_EXIT_NO;
    case RONDE_BAD_ARGUMENT:
    case RONDE_BAD_INPUT:
    case RONDE_UNSUPPORTED: /* asked for something that cannot be: another command line is the remedy */
    case RONDE_IO:          /* a file that was named and cannot be used */
        return RONDE_EXIT_USAGE;
    case RONDE_UNAVAILABLE:
        return RONDE_EXIT_MISSING;
    case RONDE_NO_MEMORY:
    case RONDE_DEVICE:
    case RONDE_TIMEOUT:
    case RONDE_CANCELLED:
        return RONDE_EXIT_FAILED;
    }
    return RONDE_EXIT_FAILED;
}

int ronde_report(const struct ronde_error *error)
{
    ronde_progress_hide();
    if (error->message[0])
        fprintf(stderr, "ronde: %s\n", error->message);
    else
        fprintf(stderr, "ronde: %s\n", ronde_status_text(error->status));
    return ronde_exit_code(error->status);
}

void ronde_note(const char *format, ...)
{
    va_list arguments;
    ronde_progress_hide();
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}
