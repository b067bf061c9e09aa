/* The queue of a replay: random arrivals against a plain list, whole moments at a time, and what happens without memory. */
#include "support/suite.h"

#include "sim/shared/event_queue.h"
#include "support/buffers.h"
#include "support/heap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 4096u

/* What is in the queue, and when it arrives. */
struct item {
    double at_ns;
    struct ronde_sim_arrival arrival;
};

/* The list the queue is held to. */
struct model {
    struct ronde_sim_queue queue;
    struct item items[MOST];
    uint32_t count;
    uint32_t next_op;
};

static void begin(struct model *model)
{
    memset(model, 0, sizeof *model);
    model->queue.mem = ronde_mem_default();
}

static void push(struct model *model, double at_ns, double ready_ns)
{
    const struct ronde_sim_arrival arrival = {ready_ns, model->next_op, model->next_op % 7,
                                              model->next_op % 3};
    CU_ASSERT_FATAL(model->count < MOST);
    model->items[model->count++] = (struct item){at_ns, arrival};
    model->next_op++;
    CU_ASSERT_TRUE(ronde_sim_queue_push(&model->queue, at_ns, arrival));
}

static int by_order(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    if (a->arrival.ready_ns != b->arrival.ready_ns)
        return a->arrival.ready_ns < b->arrival.ready_ns ? -1 : 1;
    return (a->arrival.op > b->arrival.op) - (a->arrival.op < b->arrival.op);
}

static bool is_same(const struct ronde_sim_arrival *a, const struct ronde_sim_arrival *b)
{
    return a->ready_ns == b->ready_ns && a->op == b->op && a->kind == b->kind && a->hop == b->hop;
}

/* Takes a moment from both; returns arrivals that differ. */
static uint32_t pop_at(struct model *model, uint32_t *out_count, double *out_ns)
{
    const struct ronde_sim_arrival *batch = NULL;
    double at_ns = -1;
    uint32_t count = 0, wrong = 0, same = 0;
    qsort(model->items, model->count, sizeof model->items[0], by_order);
    while (same < model->count && model->items[same].at_ns == model->items[0].at_ns)
        same++;
    CU_ASSERT_TRUE(ronde_sim_queue_pop(&model->queue, &at_ns, &batch, &count));
    *out_count = count;
    *out_ns = count > 0 ? at_ns : *out_ns;
    wrong += count != same || (count > 0 && at_ns != model->items[0].at_ns);
    for (uint32_t i = 0; i < count && i < same; i++)
        wrong += !is_same(&batch[i], &model->items[i].arrival);
    memmove(model->items, model->items + same, (model->count - same) * sizeof model->items[0]);
    model->count -= same;
    return wrong;
}

static uint32_t pop(struct model *model, uint32_t *out_count)
{
    double at_ns = 0;
    return pop_at(model, out_count, &at_ns);
}

static void an_empty_queue_gives_nothing(void)
{
    struct model model;
    const struct ronde_sim_arrival *batch = NULL;
    double at_ns = 0;
    uint32_t count = 7;
    begin(&model);
    CU_ASSERT_TRUE(ronde_sim_queue_pop(&model.queue, &at_ns, &batch, &count));
    CU_ASSERT_EQUAL(count, 0);
    push(&model, 5, 0);
    CU_ASSERT_EQUAL(pop(&model, &count), 0);
    CU_ASSERT_EQUAL(count, 1);
    CU_ASSERT_EQUAL(pop(&model, &count), 0);
    CU_ASSERT_EQUAL(count, 0);
    ronde_sim_queue_free(&model.queue);
}

/* As many at one time as fill bunches exactly, one less and one more; in order, backwards, and in two runs. */
static void a_moment_gives_all_its_arrivals_in_order(void)
{
    for (uint32_t size = 1; size <= 24; size++)
        for (uint32_t way = 0; way < 4; way++) {
            struct model model;
            uint32_t count = 0;
            begin(&model);
            for (uint32_t i = 0; i < size; i++) {
                const double ready[] = {i, size - i, i % 2 ? size + i : i, 3};
                push(&model, 100, ready[way]);
            }
            push(&model, 101, 0);
            CU_ASSERT_EQUAL(pop(&model, &count), 0);
            CU_ASSERT_EQUAL(count, size);
            CU_ASSERT_EQUAL(pop(&model, &count), 0);
            CU_ASSERT_EQUAL(count, 1);
            ronde_sim_queue_free(&model.queue);
        }
}

/* A replay: what is pushed is never before what was popped, many times come twice, and the queue fills and empties. */
static void random_arrivals_come_in_order(void)
{
    static struct model model;
    uint64_t random = 9;
    for (uint32_t round = 0; round < 12; round++) {
        double now_ns = 0;
        uint32_t wrong = 0, moments = 0, arrivals = 0, count = 0;
        begin(&model);
        for (uint32_t step = 0; step < 600; step++) {
            const uint32_t more = (uint32_t)(buffers_draw(&random) % (step < 400 ? 8 : 2));
            for (uint32_t i = 0; i < more; i++) {
                const double later_ns = (double)(buffers_draw(&random) % 64) * (round % 2 ? 1 : 0.1);
                push(&model, now_ns + later_ns, (double)(buffers_draw(&random) % 5));
            }
            wrong += pop_at(&model, &count, &now_ns);
            moments += count > 0;
            arrivals += count;
        }
        while (model.count > 0)
            wrong += pop(&model, &count);
        CU_ASSERT_EQUAL(wrong, 0);
        CU_ASSERT(moments > 200 && arrivals > moments);
        ronde_sim_queue_free(&model.queue);
    }
}

