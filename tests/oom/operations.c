#include "oom/operations.h"

#include "support/buffers.h"
#include "support/suite.h"

#include "ronde/ronde.h"
#include "ronde/select.h"
#include "ronde/sim.h"
#include "ronde/synthesize.h"

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

/* Every rank sends its input to all, and a lane of its own adds up what was received. */
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

enum ronde_status oom_reorder(const void *context, const struct ronde_mem *mem,
                              struct ronde_error *error)
{
    const struct oom_use *use = context;
    const struct ronde_schedule *schedule = use->schedule;
    const size_t ranks = schedule->ranks;
    uint32_t *orders =
        ronde_mem_new(ronde_mem_default(), schedule->channel_count * ranks, sizeof *orders);
    struct ronde_schedule *copy = (struct ronde_schedule *)(uintptr_t)1;
    CU_ASSERT_PTR_NOT_NULL_FATAL(orders);
    for (uint32_t channel = 0; channel < schedule->channel_count; channel++)
        for (uint32_t q = 0; q < ranks; q++)
            orders[channel * ranks + q] = ronde_channel_rank(&schedule->channels[channel], q);
    const enum ronde_status status = ronde_schedule_reorder(schedule, orders, mem, &copy, error);
    CU_ASSERT_EQUAL(status == RONDE_OK, copy != NULL);
    ronde_schedule_destroy(copy);
    ronde_mem_free(ronde_mem_default(), orders, schedule->channel_count * ranks, sizeof *orders);
    return status;
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

enum ronde_status oom_synthesize(const void *context, const struct ronde_mem *mem,
                                 struct ronde_error *error)
{
    const struct oom_use *use = context;
    const struct ronde_synthesis_request request = {.collective = RONDE_ALL_REDUCE,
                                                    .ranks = 6,
                                                    .trees = 1};
    struct ronde_schedule *schedule = NULL;
    struct ronde_synthesis made;
    const enum ronde_status status =
        ronde_synthesize(use->platform, &request, mem, &schedule, &made, error);
    ronde_schedule_destroy(schedule);
    return status;
}

enum ronde_status oom_choose(const void *context, const struct ronde_mem *mem,
                             struct ronde_error *error)
{
    const struct ronde_pricer pricer = ronde_network_pricer(&oom_network);
    struct ronde_quote quotes[32];
    struct ronde_choice choice;
    enum ronde_status status = ronde_choice_init(context, mem, &choice, error);
    if (status != RONDE_OK)
        return status;
    status = ronde_choice_price(&choice, &oom_load, &pricer, quotes, error);
    ronde_choice_fini(&choice);
    return status;
}

enum ronde_status oom_select(const void *context, const struct ronde_mem *mem,
                             struct ronde_error *error)
{
    const struct ronde_select_query *query = context;
    struct ronde_selection selection;
    return ronde_select(query, mem, &selection, error);
}

enum ronde_status oom_read_measured(const void *context, const struct ronde_mem *mem,
                                    struct ronde_error *error)
{
    struct ronde_measured *table = (struct ronde_measured *)(uintptr_t)1;
    const enum ronde_status status = ronde_measured_read(context, mem, &table, error);
    CU_ASSERT_EQUAL(status == RONDE_OK, table != NULL);
    ronde_measured_destroy(table, mem);
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

/* A call that is pending, and one that is waited for in a group. */
static enum ronde_status call_pending(struct ronde_comm *comm, struct ronde_error *error)
{
    int32_t data = 1;
    int32_t message = 0;
    struct ronde_request *requests[2] = {NULL};
    enum ronde_status status =
        ronde_all_gather(comm, &data, &data, 1, RONDE_INT32, NULL, &requests[0], error);
    CU_ASSERT_EQUAL(status == RONDE_OK, requests[0] != NULL);
    if (status == RONDE_OK)
        status = ronde_request_wait(requests[0], 0, error);
    ronde_group_begin();
    if (status == RONDE_OK)
        status = ronde_recv(comm, &message, 1, RONDE_INT32, 0, 3, &requests[1], error);
    if (status == RONDE_OK)
        status = ronde_send(comm, &data, 1, RONDE_INT32, 0, 3, NULL, error);
    const enum ronde_status end = ronde_group_end(status == RONDE_OK ? error : NULL);
    status = status == RONDE_OK ? end : status;
    if (status == RONDE_OK)
        status = ronde_request_wait(requests[1], 0, error);
    CU_ASSERT(status != RONDE_OK || message == 1);
    ronde_request_free(requests[0]);
    ronde_request_free(requests[1]);
    return status;
}

static enum ronde_status call_each(struct ronde_comm *comm, struct ronde_error *error)
{
    static const uint64_t count = 2;
    static const uint64_t offset = 0;
    const int32_t in[2] = {1, 2};
    int32_t out[2] = {0};
    const int32_t factor = 3;
    const struct ronde_call scaled = {.collective = RONDE_ALL_REDUCE,
                                      .dtype = RONDE_INT32,
                                      .op = RONDE_PREMUL_SUM,
                                      .in = in,
                                      .out = out,
                                      .count = 2,
                                      .factor = &factor};
    enum ronde_status status = ronde_start(comm, &scaled, NULL, error);
    CU_ASSERT(status != RONDE_OK || out[1] == 6);
    if (status == RONDE_OK)
        status = ronde_all_to_all_v(comm, in, &count, &offset, out, &count, &offset, 0, RONDE_INT32,
                                    NULL, NULL, error);
    CU_ASSERT(status != RONDE_OK || out[1] == 2);
    return status;
}

/* Progress by the caller: the sweep's heap belongs to one thread, but for loading, which the caller waits for. */
enum ronde_status oom_call(const void *context, const struct ronde_mem *mem,
                           struct ronde_error *error)
{
    const struct ronde_join join = {.token = context, .ranks = 1};
    const struct ronde_comm_options options = {.transport = RONDE_TRANSPORT_SHM};
    struct ronde_comm *comm = NULL;
    enum ronde_status status = ronde_comm_join(&join, &options, mem, &comm, error);
    if (status == RONDE_OK)
        status = ronde_comm_progress(comm, RONDE_PROGRESS_CALLER, error);
    if (status == RONDE_OK)
        status = call_each(comm, error);
    if (status == RONDE_OK)
        status = call_pending(comm, error);
    ronde_comm_destroy(comm);
    return status;
}
