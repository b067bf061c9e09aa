/*
 * Copies of what is sent: which sends make one and which share it, when a launch has them at all, and that the copies of
 * all ranks, runs, pieces and steps lie apart.
 */
#include "hw/comm/comm_parts.h"
#include "ronde/schedules.h"
#include "support/heap.h"
#include "support/suite.h"

#include <string.h>

#define AREA_BYTES ((uint64_t)1 << 22)
#define RUN_BYTES ((uint64_t)1 << 16)
#define SLOT_BYTES ((uint64_t)1 << 16)

/* One rank of a schedule, as in a process of its own. */
struct fixture {
    struct ronde_schedule *schedule;
    struct ronde_comm comm;
    struct ronde_comm_program program;
    unsigned char areas[1]; /* nothing is copied, so it need not be longer */
};

static bool begin(struct fixture *fixture, enum ronde_collective collective, const char *algorithm,
                  uint32_t ranks, uint32_t rank)
{
    const struct ronde_compile_request request = {.collective = collective,
                                                  .algorithm = algorithm,
                                                  .ranks = ranks};
    struct ronde_error error = {0};
    memset(fixture, 0, sizeof *fixture);
    fixture->comm = (struct ronde_comm){.mem = ronde_mem_default(),
                                        .rank = rank,
                                        .ranks = ranks,
                                        .is_oversubscribed = true,
                                        .transport = RONDE_TRANSPORT_SHM};
    fixture->program.comm = &fixture->comm;
    CU_ASSERT_EQUAL_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &fixture->schedule,
                                        &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_loaded_create_rank(fixture->schedule, rank, ronde_mem_default(),
                                                   &fixture->program.loaded, &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL(ronde_send_copies_open(&fixture->program, fixture->areas, &error), RONDE_OK);
    return fixture->program.send_copies.copies != NULL;
}

static void end(struct fixture *fixture)
{
    ronde_send_copies_close(&fixture->program);
    CU_ASSERT_PTR_NULL(fixture->program.send_copies.copies);
    ronde_loaded_destroy(fixture->program.loaded);
    ronde_schedule_destroy(fixture->schedule);
}

/* The root of a broadcast sends one block to everyone: one copy, made by the first send. */
static void readers_of_one_block_share_its_copy(void)
{
    for (uint32_t ranks = 2; ranks <= 9; ranks++) {
        struct fixture fixture;
        uint32_t makers = 0, users = 0;
        if (!begin(&fixture, RONDE_BROADCAST, "direct", ranks, 0))
            return;
        const struct ronde_program *program = fixture.program.loaded->tasks[0].view.program;
        CU_ASSERT_EQUAL(fixture.program.send_copies.most, 1);
        for (uint32_t step = 0; step < program->step_count; step++) {
            if (!ronde_step_sends(program->steps[step].op))
                continue;
            makers += fixture.program.send_copies.copies[step] & 1u;
            users++;
            CU_ASSERT_EQUAL(fixture.program.send_copies.copies[step] / 2, 0);
        }
        CU_ASSERT_EQUAL(makers, 1);
        CU_ASSERT_EQUAL(users, ranks - 1);
        end(&fixture);
    }
}

/* The root of a scatter sends every rank another block. */
static void other_blocks_have_copies_of_their_own(void)
{
    for (uint32_t ranks = 2; ranks <= 9; ranks++) {
        struct fixture fixture;
        unsigned seen = 0;
        if (!begin(&fixture, RONDE_SCATTER, "direct", ranks, 0))
            return;
        const struct ronde_program *program = fixture.program.loaded->tasks[0].view.program;
        CU_ASSERT_EQUAL(fixture.program.send_copies.most, ranks - 1);
        for (uint32_t step = 0; step < program->step_count; step++) {
            const uint32_t entry = fixture.program.send_copies.copies[step];
            if (!ronde_step_sends(program->steps[step].op))
                continue;
            CU_ASSERT_EQUAL(entry & 1u, 1);
            CU_ASSERT_EQUAL(seen >> (entry / 2) & 1u, 0);
            seen |= 1u << (entry / 2);
        }
        CU_ASSERT_EQUAL(seen, (1u << (ranks - 1)) - 1);
        end(&fixture);
    }
}

/* In every algorithm: a copy that is used has been made, by the same lane, once, of the same chunks. */
static uint32_t wrong_copies(const struct ronde_program *program, const uint32_t *copies,
                             uint32_t most)
{
    uint32_t wrong = 0;
    for (uint32_t lane = 0; lane < program->lane_count; lane++) {
        const struct ronde_step *maker = NULL;
        uint32_t current = UINT32_MAX;
        for (uint32_t s = program->lane_first[lane]; s < program->lane_first[lane + 1]; s++) {
            const struct ronde_step *step = &program->steps[s];
            const uint32_t flags = RONDE_FLAG_BUFFERED | RONDE_FLAG_BUFFERED_IN_PLACE;
            if (!ronde_step_sends(step->op) || step->chunk_count == 0 || (step->flags & flags) != 0 ||
                ronde_step_reduces(step->op) || step->op == RONDE_STEP_RS)
                continue;
            wrong += copies[s] / 2 >= most;
            if ((copies[s] & 1u) != 0) {
                wrong += current != UINT32_MAX && copies[s] / 2 <= current;
                current = copies[s] / 2;
                maker = step;
            } else {
                wrong += copies[s] / 2 != current || !maker ||
                         maker->source_chunk != step->source_chunk ||
                         maker->chunk_count != step->chunk_count || maker->source != step->source;
            }
        }
    }
    return wrong;
}

static void every_copy_that_is_used_was_made_before(void)
{
    uint32_t count = 0, copies = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t ranks = 2; ranks <= 8; ranks += 2) {
            struct fixture fixture;
            struct ronde_compile_request request = {.collective = algorithms[a]->collective,
                                                    .ranks = ranks};
            struct ronde_error why = {0};
            request.algorithm = algorithms[a]->name;
            if (algorithms[a]->supports(&request, &why) != RONDE_OK ||
                !begin(&fixture, request.collective, request.algorithm, ranks, ranks / 2))
                continue;
            const struct ronde_program *program = fixture.program.loaded->tasks[0].view.program;
            const uint32_t wrong = wrong_copies(program, fixture.program.send_copies.copies,
                                                fixture.program.send_copies.most);
            CU_ASSERT_EQUAL(wrong, 0);
            if (wrong > 0)
                suite_note("%s %s on %u ranks", ronde_collective_text(request.collective),
                           request.algorithm, ranks);
            copies += fixture.program.send_copies.most;
            end(&fixture);
        }
    CU_ASSERT(copies > 100);
}

