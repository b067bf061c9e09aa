/*
 * What the movers of a block do, for one element type: included once per type with RONDE_MOVE_TYPE, e.g. FLOAT32.
 *
 * ronde_move_<TYPE>(command, thread, threads) is the part of one mover. Plain memory is moved in vectors of 16 bytes,
 * consecutive threads taking consecutive ones, several loads under way before the first store; the ends that fill no
 * vector, and operands that are not aligned alike, go element by element. Lines go line by line, 8 bytes of data each.
 * A mover loads before it stores, so that the result may replace an operand exactly.
 *
 * No include guard: the file is a template. It needs block.h and engine/elements.h.
 */
#define RONDE_MOVE_PASTE(name, type) ronde_##name##_##type
#define RONDE_MOVE_NAME(name, type) RONDE_MOVE_PASTE(name, type)
#define MOVE(name) RONDE_MOVE_NAME(name, RONDE_MOVE_TYPE)
#define ELEMENT MOVE(element)

/* Elements of a vector, and of a line. */
#define PER_VECTOR ((uint32_t)(16 / sizeof(ELEMENT)))
#define PER_LINE ((uint32_t)(RONDE_LINE_DATA_BYTES / sizeof(ELEMENT)))

/* A vector as elements. */
struct MOVE(group) {
    ELEMENT at[PER_VECTOR];
};

/* A line's data as elements. */
struct MOVE(cell) {
    ELEMENT at[PER_LINE];
};

/* The one element function; `move` is a constant wherever this is used. */
RONDE_INTERP ELEMENT MOVE(move_element)(enum ronde_move move, ELEMENT x, ELEMENT y,
                                        const struct ronde_command *command)
{
    ELEMENT factor;
    switch (move) {
    case RONDE_MOVE_SUM:
        return MOVE(SUM)(x, y);
    case RONDE_MOVE_PROD:
        return MOVE(PROD)(x, y);
    case RONDE_MOVE_MIN:
        return MOVE(MIN)(x, y);
    case RONDE_MOVE_MAX:
        return MOVE(MAX)(x, y);
    case RONDE_MOVE_SUM_QUOTIENT:
        return MOVE(QUOTIENT)(MOVE(SUM)(x, y), command->ranks);
    case RONDE_MOVE_SCALE:
        RONDE_BYTES(&factor, &command->factor, sizeof factor);
        return MOVE(PROD)(x, factor);
    case RONDE_MOVE_SCALE_SUM:
        RONDE_BYTES(&factor, &command->factor, sizeof factor);
        return MOVE(SUM)(MOVE(PROD)(x, factor), y);
    case RONDE_MOVE_QUOTIENT:
        return MOVE(QUOTIENT)(x, command->ranks);
    case RONDE_MOVE_COPY:
    case RONDE_MOVE_END:
        break;
    }
    return x;
}

/* Whether there is a second operand. */
RONDE_INTERP bool MOVE(move_has_b)(enum ronde_move move)
{
    return move != RONDE_MOVE_COPY && move != RONDE_MOVE_SCALE && move != RONDE_MOVE_QUOTIENT;
}

/* A whole vector of results. */
RONDE_INTERP struct ronde_vector MOVE(move_vector)(enum ronde_move move, struct ronde_vector x,
                                                   struct ronde_vector y,
                                                   const struct ronde_command *command)
{
    struct MOVE(group) a, b;
    RONDE_BYTES(&a, &x, sizeof a);
    RONDE_BYTES(&b, &y, sizeof b);
    RONDE_UNROLL
    for (uint32_t e = 0; e < PER_VECTOR; e++)
        a.at[e] = MOVE(move_element)(move, a.at[e], b.at[e], command);
    RONDE_BYTES(&x, &a, sizeof a);
    return x;
}

/* Elements first .. end-1, one by one; as many loads under way as with vectors. */
RONDE_INTERP void MOVE(move_singly)(enum ronde_move move, const struct ronde_command *command,
                                    uint64_t first, uint64_t end, struct ronde_mover mover)
{
    ELEMENT *const to = (ELEMENT *)(void *)command->to;
    const ELEMENT *const a = (const ELEMENT *)(const void *)command->a;
    const ELEMENT *const b = (const ELEMENT *)(const void *)command->b;
    const uint64_t stride = mover.threads;
    for (uint64_t i = first + mover.thread; i < end; i += RONDE_VECTORS_AT_ONCE * stride) {
        ELEMENT x[RONDE_VECTORS_AT_ONCE], y[RONDE_VECTORS_AT_ONCE];
        RONDE_UNROLL
        for (uint32_t k = 0; k < RONDE_VECTORS_AT_ONCE; k++) {
            const uint64_t at = i + k * stride;
            x[k] = at < end ? a[at] : (ELEMENT)0;
            y[k] = at < end && MOVE(move_has_b)(move) ? b[at] : x[k];
        }
        RONDE_UNROLL
        for (uint32_t k = 0; k < RONDE_VECTORS_AT_ONCE; k++)
            if (i + k * stride < end)
                to[i + k * stride] = MOVE(move_element)(move, x[k], y[k], command);
    }
}

