/**
 * Platform files as machines of NCCL's model: what joins GPUs, at which rate, NICs, and the generation where no name says it.
 * What becomes a machine can be priced.
 */
#include "support/suite.h"

#include "unit/platform_text.h"

#include "ronde/nccl_platform.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/** A cluster of nodes around a switch each; rates of a GPU inside and of its NIC. */
struct cluster_of {
    const char *name, *description;
    uint32_t nodes, gpus;
    double inside_GBps, nic_GBps;
    bool is_tcp;
    bool is_mesh; /**< a link between each two GPUs of a node instead of a switch */
};

struct text {
    char bytes[65536];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text->used += (size_t)vsnprintf(text->bytes + text->used, sizeof text->bytes - text->used,
                                    format, arguments);
    va_end(arguments);
    CU_ASSERT_FATAL(text->used < sizeof text->bytes);
}

static void put_link(struct text *text, const char *end, const char *other, double rate_GBps)
{
    put(text,
        "<link id=\"%s-%s\" bandwidth=\"%.17gGBps\" latency=\"300ns\" "
        "sharing_policy=\"SPLITDUPLEX\"/>",
        end, other, rate_GBps);
}

static void put_route(struct text *text, const char *end, const char *other)
{
    put(text, "<route src=\"%s\" dst=\"%s\"><link_ctn id=\"%s-%s\" direction=\"UP\"/></route>", end,
        other, end, other);
}

/** Called for every link of a cluster. */
typedef void (*link_taker)(struct text *text, const char *end, const char *other, double rate_GBps);

static void take_route(struct text *text, const char *end, const char *other, double rate_GBps)
{
    (void)rate_GBps;
    put_route(text, end, other);
}

static void each_link(const struct cluster_of *of, struct text *text, link_taker take)
{
    for (uint32_t n = 0; n < of->nodes; n++)
        for (uint32_t g = 0; g < of->gpus; g++) {
            char gpu[32], other[32];
            snprintf(gpu, sizeof gpu, "n%ug%u", n, g);
            snprintf(other, sizeof other, "n%us", n);
            if (!of->is_mesh && of->gpus > 1)
                take(text, gpu, other, of->inside_GBps);
            for (uint32_t to = g + 1; of->is_mesh && to < of->gpus; to++) {
                snprintf(other, sizeof other, "n%ug%u", n, to);
                take(text, gpu, other, of->inside_GBps);
            }
            if (of->nodes == 1)
                continue;
            /* Two links, so that no way inside a node is as short over the network. */
            snprintf(other, sizeof other, "n%ug%un", n, g);
            take(text, gpu, other, of->nic_GBps);
            take(text, other, "net", 2 * of->nic_GBps);
        }
}

/** Hosts, switches and the whole of a file. */
static struct ronde_platform *build(const struct cluster_of *of)
{
    static struct text text;
    text.used = 0;
    put(&text,
        "<platform version=\"4.1\"><zone id=\"%s\" routing=\"Dijkstra\">"
        "<prop id=\"ronde.node_hosts\" value=\"%u\"/>"
        "<prop id=\"ronde.description\" value=\"%s\"/>",
        of->name, of->gpus, of->description);
    if (of->is_tcp)
        put(&text, "<prop id=\"ronde.network_model\" value=\"LV08\"/>");
    for (uint32_t n = 0; n < of->nodes; n++)
        for (uint32_t g = 0; g < of->gpus; g++)
            put(&text, "<host id=\"n%ug%u\" speed=\"1Gf\"/>", n, g);
    for (uint32_t n = 0; !of->is_mesh && of->gpus > 1 && n < of->nodes; n++)
        put(&text, "<router id=\"n%us\"/>", n);
    for (uint32_t r = 0; of->nodes > 1 && r < of->nodes * of->gpus; r++)
        put(&text, "<router id=\"n%ug%un\"/>", r / of->gpus, r % of->gpus);
    if (of->nodes > 1)
        put(&text, "<router id=\"net\"/>");
    each_link(of, &text, put_link);
    each_link(of, &text, take_route);
    put(&text, "</zone></platform>");
    return platform_text_good(text.bytes);
}

/** The machine of a cluster, which must be one; false after a skip. */
static bool machine_of(const struct cluster_of *of, struct ronde_nccl_machine *out)
{
    struct ronde_error error = {.status = RONDE_OK};
    memset(out, 0xff, sizeof *out);
    if (!suite_can_read_platforms())
        return false;
    struct ronde_platform *platform = build(of);
    CU_ASSERT_PTR_NOT_NULL_FATAL(platform);
    CU_ASSERT_EQUAL(ronde_nccl_machine_of_platform(platform, out, &error), RONDE_OK);
    if (error.status != RONDE_OK)
        suite_note("%s", error.message);
    ronde_platform_destroy(platform);
    return error.status == RONDE_OK;
}

