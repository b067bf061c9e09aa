/*
 * GOAL schedules, as LogGOPSim's txt2bin scans them: one operation or dependency a line, labels local to a rank, a
 * dependency after both of its labels.
 */
#include "formats/workload/readers.h"

#include "ronde/mem.h"

#include <ctype.h>

/* Scanning GOAL: words, numbers and characters of a line. After a refusal nothing is found any more. */

/* Dependencies come behind their operations, so they are collected and put to them when the rank ends. */
struct edge {
    uint32_t after, before;
    bool on_start;
};

/* What is being read. */
struct goal {
    struct words words;
    const struct ronde_mem *mem;
    struct ronde_workload *workload;
    struct labels labels;    /* of the rank */
    struct ronde_list edges; /* of the rank: struct edge */
    bool *is_seen;           /* per rank: its block was there */
};

/* Words, numbers and comments of GOAL. */

static bool goes_on(const struct goal *goal)
{
    return goal->words.status == RONDE_OK;
}

/* The character so far ahead, or zero at the end. */
static char goal_peek(const struct goal *goal, size_t ahead)
{
    return goal->words.at + ahead < goal->words.bytes ? goal->words.text[goal->words.at + ahead]
                                                      : '\0';
}

/* Comments of several lines count as blanks; their lines are counted. */
static void skip_comment(struct goal *goal)
{
    if (goal_peek(goal, 1) == '/') {
        while (goal->words.at < goal->words.bytes && goal_peek(goal, 0) != '\n')
            goal->words.at++;
        return;
    }
    const uint32_t first = goal->words.line;
    goal->words.at += 2;
    while (goal->words.at < goal->words.bytes &&
           !(goal_peek(goal, 0) == '*' && goal_peek(goal, 1) == '/'))
        goal->words.line += goal->words.text[goal->words.at++] == '\n';
    if (goal->words.at >= goal->words.bytes) {
        goal->words.line = first;
        words_refuse(&goal->words, "a comment that does not end");
    }
    goal->words.at += 2;
}

static bool is_comment(const struct goal *goal)
{
    return goal_peek(goal, 0) == '/' && (goal_peek(goal, 1) == '/' || goal_peek(goal, 1) == '*');
}

/* Blanks within a line. */
static void goal_skip_blanks(struct goal *goal)
{
    while (goes_on(goal) && goal->words.at < goal->words.bytes) {
        const char c = goal_peek(goal, 0);
        if (c == ' ' || c == '\t' || c == '\r')
            goal->words.at++;
        else if (is_comment(goal))
            skip_comment(goal);
        else
            return;
    }
}