/* The vectors of a command from a place on. */
struct MOVE(row) {
    unsigned char *to;
    const unsigned char *a;
    const unsigned char *b; /* a again, where there is no second operand */
    uint64_t count;
};

/* Vectors i, i + stride, ... of a row: all loads are under way before the first store. A part of them may lie beyond it. */
RONDE_INTERP void MOVE(move_some)(enum ronde_move move, const struct ronde_command *command,
                                  const struct MOVE(row) * row, uint64_t i, uint64_t stride,
                                  bool is_whole)
{
    struct ronde_vector x[RONDE_VECTORS_AT_ONCE] = {{{0}}};
    struct ronde_vector y[RONDE_VECTORS_AT_ONCE] = {{{0}}};
    RONDE_UNROLL
    for (uint32_t k = 0; k < RONDE_VECTORS_AT_ONCE; k++) {
        const uint64_t at = i + k * stride;
        if (!is_whole && at >= row->count)
            continue;
        x[k] = RONDE_PORT_LOAD(row->a + at * 16);
        y[k] = MOVE(move_has_b)(move) ? RONDE_PORT_LOAD(row->b + at * 16) : x[k];
    }
    RONDE_UNROLL
    for (uint32_t k = 0; k < RONDE_VECTORS_AT_ONCE; k++)
        if (is_whole || i + k * stride < row->count)
            RONDE_PORT_STORE(row->to + (i + k * stride) * 16,
                             MOVE(move_vector)(move, x[k], y[k], command));
}

/* `count` vectors from these places on. The last of them go together as well: one by one each would cost a way to memory. */
RONDE_INTERP void MOVE(move_vectors)(enum ronde_move move, const struct ronde_command *command,
                                     uint64_t skip, uint64_t count, struct ronde_mover mover)
{
    const struct MOVE(row)
        row = {command->to + skip, command->a + skip,
               MOVE(move_has_b)(move) ? command->b + skip : command->a + skip, count};
    const uint64_t stride = mover.threads;
    uint64_t i = mover.thread;
    for (; i + (RONDE_VECTORS_AT_ONCE - 1) * stride < count; i += RONDE_VECTORS_AT_ONCE * stride)
        MOVE(move_some)(move, command, &row, i, stride, true);
    if (i < count)
        MOVE(move_some)(move, command, &row, i, stride, false);
}

/* Plain memory: singly up to the first vector, vectors, and the rest singly. */
RONDE_INTERP void MOVE(move_plain)(enum ronde_move move, const struct ronde_command *command,
                                   struct ronde_mover mover)
{
    const uint64_t at = (uint64_t)(uintptr_t)command->to;
    const uint64_t b = (uint64_t)(uintptr_t)(MOVE(move_has_b)(move) ? command->b : command->a);
    const bool is_alike = ((at ^ (uint64_t)(uintptr_t)command->a) | (at ^ b)) % 16 == 0;
    uint64_t head = is_alike ? (16 - at % 16) % 16 / sizeof(ELEMENT) : command->elements;
    head = head < command->elements ? head : command->elements;
    const uint64_t vectors = (command->elements - head) / PER_VECTOR;
    MOVE(move_singly)(move, command, 0, head, mover);
    MOVE(move_vectors)(move, command, head * sizeof(ELEMENT), vectors, mover);
    MOVE(move_singly)(move, command, head + vectors * PER_VECTOR, command->elements, mover);
}

/* The line of an operand as it is now; of plain memory one that has arrived. */
RONDE_INTERP struct ronde_line MOVE(peek_line)(const struct ronde_command *command,
                                               const unsigned char *operand, uint64_t cell)
{
    if (ronde_place_has_lines(operand))
        return RONDE_PORT_LOAD_LINE(ronde_line_address(operand + cell * RONDE_LINE_DATA_BYTES));
    struct ronde_line line = {{0, 0}, {command->flags[0], command->flags[0]}};
    struct MOVE(cell) plain;
    const ELEMENT *const from = (const ELEMENT *)(const void *)operand + cell * PER_LINE;
    const uint64_t rest = command->elements - cell * PER_LINE;
    RONDE_UNROLL
    for (uint32_t e = 0; e < PER_LINE; e++)
        plain.at[e] = e < rest ? from[e] : (ELEMENT)0;
    RONDE_BYTES(line.data, &plain, sizeof plain);
    return line;
}

/*
 * The elements of a line, when it has come: it may still be under way. One whose sender is gone never comes, and then the
 * run has to stop.
 */
RONDE_INTERP struct MOVE(cell)
    MOVE(await_cell)(const struct ronde_command *command, const unsigned char *operand,
                     uint64_t cell, struct ronde_line line)
{
    struct MOVE(cell) out;
    const uint32_t flag = command->flags[0];
    for (uint32_t k = 1; line.flag[0] != flag || line.flag[1] != flag; k++) {
        if (k % RONDE_TURNS_PER_LOOK == 0 && ronde_block_must_stop(ronde_command_block(command)))
            break;
        line = MOVE(peek_line)(command, operand, cell);
    }
    RONDE_BYTES(&out, line.data, sizeof out);
    return out;
}

