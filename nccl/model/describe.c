/**
 * Machines from what their operators write of them: "NVIDIA H100 80GB HBM3", "NVLink4 NVSwitch 8 GPU", "4x HDR IB 200Gb/s".
 *
 * A GPU's data sheet (ronde/catalogue.h) gives what the words leave out. A GPU that is not known leaves a machine undescribed, a
 * network that is not known leaves one node of it: nothing is guessed but what is usual, which is said below where it is.
 */
#include "ronde/catalogue.h"
#include "ronde/nccl_model.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What words for fabrics stand for. GPUs are in ronde/catalogue.h. */

/** A fabric: the rate of a NIC that its word stands for; 0 = a number says it. */
struct ronde_nccl_network {
    const char *word;
    enum ronde_nccl_fabric fabric;
    double nic_GBps;
};

/* Words for fabrics. */

/** Fabrics by a word, and the rate of a NIC that the word stands for, GB/s; 0 = a number says it. */
static const struct ronde_nccl_network networks[] = {
    {"ROCE", RONDE_NCCL_ROCE, 0},
    {"SLINGSHOT", RONDE_NCCL_SLINGSHOT, 25},
    {"EFA", RONDE_NCCL_EFA, 12.5},
    /* GPUs' memory by a plugin over Ethernet, too. */
    {"TCPXO", RONDE_NCCL_TCPXO, 25},
    {"FASTRAK", RONDE_NCCL_TCPXO, 25},
    {"TCPX", RONDE_NCCL_TCPX, 25},
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

/* The fabric that a text in capitals, a blank at its end, names; NULL for none. */
static const struct ronde_nccl_network *nccl_network_of(const char *between)
{
    for (size_t n = 0; n < sizeof networks / sizeof networks[0]; n++)
        if (strstr(between, networks[n].word))
            return &networks[n];
    return NULL;
}

/** Bytes of a text that is looked at. */
#define TEXT_BYTES 256

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

/** Whether any of some words is there; the last is NULL. */
static bool has_any(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (has(text, *words))
            return true;
    return false;
}

#define HAS_ANY(text, ...) has_any(text, (const char *const[]){__VA_ARGS__, NULL})

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

/** Whether words name links between GPUs, or a board or rack that has them. */
static bool names_links(const char *gpu, const char *inside)
{
    return HAS_ANY(inside, "NVLINK", "NVSWITCH", "XGMI", "INFINITY FABRIC", "HGX", "DGX", "NVL32",
                   "NVL36", "NVL72", "CUBE") ||
           (has(gpu, "SXM") && !has(inside, "PCIE"));
}

static enum ronde_node_link link_of(const char *gpu, const char *inside,
                                    const struct ronde_gpu_sheet *sheet,
                                    const struct ronde_nccl_machine *machine)
{
    const bool is_named = names_links(gpu, inside);
    if (has(inside, "NO NVLINK") || !is_named || !(sheet->nvlink_GBps > 0))
        return RONDE_NODE_PCIE;
    /* Chiplets have links of several widths to some others; what leaves a chiplet in all is what counts. */
    if (machine->generation <= RONDE_NCCL_CDNA3)
        return machine->generation == RONDE_NCCL_CDNA2 ? RONDE_NODE_SWITCH : RONDE_NODE_MESH;
    if (has(inside, "PAIR") && !has(inside, "PER PAIR"))
        return RONDE_NODE_PAIRS;
    /* Blackwells have no links to each other, with or without the word; nor has anything more than eight. */
    if (HAS_ANY(inside, "NVSWITCH", "NVLINK SWITCH", "NV SWITCH", "NVL32", "NVL36", "NVL72",
                "DGX-2") ||
        machine->generation == RONDE_NCCL_BLACKWELL || machine->gpus > 8)
        return RONDE_NODE_SWITCH;
    if (HAS_ANY(inside, "MESH", "ALL-TO-ALL"))
        return RONDE_NODE_MESH;
    if (HAS_ANY(inside, "PAIR", "BRIDGE") && !has(inside, "PER PAIR"))
        return RONDE_NODE_PAIRS;
    /* HGX boards: NVSwitch on eight GPUs from Ampere on, links to each other on fewer. */
    return machine->gpus > 4 && machine->generation >= RONDE_NCCL_AMPERE ? RONDE_NODE_SWITCH
                                                                         : RONDE_NODE_MESH;
}

/** How far a rate may be off a data sheet's and still be it, by rounding or by counting headers. */
static const double sheet_tolerance = .2;

/**
 * What is said of a GPU's links, which may be what the data sheet has, the same for both directions together, or for the
 * links to one of the other GPUs of a mesh; else it is as it stands, unless no such part can have it.
 */
static double nvlink_as_said(double said_GBps, double sheet_GBps, double peers)
{
    const double as[] = {said_GBps, said_GBps / 2, said_GBps * peers, said_GBps * peers / 2};
    for (size_t i = 0; i < sizeof as / sizeof as[0]; i++)
        if (fabs(as[i] / sheet_GBps - 1) < sheet_tolerance)
            return i == 0 ? said_GBps : sheet_GBps;
    return said_GBps > sheet_GBps ? said_GBps / 2 : said_GBps;
}

/** PCIe of a GPU's slot as words say, "PCIe4", "Gen 4", "PCIe 4.0"; the usual where they do not. */
static double slot_as_said(const char *inside, double usual_GBps)
{
    const double whole = HAS_ANY(inside, "PCIE3", "GEN3", "PCIE 3", "GEN 3")   ? 15.75
                         : HAS_ANY(inside, "PCIE4", "GEN4", "PCIE 4", "GEN 4") ? 31.5
                         : HAS_ANY(inside, "PCIE5", "GEN5", "PCIE 5", "GEN 5") ? 63
                                                                               : usual_GBps;
    return has(inside, " X8") ? whole / 2 : has(inside, " X4") ? whole / 4 : whole;
}

/** Boards that are made for games: their driver lets no GPU write to another, whatever joins them. */
static bool is_geforce(const char *gpu)
{
    return HAS_ANY(gpu, "GEFORCE", "2060", "2070", "2080", "3060", "3070", "3080", "3090", "4060",
                   "4070", "4080", "4090", "5060", "5070", "5080", "5090");
}

/** How GPUs without NVLink between them meet, as "PIX", "behind a switch" and "no P2P" say. */
static enum ronde_nccl_gpu_path gpu_path_of(const char *gpu, const char *inside)
{
    if (HAS_ANY(inside, "NO P2P", "P2P OFF", "P2P DISABLE", "P2P IS OFF", "WITHOUT P2P", "SHM",
                "HOST MEMORY"))
        return RONDE_NCCL_GPU_HOST;
    if (has(inside, "P2P"))
        return RONDE_NCCL_GPU_SWITCH;
    if (is_geforce(gpu))
        return RONDE_NCCL_GPU_HOST;
    return HAS_ANY(inside, "PIX", "PXB", "PLX", "PCIE SWITCH", "ONE SWITCH", "A SWITCH")
               ? RONDE_NCCL_GPU_SWITCH
               : RONDE_NCCL_GPU_BRIDGE;
}

/** "18x26.56GB/s" and "900GB/s per GPU" are of a GPU; what is said per link or per pair of GPUs is the data sheet's. */
static void set_links(const char *gpu, const char *inside, const struct ronde_gpu_sheet *sheet,
                      struct ronde_nccl_machine *out)
{
    double count = 1;
    const double said = rate_of(inside, "GB/S", &count) * count;
    const bool is_of_gpu = said > 0 && !has(inside, "PER LINK") && !has(inside, "PER PAIR");
    out->link = link_of(gpu, inside, sheet, out);
    const double peers = out->link == RONDE_NODE_MESH && out->gpus > 1 ? out->gpus - 1. : 1;
    if (out->link != RONDE_NODE_PCIE)
        out->nvlink_GBps =
            is_of_gpu ? nvlink_as_said(said, sheet->nvlink_GBps, peers) : sheet->nvlink_GBps;
    out->pcie_GBps = slot_as_said(inside, sheet->pcie_GBps);
    out->gpu_path = gpu_path_of(gpu, inside);
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

/**
 * NICs where no count is there: one for each GPU as boards with NVSwitch and blades with Slingshot have, for each package
 * of two chiplets, else one.
 */
static uint32_t usual_nics(const struct ronde_nccl_machine *machine)
{
    const bool is_board =
        machine->link <= RONDE_NODE_MESH &&
        (machine->generation <= RONDE_NCCL_CDNA3 || machine->generation >= RONDE_NCCL_AMPERE);
    if (machine->fabric == RONDE_NCCL_ETHERNET ||
        !(is_board || machine->fabric == RONDE_NCCL_SLINGSHOT))
        return 1;
    return machine->generation == RONDE_NCCL_CDNA2 && machine->gpus > 1 ? machine->gpus / 2
                                                                        : machine->gpus;
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
    /* "2x dual-port HDR100": a port is a NIC to NCCL. */
    if ((has(between, "DUAL-PORT") || has(between, "DUAL PORT")) && count > 0)
        count *= 2;
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

/** The fabric of a rate without a name: several fast lines are there for GPUs' memory, one slow line is a socket. */
static const struct ronde_nccl_network unnamed_fast = {"", RONDE_NCCL_ROCE, 0},
                                       unnamed_slow = {"", RONDE_NCCL_ETHERNET, 0};

/** A line this fast, GB/s, is taken for one that GPUs' memory goes through directly. */
static const double fast_GBps = 12.5;

/** Whether GPU and NIC meet in the processor: PCIe servers, and blades with Slingshot unless NICs hang on packages of GPUs. */
static bool is_behind_bridge(const struct ronde_nccl_machine *machine)
{
    if (machine->cpu == RONDE_NCCL_ARM)
        return false;
    return machine->link == RONDE_NODE_PCIE || machine->link == RONDE_NODE_PAIRS ||
           (machine->fabric == RONDE_NCCL_SLINGSHOT && machine->generation > RONDE_NCCL_CDNA3);
}

static enum ronde_status set_network(const char *between, bool is_in_bytes,
                                     struct ronde_nccl_machine *out, struct ronde_error *error)
{
    char padded[TEXT_BYTES + 1];
    if (*between == '\0')
        return RONDE_OK;
    snprintf(padded, sizeof padded, "%s ", between);
    const struct ronde_nccl_network *network = nccl_network_of(padded);
    const double said = nic_rate_of(padded, is_in_bytes);
    const uint32_t count = count_nics(padded, out->gpus);
    if (!network && said > 0)
        network = said >= fast_GBps ? &unnamed_fast : &unnamed_slow;
    if (network && (said > 0 || network->nic_GBps > 0)) {
        out->fabric = network->fabric;
        set_nics(said, network->nic_GBps, count, out);
        out->behind_bridge = is_behind_bridge(out);
        return RONDE_OK;
    }
    return ronde_fail(error, RONDE_BAD_INPUT, "\"%.100s\" names no fabric and rate that are known",
                      between);
}

/** Grace beside each GPU or two, or on one chip with it. */
static bool is_superchip(const char *gpu)
{
    return has(gpu, "GH200") || has(gpu, "GB200") || has(gpu, "GB300") || has(gpu, "GB10") ||
           has(gpu, "DGX SPARK");
}

/** GPUs that NVLink joins across nodes, as in "GB200 NVL72" and "NVSwitch 72 GPU"; 0 where no more than a node. */
static uint32_t rack_of(const char *gpu, const char *inside)
{
    static const char *const gpus[] = {"GPU"};
    const char *const texts[] = {gpu, inside};
    /* "H100 NVL" is a board, "NVL32" a rack. */
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

/** GPUs of a board with NVSwitch from Ampere on, and NICs from which on a node is taken to have as many GPUs. */
enum { BOARD_GPUS = 8, LEAST_NICS_OF_BOARD = 4 };

/**
 * GPUs of a node of which fewer took part: of boards with NVSwitch there are eight, and where there are 4 to 8 NICs each is
 * some GPU's, which no other GPU uses.
 */
static uint32_t usual_gpus(const char *inside, const char *between,
                           enum ronde_nccl_generation generation, uint32_t there)
{
    const uint32_t nics = count_nics(between, 1);
    if (generation >= RONDE_NCCL_AMPERE && there < BOARD_GPUS && has(inside, "NVSWITCH"))
        return BOARD_GPUS;
    if (has(between, "PER GPU") || has(between, "/GPU"))
        return there;
    return nics >= LEAST_NICS_OF_BOARD && nics <= BOARD_GPUS && nics > there ? nics : there;
}

/** "8x H100", "H100 x8": GPUs of a node as a description's line has them; 0 where it has no number. */
static uint32_t count_gpus(const char *gpu)
{
    static const char *const times[] = {"X "};
    const uint32_t before = count_of(gpu, times, 1);
    const char *at = strstr(gpu, " X");
    const long behind = at ? strtol(at + 2, NULL, 10) : 0;
    return before > 0 ? before : behind > 0 && behind <= 1024 ? (uint32_t)behind : 0;
}

/** GPUs of a node: as many as the words say, but a rack of superchips is several nodes. */
static void set_gpus(const char *gpu, const char *inside, const char *between, uint32_t said,
                     struct ronde_nccl_machine *out)
{
    /* A package of two chiplets is two GPUs to RCCL. */
    static const char *const gpus[] = {"GPU"}, *const chiplets[] = {"GCD"};
    const uint32_t of_chiplets = count_of(inside, chiplets, 1);
    const uint32_t of_inside = of_chiplets > 0 ? of_chiplets : count_of(inside, gpus, 1),
                   rack = rack_of(gpu, inside);
    /* A table's may be of all its nodes. */
    const uint32_t of_gpu = said == 0 ? count_gpus(gpu) : 0;
    const uint32_t stated = of_gpu > of_inside ? of_gpu : of_inside, there = said > 0 ? said : 1;
    out->gpus =
        stated > 0
            ? (stated > there ? stated : there)
            : (rack > BOARD_GPUS ? there : usual_gpus(inside, between, out->generation, there));
    if (!is_superchip(gpu) || rack <= 8)
        return;
    out->gpus = there < rack ? (there < 4 ? 4 : there) : rack;
    out->nvlink_nodes = rack / out->gpus;
}

/** Processors as words say, else those of most servers with such parts. */
static enum ronde_nccl_vendor cpu_of(const char *gpu, const char *inside, const char *between,
                                     const char *notes, enum ronde_nccl_generation generation)
{
    const char *const texts[] = {inside, between, notes};
    if (is_superchip(gpu))
        return RONDE_NCCL_ARM;
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        if (HAS_ANY(texts[t], "EPYC", "ROME", "MILAN", "GENOA", "TURIN", "AMD CPU"))
            return RONDE_NCCL_AMD;
        if (HAS_ANY(texts[t], "XEON", "INTEL", "ICE LAKE", "SAPPHIRE", "EMERALD", "SKYLAKE",
                    "CASCADE"))
            return RONDE_NCCL_INTEL;
        if (HAS_ANY(texts[t], "GRACE", "ARM64", "AARCH64", "NEOVERSE"))
            return RONDE_NCCL_ARM;
    }
    /* Servers of AWS have Intel's processors before Hopper. */
    return has(between, "SLINGSHOT") || generation <= RONDE_NCCL_CDNA3 ||
                   (has(between, "EFA") && generation >= RONDE_NCCL_HOPPER)
               ? RONDE_NCCL_AMD
               : RONDE_NCCL_INTEL;
}

/** Whether one process launches on all GPUs: "1 process", and nccl-tests' "-g 8". */
static bool is_one_process(const char *notes)
{
    const char *option = strstr(notes, "-G ");
    return HAS_ANY(notes, "1 PROCESS", "ONE PROCESS", "SINGLE PROCESS", "SINGLE-PROCESS") ||
           (option && strtol(option + 3, NULL, 10) > 1);
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
    const struct ronde_gpu_sheet *sheet = ronde_gpu_find(gpu);
    *out = (struct ronde_nccl_machine){.sockets = 2};
    if (!sheet || !ronde_nccl_generation_find(gpu, &out->generation))
        return ronde_fail(error, RONDE_BAD_INPUT, "\"%.100s\" is no GPU whose constants are known",
                          said->gpu ? said->gpu : "");
    set_gpus(gpu, inside, between, said->gpus, out);
    out->cpu = cpu_of(gpu, inside, between, notes, out->generation);
    out->sockets = is_superchip(gpu) ? out->gpus : has(between, "SLINGSHOT") ? 1 : 2;
    out->is_one_process = is_one_process(notes);
    set_links(gpu, inside, sheet, out);
    return set_network(between, said->between && has(said->between, "GB/s"), out, error);
}
