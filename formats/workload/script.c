/* Sets of ranks, and families of groups. */
#include "script.h"

#include "ronde/mem.h"

#include <string.h>

/* Each takes a table of all ranks; programs have a handful. */
#define MOST_FAMILIES 256u

bool script_append(struct script *script, struct list *list, const void *element, size_t bytes)
{
    if (script->words.status != RONDE_OK)
        return false;
    if (!ronde_mem_grow(script->mem, &list->all, &list->capacity, (size_t)list->count + 1, bytes)) {
        script->words.status =
            ronde_fail(script->words.error, RONDE_NO_MEMORY, "no memory for a workload");
        return false;
    }
    memcpy((char *)list->all + (size_t)list->count++ * bytes, element, bytes);
    return true;
}

void script_keep(struct script *script, enum ronde_status status)
{
    if (script->words.status == RONDE_OK)
        script->words.status = status;
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
        (void)script_append(script, &script->set, &rank, sizeof rank);
    }
}

/* Ranges with commas between them. */
void script_read_set(struct script *script, struct label_text set)
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

/* groups NAME SET SET ... */
void script_read_groups(struct script *script)
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
    if (!labels_add(&script->families, name, family))
        words->status = ronde_fail(words->error, RONDE_NO_MEMORY, "no memory for groups");
    script_keep(script, ronde_workload_name(workload, name.at, name.bytes, &text, words->error));
    if (words->status == RONDE_OK)
        script_keep(script, ronde_workload_family(workload, text, words->error));
    for (uint32_t r = 0; r < workload->ranks && words->status == RONDE_OK; r++)
        (void)script_append(script, &script->group_of, &none, sizeof none);
    if (words->status != RONDE_OK)
        return;
    struct label_text set = words_next(words);
    do {
        script_read_set(script, set);
        const uint32_t *ranks = script->set.all, index = workload->group_count;
        uint32_t *group_of = (uint32_t *)script->group_of.all + (size_t)family * workload->ranks;
        for (uint32_t i = 0; i < script->set.count && words->status == RONDE_OK; i++) {
            if (group_of[ranks[i]] != RONDE_NONE)
                words_refuse(words, "rank %u is in two groups, or twice in one", ranks[i]);
            group_of[ranks[i]] = index;
        }
        const struct ronde_work_group group = {.name = text,
                                               .family = family,
                                               .member_count = script->set.count};
        if (words->status == RONDE_OK)
            script_keep(script, ronde_workload_group(workload, group, ranks, words->error));
        set = words_next(words);
    } while (words->status == RONDE_OK && set.bytes > 0);
}
