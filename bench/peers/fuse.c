/*
 * The kernel of the limits. See fuse.h.
 *
 * Vectors are read from all inputs, added in registers and written to all outputs: the least traffic there can be. Two
 * vectors at a time, so that a line of every stream is in flight. Stores around the caches spare reading a line before
 * it is overwritten; they need aligned addresses, so elements up to the first output's alignment go one by one, and
 * where outputs are aligned differently plain stores have to do.
 */
#include "fuse.h"

#include <stdint.h>

static void fuse_elements(const struct fuse_job *job, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        float sum = job->in[0][i];
        for (size_t k = 1; k < job->ins; k++)
            sum += job->in[k][i];
        for (size_t k = 0; k < job->outs; k++)
            job->out[k][i] = sum;
    }
}

/* A stretch at a time, so that the compiler's own vectors have a loop to go round. */
#define STRETCH 1024

static void fuse_portable(const struct fuse_job *job, size_t begin, size_t end, bool streams)
{
    float sum[STRETCH];
    (void)streams;
    for (size_t at = begin; at < end; at += STRETCH) {
        const size_t length = end - at < STRETCH ? end - at : STRETCH;
        for (size_t i = 0; i < length; i++)
            sum[i] = job->in[0][at + i];
        for (size_t k = 1; k < job->ins; k++)
            for (size_t i = 0; i < length; i++)
                sum[i] += job->in[k][at + i];
        for (size_t k = 0; k < job->outs; k++)
            for (size_t i = 0; i < length; i++)
                job->out[k][at + i] = sum[i];
    }
}

#ifdef __x86_64__
#include <immintrin.h>

/* First element from `begin` on at which the first output is aligned. */
static size_t align_up(const struct fuse_job *job, size_t begin, size_t end, size_t alignment)
{
    size_t at = begin;
    while (at < end && (uintptr_t)(job->out[0] + at) % alignment != 0)
        at++;
    return at;
}

static bool all_aligned(const struct fuse_job *job, size_t at, size_t alignment)
{
    for (size_t k = 0; k < job->outs; k++)
        if ((uintptr_t)(job->out[k] + at) % alignment != 0)
            return false;
    return true;
}

/* Function NAME of vectors VECTOR of WIDTH floats, with the processor's instructions TARGET. */
#define DEFINE_FUSE(NAME, TARGET, VECTOR, WIDTH, LOAD, ADD, STORE, STREAM)                         \
    __attribute__((target(TARGET))) static size_t NAME##_vectors(const struct fuse_job *job,       \
                                                                 size_t begin, size_t end,         \
                                                                 bool streams)                     \
    {                                                                                              \
        size_t i = begin;                                                                          \
        for (; i + 2 * (WIDTH) <= end; i += 2 * (WIDTH)) {                                         \
            VECTOR low = LOAD(job->in[0] + i), high = LOAD(job->in[0] + i + (WIDTH));              \
            for (size_t k = 1; k < job->ins; k++) {                                                \
                low = ADD(low, LOAD(job->in[k] + i));                                              \
                high = ADD(high, LOAD(job->in[k] + i + (WIDTH)));                                  \
            }                                                                                      \
            for (size_t k = 0; streams && k < job->outs; k++) {                                    \
                STREAM(job->out[k] + i, low);                                                      \
                STREAM(job->out[k] + i + (WIDTH), high);                                           \
            }                                                                                      \
            for (size_t k = 0; !streams && k < job->outs; k++) {                                   \
                STORE(job->out[k] + i, low);                                                       \
                STORE(job->out[k] + i + (WIDTH), high);                                            \
            }                                                                                      \
        }                                                                                          \
        return i;                                                                                  \
    }                                                                                              \
                                                                                                   \
    static void NAME(const struct fuse_job *job, size_t begin, size_t end, bool streams)           \
    {                                                                                              \
        const size_t first = job->outs ? align_up(job, begin, end, (WIDTH) * sizeof(float)) : end; \
        const bool can_stream = streams && all_aligned(job, first, (WIDTH) * sizeof(float));       \
        fuse_elements(job, begin, first);                                                          \
        fuse_elements(job, NAME##_vectors(job, first, end, can_stream), end);                      \
        _mm_sfence();                                                                              \
    }

DEFINE_FUSE(fuse_avx2, "avx2", __m256, 8, _mm256_loadu_ps, _mm256_add_ps, _mm256_storeu_ps,
            _mm256_stream_ps)
DEFINE_FUSE(fuse_avx512, "avx512f", __m512, 16, _mm512_loadu_ps, _mm512_add_ps, _mm512_storeu_ps,
            _mm512_stream_ps)

const struct fuse_kernel *fuse_kernels(size_t *out_count)
{
    static const struct fuse_kernel all[] = {{"avx512", fuse_avx512},
                                             {"avx2", fuse_avx2},
                                             {"portable", fuse_portable}};
    size_t first = 0;
    if (!__builtin_cpu_supports("avx512f"))
        first = __builtin_cpu_supports("avx2") ? 1 : 2;
    *out_count = sizeof all / sizeof all[0] - first;
    return all + first;
}
#else
const struct fuse_kernel *fuse_kernels(size_t *out_count)
{
    static const struct fuse_kernel all[] = {{"portable", fuse_portable}};
    *out_count = 1;
    return all;
}
#endif
