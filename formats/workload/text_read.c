/*
 * Ronde's own form of workloads (docs/guide/workloads.md): families of groups, then programs, each for a set of ranks. A program
 * is read once and then given to each of its ranks.
 */
#include "readers.h"

#include "ronde/limits.h"
#include "ronde/mem.h"
#include "ronde/schedules.h"

#include <string.h>

/* Reading ronde's own form of workloads: what its parts share. */

/* A statement of a program, the same for all of its ranks. */
struct statement {
    struct ronde_work work; /* first_dep and dep_count are into the program's deps */
    int64_t offset;         /* of a relative peer */
    bool is_relative;       /* the peer is the rank plus offset */
    uint32_t family;        /* collective */
};

/* What is being read. */
struct script {
    struct words words;
    const struct ronde_mem *mem;
    struct ronde_workload *workload;
    struct labels families;       /* name -> family */
    struct ronde_list group_of;   /* uint32_t: family * ranks + rank -> group, or RONDE_NONE */
    struct labels labels;         /* of the program: name -> statement */
    struct ronde_list statements; /* struct statement */
    struct ronde_list deps;       /* uint32_t: statements */
    struct ronde_list set;        /* uint32_t: ranks of the program, or of a group */
};

/* Sets of ranks, and families of groups. */

/* Each takes a table of all ranks; programs have a handful. */
#define MOST_FAMILIES 256u

/* Adds an element to one of the lists. False after a refusal, and without memory. */
static bool append(struct script *script, struct ronde_list *list, const void *item, size_t bytes)
{
    return words_append(&script->words, script->mem, list, item, bytes);
}

/* --- sets of ranks ---------------------------------------------------------------------------- */

/* The part before a separator; *rest is what follows, of no bytes where there is none. */
static struct label_text cut(struct label_text text, char separator, struct label_text *rest)
{
    const char *at = text.bytes > 0 ? memchr(text.at, separator, text.bytes) : NULL;
    const size_t bytes = at ? (size_t)(at - text.at) : text.bytes;
    *rest = at ? (struct label_text){at + 1, text.bytes - bytes - 1} : (struct label_text){NULL, 0};
    return (struct label_text){text.at, bytes};
}

/* A, A-B or A-B:STRIDE. */
static void read_range(struct script *script, struct label_text range)
{
    struct words *words = &script->words;
    const uint32_t most = script->workload->ranks - 1;
    struct label_text step, end;
    const struct label_text ends = cut(range, ':', &step), start = cut(ends, '-', &end);
    const uint64_t first = words_number(words, start, "rank", 0, most);
    const uint64_t last = end.at ? words_number(words, end, "rank", first, most) : first;
    const uint64_t stride = step.at ? words_number(words, step, "stride", 1, most + 1u) : 1;
    for (uint64_t r = first; r <= last && words->status == RONDE_OK; r += stride) {
        const uint32_t rank = (uint32_t)r;
        if (script->set.count >= script->workload->ranks)
            words_refuse(words, "more ranks than there are");
        (void)append(script, &script->set, &rank, sizeof rank);
    }
}

/* Ranges with commas between them. */
static void script_read_set(struct script *script, struct label_text set)
{
    script->set.count = 0;
    if (set.bytes == 0)
        words_refuse(&script->words, "expected ranks, such as 0-7 or 0-56:8");
    while (set.bytes > 0 && script->words.status == RONDE_OK) {
        struct label_text rest;
        read_range(script, cut(set, ',', &rest));
        if (rest.at && rest.bytes == 0)
            words_refuse(&script->words, "expected ranks behind ','");
        set = rest;
    }
}

/* Few lines may stand for many ranks: what they come to is known before any of it is made. */
static void refuse_giants(struct script *script, uint64_t items)
{
    struct words *words = &script->words;
    if (words->status == RONDE_OK)
        words->status = ronde_limit_check_file(RONDE_LIMIT_ITEMS, items, words->path, words->line,
                                               words->error);
}

