/** What words for fabrics stand for. GPUs are in ronde/catalogue.h. */
#ifndef RONDE_NCCL_NCCL_PARTS_H
#define RONDE_NCCL_NCCL_PARTS_H

#include "ronde/nccl_model.h"

/** A fabric: the rate of a NIC that its word stands for; 0 = a number says it. */
struct ronde_nccl_network {
    const char *word;
    enum ronde_nccl_fabric fabric;
    double nic_GBps;
};

/** The fabric that a text in capitals, a blank at its end, names; NULL for none. */
const struct ronde_nccl_network *ronde_nccl_network_of(const char *between);

#endif
