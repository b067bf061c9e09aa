/*
 * Flows at random over two leaves: when each ends, by the engine `maxmin`, is held to the definition of max-min fairness,
 * worked out here anew for all flows at every change; and what links carry meanwhile, to what the flows have of them.
 */
#include "support/suite.h"

#include "messages.h"
#include "sim/shared/maxmin_share.h"
#include "support/buffers.h"
#include "unit/leaves.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LEAVES 2u
#define HOSTS 8u
#define PORT_GBps 50.0
#define MOST_FLOWS 40u

/* Links of the definition: ports out and in by host, uplinks up and down by leaf. */
enum {
    OUT = 0,
    IN = LEAVES * HOSTS,
    UP = 2 * LEAVES * HOSTS,
    DOWN = UP + LEAVES,
    LINKS = DOWN + LEAVES
};

/* A flow of the definition. */
struct flow {
    uint32_t links[4];
    uint32_t link_count;
    double begin_ns;
    double bytes;
    double left_bytes;
    double rate_GBps; /* 0 = not on its way */
    double end_ns;    /* NAN = not over */
};

/* All of them. */
struct definition {
    double uplink_GBps;
    struct flow flows[MOST_FLOWS];
    uint32_t count;
};

static void add_flow(struct definition *definition, struct messages *messages, uint32_t src,
                     uint32_t dst, double bytes, double begin_ns)
{
    struct flow *flow = &definition->flows[definition->count++];
    *flow = (struct flow){{OUT + src, IN + dst, UP + src / HOSTS, DOWN + dst / HOSTS},
                          src / HOSTS == dst / HOSTS ? 2 : 4,
                          begin_ns,
                          bytes,
                          bytes,
                          0,
                          (double)NAN};
    messages_add(messages, src, dst, bytes, begin_ns);
}

static bool is_on(const struct flow *flow, uint32_t link)
{
    bool is = false;
    for (uint32_t i = 0; i < flow->link_count; i++)
        is = is || flow->links[i] == link;
    return is;
}

/* The link whose flows without a rate would have least each, and how much; false where all have their rates. */
static bool find_tightest(const struct definition *definition, const bool *needs,
                          uint32_t *out_link, double *out_GBps)
{
    *out_GBps = INFINITY;
    for (uint32_t link = 0; link < LINKS; link++) {
        double left = link < UP ? PORT_GBps : definition->uplink_GBps;
        uint32_t open = 0;
        for (uint32_t f = 0; f < definition->count; f++)
            if (is_on(&definition->flows[f], link)) {
                left -= needs[f] ? 0 : definition->flows[f].rate_GBps;
                open += needs[f];
            }
        if (open > 0 && left / open < *out_GBps) {
            *out_GBps = left / open;
            *out_link = link;
        }
    }
    return isfinite(*out_GBps);
}

/* Progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2): the tightest link first. */
static void share(struct definition *definition, double now_ns)
{
    bool needs[MOST_FLOWS];
    uint32_t link = 0;
    double GBps = 0;
    for (uint32_t f = 0; f < definition->count; f++) {
        struct flow *flow = &definition->flows[f];
        needs[f] = flow->begin_ns <= now_ns && isnan(flow->end_ns);
        flow->rate_GBps = 0;
    }
    while (find_tightest(definition, needs, &link, &GBps))
        for (uint32_t f = 0; f < definition->count; f++)
            if (needs[f] && is_on(&definition->flows[f], link)) {
                definition->flows[f].rate_GBps = GBps;
                needs[f] = false;
            }
}

/* When the next flow begins or ends; INFINITY when all are over. */
static double next_change(const struct definition *definition, double now_ns)
{
    double next_ns = INFINITY;
    for (uint32_t f = 0; f < definition->count; f++) {
        const struct flow *flow = &definition->flows[f];
        if (flow->begin_ns > now_ns)
            next_ns = fmin(next_ns, flow->begin_ns);
        else if (isnan(flow->end_ns))
            next_ns = fmin(next_ns, now_ns + flow->left_bytes / flow->rate_GBps);
    }
    return next_ns;
}

static void play(struct definition *definition)
{
    double now_ns = 0;
    share(definition, now_ns);
    for (double next_ns = next_change(definition, now_ns); isfinite(next_ns);
         next_ns = next_change(definition, now_ns)) {
        for (uint32_t f = 0; f < definition->count; f++) {
            struct flow *flow = &definition->flows[f];
            flow->left_bytes -= flow->rate_GBps * (next_ns - now_ns);
            if (flow->rate_GBps > 0 && flow->left_bytes <= 1e-9 * flow->bytes)
                flow->end_ns = next_ns;
        }
        now_ns = next_ns;
        share(definition, now_ns);
    }
}

