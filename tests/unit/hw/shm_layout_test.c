/*
 * Where connections lie in shared memory: every rank computes it by itself, so both ends of a connection must come to the
 * same place, and no two connections to places that overlap, for every algorithm.
 */
#include "hw/shm/layout.h"
#include "ronde/schedules.h"
#include "support/schedule.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

#define MOST_RANKS 8u
#define SLOT_BYTES 1000u

/* All ranks of a schedule, loaded as by processes of their own. */
struct host {
    struct ronde_schedule *schedule;
    uint32_t leaders[MOST_RANKS];
    struct ronde_comm comms[MOST_RANKS];
    struct ronde_comm_program programs[MOST_RANKS];
    struct ronde_shm_layout layouts[MOST_RANKS];
    unsigned char *memory;
    uint64_t bytes;
};

static bool load_rank(struct host *host, uint32_t rank, uint32_t depth)
{
    struct ronde_error error = {0};
    struct ronde_comm_program *program = &host->programs[rank];
    host->comms[rank] = (struct ronde_comm){.mem = ronde_mem_default(),
                                            .rank = rank,
                                            .ranks = host->schedule->ranks,
                                            .leaders = host->leaders};
    *program = (struct ronde_comm_program){.comm = &host->comms[rank],
                                           .slot_bytes = SLOT_BYTES,
                                           .depth = depth};
    CU_ASSERT_EQUAL(ronde_loaded_create_rank(host->schedule, rank, ronde_mem_default(),
                                             &program->loaded, &error),
                    RONDE_OK);
    if (!program->loaded)
        return false;
    CU_ASSERT_EQUAL(ronde_shm_layout_open(program, &host->layouts[rank], &error), RONDE_OK);
    host->bytes = host->layouts[rank].count * host->layouts[rank].stride;
    return true;
}

/* Places the ranks one after another, each by its own layout; `hosts` of so many ranks each do not share memory. */
static bool open_host(struct host *host, const struct ronde_compile_request *request,
                      uint32_t depth, uint32_t ranks_per_host)
{
    struct ronde_error error = {0};
    memset(host, 0, sizeof *host);
    if (ronde_compile(request, ronde_mem_default(), NULL, &host->schedule, &error) != RONDE_OK)
        return false;
    for (uint32_t rank = 0; rank < request->ranks; rank++)
        host->leaders[rank] = rank - rank % ranks_per_host;
    const uint32_t used =
        depth ? depth : ronde_launch_depth(host->schedule, &(struct ronde_launch){0});
    for (uint32_t rank = 0; rank < request->ranks; rank++)
        if (!load_rank(host, rank, used))
            return false;
    host->memory = aligned_alloc(128, (size_t)(host->bytes + 128) / 128 * 128);
    CU_ASSERT_PTR_NOT_NULL_FATAL(host->memory);
    for (uint32_t rank = 0; rank < request->ranks; rank++) {
        host->layouts[rank].start = host->memory;
        ronde_shm_layout_place(&host->layouts[rank], &host->programs[rank],
                               host->programs[rank].loaded);
    }
    return true;
}

static void close_host(struct host *host)
{
    for (uint32_t rank = 0; rank < MOST_RANKS; rank++)
        ronde_loaded_destroy(host->programs[rank].loaded);
    ronde_schedule_destroy(host->schedule);
    free(host->memory);
}

/* An end of a rank, and where it begins in the shared memory. */
static uint64_t start_of(const struct host *host, const struct ronde_end *end)
{
    return (uint64_t)((const unsigned char *)end->lengths - sizeof(struct ronde_fifo) - host->memory);
}

/* The receiving end of what `rank` sends on a port, by the names that both ends know. */
static const struct ronde_end *other_end(const struct host *host, uint32_t rank,
                                         const struct ronde_port *port)
{
    const struct ronde_loaded *there = host->programs[port->peer].loaded;
    for (uint64_t e = 0; e < there->end_count; e++) {
        const struct ronde_port *at = &there->ports[e];
        if (!at->is_send && at->peer == rank && at->channel == port->channel &&
            at->number == port->number)
            return &there->ends[e];
    }
    return NULL;
}

