/*
 * Which ranks others wait for, in dumps of a job that hangs: in a call that some are in, others have not begun. Dumps of a job that
 * goes on are taken at different moments and may look alike: what is said is where ranks are, not that they hang.
 */
#include "gather.h"

#include <inttypes.h>
#include <stdlib.h>

/* Groups of which this is said, at most. */
#define MOST_GROUPS 8u

static int by_group(const void *left, const void *right)
{
    const struct trace_standing *a = left, *b = right;
    const int order = (a->group > b->group) - (a->group < b->group);
    return order != 0 ? order : (a->process > b->process) - (a->process < b->process);
}

/* A rank behind the call, and how many there are; the first is said. */
static uint32_t count_behind(const struct trace_standing *all, uint32_t count, int64_t call,
                             bool by_start, const struct trace_standing **out_first)
{
    uint32_t behind = 0;
    for (uint32_t s = count; s-- > 0;)
        if ((by_start ? all[s].started : all[s].enqueued) < call) {
            *out_first = &all[s];
            behind++;
        }
    return behind;
}

/* Ranks of one group; true where something is said. */
static bool remark_group(struct ronde_traces *traces, const struct trace_standing *all,
                         uint32_t count)
{
    const struct ronde_job_group *group =
        (const struct ronde_job_group *)traces->groups.items + all->group;
    const struct ronde_trace_process *processes = traces->processes.items;
    const struct trace_standing *first = all;
    const uint32_t before = traces->remarks.count;
    int64_t call = -1;
    bool is_waited = false;
    for (uint32_t s = 0; s < count; s++)
        call = all[s].enqueued > call ? all[s].enqueued : call;
    for (uint32_t s = 0; s < count; s++)
        is_waited = is_waited || (all[s].enqueued == call && all[s].completed < call);
    uint32_t behind = count_behind(all, count, call, false, &first);
    const bool by_start = behind == 0;
    if (by_start)
        behind = count_behind(all, count, call, true, &first);
    if (!is_waited || behind == 0 || behind == count)
        return false;
    const struct ronde_trace_hang hang = {.group = all->group,
                                          .rank = processes[first->process].rank,
                                          .waiting = count - behind,
                                          .behind = behind,
                                          .call = call,
                                          .last = by_start ? first->started : first->enqueued,
                                          .has_enqueued = by_start};
    char more[32] = "";
    if (behind > 1)
        snprintf(more, sizeof more, " and %" PRIu32 " more", behind - 1);
    gather_remark(traces,
                  "call %" PRId64 " of the %" PRIu32 " ranks %" PRIu32 ", ...: %" PRIu32
                  " ranks wait in it; rank %" PRIu32 "%s has not %s it (last: %" PRId64
                  "): a job that hangs, hangs there",
                  call, group->size, group->count > 0 ? group->ranks[0] : 0, hang.waiting,
                  hang.rank, more, by_start ? "started" : "enqueued", hang.last);
    struct ronde_trace_remark *remarks = traces->remarks.items;
    if (traces->remarks.count > before)
        remarks[before].hang = hang;
    return true;
}

void gather_remark_hangs(struct ronde_traces *traces)
{
    struct trace_standing *all = traces->standings.items;
    uint32_t said = 0;
    if (traces->standings.count == 0)
        return;
    qsort(all, traces->standings.count, sizeof *all, by_group);
    for (uint32_t s = 0, run; s < traces->standings.count && said < MOST_GROUPS; s += run) {
        for (run = 1; s + run < traces->standings.count && all[s + run].group == all[s].group; run++)
            ;
        said += remark_group(traces, all + s, run);
    }
}
