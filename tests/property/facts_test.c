/**
 * A schedule does what its facts say when they are read one after the other. Whatever the builder makes of them (steps
 * fused, copies dropped, lanes that wait for each other, messages sorted), memory ends up the same in every
 * interleaving. The facts are random and add up to no collective, so that they reach what no algorithm states.
 */
#include "engine/ir/arena.h"
#include "engine/ir/derive.h"
#include "engine/ir/finish.h"
#include "support/buffers.h"
#include "support/suite.h"

#include "ronde/engine.h"

#include <stdio.h>
#include <string.h>

#define RANKS_MAX 5u
#define CHUNKS_MAX 6u
#define FACTS_MAX 24u
#define LANES 3u

/* A chunk is one grain, so that all are equally long. */
#define CHUNK_ELEMENTS (RONDE_GRAIN_BYTES / sizeof(uint32_t))

/** Memory of all ranks, a value per element. */
struct memory {
    uint32_t in[RANKS_MAX][CHUNKS_MAX * CHUNK_ELEMENTS];
    uint32_t out[RANKS_MAX][CHUNKS_MAX * CHUNK_ELEMENTS];
};

/** Facts in the making: stated to a builder and to a memory. */
struct story {
    uint64_t random;
    uint32_t ranks, chunks;
    struct ronde_builder *builder;
    struct memory memory;
    struct ronde_transfer last; /**< what the next message may pass on */
};

static uint32_t draw(struct story *story, uint32_t below)
{
    return (uint32_t)(buffers_draw(&story->random) % below);
}

static uint32_t chunk_of(const struct story *story, struct ronde_operand operand, uint32_t item)
{
    const uint32_t run = operand.run > 0 ? operand.run : operand.count;
    const uint32_t stride = operand.run > 0 ? operand.stride : operand.count;
    return (operand.first + item / run * stride + item % run) % story->chunks;
}

/** Chunks of an operand in the order in which messages and steps take them. */
static void list(const struct story *story, struct ronde_operand operand, uint32_t *out_chunks)
{
    uint32_t filled = 0;
    for (uint32_t chunk = 0; chunk < story->chunks; chunk++)
        for (uint32_t item = 0; item < operand.count; item++)
            if (chunk_of(story, operand, item) == chunk)
                out_chunks[filled++] = chunk;
}

static uint32_t *chunk_at(struct memory *memory, uint32_t rank, enum ronde_buffer buffer,
                          uint32_t chunk)
{
    return (buffer == RONDE_IN ? memory->in[rank] : memory->out[rank]) + chunk * CHUNK_ELEMENTS;
}

/** The first `count` chunks somewhere in a buffer, one run or several. */
static struct ronde_operand draw_operand(struct story *story, enum ronde_buffer buffer,
                                         uint32_t count)
{
    struct ronde_operand operand = ronde_chunks(buffer, draw(story, story->chunks), count);
    if (count > 1 && 2 * count - 1 <= story->chunks && draw(story, 2) == 0) {
        operand.run = 1;
        operand.stride = 2;
    }
    return operand;
}

static bool meet(const struct story *story, struct ronde_operand a, struct ronde_operand b)
{
    for (uint32_t i = 0; i < a.count; i++)
        for (uint32_t k = 0; k < b.count; k++)
            if (chunk_of(story, a, i) == chunk_of(story, b, k))
                return a.buffer == b.buffer;
    return false;
}

/** target <- source, or with + source: chunk by chunk in ascending order, from values read before any is written. */
static void state_to_memory(struct story *story, const struct ronde_transfer *fact, uint32_t to,
                            const struct ronde_operand *with)
{
    uint32_t chunks[3][CHUNKS_MAX];
    struct memory before = story->memory;
    list(story, fact->source, chunks[0]);
    list(story, fact->target, chunks[1]);
    list(story, with ? *with : fact->target, chunks[2]);
    for (uint32_t item = 0; item < fact->source.count; item++) {
        const uint32_t *source = chunk_at(&before, fact->from, fact->source.buffer, chunks[0][item]);
        const uint32_t *other = with ? chunk_at(&before, to, with->buffer, chunks[2][item]) : NULL;
        uint32_t *target = chunk_at(&story->memory, to, RONDE_OUT, chunks[1][item]);
        for (uint32_t k = 0; k < CHUNK_ELEMENTS; k++)
            target[k] = source[k] + (other ? other[k] : 0);
    }
}