/* A sending end: its region is the receiver's, counters crossed, and everything up to the last eager slot is inside. */
static bool is_right(const struct host *host, uint32_t rank, uint64_t e, unsigned char *used)
{
    const struct ronde_loaded *loaded = host->programs[rank].loaded;
    const struct ronde_end *here = &loaded->ends[e];
    const struct ronde_end *there = other_end(host, rank, &loaded->ports[e]);
    const struct ronde_shm_layout *layout = &host->layouts[rank];
    if (!there || !here->lengths)
        return false;
    const uint64_t start = start_of(host, here);
    const unsigned char *eager = ronde_shm_layout_eager(&host->programs[rank], e);
    const uint32_t slots = ronde_eager_slots(host->schedule, host->programs[rank].depth);
    const uint64_t end = (uint64_t)(eager - host->memory) - sizeof(struct ronde_eager_header) +
                         (uint64_t)slots * RONDE_EAGER_STRIDE;
    const bool is_new = start % layout->stride == 0 && used[start / layout->stride] == 0;
    used[start / layout->stride] = 1;
    return is_new && start == start_of(host, there) && here->mine == there->theirs &&
           here->theirs == there->mine && here->slots == there->slots &&
           end <= start + layout->stride && start + layout->stride <= host->bytes;
}

static uint64_t count_wrong(const struct host *host, uint64_t *out_sends)
{
    uint64_t wrong = 0;
    unsigned char *used = calloc((size_t)host->layouts[0].count + 1, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(used);
    for (uint32_t rank = 0; rank < host->schedule->ranks; rank++) {
        const struct ronde_loaded *loaded = host->programs[rank].loaded;
        for (uint64_t e = 0; e < loaded->end_count; e++) {
            const struct ronde_port *port = &loaded->ports[e];
            if (port->peer == RONDE_NONE)
                continue;
            const bool is_local = host->leaders[port->peer] == host->leaders[rank];
            if (!is_local)
                wrong += loaded->ends[e].lengths != NULL;
            else if (port->is_send)
                wrong += !is_right(host, rank, e, used);
            *out_sends += is_local && port->is_send;
        }
    }
    free(used);
    return wrong;
}

static void judge(const struct ronde_algorithm *algorithm, uint32_t ranks, uint32_t depth,
                  uint32_t ranks_per_host, uint64_t *io_sends)
{
    struct host host;
    const struct ronde_compile_request request = {.collective = algorithm->collective,
                                                  .algorithm = algorithm->name,
                                                  .ranks = ranks,
                                                  .channels = 1 + ranks % 2};
    if (open_host(&host, &request, depth, ranks_per_host)) {
        const uint64_t before = *io_sends, wrong = count_wrong(&host, io_sends);
        CU_ASSERT_EQUAL(wrong, 0);
        if (wrong > 0)
            suite_note("%s %s on %u ranks, depth %u: %llu connections are misplaced",
                       ronde_collective_text(algorithm->collective), algorithm->name, ranks, depth,
                       (unsigned long long)wrong);
        if (ranks_per_host >= ranks)
            CU_ASSERT(*io_sends > before && *io_sends - before <= host.layouts[0].count);
    }
    close_host(&host);
}

static void for_all_algorithms(uint32_t depth, uint32_t ranks_per_host)
{
    uint32_t count = 0;
    uint64_t sends = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t ranks = 2; ranks <= MOST_RANKS; ranks++)
            judge(algorithms[a], ranks, depth, ranks_per_host, &sends);
    suite_note("%llu connections", (unsigned long long)sends);
    CU_ASSERT(sends > 1000);
}

static void both_ends_of_every_connection_are_at_the_same_place(void)
{
    for_all_algorithms(0, MOST_RANKS);
}

static void more_slots_fit_too(void)
{
    for_all_algorithms(31, MOST_RANKS);
}

static void connections_between_hosts_have_no_place(void)
{
    for_all_algorithms(0, 2);
}

/* What is loaded for the deepest launch has room for every other. */
static void eager_slots_never_fall_as_depth_rises(void)
{
    for (uint32_t ranks = 2; ranks <= 128; ranks *= 2) {
        struct ronde_schedule *schedule = schedule_compile(RONDE_ALL_REDUCE, "ring", ranks);
        uint32_t before = 0;
        for (uint32_t depth = schedule->proof.min_depth; depth < 200; depth++) {
            const uint32_t slots = ronde_eager_slots(schedule, depth);
            CU_ASSERT(slots >= depth && slots >= before);
            before = slots;
        }
        /* From the default on a slot is used again only after twice as many runs as a rank may be ahead. */
        CU_ASSERT(ronde_eager_slots(schedule, 8) >= 2 * (ronde_comm_lead(ranks) + 1));
        ronde_schedule_destroy(schedule);
    }
}

