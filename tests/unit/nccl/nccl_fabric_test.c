/**
 * The model of NCCL on real fabrics: a healthy machine loses nothing, a sick NIC costs the same wherever it is, switches
 * that carry less cost what they must, and no call is faster than the least that links allow.
 */
#include "support/suite.h"

#include "unit/platform_text.h"

#include "ronde/bound.h"
#include "ronde/generate.h"
#include "ronde/nccl_platform.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/** Every collective that the model has. */
static const enum ronde_collective collectives[] = {RONDE_ALL_REDUCE,     RONDE_ALL_GATHER,
                                                    RONDE_REDUCE_SCATTER, RONDE_BROADCAST,
                                                    RONDE_REDUCE,         RONDE_SEND_RECV,
                                                    RONDE_ALL_TO_ALL,     RONDE_GATHER,
                                                    RONDE_SCATTER};

#define COLLECTIVES (sizeof collectives / sizeof collectives[0])

/** A platform, NCCL's machine of it, and the constants. */
struct site {
    struct ronde_platform *platform;
    struct ronde_nccl_machine machine;
    struct ronde_nccl_constants constants;
    struct ronde_nccl_limit limits[RONDE_NCCL_LIMITS];
};

static void site_begin(struct site *site, const struct ronde_generate_request *request)
{
    struct ronde_error error = {.status = RONDE_OK};
    site->platform = platform_text_generated(request);
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_machine_of_platform(site->platform, &site->machine, &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_constants_read(NULL, &site->constants, &error), RONDE_OK);
    site->machine.limits = site->limits;
}

static void site_end(struct site *site)
{
    ronde_platform_destroy(site->platform);
}

static void find_limits(struct site *site, const struct ronde_nccl_call *call)
{
    struct ronde_error error = {.status = RONDE_OK};
    const enum ronde_status status =
        ronde_nccl_limits_find(site->platform, &site->machine, call, NULL, ronde_mem_default(),
                               site->limits, &error);
    if (status != RONDE_OK)
        suite_note("%s", error.message);
    CU_ASSERT_EQUAL_FATAL(status, RONDE_OK);
}

static double time_us(const struct site *site, struct ronde_nccl_call call, uint64_t bytes,
                      enum ronde_nccl_algorithm algorithm)
{
    call.bytes = bytes;
    return ronde_nccl_execution_us(&site->constants, &site->machine, &call,
                                   (struct ronde_nccl_choice){algorithm, RONDE_NCCL_SIMPLE});
}

/* A mesh has no ring that enters each of an odd number of nodes by the rail by which it left another: one switch joins all. */
static void healthy_nodes_on_full_fabrics_lose_nothing(void)
{
    static const char *const kinds[] = {"dgx-a100", "dgx-h100", "hgx-h200", "mi300x"};
    static const enum ronde_fabric fabrics[] = {RONDE_FABRIC_RAIL, RONDE_FABRIC_RAIL,
                                                RONDE_FABRIC_CROSSBAR, RONDE_FABRIC_CROSSBAR};
    static const uint32_t nodes[] = {1, 2, 3, 4, 9, 16};
    static struct site site;
    if (!suite_can_read_platforms())
        return;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
            const struct ronde_generate_request request = {.kind = kinds[k],
                                                           .nodes = nodes[i],
                                                           .fabric = nodes[i] > 1
                                                                         ? fabrics[k]
                                                                         : RONDE_FABRIC_COUNT};
            site_begin(&site, &request);
            for (size_t c = 0; c < COLLECTIVES; c++) {
                const struct ronde_nccl_call call = {.collective = collectives[c],
                                                     .ranks = nodes[i] * site.machine.gpus,
                                                     .nodes = nodes[i]};
                find_limits(&site, &call);
                for (unsigned a = 0; a < RONDE_NCCL_LIMITS; a++) {
                    const struct ronde_nccl_limit *limit = &site.limits[a];
                    const bool is_whole = limit->between > 1 - 1e-9 && limit->inside > 1 - 1e-9;
                    CU_ASSERT(is_whole);
                    if (!is_whole)
                        suite_note("%u %s, %s by algorithm %u: %g inside, %g between", nodes[i],
                                   kinds[k], ronde_collective_text(collectives[c]), a,
                                   limit->inside, limit->between);
                }
            }
            site_end(&site);
        }
}

