/* From a platform to wires, places and capacities, by hand; cuts in words. */
#include "support/suite.h"

#include "predict/synthesis/forest.h"
#include "predict/synthesis/machine_graph.h"
#include "unit/platform_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define HEAD "<platform version=\"4.1\">"
#define TAIL "</platform>"
#define CLUSTER(radical, more)                                                                     \
    HEAD "<cluster id=\"x\" prefix=\"h\" suffix=\"\" radical=\"" radical                           \
         "\" speed=\"1Gf\" bw=\"50GBps\" lat=\"500ns\" " more "/>" TAIL

/* A platform and what is made of it. */
struct sketch {
    struct ronde_platform *platform;
    struct ronde_store pool;
    struct ronde_wiring wiring;
    struct ronde_graph graph;
};

/* False after a skip. */
static bool begin(struct sketch *sketch, const char *text, uint32_t ranks)
{
    *sketch = (struct sketch){.pool = {.mem = ronde_mem_default()}};
    if (!suite_can_read_platforms())
        return false;
    sketch->platform = platform_text_good(text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(sketch->platform);
    CU_ASSERT_EQUAL_FATAL(ronde_wiring_find(sketch->platform, ranks, &sketch->pool, &sketch->wiring,
                                            NULL),
                          RONDE_OK);
    return true;
}

static void end(struct sketch *sketch)
{
    ronde_store_clear(&sketch->pool);
    ronde_platform_destroy(sketch->platform);
}

static void make_graph(struct sketch *sketch)
{
    CU_ASSERT_EQUAL_FATAL(ronde_graph_make(&sketch->wiring, &sketch->pool, &sketch->graph, NULL),
                          RONDE_OK);
}

static uint32_t count_arcs(const struct ronde_graph *graph, int64_t capacity)
{
    uint32_t count = 0;
    for (uint32_t a = 0; a < graph->arc_count; a++)
        count += graph->arcs[a].capacity == capacity;
    return count;
}

/* Wires are the links of routes between those ranks and no others, and hops are their routes. */
static void a_wiring_is_the_routes_of_its_ranks(void)
{
    for (uint32_t ranks = 1; ranks <= 5; ranks++) {
        struct sketch sketch;
        if (!begin(&sketch, CLUSTER("0-4", ""), ranks))
            return;
        const struct ronde_wiring *wiring = &sketch.wiring;
        CU_ASSERT_EQUAL(wiring->wire_count, ranks > 1 ? 2 * ranks : 0);
        for (uint32_t pair = 0; pair < ranks * ranks; pair++) {
            uint32_t links[8], count = 0;
            CU_ASSERT_EQUAL(ronde_platform_route(sketch.platform, pair / ranks, pair % ranks, 8,
                                                 links, &count, NULL),
                            RONDE_OK);
            CU_ASSERT_EQUAL_FATAL(wiring->first[pair + 1] - wiring->first[pair], count);
            for (uint32_t i = 0; i < count; i++)
                CU_ASSERT_EQUAL(wiring->wires[wiring->hops[wiring->first[pair] + i]].link, links[i]);
            CU_ASSERT_TRUE(ronde_wiring_is_open(wiring, pair / ranks, pair % ranks));
        }
        for (uint32_t w = 0; w < wiring->wire_count; w++)
            CU_ASSERT(wiring->wires[w].rate_GBps == 50 && wiring->wires[w].latency_ns == 500 &&
                      !wiring->wires[w].is_free && !wiring->wires[w].is_medium);
        end(&sketch);
    }
}

static void media_and_what_is_not_shared_are_told_apart(void)
{
    struct sketch shared, free_for_all;
    if (!begin(&shared,
               CLUSTER("0-2", "bb_bw=\"60GBps\" bb_lat=\"0s\" bb_sharing_policy=\"SHARED\""), 3))
        return;
    CU_ASSERT_EQUAL(shared.wiring.wire_count, 7);
    uint32_t media = 0;
    for (uint32_t w = 0; w < 7; w++)
        media += shared.wiring.wires[w].is_medium && shared.wiring.wires[w].rate_GBps == 60;
    CU_ASSERT_EQUAL(media, 1);
    end(&shared);
    if (!begin(&free_for_all,
               CLUSTER("0-2", "bb_bw=\"60GBps\" bb_lat=\"0s\" bb_sharing_policy=\"FATPIPE\""), 3))
        return;
    uint32_t unshared = 0;
    for (uint32_t w = 0; w < 7; w++)
        unshared += free_for_all.wiring.wires[w].is_free;
    CU_ASSERT_EQUAL(unshared, 1);
    end(&free_for_all);
}

static void links_that_are_down_close_their_pairs(void)
{
    struct sketch sketch = {.pool = {.mem = ronde_mem_default()}};
    if (!suite_can_read_platforms())
        return;
    sketch.platform = platform_text_good(CLUSTER("0-3", ""));
    CU_ASSERT_EQUAL(ronde_platform_without(sketch.platform, &(const char *){"x_link_2_UP"}, 1, NULL),
                    RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_wiring_find(sketch.platform, 4, &sketch.pool, &sketch.wiring, NULL),
                          RONDE_OK);
    for (uint32_t pair = 0; pair < 16; pair++)
        if (pair / 4 != pair % 4)
            CU_ASSERT_EQUAL(ronde_wiring_is_open(&sketch.wiring, pair / 4, pair % 4), pair / 4 != 2);
    end(&sketch);
}

static void ranks_that_have_no_hosts_are_refused(void)
{
    struct ronde_store pool = {.mem = ronde_mem_default()};
    struct ronde_wiring wiring;
    struct ronde_error error = {0};
    struct ronde_error beyond = {0};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_good(CLUSTER("0-3", ""));
    CU_ASSERT_EQUAL(ronde_wiring_find(platform, 5, &pool, &wiring, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "5 ranks on 4 hosts"));
    ronde_platform_destroy(platform);
    struct ronde_platform *large = platform_text_good(CLUSTER("0-4999", ""));
    CU_ASSERT_EQUAL(ronde_wiring_find(large, 4097, &pool, &wiring, &beyond), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(beyond.message, "at most 4096"));
    ronde_platform_destroy(large);
    ronde_store_clear(&pool);
}

/* Ports of 50 on one switch: capacity 1 each, of 50 GB/s. */
static void a_star_is_a_place_more_than_its_ranks(void)
{
    struct sketch sketch;
    if (!begin(&sketch, CLUSTER("0-3", ""), 4))
        return;
    make_graph(&sketch);
    CU_ASSERT_EQUAL(sketch.graph.ranks, 4);
    CU_ASSERT_EQUAL(sketch.graph.place_count, 5);
    CU_ASSERT_EQUAL(sketch.graph.arc_count, 8);
    CU_ASSERT_EQUAL(count_arcs(&sketch.graph, 1), 8);
    CU_ASSERT_EQUAL(sketch.graph.free, 9);
    CU_ASSERT_EQUAL(sketch.graph.unit_Bps, 50000000000u);
    CU_ASSERT_DOUBLE_EQUAL(sketch.graph.unit_GBps, 50, 1e-12);
    uint32_t leaving = 0;
    for (uint32_t a = 0; a < 8; a++) {
        const struct ronde_arc *arc = &sketch.graph.arcs[a];
        CU_ASSERT((arc->from == 4) != (arc->to == 4));
        CU_ASSERT_EQUAL(arc->latency_ns, 500);
        leaving += arc->to == 4;
    }
    CU_ASSERT_EQUAL(leaving, 4);
    ronde_graph_reverse(&sketch.graph);
    leaving = 0;
    for (uint32_t a = 0; a < 8; a++)
        leaving += sketch.graph.arcs[a].from == 4;
    CU_ASSERT_EQUAL(leaving, 4);
    end(&sketch);
}

/*
 * A backbone of 60 that both directions share: in units of 10, 8 ports of 5 and one edge of 6 between two places of its
 * own, which 4 places behind the ports touch and which touches 4.
 */
static void a_medium_is_one_edge_for_both_directions(void)
{
    struct sketch sketch;
    if (!begin(&sketch,
               CLUSTER("0-3", "bb_bw=\"60GBps\" bb_lat=\"0s\" bb_sharing_policy=\"SHARED\""), 4))
        return;
    make_graph(&sketch);
    CU_ASSERT_EQUAL(sketch.graph.unit_Bps, 10000000000u);
    CU_ASSERT_EQUAL(sketch.graph.free, 8 * 5 + 6 + 1);
    CU_ASSERT_EQUAL(count_arcs(&sketch.graph, 5), 8);
    CU_ASSERT_EQUAL(count_arcs(&sketch.graph, 6), 1);
    CU_ASSERT_EQUAL(count_arcs(&sketch.graph, 47), 8);
    CU_ASSERT_EQUAL(sketch.graph.arc_count, 17);
    CU_ASSERT_EQUAL(sketch.graph.place_count, 4 + 4 + 2 + 4);
    end(&sketch);
}

/* Rates whose only common divisor is small stay exact; what is no whole number of bytes is rounded down. */
static void capacities_are_exact_or_say_that_they_are_not(void)
{
    struct sketch exact, rounded;
    if (!begin(&exact,
               HEAD
               "<zone id=\"w\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/><host id=\"b\" "
               "speed=\"1Gf\"/><link id=\"l\" bandwidth=\"1000003Bps\" latency=\"0s\" "
               "sharing_policy=\"SPLITDUPLEX\"/><link id=\"m\" bandwidth=\"7GBps\" latency=\"0s\" "
               "sharing_policy=\"SPLITDUPLEX\"/><route src=\"a\" dst=\"b\"><link_ctn id=\"l\" "
               "direction=\"UP\"/><link_ctn id=\"m\" direction=\"UP\"/></route></zone>" TAIL,
               2))
        return;
    make_graph(&exact);
    CU_ASSERT_EQUAL(exact.graph.unit_Bps, 1);
    CU_ASSERT_EQUAL(count_arcs(&exact.graph, 1000003), 2);
    CU_ASSERT_EQUAL(count_arcs(&exact.graph, 7000000000), 2);
    end(&exact);
    if (!begin(&rounded,
               HEAD "<cluster id=\"x\" prefix=\"h\" suffix=\"\" radical=\"0-2\" speed=\"1Gf\" "
                    "bw=\"1.234567891234Bps\" lat=\"1ns\"/>" TAIL,
               3))
        return;
    make_graph(&rounded);
    CU_ASSERT_EQUAL(rounded.graph.unit_Bps, 0);
    for (uint32_t a = 0; a < rounded.graph.arc_count; a++) {
        const double rate_GBps = (double)rounded.graph.arcs[a].capacity * rounded.graph.unit_GBps;
        CU_ASSERT(rate_GBps <= 1.234567891234e-9 * (1 + 1e-12) &&
                  rate_GBps > 1.234567891234e-9 * (1 - 1e-9));
    }
    end(&rounded);
}

/* Where one link ends at two hosts, they would be one place. */
static void hosts_with_nothing_between_them_are_refused(void)
{
    struct sketch sketch;
    struct ronde_error error = {0};
    if (!begin(
            &sketch,
            HEAD
            "<zone id=\"w\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/><host id=\"b\" "
            "speed=\"1Gf\"/><host id=\"c\" speed=\"1Gf\"/>"
            "<link id=\"l\" bandwidth=\"1GBps\" latency=\"0s\" sharing_policy=\"SPLITDUPLEX\"/>"
            "<link id=\"m\" bandwidth=\"1GBps\" latency=\"0s\" sharing_policy=\"SPLITDUPLEX\"/>"
            "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\" direction=\"UP\"/></route>"
            "<route src=\"a\" dst=\"c\"><link_ctn id=\"l\" direction=\"UP\"/></route>"
            "<route src=\"b\" dst=\"c\"><link_ctn id=\"m\" direction=\"UP\"/></route></zone>" TAIL,
            3))
        return;
    CU_ASSERT_EQUAL(ronde_graph_make(&sketch.wiring, &sketch.pool, &sketch.graph, &error),
                    RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "nothing lies between host c and another one"));
    end(&sketch);
}

