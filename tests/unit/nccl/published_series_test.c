/**
 * Curves of published measurements: which sizes are points, what a point is of several rows, which setting and which
 * numbers of ranks are shown, and when algorithms are compared.
 */
#include "support/suite.h"

#include "ronde/published_series.h"

#include <stdint.h>
#include <string.h>

#define MAX_ROWS 1024u

/** A table in place, nothing of it to be closed. */
struct rows_made {
    struct ronde_published table;
    struct ronde_published_row rows[MAX_ROWS];
    double room[MAX_ROWS];
};

static struct rows_made made;

static const struct ronde_nccl_choice any = {RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT};

static void start(void)
{
    memset(&made, 0, sizeof made);
    made.table.rows = made.rows;
    made.table.system_count = 2;
}

/** A predicted all_reduce of 8 ranks on one node; the caller changes what it wants. */
static struct ronde_published_row *add(uint64_t bytes, double measured_us)
{
    CU_ASSERT_FATAL(made.table.count < MAX_ROWS);
    struct ronde_published_row *row = &made.rows[made.table.count++];
    *row = (struct ronde_published_row){.line = (uint32_t)made.table.count + 1,
                                        .call = {RONDE_ALL_REDUCE, 8, 1, 229, bytes},
                                        .wish = any,
                                        .measured_us = measured_us,
                                        .predicted_us = 2 * measured_us};
    return row;
}

/** Sizes 1 KiB to 4 KiB: the least that makes a curve. */
static void add_curve(uint32_t ranks, uint32_t nodes, struct ronde_nccl_choice wish)
{
    for (uint64_t bytes = 1024; bytes <= 4096; bytes *= 2) {
        struct ronde_published_row *row = add(bytes, 10);
        row->call.ranks = ranks;
        row->call.nodes = nodes;
        row->wish = wish;
    }
}

static struct ronde_series series_of(uint32_t ranks, uint32_t nodes)
{
    return (struct ronde_series){
        .call = {.collective = RONDE_ALL_REDUCE, .ranks = ranks, .nodes = nodes}, .wish = any};
}

static uint32_t panels_of(uint32_t system, struct ronde_panel out[RONDE_PANELS_MAX])
{
    memset(out, 0xff, RONDE_PANELS_MAX * sizeof *out);
    return ronde_published_panels(&made.table, system, out);
}

/* Whatever the order of the rows, points come in ascending order and each size once. */
static void points_ascend(void)
{
    static const uint64_t sizes[] = {4096, 1024, 65536, 2048, 1024, UINT64_MAX - 1, 4096};
    static const uint64_t expected[] = {1024, 2048, 4096, 65536, UINT64_MAX - 1};
    const struct ronde_series series = series_of(8, 1);
    struct ronde_series_point point = {.bytes = 0};
    start();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        add(sizes[i], 5);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        CU_ASSERT_FATAL(ronde_series_next(&made.table, &series, point.bytes, made.room, &point));
        CU_ASSERT_EQUAL(point.bytes, expected[i]);
    }
    CU_ASSERT(!ronde_series_next(&made.table, &series, point.bytes, made.room, &point));
    CU_ASSERT_EQUAL(point.bytes, UINT64_MAX - 1);
}

static void a_point_is_the_median_of_its_rows(void)
{
    static const double measured[] = {9, 1, 4, 16};
    const struct ronde_series series = series_of(8, 1);
    struct ronde_series_point point;
    start();
    for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++) {
        struct ronde_published_row *row = add(2048, measured[i]);
        row->predicted_us = 100 - measured[i];
        row->nccl_us = i < 3 ? 7 * measured[i] : 0;
    }
    CU_ASSERT_FATAL(ronde_series_next(&made.table, &series, 0, made.room, &point));
    CU_ASSERT_EQUAL(point.measured_us, 6.5);
    CU_ASSERT_EQUAL(point.predicted_us, 93.5);
    /* A row for which NCCL has no time is not in NCCL's median. */
    CU_ASSERT_EQUAL(point.nccl_us, 28);
}

