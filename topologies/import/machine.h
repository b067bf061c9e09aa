/**
 * What an importer reads into: places (processors, PCI switches, GPUs, NICs) and the edges between them. The readers
 * (nccl_*.c, hwloc_*.c, described.c) fill it in; machine.c names the parts, paths.c finds the paths and write.c writes the platform
 * file.
 */
#ifndef RONDE_TOPOLOGIES_IMPORT_MACHINE_H
#define RONDE_TOPOLOGIES_IMPORT_MACHINE_H

#include "ronde/import.h"
#include "topologies/platform.h"

/**
 * Most places of a machine: paths are searched from every GPU, and malicious files must be refused in reasonable time.
 */
#define RONDE_MAX_PLACES 1024u
/** Most GPUs of a machine; an NVL72 rack described as one has 72. */
#define RONDE_MAX_GPUS 256u
/** Deepest PCI tree; also bounds the recursion of the readers. */
#define RONDE_MAX_PCI_DEPTH 32u

/** What stands at a place. */
enum ronde_place_kind {
    RONDE_PLACE_CPU,     /**< socket or NUMA domain: root of a PCI tree */
    RONDE_PLACE_SWITCH,  /**< PCI bridge or switch */
    RONDE_PLACE_GPU,     /**< becomes a host */
    RONDE_PLACE_DEVICE,  /**< what several GPUs share: parts of one, or ranks on one */
    RONDE_PLACE_NIC,     /**< one NIC, with all its ports */
    RONDE_PLACE_NVSWITCH /**< all NVSwitches of the machine: one crossbar */
};

/** How good a path over an edge is, best first (NCCL's path kinds); the worst edge decides. */
enum ronde_path_kind {
    RONDE_PATH_LOCAL,  /**< no edge, or within one device */
    RONDE_PATH_NVLINK, /**< NVLink, xGMI, also through an NVSwitch */
    RONDE_PATH_C2C,    /**< chip-to-chip link to the own CPU */
    RONDE_PATH_PIX,    /**< one PCI switch */
    RONDE_PATH_PXB,    /**< several PCI switches */
    RONDE_PATH_PHB,    /**< through a CPU */
    RONDE_PATH_SYS     /**< from CPU to CPU */
};

/** A place. */
struct ronde_import_place {
    enum ronde_place_kind kind; /**< what it is */
    uint32_t parent;            /**< place above in the PCI tree, or NONE */
    uint32_t host;              /**< which machine of a file that describes several */
    uint32_t line;              /**< in the file */
    double up_GBps;             /**< link to the parent; INFINITY = no limit is known */
    uint64_t bus;               /**< busid as a number, for the order of GPUs */
    uint32_t rank;              /**< GPU: its rank, else NVML index, else NONE */
    double cpu_GBps;            /**< CPU: to any other one */
    double net_GBps;            /**< NIC: all ports together, 0 = the file has no rate */
    uint32_t port_count;        /**< NIC: ports the file names */
    bool is_used;               /**< a GPU or NIC is here or below */
    char busid[32];             /**< as in the file, or "" */
    uint32_t repeat;            /**< switch: how many devices before it have this busid */
    char name[64];              /**< in the platform file */
    char ports[160];            /**< NIC: "name:rate ..." for people */
};

/** A link between two places, with a rate for each direction. */
struct ronde_import_edge {
    uint32_t ends[2];          /**< places */
    double GBps[2];            /**< from ends[0] to ends[1], and back; 0 = no such direction */
    double latency_ns;         /**< of a crossing */
    enum ronde_path_kind kind; /**< of a path over it */
    const char *word;          /**< first part of its name: "nvlink", "pcie", ... */
};

/** The state of a place in a search for paths. */
struct ronde_label {
    enum ronde_path_kind kind; /**< worst edge so far */
    double GBps;               /**< slowest edge so far */
    uint32_t hops;             /**< edges so far; NONE = not reached */
    uint32_t edge;             /**< last edge, NONE at the source */
    bool is_done;              /**< final */
};

/** Things an importer assumes or leaves out; text in remark.c. */
enum ronde_remark {
    RONDE_REMARK_PCIE_SPEED,   /**< link_speed empty or unknown */
    RONDE_REMARK_SELF_LINK,    /**< NVLink of a GPU to itself */
    RONDE_REMARK_LOST_LINK,    /**< NVLink to a device that is not in the file */
    RONDE_REMARK_SKIPPED,      /**< element that NCCL skips, too */
    RONDE_REMARK_GCN,          /**< xGMI of an architecture that NCCL's table does not have */
    RONDE_REMARK_NET_SPEED,    /**< net without a speed */
    RONDE_REMARK_FUSED_NET,    /**< net without a number among those that have one */
    RONDE_REMARK_REPEATED_NET, /**< net that was read before */
    RONDE_REMARK_FAST_NET,     /**< net faster than the PCI link below it */
    RONDE_REMARK_CPU,          /**< CPUs of unknown make */
    RONDE_REMARK_NO_NVLINK,    /**< GPUs without any NVLink in the file */
    RONDE_REMARK_SHARED_GPU,   /**< device with several GPUs in the file */
    RONDE_REMARK_LINKLESS,     /**< GPU without NVLink among others that have it */
    RONDE_REMARK_GIVEN_NVLINK, /**< NVLink rate from the request */
    RONDE_REMARK_SILENT_NIC,   /**< NIC without a rate, left out */
    RONDE_REMARK_GIVEN_NIC,    /**< NIC rate from the request */
    RONDE_REMARK_IDLE_NIC,     /**< NIC that is nearest to no GPU */
    RONDE_REMARK_REPEATED,     /**< PCI switch whose busid another device has, too */
    RONDE_REMARK_COUNT         /**< how many there are */
};

