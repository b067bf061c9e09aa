/*
 * A page of --html, from the first row to the file. What is printed for people passes through a stream of its own, which
 * keeps a copy; rows are kept as CSV, a block for each kind of rows, and go to the figures.
 */
#include "html.h"

#include "cli/draw/svg.h"
#include "cli/print/report.h"

#include "ronde/mem.h"
#include "ronde/output_file.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the parts at most, so that the whole stays below 1 MB. */
#define REPORT_BYTES 100000u
#define DATA_BYTES 150000u
#define PICTURE_BYTES 450000u

/* Kinds of rows that are told apart by their columns, and pictures. */
#define MOST_KINDS 8u
#define MOST_PICTURES 4u

#define SENTENCE_BYTES 1200
#define COMMAND_BYTES 4096

/* Text that grows up to a limit; what is beyond it is left out and counted as a whole. */
struct text {
    char *bytes;
    size_t length;
    FILE *file;
    bool is_cut;
};

struct picture {
    struct ronde_html_picture is;
    struct text svg;
    bool is_too_large;
};

struct ronde_html {
    struct ronde_output_file output;
    FILE *report; /* the real one */
    FILE *tee;    /* to it and to `said` */
    struct text said;
    struct text headers[MOST_KINDS], rows[MOST_KINDS];
    uint32_t kinds;
    struct picture pictures[MOST_PICTURES];
    uint32_t picture_count;
    size_t data_bytes, picture_bytes;
    struct ronde_html_figures *figures;
    char answer[SENTENCE_BYTES], sure[SENTENCE_BYTES], command[COMMAND_BYTES];
    bool lacks_memory;
};

static bool text_open(struct text *text)
{
    text->file = open_memstream(&text->bytes, &text->length);
    return text->file != NULL;
}

static void text_close(struct text *text)
{
    if (text->file)
        (void)fclose(text->file);
    free(text->bytes);
    *text = (struct text){.bytes = NULL};
}

void ronde_html_answer(struct ronde_html *html, const char *format, ...)
{
    va_list arguments;
    if (!html)
        return;
    va_start(arguments, format);
    vsnprintf(html->answer, sizeof html->answer, format, arguments);
    va_end(arguments);
}

void ronde_html_sure(struct ronde_html *html, const char *format, ...)
{
    va_list arguments;
    if (!html)
        return;
    va_start(arguments, format);
    vsnprintf(html->sure, sizeof html->sure, format, arguments);
    va_end(arguments);
}

/* Rows of the same columns are one block, as a CSV is. */
static struct text *block_of(struct ronde_html *html, const struct ronde_row *row)
{
    struct text header = {.bytes = NULL};
    if (!text_open(&header))
        return NULL;
    ronde_csv_print_header(row, header.file);
    /* Closed before it is copied: the stream knows where its text is to be. */
    (void)fclose(header.file);
    header.file = NULL;
    for (uint32_t k = 0; k < html->kinds; k++)
        if (header.bytes && strcmp(html->headers[k].bytes, header.bytes) == 0) {
            text_close(&header);
            return &html->rows[k];
        }
    if (!header.bytes || html->kinds == MOST_KINDS || !text_open(&html->rows[html->kinds])) {
        text_close(&header);
        return NULL;
    }
    html->headers[html->kinds] = header;
    return &html->rows[html->kinds++];
}

void ronde_html_row(struct ronde_html *html, const struct ronde_row *row)
{
    if (!html)
        return;
    ronde_html_figures_add(html->figures, row);
    struct text *rows = block_of(html, row);
    if (!rows) {
        html->lacks_memory = html->lacks_memory || html->kinds < MOST_KINDS;
        return;
    }
    const size_t before = rows->length;
    rows->is_cut = rows->is_cut || html->data_bytes > DATA_BYTES;
    if (rows->is_cut)
        return;
    ronde_csv_print(row, rows->file);
    (void)fflush(rows->file);
    html->data_bytes += rows->length - before;
}

static bool wants_pictures(const struct ronde_html *html)
{
    return html && html->picture_count < MOST_PICTURES;
}

