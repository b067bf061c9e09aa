/**
 * The <net> elements of NCCL's files: which are ports of a NIC, and which are the same one again.
 */
#ifndef RONDE_TOPOLOGIES_IMPORT_IMPORT_READER_H
#define RONDE_TOPOLOGIES_IMPORT_IMPORT_READER_H

#include "machine.h"

#include <libxml/tree.h>

/* The XML side of the importers. Only the files that include this use libxml2. */

/** Longest attribute an importer looks at; NCCL's own limit is 255. */
#define RONDE_ATTRIBUTE_BYTES 256u

/** State of one reading. */
struct ronde_import_reader {
    struct ronde_import *import; /**< being filled */
    const char *path;            /**< for messages */
    struct ronde_error *error;   /**< the caller's */
};

/** Fails with BAD_INPUT and "path:line: message", for this machine without a line. */
enum ronde_status ronde_import_fail(struct ronde_import_reader *reader, const xmlNode *node,
                                    const char *format, ...) RONDE_FORMAT(3, 4);

/** Gives the failures of ronde_import_add_* their message; OK stays OK. */
enum ronde_status ronde_import_added(struct ronde_import_reader *reader, const xmlNode *node,
                                     enum ronde_status status);

/** Adds what an element is. Errors: BAD_INPUT, NO_MEMORY. */
enum ronde_status ronde_import_place_of(struct ronde_import_reader *reader, const xmlNode *node,
                                        enum ronde_place_kind kind, uint32_t parent,
                                        uint32_t *out_place);

/** Line of a node. */
uint32_t ronde_import_line(const xmlNode *node);

/** Whether a node is an element of that name. */
bool ronde_import_is(const xmlNode *node, const char *name);

/** The first child element of that name, or NULL. */
xmlNode *ronde_import_child(const xmlNode *node, const char *name);

/** Whether an attribute is there and has a value. */
bool ronde_import_has(xmlNode *node, const char *name, const char *value);

/** Copies an attribute, "" where it is absent. Errors: BAD_INPUT when it is too long. */
enum ronde_status ronde_import_text(struct ronde_import_reader *reader, xmlNode *node,
                                    const char *name, char text[RONDE_ATTRIBUTE_BYTES]);

/** A finite number of at least 0; `fallback` where the attribute is absent or empty. Errors: BAD_INPUT. */
enum ronde_status ronde_import_number(struct ronde_import_reader *reader, xmlNode *node,
                                      const char *name, double fallback, double *out_value);

/** A decimal or 0x number up to `limit`; `fallback` where the attribute is absent or empty. Errors: BAD_INPUT. */
enum ronde_status ronde_import_integer(struct ronde_import_reader *reader, xmlNode *node,
                                       const char *name, uint32_t limit, uint32_t fallback,
                                       uint32_t *out_value);

/** Gives a place the busid of an attribute: domain:bus:device.function. Errors: BAD_INPUT, also for a second one. */
enum ronde_status ronde_import_busid(struct ronde_import_reader *reader, xmlNode *node,
                                     const char *attribute, uint32_t place);

/** Adds the name and rate of a port to a NIC. */
void ronde_import_add_port(struct ronde_import_place *nic, const char *name, double GBps);

/** Reads a <system> (nccl_read.c). Errors: BAD_INPUT, NO_MEMORY. */
enum ronde_status ronde_nccl_read(struct ronde_import_reader *reader, xmlNode *root);

/** Reads a <topology> (hwloc_read.c). Errors: BAD_INPUT, NO_MEMORY. */
enum ronde_status ronde_hwloc_read(struct ronde_import_reader *reader, xmlNode *root);

/* What the two files that read hwloc's XML share. */

/** Objects and the root are nested at most so deep; bounds the recursion. */
#define RONDE_MAX_HWLOC_DEPTH 128u

/**
 * Reads the NVLinkBandwidth matrix and its relatives, after all objects: those that are a place carry its number + 1 in
 * the node's `_private`. Errors: BAD_INPUT, NO_MEMORY.
 */
enum ronde_status ronde_hwloc_read_matrices(struct ronde_import_reader *reader, xmlNode *root);

/** What is known of a file's nets. */
struct ronde_nccl_nets {
    struct ronde_import_reader *reader;
    struct ronde_list seen; /**< struct ronde_nccl_net */
    bool has_devices; /**< NCCL has numbered them: those without a number are parts of a fused one */
};

/** Looks whether the nets below a root are numbered. */
void ronde_nccl_nets_open(struct ronde_nccl_nets *nets, struct ronde_import_reader *reader,
                          const xmlNode *root);

/** Frees what was kept. */
void ronde_nccl_nets_close(struct ronde_nccl_nets *nets);

/** Whether all nets of a <nic> of a host were read before: NCCL lists a NIC without a PCI device below every CPU. */
bool ronde_nccl_nic_is_repeated(const struct ronde_nccl_nets *nets, xmlNode *nic, uint32_t host);

/** One port of a NIC; a speed of 0 or less is 10 Gbit/s to NCCL. Errors: BAD_INPUT, NO_MEMORY. */
enum ronde_status ronde_nccl_net_read(struct ronde_nccl_nets *nets, xmlNode *node, uint32_t host,
                                      uint32_t place);

#endif
