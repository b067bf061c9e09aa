/*
 * The transport of one host: connections in shared memory.
 *
 * The lanes' own counters are the transport; nothing is copied here. Memory has no name: the host's first rank creates a
 * file without one, and the others open it through that rank's descriptor, so that nothing is left behind however a
 * process ends. A rank that has nothing to do for a while sleeps on a word of its own, its bell; whoever has posted
 * something for it looks whether it sleeps, and only then asks the kernel to wake it. That look must come after the
 * posting, which costs a fence, as long as all that a short run does. Where sleep is rare, who is about to sleep makes
 * the others' processors pass a fence instead (membarrier).
 */
#include "hw/comm/bells.h"
#include "hw/comm/borrow.h"
#include "hw/comm/boxes.h"
#include "hw/comm/reach.h"
#include "hw/comm/spread.h"
#include "hw/pause.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* See hw/README.md for both. */
#define DEFAULT_SLOT_BYTES 65536u
#define LEAST_DEFAULT_SLOT_BYTES 4096u

/* From this share of a chunk on a message is read where it lies: in a heap out of place and in place, or by the kernel. */
#define PULL_FROM_BYTES 4096u
#define PULL_IN_PLACE_FROM_BYTES 65536u
#define PULL_IN_PLACE_CROWDED_FROM_BYTES 16384u
#define ASK_FROM_BYTES 65536u

/* Being ahead by so many runs pays for copies of 4 KiB. */
#define FAR_AHEAD_RUNS 7u

/* Schedules with many connections get shorter slots, so that their memory stays below this. */
#define DEFAULT_TOTAL_BYTES ((uint64_t)1 << 28)

/* What lies behind connections begins at a page, so that it does not lie on their lines. */
#define PAGE_ALIGNMENT 4096u

/* Pauses before the processor is offered to others: longer than a message takes between processors. */
#define PAUSES 100u

/*
 * Fruitless polls before a rank sleeps. Where others wait for the processor it is offered to them after each: in a round
 * of all ranks, which costs less than sleeping and being woken, whoever is waited for has its turn.
 */
#define SPINS 600u
#define SPINS_CROWDED 400u

/* A sleeping rank looks around for lost ranks and time limits after this long. */
#define NAP_NS 5000000L

/* Where the rank's bell is: alone on its lines. */
struct bell {
    uint32_t is_asleep;     /* atomic; the futex */
    uint32_t is_fenced;     /* the rank passes a fence when another asks for it */
    uint32_t has_withdrawn; /* atomic; what the rank has offered may be gone */
    uint32_t padding[29];   /* up to two cache lines */
};

/* Memory that all ranks of a communicator map. */
struct shared {
    unsigned char *start;
    size_t bytes;
};

/* What a communicator shares: cards, bells, signs of heaps, and seats; and what is this rank's own. */
struct board {
    struct shared shared;
    struct bell *bells;
    bool is_fenced; /* all ranks pass a fence when one of them is about to sleep */
    struct ronde_heap heap;
    struct ronde_reach reach;
    struct ronde_spread spread;
    uint64_t shown[RONDE_CARDS]; /* digests of the cards this rank has put in each place */
};

/* What a program shares, and where its connections lie in it. */
struct hall {
    struct shared shared;
    struct ronde_boxes boxes;
};

/* Through which of whose descriptors the memory is reached. */
struct door {
    int32_t process;
    int32_t descriptor;
};

static enum ronde_status create_file(size_t bytes, int *out_fd, struct ronde_error *error)
{
    *out_fd = memfd_create("ronde", MFD_CLOEXEC);
    if (*out_fd >= 0 && ftruncate(*out_fd, (off_t)bytes) == 0)
        return RONDE_OK;
    return ronde_fail(error, RONDE_NO_MEMORY, "the system gives no %zu bytes of shared memory: %s",
                      bytes, strerror(errno));
}

static enum ronde_status open_file(const struct door *door, int *out_fd, struct ronde_error *error)
{
    *out_fd = ronde_borrow(door->process, door->descriptor, O_RDWR);
    if (*out_fd >= 0)
        return RONDE_OK;
    return ronde_fail(error, RONDE_DEVICE, "cannot open the host's shared memory /proc/%d/fd/%d: %s",
                      door->process, door->descriptor, strerror(errno));
}