/* groups NAME SET SET ... */
static void script_read_groups(struct script *script)
{
    struct words *words = &script->words;
    struct ronde_workload *workload = script->workload;
    const struct label_text name = words_next(words);
    const uint32_t family = workload->family_count, none = RONDE_NONE;
    uint32_t text = 0;
    if (name.bytes == 0)
        words_refuse(words, "expected the name of the groups");
    else if (family == MOST_FAMILIES)
        words_refuse(words, "more than %u families of groups", MOST_FAMILIES);
    else if (labels_find(&script->families, name))
        words_refuse(words, "groups %.*s are there already", (int)name.bytes, name.at);
    if (words->status != RONDE_OK)
        return;
    refuse_giants(script, ((uint64_t)workload->family_count + 1) * workload->ranks);
    if (words->status != RONDE_OK)
        return;
    if (!labels_add(&script->families, name, family))
        words->status = ronde_fail(words->error, RONDE_NO_MEMORY, "no memory for groups");
    words_keep(words, ronde_workload_name(workload, name.at, name.bytes, &text, words->error));
    if (words->status == RONDE_OK)
        words_keep(words, ronde_workload_family(workload, text, words->error));
    for (uint32_t r = 0; r < workload->ranks && words->status == RONDE_OK; r++)
        (void)append(script, &script->group_of, &none, sizeof none);
    if (words->status != RONDE_OK)
        return;
    struct label_text set = words_next(words);
    do {
        script_read_set(script, set);
        const uint32_t *ranks = script->set.items, index = workload->group_count;
        uint32_t *group_of = (uint32_t *)script->group_of.items + (size_t)family * workload->ranks;
        for (uint32_t i = 0; i < script->set.count && words->status == RONDE_OK; i++) {
            if (group_of[ranks[i]] != RONDE_NONE)
                words_refuse(words, "rank %u is in two groups, or twice in one", ranks[i]);
            group_of[ranks[i]] = index;
        }
        const struct ronde_work_group group = {.name = text,
                                               .family = family,
                                               .member_count = script->set.count};
        if (words->status == RONDE_OK)
            words_keep(words, ronde_workload_group(workload, group, ranks, words->error));
        set = words_next(words);
    } while (words->status == RONDE_OK && set.bytes > 0);
}

static void end_line(struct script *script)
{
    const struct label_text word = words_next(&script->words);
    if (word.bytes > 0)
        words_refuse(&script->words, "\"%.*s\" is one word too many", (int)word.bytes, word.at);
}

/* A rank, or with a sign the distance to one. */
static void read_peer(struct script *script, struct statement *statement)
{
    struct words *words = &script->words;
    struct label_text peer = words_next(words);
    const uint32_t most = script->workload->ranks - 1;
    statement->is_relative = peer.bytes > 0 && (*peer.at == '+' || *peer.at == '-');
    if (!statement->is_relative) {
        statement->work.peer = (uint32_t)words_number(words, peer, "rank", 0, most);
        return;
    }
    const struct label_text digits = {peer.at + 1, peer.bytes - 1};
    const int64_t distance = (int64_t)words_number(words, digits, "distance", 1, most);
    statement->offset = *peer.at == '-' ? -distance : distance;
}

static void expect(struct script *script, const char *text)
{
    if (!words_is(words_next(&script->words), text))
        words_refuse(&script->words, "expected \"%s\"", text);
}

static void read_message(struct script *script, struct statement *statement)
{
    statement->work.bytes = words_size(&script->words, words_next(&script->words));
    expect(script, statement->work.kind == RONDE_WORK_SEND ? "to" : "from");
    read_peer(script, statement);
}

static void read_collective(struct script *script, struct statement *statement)
{
    struct words *words = &script->words;
    const struct label_text name = words_next(words);
    const uint64_t *family = name.bytes > 0 ? labels_find(&script->families, name) : NULL;
    statement->work.kind = RONDE_WORK_COLLECTIVE;
    if (!family) {
        words_refuse(words, "no groups are called \"%.*s\"", (int)name.bytes, name.at);
        return;
    }
    statement->family = (uint32_t)*family;
    if (statement->work.collective != RONDE_BARRIER)
        statement->work.bytes = words_size(words, words_next(words));
}

/* with ALGORITHM */
static void read_algorithm(struct script *script, struct statement *statement)
{
    char name[64] = "";
    struct ronde_error why = {RONDE_OK, 0, ""};
    const struct label_text word = words_next(&script->words);
    if (word.bytes < sizeof name)
        memcpy(name, word.at, word.bytes);
    const struct ronde_algorithm *algorithm =
        ronde_parse_algorithm(statement->work.collective, name, &why);
    if (!algorithm)
        words_refuse(&script->words, "%s", why.message);
    else
        statement->work.algorithm = algorithm->name;
}

/* after NAME NAME ..., to the end of the line */
static void read_after(struct script *script, struct statement *statement)
{
    struct words *words = &script->words;
    for (struct label_text word = words_next(words); word.bytes > 0; word = words_next(words)) {
        const uint64_t *found = labels_find(&script->labels, word);
        if (!found) {
            words_refuse(words, "no item above is called %.*s", (int)word.bytes, word.at);
            return;
        }
        const uint32_t before = (uint32_t)*found;
        if (append(script, &script->deps, &before, sizeof before))
            statement->work.dep_count++;
    }
}

