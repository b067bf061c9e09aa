/*
 * The lines of an NCCL log as statements.
 *
 * Every line is printed by a process, which its prefix names (host:process:thread), on behalf of a rank. A process states
 * rings, then trees, of one communicator after the other: what comes after its trees, or states a channel again, is about
 * the next, unless it has named the communicator (identity.h).
 */
#include "said.h"
#include "identity.h"

#include <inttypes.h>
#include <string.h>

/* Who speaks: a process and the rank it speaks for. */
struct speaker {
    uint64_t process;      /* hash of its prefix */
    uint32_t rank;         /* as it was last */
    uint32_t communicator; /* that it is about */
    uint32_t last_order;   /* channel of the last whole ring, or RONDE_NONE */
    uint32_t last_ring;    /* channel of the last neighbours, or RONDE_NONE */
    bool has_trees;
};

/* The walk through a log. */
struct walk {
    struct nccl_log *log;
    struct ronde_list speakers; /* struct speaker */
    struct ronde_list hosts;    /* uint64_t, hashes */
    struct nccl_identities identities;
    struct nccl_cursor prefix; /* of the line */
    uint64_t process;          /* of the line */
    uint32_t line;
};

static enum ronde_status fail(struct walk *walk, const char *what)
{
    return ronde_fail_at(walk->log->error, RONDE_BAD_INPUT, walk->line, "%s:%" PRIu32 ": %s",
                         walk->log->name, walk->line, what);
}

static enum ronde_status fail_memory(struct walk *walk)
{
    return ronde_fail(walk->log->error, RONDE_NO_MEMORY, "%s: no memory for the log",
                      walk->log->name);
}

/* --- who speaks ------------------------------------------------------------------------------ */

/* The word host:process:thread before "[device] NCCL INFO"; launchers put their own before it, up to a '>'. */
static struct nccl_cursor prefix_of(const char *line, const char *mark)
{
    const char *end = mark;
    while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if (end > line && end[-1] == ']')
        while (end > line && *end != '[')
            end--;
    while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    const char *at = end;
    while (at > line && at[-1] != ' ' && at[-1] != '\t' && at[-1] != '>')
        at--;
    return (struct nccl_cursor){at, end};
}

/* The host is what stands before the last two numbers. */
static enum ronde_status note_host(struct walk *walk, struct nccl_cursor prefix)
{
    unsigned colons = 0;
    while (prefix.end > prefix.at && colons < 2)
        colons += *--prefix.end == ':';
    const uint64_t host = nccl_hash(prefix.at, prefix.end);
    const uint64_t *hosts = walk->hosts.items;
    if (prefix.at == prefix.end)
        return RONDE_OK;
    for (uint32_t h = 0; h < walk->hosts.count; h++)
        if (hosts[h] == host)
            return RONDE_OK;
    uint64_t *kept = ronde_list_push(walk->log->mem, &walk->hosts, sizeof *kept);
    if (!kept)
        return fail_memory(walk);
    *kept = host;
    return RONDE_OK;
}

static struct speaker *find_speaker(struct walk *walk, uint32_t rank)
{
    struct speaker *speakers = walk->speakers.items;
    for (uint32_t s = walk->speakers.count; s-- > 0;)
        if (speakers[s].process == walk->process && speakers[s].rank == rank)
            return &speakers[s];
    struct speaker *added = ronde_list_push(walk->log->mem, &walk->speakers, sizeof *added);
    if (added)
        *added = (struct speaker){walk->process, rank, 0, RONDE_NONE, RONDE_NONE, false};
    return added;
}

/* Communicators that nobody named are counted from here on, until all lines are read. */
#define UNNAMED (RONDE_NONE / 2)

/*
 * Which communicator the line is about: the one that its thread named, else the speaker's next where its trees, or this
 * channel, were stated before.
 */
static void turn_to(struct walk *walk, struct speaker *speaker, enum nccl_line kind,
                    uint32_t channel)
{
    uint32_t *last = kind == NCCL_LINE_ORDER ? &speaker->last_order : &speaker->last_ring;
    const bool is_again = kind == NCCL_LINE_TREES ? false : *last != RONDE_NONE && channel <= *last;
    const uint32_t named = nccl_identity_find(&walk->identities, &walk->prefix);
    if (named != RONDE_NONE) {
        speaker->communicator = named;
        return;
    }
    if (speaker->communicator < UNNAMED)
        speaker->communicator = UNNAMED;
    if (speaker->has_trees || is_again)
        *speaker = (struct speaker){speaker->process, speaker->rank, speaker->communicator + 1,
                                    RONDE_NONE,       RONDE_NONE,    false};
    if (kind == NCCL_LINE_TREES)
        speaker->has_trees = true;
    else
        *last = channel;
}

/* Behind those that were named; where one was, the first of each process is that one. */
static void number_unnamed(struct walk *walk, uint32_t *io_communicator)
{
    const uint32_t first = walk->identities.count > 1 ? walk->identities.count : 0;
    if (*io_communicator >= UNNAMED)
        *io_communicator = first + *io_communicator - UNNAMED;
    if (*io_communicator >= walk->log->communicators)
        walk->log->communicators = *io_communicator + 1;
}

