/*
 * Buffers that processes have registered: what is computed when they are read in place, from wherever they lie in whatever
 * memory, and what is moved for it.
 */
#include "net/registered.h"
#include "support/suite.h"

/* Loads at 100 percent; RONDE_TEST_SCALE is their number in percent. */
#define LOADS 30u
#define RUNS_PER_LOAD 4u

static struct team_result results[TEAM_MAX];

/* Random schedules and launches, with or without a registered segment. */
static enum ronde_status soak(const struct team_member *member, struct ronde_error *error)
{
    const struct registered_plan *plan = member->self;
    const uint32_t ranks = plan->ranks * member->join.ranks;
    const bool registers = member->join.rank != plan->without;
    const uint64_t loads = 1 + LOADS * suite_number("RONDE_TEST_SCALE", 100) / 100;
    struct registered_proc proc;
    uint64_t random = 20261129;
    enum ronde_status status = registered_open(&proc, member, plan, error);
    if (status == RONDE_OK)
        status = ronde_cuda_register(proc.self, registers ? proc.segment : NULL, REGISTERED_BYTES,
                                     &proc.registration, error);
    for (uint32_t load = 0; load < loads && status == RONDE_OK; load++) {
        proc.schedule = run_draw_schedule(ranks, &random);
        if (!team_check(member, proc.schedule != NULL, "no schedule was drawn"))
            break;
        status = ronde_cuda_load(proc.self, proc.schedule, &proc.program, error);
        for (uint32_t k = 0; k < RUNS_PER_LOAD && status == RONDE_OK; k++) {
            const struct run_target target = {.backend = &ronde_backend_cuda,
                                              .program = proc.program,
                                              .rank = member->join.rank * plan->ranks,
                                              .rank_count = plan->ranks,
                                              .mem = &proc.mem,
                                              .protocol = k % 2 == 0 ? RONDE_PROTOCOL_PULL
                                                                     : RONDE_PROTOCOL_AUTO};
            status = run_random_on(member, &target, proc.schedule, &random, error);
        }
        registered_unload(&proc);
    }
    member->result->number = registered_pulled(&proc);
    if (status == RONDE_OK)
        status = ronde_cuda_deregister(proc.self, proc.registration, error);
    registered_close(&proc, member);
    return status;
}

static void run_plan(struct registered_plan plan, uint32_t processes)
{
    team_run_expecting(processes, soak, &plan, results, RONDE_OK);
    for (uint32_t p = 0; p < processes; p++)
        CU_ASSERT_EQUAL(results[p].number > 0, p != plan.without);
    suite_note("%u processes of %u ranks: %llu launches of the first were read in place", processes,
               plan.ranks, (unsigned long long)results[0].number);
}

static void random_collectives_leave_what_host_leaves(void)
{
    run_plan((struct registered_plan){.ranks = 1, .devices = 1, .without = RONDE_NONE}, 2);
    run_plan((struct registered_plan){.ranks = 1,
                                      .devices = 1,
                                      .lacks_descriptors = true,
                                      .without = RONDE_NONE},
             4);
}

/* What an allocator that grows in place has: allocations one after another, which buffers reach over. */
static void buffers_reach_over_allocations(void)
{
    run_plan((struct registered_plan){.ranks = 1,
                                      .devices = 1,
                                      .piece_bytes = 1u << 19,
                                      .without = RONDE_NONE},
             3);
}

static void processes_have_several_ranks_and_devices(void)
{
    run_plan((struct registered_plan){.ranks = 2, .devices = 1, .without = RONDE_NONE}, 2);
    run_plan((struct registered_plan){.ranks = 3, .devices = 2, .without = RONDE_NONE}, 2);
}

/* It copies what it sends, and reads the others' in place. */
static void one_without_registered_memory_is_no_hindrance(void)
{
    run_plan((struct registered_plan){.ranks = 1, .devices = 1, .without = 1}, 3);
}

/*
 * An algorithm, and what all its ranks read and write, in blocks, before its buffers are registered and after; at most that and at
 * least `joined` where steps whose messages have come are joined.
 */
struct traffic {
    enum ronde_collective collective;
    const char *algorithm;
    double blocks[2], joined[2];
};