static void a_switch_is_told_by_its_ports(void)
{
    const struct cluster_of of = {"pod", "2 nodes", 2, 8, 450, 50, false, false};
    struct ronde_nccl_machine machine;
    if (!machine_of(&of, &machine))
        return;
    CU_ASSERT_STRING_EQUAL(machine.name, "pod");
    CU_ASSERT_EQUAL(machine.link, RONDE_NODE_SWITCH);
    CU_ASSERT_EQUAL(machine.gpus, 8);
    CU_ASSERT_EQUAL(machine.sockets, 2);
    CU_ASSERT_EQUAL(machine.nics, 8);
    CU_ASSERT_EQUAL(machine.nvlink_GBps, 450);
    CU_ASSERT_EQUAL(machine.pcie_GBps, 0);
    CU_ASSERT_EQUAL(machine.nic_GBps, 50);
    CU_ASSERT_EQUAL(machine.fabric, RONDE_NCCL_INFINIBAND);
    CU_ASSERT(!machine.behind_bridge && !machine.is_one_process);
}

/* Data sheets: P100 80, V100 150, A100 300, H100 450, B200 900 GB/s; what lies between is the next part's. */
static void the_generation_is_that_of_the_nvlink_rate(void)
{
    static const struct {
        double rate_GBps;
        enum ronde_nccl_generation generation;
    } rows[] = {
        {150, RONDE_NCCL_VOLTA},      {151, RONDE_NCCL_AMPERE},    {200, RONDE_NCCL_AMPERE},
        {300, RONDE_NCCL_AMPERE},     {301, RONDE_NCCL_HOPPER},    {400, RONDE_NCCL_HOPPER},
        {450, RONDE_NCCL_HOPPER},     {451, RONDE_NCCL_BLACKWELL}, {900, RONDE_NCCL_BLACKWELL},
        {1800, RONDE_NCCL_BLACKWELL}, {127, RONDE_NCCL_VOLTA},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct cluster_of of = {"x", "x", 1, 8, rows[i].rate_GBps, 0, false, false};
        struct ronde_nccl_machine machine;
        if (!machine_of(&of, &machine))
            return;
        CU_ASSERT_EQUAL(machine.link, RONDE_NODE_SWITCH);
        CU_ASSERT_EQUAL(machine.generation, rows[i].generation);
        if (machine.generation != rows[i].generation)
            suite_note("%g GB/s: %s", rows[i].rate_GBps,
                       ronde_nccl_generation_text(machine.generation));
    }
}

/* Up to the fastest slot one port a GPU is PCIe: gen3 up to 20, gen4 up to 40 GB/s. */
static void slow_ports_are_pcie(void)
{
    static const struct {
        double rate_GBps;
        enum ronde_nccl_generation generation;
    } rows[] = {{12, RONDE_NCCL_VOLTA},
                {15.75, RONDE_NCCL_VOLTA},
                {31.5, RONDE_NCCL_AMPERE},
                {63, RONDE_NCCL_HOPPER},
                {126, RONDE_NCCL_HOPPER}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct cluster_of of = {"x", "x", 1, 4, rows[i].rate_GBps, 0, false, false};
        struct ronde_nccl_machine machine;
        if (!machine_of(&of, &machine))
            return;
        CU_ASSERT_EQUAL(machine.link, RONDE_NODE_PCIE);
        CU_ASSERT_EQUAL(machine.pcie_GBps, rows[i].rate_GBps);
        CU_ASSERT_EQUAL(machine.nvlink_GBps, 0);
        CU_ASSERT_EQUAL(machine.sockets, 1);
        CU_ASSERT_EQUAL(machine.nics, 0);
        CU_ASSERT_EQUAL(machine.generation, rows[i].generation);
    }
}

/* A link to each other GPU: a GPU's NVLink rate is that of all of them together. */
static void a_mesh_has_a_link_to_each(void)
{
    const struct cluster_of of = {"m", "x", 1, 4, 50, 0, false, true};
    struct ronde_nccl_machine machine;
    if (!machine_of(&of, &machine))
        return;
    CU_ASSERT_EQUAL(machine.link, RONDE_NODE_MESH);
    CU_ASSERT_EQUAL(machine.nvlink_GBps, 150);
    CU_ASSERT_EQUAL(machine.generation, RONDE_NCCL_VOLTA);
}

