/* Random machines. See random_graph.h. */
#include "synthesis/random_graph.h"

#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEXT_BYTES (256u << 10)

uint32_t random_graph_below(struct random_graph *graph, uint32_t below)
{
    graph->state = graph->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((graph->state >> 33) % below);
}

static void add_wire(struct random_graph *graph, uint32_t from, uint32_t to)
{
    const uint32_t w = graph->wires;
    for (uint32_t i = 0; i < w; i++)
        if (graph->from[i] == from && graph->to[i] == to)
            return;
    if (from == to || w == GRAPH_WIRES)
        return;
    graph->from[w] = from;
    graph->to[w] = to;
    graph->GBps[w] = 1 + random_graph_below(graph, 9);
    graph->wires++;
}

/* A directed ring of all places keeps them together; the rest is chance. */
void random_graph_make(struct random_graph *graph, uint64_t seed, uint32_t hosts, uint32_t switches)
{
    uint32_t ring[GRAPH_PLACES] = {0};
    *graph = (struct random_graph){.hosts = hosts,
                                   .places = hosts + switches,
                                   .state = seed * 0x9e3779b97f4a7c15u + 1};
    for (uint32_t p = 0; p < graph->places; p++) {
        const uint32_t other = random_graph_below(graph, p + 1);
        ring[p] = ring[other];
        ring[other] = p;
    }
    for (uint32_t p = 0; p < graph->places; p++)
        add_wire(graph, ring[p], ring[(p + 1) % graph->places]);
    const uint32_t more = random_graph_below(graph, 3 * graph->places) + switches * 2;
    for (uint32_t i = 0; i < more; i++) {
        const uint32_t from = random_graph_below(graph, graph->places);
        const uint32_t to = random_graph_below(graph, graph->places);
        add_wire(graph, from, to);
        if (random_graph_below(graph, 2) == 0)
            add_wire(graph, to, from);
    }
}

/* By breadth: the wire by which each place is reached from a host first. */
static void find_ways(const struct random_graph *graph, uint32_t from, uint32_t *by)
{
    uint32_t queue[GRAPH_PLACES], head = 0, tail = 0;
    for (uint32_t p = 0; p < graph->places; p++)
        by[p] = RONDE_NONE;
    queue[tail++] = from;
    while (head < tail) {
        const uint32_t at = queue[head++];
        for (uint32_t w = 0; w < graph->wires; w++)
            if (graph->from[w] == at && by[graph->to[w]] == RONDE_NONE && graph->to[w] != from) {
                by[graph->to[w]] = w;
                queue[tail++] = graph->to[w];
            }
    }
}

/* The route of a pair of hosts, as the file has it. */
static size_t write_route(struct random_graph *graph, char *text, size_t bytes, uint32_t from,
                          uint32_t to, const uint32_t *by)
{
    uint32_t wires[GRAPH_PLACES], count = 0;
    for (uint32_t at = to; at != from; at = graph->from[by[at]])
        wires[count++] = by[at];
    size_t used = (size_t)snprintf(text, bytes,
                                   "<route src=\"p%u\" dst=\"p%u\" symmetrical=\"NO\">", from, to);
    graph->ends[wires[0]] = true;
    graph->begins[wires[count - 1]] = true;
    while (count-- > 0) {
        graph->is_used[wires[count]] = true;
        used += (size_t)snprintf(text + used, bytes - used, "<link_ctn id=\"w%u\"/>", wires[count]);
    }
    return used + (size_t)snprintf(text + used, bytes - used, "</route>\n");
}

/* Whether a pair's ways there and back share a wire. */
static bool shares_wire(const struct random_graph *graph, uint32_t i, uint32_t j)
{
    uint32_t there[GRAPH_PLACES], back[GRAPH_PLACES];
    find_ways(graph, i, there);
    find_ways(graph, j, back);
    for (uint32_t at = j; at != i; at = graph->from[there[at]])
        for (uint32_t other = i; other != j; other = graph->from[back[other]])
            if (there[at] == back[other])
                return true;
    return false;
}

static void write_text(struct random_graph *graph, char *text, size_t bytes)
{
    size_t used = (size_t)snprintf(text, bytes,
                                   "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM "
                                   "\"https://simgrid.org/simgrid.dtd\">\n<platform "
                                   "version=\"4.1\"><zone id=\"z\" routing=\"Full\">\n");
    for (uint32_t p = 0; p < graph->places; p++)
        used += (size_t)snprintf(text + used, bytes - used,
                                 p < graph->hosts ? "<host id=\"p%u\" speed=\"1Gf\"/>\n"
                                                  : "<router id=\"p%u\"/>\n",
                                 p);
    for (uint32_t w = 0; w < graph->wires; w++)
        used += (size_t)snprintf(text + used, bytes - used,
                                 "<link id=\"w%u\" bandwidth=\"%uGBps\" latency=\"1us\" "
                                 "sharing_policy=\"SHARED\"/>\n",
                                 w, graph->GBps[w]);
    graph->is_plain = true;
    for (uint32_t i = 0; i < graph->hosts; i++) {
        uint32_t by[GRAPH_PLACES];
        find_ways(graph, i, by);
        for (uint32_t j = 0; j < graph->hosts; j++)
            if (i != j) {
                used += write_route(graph, text + used, bytes - used, i, j, by);
                graph->is_plain = graph->is_plain && !shares_wire(graph, i, j);
            }
    }
    for (uint32_t w = 0; w < graph->wires; w++)
        if (graph->is_used[w] && ((graph->from[w] < graph->hosts && !graph->begins[w]) ||
                                  (graph->to[w] < graph->hosts && !graph->ends[w])))
            graph->is_plain = false;
    snprintf(text + used, bytes - used, "</zone></platform>\n");
}

struct ronde_platform *random_graph_platform(struct random_graph *graph)
{
    static char text[TEXT_BYTES];
    struct ronde_platform *platform = NULL;
    struct ronde_error error = {0};
    const char *path = RONDE_SCRATCH_DIR "/random-graph.xml";
    write_text(graph, text, sizeof text);
    CU_ASSERT(files_write(path, text));
    CU_ASSERT_EQUAL(ronde_platform_read(path, ronde_mem_default(), &platform, &error), RONDE_OK);
    if (error.status != RONDE_OK)
        suite_note("%s", error.message);
    unlink(path);
    return platform;
}
