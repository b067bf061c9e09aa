/**
 * The schedule that RCCL runs where its formula would choose rings or trees.
 *
 * all_reduce of the eight GPUs of one node that links join all to all:
 *
 *   2.18 to 2.27   up to 16 MiB MSCCL's "all pairs" (tools/msccl-algorithms/allreduce-allpairs-8n-*.xml; src/graph/rome_models.cc,
 *                  model 79): each rank sends a part to each other, adds up what came of its own, and sends the sum to all. The three
 *                  steps follow one another, as a chunk is a whole part.
 *   since 2.30     up to 64 MiB a direct all_reduce of the same two rounds (CHANGELOG.md), in which a rank adds as it reads
 *
 *   AllPairs       launch + 2 l + 2 (n-1)/n bytes / B + (n-1)/n bytes / sums
 *                  B is the least of a GPU's links and the blocks that send, one for each peer and channel; sums are what one block a
 *                  channel adds up of what the others sent, nothing since 2.30
 */
#include "setting.h"

/** Versions of RCCL, as 100 major + minor. */
enum { FIRST_PAIRS = 218, NO_MSCCL = 228, DIRECT = 230 };

/** Bytes of a call up to which it is taken, by MSCCL and since 2.30; from which it is by Simple; and up to which LL has half of the channels. */
static const uint64_t most_bytes = 16 << 20, most_direct_bytes = 64 << 20, simple_bytes = 512 << 10,
                      half_bytes = 64 << 10;
static const double channels = 8;

/** What a block of 512 threads adds up: four loads of 16 bytes each a thread, for which memory needs .75 us (Little's law). */
static const double sums_GBps = 512 * 4 * 16 / 750.;

/** GPUs of the nodes that have it. */
static const uint32_t pairs_gpus = 8;

bool ronde_nccl_takes_pairs(const struct ronde_nccl_machine *machine,
                            const struct ronde_nccl_call *call)
{
    const uint32_t version = ronde_nccl_version_of(call);
    if (machine->generation != RONDE_NCCL_CDNA3 || machine->link != RONDE_NODE_MESH ||
        machine->gpus != pairs_gpus || call->ranks != pairs_gpus || call->nodes != 1 ||
        call->collective != RONDE_ALL_REDUCE || version < FIRST_PAIRS)
        return false;
    return version < NO_MSCCL ? call->bytes <= most_bytes
                              : version >= DIRECT && call->bytes <= most_direct_bytes;
}

struct ronde_nccl_choice ronde_nccl_pairs_choice(const struct ronde_nccl_call *call)
{
    return (struct ronde_nccl_choice){RONDE_NCCL_PAIRS, call->bytes < simple_bytes
                                                            ? RONDE_NCCL_LL
                                                            : RONDE_NCCL_SIMPLE};
}

double ronde_nccl_pairs_us(const struct ronde_nccl_setting *setting)
{
    const double peers = setting->call->ranks - 1.;
    const double others = setting->bytes * peers / setting->call->ranks / 1e3;
    const double blocks = setting->bytes <= half_bytes ? channels / 2 : channels;
    const double GBps =
        ronde_nccl_slower(setting->link_GBps, peers * blocks * ronde_nccl_block_GBps(setting));
    const double sums_us =
        ronde_nccl_version_of(setting->call) < NO_MSCCL ? others / (blocks * sums_GBps) : 0;
    return 2 * setting->hop_us + 2 * others / GBps + sums_us;
}
