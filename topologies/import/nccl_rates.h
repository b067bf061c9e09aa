/**
 * NCCL's and RCCL's tables of bandwidths, GB/s in one direction (src/graph/topo.h, topo.cc, xml.cc of NCCL, 2026).
 */
#ifndef RONDE_TOPOLOGIES_IMPORT_NCCL_RATES_H
#define RONDE_TOPOLOGIES_IMPORT_NCCL_RATES_H

#include <stdbool.h>
#include <stdint.h>

/** What decides how fast a CPU reaches the next one. */
struct ronde_nccl_cpu {
    const char *arch;   /**< x86_64, arm64, ppc64 */
    const char *vendor; /**< GenuineIntel, AuthenticAMD, ... */
    uint32_t family;    /**< of the processor */
    uint32_t model;     /**< of the family */
};

/** A PCI link: `speed` as sysfs words it ("16.0 GT/s PCIe"), `lanes` 0 = 16. An unknown speed counts as Gen3. */
double ronde_nccl_pcie_GBps(const char *speed, uint32_t lanes, bool *out_is_known);

/** One NVLink of a GPU of compute capability sm / 10. */
double ronde_nccl_nvlink_GBps(uint32_t sm);

/** One xGMI link of an AMD architecture ("910", "gfx942"). One without an entry counts as the slowest. */
double ronde_nccl_xgmi_GBps(const char *gcn, bool *out_is_known);

/** What NCCL writes for "no limit". */
#define RONDE_NCCL_NO_LIMIT_GBPS 5000.0

/** Between two CPUs of a host; RONDE_NCCL_NO_LIMIT_GBPS for an unknown architecture. */
double ronde_nccl_cpu_GBps(const struct ronde_nccl_cpu *cpu);

#endif
