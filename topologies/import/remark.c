/* What an import assumed, for people. */
#include "machine.h"

#include <string.h>

/* One line for each remark; %u is how often it applied. */
static const char *const texts[RONDE_REMARK_COUNT] = {
    [RONDE_REMARK_PCIE_SPEED] = "PCI links of unknown speed, taken as Gen3 like NCCL does: %u",
    [RONDE_REMARK_SELF_LINK] = "NVLinks of a GPU to itself, which lead nowhere, left out: %u",
    [RONDE_REMARK_LOST_LINK] = "links to a device that is not in the file, left out: %u",
    [RONDE_REMARK_SKIPPED] = "elements that mean nothing for a machine, skipped: %u",
    [RONDE_REMARK_GCN] = "GPUs whose xGMI rate RCCL does not know, taken as 24 GB/s a link: %u",
    [RONDE_REMARK_NET_SPEED] =
        "network ports without a speed, taken as 10 Gbit/s like NCCL does: %u",
    [RONDE_REMARK_FUSED_NET] = "parts of fused NICs, which NCCL gives no number, left out: %u",
    [RONDE_REMARK_REPEATED_NET] = "NICs that stand below several CPUs, taken once: %u",
    [RONDE_REMARK_FAST_NET] = "NICs faster than their PCI link, which then limits them: %u",
    [RONDE_REMARK_CPU] = "pairs of CPUs of unknown make, taken as no limit like NCCL does: %u",
    [RONDE_REMARK_NO_NVLINK] = "no NVLink in the file, so GPUs talk over PCI (see --nvlink-GBps)",
    [RONDE_REMARK_SHARED_GPU] = "devices with several GPUs in the file, parts of one or ranks on "
                                "one, which share its links: "
                                "%u",
    [RONDE_REMARK_LINKLESS] =
        "GPUs without NVLink beside others that have it, lost by a fault?: %u",
    [RONDE_REMARK_GIVEN_NVLINK] =
        "the file knows no NVLink; NVSwitches of --nvlink-GBps are assumed",
    [RONDE_REMARK_SILENT_NIC] = "NICs without a rate in the file, left out; say --nic-GBps: %u",
    [RONDE_REMARK_GIVEN_NIC] = "NICs without a rate in the file, taken as --nic-GBps: %u",
    [RONDE_REMARK_IDLE_NIC] = "NICs that are nearest to no GPU, not used: %u",
    [RONDE_REMARK_REPEATED] =
        "PCI bridges with the bus id of another device, told apart by a number: %u",
};

/* The first line stands for all: the number says how many there are. */
void ronde_import_note(struct ronde_import *import, enum ronde_remark remark, uint32_t line)
{
    if (import->remark_counts[remark]++ == 0)
        import->remark_lines[remark] = line;
}

bool ronde_import_remark(const struct ronde_import *import, uint32_t index, char *out_line,
                         size_t bytes)
{
    uint32_t remark = 0;
    for (;; remark++) {
        if (remark == RONDE_REMARK_COUNT)
            return false;
        if (import->remark_counts[remark] > 0 && index-- == 0)
            break;
    }
    char count[16];
    const char *mark = strstr(texts[remark], "%u");
    const size_t before = mark ? (size_t)(mark - texts[remark]) : strlen(texts[remark]);
    (void)snprintf(count, sizeof count, "%u", import->remark_counts[remark]);
    (void)snprintf(out_line, bytes, "%.*s%s", (int)before, texts[remark], mark ? count : "");
    const size_t used = strlen(out_line);
    if (import->remark_lines[remark] > 0)
        (void)snprintf(out_line + used, bytes - used, " (line %u%s)", import->remark_lines[remark],
                       import->remark_counts[remark] > 1 ? " and others" : "");
    return true;
}
