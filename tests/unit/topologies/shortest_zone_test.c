/*
 * Zones with shortest routes: random ones, written as files, against counting all shortest chains by Bellman and Ford. A
 * chain is as long as its links, and two equally long ones are refused.
 */
#include "support/suite.h"

#include "support/buffers.h"
#include "unit/platform_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POINTS_MAX 12u
#define ROUTES_MAX 40u
#define FAR UINT32_MAX

/* Hosts come first; each route is as many links as it says, both ways. */
struct zone {
    uint32_t hosts, points;
    uint32_t routes;
    uint32_t from[ROUTES_MAX], to[ROUTES_MAX], links[ROUTES_MAX];
    uint32_t length[POINTS_MAX], chains[POINTS_MAX]; /* from the source that was asked for last */
};

static bool is_joined(const struct zone *zone, uint32_t a, uint32_t b)
{
    for (uint32_t r = 0; r < zone->routes; r++)
        if ((zone->from[r] == a && zone->to[r] == b) || (zone->from[r] == b && zone->to[r] == a))
            return true;
    return false;
}

static void add(struct zone *zone, uint32_t from, uint32_t to, uint32_t links)
{
    if (from == to || is_joined(zone, from, to) || zone->routes == ROUTES_MAX)
        return;
    zone->from[zone->routes] = from;
    zone->to[zone->routes] = to;
    zone->links[zone->routes++] = links;
}

static void draw(struct zone *zone, uint64_t *random)
{
    *zone = (struct zone){.hosts = 2 + (uint32_t)(buffers_draw(random) % 5)};
    zone->points = zone->hosts + 1 + (uint32_t)(buffers_draw(random) % 5);
    /* A few points may be left out of the tree, so that there are pairs without a route. */
    for (uint32_t p = 1; p < zone->points; p++)
        if (buffers_draw(random) % 12 != 0)
            add(zone, p, (uint32_t)(buffers_draw(random) % p),
                1 + (uint32_t)(buffers_draw(random) % 3));
    const uint32_t more = (uint32_t)(buffers_draw(random) % 8);
    for (uint32_t i = 0; i < more; i++)
        add(zone, (uint32_t)(buffers_draw(random) % zone->points),
            (uint32_t)(buffers_draw(random) % zone->points),
            1 + (uint32_t)(buffers_draw(random) % 4));
    if (zone->routes == 0)
        add(zone, 0, 1, 1);
}

