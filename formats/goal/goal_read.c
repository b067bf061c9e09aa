/*
 * GOAL schedules, as LogGOPSim's txt2bin scans them: one operation or dependency a line, labels local to a rank, a
 * dependency after both of its labels.
 */
#include "engine/text/refuse.h"
#include "formats/workload/readers.h"

#include "ronde/mem.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Scanning GOAL: words, numbers and characters of a line. After a refusal nothing is found any more. */

/* Where reading stands. */
struct goal {
    const char *text;
    size_t bytes;
    size_t at;
    uint32_t line;
    const char *path;
    struct ronde_workload *workload;
    struct labels labels; /* of the rank */
    bool *is_seen;        /* per rank: its block was there */
    struct ronde_error *error;
    enum ronde_status status; /* sticky */
};

/* Words, numbers and comments of GOAL. */

/* Refuses the line; the first refusal is kept. */
RONDE_FORMAT(2, 3) static void goal_refuse(struct goal *goal, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (goal->status == RONDE_OK)
        goal->status = ronde_refuse_line(goal->error, goal->path, goal->line, format, arguments);
    va_end(arguments);
}

/* The character so far ahead, or zero at the end. */
static char goal_peek(const struct goal *goal, size_t ahead)
{
    return goal->at + ahead < goal->bytes ? goal->text[goal->at + ahead] : '\0';
}

/* Comments of several lines count as blanks; their lines are counted. */
static void skip_comment(struct goal *goal)
{
    if (goal_peek(goal, 1) == '/') {
        while (goal->at < goal->bytes && goal_peek(goal, 0) != '\n')
            goal->at++;
        return;
    }
    const uint32_t first = goal->line;
    goal->at += 2;
    while (goal->at < goal->bytes && !(goal_peek(goal, 0) == '*' && goal_peek(goal, 1) == '/'))
        goal->line += goal->text[goal->at++] == '\n';
    if (goal->at >= goal->bytes) {
        goal->line = first;
        goal_refuse(goal, "a comment that does not end");
    }
    goal->at += 2;
}

static bool is_comment(const struct goal *goal)
{
    return goal_peek(goal, 0) == '/' && (goal_peek(goal, 1) == '/' || goal_peek(goal, 1) == '*');
}

/* Blanks within a line. */
static void goal_skip_blanks(struct goal *goal)
{
    while (goal->status == RONDE_OK && goal->at < goal->bytes) {
        const char c = goal_peek(goal, 0);
        if (c == ' ' || c == '\t' || c == '\r')
            goal->at++;
        else if (is_comment(goal))
            skip_comment(goal);
        else
            return;
    }
}

/* Blanks and ends of lines. */
static void goal_skip_lines(struct goal *goal)
{
    for (goal_skip_blanks(goal); goal->status == RONDE_OK && goal_peek(goal, 0) == '\n';
         goal_skip_blanks(goal)) {
        goal->at++;
        goal->line++;
    }
}

static bool is_word_start(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

/* The next word, which may be of no bytes. */
static struct label_text goal_word(struct goal *goal)
{
    goal_skip_blanks(goal);
    struct label_text found = {goal->text + goal->at, 0};
    if (goal->status != RONDE_OK || !is_word_start(goal_peek(goal, 0)))
        return found;
    while (isalnum((unsigned char)goal_peek(goal, found.bytes)) ||
           goal_peek(goal, found.bytes) == '_')
        found.bytes++;
    goal->at += found.bytes;
    return found;
}

/* Whether a word is this. */
static bool goal_word_is(struct label_text found, const char *text)
{
    return found.bytes == strlen(text) && memcmp(found.at, text, found.bytes) == 0;
}

/* Takes a word if it is there. */
static bool goal_take(struct goal *goal, const char *text)
{
    const size_t at = goal->at;
    if (goal_word_is(goal_word(goal), text))
        return true;
    goal->at = at;
    return false;
}

/* Takes a word, or refuses. */
static void goal_expect(struct goal *goal, const char *text)
{
    if (goal->status == RONDE_OK && !goal_take(goal, text))
        goal_refuse(goal, "expected \"%s\"", text);
}

/* Takes a character, or refuses. */
static void goal_expect_char(struct goal *goal, char c)
{
    goal_skip_blanks(goal);
    if (goal->status == RONDE_OK && goal_peek(goal, 0) != c)
        goal_refuse(goal, "expected '%c'", c);
    else
        goal->at++;
}

/* A number up to `most`. */
static uint64_t goal_number(struct goal *goal, const char *what, uint64_t most)
{
    uint64_t value = 0;
    goal_skip_blanks(goal);
    if (goal->status == RONDE_OK && !isdigit((unsigned char)goal_peek(goal, 0)))
        goal_refuse(goal, "%s is no number", what);
    for (; goal->status == RONDE_OK && isdigit((unsigned char)goal_peek(goal, 0)); goal->at++) {
        const uint64_t digit = (uint64_t)(goal_peek(goal, 0) - '0');
        if (value > (most - digit) / 10 || digit > most) {
            goal_refuse(goal, "%s is more than %llu", what, (unsigned long long)most);
            return 0;
        }
        value = 10 * value + digit;
    }
    return value;
}

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
    goal_skip_blanks(goal);
    if (goal->status == RONDE_OK && goal_peek(goal, 0) == '-')
        goal_refuse(goal, is_send ? "a send to a negative rank; name the rank"
                                  : "a receive from any source (-1), which depends on who comes "
                                    "first; name the rank");
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