/* Only where ranks take turns on processors, share memory, and one of them only sends what nobody combines. */
static void areas_are_there_where_they_pay(void)
{
    static const struct {
        enum ronde_collective collective;
        const char *algorithm;
        bool pays;
    } rows[] = {
        {RONDE_BROADCAST, "direct", true}, {RONDE_SCATTER, "direct", true},
        {RONDE_ALL_REDUCE, "ring", false}, {RONDE_REDUCE, "binomial", false},
        {RONDE_ALL_GATHER, "ring", false}, {RONDE_ALL_TO_ALL, "direct", false},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct fixture fixture;
        if (!begin(&fixture, rows[k].collective, rows[k].algorithm, 4, 0))
            return;
        const uint64_t expected = rows[k].pays ? 4 * AREA_BYTES : 0;
        CU_ASSERT_EQUAL(ronde_send_copies_bytes(&fixture.comm, fixture.schedule), expected);
        fixture.comm.is_oversubscribed = false;
        CU_ASSERT_EQUAL(ronde_send_copies_bytes(&fixture.comm, fixture.schedule), 0);
        fixture.comm.is_oversubscribed = true;
        fixture.comm.transport = RONDE_TRANSPORT_UCX;
        CU_ASSERT_EQUAL(ronde_send_copies_bytes(&fixture.comm, fixture.schedule), 0);
        end(&fixture);
    }
}

/* A prepared run of so many pieces with slots of so many bytes. */
static void prepare(struct fixture *fixture, uint64_t pieces, uint64_t stride)
{
    ronde_send_copies_undo(&fixture->program);
    fixture->program.loaded->frame.piece_count = pieces;
    fixture->program.loaded->frame.slot_stride = stride;
}