/* A cut in words: ranks of a mask, and the places where all hosts of the mask's leaf are inside. */
static uint32_t say(struct sketch *sketch, uint32_t mask, bool is_reversed, char *text, size_t bytes)
{
    struct ronde_graph *graph = &sketch->graph;
    struct ronde_graph_cut cut;
    CU_ASSERT_TRUE_FATAL(ronde_cut_create(graph, &sketch->pool, &cut));
    for (uint32_t r = 0; r < graph->ranks; r++)
        cut.inside[r] = (mask >> r & 1) != 0;
    cut.capacity = ronde_cut_capacity(graph, cut.inside);
    cut.blocks = ronde_cut_ranks(graph, cut.inside);
    return ronde_cut_words(graph, &cut, is_reversed, text, bytes);
}

static void cuts_are_said_in_words(void)
{
    static const struct {
        uint32_t mask;
        bool is_reversed;
        uint32_t named;
        const char *words;
    } rows[] = {
        {0x001, false, 1, "1 of 12 hosts, h0, sends 1 block by 50 GB/s: x_link_0_UP"},
        {0x001, true, 1, "1 of 12 hosts, h0, takes in 1 block by 50 GB/s: x_link_0_UP"},
        {0x006, false, 2,
         "2 of 12 hosts, h1, h2, send 2 blocks by 100 GB/s: x_link_1_UP, x_link_2_UP"},
        {0x00e, false,
         3, "3 of 12 hosts, h1 .. h3, send 3 blocks by 150 GB/s: x_link_1_UP, x_link_2_UP, x_link_3_UP"},
        {0x555, false, 6,
         "6 of 12 hosts, h0, h2, h4, h6, ..., send 6 blocks by 300 GB/s: x_link_0_UP, x_link_2_UP, "
         "x_link_4_UP, x_link_6_UP and 2 more"},
        {0x7ff, false, 1, "1 of 12 hosts, h11, takes in 11 blocks by 550 GB/s: x_link_0_UP"},
        {0x7ff, true, 1, "1 of 12 hosts, h11, sends 11 blocks by 550 GB/s: x_link_0_UP"},
    };
    struct sketch sketch;
    char text[512];
    if (!begin(&sketch, CLUSTER("0-11", ""), 12))
        return;
    make_graph(&sketch);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const uint32_t named = say(&sketch, rows[i].mask, rows[i].is_reversed, text, sizeof text);
        const bool is_right = strncmp(text, rows[i].words, strlen(rows[i].words)) == 0;
        CU_ASSERT_EQUAL(named, rows[i].named);
        CU_ASSERT(is_right);
        if (!is_right)
            suite_note("\"%s\", expected \"%s\"", text, rows[i].words);
    }
    end(&sketch);
}

