/* Starting gnuplot, and what all its pictures have in common. */
#include "gnuplot.h"
#include "cli/launch/children.h"
#include "cli/print/printer.h"
#include "cli/print/report.h"
#include "svg.h"

#include "ronde/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
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
            *out_text = "found, for SVG and PDF plots";
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

unsigned ronde_point_shape(uint32_t index)
{
    static const unsigned shapes[RONDE_COLOURS] = {7, 5, 9, 13, 11, 15, 4, 6};
    return shapes[index % RONDE_COLOURS];
}

/* Never returns. Its complaints span lines and name our script. */
static void be_gnuplot(int script, int picture)
{
    const int nowhere = open("/dev/null", O_WRONLY);
    (void)signal(SIGPIPE, SIG_DFL);
    if (dup2(script, STDIN_FILENO) >= 0 && dup2(picture, STDOUT_FILENO) >= 0 &&
        dup2(nowhere, STDERR_FILENO) >= 0)
        (void)execlp("gnuplot", "gnuplot", "--default-settings", (char *)NULL);
    _exit(RONDE_EXIT_FAILED);
}

static enum ronde_status start(struct ronde_gnuplot *gnuplot, struct ronde_error *error)
{
    int ends[2];
    const pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return ronde_fail(error, RONDE_DEVICE, "%s: no pipe to gnuplot: %s", gnuplot->path,
                          strerror(errno));
    fflush(NULL);
    /* A gnuplot that ends early is an error, and no end of this program. */
    gnuplot->at_end_of_pipe = signal(SIGPIPE, SIG_IGN);
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
    (void)signal(SIGPIPE, gnuplot->at_end_of_pipe);
    return ronde_fail(error, RONDE_DEVICE, "%s: gnuplot cannot be started: %s", gnuplot->path,
                      strerror(reason));
}