static void a_launch_has_copies_where_they_fit(void)
{
    static const struct {
        uint64_t pieces, stride;
        bool fits;
    } rows[] = {
        {1, 64, true},
        {1, RUN_BYTES / 3, true},
        {1, RUN_BYTES / 3 + 1, false},
        {2, RUN_BYTES / 6, true},
        {2, RUN_BYTES / 6 + 1, false},
        {RUN_BYTES, 1, false},
        {RUN_BYTES + 1, 1, false},
        {1, UINT64_MAX / 2, false},
        {UINT64_MAX, UINT64_MAX, false},
    };
    const struct ronde_launch launch = {.count = 1};
    struct fixture fixture;
    if (!begin(&fixture, RONDE_SCATTER, "direct", 4, 0))
        return;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        prepare(&fixture, rows[k].pieces, rows[k].stride);
        (void)ronde_send_copies_choose(&fixture.program, &launch);
        CU_ASSERT_EQUAL(fixture.program.loaded->frame.copies_sends, rows[k].fits);
    }
    end(&fixture);
}

/* The area of a rank, with few ranks and with many. */
static void many_ranks_have_smaller_areas(void)
{
    static const struct {
        uint32_t ranks;
        uint64_t bytes;
    } rows[] = {{2, AREA_BYTES},
                {16, AREA_BYTES},
                {32, AREA_BYTES / 2},
                {128, AREA_BYTES / 8},
                {1000, AREA_BYTES / 8}};
    struct fixture fixture;
    if (!begin(&fixture, RONDE_BROADCAST, "direct", 4, 0))
        return;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        fixture.comm.ranks = rows[k].ranks;
        CU_ASSERT_EQUAL(ronde_send_copies_bytes(&fixture.comm, fixture.schedule),
                        rows[k].ranks * rows[k].bytes);
    }
    end(&fixture);
}

/* What is longer has copies of its last pieces if several ranks read them, and nothing else is better. */
static void a_longer_launch_holds_pieces_that_are_shared(void)
{
    static const struct {
        const char *algorithm;
        uint64_t stride;
        uint32_t rank, depth, no_pull, pieces;
    } rows[] = {
        {"direct", SLOT_BYTES, 0, 8, 0, 8},       {"direct", SLOT_BYTES, 0, 64, 0, 64},
        {"direct", SLOT_BYTES, 0, 200, 0, 64},    {"direct", 4 * SLOT_BYTES, 0, 64, 0, 16},
        {"direct", 16 * SLOT_BYTES, 0, 64, 0, 4}, {"direct", 17 * SLOT_BYTES, 0, 64, 0, 0},
        {"direct", UINT64_MAX, 0, 64, 0, 0},      {"direct", SLOT_BYTES, 0, 64, 1, 0},
        {"direct", SLOT_BYTES, 1, 64, 0, 0},      {"binomial", SLOT_BYTES, 0, 8, 0, 8},
        {"chain", SLOT_BYTES, 0, 8, 0, 0},
    };
    const struct ronde_launch launch = {.count = 1};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct fixture fixture;
        if (!begin(&fixture, RONDE_BROADCAST, rows[k].algorithm, 4, rows[k].rank))
            return;
        struct ronde_frame *frame = &fixture.program.loaded->frame;
        prepare(&fixture, 100, rows[k].stride);
        frame->depth = rows[k].depth;
        frame->no_pull = rows[k].no_pull;
        const bool is_other = ronde_send_copies_choose(&fixture.program, &launch);
        CU_ASSERT_EQUAL(fixture.program.send_copies.pieces, rows[k].pieces);
        CU_ASSERT(is_other == frame->copies_sends);
        if (rows[k].rank == 0)
            CU_ASSERT_EQUAL(frame->copies_sends, rows[k].pieces > 0);
        /* The same launch again finds the frame as this one did. */
        ronde_send_copies_undo(&fixture.program);
        CU_ASSERT_EQUAL(frame->no_pull, rows[k].no_pull);
        CU_ASSERT_FALSE(ronde_send_copies_choose(&fixture.program, &launch));
        CU_ASSERT_EQUAL(fixture.program.send_copies.pieces, rows[k].pieces);
        end(&fixture);
    }
}

