/*
 * What movers do, for all element types of a width: included once per width with RONDE_MOVE_BYTES, the bytes of an element,
 * and RONDE_MOVE_WORD, one type of that width.
 *
 * ronde_movers_<BYTES>(block, command, mover) is the part of one mover. Here is what moves bytes without interpreting
 * them, and is the same for all types: copies, and the protocol of lines, which go line by line with 8 bytes of data each.
 * A line waits for memory hundreds of times as long as it takes to find out what to compute: one loop serves all types
 * and moves.
 *
 * No include guard: the file is a template. It needs move_types.h.
 */
#define RONDE_WIDTH_PASTE(name, bytes) ronde_##name##_##bytes
#define RONDE_WIDTH_NAME(name, bytes) RONDE_WIDTH_PASTE(name, bytes)
#define WIDTH(name) RONDE_WIDTH_NAME(name, RONDE_MOVE_BYTES)
#define WORD RONDE_WIDTH_NAME(element, RONDE_MOVE_WORD)
#define COPY RONDE_WIDTH_NAME(move_plain, RONDE_MOVE_WORD)
#define PER_LINE ((uint32_t)(RONDE_LINE_DATA_BYTES / sizeof(WORD)))

/* A line's data as words. */
struct WIDTH(words) {
    WORD at[PER_LINE];
};

/* The line of an operand as it is now; plain memory counts as arrived. */
RONDE_INTERP struct ronde_line WIDTH(peek_line)(const struct ronde_block_command *command,
                                                const unsigned char *operand, uint64_t cell)
{
    if (ronde_place_has_lines(operand))
        return RONDE_PORT_LOAD_LINE(ronde_line_address(operand + cell * RONDE_LINE_DATA_BYTES));
    struct ronde_line line = {{0, 0}, {command->flags[0], command->flags[0]}};
    struct WIDTH(words) plain;
    const WORD *const from = (const WORD *)(const void *)operand + cell * PER_LINE;
    const uint64_t rest = command->elements - cell * PER_LINE;
    RONDE_UNROLL
    for (uint32_t e = 0; e < PER_LINE; e++)
        plain.at[e] = e < rest ? from[e] : (WORD)0;
    RONDE_BYTES(line.data, &plain, sizeof plain);
    return line;
}

/*
 * Loads a line again until it has arrived: it may still be under way. A lost sender's never arrives; then the run has to
 * stop, and the mover gives up: false.
 */
RONDE_INTERP bool
WIDTH(await_line)(struct ronde_block *block, const struct ronde_block_command *command,
                  const unsigned char *operand, uint64_t cell, struct ronde_line *io_line)
{
    struct ronde_line line = *io_line;
    const uint32_t flag = command->flags[0];
    for (uint32_t k = 1; line.flag[0] != flag || line.flag[1] != flag; k++) {
        if (k % RONDE_TURNS_PER_CHECK == 0 && ronde_block_must_stop(block)) {
            RONDE_PORT_POKE(&block->gave_up, 1);
            return false;
        }
        line = WIDTH(peek_line)(command, operand, cell);
    }
    *io_line = line;
    return true;
}

/* Writes a line, or the elements it would hold. */
RONDE_INTERP void WIDTH(store_line)(const struct ronde_block_command *command, uint64_t cell,
                                    const uint32_t data[2])
{
    const uint32_t flag = command->flags[1];
    if (ronde_place_has_lines(command->to)) {
        const struct ronde_line line = {{data[0], data[1]}, {flag, flag}};
        RONDE_PORT_STORE_LINE(ronde_line_address(command->to + cell * RONDE_LINE_DATA_BYTES), line);
        return;
    }
    struct WIDTH(words) in;
    WORD *const out = (WORD *)(void *)command->to + cell * PER_LINE;
    const uint64_t rest = command->elements - cell * PER_LINE;
    RONDE_BYTES(&in, data, sizeof in);
    RONDE_UNROLL
    for (uint32_t e = 0; e < PER_LINE; e++)
        if (e < rest)
            out[e] = in.at[e];
}

