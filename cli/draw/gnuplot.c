/* Starting gnuplot, and what all its pictures have in common. */
#include "gnuplot.h"
#include "cli/launch/children.h"
#include "cli/print/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MISSING "gnuplot is not on the PATH (package gnuplot-nox), so there is no plot"

/* Whether a folder of the PATH (not zero-terminated) holds an executable gnuplot. */
static bool has_gnuplot(const char *folder, size_t length)
{
    char path[4096];
    const int bytes = snprintf(path, sizeof path, "%.*s/gnuplot", (int)length, folder);
    return length > 0 && bytes > 0 && (size_t)bytes < sizeof path && access(path, X_OK) == 0;
}

bool ronde_plot_available(const char **out_text)
{
    const char *folders = getenv("PATH");
    while (folders && *folders) {
        const size_t length = strcspn(folders, ":");
        if (has_gnuplot(folders, length)) {
            *out_text = "found, for SVG plots";
            return true;
        }
        folders += length + (folders[length] == ':');
    }
    *out_text = MISSING;
    return false;
}

/* Okabe and Ito's palette, which colour-blind people can tell apart, and a grey. */
const char *ronde_colour(uint32_t index)
{
    static const char *const colours[RONDE_COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                       "#56b4e9", "#e69f00", "#666666", "#f0e442"};
    return colours[index % RONDE_COLOURS];
}

/* Never returns. Its complaints span lines and name our script. */
static void be_gnuplot(int script, int picture)
{
    const int nowhere = open("/dev/null", O_WRONLY);
    if (dup2(script, STDIN_FILENO) >= 0 && dup2(picture, STDOUT_FILENO) >= 0 &&
        dup2(nowhere, STDERR_FILENO) >= 0)
        (void)execlp("gnuplot", "gnuplot", (char *)NULL);
    _exit(RONDE_EXIT_FAILED);
}

static enum ronde_status start(struct ronde_gnuplot *gnuplot, struct ronde_error *error)
{
    int ends[2];
    const pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return ronde_fail(error, RONDE_DEVICE, "no pipe to gnuplot: %s", strerror(errno));
    fflush(NULL);
    gnuplot->pid = fork();
    if (gnuplot->pid == 0) {
        ronde_child_follow(parent);
        be_gnuplot(ends[0], fileno(gnuplot->picture));
    }
    close(ends[0]);
    gnuplot->script = gnuplot->pid > 0 ? fdopen(ends[1], "w") : NULL;
    if (gnuplot->script)
        return RONDE_OK;
    const int reason = errno;
    close(ends[1]);
    if (gnuplot->pid > 0)
        (void)waitpid(gnuplot->pid, NULL, 0);
    return ronde_fail(error, RONDE_DEVICE, "gnuplot cannot be started: %s", strerror(reason));
}

enum ronde_status ronde_gnuplot_open(const char *path, uint32_t width, uint32_t height,
                                     struct ronde_gnuplot *out_gnuplot, struct ronde_error *error)
{
    const char *missing = NULL;
    if (!ronde_plot_available(&missing))
        return ronde_fail(error, RONDE_UNAVAILABLE, "%s", missing);
    *out_gnuplot = (struct ronde_gnuplot){.path = path, .picture = tmpfile()};
    if (!out_gnuplot->picture)
        return ronde_fail(error, RONDE_DEVICE, "no temporary file for a plot: %s", strerror(errno));
    const enum ronde_status status = start(out_gnuplot, error);
    if (status != RONDE_OK) {
        fclose(out_gnuplot->picture);
        return status;
    }
    fprintf(out_gnuplot->script,
            "set terminal svg size %u,%u dynamic background rgb 'white' font 'sans,11'\n", width,
            height);
    return RONDE_OK;
}

/* Pixels of a sample, of the room behind an entry, of a character, and of a line of the key. */
#define SAMPLE_WIDTH 34.0
#define SAMPLE_LENGTH 26.0
#define GAP_WIDTH 22.0
#define CHARACTER_WIDTH 6.4
#define KEY_LINE 18u

static double entry_width(const struct ronde_key_entry *entry)
{
    return SAMPLE_WIDTH + GAP_WIDTH + CHARACTER_WIDTH * (double)strlen(entry->text);
}

