/*
 * A schedule round by round, for people who learn it: who sends what to whom, and what the receiver does with it. A message is
 * of the round after the last of those it needs.
 */
#include "cli/options/requests.h"
#include "commands.h"

#include "ronde/cursor.h"
#include "ronde/dag.h"

/* More is read by nobody. */
#define MOST_RANKS 64u
/* Chunks of a message that are named. */
#define MOST_CHUNKS 64u

static const struct ronde_column columns[] = {
    {"round", "round", "", RONDE_CELL_PLAIN, 6, false},
    {"from", "from", "", RONDE_CELL_PLAIN, 5, false},
    {"to", "to", "", RONDE_CELL_PLAIN, 5, false},
    {"chunks", "chunks", "", RONDE_CELL_PLAIN, 16, false},
    {"receiver", "receiver", "", RONDE_CELL_PLAIN, 0, false},
};
static const struct ronde_table table = RONDE_TABLE(columns);

/* The graph of one piece, and for each operation the round of its message and who consumes it. */
struct rounds {
    const struct ronde_schedule *schedule;
    struct ronde_dag *dag;
    uint32_t *round;
    uint32_t *consumer;
    uint32_t last;
};

static void find_rounds(struct rounds *rounds)
{
    const struct ronde_dag *dag = rounds->dag;
    for (uint32_t i = 0; i < dag->op_count; i++)
        rounds->consumer[i] = RONDE_NONE;
    for (uint32_t i = 0; i < dag->op_count; i++) {
        const struct ronde_dag_op *op = &dag->ops[i];
        rounds->round[i] = 1;
        for (uint32_t e = op->first_edge; e < op->first_edge + op->edge_count; e++) {
            const struct ronde_dag_edge *edge = &dag->edges[e];
            const uint32_t after = rounds->round[edge->op] + edge->is_message;
            if (edge->is_credit)
                continue;
            rounds->round[i] = after > rounds->round[i] ? after : rounds->round[i];
            if (edge->is_message)
                rounds->consumer[edge->op] = i;
        }
    }
    for (uint32_t i = 0; i < dag->op_count; i++)
        if (rounds->consumer[i] != RONDE_NONE && rounds->round[i] > rounds->last)
            rounds->last = rounds->round[i];
}

/* The chunks that the receiver of a message takes it for: where it adds, those of its own operand. Returns how many. */
static uint32_t chunks_of(const struct rounds *rounds, uint32_t op, uint32_t out[MOST_CHUNKS])
{
    const struct ronde_dag_origin *origin = &rounds->dag->origins[op];
    const struct ronde_view view =
        ronde_view_open(rounds->schedule, origin->channel, rounds->dag->ops[op].src);
    const struct ronde_step *step =
        &view.program->steps[view.program->lane_first[origin->lane] + origin->step];
    const bool is_source = ronde_step_reads_source((enum ronde_step_op)step->op);
    const uint8_t buffer = is_source ? step->source : step->destination;
    if (buffer >= RONDE_BUFFER_COUNT)
        return 0;
    const uint32_t chunks =
        ronde_schedule_chunks(rounds->schedule, view.program, (enum ronde_buffer)buffer);
    const uint32_t count = step->chunk_count < MOST_CHUNKS ? step->chunk_count : MOST_CHUNKS;
    for (uint32_t item = 0; item < count; item++)
        out[item] = ronde_view_item(&view, step, is_source, chunks, item);
    return count;
}

static const char *receiver_text(enum ronde_step_op op)
{
    if (ronde_step_reduces(op))
        return ronde_step_sends(op) ? "adds its own, sends the sum on" : "adds its own";
    return ronde_step_sends(op) ? "keeps it, sends it on" : "keeps it";
}

