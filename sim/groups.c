/* The links of what switches copy and add. See routes.h. */
#include "check.h"
#include "routes.h"

/* The links up to the switch between two ranks and down from it; those between, if any, must slow nothing down. */
static enum ronde_status find_sides(struct ronde_sim_search *search, uint32_t src, uint32_t dst,
                                    uint32_t sides[2], struct ronde_path *path)
{
    uint32_t hops[RONDE_SIM_MAX_HOPS], count = 0, between = 0;
    RONDE_TRY(ronde_sim_search_look_up(search, src, dst, hops, &count, path));
    for (uint32_t i = 1; i + 1 < count; i++)
        between += !ronde_platform_link(search->platform, hops[i])->is_fatpipe;
    if (count < 2 || between > 0)
        return ronde_fail(search->error, RONDE_UNSUPPORTED,
                          "ranks %u and %u are %u links apart: what a switch copies or adds "
                          "(ronde.multicast) goes one link up and one down",
                          src, dst, count);
    sides[0] = hops[0];
    sides[1] = hops[count - 1];
    return RONDE_OK;
}

/* A graph from elsewhere must not take an engine out of bounds. */
static enum ronde_status check_group(const struct ronde_dag *dag, uint32_t number,
                                     struct ronde_error *error)
{
    const struct ronde_dag_group *group = number < dag->group_count ? &dag->groups[number] : NULL;
    bool is_right = group && group->rank < dag->ranks && group->member_count > 0 &&
                    (uint64_t)group->first_member + group->member_count <= dag->member_count;
    for (uint32_t i = 0; is_right && i < group->member_count; i++)
        is_right = dag->members[group->first_member + i] < dag->ranks;
    return is_right ? RONDE_OK
                    : ronde_fail(error, RONDE_BAD_ARGUMENT, "group %u of %u is none", number,
                                 dag->group_count);
}

enum ronde_status ronde_sim_search_group(struct ronde_sim_search *search, uint32_t number,
                                         uint32_t *hops, uint32_t *out_count,
                                         struct ronde_path *path)
{
    enum ronde_status status = check_group(search->dag, number, search->error);
    if (status != RONDE_OK)
        return status;
    const struct ronde_dag_group *group = &search->dag->groups[number];
    const uint32_t *members = search->dag->members + group->first_member;
    uint32_t sides[2] = {0, 0};
    struct ronde_path one, first = {0};
    if (group->member_count > RONDE_SIM_MAX_HOPS - 2)
        return ronde_fail(search->error, RONDE_UNSUPPORTED, "%u ranks on one switch: at most %u",
                          group->member_count + 1, RONDE_SIM_MAX_HOPS - 1);
    for (uint32_t i = 0; i < group->member_count && status == RONDE_OK; i++) {
        const uint32_t src = group->is_load ? members[i] : group->rank;
        const uint32_t dst = group->is_load ? group->rank : members[i];
        status = find_sides(search, src, dst, sides, &one);
        hops[2 + i] = sides[!group->is_load];
        hops[group->is_load] = sides[group->is_load];
        first = i == 0 ? one : first;
    }
    RONDE_THEN(status, group->is_load ? find_sides(search, group->rank, members[0], sides, &one)
                                      : find_sides(search, members[0], group->rank, sides, &one));
    if (status != RONDE_OK)
        return status;
    hops[!group->is_load] = sides[!group->is_load];
    *out_count = 2 + group->member_count;
    *path = ronde_sim_search_measure(search, hops, *out_count);
    path->latency_ns = first.latency_ns;
    return RONDE_OK;
}

enum ronde_status ronde_sim_groups_check(const struct ronde_sim_scene *scene)
{
    const struct ronde_dag *dag = scene->dag;
    struct ronde_sim_routes none = {.count = 0};
    struct ronde_sim_search search = ronde_sim_search_for(scene, &none);
    uint32_t hops[RONDE_SIM_MAX_HOPS], count;
    struct ronde_path path;
    enum ronde_status status =
        ronde_sim_check_hosts(scene->platform, dag->ranks, scene->options, scene->error);
    RONDE_THEN(status, ronde_sim_search_begin(&search));
    for (uint32_t g = 0; g < dag->group_count && status == RONDE_OK; g++)
        if (dag->groups[g].member_count > 0)
            status = ronde_sim_search_group(&search, g, hops, &count, &path);
    ronde_sim_search_end(&search);
    return status;
}
