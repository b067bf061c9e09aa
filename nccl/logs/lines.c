/* Words and numbers of NCCL's lines, and which lines are about rings and trees. See said.h. */
#include "said.h"

#include <ctype.h>
#include <string.h>

static void skip_blanks(struct nccl_cursor *cursor)
{
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\t'))
        cursor->at++;
}

static bool is_digit(const struct nccl_cursor *cursor)
{
    return cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9';
}

bool nccl_take_text(struct nccl_cursor *cursor, const char *text)
{
    struct nccl_cursor own = *cursor;
    const size_t length = strlen(text);
    skip_blanks(&own);
    if ((size_t)(own.end - own.at) < length || memcmp(own.at, text, length) != 0)
        return false;
    cursor->at = own.at + length;
    return true;
}

bool nccl_take_number(struct nccl_cursor *cursor, int32_t *out_number)
{
    struct nccl_cursor own = *cursor;
    const int64_t most = RONDE_MAX_RANKS;
    int64_t number = 0;
    skip_blanks(&own);
    const bool is_negative = own.at < own.end && *own.at == '-';
    own.at += is_negative;
    if (!is_digit(&own))
        return false;
    const char *digits = own.at;
    for (; is_digit(&own); own.at++)
        number = number > most ? number : 10 * number + (*own.at - '0');
    /* Channels have two digits; more behind a 0 are another line's. */
    if (number > most || (*digits == '0' && own.at - digits > 2))
        return false;
    *out_number = (int32_t)(is_negative ? -number : number);
    cursor->at = own.at;
    return true;
}

bool nccl_go_behind(struct nccl_cursor *cursor, const char *text)
{
    const size_t length = strlen(text);
    for (const char *at = cursor->at; (size_t)(cursor->end - at) >= length; at++)
        if (memcmp(at, text, length) == 0) {
            cursor->at = at + length;
            return true;
        }
    return false;
}

bool nccl_is_over(struct nccl_cursor cursor)
{
    const char *at = cursor.at;
    skip_blanks(&cursor);
    while (cursor.end > cursor.at && cursor.end[-1] == '\r')
        cursor.end--;
    if (cursor.at == cursor.end || *cursor.at == '[')
        return true;
    return cursor.at > at && cursor.end - cursor.at > 1 && isalpha((unsigned char)cursor.at[0]) &&
           isalpha((unsigned char)cursor.at[1]);
}

/* The length of a launcher's tag that begins here, "[1,0]<stdout>:", or bare, "[0]"; 0 where none does. */
static size_t tag_length(const char *at, const char *end, bool are_bare)
{
    static const char *const streams[] = {"<stdout>:", "<stderr>:"};
    const char *from = at;
    if (at == end || *at++ != '[')
        return 0;
    while (at < end && (isdigit((unsigned char)*at) || *at == ','))
        at++;
    if (at == end || *at != ']' || at == from + 1)
        return 0;
    at++;
    for (size_t s = 0; s < sizeof streams / sizeof streams[0]; s++) {
        const size_t length = strlen(streams[s]);
        if ((size_t)(end - at) >= length && memcmp(at, streams[s], length) == 0)
            return (size_t)(at - from) + length;
    }
    return are_bare ? (size_t)(at - from) : 0;
}

/* The same of a terminal's sequence: "ESC [ parameters letter", and "ESC ( B" of other lengths; an ESC alone is one. */
static size_t escape_length(const char *at, const char *end)
{
    const char *from = at;
    if (at == end || *at++ != '\x1b')
        return 0;
    if (at < end && *at == '[')
        for (at++; at < end && *at >= '0' && *at <= '?';)
            at++;
    while (at < end && *at >= ' ' && *at <= '/')
        at++;
    return (size_t)(at - from) + (at < end && *at >= '0' && *at <= '~');
}

size_t nccl_drop_tags(const struct nccl_cursor *line, bool are_bare, char *out)
{
    char *to = out;
    for (const char *at = line->at; at < line->end;) {
        const size_t tag = tag_length(at, line->end, are_bare);
        const size_t length = tag > 0 ? tag : escape_length(at, line->end);
        if (length > 0)
            at += length;
        else
            *to++ = *at++;
    }
    return (size_t)(to - out);
}

/* Lines on how two ranks are joined begin alike: "Channel 00/0 : 0[0] -> 1[1] via P2P/IPC", once "Ring 00 : 34 -> 33 ...". */
static bool says_via(struct nccl_cursor cursor)
{
    return nccl_go_behind(&cursor, " via ");
}

enum nccl_line nccl_line_kind(struct nccl_cursor *cursor)
{
    if (nccl_take_text(cursor, "Trees ["))
        return NCCL_LINE_TREES;
    const bool is_ring = nccl_take_text(cursor, "Ring ");
    if (!is_ring && !nccl_take_text(cursor, "Channel "))
        return NCCL_LINE_OTHER;
    struct nccl_cursor behind = *cursor;
    int32_t unused;
    /* Sentences begin so too. */
    if (!nccl_take_number(&behind, &unused) || says_via(*cursor) ||
        (!is_ring && nccl_go_behind(&behind, "->")))
        return NCCL_LINE_OTHER;
    return is_ring ? NCCL_LINE_RING : NCCL_LINE_ORDER;
}