/** Time of each algorithm with one link at a quarter of its rate. */
static void take_sick(const char *link, double out_us[RONDE_NCCL_ALGORITHM_COUNT])
{
    static struct site site;
    struct ronde_error error = {.status = RONDE_OK};
    const struct ronde_generate_request request = {.kind = "dgx-h100",
                                                   .nodes = 16,
                                                   .fabric = RONDE_FABRIC_RAIL};
    const struct ronde_nccl_call call = {.collective = RONDE_ALL_REDUCE, .ranks = 128, .nodes = 16};
    site_begin(&site, &request);
    if (link)
        CU_ASSERT_EQUAL(ronde_platform_degrade(site.platform, link, .25, &error), RONDE_OK);
    /* As a file that has it: the machine is read after the link has fallen. */
    CU_ASSERT_EQUAL(ronde_nccl_machine_of_platform(site.platform, &site.machine, &error), RONDE_OK);
    site.machine.limits = site.limits;
    find_limits(&site, &call);
    CU_ASSERT_EQUAL(site.machine.nics, 8);
    CU_ASSERT_EQUAL(site.machine.nic_GBps, 50);
    CU_ASSERT_EQUAL(site.machine.nvlink_GBps, 450);
    for (unsigned a = 0; a < RONDE_NCCL_ALGORITHM_COUNT; a++)
        out_us[a] = time_us(&site, call, UINT64_C(1) << 30, (enum ronde_nccl_algorithm)a);
    site_end(&site);
}

static void a_sick_link_costs_the_same_wherever_it_is(void)
{
    static const char *const families[][4] = {{"n0g0_c", "n5g0_c", "n15g0_c", "n8g7_c"},
                                              {"n0g0_v", "n5g3_v", "n15g7_v", "n1g1_v"}};
    double healthy[RONDE_NCCL_ALGORITHM_COUNT], first[RONDE_NCCL_ALGORITHM_COUNT];
    if (!suite_can_read_platforms())
        return;
    take_sick(NULL, healthy);
    for (size_t f = 0; f < 2; f++) {
        take_sick(families[f][0], first);
        for (unsigned a = 0; a < RONDE_NCCL_ALGORITHM_COUNT; a++)
            CU_ASSERT(first[a] > 2 * healthy[a] || f == 1);
        CU_ASSERT(first[RONDE_NCCL_RING] > healthy[RONDE_NCCL_RING]);
        for (size_t i = 1; i < 4; i++) {
            double other[RONDE_NCCL_ALGORITHM_COUNT];
            take_sick(families[f][i], other);
            for (unsigned a = 0; a < RONDE_NCCL_ALGORITHM_COUNT; a++) {
                CU_ASSERT(fabs(other[a] / first[a] - 1) < 1e-9);
                if (!(fabs(other[a] / first[a] - 1) < 1e-9))
                    suite_note("algorithm %u: %g us by %s, %g by %s", a, first[a], families[f][0],
                               other[a], families[f][i]);
            }
        }
    }
}

static double oversubscribed_us(double ratio, enum ronde_collective collective,
                                enum ronde_nccl_algorithm algorithm)
{
    static struct site site;
    const struct ronde_generate_request request = {.kind = "dgx-h100",
                                                   .nodes = 16,
                                                   .fabric = RONDE_FABRIC_FAT_TREE,
                                                   .oversubscription = ratio};
    const struct ronde_nccl_call call = {.collective = collective, .ranks = 128, .nodes = 16};
    site_begin(&site, &request);
    find_limits(&site, &call);
    const double us = time_us(&site, call, UINT64_C(1) << 30, algorithm);
    site_end(&site);
    return us;
}

