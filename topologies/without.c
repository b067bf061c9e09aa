/* What is taken out of a platform: links, switches, hosts, zones, by name or by pattern. */
#include "detour.h"
#include "platform.h"
#include "shape_meet.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* What is being taken out. */
struct taking {
    struct ronde_platform *platform;
    bool *is_out; /* per point: hosts and routers */
};

static uint32_t reverse_of(const struct ronde_platform *platform, uint32_t link)
{
    return *RONDE_AT(platform->reverses, uint32_t, link);
}

static void take_link(struct taking *taking, uint32_t link)
{
    struct ronde_link *it = RONDE_AT(taking->platform->links, struct ronde_link, link);
    taking->platform->is_out[link] = true;
    it->rate_GBps = 0;
    it->is_degraded = true;
}

/* A host or router; of a zone, all that is in it. */
static void take_point(struct taking *taking, uint32_t index)
{
    const struct ronde_platform *platform = taking->platform;
    const struct ronde_netpoint *point = RONDE_AT(platform->points, struct ronde_netpoint, index);
    taking->is_out[index] = true;
    if (point->inner == RONDE_NONE)
        return;
    const struct ronde_zone *zone = RONDE_AT(platform->zones, struct ronde_zone, point->inner);
    for (uint32_t i = 0; i < zone->member_count; i++)
        take_point(taking, *RONDE_AT(platform->members, uint32_t, zone->first_member + i));
}

/* Both halves of a cable are called after it: NAME_UP and NAME_DOWN. */
static bool is_half_of(const char *half, const char *pattern)
{
    char name[256];
    const char *suffix = strrchr(half, '_');
    const size_t length = suffix ? (size_t)(suffix - half) : 0;
    if (!suffix || length >= sizeof name)
        return false;
    memcpy(name, half, length);
    name[length] = '\0';
    return fnmatch(pattern, name, 0) == 0;
}

/* All links, hosts and routers whose names match; returns whether any does. */
static bool take_matching(struct taking *taking, const char *pattern)
{
    const struct ronde_platform *platform = taking->platform;
    bool found = false;
    for (uint32_t i = 0; i < platform->links.count; i++) {
        const char *name = RONDE_AT(platform->links, struct ronde_link, i)->name;
        if (fnmatch(pattern, name, 0) != 0 &&
            (reverse_of(platform, i) == i || !is_half_of(name, pattern)))
            continue;
        take_link(taking, i);
        found = true;
    }
    for (uint32_t i = 0; i < platform->points.count; i++) {
        const struct ronde_netpoint *point = RONDE_AT(platform->points, struct ronde_netpoint, i);
        if (point->inner != RONDE_NONE || fnmatch(pattern, point->name, 0) != 0)
            continue;
        take_point(taking, i);
        found = true;
    }
    return found;
}

static bool take_named(struct taking *taking, const char *name)
{
    const struct ronde_platform *platform = taking->platform;
    bool is_split;
    const uint32_t link = ronde_platform_find_link(platform, name, &is_split);
    const uint32_t point = ronde_names_find(&platform->point_names, name);
    if (link != RONDE_NONE) {
        take_link(taking, link);
        if (is_split)
            take_link(taking, reverse_of(platform, link));
    } else if (point != RONDE_NONE && point != RONDE_AT(platform->zones, struct ronde_zone, 0)->point)
        take_point(taking, point);
    else
        return strpbrk(name, "*?[") && take_matching(taking, name);
    return true;
}

/* Links that end at what is out. */
static void take_ends(struct taking *taking, struct ronde_meet *meet)
{
    const struct ronde_platform *platform = taking->platform;
    for (uint32_t i = 0; i < platform->links.count; i++) {
        const uint32_t ends[] = {ronde_meet_tail(meet, i), ronde_meet_head(meet, i)};
        for (int e = 0; e < 2; e++) {
            const uint32_t solid = meet->solid[ronde_meet_find(meet, ends[e])];
            if (solid != RONDE_NONE && taking->is_out[solid] && !platform->is_out[i])
                take_link(taking, i);
        }
    }
}

/* The nodes of the file, before hosts are missing in it: ranks of a node that lost one stay together. */
static enum ronde_status keep_nodes(struct ronde_platform *platform)
{
    const uint32_t size = platform->facts.node_hosts, hosts = platform->hosts.count;
    if (size == 0 || platform->node_labels.count > 0 || hosts % size != 0)
        return RONDE_OK;
    for (uint32_t i = 0; i < hosts; i++) {
        const uint32_t label = i / size;
        if (!ronde_list_append(platform->mem, &platform->node_labels, &label, sizeof label))
            return RONDE_NO_MEMORY;
    }
    return RONDE_OK;
}

