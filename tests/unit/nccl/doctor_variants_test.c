/**
 * The doctor's faults one by one: what each changes of which machine, to which calls it applies, and what a log has to say
 * for it to be named.
 */
#include "nccl_shipped.h"

#include "support/suite.h"

#include "ronde/doctor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct ronde_nccl_machine meshed = {.generation = RONDE_NCCL_VOLTA,
                                                 .link = RONDE_NODE_MESH,
                                                 .gpus = 4,
                                                 .sockets = 1,
                                                 .nics = 1,
                                                 .nvlink_GBps = 150,
                                                 .pcie_GBps = 12,
                                                 .nic_GBps = 12.5};
static const struct ronde_nccl_machine paired = {.generation = RONDE_NCCL_AMPERE_RTX,
                                                 .link = RONDE_NODE_PAIRS,
                                                 .gpus = 4,
                                                 .sockets = 2,
                                                 .nics = 4,
                                                 .nvlink_GBps = 56,
                                                 .nic_GBps = 2,
                                                 .fabric = RONDE_NCCL_ROCE};
static const struct ronde_nccl_machine slotted = {.generation = RONDE_NCCL_ADA,
                                                  .link = RONDE_NODE_PCIE,
                                                  .gpus = 4,
                                                  .sockets = 2,
                                                  .nics = 2,
                                                  .pcie_GBps = 31.5,
                                                  .nic_GBps = 1.25,
                                                  .fabric = RONDE_NCCL_ETHERNET};

static const struct ronde_doctor_variant *variant_of(const char *key)
{
    uint32_t count;
    const struct ronde_doctor_variant *variants = ronde_doctor_variants(&count);
    for (uint32_t v = 0; v < count; v++)
        if (strcmp(variants[v].key, key) == 0)
            return &variants[v];
    return NULL;
}

/** Slots of generations, as constants say where a description does not. */
static const double slots_GBps[RONDE_NCCL_GENERATION_COUNT] = {
    [RONDE_NCCL_CDNA2] = 31,    [RONDE_NCCL_CDNA3] = 62,    [RONDE_NCCL_PASCAL] = 15.75,
    [RONDE_NCCL_VOLTA] = 15.75, [RONDE_NCCL_AMPERE] = 31.5, [RONDE_NCCL_AMPERE_RTX] = 31.5,
    [RONDE_NCCL_ADA] = 31.5,    [RONDE_NCCL_HOPPER] = 63,   [RONDE_NCCL_BLACKWELL] = 63};

/** What a fault has changed. */
struct changed {
    bool can;
    struct ronde_nccl_machine machine;
    struct ronde_nccl_constants constants;
    double add_us;
    bool no_nvls;
};

static struct changed apply(const char *key, uint32_t strength,
                            const struct ronde_nccl_machine *machine, uint32_t ranks, uint32_t nodes)
{
    const struct ronde_doctor_variant *variant = variant_of(key);
    const struct ronde_nccl_call call = {RONDE_ALL_REDUCE, ranks, nodes, 229, 1 << 20};
    struct changed changed = {.machine = *machine,
                              .constants = {.inside = 1, .between = 1, .links = 1, .nics = 1}};
    CU_ASSERT_PTR_NOT_NULL_FATAL(variant);
    CU_ASSERT_FATAL(strength < variant->strengths);
    for (size_t g = 0; g < RONDE_NCCL_GENERATION_COUNT; g++)
        changed.constants
            .all[RONDE_NCCL_COMMON_COUNT + g * RONDE_NCCL_OF_GENERATION_COUNT + RONDE_NCCL_OF_slot_GBps]
            .value = slots_GBps[g];
    changed.can = ronde_doctor_apply(variant, strength, &call, &changed.machine, &changed.constants,
                                     &changed.add_us, &changed.no_nvls);
    return changed;
}

