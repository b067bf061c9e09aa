/**
 * Published measurements of NCCL beside what the model of nccl_model.h says.
 *
 * They come as tables, as logs of nccl-tests (nccl_log.h) or as records of libnccl-profiler-ronde.so; the content of a file
 * says which.
 *
 * A table is CSV with the columns system, collective, gpus and bytes, and, where it has them, algorithm, protocol, nodes,
 * time_us, algbw_GBps, busbw_GBps, nccl_version, notes and others; what is unknown is ignored. A row that is malformed or
 * contradicts itself is left out and kept as a remark with its line; only a table without any other row is refused. A row
 * without time and rate is predicted and compared with nothing. A row whose notes say FAULTY is reported, and
 * neither fitted nor counted.
 */
#ifndef RONDE_PUBLISHED_H
#define RONDE_PUBLISHED_H

#include "ronde/mem.h"
#include "ronde/nccl_bands.h"
#include "ronde/nccl_log.h"
#include "ronde/nccl_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Systems of a table at most. */
#define RONDE_PUBLISHED_MAX_SYSTEMS 64u

/** Smaller calls are launches and nothing else: not counted. */
#define RONDE_PUBLISHED_LEAST_BYTES 1024u

/** What became of a row: enumerator, text. */
#define RONDE_PUBLISHED_STATE_LIST(X)                                                              \
    X(PREDICTED, "predicted")                                                                      \
    X(FITTED, "fitted")                                                                            \
    X(FAULTY, "faulty")                                                                            \
    X(SMALL, "below 1 KiB")                                                                        \
    X(NOT_MODELLED, "not modelled")                                                                \
    X(NOT_DESCRIBED, "no machine description")                                                     \
    X(UNMEASURED, "not measured")                                                                  \
    X(REFUSED, "refused")

enum ronde_published_state {
#define RONDE_ENUMERATOR(name, text) RONDE_PUBLISHED_##name,
    RONDE_PUBLISHED_STATE_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_PUBLISHED_STATE_COUNT /**< how many */
};

/** A measurement. */
struct ronde_published_row {
    uint32_t line;   /**< in its file */
    uint32_t system; /**< index */
    enum ronde_published_state state;
    bool is_in_place; /**< send and receive buffer were one */
    bool is_wrong;    /**< a log says that results were wrong (#wrong) */
    struct ronde_nccl_call call;
    struct ronde_nccl_choice wish;   /**< what was forced */
    struct ronde_nccl_choice choice; /**< what NCCL's formula takes of it */
    double measured_us;              /**< 0 = the table does not say */
    double predicted_us;             /**< 0 = none */
    double nccl_us;                  /**< NCCL's own formula; 0 = it has none */
    double closed_form_us; /**< the library's closed form at data-sheet rates; 0 = it has none */
    double replayed_us;    /**< its schedule replayed on the machine's links; 0 = it was not */
    const struct ronde_nccl_limit *limits; /**< of a platform, for this call; NULL: the machine's own */
    enum ronde_nccl_algorithm
        winner; /**< fastest of those forced at this point; the count = fewer than two were */
    enum ronde_nccl_algorithm predicted_winner; /**< of the same, as predicted */
    double margin;           /**< the second's time over the winner's; 0 without a winner */
    double predicted_margin; /**< the same of predictions */
};

/** Bytes of what a table says of a system's hardware, NUL included; the rest is cut off. */
#define RONDE_PUBLISHED_SAID_BYTES 128

/** What a table's columns gpu, interconnect_intra, interconnect_inter and notes say of a system; "" where they do not. */
struct ronde_published_said {
    char gpu[RONDE_PUBLISHED_SAID_BYTES];
    char inside[RONDE_PUBLISHED_SAID_BYTES];
    char between[RONDE_PUBLISHED_SAID_BYTES];
    char notes[RONDE_PUBLISHED_SAID_BYTES];
    uint32_t gpus; /**< most ranks on a node */
};

/** A system and its machine. */
struct ronde_published_system {
    char name[RONDE_NCCL_NAME_BYTES];
    struct ronde_published_said said;
    bool is_described;
    struct ronde_nccl_machine machine;
};

/** Bytes of a remark on a row, NUL included. */
#define RONDE_PUBLISHED_WHY_BYTES 192

