/* The platform object: creation, growth, sealing, access. */
#include "platform.h"

#include "detour.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Strings one after the other in a block of a chain that is freed with the platform. */
struct ronde_text {
    struct ronde_text *next;
    size_t bytes; /* of this whole block */
    size_t used;  /* of its content */
    char content[];
};

/* The first block of names; each is twice the one before, up to the most. */
#define FIRST_TEXT_BYTES 1000u
#define MOST_TEXT_BYTES 64000u

/* Everything is empty but the path, which messages need from the first byte on. */
enum ronde_status ronde_platform_create(const char *path, const struct ronde_mem *mem,
                                        struct ronde_platform **out_platform)
{
    *out_platform = NULL;
    struct ronde_platform *platform = ronde_mem_new(mem, 1, sizeof *platform);
    if (!platform)
        return RONDE_NO_MEMORY;
    platform->mem = mem;
    platform->facts.memory_link = RONDE_NONE;
    platform->path = ronde_platform_text(platform, path, "", "");
    if (!platform->path) {
        ronde_platform_destroy(platform);
        return RONDE_NO_MEMORY;
    }
    *out_platform = platform;
    return RONDE_OK;
}

/* Also right for a platform that was left half built by an error. */
void ronde_platform_destroy(struct ronde_platform *platform)
{
    if (!platform)
        return;
    const struct ronde_mem *mem = platform->mem;
    ronde_detours_free(platform->detours, mem);
    ronde_list_free(mem, &platform->hosts, sizeof(uint32_t));
    ronde_list_free(mem, &platform->node_labels, sizeof(uint32_t));
    if (platform->is_view) {
        ronde_mem_free(mem, platform, 1, sizeof *platform);
        return;
    }
    ronde_mem_free(mem, platform->is_out, platform->links.count, sizeof *platform->is_out);
    ronde_list_free(mem, &platform->without, sizeof(const char *));
    ronde_list_free(mem, &platform->zones, sizeof(struct ronde_zone));
    ronde_list_free(mem, &platform->points, sizeof(struct ronde_netpoint));
    ronde_list_free(mem, &platform->links, sizeof(struct ronde_link));
    ronde_list_free(mem, &platform->reverses, sizeof(uint32_t));
    ronde_list_free(mem, &platform->hops, sizeof(uint32_t));
    ronde_list_free(mem, &platform->routes, sizeof(struct ronde_route));
    ronde_list_free(mem, &platform->members, sizeof(uint32_t));
    ronde_names_free(&platform->point_names, mem);
    ronde_names_free(&platform->link_names, mem);
    while (platform->texts) {
        struct ronde_text *text = platform->texts;
        platform->texts = text->next;
        ronde_mem_free(mem, text, text->bytes, 1);
    }
    ronde_mem_free(mem, platform, 1, sizeof *platform);
}

/* Chained blocks rather than one growing one: names are kept as pointers and must not move. */
char *ronde_platform_room(struct ronde_platform *platform, size_t bytes)
{
    struct ronde_text *first = platform->texts;
    if (first && first->bytes - sizeof *first - first->used >= bytes) {
        first->used += bytes;
        return first->content + first->used - bytes;
    }
    size_t all = first ? 2 * first->bytes : FIRST_TEXT_BYTES;
    all = all < MOST_TEXT_BYTES ? all : MOST_TEXT_BYTES;
    all = all < sizeof *first + bytes ? sizeof *first + bytes : all;
    struct ronde_text *text = ronde_mem_new(platform->mem, all, 1);
    if (!text)
        return NULL;
    text->bytes = all;
    text->used = bytes;
    text->next = first;
    platform->texts = text;
    return text->content;
}

const char *ronde_platform_text(struct ronde_platform *platform, const char *first,
                                const char *second, const char *third)
{
    const size_t before = strlen(first);
    const size_t middle = strlen(second);
    const size_t after = strlen(third);
    char *text = ronde_platform_room(platform, before + middle + after + 1);
    if (!text)
        return NULL;
    memcpy(text, first, before);
    memcpy(text + before, second, middle);
    memcpy(text + before + middle, third, after);
    text[before + middle + after] = '\0';
    return text;
}

/* A host is entered in rank order at once, which is the order of the file until rank_hosts says otherwise. */
enum ronde_status ronde_platform_add_point(struct ronde_platform *platform, const char *name,
                                           uint32_t zone, bool is_host, uint32_t *out_point)
{
    const uint32_t index = platform->points.count;
    struct ronde_netpoint *point =
        ronde_list_push(platform->mem, &platform->points, sizeof(struct ronde_netpoint));
    if (!point)
        return RONDE_NO_MEMORY;
    point->name = name;
    point->zone = zone;
    point->inner = RONDE_NONE;
    point->is_host = is_host;
    if (zone != RONDE_NONE)
        point->slot = RONDE_AT(platform->zones, struct ronde_zone, zone)->member_count++;
    if (is_host && !ronde_list_append(platform->mem, &platform->hosts, &index, sizeof index))
        return RONDE_NO_MEMORY;
    *out_point = index;
    return ronde_names_add(&platform->point_names, platform->mem, name, index);
}