#define TRAFFIC_RANKS 4u
#define TRAFFIC_COUNT 80000u

static enum ronde_status count_moves(const struct team_member *member, struct ronde_error *error)
{
    const struct traffic *traffic = member->self;
    const struct registered_plan plan = {.ranks = 1, .devices = 1};
    void *in[TRAFFIC_RANKS] = {NULL}, *out[TRAFFIC_RANKS] = {NULL};
    struct registered_proc proc;
    struct ronde_result result;
    void *run = NULL;
    enum ronde_status status = registered_open(&proc, member, &plan, error);
    if (status == RONDE_OK)
        status = registered_load(&proc, traffic->collective, traffic->algorithm, error);
    in[member->join.rank] = proc.segment;
    out[member->join.rank] = proc.segment + REGISTERED_BYTES / 2;
    const struct ronde_launch launch = {.count = TRAFFIC_COUNT,
                                        .dtype = RONDE_INT32,
                                        .in = in,
                                        .out = out};
    uint64_t moved[2] = {0};
    for (int registers = 0; registers < 2; registers++) {
        const uint64_t before = emulated_gpu_counts(proc.gpus[0]).moved_bytes;
        if (status == RONDE_OK)
            status = ronde_cuda_run(proc.program, &launch, &run, error);
        if (status == RONDE_OK)
            status = ronde_cuda_wait(run, &result, error);
        moved[registers] = emulated_gpu_counts(proc.gpus[0]).moved_bytes - before;
        if (status == RONDE_OK && registers == 0)
            status = ronde_cuda_register(proc.self, proc.segment, REGISTERED_BYTES,
                                         &proc.registration, error);
    }
    member->result->number = moved[0] << 32 | moved[1];
    registered_close(&proc, member);
    return status;
}

/* Registered buffers are moved as often as those of one process's ranks (docs/reference/golden/cuda-floors.md). */
static void what_is_read_in_place_is_moved_once(void)
{
    static const struct traffic traffics[] = {{RONDE_BROADCAST, "chain", {14, 8}, {14, 8}},
                                              {RONDE_BROADCAST, "direct", {14, 8}, {14, 8}},
                                              {RONDE_ALL_GATHER, "ring", {56, 32}, {56, 32}},
                                              {RONDE_ALL_GATHER, "direct", {56, 32}, {56, 32}},
                                              {RONDE_REDUCE_SCATTER, "ring", {44, 36}, {44, 36}},
                                              {RONDE_REDUCE_SCATTER, "direct", {60, 36}, {40, 20}},
                                              {RONDE_ALL_REDUCE, "ring", {23, 15}, {23, 15}},
                                              {RONDE_ALL_REDUCE, "direct", {29, 17}, {21, 11}},
                                              {RONDE_ALL_TO_ALL, "direct", {56, 32}, {56, 32}}};
    const double block = (double)TRAFFIC_COUNT * sizeof(int32_t);
    for (size_t k = 0; k < sizeof traffics / sizeof traffics[0]; k++) {
        double blocks[2] = {0};
        team_run_expecting(TRAFFIC_RANKS, count_moves, &traffics[k], results, RONDE_OK);
        for (uint32_t p = 0; p < TRAFFIC_RANKS; p++) {
            blocks[0] += (double)(results[p].number >> 32) / block;
            blocks[1] += (double)(results[p].number & UINT32_MAX) / block;
        }
        for (unsigned i = 0; i < 2; i++)
            CU_ASSERT(blocks[i] <= traffics[k].blocks[i] && blocks[i] >= traffics[k].joined[i]);
        suite_note("%s %s: %g blocks in slots, %g in place",
                   ronde_collective_text(traffics[k].collective), traffics[k].algorithm, blocks[0],
                   blocks[1]);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(random_collectives_leave_what_host_leaves),
        SUITE_CASE(buffers_reach_over_allocations),
        SUITE_CASE(processes_have_several_ranks_and_devices),
        SUITE_CASE(one_without_registered_memory_is_no_hindrance),
        SUITE_CASE(what_is_read_in_place_is_moved_once),
    };
    return suite_run("registered", cases, sizeof cases / sizeof cases[0]);
}
