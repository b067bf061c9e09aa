/* The header of the text form: one function per word, then what the lines must be together. */
#include "draft.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

/* A word that begins a line of the header; `read` takes the rest of the line. */
struct header_word {
    const char *text;
    bool (*read)(struct text_reader *reader, const struct header_word *word);
    size_t field;         /* of the schedule, where `read` is read_number or read_flag */
    uint32_t least, most; /* of a number; what a flag becomes */
    bool may_repeat;
};

/* Takes the spellings of the command line too; printing settles on one. */
static bool read_collective(struct text_reader *reader, const struct header_word *word)
{
    (void)word;
    char name[32];
    if (!text_need_name(&reader->lexer, "a collective", name, sizeof name))
        return false;
    return ronde_collective_parse(name, &reader->schedule->collective) ||
           text_fail(&reader->lexer, "unknown collective '%s'", name);
}

/* Any name will do: a hand-written schedule need not be an algorithm of the registry. */
static bool read_algorithm(struct text_reader *reader, const struct header_word *word)
{
    (void)word;
    return text_need_name(&reader->lexer, "an algorithm's name", reader->schedule->algorithm,
                          sizeof reader->schedule->algorithm);
}

static bool read_number(struct text_reader *reader, const struct header_word *word)
{
    uint32_t *field = (uint32_t *)(void *)((char *)reader->schedule + word->field);
    return text_need_number(&reader->lexer, word->text, word->least, word->most, field);
}

static bool read_flag(struct text_reader *reader, const struct header_word *word)
{
    *((bool *)reader->schedule + word->field) = word->most != 0;
    return true;
}

/* The radices of a position, slowest first. Their product is checked when the ranks are known. */
static bool read_shape(struct text_reader *reader, const struct header_word *word)
{
    (void)word;
    struct ronde_schedule *schedule = reader->schedule;
    do {
        if (schedule->shape_count == RONDE_MAX_SHAPE)
            return text_fail(&reader->lexer, "a shape has at most %d digits", RONDE_MAX_SHAPE);
        if (!text_need_number(&reader->lexer, "radix", 1, RONDE_MAX_RANKS,
                              &schedule->shape[schedule->shape_count]))
            return false;
        schedule->shape_count++;
    } while (reader->lexer.kind != TEXT_END);
    return true;
}

/* The buffers whose blocks follow the position. */
static bool read_symmetry(struct text_reader *reader, const struct header_word *word)
{
    if (reader->schedule->symmetry != RONDE_SYMMETRY_NONE)
        return text_fail(&reader->lexer, "'rotate' and 'xor' exclude each other");
    reader->schedule->symmetry = (enum ronde_symmetry)word->most;
    while (reader->lexer.kind != TEXT_END) {
        enum ronde_buffer buffer;
        if (!text_need_buffer(&reader->lexer, &buffer))
            return false;
        reader->schedule->rotates[buffer] = true;
    }
    return true;
}

/* One "source -> destination" of a list of pairs. */
static bool read_pair(struct text_reader *reader)
{
    struct text_lexer *lexer = &reader->lexer;
    const uint32_t last = reader->schedule->ranks - 1;
    uint32_t *source_of = reader->schedule->source_of;
    uint32_t source;
    uint32_t destination;
    if (!text_need_number(lexer, "source", 0, last, &source))
        return false;
    if (lexer->kind != TEXT_SEND)
        return text_fail_expected(lexer, "'->'");
    text_lex_next(lexer);
    if (!text_need_number(lexer, "destination", 0, last, &destination))
        return false;
    if (source_of[destination] != RONDE_NONE)
        return text_fail(lexer, "rank %" PRIu32 " receives from %" PRIu32 " already", destination,
                         source_of[destination]);
    source_of[destination] = source;
    return true;
}

/* No rank receives until a pair gives it a source. */
static bool read_pairs(struct text_reader *reader, const struct header_word *word)
{
    (void)word;
    struct ronde_schedule *schedule = reader->schedule;
    if (schedule->ranks == 0)
        return text_fail(&reader->lexer, "'pairs' must stand below 'ranks'");
    schedule->source_of =
        ronde_arena_new(schedule->arena, schedule->ranks, sizeof *schedule->source_of);
    if (!schedule->source_of)
        return text_fail_memory(&reader->lexer);
    memset(schedule->source_of, 0xff, schedule->ranks * sizeof *schedule->source_of);
    /* An empty list of pairs must be written: without the line every rank receives. */
    while (reader->lexer.kind != TEXT_END)
        if (!read_pair(reader))
            return false;
    return true;
}

/* Only values that differ from the default can be written. */
static bool read_peers(struct text_reader *reader, const struct header_word *word)
{
    (void)word;
    reader->schedule->absolute_peers = text_take_word(&reader->lexer, "absolute");
    return reader->schedule->absolute_peers || text_fail_expected(&reader->lexer, "'absolute'");
}

