/* Workloads in memory. See ronde/workload.h. */
#include "ronde/workload.h"

#include "ronde/mem.h"

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
    if (status == RONDE_OK)
        status = ronde_workload_name(workload, path, strlen(path), &workload->path, error);
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