static void words_go_before_rates(void)
{
    static const struct {
        const char *name, *description;
        enum ronde_nccl_generation generation;
    } rows[] = {
        {"pod", "1 x DGX A100, 8 GPUs", RONDE_NCCL_AMPERE},
        {"hgx-H200", "eight GPUs", RONDE_NCCL_HOPPER},
        {"DGX-B200", "made of H100", RONDE_NCCL_HOPPER},
        {"x", "4 x RTX A6000", RONDE_NCCL_AMPERE_RTX},
        {"x", "2 x NVIDIA A40", RONDE_NCCL_AMPERE_RTX},
        {"x", "4 x L40S", RONDE_NCCL_ADA},
        {"x", "MI300X node", RONDE_NCCL_CDNA3},
        {"mi250x", "8 x MI250X", RONDE_NCCL_CDNA2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct cluster_of of = {rows[i].name, rows[i].description, 1, 8, 150, 0, false,
                                      false};
        struct ronde_nccl_machine machine;
        if (!machine_of(&of, &machine))
            return;
        CU_ASSERT_EQUAL(machine.generation, rows[i].generation);
    }
}

static void tcp_is_ethernet(void)
{
    const struct cluster_of of = {"e", "x", 2, 4, 31.5, 1.25, true, false};
    struct ronde_nccl_machine machine;
    if (!machine_of(&of, &machine))
        return;
    CU_ASSERT_EQUAL(machine.fabric, RONDE_NCCL_ETHERNET);
    CU_ASSERT_EQUAL(machine.nic_GBps, 1.25);
    CU_ASSERT_EQUAL(machine.nics, 4);
}

/* One GPU a node has no slot that a file names: it is one that carries its NIC. */
static void a_lone_gpu_carries_its_nic(void)
{
    static const double nics_GBps[] = {1.25, 12.5, 25, 50};
    static const enum ronde_nccl_generation generations[] = {RONDE_NCCL_VOLTA, RONDE_NCCL_VOLTA,
                                                             RONDE_NCCL_AMPERE, RONDE_NCCL_HOPPER};
    for (size_t i = 0; i < sizeof nics_GBps / sizeof nics_GBps[0]; i++) {
        const struct cluster_of of = {"d", "x", 4, 1, 0, nics_GBps[i], false, false};
        struct ronde_nccl_machine machine;
        if (!machine_of(&of, &machine))
            return;
        CU_ASSERT_EQUAL(machine.nic_GBps, nics_GBps[i]);
        CU_ASSERT_EQUAL(machine.generation, generations[i]);
    }
}

/* All of these have a time for every call that they can make, which grows with bytes and is finite. */
static void every_machine_can_be_priced(void)
{
    static const struct cluster_of clusters[] = {{"a", "H100", 4, 8, 450, 50, false, false},
                                                 {"b", "x", 2, 4, 31.5, 12.5, false, false},
                                                 {"c", "x", 2, 2, 150, 12.5, false, false},
                                                 {"d", "x", 4, 1, 0, 25, false, false},
                                                 {"e", "A100", 2, 1, 0, 25, true, false},
                                                 {"f", "V100", 2, 4, 50, 12.5, false, true}};
    struct ronde_nccl_constants constants;
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_constants_read(NULL, &constants, &error), RONDE_OK);
    for (size_t i = 0; i < sizeof clusters / sizeof clusters[0]; i++) {
        const struct cluster_of *of = &clusters[i];
        struct ronde_nccl_machine machine;
        double before = 0;
        if (!machine_of(of, &machine))
            return;
        for (uint64_t bytes = 1024; bytes <= (uint64_t)1 << 32; bytes *= 64) {
            const struct ronde_nccl_call call = {RONDE_ALL_REDUCE, of->nodes * of->gpus, of->nodes,
                                                 229, bytes};
            struct ronde_nccl_choice choice;
            CU_ASSERT_EQUAL(ronde_nccl_call_check(&machine, &call, &error), RONDE_OK);
            const double us = ronde_nccl_fastest(&constants, &machine, &call, &choice);
            CU_ASSERT(isfinite(us) && us >= before && us > 0);
            if (!(isfinite(us) && us >= before))
                suite_note("%s: %g us of %llu bytes", of->name, us, (unsigned long long)bytes);
            before = us;
        }
    }
}

