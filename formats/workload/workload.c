/* Workloads in memory. See ronde/workload.h. */
#include "matching.h"

#include "ronde/mem.h"
#include "ronde/workload.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_texts[] = {
#define RONDE_TEXT(name, text) text,
    RONDE_WORK_KIND_LIST(RONDE_TEXT)
#undef RONDE_TEXT
};

const char *ronde_work_kind_text(enum ronde_work_kind kind)
{
    return (unsigned)kind < RONDE_WORK_KIND_COUNT ? kind_texts[kind] : "?";
}

static enum ronde_status no_memory(const struct ronde_workload *workload, struct ronde_error *error)
{
    return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a workload of %u items",
                      workload->work_count);
}

/* Room for `more` elements behind `count`. */
static bool grow(const struct ronde_workload *workload, void *array, size_t *capacity,
                 uint32_t count, size_t more, size_t element_bytes)
{
    void *block;
    memcpy(&block, array, sizeof block);
    const bool fits =
        ronde_mem_grow(workload->mem, &block, capacity, (size_t)count + more, element_bytes);
    memcpy(array, &block, sizeof block);
    return fits;
}

enum ronde_status
ronde_workload_create(uint32_t ranks, const char *path, const struct ronde_mem *mem,
                      struct ronde_workload **out_workload, struct ronde_error *error)
{
    *out_workload = NULL;
    if (ranks == 0 || ranks > RONDE_WORKLOAD_RANKS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%u ranks: a workload has 1 to %u", ranks,
                          RONDE_WORKLOAD_RANKS);
    struct ronde_workload *workload = ronde_mem_new(mem, 1, sizeof *workload);
    if (!workload)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a workload");
    uint32_t empty = 0;
    workload->mem = mem;
    workload->ranks = ranks;
    enum ronde_status status = ronde_workload_name(workload, "", 0, &empty, error);
    RONDE_THEN(status, ronde_workload_name(workload, path, strlen(path), &workload->path, error));
    if (status == RONDE_OK)
        *out_workload = workload;
    else
        ronde_workload_destroy(workload);
    return status;
}

void ronde_workload_destroy(struct ronde_workload *workload)
{
    if (!workload)
        return;
    const struct ronde_mem *mem = workload->mem;
    ronde_mem_free(mem, workload->works, workload->work_capacity, sizeof *workload->works);
    ronde_mem_free(mem, workload->deps, workload->dep_capacity, sizeof *workload->deps);
    ronde_mem_free(mem, workload->groups, workload->group_capacity, sizeof *workload->groups);
    ronde_mem_free(mem, workload->members, workload->member_capacity, sizeof *workload->members);
    ronde_mem_free(mem, workload->families, workload->family_capacity, sizeof *workload->families);
    ronde_mem_free(mem, workload->names, workload->name_capacity, 1);
    ronde_mem_free(mem, workload, 1, sizeof *workload);
}

enum ronde_status ronde_workload_name(struct ronde_workload *workload, const char *text,
                                      size_t bytes, uint32_t *out_name, struct ronde_error *error)
{
    if (bytes >= UINT32_MAX / 2 - workload->name_bytes ||
        !grow(workload, &workload->names, &workload->name_capacity, workload->name_bytes, bytes + 1,
              1))
        return no_memory(workload, error);
    *out_name = workload->name_bytes;
    memcpy(workload->names + workload->name_bytes, text, bytes);
    workload->names[workload->name_bytes + bytes] = '\0';
    workload->name_bytes += (uint32_t)bytes + 1;
    return RONDE_OK;
}

enum ronde_status ronde_workload_add(struct ronde_workload *workload, const struct ronde_work *work,
                                     struct ronde_error *error)
{
    if (workload->work_count >= RONDE_WORKLOAD_ITEMS)
        return ronde_fail(error, RONDE_UNSUPPORTED, "%s: a workload has at most %u items",
                          ronde_workload_text(workload, workload->path), RONDE_WORKLOAD_ITEMS);
    if (!grow(workload, &workload->works, &workload->work_capacity, workload->work_count, 1,
              sizeof *workload->works))
        return no_memory(workload, error);
    struct ronde_work *added = &workload->works[workload->work_count++];
    *added = *work;
    added->first_dep = workload->dep_count;
    added->dep_count = 0;
    return RONDE_OK;
}

enum ronde_status ronde_workload_depend(struct ronde_workload *workload, struct ronde_work_dep dep,
                                        struct ronde_error *error)
{
    if (workload->dep_count >= UINT32_MAX / 2)
        return ronde_fail(error, RONDE_UNSUPPORTED, "%s: a workload has at most %u dependencies",
                          ronde_workload_text(workload, workload->path), UINT32_MAX / 2);
    if (!grow(workload, &workload->deps, &workload->dep_capacity, workload->dep_count, 1,
              sizeof *workload->deps))
        return no_memory(workload, error);
    workload->deps[workload->dep_count++] = dep;
    workload->works[workload->work_count - 1].dep_count++;
    return RONDE_OK;
}

enum ronde_status ronde_workload_group(struct ronde_workload *workload,
                                       struct ronde_work_group group, const uint32_t *members,
                                       struct ronde_error *error)
{
    if (group.member_count > UINT32_MAX / 2 - workload->member_count ||
        !grow(workload, &workload->groups, &workload->group_capacity, workload->group_count, 1,
              sizeof *workload->groups) ||
        !grow(workload, &workload->members, &workload->member_capacity, workload->member_count,
              group.member_count, sizeof *workload->members))
        return no_memory(workload, error);
    group.first_member = workload->member_count;
    memcpy(workload->members + workload->member_count, members,
           group.member_count * sizeof *members);
    workload->member_count += group.member_count;
    workload->groups[workload->group_count++] = group;
    return RONDE_OK;
}