/** Where a message comes from: often what its sender has just received, so that it may be passed on in one step. */
static struct ronde_transfer draw_source(struct story *story, uint32_t count)
{
    const struct ronde_transfer *last = &story->last;
    if (last->target.count > 0 && draw(story, 2) == 0)
        return (struct ronde_transfer){.from = last->to,
                                       .from_lane = last->to_lane,
                                       .source = last->target};
    return (struct ronde_transfer){
        .from = draw(story, story->ranks),
        .from_lane = draw(story, LANES),
        .source = draw_operand(story, draw(story, 3) == 0 ? RONDE_IN : RONDE_OUT, count)};
}

/** A message to another rank, which keeps it or adds it to something of its own. */
static void state_transfer(struct story *story, uint32_t wanted)
{
    struct ronde_transfer transfer = draw_source(story, wanted);
    const uint32_t count = transfer.source.count;
    transfer.to = (transfer.from + 1 + draw(story, story->ranks - 1)) % story->ranks;
    transfer.to_lane = draw(story, LANES);
    transfer.is_apart = draw(story, 4) == 0;
    transfer.reduces = draw(story, 2) == 0;
    transfer.target = draw_operand(story, RONDE_OUT, count);
    transfer.with = draw(story, 2) == 0 ? transfer.target : draw_operand(story, RONDE_IN, count);
    ronde_builder_transfer(story->builder, &transfer);
    state_to_memory(story, &transfer, transfer.to, transfer.reduces ? &transfer.with : NULL);
    story->last = transfer;
}

/** A copy or a sum within a rank; what is read must not be written by the same step. */
static void state_local(struct story *story, uint32_t count)
{
    const bool reduces = draw(story, 2) == 0;
    struct ronde_transfer local = {.from = draw(story, story->ranks)};
    const uint32_t lane = draw(story, LANES);
    local.target = draw_operand(story, RONDE_OUT, count);
    local.source = draw_operand(story, RONDE_OUT, count);
    if (meet(story, local.source, local.target))
        local.source.buffer = RONDE_IN;
    if (reduces)
        ronde_builder_reduce(story->builder, local.from, lane, local.source, local.target);
    else
        ronde_builder_copy(story->builder, local.from, lane, local.source, local.target);
    state_to_memory(story, &local, local.from, reduces ? &local.target : NULL);
}

/** Random inputs, which every rank copies to its output first: nothing undefined is read later. */
static void begin(struct story *story)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .ranks = story->ranks};
    CU_ASSERT_FATAL(ronde_builder_create(&request, ronde_mem_default(), &story->builder, NULL) ==
                    RONDE_OK);
    ronde_builder_chunks(story->builder, story->chunks);
    for (uint32_t rank = 0; rank < story->ranks; rank++) {
        for (uint32_t i = 0; i < story->chunks * CHUNK_ELEMENTS; i++)
            story->memory.in[rank][i] = draw(story, UINT32_MAX);
        memcpy(story->memory.out[rank], story->memory.in[rank], sizeof story->memory.out[rank]);
        ronde_builder_copy(story->builder, rank, draw(story, LANES),
                           ronde_chunks(RONDE_IN, 0, story->chunks),
                           ronde_chunks(RONDE_OUT, 0, story->chunks));
    }
}

