/** What a call comes down to on a machine: rates, latencies, channels. Formulas: setting.c, rates.c. */
#ifndef RONDE_NCCL_NCCL_SETTING_H
#define RONDE_NCCL_NCCL_SETTING_H

#include "ronde/nccl_model.h"

/* What tuner and execution share: constants by name, and small arithmetic. */

static inline double ronde_nccl_common(const struct ronde_nccl_constants *constants,
                                       enum ronde_nccl_common which)
{
    return constants->all[which].value;
}

static inline double ronde_nccl_of(const struct ronde_nccl_constants *constants,
                                   enum ronde_nccl_generation generation,
                                   enum ronde_nccl_of_generation which)
{
    return constants
        ->all[RONDE_NCCL_COMMON_COUNT + (size_t)generation * RONDE_NCCL_OF_GENERATION_COUNT + which]
        .value;
}

/** Share of a NIC's data-sheet rate that NCCL counts with: 12 of 12.5 GB/s. */
static const double ronde_nccl_nic_share = .96;

/** Channels of a search at most, before they are doubled (MAXCHANNELS / 2). */
enum { RONDE_NCCL_SEARCHED_CHANNELS = 16 };

/** Whole binary logarithm; n >= 1. */
static inline uint32_t ronde_nccl_log2i(uint64_t n)
{
    uint32_t log = 0;
    while (n >>= 1)
        log++;
    return log;
}

/** NICs that g GPUs of a node use, NCCL giving each GPU the nearest ones. */
static inline uint32_t ronde_nccl_nics(const struct ronde_nccl_machine *machine, uint32_t g)
{
    const uint32_t share = machine->nics * g / machine->gpus;
    return share > 0 ? share : 1;
}

/**
 * Rings at once, as NCCL's search finds them: between nodes one per NIC that g GPUs of a node use; in a mesh one per neighbour,
 * and twice as many of 4 and of 6 GPUs, whose links do not fall into whole cycles (Bermond and Faber 1976). Elsewhere more
 * share the same links.
 */
static inline uint32_t ronde_nccl_rings(uint32_t nodes, uint32_t g, uint32_t nics, bool is_mesh)
{
    if (nodes > 1)
        return nics < g ? nics : g;
    if (!is_mesh || g < 3)
        return 1;
    return (g == 4 || g == 6 ? 2 : 1) * (g - 1);
}

/** What most have: the upper median of so many values, at least one, which it sorts. */
double ronde_nccl_usual(double *values, uint32_t count);

/** Whether NVLink joins g GPUs of a node. */
static inline bool ronde_nccl_has_nvlink(const struct ronde_nccl_machine *machine, uint32_t g)
{
    return g > 1 && (machine->link == RONDE_NODE_SWITCH || machine->link == RONDE_NODE_MESH ||
                     (machine->link == RONDE_NODE_PAIRS && g == 2));
}

/**
 * Share of a GPU's links that go to g - 1 others of its mesh. Eight Voltas or Pascals are no mesh of equals but a hybrid
 * cube (DGX-1): of six links four, of four three, stay within a board's four GPUs, one or two go to a neighbour.
 */
static inline double ronde_nccl_mesh_share(const struct ronde_nccl_machine *machine, uint32_t g)
{
    static const double volta[] = {1, 2, 4, 4, 4, 4, 6}, pascal[] = {1, 2, 3, 3, 3, 3, 4};
    const bool is_volta = machine->generation == RONDE_NCCL_VOLTA;
    if (machine->gpus == 8 && g >= 2 && g <= 8 &&
        (is_volta || machine->generation == RONDE_NCCL_PASCAL))
        return is_volta ? volta[g - 2] / 6 : pascal[g - 2] / 4;
    return machine->gpus > 1 ? (g - 1) / (machine->gpus - 1.) : 1;
}

/** NVLink of a GPU towards g - 1 others, GB/s: a mesh has but the links to those. */
static inline double ronde_nccl_nvlink(const struct ronde_nccl_machine *machine, uint32_t g)
{
    return machine->link == RONDE_NODE_MESH
               ? machine->nvlink_GBps * ronde_nccl_mesh_share(machine, g)
               : machine->nvlink_GBps;
}

