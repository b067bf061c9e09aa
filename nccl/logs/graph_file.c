/*
 * Graph files of NCCL. See ronde/nccl_graph_file.h.
 *
 * Read by ncclTopoGetGraphFromXml (src/graph/search.cc). Graph 0 is the rings' (pattern 4), graph 1 the trees' (pattern 3, a
 * chain); NCCL takes the smaller number of channels of both, so both are given. It doubles channels afterwards: a file of 2
 * becomes "Channel 00/04" in a log.
 */
#include "engine/text/out.h"
#include "formats/whole_file.h"
#include "said.h"

#include "ronde/cursor.h"
#include "ronde/nccl_graph_file.h"

#include <inttypes.h>

/* NCCL's arrays: of channels, half of them for the doubling, and of elements in a file. */
#define MOST_CHANNELS 32u
#define MOST_ELEMENTS 4096u

/* Patterns of NCCL's search. */
enum { PATTERN_TREE = 3, PATTERN_RING = 4 };

/* The one rank that a rank sends to on a channel; RONDE_NONE where that is none or several. */
static uint32_t next_of(const struct ronde_schedule *schedule, uint32_t channel, uint32_t rank)
{
    const struct ronde_view view = ronde_view_open(schedule, channel, rank);
    uint32_t next = RONDE_NONE;
    for (uint32_t c = 0; c < view.program->connection_count; c++) {
        if (!view.program->connections[c].is_send)
            continue;
        const uint32_t peer = ronde_view_peer(&view, c);
        if (next != RONDE_NONE && next != peer)
            return RONDE_NONE;
        next = peer;
    }
    return next;
}

/* From rank 0 on, back to it, through all. */
static enum ronde_status find_ring(const struct ronde_schedule *schedule, uint32_t channel,
                                   uint32_t *order, struct ronde_error *error)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < schedule->ranks; i++) {
        order[i] = rank;
        rank = next_of(schedule, channel, rank);
        if (rank == RONDE_NONE || (rank == 0) != (i + 1 == schedule->ranks))
            return ronde_fail(error, RONDE_UNSUPPORTED,
                              "%s %s cannot be a graph file of NCCL: channel %" PRIu32
                              " is no ring through all ranks, at rank %" PRIu32,
                              ronde_collective_text(schedule->collective), schedule->algorithm,
                              channel, order[i]);
    }
    return RONDE_OK;
}

static enum ronde_status check_limits(const struct ronde_schedule *schedule,
                                      struct ronde_error *error)
{
    const uint64_t elements = 3 + 2ull * schedule->channel_count * (schedule->ranks + 1ull);
    if (schedule->channel_count > MOST_CHANNELS || elements > MOST_ELEMENTS)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "%" PRIu32 " channels of %" PRIu32
                          " ranks cannot be a graph file of NCCL: "
                          "it takes %u channels and %u elements",
                          schedule->channel_count, schedule->ranks, MOST_CHANNELS, MOST_ELEMENTS);
    if (schedule->ranks < 2)
        return ronde_fail(error, RONDE_UNSUPPORTED, "a graph file of NCCL joins 2 GPUs at least");
    for (uint32_t c = 1; c < schedule->channel_count; c++)
        if (schedule->channels[c].weight != schedule->channels[0].weight)
            return ronde_fail(error, RONDE_UNSUPPORTED,
                              "channels of different weights cannot be a graph file of NCCL, whose "
                              "channels carry the same");
    return RONDE_OK;
}

/* One graph: all channels with the same attributes. */
static void print_graph(struct ronde_text_out *out, const struct ronde_schedule *schedule,
                        const struct ronde_nccl_node_links *links, unsigned pattern,
                        const uint32_t *orders)
{
    const double channel_GBps = links->bus_GBps / schedule->channel_count;
    ronde_text_put(out,
                   "  <graph id=\"%d\" pattern=\"%u\" crossnic=\"0\" nchannels=\"%" PRIu32
                   "\" speedintra=\"%g\" speedinter=\"%g\" latencyinter=\"0\" typeintra=\"%s\" "
                   "typeinter=\"PIX\" samechannels=\"0\">\n",
                   pattern == PATTERN_TREE, pattern, schedule->channel_count, channel_GBps,
                   channel_GBps, links->path);
    for (uint32_t c = 0; c < schedule->channel_count; c++) {
        ronde_text_put(out, "    <channel>\n");
        for (uint32_t i = 0; i < schedule->ranks; i++) {
            const uint32_t rank = orders[(size_t)c * schedule->ranks + i];
            ronde_text_put(out, "      <gpu dev=\"0x%" PRIx32 "\" rank=\"%" PRIu32 "\"/>\n", rank,
                           rank);
        }
        ronde_text_put(out, "    </channel>\n");
    }
    ronde_text_put(out, "  </graph>\n");
}

