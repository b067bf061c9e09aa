/**
 * Machines from what their operators write of them: "NVIDIA H100 80GB HBM3", "NVLink4 NVSwitch 8 GPU", "4x HDR IB 200Gb/s".
 *
 * A part's data sheet gives what the words leave out. Words that are not known leave a machine undescribed: nothing is
 * guessed but what is usual, which is said below where it is.
 */
#include "ronde/nccl_model.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/** Bytes of a text that is looked at. */
#define TEXT_BYTES 256

/** Parts by a word of their name, more special ones first: NVLink and PCIe of a GPU, one direction, by data sheet. */
static const struct part {
    const char *word;
    enum ronde_nccl_generation generation;
    double nvlink_GBps, pcie_GBps;
} parts[] = {
    {"MI355", RONDE_NCCL_CDNA3, 538, 63},
    {"MI350", RONDE_NCCL_CDNA3, 538, 63},
    {"MI325", RONDE_NCCL_CDNA3, 448, 63},
    {"MI300A", RONDE_NCCL_CDNA3, 384, 63},
    {"MI300", RONDE_NCCL_CDNA3, 448, 63},
    /* A chiplet is a device: three links of 50 GB/s leave its package. */
    {"MI250", RONDE_NCCL_CDNA2, 150, 31.5},
    {"MI210", RONDE_NCCL_CDNA2, 150, 31.5},
    {"MI100", RONDE_NCCL_CDNA2, 138, 31.5},
    {"GB300", RONDE_NCCL_BLACKWELL, 900, 126},
    {"GB200", RONDE_NCCL_BLACKWELL, 900, 63},
    {"B300", RONDE_NCCL_BLACKWELL, 900, 126},
    {"B200", RONDE_NCCL_BLACKWELL, 900, 63},
    {"B100", RONDE_NCCL_BLACKWELL, 900, 63},
    {"GB10", RONDE_NCCL_BLACKWELL, 0, 31.5},
    {"RTX 50", RONDE_NCCL_BLACKWELL, 0, 63},
    {"5090", RONDE_NCCL_BLACKWELL, 0, 63},
    {"PRO 6000", RONDE_NCCL_BLACKWELL, 0, 63},
    {"GH200", RONDE_NCCL_HOPPER, 450, 63},
    {"H200", RONDE_NCCL_HOPPER, 450, 63},
    {"H100 NVL", RONDE_NCCL_HOPPER, 300, 63},
    {"H100 PCIE", RONDE_NCCL_HOPPER, 300, 63},
    {"H100-PCIE", RONDE_NCCL_HOPPER, 300, 63},
    {"H100", RONDE_NCCL_HOPPER, 450, 63},
    {"H800", RONDE_NCCL_HOPPER, 200, 63},
    {"H20", RONDE_NCCL_HOPPER, 450, 63},
    {"L40", RONDE_NCCL_ADA, 0, 31.5},
    {"L4", RONDE_NCCL_ADA, 0, 31.5},
    {"L20", RONDE_NCCL_ADA, 0, 31.5},
    {"RTX 40", RONDE_NCCL_ADA, 0, 31.5},
    {"4090", RONDE_NCCL_ADA, 0, 31.5},
    {"6000 ADA", RONDE_NCCL_ADA, 0, 31.5},
    {"A100", RONDE_NCCL_AMPERE, 300, 31.5},
    {"A800", RONDE_NCCL_AMPERE, 200, 31.5},
    {"A30", RONDE_NCCL_AMPERE, 100, 31.5},
    {"A6000", RONDE_NCCL_AMPERE_RTX, 56, 31.5},
    {"A5000", RONDE_NCCL_AMPERE_RTX, 56, 31.5},
    {"A40", RONDE_NCCL_AMPERE_RTX, 56, 31.5},
    {"A4500", RONDE_NCCL_AMPERE_RTX, 56, 31.5},
    {"A16", RONDE_NCCL_AMPERE_RTX, 0, 31.5},
    {"A10", RONDE_NCCL_AMPERE_RTX, 0, 31.5},
    {"3090", RONDE_NCCL_AMPERE_RTX, 56, 31.5},
    {"RTX 30", RONDE_NCCL_AMPERE_RTX, 0, 31.5},
    {"V100", RONDE_NCCL_VOLTA, 150, 15.75},
    {"P100", RONDE_NCCL_PASCAL, 80, 15.75},
    /* Turing is Volta in NCCL's tables (tuning.cc). */
    {"T4", RONDE_NCCL_VOLTA, 0, 15.75},
    {"2080", RONDE_NCCL_VOLTA, 50, 15.75},
    {"RTX 8000", RONDE_NCCL_VOLTA, 50, 15.75},
    {"RTX 6000", RONDE_NCCL_VOLTA, 50, 15.75},
};

