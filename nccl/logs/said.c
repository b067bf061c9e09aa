/*
 * The lines of an NCCL log as statements.
 *
 * Every line is printed by a process, which its prefix names (host:process:thread), on behalf of a rank. A process states
 * rings, then trees, of one communicator after the other: what comes after its trees, or states a channel again, is about
 * the next, unless it has named the communicator (lines.c).
 */
#include "said.h"

#include <inttypes.h>
#include <string.h>

/* What NCCL puts before its lines. */
static const char mark_text[] = "NCCL INFO ";

/* What Ray puts behind a line that stands for others. */
static const char repeated_text[] = " [repeated ";

/* Who speaks: a process and the rank it speaks for. */
struct speaker {
    uint64_t process;      /* hash of its prefix */
    uint32_t rank;         /* as it was last */
    uint32_t communicator; /* that it is about */
    uint32_t last_order;   /* channel of the last whole ring, or RONDE_NONE */
    uint32_t last_ring;    /* channel of the last neighbours, or RONDE_NONE */
    bool has_trees;
};

/* "rank R nranks N", of a line that ends in "Init COMPLETE". */
struct size_said {
    uint64_t process;
    uint32_t rank;
    uint32_t ranks;
};

/* The walk through a log. */
struct walk {
    struct nccl_log *log;
    struct ronde_list speakers; /* struct speaker */
    struct ronde_list hosts;    /* uint64_t, hashes */
    struct ronde_list sizes;    /* struct size_said, in the order of the log */
    struct nccl_identities identities;
    struct nccl_cursor prefix; /* of the line */
    uint64_t process;          /* of the line */
    uint64_t statement;        /* hash of the last line that stated something */
    uint32_t line;
    bool is_open; /* it is the last and has no end */
};

void nccl_leave_out(struct nccl_log *log, uint32_t line, const char *why)
{
    if (log->unread_line == 0) {
        log->unread_line = line;
        log->unread = why;
    }
}

/* A line that cannot be read costs itself: the others may say as much. */
static bool leave_out(struct walk *walk, const char *why)
{
    nccl_leave_out(walk->log, walk->line, why);
    return true;
}

static bool no_memory(const struct walk *walk)
{
    (void)ronde_fail(walk->log->error, RONDE_NO_MEMORY, "%s: no memory for the log",
                     walk->log->name);
    return false;
}

