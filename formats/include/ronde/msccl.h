/**
 * MSCCL algorithm files: the XML that msccl-tools, SCCL, TE-CCL and hand-written generators make, and that the MSCCL
 * runtimes of Microsoft, RCCL and Azure's scheduler execute.
 *
 * A threadblock is a lane, its step s the lane's step s; a connection is (source, destination, chan), chan being the tag.
 * What a file asks is mapped step by step, nothing is added, left out or put in another order, so a finding's rank, lane
 * and step are those of the file. The exception is the tag <copy>, whose copies come in a lane behind the others.
 */
#ifndef RONDE_MSCCL_H
#define RONDE_MSCCL_H

#include "ronde/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/** enumerator, text, messages that a connection of the runtimes holds. */
#define RONDE_MSCCL_PROTOCOL_LIST(X)                                                               \
    X(SIMPLE, "Simple", 2)                                                                         \
    X(LL, "LL", 8)                                                                                 \
    X(LL128, "LL128", 8)

/** Protocol of a file. */
enum ronde_msccl_protocol {
#define RONDE_ENUMERATOR(name, text, depth) RONDE_MSCCL_##name,
    RONDE_MSCCL_PROTOCOL_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_MSCCL_PROTOCOL_COUNT /**< number of protocols */
};

/** Spellings of reduce_scatter, of which each runtime refuses the other's, and what else a runtime knows. */
enum ronde_msccl_dialect {
    RONDE_MSCCL_OF_MSCCL, /**< microsoft/msccl and msccl-tools: reduce_scatter; one flag `inplace` */
    RONDE_MSCCL_OF_RCCL /**< RCCL, Azure's scheduler: reducescatter, gather, scatter; flag `outofplace` */
};

/** What a file says that is not in the schedule. */
struct ronde_msccl_facts {
    bool is_msccl;        /**< the file was one of these at all; the rest is only set then */
    char name[256];       /**< attribute `name` */
    const char *protocol; /**< Simple, LL or LL128; static */
    const char *writing;  /**< "plain", "compact" (op elements) or "copytag"; static */
    enum ronde_collective collective; /**< what it does */
    uint32_t ranks;                   /**< ngpus */
    uint32_t channels;                /**< distinct values of `chan` that steps use */
    uint32_t threadblocks;            /**< of all ranks */
    uint32_t steps;                   /**< of all ranks, nops among them */
    uint32_t nops;                    /**< of all ranks */
    uint32_t runtime_depth;           /**< messages a connection of its protocol holds */
    char unfit[200]; /**< why no MSCCL runtime runs it although it is right; "" if one does */
};

/** Whether bytes are XML: the first that is not blank is '<'. */
RONDE_API bool ronde_msccl_is(const char *text, size_t bytes);

/**
 * Reads, checks and proves an MSCCL file. `name` is used in messages. out_facts and out_proof may be NULL and are set as far
 * as reading came, also on failure. Owner: the caller destroys *out_schedule.
 * Errors: NO_MEMORY; BAD_INPUT "name:line: ..." for what is no such file; UNSUPPORTED for what the runtimes know and a
 * schedule cannot be; REJECTED for a file that reads well and does not hold; UNAVAILABLE without libxml2.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_msccl_read(const char *text, size_t bytes, const char *name, const struct ronde_mem *mem,
                 struct ronde_msccl_facts *out_facts, struct ronde_proof *out_proof,
                 struct ronde_schedule **out_schedule, struct ronde_error *error);

/** Whether such files can be read; *out_reason: which library reads them, or what to install. */
RONDE_API bool ronde_msccl_available(const char **out_reason);

/** How a file is written. */
struct ronde_msccl_style {
    enum ronde_msccl_dialect dialect; /**< whose spelling */
    enum ronde_msccl_protocol protocol; /**< attribute `proto`; COUNT: Simple where it will do, else LL */
};

/**
 * Prints a schedule as an MSCCL file. It reads back as the same collective with the same messages on the same
 * connections, in the same order. *out_text is zero-terminated, *out_bytes long without the zero; free it with
 * ronde_mem_free(mem, text, bytes + 1, 1). Errors: NO_MEMORY; UNSUPPORTED with what the format or its runtimes lack.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_msccl_print(const struct ronde_schedule *schedule, const struct ronde_msccl_style *style,
                  const struct ronde_mem *mem, char **out_text, size_t *out_bytes,
                  struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
