/** Rows of a table that are not predicted, and why. See published.h. */
#include "reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum ronde_status published_note(struct ronde_published *to, uint32_t line, bool is_refused,
                                 const char *text, struct ronde_error *error)
{
    void *whys = to->whys;
    if (!ronde_mem_grow(to->mem, &whys, &to->why_capacity, to->why_count + 1, sizeof *to->whys))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu remarks", to->why_count + 1);
    to->whys = whys;
    struct ronde_published_why *why = &to->whys[to->why_count++];
    *why = (struct ronde_published_why){.line = line, .is_refused = is_refused};
    strncpy(why->text, text, sizeof why->text - 1);
    return RONDE_OK;
}

static int by_line(const void *key, const void *of)
{
    const uint32_t line = *(const uint32_t *)key;
    const struct ronde_published_why *why = of;
    return line < why->line ? -1 : line > why->line;
}

const char *ronde_published_why_of(const struct ronde_published *published,
                                   const struct ronde_published_row *row, struct ronde_error *room)
{
    const struct ronde_published_system *system = &published->systems[row->system];
    const bool is_lacking = row->state == RONDE_PUBLISHED_NOT_DESCRIBED;
    *room = (struct ronde_error){.status = RONDE_OK};
    if (is_lacking && !system->is_described)
        ronde_fail(room, RONDE_BAD_INPUT, "no machine of system %s is described", system->name);
    if (is_lacking && system->is_described &&
        ronde_nccl_call_check(&system->machine, &row->call, room) != RONDE_OK)
        return room->message;
    if (room->status != RONDE_OK || published->why_count == 0)
        return room->message;
    const struct ronde_published_why *found =
        bsearch(&row->line, published->whys, published->why_count, sizeof *published->whys, by_line);
    return found ? found->text : "";
}

/** Adds a line to those of the same words, or to the last where there is no room for more words. */
static void gather(struct ronde_published_whys *to, uint32_t line, const char *text)
{
    uint32_t at = 0;
    while (at < to->count && strcmp(to->group[at].text, text) != 0)
        at++;
    if (at == RONDE_PUBLISHED_MAX_WHYS) {
        to->more++;
        return;
    }
    struct ronde_published_why_group *group = &to->group[at];
    if (at == to->count) {
        to->count++;
        *group = (struct ronde_published_why_group){.first_line = line};
        (void)snprintf(group->text, sizeof group->text, "%s", text);
    }
    group->last_line = line;
    group->rows++;
}

void ronde_published_whys_of(const struct ronde_published *published,
                             struct ronde_published_whys *out)
{
    *out = (struct ronde_published_whys){.count = 0};
    for (size_t w = 0; w < published->why_count; w++)
        gather(out, published->whys[w].line, published->whys[w].text);
    for (size_t r = 0; r < published->count; r++) {
        struct ronde_error room;
        const struct ronde_published_row *row = &published->rows[r];
        if (row->state == RONDE_PUBLISHED_NOT_DESCRIBED)
            gather(out, row->line, ronde_published_why_of(published, row, &room));
    }
}