static enum ronde_status print_message(const struct rounds *rounds, uint32_t op,
                                       struct ronde_sink *sink, struct ronde_error *error)
{
    uint32_t chunks[MOST_CHUNKS];
    const uint32_t consumer = rounds->consumer[op];
    const uint32_t count = chunks_of(rounds, consumer, chunks);
    const struct ronde_field fields[] = {
        ronde_field_text("kind", "message"),
        ronde_field_integer("round", rounds->round[op]),
        ronde_field_integer("from", rounds->dag->ops[op].src),
        ronde_field_integer("to", rounds->dag->ops[consumer].src),
        {.name = "chunks", .kind = RONDE_FIELD_NUMBERS, .numbers = chunks, .count = count},
        ronde_field_integer("channel", rounds->dag->origins[op].channel),
        ronde_field_text("receiver", receiver_text(rounds->dag->origins[consumer].op))};
    return ronde_sink_print(sink, &table, &RONDE_ROW(fields), error);
}

static enum ronde_status print_rounds(const struct rounds *rounds, struct ronde_sink *sink,
                                      struct ronde_error *error)
{
    const struct ronde_dag *dag = rounds->dag;
    enum ronde_status status = RONDE_OK;
    ronde_sink_say(sink,
                   "%s %s, %u ranks: %u rounds; a message needs those of rounds before it alone",
                   ronde_collective_text(rounds->schedule->collective), rounds->schedule->algorithm,
                   rounds->schedule->ranks, rounds->last);
    ronde_sink_head(sink, &table);
    for (uint32_t round = 1; round <= rounds->last; round++)
        for (uint32_t rank = 0; rank < dag->ranks; rank++)
            for (uint32_t i = 0; i < dag->op_count && status == RONDE_OK; i++)
                if (rounds->round[i] == round && dag->ops[i].src == rank &&
                    rounds->consumer[i] != RONDE_NONE)
                    status = print_message(rounds, i, sink, error);
    return status;
}

/* A schedule round by round: a row a message. Errors: UNSUPPORTED for more ranks than people read; as ronde_sink_row. */
static enum ronde_status print_schedule(const struct ronde_schedule *schedule,
                                        struct ronde_sink *sink, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    /* An element of each chunk, in one piece. */
    const struct ronde_load load = {.count = schedule->chunks_per_block * schedule->weight_total,
                                    .dtype = RONDE_FLOAT32};
    const struct ronde_time_params params = {.alpha_ns = 0};
    struct rounds rounds = {.schedule = schedule};
    if (schedule->ranks > MOST_RANKS)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "--steps: %u ranks, nobody reads more than %u; -N says fewer",
                          schedule->ranks, MOST_RANKS);
    enum ronde_status status =
        ronde_dag_create_named(schedule, &load, &params, mem, &rounds.dag, error);
    if (status != RONDE_OK)
        return status;
    const uint32_t count = rounds.dag->op_count;
    rounds.round = ronde_mem_new(mem, count, sizeof *rounds.round);
    rounds.consumer = ronde_mem_new(mem, count, sizeof *rounds.consumer);
    if (!rounds.round || !rounds.consumer)
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u steps", count);
    if (status == RONDE_OK) {
        find_rounds(&rounds);
        status = print_rounds(&rounds, sink, error);
    }
    ronde_mem_free(mem, rounds.consumer, count, sizeof *rounds.consumer);
    ronde_mem_free(mem, rounds.round, count, sizeof *rounds.round);
    ronde_dag_destroy(rounds.dag, mem);
    return status;
}

/* --steps: no machine and no times, the schedule alone; of all_reduce where no collective is named. */
enum ronde_status ronde_steps_command(struct ronde_invocation *call, struct ronde_error *error)
{
    struct ronde_options own = *call->options;
    struct ronde_schedule *schedule = NULL;

    if (own.argument_count == 0)
        own.arguments[own.argument_count++] = "all_reduce";
    RONDE_TRY(ronde_takes_only(&own,
                               "steps algorithm ranks root shape pairs channels nccl-log json csv "
                               "wide output",
                               "--steps shows the schedule alone", error));
    enum ronde_status status = ronde_schedule_file_or_compiled(&own, &schedule, error);
    RONDE_THEN(status, ronde_sink_open(&own, &call->sink, error));
    RONDE_THEN(status, print_schedule(schedule, &call->sink, error));
    ronde_schedule_destroy(schedule);
    return status;
}
