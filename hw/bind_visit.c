/* Touching the memory of ranks where they will run. See ronde/bind.h. */
#include "ronde/bind.h"

#include <sched.h>

/* Where the thread is bound last: the cpu backend's groups begin at the processor that calls it. */
static const struct ronde_bind_group first_one = {0, 1};

/* Visits the ranks of every worker on its processors, dealt out as the backend does. */
static void visit_groups(const struct ronde_processor *list, uint32_t count, uint32_t ranks,
                         ronde_bind_visitor visit, void *context)
{
    const uint32_t workers = ranks < count ? ranks : count;
    uint32_t rank = 0;
    for (uint32_t w = 0; w < workers; w++) {
        const uint32_t end = (uint32_t)((uint64_t)ranks * (w + 1u) / workers);
        (void)ronde_bind_take(list, ronde_bind_group(list, count, workers, w));
        for (; rank < end; rank++)
            visit(context, rank);
    }
    (void)ronde_bind_take(list, first_one);
}

void ronde_bind_visit(const struct ronde_bind *bind, uint32_t ranks, ronde_bind_visitor visit,
                      void *context)
{
    cpu_set_t before;
    const uint32_t most = bind ? bind->count : 0;
    struct ronde_processor *list = most > 0 ? ronde_mem_new(bind->mem, most, sizeof *list) : NULL;
    const uint32_t count = list ? ronde_bind_usable(bind, list) : 0;
    if (count > 0 && sched_getaffinity(0, sizeof before, &before) == 0) {
        visit_groups(list, count, ranks, visit, context);
        (void)sched_setaffinity(0, sizeof before, &before);
    } else {
        for (uint32_t rank = 0; rank < ranks; rank++)
            visit(context, rank);
    }
    if (list)
        ronde_mem_free(bind->mem, list, most, sizeof *list);
}
