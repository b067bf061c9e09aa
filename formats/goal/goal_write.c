/* Workloads as GOAL. Every operation has a label; dependencies stand behind the operation that has them. */
#include "formats/workload/matching.h"

#include "engine/text/out.h"

#include <inttypes.h>
#include <math.h>

static void put_operation(struct ronde_text_out *out, const struct ronde_work *work, uint32_t label)
{
    ronde_text_put(out, "l%" PRIu32 ": ", label);
    if (work->kind == RONDE_WORK_COMPUTE) {
        ronde_text_put(out, "calc %.0f", round(work->duration_ns));
    } else {
        ronde_text_put(out, "%s %" PRIu64 "b %s %" PRIu32, ronde_work_kind_text(work->kind),
                       work->bytes, work->kind == RONDE_WORK_SEND ? "to" : "from", work->peer);
        if (work->tag == RONDE_WORK_ANY_TAG)
            ronde_text_put(out, " tag -1");
        else if (work->tag != 0)
            ronde_text_put(out, " tag %" PRIu32, work->tag);
    }
    if (work->cpu != 0)
        ronde_text_put(out, " cpu %" PRIu32, work->cpu);
    ronde_text_put(out, "\n");
}

/*
 * The operations of a rank, then what they wait for: a dependency stands behind both of its labels, and one may be on an
 * operation further down. Labels are counted by rank; label_of has them for all items.
 */
static void put_rank(struct ronde_text_out *out, const struct ronde_workload *workload,
                     const uint32_t *items, uint32_t count, const uint32_t *label_of)
{
    for (uint32_t i = 0; i < count; i++)
        put_operation(out, &workload->works[items[i]], label_of[items[i]]);
    for (uint32_t i = 0; i < count; i++) {
        const struct ronde_work *work = &workload->works[items[i]];
        for (uint32_t d = 0; d < work->dep_count; d++) {
            const struct ronde_work_dep dep = workload->deps[work->first_dep + d];
            ronde_text_put(out, "l%" PRIu32 " %s l%" PRIu32 "\n", label_of[items[i]],
                           dep.on_start ? "irequires" : "requires", label_of[dep.work]);
        }
    }
}

static enum ronde_status check(const struct ronde_workload *workload, struct ronde_error *error)
{
    for (uint32_t w = 0; w < workload->work_count; w++)
        if (workload->works[w].kind == RONDE_WORK_COLLECTIVE)
            return ronde_fail(
                error, RONDE_UNSUPPORTED,
                "%s: GOAL has no collectives, and rank %u has one (%s): --topo names the "
                "machine whose algorithms they become",
                ronde_workload_text(workload, workload->path), workload->works[w].rank,
                ronde_workload_text(workload, workload->works[w].name));
    return RONDE_OK;
}

enum ronde_status ronde_goal_print(const struct ronde_workload *workload,
                                   const struct ronde_mem *mem, char **out_text, size_t *out_bytes,
                                   struct ronde_error *error)
{
    struct ronde_text_out out = {.mem = mem};
    const size_t count = workload->work_count;
    *out_text = NULL;
    enum ronde_status status = check(workload, error);
    if (status != RONDE_OK)
        return status;
    uint32_t *first = ronde_mem_new(mem, (size_t)workload->ranks + 1, sizeof *first);
    uint32_t *items = ronde_mem_new(mem, count, sizeof *items);
    uint32_t *label_of = ronde_mem_new(mem, count, sizeof *label_of);
    if (first && items && label_of) {
        ronde_workload_sort_by_rank(workload, first, items);
        for (uint32_t r = 0; r < workload->ranks; r++)
            for (uint32_t i = first[r]; i < first[r + 1]; i++)
                label_of[items[i]] = i - first[r];
        ronde_text_put(&out, "num_ranks %" PRIu32 "\n", workload->ranks);
        for (uint32_t r = 0; r < workload->ranks; r++) {
            ronde_text_put(&out, "\nrank %" PRIu32 " {\n", r);
            put_rank(&out, workload, items + first[r], first[r + 1] - first[r], label_of);
            ronde_text_put(&out, "}\n");
        }
        status = ronde_text_finish(&out, out_text, out_bytes, error);
    } else {
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory to print %zu items", count);
    }
    ronde_mem_free(mem, first, (size_t)workload->ranks + 1, sizeof *first);
    ronde_mem_free(mem, items, count, sizeof *items);
    ronde_mem_free(mem, label_of, count, sizeof *label_of);
    return status;
}
