/* NCCL's log as a graph of rings and trees. See ronde/nccl_graph.h. */
#include "said.h"

#include "formats/whole_file.h"

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

enum ronde_status ronde_nccl_graph_parse(const char *text, size_t bytes, const char *name,
                                         uint32_t ranks, const struct ronde_mem *mem,
                                         struct ronde_nccl_graph **out_graph,
                                         struct ronde_error *error)
{
    struct nccl_log log = {.mem = mem, .name = name, .error = error};
    *out_graph = NULL;
    struct ronde_nccl_graph *graph = ronde_mem_new(mem, 1, sizeof *graph);
    if (!graph)
        return ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for the log", name);
    *graph = (struct ronde_nccl_graph){.mem = mem};
    enum ronde_status status = nccl_log_collect(&log, text, bytes);
    if (status == RONDE_OK)
        status = nccl_log_settle(&log, ranks, graph);
    ronde_list_free(mem, &log.said, sizeof(struct nccl_said));
    ronde_list_free(mem, &log.cuts, sizeof(struct nccl_cut));
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
    enum ronde_status status = ronde_whole_file_read(path, &text, &bytes, error);
    if (status != RONDE_OK)
        return status;
    status = ronde_nccl_graph_parse(text, bytes, path, ranks, mem, out_graph, error);
    ronde_whole_file_free(text, bytes);
    return status;
}
