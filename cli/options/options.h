/**
 * The command line: one table of options for all commands, parsed with argp.
 *
 * A command names the long options it takes; anything else is refused with the nearest name.
 * nccl-tests' letters and
 * sizes are kept so that a pasted command line works.
 */
#ifndef RONDE_CLI_OPTIONS_H
#define RONDE_CLI_OPTIONS_H

#include "values.h"

#include "ronde/backend.h"
#include "ronde/gpt.h"

#include <stdio.h>

/** Positional arguments a command can take. */
#define RONDE_MAX_ARGUMENTS 4u
/** Times an option can be given that may be given several times. */
#define RONDE_MAX_REPEATS 16u
/** Algorithms one -a can name, and the bytes of their list. */
#define RONDE_MAX_NAMES 16u
#define RONDE_MAX_NAMES_BYTES 512u

/** What stood on the command line, defaults filled in. Plain values; strings point into argv or into `names`. */
struct ronde_options {
    const char *arguments[RONDE_MAX_ARGUMENTS]; /**< positional arguments */
    uint32_t argument_count;                    /**< how many */
    uint32_t ranks[RONDE_MAX_RANK_COUNTS];      /**< -N: 8, 2,4,8 or 2..33 */
    uint32_t rank_counts;                       /**< how many; 0 = not given */
    char names[RONDE_MAX_NAMES_BYTES];          /**< -a, cut at the commas */
    const char *algorithms[RONDE_MAX_NAMES];    /**< -a, one by one */
    uint32_t algorithm_count;                   /**< how many; 0 = not given */
    uint64_t min_bytes;                         /**< -b */
    uint64_t max_bytes;                         /**< -e */
    uint64_t step_bytes;                        /**< -i; 0 = use factor */
    uint64_t factor;                            /**< -f */
    uint32_t iterations;                        /**< -n */
    uint32_t warmups;                           /**< -w; RONDE_NONE = until stable */
    bool check;                                 /**< -c */
    enum ronde_dtype dtype;                     /**< -d */
    enum ronde_op op;                           /**< --op, and -o in run */
    uint32_t root;                              /**< -r */
    struct ronde_grid shape;      /**< --shape; implies the ranks where -N is absent */
    struct ronde_pairs pairs;     /**< --pairs */
    uint32_t channels;            /**< --channels; 0 = the machine's, or the algorithm's default */
    uint32_t trees;               /**< --trees; 0 = not given */
    uint32_t connections;         /**< --connections; 0 = not given */
    uint64_t for_bytes;           /**< --for; 0 = not given */
    bool synthesize;              /**< --synthesize */
    uint64_t slot_bytes;          /**< --slot; 0 = the backend's or the machine file's */
    uint32_t depth;               /**< --depth; 0 = default */
    enum ronde_protocol protocol; /**< --protocol */
    bool has_buffers;             /**< --buffers was given */
    bool has_user_buffers;        /**< --buffers user */
    bool is_unbound;              /**< --bind none */
    bool has_seed;                /**< --seed was given */
    uint64_t seed;                /**< --seed */
    double timeout_s;             /**< --timeout, of one run; 0 = not given */
    double budget_s;              /**< --budget; 0 = not given */
    bool has_backend;             /**< --backend was given */
    const char *backend;          /**< --backend */
    uint32_t rank;                /**< --rank R or R..S; RONDE_NONE = not given */
    uint32_t rank_span;           /**< ranks from there on that this process makes */
    const char *join;             /**< --join HOST:PORT; NULL = not given */
    const char *token;            /**< --token; NULL = not given */
    const char *transport;        /**< --transport; NULL = not given */
    const char *hosts;            /**< --hosts A,B,...; NULL = not given */
    const char *launcher;         /**< --launcher; NULL = not given */
    char **argv;                  /**< the command's words, its name first */
    int argc;                     /**< how many */
    const char *rig;              /**< --rig, name of a virtual cluster; NULL = none */
    const char *topo;             /**< --topo; NULL = not given */
    const char *engine;           /**< --engine: auto, flat or simgrid */
    const char *output;           /**< --output; NULL = stdout */
    const char *plot;             /**< --plot; NULL = none */
    const char *records;          /**< --records; NULL = none */
    const char *from;             /**< --from; NULL = measure */
    const char *style;            /**< --style; NULL = replay */
    const char *published;        /**< --published; NULL = measure */
    const char *system;           /**< --system, of a published table; NULL = all */
    const char *fit;              /**< --fit; NULL = nominal */
    const char *to;               /**< --to; NULL = as the output's name says */
    uint32_t ngpus;               /**< --ngpus: ranks a thread; 0 = not given */
    uint32_t nthreads;            /**< --nthreads; 0 = not given */
    const char *nccl_log;         /**< --nccl-log; NULL = none */
    const char *dialect;          /**< --dialect; NULL = msccl */
    bool json;                    /**< --json */
    bool csv;                     /**< --csv */
    bool all;                     /**< --all */
    bool expand;                  /**< --expand */
    bool markdown;                /**< --markdown */
    bool auto_topo;               /**< --auto-topo */
    bool replay;                  /**< --replay */
    bool verbose;                 /**< --verbose */
    const char *operation;        /**< --operation; NULL = not given */
    uint32_t world_size;          /**< --world-size; 0 = not given */
    uint32_t nodes;               /**< --nodes; 0 = not given */
    uint32_t gpus;                /**< --gpus, of a node; 0 = not given */
    uint32_t levels;              /**< --levels; 0 = not given */
    double oversubscription;      /**< --oversubscription; 0 = not given */
    double nic_GBps;              /**< --nic-GBps; 0 = not given */
    double nvlink_GBps;           /**< --nvlink-GBps; 0 = not given */
    double memory_GBps;           /**< --memory-GBps; 0 = not given */
    const char *fabric;           /**< --fabric; NULL = not given */
    const char *nvlink;           /**< --nvlink; NULL = not given */
    const char *nics;             /**< --nics; NULL = not given */
    bool multicast;               /**< --multicast */
    const char *placement;        /**< --placement; NULL = auto */
    const char *trace;            /**< --trace; NULL = none */
    const char *timeline;         /**< --timeline; NULL = none */
    const char *scenario;         /**< --scenario; NULL = none */
    const char *with[RONDE_MAX_REPEATS];       /**< --with, one by one */
    uint32_t with_count;                       /**< how many */
    const char *degrade[RONDE_MAX_REPEATS];    /**< --degrade LINK=FACTOR, one by one */
    uint32_t degrade_count;                    /**< how many */
    const char *without[RONDE_MAX_REPEATS];    /**< --without NAME[,NAME...], one by one */
    uint32_t without_count;                    /**< how many */
    const char *straggler[RONDE_MAX_REPEATS];  /**< --straggler rank=R,delay=TIME, one by one */
    uint32_t straggler_count;                  /**< how many */
    const char *background[RONDE_MAX_REPEATS]; /**< --background S>D:SIZE, one by one */
    uint32_t background_count;                 /**< how many */
    const char *cfg[RONDE_MAX_REPEATS + 1];    /**< --cfg key:value for SimGrid, NULL-terminated */
    uint32_t cfg_count;                        /**< how many */
    bool native_latency;                       /**< --native-latency */
    bool why;                                  /**< --why */
    const char *map;                           /**< --map; NULL = none */
    const char *shard;                         /**< --shard i/n; NULL = all */
    bool resume;                               /**< --resume */
    bool local;                                /**< --local */
    uint32_t jobs;                             /**< --jobs; 0 = one a core */
    bool wide;                                 /**< --wide */
    bool all_dtypes;                           /**< -d all */
    bool all_ops;                              /**< -o all */
    bool all_roots;                            /**< -r all */
    struct ronde_gpt gpt; /**< --layers to --sequence-parallel; 0 = not given */
    uint32_t what_if;     /**< --what-if */
    bool help;            /**< --help */
};

/** A command as its row of the dispatch table describes it. */
struct ronde_command {
    const char *name;       /**< as typed */
    const char *arguments;  /**< positional arguments as help shows them, e.g. "COLLECTIVE" */
    const char *summary;    /**< one line */
    const char *examples;   /**< shown by help after the options */
    const char *takes;      /**< long options it takes, between blanks: " ranks algorithm " */
    uint32_t max_arguments; /**< positional arguments it takes at most */
    bool is_bench; /**< as in nccl-tests: -o means --op, else --output; -d, -o and -r take `all` */
    int (*run)(const struct ronde_options *options); /**< returns the exit code */
};

/**
 * Parses argv[1..] for a command; argv[0] is the command's name. Strings in *out_options live as
 * long as argv and it.
 * Errors: BAD_ARGUMENT, one line that names the option, the value and the nearest name.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_options_parse(const struct ronde_command *command, int argc, char **argv,
                    struct ronde_options *out_options, struct ronde_error *error);

/** Prints a command's help. */
void ronde_options_help(const struct ronde_command *command, FILE *file);

/** The size after `bytes` in the sweep of -b -e -f -i; 0 when the sweep is over. */
uint64_t ronde_options_next_size(const struct ronde_options *options, uint64_t bytes);

#endif
