/*
 * The transport of one host: connections in shared memory.
 *
 * The lanes' own counters are the transport; nothing is copied here. Memory has no name: the host's first rank creates an
 * anonymous file, and the others open it through that rank's descriptor, so that nothing is left behind however a process
 * ends. A rank that has had nothing to do for a while sleeps on a futex of its own, its doorbell; a rank that has posted
 * something for it reads whether it sleeps, and only then makes the system call that wakes it. That read must come after
 * the post, which costs a fence, as long as all that a short run does. Where sleep is rare, a rank about to sleep makes
 * the others' processors execute a fence instead (membarrier).
 */
#include "hw/p2p/path.h"
#include "hw/pause.h"
#include "hw/shm/layout.h"
#include "hw/shm/remote_read.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* From this share of a chunk on a message is pulled: out of registered memory, out of place and in place, or by CMA. */
#define PULL_FROM_BYTES 4096u
#define PULL_IN_PLACE_FROM_BYTES 65536u
#define PULL_IN_PLACE_OVERSUBSCRIBED_FROM_BYTES 16384u
#define CMA_FROM_BYTES 65536u

/* Running ahead by so many runs pays for copies of 4 KiB. */
#define FAR_AHEAD_RUNS 7u

/* What lies behind connections begins at a page, so that it does not lie on their lines. */
#define PAGE_ALIGNMENT 4096u

/* Pauses before the processor is yielded: longer than a message takes between processors. */
#define PAUSES 100u

/*
 * Empty polls before a rank sleeps. Where ranks share a processor it is yielded after each: within a round of all ranks,
 * which costs less than sleeping and being woken, the rank that is waited for is scheduled.
 */
#define SPINS 600u
#define SPINS_OVERSUBSCRIBED 400u

/* A sleeping rank wakes after this long to check for lost ranks and time limits. */
#define SLEEP_NS 5000000L

/* A rank's doorbell, alone on its cache lines. */
struct doorbell {
    uint32_t is_asleep;     /* atomic; the futex */
    uint32_t is_fenced;     /* the rank is registered for membarrier */
    uint32_t has_withdrawn; /* atomic; what the rank has offered may not be there any more */
    uint32_t padding[29];   /* up to two cache lines */
};

/* Memory that all ranks of a communicator map. */
struct shared {
    unsigned char *start;
    size_t bytes;
};

/* What a communicator shares: handshake records, doorbells, memory descriptors, processors; and what is this rank's own. */
struct shm {
    struct shared shared;
    struct doorbell *doorbells;
    bool is_fenced; /* all ranks are registered for membarrier */
    struct ronde_registered_memory registered;
    struct ronde_remote_read remote;
    struct ronde_cpu_balance cpu_balance;
    uint64_t published_digests[RONDE_HANDSHAKES]; /* of the records this rank has last put in each place */
};

/* What a program shares, and where its connections lie in it. */
struct segment {
    struct shared shared;
    struct ronde_shm_layout layout;
};

static enum ronde_status create_file(size_t bytes, int *out_fd, struct ronde_error *error)
{
    const uint64_t limit = ronde_file_limit_bytes();
    if (bytes > limit)
        return ronde_fail(error, RONDE_NO_MEMORY,
                          "%zu bytes of shared memory are more than a file may have here, %llu "
                          "(ulimit -f)",
                          bytes, (unsigned long long)limit);
    *out_fd = memfd_create("ronde", MFD_CLOEXEC);
    if (*out_fd >= 0 && ftruncate(*out_fd, (off_t)bytes) == 0)
        return RONDE_OK;
    return ronde_fail(error, RONDE_NO_MEMORY, "the system gives no %zu bytes of shared memory: %s",
                      bytes, strerror(errno));
}

