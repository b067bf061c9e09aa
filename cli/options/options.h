/**
 * The command line: groups of options, each a struct and a table of rows; a command takes some rows of some groups.
 *
 * getopt_long parses them. What a command does not take is refused with the nearest name. Letters and sizes are nccl-tests' where
 * it has them, so that a pasted command line works.
 */
#ifndef RONDE_CLI_OPTIONS_H
#define RONDE_CLI_OPTIONS_H

#include "values.h"

#include "ronde/backend.h"
#include "ronde/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** Positional arguments a command can take: traces of a job are a file a rank. */
#define RONDE_MAX_ARGUMENTS 1024u
/** Times an option can be given that may be given several times. */
#define RONDE_MAX_REPEATS 16u
/** Algorithms one -a can name, and the bytes of their list. */
#define RONDE_MAX_NAMES 32u
#define RONDE_MAX_NAMES_BYTES 512u

/** The texts of an option that may be given several times. */
struct ronde_texts {
    const char *list[RONDE_MAX_REPEATS + 1]; /**< one by one, then NULL */
    uint32_t count;                          /**< how many */
};

/** What is asked for. */
struct ronde_what_options {
    uint32_t ranks[RONDE_MAX_RANK_COUNTS];   /**< -N: 8, 2,4,8 or 2..33 */
    uint32_t rank_counts;                    /**< how many; 0 = not given */
    char names[RONDE_MAX_NAMES_BYTES];       /**< -a, cut at the commas */
    const char *algorithms[RONDE_MAX_NAMES]; /**< -a, one by one */
    uint32_t algorithm_count;                /**< how many; 0 = not given */
    uint32_t root;                           /**< -r */
    struct ronde_grid shape;                 /**< --shape; implies the ranks where -N is absent */
    struct ronde_pairs pairs;                /**< --pairs */
    uint32_t channels;      /**< --channels; 0 = the machine's, or the algorithm's default */
    const char *nccl_log;   /**< --nccl-log; NULL = none */
    const char *anchor;     /**< --anchor; NULL = none */
    enum ronde_dtype dtype; /**< -d */
    enum ronde_op op;       /**< --op, and -o in run */
    bool all_dtypes;        /**< -d all */
    bool all_ops;           /**< -o all */
    bool all_roots;         /**< -r all */
};

/** A largest size that was not given. */
#define RONDE_SIZE_NOT_GIVEN UINT64_MAX

/** The sizes of a sweep. */
struct ronde_sizes_options {
    uint64_t min_bytes;  /**< -b */
    uint64_t max_bytes;  /**< -e */
    uint64_t step_bytes; /**< -i; 0 = use factor */
    uint64_t factor;     /**< -f */
};

/** The machine, and what of it is missing. */
struct ronde_machine_options {
    const char *topo;           /**< --topo; NULL = not given */
    struct ronde_texts degrade; /**< --degrade LINK=FACTOR */
    struct ronde_texts without; /**< --without NAME[,NAME...] */
    uint32_t nodes;             /**< --nodes; 0 = not given */
    const char *fabric;         /**< --fabric; NULL = not given */
    const char *nics;           /**< --nics; NULL = not given */
};

/** What else happens at the same time. */
struct ronde_scenario_options {
    struct ronde_texts with;       /**< --with */
    struct ronde_texts straggler;  /**< --straggler rank=R,delay=TIME */
    struct ronde_texts background; /**< --background S>D:SIZE */
    const char *file;              /**< --scenario; NULL = none */
};

/** How it is replayed. */
struct ronde_engine_options {
    const char *name;       /**< --engine: auto, flat or simgrid */
    uint64_t slot_bytes;    /**< --slot; 0 = the backend's or the machine file's */
    uint32_t depth;         /**< --depth; 0 = default */
    const char *placement;  /**< --placement; NULL = auto */
    double timeout_s;       /**< --timeout, of one run; 0 = not given */
    bool synthesize;        /**< --synthesize */
    struct ronde_texts cfg; /**< --cfg key:value for SimGrid */
    bool native_latency;    /**< --native-latency */
};

/** What executes, and how often. */
struct ronde_backend_options {
    const char *name;             /**< --backend */
    bool is_given;                /**< --backend was given */
    uint32_t iterations;          /**< -n */
    uint32_t warmups;             /**< -w; RONDE_NONE = until stable */
    bool check;                   /**< -c */
    enum ronde_protocol protocol; /**< --protocol */
    bool has_buffers;             /**< --buffers was given */
    bool has_user_buffers;        /**< --buffers user */
    bool is_unbound;              /**< --bind none */
    bool has_seed;                /**< --seed was given */
    uint64_t seed;                /**< --seed */
    uint32_t rank;                /**< --rank R or R..S; RONDE_NONE = not given */
    uint32_t rank_span;           /**< ranks from there on that this process makes */
    const char *join;             /**< --join HOST:PORT; NULL = not given */
    const char *token;            /**< --token; NULL = not given */
    const char *transport;        /**< --transport; NULL = not given */
    const char *hosts;            /**< --hosts A,B,...; NULL = not given */
    const char *launcher;         /**< --launcher; NULL = not given */
    uint32_t ngpus;               /**< --ngpus: ranks a thread; 0 = not given */
    uint32_t nthreads;            /**< --nthreads; 0 = not given */
};

