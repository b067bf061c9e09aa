/*
 * Direct writes (push) between processes: results, which ranks are written to, and what is left after a failure.
 */
#include "hw/comm/comm_parts.h"
#include "hw/shm/remote_read.h"
#include "net/large.h"
#include "support/heap.h"
#include "support/suite.h"

#include "ronde/schedules.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

static struct team_result results[TEAM_MAX];

static const struct large_how pushed = {RONDE_PROTOCOL_PUSH, true, NULL};

static void frozen_memory_is_not_freed_nor_allocated(void)
{
    struct ronde_memory_descriptor descriptor = {0};
    struct ronde_registered_memory registered;
    ronde_registered_memory_init(&registered, &descriptor, ronde_mem_default());
    char *block = ronde_mem_new(&registered.own, 5000, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(block);
    strcpy(block, "late");
    ronde_registered_memory_freeze(&registered);
    ronde_mem_free(&registered.own, block, 5000, 1);
    CU_ASSERT_STRING_EQUAL(block, "late");
    CU_ASSERT_PTR_NULL(ronde_mem_new(&registered.own, 5000, 1));
    CU_ASSERT_PTR_NULL(registered.own.resize(registered.own.self, block, 5000, 10));
    CU_ASSERT_STRING_EQUAL(block, "late");
    ronde_registered_memory_close(&registered);
}

/* --- results ------------------------------------------------------------------------------- */

/* Counts of which the last takes several pieces of long slots. */
static const uint64_t counts[] = {1, 40, 3001, 20000};

/* A loaded schedule with every count, in and out of place, in slots that are long, short, and the shortest. */
static enum ronde_status push_one(const struct team_member *member, struct ronde_comm *comm,
                                  const struct ronde_schedule *schedule,
                                  struct ronde_comm_program *program, struct ronde_error *error)
{
    static const enum ronde_op ops[] = {RONDE_SUM, RONDE_AVG, RONDE_PREMUL_SUM, RONDE_MAX};
    const struct ronde_collective_traits *traits = ronde_collective_traits(schedule->collective);
    const struct run_target target = {.backend = &ronde_backend_comm,
                                      .comm = comm,
                                      .program = program,
                                      .rank = ronde_comm_rank(comm)};
    enum ronde_status status = RONDE_OK;
    for (uint32_t k = 0; k < 8 && status == RONDE_OK; k++) {
        const bool in_place = k >= 4;
        const bool is_short = counts[k % 4] < 1000;
        if (in_place && !traits->has_in_place)
            break;
        const struct run_case given = {.shape = {.collective = schedule->collective,
                                                 .ranks = schedule->ranks,
                                                 .root = schedule->root,
                                                 .count = counts[k % 4],
                                                 .dtype = k % 2 == 0 ? RONDE_FLOAT32 : RONDE_FLOAT16,
                                                 .op = traits->reduces ? ops[k % 4] : RONDE_SUM,
                                                 .in_place = in_place,
                                                 .data = BUFFERS_BITS,
                                                 .seed = k},
                                       .mem = ronde_comm_mem(comm),
                                       .slot_bytes = k % 4 == 2 ? 1024 : 0,
                                       .protocol = RONDE_PROTOCOL_PUSH};
        struct ronde_result result;
        /* Short messages of a schedule are eager in one launch and go through slots of 64 bytes in the next. */
        for (uint32_t slot = 0; slot <= is_short && status == RONDE_OK; slot++) {
            struct run_case at = given;
            at.slot_bytes = slot == 1 ? 64 : given.slot_bytes;
            status = run_case(member, &target, schedule, &at, &result, error);
            member->result->number += status == RONDE_OK && result.protocol == RONDE_PROTOCOL_PUSH;
            (void)team_check(member, status != RONDE_OK || result.protocol == RONDE_PROTOCOL_PUSH,
                             "registered memory was not pushed");
        }
    }
    return status;
}

/* Every algorithm there is for so many ranks. */
static enum ronde_status push_all(const struct team_member *member, struct ronde_error *error)
{
    struct ronde_comm *comm = NULL;
    uint32_t count;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    enum ronde_status status = team_join(member, 60, &comm, error);
    for (uint32_t k = 0; k < count && status == RONDE_OK; k++) {
        struct ronde_schedule *schedule = NULL;
        struct ronde_comm_program *program = NULL;
        const bool has_root = ronde_collective_traits(algorithms[k]->collective)->has_root;
        if (algorithms[k]->collective == RONDE_BARRIER ||
            run_compile(algorithms[k]->collective, algorithms[k]->name, member->join.ranks,
                        has_root ? member->join.ranks - 1 : 0, &schedule, NULL) != RONDE_OK)
            continue;
        status = ronde_comm_load(comm, schedule, NULL, &program, error);
        if (status == RONDE_OK)
            status = push_one(member, comm, schedule, program, error);
        ronde_comm_unload(program);
        ronde_schedule_destroy(schedule);
    }
    ronde_comm_destroy(comm);
    return status;
}

static void what_is_pushed_is_what_host_leaves(void)
{
    for (uint32_t ranks = 2; ranks <= 5; ranks += suite_is_sample() ? 3 : 1) {
        team_run_expecting(ranks, push_all, NULL, results, RONDE_OK);
        for (uint32_t rank = 0; rank < ranks; rank++)
            CU_ASSERT(results[rank].number >= 200);
    }
}

/* --- written ranks ------------------------------------------------------------------------- */

/* Messages whose slots here say that their data were written to the final place. */
static uint64_t count_pushed(const struct ronde_comm_program *program)
{
    const struct ronde_loaded *loaded = program->loaded;
    uint64_t count = 0;
    for (uint64_t e = 0; e < loaded->end_count; e++) {
        const struct ronde_port *port = &loaded->ports[e];
        for (uint32_t slot = 0; port->peer != RONDE_NONE && !port->is_send && slot < program->depth;
             slot++)
            count += (loaded->ends[e].lengths[slot] & RONDE_LENGTH_PUSHED) != 0;
    }
    return count;
}

/* A ring's second round is pushed, all of it where no step uses the place before; into the buffers of each run. */
static enum ronde_status push_rounds(const struct team_member *member, struct ronde_error *error)
{
    const struct ronde_comm_options options = team_options(20);
    struct large large;
    enum ronde_status status = large_open(member, pushed, &options, &large, error);
    if (status == RONDE_OK)
        status = large_run(member, &large, error);
    const uint64_t messages = large.program ? count_pushed(large.program) : 0;
    (void)team_check(member, status != RONDE_OK || messages > 0, "nothing was pushed");
    /* Buffers of another place, and behind what was mapped so far. */
    float *const first = large.values;
    if (status == RONDE_OK) {
        large.values = ronde_mem_new(large.mem, 2 * LARGE_COUNT, sizeof *large.values);
        memcpy(large.values, first, LARGE_COUNT * sizeof *first);
        memset(first + LARGE_COUNT, 0x5a, LARGE_COUNT * sizeof *first);
        large.in[member->join.rank] = large.values;
        large.out[member->join.rank] = large.values + LARGE_COUNT;
        status = large_run(member, &large, error);
    }
    uint32_t touched = 0;
    for (size_t i = 0; status == RONDE_OK && i < LARGE_COUNT * sizeof *first; i++)
        touched += ((unsigned char *)(first + LARGE_COUNT))[i] != 0x5a;
    (void)team_check(member, touched == 0, "the buffers of an earlier run were written");
    ronde_mem_free(large.mem, first, 2 * LARGE_COUNT, sizeof *first);
    large_close(&large);
    return status;
}

static void what_a_rank_computes_lands_in_the_buffers_of_the_run(void)
{
    for (uint32_t ranks = 2; ranks <= 4; ranks++) {
        team_run_expecting(ranks, push_rounds, NULL, results, RONDE_OK);
    }
}

/* What rank 0 does otherwise than the others, who push. */
static const struct large_how others[] = {{RONDE_PROTOCOL_STAGED, true, NULL},
                                          {RONDE_PROTOCOL_PULL, true, NULL},
                                          {RONDE_PROTOCOL_STAGED, false, NULL}};

static enum ronde_status push_past_one(const struct team_member *member, struct ronde_error *error)
{
    const struct ronde_comm_options options = team_options(20);
    const struct large_how *how = member->join.rank == 0 ? member->self : &pushed;
    struct large large;
    enum ronde_status status = large_open(member, *how, &options, &large, error);
    for (int k = 0; k < 3 && status == RONDE_OK; k++)
        status = large_run(member, &large, error);
    (void)team_check(member,
                     status != RONDE_OK || member->join.rank != 0 ||
                         count_pushed(large.program) == 0,
                     "a rank was written to that does not push");
    large_close(&large);
    return status;
}

static void a_rank_that_does_not_push_is_not_pushed_to(void)
{
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
        team_run_expecting(3, push_past_one, &others[k], results, RONDE_OK);
    }
}

