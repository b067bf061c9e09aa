/**
 * The kernel of the limits: one pass over memory that reads inputs once and writes outputs once. Apart from limit.c, which
 * measures, since it is compiled for several instruction sets.
 */
#ifndef BENCH_FUSE_H
#define BENCH_FUSE_H

#include <stdbool.h>
#include <stddef.h>

/** What is summed into what: out[o][i] = in[0][i] + in[1][i] + ... for every o. */
struct fuse_job {
    const float *const *in; /**< inputs */
    size_t ins;             /**< at least 1; 1 is a copy */
    float *const *out;      /**< outputs, which overlap nothing */
    size_t outs;            /**< any number */
};

/** Does elements begin .. end - 1; `streams`: with stores that go around the caches where alignment allows. */
typedef void (*fuse_function)(const struct fuse_job *job, size_t begin, size_t end, bool streams);

/** A form of the kernel. */
struct fuse_kernel {
    const char *name;   /**< "avx512", "avx2", "portable" */
    fuse_function fuse; /**< it */
};

/** The forms this processor has, widest first; *out_count entries, at least one. */
const struct fuse_kernel *fuse_kernels(size_t *out_count);

#endif
