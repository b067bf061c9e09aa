/* A cut in words. See words.h. */
#include "words.h"

#include <stdarg.h>
#include <stdio.h>

/* Runs of hosts and links that are named; the rest is counted. */
#define NAMED_RUNS 4u
#define NAMED_LINKS 4u

/* A text that grows to the end of its room. */
struct words {
    char *text;
    size_t bytes;
    size_t used;
};

static void RONDE_FORMAT(2, 3) say(struct words *words, const char *format, ...)
{
    va_list arguments;
    if (words->used >= words->bytes)
        return;
    va_start(arguments, format);
    const int written =
        vsnprintf(words->text + words->used, words->bytes - words->used, format, arguments);
    va_end(arguments);
    words->used += written > 0 ? (size_t)written : 0;
}

/* The side that is named is the one with fewer ranks. */
static bool is_named(const struct ronde_graph_cut *cut, uint32_t place, bool names_inside)
{
    return cut->inside[place] == names_inside;
}

static void say_hosts(struct words *words, const struct ronde_graph *graph,
                      const struct ronde_graph_cut *cut, bool names_inside)
{
    const struct ronde_platform *platform = graph->wiring->platform;
    uint32_t runs = 0;
    for (uint32_t r = 0; r < graph->ranks;) {
        uint32_t end = r + 1;
        if (!is_named(cut, r, names_inside)) {
            r = end;
            continue;
        }
        while (end < graph->ranks && is_named(cut, end, names_inside))
            end++;
        if (runs++ < NAMED_RUNS) {
            say(words, "%s%s", runs > 1 ? ", " : "", ronde_platform_host(platform, r));
            if (end - r > 1)
                say(words, "%s%s", end - r == 2 ? ", " : " .. ",
                    ronde_platform_host(platform, end - 1));
        }
        r = end;
    }
    if (runs > NAMED_RUNS)
        say(words, ", ...");
}

static void say_links(struct words *words, const struct ronde_graph *graph,
                      const struct ronde_graph_cut *cut)
{
    uint32_t count = 0;
    for (uint32_t a = 0; a < graph->arc_count; a++) {
        const struct ronde_arc *arc = &graph->arcs[a];
        if (arc->wire == RONDE_NONE || arc->capacity == 0 || !cut->inside[arc->from] ||
            cut->inside[arc->to])
            continue;
        const uint32_t link = graph->wiring->wires[arc->wire].link;
        if (count++ < NAMED_LINKS)
            say(words, "%s%s", count > 1 ? ", " : ": ",
                ronde_platform_link(graph->wiring->platform, link)->name);
    }
    if (count > NAMED_LINKS)
        say(words, " and %u more", count - NAMED_LINKS);
}

uint32_t ronde_cut_words(const struct ronde_graph *graph, const struct ronde_graph_cut *cut,
                         bool is_reversed, char *out_text, size_t bytes)
{
    struct words words = {out_text, bytes, 0};
    const uint32_t inside = ronde_cut_ranks(graph, cut->inside);
    const bool names_inside = 2 * inside <= graph->ranks;
    const uint32_t named = names_inside ? inside : graph->ranks - inside;
    const bool leaves = names_inside != is_reversed;
    out_text[0] = '\0';
    say(&words, "%u of %u hosts, ", named, graph->ranks);
    say_hosts(&words, graph, cut, names_inside);
    say(&words, ", %s %lld block%s by %.6g GB/s",
        leaves ? (named == 1 ? "sends" : "send") : (named == 1 ? "takes in" : "take in"),
        (long long)cut->blocks, cut->blocks == 1 ? "" : "s",
        (double)cut->capacity * graph->unit_GBps);
    say_links(&words, graph, cut);
    return named;
}