static enum ronde_status map_file(int fd, size_t bytes, struct shared *out,
                                  struct ronde_error *error)
{
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (start == MAP_FAILED)
        return ronde_fail(error, RONDE_NO_MEMORY, "cannot map %zu bytes of shared memory: %s",
                          bytes, strerror(errno));
    out->start = start;
    out->bytes = bytes;
    return RONDE_OK;
}

static void unshare_memory(struct shared *shared)
{
    if (shared->start)
        (void)munmap(shared->start, shared->bytes);
    shared->start = NULL;
}

/* Zeroed memory that all ranks of a host map. Collective: it succeeds on all ranks of all hosts or on none. */
static enum ronde_status share_memory(struct ronde_comm *comm, uint64_t bytes, struct shared *out,
                                      struct ronde_error *error)
{
    const uint32_t leader = comm->leaders[comm->rank];
    struct door door = {(int32_t)getpid(), -1};
    int fd = -1;
    struct door *doors = ronde_mem_new(comm->mem, comm->ranks, sizeof *doors);
    enum ronde_status status =
        doors ? RONDE_OK : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", comm->ranks);
    if (bytes > SIZE_MAX / 2 || bytes > (uint64_t)LLONG_MAX)
        status = ronde_fail(error, RONDE_NO_MEMORY, "%llu bytes of shared memory are too many",
                            (unsigned long long)bytes);
    if (status == RONDE_OK && comm->rank == leader)
        status = create_file((size_t)bytes, &fd, error);
    door.descriptor = fd;
    status = ronde_comm_agree(comm, status, error);
    if (status == RONDE_OK)
        status = ronde_star_allgather(comm->star, &door, sizeof door, doors, error);
    if (status == RONDE_OK && comm->rank != leader)
        status = open_file(&doors[leader], &fd, error);
    if (status == RONDE_OK)
        status = map_file(fd, (size_t)bytes, out, error);
    /* The leader's descriptor must stay open until all have used it. */
    status = ronde_comm_agree(comm, status, error);
    if (status != RONDE_OK)
        unshare_memory(out);
    if (fd >= 0)
        close(fd);
    ronde_mem_free(comm->mem, doors, comm->ranks, sizeof *doors);
    return status;
}

static enum ronde_status proc_open(struct ronde_comm *comm, struct ronde_error *error)
{
    struct board *board = ronde_mem_new(comm->mem, 1, sizeof *board);
    const uint64_t ranks = comm->ranks;
    const uint64_t cards_bytes = ranks * RONDE_CARDS * sizeof(struct ronde_card);
    const uint64_t bells_bytes = ranks * sizeof(struct bell);
    const uint64_t signs_bytes = ranks * sizeof(struct ronde_sign);
    const uint64_t seats_bytes = ranks * sizeof *board->spread.seats;
    enum ronde_status status =
        board ? RONDE_OK : ronde_fail(error, RONDE_NO_MEMORY, "no memory for a communicator");
    comm->wire_self = board;
    status = ronde_comm_agree(comm, status, error);
    if (status == RONDE_OK)
        status = share_memory(comm, cards_bytes + bells_bytes + signs_bytes + seats_bytes,
                              &board->shared, error);
    if (status != RONDE_OK)
        return status;
    struct ronde_sign *signs =
        (struct ronde_sign *)(void *)(board->shared.start + cards_bytes + bells_bytes);
    comm->near_cards = (struct ronde_card *)(void *)board->shared.start;
    board->bells = (struct bell *)(void *)(board->shared.start + cards_bytes);
    board->spread = (struct ronde_spread){.seats = (uint32_t *)(void *)(signs + ranks),
                                          .ranks = comm->ranks,
                                          .rank = comm->rank};
    board->bells[comm->rank].is_fenced =
        !comm->is_crowded &&
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
    ronde_heap_init(&board->heap, &signs[comm->rank], comm->mem);
    status = ronde_reach_open(comm, signs, &board->reach, error);
    /* That gathers, so all ranks have said by now whether they are fenced. */
    board->is_fenced = status == RONDE_OK;
    for (uint32_t rank = 0; rank < comm->ranks; rank++)
        board->is_fenced &= board->bells[rank].is_fenced != 0;
    return status;
}

