/**
 * How long NCCL takes: its own tuner's formula, which says what it would choose, and a model of how that is executed.
 *
 * A machine is a description of hardware (at most 15 lines, topologies/published/). The constants are data (nccl/model/
 * constants/): one set for all machines and a few per GPU generation, each with its source. Nothing in here knows of a
 * particular cluster. Formulas: tuner.c and execution.c.
 */
#ifndef RONDE_NCCL_MODEL_H
#define RONDE_NCCL_MODEL_H

#include "ronde/collective.h"
#include "ronde/import.h"
#include "ronde/nccl_constants.h"
#include "ronde/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** GPU generations, each with a file of constants. */
enum ronde_nccl_generation {
    RONDE_NCCL_CDNA2, /**< MI210, MI250X and MI100 by RCCL, a device each chiplet */
    RONDE_NCCL_CDNA3, /**< MI300 and MI350 by RCCL */
    RONDE_NCCL_PASCAL,
    RONDE_NCCL_VOLTA,
    RONDE_NCCL_AMPERE,
    RONDE_NCCL_AMPERE_RTX, /**< GA10x: RTX A6000, A40, A10, RTX 30; higher clocks, slower NVLink */
    RONDE_NCCL_ADA,
    RONDE_NCCL_HOPPER,
    RONDE_NCCL_BLACKWELL,
    RONDE_NCCL_GENERATION_COUNT /**< how many */
};

/** How GPUs without NVLink between them reach each other. */
enum ronde_nccl_gpu_path {
    RONDE_NCCL_GPU_BRIDGE,    /**< through processors' host bridges, and what lies between those */
    RONDE_NCCL_GPU_SWITCH,    /**< through PCIe switches, or an I/O die that does as well */
    RONDE_NCCL_GPU_HOST,      /**< copied through the host's memory: no GPU may write to another */
    RONDE_NCCL_GPU_PATH_COUNT /**< how many */
};

/** What joins nodes. */
enum ronde_nccl_fabric {
    RONDE_NCCL_INFINIBAND,  /**< InfiniBand verbs */
    RONDE_NCCL_SLINGSHOT,   /**< libfabric's cxi through aws-ofi-nccl */
    RONDE_NCCL_EFA,         /**< libfabric's efa through aws-ofi-nccl */
    RONDE_NCCL_TCPX,        /**< Google's GPUDirect-TCPX (a3-high) */
    RONDE_NCCL_TCPXO,       /**< Google's GPUDirect-TCPXO, FasTrak (a3-mega) */
    RONDE_NCCL_ROCE,        /**< RDMA over Ethernet */
    RONDE_NCCL_ETHERNET,    /**< TCP sockets */
    RONDE_NCCL_FABRIC_COUNT /**< how many */
};

/** Vendors of processors whose host bridges differ in NCCL's eyes. */
enum ronde_nccl_vendor {
    RONDE_NCCL_INTEL,
    RONDE_NCCL_AMD,
    RONDE_NCCL_ARM,
    RONDE_NCCL_CPU_COUNT /**< how many */
};

/** What the links of a platform leave of a machine's rates for an algorithm's traffic (ronde/nccl_platform.h). */
struct ronde_nccl_limit {
    double inside;      /**< share of a GPU's rate inside a node; 1 = all */
    double between;     /**< share of the NICs' rate */
    double inside_us;   /**< of a hop inside a node at least */
    double between_us;  /**< of a hop between nodes at least */
    double ns_per_byte; /**< of the busiest link, for a byte of the call; 0 = not known */
    uint32_t link;      /**< which */
};

/** Bytes of a machine's name, NUL included. */
#define RONDE_NCCL_NAME_BYTES 64

/**
 * A machine of equal nodes, as its description says. ronde_nccl_node_of_machine makes a struct ronde_node_description of it
 * for the writers of platform files. This struct does not contain that one, because they differ in four things: a
 * description's node is a whole rack where NVLink joins one, it leaves out sockets without GPUs, it has every rate filled in,
 * and it points to a name that its caller owns. Machines are copied and changed, so they own their names.
 */
struct ronde_nccl_machine {
    char name[RONDE_NCCL_NAME_BYTES];
    enum ronde_nccl_generation generation;
    enum ronde_node_link link; /**< no cube: the eight GPUs of a DGX-1 are said to be a mesh */
    enum ronde_nccl_gpu_path gpu_path; /**< between GPUs that NVLink does not join */
    enum ronde_nccl_fabric fabric;
    enum ronde_nccl_vendor cpu;
    uint32_t gpus;      /**< of a node */
    uint32_t sockets;   /**< of a node */
    uint32_t nics;      /**< of a node; 0 = one node only */
    double nvlink_GBps; /**< of a GPU, one direction, all its links, as the data sheet says */
    double pcie_GBps; /**< of a GPU's slot, one direction, as the data sheet says; 0 = its generation's */
    double nic_GBps;       /**< of a NIC, one direction */
    double net_latency_us; /**< of a hop between nodes by LL; 0 = its fabric's */
    bool behind_bridge;    /**< GPU and NIC meet in the host bridge, not in a PCIe switch */
    bool is_one_process;   /**< one process launches on all GPUs of a node, in turn */
    bool is_one_on_one_node; /**< so it does where one node takes part, while several have one for each GPU */
    uint32_t min_channels; /**< NCCL_MIN_NCHANNELS: of rings and trees at least so many; 0 = not set */
    uint32_t nvlink_nodes; /**< nodes that NVLink joins, 18 in a rack of GB200 NVL72; 0 or 1 = each ends at itself */
    /**
     * By enum ronde_nccl_algorithm, for the ranks and the collective of the call: what the links of the machine's platform
     * leave. NULL: between nodes nothing but NICs limits. NCCL chooses without it. Owner: the caller.
     */
    const struct ronde_nccl_limit *limits;
};

