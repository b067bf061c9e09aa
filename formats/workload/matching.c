/*
 * Collectives, as communicators match them: the n-th operation of a group on each of its ranks is one, in the order in which
 * the ranks come to them.
 */
#include "matching.h"

#include "ronde/mem.h"

#include <stdlib.h>
#include <string.h>

/*
 * The two ends of messages, as MPI matches them: by sender, receiver and tag, in the order in which both sides come to
 * them. A receive of any tag takes the sender's messages in their order, whatever their tags; what receives of both kinds
 * would take depends on time, and is refused.
 */

/* The order a rank comes to its items: the file's, but what an item waits for first. */

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

/* Fills in sequence. Errors: as ronde_workload_match. */
static enum ronde_status workload_sequence(const struct ronde_workload *workload,
                                           struct workload_matching *matching,
                                           struct ronde_error *error)
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

/* An end of a message. */
struct end {
    uint32_t src, dst, tag;
    uint32_t at; /* in the sequence */
    uint32_t work;
};

static int compare(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int by_pair(const struct end *a, const struct end *b)
{
    const int src = compare(a->src, b->src);
    return src != 0 ? src : compare(a->dst, b->dst);
}

/* By sender, receiver and tag: equal for ends that may be one message. */
static int by_key(const struct end *a, const struct end *b)
{
    const int pair = by_pair(a, b);
    return pair != 0 ? pair : compare(a->tag, b->tag);
}

static int by_key_and_order(const void *left, const void *right)
{
    const struct end *a = left, *b = right;
    const int key = by_key(a, b);
    return key != 0 ? key : compare(a->at, b->at);
}

/* All sends, or all receives, in the order of the key. */
static struct end *collect(const struct ronde_workload *workload,
                           const struct workload_matching *matching, enum ronde_work_kind kind,
                           size_t *out_count)
{
    size_t count = 0;
    for (uint32_t w = 0; w < workload->work_count; w++)
        count += workload->works[w].kind == kind;
    struct end *ends = ronde_mem_new(matching->mem, count, sizeof *ends);
    *out_count = count;
    count = 0;
    for (uint32_t s = 0; ends && s < workload->work_count; s++) {
        const struct ronde_work *work = &workload->works[matching->sequence[s]];
        const bool is_send = kind == RONDE_WORK_SEND;
        if (work->kind == kind)
            ends[count++] =
                (struct end){is_send ? work->rank : work->peer, is_send ? work->peer : work->rank,
                             work->tag, s, matching->sequence[s]};
    }
    if (ends && count > 0)
        qsort(ends, count, sizeof *ends, by_key_and_order);
    return ends;
}

/* Where receives of a pair take any tag, its messages lose theirs; they are then in the order of the sequence. */
static enum ronde_status forget_tags(const struct ronde_workload *workload, const struct end *recvs,
                                     size_t recv_count, struct end *sends, size_t send_count,
                                     struct ronde_error *error)
{
    bool is_changed = false;
    size_t s = 0;
    for (size_t r = 0; r < recv_count; r++) {
        if (recvs[r].tag != RONDE_WORK_ANY_TAG)
            continue;
        /* Any tag sorts last, so another receive of the pair stands before the first. */
        if (r > 0 && by_pair(&recvs[r - 1], &recvs[r]) == 0 && recvs[r - 1].tag != RONDE_WORK_ANY_TAG)
            return ronde_work_fail(workload, recvs[r].work, error,
                                   "rank %u receives from rank %u with any tag and with tag %u: "
                                   "which message that is depends on time",
                                   recvs[r].dst, recvs[r].src, recvs[r - 1].tag);
        while (s < send_count && by_pair(&sends[s], &recvs[r]) < 0)
            s++;
        for (; s < send_count && by_pair(&sends[s], &recvs[r]) == 0; s++) {
            sends[s].tag = RONDE_WORK_ANY_TAG;
            is_changed = true;
        }
    }
    if (is_changed)
        qsort(sends, send_count, sizeof *sends, by_key_and_order);
    return RONDE_OK;
}

/* Both lists are in one order, so that they are walked side by side. */
static enum ronde_status pair_ends(const struct ronde_workload *workload, const struct end *recvs,
                                   size_t recv_count, const struct end *sends, size_t send_count,
                                   uint32_t *partner, struct ronde_error *error)
{
    for (size_t i = 0; i < recv_count || i < send_count; i++) {
        const bool has_recv = i < recv_count, has_send = i < send_count;
        const bool is_pair = has_recv && has_send && by_key(&recvs[i], &sends[i]) == 0;
        if (is_pair) {
            const struct ronde_work *recv = &workload->works[recvs[i].work];
            const uint64_t bytes = workload->works[sends[i].work].bytes;
            if (recv->bytes != bytes)
                return ronde_work_fail(workload, recvs[i].work, error,
                                       "rank %u receives %llu bytes, but rank %u sends %llu",
                                       recv->rank, (unsigned long long)recv->bytes, recv->peer,
                                       (unsigned long long)bytes);
            partner[recvs[i].work] = sends[i].work;
        } else if (has_recv && (!has_send || by_key(&recvs[i], &sends[i]) < 0)) {
            return ronde_work_fail(workload, recvs[i].work, error,
                                   "rank %u receives a message that rank %u does not send",
                                   recvs[i].dst, recvs[i].src);
        } else {
            return ronde_work_fail(workload, sends[i].work, error,
                                   "rank %u sends a message that rank %u does not receive",
                                   sends[i].src, sends[i].dst);
        }
    }
    return RONDE_OK;
}

/* Fills in partner. Errors: as ronde_workload_match. */
static enum ronde_status workload_match_messages(const struct ronde_workload *workload,
                                                 struct workload_matching *matching,
                                                 struct ronde_error *error)
{
    size_t send_count, recv_count;
    struct end *sends = collect(workload, matching, RONDE_WORK_SEND, &send_count);
    struct end *recvs = collect(workload, matching, RONDE_WORK_RECV, &recv_count);
    enum ronde_status status =
        sends && recvs ? forget_tags(workload, recvs, recv_count, sends, send_count, error)
                       : ronde_fail(error, RONDE_NO_MEMORY, "no memory to match messages");
    RONDE_THEN(status,
               pair_ends(workload, recvs, recv_count, sends, send_count, matching->partner, error));
    ronde_mem_free(matching->mem, sends, send_count, sizeof *sends);
    ronde_mem_free(matching->mem, recvs, recv_count, sizeof *recvs);
    return status;
}

/* A rank's place in a group. */
struct member_slot {
    uint32_t rank, place;
};

/* What matching collectives needs beside its result. Arrays go by place in workload->members. */
struct group_index {
    const struct ronde_workload *workload;
    struct member_slot *slots; /* of each group, by rank */
    uint32_t *counts;          /* operations of the group on that rank */
    uint32_t *last;            /* the one before, or RONDE_NONE */
    uint32_t *group_first;     /* per group: its first instance; one more entry at the end */
};

static int by_rank(const void *left, const void *right)
{
    const struct member_slot *a = left, *b = right;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Place in members of an item's rank in its group, or RONDE_NONE. */
static uint32_t slot_of(const struct group_index *group_index, const struct ronde_work *work)
{
    const struct ronde_work_group *group = &group_index->workload->groups[work->group];
    const struct member_slot key = {work->rank, 0};
    const struct member_slot *found = bsearch(&key, group_index->slots + group->first_member,
                                              group->member_count, sizeof key, by_rank);
    return found ? group->first_member + found->place : RONDE_NONE;
}

static void fill_slots(struct group_index *group_index)
{
    const struct ronde_workload *workload = group_index->workload;
    for (uint32_t g = 0; g < workload->group_count; g++) {
        const struct ronde_work_group *group = &workload->groups[g];
        struct member_slot *slots = group_index->slots + group->first_member;
        for (uint32_t i = 0; i < group->member_count; i++)
            slots[i] = (struct member_slot){workload->members[group->first_member + i], i};
        qsort(slots, group->member_count, sizeof *slots, by_rank);
    }
}

/* How often each rank comes to each of its groups. */
static enum ronde_status count(struct group_index *group_index, struct ronde_error *error)
{
    const struct ronde_workload *workload = group_index->workload;
    for (uint32_t w = 0; w < workload->work_count; w++) {
        const struct ronde_work *work = &workload->works[w];
        if (work->kind != RONDE_WORK_COLLECTIVE)
            continue;
        const uint32_t member_slot = slot_of(group_index, work);
        if (member_slot == RONDE_NONE)
            return ronde_work_fail(workload, w, error, "rank %u is not in group %s", work->rank,
                                   ronde_workload_text(workload, workload->groups[work->group].name));
        group_index->counts[member_slot]++;
        group_index->last[member_slot] = w;
    }
    return RONDE_OK;
}

/* Every rank of a group comes as often as its first. */
static enum ronde_status compare_counts(struct group_index *group_index, uint32_t *out_instances,
                                        struct ronde_error *error)
{
    const struct ronde_workload *workload = group_index->workload;
    uint64_t instances = 0;
    for (uint32_t g = 0; g < workload->group_count; g++) {
        const struct ronde_work_group *group = &workload->groups[g];
        const uint32_t *counts = group_index->counts + group->first_member;
        group_index->group_first[g] = (uint32_t)instances;
        for (uint32_t i = 1; i < group->member_count; i++) {
            const uint32_t more = counts[i] > counts[0] ? i : 0, fewer = more == 0 ? i : 0;
            const uint32_t *members = workload->members + group->first_member;
            if (counts[i] != counts[0])
                return ronde_work_fail(workload, group_index->last[group->first_member + more],
                                       error,
                                       "rank %u has %u operations of group %s, but rank %u has %u",
                                       members[more], counts[more],
                                       ronde_workload_text(workload, group->name), members[fewer],
                                       counts[fewer]);
        }
        instances += group->member_count > 0 ? counts[0] : 0;
    }
    group_index->group_first[workload->group_count] = (uint32_t)instances;
    *out_instances = (uint32_t)instances;
    return RONDE_OK;
}

/* What a rank does must be what the first to come does. */
static enum ronde_status compare_parts(const struct ronde_workload *workload, uint32_t first,
                                       uint32_t work, struct ronde_error *error)
{
    const struct ronde_work *a = &workload->works[first], *b = &workload->works[work];
    if (a->collective == b->collective && a->bytes == b->bytes && a->root == b->root &&
        a->algorithm == b->algorithm)
        return RONDE_OK;
    return ronde_work_fail(workload, work, error,
                           "rank %u does %s of %llu bytes (root %u, %s) in group %s, where rank %u "
                           "does %s of %llu bytes (root %u, %s)",
                           b->rank, ronde_collective_text(b->collective),
                           (unsigned long long)b->bytes, b->root,
                           b->algorithm ? b->algorithm : "any algorithm",
                           ronde_workload_text(workload, workload->groups[b->group].name), a->rank,
                           ronde_collective_text(a->collective), (unsigned long long)a->bytes,
                           a->root, a->algorithm ? a->algorithm : "any algorithm");
}

static enum ronde_status join(struct group_index *group_index, struct workload_matching *matching,
                              struct ronde_error *error)
{
    const struct ronde_workload *workload = group_index->workload;
    memset(group_index->counts, 0, workload->member_count * sizeof *group_index->counts);
    for (uint32_t i = 0; i < workload->member_count; i++)
        group_index->last[i] = RONDE_NONE;
    for (uint32_t s = 0; s < workload->work_count; s++) {
        const uint32_t w = matching->sequence[s];
        const struct ronde_work *work = &workload->works[w];
        if (work->kind != RONDE_WORK_COLLECTIVE)
            continue;
        const uint32_t member_slot = slot_of(group_index, work);
        const struct ronde_work_group *group = &workload->groups[work->group];
        const uint32_t index =
            group_index->group_first[work->group] + group_index->counts[member_slot]++;
        struct workload_instance *instance = &matching->instances[index];
        matching->instance_of[w] = index;
        matching->previous[w] = group_index->last[member_slot];
        group_index->last[member_slot] = w;
        matching->parts[instance->first + member_slot - group->first_member] = w;
        /* `joined` counts, and until the first has come `group` is not set. */
        if (instance->joined++ == 0)
            instance->group = w;
        RONDE_TRY(compare_parts(workload, instance->group, w, error));
    }
    for (uint32_t i = 0; i < matching->instance_count; i++)
        matching->instances[i].group = workload->works[matching->instances[i].group].group;
    return RONDE_OK;
}

static enum ronde_status reserve_instances(const struct group_index *group_index,
                                           uint32_t instances, struct workload_matching *matching,
                                           struct ronde_error *error)
{
    const struct ronde_workload *workload = group_index->workload;
    uint64_t parts = 0;
    for (uint32_t g = 0; g < workload->group_count; g++)
        parts += (uint64_t)workload->groups[g].member_count *
                 (group_index->group_first[g + 1] - group_index->group_first[g]);
    /* Each part is an item, so there are no more than of those. */
    matching->part_count = (uint32_t)parts;
    matching->instance_count = instances;
    matching->parts = ronde_mem_new(matching->mem, parts, sizeof *matching->parts);
    matching->instances = ronde_mem_new(matching->mem, instances, sizeof *matching->instances);
    if (!matching->parts || !matching->instances)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u collectives", instances);
    uint32_t first = 0;
    for (uint32_t g = 0; g < workload->group_count; g++)
        for (uint32_t i = group_index->group_first[g]; i < group_index->group_first[g + 1]; i++) {
            matching->instances[i].first = first;
            first += workload->groups[g].member_count;
        }
    return RONDE_OK;
}

static enum ronde_status match_collectives(const struct ronde_workload *workload,
                                           struct workload_matching *matching,
                                           struct ronde_error *error)
{
    const struct ronde_mem *mem = matching->mem;
    const size_t members = workload->member_count, groups = (size_t)workload->group_count + 1;
    uint32_t instances = 0;
    struct group_index group_index = {
        .workload = workload,
        .slots = ronde_mem_new(mem, members, sizeof *group_index.slots),
        .counts = ronde_mem_new(mem, members, sizeof *group_index.counts),
        .last = ronde_mem_new(mem, members, sizeof *group_index.last),
        .group_first = ronde_mem_new(mem, groups, sizeof *group_index.group_first),
    };
    enum ronde_status status = RONDE_OK;
    if (!group_index.slots || !group_index.counts || !group_index.last || !group_index.group_first) {
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu ranks of groups", members);
        goto out;
    }
    fill_slots(&group_index);
    status = count(&group_index, error);
    RONDE_THEN(status, compare_counts(&group_index, &instances, error));
    RONDE_THEN(status, reserve_instances(&group_index, instances, matching, error));
    RONDE_THEN(status, join(&group_index, matching, error));
out:
    ronde_mem_free(mem, group_index.slots, members, sizeof *group_index.slots);
    ronde_mem_free(mem, group_index.counts, members, sizeof *group_index.counts);
    ronde_mem_free(mem, group_index.last, members, sizeof *group_index.last);
    ronde_mem_free(mem, group_index.group_first, groups, sizeof *group_index.group_first);
    return status;
}

enum ronde_status
ronde_workload_match(const struct ronde_workload *workload, const struct ronde_mem *mem,
                     struct workload_matching *out_matching, struct ronde_error *error)
{
    const uint32_t count = workload->work_count;
    struct workload_matching *matching = out_matching;
    *matching = (struct workload_matching){.work_count = count, .mem = mem};
    matching->sequence = ronde_mem_new(mem, count, sizeof *matching->sequence);
    matching->partner = ronde_mem_new(mem, count, sizeof *matching->partner);
    matching->instance_of = ronde_mem_new(mem, count, sizeof *matching->instance_of);
    matching->previous = ronde_mem_new(mem, count, sizeof *matching->previous);
    if (!matching->sequence || !matching->partner || !matching->instance_of || !matching->previous)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to match %u items", count);
    for (uint32_t w = 0; w < count; w++)
        matching->partner[w] = matching->instance_of[w] = matching->previous[w] = RONDE_NONE;
    RONDE_TRY(workload_sequence(workload, matching, error));
    RONDE_TRY(workload_match_messages(workload, matching, error));
    return match_collectives(workload, matching, error);
}

void ronde_workload_matching_free(struct workload_matching *matching)
{
    const struct ronde_mem *mem = matching->mem;
    const size_t count = matching->work_count;
    ronde_mem_free(mem, matching->sequence, count, sizeof *matching->sequence);
    ronde_mem_free(mem, matching->partner, count, sizeof *matching->partner);
    ronde_mem_free(mem, matching->instance_of, count, sizeof *matching->instance_of);
    ronde_mem_free(mem, matching->previous, count, sizeof *matching->previous);
    ronde_mem_free(mem, matching->instances, matching->instance_count, sizeof *matching->instances);
    ronde_mem_free(mem, matching->parts, matching->part_count, sizeof *matching->parts);
    *matching = (struct workload_matching){0};
}
