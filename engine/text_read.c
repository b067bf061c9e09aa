/*
 * The reader of the text form: header, channels, programs; docs/schedule-format.md is its specification.
 *
 * A text can be hostile, so memory and time follow its size: lists grow with the lines read, numbers are bounded before
 * they size anything, nothing recurs, and what is O(ranks) is made once or paid for out of a budget.
 */
#include "ronde/text.h"

#include "seal.h"
#include "text_draft.h"

#include <inttypes.h>
#include <string.h>

/* Entries of all orders together that a text may ask for beyond one per byte: runs like 0-1048575 are short to write. */
#define FREE_ORDER_ENTRIES ((uint64_t)1 << 22)

struct text_reader;

/* A word that begins a line of the header; `read` takes the rest of the line. */
struct header_word {
    const char *text;
    bool (*read)(struct text_reader *reader);
    bool may_repeat;
};

/* Rows of the header table that are asked for by name. */
enum header_index {
    HEADER_COLLECTIVE,
    HEADER_ALGORITHM,
    HEADER_RANKS,
    HEADER_ROOT,
    HEADER_CHUNKS,
    HEADER_ROTATE,
    HEADER_PEERS,
    HEADER_STRICT,
    HEADER_CLOBBERS,
    HEADER_CHANNEL,
    HEADER_COUNT
};

/* Everything known while a text is read. */
struct text_reader {
    struct text_lexer lexer;
    const struct ronde_mem *mem;
    struct ronde_schedule *schedule;
    uint32_t header_lines[HEADER_COUNT]; /* where a word stood last, 0 if it did not */
    struct text_list channels;           /* struct ronde_channel */
    struct text_list programs;           /* struct ronde_program */
    struct text_draft draft;             /* the open program, if there is one */
    bool is_open;
    uint32_t served; /* positions that have a program */
    uint32_t *seen; /* per rank: 1 + the last channel whose order names it; made with the first order */
    uint32_t *order;       /* of the channel being read */
    uint32_t order_count;  /* entries read so far */
    uint64_t order_budget; /* entries that may still be asked for */
};

/* --- header ---------------------------------------------------------------------------------------------------- */

static bool read_collective(struct text_reader *reader)
{
    char name[32];
    struct text_lexer at = reader->lexer; /* so that an unknown name is reported where it stands */
    if (!text_need_name(&reader->lexer, "a collective", name, sizeof name))
        return false;
    if (!ronde_collective_parse(name, &reader->schedule->collective)) {
        reader->lexer = at;
        return text_fail(&reader->lexer, "unknown collective '%s'", name);
    }
    return true;
}

static bool read_algorithm(struct text_reader *reader)
{
    return text_need_name(&reader->lexer, "an algorithm's name", reader->schedule->algorithm,
                          sizeof reader->schedule->algorithm);
}

static bool read_ranks(struct text_reader *reader)
{
    return text_need_number(&reader->lexer, "ranks", 1, RONDE_MAX_RANKS, &reader->schedule->ranks);
}

static bool read_root(struct text_reader *reader)
{
    return text_need_number(&reader->lexer, "root", 0, RONDE_MAX_RANKS - 1, &reader->schedule->root);
}

static bool read_chunks(struct text_reader *reader)
{
    return text_need_number(&reader->lexer, "chunks", 1, TEXT_MOST_CHUNKS,
                            &reader->schedule->chunks_per_block);
}

static bool read_rotate(struct text_reader *reader)
{
    reader->schedule->symmetry = RONDE_SYMMETRY_ROTATE;
    while (reader->lexer.kind != TEXT_END) {
        enum ronde_buffer buffer;
        if (!text_need_buffer(&reader->lexer, &buffer))
            return false;
        reader->schedule->rotates[buffer] = true;
    }
    return true;
}

static bool read_peers(struct text_reader *reader)
{
    reader->schedule->absolute_peers = text_take_word(&reader->lexer, "absolute");
    return reader->schedule->absolute_peers || text_fail_expected(&reader->lexer, "'absolute'");
}

static bool read_strict(struct text_reader *reader)
{
    reader->schedule->allow_dead_work = false;
    return true;
}

