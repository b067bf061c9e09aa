/** Words and enumerations. See names.h and nccl_model.h. */
#include "names.h"

#include "ronde/catalogue.h"

#include <string.h>

const char *const ronde_nccl_generations[] = {"cdna2",      "cdna3", "pascal", "volta",    "ampere",
                                              "ampere_rtx", "ada",   "hopper", "blackwell"};
const char *const ronde_nccl_links[] = {"switch", "mesh", "pairs", "pcie"};
const char *const ronde_nccl_gpu_paths[] = {"bridge", "switch", "host"};
const char *const ronde_nccl_fabrics[] = {"infiniband", "slingshot", "efa",     "tcpx",
                                          "tcpxo",      "roce",      "ethernet"};
const char *const ronde_nccl_cpus[] = {"intel", "amd", "arm"};

static const char *const algorithms[] = {"Ring", "Tree", "NVLS", "NVLSTree", "auto"};
static const char *const protocols[] = {"LL", "LL128", "Simple", "auto"};

const char *ronde_nccl_algorithm_text(enum ronde_nccl_algorithm algorithm)
{
    if (algorithm == RONDE_NCCL_POINT)
        return "P2P";
    return algorithms[algorithm < RONDE_NCCL_ALGORITHM_COUNT ? algorithm : RONDE_NCCL_ALGORITHM_COUNT];
}

const char *ronde_nccl_protocol_text(enum ronde_nccl_protocol protocol)
{
    return protocols[protocol < RONDE_NCCL_PROTOCOL_COUNT ? protocol : RONDE_NCCL_PROTOCOL_COUNT];
}

const char *ronde_nccl_generation_text(enum ronde_nccl_generation generation)
{
    return generation < RONDE_NCCL_GENERATION_COUNT ? ronde_nccl_generations[generation] : "?";
}

bool ronde_nccl_generation_find(const char *gpu, enum ronde_nccl_generation *out)
{
    const struct ronde_gpu_sheet *part = ronde_gpu_find(gpu);
    for (unsigned g = 0; part && g < RONDE_NCCL_GENERATION_COUNT; g++)
        if (strcmp(ronde_nccl_generations[g], part->generation) == 0) {
            *out = (enum ronde_nccl_generation)g;
            return true;
        }
    return false;
}

const char *ronde_nccl_link_text(enum ronde_nccl_link link)
{
    return link < RONDE_NCCL_LINK_COUNT ? ronde_nccl_links[link] : "?";
}

const char *ronde_nccl_fabric_text(enum ronde_nccl_fabric fabric)
{
    return fabric < RONDE_NCCL_FABRIC_COUNT ? ronde_nccl_fabrics[fabric] : "?";
}
