/**
 * Files as XML, read by ourselves and parsed offline: as a document (dumps of topologies, programs), or tag by tag
 * (platforms, which may have a hundred megabytes). Findings are "path:line: ...".
 */
#ifndef RONDE_TOPOLOGIES_READ_DOCUMENT_H
#define RONDE_TOPOLOGIES_READ_DOCUMENT_H

#include "ronde/mem.h"

#include <libxml/tree.h>

/**
 * Reads and parses a file; it has a root element. Owner: the caller frees *out_document with xmlFreeDoc.
 * Errors: IO, NO_MEMORY, BAD_INPUT.
 */
enum ronde_status ronde_document_read(const char *path, xmlDoc **out_document,
                                      struct ronde_error *error);

/** The same for bytes in memory; `path` is what errors call them. */
RONDE_API enum ronde_status ronde_document_parse(const char *path, const char *bytes, size_t count,
                                                 xmlDoc **out_document, struct ronde_error *error);

/**
 * The same document as SimGrid's parser takes it, which knows less of XML: with the one document type, without a byte order mark, not
 * said to stand alone. Owner: the caller frees *out_text with xmlFree.
 * Errors: as ronde_document_read.
 */
enum ronde_status ronde_document_plain(const char *path, xmlChar **out_text, int *out_bytes,
                                       struct ronde_error *error);

/** Most attributes of an element that is read tag by tag: the richest row of a table, <cluster>, has 20. */
#define RONDE_TAG_ATTRIBUTES 32u

/** The start of an element, valid only while its event lasts. */
struct ronde_tag {
    const char *name; /**< of the element */
    uint32_t line;    /**< where it ends */
    uint32_t count;   /**< of attributes */
    struct {
        const char *name;
        const char *value;
    } attributes[RONDE_TAG_ATTRIBUTES]; /**< in the order of the file */
};

/** What is told of a document while it is parsed; a status other than OK ends the parsing and is its result. */
struct ronde_document_events {
    void *user; /**< handed to each */
    enum ronde_status (*start)(void *user, const struct ronde_tag *tag);
    enum ronde_status (*end)(void *user);
    enum ronde_status (*text)(void *user); /**< anything that is neither markup nor blank */
};

/**
 * Reads a file, or `count` bytes where `bytes` is not NULL, and tells of its elements. Errors: as ronde_document_read, and
 * those of the events; elements before the place that is not well-formed have been told of. *out_is_plain: SimGrid's parser takes a
 * file as it is, or it cannot be read a second time.
 */
enum ronde_status ronde_document_scan(const char *path, const char *bytes, size_t count,
                                      const struct ronde_mem *mem,
                                      const struct ronde_document_events *events,
                                      bool *out_is_plain, struct ronde_error *error);

#endif