/** Where results go and how they look. */
struct ronde_output_options {
    const char *path; /**< --output; NULL = stdout */
    bool json;        /**< --json */
    bool csv;         /**< --csv */
    bool wide;        /**< --wide */
    bool markdown;    /**< --markdown */
    bool verbose;     /**< --verbose */
    const char *plot; /**< --plot; NULL = none */
    const char *html; /**< --html; NULL = none */
};

/** What explains a result. */
struct ronde_views_options {
    bool why;             /**< --why */
    const char *trace;    /**< --trace; NULL = none */
    const char *timeline; /**< --timeline; NULL = none */
};

/** The format of a schedule or workload. */
struct ronde_format_options {
    const char *to;      /**< --to; NULL = as the output's name says */
    const char *dialect; /**< --dialect; NULL = msccl */
};

/** Bytes of a command's own options at most, and options that name files to read. */
#define RONDE_OWN_BYTES 512u
#define RONDE_MAX_INPUTS 8u

/** Options of one command, --help among them, at most. */
#define RONDE_MAX_OPTIONS 96u

/**
 * What stood on the command line, defaults filled in: what several commands take, and the command's own. Plain values;
 * strings point into argv or into `names`. Copies share the own ones.
 */
struct ronde_options {
    const char *arguments[RONDE_MAX_ARGUMENTS]; /**< positional arguments */
    uint32_t argument_count;                    /**< how many */
    char **argv;                                /**< the command's words, its name first */
    int argc;                                   /**< how many */
    bool help;                                  /**< --help */
    bool help_all;                              /**< --help all */
    struct ronde_what_options what;             /**< what is asked for */
    struct ronde_sizes_options sizes;           /**< the sizes of a sweep */
    struct ronde_machine_options machine;       /**< the machine, and what of it is missing */
    struct ronde_engine_options engine;         /**< how it is replayed */
    struct ronde_backend_options backend;       /**< what executes, and how often */
    struct ronde_output_options output;         /**< where results go and how they look */
    const char *style;                          /**< --style; NULL = replay */
    void *own; /**< the command's own struct, as its uses have it; in `room` of what was parsed */
    const char **inputs[RONDE_MAX_INPUTS]; /**< options that name files to read, as they were given */
    uint32_t input_count;                  /**< how many */
    const char *given[RONDE_MAX_OPTIONS]; /**< names of the options that stood there, each once */
    uint32_t given_count;                 /**< how many */
    _Alignas(max_align_t) unsigned char room[RONDE_OWN_BYTES]; /**< for own */
};

/** Sections of a command's help, in their order. */
enum ronde_section {
    RONDE_SECTION_WHAT,     /**< what is asked for */
    RONDE_SECTION_MACHINE,  /**< where */
    RONDE_SECTION_SCENARIO, /**< what else happens */
    RONDE_SECTION_ENGINE,   /**< how it is found out */
    RONDE_SECTION_OUTPUT    /**< what is printed, and where */
};

struct ronde_option;

/** Puts an option's value into the struct of its group. Errors: BAD_ARGUMENT naming option, value and bound. */
typedef enum ronde_status (*ronde_option_taker)(const struct ronde_option *option, const char *text,
                                                void *group, struct ronde_error *error);

/** An option: a row of a group's table. */
struct ronde_option {
    const char *name;        /**< behind -- */
    int letter;              /**< behind -; 0 = none */
    const char *value;       /**< as help names it; NULL = a switch; FILE: completed as one */
    ronde_option_taker take; /**< see option_groups.h */
    size_t offset;           /**< of what it sets in the group's struct */
    const char *words; /**< values there are, blanks between them; "@..." names a list of the libraries'; NULL = any */
    uint32_t least;   /**< of a count */
    bool is_rare;     /**< shown by --help all only */
    const char *help; /**< behind it the words, where it ends in ':' */
};

/** Options that belong together, and their struct. */
struct ronde_option_group {
    enum ronde_section section;      /**< of help */
    const struct ronde_option *rows; /**< its options */
    uint32_t count;                  /**< how many */
    size_t bytes;                    /**< of the struct */
    const void *defaults;            /**< of the struct; NULL = zeroes */
    /** What can only be said when all options are there; NULL = nothing. Errors: BAD_ARGUMENT. */
    enum ronde_status (*finish)(void *group, struct ronde_error *error);
};

/** A group as a command takes it. */
struct ronde_option_use {
    const struct ronde_option_group *group; /**< NULL ends a list */
    size_t offset;     /**< of its struct in struct ronde_options, or in the command's own */
    const char *takes; /**< names of its options, blanks between them; NULL = all */
    bool is_own;       /**< in the command's own */
};

