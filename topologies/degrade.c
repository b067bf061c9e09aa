/* Links that run slower (or faster) than the file says: one rate changes, routes stay as they are. */
#include "platform.h"

#include <stdio.h>
#include <string.h>

/* A link that carries less than this of what it should is down, which is another thing than slow. */
#define LEAST_FACTOR 1e-6

/* Letters two names begin with in common. */
static size_t common_letters(const char *a, const char *b)
{
    size_t count = 0;
    while (a[count] != '\0' && a[count] == b[count])
        count++;
    return count;
}

/* Links are numbered families (nic0, nic1, ...), so the one that begins alike for longest is the one meant. */
const char *ronde_platform_nearest_link(const struct ronde_platform *platform, const char *name)
{
    const char *best = NULL;
    size_t longest = 0;
    for (uint32_t i = 0; i < platform->links.count; i++) {
        const char *candidate = RONDE_AT(platform->links, struct ronde_link, i)->name;
        const size_t letters = common_letters(name, candidate);
        if (letters <= longest)
            continue;
        longest = letters;
        best = candidate;
    }
    return best;
}

/* The memory of a shared host is a link and a fact; they are one number. */
static void scale(struct ronde_platform *platform, uint32_t index, double factor)
{
    struct ronde_link *link = RONDE_AT(platform->links, struct ronde_link, index);
    link->rate_GBps *= factor;
    link->is_degraded = true;
    if (index == platform->facts.memory_link)
        platform->facts.shared.memory_GBps = link->rate_GBps;
}

/* The first half of the link of a name, and whether the name means both halves. Errors: BAD_ARGUMENT naming the nearest. */
static enum ronde_status find_link(const struct ronde_platform *platform, const char *link,
                                   uint32_t *out_first, bool *out_has_two, struct ronde_error *error)
{
    *out_first = ronde_platform_find_link(platform, link, out_has_two);
    if (*out_first == RONDE_NONE) {
        const char *other = ronde_platform_nearest_link(platform, link);
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: unknown link '%s'%s%s%s", platform->path,
                          link, other ? "; did you mean '" : "", other ? other : "",
                          other ? "'?" : "");
    }
    return RONDE_OK;
}

enum ronde_status ronde_platform_degrade(struct ronde_platform *platform, const char *link,
                                         double factor, struct ronde_error *error)
{
    uint32_t first = 0;
    bool has_two = false;
    char suffix[32];
    /* Written so that NaN fails too. */
    if (!(factor >= LEAST_FACTOR && factor <= 1000))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "link %s: factor %g, expected %g to 1000",
                          link, factor, LEAST_FACTOR);
    const enum ronde_status status = find_link(platform, link, &first, &has_two, error);
    if (status != RONDE_OK)
        return status;
    const double rate_GBps = RONDE_AT(platform->links, struct ronde_link, first)->rate_GBps * factor;
    /* A link can be named several times. */
    if (rate_GBps < RONDE_LEAST_GBPS || rate_GBps > RONDE_MOST_GBPS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "link %s: %g GB/s are left, expected %g to %g",
                          link, rate_GBps, RONDE_LEAST_GBPS, RONDE_MOST_GBPS);
    scale(platform, first, factor);
    if (has_two)
        scale(platform, *RONDE_AT(platform->reverses, uint32_t, first), factor);
    (void)snprintf(suffix, sizeof suffix, "=%g", factor);
    ronde_platform_rename(platform, "-");
    ronde_platform_rename(platform, link);
    ronde_platform_rename(platform, suffix);
    return RONDE_OK;
}