/** Fabrics by a word, and the rate of a NIC that the word stands for, GB/s; 0 = a number says it. */
static const struct network {
    const char *word;
    enum ronde_nccl_fabric fabric;
    double nic_GBps;
} networks[] = {
    {"ROCE", RONDE_NCCL_ROCE, 0},
    {"SLINGSHOT", RONDE_NCCL_SLINGSHOT, 25},
    {"EFA", RONDE_NCCL_EFA, 12.5},
    /* GPUs' memory by a plugin over Ethernet, too. */
    {"TCPX", RONDE_NCCL_EFA, 25},
    {"FASTRAK", RONDE_NCCL_EFA, 25},
    {"XDR", RONDE_NCCL_INFINIBAND, 100},
    {"NDR200", RONDE_NCCL_INFINIBAND, 25},
    {"NDR", RONDE_NCCL_INFINIBAND, 50},
    {"HDR100", RONDE_NCCL_INFINIBAND, 12.5},
    {"HDR", RONDE_NCCL_INFINIBAND, 25},
    {"EDR", RONDE_NCCL_INFINIBAND, 12.5},
    {"FDR", RONDE_NCCL_INFINIBAND, 6.8},
    {"INFINIBAND", RONDE_NCCL_INFINIBAND, 0},
    {"IB ", RONDE_NCCL_INFINIBAND, 0},
    {"ETHERNET", RONDE_NCCL_ETHERNET, 0},
    {"GBE", RONDE_NCCL_ETHERNET, 0},
    {"TCP", RONDE_NCCL_ETHERNET, 0},
    {"SOCKET", RONDE_NCCL_ETHERNET, 0},
    {"GVNIC", RONDE_NCCL_ETHERNET, 0},
    {"ENA ", RONDE_NCCL_ETHERNET, 0},
    /* Where a NIC is named and not what it speaks: verbs. */
    {"OMNI-PATH", RONDE_NCCL_INFINIBAND, 12.5},
    {"OPA ", RONDE_NCCL_INFINIBAND, 12.5},
    {"CONNECTX", RONDE_NCCL_INFINIBAND, 0},
    {"BLUEFIELD", RONDE_NCCL_INFINIBAND, 0},
    {"MLX5", RONDE_NCCL_INFINIBAND, 0},
    {"RDMA", RONDE_NCCL_ROCE, 0},
};

/** A text in capitals, cut to what is looked at. */
static void capitals(const char *text, char out[TEXT_BYTES])
{
    size_t bytes = 0;
    for (; text && text[bytes] && bytes + 1 < TEXT_BYTES; bytes++)
        out[bytes] = (char)toupper((unsigned char)text[bytes]);
    out[bytes] = '\0';
}

static bool has(const char *text, const char *word)
{
    return strstr(text, word) != NULL;
}

/** Where the number that ends at `end` begins. */
static const char *number_before(const char *text, const char *end)
{
    while (end > text && (isdigit((unsigned char)end[-1]) || end[-1] == '.'))
        end--;
    return end;
}