static void proc_close(struct ronde_comm *comm)
{
    struct board *board = comm->wire_self;
    if (!board)
        return;
    ronde_reach_close(&board->reach, comm->mem);
    ronde_heap_close(&board->heap);
    unshare_memory(&board->shared);
    ronde_mem_free(comm->mem, board, 1, sizeof *board);
    comm->wire_self = NULL;
}

static uint64_t proc_default_slot_bytes(const struct ronde_schedule *schedule, uint32_t depth)
{
    const uint64_t boxes = ronde_boxes_count(schedule);
    uint64_t slot_bytes = DEFAULT_SLOT_BYTES;
    while (slot_bytes > LEAST_DEFAULT_SLOT_BYTES &&
           boxes * ronde_boxes_stride(schedule, slot_bytes, depth) > DEFAULT_TOTAL_BYTES)
        slot_bytes /= 2;
    return slot_bytes;
}

/* What is sent from scratch is read there as well. A schedule without takes no heap. */
static void place_scratch(const struct ronde_comm_program *program)
{
    struct board *board = program->comm->wire_self;
    struct ronde_loaded *loaded = program->loaded;
    for (uint32_t task = 0; task < loaded->task_count; task++)
        if (loaded->tasks[task].chunks[RONDE_SCRATCH] > 0)
            loaded->data = &board->heap.own;
}

/* What lies in a program's memory behind the boxes: copies that are kept, and what pushing needs. */
struct plan {
    uint64_t rooms;
    uint64_t push;
    uint64_t bytes;
};

/* The same on all ranks. */
static struct plan plan_memory(const struct ronde_comm_program *program,
                               const struct ronde_boxes *boxes)
{
    const struct ronde_schedule *schedule = program->loaded->schedule;
    struct plan plan = {.rooms = ronde_round_up(boxes->count * boxes->stride, PAGE_ALIGNMENT)};
    plan.push =
        plan.rooms + ronde_round_up(ronde_keep_bytes(program->comm, schedule), PAGE_ALIGNMENT);
    plan.bytes = plan.push + ronde_push_bytes(schedule);
    return plan;
}

/* Everything in the memory that has been shared finds its place. */
static enum ronde_status settle(struct ronde_comm_program *program, const struct plan *plan,
                                struct ronde_error *error)
{
    struct hall *hall = program->wire_self;
    struct board *board = program->comm->wire_self;
    unsigned char *start = hall->shared.start;
    const bool has_rooms = ronde_keep_bytes(program->comm, program->loaded->schedule) > 0;
    hall->boxes.start = start;
    ronde_boxes_place(&hall->boxes, program, program->loaded);
    place_scratch(program);
    ronde_push_open(program, start + plan->push, &hall->boxes, &board->reach);
    return ronde_keep_open(program, has_rooms ? start + plan->rooms : NULL, error);
}

static enum ronde_status proc_load(struct ronde_comm_program *program, struct ronde_error *error)
{
    struct ronde_comm *comm = program->comm;
    struct board *board = comm->wire_self;
    struct hall *hall = ronde_mem_new(comm->mem, 1, sizeof *hall);
    program->wire_self = hall;
    enum ronde_status status =
        hall ? ronde_reach_reserve(&board->reach, comm->mem, program->slot_bytes, error)
             : ronde_fail(error, RONDE_NO_MEMORY, "no memory to load the schedule");
    if (status == RONDE_OK)
        status = ronde_boxes_open(program, &hall->boxes, error);
    status = ronde_comm_agree(comm, status, error);
    if (status != RONDE_OK)
        return status;
    const struct plan plan = plan_memory(program, &hall->boxes);
    status = share_memory(comm, plan.bytes, &hall->shared, error);
    return status == RONDE_OK ? settle(program, &plan, error) : status;
}

static void proc_unload(struct ronde_comm_program *program)
{
    const struct ronde_mem *mem = program->comm->mem;
    struct hall *hall = program->wire_self;
    if (!hall)
        return;
    ronde_push_close(program);
    ronde_boxes_close(&hall->boxes, mem);
    unshare_memory(&hall->shared);
    ronde_mem_free(mem, hall, 1, sizeof *hall);
    program->wire_self = NULL;
}

