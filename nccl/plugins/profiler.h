/**
 * What the parts of the profiler plug-in share: events of NCCL's versions as ours, runs of a communicator, records.
 */
#ifndef RONDE_NCCL_PLUGINS_PROFILER_H
#define RONDE_NCCL_PLUGINS_PROFILER_H

#include "plugin_words.h"
#include "profiler_abi.h"

#include <pthread.h>
#include <stdint.h>

/* Descriptors of all versions as one of the newest, which has what the others have, and back. */

/** A descriptor of any version. */
union event_any {
    struct event_v1 v1;
    struct event_v2 v2;
    struct event_v3 v3;
    struct event_v4 v4;
    struct event_v5 v5;
    struct event_v6 v6;
};

/** What descriptors up to version 3 say of a communicator, and later ones do not. */
struct event_comm {
    const char *name;
    uint64_t hash;
};

/** Reads a descriptor as NCCL gives it. `out_comm` is changed where it says something of the communicator. */
void event_read(int version, const void *event, struct event_v6 *out, struct event_comm *out_comm);

/* A collective, send or receive that ran, and the record of it (docs/reference/nccl-plugins.md). */

/** Whose clock times are of. */
enum run_clock { RUN_UNTIMED, RUN_HOST, RUN_GPU };

/** What is kept of it: no pointer of NCCL's. */
struct run {
    char func[24], algorithm[20], protocol[12], datatype[20];
    uint64_t type; /**< EVENT_COLL, EVENT_P2P or EVENT_CE_COLL */
    uint64_t seq, count;
    int peer;          /**< the root of a collective */
    uint32_t channels; /**< 0 = the version does not say */
    uint32_t awaited;  /**< channels whose end is to come */
    uint32_t seen;     /**< channels whose end has come */
    uint64_t host_ns;  /**< when it was handed over, by the host's clock */
    enum run_clock clock;
    uint64_t start_ns, stop_ns; /**< of its first and last channel */
    bool is_incomplete;         /**< something of it was not seen */
};

/** A communicator, as far as the version of the interface says. */
struct run_comm {
    char name[64]; /**< "" = not said */
    uint64_t hash;
    int nodes, ranks, rank; /**< 0, 0 and -1 = not said */
    int interface;
};

/** Bytes of a record. */
enum { RUN_LINE_BYTES = 1024 };

/** Takes what an event says. */
void run_begin(struct run *run, const struct event_v6 *event, uint64_t host_ns);

/** A channel has run from then to then. */
void run_add_channel(struct run *run, enum run_clock clock, uint64_t start_ns, uint64_t stop_ns);

/** The record as a line; returns its bytes. */
size_t run_print(const struct run *run, const struct run_comm *comm, char out_line[RUN_LINE_BYTES]);

/** A communicator's last line: how many records there are, and how many events were lost. */
size_t run_print_end(const struct run_comm *comm, uint64_t records, uint64_t lost,
                     char out_line[RUN_LINE_BYTES]);

/* The profiler behind ours: NCCL loads one, so RONDE_PROFILER_NEXT names another that sees all that NCCL says, in
 * the newest version that it has and NCCL knows. */

/** It. */
struct next {
    void *library; /**< NULL = there is none */
    const void *symbol;
    int version; /**< no newer than NCCL's */
    int mask;    /**< what it has asked for with any communicator */
};

/** A communicator as init has it; zeros where the version does not say. */
struct next_comm {
    const char *name;
    uint64_t hash;
    int nodes, ranks, rank;
    abi_log log;
};

/** Bytes of a reason. */
enum { NEXT_REASON_BYTES = 256 };

/**
 * Loads it by NCCL's rules for names. `version` is that of NCCL, `own` our symbol of it. False with a reason where it cannot be
 * loaded or is ours.
 */
bool next_open(const char *name, int version, const void *own, struct next *out,
               char out_reason[NEXT_REASON_BYTES]);

/** Unloads it. */
void next_close(struct next *next);

/** A context of it, and what it asks for with it: it may keep the pointer and change that. False where its init failed. */
bool next_init(const struct next *next, const struct next_comm *comm, int *mask, void **out_context);

/** It asks for so much, too. */
void next_ask(struct next *next, int mask);

/** What it has asked for, and the types that it is to see then. */
int next_asked(const struct next *next);
int next_sees(const struct next *next);

