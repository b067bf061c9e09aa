/* Tables of NCCL 2.28 and RCCL 6: what a speed, a generation or a processor is worth in GB/s. */
#include "nccl_rates.h"

#include <string.h>

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* kvDictPciGen: hundreds of Mbit/s of a lane after encoding and protocol. */
double ronde_nccl_pcie_GBps(const char *speed, uint32_t lanes, bool *out_is_known)
{
    static const struct {
        const char *start;
        double rate;
    } generations[] = {
        {"2.5 GT/s", 15},   {"5 GT/s", 30},   {"5.0 GT/s", 30},   {"8 GT/s", 60},
        {"8.0 GT/s", 60},   {"16 GT/s", 120}, {"16.0 GT/s", 120}, {"32 GT/s", 240},
        {"32.0 GT/s", 240}, {"64 GT/s", 480}, {"64.0 GT/s", 480},
    };
    double rate = 60;
    *out_is_known = false;
    for (size_t i = 0; i < sizeof generations / sizeof generations[0]; i++)
        if (begins(speed, generations[i].start)) {
            rate = generations[i].rate;
            *out_is_known = true;
        }
    return (lanes == 0 ? 16 : lanes) * rate / 80.0;
}

/* ncclTopoNVLinkBw. */
double ronde_nccl_nvlink_GBps(uint32_t sm)
{
    if (sm >= 100)
        return 40.1;
    if (sm >= 90)
        return 20.6;
    if (sm == 86)
        return 12;
    return sm >= 60 && sm < 70 ? 18 : 20;
}

/* ncclTopoXGMISpeed of RCCL. Early files say "910" for gfx90a and "940" for gfx942. */
double ronde_nccl_xgmi_GBps(const char *gcn, bool *out_is_known)
{
    static const struct {
        const char *start;
        double GBps;
    } architectures[] = {
        {"90a", 36}, {"910", 36}, {"94", 48}, {"95", 48}, {"906", 24}, {"908", 24},
    };
    const char *number = begins(gcn, "gfx") ? gcn + 3 : gcn;
    *out_is_known = true;
    for (size_t i = 0; i < sizeof architectures / sizeof architectures[0]; i++)
        if (begins(number, architectures[i].start))
            return architectures[i].GBps;
    *out_is_known = false;
    return 24;
}

/* Intel by model of family 6: Emerald Rapids and later, Sapphire Rapids, Skylake, older. */
static double intel_GBps(const struct ronde_nccl_cpu *cpu)
{
    if (cpu->family != 6)
        return 6;
    if (cpu->model >= 0xcf)
        return 40;
    if (cpu->model >= 0x8f)
        return 22;
    return cpu->model >= 0x55 ? 10 : 6;
}

/* ncclTopoGetInterCpuBw. */
double ronde_nccl_cpu_GBps(const struct ronde_nccl_cpu *cpu)
{
    if (strcmp(cpu->arch, "ppc64") == 0)
        return 32;
    if (strcmp(cpu->arch, "arm64") == 0)
        return 6;
    if (strcmp(cpu->arch, "x86_64") == 0 && strcmp(cpu->vendor, "GenuineIntel") == 0)
        return intel_GBps(cpu);
    if (strcmp(cpu->arch, "x86_64") == 0 && strcmp(cpu->vendor, "AuthenticAMD") == 0)
        return 16;
    if (strcmp(cpu->arch, "x86_64") == 0 && strcmp(cpu->vendor, "  Shanghai  ") == 0)
        return cpu->family == 7 && cpu->model == 0x5b ? 9 : 6;
    return RONDE_NCCL_NO_LIMIT_GBPS;
}