/* A copy is made once every reader has consumed the piece in whose place it goes, and each on its own. */
static void a_copy_waits_for_all_readers_of_its_place(void)
{
    enum { PIECES = 8, SENT = 20 };
    const struct ronde_launch launch = {.count = 1};
    uint64_t freed[3] = {0};
    struct fixture fixture;
    if (!begin(&fixture, RONDE_BROADCAST, "direct", 4, 0))
        return;
    struct ronde_loaded *loaded = fixture.program.loaded;
    const struct ronde_program *program = loaded->tasks[0].view.program;
    struct ronde_lane *lane = &loaded->lanes[0];
    prepare(&fixture, 100, SLOT_BYTES);
    loaded->frame.depth = PIECES;
    (void)ronde_send_copies_choose(&fixture.program, &launch);
    CU_ASSERT_EQUAL_FATAL(lane->end - lane->first, 3);
    lane->step = lane->first;
    lane->piece = SENT;
    for (uint32_t k = 0; k < 3; k++) {
        struct ronde_end *to = &loaded->tasks[0].ends[program->steps[lane->first + k].send];
        to->theirs = &freed[k];
        to->count = SENT;
    }
    for (uint32_t late = 0; late < 3; late++) {
        for (uint32_t k = 0; k < 3; k++)
            freed[k] = k == late ? SENT - PIECES : SENT;
        for (uint32_t k = 0; k < 3; k++)
            loaded->tasks[0].ends[program->steps[lane->first + k].send].seen = 0;
        CU_ASSERT_FALSE(ronde_send_copies_may_copy(&fixture.program, lane));
        freed[late]++;
        CU_ASSERT_TRUE(ronde_send_copies_may_copy(&fixture.program, lane));
    }
    /* Those that only offer the copy wait for their own slots, as ever. */
    freed[0] = 0;
    loaded->tasks[0].ends[program->steps[lane->first].send].seen = 0;
    CU_ASSERT_FALSE(ronde_send_copies_may_copy(&fixture.program, lane));
    lane->step++;
    CU_ASSERT_TRUE(ronde_send_copies_may_copy(&fixture.program, lane));
    lane->step = lane->first;
    lane->piece = loaded->frame.piece_count;
    CU_ASSERT_TRUE(ronde_send_copies_may_copy(&fixture.program, lane));
    end(&fixture);
}

/* A device runs the lanes; here it is never asked to. */
static enum ronde_status drive(struct ronde_comm_program *program, bool *io_moved,
                               struct ronde_error *error)
{
    (void)program;
    *io_moved = false;
    return ronde_fail(error, RONDE_DEVICE, "there is no device");
}

static void a_launch_that_moves_data_otherwise_has_none(void)
{
    struct ronde_launch launch = {.count = 1};
    struct fixture fixture;
    if (!begin(&fixture, RONDE_SCATTER, "direct", 4, 0))
        return;
    prepare(&fixture, 1, 64);
    launch.protocol = RONDE_PROTOCOL_STAGED;
    CU_ASSERT_FALSE(ronde_send_copies_choose(&fixture.program, &launch));
    CU_ASSERT_FALSE(fixture.program.loaded->frame.copies_sends);
    launch.protocol = RONDE_PROTOCOL_AUTO;
    fixture.program.has_eager = true;
    CU_ASSERT_FALSE(ronde_send_copies_choose(&fixture.program, &launch));
    CU_ASSERT_FALSE(fixture.program.loaded->frame.copies_sends);
    fixture.program.has_eager = false;
    fixture.program.drive = drive;
    CU_ASSERT_FALSE(ronde_send_copies_choose(&fixture.program, &launch));
    CU_ASSERT_FALSE(fixture.program.loaded->frame.copies_sends);
    fixture.program.drive = NULL;
    CU_ASSERT_TRUE(ronde_send_copies_choose(&fixture.program, &launch));
    CU_ASSERT_TRUE(fixture.program.loaded->frame.copies_sends);
    end(&fixture);
}