/* Ends the script; whether gnuplot could do all of it. */
static bool finish(const struct ronde_gnuplot *gnuplot)
{
    int state = 0;
    const bool is_sent = fclose(gnuplot->script) == 0;
    (void)signal(SIGPIPE, gnuplot->at_end_of_pipe);
    while (waitpid(gnuplot->pid, &state, 0) < 0 && errno == EINTR)
        continue;
    return is_sent && WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

static enum ronde_status open_plain(const char *path, struct ronde_gnuplot *out_gnuplot,
                                    struct ronde_error *error)
{
    const char *missing = NULL;
    if (!ronde_plot_available(&missing))
        return ronde_fail(error, RONDE_UNAVAILABLE, "%s", missing);
    *out_gnuplot = (struct ronde_gnuplot){.path = path, .picture = tmpfile()};
    if (!out_gnuplot->picture)
        return ronde_fail(error, RONDE_DEVICE, "%s: no temporary file for a plot: %s", path,
                          strerror(errno));
    const enum ronde_status status = start(out_gnuplot, error);
    if (status != RONDE_OK)
        fclose(out_gnuplot->picture);
    return status;
}

enum ronde_status ronde_plot_check(const char *path, struct ronde_error *error)
{
    struct ronde_gnuplot gnuplot;
    const char *missing = NULL;
    if (path && !ronde_plot_available(&missing))
        return ronde_fail(error, RONDE_UNAVAILABLE, "%s", missing);
    if (!path || !ronde_picture_is(path, ".pdf"))
        return RONDE_OK;
    RONDE_TRY(open_plain(path, &gnuplot, error));
    fputs("set terminal pdfcairo\n", gnuplot.script);
    const bool has_terminal = finish(&gnuplot);
    fclose(gnuplot.picture);
    return has_terminal ? RONDE_OK
                        : ronde_fail(error, RONDE_UNAVAILABLE,
                                     "%s: the gnuplot on the PATH has no terminal pdfcairo, which "
                                     "draws PDF (package gnuplot-nox has it); name it x.svg",
                                     path);
}

/* A page of a paper is narrower than a screen: what stands on it is smaller by as much. */
#define PDF_PIXELS_PER_INCH 100.0
#define PDF_SCALE 0.72

enum ronde_status ronde_gnuplot_open(const char *path, uint32_t width, uint32_t height,
                                     struct ronde_gnuplot *out_gnuplot, struct ronde_error *error)
{
    RONDE_TRY(open_plain(path, out_gnuplot, error));
    if (ronde_picture_is(path, ".pdf"))
        fprintf(out_gnuplot->script,
                "set terminal pdfcairo size %.2fin,%.2fin font 'sans,11' fontscale %g linewidth %g "
                "pointscale %g\n",
                width / PDF_PIXELS_PER_INCH, height / PDF_PIXELS_PER_INCH, PDF_SCALE, PDF_SCALE,
                PDF_SCALE);
    else
        fprintf(out_gnuplot->script,
                "set terminal svg size %u,%u dynamic background rgb 'white' font 'sans,11'\n",
                width, height);
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
        fputs("set label '", canvas->gnuplot);
        ronde_gnuplot_quote(canvas->gnuplot, entry->text);
        fprintf(canvas->gnuplot, "' at screen %.4f,%.4f left font ',10' noenhanced\n",
                (at + SAMPLE_WIDTH) / whole, y);
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
static bool is_whole(FILE *picture, const char *last)
{
    char tail[64];
    if (fseek(picture, 0, SEEK_END) != 0)
        return false;
    const long bytes = ftell(picture);
    const long from = bytes < (long)sizeof tail ? 0 : bytes - (long)sizeof tail;
    if (bytes <= 0 || fseek(picture, from, SEEK_SET) != 0)
        return false;
    /* Before the end of a PDF there may be any bytes. */
    const size_t count = fread(tail, 1, sizeof tail, picture);
    return memmem(tail, count, last, strlen(last)) != NULL;
}

static enum ronde_status copy(FILE *picture, const char *path, struct ronde_error *error)
{
    char block[16384];
    size_t bytes;
    struct ronde_output_file output;
    const enum ronde_status status = ronde_output_file_open(path, &output, error);
    if (status != RONDE_OK)
        return status;
    rewind(picture);
    while ((bytes = fread(block, 1, sizeof block, picture)) > 0)
        (void)fwrite(block, 1, bytes, output.file);
    return ronde_output_file_close(&output, status, error);
}

/* ---- Panels ----------------------------------------------------------------------------------------------------- */

/* Pixels of a panel, and of what stands above all of them. */
#define PANEL_WIDTH 420u
#define LONE_WIDTH 600u
#define PANEL_HEIGHT 330u
#define ABOVE 62u

/* Panels beside each other. */
#define MOST_ACROSS 3u

struct panes {
    uint32_t count, across;
    uint32_t width;       /* pixels of one */
    double whole, height; /* pixels of the picture */
};

static struct panes panes_of(uint32_t count)
{
    const uint32_t across = count == 4 ? 2 : count < MOST_ACROSS ? count : MOST_ACROSS;
    const uint32_t width = count > 1 ? PANEL_WIDTH : LONE_WIDTH;
    return (struct panes){count, across, width, across * width,
                          ABOVE + (count + across - 1) / across * PANEL_HEIGHT};
}

/* Sets the margins of a panel. */
static void place(FILE *gnuplot, const struct panes *panes, uint32_t panel)
{
    const double left = (double)(panel % panes->across) * panes->width;
    const double top = ABOVE + (double)(panel / panes->across) * PANEL_HEIGHT;

    fprintf(gnuplot,
            "set lmargin at screen %.4f\nset rmargin at screen %.4f\nset tmargin at screen %.4f\n"
            "set bmargin at screen %.4f\n",
            (left + 58) / panes->whole, (left + panes->width - 12) / panes->whole,
            1 - (top + 26) / panes->height, 1 - (top + PANEL_HEIGHT - 46) / panes->height);
}

enum ronde_status ronde_figure_draw(const struct ronde_figure *figure, struct ronde_error *error)
{
    const struct panes panes = panes_of(figure->panels);
    struct ronde_gnuplot drawing;
    RONDE_TRY(ronde_gnuplot_open(figure->path, (uint32_t)panes.whole, (uint32_t)panes.height,
                                 &drawing, error));
    FILE *const gnuplot = drawing.script;
    const struct ronde_canvas canvas = {gnuplot, (uint32_t)panes.whole, (uint32_t)panes.height};

    fputs("set multiplot title '", gnuplot);
    ronde_gnuplot_quote(gnuplot, figure->name);
    fputs(figure->settings, gnuplot);
    for (uint32_t p = 0; p < figure->panels; p++) {
        fputs("unset label\nunset arrow\n", gnuplot);
        if (p == 0)
            ronde_gnuplot_key(&canvas, figure->key_top, figure->key, figure->key_count);
        place(gnuplot, &panes, p);
        figure->print(figure->context, gnuplot, p);
    }
    fputs("unset multiplot\n", gnuplot);
    return ronde_gnuplot_close(&drawing, error);
}

void ronde_gnuplot_sizes(FILE *gnuplot, uint64_t least_bytes, uint64_t most_bytes)
{
    uint64_t step = 2, first = 1024;
    while ((double)most_bytes / (double)least_bytes > pow((double)step, 6))
        step *= 2;
    while (first / step >= least_bytes)
        first /= step;
    fputs("set xtics nomirror scale 0.5 (", gnuplot);
    for (uint64_t bytes = first, shown = 0; bytes <= most_bytes; bytes *= step)
        if (bytes * step > least_bytes)
            fprintf(gnuplot, "%s'%s' %" PRIu64, shown++ > 0 ? ", " : "",
                    ronde_cell_tick(bytes).text, bytes);
    fprintf(gnuplot, ")\nset xrange [%.9g:%.9g]\n", (double)least_bytes / 1.4,
            (double)most_bytes * 1.4);
}

void ronde_gnuplot_quote(FILE *gnuplot, const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name >= ' ')
            fprintf(gnuplot, *name == '\'' ? "''" : "%c", *name);
}

enum ronde_status ronde_gnuplot_close(struct ronde_gnuplot *gnuplot, struct ronde_error *error)
{
    const bool is_drawn = finish(gnuplot);
    const char *last = ronde_picture_is(gnuplot->path, ".pdf") ? "%%EOF" : "</svg>";
    const enum ronde_status status =
        is_drawn && is_whole(gnuplot->picture, last)
            ? copy(gnuplot->picture, gnuplot->path, error)
            : ronde_fail(error, RONDE_DEVICE,
                         "%s: gnuplot has not drawn it; is there room in /tmp?", gnuplot->path);
    fclose(gnuplot->picture);
    return status;
}
