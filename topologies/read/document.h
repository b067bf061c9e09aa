/**
 * Files as XML documents: read by ourselves, parsed offline, findings as "path:line: ...".
 */
#ifndef RONDE_TOPOLOGIES_READ_DOCUMENT_H
#define RONDE_TOPOLOGIES_READ_DOCUMENT_H

#include "ronde/mem.h"

#include <libxml/tree.h>

/**
 * Reads and parses a file; it has a root element. Owner: the caller frees *out_document with xmlFreeDoc.
 * Errors: IO, NO_MEMORY, BAD_INPUT.
 */
enum ronde_status ronde_document_read(const char *path, const struct ronde_mem *mem,
                                      xmlDoc **out_document, struct ronde_error *error);

/** The same for bytes in memory; `path` is what errors call them. */
RONDE_API enum ronde_status ronde_document_parse(const char *path, const char *bytes, size_t count,
                                                 xmlDoc **out_document, struct ronde_error *error);

#endif
