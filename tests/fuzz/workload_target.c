/* The readers of workloads on arbitrary bytes: what they accept must match, and go out and come back. See target.h. */
#include "fuzz/target.h"

#include "support/heap.h"

#include "formats/workload/matching.h"
#include "ronde/workload.h"

#include <stdio.h>
#include <string.h>

/* Memory that an input may ask for; beyond it the refusal is NO_MEMORY. */
#define HEAP_BYTES_MAX ((size_t)64 << 20)

/* Larger ones are read but not written again. */
#define ITEMS_MAX 4096u

static bool is_refusal(enum ronde_status status)
{
    return status == RONDE_BAD_INPUT || status == RONDE_UNSUPPORTED || status == RONDE_NO_MEMORY;
}

/* Indices are within their arrays, and dependencies on the item's own rank. */
static void check_bounds(const struct ronde_workload *workload, struct fuzz_verdict *verdict)
{
    for (uint32_t w = 0; w < workload->work_count; w++) {
        const struct ronde_work *work = &workload->works[w];
        if (work->rank >= workload->ranks || work->name >= workload->name_bytes ||
            work->first_dep + work->dep_count > workload->dep_count ||
            (work->kind == RONDE_WORK_COLLECTIVE && work->group >= workload->group_count) ||
            !(work->duration_ns >= 0))
            fuzz_complain(verdict, "item %u has an index or a time out of range", w);
        for (uint32_t d = 0; d < work->dep_count && verdict->complaint[0] == '\0'; d++) {
            const uint32_t before = workload->deps[work->first_dep + d].work;
            if (before >= workload->work_count || workload->works[before].rank != work->rank)
                fuzz_complain(verdict, "item %u waits for %u, which is not its rank's", w, before);
        }
    }
}

/* What matches is complete: every receive has its send. */
static void check_matching(const struct ronde_workload *workload, const struct ronde_mem *mem,
                           struct fuzz_verdict *verdict)
{
    struct workload_matching matching;
    struct ronde_error error = {0};
    const enum ronde_status status = ronde_workload_match(workload, mem, &matching, &error);
    for (uint32_t w = 0; status == RONDE_OK && w < workload->work_count; w++)
        if (workload->works[w].kind == RONDE_WORK_RECV && matching.partner[w] == RONDE_NONE)
            fuzz_complain(verdict, "receive %u has no send", w);
    if (status == RONDE_OK)
        verdict->runs++;
    else if (!is_refusal(status) || error.message[0] == '\0')
        fuzz_complain(verdict, "matching: '%s' with \"%s\"", ronde_status_text(status),
                      error.message);
    ronde_workload_matching_free(&matching);
}

/* As GOAL it comes back and is written as the same bytes. */
static void check_goal(const struct ronde_workload *workload, struct fuzz_verdict *verdict)
{
    const struct ronde_mem *mem = ronde_mem_default();
    char *texts[2] = {NULL, NULL};
    size_t bytes[2] = {0, 0};
    struct ronde_workload *again = NULL;
    struct ronde_error error = {0};
    if (workload->work_count > ITEMS_MAX ||
        ronde_goal_print(workload, mem, &texts[0], &bytes[0], NULL) != RONDE_OK)
        return;
    if (ronde_workload_parse(texts[0], bytes[0], "again", mem, &again, &error) != RONDE_OK)
        fuzz_complain(verdict, "its GOAL is refused: %s", error.message);
    else if (ronde_goal_print(again, mem, &texts[1], &bytes[1], &error) != RONDE_OK)
        fuzz_complain(verdict, "its GOAL is not written again: %s", error.message);
    else if (bytes[0] != bytes[1] || memcmp(texts[0], texts[1], bytes[0]) != 0)
        fuzz_complain(verdict, "its GOAL is written as another file");
    for (int i = 0; i < 2; i++)
        if (texts[i])
            ronde_mem_free(mem, texts[i], bytes[i] + 1, 1);
    ronde_workload_destroy(again);
}

/* What a reader has left: a workload, or a reason. */
static void check_result(struct ronde_workload *workload, enum ronde_status status,
                         const struct ronde_error *error, const struct ronde_mem *mem,
                         struct fuzz_verdict *verdict)
{
    if (status == RONDE_OK) {
        verdict->is_accepted = true;
        check_bounds(workload, verdict);
        if (verdict->complaint[0] == '\0')
            check_matching(workload, mem, verdict);
        check_goal(workload, verdict);
    } else if (!is_refusal(status) || error->message[0] == '\0' || workload) {
        fuzz_complain(verdict, "'%s' with \"%s\"", ronde_status_text(status), error->message);
    }
    ronde_workload_destroy(workload);
}

void fuzz_workload(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict)
{
    struct heap heap = heap_start(SIZE_MAX, true);
    heap.limit_bytes = HEAP_BYTES_MAX;
    const struct ronde_mem mem = heap_mem(&heap);
    const struct ronde_chakra_file files[2] = {{data, bytes}, {data, bytes}};
    struct ronde_workload *workload = NULL;
    struct ronde_error error = {0};
    const char *reason;
    memset(out_verdict, 0, sizeof *out_verdict);
    enum ronde_status status =
        ronde_workload_parse((const char *)data, bytes, "input", &mem, &workload, &error);
    check_result(workload, status, &error, &mem, out_verdict);
    if (ronde_chakra_available(&reason)) {
        memset(&error, 0, sizeof error);
        status = ronde_chakra_parse(files, 2, "input", &mem, &workload, &error);
        check_result(workload, status, &error, &mem, out_verdict);
    }
    fuzz_expect_no_leak(out_verdict, &heap);
}
