/* One step of the text form: operation, operands, connections, dependencies. */
#include "draft.h"

#include "engine/execute/operation.h"

#include <inttypes.h>
#include <string.h>

/* What an operation word means. */
struct step_word {
    const char *text;
    enum ronde_step_op op;
    bool is_signal; /* moves no chunks and so names none */
    bool is_joint;  /* one operand is source and destination */
};

static const struct step_word step_words[] = {
#define STEP_WORD(name, text, source, receives, reduces, sends, writes, rereads, kept)             \
    {text, RONDE_STEP_##name, false, false},
    RONDE_STEP_LIST(STEP_WORD)
#undef STEP_WORD
        {"signal", RONDE_STEP_SEND, true, false},
    {"wait", RONDE_STEP_RECV, true, false},
    {"rr", RONDE_STEP_RRC, false, true},
};

/* Words that later versions will give a meaning; refused by name, so that no reader takes them for misspellings. */
static const char *const reserved_words[] = {"load_reduce", "store"};

const char *const text_buffer_words[RONDE_BUFFER_COUNT] = {"in", "out", "scratch"};

/* Chunks of one buffer as they are written. */
struct text_operand {
    enum ronde_buffer buffer;
    bool is_strided;
    struct ronde_range range;
};

/* The row of the operation, or NULL with an error. */
static const struct step_word *take_step_word(struct text_lexer *lexer)
{
    for (size_t i = 0; i < sizeof step_words / sizeof step_words[0]; i++)
        if (text_take_word(lexer, step_words[i].text))
            return &step_words[i];
    for (size_t i = 0; i < sizeof reserved_words / sizeof reserved_words[0]; i++)
        if (text_is_word(lexer, reserved_words[i])) {
            text_fail(lexer,
                      "operation '%s' is reserved for multicast groups, which version 1 "
                      "does not have",
                      reserved_words[i]);
            return NULL;
        }
    text_fail_expected(lexer, "an operation such as 'send' or 'rrc'");
    return NULL;
}

bool text_need_buffer(struct text_lexer *lexer, enum ronde_buffer *out_buffer)
{
    for (uint32_t i = 0; i < RONDE_BUFFER_COUNT; i++)
        if (text_take_word(lexer, text_buffer_words[i])) {
            *out_buffer = (enum ronde_buffer)i;
            return true;
        }
    return text_fail_expected(lexer, "'in', 'out' or 'scratch'");
}

/* " run R stride S" of a strided range, whose first and count are known. */
static bool read_stride(struct text_lexer *lexer, uint32_t chunks, struct text_operand *operand)
{
    const uint32_t run_most = operand->range.count ? operand->range.count : 1;
    operand->is_strided = true;
    if (!text_need_number(lexer, "run", 1, run_most, &operand->range.run))
        return false;
    if (!text_take_word(lexer, "stride"))
        return text_fail_expected(lexer, "'stride'");
    return text_need_number(lexer, "stride", 0, chunks, &operand->range.stride);
}

/* "in[3]", "out[0+4]" or "scratch[1+8 run 2 stride 4]", within the bounds of the buffer. */
static bool read_operand(const struct text_draft *draft, struct text_lexer *lexer,
                         struct text_operand *operand)
{
    memset(operand, 0, sizeof *operand);
    operand->range.count = 1;
    operand->range.run = 1;
    if (!text_need_buffer(lexer, &operand->buffer) || !text_need_symbol(lexer, '['))
        return false;
    const uint32_t chunks = ronde_schedule_chunks(draft->schedule, &draft->program, operand->buffer);
    if (!text_need_number(lexer, "chunk", 0, chunks ? chunks - 1 : 0, &operand->range.first))
        return false;
    if (text_take_symbol(lexer, '+') &&
        !text_need_number(lexer, "chunk count", 0, chunks, &operand->range.count))
        return false;
    if (operand->range.count > chunks)
        return text_fail(lexer, "'%s' has no chunks", text_buffer_words[operand->buffer]);
    if (text_take_word(lexer, "run") && !read_stride(lexer, chunks, operand))
        return false;
    return text_need_symbol(lexer, ']');
}

/* Fills in a step's source or destination; the message has as many chunks as either. */
static bool keep_operand(struct text_draft *draft, struct text_lexer *lexer,
                         const struct text_operand *operand, bool is_source, struct ronde_step *step)
{
    uint32_t chunk = operand->range.first;
    if (operand->is_strided) {
        chunk = draft->ranges.count;
        if (!ronde_list_append(draft->mem, &draft->ranges, &operand->range, sizeof operand->range))
            return text_fail_memory(lexer);
        step->flags |= is_source ? RONDE_FLAG_SOURCE_RANGE : RONDE_FLAG_DESTINATION_RANGE;
    }
    *(is_source ? &step->source : &step->destination) = (uint8_t)operand->buffer;
    *(is_source ? &step->source_chunk : &step->destination_chunk) = chunk;
    step->chunk_count = operand->range.count;
    return true;
}

/*
 * The operands an operation has; "rs", which has none, gives the number of chunks that pass through
 * it.
 */
static bool read_operands(struct text_draft *draft, struct text_lexer *lexer,
                          const struct step_word *word, struct ronde_step *step)
{
    const bool reads = ronde_step_reads_source(word->op);
    const bool writes = ronde_step_writes(word->op);
    struct text_operand source = {.buffer = RONDE_IN};
    struct text_operand destination = {.buffer = RONDE_OUT};
    if (ronde_op_is_in(word->op, RONDE_OPS_THAT_PASS))
        return text_need_number(lexer, "number of chunks", 0, TEXT_MOST_CHUNKS, &step->chunk_count);
    if (reads && !word->is_signal && !read_operand(draft, lexer, &source))
        return false;
    if (word->is_joint)
        destination = source;
    else if (writes && !word->is_signal && !read_operand(draft, lexer, &destination))
        return false;
    if (reads && writes && source.range.count != destination.range.count)
        return text_fail(lexer, "operands of %" PRIu32 " and %" PRIu32 " chunks",
                         source.range.count, destination.range.count);
    return (!reads || keep_operand(draft, lexer, &source, true, step)) &&
           (!writes || keep_operand(draft, lexer, &destination, false, step));
}

/* One digit of an offset, "2" or "-1", kept modulo its radix. */
static bool read_digit(struct text_lexer *lexer, uint32_t radix, uint32_t *out_digit)
{
    const bool is_negative = text_take_symbol(lexer, '-');
    uint32_t digit;
    if (!text_need_number(lexer, "peer offset", 0, radix - 1, &digit))
        return false;
    *out_digit = is_negative && digit > 0 ? radix - digit : digit;
    return true;
}

/* "(0,-1)", behind the parenthesis: an offset in every digit of the shape. */
static bool read_shaped_peer(const struct ronde_schedule *schedule, struct text_lexer *lexer,
                             uint32_t *out_peer)
{
    *out_peer = 0;
    for (uint32_t i = 0; i < schedule->shape_count; i++) {
        uint32_t digit;
        if (i > 0 && !text_need_symbol(lexer, ','))
            return false;
        if (!read_digit(lexer, schedule->shape[i], &digit))
            return false;
        *out_peer = *out_peer * schedule->shape[i] + digit;
    }
    return text_need_symbol(lexer, ')');
}

/* "+1" or "-1". */
static bool read_signed_peer(const struct ronde_schedule *schedule, struct text_lexer *lexer,
                             uint32_t *out_peer)
{
    if (text_take_symbol(lexer, '+'))
        return text_need_number(lexer, "peer offset", 0, schedule->ranks - 1, out_peer);
    if (lexer->kind == TEXT_SYMBOL && *lexer->start == '-')
        return read_digit(lexer, schedule->ranks, out_peer);
    return text_fail_expected(lexer,
                              "a peer such as '+1' or '-1' (or '@1' below 'peers absolute')");
}

/*
 * How a peer is written follows from the header, so that a line means the same wherever it is
 * copied to.
 */
static bool read_peer(const struct text_draft *draft, struct text_lexer *lexer, uint32_t *out_peer)
{
    const struct ronde_schedule *schedule = draft->schedule;
    const uint32_t last = schedule->ranks - 1;
    if (text_is_word(lexer, "group"))
        return text_fail(lexer, "connection kind 'group' is reserved and not part of version 1");
    switch (text_peer_form(schedule)) {
    case TEXT_PEER_ABSOLUTE:
        return (text_take_symbol(lexer, '@') ||
                text_fail_expected(lexer, "'@' and a position, since peers are absolute")) &&
               text_need_number(lexer, "peer", 0, last, out_peer);
    case TEXT_PEER_XOR:
        return (text_take_symbol(lexer, '^') ||
                text_fail_expected(lexer, "a peer such as '^1', since positions combine by xor")) &&
               text_need_number(lexer, "peer offset", 0, last, out_peer);
    case TEXT_PEER_SHAPED:
        return (text_take_symbol(lexer, '(') ||
                text_fail_expected(lexer, "a peer such as '(0,-1)', since there is a shape")) &&
               read_shaped_peer(schedule, lexer, out_peer);
    case TEXT_PEER_SIGNED:
        break;
    }
    return read_signed_peer(schedule, lexer, out_peer);
}

/* One end of a connection: its arrow, the peer, a tag. */
static bool read_connection(struct text_draft *draft, struct text_lexer *lexer, bool is_send)
{
    uint32_t peer;
    uint32_t tag = 0;
    if (lexer->kind != (is_send ? TEXT_SEND : TEXT_RECEIVE))
        return text_fail_expected(lexer, is_send ? "'->' and a peer" : "'<-' and a peer");
    text_lex_next(lexer);
    if (!read_peer(draft, lexer, &peer))
        return false;
    if (text_take_symbol(lexer, ':') && !text_need_number(lexer, "tag", 0, RONDE_NONE - 1, &tag))
        return false;
    const struct text_use use = {.key = text_use_key(peer, tag, is_send),
                                 .step = draft->steps.count};
    return ronde_list_append(draft->mem, &draft->uses, &use, sizeof use) || text_fail_memory(lexer);
}

/*
 * The connections an operation needs, receive first: fixed, so that there is one way to write a step. The numbers of
 * connections are filled in when the program is complete.
 */
static bool read_connections(struct text_draft *draft, struct text_lexer *lexer,
                             const struct step_word *word)
{
    return (!ronde_step_receives(word->op) || read_connection(draft, lexer, false)) &&
           (!ronde_step_sends(word->op) || read_connection(draft, lexer, true));
}

/* "after 0.3 2.1", to the end of the line. */
static bool read_dependencies(struct text_draft *draft, struct text_lexer *lexer,
                              struct ronde_step *step)
{
    if (lexer->kind == TEXT_END)
        return true;
    if (!text_take_word(lexer, "after"))
        return text_fail_expected(lexer, "'after' or the end of the line");
    step->first_dependency = draft->afters.count;
    do {
        struct text_after *after = ronde_list_push(draft->mem, &draft->afters, sizeof *after);
        if (!after)
            return text_fail_memory(lexer);
        if (!text_need_number(lexer, "lane", 0, RONDE_NONE - 1, &after->lane) ||
            !text_need_symbol(lexer, '.') ||
            !text_need_number(lexer, "step", 0, RONDE_NONE - 1, &after->step))
            return false;
        step->dependency_count++;
    } while (lexer->kind != TEXT_END);
    return true;
}

/* Fields that an operation does not use stay "none", as the builder leaves them. */
bool text_draft_step(struct text_draft *draft, struct text_lexer *lexer)
{
    struct ronde_step step = {.source = RONDE_BUFFER_COUNT,
                              .destination = RONDE_BUFFER_COUNT,
                              .send = RONDE_NONE,
                              .receive = RONDE_NONE};
    const struct step_word *word = take_step_word(lexer);
    if (!word)
        return false;
    step.op = (uint8_t)word->op;
    return read_operands(draft, lexer, word, &step) && read_connections(draft, lexer, word) &&
           read_dependencies(draft, lexer, &step) && text_draft_add_step(draft, lexer, &step);
}