/** Algorithms. */
enum ronde_nccl_algorithm {
    RONDE_NCCL_RING,
    RONDE_NCCL_TREE,            /**< a chain inside a node, a double binary tree between nodes */
    RONDE_NCCL_NVLS,            /**< NVSwitch reduces and multicasts */
    RONDE_NCCL_NVLS_TREE,       /**< that inside nodes, the double tree between */
    RONDE_NCCL_ALGORITHM_COUNT, /**< how many; as a wish: any */
    RONDE_NCCL_POINT,           /**< sends and receives: NCCL has no algorithms to choose from */
    RONDE_NCCL_PAIRS, /**< RCCL's own schedule: a part to each other rank, sums, results to all */
    RONDE_NCCL_LIMITS /**< entries of what there is by algorithm, what no wish names included */
};

/** Protocols. */
enum ronde_nccl_protocol {
    RONDE_NCCL_LL,
    RONDE_NCCL_LL128,
    RONDE_NCCL_SIMPLE,
    RONDE_NCCL_PROTOCOL_COUNT /**< how many; as a wish: any */
};

/** What runs, or what NCCL_ALGO and NCCL_PROTO wish. */
struct ronde_nccl_choice {
    enum ronde_nccl_algorithm algorithm;
    enum ronde_nccl_protocol protocol;
};

/** One call. */
struct ronde_nccl_call {
    enum ronde_collective collective;
    uint32_t ranks;
    uint32_t nodes;
    uint32_t version; /**< of NCCL: 100 major + minor; 0 = not known, taken as new */
    uint64_t bytes;   /**< nccl-tests' size */
};

/** A constant: what it is, where it starts from when it is fitted anew, and between which bounds it makes sense. */
struct ronde_nccl_constant {
    double value;
    double start; /**< 0 = published by NCCL or read off the hardware: never fitted */
};

/** All constants, in one row so that a fit can go through them. */
#define RONDE_NCCL_CONSTANT_COUNT                                                                  \
    (RONDE_NCCL_COMMON_COUNT + RONDE_NCCL_GENERATION_COUNT * RONDE_NCCL_OF_GENERATION_COUNT)

/** The constants, and the four that `fit` may change for one machine. */
struct ronde_nccl_constants {
    struct ronde_nccl_constant all[RONDE_NCCL_CONSTANT_COUNT];
    double launch_us; /**< instead of the generation's; 0 = the generation's */
    double inside;    /**< times every latency inside a node; 1 */
    double between;   /**< times every latency between nodes; 1 */
    double links;     /**< times every efficiency of a link inside a node; 1 */
    double nics;      /**< times every efficiency of a NIC; 1 */
};

/** Reads a machine's description. Errors: IO, BAD_INPUT with file and line. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_nccl_machine_read(const char *path, struct ronde_nccl_machine *out, struct ronde_error *error);

/** The path of a description: the text itself where that is a file, else that of the shipped one of this name. */
RONDE_API void ronde_find_nccl_machine(const char *text, char *out_path, size_t bytes);

/** Whether a file that can be read may be a description: not called .xml, and it begins with a comment or a word. */
RONDE_API bool ronde_is_nccl_machine(const char *path);

/** What is written of a machine beside its measurements; any may be NULL. */
struct ronde_nccl_words_of {
    const char *gpu;     /**< "NVIDIA A100-SXM4-40GB" */
    const char *inside;  /**< "NVLink3 NVSwitch 8 GPU" */
    const char *between; /**< "4x HDR IB 200Gb/s"; empty: one node only */
    const char *notes;   /**< "1 process -g 8" */
    uint32_t gpus;       /**< of a node, as many as took part */
};

/**
 * A machine from such words, by data sheets of the parts they name; its name is left empty. Errors: BAD_INPUT where GPU or
 * fabric is not known; where only the fabric is not, `out` is the machine without NICs, which one node of it needs none of,
 * else it has no GPUs.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_nccl_machine_of_words(const struct ronde_nccl_words_of *said, struct ronde_nccl_machine *out,
                            struct ronde_error *error);

/** Reads common.txt and a file per generation from a folder; NULL is the shipped one. Errors: IO, BAD_INPUT. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_nccl_constants_read(const char *folder, struct ronde_nccl_constants *out,
                          struct ronde_error *error);

/** A constant's name as in its file: "hopper launch_us". `bytes` of out_text suffice from 64. */
RONDE_API void ronde_nccl_constant_name(size_t index, char *out_text, size_t bytes);