/* Hosts that are no GPUs of nodes, and hosts whose cores ranks share. */
static void hosts_that_are_no_gpus_are_refused(void)
{
    static const char *const files[] = {"topologies/crossbar-64.xml", "topologies/torus-8x8.xml"};
    if (!suite_can_read_platforms())
        return;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct ronde_nccl_machine machine;
        struct ronde_error error = {.status = RONDE_OK};
        struct ronde_platform *platform = platform_text_open(files[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(platform);
        CU_ASSERT_EQUAL(ronde_nccl_machine_of_platform(platform, &machine, &error), RONDE_BAD_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, files[i]));
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "ronde.node_hosts"));
        ronde_platform_destroy(platform);
    }
}

/* GPUs that nothing joins, and a way of more links than are looked at. */
static void routes_must_tell_something(void)
{
    static struct text text;
    struct ronde_nccl_machine machine;
    struct ronde_error error = {.status = RONDE_OK};
    if (!suite_can_read_platforms())
        return;
    text.used = 0;
    put(&text, "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">"
               "<prop id=\"ronde.node_hosts\" value=\"2\"/>"
               "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>");
    for (int l = 0; l < 65; l++)
        put(&text, "<link id=\"l%d\" bandwidth=\"1GBps\" latency=\"1us\"/>", l);
    put(&text, "<route src=\"a\" dst=\"b\">");
    for (int l = 0; l < 65; l++)
        put(&text, "<link_ctn id=\"l%d\"/>", l);
    put(&text, "</route></zone></platform>");
    struct ronde_platform *platform = platform_text_good(text.bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(platform);
    CU_ASSERT_EQUAL(ronde_nccl_machine_of_platform(platform, &machine, &error), RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "between hosts 0 and 1"));
    ronde_platform_destroy(platform);
}

/* What is shipped of GPUs comes to the parts that it is named after. */
static void shipped_platforms_are_what_they_are_named(void)
{
    static const struct {
        const char *file;
        enum ronde_nccl_generation generation;
        enum ronde_node_link link;
        uint32_t gpus, nics;
    } rows[] = {
        {"topologies/dgx-h100.xml", RONDE_NCCL_HOPPER, RONDE_NODE_SWITCH, 8, 0},
        {"topologies/dgx-a100.xml", RONDE_NCCL_AMPERE, RONDE_NODE_SWITCH, 8, 0},
        {"topologies/dgx-h100-pod.xml", RONDE_NCCL_HOPPER, RONDE_NODE_SWITCH, 8, 8},
        {"topologies/hgx-h200.xml", RONDE_NCCL_HOPPER, RONDE_NODE_SWITCH, 8, 0},
        {"topologies/gb200-nvl72.xml", RONDE_NCCL_BLACKWELL, RONDE_NODE_SWITCH, 72, 0},
        {"topologies/mi300x.xml", RONDE_NCCL_CDNA3, RONDE_NODE_MESH, 8, 0},
    };
    if (!suite_can_read_platforms())
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_nccl_machine machine;
        struct ronde_error error = {.status = RONDE_OK};
        struct ronde_platform *platform = platform_text_open(rows[i].file);
        CU_ASSERT_PTR_NOT_NULL_FATAL(platform);
        CU_ASSERT_EQUAL(ronde_nccl_machine_of_platform(platform, &machine, &error), RONDE_OK);
        CU_ASSERT_EQUAL(machine.generation, rows[i].generation);
        CU_ASSERT_EQUAL(machine.link, rows[i].link);
        CU_ASSERT_EQUAL(machine.gpus, rows[i].gpus);
        CU_ASSERT_EQUAL(machine.nics, rows[i].nics);
        ronde_platform_destroy(platform);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_switch_is_told_by_its_ports", a_switch_is_told_by_its_ports},
        {"the_generation_is_that_of_the_nvlink_rate", the_generation_is_that_of_the_nvlink_rate},
        {"slow_ports_are_pcie", slow_ports_are_pcie},
        {"a_mesh_has_a_link_to_each", a_mesh_has_a_link_to_each},
        {"words_go_before_rates", words_go_before_rates},
        {"tcp_is_ethernet", tcp_is_ethernet},
        {"a_lone_gpu_carries_its_nic", a_lone_gpu_carries_its_nic},
        {"every_machine_can_be_priced", every_machine_can_be_priced},
        {"hosts_that_are_no_gpus_are_refused", hosts_that_are_no_gpus_are_refused},
        {"routes_must_tell_something", routes_must_tell_something},
        {"shipped_platforms_are_what_they_are_named", shipped_platforms_are_what_they_are_named},
    };
    return suite_run("nccl_platform", cases, sizeof cases / sizeof cases[0]);
}