/* What may stand behind the values of each kind, in any order; `after` is the last. */
static void read_rest(struct script *script, struct statement *statement)
{
    struct words *words = &script->words;
    struct ronde_work *work = &statement->work;
    const enum ronde_work_kind kind = work->kind;
    for (struct label_text word = words_next(words); word.bytes > 0; word = words_next(words)) {
        if (words_is(word, "after"))
            read_after(script, statement);
        else if (words_is(word, "tag") && (kind == RONDE_WORK_SEND || kind == RONDE_WORK_RECV))
            work->tag =
                (uint32_t)words_number(words, words_next(words), "tag", 0, RONDE_WORK_ANY_TAG - 1);
        else if (words_is(word, "cpu") && kind == RONDE_WORK_COMPUTE)
            work->cpu = (uint32_t)words_number(words, words_next(words), "cpu", 0, UINT32_MAX - 1);
        else if (words_is(word, "with") && kind == RONDE_WORK_COLLECTIVE)
            read_algorithm(script, statement);
        else if (words_is(word, "root") && kind == RONDE_WORK_COLLECTIVE &&
                 ronde_collective_traits(work->collective)->has_root)
            work->root = (uint32_t)words_number(words, words_next(words), "root", 0, UINT32_MAX - 1);
        else
            words_refuse(words, "unexpected \"%.*s\"", (int)word.bytes, word.at);
    }
}

static bool is_collective(struct label_text word, enum ronde_collective *out)
{
    char name[64] = "";
    if (word.bytes == 0 || word.bytes >= sizeof name)
        return false;
    memcpy(name, word.at, word.bytes);
    return ronde_collective_parse(name, out) && *out != RONDE_SEND_RECV;
}

/* NAME KIND ... of a program. */
static void read_statement(struct script *script, struct label_text name)
{
    struct words *words = &script->words;
    struct statement statement = {.work = {.line = words->line, .first_dep = script->deps.count}};
    struct ronde_work *work = &statement.work;
    const struct label_text kind = words_next(words);
    if (labels_find(&script->labels, name))
        words_refuse(words, "item %.*s is there already", (int)name.bytes, name.at);
    if (words_is(kind, "compute")) {
        work->kind = RONDE_WORK_COMPUTE;
        work->duration_ns = words_time(words, words_next(words));
    } else if (words_is(kind, "send") || words_is(kind, "recv")) {
        work->kind = words_is(kind, "send") ? RONDE_WORK_SEND : RONDE_WORK_RECV;
        read_message(script, &statement);
    } else if (is_collective(kind, &work->collective)) {
        read_collective(script, &statement);
    } else {
        words_refuse(words, "\"%.*s\" is neither compute, send, recv nor a collective",
                     (int)kind.bytes, kind.at);
    }
    read_rest(script, &statement);
    if (words->status != RONDE_OK)
        return;
    if (!labels_add(&script->labels, name, script->statements.count))
        words->status = ronde_fail(words->error, RONDE_NO_MEMORY, "no memory for names");
    words_keep(words, ronde_workload_name(script->workload, name.at, name.bytes, &work->name,
                                          words->error));
    (void)append(script, &script->statements, &statement, sizeof statement);
}

/* --- programs ----------------------------------------------------------------------------------- */

/* The statement as an item of a rank: its peer and its group are found. */
static bool place(struct script *script, const struct statement *statement, uint32_t rank,
                  struct ronde_work *out_work)
{
    struct words *words = &script->words;
    const struct ronde_workload *workload = script->workload;
    *out_work = statement->work;
    out_work->rank = rank;
    words->line = statement->work.line;
    if (out_work->kind == RONDE_WORK_COLLECTIVE) {
        const uint32_t *group_of = script->group_of.items;
        out_work->group = group_of[(size_t)statement->family * workload->ranks + rank];
        if (out_work->group == RONDE_NONE)
            words_refuse(words, "rank %u is in no group %s", rank,
                         ronde_workload_text(workload, workload->families[statement->family]));
        else if (out_work->root >= workload->groups[out_work->group].member_count)
            words_refuse(words, "root %u of a group of %u ranks", out_work->root,
                         workload->groups[out_work->group].member_count);
    } else if (out_work->kind != RONDE_WORK_COMPUTE) {
        const int64_t peer =
            statement->is_relative ? (int64_t)rank + statement->offset : (int64_t)out_work->peer;
        if (peer < 0 || peer >= workload->ranks)
            words_refuse(words, "rank %u has no rank %+lld from it", rank,
                         (long long)statement->offset);
        else if (peer == rank)
            words_refuse(words, "rank %u sends to itself", rank);
        out_work->peer = (uint32_t)peer;
    }
    return words->status == RONDE_OK;
}

