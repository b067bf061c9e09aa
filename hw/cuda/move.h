/*
 * What movers compute, for one element type: included once per type with RONDE_MOVE_TYPE, e.g. FLOAT32 (move_types.h).
 *
 * ronde_move_<TYPE>(command, mover) is the part of one mover in plain memory, which is moved in vectors of 16 bytes,
 * consecutive threads taking consecutive ones, several loads under way before the first store; the ends that fill no
 * vector, and operands that are not aligned alike, go element by element. A mover loads before it stores, so that the
 * result may replace an operand exactly. ronde_move_line_<TYPE>(command, x, y) computes one line.
 *
 * Compile time is the number of copies of the element functions: every kind of move has its own loop over vectors, with
 * four vectors of them; everything that is not that loop has as few as it can. What depends on the width of elements
 * alone is not here but in move_width.h. RONDE_MOVE_HAS_BITS and RONDE_MOVE_IS_NUMBER, 0 or 1, say which operators the
 * type has: one flag for all bitwise ones, since every kind of move takes seconds to compile. With RONDE_MOVE_IS_SIGNED
 * it has no sums and products of its own (ronde_move_type).
 *
 * No include guard: the file is a template. It needs block.h and engine/execute/elements.h.
 */
#define RONDE_MOVE_PASTE(name, type) ronde_##name##_##type
#define RONDE_MOVE_NAME(name, type) RONDE_MOVE_PASTE(name, type)
#define MOVE(name) RONDE_MOVE_NAME(name, RONDE_MOVE_TYPE)
#define ELEMENT MOVE(element)

/* Elements of a vector, and of a line. */
#define PER_VECTOR ((uint32_t)(16 / sizeof(ELEMENT)))
#define PER_LINE ((uint32_t)(RONDE_LINE_DATA_BYTES / sizeof(ELEMENT)))

/* Words of a vector computed by one copy of the element functions: one where these are thousands of instructions. */
#ifdef RONDE_MOVE_IS_LONG
#define WORDS_PER_COPY 1u
#else
#define WORDS_PER_COPY 4u
#endif

/* Vectors computed by one copy: bytes take a register each while they are. */
#define VECTORS_PER_COPY (sizeof(ELEMENT) > 1 ? RONDE_VECTORS_AT_ONCE : 1u)

/* What one copy computes of a vector, as elements. */
struct MOVE(group) {
    ELEMENT at[PER_VECTOR * WORDS_PER_COPY / 4];
};

/* A line's data as elements. */
struct MOVE(cell) {
    ELEMENT at[PER_LINE];
};

#if RONDE_MOVE_HAS_BITS
/* A bitwise operator on two elements. */
RONDE_INTERP ELEMENT MOVE(move_bits)(ELEMENT x, ELEMENT y, const struct ronde_block_command *command)
{
    if (command->factor == RONDE_BAND)
        return MOVE(BAND)(x, y);
    return command->factor == RONDE_BOR ? MOVE(BOR)(x, y) : MOVE(BXOR)(x, y);
}
#endif

#if RONDE_MOVE_IS_NUMBER
/* An operator of numbers on two elements; `move` is a constant wherever this is used. */
RONDE_INTERP ELEMENT MOVE(move_number)(enum ronde_move move, ELEMENT x, ELEMENT y,
                                       const struct ronde_block_command *command)
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
    case RONDE_MOVE_BITS:
    case RONDE_MOVE_COPY:
    case RONDE_MOVE_NONE:
    case RONDE_MOVE_END:
        break;
    }
    return x;
}
#endif

/* The one element function; `move` is a constant wherever this is used. */
RONDE_INTERP ELEMENT MOVE(move_element)(enum ronde_move move, ELEMENT x, ELEMENT y,
                                        const struct ronde_block_command *command)
{
    (void)y;
    (void)command;
#if RONDE_MOVE_HAS_BITS
    if (move == RONDE_MOVE_BITS)
        return MOVE(move_bits)(x, y, command);
#endif
#if RONDE_MOVE_IS_NUMBER
    if (move != RONDE_MOVE_COPY)
        return MOVE(move_number)(move, x, y, command);
#endif
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
                                                   const struct ronde_block_command *command)
{
    RONDE_ROLLED
    for (uint32_t word = 0; word < 4; word += WORDS_PER_COPY) {
        struct MOVE(group) a, b;
        RONDE_BYTES(&a, x.word, sizeof a);
        RONDE_BYTES(&b, y.word, sizeof b);
        RONDE_UNROLL
        for (uint32_t e = 0; e < sizeof a / sizeof *a.at; e++)
            a.at[e] = MOVE(move_element)(move, a.at[e], b.at[e], command);
        /* The next words come to the front. */
        RONDE_UNROLL
        for (uint32_t w = 0; w + WORDS_PER_COPY < 4; w++) {
            x.word[w] = x.word[w + WORDS_PER_COPY];
            y.word[w] = y.word[w + WORDS_PER_COPY];
        }
        RONDE_BYTES(&x.word[4 - WORDS_PER_COPY], &a, sizeof a);
    }
    return x;
}