/* Where algorithms are compared, each is as fast as the best of its protocols. */
static void a_forced_point_is_the_least_of_its_protocols(void)
{
    struct ronde_series series = series_of(8, 1);
    struct ronde_series_point point;
    series.is_forced = true;
    series.wish.algorithm = RONDE_NCCL_TREE;
    start();
    for (unsigned p = 0; p < RONDE_NCCL_PROTOCOL_COUNT; p++) {
        struct ronde_published_row *row = add(2048, 10 + p);
        row->wish = (struct ronde_nccl_choice){RONDE_NCCL_TREE, (enum ronde_nccl_protocol)p};
        row->predicted_us = 30 - p;
        add(2048, 1)->wish.algorithm = RONDE_NCCL_RING;
    }
    CU_ASSERT_FATAL(ronde_series_next(&made.table, &series, 0, made.room, &point));
    CU_ASSERT_EQUAL(point.measured_us, 10);
    CU_ASSERT_EQUAL(point.predicted_us, 28);
    CU_ASSERT_EQUAL(point.nccl_us, 0);
    /* Unforced, the same wish is of one protocol. */
    series.is_forced = false;
    series.wish.protocol = RONDE_NCCL_LL128;
    CU_ASSERT_FATAL(ronde_series_next(&made.table, &series, 0, made.room, &point));
    CU_ASSERT_EQUAL(point.measured_us, 11);
}

static void change(struct ronde_published_row *row, unsigned what)
{
    switch (what) {
    case 0:
        row->system = 1;
        break;
    case 1:
        row->call.collective = RONDE_ALL_GATHER;
        break;
    case 2:
        row->call.ranks = 16;
        break;
    case 3:
        row->call.nodes = 2;
        break;
    case 4:
        row->is_in_place = true;
        break;
    case 5:
        row->wish.algorithm = RONDE_NCCL_RING;
        break;
    case 6:
        row->wish.protocol = RONDE_NCCL_LL;
        break;
    default:
        row->state = (enum ronde_published_state)(RONDE_PUBLISHED_FAULTY + (what - 7));
        break;
    }
}

/* A row that differs in anything but size is of another curve; faulty, small and undescribed rows are of none. */
static void rows_of_other_curves_are_no_points(void)
{
    const struct ronde_series series = series_of(8, 1);
    const unsigned changes = 7 + RONDE_PUBLISHED_STATE_COUNT - RONDE_PUBLISHED_FAULTY;
    for (unsigned what = 0; what < changes; what++) {
        struct ronde_series_point point;
        start();
        change(add(1024, 5), what);
        CU_ASSERT(!ronde_series_next(&made.table, &series, 0, made.room, &point));
        add(1024, 8);
        CU_ASSERT_FATAL(ronde_series_next(&made.table, &series, 0, made.room, &point));
        CU_ASSERT_EQUAL(point.measured_us, 8);
    }
    start();
    add(1024, 5)->state = RONDE_PUBLISHED_FITTED;
    struct ronde_series_point point;
    CU_ASSERT(ronde_series_next(&made.table, &series, 0, made.room, &point));
    CU_ASSERT_EQUAL(point.measured_us, 5);
}

/* NCCL's version is not of a curve: a table with two of them has one curve of both. */
static void versions_share_a_curve(void)
{
    const struct ronde_series series = series_of(8, 1);
    struct ronde_series_point point;
    start();
    add(1024, 4)->call.version = 208;
    add(1024, 6);
    CU_ASSERT_FATAL(ronde_series_next(&made.table, &series, 0, made.room, &point));
    CU_ASSERT_EQUAL(point.measured_us, 5);
}

static void nothing_predicted_has_no_panel(void)
{
    struct ronde_panel panels[RONDE_PANELS_MAX];
    start();
    CU_ASSERT_EQUAL(panels_of(0, panels), 0);
    for (uint64_t bytes = 64; bytes < 1024; bytes *= 2)
        add(bytes, 3)->state = RONDE_PUBLISHED_SMALL;
    CU_ASSERT_EQUAL(panels_of(0, panels), 0);
    add_curve(8, 1, any);
    CU_ASSERT_EQUAL(panels_of(1, panels), 0);
    CU_ASSERT_EQUAL(panels_of(0, panels), 1);
}

/* Two sizes are two points and no curve. */
static void three_sizes_make_a_curve(void)
{
    struct ronde_panel panels[RONDE_PANELS_MAX];
    start();
    add(1024, 3);
    add(2048, 3);
    add(2048, 4);
    CU_ASSERT_EQUAL(panels_of(0, panels), 0);
    add(4096, 3);
    CU_ASSERT_EQUAL(panels_of(0, panels), 1);
    CU_ASSERT_EQUAL(panels[0].count, 1);
    CU_ASSERT(!panels[0].is_forced);
}