static bool read_clobbers(struct text_reader *reader)
{
    reader->schedule->clobbers = true;
    return true;
}

static bool take_order_entry(void *self, struct text_lexer *lexer, uint32_t rank)
{
    struct text_reader *reader = self;
    const uint32_t mark = reader->channels.count + 1;
    if (reader->seen[rank] == mark)
        return text_fail(lexer, "rank %" PRIu32 " is twice in the order", rank);
    reader->seen[rank] = mark;
    /* Ranks are distinct and below the number of ranks, so there are no more of them than entries. */
    reader->order[reader->order_count++] = rank;
    return true;
}

static bool read_order(struct text_reader *reader, struct ronde_channel *channel)
{
    struct text_lexer *lexer = &reader->lexer;
    const uint32_t ranks = reader->schedule->ranks;
    if (ranks > reader->order_budget)
        return text_fail(lexer,
                         "the orders of this and earlier channels have more entries than "
                         "the text has bytes, and more than %" PRIu64,
                         FREE_ORDER_ENTRIES);
    reader->order_budget -= ranks;
    if (!reader->seen)
        reader->seen = ronde_mem_new(reader->mem, ranks, sizeof *reader->seen);
    reader->order = ronde_arena_new(reader->schedule->arena, ranks, sizeof *reader->order);
    reader->order_count = 0;
    if (!reader->seen || !reader->order)
        return text_fail_memory(lexer);
    if (!text_need_list(lexer, "rank", ranks, take_order_entry, reader))
        return false;
    if (reader->order_count < ranks)
        return text_fail(lexer, "the order has %" PRIu32 " of %" PRIu32 " ranks",
                         reader->order_count, ranks);
    channel->order = reader->order;
    return true;
}

static bool read_channel(struct text_reader *reader)
{
    struct text_lexer *lexer = &reader->lexer;
    struct ronde_channel channel = {.weight = 1};
    if (reader->schedule->ranks == 0)
        return text_fail(lexer, "'channel' must stand below 'ranks'");
    if (text_take_word(lexer, "weight") &&
        !text_need_number(lexer, "weight", 1, RONDE_NONE - 1, &channel.weight))
        return false;
    if (text_take_word(lexer, "order") && !read_order(reader, &channel))
        return false;
    struct ronde_channel *kept = text_list_add(reader->mem, &reader->channels, sizeof *kept);
    if (!kept)
        return text_fail_memory(lexer);
    *kept = channel;
    return true;
}

/* In the order of enum header_index. */
static const struct header_word header_words[HEADER_COUNT] = {
    {"collective", read_collective, false}, {"algorithm", read_algorithm, false},
    {"ranks", read_ranks, false},           {"root", read_root, false},
    {"chunks", read_chunks, false},         {"rotate", read_rotate, false},
    {"peers", read_peers, false},           {"strict", read_strict, false},
    {"clobbers", read_clobbers, false},     {"channel", read_channel, true},
};

static bool read_header_line(struct text_reader *reader, const struct header_word *word)
{
    struct text_lexer *lexer = &reader->lexer;
    uint32_t *line = &reader->header_lines[word - header_words];
    if (reader->is_open)
        return text_fail(lexer, "'%s' must stand above the programs", word->text);
    if (*line > 0 && !word->may_repeat)
        return text_fail(lexer, "'%s' stands in line %" PRIu32 " already", word->text, *line);
    *line = lexer->line;
    text_lex_next(lexer);
    return word->read(reader) && text_need_end(lexer);
}

/* --- what the lines of the header must be together ------------------------------------------------------------- */

static bool check_chunks(struct text_reader *reader)
{
    const struct ronde_schedule *schedule = reader->schedule;
    const uint32_t in = ronde_collective_in_blocks(schedule->collective, schedule->ranks);
    const uint32_t out = ronde_collective_out_blocks(schedule->collective, schedule->ranks);
    const uint64_t blocks = in > out ? in : out;
    if (blocks * schedule->chunks_per_block <= TEXT_MOST_CHUNKS)
        return true;
    return text_fail_at(&reader->lexer, reader->header_lines[HEADER_CHUNKS],
                        "%" PRIu64 " blocks of %" PRIu32 " chunks are more than %u chunks", blocks,
                        schedule->chunks_per_block, TEXT_MOST_CHUNKS);
}