/** What ronde_schedule_finish does, up to the proof that this is some collective. */
static void derive(struct story *story)
{
    struct ronde_schedule *schedule = story->builder->schedule;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(story->builder->error.status, RONDE_OK);
    schedule->channels = ronde_arena_new(schedule->arena, 1, sizeof *schedule->channels);
    CU_ASSERT_PTR_NOT_NULL_FATAL(schedule->channels);
    schedule->channels[0].weight = 1;
    schedule->channel_count = 1;
    CU_ASSERT_EQUAL_FATAL(ronde_derive(story->builder, &error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_finish_unproved(schedule, 1, &error), RONDE_OK);
}

/** Runs what was derived in a random interleaving and compares all memory. */
static bool runs_as_stated(const struct story *story, void *host)
{
    struct memory memory = {.out = {{0}}};
    struct ronde_result result;
    struct ronde_error error = {0};
    void *in[RANKS_MAX], *out[RANKS_MAX];
    memcpy(memory.in, story->memory.in, sizeof memory.in);
    for (uint32_t rank = 0; rank < story->ranks; rank++) {
        in[rank] = memory.in[rank];
        out[rank] = memory.out[rank];
    }
    const struct ronde_launch launch = {.count = story->chunks * CHUNK_ELEMENTS,
                                        .dtype = RONDE_UINT32,
                                        .op = RONDE_SUM,
                                        .in = in,
                                        .out = out,
                                        .depth = 2 * FACTS_MAX,
                                        .seed = story->random | 1};
    const enum ronde_status status =
        ronde_backend_run_once(&ronde_backend_host, host, story->builder->schedule, &launch,
                               &result, &error);
    if (status != RONDE_OK)
        suite_note("%s", error.message);
    return status == RONDE_OK && memcmp(&memory, &story->memory, sizeof memory) == 0;
}

static uint64_t count_fused(const struct ronde_schedule *schedule)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < schedule->program_count; i++)
        for (uint32_t k = 0; k < schedule->programs[i].step_count; k++) {
            const enum ronde_step_op op = (enum ronde_step_op)schedule->programs[i].steps[k].op;
            count += ronde_step_receives(op) && ronde_step_sends(op);
        }
    return count;
}

static void try_story(uint64_t seed, void *host, uint64_t *fused)
{
    struct story story = {.random = seed};
    story.ranks = 2 + draw(&story, RANKS_MAX - 1);
    story.chunks = 1 + draw(&story, CHUNKS_MAX);
    begin(&story);
    const uint32_t facts = 1 + draw(&story, FACTS_MAX);
    for (uint32_t i = 0; i < facts; i++) {
        const uint32_t count = 1 + draw(&story, story.chunks);
        if (draw(&story, 4) > 0)
            state_transfer(&story, count);
        else
            state_local(&story, count);
    }
    derive(&story);
    *fused += count_fused(story.builder->schedule);
    const bool is_right = runs_as_stated(&story, host);
    CU_ASSERT(is_right);
    if (!is_right)
        suite_note("story %llu: %u ranks, %u chunks, %u facts", (unsigned long long)seed,
                   story.ranks, story.chunks, facts);
    ronde_builder_destroy(story.builder);
}

static void schedules_do_what_their_facts_say(void)
{
    const uint64_t stories = 3000 * suite_number("RONDE_TEST_SCALE", 100) / 100;
    struct ronde_machine machine;
    void *host = NULL;
    uint64_t fused = 0;
    CU_ASSERT_FATAL(ronde_backend_host.probe(&machine, NULL) == RONDE_OK);
    CU_ASSERT_FATAL(ronde_backend_host.open(&machine, ronde_mem_default(), &host, NULL) == RONDE_OK);
    for (uint64_t seed = 1; seed <= stories; seed++)
        try_story(seed, host, &fused);
    ronde_backend_host.close(host);
    suite_note("%llu stories, %llu steps that receive and send", (unsigned long long)stories,
               (unsigned long long)fused);
    CU_ASSERT(fused > stories);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"schedules_do_what_their_facts_say", schedules_do_what_their_facts_say},
    };
    return suite_run("facts", cases, sizeof cases / sizeof cases[0]);
}