/** Why a row of a table is not predicted, or what in it was not understood. */
struct ronde_published_why {
    uint32_t line;
    bool is_refused; /**< there is no such row below; false: it is there, and this is a remark on it */
    char text[RONDE_PUBLISHED_WHY_BYTES];
};

/** Rows that ronde_published_keep_best() took out. */
struct ronde_published_again {
    size_t rows;
    double most;   /**< so many times the fastest run's time, the slowest of them */
    uint32_t line; /**< of that one */
};

/** A table that was read. */
struct ronde_published {
    struct ronde_published_row *rows;
    size_t count;
    size_t capacity;
    struct ronde_published_system systems[RONDE_PUBLISHED_MAX_SYSTEMS];
    uint32_t system_count;
    struct ronde_published_why *whys; /**< in the order of lines */
    size_t why_count;
    size_t why_capacity;
    struct ronde_log_facts log; /**< what a log says beside its rows */
    struct ronde_published_again again;
    bool is_table; /**< CSV: its rows may be of several set-ups */
    const struct ronde_mem *mem;
};

/** What is read, and what a log may not say of itself. */
struct ronde_published_request {
    const char *path;
    const char *folder; /**< of descriptions, FOLDER/<system>.txt; NULL is the shipped one */
    const char *system; /**< of a table: the one whose rows are kept; of a log: whose it is; NULL: all, the file's name */
    bool is_auto;        /**< machines are those that the table's own columns describe, no files */
    bool has_collective; /**< the log is of `collective`, unless it says otherwise */
    enum ronde_collective collective;
    bool is_alone;  /**< no option can say what the file does not: errors do not name any */
    uint32_t ranks; /**< that took part in the log, whatever it says; 0 = what it says */
    uint32_t nodes; /**< they lay on; 0 = what it says, else as few as the machine allows */
};

/** A system more of whose steps than this fall is too noisy to fit constants to. */
#define RONDE_PUBLISHED_MOST_FALLS 0.1

/** Classes of sizes that scores tell apart: to 64 KiB, 4 MiB, 64 MiB, and above. */
#define RONDE_PUBLISHED_SIZES 4u

/** What to expect of predictions of a system. */
struct ronde_published_score {
    size_t count[RONDE_PUBLISHED_STATE_COUNT]; /**< rows by what became of them */
    double median;             /**< of |predicted / measured - 1| of PREDICTED rows */
    double p90;                /**< nearest rank */
    double nccl_median;        /**< the same of NCCL's own formula, of rows it has a time for */
    double beside_nccl_median; /**< `median` of these rows alone: what that is to be compared with */
    double size_median[RONDE_PUBLISHED_SIZES];      /**< `median` by class; -1 = no rows */
    double size_nccl_median[RONDE_PUBLISHED_SIZES]; /**< the same of NCCL's own formula */
    double closed_form_median;                      /**< the same of the library's closed form */
    double replayed_median;                         /**< the same of replays */
    size_t replayed;                                /**< rows that were */
    double own_spread; /**< 90th percentile of |row / mean of its repeats - 1|: what its own other runs would be off by; -1 = no repeats */
    double falls;      /**< as ronde_published_falls */
    uint32_t winners; /**< points at which the measured fastest of several algorithms is the predicted one */
    uint32_t duels; /**< points whose measured best two differ by more than 10 % */
};

/**
 * Reads a table or a log, and the descriptions of its systems. Close the result whatever is returned. Errors: IO,
 * NO_MEMORY, BAD_INPUT with the line, UNAVAILABLE (JSON in a build without jansson).
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_published_open(const struct ronde_published_request *request, const struct ronde_mem *mem,
                     struct ronde_published *out, struct ronde_error *error);

/** The same with nothing but a path, a folder and a system. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_published_read(const char *path, const char *folder, const char *system,
                     const struct ronde_mem *mem, struct ronde_published *out,
                     struct ronde_error *error);

RONDE_API void ronde_published_close(struct ronde_published *published);

/** Takes a machine for a system instead of its description. */
RONDE_API void ronde_published_describe(struct ronde_published *published, uint32_t system,
                                        const struct ronde_nccl_machine *machine,
                                        const struct ronde_nccl_constants *constants);