static struct ronde_platform *write_and_read(const struct zone *zone, const char *routing)
{
    char *text = NULL;
    size_t bytes = 0;
    struct ronde_platform *platform = NULL;
    FILE *file = open_memstream(&text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fprintf(file, "<platform version=\"4.1\"><zone id=\"w\" routing=\"%s\">", routing);
    for (uint32_t p = 0; p < zone->points; p++)
        fprintf(file, p < zone->hosts ? "<host id=\"p%u\" speed=\"1Gf\"/>" : "<router id=\"p%u\"/>",
                p);
    for (uint32_t r = 0; r < zone->routes; r++)
        for (uint32_t l = 0; l < zone->links[r]; l++)
            fprintf(file, "<link id=\"l%u_%u\" bandwidth=\"1GBps\" latency=\"1ns\"/>", r, l);
    for (uint32_t r = 0; r < zone->routes; r++) {
        fprintf(file, "<route src=\"p%u\" dst=\"p%u\">", zone->from[r], zone->to[r]);
        for (uint32_t l = 0; l < zone->links[r]; l++)
            fprintf(file, "<link_ctn id=\"l%u_%u\"/>", r, l);
        fputs("</route>", file);
    }
    fputs("</zone></platform>", file);
    (void)fclose(file);
    CU_ASSERT_EQUAL_FATAL(platform_text_read(text, bytes, ronde_mem_default(), &platform, NULL),
                          RONDE_OK);
    free(text);
    return platform;
}

/* Lengths from a source: as many rounds as there are points. */
static void find_lengths(struct zone *zone, uint32_t source)
{
    for (uint32_t p = 0; p < zone->points; p++)
        zone->length[p] = p == source ? 0 : FAR;
    for (uint32_t round = 0; round < zone->points; round++)
        for (uint32_t end = 0; end < 2 * zone->routes; end++) {
            const uint32_t r = end / 2;
            const uint32_t from = end % 2 ? zone->to[r] : zone->from[r];
            const uint32_t to = end % 2 ? zone->from[r] : zone->to[r];
            if (zone->length[from] != FAR && zone->length[from] + zone->links[r] < zone->length[to])
                zone->length[to] = zone->length[from] + zone->links[r];
        }
}

/* Shortest chains from the source to each point, by rising length. */
static void count_chains(struct zone *zone, uint32_t source)
{
    find_lengths(zone, source);
    for (uint32_t p = 0; p < zone->points; p++)
        zone->chains[p] = p == source;
    for (uint32_t length = 1; length < 100; length++)
        for (uint32_t end = 0; end < 2 * zone->routes; end++) {
            const uint32_t r = end / 2;
            const uint32_t from = end % 2 ? zone->to[r] : zone->from[r];
            const uint32_t to = end % 2 ? zone->from[r] : zone->to[r];
            if (zone->length[to] == length && zone->length[from] != FAR &&
                zone->length[from] + zone->links[r] == length)
                zone->chains[to] += zone->chains[from];
        }
}

/* What was found, over all zones. */
struct tally {
    uint32_t found, refused, apart, wrong;
};

/* The links of a route lead from its source to its target, route by route. */
static bool leads(const struct zone *zone, const struct ronde_platform *platform,
                  const uint32_t *links, uint32_t count, uint32_t src, uint32_t dst)
{
    uint32_t at = src;
    for (uint32_t i = 0; i < count;) {
        uint32_t r = 0, l = 0;
        if (sscanf(ronde_platform_link(platform, links[i])->name, "l%u_%u", &r, &l) != 2 ||
            (at != zone->from[r] && at != zone->to[r]))
            return false;
        const bool is_back = at == zone->to[r];
        for (uint32_t k = 0; k < zone->links[r]; k++, i++) {
            char name[32];
            snprintf(name, sizeof name, "l%u_%u", r, is_back ? zone->links[r] - 1 - k : k);
            if (i >= count || strcmp(ronde_platform_link(platform, links[i])->name, name) != 0)
                return false;
        }
        at = is_back ? zone->from[r] : zone->to[r];
    }
    return at == dst;
}

static void compare(const struct zone *zone, struct ronde_router *router,
                    const struct ronde_platform *platform, uint32_t src, uint32_t dst,
                    struct tally *tally)
{
    uint32_t links[64], count = 0;
    struct ronde_error error = {0};
    const enum ronde_status status = ronde_router_route(router, src, dst, 64, links, &count, &error);
    if (zone->length[dst] == FAR) {
        tally->apart++;
        tally->wrong += status != RONDE_BAD_INPUT || !strstr(error.message, "no route");
    } else if (zone->chains[dst] > 1) {
        tally->refused++;
        tally->wrong += status != RONDE_UNSUPPORTED || !strstr(error.message, "equally short");
    } else {
        tally->found++;
        tally->wrong += status != RONDE_OK || count != zone->length[dst] ||
                        !leads(zone, platform, links, count, src, dst);
    }
    if (tally->wrong == 1)
        suite_note("p%u to p%u: %u links, %u chains of %u: %s", src, dst, count, zone->chains[dst],
                   zone->length[dst], error.message);
}

static void compare_all(const char *routing, uint64_t seed, struct tally *tally)
{
    uint64_t random = seed;
    for (uint32_t round = 0; round < 60 && suite_can_read_platforms(); round++) {
        struct zone zone;
        struct ronde_router *router = NULL;
        draw(&zone, &random);
        struct ronde_platform *platform = write_and_read(&zone, routing);
        CU_ASSERT_EQUAL_FATAL(ronde_router_create(platform, ronde_mem_default(), &router, NULL),
                              RONDE_OK);
        for (uint32_t src = 0; src < zone.hosts; src++) {
            count_chains(&zone, src);
            for (uint32_t dst = 0; dst < zone.hosts; dst++)
                if (src != dst)
                    compare(&zone, router, platform, src, dst, tally);
        }
        ronde_router_destroy(router);
        ronde_platform_destroy(platform);
    }
}

static void shortest_chains_are_found_and_ties_are_refused(void)
{
    static const char *const routings[] = {"Dijkstra", "DijkstraCache", "Floyd"};
    for (size_t i = 0; i < sizeof routings / sizeof routings[0]; i++) {
        struct tally tally = {0};
        compare_all(routings[i], 40 + i, &tally);
        if (tally.found == 0)
            return;
        suite_note("%s: %u found, %u ties, %u apart", routings[i], tally.found, tally.refused,
                   tally.apart);
        CU_ASSERT_EQUAL(tally.wrong, 0);
        CU_ASSERT(tally.found > 300 && tally.refused > 20 && tally.apart > 20);
    }
}

/* A longer written route is taken where fewer routes are more links. */
static void links_count_and_not_routes(void)
{
    struct zone zone = {.hosts = 3, .points = 3};
    char said[128];
    if (!suite_can_read_platforms())
        return;
    add(&zone, 0, 2, 3);
    add(&zone, 0, 1, 1);
    add(&zone, 1, 2, 1);
    struct ronde_platform *platform = write_and_read(&zone, "Dijkstra");
    platform_text_route(platform, 0, 2, said, sizeof said);
    CU_ASSERT_STRING_EQUAL(said, "l1_0 l2_0");
    platform_text_route(platform, 2, 0, said, sizeof said);
    CU_ASSERT_STRING_EQUAL(said, "l2_0 l1_0");
    ronde_platform_destroy(platform);
}

/* Where a route has no room, its length is told all the same, and what fits is written. */
static void a_route_without_room_is_counted(void)
{
    struct zone zone = {.hosts = 4, .points = 4};
    if (!suite_can_read_platforms())
        return;
    for (uint32_t p = 1; p < 4; p++)
        add(&zone, p - 1, p, 2);
    struct ronde_platform *platform = write_and_read(&zone, "Dijkstra");
    for (uint32_t room = 0; room <= 7; room++) {
        uint32_t links[8], count = 0, untouched = 0;
        memset(links, 0xee, sizeof links);
        CU_ASSERT_EQUAL(ronde_platform_route(platform, 0, 3, room, links, &count, NULL), RONDE_OK);
        CU_ASSERT_EQUAL(count, 6);
        for (uint32_t i = 0; i < 8; i++)
            untouched += links[i] == 0xeeeeeeee;
        CU_ASSERT_EQUAL(untouched, 8 - (room < 6 ? room : 6));
    }
    ronde_platform_destroy(platform);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"shortest_chains_are_found_and_ties_are_refused",
         shortest_chains_are_found_and_ties_are_refused},
        {"links_count_and_not_routes", links_count_and_not_routes},
        {"a_route_without_room_is_counted", a_route_without_room_is_counted},
    };
    return suite_run("shortest_zone", cases, sizeof cases / sizeof cases[0]);
}