/* A buffer can rotate only if every position has as many of its chunks. */
static bool check_rotates(struct text_reader *reader, uint32_t line, enum ronde_buffer buffer,
                          const struct ronde_program *program)
{
    const struct ronde_schedule *schedule = reader->schedule;
    const uint32_t chunks = ronde_schedule_chunks(schedule, program, buffer);
    if (!schedule->rotates[buffer] || chunks % schedule->ranks == 0)
        return true;
    return text_fail_at(&reader->lexer, line,
                        "'%s' has %" PRIu32 " chunks and cannot rotate over %" PRIu32 " ranks",
                        text_buffer_words[buffer], chunks, schedule->ranks);
}

static bool check_symmetry(struct text_reader *reader)
{
    const uint32_t line = reader->header_lines[HEADER_ROTATE];
    if (reader->schedule->symmetry == RONDE_SYMMETRY_NONE)
        return true;
    if (reader->schedule->absolute_peers)
        return text_fail_at(&reader->lexer, line,
                            "'rotate' and 'peers absolute' exclude each other");
    return check_rotates(reader, line, RONDE_IN, NULL) &&
           check_rotates(reader, line, RONDE_OUT, NULL);
}

/* The root is a rank, the collective has one, and it is at position 0 of every channel. */
static bool check_root(struct text_reader *reader)
{
    const struct ronde_schedule *schedule = reader->schedule;
    const uint32_t line = reader->header_lines[HEADER_ROOT];
    const struct ronde_channel *channels = reader->channels.items;
    if (schedule->root >= schedule->ranks)
        return text_fail_at(&reader->lexer, line, "root %" PRIu32 " is not below ranks %" PRIu32,
                            schedule->root, schedule->ranks);
    if (!ronde_collective_traits(schedule->collective)->has_root)
        return line == 0 || text_fail_at(&reader->lexer, line, "%s has no root",
                                         ronde_collective_text(schedule->collective));
    for (uint32_t k = 0; k < reader->channels.count; k++) {
        const uint32_t first = channels[k].order ? channels[k].order[0] : 0;
        if (first != schedule->root)
            return text_fail(&reader->lexer,
                             "the order of channel %" PRIu32 " begins with rank %" PRIu32
                             ", not with the root %" PRIu32,
                             k, first, schedule->root);
    }
    return true;
}

/* Gives what was not said its default: one channel. */
static bool keep_channels(struct text_reader *reader)
{
    struct ronde_schedule *schedule = reader->schedule;
    const struct ronde_channel usual = {.weight = 1};
    if (reader->channels.count == 0) {
        struct ronde_channel *only = text_list_add(reader->mem, &reader->channels, sizeof *only);
        if (!only)
            return text_fail_memory(&reader->lexer);
        *only = usual;
    }
    schedule->channel_count = reader->channels.count;
    schedule->channels =
        ronde_arena_new(schedule->arena, schedule->channel_count, sizeof *schedule->channels);
    if (!schedule->channels)
        return text_fail_memory(&reader->lexer);
    memcpy(schedule->channels, reader->channels.items,
           schedule->channel_count * sizeof *schedule->channels);
    return true;
}

static bool make_program_of(struct text_reader *reader)
{
    struct ronde_schedule *schedule = reader->schedule;
    if (schedule->symmetry != RONDE_SYMMETRY_NONE)
        return true;
    schedule->program_of =
        ronde_arena_new(schedule->arena, schedule->ranks, sizeof *schedule->program_of);
    if (!schedule->program_of)
        return text_fail_memory(&reader->lexer);
    for (uint32_t position = 0; position < schedule->ranks; position++)
        schedule->program_of[position] = RONDE_NONE;
    return true;
}

/* Ends the header, at the first program or at the end of the text. */
static bool finish_header(struct text_reader *reader)
{
    static const enum header_index needed[] = {HEADER_COLLECTIVE, HEADER_RANKS};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (reader->header_lines[needed[i]] == 0)
            return text_fail(&reader->lexer, "no '%s' line above the programs",
                             header_words[needed[i]].text);
    return check_chunks(reader) && check_symmetry(reader) && keep_channels(reader) &&
           check_root(reader) && make_program_of(reader);
}

