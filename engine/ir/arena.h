/**
 * An arena: many small allocations, freed together. A schedule owns one, and so does a loaded one. Not a public
 * header, yet exported: hw may be a shared library of its own.
 */
#ifndef RONDE_ENGINE_IR_ARENA_H
#define RONDE_ENGINE_IR_ARENA_H

#include "ronde/mem.h"

/** Creates an empty arena; NULL when there is no memory. The allocator must outlive it. */
RONDE_API struct ronde_arena *ronde_arena_create(const struct ronde_mem *mem);

/** Frees the arena and everything taken from it; NULL is allowed. */
RONDE_API void ronde_arena_destroy(struct ronde_arena *arena);

/** Takes count zeroed elements; NULL when there is no memory. Lives as long as the arena. */
RONDE_API void *ronde_arena_new(struct ronde_arena *arena, size_t count, size_t element_bytes);

/** The allocator behind the arena. */
const struct ronde_mem *ronde_arena_mem(const struct ronde_arena *arena);

#endif
