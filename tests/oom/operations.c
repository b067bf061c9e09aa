#include "oom/operations.h"

#include "support/buffers.h"
#include "support/suite.h"

#include "ronde/choice.h"
#include "ronde/sim.h"

/* Elements of a block in runs and prices: a few grains per chunk, several pieces with the small slot. */
#define COUNT 301u

/* Slot of runs and prices: several pieces. */
#define SLOT_BYTES 64u

enum ronde_status oom_compile(const void *context, const struct ronde_mem *mem,
                              struct ronde_error *error)
{
    struct ronde_schedule *schedule = (struct ronde_schedule *)(uintptr_t)1;
    struct ronde_proof proof;
    const enum ronde_status status = ronde_compile(context, mem, &proof, &schedule, error);
    CU_ASSERT_EQUAL(status == RONDE_OK, schedule != NULL);
    ronde_schedule_destroy(schedule);
    return status;
}

/* A builder is given up half way: what it holds goes with it, and the error it keeps is lost with it too. */
enum ronde_status oom_give_up(const void *context, const struct ronde_mem *mem,
                              struct ronde_error *error)
{
    struct ronde_builder *builder = (struct ronde_builder *)(uintptr_t)1;
    const enum ronde_status status = ronde_builder_create(context, mem, &builder, error);
    CU_ASSERT_EQUAL(status == RONDE_OK, builder != NULL);
    ronde_builder_destroy(builder);
    return status;
}

/* Everybody sends its input to everybody, and a lane of its own adds up what has come. */
static void state_all_pairs(struct ronde_builder *builder)
{
    static const uint32_t backwards[5] = {4, 3, 2, 1, 0};
    ronde_builder_chunks(builder, 5);
    ronde_builder_scratch(builder, 20);
    ronde_builder_channel(builder, 2, NULL);
    ronde_builder_channel(builder, 1, backwards);
    ronde_builder_round_begin(builder);
    for (uint32_t shift = 1; shift < 5; shift++)
        for (uint32_t q = 0; q < 5; q++) {
            const struct ronde_transfer transfer = {.from = q,
                                                    .to = (q + shift) % 5,
                                                    .source = ronde_chunks(RONDE_IN, 0, 5),
                                                    .target = ronde_chunks(RONDE_SCRATCH,
                                                                           (shift - 1) * 5, 5)};
            ronde_builder_transfer(builder, &transfer);
        }
    ronde_builder_round_end(builder);
    for (uint32_t q = 0; q < 5; q++) {
        ronde_builder_copy(builder, q, 1, ronde_chunks(RONDE_IN, 0, 5),
                           ronde_chunks(RONDE_OUT, 0, 5));
        for (uint32_t k = 0; k < 4; k++)
            ronde_builder_reduce(builder, q, 1, ronde_chunks(RONDE_SCRATCH, k * 5, 5),
                                 ronde_chunks(RONDE_OUT, 0, 5));
    }
}

/* What no built-in does all at once: rounds, scratch, lanes, weighted channels with orders, local reductions. */
enum ronde_status oom_build_by_hand(const void *context, const struct ronde_mem *mem,
                                    struct ronde_error *error)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_builder *builder;
    enum ronde_status status = ronde_builder_create(context, mem, &builder, error);
    if (status != RONDE_OK)
        return status;
    state_all_pairs(builder);
    status = ronde_schedule_finish(builder, NULL, &schedule, error);
    CU_ASSERT_EQUAL(status == RONDE_OK, schedule != NULL);
    ronde_schedule_destroy(schedule);
    return status;
}

enum ronde_status oom_print(const void *context, const struct ronde_mem *mem,
                            struct ronde_error *error)
{
    const struct oom_use *use = context;
    char *text = (char *)(uintptr_t)1;
    size_t bytes = 0;
    const enum ronde_status status = ronde_schedule_print(use->schedule, mem, &text, &bytes, error);
    CU_ASSERT_EQUAL(status == RONDE_OK, text != NULL);
    if (text)
        ronde_mem_free(mem, text, bytes + 1, 1);
    return status;
}

enum ronde_status oom_read_back(const void *context, const struct ronde_mem *mem,
                                struct ronde_error *error)
{
    const struct oom_use *use = context;
    struct ronde_schedule *schedule = (struct ronde_schedule *)(uintptr_t)1;
    const enum ronde_status status =
        ronde_schedule_read(use->text, use->text_bytes, "text", mem, NULL, &schedule, error);
    CU_ASSERT_EQUAL(status == RONDE_OK, schedule != NULL);
    ronde_schedule_destroy(schedule);
    return status;
}

enum ronde_status oom_prove_expansion(const void *context, const struct ronde_mem *mem,
                                      struct ronde_error *error)
{
    const struct oom_use *use = context;
    struct ronde_proof proof;
    return ronde_schedule_prove_expansion(use->schedule, mem, &proof, error);
}

const struct ronde_load oom_load = {.count = COUNT, .dtype = RONDE_FLOAT32, .slot_bytes = SLOT_BYTES};