/** The machine of a row, with the limits that the row's call has there. */
RONDE_API struct ronde_nccl_machine
ronde_published_machine_of(const struct ronde_published *published,
                           const struct ronde_published_row *row);

/**
 * Keeps of runs of one call, with the same setting, the fastest: a table may hold several set-ups of a machine.
 * Rows that are marked FAULTY stand for themselves. Rows are in the order of calls afterwards.
 */
RONDE_API void ronde_published_keep_best(struct ronde_published *published);

/**
 * Adds the rows of another log of the same machine, and what that log says of itself. Both are of one system. Errors: NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_published_join(struct ronde_published *to,
                                                                  const struct ronde_published *from,
                                                                  struct ronde_error *error);

/** What NCCL chooses in each row, and its formula's time; after it rows can be predicted. */
RONDE_API void ronde_published_choose(struct ronde_published *published,
                                      const struct ronde_nccl_constants *constants);

/** Predicts the rows of a system. */
RONDE_API void ronde_published_predict(struct ronde_published *published, uint32_t system,
                                       const struct ronde_nccl_constants *constants);

/** Calls that are replayed: from such a size on, rates decide, and not latencies, which a replay has none of the model's. */
#define RONDE_PUBLISHED_LEAST_REPLAYED_BYTES (UINT64_C(32) << 20)

/** And up to such a number of ranks. */
#define RONDE_PUBLISHED_MOST_REPLAYED_RANKS 128u

/**
 * Replays the predicted rows of a system that ran as Ring or Tree by Simple: the schedule of that name, rings in orders that
 * are found on the machine, one per NIC, on the node's links at the rates that they reach (ronde_nccl_reached_node). Calls of the bounds above;
 * all_reduce, and of rings all_gather and reduce_scatter, too. Errors: NO_MEMORY; UNAVAILABLE without libxml2. What cannot
 * be replayed in a minute is left out.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_published_replay(struct ronde_published *published, uint32_t system,
                       const struct ronde_nccl_constants *constants, struct ronde_error *error);

/** What a machine's own measurements have made of a place: inside a node, or between nodes. */
struct ronde_published_place {
    bool is_fitted; /**< rows go through it; else its numbers are as the constants have them */
    bool is_ending; /**< and no farther: it is what they are of */
    double rate;    /**< times every efficiency of its links, or NICs */
    double latency; /**< times every latency */
};

/** The same of all of its numbers. */
struct ronde_published_anchor {
    size_t rows; /**< measurements that were fitted to; 0 = there are none, and nothing has changed */
    size_t wrong;   /**< left out: their results were wrong */
    bool has_small; /**< a size up to 64 KiB is among them: latencies and launch were fitted, too */
    struct ronde_published_place inside, between;
    bool is_in_turn; /**< so is the launch: one process launches on the GPUs of a node one after another */
    double launch_us; /**< of one kernel; in turn, what the host takes for one GPU */
    double off; /**< median log(measured / predicted) that is left (ronde_published_anchor_to) */
};

/**
 * Marks predicted rows of a system as FITTED, those of one collective (all_reduce where it is there) on its smallest number of
 * nodes; `is_whole`: all of them. Rows of wrong results are none. Returns how many they are.
 */
RONDE_API size_t ronde_published_mark_anchor(struct ronde_published *published, uint32_t system,
                                             bool is_whole);

/**
 * Fits numbers of a system to its FITTED rows: the efficiency of links and the latencies inside a node where rows go through one, those of
 * NICs and between nodes where rows cross them, and the launch, or the host's time for one GPU where it launches on them in turn. All are
 * held to what the constants say; without a size up to 64 KiB only efficiencies are fitted.
 */
RONDE_API struct ronde_published_anchor
ronde_published_fit_system(const struct ronde_published *published, uint32_t system,
                           struct ronde_nccl_constants *constants);

/**
 * Fits a system to all of its rows, which are read from `path`, and narrows the bands of places that they are of. Errors: BAD_INPUT
 * where there is none, with the reason of the first, and where what is left says that they are of another machine; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_published_anchor_to(struct ronde_published *published, uint32_t system, const char *path,
                          struct ronde_nccl_constants *constants, struct ronde_nccl_bands *bands,
                          struct ronde_published_anchor *out, struct ronde_error *error);

/** Room for what an anchor says. */
#define RONDE_PUBLISHED_ANCHOR_BYTES 256

