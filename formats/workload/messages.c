/*
 * The two ends of messages, as MPI matches them: by sender, receiver and tag, in the order in which both sides come to
 * them. A receive of any tag takes the sender's messages in their order, whatever their tags; what receives of both kinds
 * would take depends on time, and is refused.
 */
#include "matching.h"

#include "ronde/mem.h"

#include <stdlib.h>

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

enum ronde_status workload_match_messages(const struct ronde_workload *workload,
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
