/* Point-to-point schedules, as small broadcasts and reductions between two ranks. */
#include "probes.h"

/* A chunk goes from one rank's buffer into another's output. */
static void send(struct ronde_builder *builder, uint32_t from, uint32_t to,
                 enum ronde_buffer source, uint32_t chunk)
{
    const struct ronde_transfer transfer = {
        .from = from,
        .to = to,
        .source = ronde_chunks(source, chunk, 1),
        .target = ronde_chunks(RONDE_OUT, chunk, 1),
    };
    ronde_builder_transfer(builder, &transfer);
}

/*
 * 0 -> 1 -> 0 -> 1 ...: everyone passes on what has just arrived, so only the first sender reads
 * its input.
 */
static void build_ping_pong(struct ronde_builder *builder, uint32_t length)
{
    for (uint32_t hop = 0; hop < length; hop++)
        send(builder, hop % 2, 1 - hop % 2, hop == 0 ? RONDE_IN : RONDE_OUT, 0);
}

/* Rank 1 has the message at the end, and tells those that wait. */
static void build_waiting(struct ronde_builder *builder, uint32_t ranks, uint32_t length)
{
    build_ping_pong(builder, length);
    for (uint32_t rank = 2; rank < ranks; rank++)
        send(builder, 1, rank, RONDE_OUT, 0);
}

static void build_messages(struct ronde_builder *builder, uint32_t length)
{
    ronde_builder_chunks(builder, length);
    for (uint32_t chunk = 0; chunk < length; chunk++)
        send(builder, 0, 1, RONDE_IN, chunk);
    /* The root's own output. In place it costs one step and moves nothing. */
    ronde_builder_copy(builder, 0, 0, ronde_chunks(RONDE_IN, 0, length),
                       ronde_chunks(RONDE_OUT, 0, length));
}

/* No copy on either side: what arrives is combined straight into the output. */
static void build_reduce(struct ronde_builder *builder)
{
    const struct ronde_transfer transfer = {
        .from = 1,
        .to = 0,
        .source = ronde_chunks(RONDE_IN, 0, 1),
        .with = ronde_chunks(RONDE_IN, 0, 1),
        .target = ronde_chunks(RONDE_OUT, 0, 1),
        .reduces = true,
    };
    ronde_builder_transfer(builder, &transfer);
}

/* Each rank's block goes to the other, and neither way waits for the other. In place the own copies move nothing. */
static void build_exchange(struct ronde_builder *builder)
{
    for (uint32_t rank = 0; rank < 2; rank++) {
        const struct ronde_transfer transfer = {
            .from = rank,
            .to = 1 - rank,
            .to_lane = 1,
            .source = ronde_chunks(RONDE_IN, 0, 1),
            .target = ronde_chunks(RONDE_OUT, rank, 1),
        };
        ronde_builder_transfer(builder, &transfer);
        ronde_builder_copy(builder, rank, 2, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, rank, 1));
    }
}

/* Two messages in each pair: a rank that sends one waits for the other before it goes on. After an odd length they are swapped. */
static void build_pairs(struct ronde_builder *builder, uint32_t ranks, uint32_t length)
{
    for (uint32_t hop = 0; hop < length; hop++) {
        ronde_builder_round_begin(builder);
        for (uint32_t rank = 0; rank < ranks; rank++) {
            const struct ronde_transfer transfer = {
                .from = rank,
                .to = rank ^ 1u,
                .source = ronde_chunks(hop == 0 ? RONDE_IN : RONDE_OUT, 0, 1),
                .target = ronde_chunks(RONDE_OUT, 0, 1),
            };
            ronde_builder_transfer(builder, &transfer);
        }
        ronde_builder_round_end(builder);
    }
}

