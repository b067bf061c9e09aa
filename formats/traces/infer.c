/*
 * Groups that no file names: old traces have none. torch gives each communicator a stream, and the ranks of a call leave it
 * together. So streams of different ranks are of one group when they have the same calls in the same order and these end
 * together, up to one difference of clocks. What is alone stays of no group.
 */
#include "gather.h"

#include <stdlib.h>
#include <string.h>

/* Ends of one call are apart by less than this, beyond the difference of clocks. */
#define MOST_APART_NS 3000

/* The same where there is but one group that they could be of. */
#define MOST_APART_ALONE_NS 100000

/* Streams of more ranks are not compared, each with each. */
#define MOST_LANES 8192u

/* A stream of a process: its calls in the order of time. */
struct lane {
    uint32_t process, lane;
    uint32_t first, count; /* in `order` */
    uint64_t signature;    /* of collectives and sizes in their order */
    uint32_t cluster;      /* index of the first lane of its group */
    bool is_sure;          /* it has its group: ends tell that from all others */
    bool is_likely;        /* it is that of another lane of the process */
};

/* What is worked on. */
struct inference {
    struct ronde_traces *traces;
    uint32_t *order; /* calls, by process, lane and start */
    uint32_t count;
    struct lane *lanes;
    uint32_t lane_count;
    uint64_t *beside; /* a bit for each two lanes: they end together */
    size_t words;     /* of a lane's bits */
};