/* Memory that is not registered, and blocks whose layout others do not have: the protocol is not the one requested. */
static enum ronde_status request_what_cannot_be(const struct team_member *member,
                                                struct ronde_error *error)
{
    const struct ronde_comm_options options = team_options(20);
    const struct large_how user = {RONDE_PROTOCOL_PUSH, false, NULL};
    struct ronde_result result;
    struct large large;
    enum ronde_status status = large_open(member, user, &options, &large, error);
    for (int k = 0; k < 2 && status == RONDE_OK; k++) {
        struct ronde_blocks in[2];
        struct ronde_blocks out[2];
        in[member->join.rank] = (struct ronde_blocks){.pointers = &large.in[member->join.rank]};
        out[member->join.rank] = (struct ronde_blocks){.pointers = &large.out[member->join.rank]};
        large.launch.in_blocks = k == 1 ? in : NULL;
        large.launch.out_blocks = k == 1 ? out : NULL;
        status = ronde_comm_run(large.program, &large.launch, error);
        if (status == RONDE_OK)
            status = ronde_comm_wait(large.program, &result, error);
        const bool is_staged = large.launch.protocol == RONDE_PROTOCOL_STAGED;
        (void)team_check(member,
                         status != RONDE_OK || result.protocol == (is_staged ? RONDE_PROTOCOL_STAGED
                                                                             : RONDE_PROTOCOL_PULL),
                         "what cannot be pushed was not pulled");
    }
    large_close(&large);
    return status;
}

