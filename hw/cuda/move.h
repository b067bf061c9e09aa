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

/* Elements first .. end-1, one by one. */
RONDE_INTERP void MOVE(move_singly)(enum ronde_move move, const struct ronde_command *command,
                                    uint64_t first, uint64_t end, struct ronde_mover mover)
{
    ELEMENT *const to = (ELEMENT *)(void *)command->to;
    const ELEMENT *const a = (const ELEMENT *)(const void *)command->a;
    const ELEMENT *const b = (const ELEMENT *)(const void *)command->b;
    for (uint64_t i = first + mover.thread; i < end; i += mover.threads)
        to[i] = MOVE(move_element)(move, a[i], MOVE(move_has_b)(move) ? b[i] : a[i], command);
}

/* `count` vectors from these places on, RONDE_VECTORS_AT_ONCE loads of each operand under way at a time. */
RONDE_INTERP void MOVE(move_vectors)(enum ronde_move move, const struct ronde_command *command,
                                     uint64_t skip, uint64_t count, struct ronde_mover mover)
{
    unsigned char *const to = command->to + skip;
    const unsigned char *const a = command->a + skip;
    const unsigned char *const b = MOVE(move_has_b)(move) ? command->b + skip : a;
    const uint64_t stride = mover.threads;
    uint64_t i = mover.thread;
    for (; i + (RONDE_VECTORS_AT_ONCE - 1) * stride < count; i += RONDE_VECTORS_AT_ONCE * stride) {
        struct ronde_vector x[RONDE_VECTORS_AT_ONCE], y[RONDE_VECTORS_AT_ONCE];
        RONDE_UNROLL
        for (uint32_t k = 0; k < RONDE_VECTORS_AT_ONCE; k++) {
            x[k] = RONDE_PORT_LOAD(a + (i + k * stride) * 16);
            y[k] = MOVE(move_has_b)(move) ? RONDE_PORT_LOAD(b + (i + k * stride) * 16) : x[k];
        }
        RONDE_UNROLL
        for (uint32_t k = 0; k < RONDE_VECTORS_AT_ONCE; k++)
            RONDE_PORT_STORE(to + (i + k * stride) * 16,
                             MOVE(move_vector)(move, x[k], y[k], command));
    }
    for (; i < count; i += stride) {
        const struct ronde_vector x = RONDE_PORT_LOAD(a + i * 16);
        const struct ronde_vector y = MOVE(move_has_b)(move) ? RONDE_PORT_LOAD(b + i * 16) : x;
        RONDE_PORT_STORE(to + i * 16, MOVE(move_vector)(move, x, y, command));
    }
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

/* Waits for a line that is still under way; one whose sender is gone never comes, and then the run has to stop. */
RONDE_INTERP struct ronde_line MOVE(await_line)(const struct ronde_command *command,
                                                const unsigned char *address)
{
    const uint32_t flag = command->flags[0];
    struct ronde_line line = RONDE_PORT_LOAD_LINE(address);
    for (uint32_t k = 1; line.flag[0] != flag || line.flag[1] != flag; k++) {
        if (k % RONDE_TURNS_PER_LOOK == 0 && ronde_block_must_stop(ronde_command_block(command)))
            break;
        line = RONDE_PORT_LOAD_LINE(address);
    }
    return line;
}

/* The elements of an operand that a line holds, or would hold. */
RONDE_INTERP struct MOVE(cell) MOVE(load_cell)(const struct ronde_command *command,
                                               const unsigned char *operand, uint64_t cell)
{
    struct MOVE(cell) out;
    if (ronde_place_has_lines(operand)) {
        const struct ronde_line line =
            MOVE(await_line)(command, ronde_line_address(operand + cell * RONDE_LINE_DATA_BYTES));
        RONDE_BYTES(&out, line.data, sizeof out);
        return out;
    }
    const ELEMENT *const from = (const ELEMENT *)(const void *)operand + cell * PER_LINE;
    const uint64_t rest = command->elements - cell * PER_LINE;
    RONDE_UNROLL
    for (uint32_t e = 0; e < PER_LINE; e++)
        out.at[e] = e < rest ? from[e] : (ELEMENT)0;
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

/* One or several of result and operands lie in lines. */
RONDE_INTERP void MOVE(move_lines)(enum ronde_move move, const struct ronde_command *command,
                                   struct ronde_mover mover)
{
    const uint64_t elements = command->elements;
    const uint64_t cells = (elements + PER_LINE - 1) / PER_LINE;
    for (uint64_t c = mover.thread; c < cells; c += mover.threads) {
        struct MOVE(cell) x = MOVE(load_cell)(command, command->a, c);
        struct MOVE(cell) y = x;
        if (MOVE(move_has_b)(move))
            y = MOVE(load_cell)(command, command->b, c);
        RONDE_UNROLL
        for (uint32_t e = 0; e < PER_LINE; e++)
            x.at[e] = MOVE(move_element)(move, x.at[e], y.at[e], command);
        MOVE(store_cell)(command->to, c, elements, x, command->flags[1]);
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
