/**
 * NCCL's tuner plug-in as binary interface, versions 2 to 6: declarations of our own, the layouts are NCCL's. A version's
 * layout never changes once it is released, so that one library serves NCCL 2.19 to 2.32.
 */
#ifndef RONDE_NCCL_PLUGINS_TUNER_ABI_H
#define RONDE_NCCL_PLUGINS_TUNER_ABI_H

#include <stddef.h>
#include <stdint.h>

/** What a callback returns: a number of ncclResult_t. Any other makes the call of the application fail. */
enum { ABI_SUCCESS = 0 };

/** Levels of a log line, and the flag of tuners (NCCL_DEBUG_SUBSYS=TUNING). */
enum { ABI_WARN = 2, ABI_INFO = 3, ABI_TUNING = 0x40, ABI_PROFILE = 0x4000 };

/** Collectives, in NCCL's order. */
enum abi_collective {
    ABI_BROADCAST,
    ABI_REDUCE,
    ABI_ALL_GATHER,
    ABI_REDUCE_SCATTER,
    ABI_ALL_REDUCE,
    ABI_COLLECTIVES /**< how many */
};

/** Protocols of a table; its algorithms are 6 before NCCL 2.23 and 7 since (abi_words.h). */
enum { ABI_LL, ABI_LL128, ABI_SIMPLE, ABI_PROTOCOLS };

/** Algorithms of a table. */
enum {
    ABI_TREE,
    ABI_RING,
    ABI_COLLNET_DIRECT,
    ABI_COLLNET_CHAIN,
    ABI_NVLS,
    ABI_NVLS_TREE,
    ABI_PAT,
    ABI_ALGORITHMS
};

/** NCCL's logger; NULL is possible. */
typedef void (*abi_log)(int level, unsigned long flags, const char *file, int line,
                        const char *format, ...);

/** Version 2: the plug-in answers one choice and sees no costs. */
struct tuner_v2 {
    const char *name;
    int (*init)(size_t ranks, size_t nodes, abi_log log, void **context);
    int (*get)(void *context, int collective, size_t bytes, int has_collnet, int has_nvls,
               int pipe_ops, int *algorithm, int *protocol, int *channels);
    int (*destroy)(void *context);
};

/** Version 3: costs as one flat float[algorithms][protocols], whatever its declared type; -1 = impossible. */
struct tuner_v3 {
    const char *name;
    int (*init)(size_t ranks, size_t nodes, abi_log log, void **context);
    int (*get)(void *context, int collective, size_t bytes, int pipe_ops, float **costs,
               int algorithms, int protocols, int *channels);
    int (*destroy)(void *context);
};

/** Version 4: whether buffers are registered. */
struct tuner_v4 {
    const char *name;
    int (*init)(size_t ranks, size_t nodes, abi_log log, void **context);
    int (*get)(void *context, int collective, size_t bytes, int pipe_ops, float **costs,
               int algorithms, int protocols, int is_registered, int *channels);
    int (*destroy)(void *context);
};

/** Versions 5 and 6: init has the context first. Domains of NVLink and NCCL's constants are not looked at. */
struct tuner_v5 {
    const char *name;
    int (*init)(void **context, uint64_t comm, size_t ranks, size_t nodes, abi_log log,
                void *nvlink, void *constants);
    int (*get)(void *context, int collective, size_t bytes, int pipe_ops, float **costs,
               int algorithms, int protocols, int is_registered, int *channels);
    int (*finalize)(void *context);
};

/** Version 6 may answer the size of chunks. */
struct tuner_v6 {
    struct tuner_v5 as_v5;
    int (*chunk)(void *context, int collective, size_t bytes, int algorithm, int protocol,
                 int channels, size_t *chunk_bytes); /**< NULL = NCCL's */
};

#endif
