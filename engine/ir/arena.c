/* An arena: a list of blocks that are filled from the front and freed together. */
#include "arena.h"

#include <stdint.h>

/* Blocks double from the first size to the last: small schedules stay small, large ones make few allocations. */
#define FIRST_BLOCK_BYTES ((size_t)1024)
#define LAST_BLOCK_BYTES ((size_t)64 * 1024)

/* What any type needs (C11's max_align_t), as a power of two that the sizes below are rounded to. */
#define ALIGNMENT ((size_t)16)

/* A block; its memory follows the header. The header's size is a multiple of the alignment. */
struct arena_block {
    struct arena_block *next;
    size_t bytes; /* of the whole block, header included */
    size_t used;  /* header included */
    size_t padding;
};

struct ronde_arena {
    const struct ronde_mem *mem;
    struct arena_block
        *blocks; /* the newest shared block first; blocks of one large piece are put behind it */
    size_t next_bytes; /* size of the next shared block */
};

_Static_assert(sizeof(struct arena_block) % ALIGNMENT == 0, "memory after the header is aligned");

struct ronde_arena *ronde_arena_create(const struct ronde_mem *mem)
{
    struct ronde_arena *arena = ronde_mem_new(mem, 1, sizeof *arena);
    if (!arena)
        return NULL;
    arena->mem = mem;
    arena->next_bytes = FIRST_BLOCK_BYTES;
    return arena;
}

void ronde_arena_destroy(struct ronde_arena *arena)
{
    if (!arena)
        return;
    const struct ronde_mem *mem = arena->mem;
    struct arena_block *block = arena->blocks;
    while (block) {
        struct arena_block *next = block->next;
        ronde_mem_free(mem, block, block->bytes, 1);
        block = next;
    }
    ronde_mem_free(mem, arena, 1, sizeof *arena);
}

/* A piece too large to share a block gets its own, behind the current one, whose rest stays in use. */
static void *new_large(struct ronde_arena *arena, size_t bytes)
{
    struct arena_block *block = ronde_mem_new(arena->mem, sizeof *block + bytes, 1);
    if (!block)
        return NULL;
    block->bytes = sizeof *block + bytes;
    block->used = block->bytes;
    struct arena_block **link = arena->blocks ? &arena->blocks->next : &arena->blocks;
    block->next = *link;
    *link = block;
    return block + 1;
}

static bool add_block(struct ronde_arena *arena)
{
    struct arena_block *block = ronde_mem_new(arena->mem, arena->next_bytes, 1);
    if (!block)
        return false;
    block->bytes = arena->next_bytes;
    block->used = sizeof *block;
    block->next = arena->blocks;
    arena->blocks = block;
    if (arena->next_bytes < LAST_BLOCK_BYTES)
        arena->next_bytes *= 2;
    return true;
}

void *ronde_arena_new(struct ronde_arena *arena, size_t count, size_t element_bytes)
{
    const size_t most = SIZE_MAX - sizeof(struct arena_block) - ALIGNMENT;
    if (element_bytes != 0 && count > most / element_bytes)
        return NULL;
    /* An empty piece still takes a grain, so that two pieces never share an address. */
    const size_t bytes = count * element_bytes == 0
                             ? ALIGNMENT
                             : (count * element_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    /* A quarter of a block at most is lost at its end. */
    if (bytes > arena->next_bytes / 4)
        return new_large(arena, bytes);
    if (!arena->blocks || arena->blocks->bytes - arena->blocks->used < bytes)
        if (!add_block(arena))
            return NULL;
    void *piece = (char *)arena->blocks + arena->blocks->used;
    arena->blocks->used += bytes;
    return piece;
}

const struct ronde_mem *ronde_arena_mem(const struct ronde_arena *arena)
{
    return arena->mem;
}
