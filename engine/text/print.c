/* The printer of the text form. Canonical: the order of lines and the spacing are fixed, defaults are left out. */
#include "draft.h"
#include "engine/execute/operation.h"
#include "out.h"

#include "ronde/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A text that grows as it is printed. */

/* Room that one formatted piece never exceeds, its zero included. */
#define PIECE_BYTES 512

void ronde_text_put(struct ronde_text_out *out, const char *format, ...)
{
    if (out->is_short ||
        !ronde_mem_grow(out->mem, &out->text, &out->capacity, out->bytes + PIECE_BYTES, 1)) {
        out->is_short = true;
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    const int written = vsnprintf((char *)out->text + out->bytes, PIECE_BYTES, format, arguments);
    va_end(arguments);
    if (written > 0)
        out->bytes += (size_t)written;
}

void ronde_text_put_algorithm(struct ronde_text_out *out, const char *name, const char *fallback)
{
    char plain[32];
    size_t length = 0;
    for (const char *at = name; *at && length + 1 < sizeof plain; at++) {
        const bool is_plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                              (*at >= '0' && *at <= '9') || *at == '_' || *at == '.';
        plain[length++] = is_plain ? *at : '-';
    }
    plain[length] = '\0';
    ronde_text_put(out, "algorithm %s\n", length > 0 ? plain : fallback);
}

/* Returns the text in a block of exactly its size; the caller put something in. */
static bool trim(struct ronde_text_out *out, char **out_text)
{
    if (out->is_short || out->bytes == 0)
        return false;
    char *text = ronde_mem_resize(out->mem, out->text, out->capacity, out->bytes + 1);
    if (!text)
        return false;
    out->text = NULL;
    *out_text = text;
    return true;
}

enum ronde_status ronde_text_finish(struct ronde_text_out *out, char **out_text, size_t *out_bytes,
                                    struct ronde_error *error)
{
    *out_text = NULL;
    const bool is_whole = trim(out, out_text);
    *out_bytes = is_whole ? out->bytes : 0;
    ronde_mem_free(out->mem, out->text, out->capacity, 1);
    out->text = NULL;
    return is_whole ? RONDE_OK : ronde_fail(error, RONDE_NO_MEMORY, "no memory to print a schedule");
}

/* Numbers in a row, at least, that are printed as a run: "3-5" but "3 4". */
#define RUN_LEAST 3

/* End of the run of numbers, up or down by one, that begins at `first`; one past its last. */
static uint32_t run_end(const uint32_t *numbers, uint32_t count, uint32_t first)
{
    uint32_t end = first + 1;
    if (end == count)
        return end;
    const uint32_t difference = numbers[end] - numbers[first]; /* modulo 2^32: -1 is UINT32_MAX */
    if (difference != 1 && difference != UINT32_MAX)
        return end;
    while (end < count && numbers[end] - numbers[end - 1] == difference)
        end++;
    return end;
}

/* A list with its longer runs written short, as text_need_list reads it. */
static void put_list(struct ronde_text_out *out, const uint32_t *numbers, uint32_t count)
{
    for (uint32_t i = 0; i < count;) {
        const uint32_t end = run_end(numbers, count, i);
        if (end - i < RUN_LEAST) {
            ronde_text_put(out, " %" PRIu32, numbers[i++]);
            continue;
        }
        ronde_text_put(out, " %" PRIu32 "-%" PRIu32, numbers[i], numbers[end - 1]);
        i = end;
    }
}

/* The one plain channel that most schedules have is omitted. */
static void put_channels(struct ronde_text_out *out, const struct ronde_schedule *schedule)
{
    const struct ronde_channel *channels = schedule->channels;
    if (schedule->channel_count == 1 && channels[0].weight == 1 && !channels[0].order)
        return;
    for (uint32_t k = 0; k < schedule->channel_count; k++) {
        ronde_text_put(out, "channel weight %" PRIu32, channels[k].weight);
        if (channels[k].order) {
            ronde_text_put(out, " order");
            put_list(out, channels[k].order, schedule->ranks);
        }
        ronde_text_put(out, "\n");
    }
}

/* Shape and symmetry. A shape means nothing elsewhere and is not printed there. */
static void put_symmetry(struct ronde_text_out *out, const struct ronde_schedule *schedule)
{
    if (schedule->symmetry == RONDE_SYMMETRY_NONE)
        return;
    if (schedule->symmetry == RONDE_SYMMETRY_ROTATE && schedule->shape_count > 0) {
        ronde_text_put(out, "shape");
        for (uint32_t i = 0; i < schedule->shape_count; i++)
            ronde_text_put(out, " %" PRIu32, schedule->shape[i]);
        ronde_text_put(out, "\n");
    }
    ronde_text_put(out, schedule->symmetry == RONDE_SYMMETRY_XOR ? "xor" : "rotate");
    for (uint32_t buffer = 0; buffer < RONDE_BUFFER_COUNT; buffer++)
        if (schedule->rotates[buffer])
            ronde_text_put(out, " %s", text_buffer_words[buffer]);
    ronde_text_put(out, "\n");
}

/* In the order of destinations, of which there is one each. */
static void put_pairs(struct ronde_text_out *out, const struct ronde_schedule *schedule)
{
    if (!schedule->source_of)
        return;
    ronde_text_put(out, "pairs");
    for (uint32_t rank = 0; rank < schedule->ranks; rank++)
        if (schedule->source_of[rank] != RONDE_NONE)
            ronde_text_put(out, " %" PRIu32 " -> %" PRIu32, schedule->source_of[rank], rank);
    ronde_text_put(out, "\n");
}

/* Everything above the programs, in the order of enum text_header_word. */
static void put_header(struct ronde_text_out *out, const struct ronde_schedule *schedule)
{
    ronde_text_put(out, "ronde 1\n");
    ronde_text_put(out, "collective %s\n", ronde_collective_text(schedule->collective));
    ronde_text_put(out, "algorithm %s\n", schedule->algorithm);
    ronde_text_put(out, "ranks %" PRIu32 "\n", schedule->ranks);
    if (schedule->root != 0)
        ronde_text_put(out, "root %" PRIu32 "\n", schedule->root);
    put_pairs(out, schedule);
    if (schedule->chunks_per_block != 1)
        ronde_text_put(out, "chunks %" PRIu32 "\n", schedule->chunks_per_block);
    put_symmetry(out, schedule);
    if (schedule->absolute_peers)
        ronde_text_put(out, "peers absolute\n");
    if (!schedule->allow_dead_work)
        ronde_text_put(out, "strict\n");
    if (schedule->clobbers)
        ronde_text_put(out, "clobbers\n");
    if (schedule->is_unscaled)
        ronde_text_put(out, "unscaled\n");
    if (schedule->form != RONDE_FORM_ANY)
        ronde_text_put(out, "placement %s\n", ronde_form_text(schedule->form));
    put_channels(out, schedule);
}

/* A strided operand prints its count even if that is 1: without it, it would not read as strided. */
static void put_operand(struct ronde_text_out *out, const char *buffer,
                        const struct ronde_range *range, uint32_t first, uint32_t count)
{
    if (range)
        ronde_text_put(out, " %s[%" PRIu32 "+%" PRIu32 " run %" PRIu32 " stride %" PRIu32 "]",
                       buffer, range->first, range->count, range->run, range->stride);
    else if (count == 1)
        ronde_text_put(out, " %s[%" PRIu32 "]", buffer, first);
    else
        ronde_text_put(out, " %s[%" PRIu32 "+%" PRIu32 "]", buffer, first, count);
}

/* Source, then destination; "rs" has neither and prints how much passes through. */
static void put_operands(struct ronde_text_out *out, const struct ronde_program *program,
                         const struct ronde_step *step)
{
    const enum ronde_step_op op = (enum ronde_step_op)step->op;
    if (ronde_op_is_in(op, RONDE_OPS_THAT_PASS))
        ronde_text_put(out, " %" PRIu32, step->chunk_count);
    if (ronde_step_reads_source(op))
        put_operand(out, text_buffer_words[step->source],
                    step->flags & RONDE_FLAG_SOURCE_RANGE ? &program->ranges[step->source_chunk]
                                                          : NULL,
                    step->source_chunk, step->chunk_count);
    if (ronde_step_writes(op))
        put_operand(out, text_buffer_words[step->destination],
                    step->flags & RONDE_FLAG_DESTINATION_RANGE
                        ? &program->ranges[step->destination_chunk]
                        : NULL,
                    step->destination_chunk, step->chunk_count);
}

/* An offset modulo a radix the shorter way round; half way is positive. */
static void put_offset(struct ronde_text_out *out, const char *plus, uint32_t offset, uint32_t radix)
{
    if (offset <= radix / 2)
        ronde_text_put(out, "%s%" PRIu32, plus, offset);
    else
        ronde_text_put(out, "-%" PRIu32, radix - offset);
}

/* An offset digit by digit, slowest first. */
static void put_shaped_peer(struct ronde_text_out *out, const struct ronde_schedule *schedule,
                            uint32_t peer)
{
    uint32_t place = schedule->ranks;
    for (uint32_t i = 0; i < schedule->shape_count; i++) {
        const uint32_t radix = schedule->shape[i];
        place /= radix;
        ronde_text_put(out, i == 0 ? "(" : ",");
        put_offset(out, "", peer / place % radix, radix);
    }
    ronde_text_put(out, ")");
}

/* A peer in the form the header requires. */
static void put_peer(struct ronde_text_out *out, const struct ronde_schedule *schedule,
                     uint32_t peer)
{
    switch (text_peer_form(schedule)) {
    case TEXT_PEER_ABSOLUTE:
        ronde_text_put(out, "@%" PRIu32, peer);
        break;
    case TEXT_PEER_XOR:
        ronde_text_put(out, "^%" PRIu32, peer);
        break;
    case TEXT_PEER_SHAPED:
        put_shaped_peer(out, schedule, peer);
        break;
    case TEXT_PEER_SIGNED:
        put_offset(out, "+", peer, schedule->ranks);
        break;
    }
}

/* One end of a connection; tag 0 is omitted. */
static void put_connection(struct ronde_text_out *out, const struct ronde_schedule *schedule,
                           const char *arrow, const struct ronde_connection *connection)
{
    ronde_text_put(out, " %s ", arrow);
    put_peer(out, schedule, connection->peer);
    if (connection->tag != 0)
        ronde_text_put(out, ":%" PRIu32, connection->tag);
}

/* Dependencies as lane and step within the lane, which is how a reader counts. */
static void put_dependencies(struct ronde_text_out *out, const struct ronde_program *program,
                             const struct ronde_step *step)
{
    if (step->dependency_count > 0)
        ronde_text_put(out, " after");
    for (uint32_t i = 0; i < step->dependency_count; i++) {
        const uint32_t on = program->dependencies[step->first_dependency + i];
        const uint32_t lane = ronde_program_lane(program, on);
        ronde_text_put(out, " %" PRIu32 ".%" PRIu32, lane, on - program->lane_first[lane]);
    }
}

/* A message without chunks has names of its own, unless its operand is not the one that those stand for. */
static const char *signal_word(const struct ronde_step *step)
{
    const uint8_t strided = RONDE_FLAG_SOURCE_RANGE | RONDE_FLAG_DESTINATION_RANGE;
    if (step->chunk_count != 0 || (step->flags & strided) != 0)
        return NULL;
    if (step->op == RONDE_STEP_SEND && step->source == RONDE_IN && step->source_chunk == 0)
        return "signal";
    if (step->op == RONDE_STEP_RECV && step->destination == RONDE_OUT && step->destination_chunk == 0)
        return "wait";
    return NULL;
}

static void put_step(struct ronde_text_out *out, const struct ronde_schedule *schedule,
                     const struct ronde_program *program, const struct ronde_step *step)
{
    const enum ronde_step_op op = (enum ronde_step_op)step->op;
    const char *word = signal_word(step);
    ronde_text_put(out, "    %s", word ? word : ronde_step_op_text(op));
    if (!word)
        put_operands(out, program, step);
    if (ronde_step_receives(op))
        put_connection(out, schedule, "<-", &program->connections[step->receive]);
    if (ronde_step_sends(op))
        put_connection(out, schedule, "->", &program->connections[step->send]);
    put_dependencies(out, program, step);
    ronde_text_put(out, "\n");
}

/* The steps, lane after lane; a single lane needs no heading. */
static void put_steps(struct ronde_text_out *out, const struct ronde_schedule *schedule,
                      const struct ronde_program *program)
{
    for (uint32_t lane = 0; lane < program->lane_count; lane++) {
        if (program->lane_count > 1)
            ronde_text_put(out, "  lane %" PRIu32 "\n", lane);
        for (uint32_t s = program->lane_first[lane]; s < program->lane_first[lane + 1]; s++)
            put_step(out, schedule, program, &program->steps[s]);
    }
}

/*
 * Positions of each program, by counting: those of program i are places[firsts[i]] .. places[firsts[i + 1] - 1].
 * firsts has two entries more than programs: counted two places up, summed, they are starts one place up, which filling
 * in the places then moves to the start of the next.
 */
static void sort_positions(const struct ronde_schedule *schedule, uint32_t *firsts, uint32_t *places)
{
    for (uint32_t position = 0; position < schedule->ranks; position++)
        firsts[schedule->program_of[position] + 2]++;
    for (uint32_t i = 1; i < schedule->program_count + 2; i++)
        firsts[i] += firsts[i - 1];
    for (uint32_t position = 0; position < schedule->ranks; position++)
        places[firsts[schedule->program_of[position] + 1]++] = position;
}

/* The programs, each below an empty line. */
static void put_programs(struct ronde_text_out *out, const struct ronde_schedule *schedule,
                         const uint32_t *firsts, const uint32_t *places)
{
    for (uint32_t i = 0; i < schedule->program_count; i++) {
        const struct ronde_program *program = &schedule->programs[i];
        ronde_text_put(out, "\nprogram %" PRIu32, i);
        if (program->scratch_chunks > 0)
            ronde_text_put(out, " scratch %" PRIu32, program->scratch_chunks);
        if (schedule->program_of) {
            ronde_text_put(out, " positions");
            put_list(out, &places[firsts[i]], firsts[i + 1] - firsts[i]);
        }
        ronde_text_put(out, "\n");
        put_steps(out, schedule, program);
    }
}

enum ronde_status ronde_schedule_print(const struct ronde_schedule *schedule,
                                       const struct ronde_mem *mem, char **out_text,
                                       size_t *out_bytes, struct ronde_error *error)
{
    struct ronde_text_out printed = {.mem = mem};
    const size_t starts = (size_t)schedule->program_count + 2;
    uint32_t *firsts = ronde_mem_new(mem, starts, sizeof *firsts);
    uint32_t *places = ronde_mem_new(mem, schedule->ranks, sizeof *places);
    printed.is_short = !firsts || !places;
    if (!printed.is_short) {
        if (schedule->program_of)
            sort_positions(schedule, firsts, places);
        put_header(&printed, schedule);
        put_programs(&printed, schedule, firsts, places);
    }
    ronde_mem_free(mem, places, schedule->ranks, sizeof *places);
    ronde_mem_free(mem, firsts, starts, sizeof *firsts);
    return ronde_text_finish(&printed, out_text, out_bytes, error);
}