/**
 * A call as NCCL's search sees it: nodes that NVLink joins (GB200 NVL72) are one machine with all their GPUs and NICs. Racks are
 * taken to have equally many nodes of the call.
 */
struct ronde_nccl_joined {
    struct ronde_nccl_machine machine;
    struct ronde_nccl_call call;
};

static inline struct ronde_nccl_joined ronde_nccl_join(const struct ronde_nccl_machine *machine,
                                                       const struct ronde_nccl_call *call)
{
    struct ronde_nccl_joined joined = {*machine, *call};
    const uint32_t nodes = machine->nvlink_nodes;
    if (nodes < 2 || call->nodes == 0)
        return joined;
    uint32_t racks = (call->nodes + nodes - 1) / nodes;
    while (call->nodes % racks != 0)
        racks++;
    /* A rack is those of its nodes that take part, as those are what NCCL sees of it. */
    const uint32_t present = call->nodes / racks;
    joined.call.nodes = racks;
    joined.machine.gpus *= present;
    joined.machine.nics *= present;
    joined.machine.sockets *= present;
    joined.machine.nvlink_nodes = 1;
    return joined;
}

/** A pair of algorithm and protocol by its number. */
static inline struct ronde_nccl_choice ronde_nccl_choice_at(uint32_t index)
{
    return (struct ronde_nccl_choice){(enum ronde_nccl_algorithm)(index / RONDE_NCCL_PROTOCOL_COUNT),
                                      (enum ronde_nccl_protocol)(index % RONDE_NCCL_PROTOCOL_COUNT)};
}

static inline bool ronde_nccl_is_nvls(enum ronde_nccl_algorithm algorithm)
{
    return algorithm == RONDE_NCCL_NVLS || algorithm == RONDE_NCCL_NVLS_TREE;
}

/** Whether one process launches on all GPUs of a node in turn where so many nodes take part. */
static inline bool ronde_nccl_is_in_turn(const struct ronde_nccl_machine *machine, uint32_t nodes)
{
    return machine->is_one_process || (machine->is_one_on_one_node && nodes == 1);
}

/** A kernel's launch and first wait: of one machine where that was fitted, else of its generation. */
static inline double ronde_nccl_launch_us(const struct ronde_nccl_constants *constants,
                                          const struct ronde_nccl_machine *machine)
{
    return constants->launch_us > 0
               ? constants->launch_us
               : ronde_nccl_common(constants, RONDE_NCCL_COMMON_launch_us) *
                     ronde_nccl_of(constants, machine->generation, RONDE_NCCL_OF_launch_ratio);
}

/** A GPU's slot, one direction, data sheet: the machine's, or its generation's. */
static inline double ronde_nccl_slot_GBps(const struct ronde_nccl_constants *constants,
                                          const struct ronde_nccl_machine *machine)
{
    return machine->pcie_GBps > 0
               ? machine->pcie_GBps
               : ronde_nccl_of(constants, machine->generation, RONDE_NCCL_OF_slot_GBps);
}

/** Whether NCCL makes sends and receives of it. */
static inline bool ronde_nccl_is_point(enum ronde_collective collective)
{
    return collective == RONDE_SEND_RECV || collective == RONDE_ALL_TO_ALL ||
           collective == RONDE_GATHER || collective == RONDE_SCATTER;
}

/** How NCCL sends such a call: by size alone. */
struct ronde_nccl_choice ronde_nccl_point_choice(const struct ronde_nccl_constants *constants,
                                                 const struct ronde_nccl_machine *machine,
                                                 const struct ronde_nccl_call *call);

/** Whether RCCL runs its own schedule, AllPairs, in place of what its formula would choose (rccl.c); by which protocol. */
bool ronde_nccl_takes_pairs(const struct ronde_nccl_machine *machine,
                            const struct ronde_nccl_call *call);
struct ronde_nccl_choice ronde_nccl_pairs_choice(const struct ronde_nccl_call *call);

/** The newest version of NCCL that the model knows. */
enum { RONDE_NCCL_NEWEST = 230 };

