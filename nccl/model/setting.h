/** What a call comes down to on a machine: rates, latencies, channels. Formulas: setting.c, rates.c. */
#ifndef RONDE_NCCL_NCCL_SETTING_H
#define RONDE_NCCL_NCCL_SETTING_H

#include "inside.h"

/** A call of one algorithm by one protocol. */
struct ronde_nccl_setting {
    const struct ronde_nccl_constants *constants;
    const struct ronde_nccl_machine *machine;
    const struct ronde_nccl_call *call;
    const struct ronde_nccl_limit *limit; /**< of the machine's platform; NULL = none is known */
    enum ronde_nccl_protocol protocol;
    uint32_t g;          /**< ranks a node */
    double bytes;        /**< of the call */
    double channels;     /**< in use */
    double launch_us;    /**< of the generation, or fitted */
    double hop_us;       /**< inside a node */
    double overlap;      /**< how far transfers hide latencies; see ronde_nccl_overlapped */
    double link_GBps;    /**< of data, through a GPU's link */
    double inside_GBps;  /**< of data, through link and channels */
    double between_GBps; /**< of data, through NICs and channels; infinite on one node */
};

/** Constants of a fabric in the order of its list, behind the latency of a hop by each protocol. */
enum ronde_nccl_of_fabric {
    RONDE_NCCL_FABRIC_RENDEZVOUS =
        RONDE_NCCL_PROTOCOL_COUNT, /**< us, of a message of LL that asks first */
    RONDE_NCCL_FABRIC_EFFICIENCY,  /**< Simple over the line rate */
    RONDE_NCCL_FABRIC_CONSTANTS    /**< how many */
};

/** A constant of the machine's fabric. */
double ronde_nccl_of_fabric(const struct ronde_nccl_setting *setting, unsigned which);

/** Versions of NCCL since which the host's work for a call does not grow with its channels on one GPU, and on several. */
enum { RONDE_NCCL_LAUNCH_AT_ONCE = 214, RONDE_NCCL_ITEMS_IN_ARGUMENTS = 222 };

/** Bytes on a link for one of data. */
extern const double ronde_nccl_wire[RONDE_NCCL_PROTOCOL_COUNT];

/** Bytes that all threads of a channel move at once; a channel is opened for each of them. */
extern const double ronde_nccl_round_bytes[RONDE_NCCL_PROTOCOL_COUNT];

struct ronde_nccl_setting ronde_nccl_setting_of(const struct ronde_nccl_constants *constants,
                                                const struct ronde_nccl_machine *machine,
                                                const struct ronde_nccl_call *call,
                                                struct ronde_nccl_choice choice);

/** Channels that NCCL has on such ranks, before a small call leaves some out. */
double ronde_nccl_most_channels(const struct ronde_nccl_setting *setting);

/** All NICs of a node that its ranks use, plain bytes. */
double ronde_nccl_nics_GBps(const struct ronde_nccl_setting *setting);

/** Operations of a thread block by the call's protocol. */
double ronde_nccl_block_GBps(const struct ronde_nccl_setting *setting);

/** A channel's rate between nodes; sockets have one of their own, beyond which none goes. */
double ronde_nccl_proxied(const struct ronde_nccl_setting *setting, double GBps);

/** A hop between nodes with a message of so many bytes of data. */
double ronde_nccl_between_us(const struct ronde_nccl_setting *setting, double message_bytes);

/** NVLink of a GPU towards those of its node, plain bytes. */
double ronde_nccl_reached_nvlink_GBps(const struct ronde_nccl_setting *setting);

/** A slot that GPUs send to each other through, both ways at once, plain bytes. */
double ronde_nccl_reached_slot_GBps(const struct ronde_nccl_setting *setting);

/** What a GPU's links carry in one direction by NVLS in a call of this size, waiting for chunks included (execution.c). */
double ronde_nccl_reached_nvls_GBps(const struct ronde_nccl_setting *setting);

/** Whether PCIe between bridged pairs is what joins these ranks. */
bool ronde_nccl_is_pairs(const struct ronde_nccl_setting *setting);

/** Whether host memory is what joins these ranks of a node. */
static inline bool ronde_nccl_is_by_host(const struct ronde_nccl_setting *setting)
{
    return setting->machine->gpu_path == RONDE_NCCL_GPU_HOST &&
           !ronde_nccl_has_nvlink(setting->machine, setting->g);
}

/** A constant of all machines. */
static inline double ronde_nccl_common_of(const struct ronde_nccl_setting *setting, unsigned which)
{
    return ronde_nccl_common(setting->constants, (enum ronde_nccl_common)which);
}

/** A constant of the machine's generation. */
static inline double ronde_nccl_generation_of(const struct ronde_nccl_setting *setting,
                                              enum ronde_nccl_of_generation which)
{
    return ronde_nccl_of(setting->constants, setting->machine->generation, which);
}

/**
 * Two times of which the shorter hides behind the longer in part: (a^p + b^p)^(1/p). Exponent 1 adds them, a great one takes
 * the longer; below 1 each disturbs the other.
 */
double ronde_nccl_overlapped(double a, double b, double exponent);

/** Two limits of one rate: the slower, and a little less where they are close. */
double ronde_nccl_slower(double a, double b);

/** What LL brings out of a node, data. Formulas of LL between nodes: net_lines.c. */
double ronde_nccl_net_lines_GBps(const struct ronde_nccl_setting *setting);

/** A ring by LL through several nodes without its launch: `steps` hops of hops_us in all, `across` of them between nodes. */
double ronde_nccl_net_ring_us(const struct ronde_nccl_setting *setting, double hops_us,
                              double steps, double across);

/** A call of sends and receives without its launch. Formulas: point.c. */
double ronde_nccl_point_us(const struct ronde_nccl_setting *setting);

#endif