/* One line of the key. */
static void print_key_row(const struct ronde_canvas *canvas, uint32_t from_top,
                          const struct ronde_key_entry *entries, uint32_t count)
{
    const double whole = canvas->width, y = 1.0 - (double)from_top / canvas->height;
    double width = -GAP_WIDTH;
    for (uint32_t i = 0; i < count; i++)
        width += entry_width(&entries[i]);
    double at = (whole - width) / 2.0;
    for (uint32_t i = 0; i < count; at += entry_width(&entries[i++])) {
        const struct ronde_key_entry *entry = &entries[i];
        fprintf(canvas->gnuplot,
                "set arrow from screen %.4f,%.4f to screen %.4f,%.4f nohead %s lc rgb '%s'\n",
                at / whole, y, (at + SAMPLE_LENGTH) / whole, y, entry->line, entry->colour);
        if (entry->shape)
            fprintf(canvas->gnuplot,
                    "set label '' at screen %.4f,%.4f point pt %u ps 0.8 lc rgb '%s' front\n",
                    (at + SAMPLE_LENGTH / 2.0) / whole, y, entry->shape, entry->point);
        fprintf(canvas->gnuplot, "set label '%s' at screen %.4f,%.4f left font ',10' noenhanced\n",
                entry->text, (at + SAMPLE_WIDTH) / whole, y);
    }
}

void ronde_gnuplot_key(const struct ronde_canvas *canvas, uint32_t from_top,
                       const struct ronde_key_entry *entries, uint32_t count)
{
    uint32_t first = 0;
    double width = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        if (i > first && width + entry_width(&entries[i]) > canvas->width) {
            print_key_row(canvas, from_top, entries + first, i - first);
            from_top += KEY_LINE;
            first = i;
            width = 0.0;
        }
        width += entry_width(&entries[i]);
    }
    print_key_row(canvas, from_top, entries + first, count - first);
}

/* Whether a picture is whole: gnuplot goes on where it cannot write, and ends well. */
static bool is_whole(FILE *picture)
{
    static const char last[] = "</svg>";
    char tail[64] = "";
    if (fseek(picture, 0, SEEK_END) != 0)
        return false;
    const long bytes = ftell(picture);
    const long from = bytes < (long)sizeof tail - 1 ? 0 : bytes - ((long)sizeof tail - 1);
    if (bytes <= 0 || fseek(picture, from, SEEK_SET) != 0)
        return false;
    tail[fread(tail, 1, sizeof tail - 1, picture)] = '\0';
    return strstr(tail, last) != NULL;
}

static enum ronde_status copy(FILE *picture, const char *path, struct ronde_error *error)
{
    char block[16384];
    size_t bytes;
    FILE *file = fopen(path, "w");
    if (!file)
        return ronde_fail(error, RONDE_IO, "%s: %s", path, strerror(errno));
    rewind(picture);
    while ((bytes = fread(block, 1, sizeof block, picture)) > 0)
        (void)fwrite(block, 1, bytes, file);
    const bool failed = fflush(file) != 0 || ferror(file);
    const int reason = errno;
    if (fclose(file) != 0 || failed)
        return ronde_fail(error, RONDE_DEVICE, "%s: %s", path, strerror(failed ? reason : errno));
    return RONDE_OK;
}

enum ronde_status ronde_gnuplot_close(struct ronde_gnuplot *gnuplot, struct ronde_error *error)
{
    int state = 0;
    const bool is_sent = fclose(gnuplot->script) == 0;
    while (waitpid(gnuplot->pid, &state, 0) < 0 && errno == EINTR)
        continue;
    const bool is_drawn = is_sent && WIFEXITED(state) && WEXITSTATUS(state) == 0;
    const enum ronde_status status =
        is_drawn && is_whole(gnuplot->picture)
            ? copy(gnuplot->picture, gnuplot->path, error)
            : ronde_fail(error, RONDE_DEVICE,
                         "%s: gnuplot has not drawn it; is there room in /tmp?", gnuplot->path);
    fclose(gnuplot->picture);
    return status;
}
