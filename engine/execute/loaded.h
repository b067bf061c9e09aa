/**
 * A schedule made ready to run in one process: tasks, lanes, connections and memory for the step interpreter.
 *
 * Shared by the backends that map all ranks' memory (host, cpu). Loading depends on the schedule only; preparing a run
 * depends on the launch and allocates only when a run needs more slots or scratch than every earlier one. Not a public
 * header, yet exported: hw may be a shared library of its own.
 */
#ifndef RONDE_ENGINE_EXECUTE_LOADED_H
#define RONDE_ENGINE_EXECUTE_LOADED_H

#include "ronde/backend.h"

#include "engine/execute/interp.h"
#include "engine/ir/arena.h"

/** One block of memory that only grows. */
struct ronde_region {
    unsigned char *block; /**< as allocated */
    unsigned char *start; /**< aligned to a pair of cache lines */
    size_t bytes;         /**< of block; 0 while there is none */
};

/** Makes a region hold `bytes` of any content, which is lost when it grows; false if there is no memory. */
bool ronde_region_reserve(const struct ronde_mem *mem, struct ronde_region *region, uint64_t bytes);

/** Which connection an end belongs to, in numbers that both its ranks use: the receiver numbers them. */
struct ronde_port {
    uint32_t peer;    /**< rank of the other end; RONDE_NONE where an end only fills a line */
    uint32_t channel; /**< both ends' */
    uint32_t number;  /**< of the receiving end among the connections of the receiver's program */
    bool is_send;     /**< this rank sends */
};

/** How the ranks' buffers lie, as far as lowering distinguishes. */
enum ronde_buffer_placement {
    RONDE_BUFFERS_OUT,  /**< out of place */
    RONDE_BUFFERS_IN,   /**< in place */
    RONDE_BUFFERS_MIXED /**< some so, some so */
};

/** What a backend does where a launch leaves it open. */
struct ronde_habits {
    uint64_t slot_bytes;         /**< stands in for a launch without */
    uint64_t pull_from_bytes[2]; /**< chunk's share of a message from which on messages are
                                      pulled, in runs out of place and in place; UINT64_MAX =
                                      never */
    enum ronde_protocol
        farthest; /**< from there on: pull or push; the most a launch gets that requests more */
    uint64_t stream_from_bytes; /**< bytes of all buffers from which on results that are not read
                                     soon are written past the caches; UINT64_MAX = never */
    uint64_t lines_up_to_bytes; /**< slot up to which staged messages travel in lines, where a launch leaves its slots
                                     open and one piece is enough; 0 = never. The backend clears new lines */
    uint64_t join_from_bytes; /**< chunk's share of a message from which on joined steps are executed as one */
    enum ronde_level level; /**< of all runs; WIDEST = as their launches say */
};

/**
 * A loaded schedule. Belongs to one thread between runs; during a run every lane belongs to the thread that drives it.
 */