static void number_communicators(struct walk *walk)
{
    struct nccl_said *said = walk->log->said.items;
    struct nccl_cut *cuts = walk->log->cuts.items;
    for (uint32_t i = 0; i < walk->log->said.count; i++)
        number_unnamed(walk, &said[i].communicator);
    for (uint32_t i = 0; i < walk->log->cuts.count; i++)
        number_unnamed(walk, &cuts[i].communicator);
}

/* --- statements ------------------------------------------------------------------------------ */

static struct nccl_said *add(struct walk *walk, const struct speaker *speaker, uint32_t channel)
{
    struct nccl_said *said = ronde_list_push(walk->log->mem, &walk->log->said, sizeof *said);
    if (said) {
        said->communicator = speaker->communicator;
        said->line = walk->line;
        said->channel = channel;
    }
    return said;
}

static enum ronde_status add_edge(struct walk *walk, const struct speaker *speaker,
                                  uint32_t channel, uint32_t from, uint32_t to)
{
    struct nccl_said *said = add(walk, speaker, channel);
    if (!said)
        return fail_memory(walk);
    said->rank = from;
    said->next = to;
    return RONDE_OK;
}

/* "NN" or "NN/MM", and the colon. */
static bool take_channel(struct nccl_cursor *cursor, uint32_t *out_channel)
{
    int32_t channel, of;
    if (!nccl_take_number(cursor, &channel) || channel < 0 || channel >= (int32_t)NCCL_MOST_CHANNELS)
        return false;
    if (nccl_take_text(cursor, "/") && !nccl_take_number(cursor, &of))
        return false;
    *out_channel = (uint32_t)channel;
    return nccl_take_text(cursor, ":");
}

static bool is_over(const struct nccl_cursor *cursor)
{
    for (const char *at = cursor->at; at < cursor->end; at++)
        if (*at != ' ' && *at != '\t' && *at != '\r')
            return false;
    return true;
}

/* NCCL cuts a long ring off, by "..." in place of its last characters: the number before them may be half of one. */
static enum ronde_status read_order(struct walk *walk, struct nccl_cursor cursor)
{
    struct nccl_cursor dots = {cursor.end - 3, cursor.end};
    const bool is_cut = cursor.end - cursor.at > 3 && nccl_take_text(&dots, "...");
    uint32_t channel;
    int32_t first, rank, next;
    if (!take_channel(&cursor, &channel) || !nccl_take_number(&cursor, &first) || first < 0)
        return fail(walk, "a ring that ends early: expected Channel NN/NN : and ranks");
    struct speaker *speaker = find_speaker(walk, 0);
    if (!speaker)
        return fail_memory(walk);
    turn_to(walk, speaker, NCCL_LINE_ORDER, channel);
    if (is_cut) {
        struct nccl_cut *cut = ronde_list_push(walk->log->mem, &walk->log->cuts, sizeof *cut);
        if (!cut)
            return fail_memory(walk);
        *cut = (struct nccl_cut){speaker->communicator, walk->line, channel};
        return RONDE_OK;
    }
    enum ronde_status status = RONDE_OK;
    for (rank = first; status == RONDE_OK && nccl_take_number(&cursor, &next) && next >= 0;
         rank = next)
        status = next == first ? fail(walk, "a ring that is back at its first rank before its end")
                               : add_edge(walk, speaker, channel, (uint32_t)rank, (uint32_t)next);
    if (status == RONDE_OK && !is_over(&cursor))
        return fail(walk, "a ring with something among its ranks that is none");
    return status == RONDE_OK ? add_edge(walk, speaker, channel, (uint32_t)rank, (uint32_t)first)
                              : status;
}

static enum ronde_status read_ring(struct walk *walk, struct nccl_cursor cursor)
{
    uint32_t channel;
    int32_t before, rank, next;
    if (!take_channel(&cursor, &channel) || !nccl_take_number(&cursor, &before) ||
        !nccl_take_text(&cursor, "->") || !nccl_take_number(&cursor, &rank) ||
        !nccl_take_text(&cursor, "->") || !nccl_take_number(&cursor, &next) || !is_over(&cursor) ||
        before < 0 || rank < 0 || next < 0)
        return fail(walk, "neighbours that end early: expected Ring NN : rank -> rank -> rank");
    struct speaker *speaker = find_speaker(walk, (uint32_t)rank);
    if (!speaker)
        return fail_memory(walk);
    turn_to(walk, speaker, NCCL_LINE_RING, channel);
    const enum ronde_status status =
        add_edge(walk, speaker, channel, (uint32_t)before, (uint32_t)rank);
    return status == RONDE_OK ? add_edge(walk, speaker, channel, (uint32_t)rank, (uint32_t)next)
                              : status;
}

