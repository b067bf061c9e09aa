/*
 * What several files say together. Records of communicators number their own ranks: where one communicator has all processes, its
 * numbers are the job's, and members of the others are known by them.
 */
#include "gather.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * Which ranks others wait for, in dumps of a job that hangs: in a call that some are in, others have not begun. Dumps of a job that
 * goes on are taken at different moments and may look alike: what is said is where ranks are, not that they hang.
 */

/* Groups of which this is said, at most. */
#define MOST_GROUPS 8u

static int by_standing(const void *left, const void *right)
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

/* Remarks which ranks are behind in calls that others are in. */
static void gather_remark_hangs(struct ronde_traces *traces)
{
    struct trace_standing *all = traces->standings.items;
    uint32_t said = 0;
    if (traces->standings.count == 0)
        return;
    qsort(all, traces->standings.count, sizeof *all, by_standing);
    for (uint32_t s = 0, run; s < traces->standings.count && said < MOST_GROUPS; s += run) {
        for (run = 1; s + run < traces->standings.count && all[s + run].group == all[s].group; run++)
            ;
        said += remark_group(traces, all + s, run);
    }
}

static int by_group(const void *left, const void *right)
{
    const struct trace_member *a = left, *b = right;
    const int order = (a->group > b->group) - (a->group < b->group);
    return order != 0 ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

/* How many members from number `first` on are of its group. */
static uint32_t run_of(const struct ronde_traces *traces, uint32_t first)
{
    const struct trace_member *members = traces->members.items;
    uint32_t count = 1;
    while (first + count < traces->members.count &&
           members[first + count].group == members[first].group)
        count++;
    return count;
}

/* Processes that have communicators. */
static uint32_t count_processes(const struct ronde_traces *traces)
{
    const struct ronde_trace_process *processes = traces->processes.items;
    uint32_t count = 0;
    for (uint32_t p = 0; p < traces->processes.count; p++)
        count += gather_has_members(processes[p].format);
    return count;
}

/* Numbers the processes by the communicator that has them all. */
static void number_processes(struct ronde_traces *traces)
{
    const struct trace_member *members = traces->members.items;
    const struct ronde_job_group *groups = traces->groups.items;
    struct ronde_trace_process *processes = traces->processes.items;
    const uint32_t all = count_processes(traces);
    uint32_t found = RONDE_TRACE_NONE, most = 0;
    for (uint32_t m = 0; m < traces->members.count; m += run_of(traces, m)) {
        const uint32_t size = groups[members[m].group].size;
        if (run_of(traces, m) == all && (size > 0 ? size : all) > most) {
            most = size > 0 ? size : all;
            found = m;
        }
    }
    for (uint32_t m = found; found != RONDE_TRACE_NONE && m < found + all; m++) {
        processes[members[m].process].rank = members[m].rank;
        processes[members[m].process].world = groups[members[m].group].size;
    }
}

/*
 * The ranks of a communicator, by the job's numbers where all are known, else by its own; of one whose size is not said, those
 * that are there. Errors: NO_MEMORY.
 */
static bool name_members(struct ronde_traces *traces, const struct trace_member *members,
                         uint32_t count)
{
    struct ronde_job_group *group = (struct ronde_job_group *)traces->groups.items + members->group;
    const struct ronde_trace_process *processes = traces->processes.items;
    const uint32_t size = group->size > 0 ? group->size : count;
    bool is_whole = count == size;
    for (uint32_t m = 0; m < count; m++)
        is_whole = is_whole && processes[members[m].process].rank != RONDE_TRACE_NONE;
    group->ranks = ronde_mem_new(traces->mem, size, sizeof *group->ranks);
    if (!group->ranks)
        return false;
    group->count = size;
    /* The communicator of all processes is the job, whether all of its files are here or not. */
    group->is_own_numbers = !is_whole && processes[members->process].world != group->size;
    for (uint32_t r = 0; r < size; r++)
        group->ranks[r] = is_whole          ? processes[members[r].process].rank
                          : group->size > 0 ? r
                                            : members[r].rank;
    return true;
}

/* Calls of communicators that keep their numbers know the rank that made them. */
static void number_calls(struct ronde_traces *traces)
{
    const struct ronde_job_group *groups = traces->groups.items;
    const struct trace_member *members = traces->members.items;
    struct ronde_trace_call *calls = traces->calls.items;
    for (uint32_t c = 0; c < traces->calls.count; c++) {
        if (calls[c].group == RONDE_TRACE_NONE || !groups[calls[c].group].is_own_numbers)
            continue;
        for (uint32_t m = 0; m < traces->members.count; m++)
            if (members[m].group == calls[c].group && members[m].process == calls[c].process)
                calls[c].rank = members[m].rank;
    }
}

static enum ronde_status join_members(struct ronde_traces *traces, struct ronde_error *error)
{
    const struct trace_member *members = traces->members.items;
    if (traces->members.count == 0)
        return RONDE_OK;
    qsort(traces->members.items, traces->members.count, sizeof *members, by_group);
    number_processes(traces);
    for (uint32_t m = 0; m < traces->members.count;) {
        const uint32_t count = run_of(traces, m);
        struct ronde_job_group *group =
            (struct ronde_job_group *)traces->groups.items + members[m].group;
        if (!name_members(traces, members + m, count))
            return ronde_fail(error, RONDE_NO_MEMORY, "traces: no memory");
        qsort(group->ranks, group->count, sizeof *group->ranks, gather_by_rank);
        m += count;
    }
    number_calls(traces);
    return RONDE_OK;
}

/* By rank, the first file of it first. */
static int by_process_rank(const void *left, const void *right, void *context)
{
    const struct ronde_trace_process *processes = context;
    const uint32_t one = *(const uint32_t *)left, other = *(const uint32_t *)right;
    const struct ronde_trace_process *a = processes + one, *b = processes + other;
    int order = (a->rank > b->rank) - (a->rank < b->rank);
    order = order != 0 ? order : (int)a->format - (int)b->format;
    return order != 0 ? order : (one > other) - (one < other);
}

/* Several files of one rank, windows or formats of its dump, are one process. `order` and `first` have a place for each. */
static void unite_processes(struct ronde_traces *traces, uint32_t *order, uint32_t *first)
{
    struct ronde_trace_process *processes = traces->processes.items;
    struct ronde_trace_call *calls = traces->calls.items;
    const uint32_t count = traces->processes.count;
    for (uint32_t p = 0; p < count; p++)
        order[p] = p;
    qsort_r(order, count, sizeof *order, by_process_rank, processes);
    for (uint32_t p = 0; p < count; p++) {
        const struct ronde_trace_process *a = processes + order[p],
                                         *b = p > 0 ? processes + order[p - 1] : NULL;
        const bool is_copy = b && a->rank != RONDE_TRACE_NONE && a->rank == b->rank &&
                             a->format == b->format && !gather_has_members(a->format);
        first[order[p]] = is_copy ? first[order[p - 1]] : order[p];
        processes[order[p]].is_copy = is_copy;
    }
    for (uint32_t c = 0; c < traces->calls.count; c++)
        calls[c].process = first[calls[c].process];
}

/* On how many hosts a group is, where all of its ranks say theirs; `by_rank` are processes in the order of ranks. */
static uint32_t count_hosts(const struct ronde_traces *traces, const struct ronde_job_group *group,
                            const uint32_t *by_rank, uint64_t *hosts)
{
    const struct ronde_trace_process *processes = traces->processes.items;
    uint32_t found = 0, at = 0, distinct = 0;
    for (uint32_t r = 0; r < group->count; r++) {
        while (at < traces->processes.count && processes[by_rank[at]].rank < group->ranks[r])
            at++;
        if (at == traces->processes.count || processes[by_rank[at]].rank != group->ranks[r] ||
            !processes[by_rank[at]].has_host)
            return 0;
        const char *host = processes[by_rank[at]].host;
        hosts[found++] = gather_hash(0, host, strlen(host));
    }
    for (uint32_t i = 0; i < found; i++) {
        bool is_new = true;
        for (uint32_t j = i; is_new && j > 0; j--)
            is_new = hosts[j - 1] != hosts[i];
        distinct += is_new;
    }
    return distinct;
}

static void place_groups(struct ronde_traces *traces, const uint32_t *by_rank, uint64_t *hosts)
{
    struct ronde_job_group *groups = traces->groups.items;
    for (uint32_t g = 0; g < traces->groups.count; g++)
        if (groups[g].ranks && !groups[g].is_own_numbers && groups[g].nodes == 0 &&
            groups[g].count <= traces->processes.count)
            groups[g].nodes = count_hosts(traces, &groups[g], by_rank, hosts);
}

static enum ronde_status join_processes(struct ronde_traces *traces, struct ronde_error *error)
{
    const size_t count = traces->processes.count;
    uint32_t *order = ronde_mem_new(traces->mem, count, sizeof *order),
             *first = ronde_mem_new(traces->mem, count, sizeof *first);
    uint64_t *hosts = ronde_mem_new(traces->mem, count, sizeof *hosts);
    const bool has_memory = order && first && hosts;
    if (has_memory) {
        unite_processes(traces, order, first);
        place_groups(traces, order, hosts);
    }
    ronde_mem_free(traces->mem, order, count, sizeof *order);
    ronde_mem_free(traces->mem, first, count, sizeof *first);
    ronde_mem_free(traces->mem, hosts, count, sizeof *hosts);
    return has_memory ? RONDE_OK : ronde_fail(error, RONDE_NO_MEMORY, "traces: no memory");
}

/* Two kinds of records of one job are two records of each call. */
static void remark_formats(struct ronde_traces *traces)
{
    const struct ronde_trace_process *processes = traces->processes.items;
    for (uint32_t p = 1; p < traces->processes.count; p++)
        if (processes[p].format != processes[0].format) {
            gather_remark(
                traces,
                "the files are of several kinds (%s, %s): calls that both have are counted "
                "twice",
                ronde_trace_format_text(processes[0].format),
                ronde_trace_format_text(processes[p].format));
            return;
        }
}

/* Ranks of the same number in two jobs would be taken for one. */
static enum ronde_status check_job(const struct ronde_traces *traces, struct ronde_error *error)
{
    const struct ronde_trace_process *processes = traces->processes.items, *known = NULL;
    for (uint32_t p = 0; p < traces->processes.count; p++) {
        const struct ronde_trace_process *process = &processes[p];
        if (process->world == 0)
            continue;
        if (known && known->world != process->world)
            return ronde_fail(error, RONDE_BAD_INPUT,
                              "%.150s: of a job of %" PRIu32 " ranks, and %.150s of one of %" PRIu32
                              ": name the files of one job",
                              process->path, process->world, known->path, known->world);
        known = known ? known : process;
    }
    return RONDE_OK;
}

enum ronde_status ronde_traces_join(struct ronde_traces *traces, struct ronde_error *error)
{
    enum ronde_status status = check_job(traces, error);
    RONDE_THEN(status, join_members(traces, error));
    RONDE_THEN(status, join_processes(traces, error));
    RONDE_THEN(status, gather_infer_groups(traces, error));
    remark_formats(traces);
    gather_remark_hangs(traces);
    return status;
}
