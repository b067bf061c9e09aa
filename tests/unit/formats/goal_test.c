/** GOAL: schedules go out with their messages and order and come back as what they were; files that are wrong are refused. */
#include "support/suite.h"
#include "support/sweep.h"

#include "ronde/schedules.h"
#include "ronde/workload.h"

#include <stdio.h>
#include <string.h>

/* Machine of the interpreter: a message takes ALPHA and its bytes at 1 byte/ns, and holds up its sender as long. */
#define ALPHA 1000.0

static struct ronde_workload *parse(const char *text, struct ronde_error *error)
{
    struct ronde_workload *workload = NULL;
    const enum ronde_status status =
        ronde_workload_parse(text, strlen(text), "f.goal", ronde_mem_default(), &workload, error);
    CU_ASSERT_EQUAL(workload != NULL, status == RONDE_OK);
    return workload;
}

/* --- a plain interpreter of sends, receives and calculations --------------------------------------- */

/* The sender of a receive: the message of the same two ranks and tag with as many before it. */
static uint32_t sender_of(const struct ronde_workload *w, uint32_t recv)
{
    uint32_t before = 0;
    const struct ronde_work *at = &w->works[recv];
    for (uint32_t i = 0; i < recv; i++)
        before += w->works[i].kind == RONDE_WORK_RECV && w->works[i].rank == at->rank &&
                  w->works[i].peer == at->peer && w->works[i].tag == at->tag;
    for (uint32_t i = 0; i < w->work_count; i++) {
        const struct ronde_work *send = &w->works[i];
        if (send->kind == RONDE_WORK_SEND && send->rank == at->peer && send->peer == at->rank &&
            send->tag == at->tag && before-- == 0)
            return i;
    }
    return RONDE_NONE;
}

/* When an item ends, or -1 while what it waits for has not ended. */
static double end_of(const struct ronde_workload *w, const double *end, uint32_t item)
{
    const struct ronde_work *work = &w->works[item];
    double start = 0;
    for (uint32_t d = 0; d < work->dep_count; d++) {
        const double before = end[w->deps[work->first_dep + d].work];
        if (before < 0)
            return -1;
        start = before > start ? before : start;
    }
    if (work->kind == RONDE_WORK_COMPUTE)
        return start + work->duration_ns;
    if (work->kind == RONDE_WORK_SEND)
        return start + (double)work->bytes;
    const uint32_t sender = sender_of(w, item);
    if (sender == RONDE_NONE || end[sender] < 0)
        return -1;
    CU_ASSERT_EQUAL(w->works[sender].bytes, work->bytes);
    return end[sender] + ALPHA > start ? end[sender] + ALPHA : start;
}

/* The end of the last item, or -1 in a deadlock. */
static double interpret(const struct ronde_workload *w)
{
    static double end[1u << 16];
    double last = 0;
    uint32_t done = 0, before = 1;
    CU_ASSERT_FATAL(w->work_count <= sizeof end / sizeof end[0]);
    for (uint32_t i = 0; i < w->work_count; i++)
        end[i] = -1;
    for (; done < w->work_count && before > 0; done += before) {
        before = 0;
        for (uint32_t i = 0; i < w->work_count; i++)
            if (end[i] < 0 && (end[i] = end_of(w, end, i)) >= 0)
                before++;
    }
    for (uint32_t i = 0; i < w->work_count; i++)
        last = end[i] > last ? end[i] : last;
    return done == w->work_count ? last : -1;
}

/* --- schedules ------------------------------------------------------------------------------------- */

static const struct ronde_time_params params = {.alpha_ns = ALPHA,
                                                .step_ns = 100,
                                                .gamma_GBps = 2,
                                                .copy_GBps = 4};

/* The longest path of the step graph on that machine, with a slot for each message. */
static double path_of(const struct ronde_dag *dag)
{
    double *finish = ronde_mem_new(ronde_mem_default(), dag->op_count, sizeof *finish);
    const struct ronde_path path = {.latency_ns = ALPHA, .rate_GBps = 1};
    CU_ASSERT_PTR_NOT_NULL_FATAL(finish);
    const struct ronde_dag_timing timing = {.paths = &path, .out_finish_ns = finish};
    const double time = ronde_dag_longest_path(dag, &timing);
    ronde_mem_free(ronde_mem_default(), finish, dag->op_count, sizeof *finish);
    return time;
}

static void count_messages(const struct ronde_workload *w, uint64_t *out_count, uint64_t *out_bytes)
{
    *out_count = *out_bytes = 0;
    for (uint32_t i = 0; i < w->work_count; i++)
        if (w->works[i].kind == RONDE_WORK_SEND) {
            ++*out_count;
            *out_bytes += w->works[i].bytes;
        }
}