/** The first number with a unit behind it, and the count in "18x26.56GB/s"; 0 where there is none. */
static double rate_of(const char *text, const char *unit, double *out_count)
{
    for (const char *at = strstr(text, unit); at; at = strstr(at + 1, unit)) {
        const char *end = at > text && at[-1] == ' ' ? at - 1 : at;
        const char *from = number_before(text, end);
        if (from == end)
            continue;
        *out_count = 1;
        if (from > text && from[-1] == 'X' && number_before(text, from - 1) < from - 1)
            *out_count = atof(number_before(text, from - 1));
        return atof(from);
    }
    return 0;
}

/** A count with one of these words behind it, as in "8 GPU", "4-GPU", "(8 compute rails)"; 0 where there is none. */
static uint32_t count_of(const char *text, const char *const *words, size_t word_count)
{
    for (const char *at = text; *at; at++) {
        if (!isdigit((unsigned char)*at) ||
            (at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '.')))
            continue;
        char *end = NULL;
        const unsigned long count = strtoul(at, &end, 10);
        end += *end == ' ' || *end == '-';
        for (size_t w = 0; w < word_count && count > 0 && count <= 1024; w++)
            if (strncmp(end, words[w], strlen(words[w])) == 0)
                return (uint32_t)count;
        at = end - 1;
    }
    return 0;
}

/** Whether words name links between GPUs, or a board that has them. */
static bool names_links(const char *gpu, const char *inside)
{
    static const char *const words[] = {"NVLINK",          "NVSWITCH", "XGMI",
                                        "INFINITY FABRIC", "HGX",      "DGX"};
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++)
        if (has(inside, words[w]))
            return true;
    return has(gpu, "SXM") && !has(inside, "PCIE");
}

static enum ronde_nccl_link link_of(const char *gpu, const char *inside, const struct part *part,
                                    uint32_t gpus)
{
    const bool is_named = names_links(gpu, inside);
    if (has(inside, "NO NVLINK") || !is_named || !(part->nvlink_GBps > 0))
        return RONDE_NCCL_PCIE;
    /* Chiplets have links of several widths to some others; what leaves a chiplet in all is what counts. */
    if (part->generation <= RONDE_NCCL_CDNA3)
        return part->generation == RONDE_NCCL_CDNA2 ? RONDE_NCCL_SWITCH : RONDE_NCCL_MESH;
    if (has(inside, "PAIR") && !has(inside, "PER PAIR"))
        return RONDE_NCCL_PAIRS;
    /* Blackwells have no links to each other, with or without the word. */
    if (has(inside, "SWITCH") || part->generation == RONDE_NCCL_BLACKWELL)
        return RONDE_NCCL_SWITCH;
    if (has(inside, "MESH") || has(inside, "ALL-TO-ALL"))
        return RONDE_NCCL_MESH;
    if (has(inside, "BRIDGE"))
        return RONDE_NCCL_PAIRS;
    /* HGX boards: NVSwitch on eight GPUs from Ampere on, links to each other on fewer. */
    return gpus > 4 && part->generation >= RONDE_NCCL_AMPERE ? RONDE_NCCL_SWITCH : RONDE_NCCL_MESH;
}

/** "18x26.56GB/s" and "900GB/s per GPU" are of a GPU; what is said per link or per pair of GPUs is the data sheet's. */
static void set_links(const char *gpu, const char *inside, const struct part *part,
                      struct ronde_nccl_machine *out)
{
    double count = 1;
    const double said = rate_of(inside, "GB/S", &count) * count;
    const bool is_of_gpu = said > 0 && !has(inside, "PER LINK") && !has(inside, "PER PAIR");
    out->link = link_of(gpu, inside, part, out->gpus);
    if (out->link != RONDE_NCCL_PCIE)
        out->nvlink_GBps = is_of_gpu ? said : part->nvlink_GBps;
    out->pcie_GBps = has(inside, "PCIE3") || has(inside, "GEN3")   ? 15.75
                     : has(inside, "PCIE4") || has(inside, "GEN4") ? 31.5
                     : has(inside, "PCIE5") || has(inside, "GEN5") ? 63
                                                                   : part->pcie_GBps;
    if (has(inside, " X8"))
        out->pcie_GBps /= 2;
}

