/** What data sheets say of parts. See parts.h. */
#include "parts.h"

#include <string.h>

/** Parts by a word of their name, more special ones first: NVLink and PCIe of a GPU, one direction, by data sheet. */
static const struct ronde_nccl_part parts[] = {
    {"MI355", RONDE_NCCL_CDNA3, 538, 63},
    {"MI350", RONDE_NCCL_CDNA3, 538, 63},
    {"MI325", RONDE_NCCL_CDNA3, 448, 63},
    {"MI308", RONDE_NCCL_CDNA3, 448, 63},
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
    {"RTX 5000 ADA", RONDE_NCCL_ADA, 0, 31.5},
    {"RTX 5000", RONDE_NCCL_VOLTA, 25, 15.75},
    {"RTX 50", RONDE_NCCL_BLACKWELL, 0, 63},
    {"5090", RONDE_NCCL_BLACKWELL, 0, 63},
    {"PRO 6000", RONDE_NCCL_BLACKWELL, 0, 63},
    {"PRO 5000", RONDE_NCCL_BLACKWELL, 0, 63},
    {"PRO 4500", RONDE_NCCL_BLACKWELL, 0, 63},
    {"PRO 4000", RONDE_NCCL_BLACKWELL, 0, 63},
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
    {" ADA", RONDE_NCCL_ADA, 0, 31.5},
    {"A100", RONDE_NCCL_AMPERE, 300, 31.5},
    {"A800", RONDE_NCCL_AMPERE, 200, 31.5},
    {"A30", RONDE_NCCL_AMPERE, 100, 31.5},
    {"A6000", RONDE_NCCL_AMPERE_RTX, 56, 31.5},
    {"A5000", RONDE_NCCL_AMPERE_RTX, 56, 31.5},
    {"A40", RONDE_NCCL_AMPERE_RTX, 56, 31.5},
    {"A5500", RONDE_NCCL_AMPERE_RTX, 56, 31.5},
    {"A4500", RONDE_NCCL_AMPERE_RTX, 56, 31.5},
    {"A4000", RONDE_NCCL_AMPERE_RTX, 0, 31.5},
    {"A2000", RONDE_NCCL_AMPERE_RTX, 0, 31.5},
    {"A16", RONDE_NCCL_AMPERE_RTX, 0, 31.5},
    {"A10", RONDE_NCCL_AMPERE_RTX, 0, 31.5},
    {"3090", RONDE_NCCL_AMPERE_RTX, 56, 31.5},
    {"RTX 30", RONDE_NCCL_AMPERE_RTX, 0, 31.5},
    {"NVIDIA A2", RONDE_NCCL_AMPERE_RTX, 0, 15.75},
    {"V100", RONDE_NCCL_VOLTA, 150, 15.75},
    {"TITAN V", RONDE_NCCL_VOLTA, 0, 15.75},
    {"P100", RONDE_NCCL_PASCAL, 80, 15.75},
    {"P40", RONDE_NCCL_PASCAL, 0, 15.75},
    {"1080", RONDE_NCCL_PASCAL, 0, 15.75},
    {"TITAN X", RONDE_NCCL_PASCAL, 0, 15.75},
    /* Turing is Volta in NCCL's tables (tuning.cc). */
    {"T4", RONDE_NCCL_VOLTA, 0, 15.75},
    {"2080", RONDE_NCCL_VOLTA, 50, 15.75},
    {"TITAN RTX", RONDE_NCCL_VOLTA, 50, 15.75},
    {"RTX 8000", RONDE_NCCL_VOLTA, 50, 15.75},
    {"RTX 6000", RONDE_NCCL_VOLTA, 50, 15.75},
};

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

const struct ronde_nccl_part *ronde_nccl_part_of(const char *gpu)
{
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++)
        if (strstr(gpu, parts[p].word))
            return &parts[p];
    return NULL;
}

const struct ronde_nccl_network *ronde_nccl_network_of(const char *between)
{
    for (size_t n = 0; n < sizeof networks / sizeof networks[0]; n++)
        if (strstr(between, networks[n].word))
            return &networks[n];
    return NULL;
}
