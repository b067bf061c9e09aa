/* Trees as SVG, without a library. See svg.h. */
#include "svg.h"

#include "ronde/cursor.h"
#include "ronde/mem.h"

#include <math.h>

/* Trees that are drawn, and links of a route. */
#define MOST_TREES 4u
#define MOST_LINKS 64u
/* Pixels: a leaf's place, a level, what stands around a tree. */
#define LEAF 46.0
#define LEVEL 64.0
#define MARGIN 30.0
#define HEAD 64.0
#define RATES 6u

/* From slow to fast; they differ in brightness too (Okabe and Ito's palette). */
static const char *const colours[RATES] = {"#d55e00", "#e69f00", "#009e73",
                                           "#56b4e9", "#0072b2", "#000000"};

/* One tree. */
struct tree {
    uint32_t *parent; /* per rank; RONDE_NONE = none */
    uint32_t *depth;  /* per rank */
    double *x;        /* per rank: where it stands, in leaves */
    double width;     /* in leaves */
    uint32_t height;
};

/* The picture. */
struct canvas {
    const struct ronde_schedule *schedule;
    const struct ronde_platform *platform;
    uint32_t root;
    FILE *file;
    struct tree trees[MOST_TREES];
    uint32_t tree_count;
    double rates[RATES]; /* of messages, ascending */
    uint32_t rate_count;
    void *memory;
    size_t bytes;
};

/* ---- The trees of a schedule ------------------------------------------------------------------------------------- */

/* The tree of a step's message among those of the root, or RONDE_NONE. */
static uint32_t tree_of(const struct canvas *canvas, const struct ronde_view *view,
                        const struct ronde_step *step)
{
    const struct ronde_schedule *schedule = canvas->schedule;
    const uint32_t parts = schedule->chunks_per_block;
    const bool has_blocks = schedule->collective == RONDE_ALL_GATHER;
    uint32_t chunk = step->source_chunk;
    enum ronde_buffer buffer = (enum ronde_buffer)step->source;
    if (step->source == RONDE_BUFFER_COUNT) { /* passed on from the slot, and kept */
        chunk = step->destination_chunk;
        buffer = (enum ronde_buffer)step->destination;
    }
    if (buffer == RONDE_IN)
        return view->rank == canvas->root ? chunk % parts : RONDE_NONE;
    if (buffer != RONDE_OUT)
        return RONDE_NONE;
    const uint32_t chunks = has_blocks ? parts * schedule->ranks : parts;
    chunk = ronde_view_shift(view, RONDE_OUT, chunks, chunk);
    return has_blocks && chunk / parts != canvas->root ? RONDE_NONE : chunk % parts;
}

static void find_parents(struct canvas *canvas)
{
    for (uint32_t r = 0; r < canvas->schedule->ranks; r++) {
        const struct ronde_view view = ronde_view_open(canvas->schedule, 0, r);
        for (uint32_t s = 0; s < view.program->step_count; s++) {
            const struct ronde_step *step = &view.program->steps[s];
            if (!ronde_step_sends((enum ronde_step_op)step->op))
                continue;
            const uint32_t tree = tree_of(canvas, &view, step);
            if (tree < canvas->tree_count)
                canvas->trees[tree].parent[ronde_view_peer(&view, step->send)] = r;
        }
    }
}

/* Leaves stand side by side, ranks above the middle of what hangs below them. */
static void place(const struct canvas *canvas, struct tree *tree, uint32_t rank, uint32_t depth)
{
    double first = -1, last = -1;
    tree->depth[rank] = depth;
    if (depth > tree->height)
        tree->height = depth;
    for (uint32_t v = 0; v < canvas->schedule->ranks; v++) {
        if (v == rank || v == canvas->root || tree->parent[v] != rank)
            continue;
        place(canvas, tree, v, depth + 1);
        first = first < 0 ? tree->x[v] : first;
        last = tree->x[v];
    }
    tree->x[rank] = first < 0 ? tree->width++ : (first + last) / 2;
}