/* Types of other widths have no code here. */
#define RONDE_WIDTH_CASE(call, type_bytes)                                                         \
    if ((type_bytes) == RONDE_MOVE_BYTES)                                                          \
        call;                                                                                      \
    break;

/* Computes the elements of a line, in place of x. */
RONDE_INTERP void WIDTH(compute_line)(const struct ronde_block_command *command,
                                      enum ronde_dtype dtype, uint32_t x[2], const uint32_t y[2])
{
    switch (ronde_move_type(dtype, command->move)) {
#define RONDE_LINE_CASE(type, text, bytes)                                                         \
    case RONDE_##type:                                                                             \
        RONDE_WIDTH_CASE(ronde_move_line_##type(command, x, y), bytes)
        RONDE_DTYPE_LIST(RONDE_LINE_CASE)
#undef RONDE_LINE_CASE
    case RONDE_DTYPE_COUNT:
        break;
    }
}

/* One or several of result and operands lie in lines. Some are loaded together, then waited for one by one. */
RONDE_INTERP void WIDTH(move_lines)(struct ronde_block *block,
                                    const struct ronde_block_command *command,
                                    struct ronde_mover mover)
{
    const uint64_t cells = (command->elements + PER_LINE - 1) / PER_LINE;
    const uint64_t stride = mover.threads;
    const bool has_b = command->b != 0;
    for (uint64_t c = mover.thread; c < cells; c += RONDE_LINES_AT_ONCE * stride) {
        struct ronde_line x[RONDE_LINES_AT_ONCE] = {{{0, 0}, {0, 0}}};
        struct ronde_line y[RONDE_LINES_AT_ONCE] = {{{0, 0}, {0, 0}}};
        RONDE_UNROLL
        for (uint32_t k = 0; k < RONDE_LINES_AT_ONCE && c + k * stride < cells; k++) {
            x[k] = WIDTH(peek_line)(command, command->a, c + k * stride);
            if (has_b)
                y[k] = WIDTH(peek_line)(command, command->b, c + k * stride);
        }
        RONDE_ROLLED
        for (uint32_t k = 0; k < RONDE_LINES_AT_ONCE && c + k * stride < cells; k++) {
            const uint64_t cell = c + k * stride;
            if (!WIDTH(await_line)(block, command, command->a, cell, &x[0]) ||
                (has_b && !WIDTH(await_line)(block, command, command->b, cell, &y[0])))
                return;
            if (command->move != RONDE_MOVE_COPY)
                WIDTH(compute_line)(command, block->frame.dtype, x[0].data, y[0].data);
            WIDTH(store_line)(command, cell, x[0].data);
            RONDE_UNROLL
            for (uint32_t n = 0; n + 1 < RONDE_LINES_AT_ONCE; n++) {
                x[n] = x[n + 1];
                y[n] = y[n + 1];
            }
        }
    }
}

/** A mover's part of a command. */
RONDE_INTERP void WIDTH(movers)(struct ronde_block *block,
                                const struct ronde_block_command *command, struct ronde_mover mover)
{
    if (command->move == RONDE_MOVE_NONE)
        return;
    if (ronde_place_has_lines(command->to) || ronde_place_has_lines(command->a) ||
        ronde_place_has_lines(command->b)) {
        WIDTH(move_lines)(block, command, mover);
        return;
    }
    if (command->move == RONDE_MOVE_COPY) {
        COPY(RONDE_MOVE_COPY, command, mover);
        return;
    }
    switch (ronde_move_type(block->frame.dtype, command->move)) {
#define RONDE_PLAIN_CASE(type, text, bytes)                                                        \
    case RONDE_##type:                                                                             \
        RONDE_WIDTH_CASE(ronde_move_##type(command, mover), bytes)
        RONDE_DTYPE_LIST(RONDE_PLAIN_CASE)
#undef RONDE_PLAIN_CASE
    case RONDE_DTYPE_COUNT:
        break;
    }
}

#undef RONDE_WIDTH_CASE
#undef PER_LINE
#undef COPY
#undef WORD
#undef WIDTH
#undef RONDE_WIDTH_NAME
#undef RONDE_WIDTH_PASTE