/* A futex costs less than a pipe, but a rank cannot sleep on it and on a network at once. */
static void wake(const struct ronde_comm *comm, uint32_t rank, uint32_t *bell)
{
    if (comm->bells)
        ronde_bells_ring(comm->bells, rank);
    else
        (void)syscall(SYS_futex, bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/*
 * Wakes the neighbours that sleep; the bells of other hosts' ranks never ask for it. What was posted must be visible
 * before their bells are read: a rank that goes to sleep says so first and then looks once more, so that one of the
 * two sees the other.
 */
static void ring(const struct ronde_comm_program *program)
{
    const struct board *board = program->comm->wire_self;
    if (!board->is_fenced)
        __sync_synchronize();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    for (uint32_t n = 0; n < program->neighbour_count; n++) {
        const uint32_t rank = program->neighbours[n].rank;
        uint32_t *bell = &board->bells[rank].is_asleep;
        if (__atomic_load_n(bell, __ATOMIC_RELAXED) != 0 &&
            __atomic_exchange_n(bell, 0, __ATOMIC_RELAXED) != 0)
            wake(program->comm, rank, bell);
    }
}

static void proc_tell(struct ronde_comm_program *program, const struct ronde_card *card)
{
    const struct ronde_comm *comm = program->comm;
    struct board *board = comm->wire_self;
    const size_t place = card->sequence % RONDE_CARDS;
    struct ronde_card *to = &comm->near_cards[(size_t)comm->rank * RONDE_CARDS + place];
    ronde_push_welcome(program);
    if (board->shown[place] == program->card_digest)
        ronde_card_renew(to, card->sequence);
    else
        ronde_card_put(to, card);
    board->shown[place] = program->card_digest;
    ring(program);
}

static enum ronde_status proc_poll(struct ronde_comm_program *program, bool *io_moved,
                                   bool *out_is_quiet, struct ronde_error *error)
{
    struct board *board = program->comm->wire_self;
    (void)error;
    *out_is_quiet = true;
    /* This rank has something to do again, or is over: nobody need wake it. */
    if (*io_moved) {
        uint32_t *bell = &board->bells[program->comm->rank].is_asleep;
        if (__atomic_load_n(bell, __ATOMIC_RELAXED) != 0)
            __atomic_store_n(bell, 0, __ATOMIC_RELAXED);
        ring(program);
    }
    return RONDE_OK;
}

static void proc_spread(const struct ronde_comm *comm, double now_ns)
{
    struct board *board = comm->wire_self;
    ronde_spread_look(&board->spread, now_ns);
}

static uint32_t *own_bell(const struct ronde_comm_program *program)
{
    const struct board *board = program->comm->wire_self;
    return &board->bells[program->comm->rank].is_asleep;
}

/* Says that this rank sleeps from now on; false if it had not said so before, since then something may have come. */
static bool fall_asleep(const struct ronde_comm_program *program)
{
    const struct board *board = program->comm->wire_self;
    uint32_t *bell = own_bell(program);
    if (__atomic_load_n(bell, __ATOMIC_RELAXED) != 0)
        return true;
    __atomic_store_n(bell, 1, __ATOMIC_SEQ_CST);
    __sync_synchronize();
    if (board->is_fenced)
        (void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
    return false;
}

static int proc_doze(struct ronde_comm_program *program)
{
    return fall_asleep(program) ? ronde_bells_fd(program->comm->bells) : -1;
}

static void proc_rest(struct ronde_comm_program *program, uint32_t idle)
{
    const uint32_t spins = program->comm->is_crowded ? SPINS_CROWDED : SPINS;
    const struct timespec nap = {0, NAP_NS};
    if (idle < spins) {
        if (idle < PAUSES && !program->comm->is_crowded)
            ronde_pause_core();
        else
            sched_yield();
        return;
    }
    /* Having said so, the caller polls once more, and only a fruitless poll leads to sleep. */
    if (fall_asleep(program))
        (void)syscall(SYS_futex, own_bell(program), FUTEX_WAIT, 1, &nap, NULL, 0);
}

/* Whether the blocks of this rank's input or output, if it has any, lie in the heap. */
static bool is_in_heap(const struct ronde_comm *comm, const struct ronde_schedule *schedule,
                       const struct ronde_launch *launch, bool is_input)
{
    const struct board *board = comm->wire_self;
    const uint32_t blocks = is_input
                                ? ronde_collective_in_blocks(schedule->collective, comm->ranks)
                                : ronde_collective_out_blocks(schedule->collective, comm->ranks);
    for (uint32_t b = 0; b < blocks; b++) {
        const struct ronde_stretch block =
            ronde_launch_block(schedule, launch, comm->rank, is_input, b);
        if (block.bytes > 0 && !ronde_heap_holds(&board->heap, block.start, block.bytes))
            return false;
    }
    return true;
}

/* Where some ranks only send these are ahead of those that receive, unless their buffers are read: letters gain by it. */
static uint64_t heap_from(const struct ronde_comm *comm,
                          const struct ronde_collective_traits *traits)
{
    const bool gains =
        traits->has_root && !traits->reduces && ronde_comm_lead(comm->ranks) >= FAR_AHEAD_RUNS;
    return gains ? RONDE_LETTER_BYTES + 1 : PULL_FROM_BYTES;
}

static bool proc_is_readable(const struct ronde_comm *comm, const struct ronde_schedule *schedule,
                             const struct ronde_launch *launch, struct ronde_habits *io_habits)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(schedule->collective);
    /* The kernel takes longer than a copy: it is worth it only where all ranks read, and into place. */
    const uint64_t ask_from = traits->reduces || traits->has_root ? UINT64_MAX : ASK_FROM_BYTES;
    const uint64_t heap_in_place =
        comm->is_crowded ? PULL_IN_PLACE_CROWDED_FROM_BYTES : PULL_IN_PLACE_FROM_BYTES;
    const struct board *board = comm->wire_self;
    const bool has_heap =
        is_in_heap(comm, schedule, launch, true) && is_in_heap(comm, schedule, launch, false);
    /* Whoever writes knows nothing of how the blocks of others lie. */
    const bool is_writable = has_heap && !launch->in_blocks && !launch->out_blocks;
    io_habits->pull_from_bytes[0] = has_heap ? heap_from(comm, traits) : ask_from;
    io_habits->pull_from_bytes[1] = has_heap ? heap_in_place : ask_from;
    io_habits->farthest = is_writable ? RONDE_PROTOCOL_PUSH : RONDE_PROTOCOL_PULL;
    return has_heap || board->reach.has_kernel;
}

static const unsigned char *proc_find(const struct ronde_comm *comm, uint32_t rank,
                                      const struct ronde_offer *offer, unsigned char *place,
                                      struct ronde_error *error)
{
    struct board *board = comm->wire_self;
    return ronde_reach_find(&board->reach, rank, offer, place, error);
}

/* The word must be out before the memory is somebody else's: a barrier, since that is done by ordinary stores. */
static void proc_withdraw(const struct ronde_comm *comm)
{
    struct board *board = comm->wire_self;
    ronde_heap_freeze(&board->heap);
    __atomic_store_n(&board->bells[comm->rank].has_withdrawn, 1, __ATOMIC_RELAXED);
    __sync_synchronize();
}

static bool proc_has_withdrawn(const struct ronde_comm *comm, uint32_t rank)
{
    const struct board *board = comm->wire_self;
    /* Not before what was read of it is there. */
    __sync_synchronize();
    return __atomic_load_n(&board->bells[rank].has_withdrawn, __ATOMIC_RELAXED) != 0;
}

static const struct ronde_mem *proc_memory(struct ronde_comm *comm)
{
    const struct board *board = comm->wire_self;
    return &board->heap.own;
}

const struct ronde_wire ronde_wire_proc = {
    .open = proc_open,
    .close = proc_close,
    .default_slot_bytes = proc_default_slot_bytes,
    .load = proc_load,
    .unload = proc_unload,
    .tell = proc_tell,
    .poll = proc_poll,
    .spread = proc_spread,
    .is_readable = proc_is_readable,
    .find = proc_find,
    .withdraw = proc_withdraw,
    .has_withdrawn = proc_has_withdrawn,
    .memory = proc_memory,
    .letters = ronde_boxes_letters,
    .rest = proc_rest,
    .doze = proc_doze,
};