/* Times that differ in the last bit are two moments; tiny, huge and equal ones are told apart. */
static void times_are_told_apart_to_the_last_bit(void)
{
    static const double times[] = {0, 5e-324, 1, 1 + 0x1p-52, 1 + 0x1p-51, 1e18, 1e18 + 128, 1e300};
    struct model model;
    begin(&model);
    for (uint32_t again = 0; again < 3; again++)
        for (size_t i = sizeof times / sizeof times[0]; i-- > 0;)
            push(&model, times[i], (double)again);
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        uint32_t count = 0;
        CU_ASSERT_EQUAL(pop(&model, &count), 0);
        CU_ASSERT_EQUAL(count, 3);
    }
    CU_ASSERT_EQUAL(model.count, 0);
    ronde_sim_queue_free(&model.queue);
}

/* A batch stays readable while its arrivals lead to others at the same time and later. */
static void a_batch_stays_while_others_are_pushed(void)
{
    struct model model;
    const struct ronde_sim_arrival *batch = NULL;
    double at_ns = 0;
    uint32_t count = 0, kept = 0;
    begin(&model);
    for (uint32_t i = 0; i < 50; i++)
        push(&model, 10, 50 - i);
    CU_ASSERT_TRUE(ronde_sim_queue_pop(&model.queue, &at_ns, &batch, &count));
    CU_ASSERT_EQUAL_FATAL(count, 50);
    model.count = 0;
    for (uint32_t i = 0; i < 2000; i++)
        push(&model, 10 + i % 100, i);
    for (uint32_t i = 0; i < 50; i++)
        kept += batch[i].ready_ns == i + 1 && batch[i].op == 49 - i;
    CU_ASSERT_EQUAL(kept, 50);
    for (uint32_t moment = 0; moment < 100; moment++) {
        CU_ASSERT_EQUAL(pop(&model, &count), 0);
        CU_ASSERT_EQUAL(count, 20);
    }
    ronde_sim_queue_free(&model.queue);
}

/* What was used is used again: a queue that never holds more than a few moments stays as small. */
static void slots_are_used_again(void)
{
    struct heap heap = heap_start(SIZE_MAX, false);
    const struct ronde_mem mem = heap_mem(&heap);
    struct ronde_sim_queue queue = {.mem = &mem};
    size_t bytes = 0;
    for (uint32_t i = 0; i < 5000; i++) {
        const struct ronde_sim_arrival *batch = NULL;
        const struct ronde_sim_arrival arrival = {i, i, 0, 0};
        double at_ns = 0;
        uint32_t count = 0;
        for (uint32_t k = 0; k < 3; k++)
            CU_ASSERT_TRUE(ronde_sim_queue_push(&queue, i + k, arrival));
        CU_ASSERT_TRUE(ronde_sim_queue_pop(&queue, &at_ns, &batch, &count));
        CU_ASSERT_EQUAL(at_ns, i);
        CU_ASSERT_EQUAL(count, i < 2 ? i + 1 : 3);
        bytes = i == 10 ? heap.live_bytes : bytes;
    }
    CU_ASSERT_EQUAL(heap.live_bytes, bytes);
    ronde_sim_queue_free(&queue);
    CU_ASSERT_EQUAL(heap.live_blocks, 0);
    CU_ASSERT_EQUAL(heap.wrong_sizes, 0);
}

static void a_queue_without_memory_says_so(void)
{
    uint32_t refusals = 0;
    for (size_t refused = 0; refused < 40; refused++) {
        struct heap heap = heap_start(refused, false);
        const struct ronde_mem mem = heap_mem(&heap);
        struct ronde_sim_queue queue = {.mem = &mem};
        const struct ronde_sim_arrival *batch = NULL;
        double at_ns = 0;
        uint32_t count = 1;
        bool is_fine = true;
        for (uint32_t i = 0; i < 300 && is_fine; i++)
            is_fine = ronde_sim_queue_push(&queue, i / 2, (struct ronde_sim_arrival){i, i, 0, 0});
        while (is_fine && count > 0)
            is_fine = ronde_sim_queue_pop(&queue, &at_ns, &batch, &count);
        CU_ASSERT_EQUAL(is_fine, heap.requests <= refused);
        refusals += !is_fine;
        ronde_sim_queue_free(&queue);
        CU_ASSERT_EQUAL(heap.live_blocks, 0);
        CU_ASSERT_EQUAL(heap.wrong_sizes, 0);
    }
    CU_ASSERT(refusals > 5);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"an_empty_queue_gives_nothing", an_empty_queue_gives_nothing},
        {"a_moment_gives_all_its_arrivals_in_order", a_moment_gives_all_its_arrivals_in_order},
        {"random_arrivals_come_in_order", random_arrivals_come_in_order},
        {"times_are_told_apart_to_the_last_bit", times_are_told_apart_to_the_last_bit},
        {"a_batch_stays_while_others_are_pushed", a_batch_stays_while_others_are_pushed},
        {"slots_are_used_again", slots_are_used_again},
        {"a_queue_without_memory_says_so", a_queue_without_memory_says_so},
    };
    return suite_run("event_queue", cases, sizeof cases / sizeof cases[0]);
}