/* "a/b/c". */
static bool take_children(struct nccl_cursor *cursor, struct ronde_nccl_branch *out_branch)
{
    int32_t down;
    for (unsigned i = 0; i < RONDE_NCCL_MOST_CHILDREN; i++) {
        if ((i > 0 && !nccl_take_text(cursor, "/")) || !nccl_take_number(cursor, &down))
            return false;
        out_branch->down[i] = down < 0 ? RONDE_NONE : (uint32_t)down;
    }
    return true;
}

/* "N] a/b/c->rank->up", behind the bracket; until 2.4 "N] up->rank->a/b/c". */
static bool take_branch(struct nccl_cursor *cursor, int32_t *out_tree, int32_t *out_rank,
                        struct ronde_nccl_branch *out_branch)
{
    int32_t up = -1;
    if (!nccl_take_number(cursor, out_tree) || !nccl_take_text(cursor, "]"))
        return false;
    struct nccl_cursor ahead = *cursor;
    const bool is_up_first = nccl_take_number(&ahead, &up) && nccl_take_text(&ahead, "->");
    if (is_up_first)
        *cursor = ahead;
    else if (!take_children(cursor, out_branch) || !nccl_take_text(cursor, "->"))
        return false;
    if (!nccl_take_number(cursor, out_rank) || !nccl_take_text(cursor, "->") ||
        !(is_up_first ? take_children(cursor, out_branch) : nccl_take_number(cursor, &up)))
        return false;
    out_branch->up = up < 0 ? RONDE_NONE : (uint32_t)up;
    return *out_rank >= 0 && *out_tree >= 0 && *out_tree < (int32_t)NCCL_MOST_CHANNELS;
}

/* Before 2.8 the way down stood beside the way up: "[0] 1/-1/-1->0->-1|-1->0->1/-1/-1". */
static void skip_way_down(struct nccl_cursor *cursor)
{
    if (nccl_take_text(cursor, "|"))
        while (cursor->at < cursor->end && *cursor->at != ' ')
            cursor->at++;
}

static enum ronde_status read_trees(struct walk *walk, struct nccl_cursor cursor)
{
    static const char early[] =
        "trees that end early: expected [N] child/child/child->rank->parent";
    struct speaker *speaker = NULL;
    do {
        struct ronde_nccl_branch branch;
        int32_t tree, rank;
        if (!take_branch(&cursor, &tree, &rank, &branch))
            return fail(walk, early);
        skip_way_down(&cursor);
        if (!speaker) {
            speaker = find_speaker(walk, (uint32_t)rank);
            if (!speaker)
                return fail_memory(walk);
            turn_to(walk, speaker, NCCL_LINE_TREES, (uint32_t)tree);
        }
        struct nccl_said *said = add(walk, speaker, (uint32_t)tree);
        if (!said)
            return fail_memory(walk);
        said->is_tree = true;
        said->rank = (uint32_t)rank;
        said->branch = branch;
    } while (nccl_take_text(&cursor, "["));
    return is_over(&cursor) ? RONDE_OK : fail(walk, early);
}

/* --- lines ----------------------------------------------------------------------------------- */

/* Behind "NCCL INFO", or the whole line where somebody has cut that off. */
static enum ronde_status read_line(struct walk *walk, const char *line, const char *end)
{
    static const char mark[] = "NCCL INFO ";
    const size_t length = sizeof mark - 1;
    struct nccl_cursor cursor = {line, end}, prefix = {line, line};
    for (const char *at = line; (size_t)(end - at) >= length; at++)
        if (memcmp(at, mark, length) == 0) {
            prefix = prefix_of(line, at);
            cursor.at = at + length;
            break;
        }
    while (cursor.end > cursor.at && (cursor.end[-1] == '\r' || cursor.end[-1] == ' '))
        cursor.end--;
    const enum nccl_line kind = nccl_line_kind(&cursor);
    if (kind == NCCL_LINE_OTHER)
        return nccl_identity_note(&walk->identities, &prefix, &cursor) ? RONDE_OK
                                                                       : fail_memory(walk);
    walk->prefix = prefix;
    walk->process = nccl_hash(prefix.at, prefix.end);
    const enum ronde_status status = note_host(walk, prefix);
    if (status != RONDE_OK)
        return status;
    return kind == NCCL_LINE_ORDER  ? read_order(walk, cursor)
           : kind == NCCL_LINE_RING ? read_ring(walk, cursor)
                                    : read_trees(walk, cursor);
}

enum ronde_status nccl_log_collect(struct nccl_log *log, const char *text, size_t bytes)
{
    struct walk walk = {.log = log, .identities = {.mem = log->mem}};
    const char *const end = text + bytes;
    enum ronde_status status = RONDE_OK;
    for (const char *line = text; line < end && status == RONDE_OK;) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        walk.line++;
        status = read_line(&walk, line, next ? next : end);
        line = next ? next + 1 : end;
    }
    number_communicators(&walk);
    nccl_identity_clear(&walk.identities);
    log->hosts = walk.hosts.count > 0 ? walk.hosts.count : 1;
    ronde_list_free(log->mem, &walk.speakers, sizeof(struct speaker));
    ronde_list_free(log->mem, &walk.hosts, sizeof(uint64_t));
    return status;
}
