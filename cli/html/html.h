/**
 * Pages of --html: one file that answers, shows and proves, and can be forwarded. It loads nothing: styles, script, pictures
 * and data are in it, and it is below 1 MB.
 *
 * A page takes what a sink prints (cli/print/printer.h): rows become its data and its curves, text its report. A command adds
 * the answer in a sentence, bars, and pictures.
 */
#ifndef RONDE_CLI_HTML_H
#define RONDE_CLI_HTML_H

#include "cli/options/options.h"

#include "ronde/field.h"

#include <stdio.h>

/** A page in the making. */
struct ronde_html;

/**
 * Opens the page of --html; *out_html is NULL where none is asked for. `report`: what people read goes there, and is kept.
 * Errors: BAD_ARGUMENT for standard output; IO; NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status ronde_html_open(const struct ronde_options *options,
                                                   FILE *report, struct ronde_html **out_html,
                                                   struct ronde_error *error);

/** Where what people read is to be printed: it reaches `report`, and the page. */
FILE *ronde_html_report(struct ronde_html *html);

/** Ends that: all of it has reached the real one, which is returned; NULL without a page. */
FILE *ronde_html_report_end(struct ronde_html *html);

/** The answer in a sentence; the last one counts. NULL is allowed as page in this and the following. */
void ronde_html_answer(struct ronde_html *html, const char *format, ...) RONDE_FORMAT(2, 3);

/** How sure that is, and what it rests on. */
void ronde_html_sure(struct ronde_html *html, const char *format, ...) RONDE_FORMAT(2, 3);

/**
 * Takes a row in: as data, and as points where it has the keys of curves (curves.h). A row of the kind "bar" is a bar of parts:
 * its text "label", then reals, each a part whose key names it.
 */
void ronde_html_row(struct ronde_html *html, const struct ronde_row *row);

/** A picture that a page shows. */
struct ronde_html_picture {
    const char *question; /**< that it answers */
    const char *hint;     /**< how to read it */
    bool zooms;           /**< can be enlarged and moved */
};

/** Most bars of a timeline in a page, which is to be forwarded: about 17 bytes a half of each. */
#define RONDE_PAGE_BARS 12000u

/** Writes an SVG into a file. */
typedef enum ronde_status (*ronde_html_drawer)(void *context, FILE *file, struct ronde_error *error);

/** Adds a picture. One that would make the page too large is left out, which the page says. Errors: NO_MEMORY; the drawer's. */
RONDE_MUST_CHECK enum ronde_status
ronde_html_draw(struct ronde_html *html, const struct ronde_html_picture *picture,
                ronde_html_drawer draw, void *context, struct ronde_error *error);

/**
 * Writes and frees the page of a command that came to `status`, which is returned; with none of OK nothing is written. NULL
 * is allowed. Errors: DEVICE; NO_MEMORY where something of the page found none.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_html_close(struct ronde_html *html, enum ronde_status status, struct ronde_error *error);

/* ---- Answers of commands: the sentence at the top, and how sure it is. A sink without a page gets nothing. -------- */

struct ronde_plan;
struct ronde_result_view;
struct ronde_workload_report;
struct ronde_explain_view;
struct ronde_validation;

/** The points of a grid that was measured before, as data and as curves. */
void ronde_html_grid(struct ronde_html *html, const struct ronde_validation *grid);

/** Which algorithm at which size. */
void ronde_answer_plan(struct ronde_html *html, const struct ronde_plan *plan);

/** How long a size takes; `why`: a sentence on what holds it up, or "". */
void ronde_answer_view(struct ronde_html *html, const struct ronde_result_view *view,
                       const char *why);

/** How long a step takes and where the time goes, with a bar for each. */
void ronde_answer_workload(struct ronde_html *html, const struct ronde_workload_report *report);

/** What of a step the collectives take, with a bar for each row. */
void ronde_answer_explain(struct ronde_html *html, const struct ronde_explain_view *view);

/** How far predictions are off, and how often they name the faster algorithm. Errors: NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status ronde_answer_validation(struct ronde_html *html,
                                                           const struct ronde_validation *grid,
                                                           struct ronde_error *error);

/* ---- Of this folder alone ----------------------------------------------------------------------------------------- */

/** The style and the script of a page. */
extern const char ronde_html_css[], ronde_html_js[];

/** Curves over the size and bars, gathered from rows. */
struct ronde_html_figures;

/** None yet; NULL without memory. */
struct ronde_html_figures *ronde_html_figures_open(void);
/** Frees them; NULL is allowed. */
void ronde_html_figures_close(struct ronde_html_figures *figures);
/** Takes the points of a row in. */
void ronde_html_figures_add(struct ronde_html_figures *figures, const struct ronde_row *row);
/** Writes them. */
void ronde_html_figures_print(const struct ronde_html_figures *figures, FILE *file);

#endif