static enum ronde_status open_file(struct ronde_peer_fd peer_fd, int *out_fd,
                                   struct ronde_error *error)
{
    *out_fd = ronde_peer_fd_open(peer_fd, O_RDWR);
    if (*out_fd >= 0)
        return RONDE_OK;
    return ronde_fail(error, RONDE_DEVICE, "cannot open the host's shared memory /proc/%d/fd/%d: %s",
                      peer_fd.process, peer_fd.fd, strerror(errno));
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
    struct ronde_peer_fd shared_fd = {(int32_t)getpid(), -1};
    int fd = -1;
    struct ronde_peer_fd *shared_fds = ronde_mem_new(comm->mem, comm->ranks, sizeof *shared_fds);
    enum ronde_status status =
        shared_fds ? RONDE_OK
                   : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", comm->ranks);
    if (bytes > SIZE_MAX / 2 || bytes > (uint64_t)LLONG_MAX)
        status = ronde_fail(error, RONDE_NO_MEMORY, "%llu bytes of shared memory are too many",
                            (unsigned long long)bytes);
    if (status == RONDE_OK && comm->rank == leader)
        status = create_file((size_t)bytes, &fd, error);
    shared_fd.fd = fd;
    status = ronde_comm_agree(comm, status, error);
    RONDE_THEN(status, ronde_control_allgather(comm->control, &shared_fd, sizeof shared_fd,
                                               shared_fds, error));
    if (status == RONDE_OK && comm->rank != leader)
        status = open_file(shared_fds[leader], &fd, error);
    RONDE_THEN(status, map_file(fd, (size_t)bytes, out, error));
    /* The leader's descriptor must stay open until all have used it. */
    status = ronde_comm_agree(comm, status, error);
    if (status != RONDE_OK)
        unshare_memory(out);
    if (fd >= 0)
        close(fd);
    ronde_mem_free(comm->mem, shared_fds, comm->ranks, sizeof *shared_fds);
    return status;
}

static enum ronde_status shm_open_segment(struct ronde_comm *comm, struct ronde_error *error)
{
    struct shm *shm = ronde_mem_new(comm->mem, 1, sizeof *shm);
    const uint64_t ranks = comm->ranks;
    const uint64_t handshakes_bytes = ranks * RONDE_HANDSHAKES * sizeof(struct ronde_handshake);
    const uint64_t doorbells_bytes = ranks * sizeof(struct doorbell);
    const uint64_t descriptors_bytes = ranks * sizeof(struct ronde_memory_descriptor);
    const uint64_t cpus_bytes = ranks * sizeof *shm->cpu_balance.cpu_of;
    const uint64_t shm_bytes =
        ronde_round_up(handshakes_bytes + doorbells_bytes + descriptors_bytes + cpus_bytes,
                       PAGE_ALIGNMENT);
    enum ronde_status status =
        shm ? RONDE_OK : ronde_fail(error, RONDE_NO_MEMORY, "no memory for a communicator");
    comm->wire_self = shm;
    status = ronde_comm_agree(comm, status, error);
    RONDE_THEN(status,
               share_memory(comm, shm_bytes + ronde_p2p_shm_bytes(comm), &shm->shared, error));
    if (status != RONDE_OK)
        return status;
    struct ronde_memory_descriptor *descriptors =
        (struct ronde_memory_descriptor *)(void *)(shm->shared.start + handshakes_bytes +
                                                   doorbells_bytes);
    comm->local_handshakes = (struct ronde_handshake *)(void *)shm->shared.start;
    shm->doorbells = (struct doorbell *)(void *)(shm->shared.start + handshakes_bytes);
    shm->cpu_balance =
        (struct ronde_cpu_balance){.cpu_of = (uint32_t *)(void *)(descriptors + ranks),
                                   .ranks = comm->ranks,
                                   .rank = comm->rank};
    shm->doorbells[comm->rank].is_fenced =
        !comm->is_oversubscribed &&
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
    ronde_registered_memory_init(&shm->registered, &descriptors[comm->rank], comm->mem);
    ronde_p2p_shm_attach(comm, shm->shared.start + shm_bytes);
    status = ronde_remote_read_open(comm, descriptors, &shm->remote, error);
    /* That contains an allgather, so all ranks have written is_fenced by now. */
    shm->is_fenced = status == RONDE_OK;
    for (uint32_t rank = 0; rank < comm->ranks; rank++)
        shm->is_fenced &= shm->doorbells[rank].is_fenced != 0;
    return status;
}

static void shm_close(struct ronde_comm *comm)
{
    struct shm *shm = comm->wire_self;
    if (!shm)
        return;
    ronde_p2p_shm_detach(comm);
    ronde_remote_read_close(&shm->remote, comm->mem);
    ronde_registered_memory_close(&shm->registered);
    unshare_memory(&shm->shared);
    ronde_mem_free(comm->mem, shm, 1, sizeof *shm);
    comm->wire_self = NULL;
}