/** A call's version, the newest where it is not known. */
static inline uint32_t ronde_nccl_version_of(const struct ronde_nccl_call *call)
{
    return call->version > 0 ? call->version : RONDE_NCCL_NEWEST;
}

/** The row of a call's size in correction factors, which begin at 64 bytes. */
static inline uint32_t ronde_nccl_size_row(const struct ronde_nccl_call *call)
{
    return ronde_nccl_log2i(call->bytes / 64 > 0 ? call->bytes / 64 : 1);
}

/** What a step between nodes costs a proxy at least, us (getNetOverhead). */
static inline double ronde_nccl_net_overhead_us(const struct ronde_nccl_machine *machine,
                                                enum ronde_nccl_protocol protocol)
{
    return (machine->cpu == RONDE_NCCL_AMD ? 2 : 1) * (protocol == RONDE_NCCL_SIMPLE ? 3 : 1);
}

static inline bool ronde_nccl_is_rccl(const struct ronde_nccl_machine *machine)
{
    return machine->generation <= RONDE_NCCL_CDNA3;
}

/** RCCL's own formula, us, infinite where it does not run it; the protocol that it takes instead of its formula's (rccl_tuner.c). */
double ronde_nccl_rccl_us(const struct ronde_nccl_constants *constants,
                          const struct ronde_nccl_machine *machine,
                          const struct ronde_nccl_call *call, struct ronde_nccl_choice choice,
                          bool is_forced);
enum ronde_nccl_protocol ronde_nccl_rccl_protocol(const struct ronde_nccl_machine *machine,
                                                  const struct ronde_nccl_call *call,
                                                  enum ronde_nccl_protocol protocol);

/** Steps of a ring: 2(n-1), n-1, or 0 for a chain (broadcast, reduce). */
static inline uint32_t ronde_nccl_ring_steps(enum ronde_collective collective, uint32_t ranks)
{
    if (collective == RONDE_ALL_REDUCE)
        return 2 * (ranks - 1);
    return collective == RONDE_ALL_GATHER || collective == RONDE_REDUCE_SCATTER ? ranks - 1 : 0;
}

/** A call of one algorithm by one protocol. */
struct ronde_nccl_setting {
    const struct ronde_nccl_constants *constants;
    const struct ronde_nccl_machine *machine;
    const struct ronde_nccl_call *call;
    const struct ronde_nccl_limit *limit; /**< of the machine's platform; NULL = none is known */
    enum ronde_nccl_protocol protocol;
    uint32_t g;           /**< ranks a node */
    double bytes;         /**< of the call */
    double opening_bytes; /**< of a call for each channel that is in use */
    double channels;      /**< in use */
    double launch_us;     /**< of the generation, or fitted */
    double hop_us;        /**< inside a node */
    double overlap;       /**< how far transfers hide latencies; see ronde_nccl_overlapped */
    double link_GBps;     /**< of data, through a GPU's link */
    double inside_GBps;   /**< of data, through link and channels */
    double between_GBps;  /**< of data, through NICs and channels; infinite on one node */
};

/** Constants of a fabric in the order of its list. */
enum ronde_nccl_of_fabric {
    RONDE_NCCL_FABRIC_LATENCY,    /**< us, of a hop by LL */
    RONDE_NCCL_FABRIC_RENDEZVOUS, /**< us, of a message by Simple or LL128 that asks first */
    RONDE_NCCL_FABRIC_EFFICIENCY, /**< Simple over the line rate */
    RONDE_NCCL_FABRIC_CONSTANTS   /**< how many */
};

/** A constant of the machine's fabric. */
double ronde_nccl_of_fabric(const struct ronde_nccl_setting *setting, unsigned which);

/** NCCL's path kinds as far as its tables of latencies tell them apart. */
enum ronde_nccl_path { RONDE_NCCL_PATH_NVLINK, RONDE_NCCL_PATH_PCI, RONDE_NCCL_PATH_NET };

/** What a search for channels would find. */
struct ronde_nccl_search {
    double bus_GBps;           /**< over all channels */
    uint32_t channels;         /**< before they are doubled for the second tree */
    enum ronde_nccl_path kind; /**< inside a node */
};

