/* Listing processors and binding threads to them. See ronde/bind.h. */
#include "ronde/bind.h"

#include <sched.h>
#include <stdio.h>

/* What the calling thread may use; nothing on a machine with more processors than the set holds. */
static void read_usable(cpu_set_t *usable)
{
    CPU_ZERO(usable);
    if (sched_getaffinity(0, sizeof *usable, usable) != 0)
        CPU_ZERO(usable);
}

/* Without hwloc every processor counts as a core, and all as near one memory. */
static enum ronde_status list_numbers(struct ronde_bind *bind, struct ronde_error *error)
{
    cpu_set_t usable;
    read_usable(&usable);
    const size_t count = (size_t)CPU_COUNT(&usable);
    bind->source = "numbers";
    bind->list = ronde_mem_new(bind->mem, count, sizeof *bind->list);
    if (!bind->list && count > 0)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu processors", count);
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &usable))
            bind->list[bind->count++] = (struct ronde_processor){.cpu = cpu, .core = cpu};
    return RONDE_OK;
}

enum ronde_status ronde_bind_open(const struct ronde_mem *mem, struct ronde_bind *out_bind,
                                  struct ronde_error *error)
{
    struct ronde_error why = {0};
    *out_bind = (struct ronde_bind){.mem = mem, .source = "hwloc"};
    const enum ronde_status status =
        ronde_processors_list(NULL, mem, &out_bind->list, &out_bind->count, &why);
    if (status == RONDE_NO_MEMORY)
        return ronde_fail(error, status, "%s", why.message);
    return status == RONDE_OK ? status : list_numbers(out_bind, error);
}

void ronde_bind_close(struct ronde_bind *bind)
{
    ronde_mem_free(bind->mem, bind->list, bind->count, sizeof *bind->list);
    bind->list = NULL;
    bind->count = 0;
}

uint32_t ronde_bind_usable(const struct ronde_bind *bind, struct ronde_processor *out_list)
{
    cpu_set_t usable;
    uint32_t count = 0;
    read_usable(&usable);
    for (uint32_t k = 0; k < bind->count; k++)
        if (bind->list[k].cpu < CPU_SETSIZE && CPU_ISSET(bind->list[k].cpu, &usable))
            out_list[count++] = bind->list[k];
    return count;
}

bool ronde_bind_take(const struct ronde_processor *list, struct ronde_bind_group group)
{
    cpu_set_t own;
    CPU_ZERO(&own);
    for (uint32_t k = group.begin; k < group.end; k++)
        CPU_SET(list[k].cpu, &own);
    return group.begin < group.end && sched_setaffinity(0, sizeof own, &own) == 0;
}

void ronde_bind_text(char *out_text, size_t bytes)
{
    cpu_set_t usable;
    size_t used = 0;
    read_usable(&usable);
    snprintf(out_text, bytes, "?");
    for (size_t first = 0; first < CPU_SETSIZE; first++) {
        size_t last = first;
        if (!CPU_ISSET(first, &usable))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &usable))
            last++;
        char range[48];
        const int length =
            last > first ? snprintf(range, sizeof range, "%s%zu-%zu", used ? "," : "", first, last)
                         : snprintf(range, sizeof range, "%s%zu", used ? "," : "", first);
        if (used + (size_t)length >= bytes)
            break;
        snprintf(out_text + used, bytes - used, "%s", range);
        used += (size_t)length;
        first = last;
    }
}

/* How processors are shared out among workers. */

/* Entries of the list up to which `cores` whole cores reach. */
static uint32_t end_of_cores(const struct ronde_processor *list, uint32_t count, uint32_t cores)
{
    uint32_t end = 0;
    for (uint32_t seen = 0; end < count; end++) {
        seen += end == 0 || list[end].core != list[end - 1].core;
        if (seen > cores)
            break;
    }
    return end;
}

static uint32_t count_cores(const struct ronde_processor *list, uint32_t count)
{
    uint32_t cores = 0;
    for (uint32_t k = 0; k < count; k++)
        cores += k == 0 || list[k].core != list[k - 1].core;
    return cores;
}

struct ronde_bind_group ronde_bind_group(const struct ronde_processor *list, uint32_t count,
                                         uint32_t workers, uint32_t worker)
{
    struct ronde_bind_group group = {0, 0};
    if (workers > count)
        return group;
    const uint32_t cores = count_cores(list, count);
    const uint64_t units = workers <= cores ? cores : count;
    group.begin = (uint32_t)(units * worker / workers);
    group.end = (uint32_t)(units * (worker + 1u) / workers);
    if (workers <= cores) {
        group.begin = end_of_cores(list, count, group.begin);
        group.end = end_of_cores(list, count, group.end);
    }
    /* A worker that moved to another NUMA node would be far from the pages it has touched. */
    for (uint32_t k = group.begin; k < group.end; k++)
        if (list[k].node != list[group.begin].node)
            group.end = k;
    return group;
}

/* Touching the memory of ranks where they will run. */

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