static void what_cannot_be_pushed_is_pulled_and_reported_so(void)
{
    team_run_expecting(2, request_what_cannot_be, NULL, results, RONDE_OK);
}

/* With protocol auto ranks that have a processor each push, if they send sums; oversubscribed ones do not. */
static enum ronde_status launch_by_auto(const struct team_member *member, struct ronde_error *error)
{
    const struct ronde_comm_options options = team_options(20);
    const struct large_how how = {RONDE_PROTOCOL_AUTO, true, NULL};
    struct ronde_result result;
    struct large large;
    enum ronde_status status = large_open(member, how, &options, &large, error);
    if (status == RONDE_OK)
        status = ronde_comm_run(large.program, &large.launch, error);
    if (status == RONDE_OK)
        status = ronde_comm_wait(large.program, &result, error);
    if (status == RONDE_OK) {
        const bool is_oversubscribed = ronde_comm_is_oversubscribed(large.comm);
        (void)team_check(member,
                         result.protocol ==
                             (is_oversubscribed ? RONDE_PROTOCOL_PULL : RONDE_PROTOCOL_PUSH),
                         is_oversubscribed ? "oversubscribed ranks do not pull"
                                           : "ranks with a processor each do not push");
        (void)team_check(member, large.values[LARGE_COUNT + 1] == 3.0f, "a sum is wrong");
    }
    large_close(&large);
    return status;
}

static void auto_pushes_where_that_pays(void)
{
    team_run_expecting(2, launch_by_auto, NULL, results, RONDE_OK);
}

/* --- failures ------------------------------------------------------------------------------ */

/* Frees what was being written the moment the run has failed; nothing comes back from there, all else works. */
static void free_at_once(const struct team_member *member, struct large *large)
{
    large_free(large);
    (void)team_check(member, !ronde_mem_new(large->mem, 2 * LARGE_COUNT, sizeof *large->values),
                     "memory that others may write is allocated again");
}

/* How rank 1 leaves a run that all are in. */
enum ending { ENDING_KILL, ENDING_ABORT, ENDING_UNLOAD, ENDING_SILENCE, ENDING_COUNT };

static void end_run(enum ending how, struct large *large)
{
    if (how == ENDING_KILL)
        raise(SIGKILL);
    if (how == ENDING_ABORT)
        ronde_comm_abort(large->comm);
    if (how == ENDING_UNLOAD) {
        ronde_comm_unload(large->program);
        large->program = NULL;
    }
}