/** Among `g` GPUs of a node (search.c); for all ranks of a call. */
struct ronde_nccl_search ronde_nccl_search_inside(const struct ronde_nccl_constants *constants,
                                                  const struct ronde_nccl_machine *machine,
                                                  uint32_t g);
struct ronde_nccl_search ronde_nccl_search_of(const struct ronde_nccl_constants *constants,
                                              const struct ronde_nccl_machine *machine,
                                              const struct ronde_nccl_call *call);

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

/** Latencies and transfers of a call by the rules of what it goes through; between nodes NVLSTree's, too. */
double ronde_nccl_pipelined(const struct ronde_nccl_setting *setting, double latency_us,
                            double transfer_us);

/** A hop between nodes. */
double ronde_nccl_between_us(const struct ronde_nccl_setting *setting);

/** NVLink of a GPU towards those of its node, plain bytes. */
double ronde_nccl_reached_nvlink_GBps(const struct ronde_nccl_setting *setting);

/** A slot that GPUs send to each other through, both ways at once, plain bytes. */
double ronde_nccl_reached_slot_GBps(const struct ronde_nccl_setting *setting);

/** What a GPU's links carry in one direction by NVLS in a call of this size, waiting for chunks included (execution.c). */
double ronde_nccl_reached_nvls_GBps(const struct ronde_nccl_setting *setting);

/** What sends and receives reach of a slot for what rings do, whose ranks take in and send on in turns; 1 of other calls. */
double ronde_nccl_point_slot_ratio(const struct ronde_nccl_setting *setting);

/** Whether PCIe between bridged pairs is what joins these ranks. */
bool ronde_nccl_is_pairs(const struct ronde_nccl_setting *setting);

/** Whether host memory is what joins these ranks of a node. */
static inline bool ronde_nccl_is_by_host(const struct ronde_nccl_setting *setting)
{
    return setting->machine->gpu_path == RONDE_NCCL_GPU_HOST &&
           !ronde_nccl_has_nvlink(setting->machine, setting->g);
}

/** Whether that memory lies behind AMD's other socket for some. */
static inline bool ronde_nccl_is_by_far_host(const struct ronde_nccl_setting *setting)
{
    return ronde_nccl_is_by_host(setting) && setting->machine->sockets > 1 &&
           setting->machine->cpu == RONDE_NCCL_AMD;
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

/** The same by their names in nccl_constants.h. */
#define NCCL_COMMON(setting, name) ronde_nccl_common_of(setting, RONDE_NCCL_COMMON_##name)
#define NCCL_OWN(setting, name) ronde_nccl_generation_of(setting, RONDE_NCCL_OF_##name)

/**
 * Two times of which the shorter hides behind the longer in part: (a^p + b^p)^(1/p). Exponent 1 adds them, a great one takes
 * the longer; below 1 each disturbs the other.
 */
double ronde_nccl_overlapped(double a, double b, double exponent);

/** Two limits of one rate: the slower, and a little less where they are close. */
double ronde_nccl_slower(double a, double b);

/**
 * Of a hop inside a node by LL and of its first round, a line a thread, what one hides of the other: each thread passes on its own
 * line. 0 by other protocols. `bytes` of all channels.
 */
double ronde_nccl_hidden_us(const struct ronde_nccl_setting *setting, double bytes);

/** What LL brings out of a node, data. Formulas of LL between nodes: net_lines.c. */
double ronde_nccl_net_lines_GBps(const struct ronde_nccl_setting *setting);

/** A ring by LL through several nodes without its launch: `steps` hops of hops_us in all, `across` of them between nodes. */
double ronde_nccl_net_ring_us(const struct ronde_nccl_setting *setting, double hops_us,
                              double steps, double across);

/** A call of sends and receives without its launch. Formulas: point.c. */
double ronde_nccl_point_us(const struct ronde_nccl_setting *setting);

/** The same of AllPairs. */
double ronde_nccl_pairs_us(const struct ronde_nccl_setting *setting);

#endif
