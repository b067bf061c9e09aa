/*
 * GOAL schedules, as LogGOPSim's txt2bin scans them: one operation or dependency a line, labels local to a rank, a
 * dependency after both of its labels.
 */
#include "formats/workload/readers.h"
#include "goal_scan.h"

#include "ronde/mem.h"

/* --- lines ------------------------------------------------------------------------------------ */

/* Sizes and times that a double still holds exactly. */
#define MOST ((uint64_t)1 << 53)

static void end_of_line(struct goal *goal)
{
    goal_skip_blanks(goal);
    if (goal->status != RONDE_OK || goal->at >= goal->bytes)
        return;
    if (goal_peek(goal, 0) != '\n') {
        goal_refuse(goal, "expected the end of the line");
        return;
    }
    goal->at++;
    goal->line++;
}

/* [ tag N ] [ cpu N ] [ nic N ] in this order. */
static void read_choices(struct goal *goal, struct ronde_work *work)
{
    work->tag = 0;
    if (goal_take(goal, "tag")) {
        goal_skip_blanks(goal);
        if (goal_peek(goal, 0) == '-' && goal_peek(goal, 1) == '1') {
            work->tag = RONDE_WORK_ANY_TAG;
            goal->at += 2;
        } else {
            work->tag = (uint32_t)goal_number(goal, "the tag", RONDE_WORK_ANY_TAG - 1);
        }
    }
    if (goal_take(goal, "cpu"))
        work->cpu = (uint32_t)goal_number(goal, "the cpu", UINT32_MAX - 1);
    if (goal_take(goal, "nic"))
        (void)goal_number(goal, "the nic", UINT32_MAX - 1);
}

static void read_message(struct goal *goal, struct ronde_work *work)
{
    const bool is_send = work->kind == RONDE_WORK_SEND;
    work->bytes = goal_number(goal, "the size", MOST);
    goal_expect(goal, "b");
    goal_expect(goal, is_send ? "to" : "from");
    work->peer = (uint32_t)goal_number(goal, "the rank", UINT32_MAX - 1);
    read_choices(goal, work);
    if (goal->status != RONDE_OK)
        return;
    if (work->peer >= goal->workload->ranks)
        goal_refuse(goal, "rank %u of %u ranks", work->peer, goal->workload->ranks);
    else if (work->peer == work->rank)
        goal_refuse(goal, "rank %u sends to itself", work->rank);
    else if (is_send && work->tag == RONDE_WORK_ANY_TAG)
        goal_refuse(goal, "a message has no tag -1");
}

/* An operation behind its keyword. */
static bool read_operation(struct goal *goal, struct label_text keyword, struct ronde_work *work)
{
    if (goal_word_is(keyword, "calc")) {
        work->kind = RONDE_WORK_COMPUTE;
        work->duration_ns = (double)goal_number(goal, "the time", MOST);
        if (goal_take(goal, "cpu"))
            work->cpu = (uint32_t)goal_number(goal, "the cpu", UINT32_MAX - 1);
    } else if (goal_word_is(keyword, "send") || goal_word_is(keyword, "recv")) {
        work->kind = goal_word_is(keyword, "send") ? RONDE_WORK_SEND : RONDE_WORK_RECV;
        read_message(goal, work);
    } else {
        return false;
    }
    return true;
}

static void keep(struct goal *goal, enum ronde_status status)
{
    if (goal->status == RONDE_OK)
        goal->status = status;
}

/* Adds an operation, with the label it may have. */
static void add(struct goal *goal, struct ronde_work *work, struct label_text label)
{
    struct ronde_workload *workload = goal->workload;
    if (goal->status != RONDE_OK)
        return;
    if (label.bytes > 0) {
        if (labels_find(&goal->labels, label)) {
            goal_refuse(goal, "label %.*s is there already", (int)label.bytes, label.at);
            return;
        }
        if (!labels_add(&goal->labels, label, workload->work_count))
            goal->status = ronde_fail(goal->error, RONDE_NO_MEMORY, "no memory for labels");
        keep(goal, ronde_workload_name(workload, label.at, label.bytes, &work->name, goal->error));
    }
    if (goal->status == RONDE_OK)
        keep(goal, ronde_workload_add(workload, work, goal->error));
}

/* Dependencies come behind their operations, so they are collected and put to them when the rank ends. */
struct edge {
    uint32_t after, before;
    bool on_start;
};

struct edges {
    struct edge *all;
    uint32_t count;
    size_t capacity;
};

static uint32_t find_label(struct goal *goal, struct label_text label)
{
    const uint64_t *found = labels_find(&goal->labels, label);
    if (!found && label.bytes == 0)
        goal_refuse(goal, "expected a label");
    else if (!found)
        goal_refuse(goal, "no operation above is labelled %.*s", (int)label.bytes, label.at);
    return found ? (uint32_t)*found : 0;
}

static void read_dependency(struct goal *goal, struct edges *edges, struct label_text label)
{
    struct edge edge = {.after = find_label(goal, label)};
    if (goal_take(goal, "irequires"))
        edge.on_start = true;
    else if (goal->status == RONDE_OK && !goal_take(goal, "requires"))
        goal_refuse(goal, "expected an operation, requires or irequires");
    if (goal->status != RONDE_OK)
        return;
    edge.before = find_label(goal, goal_word(goal));
    void *block = edges->all;
    if (!ronde_mem_grow(goal->workload->mem, &block, &edges->capacity, (size_t)edges->count + 1,
                        sizeof *edges->all))
        goal->status = ronde_fail(goal->error, RONDE_NO_MEMORY, "no memory for dependencies");
    edges->all = block;
    if (goal->status == RONDE_OK)
        edges->all[edges->count++] = edge;
}