/* What is left of the hosts, in their order. Whole nodes can go, and node_hosts still says how many are one. */
static void drop_hosts(struct taking *taking)
{
    struct ronde_platform *platform = taking->platform;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < platform->hosts.count; i++) {
        const uint32_t point = *RONDE_AT(platform->hosts, uint32_t, i);
        if (taking->is_out[point])
            continue;
        *RONDE_AT(platform->hosts, uint32_t, kept) = point;
        if (platform->node_labels.count > 0)
            *RONDE_AT(platform->node_labels, uint32_t, kept) =
                *RONDE_AT(platform->node_labels, uint32_t, i);
        kept++;
    }
    platform->hosts.count = kept;
    platform->facts.hosts = kept;
    if (platform->node_labels.count > 0)
        platform->node_labels.count = kept;
    const uint32_t size = platform->facts.node_hosts;
    bool is_whole = size > 0 && kept % size == 0;
    for (uint32_t i = 0; i < kept && is_whole && platform->node_labels.count > 0; i++)
        is_whole = *RONDE_AT(platform->node_labels, uint32_t, i) ==
                   *RONDE_AT(platform->node_labels, uint32_t, i - i % size);
    if (!is_whole)
        platform->facts.node_hosts = 0;
}

/* Letters two names begin with in common. */
static size_t common_letters(const char *a, const char *b)
{
    size_t count = 0;
    while (a[count] != '\0' && a[count] == b[count])
        count++;
    return count;
}

/* Letters of a link's name without the direction that SimGrid adds to it. */
static size_t stem_of(const char *name)
{
    static const char *const directions[] = {"_UP", "_DOWN"};
    const size_t length = strlen(name);
    for (size_t i = 0; i < 2; i++) {
        const size_t end = strlen(directions[i]);
        if (length > end && strcmp(name + length - end, directions[i]) == 0)
            return length - end;
    }
    return length;
}

/* Letters two names begin with in common, and of those that are left how many they end with; 0 for other beginnings. */
static size_t likeness(const char *name, const char *candidate)
{
    const size_t before = common_letters(name, candidate);
    const size_t one = stem_of(name), two = stem_of(candidate);
    size_t after = 0;
    while (before > 0 && before + after < one && before + after < two &&
           name[one - 1 - after] == candidate[two - 1 - after])
        after++;
    return before + after;
}

/* Links are numbered families (nic0, n3g1_c, ...), so what differs is a digit within, or comes late. */
static const char *nearest_link(const struct ronde_platform *platform, const char *name)
{
    const char *best = NULL;
    size_t most = 0;
    for (uint32_t i = 0; i < platform->links.count; i++) {
        const char *candidate = RONDE_AT(platform->links, struct ronde_link, i)->name;
        const size_t letters = likeness(name, candidate);
        if (letters <= most)
            continue;
        most = letters;
        best = candidate;
    }
    return best;
}

/* Names that are listed where none is near. */
#define MOST_LISTED 3u

/** What to type in place of a name that no link has: the nearest, and how links are called; "" of a platform without links. */
static const char *link_hint(const struct ronde_platform *platform, const char *name,
                             char out_text[RONDE_LINK_HINT_BYTES])
{
    const char *other = nearest_link(platform, name);
    const uint32_t count = (uint32_t)platform->links.count;
    int at = 0;
    out_text[0] = '\0';
    if (other)
        at = snprintf(out_text, RONDE_LINK_HINT_BYTES, "; did you mean '%.100s'?", other);
    for (uint32_t i = 0; i < MOST_LISTED && i < count && at < (int)RONDE_LINK_HINT_BYTES; i++)
        /* Some of all of them: those beside each other differ by a digit. */
        at += snprintf(out_text + at, RONDE_LINK_HINT_BYTES - (size_t)at, "%s%.60s",
                       i > 0   ? ", "
                       : other ? " Links are called "
                               : "; links are called ",
                       RONDE_AT(platform->links, struct ronde_link,
                                (uint32_t)((uint64_t)i * count / MOST_LISTED))
                           ->name);
    if (count > MOST_LISTED && at < (int)RONDE_LINK_HINT_BYTES)
        (void)snprintf(out_text + at, RONDE_LINK_HINT_BYTES - (size_t)at, ", ... (%u)", count);
    return out_text;
}

static enum ronde_status fail_name(const struct ronde_platform *platform, const char *name,
                                   struct ronde_error *error)
{
    char hint[RONDE_LINK_HINT_BYTES];
    return ronde_fail(error, RONDE_BAD_ARGUMENT,
                      "%s: no link, host, switch or zone is called '%s'%s", platform->path, name,
                      link_hint(platform, name, hint));
}

/* A copy is to be without it, too. */
static enum ronde_status keep_name(struct ronde_platform *platform, const char *name)
{
    const char *text = ronde_platform_text(platform, name, "", "");
    return text && ronde_list_append(platform->mem, &platform->without, &text, sizeof text)
               ? RONDE_OK
               : RONDE_NO_MEMORY;
}