enum ronde_status ronde_html_draw(struct ronde_html *html, const struct ronde_html_picture *picture,
                                  ronde_html_drawer draw, void *context, struct ronde_error *error)
{
    if (!wants_pictures(html))
        return RONDE_OK;
    struct picture *own = &html->pictures[html->picture_count];
    *own = (struct picture){.is = *picture};
    if (!text_open(&own->svg))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a picture");
    html->picture_count++;
    const enum ronde_status status = draw(context, own->svg.file, error);
    (void)fflush(own->svg.file);
    own->is_too_large = html->picture_bytes + own->svg.length > PICTURE_BYTES;
    html->picture_bytes += own->is_too_large ? 0 : own->svg.length;
    return status;
}

/* ---- The copy of what is printed ---------------------------------------------------------------------------------- */

static ssize_t pass_on(void *context, const char *bytes, size_t count)
{
    struct ronde_html *html = context;
    const size_t written = fwrite(bytes, 1, count, html->report);
    /* Rows appear as they are measured. */
    (void)fflush(html->report);
    html->said.is_cut = html->said.is_cut || html->said.length + count > REPORT_BYTES;
    if (!html->said.is_cut) {
        (void)fwrite(bytes, 1, count, html->said.file);
        (void)fflush(html->said.file);
    }
    return written == count ? (ssize_t)count : 0;
}

FILE *ronde_html_report(struct ronde_html *html)
{
    return html->tee;
}

FILE *ronde_html_report_end(struct ronde_html *html)
{
    if (!html)
        return NULL;
    if (html->tee)
        (void)fclose(html->tee);
    html->tee = NULL;
    return html->report;
}

/* A word as a shell needs it. */
static void print_word(const char *word, FILE *file)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%^";
    if (word[0] && word[strspn(word, plain)] == '\0') {
        fputs(word, file);
        return;
    }
    fputc('\'', file);
    for (; *word; word++)
        fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, file);
    fputc('\'', file);
}

/* The program's own words: those that a command gets are shifted and sorted. */
static void read_command(char out[COMMAND_BYTES])
{
    char words[COMMAND_BYTES];
    FILE *file = fopen("/proc/self/cmdline", "r");
    const size_t bytes = file ? fread(words, 1, sizeof words - 1, file) : 0;
    if (file)
        (void)fclose(file);
    words[bytes] = '\0';
    FILE *text = fmemopen(out, COMMAND_BYTES, "w");
    if (!text)
        return;
    for (size_t at = 0; at < bytes; at += strlen(words + at) + 1) {
        /* The program is called by its name, wherever it lies. */
        const char *slash = at == 0 ? strrchr(words, '/') : NULL;
        fputs(at > 0 ? " " : "", text);
        print_word(slash ? slash + 1 : words + at, text);
    }
    (void)fclose(text);
}

static void html_free(struct ronde_html *html)
{
    if (html->tee)
        (void)fclose(html->tee);
    text_close(&html->said);
    for (uint32_t k = 0; k < html->kinds; k++) {
        text_close(&html->headers[k]);
        text_close(&html->rows[k]);
    }
    for (uint32_t p = 0; p < html->picture_count; p++)
        text_close(&html->pictures[p].svg);
    ronde_html_figures_close(html->figures);
    ronde_mem_free(ronde_mem_default(), html, 1, sizeof *html);
}

enum ronde_status ronde_html_open(const struct ronde_options *options, FILE *report,
                                  struct ronde_html **out_html, struct ronde_error *error)
{
    const char *path = options->output.html;
    const cookie_io_functions_t copy = {.write = pass_on};
    *out_html = NULL;
    if (!path)
        return RONDE_OK;
    if (strcmp(path, "-") == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--html -: standard output has the report; name a file");
    struct ronde_html *html = ronde_mem_new(ronde_mem_default(), 1, sizeof *html);
    if (!html)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a page");
    html->report = report;
    html->figures = ronde_html_figures_open();
    html->tee = fopencookie(html, "w", copy);
    if (!html->figures || !html->tee || !text_open(&html->said)) {
        html_free(html);
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a page");
    }
    (void)setvbuf(html->tee, NULL, _IOLBF, 0);
    read_command(html->command);
    const enum ronde_status status = ronde_output_file_open(path, &html->output, error);
    if (status != RONDE_OK)
        html_free(html);
    else
        *out_html = html;
    return status;
}

/* ---- The file ----------------------------------------------------------------------------------------------------- */

static void print_head(const struct ronde_html *html, FILE *file)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          /* A browser that obeys it loads nothing, whatever is in the page. */
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
          file);
    ronde_markup_print(file, html->command);
    fprintf(file, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n<h1>", ronde_html_css);
    ronde_markup_print(file, html->answer[0] ? html->answer : html->command);
    fputs("</h1>\n", file);
    if (html->sure[0]) {
        fputs("<p class=\"sure\"><b>How sure?</b> ", file);
        ronde_markup_print(file, html->sure);
        fputs("</p>\n", file);
    }
    fputs("<p class=\"made\">Made by <code>", file);
    ronde_markup_print(file, html->command);
    fputs("</code> (ronde " RONDE_VERSION ")</p>\n", file);
}