/** Its handle of an event, or NULL. Parents of `event` are handles of its own. */
void *next_start(const struct next *next, void *context, const struct event_v6 *event,
                 const struct event_comm *comm);

/** A state that NCCL of version `version` reports. */
void next_state(const struct next *next, int version, void *handle, int state,
                const void *arguments);

void next_stop(const struct next *next, void *handle);
void next_finalize(const struct next *next, void *context);

/* Events that are under way. NCCL gives back our handle of an event from other threads and after its parent has
 * stopped, so a collective lives until its last channel has ended: it counts its own stop and its children. Memory
 * is bounded: events of a context are taken from blocks, EVENT_BLOCKS at most, and stay there until the library's
 * last finalize, so that a handle that comes too late points at memory that is there. A freed event is the last to
 * be used again; where another profiler is behind ours, after EVENT_KEPT others, since a group's calls have stopped
 * before the collectives that have them for parents begin. */

/**
 * Blocks of a context, and events of a block; collectives that wait for channels to end, or for children of which nobody says
 * how many there are: a program may be so many ahead of its GPU, and what has not ended then never may.
 */
enum {
    EVENT_BLOCKS = 64,
    EVENT_BLOCK = 256,
    EVENT_LAG_CHANNELS = 8192,
    EVENT_LAG_ANY = 1024,
    EVENT_KEPT = 4096
};

/** What a collective waits for once NCCL has handed it over. */
enum event_await {
    AWAIT_NOTHING,  /**< no times are asked for */
    AWAIT_CHANNELS, /**< the end of each of its channels */
    AWAIT_ANY       /**< children, nobody says how many: until EVENT_LAG_ANY others wait as well */
};

struct context;

/** An event. */
struct event {
    struct context *home; /**< whose it is */
    const struct context *
        asker; /**< to whose events NCCL has added it, which is where the next profiler's handle is from */
    struct event *parent;        /**< a collective that waits for it; NULL = none */
    struct event *newer, *older; /**< in the list of free ones, or of those that wait */
    void *next;                  /**< the next profiler's handle, or NULL */
    uint64_t type;
    uint32_t refs; /**< of a collective: its own stop and children that have not stopped */
    bool is_live, is_waiting;
    uint64_t start_ns, stop_ns; /**< of a channel */
    enum run_clock clock;       /**< of these */
    struct run run;             /**< of a collective */
};

/** A list, oldest first. */
struct event_list {
    struct event *oldest, *newest;
    uint32_t count;
};

/** A communicator. */
struct context {
    pthread_mutex_t lock;  /**< of all but next_context */
    struct context *other; /**< in the list of all contexts */
    bool is_used;
    int *mask;     /**< NCCL's */
    bool has_next; /**< the next profiler has a context, too */
    void *next_context;
    int next_mask,
        next_asked;    /**< what that asks for now, and what NCCL was asked for because of it */
    bool is_recording; /**< the file is open */
    enum event_await await;
    struct run_comm comm;
    struct event *blocks[EVENT_BLOCKS];
    uint32_t block_count;
    struct event_list free, waiting;
    uint64_t records, lost;
};

/** Whether it becomes a record. */
bool event_is_run(uint64_t type);

/** A fresh event of a type; NULL where there is no memory for it, which is counted. */
struct event *event_take(struct context *context, uint64_t type);

/** Begins a collective, send or receive. */
void event_begin_run(struct event *event, const struct event_v6 *descriptor, uint64_t host_ns);

/** Makes a collective wait for a child; its home's lock is taken. False where it is none. */
bool event_adopt(struct event *child, struct event *parent);

/** Ends an event, and with the last of its children a collective, which is recorded. */
void event_stop(struct event *event, uint64_t host_ns);

/** Records what has not ended, and frees all events. */
void event_settle_all(struct context *context);

/* The file of records: lines are gathered in memory and written by a thread, so that nobody who calls NCCL waits
 * for a disk. Memory is bounded: where the disk is slower than the lines come, lines are lost and counted. */

/** Bytes of a reason. */
enum { WRITER_REASON_BYTES = 256 };

/** Opens the file of a pattern (plugin_path) and starts the thread. False with a reason. */
bool writer_open(const char *pattern, char out_reason[WRITER_REASON_BYTES]);

/** Adds a line, from any thread; false where there is no room, or no file. */
bool writer_line(const char *line, size_t bytes);

/** Writes what is left, joins the thread and closes the file; returns how many lines were lost. Nothing if it is closed. */
uint64_t writer_close(void);

#endif
