/** Words for fabrics. See parts.h. */
#include "parts.h"

#include <string.h>

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

const struct ronde_nccl_network *ronde_nccl_network_of(const char *between)
{
    for (size_t n = 0; n < sizeof networks / sizeof networks[0]; n++)
        if (strstr(between, networks[n].word))
            return &networks[n];
    return NULL;
}