/* Bytes of a region of a loaded program with such slots. */
static uint64_t stride_of(struct ronde_loaded *loaded, uint64_t slot_bytes, uint32_t depth)
{
    const struct ronde_comm_program program = {.loaded = loaded,
                                               .slot_bytes = slot_bytes,
                                               .depth = depth};
    struct ronde_shm_layout layout = {.stride = 0};
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_shm_layout_open(&program, &layout, &error), RONDE_OK);
    return layout.stride;
}

static void a_region_grows_with_slots_and_depth(void)
{
    struct ronde_schedule *schedule = schedule_compile(RONDE_ALL_GATHER, "ring", 4);
    struct ronde_loaded *loaded = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_loaded_create_rank(schedule, 0, ronde_mem_default(), &loaded, &error),
                          RONDE_OK);
    for (uint32_t depth = 8; depth < 64; depth += 7)
        for (uint64_t bytes = 64; bytes < 1 << 16; bytes *= 4) {
            const uint64_t stride = stride_of(loaded, bytes, depth);
            CU_ASSERT(stride_of(loaded, 4 * bytes, depth) > stride);
            CU_ASSERT(stride_of(loaded, bytes, depth + 7) > stride);
            CU_ASSERT(stride >= depth * bytes + sizeof(struct ronde_fifo));
            CU_ASSERT_EQUAL(stride % 64, 0);
        }
    ronde_loaded_destroy(loaded);
    ronde_schedule_destroy(schedule);
}

/* Long slots where each byte is sent once, straight from the input; many where some ranks only send. */
static void slots_are_long_or_many_where_that_pays(void)
{
    enum { USUAL_DEPTH = 8, MANY = 64 };
    const uint64_t usual = 65536, longest = 1 << 20;
    static const struct {
        enum ronde_collective collective;
        const char *algorithm;
        uint32_t ranks;
        bool is_long, has_many;
    } rows[] = {
        {RONDE_ALL_TO_ALL, "direct", 2, true, false},
        {RONDE_ALL_TO_ALL, "pairwise", 4, true, false},
        {RONDE_ALL_TO_ALL, "direct", 8, false, false}, /* 56 connections of 8 MiB are too many */
        {RONDE_ALL_TO_ALL, "bruck", 4, false, false},
        {RONDE_ALL_GATHER, "direct", 2, true, false},
        {RONDE_ALL_GATHER, "direct", 4, false, false},
        {RONDE_ALL_REDUCE, "ring", 4, false, false},
        {RONDE_REDUCE, "binomial", 4, false, false},
        {RONDE_BROADCAST, "direct", 4, false, true},
        {RONDE_BROADCAST, "direct", 64, false, false},
        {RONDE_SCATTER, "direct", 4, false, true},
        {RONDE_GATHER, "direct", 4, false, true},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        const struct ronde_compile_request request = {.collective = rows[k].collective,
                                                      .algorithm = rows[k].algorithm,
                                                      .ranks = rows[k].ranks};
        struct ronde_schedule *schedule = NULL;
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &error),
                              RONDE_OK);
        const uint64_t bytes = ronde_shm_most_slot_bytes(schedule, USUAL_DEPTH, usual);
        const uint32_t depth = ronde_shm_most_depth(schedule, USUAL_DEPTH);
        CU_ASSERT_EQUAL(bytes, rows[k].is_long ? longest : usual);
        CU_ASSERT_EQUAL(depth, rows[k].has_many ? MANY : USUAL_DEPTH);
        if ((bytes > usual) != rows[k].is_long || (depth > USUAL_DEPTH) != rows[k].has_many)
            suite_note("%s %s on %u ranks", ronde_collective_text(rows[k].collective),
                       rows[k].algorithm, rows[k].ranks);
        CU_ASSERT_EQUAL(ronde_shm_most_slot_bytes(schedule, USUAL_DEPTH, 2 * longest), 2 * longest);
        CU_ASSERT_EQUAL(ronde_shm_most_depth(schedule, 2 * MANY), 2 * MANY);
        ronde_schedule_destroy(schedule);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"both_ends_of_every_connection_are_at_the_same_place",
         both_ends_of_every_connection_are_at_the_same_place},
        {"more_slots_fit_too", more_slots_fit_too},
        {"connections_between_hosts_have_no_place", connections_between_hosts_have_no_place},
        {"eager_slots_never_fall_as_depth_rises", eager_slots_never_fall_as_depth_rises},
        {"a_region_grows_with_slots_and_depth", a_region_grows_with_slots_and_depth},
        {"slots_are_long_or_many_where_that_pays", slots_are_long_or_many_where_that_pays},
    };
    return suite_run("shm_layout", cases, sizeof cases / sizeof cases[0]);
}
