/**
 * Where the files that ronde ships are: platform files and measured tables.
 *
 * They are looked for beside the library, beside the program, in the source tree that the library was built from, and
 * where it was configured to be installed, in this order: a moved installation finds its own files, and a build that was
 * never installed those of its sources rather than an older installation's.
 */
#ifndef RONDE_DATA_FILES_H
#define RONDE_DATA_FILES_H

#include "ronde/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes of the longest path, its NUL included. */
#define RONDE_PATH_BYTES 4096

/** What is shipped. */
enum ronde_data_kind {
    RONDE_DATA_TOPOLOGIES, /**< platform files: share/ronde/topologies; in the sources topologies/ */
    RONDE_DATA_TABLES,     /**< measured tables: share/ronde/tune; in the sources predict/tables/ */
    RONDE_DATA_NCCL, /**< constants of NCCL's model: share/ronde/nccl; in the sources nccl/model/constants/ */
    RONDE_DATA_MACHINES, /**< descriptions of machines: share/ronde/machines; in the sources topologies/published/ */
    RONDE_DATA_KIND_COUNT /**< how many */
};

/** Where it may be, in the order in which it is looked for. */
enum ronde_data_place {
    RONDE_DATA_LIBRARY,    /**< beside the shared library this function is in */
    RONDE_DATA_PROGRAM,    /**< beside the running program */
    RONDE_DATA_SOURCE,     /**< the source tree of the build */
    RONDE_DATA_PREFIX,     /**< the prefix the build was configured for */
    RONDE_DATA_PLACE_COUNT /**< how many */
};

/**
 * The folder of a kind at a place, without a slash at its end. Returns false, and leaves out_path alone, where there is no
 * such readable folder or its path does not fit into `bytes`.
 */
RONDE_API bool ronde_data_folder(enum ronde_data_kind kind, enum ronde_data_place place,
                                 char *out_path, size_t bytes);

/** The first folder of shipped platform files; false where there is none. */
RONDE_API bool ronde_topologies_folder(char *out_path, size_t bytes);

/**
 * The path of a platform file: `text` itself where that can be read, else the shipped file of that name, with or without
 * ".xml", else `text` again, for an error that names what was asked for. What has a slash is only ever a path.
 */
RONDE_API void ronde_find_topology(const char *text, char *out_path, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