static void build(struct ronde_builder *builder, enum ronde_probe probe, uint32_t length)
{
    switch (probe) {
    case RONDE_PROBE_LAUNCH:
        ronde_builder_copy(builder, 0, 0, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, 0, 1));
        break;
    case RONDE_PROBE_PING_PONG:
        build_ping_pong(builder, length);
        break;
    case RONDE_PROBE_MESSAGES:
        build_messages(builder, length);
        break;
    case RONDE_PROBE_STREAM:
        build_messages(builder, 1);
        break;
    case RONDE_PROBE_REDUCE:
        build_reduce(builder);
        break;
    case RONDE_PROBE_EXCHANGE:
        build_exchange(builder);
        break;
    case RONDE_PROBE_PAIRS:
    case RONDE_PROBE_WAITING:
        break;
    }
}

enum ronde_status ronde_probe_make(enum ronde_probe probe, uint32_t length, uint32_t channels,
                                   struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    static const char *const names[] = {"launch", "ping_pong", "messages", "stream",
                                        "reduce", "exchange",  "pairs",    "waiting"};
    const struct ronde_compile_request request = {
        .collective = probe == RONDE_PROBE_REDUCE     ? RONDE_REDUCE
                      : probe == RONDE_PROBE_EXCHANGE ? RONDE_ALL_GATHER
                                                      : RONDE_BROADCAST,
        .algorithm = names[probe],
        .ranks = probe == RONDE_PROBE_LAUNCH ? 1 : 2,
        .channels = channels,
    };
    if (probe == RONDE_PROBE_PAIRS)
        return ronde_probe_make_pairs(2, length, out_schedule, error);
    if (probe == RONDE_PROBE_WAITING)
        return ronde_probe_make_waiting(3, length, out_schedule, error);
    struct ronde_builder *builder = NULL;
    const enum ronde_status status =
        ronde_builder_create(&request, ronde_mem_default(), &builder, error);
    if (status != RONDE_OK)
        return status;
    build(builder, probe, length);
    return ronde_schedule_finish(builder, NULL, out_schedule, error);
}

enum ronde_status ronde_probe_make_pairs(uint32_t ranks, uint32_t length,
                                         struct ronde_schedule **out_schedule,
                                         struct ronde_error *error)
{
    uint32_t source_of[RONDE_PROBE_RANKS];
    struct ronde_builder *builder = NULL;
    if (ranks < 2 || ranks > RONDE_PROBE_RANKS || ranks % 2 != 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "pairs of %u ranks; an even number up to %u",
                          ranks, RONDE_PROBE_RANKS);
    for (uint32_t rank = 0; rank < ranks; rank++)
        source_of[rank] = rank ^ 1u;
    const struct ronde_compile_request request = {.collective = RONDE_SEND_RECV,
                                                  .algorithm = "pairs",
                                                  .ranks = ranks,
                                                  .source_of = source_of};
    const enum ronde_status status =
        ronde_builder_create(&request, ronde_mem_default(), &builder, error);
    if (status != RONDE_OK)
        return status;
    build_pairs(builder, ranks, length);
    return ronde_schedule_finish(builder, NULL, out_schedule, error);
}

enum ronde_status ronde_probe_make_waiting(uint32_t ranks, uint32_t length,
                                           struct ronde_schedule **out_schedule,
                                           struct ronde_error *error)
{
    struct ronde_builder *builder = NULL;
    const struct ronde_compile_request request = {.collective = RONDE_BROADCAST,
                                                  .algorithm = "waiting",
                                                  .ranks = ranks,
                                                  .channels = 1};
    if (ranks < 3 || ranks > RONDE_PROBE_RANKS || length % 2 == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%u ranks, some of them waiting for %u hops; 3 to %u ranks and an odd "
                          "number of hops",
                          ranks, length, RONDE_PROBE_RANKS);
    const enum ronde_status status =
        ronde_builder_create(&request, ronde_mem_default(), &builder, error);
    if (status != RONDE_OK)
        return status;
    build_waiting(builder, ranks, length);
    return ronde_schedule_finish(builder, NULL, out_schedule, error);
}