/* qsort has no context; the comparison needs the calls. */
static int compare_calls(const void *left, const void *right, void *context)
{
    const struct ronde_trace_call *calls = context;
    const struct ronde_trace_call *a = calls + *(const uint32_t *)left,
                                  *b = calls + *(const uint32_t *)right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static bool is_without_group(const struct ronde_traces *traces, const struct ronde_trace_call *call)
{
    const struct ronde_trace_process *process =
        (const struct ronde_trace_process *)traces->processes.items + call->process;
    return call->group == RONDE_TRACE_NONE && call->collective != RONDE_COLLECTIVE_COUNT &&
           call->collective != RONDE_SEND_RECV && call->start_ns != RONDE_TRACE_NO_TIME &&
           process->rank != RONDE_TRACE_NONE && !process->is_host_time;
}

static int64_t end_of(const struct ronde_trace_call *call)
{
    return call->start_ns + call->duration_ns;
}

/* Cuts the sorted calls into lanes. */
static void cut(struct inference *inference)
{
    const struct ronde_trace_call *calls = inference->traces->calls.items;
    struct lane *lane = NULL;
    for (uint32_t i = 0; i < inference->count; i++) {
        const struct ronde_trace_call *call = calls + inference->order[i];
        if (!lane || lane->process != call->process || lane->lane != call->lane) {
            lane = &inference->lanes[inference->lane_count];
            *lane = (struct lane){.process = call->process,
                                  .lane = call->lane,
                                  .first = i,
                                  .cluster = inference->lane_count++};
        }
        const uint64_t what[] = {(uint64_t)call->collective, call->bytes != RONDE_TRACE_NO_NUMBER
                                                                 ? call->bytes
                                                                 : call->in_bytes};
        lane->signature = gather_hash(lane->signature, what, sizeof what);
        lane->count++;
    }
}

/* How far the ends of two lanes' calls are apart beyond one difference of clocks; INT64_MAX where they cannot be of one group. */
static int64_t apart_ns(const struct inference *inference, const struct lane *a,
                        const struct lane *b)
{
    const struct ronde_trace_call *calls = inference->traces->calls.items;
    int64_t least = INT64_MAX, most = INT64_MIN;
    if (a->signature != b->signature || a->count != b->count || a->process == b->process)
        return INT64_MAX;
    for (uint32_t i = 0; i < a->count; i++) {
        const int64_t apart = end_of(calls + inference->order[a->first + i]) / 2 -
                              end_of(calls + inference->order[b->first + i]) / 2;
        least = apart < least ? apart : least;
        most = apart > most ? apart : most;
    }
    return most / 2 - least / 2 > INT64_MAX / 4 ? INT64_MAX : 2 * (most - least);
}

static bool is_beside(const struct inference *inference, uint32_t a, uint32_t b)
{
    return inference->beside[(size_t)a * inference->words + b / 64] >> b % 64 & 1;
}

/* Which lanes that are not sure yet end together with which, each with itself. */
static void compare_lanes(struct inference *inference, int64_t most_apart_ns)
{
    const struct lane *lanes = inference->lanes;
    memset(inference->beside, 0,
           inference->lane_count * inference->words * sizeof *inference->beside);
    for (uint32_t a = 0; a < inference->lane_count; a++)
        for (uint32_t b = 0; b < inference->lane_count; b++)
            if (a == b || (!lanes[a].is_sure && !lanes[b].is_sure &&
                           apart_ns(inference, &lanes[a], &lanes[b]) <= most_apart_ns))
                inference->beside[(size_t)a * inference->words + b / 64] |= UINT64_C(1) << b % 64;
}

/* Whether the lanes beside one are beside each other, and no others are: a group that ends tell from all others. */
static bool is_apart(const struct inference *inference, uint32_t lane)
{
    const size_t bytes = inference->words * sizeof *inference->beside;
    for (uint32_t b = 0; b < inference->lane_count; b++)
        if (is_beside(inference, lane, b) && b != lane &&
            memcmp(inference->beside + (size_t)b * inference->words,
                   inference->beside + (size_t)lane * inference->words, bytes) != 0)
            return false;
    return true;
}

/* The first lane beside this one of a process in a cluster; the count where one process of the cluster has none. */
static uint32_t first_within(const struct inference *inference, uint32_t lane, uint32_t cluster)
{
    const struct lane *lanes = inference->lanes;
    uint32_t first = inference->lane_count;
    for (uint32_t c = 0; c < inference->lane_count; c++) {
        bool is_found = lanes[c].cluster != cluster;
        for (uint32_t b = 0; !is_found && b < inference->lane_count; b++) {
            is_found = is_beside(inference, lane, b) && lanes[b].process == lanes[c].process;
            if (is_found && b < first)
                first = b;
        }
        if (!is_found)
            return inference->lane_count;
    }
    return first;
}

/* Lanes that ends tell apart are groups. */
static void take_sure(struct inference *inference)
{
    struct lane *lanes = inference->lanes;
    for (uint32_t l = 0; l < inference->lane_count; l++) {
        if (lanes[l].is_sure || !is_apart(inference, l))
            continue;
        for (uint32_t b = l; b < inference->lane_count; b++)
            if (is_beside(inference, l, b)) {
                lanes[b].cluster = l;
                lanes[b].is_sure = true;
            }
    }
}

/*
 * A lane whose ends leave several possibilities, for it has few calls, is of the ranks of another group of its process, of more
 * calls, if all of these are possible.
 */
static void take_likely(struct inference *inference, uint32_t lane)
{
    struct lane *lanes = inference->lanes;
    uint32_t most = lanes[lane].count;
    for (uint32_t m = 0; m < inference->lane_count; m++) {
        if (!lanes[m].is_sure || lanes[m].process != lanes[lane].process || lanes[m].count <= most)
            continue;
        const uint32_t first = first_within(inference, lane, lanes[m].cluster);
        if (first == inference->lane_count)
            continue;
        lanes[lane].cluster = first;
        lanes[lane].is_likely = true;
        most = lanes[m].count;
    }
}

/* From the widest bound to the narrowest: the first at which ends tell a group from others counts. What is never told apart stays alone. */
static void cluster(struct inference *inference)
{
    struct lane *lanes = inference->lanes;
    for (int64_t apart = MOST_APART_NS; apart > 0; apart -= MOST_APART_NS / 3) {
        compare_lanes(inference, apart);
        take_sure(inference);
        for (uint32_t l = 0; l < inference->lane_count; l++)
            if (!lanes[l].is_sure)
                take_likely(inference, l);
        for (uint32_t l = 0; l < inference->lane_count; l++)
            lanes[l].is_sure = lanes[l].is_sure || lanes[l].is_likely;
    }
}

/* A job whose ranks have one stream each, with the same calls, has one group: there ends only must not contradict it. */
static bool is_one_group(const struct inference *inference)
{
    const struct lane *lanes = inference->lanes;
    bool is_one = inference->lane_count == inference->traces->processes.count;
    for (uint32_t l = 1; is_one && l < inference->lane_count; l++)
        is_one = apart_ns(inference, &lanes[0], &lanes[l]) <= MOST_APART_ALONE_NS;
    return is_one;
}

/* Gives the calls of a group its index, and numbers. */
static void assign(struct inference *inference, uint32_t cluster, uint32_t group, uint32_t ranks)
{
    struct ronde_trace_call *calls = inference->traces->calls.items;
    for (uint32_t l = cluster; l < inference->lane_count; l++)
        for (uint32_t i = 0;
             inference->lanes[l].cluster == cluster && i < inference->lanes[l].count; i++) {
            struct ronde_trace_call *call = calls + inference->order[inference->lanes[l].first + i];
            call->group = group;
            call->sequence = (uint64_t)cluster << 32 | i;
            if (call->collective == RONDE_ALL_GATHER && ranks > 0 &&
                call->in_bytes <= INT64_MAX / ranks)
                call->bytes = call->in_bytes * ranks;
        }
}

/* One cluster as a group, if it has several ranks. */
static enum ronde_status make_group(struct inference *inference, uint32_t cluster, bool is_whole,
                                    struct ronde_error *error)
{
    struct ronde_traces *traces = inference->traces;
    const struct ronde_trace_process *processes = traces->processes.items;
    struct ronde_list ranks = {.items = NULL};
    bool has_memory = true;
    for (uint32_t l = cluster; has_memory && l < inference->lane_count; l++) {
        if (inference->lanes[l].cluster != cluster)
            continue;
        has_memory =
            ronde_list_append(traces->mem, &ranks, &processes[inference->lanes[l].process].rank,
                              sizeof(uint32_t));
    }
    if (has_memory && ranks.count > 1) {
        const uint32_t before = traces->groups.count;
        const uint32_t group = gather_group_of_ranks(traces, ranks.items, ranks.count);
        has_memory = group != RONDE_TRACE_NONE;
        if (has_memory && traces->groups.count > before)
            ((struct ronde_job_group *)traces->groups.items)[group].is_inferred = true;
        /* Ranks whose files are missing may be members, too: then all_gather's size is not known. */
        if (has_memory)
            assign(inference, cluster, group, is_whole ? ranks.count : 0);
    }
    ronde_list_free(traces->mem, &ranks, sizeof(uint32_t));
    return has_memory ? RONDE_OK : ronde_fail(error, RONDE_NO_MEMORY, "traces: no memory");
}

/* Whether all ranks of the job are there. */
static bool has_all(const struct ronde_traces *traces)
{
    const struct ronde_trace_process *processes = traces->processes.items;
    for (uint32_t p = 0; p < traces->processes.count; p++)
        if (processes[p].world != traces->processes.count)
            return false;
    return true;
}

static enum ronde_status infer(struct inference *inference, struct ronde_error *error)
{
    struct ronde_traces *traces = inference->traces;
    const struct ronde_trace_call *calls = traces->calls.items;
    enum ronde_status status = RONDE_OK;
    const bool is_whole = has_all(traces);
    for (uint32_t c = 0; c < traces->calls.count; c++)
        if (is_without_group(traces, calls + c))
            inference->order[inference->count++] = c;
    qsort_r(inference->order, inference->count, sizeof *inference->order, compare_calls,
            traces->calls.items);
    cut(inference);
    if (inference->lane_count > MOST_LANES)
        return RONDE_OK;
    inference->words = inference->lane_count / 64 + 1;
    inference->beside = ronde_mem_new(traces->mem, inference->lane_count * inference->words,
                                      sizeof *inference->beside);
    if (!inference->beside)
        return ronde_fail(error, RONDE_NO_MEMORY, "traces: no memory");
    if (is_whole && is_one_group(inference))
        for (uint32_t l = 0; l < inference->lane_count; l++)
            inference->lanes[l].cluster = 0;
    else
        cluster(inference);
    for (uint32_t l = 0; status == RONDE_OK && l < inference->lane_count; l++)
        if (inference->lanes[l].cluster == l)
            status = make_group(inference, l, is_whole, error);
    ronde_mem_free(traces->mem, inference->beside, inference->lane_count * inference->words,
                   sizeof *inference->beside);
    return status;
}

enum ronde_status gather_infer_groups(struct ronde_traces *traces, struct ronde_error *error)
{
    const size_t count = traces->calls.count;
    struct inference inference = {.traces = traces};
    bool is_any = false;
    for (size_t c = 0; !is_any && c < count; c++)
        is_any = is_without_group(traces, (const struct ronde_trace_call *)traces->calls.items + c);
    if (!is_any)
        return RONDE_OK;
    inference.order = ronde_mem_new(traces->mem, count, sizeof *inference.order);
    inference.lanes = ronde_mem_new(traces->mem, count, sizeof *inference.lanes);
    const enum ronde_status status = inference.order && inference.lanes
                                         ? infer(&inference, error)
                                         : ronde_fail(error, RONDE_NO_MEMORY, "traces: no memory");
    ronde_mem_free(traces->mem, inference.order, count, sizeof *inference.order);
    ronde_mem_free(traces->mem, inference.lanes, count, sizeof *inference.lanes);
    return status;
}