/* What is multiplied, of a call that the fault applies to; all else stays as it is. */
static void factors_are_those_of_the_fault(void)
{
    static const struct {
        const char *key;
        uint32_t strength;
        const struct ronde_nccl_machine *machine;
        uint32_t ranks, nodes;
        double nics, links, inside, between, add_us;
    } rows[] = {
        {"as_described", 0, &nccl_h100, 16, 2, 1, 1, 1, 1, 0},
        {"nic_lost", 0, &nccl_h100, 16, 2, .5, 1, 1, 1, 0},
        {"nic_lost", 1, &nccl_h100, 16, 2, 7. / 8, 1, 1, 1, 0},
        {"nic_lost", 1, &nccl_h100, 8, 2, 3. / 4, 1, 1, 1, 0},
        {"nic_lost", 1, &slotted, 8, 2, 1. / 2, 1, 1, 1, 0},
        {"nic_half", 0, &meshed, 8, 2, .5, 1, 1, 1, 0},
        {"nic_half", 0, &nccl_h100, 2, 2, .5, 1, 1, 1, 0},
        {"nic_one", 0, &nccl_h100, 16, 2, 1. / 8, 1, 1, 1, 0},
        {"nic_one", 0, &nccl_h100, 12, 2, 1. / 6, 1, 1, 1, 0},
        {"no_gpu_direct", 0, &meshed, 8, 2, .7, 1, 1, 1.5, 0},
        {"no_gpu_direct", 1, &meshed, 8, 2, .4, 1, 1, 1.5, 0},
        {"far_nic", 0, &nccl_h100, 16, 2, .6, 1, 1, 1.2, 0},
        {"far_nic", 1, &nccl_h100, 16, 2, .35, 1, 1, 1.2, 0},
        {"slow_network", 0, &slotted, 8, 2, 1, 1, 1, 2.5, 0},
        {"slow_network", 1, &slotted, 8, 2, 1, 1, 1, 6, 0},
        {"nvlink_half", 0, &nccl_h100, 8, 1, 1, .5, 1, 1, 0},
        {"nvlink_half", 0, &paired, 2, 1, 1, .5, 1, 1, 0},
        {"connection_capped", 0, &nccl_h100, 8, 1, .5, .5, 1, 1, 0},
        {"connection_capped", 3, &nccl_h100, 16, 2, .15, .15, 1, 1, 0},
        {"pcie_half", 0, &slotted, 4, 1, 1, .5, 1, 1, 0},
        {"pcie_half", 1, &paired, 4, 1, 1, .25, 1, 1, 0},
        {"far_gpu", 0, &slotted, 4, 1, 1, .7, 1.3, 1, 0},
        {"far_gpu", 1, &paired, 4, 1, 1, .35, 1.3, 1, 0},
        {"slow_host", 0, &nccl_h100, 8, 1, 1, 1, 1, 1, 15},
        {"slow_host", 1, &slotted, 1, 1, 1, 1, 1, 1, 40},
        {"slow_host", 2, &meshed, 8, 2, 1, 1, 1, 1, 120},
        {"no_p2p", 0, &slotted, 4, 1, 1, .6, 1, 1, 0},
        {"no_p2p", 1, &slotted, 4, 1, 1, .3, 1, 1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct changed changed =
            apply(rows[i].key, rows[i].strength, rows[i].machine, rows[i].ranks, rows[i].nodes);
        CU_ASSERT(changed.can);
        CU_ASSERT_DOUBLE_EQUAL(changed.constants.nics, rows[i].nics, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(changed.constants.links, rows[i].links, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(changed.constants.inside, rows[i].inside, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(changed.constants.between, rows[i].between, 1e-12);
        CU_ASSERT_EQUAL(changed.add_us, rows[i].add_us);
        CU_ASSERT(!changed.no_nvls);
        CU_ASSERT_EQUAL(changed.machine.link, rows[i].machine->link);
        CU_ASSERT_EQUAL(changed.machine.nic_GBps, rows[i].machine->nic_GBps);
        CU_ASSERT_EQUAL(changed.machine.pcie_GBps, rows[i].machine->pcie_GBps);
        CU_ASSERT_EQUAL(changed.constants.launch_us, 0);
    }
}

/* Calls that cannot have a fault: it is not tried on their rows. */
static void faults_need_what_they_are_of(void)
{
    static const struct {
        const char *key;
        const struct ronde_nccl_machine *machine;
        uint32_t ranks, nodes;
        const char *why;
    } rows[] = {
        {"nic_lost", &nccl_h100, 8, 1, "one node"},
        {"nic_lost", &meshed, 8, 2, "one NIC"},
        {"nic_lost", &nccl_h100, 2, 2, "the GPU's own NIC alone"},
        {"nic_half", &nccl_h100, 16, 2, "eight NICs"},
        {"nic_half", &meshed, 4, 1, "one node"},
        {"nic_one", &slotted, 8, 2, "two NICs are nic_lost"},
        {"nic_one", &nccl_h100, 8, 1, "one node"},
        {"sockets", &slotted, 8, 2, "Ethernet is sockets"},
        {"sockets", &nccl_h100, 8, 1, "one node"},
        {"no_gpu_direct", &nccl_h100, 8, 1, "one node"},
        {"far_nic", &meshed, 8, 2, "one processor"},
        {"far_nic", &nccl_h100, 8, 1, "one node"},
        {"slow_network", &nccl_h100, 8, 1, "one node"},
        {"no_p2p", &nccl_h100, 4, 4, "a GPU a node"},
        {"nvlink_half", &slotted, 4, 1, "no NVLink"},
        {"nvlink_half", &paired, 4, 1, "PCIe is between pairs"},
        {"nvlink_half", &nccl_h100, 2, 2, "a GPU a node"},
        {"connection_capped", &slotted, 4, 1, "slots are pcie_half"},
        {"ring_over_pcie", &nccl_h100, 2, 1, "two GPUs"},
        {"ring_over_pcie", &slotted, 4, 1, "no NVLink"},
        {"ring_over_pcie", &paired, 4, 1, "PCIe is between pairs"},
        {"pcie_half", &nccl_h100, 8, 1, "NVLink"},
        {"pcie_half", &paired, 2, 1, "a pair"},
        {"pcie_half", &slotted, 4, 4, "a GPU a node"},
        {"far_gpu", &nccl_h100, 8, 1, "NVLink"},
        {"no_nvls", &meshed, 4, 1, "no switch"},
        {"no_nvls", &slotted, 4, 1, "no switch"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (uint32_t s = 0; s < variant_of(rows[i].key)->strengths; s++) {
            const bool can =
                apply(rows[i].key, s, rows[i].machine, rows[i].ranks, rows[i].nodes).can;
            CU_ASSERT(!can);
            if (can)
                suite_note("%s, strength %u: %s", rows[i].key, s, rows[i].why);
        }
    struct ronde_nccl_machine old = nccl_h100;
    old.generation = RONDE_NCCL_AMPERE;
    CU_ASSERT(!apply("no_nvls", 0, &old, 8, 1).can);
    CU_ASSERT(apply("no_nvls", 0, &nccl_h100, 8, 1).can);
    CU_ASSERT(apply("no_nvls", 0, &nccl_h100, 8, 1).no_nvls);
}

/* One port of 10, 25 and 100 Gbit/s, not faster than the NIC; in the last strength TCP over what is there. */
static void sockets_take_a_slower_port(void)
{
    static const double ports_GBps[] = {1.25, 3.125, 12.5};
    for (uint32_t s = 0; s < variant_of("sockets")->strengths; s++) {
        const struct changed fast = apply("sockets", s, &nccl_h100, 16, 2);
        const struct changed slow = apply("sockets", s, &paired, 8, 2);
        CU_ASSERT(fast.can && slow.can);
        CU_ASSERT_EQUAL(fast.machine.fabric, RONDE_NCCL_ETHERNET);
        CU_ASSERT_EQUAL(fast.machine.nics, s < 3 ? 1 : 8);
        CU_ASSERT_EQUAL(fast.machine.nic_GBps, s < 3 ? ports_GBps[s] : 50);
        CU_ASSERT_EQUAL(slow.machine.nics, s < 3 ? 1 : 4);
        CU_ASSERT_EQUAL(slow.machine.nic_GBps, s < 1 ? 1.25 : 2);
    }
}

/* Host memory carries it: over the slot that is described, or that came with the GPU. */
static void without_p2p_slots_carry_it(void)
{
    static const struct {
        enum ronde_nccl_generation generation;
        double slot_GBps;
    } rows[] = {{RONDE_NCCL_CDNA2, 31},    {RONDE_NCCL_CDNA3, 62},    {RONDE_NCCL_PASCAL, 15.75},
                {RONDE_NCCL_VOLTA, 15.75}, {RONDE_NCCL_AMPERE, 31.5}, {RONDE_NCCL_AMPERE_RTX, 31.5},
                {RONDE_NCCL_ADA, 31.5},    {RONDE_NCCL_HOPPER, 63},   {RONDE_NCCL_BLACKWELL, 63}};
    CU_ASSERT_EQUAL(sizeof rows / sizeof rows[0], RONDE_NCCL_GENERATION_COUNT);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_nccl_machine machine = nccl_h100;
        machine.generation = rows[i].generation;
        for (uint32_t s = 0; s < 2; s++) {
            const struct changed changed = apply("no_p2p", s, &machine, 8, 1);
            CU_ASSERT_EQUAL(changed.machine.link, RONDE_NODE_PCIE);
            CU_ASSERT_EQUAL(changed.machine.pcie_GBps, rows[i].slot_GBps / (s + 1));
            CU_ASSERT_EQUAL(changed.constants.links, 1);
        }
        const struct changed ring = apply("ring_over_pcie", 0, &machine, 8, 1);
        CU_ASSERT_EQUAL(ring.machine.link, RONDE_NODE_PAIRS);
        CU_ASSERT_EQUAL(ring.machine.pcie_GBps, rows[i].slot_GBps);
        machine.pcie_GBps = 20;
        CU_ASSERT_EQUAL(apply("no_p2p", 1, &machine, 8, 1).machine.pcie_GBps, 10);
        CU_ASSERT_EQUAL(apply("ring_over_pcie", 0, &machine, 8, 1).machine.pcie_GBps, 20);
    }
}

/** What a fault quotes of a log; "" where it quotes nothing. */
static const char *quote(const char *key, const struct ronde_log_facts *log,
                         const struct ronde_nccl_machine *machine)
{
    static char said[128];
    const struct ronde_doctor_variant *variant = variant_of(key);
    CU_ASSERT_FATAL(variant->is_said != NULL);
    memset(said, 'x', sizeof said);
    if (!variant->is_said(log, machine, said, sizeof said))
        return "";
    CU_ASSERT_PTR_NOT_NULL(memchr(said, '\0', sizeof said));
    return said;
}

/* Variables that switch something off. */
static void settings_are_quoted(void)
{
    static const struct {
        const char *key, *settings, *quoted;
    } rows[] = {
        {"no_p2p", "NCCL_P2P_DISABLE=1", "NCCL_P2P_DISABLE=1"},
        {"no_p2p", "NCCL_P2P_DISABLE=0", ""},
        {"no_p2p", "NCCL_P2P_LEVEL=1", ""},
        {"no_p2p", "XNCCL_P2P_DISABLE=1", ""},
        {"no_p2p", "NCCL_ALGO=Ring NCCL_P2P_DISABLE=1 NCCL_PROTO=LL", "NCCL_P2P_DISABLE=1"},
        {"no_p2p", "", ""},
        {"sockets", "NCCL_IB_DISABLE=1", "NCCL_IB_DISABLE=1"},
        {"sockets", "NCCL_IB_DISABLE=0", ""},
        {"no_gpu_direct", "NCCL_NET_GDR_LEVEL=0", "NCCL_NET_GDR_LEVEL=0"},
        {"no_gpu_direct", "NCCL_NET_GDR_LEVEL=loc", "NCCL_NET_GDR_LEVEL=loc"},
        {"no_gpu_direct", "NCCL_NET_GDR_LEVEL=PHB", ""},
        {"no_gpu_direct", "NCCL_NET_GDR_LEVEL=01", ""},
        {"no_nvls", "NCCL_NVLS_ENABLE=0", "NCCL_NVLS_ENABLE=0"},
        {"no_nvls", "NCCL_NVLS_ENABLE=1", ""},
        {"no_nvls", "NCCL_NVLS_ENABLE=", ""},
        {"slow_host", "NCCL_DEBUG=TRACE", "NCCL_DEBUG=TRACE"},
        {"slow_host", "NCCL_DEBUG=trace", "NCCL_DEBUG=TRACE"},
        {"slow_host", "NCCL_DEBUG=INFO", ""},
        {"slow_host", "NCCL_DEBUG_SUBSYS=TRACE", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_log_facts log = {.is_log = true};
        snprintf(log.settings, sizeof log.settings, "%s", rows[i].settings);
        const char *said = quote(rows[i].key, &log, &nccl_h100);
        CU_ASSERT_STRING_EQUAL(said, rows[i].quoted);
        if (strcmp(said, rows[i].quoted) != 0)
            suite_note("%s of \"%s\": \"%s\"", rows[i].key, rows[i].settings, said);
    }
}

/* Ways that connections took, counted by NCCL_DEBUG=INFO. */
static void ways_are_counted(void)
{
    static const struct {
        const char *key;
        const struct ronde_nccl_machine *machine;
        uint32_t gdr, socket, net, shm, p2p;
        const char *quoted;
    } rows[] = {
        {"no_p2p", &nccl_h100, 0, 0, 0, 14, 0, "14 connections by host memory (SHM)"},
        {"no_p2p", &nccl_h100, 0, 0, 0, 14, 1, ""},
        {"no_p2p", &slotted, 0, 0, 0, 14, 0, ""},
        {"no_p2p", &nccl_h100, 0, 0, 8, 0, 0, ""},
        {"sockets", &nccl_h100, 0, 3, 0, 0, 9, "3 connections by TCP sockets"},
        {"sockets", &slotted, 0, 3, 0, 0, 9, ""},
        {"sockets", &nccl_h100, 8, 0, 0, 0, 9, ""},
        {"no_gpu_direct", &nccl_h100, 0, 0, 8, 0, 9, "8 connections by network through host memory"},
        {"no_gpu_direct", &nccl_h100, 1, 0, 8, 0, 9, ""},
        {"no_gpu_direct", &nccl_h100, 0, 1, 8, 0, 9, ""},
        {"no_gpu_direct", &paired, 0, 0, 8, 0, 9, ""},
        {"no_gpu_direct", &nccl_h100, 0, 0, 0, 4, 9, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct ronde_log_facts log = {.is_log = true,
                                            .via = {[RONDE_LOG_VIA_GDR] = rows[i].gdr,
                                                    [RONDE_LOG_VIA_SOCKET] = rows[i].socket,
                                                    [RONDE_LOG_VIA_NET] = rows[i].net,
                                                    [RONDE_LOG_VIA_SHM] = rows[i].shm,
                                                    [RONDE_LOG_VIA_P2P] = rows[i].p2p}};
        CU_ASSERT_STRING_EQUAL(quote(rows[i].key, &log, rows[i].machine), rows[i].quoted);
    }
}

/* Programs know faults by their keys, people by the rest: all of it is there, and no key twice. */
static void variants_are_told_apart(void)
{
    uint32_t count;
    const struct ronde_doctor_variant *variants = ronde_doctor_variants(&count);
    CU_ASSERT_STRING_EQUAL(variants[0].key, "as_described");
    for (uint32_t v = 0; v < count; v++) {
        CU_ASSERT(variants[v].strengths > 0);
        CU_ASSERT_EQUAL(strspn(variants[v].key, "abcdefghijklmnopqrstuvwxyz0123456789_"),
                        strlen(variants[v].key));
        CU_ASSERT(strlen(variants[v].says) > 10 && strlen(variants[v].check) > 6);
        for (uint32_t w = 0; w < v; w++)
            CU_ASSERT_STRING_NOT_EQUAL(variants[v].key, variants[w].key);
    }
}

/* Every name by which the doctor knows a GPU is known where machines are described, and is of the same generation there. */
static void descriptions_agree_on_generations(void)
{
    static const char *const gpus[] = {
        "NVIDIA RTX PRO 6000", "NVIDIA RTX 6000 Ada", "NVIDIA GB200",    "NVIDIA GB300",
        "NVIDIA B200",         "NVIDIA B300",         "NVIDIA RTX 5090", "NVIDIA H100",
        "NVIDIA H200",         "NVIDIA H800",         "NVIDIA H20",      "NVIDIA GH200",
        "NVIDIA L40S",         "NVIDIA L4",           "NVIDIA RTX 4090", "NVIDIA A100",
        "NVIDIA A800",         "NVIDIA RTX A6000",    "NVIDIA A40",      "NVIDIA A30",
        "NVIDIA A10",          "NVIDIA RTX 3090",     "Tesla V100",      "Tesla P100",
        "NVIDIA A10G",         "NVIDIA RTX A5000",    "Tesla T4",        "NVIDIA B100",
        "Quadro RTX 8000",     "NVIDIA RTX 2080 Ti",  "Quadro RTX 6000"};
    for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++) {
        const struct ronde_nccl_words_of words = {.gpu = gpus[i], .gpus = 1};
        struct ronde_nccl_machine machine = {.gpus = 0};
        struct ronde_error error = {.status = RONDE_OK};
        enum ronde_nccl_generation generation = RONDE_NCCL_GENERATION_COUNT;
        CU_ASSERT_EQUAL(ronde_nccl_machine_of_words(&words, &machine, &error), RONDE_OK);
        CU_ASSERT(ronde_nccl_generation_find(gpus[i], &generation));
        CU_ASSERT_EQUAL(generation, machine.generation);
        if (generation != machine.generation)
            suite_note("%s: %u and %u", gpus[i], generation, machine.generation);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"factors_are_those_of_the_fault", factors_are_those_of_the_fault},
        {"faults_need_what_they_are_of", faults_need_what_they_are_of},
        {"sockets_take_a_slower_port", sockets_take_a_slower_port},
        {"without_p2p_slots_carry_it", without_p2p_slots_carry_it},
        {"settings_are_quoted", settings_are_quoted},
        {"ways_are_counted", ways_are_counted},
        {"variants_are_told_apart", variants_are_told_apart},
        {"descriptions_agree_on_generations", descriptions_agree_on_generations},
    };
    return suite_run("doctor_variants", cases, sizeof cases / sizeof cases[0]);
}