/*
 * Leaves of four nodes with 32 NICs of 50 GB/s have 1,600 GB/s up by 1:1, 200 by 8:1. A node's ring leaves by 8 NICs of 50
 * GB/s, and the leaf by one node's worth of them, 400 GB/s. all_to_all sends 3/4 of what it sends out of leaves.
 */
static void a_fabric_that_carries_less_costs_what_it_must(void)
{
    if (!suite_can_read_platforms())
        return;
    const double ring = oversubscribed_us(1, RONDE_ALL_REDUCE, RONDE_NCCL_RING);
    CU_ASSERT_DOUBLE_EQUAL(oversubscribed_us(2, RONDE_ALL_REDUCE, RONDE_NCCL_RING), ring, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(oversubscribed_us(4, RONDE_ALL_REDUCE, RONDE_NCCL_RING), ring, 1e-6);
    CU_ASSERT(oversubscribed_us(8, RONDE_ALL_REDUCE, RONDE_NCCL_RING) > 1.5 * ring);
    /* 2 x 127/128 GiB through 25 GB/s. */
    CU_ASSERT(oversubscribed_us(64, RONDE_ALL_REDUCE, RONDE_NCCL_RING) >=
              2 * 127. / 128 * (1 << 30) / 25e3);
    double before = oversubscribed_us(1, RONDE_ALL_TO_ALL, RONDE_NCCL_POINT);
    for (double ratio = 2; ratio <= 64; ratio *= 2) {
        const double us = oversubscribed_us(ratio, RONDE_ALL_TO_ALL, RONDE_NCCL_POINT);
        CU_ASSERT(us > before * 1.2);
        before = us;
    }
}

static uint64_t random_below(uint64_t *state, uint64_t limit)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % limit;
}

/** A machine of random numbers, one of whose links may be slow. */
static void random_site(struct site *site, uint64_t *state)
{
    static const char *const kinds[] = {"dgx-a100", "dgx-h100", "hgx-h200", "mi300x"};
    static const enum ronde_fabric fabrics[] = {RONDE_FABRIC_CROSSBAR, RONDE_FABRIC_RAIL,
                                                RONDE_FABRIC_FAT_TREE};
    struct ronde_node_description node;
    struct ronde_error error = {.status = RONDE_OK};
    const char *kind = kinds[random_below(state, 4)];
    const uint32_t nodes = 1 + (uint32_t)random_below(state, 12);
    CU_ASSERT_EQUAL_FATAL(ronde_generate_node_of(kind, 0, &node, &error), RONDE_OK);
    node.nvlink_GBps *= .2 + (double)random_below(state, 100) / 50;
    node.nic_GBps = .5 + (double)random_below(state, 200);
    struct ronde_generate_request request = {.kind = kind,
                                             .node = &node,
                                             .source = "random",
                                             .nodes = nodes,
                                             .fabric = nodes > 1 ? fabrics[random_below(state, 3)]
                                                                 : RONDE_FABRIC_COUNT};
    /* Four nodes fit below one level of switches. */
    if (request.fabric == RONDE_FABRIC_FAT_TREE && nodes > 4)
        request.oversubscription = (double)(1 + random_below(state, 16));
    site_begin(site, &request);
    const uint32_t links = ronde_platform_link_count(site->platform);
    const struct ronde_link *link =
        ronde_platform_link(site->platform, (uint32_t)random_below(state, links));
    if (random_below(state, 2) == 0)
        CU_ASSERT_EQUAL(ronde_platform_degrade(site->platform, link->name,
                                               .01 + (double)random_below(state, 99) / 100, &error),
                        RONDE_OK);
}