/* Lines that name a communicator, and who said them. */

/* A communicator as one rank names it. */
struct nccl_made {
    uint64_t thread;   /* hash of host:process:thread */
    uint64_t process;  /* hash of host:process */
    uint64_t pointer;  /* hash of `comm`, by which its children name it as parent */
    uint64_t identity; /* the same on all ranks */
    uint32_t ranks;    /* 0 = not said */
    uint32_t number;   /* by first use, or RONDE_NONE */
};

#define PRIME 0x100000001b3u

uint64_t nccl_hash(const char *at, const char *end)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; at < end; at++)
        hash = (hash ^ (unsigned char)*at) * PRIME;
    return hash;
}

/* Behind a text; NULL where the line does not have it. */
static const char *find(const struct nccl_cursor *line, const char *text)
{
    struct nccl_cursor own = *line;
    return nccl_go_behind(&own, text) ? own.at : NULL;
}

static uint32_t ranks_of(struct nccl_cursor line)
{
    int32_t ranks;
    return nccl_go_behind(&line, " nranks ") && nccl_take_number(&line, &ranks) && ranks > 0
               ? (uint32_t)ranks
               : 0;
}

/* The hash of the word behind `name`; 0 where the line does not have it. */
static uint64_t word_behind(const struct nccl_cursor *line, const char *name)
{
    const char *at = find(line, name);
    if (!at)
        return 0;
    const char *end = at;
    while (end < line->end && *end != ' ' && *end != '\t')
        end++;
    return nccl_hash(at, end);
}

/* Without the thread: a child is made by another thread than its parent. */
static uint64_t process_of(const struct nccl_cursor *prefix)
{
    const char *end = prefix->end;
    while (end > prefix->at && end[-1] != ':')
        end--;
    return nccl_hash(prefix->at, end > prefix->at ? end : prefix->end);
}

/* The last that has the pointer in the process: pointers come again. */
static uint64_t identity_of_parent(const struct nccl_identities *identities, uint64_t process,
                                   uint64_t pointer)
{
    const struct nccl_made *made = identities->made.items;
    for (uint32_t i = identities->made.count; i-- > 0;)
        if (made[i].process == process && made[i].pointer == pointer)
            return made[i].identity;
    return 0;
}

/* What is alike on all ranks of a communicator, and on no other's; 0 where the line does not say. */
static uint64_t identity_of(const struct nccl_identities *identities, uint64_t process,
                            const struct nccl_cursor *line)
{
    const uint64_t own = word_behind(line, " commId "), parent = word_behind(line, " parent ");
    const uint64_t splits = word_behind(line, " splitCount "),
                   children = word_behind(line, " childCount ");
    if (parent == 0)
        return own;
    uint64_t identity = identity_of_parent(identities, process, parent);
    const uint64_t parts[] = {own, splits, children, word_behind(line, " color "),
                              word_behind(line, " nranks ")};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        identity = (identity ^ parts[i]) * PRIME;
    return identity;
}

bool nccl_identity_note(struct nccl_identities *identities, const struct nccl_cursor *prefix,
                        const struct nccl_cursor *line)
{
    const uint64_t process = process_of(prefix);
    if (prefix->at == prefix->end || !find(line, "Init START"))
        return true;
    const uint64_t identity = identity_of(identities, process, line);
    struct nccl_made *made = ronde_list_push(identities->mem, &identities->made, sizeof *made);
    if (made)
        *made = (struct nccl_made){.thread = nccl_hash(prefix->at, prefix->end),
                                   .process = process,
                                   .pointer = word_behind(line, "comm "),
                                   .identity = identity,
                                   .ranks = ranks_of(*line),
                                   .number = RONDE_NONE};
    return made != NULL;
}

uint32_t nccl_identity_find(struct nccl_identities *identities, const struct nccl_cursor *prefix)
{
    const uint64_t thread = nccl_hash(prefix->at, prefix->end);
    struct nccl_made *made = identities->made.items, *last = NULL;
    for (uint32_t i = identities->made.count; i-- > 0 && !last;)
        if (made[i].thread == thread)
            last = &made[i];
    if (!last || last->identity == 0)
        return RONDE_NONE;
    for (uint32_t i = 0; i < identities->made.count && last->number == RONDE_NONE; i++)
        if (made[i].identity == last->identity)
            last->number = made[i].number;
    if (last->number == RONDE_NONE)
        last->number = identities->count++;
    return last->number;
}

bool nccl_identity_knows(const struct nccl_identities *identities, uint64_t prefix)
{
    const struct nccl_made *made = identities->made.items;
    for (uint32_t i = 0; i < identities->made.count; i++)
        if (made[i].thread == prefix)
            return true;
    return false;
}

bool nccl_identity_size(const struct nccl_identities *identities, uint32_t index,
                        uint32_t *out_number, uint32_t *out_ranks)
{
    const struct nccl_made *made = identities->made.items;
    if (index >= identities->made.count)
        return false;
    *out_number = made[index].number;
    *out_ranks = made[index].ranks;
    return true;
}

void nccl_identity_clear(struct nccl_identities *identities)
{
    ronde_list_free(identities->mem, &identities->made, sizeof(struct nccl_made));
}
