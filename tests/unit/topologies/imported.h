/**
 * Machines that were imported, written and read back as platforms, for the tests of the importers.
 */
#ifndef RONDE_TESTS_IMPORTED_H
#define RONDE_TESTS_IMPORTED_H

#include "ronde/import.h"
#include "ronde/topologies.h"

/** A machine after the whole way. */
struct imported {
    struct ronde_import_summary summary; /**< of the import */
    char remarks[1024];                  /**< of the import, a line each */
    struct ronde_platform *platform;     /**< what was written, read back */
    long file_bytes;                     /**< of the platform file */
};

/** False after a skip where nothing can be imported at all. */
bool imported_can(void);

/** The whole way; false after a note of what failed. imported_close ends it where it succeeds. */
bool imported_machine(const struct ronde_import_request *request, struct imported *out_machine);

/** Writes an import to a file of its own and reads that; false after a note of what failed. */
bool imported_read_back(const struct ronde_import *import, struct imported *machine);

/** Imports a file of tests/data/import, NICs without a rate with 12.5 GB/s; asserts that it succeeds. */
bool imported_sample(const char *name, uint32_t nodes, enum ronde_fabric fabric,
                     struct imported *out_machine);

/** Frees the platform. */
void imported_close(struct imported *machine);

/** Names of the links of a route, between blanks; "" where there is none. */
void imported_route(const struct imported *machine, uint32_t src, uint32_t dst, char text[512]);

/** Asserts that a route has these links. */
void imported_assert_route(const struct imported *machine, uint32_t src, uint32_t dst,
                           const char *expected);

/** Rate of a link, 0 where there is none of that name. */
double imported_rate(const struct imported *machine, const char *name);

#endif
