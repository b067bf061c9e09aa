/* The trace of one rank, given to many. */
#include "ronde/workload.h"

#include "ronde/mem.h"

#include <string.h>

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
    enum ronde_status status = RONDE_OK;
    for (uint32_t w = 0; w < one->work_count && status == RONDE_OK; w++) {
        struct ronde_work work = one->works[w];
        work.rank = rank;
        status = ronde_workload_add(many, &work, error);
        for (uint32_t d = 0; d < one->works[w].dep_count && status == RONDE_OK; d++) {
            struct ronde_work_dep dep = one->deps[one->works[w].first_dep + d];
            dep.work += first;
            status = ronde_workload_depend(many, dep, error);
        }
    }
    return status;
}

enum ronde_status ronde_workload_repeat(const struct ronde_workload *workload, uint32_t ranks,
                                        const struct ronde_mem *mem,
                                        struct ronde_workload **out_workload,
                                        struct ronde_error *error)
{
    struct ronde_workload *many = NULL;
    *out_workload = NULL;
    enum ronde_status status = check(workload, error);
    if (status == RONDE_OK)
        status = ronde_workload_create(ranks, ronde_workload_text(workload, workload->path), mem,
                                       &many, error);
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
    if (status == RONDE_OK)
        status = add_groups(workload, many, error);
    for (uint32_t r = 0; r < ranks && status == RONDE_OK; r++)
        status = add_rank(workload, r, many, error);
    if (status == RONDE_OK)
        *out_workload = many;
    else
        ronde_workload_destroy(many);
    return status;
}