/* Writes a line, or the elements it would hold. */
RONDE_INTERP void MOVE(store_cell)(unsigned char *to, uint64_t cell, uint64_t elements,
                                   struct MOVE(cell) in, uint32_t flag)
{
    if (ronde_place_has_lines(to)) {
        struct ronde_line line = {{0, 0}, {flag, flag}};
        RONDE_BYTES(line.data, &in, sizeof in);
        RONDE_PORT_STORE_LINE(ronde_line_address(to + cell * RONDE_LINE_DATA_BYTES), line);
        return;
    }
    ELEMENT *const out = (ELEMENT *)(void *)to + cell * PER_LINE;
    const uint64_t rest = elements - cell * PER_LINE;
    RONDE_UNROLL
    for (uint32_t e = 0; e < PER_LINE; e++)
        if (e < rest)
            out[e] = in.at[e];
}

/* The element function on a whole line. */
RONDE_INTERP struct MOVE(cell)
    MOVE(move_cell)(enum ronde_move move, const struct ronde_command *command, struct MOVE(cell) x,
                    struct MOVE(cell) y)
{
    RONDE_UNROLL
    for (uint32_t e = 0; e < PER_LINE; e++)
        x.at[e] = MOVE(move_element)(move, x.at[e], y.at[e], command);
    return x;
}

/* One or several of result and operands lie in lines. Some are looked at together, then waited for one by one. */
RONDE_INTERP void MOVE(move_lines)(enum ronde_move move, const struct ronde_command *command,
                                   struct ronde_mover mover)
{
    const unsigned char *const b = MOVE(move_has_b)(move) ? command->b : command->a;
    const uint64_t cells = (command->elements + PER_LINE - 1) / PER_LINE;
    const uint64_t stride = mover.threads;
    for (uint64_t c = mover.thread; c < cells; c += RONDE_LINES_AT_ONCE * stride) {
        struct ronde_line x[RONDE_LINES_AT_ONCE] = {{{0}, {0}}};
        struct ronde_line y[RONDE_LINES_AT_ONCE] = {{{0}, {0}}};
        RONDE_UNROLL
        for (uint32_t k = 0; k < RONDE_LINES_AT_ONCE; k++) {
            const uint64_t at = c + k * stride;
            if (at >= cells)
                continue;
            x[k] = MOVE(peek_line)(command, command->a, at);
            y[k] = MOVE(move_has_b)(move) ? MOVE(peek_line)(command, b, at) : x[k];
        }
        RONDE_UNROLL
        for (uint32_t k = 0; k < RONDE_LINES_AT_ONCE; k++) {
            const uint64_t at = c + k * stride;
            if (at >= cells)
                continue;
            const struct MOVE(cell) one = MOVE(await_cell)(command, command->a, at, x[k]);
            const struct MOVE(cell) two =
                MOVE(move_has_b)(move) ? MOVE(await_cell)(command, b, at, y[k]) : one;
            MOVE(store_cell)
            (command->to, at, command->elements, MOVE(move_cell)(move, command, one, two),
             command->flags[1]);
        }
    }
}

/* One kind of move. */
RONDE_INTERP void MOVE(move_kind)(enum ronde_move move, const struct ronde_command *command,
                                  struct ronde_mover mover)
{
    if (ronde_place_has_lines(command->to) || ronde_place_has_lines(command->a) ||
        (MOVE(move_has_b)(move) && ronde_place_has_lines(command->b)))
        MOVE(move_lines)(move, command, mover);
    else
        MOVE(move_plain)(move, command, mover);
}

/** A mover's part of a command. */
RONDE_INTERP void MOVE(move)(const struct ronde_command *command, struct ronde_mover mover)
{
    switch (command->move) {
#define RONDE_MOVE_CASE(kind)                                                                      \
    case RONDE_MOVE_##kind:                                                                        \
        MOVE(move_kind)(RONDE_MOVE_##kind, command, mover);                                        \
        break;
        RONDE_MOVE_CASE(COPY)
        RONDE_MOVE_CASE(SUM)
        RONDE_MOVE_CASE(PROD)
        RONDE_MOVE_CASE(MIN)
        RONDE_MOVE_CASE(MAX)
        RONDE_MOVE_CASE(SUM_QUOTIENT)
        RONDE_MOVE_CASE(SCALE)
        RONDE_MOVE_CASE(SCALE_SUM)
        RONDE_MOVE_CASE(QUOTIENT)
#undef RONDE_MOVE_CASE
    case RONDE_MOVE_END:
        break;
    }
}

#undef PER_LINE
#undef PER_VECTOR
#undef ELEMENT
#undef MOVE
#undef RONDE_MOVE_NAME
#undef RONDE_MOVE_PASTE
