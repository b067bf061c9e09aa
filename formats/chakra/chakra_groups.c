/* Groups of Chakra traces: all ranks that use one name. And the memory protobuf-c works in. */
#include "chakra.h"

#include "ronde/mem.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keeps what follows it aligned for any type. */
union header {
    size_t bytes;
    max_align_t aligned;
};

void *chakra_allocate(void *data, size_t bytes)
{
    struct arena *arena = data;
    if (bytes > SIZE_MAX - sizeof(union header))
        return NULL;
    union header *header = ronde_mem_resize(arena->mem, NULL, 0, bytes + sizeof *header);
    arena->is_short = arena->is_short || !header;
    if (!header)
        return NULL;
    header->bytes = bytes + sizeof *header;
    return header + 1;
}

void chakra_release(void *data, void *pointer)
{
    const struct arena *arena = data;
    union header *header = pointer;
    if (header)
        (void)ronde_mem_resize(arena->mem, header - 1, header[-1].bytes, 0);
}

void chakra_keep(struct reading *reading, enum ronde_status status)
{
    if (reading->status == RONDE_OK)
        reading->status = status;
}

/* Groups called NAME.NUMBER are one family; those that are numbers only are "pg". */
static size_t family_bytes(const char *name)
{
    size_t bytes = strlen(name);
    const size_t all = bytes;
    while (bytes > 0 && name[bytes - 1] >= '0' && name[bytes - 1] <= '9')
        bytes--;
    return bytes == 0 ? 0 : bytes < all && bytes > 1 && name[bytes - 1] == '.' ? bytes - 1 : all;
}

static uint32_t find_family(struct reading *reading, const char *name, const char *family)
{
    struct ronde_workload *workload = reading->workload;
    char text[256];
    uint32_t place = 0;
    const char *source = *family ? family : name;
    const size_t bytes = *family ? strlen(family) : family_bytes(name);
    (void)snprintf(text, sizeof text, "%.*s", (int)(bytes < 255 ? bytes : 255), source);
    if (bytes == 0)
        (void)snprintf(text, sizeof text, "pg");
    for (uint32_t f = 0; f < workload->family_count; f++)
        if (strcmp(ronde_workload_text(workload, workload->families[f]), text) == 0)
            return f;
    chakra_keep(reading, ronde_workload_name(workload, text, strlen(text), &place, reading->error));
    if (reading->status == RONDE_OK)
        chakra_keep(reading, ronde_workload_family(workload, place, reading->error));
    return workload->family_count - (reading->status == RONDE_OK);
}

/* Users sorted by name, then rank. There is no context for qsort, so that names are compared by a list made first. */
struct named_user {
    const char *text, *family;
    uint32_t name, rank;
};

static int by_name(const void *left, const void *right)
{
    const struct named_user *a = left, *b = right;
    const int names = strcmp(a->text, b->text);
    return names != 0 ? names : (a->rank > b->rank) - (a->rank < b->rank);
}

/* Makes a group of all users of one name; `group_of` goes by place of the name. */
static void make_group(struct reading *reading, const struct named_user *users, uint32_t count,
                       uint32_t *members, uint32_t *group_of)
{
    const struct ronde_work_group group = {.name = users[0].name,
                                           .family =
                                               find_family(reading, users[0].text, users[0].family),
                                           .member_count = count};
    for (uint32_t i = 0; i < count; i++) {
        members[i] = users[i].rank;
        group_of[users[i].name] = reading->workload->group_count;
    }
    if (reading->status == RONDE_OK)
        chakra_keep(reading,
                    ronde_workload_group(reading->workload, group, members, reading->error));
}

/* Names must stay where they are while they are compared, so families get theirs in a second copy. */
void chakra_make_groups(struct reading *reading)
{
    struct ronde_workload *workload = reading->workload;
    const struct user *of = reading->users.items;
    const size_t count = reading->users.count, names = workload->name_bytes;
    struct named_user *users = ronde_mem_new(reading->mem, count, sizeof *users);
    uint32_t *members = ronde_mem_new(reading->mem, count, sizeof *members);
    uint32_t *group_of = ronde_mem_new(reading->mem, names, sizeof *group_of);
    char *texts = ronde_mem_new(reading->mem, names, 1);
    if (!users || !members || !group_of || !texts) {
        reading->status =
            ronde_fail(reading->error, RONDE_NO_MEMORY, "%s: no memory", reading->prefix);
    } else {
        memcpy(texts, workload->names, names);
        for (size_t u = 0; u < count; u++)
            users[u] = (struct named_user){texts + of[u].name, texts + of[u].family, of[u].name,
                                           of[u].rank};
        if (count > 0)
            qsort(users, count, sizeof *users, by_name);
        uint32_t end;
        for (uint32_t first = 0; first < count && reading->status == RONDE_OK; first = end) {
            for (end = first + 1; end < count; end++)
                if (strcmp(users[end].text, users[first].text) != 0)
                    break;
            make_group(reading, users + first, end - first, members, group_of);
        }
    }
    for (uint32_t w = 0; w < workload->work_count && reading->status == RONDE_OK; w++) {
        struct ronde_work *work = &workload->works[w];
        if (work->kind != RONDE_WORK_COLLECTIVE)
            continue;
        work->group = group_of[work->group];
        const uint32_t ranks = workload->groups[work->group].member_count;
        if (chakra_puts_in_block(work->collective))
            work->bytes = work->bytes <= CHAKRA_MOST / ranks ? work->bytes * ranks : CHAKRA_MOST;
        if (work->root >= ranks)
            chakra_keep(reading,
                        ronde_work_fail(workload, w, reading->error,
                                        "root %u of a group of %u ranks", work->root, ranks));
    }
    ronde_mem_free(reading->mem, users, count, sizeof *users);
    ronde_mem_free(reading->mem, members, count, sizeof *members);
    ronde_mem_free(reading->mem, group_of, names, sizeof *group_of);
    ronde_mem_free(reading->mem, texts, names, 1);
}