static enum ronde_status fail_while_pushing(const struct team_member *member,
                                            struct ronde_error *error)
{
    const struct ronde_comm_options options = team_options(20);
    const enum ending how = *(const enum ending *)member->self;
    struct large large;
    bool is_done = false;
    enum ronde_status status = large_open(member, pushed, &options, &large, error);
    if (status == RONDE_OK)
        status = large_run(member, &large, error);
    if (status == RONDE_OK && how == ENDING_SILENCE && member->join.rank != 1)
        large.launch.timeout_ns = UINT64_C(200000000) * team_patience();
    if (status == RONDE_OK)
        status = ronde_comm_run(large.program, &large.launch, error);
    /* A rank that receives the failure before it begins is not written to. */
    const bool has_begun = status == RONDE_OK;
    /* A burst of steps is not a run: rank 1 stops in the middle of it. */
    if (status == RONDE_OK && member->join.rank == 1) {
        status = ronde_comm_test(large.program, &is_done, error);
        (void)team_check(member, !is_done, "the run was over before it failed");
        end_run(how, &large);
        /* A silent rank polls nothing but the control channel. */
        while (how == ENDING_SILENCE && status == RONDE_OK)
            status = ronde_comm_allgather(large.comm, NULL, 0, NULL, error);
    }
    while (status == RONDE_OK && !is_done && large.program)
        status = ronde_comm_test(large.program, &is_done, error);
    if (has_begun)
        free_at_once(member, &large);
    large_close(&large);
    return status;
}

static void memory_of_a_run_that_failed_may_be_freed_at_once(void)
{
    static const enum ronde_status expected[] = {RONDE_DEVICE, RONDE_TIMEOUT, RONDE_TIMEOUT,
                                                 RONDE_TIMEOUT};
    for (enum ending how = ENDING_KILL; how < ENDING_COUNT; how++) {
        CU_ASSERT_FATAL(team_run(3, fail_while_pushing, &how, results));
        for (uint32_t rank = 0; rank < 3; rank += 2) {
            team_expect(&results[rank], 1, expected[how]);
            if (!strstr(results[rank].message, "rank 1"))
                suite_note("rank %u: \"%s\" %s", rank, results[rank].message, results[rank].failure);
            CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "rank 1"));
        }
        CU_ASSERT_EQUAL(results[1].signal, how == ENDING_KILL ? SIGKILL : 0);
    }
}

/* Flags between two ranks whose communicator has failed. */
struct signals {
    uint32_t has_begun;
    uint32_t has_freed;
    uint32_t has_written;
};

static void set_flag(uint32_t *flag)
{
    __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
}

static void await_flag(const uint32_t *flag)
{
    while (__atomic_load_n(flag, __ATOMIC_SEQ_CST) == 0)
        sched_yield();
}

/* Runs into its time limit, frees and allocates memory; counts what was written afterwards. */
static enum ronde_status give_up_early(const struct team_member *member, struct large *large,
                                       struct signals *signals, struct ronde_error *error)
{
    struct ronde_result result;
    float *const out = large->values + LARGE_COUNT;
    memset(out, 0, LARGE_COUNT * sizeof *out);
    large->launch.timeout_ns = UINT64_C(100000000);
    await_flag(&signals->has_begun);
    enum ronde_status status = ronde_comm_run(large->program, &large->launch, error);
    if (status == RONDE_OK)
        status = ronde_comm_wait(large->program, &result, error);
    uint64_t before = 0;
    uint64_t after = 0;
    for (uint32_t i = 0; i < LARGE_COUNT; i++)
        before += out[i] != 0;
    free_at_once(member, large);
    set_flag(&signals->has_freed);
    await_flag(&signals->has_written);
    for (uint32_t i = 0; i < LARGE_COUNT; i++)
        after += out[i] != 0;
    (void)team_check(member, after > before, "nothing was written late");
    return status;
}

/* Pauses until the other has failed and freed its memory, and continues the run without having received the failure. */
static enum ronde_status write_late(struct large *large, struct signals *signals,
                                    struct ronde_error *error)
{
    bool is_done = false;
    enum ronde_status status = ronde_comm_run(large->program, &large->launch, error);
    set_flag(&signals->has_begun);
    await_flag(&signals->has_freed);
    if (status == RONDE_OK)
        status = ronde_comm_test(large->program, &is_done, error);
    set_flag(&signals->has_written);
    while (status == RONDE_OK && !is_done)
        status = ronde_comm_test(large->program, &is_done, error);
    return status;
}

static enum ronde_status outlast(const struct team_member *member, struct ronde_error *error)
{
    const struct ronde_comm_options options = team_options(20);
    struct signals *signals = *(struct signals *const *)member->self;
    struct large large;
    enum ronde_status status = large_open(member, pushed, &options, &large, error);
    if (status == RONDE_OK)
        status = large_run(member, &large, error);
    if (status == RONDE_OK)
        status = member->join.rank == 0 ? give_up_early(member, &large, signals, error)
                                        : write_late(&large, signals, error);
    large_close(&large);
    return status;
}