/* --- programs -------------------------------------------------------------------------------------------------- */

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
    struct ronde_program *program = text_list_add(reader->mem, &reader->programs, sizeof *program);
    if (!program)
        return text_fail_memory(&reader->lexer);
    return text_draft_finish(&reader->draft, &reader->lexer, reader->schedule->arena, program);
}

static bool read_program(struct text_reader *reader)
{
    struct text_lexer *lexer = &reader->lexer;
    uint32_t number;
    uint32_t scratch = 0;
    if (!reader->is_open && !finish_header(reader))
        return false;
    if (!finish_program(reader))
        return false;
    reader->is_open = true;
    text_lex_next(lexer);
    if (!text_need_number(lexer, "program", 0, RONDE_NONE - 1, &number))
        return false;
    if (number != reader->programs.count)
        return text_fail(lexer, "program %" PRIu32 " stands where program %" PRIu32 " is due",
                         number, reader->programs.count);
    if (number > 0 && reader->schedule->symmetry != RONDE_SYMMETRY_NONE)
        return text_fail(lexer, "a rotating schedule has one program");
    if (text_take_word(lexer, "scratch") &&
        !text_need_number(lexer, "scratch", 0, TEXT_MOST_CHUNKS, &scratch))
        return false;
    text_draft_start(&reader->draft, scratch);
    return check_rotates(reader, lexer->line, RONDE_SCRATCH, &reader->draft.program) &&
           read_positions(reader);
}

/* --- the text -------------------------------------------------------------------------------------------------- */

static bool read_line(struct text_reader *reader)
{
    struct text_lexer *lexer = &reader->lexer;
    for (size_t i = 0; i < HEADER_COUNT; i++)
        if (text_is_word(lexer, header_words[i].text))
            return read_header_line(reader, &header_words[i]);
    if (text_is_word(lexer, "program"))
        return read_program(reader);
    if (!reader->is_open)
        return text_fail_expected(lexer, "a line of the header or 'program'");
    if (text_take_word(lexer, "lane"))
        return text_draft_lane(&reader->draft, lexer);
    return text_draft_step(&reader->draft, lexer);
}

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
        return finish_header(reader) && text_fail(&reader->lexer, "no 'program' line");
    if (!finish_program(reader))
        return false;
    if (schedule->program_of && reader->served < schedule->ranks)
        for (uint32_t position = 0; position < schedule->ranks; position++)
            if (schedule->program_of[position] == RONDE_NONE)
                return text_fail(&reader->lexer, "position %" PRIu32 " has no program", position);
    return keep_programs(reader);
}

static bool read_text(struct text_reader *reader)
{
    if (!read_version(reader))
        return false;
    while (text_lex_line(&reader->lexer))
        if (!read_line(reader))
            return false;
    return finish_text(reader);
}

static void reader_open(struct text_reader *reader, const char *text, size_t bytes,
                        const char *name, struct ronde_error *error)
{
    struct ronde_schedule *schedule = reader->schedule;
    text_lex_open(&reader->lexer, text, bytes, name, error);
    reader->draft.mem = reader->mem;
    reader->draft.schedule = schedule;
    reader->order_budget = FREE_ORDER_ENTRIES + bytes;
    schedule->chunks_per_block = 1;
    /* People try things out; built-ins print 'strict'. */
    schedule->allow_dead_work = true;
    memcpy(schedule->algorithm, "custom", sizeof "custom");
}

static void reader_close(struct text_reader *reader)
{
    text_draft_free(&reader->draft);
    text_list_free(reader->mem, &reader->channels, sizeof(struct ronde_channel));
    text_list_free(reader->mem, &reader->programs, sizeof(struct ronde_program));
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
    if (status == RONDE_OK)
        status = parse(text, bytes, name, schedule, error);
    if (status == RONDE_OK)
        status = ronde_seal(schedule, out_proof, error);
    if (status != RONDE_OK) {
        ronde_schedule_destroy(schedule);
        return status;
    }
    *out_schedule = schedule;
    return RONDE_OK;
}