/* Gives the program to each of its ranks. */
static void end_program(struct script *script)
{
    struct ronde_workload *workload = script->workload;
    const uint32_t *ranks = script->set.items, *deps = script->deps.items, line = script->words.line;
    const struct statement *all = script->statements.items;
    const uint64_t items = (uint64_t)script->set.count * script->statements.count;
    refuse_giants(script, workload->work_count + items);
    for (uint32_t r = 0; r < script->set.count && script->words.status == RONDE_OK; r++) {
        const uint32_t first = workload->work_count;
        for (uint32_t s = 0; s < script->statements.count; s++) {
            struct ronde_work work;
            const struct ronde_work *from = &all[s].work;
            if (!place(script, &all[s], ranks[r], &work))
                return;
            words_keep(&script->words, ronde_workload_add(workload, &work, script->words.error));
            for (uint32_t d = 0; d < from->dep_count && script->words.status == RONDE_OK; d++) {
                const struct ronde_work_dep dep = {first + deps[from->first_dep + d], false};
                words_keep(&script->words,
                           ronde_workload_depend(workload, dep, script->words.error));
            }
            if (script->words.status != RONDE_OK)
                return;
        }
    }
    script->words.line = line;
    script->set.count = 0;
    script->statements.count = 0;
    script->deps.count = 0;
    labels_clear(&script->labels);
}

/* A trace of a profiler, a flight recorder's dump or a pickle, compressed or not, is what people have beside workloads. */
static bool is_recorded(const struct words *words)
{
    static const char firsts[] = {'{', '[', '\x1f', '\x80'};
    return words->bytes > 0 && memchr(firsts, words->text[0], sizeof firsts);
}

static void read_head(struct script *script)
{
    struct words *words = &script->words;
    const bool is_text = words_line(words);
    if (is_recorded(words))
        words_refuse(words,
                     "no workload, which begins with \"ronde-workload 1\"; what ran, in a trace "
                     "or a log, is read by ronde explain");
    else if (!is_text || !words_is(words_next(words), "ronde-workload"))
        words_refuse(words, "expected \"ronde-workload 1\"");
    (void)words_number(words, words_next(words), "version", 1, 1);
    end_line(script);
    if (!words_line(words) || !words_is(words_next(words), "ranks"))
        words_refuse(words, "expected \"ranks N\"");
    const uint32_t ranks =
        (uint32_t)words_number(words, words_next(words), "ranks", 1, RONDE_WORKLOAD_RANKS);
    end_line(script);
    if (words->status == RONDE_OK)
        words->status =
            ronde_workload_create(ranks, words->path, script->mem, &script->workload, words->error);
}

static void read_script(struct script *script)
{
    struct words *words = &script->words;
    bool is_in_program = false;
    read_head(script);
    while (words_line(words)) {
        const struct label_text first = words_next(words);
        if (words_is(first, "on")) {
            end_program(script);
            script_read_set(script, words_next(words));
            end_line(script);
            is_in_program = true;
        } else if (words_is(first, "groups") && !is_in_program) {
            script_read_groups(script);
        } else if (is_in_program) {
            read_statement(script, first);
        } else {
            words_refuse(words, "expected \"groups\" or \"on\"");
        }
    }
    if (words->status == RONDE_OK && is_in_program)
        end_program(script);
}

/* ronde's own form. As ronde_workload_parse. */
static enum ronde_status read_text(const char *text, size_t bytes, const char *path,
                                   const struct ronde_mem *mem,
                                   struct ronde_workload **out_workload, struct ronde_error *error)
{
    struct script script = {
        .words = {.text = text, .bytes = bytes, .line = 1, .path = path, .error = error},
        .mem = mem,
        .families = {.mem = mem},
        .labels = {.mem = mem},
    };
    read_script(&script);
    labels_free(&script.families);
    labels_free(&script.labels);
    ronde_list_free(mem, &script.group_of, sizeof(uint32_t));
    ronde_list_free(mem, &script.statements, sizeof(struct statement));
    ronde_mem_free(mem, script.deps.items, script.deps.capacity, sizeof(uint32_t));
    ronde_mem_free(mem, script.set.items, script.set.capacity, sizeof(uint32_t));
    if (script.words.status == RONDE_OK)
        *out_workload = script.workload;
    else
        ronde_workload_destroy(script.workload);
    return script.words.status;
}

enum ronde_status
ronde_workload_parse(const char *text, size_t bytes, const char *path, const struct ronde_mem *mem,
                     struct ronde_workload **out_workload, struct ronde_error *error)
{
    *out_workload = NULL;
    return ronde_goal_is(text, bytes)
               ? workload_read_goal(text, bytes, path, mem, out_workload, error)
               : read_text(text, bytes, path, mem, out_workload, error);
}