/** The first rate of a NIC that is there, GB/s; in capitals "Gb/s" and "GB/s" look alike. */
static double nic_rate_of(const char *between, bool is_in_bytes)
{
    static const char *const bits[] = {"GB/S", "GBIT", "GBPS", "GBE", "GB ", "G "};
    double ignored = 1;
    for (size_t u = 0; u < sizeof bits / sizeof bits[0]; u++) {
        const double said = rate_of(between, bits[u], &ignored);
        if (said > 0)
            return u == 0 && is_in_bytes ? said : said / 8;
    }
    return 0;
}

/** NICs where no count is there: one for each GPU as boards with NVSwitch and blades with Slingshot have, else one. */
static uint32_t usual_nics(const struct ronde_nccl_machine *machine)
{
    const bool is_board =
        machine->link <= RONDE_NCCL_MESH &&
        (machine->generation <= RONDE_NCCL_CDNA3 || machine->generation >= RONDE_NCCL_AMPERE);
    if (machine->fabric == RONDE_NCCL_ETHERNET)
        return 1;
    return is_board || machine->fabric == RONDE_NCCL_SLINGSHOT ? machine->gpus : 1;
}

/** NICs as "8x", "8 rails", "x8", "one per GPU" say; 0 where nothing does. */
static uint32_t count_nics(const char *between, uint32_t gpus)
{
    static const char *const rails[] = {"COMPUTE RAIL", "RAIL", "NIC", "HCA"}, *const times[] = {"X"};
    uint32_t count = count_of(between, rails, sizeof rails / sizeof rails[0]);
    if (count == 0)
        count = count_of(between, times, 1);
    const char *at = count == 0 ? strstr(between, " X") : NULL;
    const long behind = at ? strtol(at + 2, NULL, 10) : 0;
    if (behind > 0 && behind <= 64)
        count = (uint32_t)behind;
    if (has(between, "PER GPU") || has(between, "/GPU"))
        count = gpus * (count > 0 && count <= 8 ? count : 1);
    return count <= 1024 ? count : 1024;
}

/** The fastest NIC there is, one direction; what is said beyond it is of all NICs together, as is a rate of EFA without a count. */
static const double fastest_nic_GBps = 100;

static void set_nics(double said_GBps, double of_word_GBps, uint32_t count,
                     struct ronde_nccl_machine *out)
{
    out->nics = count > 0 ? count : usual_nics(out);
    out->nic_GBps = said_GBps > 0 ? said_GBps : of_word_GBps;
    if (count == 0 && out->fabric == RONDE_NCCL_EFA && of_word_GBps > 0 && said_GBps > of_word_GBps) {
        out->nics = (uint32_t)fmin(round(said_GBps / of_word_GBps), 64);
        out->nic_GBps = said_GBps / out->nics;
    } else if (out->nic_GBps > fastest_nic_GBps)
        out->nic_GBps /= out->nics;
}

static enum ronde_status set_network(const char *between, bool is_in_bytes,
                                     struct ronde_nccl_machine *out, struct ronde_error *error)
{
    char padded[TEXT_BYTES + 1];
    if (*between == '\0')
        return RONDE_OK;
    snprintf(padded, sizeof padded, "%s ", between);
    for (size_t n = 0; n < sizeof networks / sizeof networks[0]; n++) {
        if (!has(padded, networks[n].word))
            continue;
        const double said = nic_rate_of(padded, is_in_bytes);
        out->fabric = networks[n].fabric;
        set_nics(said, networks[n].nic_GBps, count_nics(padded, out->gpus), out);
        if (!(out->nic_GBps > 0))
            break;
        /* Slots of processors, without switches between GPU and NIC: PCIe servers, and blades with Slingshot. */
        out->behind_bridge = out->cpu != RONDE_NCCL_ARM &&
                             (out->link == RONDE_NCCL_PCIE || out->link == RONDE_NCCL_PAIRS ||
                              out->fabric == RONDE_NCCL_SLINGSHOT);
        return RONDE_OK;
    }
    return ronde_fail(error, RONDE_BAD_INPUT, "\"%.100s\" names no fabric and rate that are known",
                      between);
}