/* What is done with every further operand: what comes before the first, and after the last, is done once. */
RONDE_INTERP enum ronde_move MOVE(move_inner)(enum ronde_move move)
{
    return move == RONDE_MOVE_SCALE_SUM || move == RONDE_MOVE_SUM_QUOTIENT ? RONDE_MOVE_SUM : move;
}

/* Elements first .. end-1, one by one; as many loads under way as with vectors. */
RONDE_INTERP void MOVE(move_singly)(enum ronde_move move, const struct ronde_block_command *command,
                                    uint64_t first, uint64_t end, struct ronde_mover mover)
{
    ELEMENT *const to = (ELEMENT *)(void *)command->to;
    const ELEMENT *const a = (const ELEMENT *)(const void *)command->a;
    const ELEMENT *const b = (const ELEMENT *)(const void *)command->b;
    const uint64_t stride = mover.threads;
    const uint32_t more = MOVE(move_has_b)(move) ? command->more_count : 0;
    for (uint64_t i = first + mover.thread; i < end; i += RONDE_VECTORS_AT_ONCE * stride) {
        ELEMENT x[RONDE_VECTORS_AT_ONCE], y[RONDE_VECTORS_AT_ONCE];
        RONDE_UNROLL
        for (uint32_t k = 0; k < RONDE_VECTORS_AT_ONCE; k++) {
            const uint64_t at = i + k * stride;
            x[k] = at < end ? a[at] : (ELEMENT)0;
            y[k] = at < end && MOVE(move_has_b)(move) ? b[at] : x[k];
        }
        RONDE_UNROLL
        for (uint32_t k = 0; move == RONDE_MOVE_SCALE_SUM && k < RONDE_VECTORS_AT_ONCE; k++)
            x[k] = MOVE(move_element)(RONDE_MOVE_SCALE, x[k], x[k], command);
        RONDE_ROLLED
        for (uint32_t m = 0;; m++) {
            RONDE_UNROLL
            for (uint32_t k = 0; k < RONDE_VECTORS_AT_ONCE; k++)
                x[k] = MOVE(move_element)(MOVE(move_inner)(move), x[k], y[k], command);
            if (m == more)
                break;
            const ELEMENT *const next = (const ELEMENT *)(const void *)command->more[m];
            RONDE_UNROLL
            for (uint32_t k = 0; k < RONDE_VECTORS_AT_ONCE; k++)
                y[k] = i + k * stride < end ? next[i + k * stride] : (ELEMENT)0;
        }
        RONDE_UNROLL
        for (uint32_t k = 0; k < RONDE_VECTORS_AT_ONCE; k++) {
            if (move == RONDE_MOVE_SUM_QUOTIENT)
                x[k] = MOVE(move_element)(RONDE_MOVE_QUOTIENT, x[k], x[k], command);
            if (i + k * stride < end)
                to[i + k * stride] = x[k];
        }
        RONDE_ROLLED
        for (uint32_t m = 0; MOVE(move_has_b)(move) && m < command->also_count; m++) {
            ELEMENT *const also = (ELEMENT *)(void *)command->also[m];
            RONDE_UNROLL
            for (uint32_t k = 0; k < RONDE_VECTORS_AT_ONCE; k++)
                if (i + k * stride < end)
                    also[i + k * stride] = x[k];
        }
    }
}

/* The vectors of a command from a place on. */
struct MOVE(row) {
    unsigned char *to;
    const unsigned char *a;
    const unsigned char *b; /* a again, where there is no second operand */
    uint64_t count;
};