/** A machine; the lists hold what their names say. */
struct ronde_import {
    const struct ronde_mem *mem;                /**< must outlive it */
    struct ronde_import_request request;        /**< path is the caller's and not kept */
    const char *kind;                           /**< of the file */
    const char *rates;                          /**< where its bandwidths come from */
    char source[96];                            /**< name of the file without its folders */
    struct ronde_list places;                   /**< struct ronde_import_place */
    struct ronde_list edges;                    /**< struct ronde_import_edge */
    struct ronde_list gpus;                     /**< uint32_t: places in rank order */
    struct ronde_list nics;                     /**< uint32_t: places in file order */
    struct ronde_list nic_of;                   /**< uint32_t beside gpus: NIC place, or NONE */
    struct ronde_label *labels;                 /**< gpus x places: paths from each GPU */
    uint32_t nvswitch;                          /**< place, or NONE */
    uint32_t cores;                             /**< hwloc: cores of the machine */
    uint32_t remark_counts[RONDE_REMARK_COUNT]; /**< how often each applies */
    uint32_t remark_lines[RONDE_REMARK_COUNT];  /**< where first; 0 = nowhere in particular */
};

/** The place of an index. */
#define RONDE_PLACE(import, index) RONDE_AT((import)->places, struct ronde_import_place, index)
/** The edge of an index. */
#define RONDE_EDGE(import, index) RONDE_AT((import)->edges, struct ronde_import_edge, index)

/** An empty machine for a request, which it checks. Owner: the caller. Errors: BAD_ARGUMENT, NO_MEMORY. */
enum ronde_status ronde_import_open(const struct ronde_import_request *request,
                                    const struct ronde_mem *mem, struct ronde_import **out_import,
                                    struct ronde_error *error);

/** Records that something was assumed at a line. */
void ronde_import_note(struct ronde_import *import, enum ronde_remark remark, uint32_t line);

/** Adds a place below another one (NONE for a CPU). Errors: NO_MEMORY; BAD_INPUT beyond RONDE_MAX_PLACES. */
enum ronde_status ronde_import_add_place(struct ronde_import *import, enum ronde_place_kind kind,
                                         uint32_t parent, uint32_t line, uint32_t *out_place);

/** Adds a rate from one place to another to their edge of that word, which is made if need be. Errors: NO_MEMORY. */
enum ronde_status ronde_import_add_rate(struct ronde_import *import, const char *word,
                                        uint32_t from, uint32_t to, double GBps);
/** The same both ways. */
enum ronde_status ronde_import_add_duplex(struct ronde_import *import, const char *word, uint32_t a,
                                          uint32_t b, double GBps, double back_GBps);

/** The place that stands for all NVSwitches, made on first use. Errors: as ronde_import_add_place. */
enum ronde_status ronde_import_nvswitch(struct ronde_import *import, uint32_t *out_place);

/** The place of a busid on a host, or NONE; a GPU or NIC where switches have it, too. */
uint32_t ronde_import_find(const struct ronde_import *import, uint32_t host, const char *busid);

/** Whether a place is a switch whose busid other switches have, too: what names it names none of them. */
bool ronde_import_is_ambiguous(const struct ronde_import *import, uint32_t place);

/** The CPU at the top of the tree of a place. */
uint32_t ronde_import_root(const struct ronde_import *import, uint32_t place);

/**
 * After reading: orders GPUs, names everything, adds the edges of the PCI trees and between CPUs, finds the paths.
 * Errors: NO_MEMORY; BAD_INPUT, BAD_ARGUMENT as ronde_import_read.
 */
enum ronde_status ronde_import_finish(struct ronde_import *import, const char *path,
                                      struct ronde_error *error);

/** Paths from every GPU, and the NIC of each. Errors: as ronde_import_finish. */
enum ronde_status ronde_import_find_paths(struct ronde_import *import, const char *path,
                                          struct ronde_error *error);

/** The label of a place on paths from a GPU (its rank). */
const struct ronde_label *ronde_import_label(const struct ronde_import *import, uint32_t gpu,
                                             uint32_t place);

/** Edges of the path from a GPU (its rank) to a place, in order; returns how many. out_edges holds RONDE_MAX_PLACES. */
uint32_t ronde_import_path(const struct ronde_import *import, uint32_t gpu, uint32_t place,
                           uint32_t *out_edges);

/** Whether both directions have the same rate, or no limit. */
bool ronde_import_is_symmetric(const struct ronde_import_edge *edge);

/** What two ranks on one GPU exchange at most (NCCL's LOC_BW): its memory. */
#define RONDE_IMPORT_LOCAL_GBPS 5000.0

/** Latency of a port of the network, and of one more switch on the way. */
#define RONDE_IMPORT_PORT_NS 850.0
#define RONDE_IMPORT_SWITCH_NS 130.0

#endif