/* Five numbers of ranks at most, the least and the largest of them, in ascending order; places differ by nodes too. */
static void the_least_and_the_largest_ranks_are_shown(void)
{
    for (uint32_t places = 1; places <= 20; places++) {
        struct ronde_panel panels[RONDE_PANELS_MAX];
        start();
        for (uint32_t p = places; p > 0; p--)
            add_curve(2 * p, 1, any);
        CU_ASSERT_EQUAL_FATAL(panels_of(0, panels), 1);
        const struct ronde_panel *panel = &panels[0];
        CU_ASSERT_EQUAL_FATAL(panel->count, places < RONDE_SERIES_MAX ? places : RONDE_SERIES_MAX);
        CU_ASSERT_EQUAL(panel->series[0].call.ranks, 2);
        CU_ASSERT_EQUAL(panel->series[panel->count - 1].call.ranks, 2 * places);
        for (uint32_t s = 1; s < panel->count; s++)
            CU_ASSERT(panel->series[s - 1].call.ranks < panel->series[s].call.ranks);
    }
}

static void equal_ranks_on_other_nodes_are_another_place(void)
{
    struct ronde_panel panels[RONDE_PANELS_MAX];
    start();
    add_curve(8, 4, any);
    add_curve(8, 1, any);
    add_curve(8, 2, any);
    CU_ASSERT_EQUAL_FATAL(panels_of(0, panels), 1);
    CU_ASSERT_EQUAL_FATAL(panels[0].count, 3);
    for (uint32_t s = 0; s < 3; s++)
        CU_ASSERT_EQUAL(panels[0].series[s].call.nodes, 1u << s);
}

/* More places than are told apart: the largest is shown all the same. */
static void the_largest_is_shown_of_very_many(void)
{
    struct ronde_panel panels[RONDE_PANELS_MAX];
    start();
    for (uint32_t ranks = 2; ranks <= 200; ranks += 2)
        add_curve(ranks, 1, any);
    CU_ASSERT_EQUAL_FATAL(panels_of(0, panels), 1);
    CU_ASSERT_EQUAL(panels[0].series[0].call.ranks, 2);
    CU_ASSERT_EQUAL(panels[0].series[panels[0].count - 1].call.ranks, 200);
}

/* The setting with the most sizes; where two have as many, NCCL's own choice out of place. */
static void the_fullest_setting_is_shown(void)
{
    static const struct ronde_nccl_choice ring = {RONDE_NCCL_RING, RONDE_NCCL_SIMPLE};
    struct ronde_panel panels[RONDE_PANELS_MAX];
    start();
    add_curve(8, 1, ring);
    add_curve(8, 1, any);
    for (uint64_t bytes = 1024; bytes <= 4096; bytes *= 2)
        add(bytes, 3)->is_in_place = true;
    CU_ASSERT_EQUAL_FATAL(panels_of(0, panels), 1);
    CU_ASSERT_EQUAL(panels[0].series[0].wish.algorithm, RONDE_NCCL_ALGORITHM_COUNT);
    CU_ASSERT_EQUAL(panels[0].series[0].wish.protocol, RONDE_NCCL_PROTOCOL_COUNT);
    CU_ASSERT(!panels[0].series[0].is_in_place);
    add(8192, 3)->wish = ring;
    CU_ASSERT_EQUAL_FATAL(panels_of(0, panels), 1);
    CU_ASSERT_EQUAL(panels[0].series[0].wish.algorithm, RONDE_NCCL_RING);
    add(8192, 3)->is_in_place = true;
    add(16384, 3)->is_in_place = true;
    CU_ASSERT_EQUAL_FATAL(panels_of(0, panels), 1);
    CU_ASSERT_EQUAL(panels[0].series[0].wish.algorithm, RONDE_NCCL_ALGORITHM_COUNT);
    CU_ASSERT(panels[0].series[0].is_in_place);
}

/* Ring and Tree with three sizes each are compared, at the largest place where both are; Ring alone is not. */
static void forced_algorithms_have_a_panel(void)
{
    struct ronde_panel panels[RONDE_PANELS_MAX];
    start();
    for (uint32_t ranks = 2; ranks <= 8; ranks *= 2) {
        add_curve(ranks, 1, (struct ronde_nccl_choice){RONDE_NCCL_RING, RONDE_NCCL_LL});
        if (ranks <= 4)
            add_curve(ranks, 1, (struct ronde_nccl_choice){RONDE_NCCL_TREE, RONDE_NCCL_SIMPLE});
    }
    CU_ASSERT_EQUAL_FATAL(panels_of(0, panels), 2);
    CU_ASSERT(!panels[0].is_forced && panels[1].is_forced);
    CU_ASSERT_EQUAL_FATAL(panels[1].count, 2);
    CU_ASSERT_EQUAL(panels[1].series[0].wish.algorithm, RONDE_NCCL_RING);
    CU_ASSERT_EQUAL(panels[1].series[1].wish.algorithm, RONDE_NCCL_TREE);
    for (uint32_t s = 0; s < 2; s++) {
        CU_ASSERT(panels[1].series[s].is_forced);
        CU_ASSERT_EQUAL(panels[1].series[s].call.ranks, 4);
    }
}