/* x <- x o y for a batch of vectors, some by each copy of the element functions. Leaves nothing in y. */
RONDE_INTERP void MOVE(move_all)(enum ronde_move move, const struct ronde_block_command *command,
                                 uint32_t per_copy, struct ronde_vector *x, struct ronde_vector *y)
{
    RONDE_ROLLED
    for (uint32_t k = 0; k < RONDE_VECTORS_AT_ONCE; k += per_copy) {
        struct ronde_vector made[RONDE_VECTORS_AT_ONCE];
        RONDE_UNROLL
        for (uint32_t n = 0; n < per_copy; n++)
            made[n] = MOVE(move_vector)(move, x[n], y[n], command);
        RONDE_UNROLL
        for (uint32_t n = 0; n < RONDE_VECTORS_AT_ONCE; n++) {
            const bool is_made = n + per_copy >= RONDE_VECTORS_AT_ONCE;
            x[n] = is_made ? made[n + per_copy - RONDE_VECTORS_AT_ONCE] : x[n + per_copy];
            y[n] = y[is_made ? n : n + per_copy];
        }
    }
}

/*
 * Vectors i, i + stride, ... of a row: all loads are under way before the first store. Where a part of them lies beyond the
 * row, they pass through one copy of the element functions.
 */
RONDE_INTERP void MOVE(move_batch)(enum ronde_move move, const struct ronde_block_command *command,
                                   const struct MOVE(row) * row, uint64_t i, uint64_t stride,
                                   bool is_whole)
{
    const uint32_t per_copy = is_whole ? VECTORS_PER_COPY : 1;
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
    if (move == RONDE_MOVE_SCALE_SUM) {
        struct ronde_vector none[RONDE_VECTORS_AT_ONCE] = {{{0}}};
        MOVE(move_all)(RONDE_MOVE_SCALE, command, per_copy, x, none);
    }
    RONDE_ROLLED
    for (uint32_t m = 0; move != RONDE_MOVE_COPY; m++) {
        MOVE(move_all)(MOVE(move_inner)(move), command, per_copy, x, y);
        /* Read from the command again every time: registers are scarce here. */
        if (!MOVE(move_has_b)(move) || m == command->more_count)
            break;
        const unsigned char *const next = command->more[m] + (row->a - command->a);
        RONDE_UNROLL
        for (uint32_t k = 0; k < RONDE_VECTORS_AT_ONCE; k++)
            if (is_whole || i + k * stride < row->count)
                y[k] = RONDE_PORT_LOAD(next + (i + k * stride) * 16);
    }
    if (move == RONDE_MOVE_SUM_QUOTIENT)
        MOVE(move_all)(RONDE_MOVE_QUOTIENT, command, per_copy, x, y);
    RONDE_UNROLL
    for (uint32_t k = 0; k < RONDE_VECTORS_AT_ONCE; k++)
        if (is_whole || i + k * stride < row->count)
            RONDE_PORT_STORE(row->to + (i + k * stride) * 16, x[k]);
    RONDE_ROLLED
    for (uint32_t m = 0; MOVE(move_has_b)(move) && m < command->also_count; m++) {
        unsigned char *const also = command->also[m] + (row->to - command->to);
        RONDE_UNROLL
        for (uint32_t k = 0; k < RONDE_VECTORS_AT_ONCE; k++)
            if (is_whole || i + k * stride < row->count)
                RONDE_PORT_STORE(also + (i + k * stride) * 16, x[k]);
    }
}

/* `count` vectors from these addresses on. The last ones are one batch too: one by one each would cost a memory latency. */
RONDE_INTERP void MOVE(move_vectors)(enum ronde_move move, const struct ronde_block_command *command,
                                     uint64_t skip, uint64_t count, struct ronde_mover mover)
{
    const struct MOVE(row)
        row = {command->to + skip, command->a + skip,
               MOVE(move_has_b)(move) ? command->b + skip : command->a + skip, count};
    const uint64_t stride = mover.threads;
    uint64_t i = mover.thread;
    for (; i + (RONDE_VECTORS_AT_ONCE - 1) * stride < count; i += RONDE_VECTORS_AT_ONCE * stride)
        MOVE(move_batch)(move, command, &row, i, stride, true);
    if (i < count)
        MOVE(move_batch)(move, command, &row, i, stride, false);
}

