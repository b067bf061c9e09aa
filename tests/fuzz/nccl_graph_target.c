/* The reader of NCCL's logs on arbitrary bytes: rings and trees that it accepts must be schedules that are right. See target.h. */
#include "fuzz/target.h"

#include "support/heap.h"

#include "ronde/nccl_graph.h"

#include <stdio.h>
#include <string.h>

/* Memory that a log may ask for; beyond it the refusal is NO_MEMORY. */
#define HEAP_BYTES_MAX ((size_t)64 << 20)

/* More is read, but not proved. */
#define RANKS_MAX 16u
#define CHANNELS_MAX 8u

/* What the log states as a whole can be replayed. */
static void check_schedule(const struct ronde_nccl_graph *graph, bool is_tree,
                           struct fuzz_verdict *verdict)
{
    const struct ronde_nccl_request request = {RONDE_ALL_REDUCE, is_tree, 0};
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    const uint32_t channels = is_tree ? graph->trees : graph->rings;
    if (channels == 0 || channels > CHANNELS_MAX || graph->ranks > RANKS_MAX)
        return;
    verdict->runs++;
    if (ronde_nccl_graph_schedule(graph, &request, ronde_mem_default(), &schedule, &error) !=
        RONDE_OK)
        fuzz_complain(verdict, "%s of %u ranks: %.400s", is_tree ? "trees" : "rings", graph->ranks,
                      error.message);
    ronde_schedule_destroy(schedule);
}

void fuzz_nccl_graph(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict)
{
    struct heap heap = heap_start(SIZE_MAX, true);
    heap.limit_bytes = HEAP_BYTES_MAX;
    const struct ronde_mem mem = heap_mem(&heap);
    struct ronde_nccl_graph *graph = NULL;
    struct ronde_error error = {0};
    memset(out_verdict, 0, sizeof *out_verdict);
    const enum ronde_status status =
        ronde_nccl_graph_parse((const char *)data, bytes, "input", 0, &mem, &graph, &error);
    out_verdict->is_accepted = status == RONDE_OK;
    if (status == RONDE_OK) {
        check_schedule(graph, false, out_verdict);
        check_schedule(graph, true, out_verdict);
    } else if ((status != RONDE_BAD_INPUT && status != RONDE_NO_MEMORY) ||
               error.message[0] == '\0' || graph) {
        fuzz_complain(out_verdict, "'%s' with \"%.400s\"", ronde_status_text(status), error.message);
    }
    ronde_nccl_graph_destroy(graph);
    fuzz_expect_no_leak(out_verdict, &heap);
}
