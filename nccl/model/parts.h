/** What data sheets say of parts that people name. */
#ifndef RONDE_NCCL_NCCL_PARTS_H
#define RONDE_NCCL_NCCL_PARTS_H

#include "ronde/nccl_model.h"

/** A GPU: NVLink of all its links and PCIe, one direction. */
struct ronde_nccl_part {
    const char *word; /**< in capitals */
    enum ronde_nccl_generation generation;
    double nvlink_GBps, pcie_GBps;
};

/** A fabric: the rate of a NIC that its word stands for; 0 = a number says it. */
struct ronde_nccl_network {
    const char *word;
    enum ronde_nccl_fabric fabric;
    double nic_GBps;
};

/** The part that a text in capitals names; NULL for none that is known. */
const struct ronde_nccl_part *ronde_nccl_part_of(const char *gpu);

/** The fabric that a text in capitals, a blank at its end, names; NULL for none. */
const struct ronde_nccl_network *ronde_nccl_network_of(const char *between);

#endif