struct ronde_loaded {
    const struct ronde_schedule *schedule; /**< must outlive this */
    const struct ronde_mem *mem;           /**< must outlive this */
    struct ronde_arena *arena;             /**< owns the arrays below */
    struct ronde_frame frame;              /**< of the current run */
    uint32_t first_rank;                   /**< the ranks that are loaded begin here */
    uint32_t rank_count;                   /**< all of the schedule's, or some */
    uint32_t task_count;                   /**< ranks * channels */
    struct ronde_task *tasks;              /**< (rank - first_rank) * channels + channel */
    uint32_t lane_count;                   /**< of all tasks */
    struct ronde_lane *lanes;              /**< task after task */
    uint64_t end_count;                    /**< connection ends of all tasks */
    struct ronde_end *ends; /**< task after task, each task's starting a pair of cache lines */
    struct ronde_remote_end *remote_ends; /**< one per end where all ranks are loaded, else NULL */
    uint64_t fifo_count;                  /**< connections */
    struct ronde_fifo *fifos;             /**< the counters of each */
    uint64_t counter_count;               /**< entries of progress */
    struct ronde_counter *progress;       /**< one per lane */
    struct ronde_port *ports;             /**< one per end of a part, else NULL */
    struct ronde_extent *parts;           /**< channel after channel, chunks_per_block each */
    const struct ronde_mem
        *data; /**< what the regions are taken from: mem, unless the backend replaces it before
                                         the first run; nothing here ever touches their content */
    struct ronde_region slots;   /**< slots and lengths of all connections */
    struct ronde_region lines;   /**< slots made of lines, which must keep their own content */
    struct ronde_region scratch; /**< scratch of all tasks */
    const unsigned char *placed; /**< where the ends' slots begin, as of the last run */
    bool is_prepared;            /**< for the last launch; only its buffers may have gone */
    struct ronde_launch last;    /**< what the last run was prepared for */
    enum ronde_buffer_placement last_placement; /**< how its buffers lay */
    struct ronde_habits last_habits;            /**< it was prepared with */
    uint64_t pieces_done;                       /**< pieces of all runs so far */
    bool is_dirty; /**< a run was abandoned: counters must start again */
};

/**
 * Flags of sends that are never read in place under a placement of the buffers. The placement of
 * the other ranks is unknown to a rank loaded alone: it offers only what it may in both. In place
 * there are all waits that there are out of place, and more, so any mix of placements waits for no
 * more than all ranks in place, which lowering has proved to end.
 */
static inline uint8_t ronde_loaded_buffered(const struct ronde_loaded *loaded, bool in_place)
{
    if (loaded->rank_count < loaded->schedule->ranks)
        return RONDE_FLAG_BUFFERED | RONDE_FLAG_BUFFERED_IN_PLACE;
    return in_place ? RONDE_FLAG_BUFFERED_IN_PLACE : RONDE_FLAG_BUFFERED;
}

/** Bytes a describing sentence may take. */
#define RONDE_LANE_TEXT_BYTES 256

/**
 * Loads a schedule. Owner: the caller destroys *out_loaded. Errors: NO_MEMORY; UNSUPPORTED for a step in scratch whose
 * extent no proof has established.
 */
RONDE_API enum ronde_status
ronde_loaded_create(const struct ronde_schedule *schedule, const struct ronde_mem *mem,
                    struct ronde_loaded **out_loaded, struct ronde_error *error);

/**
 * Loads the part of some ranks that follow one another. Its connections have no memory yet: the caller gives it to the
 * ends, by ronde_loaded_place before the first run or in its own way after every prepare. Errors: as
 * ronde_loaded_create; UNSUPPORTED for a connection that lacks its other end.
 */
RONDE_API enum ronde_status
ronde_loaded_create_part(const struct ronde_schedule *schedule, uint32_t first_rank,
                         uint32_t rank_count, const struct ronde_mem *mem,
                         struct ronde_loaded **out_loaded, struct ronde_error *error);

/** Loads the part of one rank. Errors: as ronde_loaded_create_part. */
static inline enum ronde_status ronde_loaded_create_rank(const struct ronde_schedule *schedule,
                                                         uint32_t rank, const struct ronde_mem *mem,
                                                         struct ronde_loaded **out_loaded,
                                                         struct ronde_error *error)
{
    return ronde_loaded_create_part(schedule, rank, 1, mem, out_loaded, error);
}

/** Entries of a connection's lengths: `depth`, rounded up so that two senders never share a cache line. */
RONDE_API uint64_t ronde_lengths_stride(uint32_t depth);

/** Bytes of a connection's memory: counters, lengths and the longest slots of launches up to slot_bytes and depth. */
RONDE_API uint64_t ronde_shm_region_bytes(const struct ronde_schedule *schedule,
                                          uint64_t slot_bytes, uint32_t depth);