static void late_writes_hit_nothing_that_is_in_use(void)
{
    struct signals *signals =
        mmap(NULL, sizeof *signals, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(signals != MAP_FAILED);
    team_run_expecting(2, outlast, &signals, results, RONDE_TIMEOUT);
    (void)munmap(signals, sizeof *signals);
}

/* Memory that pushing needs runs out at every allocation in turn; nothing was published by then, and the run can be repeated. */
static enum ronde_status run_out_of_memory(const struct team_member *member,
                                           struct ronde_error *error)
{
    const struct ronde_comm_options options = team_options(20);
    struct heap heap = heap_start(SIZE_MAX, true);
    const struct ronde_mem mem = heap_mem(&heap);
    const struct large_how how = {RONDE_PROTOCOL_PUSH, true, &mem};
    struct large large;
    struct ronde_result result;
    struct ronde_error why = {0};
    enum ronde_status status = large_open(member, how, &options, &large, error);
    enum ronde_status run = status == RONDE_OK ? RONDE_NO_MEMORY : status;
    uint32_t refused = 0;
    for (; run == RONDE_NO_MEMORY; refused++) {
        heap.refuse_at = heap.requests + refused;
        run = ronde_comm_run(large.program, &large.launch, &why);
    }
    heap.refuse_at = SIZE_MAX;
    (void)team_check(member, refused > 3, "nothing was refused");
    status = run == RONDE_OK ? ronde_comm_wait(large.program, &result, error) : run;
    (void)team_check(member, status != RONDE_OK || result.protocol == RONDE_PROTOCOL_PUSH,
                     "the run was not pushed");
    large_close(&large);
    (void)team_check(member, heap.live_blocks == 0, "a communicator leaks");
    return status;
}

static void lack_of_memory_is_reported_before_buffers_are_published(void)
{
    team_run_expecting(3, run_out_of_memory, NULL, results, RONDE_OK);
}

/* --- of several hosts ---------------------------------------------------------------------- */

static bool use_hybrid(void)
{
    const char *reason = NULL;
    if (!ronde_transport_available(RONDE_TRANSPORT_HYBRID, &reason)) {
        suite_skip("%s", reason);
        return false;
    }
    team_transport = RONDE_TRANSPORT_HYBRID;
    team_ranks_per_host = 2;
    return true;
}

static void use_proc(void)
{
    team_transport = RONDE_TRANSPORT_SHM;
    team_ranks_per_host = 0;
}

static void of_several_hosts_what_is_pushed_is_what_host_leaves(void)
{
    if (!use_hybrid())
        return;
    CU_ASSERT_FATAL(team_run(4, push_all, NULL, results));
    use_proc();
    team_expect(results, 4, RONDE_OK);
}

static void of_several_hosts_memory_may_be_freed_at_once(void)
{
    if (!use_hybrid())
        return;
    memory_of_a_run_that_failed_may_be_freed_at_once();
    use_proc();
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"frozen_memory_is_not_freed_nor_allocated", frozen_memory_is_not_freed_nor_allocated},
        {"what_is_pushed_is_what_host_leaves", what_is_pushed_is_what_host_leaves},
        {"what_a_rank_computes_lands_in_the_buffers_of_the_run",
         what_a_rank_computes_lands_in_the_buffers_of_the_run},
        {"a_rank_that_does_not_push_is_not_pushed_to", a_rank_that_does_not_push_is_not_pushed_to},
        {"what_cannot_be_pushed_is_pulled_and_reported_so",
         what_cannot_be_pushed_is_pulled_and_reported_so},
        {"auto_pushes_where_that_pays", auto_pushes_where_that_pays},
        {"memory_of_a_run_that_failed_may_be_freed_at_once",
         memory_of_a_run_that_failed_may_be_freed_at_once},
        {"late_writes_hit_nothing_that_is_in_use", late_writes_hit_nothing_that_is_in_use},
        {"lack_of_memory_is_reported_before_buffers_are_published",
         lack_of_memory_is_reported_before_buffers_are_published},
        {"of_several_hosts_what_is_pushed_is_what_host_leaves",
         of_several_hosts_what_is_pushed_is_what_host_leaves},
        {"of_several_hosts_memory_may_be_freed_at_once",
         of_several_hosts_memory_may_be_freed_at_once},
    };
    return suite_run("direct_write", cases, sizeof cases / sizeof cases[0]);
}