/** Grace beside each GPU or two. */
static bool is_superchip(const char *gpu)
{
    return has(gpu, "GH200") || has(gpu, "GB200") || has(gpu, "GB300");
}

/** GPUs that NVLink joins across nodes, as in "GB200 NVL72" and "NVSwitch 72 GPU"; 0 where no more than a node. */
static uint32_t rack_of(const char *gpu, const char *inside)
{
    static const char *const gpus[] = {"GPU"};
    const char *const texts[] = {gpu, inside};
    for (size_t t = 0; t < 2; t++) {
        const char *at = strstr(texts[t], "NVL");
        for (; at && !isdigit((unsigned char)at[3]); at = strstr(at + 3, "NVL")) {
        }
        const long said = at ? strtol(at + 3, NULL, 10) : 0;
        if (said > 0 && said <= 1024)
            return (uint32_t)said;
    }
    return count_of(inside, gpus, 1);
}

/** GPUs of a node: as many as the words say, but a rack of superchips is several nodes. */
static void set_gpus(const char *gpu, const char *inside, uint32_t said,
                     struct ronde_nccl_machine *out)
{
    static const char *const gpus[] = {"GPU"};
    const uint32_t stated = count_of(inside, gpus, 1), rack = rack_of(gpu, inside);
    const uint32_t there = said > 0 ? said : 1;
    out->gpus = stated > there ? stated : there;
    if (!is_superchip(gpu) || rack <= 8)
        return;
    out->gpus = there < rack ? (there < 4 ? 4 : there) : rack;
    out->nvlink_nodes = rack / out->gpus;
}

static const struct part *part_of(const char *gpu)
{
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++)
        if (has(gpu, parts[p].word))
            return &parts[p];
    return NULL;
}

enum ronde_status ronde_nccl_machine_of_words(const struct ronde_nccl_words_of *said,
                                              struct ronde_nccl_machine *out,
                                              struct ronde_error *error)
{
    char gpu[TEXT_BYTES], inside[TEXT_BYTES], between[TEXT_BYTES], notes[TEXT_BYTES];
    capitals(said->gpu, gpu);
    capitals(said->inside, inside);
    capitals(said->between, between);
    capitals(said->notes, notes);
    const struct part *part = part_of(gpu);
    *out = (struct ronde_nccl_machine){.sockets = 2};
    if (!part)
        return ronde_fail(error, RONDE_BAD_INPUT, "\"%.100s\" is no GPU whose constants are known",
                          said->gpu ? said->gpu : "");
    out->generation = part->generation;
    set_gpus(gpu, inside, said->gpus, out);
    /* Servers of AWS have Intel's processors before Hopper. */
    const bool is_amd = has(between, "SLINGSHOT") || part->generation <= RONDE_NCCL_CDNA3 ||
                        (has(between, "EFA") && part->generation >= RONDE_NCCL_HOPPER);
    out->cpu = is_superchip(gpu) ? RONDE_NCCL_ARM : is_amd ? RONDE_NCCL_AMD : RONDE_NCCL_INTEL;
    out->sockets = is_superchip(gpu) ? out->gpus : has(between, "SLINGSHOT") ? 1 : 2;
    out->is_one_process =
        has(notes, "1 PROCESS") || has(notes, "ONE PROCESS") || has(notes, "SINGLE PROCESS");
    set_links(gpu, inside, part, out);
    return set_network(between, said->between && has(said->between, "GB/s"), out, error);
}