/* Appends an item to one of the lists. */
static bool keep(struct walk *walk, struct ronde_list *list, const void *item, size_t item_bytes)
{
    return ronde_list_append(walk->log->mem, list, item, item_bytes) || no_memory(walk);
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
static bool note_host(struct walk *walk, struct nccl_cursor prefix)
{
    unsigned colons = 0;
    while (prefix.end > prefix.at && colons < 2)
        colons += *--prefix.end == ':';
    const uint64_t host = nccl_hash(prefix.at, prefix.end);
    const uint64_t *hosts = walk->hosts.items;
    if (prefix.at == prefix.end)
        return true;
    for (uint32_t h = 0; h < walk->hosts.count; h++)
        if (hosts[h] == host)
            return true;
    return keep(walk, &walk->hosts, &host, sizeof host);
}

/* The speaker of the line for a rank; NULL without memory. */
static struct speaker *find_speaker(struct walk *walk, uint32_t rank)
{
    struct speaker *speakers = walk->speakers.items;
    for (uint32_t s = walk->speakers.count; s-- > 0;)
        if (speakers[s].process == walk->process && speakers[s].rank == rank)
            return &speakers[s];
    const struct speaker added = {walk->process, rank, 0, RONDE_NONE, RONDE_NONE, false};
    return keep(walk, &walk->speakers, &added, sizeof added)
               ? (struct speaker *)walk->speakers.items + walk->speakers.count - 1
               : NULL;
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
        *speaker = (struct speaker){.process = speaker->process,
                                    .rank = speaker->rank,
                                    .communicator = speaker->communicator + 1,
                                    .last_order = RONDE_NONE,
                                    .last_ring = RONDE_NONE};
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
    struct nccl_size *sizes = walk->log->sizes.items;
    for (uint32_t i = 0; i < walk->log->said.count; i++)
        number_unnamed(walk, &said[i].communicator);
    for (uint32_t i = 0; i < walk->log->cuts.count; i++)
        number_unnamed(walk, &cuts[i].communicator);
    for (uint32_t i = 0; i < walk->log->sizes.count; i++)
        number_unnamed(walk, &sizes[i].communicator);
}

/* --- how many ranks -------------------------------------------------------------------------- */

static bool add_size(struct walk *walk, uint32_t communicator, uint32_t ranks, bool is_sure)
{
    const struct nccl_size size = {communicator, ranks, is_sure};
    return keep(walk, &walk->log->sizes, &size, sizeof size);
}

/* "... rank 3 nranks 64 ... - Init COMPLETE". */
static bool note_size(struct walk *walk, struct nccl_cursor line)
{
    int32_t rank, ranks;
    if (!nccl_go_behind(&line, " rank ") || !nccl_take_number(&line, &rank) ||
        !nccl_take_text(&line, "nranks ") || !nccl_take_number(&line, &ranks) || rank < 0 ||
        ranks <= rank || !nccl_go_behind(&line, "Init COMPLETE"))
        return true;
    const struct size_said said = {walk->process, (uint32_t)rank, (uint32_t)ranks};
    return keep(walk, &walk->sizes, &said, sizeof said);
}

/* Communicators without a name are complete in the order of their rings, where as many are as have stated some. */
static bool match_sizes(struct walk *walk, const struct speaker *speaker)
{
    const struct size_said *sizes = walk->sizes.items;
    uint32_t count = 0, next = UNNAMED;
    for (uint32_t i = 0; i < walk->sizes.count; i++)
        count += sizes[i].process == speaker->process && sizes[i].rank == speaker->rank;
    if (count != speaker->communicator - UNNAMED + 1)
        return true;
    for (uint32_t i = 0; i < walk->sizes.count; i++)
        if (sizes[i].process == speaker->process && sizes[i].rank == speaker->rank &&
            !add_size(walk, next++, sizes[i].ranks, false))
            return false;
    return true;
}

static bool settle_sizes(struct walk *walk)
{
    const struct speaker *speakers = walk->speakers.items;
    uint32_t communicator, ranks;
    for (uint32_t s = 0; s < walk->speakers.count; s++)
        if (speakers[s].communicator >= UNNAMED && !match_sizes(walk, &speakers[s]))
            return false;
    for (uint32_t i = 0; nccl_identity_size(&walk->identities, i, &communicator, &ranks); i++)
        if (communicator != RONDE_NONE && ranks > 0 && !add_size(walk, communicator, ranks, true))
            return false;
    return true;
}

/* --- statements ------------------------------------------------------------------------------ */

/* Adds a statement of a speaker. */
static bool add(struct walk *walk, const struct speaker *speaker, struct nccl_said said)
{
    said.communicator = speaker->communicator;
    said.line = walk->line;
    said.is_open = walk->is_open;
    return keep(walk, &walk->log->said, &said, sizeof said);
}

/* Which ring a line is about, and of how many. */
struct ring {
    uint32_t channel;
    uint32_t of;    /* 0 = not said */
    uint32_t order; /* ranks on its line, where that is of the whole; else 0 */
};

static bool add_edge(struct walk *walk, const struct speaker *speaker, const struct ring *ring,
                     uint32_t from, uint32_t to)
{
    return add(walk, speaker,
               (struct nccl_said){.channel = ring->channel,
                                  .rings = ring->of,
                                  .rank = from,
                                  .next = to,
                                  .order = ring->order});
}

/* "NN" or "NN/MM", and the colon. */
static bool take_channel(struct nccl_cursor *cursor, struct ring *out_ring)
{
    const int32_t most = NCCL_MOST_CHANNELS;
    int32_t channel, of = 0;
    if (!nccl_take_number(cursor, &channel) || channel < 0 || channel >= most)
        return false;
    if (nccl_take_text(cursor, "/") && (!nccl_take_number(cursor, &of) || of < 0 || of > most))
        return false;
    *out_ring = (struct ring){(uint32_t)channel, (uint32_t)of, 0};
    return nccl_take_text(cursor, ":");
}

/* Ranks behind the first; 0 where they come back to it before their end, or something else is among them. */
static uint32_t count_ranks(struct nccl_cursor cursor, int32_t first, const char **out_why)
{
    uint32_t count = 1;
    int32_t next;
    for (; nccl_take_number(&cursor, &next) && next >= 0; count++)
        if (next == first) {
            *out_why = "a ring that is back at its first rank before its end";
            return 0;
        }
    *out_why = "a ring with something among its ranks that is none";
    return nccl_is_over(cursor) ? count : 0;
}

static bool add_cut(struct walk *walk, const struct speaker *speaker, uint32_t channel,
                    uint32_t last, uint32_t first)
{
    const struct nccl_cut cut = {speaker->communicator, walk->line, channel, last, first};
    return keep(walk, &walk->log->cuts, &cut, sizeof cut);
}

/* NCCL cuts a long ring off, by "..." in place of its last characters: the number before them may be half of one. */
static bool read_order(struct walk *walk, struct nccl_cursor cursor)
{
    struct nccl_cursor dots = {cursor.end - 3, cursor.end};
    const bool is_cut = cursor.end - cursor.at > 3 && nccl_take_text(&dots, "...");
    struct ring ring;
    int32_t first, rank, next;
    const char *why = NULL;
    if (!take_channel(&cursor, &ring) || !nccl_take_number(&cursor, &first) || first < 0)
        return leave_out(walk, "a ring that ends early: expected Channel NN/NN : and ranks");
    const uint32_t count = ring.order = is_cut ? 0 : count_ranks(cursor, first, &why);
    if (!is_cut && count == 0)
        return leave_out(walk, why);
    struct speaker *speaker = find_speaker(walk, 0);
    if (!speaker)
        return false;
    turn_to(walk, speaker, NCCL_LINE_ORDER, ring.channel);
    if (is_cut)
        return add_cut(walk, speaker, ring.channel, RONDE_NONE, RONDE_NONE);
    for (rank = first; nccl_take_number(&cursor, &next) && next >= 0; rank = next)
        if (!add_edge(walk, speaker, &ring, (uint32_t)rank, (uint32_t)next))
            return false;
    return count == NCCL_OLD_MOST_RANKS
               ? add_cut(walk, speaker, ring.channel, (uint32_t)rank, (uint32_t)first)
               : add_edge(walk, speaker, &ring, (uint32_t)rank, (uint32_t)first);
}

static bool read_ring(struct walk *walk, struct nccl_cursor cursor)
{
    struct ring ring;
    int32_t before, rank, next;
    if (!take_channel(&cursor, &ring) || !nccl_take_number(&cursor, &before) ||
        !nccl_take_text(&cursor, "->") || !nccl_take_number(&cursor, &rank) ||
        !nccl_take_text(&cursor, "->") || !nccl_take_number(&cursor, &next) ||
        !nccl_is_over(cursor) || before < 0 || rank < 0 || next < 0)
        return leave_out(walk,
                         "neighbours that end early: expected Ring NN : rank -> rank -> rank");
    struct speaker *speaker = find_speaker(walk, (uint32_t)rank);
    if (!speaker)
        return false;
    turn_to(walk, speaker, NCCL_LINE_RING, ring.channel);
    return add_edge(walk, speaker, &ring, (uint32_t)before, (uint32_t)rank) &&
           add_edge(walk, speaker, &ring, (uint32_t)rank, (uint32_t)next);
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

static bool read_trees(struct walk *walk, struct nccl_cursor cursor)
{
    static const char early[] =
        "trees that end early: expected [N] child/child/child->rank->parent";
    struct speaker *speaker = NULL;
    struct nccl_cursor before;
    do {
        struct ronde_nccl_branch branch;
        int32_t tree, rank;
        before = cursor;
        if (!take_branch(&cursor, &tree, &rank, &branch))
            break;
        skip_way_down(&cursor);
        if (!speaker) {
            speaker = find_speaker(walk, (uint32_t)rank);
            if (!speaker)
                return false;
            turn_to(walk, speaker, NCCL_LINE_TREES, (uint32_t)tree);
        }
        if (!add(walk, speaker,
                 (struct nccl_said){.channel = (uint32_t)tree,
                                    .rank = (uint32_t)rank,
                                    .branch = branch,
                                    .is_tree = true}))
            return false;
        before = cursor;
    } while (nccl_take_text(&cursor, "["));
    /* Behind them Ray says "[repeated 7x ...]", and RCCL which communicator it is. */
    int32_t tree;
    const bool is_tree = before.at != cursor.at && nccl_take_number(&cursor, &tree);
    struct nccl_cursor behind = before;
    const bool is_broken = is_tree || !nccl_is_over(before) || nccl_go_behind(&behind, "->");
    return speaker && !is_broken ? true : leave_out(walk, early);
}

/* --- lines ----------------------------------------------------------------------------------- */

/* Whether a thread of this prefix has spoken before. */
static bool is_known(const struct walk *walk, uint64_t prefix)
{
    const struct speaker *speakers = walk->speakers.items;
    for (uint32_t s = 0; s < walk->speakers.count; s++)
        if (speakers[s].process == prefix)
            return true;
    return nccl_identity_knows(&walk->identities, prefix);
}

/*
 * Where the line of a later mark begins: at its prefix, which may stand behind the last number of the line before without
 * a blank. *out_is_sure: not where a prefix that is new begins with a digit.
 */
static const char *begin_of(const struct walk *walk, const char *line, const char *mark,
                            bool *out_is_sure)
{
    const struct nccl_cursor prefix = prefix_of(line, mark);
    *out_is_sure = true;
    for (const char *at = prefix.at; at < prefix.end; at++)
        if (is_known(walk, nccl_hash(at, prefix.end)))
            return at;
    *out_is_sure =
        prefix.at < prefix.end && *prefix.at != '-' && !(*prefix.at >= '0' && *prefix.at <= '9');
    return prefix.at;
}

static const char *find_mark(const char *at, const char *end)
{
    const size_t length = sizeof mark_text - 1;
    for (; (size_t)(end - at) >= length; at++)
        if (memcmp(at, mark_text, length) == 0)
            return at;
    return NULL;
}

/* Behind the mark, or the whole line where somebody has cut that off. */
static bool read_line(struct walk *walk, const char *line, const char *end)
{
    struct nccl_cursor cursor = {line, end}, prefix = {line, line};
    const char *mark = find_mark(line, end);
    if (mark) {
        prefix = prefix_of(line, mark);
        cursor.at = mark + sizeof mark_text - 1;
    }
    while (cursor.end > cursor.at && (cursor.end[-1] == '\r' || cursor.end[-1] == ' '))
        cursor.end--;
    walk->prefix = prefix;
    walk->process = nccl_hash(prefix.at, prefix.end);
    struct nccl_cursor repeated = cursor;
    const enum nccl_line kind = nccl_line_kind(&cursor);
    if (kind == NCCL_LINE_OTHER) {
        const uint32_t made = walk->identities.made.count;
        if (!nccl_identity_note(&walk->identities, &prefix, &cursor))
            return no_memory(walk);
        if (walk->identities.made.count > made)
            walk->statement = 0;
        return note_size(walk, cursor);
    }
    const bool is_repeated = nccl_go_behind(&repeated, repeated_text);
    if (is_repeated && walk->log->repeated_line == 0)
        walk->log->repeated_line = walk->line;
    /* Some launchers write every line twice. */
    const uint64_t before = walk->statement;
    const char *stated = is_repeated ? repeated.at - strlen(repeated_text) : cursor.end;
    walk->statement = walk->process ^ nccl_hash(cursor.at, stated);
    if (walk->statement == before)
        return true;
    if (!note_host(walk, prefix))
        return false;
    return kind == NCCL_LINE_ORDER  ? read_order(walk, cursor)
           : kind == NCCL_LINE_RING ? read_ring(walk, cursor)
                                    : read_trees(walk, cursor);
}

/* Processes write to one stream: several of their lines may be on one. */
static bool read_glued(struct walk *walk, struct nccl_cursor line)
{
    for (const char *mark = find_mark(line.at, line.end), *next;; mark = next) {
        next = mark ? find_mark(mark + 1, line.end) : NULL;
        bool is_sure = true;
        const char *begin = next ? begin_of(walk, mark + 1, next, &is_sure) : line.end;
        if (!is_sure)
            (void)leave_out(walk, "two lines on one, of which the first has no clear end");
        else if (!read_line(walk, line.at, begin))
            return false;
        if (!next)
            return true;
        line.at = begin;
    }
}

/* Without the tags in it, where it has some. */
static bool read_tagged(struct walk *walk, struct nccl_cursor line)
{
    const size_t bytes = (size_t)(line.end - line.at);
    if (!memchr(line.at, '<', bytes) && !memchr(line.at, '\x1b', bytes))
        return read_glued(walk, line);
    char *room = ronde_mem_new(walk->log->mem, bytes, 1);
    if (!room)
        return no_memory(walk);
    const bool is_read =
        read_glued(walk, (struct nccl_cursor){room, room + nccl_drop_tags(&line, false, room)});
    ronde_mem_free(walk->log->mem, room, bytes, 1);
    return is_read;
}

bool nccl_log_collect(struct nccl_log *log, const char *text, size_t bytes)
{
    struct walk walk = {.log = log, .identities = {.mem = log->mem}};
    const char *const end = text + bytes;
    bool is_read = true;
    for (const char *line = text; line < end && is_read;) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        const struct nccl_cursor now = {line, next ? next : end};
        walk.line++;
        walk.is_open = !next;
        is_read = read_tagged(&walk, now);
        line = next ? next + 1 : end;
    }
    is_read = is_read && settle_sizes(&walk);
    number_communicators(&walk);
    nccl_identity_clear(&walk.identities);
    log->hosts = walk.hosts.count > 0 ? walk.hosts.count : 1;
    ronde_list_free(log->mem, &walk.speakers, sizeof(struct speaker));
    ronde_list_free(log->mem, &walk.hosts, sizeof(uint64_t));
    ronde_list_free(log->mem, &walk.sizes, sizeof(struct size_said));
    return is_read;
}