static void read_line(struct goal *goal, struct edges *edges, uint32_t rank)
{
    struct ronde_work work = {.rank = rank, .line = goal->line};
    struct label_text first = goal_word(goal), label = {NULL, 0};
    goal_skip_blanks(goal);
    if (first.bytes > 0 && goal_peek(goal, 0) == ':') {
        goal->at++;
        label = first;
        first = goal_word(goal);
    }
    if (first.bytes == 0)
        goal_refuse(goal, "expected send, recv, calc, a label or '}'");
    else if (read_operation(goal, first, &work))
        add(goal, &work, label);
    else if (label.bytes > 0)
        goal_refuse(goal, "\"%.*s\" is no operation", (int)first.bytes, first.at);
    else
        read_dependency(goal, edges, first);
    end_of_line(goal);
}

/* The operations of a rank get their dependencies, in the order of the operations. */
static void settle(struct goal *goal, const struct edges *edges, uint32_t first)
{
    struct ronde_workload *workload = goal->workload;
    const uint32_t base = workload->dep_count;
    if (goal->status != RONDE_OK || edges->count == 0)
        return;
    /* Reserves, then sorts by counting: dep_count of each operation first. */
    for (uint32_t i = 0; i < edges->count && goal->status == RONDE_OK; i++) {
        const struct ronde_work_dep unset = {0, false};
        keep(goal, ronde_workload_depend(workload, unset, goal->error));
    }
    if (goal->status != RONDE_OK)
        return;
    struct ronde_work *works = workload->works;
    works[workload->work_count - 1].dep_count -= edges->count;
    for (uint32_t i = 0; i < edges->count; i++)
        works[edges->all[i].after].dep_count++;
    uint32_t at = base;
    for (uint32_t w = first; w < workload->work_count; w++) {
        works[w].first_dep = at;
        at += works[w].dep_count;
        works[w].dep_count = 0;
    }
    for (uint32_t i = 0; i < edges->count; i++) {
        struct ronde_work *work = &works[edges->all[i].after];
        workload->deps[work->first_dep + work->dep_count++] =
            (struct ronde_work_dep){edges->all[i].before, edges->all[i].on_start};
    }
}

static void read_rank(struct goal *goal, struct edges *edges)
{
    goal_expect(goal, "rank");
    const uint32_t rank = (uint32_t)goal_number(goal, "the rank", UINT32_MAX - 1);
    if (goal->status == RONDE_OK && rank >= goal->workload->ranks)
        goal_refuse(goal, "rank %u of %u ranks", rank, goal->workload->ranks);
    if (goal->status == RONDE_OK && goal->is_seen[rank])
        goal_refuse(goal, "rank %u a second time", rank);
    goal_expect_char(goal, '{');
    if (goal->status != RONDE_OK)
        return;
    goal->is_seen[rank] = true;
    const uint32_t first = goal->workload->work_count;
    labels_clear(&goal->labels);
    edges->count = 0;
    for (goal_skip_lines(goal); goal->status == RONDE_OK && goal_peek(goal, 0) != '}';
         goal_skip_lines(goal))
        if (goal->at >= goal->bytes)
            goal_refuse(goal, "the block of rank %u does not end", rank);
        else
            read_line(goal, edges, rank);
    goal_expect_char(goal, '}');
    settle(goal, edges, first);
}

static void read_file(struct goal *goal, const struct ronde_mem *mem)
{
    struct edges edges = {NULL, 0, 0};
    goal_skip_lines(goal);
    goal_expect(goal, "num_ranks");
    const uint32_t ranks = (uint32_t)goal_number(goal, "num_ranks", UINT32_MAX);
    if (goal->status == RONDE_OK && (ranks == 0 || ranks > RONDE_WORKLOAD_RANKS))
        goal_refuse(goal, "%u ranks: a workload has 1 to %u", ranks, RONDE_WORKLOAD_RANKS);
    if (goal->status == RONDE_OK)
        goal->status = ronde_workload_create(ranks, goal->path, mem, &goal->workload, goal->error);
    if (goal->status != RONDE_OK)
        return;
    goal->is_seen = ronde_mem_new(mem, ranks, sizeof *goal->is_seen);
    if (!goal->is_seen)
        goal->status = ronde_fail(goal->error, RONDE_NO_MEMORY, "no memory for %u ranks", ranks);
    for (goal_skip_lines(goal); goal->status == RONDE_OK && goal->at < goal->bytes;
         goal_skip_lines(goal))
        read_rank(goal, &edges);
    ronde_mem_free(mem, edges.all, edges.capacity, sizeof *edges.all);
    ronde_mem_free(mem, goal->is_seen, ranks, sizeof *goal->is_seen);
}

bool ronde_goal_is(const char *text, size_t bytes)
{
    struct goal goal = {.text = text, .bytes = bytes, .line = 1, .path = ""};
    goal_skip_lines(&goal);
    return goal.status == RONDE_OK && goal_take(&goal, "num_ranks");
}

enum ronde_status workload_read_goal(const char *text, size_t bytes, const char *path,
                                     const struct ronde_mem *mem,
                                     struct ronde_workload **out_workload, struct ronde_error *error)
{
    struct goal goal = {.text = text,
                        .bytes = bytes,
                        .line = 1,
                        .path = path,
                        .labels = {.mem = mem},
                        .error = error};
    read_file(&goal, mem);
    labels_free(&goal.labels);
    if (goal.status == RONDE_OK)
        *out_workload = goal.workload;
    else
        ronde_workload_destroy(goal.workload);
    return goal.status;
}
