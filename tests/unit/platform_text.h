/**
 * Platform files from strings, for the tests of their reader.
 */
#ifndef RONDE_TESTS_PLATFORM_TEXT_H
#define RONDE_TESTS_PLATFORM_TEXT_H

#include "ronde/generate.h"
#include "ronde/topologies.h"

/** Room for the path of a file that stays. */
#define PLATFORM_TEXT_PATH_BYTES 256

/** A file with every element and most attributes that are understood. */
extern const char platform_text_everything[];

/** Writes bytes to a file of its own, reads that as a platform and removes it again. */
enum ronde_status platform_text_read(const char *text, size_t bytes, const struct ronde_mem *mem,
                                     struct ronde_platform **out_platform,
                                     struct ronde_error *error);

/**
 * Writes a text to a file and reads that as a platform, which must be good. The file stays until platform_text_drop, for
 * SimGrid reads it again. False after a skip where platform files cannot be read, or after a failed assertion.
 */
bool platform_text_keep(const char *text, char path[PLATFORM_TEXT_PATH_BYTES],
                        struct ronde_platform **out_platform);

/** Frees such a platform, or NULL, and removes its file, if there is a path. */
void platform_text_drop(const char *path, struct ronde_platform *platform);

/** Reads a file of the repository that must be good, e.g. "topologies/crossbar-64.xml"; NULL after a skip or a failure. */
struct ronde_platform *platform_text_open(const char *relative);

/** Reads a text that must be a good platform; NULL after a skip or a failure. */
struct ronde_platform *platform_text_good(const char *text);

/** What a generator writes, ended by NUL; the caller frees it. NULL, the error and not a byte where it refuses. */
char *platform_text_generate(const struct ronde_generate_request *request, size_t *out_bytes,
                             struct ronde_error *error);

/** A machine that is generated, which must succeed; NULL after a skip where platform files cannot be read. */
struct ronde_platform *platform_text_generated(const struct ronde_generate_request *request);

/** The names of a route's links, separated by blanks; the message where there is no route. */
void platform_text_route(const struct ronde_platform *platform, uint32_t src, uint32_t dst,
                         char *text, size_t bytes);

#endif
