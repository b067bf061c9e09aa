/**
 * Copies past the caches: what nobody reads soon need not push out what somebody does, nor be read before it is written.
 *
 * Stores of whole lines, as wide as the processor has them, chosen when a run is prepared. They are ordered with later
 * stores by ronde_stream_settle only. Where a sanitizer watches memory, and on other processors, they are plain copies:
 * a sanitizer does not see them. Free of libc.
 */
#ifndef RONDE_ENGINE_STREAM_H
#define RONDE_ENGINE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

/** A copy between places that do not overlap. */
typedef void (*ronde_stream_kernel)(void *to, const void *from, uint64_t bytes);

/** The plain copy. */
static inline void ronde_stream_plain(void *to, const void *from, uint64_t bytes)
{
    __builtin_memcpy(to, from, bytes);
}

#if defined(__has_feature)
#define RONDE_HAS_FEATURE(name) __has_feature(name)
#else
#define RONDE_HAS_FEATURE(name) 0
#endif

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) &&                  \
    !defined(__SANITIZE_THREAD__) && !RONDE_HAS_FEATURE(address_sanitizer) &&                      \
    !RONDE_HAS_FEATURE(thread_sanitizer)

/** Vectors of 16, 32 and 64 bytes, as the stores take them. */
typedef long long ronde_stream_16 __attribute__((vector_size(16)));
typedef long long ronde_stream_32 __attribute__((vector_size(32)));
typedef long long ronde_stream_64 __attribute__((vector_size(64)));

/** Stores past the caches: the compilers disagree on their names. */
#if defined(__clang__)
#define RONDE_STREAM_STORE_16(to, vector) __builtin_nontemporal_store((vector), (to))
#define RONDE_STREAM_STORE_32(to, vector) __builtin_nontemporal_store((vector), (to))
#define RONDE_STREAM_STORE_64(to, vector) __builtin_nontemporal_store((vector), (to))
#else
#define RONDE_STREAM_STORE_16(to, vector) __builtin_ia32_movntdq((to), (vector))
#define RONDE_STREAM_STORE_32(to, vector) __builtin_ia32_movntdq256((to), (vector))
#define RONDE_STREAM_STORE_64(to, vector) __builtin_ia32_movntdq512((to), (vector))
#endif

/** The copy with vectors of one width: up to a whole vector, vectors, and the rest. */
#define RONDE_STREAM_KERNEL(width, features)                                                       \
    __attribute__((target(features))) static void ronde_stream_by_##width(void *to,                \
                                                                          const void *from,        \
                                                                          uint64_t bytes)          \
    {                                                                                              \
        unsigned char *t = (unsigned char *)to;                                                    \
        const unsigned char *f = (const unsigned char *)from;                                      \
        const uint64_t before = (0 - (uint64_t)(uintptr_t)t) % (width);                            \
        const uint64_t head = before < bytes ? before : bytes;                                     \
        __builtin_memcpy(t, f, head);                                                              \
        uint64_t done = head;                                                                      \
        for (; bytes - done >= (width); done += (width)) {                                         \
            ronde_stream_##width vector;                                                           \
            __builtin_memcpy(&vector, f + done, (width));                                          \
            RONDE_STREAM_STORE_##width((ronde_stream_##width *)(void *)(t + done), vector);        \
        }                                                                                          \
        __builtin_memcpy(t + done, f + done, bytes - done);                                        \
    }

RONDE_STREAM_KERNEL(16, "sse2")
RONDE_STREAM_KERNEL(32, "avx")
RONDE_STREAM_KERNEL(64, "avx512f")
#undef RONDE_STREAM_KERNEL

/** The widest this processor has; *out_name is what to call it. */
static inline ronde_stream_kernel ronde_stream_find(const char **out_name)
{
    const bool has_64 = __builtin_cpu_supports("avx512f");
    const bool has_32 = __builtin_cpu_supports("avx");
    *out_name = has_64 ? "AVX-512" : has_32 ? "AVX" : "SSE2";
    return has_64 ? ronde_stream_by_64 : has_32 ? ronde_stream_by_32 : ronde_stream_by_16;
}

/** Streams so far come before later stores. */
static inline void ronde_stream_settle(void)
{
    __builtin_ia32_sfence();
}

#else

/** Nothing but plain copies. */
static inline ronde_stream_kernel ronde_stream_find(const char **out_name)
{
    *out_name = "plain copies";
    return ronde_stream_plain;
}

/** A release orders plain copies. */
static inline void ronde_stream_settle(void)
{
}

#endif
#endif