/* Blanks and ends of lines. */
static void goal_skip_lines(struct goal *goal)
{
    for (goal_skip_blanks(goal); goes_on(goal) && goal_peek(goal, 0) == '\n';
         goal_skip_blanks(goal)) {
        goal->words.at++;
        goal->words.line++;
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
    struct label_text found = {goal->words.text + goal->words.at, 0};
    if (!goes_on(goal) || !is_word_start(goal_peek(goal, 0)))
        return found;
    while (isalnum((unsigned char)goal_peek(goal, found.bytes)) ||
           goal_peek(goal, found.bytes) == '_')
        found.bytes++;
    goal->words.at += found.bytes;
    return found;
}

/* Takes a word if it is there. */
static bool goal_take(struct goal *goal, const char *text)
{
    const size_t at = goal->words.at;
    if (words_is(goal_word(goal), text))
        return true;
    goal->words.at = at;
    return false;
}

/* Takes a word, or refuses. */
static void goal_expect(struct goal *goal, const char *text)
{
    if (goes_on(goal) && !goal_take(goal, text))
        words_refuse(&goal->words, "expected \"%s\"", text);
}

/* Takes a character, or refuses. */
static void goal_expect_char(struct goal *goal, char c)
{
    goal_skip_blanks(goal);
    if (goes_on(goal) && goal_peek(goal, 0) != c)
        words_refuse(&goal->words, "expected '%c'", c);
    else
        goal->words.at++;
}

/* A number up to `most`. */
static uint64_t goal_number(struct goal *goal, const char *what, uint64_t most)
{
    uint64_t value = 0;
    goal_skip_blanks(goal);
    if (goes_on(goal) && !isdigit((unsigned char)goal_peek(goal, 0)))
        words_refuse(&goal->words, "%s is no number", what);
    for (; goes_on(goal) && isdigit((unsigned char)goal_peek(goal, 0)); goal->words.at++) {
        const uint64_t digit = (uint64_t)(goal_peek(goal, 0) - '0');
        if (value > (most - digit) / 10 || digit > most) {
            words_refuse(&goal->words, "%s is more than %llu", what, (unsigned long long)most);
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
    if (!goes_on(goal) || goal->words.at >= goal->words.bytes)
        return;
    if (goal_peek(goal, 0) != '\n') {
        words_refuse(&goal->words, "expected the end of the line");
        return;
    }
    goal->words.at++;
    goal->words.line++;
}

/* [ tag N ] [ cpu N ] [ nic N ] in this order. */
static void read_choices(struct goal *goal, struct ronde_work *work)
{
    work->tag = 0;
    if (goal_take(goal, "tag")) {
        goal_skip_blanks(goal);
        if (goal_peek(goal, 0) == '-' && goal_peek(goal, 1) == '1') {
            work->tag = RONDE_WORK_ANY_TAG;
            goal->words.at += 2;
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
    if (goes_on(goal) && goal_peek(goal, 0) == '-')
        words_refuse(&goal->words,
                     is_send ? "a send to a negative rank; name the rank"
                             : "a receive from any source (-1), which depends on who comes "
                               "first; name the rank");
    work->peer = (uint32_t)goal_number(goal, "the rank", UINT32_MAX - 1);
    read_choices(goal, work);
    if (!goes_on(goal))
        return;
    if (work->peer >= goal->workload->ranks)
        words_refuse(&goal->words, "rank %u of %u ranks", work->peer, goal->workload->ranks);
    else if (work->peer == work->rank)
        words_refuse(&goal->words, "rank %u sends to itself", work->rank);
    else if (is_send && work->tag == RONDE_WORK_ANY_TAG)
        words_refuse(&goal->words, "a message has no tag -1");
}

/* An operation behind its keyword. */
static bool read_operation(struct goal *goal, struct label_text keyword, struct ronde_work *work)
{
    if (words_is(keyword, "calc")) {
        work->kind = RONDE_WORK_COMPUTE;
        work->duration_ns = (double)goal_number(goal, "the time", MOST);
        if (goal_take(goal, "cpu"))
            work->cpu = (uint32_t)goal_number(goal, "the cpu", UINT32_MAX - 1);
    } else if (words_is(keyword, "send") || words_is(keyword, "recv")) {
        work->kind = words_is(keyword, "send") ? RONDE_WORK_SEND : RONDE_WORK_RECV;
        read_message(goal, work);
    } else {
        return false;
    }
    return true;
}

/* Adds an operation, with the label it may have. */
static void add(struct goal *goal, struct ronde_work *work, struct label_text label)
{
    struct ronde_workload *workload = goal->workload;
    if (!goes_on(goal))
        return;
    if (label.bytes > 0) {
        if (labels_find(&goal->labels, label)) {
            words_refuse(&goal->words, "label %.*s is there already", (int)label.bytes, label.at);
            return;
        }
        if (!labels_add(&goal->labels, label, workload->work_count))
            words_keep(&goal->words,
                       ronde_fail(goal->words.error, RONDE_NO_MEMORY, "no memory for labels"));
        words_keep(&goal->words, ronde_workload_name(workload, label.at, label.bytes, &work->name,
                                                     goal->words.error));
    }
    if (goes_on(goal))
        words_keep(&goal->words, ronde_workload_add(workload, work, goal->words.error));
}

static uint32_t find_label(struct goal *goal, struct label_text label)
{
    const uint64_t *found = labels_find(&goal->labels, label);
    if (!found && label.bytes == 0)
        words_refuse(&goal->words, "expected a label");
    else if (!found)
        words_refuse(&goal->words, "no operation above is labelled %.*s", (int)label.bytes,
                     label.at);
    return found ? (uint32_t)*found : 0;
}

static void read_dependency(struct goal *goal, struct label_text label)
{
    struct edge edge = {.after = find_label(goal, label)};
    if (goal_take(goal, "irequires"))
        edge.on_start = true;
    else if (goes_on(goal) && !goal_take(goal, "requires"))
        words_refuse(&goal->words, "expected an operation, requires or irequires");
    if (!goes_on(goal))
        return;
    edge.before = find_label(goal, goal_word(goal));
    if (goes_on(goal))
        (void)words_append(&goal->words, goal->mem, &goal->edges, &edge, sizeof edge);
}

static void read_line(struct goal *goal, uint32_t rank)
{
    struct ronde_work work = {.rank = rank, .line = goal->words.line};
    struct label_text first = goal_word(goal), label = {NULL, 0};
    goal_skip_blanks(goal);
    if (first.bytes > 0 && goal_peek(goal, 0) == ':') {
        goal->words.at++;
        label = first;
        first = goal_word(goal);
    }
    if (first.bytes == 0)
        words_refuse(&goal->words, "expected send, recv, calc, a label or '}'");
    else if (read_operation(goal, first, &work))
        add(goal, &work, label);
    else if (label.bytes > 0)
        words_refuse(&goal->words, "\"%.*s\" is no operation", (int)first.bytes, first.at);
    else
        read_dependency(goal, first);
    end_of_line(goal);
}

/* The operations of a rank get their dependencies, in the order of the operations. */
static void settle(struct goal *goal, uint32_t first)
{
    const struct edge *edges = goal->edges.items;
    const uint32_t count = goal->edges.count;
    struct ronde_workload *workload = goal->workload;
    const uint32_t base = workload->dep_count;
    if (!goes_on(goal) || count == 0)
        return;
    /* Reserves, then sorts by counting: dep_count of each operation first. */
    for (uint32_t i = 0; i < count && goes_on(goal); i++) {
        const struct ronde_work_dep unset = {0, false};
        words_keep(&goal->words, ronde_workload_depend(workload, unset, goal->words.error));
    }
    if (!goes_on(goal))
        return;
    struct ronde_work *works = workload->works;
    works[workload->work_count - 1].dep_count -= count;
    for (uint32_t i = 0; i < count; i++)
        works[edges[i].after].dep_count++;
    uint32_t at = base;
    for (uint32_t w = first; w < workload->work_count; w++) {
        works[w].first_dep = at;
        at += works[w].dep_count;
        works[w].dep_count = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct ronde_work *work = &works[edges[i].after];
        workload->deps[work->first_dep + work->dep_count++] =
            (struct ronde_work_dep){edges[i].before, edges[i].on_start};
    }
}

static void read_rank(struct goal *goal)
{
    goal_expect(goal, "rank");
    const uint32_t rank = (uint32_t)goal_number(goal, "the rank", UINT32_MAX - 1);
    if (goes_on(goal) && rank >= goal->workload->ranks)
        words_refuse(&goal->words, "rank %u of %u ranks", rank, goal->workload->ranks);
    if (goes_on(goal) && goal->is_seen[rank])
        words_refuse(&goal->words, "rank %u a second time", rank);
    goal_expect_char(goal, '{');
    if (!goes_on(goal))
        return;
    goal->is_seen[rank] = true;
    const uint32_t first = goal->workload->work_count;
    labels_clear(&goal->labels);
    goal->edges.count = 0;
    for (goal_skip_lines(goal); goes_on(goal) && goal_peek(goal, 0) != '}'; goal_skip_lines(goal))
        if (goal->words.at >= goal->words.bytes)
            words_refuse(&goal->words, "the block of rank %u does not end", rank);
        else
            read_line(goal, rank);
    goal_expect_char(goal, '}');
    settle(goal, first);
}

static void read_file(struct goal *goal)
{
    goal_skip_lines(goal);
    goal_expect(goal, "num_ranks");
    const uint32_t ranks = (uint32_t)goal_number(goal, "num_ranks", UINT32_MAX);
    if (goes_on(goal) && (ranks == 0 || ranks > RONDE_WORKLOAD_RANKS))
        words_refuse(&goal->words, "%u ranks: a workload has 1 to %u", ranks, RONDE_WORKLOAD_RANKS);
    if (goes_on(goal))
        words_keep(&goal->words, ronde_workload_create(ranks, goal->words.path, goal->mem,
                                                       &goal->workload, goal->words.error));
    if (!goes_on(goal))
        return;
    goal->is_seen = ronde_mem_new(goal->mem, ranks, sizeof *goal->is_seen);
    if (!goal->is_seen)
        words_keep(&goal->words,
                   ronde_fail(goal->words.error, RONDE_NO_MEMORY, "no memory for %u ranks", ranks));
    for (goal_skip_lines(goal); goes_on(goal) && goal->words.at < goal->words.bytes;
         goal_skip_lines(goal))
        read_rank(goal);
    ronde_mem_free(goal->mem, goal->is_seen, ranks, sizeof *goal->is_seen);
}

bool ronde_goal_is(const char *text, size_t bytes)
{
    struct goal goal = {.words = {.text = text, .bytes = bytes, .line = 1, .path = ""}};
    goal_skip_lines(&goal);
    return goal.words.status == RONDE_OK && goal_take(&goal, "num_ranks");
}

enum ronde_status workload_read_goal(const char *text, size_t bytes, const char *path,
                                     const struct ronde_mem *mem,
                                     struct ronde_workload **out_workload, struct ronde_error *error)
{
    struct goal goal = {
        .words = {.text = text, .bytes = bytes, .line = 1, .path = path, .error = error},
        .mem = mem,
        .labels = {.mem = mem},
    };
    read_file(&goal);
    ronde_list_free(mem, &goal.edges, sizeof(struct edge));
    labels_free(&goal.labels);
    if (goal.words.status == RONDE_OK)
        *out_workload = goal.workload;
    else
        ronde_workload_destroy(goal.workload);
    return goal.words.status;
}
