/**
 * The table of step operations: its columns, the sets and costs made from them, and that the step graph charges every
 * operation what its columns say.
 */
#include "engine/execute/operation.h"

#include "support/files.h"
#include "support/suite.h"

#include "ronde/backend.h"
#include "ronde/cursor.h"
#include "ronde/dag.h"
#include "ronde/text.h"

#include <stdlib.h>
#include <string.h>

/** Bytes of every chunk of a channel of weight 1 in the loads below. */
#define CHUNK_BYTES 256u

/** Accesses per byte, counted from the columns one by one. */
static uint32_t accesses(enum ronde_step_op op)
{
    return (uint32_t)ronde_step_reads_source(op) + ronde_step_receives(op) + ronde_step_sends(op) +
           ronde_step_writes(op) + ronde_step_reads_destination(op);
}

static void every_operation_costs_what_its_columns_say(void)
{
    for (uint32_t i = 0; i < RONDE_STEP_OP_COUNT; i++) {
        const enum ronde_step_op op = (enum ronde_step_op)i;
        CU_ASSERT_EQUAL(ronde_step_touches(op), accesses(op));
        CU_ASSERT_EQUAL(ronde_step_touches(op) == 0, op == RONDE_STEP_NOP);
    }
    CU_ASSERT_EQUAL(ronde_step_touches(RONDE_STEP_OP_COUNT), 0);
}

/** The set that a question about operations stands for. */
static int set_of(bool (*holds)(enum ronde_step_op op))
{
    int set = 0;
    for (uint32_t i = 0; i < RONDE_STEP_OP_COUNT; i++)
        set |= holds((enum ronde_step_op)i) << i;
    return set;
}

static void sets_are_the_columns(void)
{
    CU_ASSERT_EQUAL(set_of(ronde_step_reads_source), RONDE_OPS_WITH_SOURCE);
    CU_ASSERT_EQUAL(set_of(ronde_step_receives), RONDE_OPS_THAT_RECEIVE);
    CU_ASSERT_EQUAL(set_of(ronde_step_reduces), RONDE_OPS_THAT_REDUCE);
    CU_ASSERT_EQUAL(set_of(ronde_step_sends), RONDE_OPS_THAT_SEND);
    CU_ASSERT_EQUAL(set_of(ronde_step_writes), RONDE_OPS_THAT_WRITE);
    CU_ASSERT_EQUAL(set_of(ronde_step_reads_destination), RONDE_OPS_THAT_REREAD);
    CU_ASSERT_EQUAL(set_of(ronde_step_sends_kept), RONDE_OPS_THAT_SEND_KEPT);
}

/* Nothing but the columns tells an executor what to do: two operations alike in all of them would be one. */
static void no_two_operations_have_the_same_columns(void)
{
    for (uint32_t a = 0; a < RONDE_STEP_OP_COUNT; a++) {
        for (uint32_t b = 0; b < a; b++) {
            const struct ronde_step steps[2] = {{.op = (uint8_t)a}, {.op = (uint8_t)b}};
            const struct ronde_operation one = ronde_operation_of(&steps[0]);
            const struct ronde_operation other = ronde_operation_of(&steps[1]);
            const bool is_same = one.reads == other.reads && one.receives == other.receives &&
                                 one.reduces == other.reduces && one.sends == other.sends &&
                                 one.writes == other.writes;
            CU_ASSERT_FALSE(is_same);
        }
    }
}

static void derived_sets_hold_the_operations_they_are_about(void)
{
    CU_ASSERT_EQUAL(RONDE_OPS_THAT_PASS, 1 << RONDE_STEP_RS);
    CU_ASSERT_EQUAL(RONDE_OPS_THAT_STORE, 1 << RONDE_STEP_RECV | 1 << RONDE_STEP_RCS);
    CU_ASSERT_EQUAL(RONDE_OPS_THAT_SEND_SOURCE, 1 << RONDE_STEP_SEND);
    CU_ASSERT_EQUAL(RONDE_OPS_THAT_SEND_RESULT, 1 << RONDE_STEP_RRS | 1 << RONDE_STEP_RRCS);
    CU_ASSERT_EQUAL(RONDE_OPS_THAT_SEND_KEPT, 1 << RONDE_STEP_RCS | 1 << RONDE_STEP_RRCS);
    CU_ASSERT_EQUAL(RONDE_OPS_THAT_REREAD, 1 << RONDE_STEP_REDUCE);
    CU_ASSERT_EQUAL(RONDE_OPS_THAT_COPY, 1 << RONDE_STEP_COPY);
    const int idle = 1 << RONDE_STEP_NOP;
    CU_ASSERT_EQUAL(RONDE_OPS_WITH_OPERAND | RONDE_OPS_THAT_PASS | idle,
                    (1 << RONDE_STEP_OP_COUNT) - 1);
    CU_ASSERT_EQUAL((RONDE_OPS_WITH_OPERAND | RONDE_OPS_THAT_PASS) & idle, 0);
}

