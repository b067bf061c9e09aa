#include "support/sweep.h"

#include "support/suite.h"

#include <stdint.h>

/* More allocations than any operation here makes: an operation that ignores failures would be swept for ever. */
#define ALLOCATIONS_MAX 100000u

/* What one attempt showed. */
enum outcome {
    OUTCOME_REPORTED, /* an allocation failed, and so did the operation, as it should */
    OUTCOME_DONE,     /* no allocation failed, and the operation succeeded */
    OUTCOME_WRONG     /* anything else */
};

/* Whether the status is the one that the heap's behaviour requires. */
static bool is_status_right(const struct sweep *sweep, const struct heap *heap, size_t k,
                            enum ronde_status status, const struct ronde_error *error)
{
    const bool has_failed = heap->requests > k;
    const enum ronde_status expected = has_failed ? RONDE_NO_MEMORY : RONDE_OK;
    const bool is_right = status == expected && error->status == expected &&
                          (error->message[0] != '\0') == has_failed;
    if (!is_right)
        suite_note("%s: allocation %zu %s; status '%s', error '%s' \"%s\"", sweep->what, k,
                   has_failed ? "failed" : "was never asked for", ronde_status_text(status),
                   ronde_status_text(error->status), error->message);
    return is_right;
}

static enum outcome attempt(const struct sweep *sweep, size_t k, bool refuse_once,
                            size_t *out_requests)
{
    struct heap heap = heap_start(k, refuse_once);
    const struct ronde_mem mem = heap_mem(&heap);
    struct ronde_error error = {0};
    const enum ronde_status status = sweep->operation(sweep->context, &mem, &error);
    const bool is_clean = heap.live_blocks == 0 && heap.live_bytes == 0 && heap.wrong_sizes == 0;
    if (!is_clean)
        suite_note("%s: allocation %zu fails: %zu blocks leaked, %zu freed with a wrong size",
                   sweep->what, k, heap.live_blocks, heap.wrong_sizes);
    *out_requests = heap.requests;
    if (!is_status_right(sweep, &heap, k, status, &error) || !is_clean)
        return OUTCOME_WRONG;
    return status == RONDE_OK ? OUTCOME_DONE : OUTCOME_REPORTED;
}

/* One mode of failure: allocations that succeed, 0 where an attempt went wrong. */
static size_t sweep_mode(const struct sweep *sweep, bool refuse_once)
{
    for (size_t k = 0; k < ALLOCATIONS_MAX; k++) {
        size_t requests;
        const enum outcome outcome = attempt(sweep, k, refuse_once, &requests);
        CU_ASSERT_NOT_EQUAL(outcome, OUTCOME_WRONG);
        if (outcome == OUTCOME_WRONG)
            return 0;
        if (outcome == OUTCOME_DONE)
            return requests;
    }
    suite_note("%s: still failing after %u allocations", sweep->what, ALLOCATIONS_MAX);
    CU_ASSERT(false);
    return 0;
}

size_t sweep_run(const struct sweep *sweep)
{
    const size_t once = sweep_mode(sweep, true);
    const size_t onwards = sweep_mode(sweep, false);
    /* The same work allocates the same number of times. */
    CU_ASSERT_EQUAL(once, onwards);
    return once == onwards ? once : 0;
}