static enum ronde_status make_trees(struct canvas *canvas, struct ronde_error *error)
{
    const size_t n = canvas->schedule->ranks;
    const uint32_t trees = canvas->schedule->chunks_per_block;
    canvas->tree_count = trees < MOST_TREES ? trees : MOST_TREES;
    canvas->bytes = canvas->tree_count * n * (sizeof(double) + 2 * sizeof(uint32_t));
    canvas->memory = ronde_mem_new(ronde_mem_default(), canvas->bytes, 1);
    if (!canvas->memory)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a picture of %zu ranks", n);
    double *reals = canvas->memory;
    uint32_t *numbers = (uint32_t *)(reals + canvas->tree_count * n);
    for (uint32_t t = 0; t < canvas->tree_count; t++) {
        struct tree *tree = &canvas->trees[t];
        tree->x = reals + t * n;
        tree->parent = numbers + 2 * t * n;
        tree->depth = tree->parent + n;
        for (size_t r = 0; r < n; r++)
            tree->parent[r] = RONDE_NONE;
    }
    find_parents(canvas);
    for (uint32_t t = 0; t < canvas->tree_count; t++)
        place(canvas, &canvas->trees[t], canvas->root, 0);
    return RONDE_OK;
}

/* ---- Rates ------------------------------------------------------------------------------------------------------- */

/* GB/s of the slowest link between two ranks. */
static double rate_between(const struct canvas *canvas, uint32_t from, uint32_t to)
{
    uint32_t links[MOST_LINKS], count = 0;
    double least = INFINITY;
    if (ronde_platform_route(canvas->platform, from, to, MOST_LINKS, links, &count, NULL) != RONDE_OK)
        return least;
    for (uint32_t i = 0; i < count && i < MOST_LINKS; i++)
        least = fmin(least, ronde_platform_link(canvas->platform, links[i])->rate_GBps);
    return least;
}

/* Keeps the rates that occur in order; beyond their room the fastest share a colour. */
static void note_rate(struct canvas *canvas, double rate)
{
    uint32_t at = 0;
    while (at < canvas->rate_count && canvas->rates[at] < rate)
        at++;
    if ((at < canvas->rate_count && canvas->rates[at] == rate) || at == RATES)
        return;
    if (canvas->rate_count < RATES)
        canvas->rate_count++;
    for (uint32_t i = canvas->rate_count - 1; i > at; i--)
        canvas->rates[i] = canvas->rates[i - 1];
    canvas->rates[at] = rate;
}

static void note_rates(struct canvas *canvas)
{
    for (uint32_t t = 0; t < canvas->tree_count; t++)
        for (uint32_t v = 0; v < canvas->schedule->ranks; v++)
            if (canvas->trees[t].parent[v] != RONDE_NONE)
                note_rate(canvas, rate_between(canvas, canvas->trees[t].parent[v], v));
}

static uint32_t colour_of(const struct canvas *canvas, double rate)
{
    uint32_t at = 0;
    while (at + 1 < canvas->rate_count && canvas->rates[at] < rate)
        at++;
    return at;
}

/* ---- Drawing ----------------------------------------------------------------------------------------------------- */

static double left_of(double leaf)
{
    return (leaf + 0.5) * LEAF;
}

static double below(uint32_t depth)
{
    return HEAD + 40 + depth * LEVEL;
}

static void draw_message(const struct canvas *canvas, const struct tree *tree, uint32_t child,
                         double left)
{
    const uint32_t parent = tree->parent[child];
    const uint32_t colour = colour_of(canvas, rate_between(canvas, parent, child));
    const double x = left + left_of(tree->x[parent]), y = below(tree->depth[parent]) + 6;
    const double to_x = left + left_of(tree->x[child]), to_y = below(tree->depth[child]) - 14;
    fprintf(canvas->file,
            "<path d=\"M %.1f %.1f C %.1f %.1f %.1f %.1f %.1f %.1f\" stroke=\"%s\" "
            "stroke-width=\"%u\" fill=\"none\"/>\n",
            x, y, x, (y + to_y) / 2, to_x, (y + to_y) / 2, to_x, to_y, colours[colour], 1 + colour);
}

