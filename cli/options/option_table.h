/**
 * The table of all options, and what of it a command takes.
 */
#ifndef RONDE_CLI_OPTION_TABLE_H
#define RONDE_CLI_OPTION_TABLE_H

#include "options.h"

#include <argp.h>

/** Keys of options without a letter. */
enum key {
    KEY_BACKEND = 256,
    KEY_CHANNELS,
    KEY_SLOT,
    KEY_DEPTH,
    KEY_SEED,
    KEY_PROTOCOL,
    KEY_TIMEOUT,
    KEY_TOPO,
    KEY_RIG,
    KEY_ENGINE,
    KEY_JSON,
    KEY_CSV,
    KEY_OP,
    KEY_OUTPUT,
    KEY_PLOT,
    KEY_RECORDS,
    KEY_FROM,
    KEY_ALL,
    KEY_EXPAND,
    KEY_SHAPE,
    KEY_PAIRS,
    KEY_OPERATION,
    KEY_WORLD_SIZE,
    KEY_MARKDOWN,
    KEY_AUTO_TOPO,
    KEY_REPLAY,
    KEY_VERBOSE,
    KEY_NODES,
    KEY_GPUS,
    KEY_LEVELS,
    KEY_OVERSUBSCRIPTION,
    KEY_FABRIC,
    KEY_PLACEMENT,
    KEY_TRACE,
    KEY_TIMELINE,
    KEY_SCENARIO,
    KEY_WITH,
    KEY_DEGRADE,
    KEY_WITHOUT,
    KEY_STRAGGLER,
    KEY_BACKGROUND,
    KEY_CFG,
    KEY_NATIVE_LATENCY,
    KEY_WHY,
    KEY_BYTES,
    KEY_MAP,
    KEY_SHARD,
    KEY_RESUME,
    KEY_LOCAL,
    KEY_JOBS,
    KEY_RANK,
    KEY_JOIN,
    KEY_TOKEN,
    KEY_TRANSPORT,
    KEY_HOSTS,
    KEY_LAUNCHER,
    KEY_BUFFERS,
    KEY_BIND,
    KEY_NIC_RATE,
    KEY_NVLINK,
    KEY_NICS,
    KEY_MULTICAST,
    KEY_NVLINK_RATE,
    KEY_MEMORY_RATE,
    KEY_BUDGET,
    KEY_WIDE,
    KEY_PUBLISHED,
    KEY_SYSTEM,
    KEY_FIT,
    KEY_STYLE,
    KEY_TREES,
    KEY_CONNECTIONS,
    KEY_FOR,
    KEY_SYNTHESIZE,
    KEY_TO,
    KEY_DIALECT,
    KEY_NCCL_LOG,
    KEY_LAYERS,
    KEY_MODEL,
    KEY_HIDDEN,
    KEY_SEQ,
    KEY_BATCH,
    KEY_VOCAB,
    KEY_TP,
    KEY_DP,
    KEY_PP,
    KEY_MICRO,
    KEY_DTYPE,
    KEY_FLOPS,
    KEY_BUCKET,
    KEY_SEQUENCE_PARALLEL,
    KEY_WHAT_IF
};

/** Room for the options of any command, the entry that ends them included. */
#define RONDE_OPTION_ROOM 128u

/** The options of one command. */
struct ronde_own_options {
    struct argp_option all[RONDE_OPTION_ROOM]; /**< zero-terminated; may point to what follows */
    char backends[320];                        /**< what --backend takes */
    char dtypes[320];                          /**< what -d takes */
    char ops[320];                             /**< what --op takes */
};

/**
 * The command's own options, zero-terminated. -o goes to op where nccl-tests users expect it, else
 * to output. Returns how many options there are.
 */
uint32_t ronde_option_table(const struct ronde_command *command,
                            struct ronde_own_options *out_options);

/** option_take.c: puts an option's value where it belongs. Errors: BAD_ARGUMENT naming option, value and bound. */
RONDE_MUST_CHECK enum ronde_status ronde_option_take(struct ronde_options *options, int key,
                                                     const char *text, struct ronde_error *error);

/** option_take.c: takes `all` for -d, --op and -r; false for anything else. */
bool ronde_option_take_all(struct ronde_options *options, int key, const char *text);

/**
 * option_explain.c: says what stopped argp at a word (getopt's index) of a command line. Returns BAD_ARGUMENT, always:
 * there is no other way to get here.
 */
enum ronde_status ronde_option_explain(const struct ronde_command *command,
                                       const struct argp_option *own, char **argv, int argc,
                                       int stopped_at, struct ronde_error *error);

#endif