/** Gives an end its connection's memory: zeroed, aligned to 128 bytes, ronde_shm_region_bytes long, the same `depth`. */
RONDE_API void ronde_loaded_place(struct ronde_loaded *loaded, uint64_t end, unsigned char *box,
                                  uint32_t depth);

/** Frees what create and prepare took; NULL is allowed. */
RONDE_API void ronde_loaded_destroy(struct ronde_loaded *loaded);

/**
 * How a launch's buffers lie, which the frame's count need not know yet; the placement of ranks that lack one of both is not
 * known.
 */
RONDE_API enum ronde_buffer_placement ronde_loaded_placement(const struct ronde_loaded *loaded,
                                                             const struct ronde_launch *launch);

/**
 * Sets up a run of a launch that ronde_launch_check accepted; one that differs from the last in its buffers only costs next to
 * nothing. Slots are only as long as the messages of this count need.
 * Messages are read or written in place as lowering allows; where some of the ranks here run in place and others do not, all of
 * theirs are copied. Errors: NO_MEMORY.
 */
RONDE_API enum ronde_status
ronde_loaded_prepare(struct ronde_loaded *loaded, const struct ronde_launch *launch,
                     const struct ronde_habits *habits, struct ronde_error *error);

/** Memory of a block. */
struct ronde_stretch {
    unsigned char *start; /**< NULL if it has none */
    uint64_t bytes;       /**< 0 if it has none */
};

/** Where a block of a rank's input or output lies in a launch that was accepted. */
RONDE_API struct ronde_stretch ronde_launch_block(const struct ronde_schedule *schedule,
                                                  const struct ronde_launch *launch, uint32_t rank,
                                                  bool is_input, uint32_t block);

/** Bytes of the input and output buffers of all ranks, loaded here or not; UINT64_MAX where that overflows. */
RONDE_API uint64_t ronde_loaded_touched_bytes(const struct ronde_loaded *loaded,
                                              const struct ronde_launch *launch);

/** Whether a launch names the buffers that the run prepared last has, and neither has tables or factors. */
RONDE_API bool ronde_loaded_has_buffers(const struct ronde_loaded *loaded,
                                        const struct ronde_launch *launch);

/** Sets up the run that was prepared last once more: the same launch, the same buffers, the same factors. */
RONDE_API void ronde_loaded_repeat(struct ronde_loaded *loaded);

/** Whether two launches differ in nothing but their buffers and factors, as far as preparing them goes. */
static inline bool ronde_launch_is_alike(const struct ronde_launch *a, const struct ronde_launch *b)
{
    return a->count == b->count && a->dtype == b->dtype && a->op == b->op &&
           a->slot_bytes == b->slot_bytes && a->depth == b->depth && a->protocol == b->protocol &&
           a->stream_from_bytes == b->stream_from_bytes && a->level == b->level && !a->in_blocks &&
           !a->out_blocks && !b->in_blocks && !b->out_blocks;
}

/** The protocol of the run that was prepared last. */
RONDE_API enum ronde_protocol ronde_loaded_protocol(const struct ronde_loaded *loaded);

/** Ends a run: all its lanes were done, or it was abandoned. */
RONDE_API void ronde_loaded_finish(struct ronde_loaded *loaded, bool is_complete);

/** Writes "rank 3 lane 0 step 5 piece 2 of channel 0 waits for ...", at most RONDE_LANE_TEXT_BYTES. */
RONDE_API void ronde_lane_describe(const struct ronde_lane *lane, char *text);

/**
 * A lane of a run that has ended early: one with a recorded reason, of those that are not done; any of these if none
 * has one. NULL when all are done.
 */
RONDE_API const struct ronde_lane *ronde_loaded_blocked(const struct ronde_loaded *loaded);

/** First lane of a rank among all lanes; rank = ranks gives the end. */
RONDE_API uint32_t ronde_loaded_first_lane(const struct ronde_loaded *loaded, uint32_t rank);

#endif
