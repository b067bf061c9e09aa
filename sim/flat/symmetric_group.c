/* Positions of a symmetric schedule as digits: sums, folds, shifts. See symmetric.h. */
#include "symmetric.h"

static void add_digit(struct ronde_sim_group *group, uint32_t radix)
{
    group->radix[group->digits] = radix;
    group->place[group->digits++] = group->count;
    group->count *= radix;
}

struct ronde_sim_group ronde_sim_group_of(const struct ronde_schedule *schedule)
{
    struct ronde_sim_group group = {.count = 1};
    if (schedule->symmetry == RONDE_SYMMETRY_XOR)
        while (group.count < schedule->ranks)
            add_digit(&group, 2);
    else if (schedule->shape_count > 1)
        for (uint32_t i = schedule->shape_count; i-- > 0;)
            add_digit(&group, schedule->shape[i]);
    else
        add_digit(&group, schedule->ranks);
    return group;
}

struct ronde_sim_group ronde_sim_group_fold(const struct ronde_sim_group *group,
                                            const uint32_t *periods)
{
    struct ronde_sim_group folded = {.count = 1};
    for (uint32_t i = 0; i < group->digits; i++)
        add_digit(&folded, periods[i]);
    return folded;
}

uint32_t ronde_sim_group_map(const struct ronde_sim_group *group,
                             const struct ronde_sim_group *folded, uint32_t position)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < group->digits; i++)
        sum += position / group->place[i] % group->radix[i] % folded->radix[i] * folded->place[i];
    return sum;
}

uint32_t ronde_sim_group_add(const struct ronde_sim_group *group, uint32_t a, uint32_t b)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < group->digits; i++) {
        const uint32_t radix = group->radix[i];
        const uint32_t digit = a / group->place[i] % radix + b / group->place[i] % radix;
        sum += (digit < radix ? digit : digit - radix) * group->place[i];
    }
    return sum;
}

/* Lower digits stay, and until the lowest one that moves wraps around so do the higher ones. */
struct ronde_sim_shift ronde_sim_group_shift(const struct ronde_sim_group *group, uint32_t offset)
{
    for (uint32_t i = 0; i < group->digits; i++) {
        const uint32_t digit = offset / group->place[i] % group->radix[i];
        if (digit > 0)
            return (struct ronde_sim_shift){offset, group->radix[i] * group->place[i],
                                            (group->radix[i] - digit) * group->place[i]};
    }
    return (struct ronde_sim_shift){0, group->count, group->count};
}