/* Whatever the room, the text is the beginning of the whole one, and nothing behind the room is written. */
static void words_end_where_their_room_does(void)
{
    struct sketch sketch;
    char whole[256], text[256];
    if (!begin(&sketch, CLUSTER("0-11", ""), 12))
        return;
    make_graph(&sketch);
    (void)say(&sketch, 0x555, false, whole, sizeof whole);
    const size_t length = strlen(whole);
    for (size_t room = 1; room <= length + 2; room++) {
        memset(text, '#', sizeof text);
        (void)say(&sketch, 0x555, false, text, room);
        const size_t kept = room - 1 < length ? room - 1 : length;
        CU_ASSERT_EQUAL(strlen(text), kept);
        CU_ASSERT_EQUAL(memcmp(text, whole, kept), 0);
        CU_ASSERT_EQUAL(text[room], '#');
    }
    end(&sketch);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_wiring_is_the_routes_of_its_ranks", a_wiring_is_the_routes_of_its_ranks},
        {"media_and_what_is_not_shared_are_told_apart", media_and_what_is_not_shared_are_told_apart},
        {"links_that_are_down_close_their_pairs", links_that_are_down_close_their_pairs},
        {"ranks_that_have_no_hosts_are_refused", ranks_that_have_no_hosts_are_refused},
        {"a_star_is_a_place_more_than_its_ranks", a_star_is_a_place_more_than_its_ranks},
        {"a_medium_is_one_edge_for_both_directions", a_medium_is_one_edge_for_both_directions},
        {"capacities_are_exact_or_say_that_they_are_not",
         capacities_are_exact_or_say_that_they_are_not},
        {"hosts_with_nothing_between_them_are_refused", hosts_with_nothing_between_them_are_refused},
        {"cuts_are_said_in_words", cuts_are_said_in_words},
        {"words_end_where_their_room_does", words_end_where_their_room_does},
    };
    return suite_run("synthesis_graph", cases, sizeof cases / sizeof cases[0]);
}
