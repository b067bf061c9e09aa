/*
 * The reader of the text form: lines to programs, and the text as a whole. docs/reference/schedule-format.md specifies it.
 *
 * A text can be malicious, so memory and time follow its size: lists grow with the lines read, numbers are bounded
 * before they size anything, nothing recurs, and what is O(ranks) is made once or paid for out of a budget.
 */
#include "ronde/text.h"

#include "draft.h"
#include "engine/ir/finish.h"

#include <inttypes.h>
#include <string.h>

/* --- programs -------------------------------------------------------------------------------------------------- */

/* Each position is claimed once, which also bounds the work all lists of positions make together. */
static bool take_position(void *self, struct text_lexer *lexer, uint32_t position)
{
    struct text_reader *reader = self;
    uint32_t *program = &reader->schedule->program_of[position];
    if (*program != RONDE_NONE)
        return text_fail(lexer, "position %" PRIu32 " has program %" PRIu32 " already", position,
                         *program);
    *program = reader->programs.count;
    reader->served++;
    return true;
}

/* The rest of a "program" line. */
static bool read_positions(struct text_reader *reader)
{
    struct text_lexer *lexer = &reader->lexer;
    if (reader->schedule->symmetry != RONDE_SYMMETRY_NONE)
        return text_need_end(lexer);
    if (!text_take_word(lexer, "positions"))
        return text_fail_expected(lexer, "'positions'");
    return text_need_list(lexer, "position", reader->schedule->ranks, take_position, reader);
}

/* Ends the open program, if there is one. */
static bool finish_program(struct text_reader *reader)
{
    if (!reader->is_open)
        return true;
    struct ronde_program *program = ronde_list_push(reader->mem, &reader->programs, sizeof *program);
    if (!program)
        return text_fail_memory(&reader->lexer);
    return text_draft_finish(&reader->draft, &reader->lexer, reader->schedule->arena, program);
}

/* A "program" line ends the header, or the program before it. */
static bool read_program(struct text_reader *reader)
{
    struct text_lexer *lexer = &reader->lexer;
    uint32_t number;
    uint32_t scratch = 0;
    if (!reader->is_open && !text_finish_header(reader))
        return false;
    if (!finish_program(reader))
        return false;
    reader->is_open = true;
    text_lex_next(lexer);
    if (!text_need_number(lexer, "program", 0, RONDE_NONE - 1, &number))
        return false;
    if (number != reader->programs.count)
        return text_fail(lexer, "expected program %" PRIu32 ", found program %" PRIu32,
                         reader->programs.count, number);
    if (number > 0 && reader->schedule->symmetry != RONDE_SYMMETRY_NONE)
        return text_fail(lexer, "a symmetric schedule has one program");
    if (text_take_word(lexer, "scratch") &&
        !text_need_number(lexer, "scratch", 0, TEXT_MOST_CHUNKS, &scratch))
        return false;
    text_draft_start(&reader->draft, scratch);
    return text_check_rotates(reader, lexer->line, RONDE_SCRATCH, &reader->draft.program) &&
           read_positions(reader);
}

/* --- the text -------------------------------------------------------------------------------------------------- */

/* Words of the header are looked for first, so that one in the wrong place is reported as such. */
static bool read_line(struct text_reader *reader)
{
    struct text_lexer *lexer = &reader->lexer;
    if (text_is_header(reader))
        return text_read_header(reader);
    if (text_is_word(lexer, "program"))
        return read_program(reader);
    if (!reader->is_open)
        return text_fail_expected(lexer, "a line of the header or 'program'");
    if (text_take_word(lexer, "lane"))
        return text_draft_lane(&reader->draft, lexer);
    return text_draft_step(&reader->draft, lexer);
}

/* The version comes before anything a later one may change. */
static bool read_version(struct text_reader *reader)
{
    struct text_lexer *lexer = &reader->lexer;
    if (!text_lex_line(lexer))
        return text_fail(lexer, "the text is empty; it begins with 'ronde 1'");
    if (!text_take_word(lexer, "ronde"))
        return text_fail_expected(lexer, "'ronde 1'");
    if (lexer->kind == TEXT_NUMBER && lexer->number != 1)
        return text_fail(lexer, "only version 1 of the text can be read");
    uint32_t version;
    return text_need_number(lexer, "version", 1, 1, &version) && text_need_end(lexer);
}