const struct ronde_network oom_network = {.time = {.alpha_ns = 100, .step_ns = 10},
                                          .latency_ns = 500,
                                          .port_GBps = 10};

enum ronde_status oom_make_dag(const void *context, const struct ronde_mem *mem,
                               struct ronde_error *error)
{
    const struct oom_use *use = context;
    struct ronde_dag *dag = (struct ronde_dag *)(uintptr_t)1;
    const enum ronde_status status =
        ronde_dag_create(use->schedule, &oom_load, &oom_network.time, mem, &dag, error);
    CU_ASSERT_EQUAL(status == RONDE_OK, dag != NULL);
    ronde_dag_destroy(dag, mem);
    return status;
}

enum ronde_status oom_price(const void *context, const struct ronde_mem *mem,
                            struct ronde_error *error)
{
    const struct oom_use *use = context;
    double time_ns;
    return ronde_dag_price(use->schedule, &oom_load, &oom_network, mem, &time_ns, error);
}

enum ronde_status oom_choose(const void *context, const struct ronde_mem *mem,
                             struct ronde_error *error)
{
    const struct ronde_pricer pricer = ronde_network_pricer(&oom_network);
    struct ronde_quote quotes[16];
    struct ronde_choice choice;
    enum ronde_status status = ronde_choice_init(context, mem, &choice, error);
    if (status != RONDE_OK)
        return status;
    status = ronde_choice_price(&choice, &oom_load, &pricer, quotes, error);
    ronde_choice_fini(&choice);
    return status;
}

enum ronde_status oom_replay(const void *context, const struct ronde_mem *mem,
                             struct ronde_error *error)
{
    const struct oom_use *use = context;
    struct ronde_sim_result result;
    return ronde_sim_flat(use->platform, use->dag, NULL, mem, &result, error);
}

enum ronde_status oom_read_platform(const void *context, const struct ronde_mem *mem,
                                    struct ronde_error *error)
{
    struct ronde_platform *platform = (struct ronde_platform *)(uintptr_t)1;
    const enum ronde_status status = ronde_platform_read(context, mem, &platform, error);
    CU_ASSERT_EQUAL(status == RONDE_OK, platform != NULL);
    ronde_platform_destroy(platform);
    return status;
}

enum ronde_status oom_compose(const void *context, const struct ronde_mem *mem,
                              struct ronde_error *error)
{
    const struct oom_pair *pair = context;
    struct ronde_schedule *schedule = (struct ronde_schedule *)(uintptr_t)1;
    const enum ronde_status status =
        ronde_schedule_compose(pair->first, pair->second, RONDE_ALL_REDUCE, mem, &schedule, error);
    CU_ASSERT_EQUAL(status == RONDE_OK, schedule != NULL);
    ronde_schedule_destroy(schedule);
    return status;
}

/* Runs twice, so that what the first run leaves behind meets the allocations of the second, which has a longer slot. */
static enum ronde_status run_twice(const struct oom_use *use, void *self, struct buffers *buffers,
                                   struct ronde_error *error)
{
    void *program = (void *)(uintptr_t)1;
    enum ronde_status status = use->backend->load(self, use->schedule, &program, error);
    CU_ASSERT_EQUAL(status == RONDE_OK, program != NULL);
    for (unsigned i = 0; i < 2 && status == RONDE_OK; i++) {
        const struct ronde_launch launch = {.count = COUNT,
                                            .dtype = RONDE_FLOAT32,
                                            .op = RONDE_SUM,
                                            .in = buffers->in,
                                            .out = buffers->out,
                                            .slot_bytes = SLOT_BYTES << i};
        struct ronde_result result;
        void *run = (void *)(uintptr_t)1;
        status = use->backend->run(program, &launch, &run, error);
        CU_ASSERT_EQUAL(status == RONDE_OK, run != NULL);
        if (status == RONDE_OK)
            status = use->backend->wait(run, &result, error);
    }
    use->backend->unload(program);
    return status;
}

/* The backend's whole life: open, load, run, unload, close. */
enum ronde_status oom_run(const void *context, const struct ronde_mem *mem,
                          struct ronde_error *error)
{
    const struct oom_use *use = context;
    const struct buffers_shape shape = {.collective = use->schedule->collective,
                                        .ranks = use->schedule->ranks,
                                        .root = use->schedule->root,
                                        .count = COUNT,
                                        .dtype = RONDE_FLOAT32};
    struct ronde_machine machine;
    struct buffers buffers;
    void *self = (void *)(uintptr_t)1;
    if (!buffers_create(&shape, &buffers))
        return RONDE_NO_MEMORY;
    enum ronde_status status = use->backend->probe(&machine, error);
    if (status == RONDE_OK)
        status = use->backend->open(&machine, mem, &self, error);
    CU_ASSERT_EQUAL(status == RONDE_OK, self != NULL);
    if (status == RONDE_OK)
        status = run_twice(use, self, &buffers, error);
    use->backend->close(self);
    buffers_destroy(&buffers);
    return status;
}