/* Draws flows: some begin at one moment, some ports or routes are crowded, sizes span three decades. */
static void draw(struct definition *definition, struct messages *messages, uint64_t seed)
{
    uint64_t state = seed;
    const uint32_t count = 2 + (uint32_t)(buffers_draw(&state) % (MOST_FLOWS - 1));
    const uint32_t hosts = 2 + (uint32_t)(buffers_draw(&state) % (LEAVES * HOSTS - 1));
    const uint32_t goals = seed % 4 == 0 ? 2 : LEAVES * HOSTS;
    for (uint32_t f = 0; f < count; f++) {
        const uint32_t src = (uint32_t)(buffers_draw(&state) % hosts) * 5 % (LEAVES * HOSTS);
        uint32_t dst = (uint32_t)(buffers_draw(&state) % goals) * 3 % (LEAVES * HOSTS);
        if (dst == src)
            dst = (dst + 1) % (LEAVES * HOSTS);
        const double bytes = (double)(1000 + buffers_draw(&state) % 1000000);
        const double begin_ns = 500.0 * (double)(buffers_draw(&state) % 40);
        add_flow(definition, messages, src, dst, bytes, begin_ns);
    }
}

/* The link of the definition that has this name on the platform; LINKS for another. */
static uint32_t link_by_name(const char *name)
{
    unsigned leaf = 0, host = 0;
    char way = 0;
    if (sscanf(name, "leaf%u_link_%u_%c", &leaf, &host, &way) == 3)
        return way == 'U' ? OUT + host : IN + host;
    if (sscanf(name, "up%u_%c", &leaf, &way) == 2)
        return way == 'U' ? UP + leaf : DOWN + leaf;
    return LINKS;
}

/* Bytes that flows have carried over a link, by the definition. */
static double bytes_over(const struct definition *definition, uint32_t link)
{
    double bytes = 0;
    for (uint32_t f = 0; f < definition->count; f++)
        bytes += is_on(&definition->flows[f], link) ? definition->flows[f].bytes : 0;
    return bytes;
}

/* In order of time, never more than the link has, nothing in the end, and as many bytes as went over it. */
static bool is_load_right(const struct ronde_sim_loads *loads, const struct definition *definition,
                          uint32_t link)
{
    const double most_GBps = link < UP ? PORT_GBps : definition->uplink_GBps;
    const double expected = bytes_over(definition, link);
    double bytes = 0;
    bool is = loads->count == 0 ? expected <= 0 : loads->all[loads->count - 1].rate_GBps <= 1e-9;
    for (size_t i = 0; i < loads->count; i++) {
        is = is && loads->all[i].rate_GBps <= most_GBps * (1 + 1e-9);
        if (i + 1 == loads->count)
            break;
        is = is && loads->all[i].at_ns < loads->all[i + 1].at_ns;
        bytes += loads->all[i].rate_GBps * (loads->all[i + 1].at_ns - loads->all[i].at_ns);
    }
    return is && fabs(bytes - expected) <= 1e-6 * expected;
}

static void expect_loads(const struct ronde_sim_scene *scene, const struct definition *definition)
{
    enum { MOST_LINKS = 100 };
    struct ronde_sim_loads loads[MOST_LINKS];
    const uint32_t count = ronde_platform_link_count(scene->platform);
    uint32_t known = 0;
    CU_ASSERT_FATAL(count <= MOST_LINKS);
    memset(loads, 0, sizeof loads);
    for (uint32_t i = 0; i < count; i++)
        loads[i].link = i;
    CU_ASSERT_EQUAL(ronde_sim_loads_find(scene, loads, count), RONDE_OK);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = ronde_platform_link(scene->platform, i)->name;
        const uint32_t link = link_by_name(name);
        if (link < LINKS) {
            known++;
            CU_ASSERT_TRUE(is_load_right(&loads[i], definition, link));
            if (!is_load_right(&loads[i], definition, link))
                suite_note("%s carries something else", name);
        }
        ronde_mem_free(scene->mem, loads[i].all, loads[i].capacity, sizeof *loads[i].all);
    }
    CU_ASSERT_EQUAL(known, LINKS);
}

