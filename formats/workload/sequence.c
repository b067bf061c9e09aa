/* The order a rank comes to its items: the file's, but what an item waits for first. */
#include "matching.h"

#include "ronde/mem.h"

/* An item whose dependencies are being looked at. */
struct visit {
    uint32_t work;
    uint32_t next; /* dependency */
};

enum mark { UNSEEN, OPEN, DONE };

/* Puts an item and what it waits for behind what is there. The stack holds at most all items. */
static enum ronde_status place(const struct ronde_workload *workload, uint32_t work,
                               struct visit *stack, unsigned char *marks, uint32_t *sequence,
                               uint32_t *count, struct ronde_error *error)
{
    size_t depth = 0;
    stack[depth++] = (struct visit){work, 0};
    marks[work] = OPEN;
    while (depth > 0) {
        struct visit *top = &stack[depth - 1];
        const struct ronde_work *at = &workload->works[top->work];
        if (top->next == at->dep_count) {
            marks[top->work] = DONE;
            sequence[(*count)++] = top->work;
            depth--;
            continue;
        }
        const uint32_t before = workload->deps[at->first_dep + top->next++].work;
        if (marks[before] == OPEN)
            return ronde_work_fail(workload, before, error, "%s waits for itself, in a circle",
                                   ronde_workload_text(workload, workload->works[before].name));
        if (marks[before] == DONE)
            continue;
        marks[before] = OPEN;
        stack[depth++] = (struct visit){before, 0};
    }
    return RONDE_OK;
}

enum ronde_status workload_sequence(const struct ronde_workload *workload,
                                    struct workload_matching *matching, struct ronde_error *error)
{
    const size_t count = workload->work_count;
    const struct ronde_mem *mem = matching->mem;
    struct visit *stack = ronde_mem_new(mem, count, sizeof *stack);
    unsigned char *marks = ronde_mem_new(mem, count, 1);
    uint32_t placed = 0;
    enum ronde_status status =
        stack && marks ? RONDE_OK
                       : ronde_fail(error, RONDE_NO_MEMORY, "no memory to order %zu items", count);
    for (uint32_t w = 0; w < workload->work_count && status == RONDE_OK; w++)
        if (marks[w] == UNSEEN)
            status = place(workload, w, stack, marks, matching->sequence, &placed, error);
    ronde_mem_free(mem, stack, count, sizeof *stack);
    ronde_mem_free(mem, marks, count, 1);
    return status;
}
