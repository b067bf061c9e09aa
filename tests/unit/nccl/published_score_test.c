/**
 * Scores and fits of published measurements: medians, percentiles, winners and falls against values by hand, which rows
 * count for what, and constants found again from tables that were made with them.
 */
#include "support/suite.h"

#include "nccl_shipped.h"

#include "nccl/model/setting.h"
#include "ronde/published.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define MAX_ROWS 256u

/** A table in place, nothing of it to be closed. */
struct made {
    struct ronde_published table;
    struct ronde_published_row rows[MAX_ROWS];
};

static const struct ronde_nccl_choice any = {RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT};

/** Ampere of a switch with two NICs. */
static const struct ronde_nccl_machine machine = {.name = "made",
                                                  .generation = RONDE_NCCL_AMPERE,
                                                  .link = RONDE_NODE_SWITCH,
                                                  .fabric = RONDE_NCCL_INFINIBAND,
                                                  .cpu = RONDE_NCCL_INTEL,
                                                  .gpus = 8,
                                                  .sockets = 1,
                                                  .nics = 8,
                                                  .nvlink_GBps = 300,
                                                  .pcie_GBps = 32,
                                                  .nic_GBps = 25};

static void start(struct made *made, uint32_t systems)
{
    memset(made, 0, sizeof *made);
    made->table.rows = made->rows;
    made->table.mem = ronde_mem_default();
    made->table.system_count = systems;
    for (uint32_t s = 0; s < systems; s++) {
        made->table.systems[s].machine = machine;
        made->table.systems[s].is_described = true;
    }
}

static struct ronde_published_row *add(struct made *made, uint32_t system, uint32_t ranks,
                                       uint32_t nodes, uint64_t bytes, double measured_us)
{
    CU_ASSERT_FATAL(made->table.count < MAX_ROWS);
    struct ronde_published_row *row = &made->rows[made->table.count++];
    *row = (struct ronde_published_row){.line = (uint32_t)made->table.count + 1,
                                        .system = system,
                                        .call = {RONDE_ALL_REDUCE, ranks, nodes, 229, bytes},
                                        .wish = any,
                                        .measured_us = measured_us};
    return row;
}

static struct ronde_published_score score_of(const struct made *made, uint32_t system)
{
    struct ronde_published_score score;
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_EQUAL(ronde_published_score_of(&made->table, system, &score, &error), RONDE_OK);
    return score;
}