/* Protocols of one algorithm fill a curve together: one size each suffices where algorithms are compared. */
static void protocols_fill_a_forced_curve_together(void)
{
    struct ronde_panel panels[RONDE_PANELS_MAX];
    start();
    add_curve(8, 1, any);
    for (unsigned a = RONDE_NCCL_RING; a <= RONDE_NCCL_TREE; a++)
        for (unsigned p = 0; p < RONDE_NCCL_PROTOCOL_COUNT; p++)
            add((uint64_t)1024 << p, 3)->wish =
                (struct ronde_nccl_choice){(enum ronde_nccl_algorithm)a,
                                           (enum ronde_nccl_protocol)p};
    CU_ASSERT_EQUAL_FATAL(panels_of(0, panels), 2);
    CU_ASSERT_EQUAL(panels[0].series[0].wish.algorithm, RONDE_NCCL_ALGORITHM_COUNT);
    CU_ASSERT_EQUAL(panels[1].count, 2);
}

/* Collectives come in the order of a picture, and a picture has room for six panels. */
static void panels_are_ordered_and_bounded(void)
{
    static const enum ronde_collective mixed[] = {RONDE_REDUCE, RONDE_BROADCAST, RONDE_ALL_REDUCE,
                                                  RONDE_REDUCE_SCATTER, RONDE_ALL_GATHER};
    static const enum ronde_collective order[] = {RONDE_ALL_REDUCE,     RONDE_ALL_REDUCE,
                                                  RONDE_ALL_GATHER,     RONDE_ALL_GATHER,
                                                  RONDE_REDUCE_SCATTER, RONDE_REDUCE_SCATTER};
    struct ronde_panel panels[RONDE_PANELS_MAX];
    start();
    for (size_t c = 0; c < sizeof mixed / sizeof mixed[0]; c++)
        for (unsigned a = RONDE_NCCL_RING; a <= RONDE_NCCL_TREE; a++) {
            const size_t from = made.table.count;
            add_curve(8, 1, (struct ronde_nccl_choice){(enum ronde_nccl_algorithm)a, RONDE_NCCL_LL});
            for (size_t r = from; r < made.table.count; r++)
                made.rows[r].call.collective = mixed[c];
        }
    CU_ASSERT_EQUAL_FATAL(panels_of(0, panels), RONDE_PANELS_MAX);
    for (uint32_t p = 0; p < RONDE_PANELS_MAX; p++) {
        CU_ASSERT_EQUAL(panels[p].series[0].call.collective, order[p]);
        CU_ASSERT_EQUAL(panels[p].is_forced, p % 2 == 1);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"points_ascend", points_ascend},
        {"a_point_is_the_median_of_its_rows", a_point_is_the_median_of_its_rows},
        {"a_forced_point_is_the_least_of_its_protocols",
         a_forced_point_is_the_least_of_its_protocols},
        {"rows_of_other_curves_are_no_points", rows_of_other_curves_are_no_points},
        {"versions_share_a_curve", versions_share_a_curve},
        {"nothing_predicted_has_no_panel", nothing_predicted_has_no_panel},
        {"three_sizes_make_a_curve", three_sizes_make_a_curve},
        {"the_least_and_the_largest_ranks_are_shown", the_least_and_the_largest_ranks_are_shown},
        {"equal_ranks_on_other_nodes_are_another_place",
         equal_ranks_on_other_nodes_are_another_place},
        {"the_largest_is_shown_of_very_many", the_largest_is_shown_of_very_many},
        {"the_fullest_setting_is_shown", the_fullest_setting_is_shown},
        {"forced_algorithms_have_a_panel", forced_algorithms_have_a_panel},
        {"protocols_fill_a_forced_curve_together", protocols_fill_a_forced_curve_together},
        {"panels_are_ordered_and_bounded", panels_are_ordered_and_bounded},
    };
    return suite_run("published_series", cases, sizeof cases / sizeof cases[0]);
}
