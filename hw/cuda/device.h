/**
 * The port of block.h to CUDA: how a GPU reads and writes memory that other blocks, other GPUs and the host also write.
 *
 * The memory model's pattern for publishing data (PTX ISA, "Memory Consistency Model"): all threads store, barrier,
 * one thread fences and sets the counter; at the other end one thread acquires the counter, barrier, all threads load.
 * The barrier carries the other threads' accesses. Scope is the system: the other end may be another GPU or the host.
 * Data is read with plain loads, never through the read-only path, since it was written during the kernel.
 *
 * Only kernel.h includes it: emulated GPUs compile block.h with a port of their own (tests/support/emulated_block.c).
 */
#ifndef RONDE_HW_CUDA_DEVICE_H
#define RONDE_HW_CUDA_DEVICE_H

#include <stdint.h>
#include <string.h>

#define RONDE_INTERP static __device__ __forceinline__
#define RONDE_PORT_ONCE static __device__ __noinline__
#define RONDE_UNROLL _Pragma("unroll")
#define RONDE_ROLLED _Pragma("unroll 1")
#define RONDE_BYTES(to, from, bytes) memcpy((to), (from), (bytes))
#define RONDE_PORT_BARRIER(block) ((void)(block), ronde_port_barrier())
#define RONDE_PORT_NOW(block) ronde_port_now()
#define RONDE_PORT_POLL(pointer) ronde_port_poll(pointer)
#define RONDE_PORT_ACQUIRE(pointer) ronde_port_acquire(pointer)
#define RONDE_PORT_SET(pointer, value) ronde_port_set((pointer), (value))
#define RONDE_PORT_FENCE() asm volatile("fence.acq_rel.sys;" ::: "memory")
#define RONDE_PORT_PEEK(pointer) ronde_port_peek(pointer)
#define RONDE_PORT_POKE(pointer, value) ronde_port_poke((pointer), (value))
#define RONDE_PORT_LOAD_LINE(address) ronde_port_load_line(address)
#define RONDE_PORT_STORE_LINE(address, line) ronde_port_store_line((address), (line))
#define RONDE_PORT_LOAD(address) ronde_port_load(address)
#define RONDE_PORT_STORE(address, vector) ronde_port_store((address), (vector))

struct ronde_line;
RONDE_INTERP struct ronde_line ronde_port_load_line(const unsigned char *address);
RONDE_INTERP void ronde_port_store_line(unsigned char *address, struct ronde_line line);

/** Barrier of all threads of the block that have not exited; they arrive from different places in the program. */
RONDE_INTERP void ronde_port_barrier(void)
{
    asm volatile("barrier.sync 0;" ::: "memory");
}

/** Nanoseconds since some time before the kernel, the same for all blocks. */
RONDE_INTERP uint64_t ronde_port_now(void)
{
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/** Reads a counter, and orders nothing: an acquiring load would empty the first-level cache every time. */
RONDE_INTERP uint64_t ronde_port_poll(const uint64_t *pointer)
{
    uint64_t value;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(pointer) : "memory");
    return value;
}

/** Reads a counter; what was written before it was set is visible afterwards. */
RONDE_INTERP uint64_t ronde_port_acquire(const uint64_t *pointer)
{
    uint64_t value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(pointer) : "memory");
    return value;
}

/** Sets a counter; the fence before it is what orders it. */
RONDE_INTERP void ronde_port_set(uint64_t *pointer, uint64_t value)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(pointer), "l"(value) : "memory");
}

/** Reads a word that may change at any time, of any memory. */
RONDE_INTERP uint32_t ronde_port_peek(const uint32_t *pointer)
{
    uint32_t value;
    asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(value) : "l"(pointer) : "memory");
    return value;
}

/** Writes such a word. */
RONDE_INTERP void ronde_port_poke(uint32_t *pointer, uint32_t value)
{
    asm volatile("st.relaxed.sys.u32 [%0], %1;" ::"l"(pointer), "r"(value) : "memory");
}

#include "hw/cuda/block.h"

/** Reads a line as it is now. */
RONDE_INTERP struct ronde_line ronde_port_load_line(const unsigned char *address)
{
    struct ronde_line line;
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(line.data[0]), "=r"(line.flag[0]), "=r"(line.data[1]), "=r"(line.flag[1])
                 : "l"(address)
                 : "memory");
    return line;
}

/** Writes a line: each half with its flag in one piece. */
RONDE_INTERP void ronde_port_store_line(unsigned char *address, struct ronde_line line)
{
    asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address),
                 "r"(line.data[0]), "r"(line.flag[0]), "r"(line.data[1]), "r"(line.flag[1])
                 : "memory");
}

/** Reads 16 bytes, once: they need not stay in the first-level cache. */
RONDE_INTERP struct ronde_vector ronde_port_load(const unsigned char *address)
{
    struct ronde_vector v;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
                 : "l"(address)
                 : "memory");
    return v;
}

/** Writes 16 bytes. */
RONDE_INTERP void ronde_port_store(unsigned char *address, struct ronde_vector v)
{
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(v.word[0]),
                 "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3])
                 : "memory");
}

#endif
