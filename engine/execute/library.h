/**
 * Libraries that are loaded at run time when they are needed, and that a build does not link: those of NVIDIA's driver, our
 * own kernels where they come by themselves, and the SimGrid engine, whose libraries take longer to load than most commands
 * to answer. For the rooms outside the engine, which loads nothing.
 */
#ifndef RONDE_EXECUTE_LIBRARY_H
#define RONDE_EXECUTE_LIBRARY_H

#include "ronde/status.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/** A call of a library's. */
struct ronde_library_call {
    const char *symbol; /**< there */
    size_t offset;      /**< of the pointer to it, in the caller's struct */
};

/** Which library it is. */
struct ronde_library {
    const char *name;
    const char *absent; /**< what is said of a machine without it, */
    const char *remedy; /**< what to install then, */
    const char *old;    /**< and what is said of one that lacks a call */
    const struct ronde_library_call *calls;
    size_t call_count;
};

/** What is said of a machine without NVIDIA's driver, whose package brings all of its libraries. */
#define RONDE_LIBRARY_OF_DRIVER .absent = "no NVIDIA driver here", .remedy = "package nvidia-driver"

/**
 * Opens a library, which the caller closes also on failure, and writes its calls into a struct. Errors: UNAVAILABLE naming
 * the library or the missing call.
 */
static inline enum ronde_status ronde_library_open(const struct ronde_library *library,
                                                   void *out_calls, void **out_handle,
                                                   struct ronde_error *error)
{
    const char *missing = NULL;
    *out_handle = dlopen(library->name, RTLD_NOW | RTLD_LOCAL);
    if (!*out_handle)
        return ronde_fail(error, RONDE_UNAVAILABLE, "%s (%s; %s)", library->absent, library->name,
                          library->remedy);
    for (size_t k = 0; k < library->call_count; k++) {
        const struct ronde_library_call *call = &library->calls[k];
        void *symbol = dlsym(*out_handle, call->symbol);
        /* A pointer to a function is stored as one to an object, as POSIX asks of dlsym's users. */
        memcpy((unsigned char *)out_calls + call->offset, &symbol, sizeof symbol);
        missing = symbol ? missing : call->symbol;
    }
    return missing ? ronde_fail(error, RONDE_UNAVAILABLE, "%s has no %s: %s", library->name,
                                missing, library->old)
                   : RONDE_OK;
}

#endif