/* A zone is a point of its parent too: routes between zones are then routes between points. */
enum ronde_status ronde_platform_add_zone(struct ronde_platform *platform, const char *name,
                                          uint32_t parent, enum ronde_zone_kind kind,
                                          uint32_t *out_zone)
{
    uint32_t point;
    RONDE_TRY(ronde_platform_add_point(platform, name, parent, false, &point));
    const uint32_t index = platform->zones.count;
    struct ronde_zone *zone =
        ronde_list_push(platform->mem, &platform->zones, sizeof(struct ronde_zone));
    if (!zone)
        return RONDE_NO_MEMORY;
    zone->point = point;
    zone->kind = kind;
    zone->routing = "";
    zone->backbone = RONDE_NONE;
    RONDE_AT(platform->points, struct ronde_netpoint, point)->inner = index;
    *out_zone = index;
    return RONDE_OK;
}

/* A link is its own reverse until add_split pairs two. */
enum ronde_status ronde_platform_add_link(struct ronde_platform *platform,
                                          const struct ronde_link *link, uint32_t *out_link)
{
    const uint32_t index = platform->links.count;
    if (!ronde_list_append(platform->mem, &platform->links, link, sizeof *link) ||
        !ronde_list_append(platform->mem, &platform->reverses, &index, sizeof index))
        return RONDE_NO_MEMORY;
    *out_link = index;
    return ronde_names_add(&platform->link_names, platform->mem, link->name, index);
}

/* A name of a split-duplex link among those of links, which share one space of names, as they do in SimGrid. */
#define SPLIT 0x80000000u

/* SimGrid's names: a split-duplex link exists only as its two halves, and by its own name only with a direction. */
enum ronde_status ronde_platform_add_split(struct ronde_platform *platform,
                                           const struct ronde_link *link, const char *up_name,
                                           const char *down_name, uint32_t *out_up)
{
    struct ronde_link half = *link;
    uint32_t down;
    half.name = up_name;
    RONDE_TRY(ronde_platform_add_link(platform, &half, out_up));
    half.name = down_name;
    RONDE_TRY(ronde_platform_add_link(platform, &half, &down));
    *RONDE_AT(platform->reverses, uint32_t, *out_up) = down;
    *RONDE_AT(platform->reverses, uint32_t, down) = *out_up;
    return ronde_names_add(&platform->link_names, platform->mem, link->name, *out_up | SPLIT);
}

uint32_t ronde_platform_find_link(const struct ronde_platform *platform, const char *name,
                                  bool *out_is_split)
{
    const uint32_t found = ronde_names_find(&platform->link_names, name);
    *out_is_split = found != RONDE_NONE && (found & SPLIT) != 0;
    return *out_is_split ? found & ~SPLIT : found;
}

enum ronde_status ronde_platform_add_hop(struct ronde_platform *platform, uint32_t link)
{
    return ronde_list_append(platform->mem, &platform->hops, &link, sizeof link) ? RONDE_OK
                                                                                 : RONDE_NO_MEMORY;
}