static void draw_text(const struct canvas *canvas, double x, double y, const char *anchor,
                      const char *text)
{
    fprintf(canvas->file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    ronde_markup_print(canvas->file, text);
    fputs("</text>\n", canvas->file);
}

static void draw_tree(const struct canvas *canvas, uint32_t number, double left)
{
    const struct tree *tree = &canvas->trees[number];
    char title[96];
    snprintf(title, sizeof title, "tree %u of %u: %u level%s", number + 1,
             canvas->schedule->chunks_per_block, tree->height, tree->height == 1 ? "" : "s");
    draw_text(canvas, left, HEAD, "start", title);
    for (uint32_t v = 0; v < canvas->schedule->ranks; v++)
        if (tree->parent[v] != RONDE_NONE)
            draw_message(canvas, tree, v, left);
    for (uint32_t v = 0; v < canvas->schedule->ranks; v++)
        if (v == canvas->root || tree->parent[v] != RONDE_NONE)
            draw_text(canvas, left + left_of(tree->x[v]), below(tree->depth[v]), "middle",
                      ronde_platform_host(canvas->platform, v));
}

static void draw_legend(const struct canvas *canvas, double y)
{
    double x = MARGIN;
    for (uint32_t i = 0; i < canvas->rate_count; i++, x += 130) {
        char text[48];
        fprintf(canvas->file,
                "<path d=\"M %.1f %.1f h 30\" stroke=\"%s\" stroke-width=\"%u\" fill=\"none\"/>\n",
                x, y - 4, colours[i], 1 + i);
        snprintf(text, sizeof text, "%.4g GB/s", canvas->rates[i]);
        draw_text(canvas, x + 36, y, "start", isinf(canvas->rates[i]) ? "no limit" : text);
    }
}

static void draw(const struct canvas *canvas)
{
    double width = MARGIN, left = MARGIN;
    uint32_t height = 0;
    char title[256];
    for (uint32_t t = 0; t < canvas->tree_count; t++) {
        width += canvas->trees[t].width * LEAF + MARGIN;
        height = canvas->trees[t].height > height ? canvas->trees[t].height : height;
    }
    width = fmax(width, 640);
    const double bottom = below(height) + 56;
    fprintf(canvas->file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
            "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            width, bottom, width, bottom);
    snprintf(title, sizeof title, "%s of %u ranks on %s: how data of %s comes to all",
             ronde_collective_text(canvas->schedule->collective), canvas->schedule->ranks,
             ronde_platform_facts(canvas->platform)->name,
             ronde_platform_host(canvas->platform, canvas->root));
    draw_text(canvas, MARGIN, 30, "start", title);
    for (uint32_t t = 0; t < canvas->tree_count; t++) {
        draw_tree(canvas, t, left);
        left += canvas->trees[t].width * LEAF + MARGIN;
    }
    draw_legend(canvas, bottom - 18);
    fputs("</svg>\n", canvas->file);
}

enum ronde_status ronde_forest_svg(const struct ronde_schedule *schedule,
                                   const struct ronde_platform *platform, uint32_t root, FILE *file,
                                   struct ronde_error *error)
{
    struct canvas canvas = {.schedule = schedule, .platform = platform, .root = root, .file = file};
    if (schedule->collective != RONDE_ALL_GATHER && schedule->collective != RONDE_BROADCAST)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "%s has no picture of its trees; all_gather and broadcast have",
                          ronde_collective_text(schedule->collective));
    if (schedule->ranks > RONDE_FOREST_SVG_RANKS)
        return ronde_fail(error, RONDE_UNSUPPORTED, "%u ranks: a picture has room for %u",
                          schedule->ranks, RONDE_FOREST_SVG_RANKS);
    const enum ronde_status status = make_trees(&canvas, error);
    if (status == RONDE_OK) {
        note_rates(&canvas);
        draw(&canvas);
    }
    ronde_mem_free(ronde_mem_default(), canvas.memory, canvas.bytes, 1);
    return status;
}