/* Whether copies lie elsewhere than before decides whether earlier ones must have been read. */
static void another_size_is_told_and_the_same_is_not(void)
{
    const struct ronde_launch launch = {.count = 1};
    struct fixture fixture;
    if (!begin(&fixture, RONDE_SCATTER, "direct", 4, 0))
        return;
    prepare(&fixture, 1, 64);
    CU_ASSERT_TRUE(ronde_send_copies_choose(&fixture.program, &launch));
    prepare(&fixture, 1, 64);
    CU_ASSERT_FALSE(ronde_send_copies_choose(&fixture.program, &launch));
    prepare(&fixture, 2, 64);
    CU_ASSERT_TRUE(ronde_send_copies_choose(&fixture.program, &launch));
    prepare(&fixture, 1, 128); /* as many bytes, in the same places */
    CU_ASSERT_FALSE(ronde_send_copies_choose(&fixture.program, &launch));
    end(&fixture);
}

static void runs_take_the_memory_in_turns(void)
{
    const struct ronde_launch launch = {.count = 1};
    struct fixture fixture;
    if (!begin(&fixture, RONDE_BROADCAST, "direct", 4, 0))
        return;
    prepare(&fixture, 1, 64);
    (void)ronde_send_copies_choose(&fixture.program, &launch);
    for (uint32_t run = 1; run <= 3 * RONDE_SEND_COPY_RUNS; run++) {
        ronde_send_copies_next_run(&fixture.program);
        CU_ASSERT_EQUAL(fixture.program.send_copies.run, run % RONDE_SEND_COPY_RUNS);
    }
    /* A run without copies leaves them to their readers. */
    fixture.program.loaded->frame.copies_sends = false;
    ronde_send_copies_next_run(&fixture.program);
    CU_ASSERT_EQUAL(fixture.program.send_copies.run, 0);
    end(&fixture);
}

static void without_memory_it_is_an_error(void)
{
    struct heap heap = heap_start(SIZE_MAX, false);
    const struct ronde_mem mem = heap_mem(&heap);
    struct ronde_error error = {0};
    struct fixture fixture;
    if (!begin(&fixture, RONDE_SCATTER, "direct", 4, 0))
        return;
    ronde_send_copies_close(&fixture.program);
    fixture.comm.mem = &mem;
    for (size_t at = 0; at < 2; at++) {
        heap.refuse_at = heap.requests + at;
        error.status = RONDE_OK;
        CU_ASSERT_EQUAL(ronde_send_copies_open(&fixture.program, fixture.areas, &error),
                        RONDE_NO_MEMORY);
        CU_ASSERT_STRING_EQUAL(error.message, "no memory for the copies of 1 tasks");
        CU_ASSERT_PTR_NULL(fixture.program.send_copies.areas);
        ronde_send_copies_close(&fixture.program);
    }
    end(&fixture);
    CU_ASSERT_EQUAL(heap.live_blocks, 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"readers_of_one_block_share_its_copy", readers_of_one_block_share_its_copy},
        {"other_blocks_have_copies_of_their_own", other_blocks_have_copies_of_their_own},
        {"every_copy_that_is_used_was_made_before", every_copy_that_is_used_was_made_before},
        {"areas_are_there_where_they_pay", areas_are_there_where_they_pay},
        {"a_launch_has_copies_where_they_fit", a_launch_has_copies_where_they_fit},
        {"many_ranks_have_smaller_areas", many_ranks_have_smaller_areas},
        {"a_longer_launch_holds_pieces_that_are_shared",
         a_longer_launch_holds_pieces_that_are_shared},
        {"a_copy_waits_for_all_readers_of_its_place", a_copy_waits_for_all_readers_of_its_place},
        {"a_launch_that_moves_data_otherwise_has_none", a_launch_that_moves_data_otherwise_has_none},
        {"another_size_is_told_and_the_same_is_not", another_size_is_told_and_the_same_is_not},
        {"runs_take_the_memory_in_turns", runs_take_the_memory_in_turns},
        {"without_memory_it_is_an_error", without_memory_it_is_an_error},
    };
    return suite_run("send_copies", cases, sizeof cases / sizeof cases[0]);
}