/* Errors of 10, 20 ... 100 %, half of them upwards: median 55, nearest-rank 90th percentile the ninth; NCCL's own of three. */
static void errors_are_summed_up_by_hand(void)
{
    static struct made made;
    static const double percent[] = {70, -10, 100, 30, -50, 90, -20, 60, 40, -80};
    start(&made, 2);
    for (size_t i = 0; i < 10; i++) {
        struct ronde_published_row *row = add(&made, 0, 2, 1, 1024 << i, 200);
        row->predicted_us = 200 * (1 + percent[i] / 100);
        row->nccl_us = i < 3 ? 200 * (1.1 + .2 * (double)i) : 0;
    }
    add(&made, 1, 2, 1, 1024, 100)->predicted_us = 500;
    const struct ronde_published_score first = score_of(&made, 0), second = score_of(&made, 1);
    CU_ASSERT_DOUBLE_EQUAL(first.median, .55, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(first.p90, .9, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(first.nccl_median, .3, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(first.beside_nccl_median, .7, 1e-9);
    CU_ASSERT_EQUAL(first.count[RONDE_PUBLISHED_PREDICTED], 10);
    CU_ASSERT_DOUBLE_EQUAL(second.median, 4, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(second.p90, 4, 1e-9);
    CU_ASSERT_EQUAL(second.nccl_median, 0);
    CU_ASSERT_EQUAL(second.beside_nccl_median, 0);
}

/* Repeats of 100, 121 and 110 us lie 1.153, 0.866 and 1 times from the mean of the others; other calls are no repeats. */
static void repeats_are_held_against_each_other(void)
{
    static struct made made;
    static const double us[] = {100, 121, 110};
    start(&made, 2);
    for (size_t i = 0; i < 3; i++)
        add(&made, 0, 2, 1, 1024, us[i])->predicted_us = 100;
    CU_ASSERT_DOUBLE_EQUAL(score_of(&made, 0).own_spread, 121 / sqrt(100 * 110.) - 1, 1e-9);
    made.rows[2].wish.protocol = RONDE_NCCL_LL;
    CU_ASSERT_DOUBLE_EQUAL(score_of(&made, 0).own_spread, .21, 1e-9);
    made.rows[1].is_in_place = true;
    CU_ASSERT_DOUBLE_EQUAL(score_of(&made, 0).own_spread, .21, 1e-9);
    made.rows[1].call.version = 228;
    CU_ASSERT_EQUAL(score_of(&made, 0).own_spread, -1);
    CU_ASSERT_EQUAL(score_of(&made, 1).own_spread, -1);
}

/* Rows of every state are counted by it; errors are of the predicted ones alone. */
static void only_predictions_are_scored(void)
{
    static struct made made;
    start(&made, 2);
    for (unsigned state = 0; state < RONDE_PUBLISHED_STATE_COUNT; state++)
        for (unsigned n = 0; n <= state; n++) {
            struct ronde_published_row *row = add(&made, 0, 2, 1, 1024, 100);
            row->state = (enum ronde_published_state)state;
            row->predicted_us = state == RONDE_PUBLISHED_PREDICTED ? 125 : 1e6;
        }
    const struct ronde_published_score score = score_of(&made, 0), none = score_of(&made, 1);
    for (unsigned state = 0; state < RONDE_PUBLISHED_STATE_COUNT; state++) {
        CU_ASSERT_EQUAL(score.count[state], state + 1);
        CU_ASSERT_EQUAL(none.count[state], 0);
    }
    CU_ASSERT_DOUBLE_EQUAL(score.median, .25, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(score.p90, .25, 1e-9);
    CU_ASSERT_EQUAL(none.median, 0);
    CU_ASSERT_EQUAL(none.duels, 0);
}

/* A time of a wrong result may be the time of anything: it counts as faulty, and the reason is there, with its lines. */
static void wrong_results_are_not_scored(void)
{
    static struct made made;
    struct ronde_published_whys whys;
    struct ronde_error room;
    start(&made, 1);
    made.table.systems[0].is_described = true;
    for (unsigned r = 0; r < 3; r++) {
        add(&made, 0, 2, 1, 1024, 100)->predicted_us = 125 << r;
        made.table.rows[r].is_wrong = r > 0;
    }
    const struct ronde_published_score score = score_of(&made, 0);
    CU_ASSERT_EQUAL(score.count[RONDE_PUBLISHED_PREDICTED], 1);
    CU_ASSERT_EQUAL(score.count[RONDE_PUBLISHED_FAULTY], 2);
    CU_ASSERT_DOUBLE_EQUAL(score.p90, .25, 1e-9);
    ronde_published_whys_of(&made.table, &whys);
    CU_ASSERT_EQUAL(whys.group[0].rows, 2);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(ronde_published_why_of(&made.table, &made.table.rows[2], &room), "#wrong"));
}

/* Measured and predicted times of Ring/LL, Ring/Simple, Tree/Simple and NCCL's own choice at one point; 0 = not measured. */
static void winners_are_of_the_best_protocols(void)
{
    static const struct {
        double measured[4], predicted[4];
        uint32_t duels, winners;
    } cases[] = {
        {{100, 0, 200, 0}, {10, 0, 20, 0}, 1, 1},    /* the ring, and so predicted */
        {{100, 0, 200, 0}, {20, 0, 10, 0}, 1, 0},    /* the ring, but predicted the tree */
        {{300, 100, 200, 0}, {90, 30, 60, 0}, 1, 1}, /* the ring by its other protocol */
        {{300, 100, 200, 0}, {30, 90, 60, 0}, 1, 1}, /* whichever protocol is predicted best */
        {{300, 190, 100, 0}, {50, 60, 70, 0}, 1, 0}, /* the tree, but predicted the ring */
        {{100, 0, 109, 0}, {20, 0, 10, 0}, 0, 0},    /* 9 % are no difference */
        {{100, 0, 111, 0}, {20, 0, 10, 0}, 1, 0},    /* 11 % are */
        {{100, 50, 0, 0}, {20, 10, 0, 0}, 0, 0},     /* one algorithm: nothing to win */
        {{0, 0, 100, 10}, {0, 0, 20, 10}, 0, 0},     /* NCCL's own choice is no contender */
        {{100, 0, 200, 10}, {10, 0, 20, 90}, 1, 1},  /* not here either */
    };
    static const struct ronde_nccl_choice wishes[] = {{RONDE_NCCL_RING, RONDE_NCCL_LL},
                                                      {RONDE_NCCL_RING, RONDE_NCCL_SIMPLE},
                                                      {RONDE_NCCL_TREE, RONDE_NCCL_SIMPLE},
                                                      {RONDE_NCCL_ALGORITHM_COUNT,
                                                       RONDE_NCCL_PROTOCOL_COUNT}};
    static struct made all;
    uint32_t duels = 0, winners = 0;
    start(&all, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static struct made made;
        start(&made, 1);
        for (size_t w = 0; w < 4; w++)
            if (cases[i].measured[w] > 0) {
                struct ronde_published_row *row = add(&made, 0, 2, 1, 1024, cases[i].measured[w]);
                row->wish = wishes[w];
                row->predicted_us = cases[i].predicted[w];
                /* The same at a point of its own in the table of all, written last size first. */
                *add(&all, 0, 2, 1, 1, 1) = *row;
                all.rows[all.table.count - 1].call.bytes = (uint64_t)1 << (30 - i);
                all.rows[all.table.count - 1].line = (uint32_t)all.table.count;
            }
        const struct ronde_published_score score = score_of(&made, 0);
        CU_ASSERT_EQUAL(score.duels, cases[i].duels);
        CU_ASSERT_EQUAL(score.winners, cases[i].winners);
        duels += score.duels;
        winners += score.winners;
    }
    const struct ronde_published_score sum = score_of(&all, 0);
    CU_ASSERT_EQUAL(sum.duels, duels);
    CU_ASSERT_EQUAL(sum.winners, winners);
    CU_ASSERT(duels == 7 && winners == 4);
}

/* Points differ by collective, ranks, nodes and bytes: rows that differ in any are no duel. */
static void points_are_told_apart(void)
{
    for (int differ = 0; differ < 5; differ++) {
        static struct made made;
        start(&made, 1);
        for (unsigned a = 0; a < 2; a++) {
            struct ronde_published_row *row = add(&made, 0, 4, 1, 1024, a ? 300 : 100);
            row->predicted_us = 50;
            row->wish.algorithm = (enum ronde_nccl_algorithm)a;
            row->call.collective = a && differ == 1 ? RONDE_REDUCE : RONDE_ALL_REDUCE;
            row->call.ranks = a && differ == 2 ? 8 : 4;
            row->call.nodes = a && differ == 3 ? 2 : 1;
            row->call.bytes = a && differ == 4 ? 2048 : 1024;
        }
        CU_ASSERT_EQUAL(score_of(&made, 0).duels, differ == 0);
    }
}

/* Of four steps from size to size one falls by more than 10 %; what is faulty, smaller or of another series is no step. */
static void falls_are_of_steps_of_one_series(void)
{
    static const double us[] = {100, 120, 90, 85, 130};
    static struct made made;
    start(&made, 2);
    CU_ASSERT_EQUAL(ronde_published_falls(&made.table, 0), 0);
    for (size_t i = 0; i < 5; i++)
        (void)add(&made, 0, 2, 1, 1024 << i, us[i]);
    CU_ASSERT_DOUBLE_EQUAL(ronde_published_falls(&made.table, 0), .25, 1e-12);
    (void)add(&made, 0, 2, 1, 1024, 10);   /* smaller */
    (void)add(&made, 0, 4, 1, 1 << 20, 1); /* other ranks */
    add(&made, 0, 4, 1, 1 << 21, .1)->state = RONDE_PUBLISHED_FAULTY;
    (void)add(&made, 0, 4, 1, 1 << 22, .01); /* after a faulty one */
    add(&made, 0, 4, 1, 1 << 23, .001)->wish.protocol = RONDE_NCCL_LL;
    (void)add(&made, 1, 2, 1, 1 << 24, 1e-9); /* another system */
    CU_ASSERT_DOUBLE_EQUAL(ronde_published_falls(&made.table, 0), .25, 1e-12);
    CU_ASSERT_EQUAL(score_of(&made, 0).falls, ronde_published_falls(&made.table, 0));
    CU_ASSERT_EQUAL(ronde_published_falls(&made.table, 1), 0);
}

/* A machine that cannot make a call does not describe it; another one that can does so later. */
static void descriptions_decide_what_is_predicted(void)
{
    const struct ronde_nccl_constants constants = nccl_shipped();
    struct ronde_nccl_machine lone = machine;
    static struct made made;
    start(&made, 2);
    lone.nics = 0;
    made.table.systems[0].machine = lone;
    made.table.systems[1].is_described = false;
    (void)add(&made, 0, 8, 1, 1 << 20, 50);
    (void)add(&made, 0, 16, 2, 1 << 20, 50);
    (void)add(&made, 0, 16, 1, 1 << 20, 50);
    (void)add(&made, 1, 8, 1, 1 << 20, 50);
    add(&made, 0, 8, 1, 512, 50)->state = RONDE_PUBLISHED_SMALL;
    add(&made, 0, 8, 1, 4096, 50)->state = RONDE_PUBLISHED_FAULTY;
    static const enum ronde_published_state before[] = {
        RONDE_PUBLISHED_PREDICTED,     RONDE_PUBLISHED_NOT_DESCRIBED, RONDE_PUBLISHED_NOT_DESCRIBED,
        RONDE_PUBLISHED_NOT_DESCRIBED, RONDE_PUBLISHED_SMALL,         RONDE_PUBLISHED_FAULTY};
    static const enum ronde_published_state after[] = {
        RONDE_PUBLISHED_PREDICTED,     RONDE_PUBLISHED_PREDICTED, RONDE_PUBLISHED_NOT_DESCRIBED,
        RONDE_PUBLISHED_NOT_DESCRIBED, RONDE_PUBLISHED_SMALL,     RONDE_PUBLISHED_FAULTY};
    ronde_published_choose(&made.table, &constants);
    ronde_published_predict(&made.table, 0, &constants);
    for (size_t r = 0; r < 6; r++) {
        CU_ASSERT_EQUAL(made.rows[r].state, before[r]);
        CU_ASSERT_EQUAL(made.rows[r].predicted_us > 0, before[r] == RONDE_PUBLISHED_PREDICTED);
        CU_ASSERT_EQUAL(made.rows[r].nccl_us > 0, before[r] == RONDE_PUBLISHED_PREDICTED);
    }
    ronde_published_describe(&made.table, 0, &machine, &constants);
    for (size_t r = 0; r < 6; r++)
        CU_ASSERT_EQUAL(made.rows[r].state, after[r]);
    ronde_published_describe(&made.table, 1, &machine, &constants);
    CU_ASSERT_EQUAL(made.rows[3].state, RONDE_PUBLISHED_PREDICTED);
    CU_ASSERT_EQUAL(made.rows[3].predicted_us, 0);
    ronde_published_predict(&made.table, 1, &constants);
    CU_ASSERT_EQUAL(made.rows[3].predicted_us, made.rows[0].predicted_us);
}

/** Rows of sizes from 1 KiB, or what is given, to 1 GiB as the model has them. */
static void add_made(struct made *made, const struct ronde_nccl_constants *constants,
                     uint32_t system, uint32_t ranks, uint32_t nodes, uint64_t from)
{
    for (uint64_t bytes = from; bytes <= 1u << 30; bytes *= 4) {
        struct ronde_published_row *row = add(made, system, ranks, nodes, bytes, 1);
        row->measured_us = nccl_chosen_us(constants, &made->table.systems[system].machine,
                                          &row->call, &row->choice);
    }
}

/* An anchor is one collective on the fewest nodes, faulty rows left out; or all rows, where a log is one. */
static void an_anchor_is_one_collective_on_the_fewest_nodes(void)
{
    const struct ronde_nccl_constants shipped = nccl_shipped();
    static struct made made;
    start(&made, 1);
    add_made(&made, &shipped, 0, 16, 2, 1024);
    add(&made, 0, 4, 1, 1 << 20, 1e6)->call.collective = RONDE_REDUCE;
    const size_t first = made.table.count;
    add_made(&made, &shipped, 0, 8, 1, 1024);
    add_made(&made, &shipped, 0, 4, 1, 1024);
    add(&made, 0, 4, 1, 1024, 1e6)->state = RONDE_PUBLISHED_FAULTY;
    CU_ASSERT_EQUAL(ronde_published_mark_anchor(&made.table, 0, false), 22);
    for (size_t r = 0; r < made.table.count; r++)
        CU_ASSERT_EQUAL(made.rows[r].state == RONDE_PUBLISHED_FITTED, r >= first && r < first + 22);
    CU_ASSERT_EQUAL(ronde_published_mark_anchor(&made.table, 0, true), 12);
    CU_ASSERT_EQUAL(made.rows[made.table.count - 1].state, RONDE_PUBLISHED_FAULTY);
}

/* Rates follow their rows; launch and hops go the same way, and are held. */
static void a_system_is_fitted_to_its_anchor(void)
{
    const struct ronde_nccl_constants shipped = nccl_shipped();
    struct ronde_nccl_constants truth = shipped, fitted = shipped;
    static struct made made;
    start(&made, 1);
    const double launch = ronde_nccl_launch_us(&shipped, &made.table.systems[0].machine);
    truth.launch_us = 1.2 * launch;
    truth.links = .7;
    add_made(&made, &truth, 0, 8, 1, 1024);
    CU_ASSERT_EQUAL(ronde_published_mark_anchor(&made.table, 0, false), 11);
    const struct ronde_published_anchor anchor = ronde_published_fit_system(&made.table, 0, &fitted);
    CU_ASSERT_EQUAL(anchor.rows, 11);
    CU_ASSERT_TRUE(anchor.inside.is_fitted);
    CU_ASSERT_FALSE(anchor.between.is_fitted);
    CU_ASSERT(fabs(fitted.links / truth.links - 1) < .05);
    CU_ASSERT(fitted.launch_us > launch && fitted.launch_us < 1.2 * launch);
    CU_ASSERT_EQUAL(anchor.inside.rate, fitted.links);
    CU_ASSERT_EQUAL(anchor.launch_us, fitted.launch_us);
    CU_ASSERT_EQUAL(anchor.inside.latency, fitted.inside);
    CU_ASSERT_EQUAL(fitted.nics, 1);
    CU_ASSERT_EQUAL(fitted.between, 1);
}

/* Where one process launches on all GPUs of a node in turn, what small calls take is the host's, and followed as rates are. */
static void a_host_that_launches_in_turn_is_fitted(void)
{
    const size_t host = RONDE_NCCL_COMMON_launch_us_per_gpu;
    const struct ronde_nccl_constants shipped = nccl_shipped();
    struct ronde_nccl_constants truth = shipped, fitted = shipped;
    static struct made made;
    start(&made, 1);
    made.table.systems[0].machine.is_one_process = true;
    truth.all[host].value *= 1.5;
    add_made(&made, &truth, 0, 8, 1, 1024);
    CU_ASSERT_EQUAL(ronde_published_mark_anchor(&made.table, 0, false), 11);
    const struct ronde_published_anchor anchor = ronde_published_fit_system(&made.table, 0, &fitted);
    CU_ASSERT_TRUE(anchor.is_in_turn);
    CU_ASSERT(fabs(fitted.all[host].value / truth.all[host].value - 1) < .1);
    CU_ASSERT_EQUAL(anchor.launch_us, fitted.all[host].value);
    CU_ASSERT_EQUAL(fitted.launch_us, 0);
    /* Between nodes it has a process a GPU. */
    start(&made, 1);
    made.table.systems[0].machine.is_one_on_one_node = true;
    fitted = shipped;
    add_made(&made, &shipped, 0, 16, 2, 1024);
    CU_ASSERT_EQUAL(ronde_published_mark_anchor(&made.table, 0, false), 11);
    CU_ASSERT_FALSE(ronde_published_fit_system(&made.table, 0, &fitted).is_in_turn);
    CU_ASSERT_EQUAL(fitted.all[host].value, shipped.all[host].value);
}

/* Rows across nodes say something of NICs; large ones nothing of latencies; none at all nothing. */
static void a_fit_changes_what_rows_speak_of(void)
{
    struct ronde_nccl_constants truth = nccl_shipped(), fitted = nccl_shipped();
    static struct made made;
    start(&made, 2);
    truth.nics = .7;
    add_made(&made, &truth, 0, 16, 2, 64 << 20);
    CU_ASSERT_EQUAL(ronde_published_mark_anchor(&made.table, 0, false), 3);
    CU_ASSERT_TRUE(ronde_published_fit_system(&made.table, 0, &fitted).between.is_fitted);
    CU_ASSERT(fabs(fitted.nics / truth.nics - 1) < .05);
    /* A slice's way leads through links, too. */
    CU_ASSERT(fabs(fitted.links - 1) < .02);
    CU_ASSERT_EQUAL(fitted.launch_us, 0);
    CU_ASSERT_EQUAL(fitted.inside, 1);
    CU_ASSERT_EQUAL(fitted.between, 1);
    fitted = nccl_shipped();
    CU_ASSERT_EQUAL(ronde_published_mark_anchor(&made.table, 1, false), 0);
    CU_ASSERT_EQUAL(ronde_published_fit_system(&made.table, 1, &fitted).rows, 0);
    CU_ASSERT_EQUAL(fitted.launch_us, 0);
    CU_ASSERT_EQUAL(fitted.links, 1);
}

/** The shipped constants, none of which a fit would change. */
static struct ronde_nccl_constants without_starts(void)
{
    struct ronde_nccl_constants constants = nccl_shipped();
    for (size_t i = 0; i < RONDE_NCCL_CONSTANT_COUNT; i++)
        constants.all[i].start = 0;
    return constants;
}

/* Two constants that rows depend on are found; those without a start stay; systems that are left out do not count. */
static void constants_are_found_from_their_starts(void)
{
    const size_t launch = RONDE_NCCL_COMMON_launch_us;
    struct ronde_nccl_constants truth = nccl_shipped(), fitted = without_starts();
    static struct made made;
    start(&made, 3);
    fitted.all[launch].start = 4;
    fitted.all[RONDE_NCCL_COMMON_nvlink_efficiency].start = .78;
    truth.all[launch].value = 8;
    truth.all[RONDE_NCCL_COMMON_nvlink_efficiency].value = .7;
    add_made(&made, &truth, 0, 8, 1, 1024);
    /* One that falls at every step is too noisy, the other is left out by its number. */
    for (uint32_t step = 0; step < 8; step++)
        (void)add(&made, 1, 8, 1, 1024 << step, 1e6 / (1 << step));
    truth.all[launch].value = 14;
    truth.all[RONDE_NCCL_COMMON_nvlink_efficiency].value = .76;
    add_made(&made, &truth, 2, 8, 1, 1024);
    add(&made, 0, 8, 1, 2048, 1e6)->state = RONDE_PUBLISHED_FAULTY;
    ronde_published_fit_constants(&made.table, 2, &fitted);
    for (size_t i = 0; i < RONDE_NCCL_CONSTANT_COUNT; i++)
        if (!(fitted.all[i].start > 0))
            CU_ASSERT_EQUAL(fitted.all[i].value, nccl_shipped().all[i].value);
    CU_ASSERT(fabs(fitted.all[launch].value / 8 - 1) < .1);
    CU_ASSERT(fabs(fitted.all[RONDE_NCCL_COMMON_nvlink_efficiency].value / .7 - 1) < .03);
    /* The other way round: what the other system was made with. */
    ronde_published_fit_constants(&made.table, 0, &fitted);
    CU_ASSERT(fabs(fitted.all[launch].value / 14 - 1) < .1);
    CU_ASSERT(fabs(fitted.all[RONDE_NCCL_COMMON_nvlink_efficiency].value / .76 - 1) < .03);
}

/* The launch that is found of nine systems whose own are as far apart as `factor` and its inverse from 8 us, from 4. */
static double launch_of_nine(double factor)
{
    const size_t launch = RONDE_NCCL_COMMON_launch_us;
    struct ronde_nccl_constants truth = nccl_shipped(), fitted = without_starts();
    static struct made made;
    start(&made, 9);
    fitted.all[launch].start = 4;
    for (uint32_t s = 0; s < 9; s++) {
        truth.all[launch].value = 8 * pow(factor, (double)(s % 3) - 1);
        add_made(&made, &truth, s, 8, 1, 1024);
    }
    ronde_published_fit_constants(&made.table, UINT32_MAX, &fitted);
    return fitted.all[launch].value;
}

/* Systems that agree leave nothing to a start, and the more they differ the more they leave to it. */
static void rows_say_how_much_a_start_holds(void)
{
    const double agreed = launch_of_nine(1), apart = launch_of_nine(1.5),
                 far_apart = launch_of_nine(2);
    suite_note("of systems that agree %.3f us, %.3f and %.3f of those that do not", agreed, apart,
               far_apart);
    CU_ASSERT(fabs(agreed / 8 - 1) < .005);
    CU_ASSERT(apart < agreed);
    CU_ASSERT(far_apart < apart);
    CU_ASSERT(far_apart > 4);
}

/* NCCL has trees for all_reduce alone, and NVLS where there is a switch: other calls that were to run by them ran as rings. */
static void wishes_that_cannot_be_met_are_rings(void)
{
    static const struct {
        enum ronde_collective collective;
        enum ronde_nccl_algorithm wish, choice;
    } rows[] = {{RONDE_ALL_REDUCE, RONDE_NCCL_TREE, RONDE_NCCL_TREE},
                {RONDE_BROADCAST, RONDE_NCCL_TREE, RONDE_NCCL_RING},
                {RONDE_ALL_GATHER, RONDE_NCCL_NVLS_TREE, RONDE_NCCL_RING},
                {RONDE_ALL_REDUCE, RONDE_NCCL_NVLS, RONDE_NCCL_RING}};
    const struct ronde_nccl_constants constants = nccl_shipped();
    static struct made made;
    start(&made, 1);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        struct ronde_published_row *row = add(&made, 0, 8, 1, 1 << 20, 100);
        row->call.collective = rows[r].collective;
        row->wish = (struct ronde_nccl_choice){rows[r].wish, RONDE_NCCL_SIMPLE};
    }
    ronde_published_choose(&made.table, &constants);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        CU_ASSERT_EQUAL(made.rows[r].choice.algorithm, rows[r].choice);
        CU_ASSERT_EQUAL(made.rows[r].choice.protocol, RONDE_NCCL_SIMPLE);
        CU_ASSERT_EQUAL(made.rows[r].wish.algorithm, rows[r].wish);
        CU_ASSERT(made.rows[r].nccl_us > 0);
    }
}

/* A system that takes 2.5 times as long as its description lets it is another machine: nothing is learnt from it. */
static void other_machines_teach_nothing(void)
{
    const size_t launch = RONDE_NCCL_COMMON_launch_us;
    struct ronde_nccl_constants truth = nccl_shipped(), fitted = without_starts();
    static struct made made;
    start(&made, 2);
    fitted.all[launch].start = truth.all[launch].value;
    fitted.all[RONDE_NCCL_COMMON_nvlink_efficiency].start =
        truth.all[RONDE_NCCL_COMMON_nvlink_efficiency].value;
    add_made(&made, &truth, 0, 8, 1, 1024);
    add_made(&made, &truth, 1, 8, 1, 1024);
    for (size_t r = 0; r < made.table.count; r++)
        made.rows[r].measured_us *= made.rows[r].system == 1 ? 2.5 : 1;
    ronde_published_fit_constants(&made.table, UINT32_MAX, &fitted);
    CU_ASSERT_EQUAL(fitted.all[launch].value, truth.all[launch].value);
    CU_ASSERT_EQUAL(fitted.all[RONDE_NCCL_COMMON_nvlink_efficiency].value,
                    truth.all[RONDE_NCCL_COMMON_nvlink_efficiency].value);
    /* At 1.5 times it counts. */
    for (size_t r = 0; r < made.table.count; r++)
        made.rows[r].measured_us *= made.rows[r].system == 1 ? .6 : 1;
    ronde_published_fit_constants(&made.table, UINT32_MAX, &fitted);
    CU_ASSERT(fitted.all[launch].value > 1.02 * truth.all[launch].value ||
              fitted.all[RONDE_NCCL_COMMON_nvlink_efficiency].value <
                  .98 * truth.all[RONDE_NCCL_COMMON_nvlink_efficiency].value);
}

static void states_have_texts(void)
{
    static const char *const texts[] = {"predicted",    "fitted",       "faulty",
                                        "below 1 KiB",  "not modelled", "no machine description",
                                        "not measured", "refused",      "?"};
    for (unsigned state = 0; state < sizeof texts / sizeof texts[0]; state++)
        CU_ASSERT_STRING_EQUAL(ronde_published_state_text((enum ronde_published_state)state),
                               texts[state]);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"errors_are_summed_up_by_hand", errors_are_summed_up_by_hand},
        {"only_predictions_are_scored", only_predictions_are_scored},
        {"wrong_results_are_not_scored", wrong_results_are_not_scored},
        {"winners_are_of_the_best_protocols", winners_are_of_the_best_protocols},
        {"points_are_told_apart", points_are_told_apart},
        {"repeats_are_held_against_each_other", repeats_are_held_against_each_other},
        {"falls_are_of_steps_of_one_series", falls_are_of_steps_of_one_series},
        {"descriptions_decide_what_is_predicted", descriptions_decide_what_is_predicted},
        {"an_anchor_is_one_collective_on_the_fewest_nodes",
         an_anchor_is_one_collective_on_the_fewest_nodes},
        {"a_system_is_fitted_to_its_anchor", a_system_is_fitted_to_its_anchor},
        {"a_host_that_launches_in_turn_is_fitted", a_host_that_launches_in_turn_is_fitted},
        {"a_fit_changes_what_rows_speak_of", a_fit_changes_what_rows_speak_of},
        {"rows_say_how_much_a_start_holds", rows_say_how_much_a_start_holds},
        {"constants_are_found_from_their_starts", constants_are_found_from_their_starts},
        {"wishes_that_cannot_be_met_are_rings", wishes_that_cannot_be_met_are_rings},
        {"other_machines_teach_nothing", other_machines_teach_nothing},
        {"states_have_texts", states_have_texts},
    };
    return suite_run("published_score", cases, sizeof cases / sizeof cases[0]);
}