static uint64_t shm_most_slot_bytes(const struct ronde_comm *comm,
                                    const struct ronde_schedule *schedule, uint32_t depth,
                                    uint64_t usual)
{
    const struct shm *shm = comm->wire_self;
    return shm->remote.has_cma ? ronde_shm_most_slot_bytes(schedule, depth, usual) : usual;
}

/* What is sent from scratch is pulled as well, so scratch is registered. A schedule without takes no registered memory. */
static void place_scratch(const struct ronde_comm_program *program)
{
    struct shm *shm = program->comm->wire_self;
    struct ronde_loaded *loaded = program->loaded;
    for (uint32_t task = 0; task < loaded->task_count; task++)
        if (loaded->tasks[task].chunks[RONDE_SCRATCH] > 0)
            loaded->data = &shm->registered.own;
}

/* What lies in a program's memory behind the connections' regions: send copies, and what pushing needs. */
struct plan {
    uint64_t areas;
    uint64_t direct_write;
    uint64_t bytes;
};

/* The same on all ranks. */
static struct plan plan_memory(const struct ronde_comm_program *program,
                               const struct ronde_shm_layout *layout)
{
    const struct ronde_schedule *schedule = program->loaded->schedule;
    struct plan plan = {.areas = ronde_round_up(layout->count * layout->stride, PAGE_ALIGNMENT)};
    plan.direct_write = plan.areas + ronde_round_up(ronde_send_copies_bytes(program->comm, schedule),
                                                    PAGE_ALIGNMENT);
    plan.bytes = plan.direct_write + ronde_direct_write_bytes(schedule);
    return plan;
}

/* Lays everything out in the memory that has been shared. */
static enum ronde_status place_parts(struct ronde_comm_program *program, const struct plan *plan,
                                     struct ronde_error *error)
{
    struct segment *segment = program->wire_self;
    struct shm *shm = program->comm->wire_self;
    unsigned char *start = segment->shared.start;
    const bool has_areas = ronde_send_copies_bytes(program->comm, program->loaded->schedule) > 0;
    segment->layout.start = start;
    ronde_shm_layout_place(&segment->layout, program, program->loaded);
    place_scratch(program);
    ronde_direct_write_open(program, start + plan->direct_write, &segment->layout, &shm->remote);
    return ronde_send_copies_open(program, has_areas ? start + plan->areas : NULL, error);
}

static enum ronde_status shm_load(struct ronde_comm_program *program, struct ronde_error *error)
{
    struct ronde_comm *comm = program->comm;
    struct shm *shm = comm->wire_self;
    struct segment *segment = ronde_arena_new(program->loaded->arena, 1, sizeof *segment);
    program->wire_self = segment;
    enum ronde_status status =
        segment ? ronde_remote_read_reserve(&shm->remote, comm->mem, program->slot_bytes, error)
                : ronde_fail(error, RONDE_NO_MEMORY, "no memory to load the schedule");
    RONDE_THEN(status, ronde_shm_layout_open(program, &segment->layout, error));
    status = ronde_comm_agree(comm, status, error);
    if (status != RONDE_OK)
        return status;
    const struct plan plan = plan_memory(program, &segment->layout);
    status = share_memory(comm, plan.bytes, &segment->shared, error);
    return status == RONDE_OK ? place_parts(program, &plan, error) : status;
}

static void shm_unload(struct ronde_comm_program *program)
{
    struct segment *segment = program->wire_self;
    if (!segment)
        return;
    ronde_direct_write_close(program);
    unshare_memory(&segment->shared);
    program->wire_self = NULL;
}