struct ronde_invocation;

/** A command. */
struct ronde_command {
    const char *name;      /**< as typed */
    const char *arguments; /**< positional arguments as help shows them, e.g. "COLLECTIVE" */
    const char *summary;   /**< one line */
    const char *examples;  /**< shown by help after the options */
    const struct ronde_option_use *uses; /**< its options; of two with one name or letter the first counts */
    uint32_t max_arguments;              /**< positional arguments it takes at most */
    bool is_rare;                        /**< shown by `ronde --help all` only */
    bool unpacks;                        /**< reads compressed arguments itself */
    const struct ronde_command *verbs; /**< where the first word says which, those; else NULL */
    uint32_t verb_count;               /**< how many; each is called as typed, "topo show" */
    enum ronde_status (*run)(struct ronde_invocation *call,
                             struct ronde_error *error); /**< see cmd/commands.h */
};

/**
 * Parses argv[1..] for a command; argv[0] is the command's name. Strings in *out_options live as
 * long as argv and it.
 * Errors: BAD_ARGUMENT, one line that names the option, the value and the nearest name.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_options_parse(const struct ronde_command *command, int argc, char **argv,
                    struct ronde_options *out_options, struct ronde_error *error);

/**
 * Refuses the first option that was given and is not among `names` (with blanks between), for a mode of a command to which
 * the others are nothing. Errors: BAD_ARGUMENT, "what: leave out --option".
 */
RONDE_MUST_CHECK enum ronde_status ronde_takes_only(const struct ronde_options *options,
                                                    const char *names, const char *what,
                                                    struct ronde_error *error);

/** The same of the first one that is among them. */
RONDE_MUST_CHECK enum ronde_status ronde_takes_none(const struct ronde_options *options,
                                                    const char *names, const char *what,
                                                    struct ronde_error *error);

/** An option as a command has it. */
struct ronde_own_option {
    const struct ronde_option *option;  /**< the row */
    int letter;                         /**< its letter there; 0 = none */
    const struct ronde_option_use *use; /**< its group, and where the group's struct is */
};

/** Called for each option of a command. */
typedef void (*ronde_option_visitor)(const struct ronde_command *command,
                                     const struct ronde_own_option *own, void *context);

/** Visits the options of a command in the order of its help, --help last. */
void ronde_options_visit(const struct ronde_command *command, ronde_option_visitor visit,
                         void *context);

/** Prints a command's help: its essential options, or all. */
void ronde_options_help(const struct ronde_command *command, bool is_whole, FILE *file);

/** The size after `bytes` in the sweep of -b -e -f -i; 0 when the sweep is over. */
uint64_t ronde_options_next_size(const struct ronde_sizes_options *sizes, uint64_t bytes);

/* Standard input where a file is asked for: `-` or /dev/stdin. */

/**
 * Turns every `-` that stands for a file to read into /dev/stdin, and, where one does, a pipe on standard input into a
 * file without a name: commands read their inputs several times, and have child processes read them. Errors: BAD_ARGUMENT
 * where two inputs, or one and --token -, would share it; IO where it cannot be read.
 */
RONDE_MUST_CHECK enum ronde_status ronde_stdin_to_file(struct ronde_options *options,
                                                       struct ronde_error *error);

/**
 * Refuses a compressed file, by its first bytes, and says what unpacks it; what cannot be opened, or is no regular file, is
 * left to its reader. Errors: BAD_INPUT.
 */
RONDE_MUST_CHECK enum ronde_status ronde_refuse_compressed(const char *path,
                                                           struct ronde_error *error);

/** Both of all inputs: ronde_stdin_to_file, and no compressed file for a command that does not unpack. */
RONDE_MUST_CHECK enum ronde_status ronde_inputs_check(const struct ronde_command *command,
                                                      struct ronde_options *options,
                                                      struct ronde_error *error);

/* nccl-tests' programs by name: `all_reduce_perf -b 8 -e 128M -f 2 -g 4` is `ronde run all_reduce ...`, told in its
 * words. */

/** Most words that a command line of nccl-tests becomes. */
#define RONDE_NCCL_TESTS_WORDS 64

/** A command line of `ronde run`. */
struct ronde_nccl_tests {
    int count;                           /**< words, the program's name not among them */
    char *words[RONDE_NCCL_TESTS_WORDS]; /**< "run", the collective, options; NULL-terminated */
};

/** Whether the program was started by the name of one of nccl-tests', e.g. by a link to it. */
bool ronde_is_nccl_tests(const char *program);

/**
 * Translates a command line. Options that can have no meaning here are noted on standard error where nccl-tests' result would
 * be the same, and refused where it would not. *out_is_help: the usage was asked for and printed. Words point into argv and
 * to constants.
 * Errors: BAD_ARGUMENT.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_nccl_tests_translate(int argc, char **argv, struct ronde_nccl_tests *out, bool *out_is_help,
                           struct ronde_error *error);

#endif