/* Plain memory: vectors, and singly what is before the first and behind the last of them. */
RONDE_INTERP void MOVE(move_plain)(enum ronde_move move, const struct ronde_block_command *command,
                                   struct ronde_mover mover)
{
    const uint64_t at = (uint64_t)(uintptr_t)command->to;
    const uint64_t b = (uint64_t)(uintptr_t)(MOVE(move_has_b)(move) ? command->b : command->a);
    uint64_t apart = (at ^ (uint64_t)(uintptr_t)command->a) | (at ^ b);
    RONDE_ROLLED
    for (uint32_t m = 0; MOVE(move_has_b)(move) && m < command->more_count; m++)
        apart |= at ^ (uint64_t)(uintptr_t)command->more[m];
    RONDE_ROLLED
    for (uint32_t m = 0; MOVE(move_has_b)(move) && m < command->also_count; m++)
        apart |= at ^ (uint64_t)(uintptr_t)command->also[m];
    const bool is_alike = apart % 16 == 0;
    uint64_t head = is_alike ? (16 - at % 16) % 16 / sizeof(ELEMENT) : command->elements;
    head = head < command->elements ? head : command->elements;
    const uint64_t vectors = (command->elements - head) / PER_VECTOR;
    MOVE(move_vectors)(move, command, head * sizeof(ELEMENT), vectors, mover);
    /* Both ends by one copy of the loop. */
    const uint64_t rest = head + vectors * PER_VECTOR;
    RONDE_ROLLED
    for (uint32_t end = 0; end < 2; end++)
        MOVE(move_singly)
    (move, command, end == 0 ? 0 : rest, end == 0 ? head : command->elements, mover);
}

/* Bits of sums and products, and bitwise operators, do not depend on the sign: signed types have those of unsigned ones. */
#if RONDE_MOVE_HAS_BITS && !defined RONDE_MOVE_IS_SIGNED
#define RONDE_MOVE_BITWISE(CASE) CASE(BITS)
#else
#define RONDE_MOVE_BITWISE(CASE)
#endif
#if RONDE_MOVE_IS_NUMBER && !defined RONDE_MOVE_IS_SIGNED
#define RONDE_MOVE_WRAPPING(CASE) CASE(SUM) CASE(PROD) CASE(SCALE) CASE(SCALE_SUM)
#else
#define RONDE_MOVE_WRAPPING(CASE)
#endif
#if RONDE_MOVE_IS_NUMBER
#define RONDE_MOVE_NUMBERS(CASE)                                                                   \
    RONDE_MOVE_WRAPPING(CASE) CASE(MIN) CASE(MAX) CASE(SUM_QUOTIENT) CASE(QUOTIENT)
#else
#define RONDE_MOVE_NUMBERS(CASE)
#endif
#define RONDE_MOVE_CASES(CASE) RONDE_MOVE_BITWISE(CASE) RONDE_MOVE_NUMBERS(CASE)

/** A mover's part of a command that computes, in plain memory. */
RONDE_INTERP void MOVE(move)(const struct ronde_block_command *command, struct ronde_mover mover)
{
#define RONDE_MOVE_CASE(kind)                                                                      \
    case RONDE_MOVE_##kind:                                                                        \
        MOVE(move_plain)(RONDE_MOVE_##kind, command, mover);                                       \
        break;
    switch (command->move) {
        RONDE_MOVE_CASES(RONDE_MOVE_CASE)
    default: /* a copy, or what another type does */
        break;
    }
#undef RONDE_MOVE_CASE
}

/** Computes the elements of a line, in place of x. */
RONDE_INTERP void MOVE(move_line)(const struct ronde_block_command *command, uint32_t x[2],
                                  const uint32_t y[2])
{
    struct MOVE(cell) a, b;
    RONDE_BYTES(&a, x, sizeof a);
    RONDE_BYTES(&b, y, sizeof b);
#define RONDE_MOVE_CASE(kind)                                                                      \
    case RONDE_MOVE_##kind:                                                                        \
        RONDE_UNROLL                                                                               \
        for (uint32_t e = 0; e < PER_LINE; e++)                                                    \
            a.at[e] = MOVE(move_element)(RONDE_MOVE_##kind, a.at[e], b.at[e], command);            \
        break;
    switch (command->move) {
        RONDE_MOVE_CASES(RONDE_MOVE_CASE)
    default: /* a copy, or what another type does */
        break;
    }
#undef RONDE_MOVE_CASE
    RONDE_BYTES(x, &a, sizeof a);
}

#undef RONDE_MOVE_CASES
#undef RONDE_MOVE_NUMBERS
#undef RONDE_MOVE_WRAPPING
#undef RONDE_MOVE_BITWISE
#undef VECTORS_PER_COPY
#undef WORDS_PER_COPY
#undef PER_LINE
#undef PER_VECTOR
#undef ELEMENT
#undef MOVE
#undef RONDE_MOVE_NAME
#undef RONDE_MOVE_PASTE
#undef RONDE_MOVE_TYPE