/* A futex costs less than a pipe, but a rank cannot sleep on it and on a network at once. */
static void wake(const struct ronde_comm *comm, uint32_t rank, uint32_t *doorbell)
{
    if (comm->doorbells)
        ronde_doorbells_ring(comm->doorbells, rank);
    else
        (void)syscall(SYS_futex, doorbell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Wakes a rank that has set is_asleep. */
static void wake_sleeper(const struct ronde_comm *comm, uint32_t rank)
{
    const struct shm *shm = comm->wire_self;
    uint32_t *doorbell = &shm->doorbells[rank].is_asleep;
    if (__atomic_load_n(doorbell, __ATOMIC_RELAXED) != 0 &&
        __atomic_exchange_n(doorbell, 0, __ATOMIC_RELAXED) != 0)
        wake(comm, rank, doorbell);
}

/*
 * Orders what was posted before the doorbells are read: a rank that goes to sleep sets is_asleep first and then polls once
 * more, so that one of the two reads what the other has written.
 */
static void order_posts(const struct ronde_comm *comm)
{
    const struct shm *shm = comm->wire_self;
    if (!shm->is_fenced)
        __sync_synchronize();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Wakes the peers that sleep; the doorbells of other hosts' ranks are never set. */
static void wake_peers(const struct ronde_comm_program *program)
{
    order_posts(program->comm);
    for (uint32_t n = 0; n < program->peer_count; n++)
        wake_sleeper(program->comm, program->peers[n].rank);
}

void ronde_shm_wake(const struct ronde_comm *comm, uint32_t rank)
{
    order_posts(comm);
    wake_sleeper(comm, rank);
}

static void shm_announce(struct ronde_comm_program *program, const struct ronde_handshake *handshake)
{
    const struct ronde_comm *comm = program->comm;
    struct shm *shm = comm->wire_self;
    const size_t place = handshake->sequence % RONDE_HANDSHAKES;
    struct ronde_handshake *to =
        &comm->local_handshakes[(size_t)comm->rank * RONDE_HANDSHAKES + place];
    ronde_direct_write_publish(program);
    if (shm->published_digests[place] == program->handshake_digest)
        ronde_handshake_renew(to, handshake->sequence);
    else
        ronde_handshake_put(to, handshake);
    shm->published_digests[place] = program->handshake_digest;
    wake_peers(program);
}

static enum ronde_status shm_poll(struct ronde_comm_program *program, bool *io_moved,
                                  bool *out_is_quiet, struct ronde_error *error)
{
    struct shm *shm = program->comm->wire_self;
    (void)error;
    *out_is_quiet = true;
    /* This rank has something to do again, or is done: it need not be woken. */
    if (*io_moved) {
        uint32_t *doorbell = &shm->doorbells[program->comm->rank].is_asleep;
        if (__atomic_load_n(doorbell, __ATOMIC_RELAXED) != 0)
            __atomic_store_n(doorbell, 0, __ATOMIC_RELAXED);
        wake_peers(program);
    }
    return RONDE_OK;
}

static void shm_balance_cpus(const struct ronde_comm *comm, double now_ns)
{
    struct shm *shm = comm->wire_self;
    ronde_cpu_balance_check(&shm->cpu_balance, now_ns);
}

static uint32_t *own_doorbell(const struct ronde_comm *comm)
{
    const struct shm *shm = comm->wire_self;
    return &shm->doorbells[comm->rank].is_asleep;
}

/* Having set is_asleep, the caller polls once more, and sleeps only if that poll is empty. */
static bool shm_sleep_begin(struct ronde_comm *comm)
{
    const struct shm *shm = comm->wire_self;
    uint32_t *doorbell = own_doorbell(comm);
    if (__atomic_load_n(doorbell, __ATOMIC_RELAXED) != 0)
        return true;
    __atomic_store_n(doorbell, 1, __ATOMIC_SEQ_CST);
    __sync_synchronize();
    if (shm->is_fenced)
        (void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
    return false;
}

static bool shm_spin(const struct ronde_comm *comm, uint32_t idle)
{
    if (idle >= (comm->is_oversubscribed ? SPINS_OVERSUBSCRIBED : SPINS))
        return false;
    if (idle < PAUSES && !comm->is_oversubscribed)
        ronde_pause_core();
    else
        sched_yield();
    return true;
}

static void shm_sleep(struct ronde_comm *comm)
{
    const struct timespec sleep = {0, SLEEP_NS};
    (void)syscall(SYS_futex, own_doorbell(comm), FUTEX_WAIT, 1, &sleep, NULL, 0);
}

static void shm_wake(struct ronde_comm *comm)
{
    wake_sleeper(comm, comm->rank);
}

/* Whether the blocks of this rank's input or output, if it has any, lie in registered memory. */
static bool is_in_registered(const struct ronde_comm *comm, const struct ronde_schedule *schedule,
                             const struct ronde_launch *launch, bool is_input)
{
    struct shm *shm = comm->wire_self;
    const uint32_t blocks = ronde_schedule_blocks(schedule, is_input);
    for (uint32_t b = 0; b < blocks; b++) {
        const struct ronde_stretch block =
            ronde_launch_block(schedule, launch, comm->rank, is_input, b);
        if (block.bytes > 0 &&
            !ronde_registered_memory_holds(&shm->registered, block.start, block.bytes))
            return false;
    }
    return true;
}

/* Where some ranks only send, they run ahead of the receivers unless their buffers are pulled: eager messages gain by it. */
static uint64_t registered_from(const struct ronde_comm *comm, const struct ronde_traffic *traffic)
{
    const bool benefits = traffic->has_pure_senders && !traffic->reduces &&
                          ronde_comm_lead(comm->ranks) >= FAR_AHEAD_RUNS;
    return benefits ? RONDE_EAGER_BYTES + 1 : PULL_FROM_BYTES;
}

static bool shm_is_readable(const struct ronde_comm *comm, const struct ronde_schedule *schedule,
                            const struct ronde_launch *launch, struct ronde_habits *io_habits)
{
    const struct ronde_traffic *traffic = &schedule->traffic;
    /* CMA takes longer than a copy: it pays only where all ranks read, and into the destination. */
    const uint64_t cma_from =
        traffic->reduces || traffic->has_pure_senders ? UINT64_MAX : CMA_FROM_BYTES;
    const uint64_t registered_in_place =
        comm->is_oversubscribed ? PULL_IN_PLACE_OVERSUBSCRIBED_FROM_BYTES : PULL_IN_PLACE_FROM_BYTES;
    const struct shm *shm = comm->wire_self;
    const bool has_registered = is_in_registered(comm, schedule, launch, true) &&
                                is_in_registered(comm, schedule, launch, false);
    /* A sender does not have the layout of other ranks' blocks. */
    const bool is_writable = has_registered && !launch->in_blocks && !launch->out_blocks;
    io_habits->pull_from_bytes[0] = has_registered ? registered_from(comm, traffic) : cma_from;
    io_habits->pull_from_bytes[1] = has_registered ? registered_in_place : cma_from;
    io_habits->farthest = is_writable ? RONDE_PROTOCOL_PUSH : RONDE_PROTOCOL_PULL;
    return has_registered || shm->remote.has_cma;
}

static const unsigned char *shm_find(const struct ronde_comm *comm, uint32_t rank,
                                     const struct ronde_offer *offer, unsigned char *place,
                                     struct ronde_error *error)
{
    struct shm *shm = comm->wire_self;
    return ronde_remote_read_find(&shm->remote, rank, offer, place, error);
}

/* The flag must be visible before the memory is used for anything else: a barrier, since that is done by ordinary stores. */
static void shm_withdraw(const struct ronde_comm *comm)
{
    struct shm *shm = comm->wire_self;
    ronde_registered_memory_freeze(&shm->registered);
    __atomic_store_n(&shm->doorbells[comm->rank].has_withdrawn, 1, __ATOMIC_RELAXED);
    __sync_synchronize();
}

static bool shm_has_withdrawn(const struct ronde_comm *comm, uint32_t rank)
{
    const struct shm *shm = comm->wire_self;
    /* Not before the reads of its memory are complete. */
    __sync_synchronize();
    return __atomic_load_n(&shm->doorbells[rank].has_withdrawn, __ATOMIC_RELAXED) != 0;
}

static const struct ronde_mem *shm_memory(struct ronde_comm *comm)
{
    const struct shm *shm = comm->wire_self;
    return &shm->registered.own;
}

bool ronde_shm_can_read(const struct ronde_comm *comm, uint32_t rank,
                        const struct ronde_offer *offer)
{
    const struct shm *shm = comm->wire_self;
    return ronde_remote_read_can_find(&shm->remote, rank, offer);
}

const struct ronde_wire_memory ronde_wire_shm_memory = {
    .cpu_balance = shm_balance_cpus,
    .is_readable = shm_is_readable,
    .find = shm_find,
    .withdraw = shm_withdraw,
    .has_withdrawn = shm_has_withdrawn,
    .memory = shm_memory,
};

const struct ronde_wire ronde_wire_shm = {
    .open = shm_open_segment,
    .close = shm_close,
    .default_slot_bytes = ronde_shm_default_slot_bytes,
    .most_slot_bytes = shm_most_slot_bytes,
    .most_depth = ronde_shm_most_depth,
    .load = shm_load,
    .unload = shm_unload,
    .announce = shm_announce,
    .poll = shm_poll,
    .shared = &ronde_wire_shm_memory,
    .eager = ronde_shm_layout_eager,
    .spin = shm_spin,
    .sleep_begin = shm_sleep_begin,
    .sleep = shm_sleep,
    .wake = shm_wake,
};