enum ronde_status ronde_nccl_graph_file_print(const struct ronde_schedule *schedule,
                                              const struct ronde_nccl_node_links *links,
                                              const struct ronde_mem *mem, char **out_text,
                                              size_t *out_bytes, struct ronde_error *error)
{
    const size_t count = (size_t)schedule->channel_count * schedule->ranks;
    struct ronde_text_out out = {.mem = mem};
    *out_text = NULL;
    enum ronde_status status = check_limits(schedule, error);
    if (status != RONDE_OK)
        return status;
    uint32_t *orders = ronde_mem_new(mem, count, sizeof *orders);
    if (!orders)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the orders of a graph file");
    for (uint32_t c = 0; status == RONDE_OK && c < schedule->channel_count; c++)
        status = find_ring(schedule, c, orders + (size_t)c * schedule->ranks, error);
    if (status == RONDE_OK) {
        ronde_text_put(&out, "<graphs version=\"1\">\n");
        print_graph(&out, schedule, links, PATTERN_RING, orders);
        print_graph(&out, schedule, links, PATTERN_TREE, orders);
        ronde_text_put(&out, "</graphs>\n");
        status = ronde_text_finish(&out, out_text, out_bytes, error);
    }
    ronde_mem_free(mem, orders, count, sizeof *orders);
    return status;
}

/* NCCL's log as a graph of rings and trees. */

void ronde_nccl_graph_destroy(struct ronde_nccl_graph *graph)
{
    if (!graph)
        return;
    const struct ronde_mem *mem = graph->mem;
    const size_t rings = (size_t)graph->rings * graph->ranks;
    const size_t trees = (size_t)graph->trees * graph->ranks;
    ronde_mem_free(mem, graph->next, graph->next ? rings : 0, sizeof *graph->next);
    ronde_mem_free(mem, graph->branch, graph->branch ? trees : 0, sizeof *graph->branch);
    ronde_mem_free(mem, graph, 1, sizeof *graph);
}

/* Whether a text is the XML that NCCL writes its search's result to. */
static bool is_graph_file(const char *text, size_t bytes)
{
    const char *end = text + bytes;
    while (text < end && (*text == ' ' || *text == '\t' || *text == '\r' || *text == '\n'))
        text++;
    return text < end && *text == '<';
}

/* What is put together; where that fails, or gives nothing, a line that could not be read is the reason. */
static enum ronde_status settle(struct nccl_log *log, const char *text, size_t bytes, uint32_t ranks,
                                struct ronde_nccl_graph *graph, struct ronde_error *error)
{
    const enum ronde_status status =
        nccl_log_settle(log, ranks, graph) ? RONDE_OK : log->error->status;
    const bool is_empty = status == RONDE_OK && graph->rings == 0 && graph->trees == 0;
    graph->unread_line = log->unread_line;
    graph->repeated_line = log->repeated_line;
    if (log->said.count == 0 && is_graph_file(text, bytes))
        return ronde_fail(error, RONDE_BAD_INPUT,
                          "%s: this is XML, as NCCL writes it for NCCL_GRAPH_DUMP_FILE, not a log; "
                          "what NCCL prints with NCCL_DEBUG=INFO and "
                          "NCCL_DEBUG_SUBSYS=INIT,GRAPH has rings and trees",
                          log->name);
    if ((status == RONDE_BAD_INPUT || is_empty) && log->unread_line > 0)
        return ronde_fail_at(error, RONDE_BAD_INPUT, log->unread_line, "%s:%" PRIu32 ": %s",
                             log->name, log->unread_line, log->unread);
    return status == RONDE_OK
               ? RONDE_OK
               : ronde_fail_at(error, status, log->error->line, "%s", log->error->message);
}

enum ronde_status ronde_nccl_graph_parse(const char *text, size_t bytes, const char *name,
                                         uint32_t ranks, const struct ronde_mem *mem,
                                         struct ronde_nccl_graph **out_graph,
                                         struct ronde_error *error)
{
    struct ronde_error why = {0};
    struct nccl_log log = {.mem = mem, .name = name, .error = &why};
    *out_graph = NULL;
    struct ronde_nccl_graph *graph = ronde_mem_new(mem, 1, sizeof *graph);
    if (!graph)
        return ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for the log", name);
    *graph = (struct ronde_nccl_graph){.mem = mem};
    const enum ronde_status status = nccl_log_collect(&log, text, bytes)
                                         ? settle(&log, text, bytes, ranks, graph, error)
                                         : ronde_fail(error, why.status, "%s", why.message);
    ronde_list_free(mem, &log.said, sizeof(struct nccl_said));
    ronde_list_free(mem, &log.cuts, sizeof(struct nccl_cut));
    ronde_list_free(mem, &log.sizes, sizeof(struct nccl_size));
    if (status == RONDE_OK)
        *out_graph = graph;
    else
        ronde_nccl_graph_destroy(graph);
    return status;
}

enum ronde_status
ronde_nccl_graph_read(const char *path, uint32_t ranks, const struct ronde_mem *mem,
                      struct ronde_nccl_graph **out_graph, struct ronde_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    *out_graph = NULL;
    RONDE_TRY(ronde_whole_file_read(path, mem, &text, &bytes, error));
    const enum ronde_status status =
        ronde_nccl_graph_parse(text, bytes, path, ranks, mem, out_graph, error);
    ronde_whole_file_free(mem, text, bytes);
    return status;
}