/* One set of flows on one machine. */
static void compare(const struct leaves *leaves, double uplink_GBps, uint64_t seed)
{
    static struct definition definition;
    struct messages messages = {0};
    double start_ns[MOST_FLOWS], finish_ns[MOST_FLOWS], worst = 0;
    struct ronde_sim_result result;
    struct ronde_error error = {0};
    const struct ronde_sim_options options = {.out_start_ns = start_ns, .out_finish_ns = finish_ns};
    memset(&definition, 0, sizeof definition);
    definition.uplink_GBps = uplink_GBps;
    draw(&definition, &messages, seed);
    play(&definition);
    CU_ASSERT_EQUAL_FATAL(ronde_sim_maxmin(leaves->platform, &messages.dag, &options,
                                           ronde_mem_default(), &result, &error),
                          RONDE_OK);
    for (uint32_t f = 0; f < definition.count; f++)
        worst = fmax(worst, fabs(finish_ns[f] / definition.flows[f].end_ns - 1));
    CU_ASSERT(worst <= 1e-9);
    if (!(worst <= 1e-9))
        suite_note("%u flows, uplinks of %g GB/s, seed %llu: off by %.1e", definition.count,
                   uplink_GBps, (unsigned long long)seed, worst);
    const struct ronde_sim_scene scene = {leaves->platform, &messages.dag, &options,
                                          ronde_mem_default(), &error};
    expect_loads(&scene, &definition);
    messages_free(&messages);
}

static void flows_at_random_share_as_the_definition_says(void)
{
    static const double uplinks[] = {400, 130, 50, 20};
    for (size_t i = 0; i < sizeof uplinks / sizeof uplinks[0]; i++) {
        const struct leaves_shape shape = {LEAVES, HOSTS, uplinks[i], 100};
        struct leaves leaves;
        if (!leaves_begin(&leaves, &shape))
            return;
        for (uint64_t seed = 1; seed <= 40; seed++)
            compare(&leaves, uplinks[i], seed + 1000 * i);
        leaves_end(&leaves);
    }
}

/* The loads of a link by hand: two flows of 1 MB into one port, the second 10 us later. */
static void loads_are_those_of_the_flows(void)
{
    const struct leaves_shape shape = {LEAVES, HOSTS, 400, 100};
    struct leaves leaves;
    struct messages messages = {0};
    double start_ns[2], finish_ns[2];
    struct ronde_sim_result result;
    const struct ronde_sim_options options = {.out_start_ns = start_ns, .out_finish_ns = finish_ns};
    if (!leaves_begin(&leaves, &shape))
        return;
    messages_add(&messages, 1, 0, 1e6, 0);
    messages_add(&messages, 2, 0, 1e6, 10000);
    CU_ASSERT_EQUAL(ronde_sim_maxmin(leaves.platform, &messages.dag, &options, ronde_mem_default(),
                                     &result, NULL),
                    RONDE_OK);
    const struct ronde_sim_scene scene = {leaves.platform, &messages.dag, &options,
                                          ronde_mem_default(), NULL};
    struct ronde_sim_loads loads[2] = {{0}, {0}};
    for (uint32_t i = 0; i < ronde_platform_link_count(leaves.platform); i++) {
        const uint32_t link = link_by_name(ronde_platform_link(leaves.platform, i)->name);
        if (link == IN || link == OUT + 2)
            loads[link == IN ? 0 : 1].link = i;
    }
    CU_ASSERT_EQUAL(ronde_sim_loads_find(&scene, loads, 2), RONDE_OK);
    /* The port is full until 40 us, whoever fills it; the other sender has half of it from 10 to 30, then 40. */
    CU_ASSERT_EQUAL_FATAL(loads[0].count, 2);
    CU_ASSERT_DOUBLE_EQUAL(loads[0].all[0].rate_GBps, 50, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(loads[0].all[1].at_ns, 40000, 1e-5);
    CU_ASSERT_EQUAL_FATAL(loads[1].count, 3);
    CU_ASSERT_DOUBLE_EQUAL(loads[1].all[0].at_ns, 10000, 1e-5);
    CU_ASSERT_DOUBLE_EQUAL(loads[1].all[0].rate_GBps, 25, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(loads[1].all[1].at_ns, 30000, 1e-5);
    CU_ASSERT_DOUBLE_EQUAL(loads[1].all[1].rate_GBps, 50, 1e-9);
    for (int i = 0; i < 2; i++)
        ronde_mem_free(ronde_mem_default(), loads[i].all, loads[i].capacity, sizeof *loads[i].all);
    messages_free(&messages);
    leaves_end(&leaves);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"flows_at_random_share_as_the_definition_says",
         flows_at_random_share_as_the_definition_says},
        {"loads_are_those_of_the_flows", loads_are_those_of_the_flows},
    };
    return suite_run("fair_shares", cases, sizeof cases / sizeof cases[0]);
}