/* The default is not written. */
static bool read_placement(struct text_reader *reader, const struct header_word *word)
{
    (void)word;
    for (unsigned i = RONDE_FORM_ANY + 1; i < RONDE_FORM_COUNT; i++)
        if (text_take_word(&reader->lexer, ronde_form_text((enum ronde_form)i))) {
            reader->schedule->form = (enum ronde_form)i;
            return true;
        }
    return text_fail_expected(&reader->lexer, "'out_of_place' or 'in_place'");
}

/* One rank of an order; `seen` is stamped with the channel, so that it need not be cleared for the next. */
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

/* The order is made before its entries are read: the budget has paid for it, and a wrong one ends the reading. */
static bool read_order(struct text_reader *reader, struct ronde_channel *channel)
{
    struct text_lexer *lexer = &reader->lexer;
    const uint32_t ranks = reader->schedule->ranks;
    if (ranks > reader->order_budget)
        return text_fail(lexer,
                         "the orders of this and earlier channels have more entries than "
                         "the text has bytes, and more than %" PRIu64,
                         TEXT_FREE_ORDER_ENTRIES);
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

/* Weight and order, each of which may be omitted. */
static bool read_channel(struct text_reader *reader, const struct header_word *word)
{
    (void)word;
    struct text_lexer *lexer = &reader->lexer;
    struct ronde_channel channel = {.weight = 1};
    if (reader->schedule->ranks == 0)
        return text_fail(lexer, "'channel' must stand below 'ranks'");
    if (text_take_word(lexer, "weight") &&
        !text_need_number(lexer, "weight", 1, RONDE_NONE - 1, &channel.weight))
        return false;
    if (text_take_word(lexer, "order") && !read_order(reader, &channel))
        return false;
    return ronde_list_append(reader->mem, &reader->channels, &channel, sizeof channel) ||
           text_fail_memory(lexer);
}

/*
 * In the order of enum text_header_word. Lines come in any order: the root is compared with the ranks when the header is
 * complete, and chunks are bounded for one block alone; what all blocks need depends on other lines.
 */
#define FIELD(name) offsetof(struct ronde_schedule, name)
static const struct header_word header_words[TEXT_HEADER_COUNT] = {
    {"collective", read_collective, 0, 0, 0, false},
    {"algorithm", read_algorithm, 0, 0, 0, false},
    {"ranks", read_number, FIELD(ranks), 1, RONDE_MAX_RANKS, false},
    {"root", read_number, FIELD(root), 0, RONDE_MAX_RANKS - 1, false},
    {"pairs", read_pairs, 0, 0, 0, false},
    {"chunks", read_number, FIELD(chunks_per_block), 1, TEXT_MOST_CHUNKS, false},
    {"shape", read_shape, 0, 0, 0, false},
    {"rotate", read_symmetry, 0, 0, RONDE_SYMMETRY_ROTATE, false},
    {"xor", read_symmetry, 0, 0, RONDE_SYMMETRY_XOR, false},
    {"peers", read_peers, 0, 0, 0, false},
    /* Undoes what reader_open assumes of files. */
    {"strict", read_flag, FIELD(allow_dead_work), 0, false, false},
    {"clobbers", read_flag, FIELD(clobbers), 0, true, false},
    {"unscaled", read_flag, FIELD(is_unscaled), 0, true, false},
    {"placement", read_placement, 0, 0, 0, false},
    {"channel", read_channel, 0, 0, 0, true},
};

/* The row of the current token, or NULL. */
static const struct header_word *find_word(const struct text_reader *reader)
{
    for (size_t i = 0; i < TEXT_HEADER_COUNT; i++)
        if (text_is_word(&reader->lexer, header_words[i].text))
            return &header_words[i];
    return NULL;
}

bool text_is_header(const struct text_reader *reader)
{
    return find_word(reader) != NULL;
}

bool text_read_header(struct text_reader *reader)
{
    struct text_lexer *lexer = &reader->lexer;
    const struct header_word *word = find_word(reader);
    uint32_t *line = &reader->header_lines[word - header_words];
    if (reader->is_open)
        return text_fail(lexer, "'%s' must stand above the programs", word->text);
    if (*line > 0 && !word->may_repeat)
        return text_fail(lexer, "'%s' stands in line %" PRIu32 " already", word->text, *line);
    *line = lexer->line;
    text_lex_next(lexer);
    return word->read(reader, word) && text_need_end(lexer);
}

/* --- what the lines of the header must be together ------------------------------------------------------------- */

/* Bounds the buffers themselves, which every later stage makes arrays of. */
static bool check_chunks(struct text_reader *reader)
{
    const struct ronde_schedule *schedule = reader->schedule;
    const uint64_t blocks = ronde_collective_most_blocks(schedule->collective, schedule->ranks);
    if (blocks * schedule->chunks_per_block <= TEXT_MOST_CHUNKS)
        return true;
    return text_fail_at(&reader->lexer, reader->header_lines[TEXT_HEADER_CHUNKS],
                        "%" PRIu64 " blocks of %" PRIu32 " chunks are more than %u chunks", blocks,
                        schedule->chunks_per_block, TEXT_MOST_CHUNKS);
}

/* A buffer can rotate only if every position has as many of its chunks. */
bool text_check_rotates(struct text_reader *reader, uint32_t line, enum ronde_buffer buffer,
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

/* The shape of a rotation has as many positions as there are ranks. */
static bool check_shape(struct text_reader *reader)
{
    const struct ronde_schedule *schedule = reader->schedule;
    const uint32_t line = reader->header_lines[TEXT_HEADER_SHAPE];
    uint64_t product = 1; /* at most 2^(20 * 2), since it is looked at after every factor */
    for (uint32_t i = 0; i < schedule->shape_count && product <= RONDE_MAX_RANKS; i++)
        product *= schedule->shape[i];
    if (line > 0 && schedule->symmetry != RONDE_SYMMETRY_ROTATE)
        return text_fail_at(&reader->lexer, line, "'shape' needs 'rotate'");
    if (line > 0 && product != schedule->ranks)
        return text_fail_at(&reader->lexer, line,
                            "the shape does not multiply to %" PRIu32 " ranks", schedule->ranks);
    return true;
}

/* Requirements of symmetric schedules only; the prover checks the same, but cannot name a line. */
static bool check_symmetry(struct text_reader *reader)
{
    const struct ronde_schedule *schedule = reader->schedule;
    const bool is_xor = schedule->symmetry == RONDE_SYMMETRY_XOR;
    const uint32_t line = reader->header_lines[is_xor ? TEXT_HEADER_XOR : TEXT_HEADER_ROTATE];
    if (schedule->symmetry == RONDE_SYMMETRY_NONE)
        return true;
    if (schedule->absolute_peers)
        return text_fail_at(&reader->lexer, line, "'%s' and 'peers absolute' exclude each other",
                            is_xor ? "xor" : "rotate");
    if (is_xor && (schedule->ranks & (schedule->ranks - 1)) != 0)
        return text_fail_at(&reader->lexer, line,
                            "'xor' needs a power of two, which %" PRIu32 " ranks are not",
                            schedule->ranks);
    return text_check_rotates(reader, line, RONDE_IN, NULL) &&
           text_check_rotates(reader, line, RONDE_OUT, NULL);
}

/* Pairs define send_recv; every other collective implies which rank receives which block. */
static bool check_pairs(struct text_reader *reader)
{
    const uint32_t line = reader->header_lines[TEXT_HEADER_PAIRS];
    const enum ronde_collective collective = reader->schedule->collective;
    return line == 0 || collective == RONDE_SEND_RECV ||
           text_fail_at(&reader->lexer, line, "%s has no pairs", ronde_collective_text(collective));
}

/* Only a collective with a form in place can require it. */
static bool check_placement(struct text_reader *reader)
{
    const uint32_t line = reader->header_lines[TEXT_HEADER_PLACEMENT];
    const enum ronde_collective collective = reader->schedule->collective;
    return line == 0 || ronde_collective_traits(collective)->has_in_place ||
           text_fail_at(&reader->lexer, line, "%s has no form in place: leave 'placement' out",
                        ronde_collective_text(collective));
}

/* The root is a rank, the collective has one, and it is at position 0 of every channel. */
static bool check_root(struct text_reader *reader)
{
    const struct ronde_schedule *schedule = reader->schedule;
    const uint32_t line = reader->header_lines[TEXT_HEADER_ROOT];
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

/* Fills in the default of an omitted line: one channel. */
static bool keep_channels(struct text_reader *reader)
{
    struct ronde_schedule *schedule = reader->schedule;
    const struct ronde_channel usual = {.weight = 1};
    if (reader->channels.count == 0 &&
        !ronde_list_append(reader->mem, &reader->channels, &usual, sizeof usual))
        return text_fail_memory(&reader->lexer);
    schedule->channel_count = reader->channels.count;
    schedule->channels =
        ronde_arena_new(schedule->arena, schedule->channel_count, sizeof *schedule->channels);
    if (!schedule->channels)
        return text_fail_memory(&reader->lexer);
    memcpy(schedule->channels, reader->channels.items,
           schedule->channel_count * sizeof *schedule->channels);
    return true;
}

/* Positions have no program until one claims them; a symmetric schedule has one for all and no table. */
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
bool text_finish_header(struct text_reader *reader)
{
    static const enum text_header_word needed[] = {TEXT_HEADER_COLLECTIVE, TEXT_HEADER_RANKS};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (reader->header_lines[needed[i]] == 0)
            return text_fail(&reader->lexer, "no '%s' line above the programs",
                             header_words[needed[i]].text);
    return check_chunks(reader) && check_shape(reader) && check_symmetry(reader) &&
           check_pairs(reader) && check_placement(reader) && keep_channels(reader) &&
           check_root(reader) && make_program_of(reader);
}
