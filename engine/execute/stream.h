/**
 * Copies past the caches: what is not read soon need not evict what is, nor be fetched before it is written.
 *
 * Stores of whole vectors, as wide as the file's instructions have them (kernels.h). They are ordered with later stores
 * by ronde_stream_settle only. Where a sanitizer watches memory, and on other processors, they are plain copies: a
 * sanitizer does not see them. Part of machine.h. Free of libc.
 */
#ifndef RONDE_ENGINE_EXECUTE_STREAM_H
#define RONDE_ENGINE_EXECUTE_STREAM_H

#include <stdint.h>

#if defined(__has_feature)
#define RONDE_HAS_FEATURE(name) __has_feature(name)
#else
#define RONDE_HAS_FEATURE(name) 0
#endif

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) &&                  \
    !defined(__SANITIZE_THREAD__) && !RONDE_HAS_FEATURE(address_sanitizer) &&                      \
    !RONDE_HAS_FEATURE(thread_sanitizer)

/** Bytes of a store past the caches; 0 = there is none. */
#if defined(__AVX512F__)
#define RONDE_STREAM_BYTES 64u
#define RONDE_STREAM_BUILTIN __builtin_ia32_movntdq512
#elif defined(__AVX__)
#define RONDE_STREAM_BYTES 32u
#define RONDE_STREAM_BUILTIN __builtin_ia32_movntdq256
#else
#define RONDE_STREAM_BYTES 16u
#define RONDE_STREAM_BUILTIN __builtin_ia32_movntdq
#endif

/** A vector as the store takes it. */
typedef long long ronde_stream_vector __attribute__((vector_size(RONDE_STREAM_BYTES)));

/** The store: the compilers disagree on its name. */
#if defined(__clang__)
#define RONDE_STREAM_STORE(to, vector) __builtin_nontemporal_store((vector), (to))
#else
#define RONDE_STREAM_STORE(to, vector) RONDE_STREAM_BUILTIN((to), (vector))
#endif

/** A copy between places that do not overlap: up to a whole vector, vectors, and the rest. */
static inline void ronde_stream_copy(void *to, const void *from, uint64_t bytes)
{
    unsigned char *t = (unsigned char *)to;
    const unsigned char *f = (const unsigned char *)from;
    const uint64_t before = (0 - (uint64_t)(uintptr_t)t) % RONDE_STREAM_BYTES;
    const uint64_t head = before < bytes ? before : bytes;
    __builtin_memcpy(t, f, head);
    uint64_t done = head;
    for (; bytes - done >= RONDE_STREAM_BYTES; done += RONDE_STREAM_BYTES) {
        ronde_stream_vector vector;
        __builtin_memcpy(&vector, f + done, RONDE_STREAM_BYTES);
        RONDE_STREAM_STORE((ronde_stream_vector *)(void *)(t + done), vector);
    }
    __builtin_memcpy(t + done, f + done, bytes - done);
}

/** Streams so far come before later stores. */
static inline void ronde_stream_settle(void)
{
    __builtin_ia32_sfence();
}

#else

#define RONDE_STREAM_BYTES 0u

/** Nothing but plain copies. */
static inline void ronde_stream_copy(void *to, const void *from, uint64_t bytes)
{
    __builtin_memcpy(to, from, bytes);
}

/** A release orders plain copies. */
static inline void ronde_stream_settle(void)
{
}

#endif
#endif
