/**
 * How links of a file become wires between places: one-way links that belong together, links in series, links that have
 * to stay apart. Which of two links comes first, and which end of a wire has the lower number, must not matter.
 */
#include "support/suite.h"

#include "ronde/place.h"
#include "unit/platform_text.h"

#include <stdio.h>
#include <string.h>

#define LINK(name, GBps, ns)                                                                       \
    "<link id=\"" name "\" bandwidth=\"" GBps "GBps\" latency=\"" ns "ns\"/>"
#define ROUTE(src, dst, links)                                                                     \
    "<route src=\"" src "\" dst=\"" dst "\" symmetrical=\"NO\">" links "</route>"
#define OVER(name) "<link_ctn id=\"" name "\"/>"

/** Reads hosts a, b, c with these links and routes; false after a skip. */
static bool open_shape(const char *text, struct ronde_shape *out_shape)
{
    static const char begin[] = "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">"
                                "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>"
                                "<host id=\"c\" speed=\"1Gf\"/>";
    char file[4096];
    struct ronde_error error = {0};
    if (!suite_can_read_platforms())
        return false;
    snprintf(file, sizeof file, "%s%s</zone></platform>", begin, text);
    struct ronde_platform *platform = platform_text_good(file);
    CU_ASSERT_EQUAL_FATAL(ronde_shape_of(platform, ronde_mem_default(), out_shape, &error),
                          RONDE_OK);
    ronde_platform_destroy(platform);
    return true;
}

/** The wire between two hosts, NULL where there is none or there are several. */
static const struct ronde_edge *wire_between(const struct ronde_shape *shape, uint32_t a, uint32_t b)
{
    const struct ronde_edge *found = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < shape->edge_count; i++)
        if (shape->vertices[shape->edges[i].a].host == a &&
            shape->vertices[shape->edges[i].b].host == b) {
            found = &shape->edges[i];
            count++;
        }
    return count == 1 ? found : NULL;
}

/** Rates of the wire between a and b, from a to b and back; -1 where there is no such wire. */
static void expect_wire(const char *text, double rate_GBps, double back_GBps, double latency_ns)
{
    struct ronde_shape shape = {0};
    if (!open_shape(text, &shape))
        return;
    const struct ronde_edge *wire = wire_between(&shape, 0, 1);
    CU_ASSERT_PTR_NOT_NULL(wire);
    if (wire) {
        CU_ASSERT_EQUAL(wire->rate_GBps, rate_GBps);
        CU_ASSERT_EQUAL(wire->back_GBps, back_GBps);
        CU_ASSERT_EQUAL(wire->latency_ns, latency_ns);
        CU_ASSERT(!wire->is_shared);
    }
    CU_ASSERT_EQUAL(shape.vertex_count, 3);
    ronde_shape_free(&shape, ronde_mem_default());
}

/* A wire knows the links that it is made of, from its first end to the other and back. */
static void wires_name_their_links(void)
{
    struct ronde_shape shape = {0};
    if (!open_shape(LINK("g", "5", "100") LINK("f", "8", "100") ROUTE("b", "a", OVER("g"))
                        ROUTE("a", "b", OVER("f")),
                    &shape))
        return;
    const struct ronde_edge *wire = wire_between(&shape, 0, 1);
    CU_ASSERT_FATAL(wire != NULL);
    CU_ASSERT(wire->link == 1 && wire->back == 0);
    ronde_shape_free(&shape, ronde_mem_default());
}

static void links_that_run_against_each_other_are_one_wire(void)
{
    expect_wire(LINK("f", "5", "100") LINK("g", "8", "100") ROUTE("a", "b", OVER("f"))
                    ROUTE("b", "a", OVER("g")),
                5, 8, 100);
    expect_wire(LINK("f", "8", "100") LINK("g", "5", "100") ROUTE("a", "b", OVER("f"))
                    ROUTE("b", "a", OVER("g")),
                8, 5, 100);
    expect_wire(LINK("g", "5", "100") LINK("f", "8", "100") ROUTE("b", "a", OVER("g"))
                    ROUTE("a", "b", OVER("f")),
                8, 5, 100);
}

static void links_in_series_are_one_wire_where_they_are_alike(void)
{
    expect_wire(LINK("f1", "5", "100") LINK("f2", "5", "30") LINK("g1", "5", "100")
                    LINK("g2", "5", "30") ROUTE("a", "b", OVER("f1") OVER("f2"))
                        ROUTE("b", "a", OVER("g2") OVER("g1")),
                5, 5, 130);
}

static void links_in_series_of_other_rates_meet_at_a_place(void)
{
    struct ronde_shape shape = {0};
    if (!open_shape(LINK("f1", "5", "100") LINK("f2", "7", "30")
                        ROUTE("a", "b", OVER("f1") OVER("f2")),
                    &shape))
        return;
    CU_ASSERT_PTR_NULL(wire_between(&shape, 0, 1));
    CU_ASSERT_EQUAL(shape.vertex_count, 4);
    CU_ASSERT_EQUAL(shape.edge_count, 2);
    ronde_shape_free(&shape, ronde_mem_default());
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"wires_name_their_links", wires_name_their_links},
        {"links_that_run_against_each_other_are_one_wire",
         links_that_run_against_each_other_are_one_wire},
        {"links_in_series_are_one_wire_where_they_are_alike",
         links_in_series_are_one_wire_where_they_are_alike},
        {"links_in_series_of_other_rates_meet_at_a_place",
         links_in_series_of_other_rates_meet_at_a_place},
    };
    return suite_run("shape", cases, sizeof cases / sizeof cases[0]);
}