/** The bytes of a schedule's step graph, operation by operation; returns the set of those it has. */
static int check_costs(const struct ronde_schedule *schedule)
{
    const struct ronde_load load = {.count = CHUNK_BYTES / sizeof(int32_t) *
                                             schedule->chunks_per_block * schedule->weight_total,
                                    .dtype = RONDE_INT32};
    const struct ronde_time_params params = {.step_ns = 1, .copy_GBps = 1};
    struct ronde_dag *dag = NULL;
    int seen = 0;
    CU_ASSERT_EQUAL_FATAL(ronde_dag_create_named(schedule, &load, &params, ronde_mem_default(),
                                                 &dag, NULL),
                          RONDE_OK);
    for (uint32_t i = 0; i < dag->op_count; i++) {
        const struct ronde_dag_origin *at = &dag->origins[i];
        const struct ronde_view view = ronde_view_open(schedule, at->channel, dag->ops[i].src);
        const struct ronde_step *step =
            &view.program->steps[view.program->lane_first[at->lane] + at->step];
        const uint64_t bytes = (uint64_t)step->chunk_count * view.channel->weight * CHUNK_BYTES;
        /* What a joined step hands on is not written, and what it takes over is not read. */
        const bool hands_on = (step->flags & RONDE_FLAG_JOINED) != 0;
        const bool takes_over = at->step > 0 && (step[-1].flags & RONDE_FLAG_JOINED) != 0;
        CU_ASSERT_EQUAL(dag->ops[i].touched_bytes,
                        bytes * (accesses(at->op) - hands_on - takes_over));
        CU_ASSERT_EQUAL(dag->ops[i].bytes, ronde_step_sends(at->op) ? bytes : 0);
        seen |= (step->chunk_count > 0 || at->op == RONDE_STEP_NOP) << at->op;
    }
    ronde_dag_destroy(dag, ronde_mem_default());
    return seen;
}

static void check_file(const char *path, void *context)
{
    char *text = files_read(path);
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_EQUAL(ronde_schedule_read(text, strlen(text), path, ronde_mem_default(), NULL,
                                        &schedule, &error),
                    RONDE_OK);
    if (schedule)
        *(int *)context |= check_costs(schedule);
    ronde_schedule_destroy(schedule);
    free(text);
}

static void the_step_graph_charges_every_operation_by_its_columns(void)
{
    int seen = 0;
    CU_ASSERT(files_walk("tests/golden", ".ronde", check_file, &seen) > 0);
    CU_ASSERT(files_walk("tests/data/schedules", ".ronde", check_file, &seen) > 0);
    for (uint32_t i = 0; i < RONDE_STEP_OP_COUNT; i++)
        if ((seen >> i & 1) == 0)
            suite_note("no schedule has a step \"%s\"", ronde_step_op_text((enum ronde_step_op)i));
    CU_ASSERT_EQUAL(seen, (1 << RONDE_STEP_OP_COUNT) - 1);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_operation_costs_what_its_columns_say", every_operation_costs_what_its_columns_say},
        {"sets_are_the_columns", sets_are_the_columns},
        {"no_two_operations_have_the_same_columns", no_two_operations_have_the_same_columns},
        {"derived_sets_hold_the_operations_they_are_about",
         derived_sets_hold_the_operations_they_are_about},
        {"the_step_graph_charges_every_operation_by_its_columns",
         the_step_graph_charges_every_operation_by_its_columns},
    };
    return suite_run("operations", cases, sizeof cases / sizeof cases[0]);
}