/* Finds what meets what, takes the links of what is out, and makes the ways around all of it. */
static enum ronde_status settle(struct taking *taking)
{
    struct ronde_platform *platform = taking->platform;
    struct ronde_meet meet;
    struct ronde_detours *detours = NULL;
    enum ronde_status status = ronde_meet_create(platform, platform->mem, &meet);
    if (status == RONDE_OK) {
        take_ends(taking, &meet);
        status = keep_nodes(platform);
    }
    if (status == RONDE_OK) {
        drop_hosts(taking);
        status = ronde_detours_make(&meet, &detours);
    }
    ronde_meet_free(&meet);
    if (status != RONDE_OK)
        return status;
    ronde_detours_free(platform->detours, platform->mem);
    platform->detours = detours;
    return RONDE_OK;
}

/* Other machines are told apart by their names: NAME-without-A-B. */
static void rename_machine(struct ronde_platform *platform, const char *const *names, uint32_t count)
{
    ronde_platform_rename(platform, "-without");
    for (uint32_t i = 0; i < count; i++) {
        ronde_platform_rename(platform, "-");
        ronde_platform_rename(platform, names[i]);
    }
}

static enum ronde_status refuse(const struct ronde_platform *platform, struct ronde_error *error)
{
    for (uint32_t i = 0; i < platform->zones.count; i++) {
        const struct ronde_zone *zone = RONDE_AT(platform->zones, struct ronde_zone, i);
        if (zone->kind == RONDE_ZONE_FOREIGN)
            return ronde_fail(error, RONDE_UNSUPPORTED,
                              "%s: only SimGrid knows the links of %s zones such as %s, so nothing "
                              "can be taken out of them",
                              platform->path, zone->routing,
                              RONDE_AT(platform->points, struct ronde_netpoint, zone->point)->name);
    }
    return RONDE_OK;
}

enum ronde_status ronde_platform_without(struct ronde_platform *platform, const char *const *names,
                                         uint32_t count, struct ronde_error *error)
{
    const struct ronde_mem *mem = platform->mem;
    const uint32_t points = platform->points.count;
    struct taking taking = {.platform = platform};
    if (count == 0)
        return RONDE_OK;
    enum ronde_status status = refuse(platform, error);
    if (status != RONDE_OK)
        return status;
    taking.is_out = ronde_mem_new(mem, points, sizeof *taking.is_out);
    if (!platform->is_out)
        platform->is_out = ronde_mem_new(mem, platform->links.count, sizeof *platform->is_out);
    if (!taking.is_out || !platform->is_out)
        status = RONDE_NO_MEMORY;
    for (uint32_t i = 0; i < count && status == RONDE_OK; i++)
        status = take_named(&taking, names[i]) ? keep_name(platform, names[i])
                                               : fail_name(platform, names[i], error);
    RONDE_THEN(status, settle(&taking));
    ronde_mem_free(mem, taking.is_out, points, sizeof *taking.is_out);
    if (status == RONDE_NO_MEMORY)
        return ronde_fail(error, status, "%s: no memory for the ways around what is out",
                          platform->path);
    if (status == RONDE_OK && platform->hosts.count == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: no host is left", platform->path);
    if (status == RONDE_OK)
        rename_machine(platform, names, count);
    return status;
}

bool ronde_platform_has_detours(const struct ronde_platform *platform)
{
    return platform->detours != NULL;
}

/* Links that run slower (or faster) than the file says: one rate changes, routes stay as they are. */

/* The memory of a shared host is a link and a fact; they are one number. */
static void scale(struct ronde_platform *platform, uint32_t index, double factor)
{
    struct ronde_link *link = RONDE_AT(platform->links, struct ronde_link, index);
    link->rate_GBps *= factor;
    link->is_degraded = true;
    if (index == platform->facts.memory_link)
        platform->facts.shared.memory_GBps = link->rate_GBps;
}

enum ronde_status ronde_platform_degrade(struct ronde_platform *platform, const char *link,
                                         double factor, struct ronde_error *error)
{
    bool has_two = false;
    char suffix[32], hint[RONDE_LINK_HINT_BYTES];
    /* Written so that NaN fails too. */
    if (!(factor >= RONDE_LEAST_LINK_FACTOR && factor <= RONDE_MOST_LINK_FACTOR))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "link %s: factor %g, expected %g to %g", link,
                          factor, RONDE_LEAST_LINK_FACTOR, RONDE_MOST_LINK_FACTOR);
    const uint32_t first = ronde_platform_find_link(platform, link, &has_two);
    if (first == RONDE_NONE)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: unknown link '%s'%s", platform->path,
                          link, link_hint(platform, link, hint));
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