/* By line last, so that of a pair given twice the later one is reported. */
static int compare_routes(const void *left, const void *right)
{
    const struct ronde_route *a = left;
    const struct ronde_route *b = right;
    if (a->src != b->src)
        return a->src < b->src ? -1 : 1;
    if (a->dst != b->dst)
        return a->dst < b->dst ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Sorts the routes, points every source at its own, and finds pairs given twice. */
static enum ronde_status index_routes(struct ronde_platform *platform,
                                      struct ronde_route_clash *out_clash)
{
    struct ronde_route *routes = platform->routes.items;
    struct ronde_netpoint *points = platform->points.items;
    const uint32_t count = platform->routes.count;
    if (count > 0)
        qsort(routes, count, sizeof *routes, compare_routes);
    for (uint32_t i = 0; i < count; i++) {
        struct ronde_netpoint *src = &points[routes[i].src];
        if (src->route_count++ == 0)
            src->first_route = i;
        if (i == 0 || routes[i - 1].src != routes[i].src || routes[i - 1].dst != routes[i].dst)
            continue;
        *out_clash = (struct ronde_route_clash){routes[i - 1].line, routes[i].line, src->name,
                                                points[routes[i].dst].name};
        return RONDE_BAD_INPUT;
    }
    return RONDE_OK;
}

/* The members of a zone are brought together here, since points of inner zones come between them in the file. */
enum ronde_status ronde_platform_seal(struct ronde_platform *platform,
                                      struct ronde_route_clash *out_clash)
{
    RONDE_TRY(index_routes(platform, out_clash));
    for (uint32_t i = 0; i < platform->points.count; i++)
        if (!ronde_list_push(platform->mem, &platform->members, sizeof(uint32_t)))
            return RONDE_NO_MEMORY;
    uint32_t next = 0;
    for (uint32_t i = 0; i < platform->zones.count; i++) {
        struct ronde_zone *zone = RONDE_AT(platform->zones, struct ronde_zone, i);
        zone->first_member = next;
        next += zone->member_count;
    }
    for (uint32_t i = 0; i < platform->points.count; i++) {
        const struct ronde_netpoint *point = RONDE_AT(platform->points, struct ronde_netpoint, i);
        if (point->zone == RONDE_NONE)
            continue;
        const struct ronde_zone *zone = RONDE_AT(platform->zones, struct ronde_zone, point->zone);
        *RONDE_AT(platform->members, uint32_t, zone->first_member + point->slot) = i;
    }
    platform->facts.hosts = platform->hosts.count;
    return RONDE_OK;
}

const struct ronde_platform_facts *ronde_platform_facts(const struct ronde_platform *platform)
{
    return &platform->facts;
}

void ronde_platform_rename(struct ronde_platform *platform, const char *suffix)
{
    char *name = platform->facts.name;
    const size_t used = strlen(name), room = sizeof platform->facts.name - used;
    (void)snprintf(name + used, room, "%s", suffix);
}

const char *ronde_platform_source(const struct ronde_platform *platform)
{
    return platform->source;
}

const char *ronde_platform_path(const struct ronde_platform *platform)
{
    return platform->path;
}

const char *ronde_platform_host(const struct ronde_platform *platform, uint32_t index)
{
    if (index >= platform->hosts.count)
        return NULL;
    const uint32_t point = *RONDE_AT(platform->hosts, uint32_t, index);
    return RONDE_AT(platform->points, struct ronde_netpoint, point)->name;
}

uint32_t ronde_platform_link_count(const struct ronde_platform *platform)
{
    return platform->links.count;
}

const struct ronde_link *ronde_platform_link(const struct ronde_platform *platform, uint32_t index)
{
    return index < platform->links.count ? RONDE_AT(platform->links, struct ronde_link, index)
                                         : NULL;
}

struct ronde_platform_counts ronde_platform_count(const struct ronde_platform *platform)
{
    struct ronde_platform_counts counts = {
        .zones = platform->zones.count,
        .hosts = platform->hosts.count,
        .links = platform->links.count,
        .routes = platform->routes.count,
        .configs = platform->configs,
        .disks = platform->disks,
        .pstates = platform->pstates,
    };
    for (uint32_t i = 0; i < platform->points.count; i++) {
        const struct ronde_netpoint *point = RONDE_AT(platform->points, struct ronde_netpoint, i);
        counts.routers += !point->is_host && point->inner == RONDE_NONE ? 1 : 0;
    }
    for (uint32_t i = 0; i < platform->zones.count; i++)
        counts.is_foreign |=
            RONDE_AT(platform->zones, struct ronde_zone, i)->kind == RONDE_ZONE_FOREIGN;
    for (uint32_t i = 0; i < platform->links.count; i++) {
        const double GBps = RONDE_AT(platform->links, struct ronde_link, i)->rate_GBps;
        counts.slowest_GBps = i == 0 ? GBps : fmin(counts.slowest_GBps, GBps);
        counts.fastest_GBps = fmax(counts.fastest_GBps, GBps);
    }
    return counts;
}

/* Curves: rates that depend on the working set, and the constants of a load. */

double ronde_curve_GBps(const struct ronde_curve *curve, double bytes, double otherwise)
{
    if (curve->count == 0)
        return otherwise;
    uint32_t above = 0;
    while (above < curve->count && curve->bytes[above] < bytes)
        above++;
    if (above == 0 || above == curve->count)
        return curve->GBps[above == 0 ? 0 : curve->count - 1];
    /* costs add up, rates do not: a working set half in a cache costs the mean of both costs */
    const double low = log(curve->bytes[above - 1]), high = log(curve->bytes[above]);
    const double share = (log(bytes) - low) / (high - low);
    return 1.0 / ((1.0 - share) / curve->GBps[above - 1] + share / curve->GBps[above]);
}

struct ronde_time_params ronde_platform_time(const struct ronde_platform *platform, uint32_t ranks,
                                             uint64_t footprint_bytes)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(platform);
    const uint32_t cores = facts->shared.cores;
    const double ranks_per_core = cores > 0 && ranks > cores ? (double)ranks / cores : 1.0;
    const double bytes = (double)footprint_bytes * ranks_per_core;
    struct ronde_time_params time = facts->time;
    if (footprint_bytes == 0)
        return time;
    time.copy_GBps = ronde_curve_GBps(&facts->copy_curve, bytes, time.copy_GBps);
    time.gamma_GBps = ronde_curve_GBps(&facts->gamma_curve, bytes, time.gamma_GBps);
    return time;
}

bool ronde_platform_has_caches(const struct ronde_platform *platform)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(platform);
    const struct ronde_cache_facts *caches = &facts->caches;
    return facts->shared.cores > 0 && caches->core_bytes > 0 && caches->combine_GBps > 0 &&
           caches->read.count > 0 && caches->write.count > 0 && caches->cross_copy.count > 0 &&
           caches->cross_combine.count > 0 && caches->cross_write.count > 0;
}
