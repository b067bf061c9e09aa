/**
 * The catalogue of GPUs: what data sheets say of a part, by its name. Whatever needs a number or the generation of a GPU asks
 * here.
 */
#ifndef RONDE_CATALOGUE_H
#define RONDE_CATALOGUE_H

#include "ronde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A GPU. Rates are of one direction. */
struct ronde_gpu_sheet {
    const char *pattern; /**< what its names have in them, in capitals; # is any digit */
    const char *generation; /**< as NCCL's model calls it: "hopper"; Turing is "volta", as in NCCL's tables (tuning.cc) */
    double nvlink_GBps; /**< of all its links, NVLink or xGMI; 0 = it has none */
    double pcie_GBps;   /**< of its slot */
    const char *source; /**< of the rates, one line */
};

/**
 * The GPU that a text names, in capitals or not: of the patterns that it has in it, with no digit behind them, the longest.
 * NULL for none.
 */
RONDE_API const struct ronde_gpu_sheet *ronde_gpu_find(const char *text);

#ifdef __cplusplus
}
#endif
#endif