/** The version of NCCL to expect where only the date is known: the newest that had been out for four months. */
RONDE_API uint32_t ronde_nccl_version_at(uint32_t year, uint32_t month);

/** Names as NCCL prints them; "auto" for a count. */
RONDE_API const char *ronde_nccl_algorithm_text(enum ronde_nccl_algorithm algorithm);
RONDE_API const char *ronde_nccl_protocol_text(enum ronde_nccl_protocol protocol);
RONDE_API const char *ronde_nccl_generation_text(enum ronde_nccl_generation generation);

/** The generation of a GPU that a text names (ronde/catalogue.h); false where it names none. */
RONDE_API bool ronde_nccl_generation_find(const char *gpu, enum ronde_nccl_generation *out);

/** Words of a machine's description; "?" for a count. */
RONDE_API const char *ronde_nccl_link_text(enum ronde_node_link link);
RONDE_API const char *ronde_nccl_fabric_text(enum ronde_nccl_fabric fabric);

/** Whether the model has this collective. */
RONDE_API bool ronde_nccl_models(enum ronde_collective collective);

/** Refuses a call that the machine cannot make: more GPUs a node than there are, nodes without NICs. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_nccl_call_check(const struct ronde_nccl_machine *machine, const struct ronde_nccl_call *call,
                      struct ronde_error *error);

/**
 * NCCL's own formula, us; infinite where NCCL does not run it. With `is_forced` what its tables disable, yet NCCL_PROTO
 * switches on, has a time too.
 */
RONDE_API double ronde_nccl_tuner_us(const struct ronde_nccl_constants *constants,
                                     const struct ronde_nccl_machine *machine,
                                     const struct ronde_nccl_call *call,
                                     struct ronde_nccl_choice choice, bool is_forced);

/**
 * What NCCL takes by that formula among what the wish leaves; returns its time, or infinity where it knows none. Where RCCL runs
 * its own schedule instead, that is the choice, and the time is the formula's for what it takes the place of.
 */
RONDE_API double ronde_nccl_choose(const struct ronde_nccl_constants *constants,
                                   const struct ronde_nccl_machine *machine,
                                   const struct ronde_nccl_call *call,
                                   struct ronde_nccl_choice wish, struct ronde_nccl_choice *out);

/** Channels of rings and trees that NCCL makes without being told: those its search finds, once more for the second tree. */
RONDE_API uint32_t ronde_nccl_channels(const struct ronde_nccl_constants *constants,
                                       const struct ronde_nccl_machine *machine,
                                       const struct ronde_nccl_call *call);

/** Rate that NCCL's search finds for all these channels together, GB/s. */
RONDE_API double ronde_nccl_bus_GBps(const struct ronde_nccl_constants *constants,
                                     const struct ronde_nccl_machine *machine,
                                     const struct ronde_nccl_call *call);

/** Kind of way between two GPUs of a node, by NCCL's name: NVL, PIX, PHB or SYS. */
RONDE_API const char *ronde_nccl_path_text(const struct ronde_nccl_machine *machine, uint32_t gpus);

/** How long that takes, us; no less than the machine's limits say. */
RONDE_API double ronde_nccl_execution_us(const struct ronde_nccl_constants *constants,
                                         const struct ronde_nccl_machine *machine,
                                         const struct ronde_nccl_call *call,
                                         struct ronde_nccl_choice choice);

/**
 * Bytes of a message on one channel between two of so many GPUs of a node up to which LL is faster than Simple: where what its
 * flags take of the channel's rate outweighs the latency that it saves. Infinite where its rate is no less. This is of NCCL's
 * kernels; docs/guide/choosing.md says what it has to do with ours.
 */
RONDE_API double ronde_nccl_lines_up_to_bytes(const struct ronde_nccl_constants *constants,
                                              const struct ronde_nccl_machine *machine,
                                              uint32_t gpus);

/**
 * The fastest of what NCCL_ALGO and NCCL_PROTO can make NCCL run, by execution; returns its time, us. The call must have
 * passed ronde_nccl_call_check.
 */
RONDE_API double ronde_nccl_fastest(const struct ronde_nccl_constants *constants,
                                    const struct ronde_nccl_machine *machine,
                                    const struct ronde_nccl_call *call,
                                    struct ronde_nccl_choice *out);

/**
 * The fewest channels, a power of two, by which NCCL's own choice for the call is surely faster than by those that it makes: below
 * `most_us`, and no more than 2 % slower than by any other number. 0 where none are; *out_us is the time by them. No published
 * measurement has forced channels: how far that holds is not known.
 */
RONDE_API uint32_t ronde_nccl_more_channels(const struct ronde_nccl_constants *constants,
                                            const struct ronde_nccl_machine *machine,
                                            const struct ronde_nccl_call *call, double most_us,
                                            double *out_us);

#ifdef __cplusplus
}
#endif
#endif