/* From a list that grew to an array of the right size. */
static bool keep_programs(struct text_reader *reader)
{
    struct ronde_schedule *schedule = reader->schedule;
    schedule->program_count = reader->programs.count;
    schedule->programs =
        ronde_arena_new(schedule->arena, schedule->program_count, sizeof *schedule->programs);
    if (!schedule->programs)
        return text_fail_memory(&reader->lexer);
    memcpy(schedule->programs, reader->programs.items,
           schedule->program_count * sizeof *schedule->programs);
    return true;
}

/* Every position has its program by now. */
static bool finish_text(struct text_reader *reader)
{
    const struct ronde_schedule *schedule = reader->schedule;
    if (!reader->is_open)
        return text_finish_header(reader) && text_fail(&reader->lexer, "no 'program' line");
    if (!finish_program(reader))
        return false;
    if (schedule->program_of && reader->served < schedule->ranks)
        for (uint32_t position = 0; position < schedule->ranks; position++)
            if (schedule->program_of[position] == RONDE_NONE)
                return text_fail(&reader->lexer, "position %" PRIu32 " has no program", position);
    return keep_programs(reader);
}

/* Stops at the first error: later ones are mostly its echo. */
static bool read_text(struct text_reader *reader)
{
    if (!read_version(reader))
        return false;
    while (text_lex_line(&reader->lexer))
        if (!read_line(reader))
            return false;
    return finish_text(reader);
}

/* Defaults of omitted lines. */
static void reader_open(struct text_reader *reader, const char *text, size_t bytes,
                        const char *name, struct ronde_error *error)
{
    struct ronde_schedule *schedule = reader->schedule;
    text_lex_open(&reader->lexer, text, bytes, name, error);
    reader->draft.mem = reader->mem;
    reader->draft.schedule = schedule;
    reader->order_budget = TEXT_FREE_ORDER_ENTRIES + bytes;
    schedule->chunks_per_block = 1;
    /* People try things out; built-ins print 'strict'. */
    schedule->allow_dead_work = true;
    memcpy(schedule->algorithm, "custom", sizeof "custom");
}

/* The schedule stays: what was read lives in its arena. */
static void reader_close(struct text_reader *reader)
{
    text_draft_free(&reader->draft);
    ronde_list_free(reader->mem, &reader->channels, sizeof(struct ronde_channel));
    ronde_list_free(reader->mem, &reader->programs, sizeof(struct ronde_program));
    ronde_mem_free(reader->mem, reader->seen, reader->schedule->ranks, sizeof *reader->seen);
}

/* Text to raw schedule. */
static enum ronde_status parse(const char *text, size_t bytes, const char *name,
                               struct ronde_schedule *schedule, struct ronde_error *error)
{
    struct text_reader reader = {.mem = ronde_arena_mem(schedule->arena), .schedule = schedule};
    /* Every count of a text is below its number of bytes, and counts are 32 bits wide. */
    if (bytes >= UINT32_MAX)
        return ronde_fail(error, RONDE_BAD_INPUT, "%s: %zu bytes are more than 2^32 - 2", name,
                          bytes);
    reader_open(&reader, text, bytes, name, error);
    const bool is_read = read_text(&reader);
    reader_close(&reader);
    return is_read ? RONDE_OK : reader.lexer.status;
}

enum ronde_status ronde_schedule_read(const char *text, size_t bytes, const char *name,
                                      const struct ronde_mem *mem, struct ronde_proof *out_proof,
                                      struct ronde_schedule **out_schedule,
                                      struct ronde_error *error)
{
    struct ronde_schedule *schedule = NULL;
    *out_schedule = NULL;
    if (out_proof)
        memset(out_proof, 0, sizeof *out_proof);
    enum ronde_status status = ronde_raw_create(mem, &schedule, error);
    RONDE_THEN(status, parse(text, bytes, name, schedule, error));
    RONDE_THEN(status, ronde_finish_raw(schedule, out_proof, error));
    if (status != RONDE_OK) {
        ronde_schedule_destroy(schedule);
        return status;
    }
    *out_schedule = schedule;
    return RONDE_OK;
}