/* Styles of a picture are its own: it stands in a shadow tree. */
static void print_picture(const struct picture *picture, FILE *file)
{
    fputs("<figure><figcaption><b>", file);
    ronde_markup_print(file, picture->is.question);
    fputs("</b> ", file);
    ronde_markup_print(file, picture->is.hint);
    fputs("</figcaption>\n", file);
    if (picture->is_too_large) {
        fprintf(file,
                "<p class=\"cut\">Left out: the picture has %zu bytes, too many for a page that is "
                "forwarded. Fewer ranks or a smaller size make it smaller.</p></figure>\n",
                picture->svg.length);
        return;
    }
    fprintf(file, "<div class=\"picture%s\" tabindex=\"0\"><template shadowrootmode=\"open\">",
            picture->is.zooms ? " zoom" : "");
    fputs("<style>svg{width:100%;height:auto;display:block}</style>\n", file);
    fwrite(picture->svg.bytes, 1, picture->svg.length, file);
    fputs("</template></div></figure>\n", file);
}

/* Lines stay lines. */
static void print_lines(const char *text, FILE *file)
{
    char line[1024];
    while (*text) {
        const size_t bytes = strcspn(text, "\n");
        const size_t part = bytes < sizeof line - 1 ? bytes : sizeof line - 1;
        memcpy(line, text, part);
        line[part] = '\0';
        ronde_markup_print(file, line);
        text += part;
        if (*text == '\n') {
            fputc('\n', file);
            text++;
        }
    }
}

/* Text in a page, cut where it is too long; `what` says how to have all of it. */
static void print_text(const struct text *text, const char *what, FILE *file)
{
    if (text->bytes)
        print_lines(text->bytes, file);
    if (text->is_cut)
        fprintf(file, "... %s\n", what);
}

static void print_data(const struct ronde_html *html, FILE *file)
{
    fputs("<details class=\"data\"><summary>The data (CSV)</summary>\n", file);
    for (uint32_t k = 0; k < html->kinds; k++) {
        fprintf(file,
                "<p><button type=\"button\" class=\"save\" data-name=\"ronde-%u.csv\">Save as "
                "ronde-%u.csv</button></p>\n<pre>",
                k + 1, k + 1);
        print_lines(html->headers[k].bytes, file);
        print_text(&html->rows[k], "cut here: --csv prints all rows", file);
        fputs("</pre>\n", file);
    }
    fputs("</details>\n", file);
}

static void print_page(const struct ronde_html *html, FILE *file)
{
    print_head(html, file);
    ronde_html_figures_print(html->figures, file);
    for (uint32_t p = 0; p < html->picture_count; p++)
        print_picture(&html->pictures[p], file);
    if (html->said.length > 0) {
        fputs("<details class=\"report\" open><summary>The report, as printed</summary>\n<pre>",
              file);
        print_text(&html->said, "cut here: the command prints all of it", file);
        fputs("</pre></details>\n", file);
    }
    print_data(html, file);
    fprintf(file, "</main>\n<script>\n%s</script>\n</body>\n</html>\n", ronde_html_js);
}

enum ronde_status ronde_html_close(struct ronde_html *html, enum ronde_status status,
                                   struct ronde_error *error)
{
    if (!html)
        return status;
    enum ronde_status is = status;
    if (is == RONDE_OK && html->lacks_memory)
        is = ronde_fail(error, RONDE_NO_MEMORY, "no memory for the page's data");
    if (is == RONDE_OK)
        print_page(html, html->output.file);
    char path[RONDE_OUTPUT_PATH_BYTES];
    snprintf(path, sizeof path, "%s", html->output.path);
    is = ronde_output_file_close(&html->output, is, error);
    html_free(html);
    if (is == RONDE_OK)
        ronde_note("wrote %s", path);
    return is;
}