/** "rate of NICs times 0.95, latency between nodes times 1.02, launch 4.6 us". */
RONDE_API void ronde_published_anchor_text(const struct ronde_published_anchor *anchor,
                                           char out[RONDE_PUBLISHED_ANCHOR_BYTES]);

/**
 * How often a system's table contradicts itself: share of steps from one size to the next larger at which the measured
 * time falls by more than 10 %, which a change of protocol does now and then, and noise all the time.
 */
RONDE_API double ronde_published_falls(const struct ronde_published *published, uint32_t system);

/** Fits every constant that has a start, from there, to all systems that are not too noisy but `except` (UINT32_MAX: none). */
RONDE_API void ronde_published_fit_constants(const struct ronde_published *published,
                                             uint32_t except,
                                             struct ronde_nccl_constants *constants);

/** Bands from the rows' predictions, each made without its own system. Errors: NO_MEMORY. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_published_bands_of(const struct ronde_published *published, struct ronde_nccl_bands *out,
                         struct ronde_error *error);

/** How sure bands are of systems that they have not seen. */
struct ronde_published_sureness {
    size_t rows;
    size_t inside; /**< rows in the bands that all other systems make */
    double width;  /**< of a band, its high end over its low one, median over rows */
};

/** Judges bands by systems that are left out one by one. Errors: NO_MEMORY. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_published_sureness_of(const struct ronde_published *published,
                            struct ronde_published_sureness *out, struct ronde_error *error);

/** The score of a system. Predicted rows of wrong results count as FAULTY. Errors: NO_MEMORY. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_published_score_of(const struct ronde_published *published, uint32_t system,
                         struct ronde_published_score *out, struct ronde_error *error);

/** What the library's closed form says of a call at data-sheet rates, us; 0 where it has none. */
RONDE_API double ronde_published_closed_form_us(const struct ronde_nccl_machine *machine,
                                                const struct ronde_nccl_call *call,
                                                struct ronde_nccl_choice choice);

/** Where the fastest of the forced algorithms changes, between two sizes that lie beside each other. */
struct ronde_published_crossover {
    struct ronde_nccl_call call; /**< of the larger size */
    uint64_t below_bytes;        /**< largest size at which `from` wins */
    enum ronde_nccl_algorithm from, to;
    bool is_predicted;
};

/**
 * The crossovers of a system that was scored, measured and predicted, points whose best two differ by no more than 10 %
 * left out. Writes `capacity` of them at most and returns how many there are. Errors: NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_published_crossovers(const struct ronde_published *published, uint32_t system,
                           size_t capacity, struct ronde_published_crossover *out,
                           size_t *out_count, struct ronde_error *error);

/** Whether a row has a prediction once ronde_published_predict was called. */
static inline bool ronde_published_is_predicted(const struct ronde_published_row *row)
{
    return row->state <= RONDE_PUBLISHED_FITTED || row->state == RONDE_PUBLISHED_UNMEASURED;
}

/** Why a row is not predicted, or what was not understood in it; "" where nothing is to be said. `room` is room for it. */
RONDE_API const char *ronde_published_why_of(const struct ronde_published *published,
                                             const struct ronde_published_row *row,
                                             struct ronde_error *room);

/** Different remarks that are told apart. */
#define RONDE_PUBLISHED_MAX_WHYS 24u

/** Rows of one remark. */
struct ronde_published_why_group {
    uint32_t first_line, last_line;
    size_t rows;
    char text[RONDE_PUBLISHED_WHY_BYTES];
};

/** All remarks on a table, and what its machines cannot do. */
struct ronde_published_whys {
    struct ronde_published_why_group group[RONDE_PUBLISHED_MAX_WHYS];
    uint32_t count;
    size_t more; /**< rows of further remarks */
};

/** Gathers them, after ronde_published_choose. */
RONDE_API void ronde_published_whys_of(const struct ronde_published *published,
                                       struct ronde_published_whys *out);

/** Text of a state. */
RONDE_API const char *ronde_published_state_text(enum ronde_published_state state);

#ifdef __cplusplus
}
#endif
#endif