enum ronde_status ronde_workload_family(struct ronde_workload *workload, uint32_t name,
                                        struct ronde_error *error)
{
    if (!grow(workload, &workload->families, &workload->family_capacity, workload->family_count, 1,
              sizeof *workload->families))
        return no_memory(workload, error);
    workload->families[workload->family_count++] = name;
    return RONDE_OK;
}

const char *ronde_workload_text(const struct ronde_workload *workload, uint32_t name)
{
    return name < workload->name_bytes ? workload->names + name : "?";
}

enum ronde_status ronde_work_fail(const struct ronde_workload *workload, uint32_t work,
                                  struct ronde_error *error, const char *format, ...)
{
    char text[RONDE_ERROR_MESSAGE_BYTES];
    const struct ronde_work *at = &workload->works[work];
    const char *path = ronde_workload_text(workload, workload->path);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (workload->has_nodes)
        return ronde_fail(error, RONDE_BAD_INPUT, "%s.%u.et: node %u: %s", path, at->rank, at->line,
                          text);
    return ronde_fail_at(error, RONDE_BAD_INPUT, at->line, "%s:%u: %s", path, at->line, text);
}

/* Sorting by counting. */

void ronde_workload_sort_by_rank(const struct ronde_workload *workload, uint32_t *first,
                                 uint32_t *items)
{
    for (uint32_t w = 0; w < workload->work_count; w++)
        first[workload->works[w].rank + 1]++;
    for (uint32_t r = 0; r < workload->ranks; r++)
        first[r + 1] += first[r];
    for (uint32_t w = 0; w < workload->work_count; w++)
        items[first[workload->works[w].rank]++] = w;
    for (uint32_t r = workload->ranks; r > 0; r--)
        first[r] = first[r - 1];
    first[0] = 0;
}

/* The trace of one rank, given to many. */

static enum ronde_status check(const struct ronde_workload *workload, struct ronde_error *error)
{
    const char *path = ronde_workload_text(workload, workload->path);
    if (workload->ranks != 1)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s has %u ranks: only the trace of one can be given to others", path,
                          workload->ranks);
    for (uint32_t w = 0; w < workload->work_count; w++)
        if (workload->works[w].kind == RONDE_WORK_SEND || workload->works[w].kind == RONDE_WORK_RECV)
            return ronde_work_fail(workload, w, error,
                                   "a message to a certain rank cannot be given to others");
    return RONDE_OK;
}

/* Families as they were; every group is of all ranks. */
static enum ronde_status add_groups(const struct ronde_workload *one, struct ronde_workload *many,
                                    struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    uint32_t *members = ronde_mem_new(many->mem, many->ranks, sizeof *members);
    if (!members)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", many->ranks);
    for (uint32_t r = 0; r < many->ranks; r++)
        members[r] = r;
    for (uint32_t f = 0; f < one->family_count && status == RONDE_OK; f++)
        status = ronde_workload_family(many, one->families[f], error);
    for (uint32_t g = 0; g < one->group_count && status == RONDE_OK; g++) {
        struct ronde_work_group group = one->groups[g];
        group.member_count = many->ranks;
        status = ronde_workload_group(many, group, members, error);
    }
    ronde_mem_free(many->mem, members, many->ranks, sizeof *members);
    return status;
}

static enum ronde_status add_rank(const struct ronde_workload *one, uint32_t rank,
                                  struct ronde_workload *many, struct ronde_error *error)
{
    const uint32_t first = many->work_count;
    for (uint32_t w = 0; w < one->work_count; w++) {
        struct ronde_work work = one->works[w];
        work.rank = rank;
        RONDE_TRY(ronde_workload_add(many, &work, error));
        for (uint32_t d = 0; d < one->works[w].dep_count; d++) {
            struct ronde_work_dep dep = one->deps[one->works[w].first_dep + d];
            dep.work += first;
            RONDE_TRY(ronde_workload_depend(many, dep, error));
        }
    }
    return RONDE_OK;
}

enum ronde_status ronde_workload_repeat(const struct ronde_workload *workload, uint32_t ranks,
                                        const struct ronde_mem *mem,
                                        struct ronde_workload **out_workload,
                                        struct ronde_error *error)
{
    struct ronde_workload *many = NULL;
    *out_workload = NULL;
    enum ronde_status status = check(workload, error);
    RONDE_THEN(status, ronde_workload_create(ranks, ronde_workload_text(workload, workload->path),
                                             mem, &many, error));
    if (status != RONDE_OK)
        return status;
    /* The whole pool of names, so that places in it stay: two texts are there already, as they were here. */
    many->has_nodes = workload->has_nodes;
    uint32_t place = 0;
    for (uint32_t at = many->name_bytes; at < workload->name_bytes && status == RONDE_OK;
         at = many->name_bytes) {
        const char *text = ronde_workload_text(workload, at);
        status = ronde_workload_name(many, text, strlen(text), &place, error);
    }
    RONDE_THEN(status, add_groups(workload, many, error));
    for (uint32_t r = 0; r < ranks && status == RONDE_OK; r++)
        status = add_rank(workload, r, many, error);
    if (status == RONDE_OK)
        *out_workload = many;
    else
        ronde_workload_destroy(many);
    return status;
}
