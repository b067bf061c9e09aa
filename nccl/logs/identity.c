/* Lines that name a communicator, and who said them. See identity.h. */
#include "identity.h"

#include <string.h>

/* A communicator as one rank names it. */
struct nccl_made {
    uint64_t thread;   /* hash of host:process:thread */
    uint64_t process;  /* hash of host:process */
    uint64_t pointer;  /* hash of `comm`, by which its children name it as parent */
    uint64_t identity; /* the same on all ranks */
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

static const char *find(const struct nccl_cursor *line, const char *text)
{
    const size_t length = strlen(text);
    for (const char *at = line->at; (size_t)(line->end - at) >= length; at++)
        if (memcmp(at, text, length) == 0)
            return at;
    return NULL;
}

/* The hash of the word behind `name`; 0 where the line does not have it. */
static uint64_t word_behind(const struct nccl_cursor *line, const char *name)
{
    const char *at = find(line, name);
    if (!at)
        return 0;
    at += strlen(name);
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

void nccl_identity_clear(struct nccl_identities *identities)
{
    ronde_list_free(identities->mem, &identities->made, sizeof(struct nccl_made));
}