/* Every message of the graph is sent with its bytes between its ranks. */
static void compare_messages(const struct ronde_dag *dag, const struct ronde_workload *w)
{
    uint64_t count, bytes, dag_count = 0, dag_bytes = 0, wrong = 0;
    count_messages(w, &count, &bytes);
    for (uint32_t i = 0; i < dag->op_count; i++)
        if (ronde_step_sends(dag->origins[i].op)) {
            dag_count++;
            dag_bytes += dag->ops[i].bytes;
        }
    /* Sends of the workload are in the order of the graph's operations, rank by rank. */
    for (uint32_t r = 0; r < dag->ranks; r++) {
        uint32_t at = 0;
        for (uint32_t i = 0; i < dag->op_count; i++) {
            if (dag->ops[i].src != r || !ronde_step_sends(dag->origins[i].op))
                continue;
            while (at < w->work_count &&
                   (w->works[at].rank != r || w->works[at].kind != RONDE_WORK_SEND))
                at++;
            wrong += at == w->work_count || w->works[at].peer != dag->ops[i].dst ||
                     w->works[at].bytes != dag->ops[i].bytes;
            at += at < w->work_count;
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(count, dag_count);
    CU_ASSERT_EQUAL(bytes, dag_bytes);
}

static void go_out_and_back(const struct ronde_compile_request *request, uint64_t slot_bytes)
{
    const struct ronde_mem *mem = ronde_mem_default();
    struct ronde_schedule *schedule = NULL;
    struct ronde_workload *out = NULL, *back = NULL;
    struct ronde_dag *dag = NULL;
    struct ronde_error error = {0};
    char *text = NULL, *again = NULL;
    size_t bytes = 0, again_bytes = 0;
    const struct ronde_load load = {.count = 1000,
                                    .dtype = RONDE_FLOAT32,
                                    .slot_bytes = slot_bytes,
                                    .depth = UINT32_MAX};
    if (ronde_compile(request, mem, NULL, &schedule, NULL) != RONDE_OK)
        return;
    CU_ASSERT_EQUAL_FATAL(ronde_dag_create_named(schedule, &load, &params, mem, &dag, &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_workload_of_schedule(schedule, &load, &params, mem, &out, &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_goal_print(out, mem, &text, &bytes, &error), RONDE_OK);
    back = parse(text, &error);
    if (!back)
        suite_note("%s %s on %u: %s", ronde_collective_text(request->collective),
                   request->algorithm, request->ranks, error.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(back);
    compare_messages(dag, back);
    /* Times in the file are whole nanoseconds: half of one for each calculation on the way. */
    const double expected = path_of(dag), found = interpret(back);
    if (!(found >= 0 && found - expected < 0.5 * dag->op_count + 1 &&
          expected - found < 0.5 * dag->op_count + 1))
        suite_note("%s %s on %u: %.1f ns, but %.1f", ronde_collective_text(request->collective),
                   request->algorithm, request->ranks, found, expected);
    CU_ASSERT_DOUBLE_EQUAL(interpret(out), expected, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(found, expected, 0.5 * dag->op_count + 1);
    CU_ASSERT_EQUAL_FATAL(ronde_goal_print(back, mem, &again, &again_bytes, &error), RONDE_OK);
    CU_ASSERT_STRING_EQUAL(text, again);
    ronde_mem_free(mem, text, bytes + 1, 1);
    ronde_mem_free(mem, again, again_bytes + 1, 1);
    ronde_workload_destroy(out);
    ronde_workload_destroy(back);
    ronde_dag_destroy(dag, mem);
    ronde_schedule_destroy(schedule);
}

static void every_algorithm_goes_out_and_back(void)
{
    static const uint32_t ranks[] = {2, 3, 8};
    uint32_t count;
    const struct ronde_algorithm *const *all = ronde_algorithms(&count);
    for (uint32_t a = 0; a < count; a++)
        for (size_t n = 0; n < sizeof ranks / sizeof ranks[0]; n++) {
            const struct ronde_compile_request request = {.collective = all[a]->collective,
                                                          .algorithm = all[a]->name,
                                                          .ranks = ranks[n]};
            go_out_and_back(&request, 0);
            if (ranks[n] == 3)
                go_out_and_back(&request, 512);
        }
}

/* --- files ------------------------------------------------------------------------------------------- */

static void operations_and_dependencies_are_read(void)
{
    static const char text[] = "/* two\n ranks */ num_ranks 2\nrank 0 {\nc: calc 500 cpu 2\n"
                               "s: send 1024b to 1 tag 7 cpu 1 nic 3\ns requires c // order\n"
                               "recv 8 b from 1 tag -1\n}\n\nrank 1 {\n"
                               "r: recv 1024b from 0 tag 7\ns: send 8b to 0\ns irequires r\n}\n";
    struct ronde_error error = {0};
    struct ronde_workload *w = parse(text, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    CU_ASSERT_EQUAL(w->ranks, 2);
    CU_ASSERT_EQUAL_FATAL(w->work_count, 5);
    CU_ASSERT_EQUAL(w->works[0].kind, RONDE_WORK_COMPUTE);
    CU_ASSERT_EQUAL(w->works[0].duration_ns, 500);
    CU_ASSERT_EQUAL(w->works[0].cpu, 2);
    CU_ASSERT_EQUAL(w->works[1].bytes, 1024);
    CU_ASSERT_EQUAL(w->works[1].tag, 7);
    CU_ASSERT_EQUAL_FATAL(w->works[1].dep_count, 1);
    CU_ASSERT_EQUAL(w->deps[w->works[1].first_dep].work, 0);
    CU_ASSERT_EQUAL(w->works[2].tag, RONDE_WORK_ANY_TAG);
    CU_ASSERT_EQUAL_FATAL(w->works[4].dep_count, 1);
    CU_ASSERT_TRUE(w->deps[w->works[4].first_dep].on_start);
    CU_ASSERT_STRING_EQUAL(ronde_workload_text(w, w->works[3].name), "r");
    CU_ASSERT_EQUAL(w->works[3].line, 11);
    ronde_workload_destroy(w);
}

static void wrong_files_are_refused_by_line(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"num_ranks 0\n", "f.goal:1: 0 ranks"},
        {"num_ranks x\n", "f.goal:1: num_ranks is no number"},
        {"num_ranks 99999999999\n", "f.goal:1: num_ranks is more than 4294967295"},
        {"num_ranks 2\nrank 2 {\n}\n", "f.goal:2: rank 2 of 2 ranks"},
        {"num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\n", "f.goal:4: rank 0 a second time"},
        {"num_ranks 2\nrank 0 {\nsend 5 to 1\n}\n", "f.goal:3: expected \"b\""},
        {"num_ranks 2\nrank 0 {\nsend 5b to 0\n}\n", "f.goal:3: rank 0 sends to itself"},
        {"num_ranks 2\nrank 0 {\nsend 5b to 2\n}\n", "f.goal:3: rank 2 of 2 ranks"},
        {"num_ranks 2\nrank 0 {\nsend 5b to 1 tag -1\n}\n", "f.goal:3: a message has no tag -1"},
        {"num_ranks 2\nrank 0 {\na: calc 1\na: calc 2\n}\n", "f.goal:4: label a is there already"},
        {"num_ranks 2\nrank 0 {\na: calc 1\na requires b\n}\n",
         "f.goal:4: no operation above is labelled b"},
        {"num_ranks 2\nrank 0 {\na: calc 1\na needs a\n}\n",
         "f.goal:4: expected an operation, requires or irequires"},
        {"num_ranks 2\nrank 0 {\na: walk 1\n}\n", "f.goal:3: \"walk\" is no operation"},
        {"num_ranks 2\nrank 0 {\ncalc 1 calc 2\n}\n", "f.goal:3: expected the end of the line"},
        {"num_ranks 2\nrank 0 {\ncalc 1\n", "f.goal:4: the block of rank 0 does not end"},
        {"num_ranks 2\n/* rank", "f.goal:2: a comment that does not end"},
        {"num_ranks 2\nranks 0 {", "f.goal:2: expected \"rank\""},
        {"num_ranks 2\nrank 0 {\ncalc 99999999999999999999\n}",
         "f.goal:3: the time is more than 9007199254740992"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ronde_error error = {0};
        struct ronde_workload *w = parse(cases[i].text, &error);
        CU_ASSERT_PTR_NULL(w);
        if (strncmp(error.message, cases[i].message, strlen(cases[i].message)) != 0)
            suite_note("expected \"%s\", got \"%s\"", cases[i].message, error.message);
        CU_ASSERT_EQUAL(strncmp(error.message, cases[i].message, strlen(cases[i].message)), 0);
        ronde_workload_destroy(w);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_algorithm_goes_out_and_back", every_algorithm_goes_out_and_back},
        {"operations_and_dependencies_are_read", operations_and_dependencies_are_read},
        {"wrong_files_are_refused_by_line", wrong_files_are_refused_by_line},
    };
    return suite_run("goal", cases, sizeof cases / sizeof cases[0]);
}