static void check_call(const struct site *site, const struct ronde_bound *bound,
                       struct ronde_nccl_call call)
{
    static const char *const names[] = {"Ring", "Tree", "NVLS", "NVLSTree", "", "P2P"};
    for (call.bytes = 1; call.bytes <= UINT64_C(1) << 33; call.bytes *= 61)
        for (unsigned a = 0; a < RONDE_NCCL_LIMITS; a++)
            for (unsigned p = 0; p < RONDE_NCCL_PROTOCOL_COUNT; p++) {
                const struct ronde_nccl_choice choice = {(enum ronde_nccl_algorithm)a,
                                                         (enum ronde_nccl_protocol)p};
                /* NVLS has switches add and copy, which those of the bound do not. */
                if (site->limits[a].ns_per_byte == 0 || a == RONDE_NCCL_NVLS ||
                    a == RONDE_NCCL_NVLS_TREE)
                    continue;
                const double us =
                    ronde_nccl_execution_us(&site->constants, &site->machine, &call, choice);
                const double least_us =
                    fmax(bound->latency_ns, (double)call.bytes / bound->certain_GBps) / 1e3;
                CU_ASSERT(isfinite(us) && us >= least_us * (1 - 1e-9));
                if (!(us >= least_us * (1 - 1e-9)))
                    suite_note("%s of %" PRIu64 " bytes, %u ranks, %u nodes of %s by %s: %g us, "
                               "bound %g",
                               ronde_collective_text(call.collective), call.bytes, call.ranks,
                               call.nodes, site->machine.name, names[a], us, least_us);
            }
}

/* The clamp alone would hold bytes; latencies are those of routes, too. */
static void no_call_is_faster_than_its_links_allow(void)
{
    enum { MACHINES = 300 };
    static struct site site;
    uint64_t state = 29;
    if (!suite_can_read_platforms())
        return;
    for (int m = 0; m < MACHINES; m++) {
        random_site(&site, &state);
        const uint32_t all = ronde_platform_facts(site.platform)->hosts / site.machine.gpus;
        const struct ronde_nccl_call shape = {.collective =
                                                  collectives[random_below(&state, COLLECTIVES)],
                                              .ranks = all * site.machine.gpus,
                                              .nodes = all};
        const struct ronde_compile_request request = {.collective = shape.collective,
                                                      .ranks = shape.ranks};
        struct ronde_bound bound;
        struct ronde_error error = {.status = RONDE_OK};
        const enum ronde_status status =
            ronde_bound_find(site.platform, &request, ronde_mem_default(), &bound, &error);
        if (status != RONDE_OK)
            suite_note("%s", error.message);
        CU_ASSERT_EQUAL(status, RONDE_OK);
        find_limits(&site, &shape);
        if (status == RONDE_OK)
            check_call(&site, &bound, shape);
        site_end(&site);
    }
}

static void more_nodes_than_there_are_is_an_error(void)
{
    static struct site site;
    struct ronde_error error = {.status = RONDE_OK};
    const struct ronde_generate_request request = {.kind = "dgx-h100",
                                                   .nodes = 2,
                                                   .fabric = RONDE_FABRIC_RAIL};
    const struct ronde_nccl_call call = {.collective = RONDE_ALL_REDUCE, .ranks = 24, .nodes = 3};
    if (!suite_can_read_platforms())
        return;
    site_begin(&site, &request);
    CU_ASSERT_EQUAL(ronde_nccl_limits_find(site.platform, &site.machine, &call, NULL,
                                           ronde_mem_default(), site.limits, &error),
                    RONDE_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "2 nodes of 8 GPUs, not 3"));
    site_end(&site);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"healthy_nodes_on_full_fabrics_lose_nothing", healthy_nodes_on_full_fabrics_lose_nothing},
        {"a_sick_link_costs_the_same_wherever_it_is", a_sick_link_costs_the_same_wherever_it_is},
        {"a_fabric_that_carries_less_costs_what_it_must",
         a_fabric_that_carries_less_costs_what_it_must},
        {"no_call_is_faster_than_its_links_allow", no_call_is_faster_than_its_links_allow},
        {"more_nodes_than_there_are_is_an_error", more_nodes_than_there_are_is_an_error},
    };
    return suite_run("nccl_fabric", cases, sizeof cases / sizeof cases[0]);
}
