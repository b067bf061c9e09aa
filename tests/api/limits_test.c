/*
 * Thousands of pending operations under time limits: the earliest deadline is that of a model, and what is looked at grows
 * with their number, not its square. Counted, not timed.
 */
#include "api/calls.h"
#include "api/queue.h"
#include "support/suite.h"

#include "ronde/attach.h"

#include <stdlib.h>

#define MOST 16000u

static struct ronde_request requests[MOST];

/* Deadlines of a kind: as of one limit, of two in turn, ever shorter ones, or drawn. */
static double deadline_of(uint32_t kind, uint32_t k, uint64_t *random)
{
    switch (kind) {
    case 0:
        return 1e9 + k;
    case 1:
        return 1e9 + k + k % 2 * 1e6;
    case 2:
        return 1e9 - k;
    default:
        return buffers_draw(random) % 3 ? 1e9 + (double)(buffers_draw(random) % 100000) : 0;
    }
}

static double earliest_of(uint32_t first, uint32_t end)
{
    double earliest_ns = 0;
    for (uint32_t k = first; k < end; k++) {
        const double at_ns = ronde_request_deadline_of(&requests[k]);
        if (at_ns > 0 && (earliest_ns == 0 || at_ns < earliest_ns))
            earliest_ns = at_ns;
    }
    return earliest_ns;
}

static struct ronde_request *call(struct ronde_queue *queue, uint32_t k, double deadline_ns)
{
    requests[k] = (struct ronde_request){.queue = queue, .order = queue->calls++};
    ronde_request_set_deadline(&requests[k], deadline_ns);
    if (deadline_ns > 0)
        ronde_queue_add_limit(&requests[k]);
    return &requests[k];
}

static void the_earliest_deadline_is_that_of_all(void)
{
    uint64_t random = 34;
    for (uint32_t kind = 0; kind < 4; kind++) {
        struct ronde_queue queue = {0};
        uint32_t first = 0, end = 0;
        while (first < 300) {
            const uint64_t what = buffers_draw(&random) % 8;
            struct ronde_request *brought =
                &requests[first + buffers_draw(&random) % (end - first + 1)];
            if (end == first || (end < 300 && what < 4)) {
                (void)call(&queue, end, deadline_of(kind, end, &random)), end++;
            } else if (what < 6) {
                ronde_queue_drop_limit(&requests[first++]);
            } else if (brought < &requests[end]) {
                const double before_ns = ronde_request_deadline_of(brought);
                ronde_request_set_deadline(brought, before_ns > 0 ? before_ns * 0.9 : 1e9);
                ronde_queue_add_limit(brought);
            }
            CU_ASSERT_EQUAL(ronde_queue_earliest(&queue), (double)(uint64_t)earliest_of(first, end));
        }
        CU_ASSERT_PTR_NULL(queue.first_limit);
        CU_ASSERT_PTR_NULL(queue.last_limit);
    }
}

/* Every one is waited for in turn with a shorter limit than its call's. */
static void limits_of_many_cost_as_many_looks(void)
{
    uint64_t random = 35;
    for (uint32_t kind = 0; kind < 4; kind++) {
        struct ronde_queue queue = {0};
        for (uint32_t k = 0; k < MOST; k++)
            (void)call(&queue, k, deadline_of(kind, k, &random));
        for (uint32_t k = 0; k < MOST; k++) {
            ronde_request_set_deadline(&requests[k], 1e8 + k);
            ronde_queue_add_limit(&requests[k]);
            ronde_queue_drop_limit(&requests[k]);
        }
        CU_ASSERT(queue.looks <= 2 * MOST);
        CU_ASSERT_PTR_NULL(queue.first_limit);
    }
}

/* Receives that stay pending while as many messages come, from the last to the first. */
static enum ronde_status send_many(const struct team_member *member, struct ronde_error *error)
{
    static struct ronde_request *receives[MOST];
    static int32_t in[MOST], out[MOST];
    const uint32_t count = MOST / 4;
    struct ronde_comm *comm = NULL;
    enum ronde_status status = calls_join(member, &comm, error);
    for (uint32_t k = 0; k < count && status == RONDE_OK; k++)
        status = ronde_recv(comm, &in[k], 1, RONDE_INT32, 0, k, &receives[k], error);
    for (uint32_t k = count; k-- > 0 && status == RONDE_OK;) {
        out[k] = (int32_t)k;
        status = ronde_send(comm, &out[k], 1, RONDE_INT32, 0, k, NULL, error);
    }
    for (uint32_t k = 0; k < count && status == RONDE_OK; k++) {
        status = ronde_request_wait(receives[k], 0, error);
        (void)team_check(member, in[k] == (int32_t)k, "a message");
        ronde_request_free(receives[k]);
    }
    if (status == RONDE_OK)
        (void)team_check(member,
                         ((struct ronde_queue *)ronde_comm_attachment(comm))->looks <= 4 * count,
                         "looks at most at what has ended");
    ronde_comm_destroy(comm);
    return status;
}

static void messages_of_many_cost_as_many_looks(void)
{
    static struct team_result results[TEAM_MAX];
    team_run_expecting(1, send_many, NULL, results, RONDE_OK);
}

int main(void)
{
    static const struct suite_case cases[] = {SUITE_CASE(the_earliest_deadline_is_that_of_all),
                                              SUITE_CASE(limits_of_many_cost_as_many_looks),
                                              SUITE_CASE(messages_of_many_cost_as_many_looks)};
    return suite_run("limits", cases, sizeof cases / sizeof cases[0]);
}
