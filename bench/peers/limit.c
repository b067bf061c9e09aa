/*
 * The contender that is the machine's memory: a collective as one pass by all processors together, each on its share of
 * the elements, every input read once and every output written once. No message, no rank, no wait but the end.
 *
 * all_reduce is the fused kernel (r0 = r1 = a0 + a1 with two ranks), broadcast a copy to the others, all_gather a copy
 * of every block to all. `limit kernels` times copy and add on their own, `limit check` compares the kernels with plain additions.
 */
#define _GNU_SOURCE

#include "contender.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The kernel: one pass over memory that reads inputs once and writes outputs once ---------------------------- */

/*
 * Vectors are read from all inputs, added in registers and written to all outputs: the least traffic there can be. Two
 * vectors at a time, so that a line of every stream is in flight. Stores around the caches spare reading a line before
 * it is overwritten; they need aligned addresses, so elements up to the first output's alignment go one by one, and
 * where outputs are aligned differently plain stores have to do.
 */

/* What is summed into what: out[o][i] = in[0][i] + in[1][i] + ... for every o. */
struct fuse_job {
    const float *const *in; /* inputs */
    size_t ins;             /* at least 1; 1 is a copy */
    float *const *out;      /* outputs, which overlap nothing */
    size_t outs;            /* any number */
};

/* Does elements begin .. end - 1; `streams`: with stores that go around the caches where alignment allows. */
typedef void (*fuse_function)(const struct fuse_job *job, size_t begin, size_t end, bool streams);

/* A form of the kernel. */
struct fuse_kernel {
    const char *name;   /* "avx512", "avx2", "portable" */
    fuse_function fuse; /* it */
};

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

/* The forms this processor has, widest first; *out_count entries, at least one. */
static const struct fuse_kernel *fuse_kernels(size_t *out_count)
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
/* The forms this processor has, widest first; *out_count entries, at least one. */
static const struct fuse_kernel *fuse_kernels(size_t *out_count)
{
    static const struct fuse_kernel all[] = {{"portable", fuse_portable}};
    *out_count = 1;
    return all;
}
#endif

/* ---- The contender ------------------------------------------------------------------------------------------- */

#define MAX_THREADS 64
/* Polls before a thread sleeps: some hundred microseconds. */
#define SPINS 20000

/* A kernel and its kind of stores. */
struct form {
    const struct fuse_kernel *kernel;
    bool streams;
};

/* All threads; the caller is number 0. */
struct pool {
    int threads;
    int ranks;
    struct form form;
    struct fuse_job jobs[CONTENDER_RANKS]; /* what a round does, */
    size_t job_count;                      /* so many of them, */
    size_t count;                          /* each on so many elements */
    const float *in[CONTENDER_RANKS];      /* what the jobs point to */
    float *out[CONTENDER_RANKS * CONTENDER_RANKS];
    bool is_over;      /* rounds end the threads */
    atomic_uint round; /* counts up when there is work */
    atomic_int left;   /* threads that have not finished it */
    struct worker {
        struct pool *pool;
        pthread_t thread;
        int index;
        atomic_bool sleeps;
        sem_t wake;
    } workers[MAX_THREADS];
    char label[64];
};

static void pause_once(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

/* Elements of a thread: whole lines of memory, but for the last one's end. */
static void share_of(const struct pool *pool, int index, size_t count, size_t *begin, size_t *end)
{
    const size_t line = 64 / sizeof(float), lines = (count + line - 1) / line;
    const size_t threads = (size_t)pool->threads, at = (size_t)index;
    *begin = lines * at / threads * line;
    *end = lines * (at + 1) / threads * line;
    *end = *end < count ? *end : count;
    *begin = *begin < *end ? *begin : *end;
}

static void work(const struct pool *pool, int index)
{
    size_t begin = 0, end = 0;
    share_of(pool, index, pool->count, &begin, &end);
    for (size_t i = 0; i < pool->job_count; i++)
        pool->form.kernel->fuse(&pool->jobs[i], begin, end, pool->form.streams);
}

/* The collective as jobs: one, but for all_gather, which has one per block. */
static void lay_out(struct pool *pool, const struct contender_point *point)
{
    const bool gathers = point->collective == CONTENDER_ALL_GATHER;
    const size_t ranks = (size_t)pool->ranks;
    for (size_t rank = 0; rank < ranks; rank++)
        pool->in[rank] = point->in[rank];
    pool->count = point->count;
    pool->job_count = gathers ? ranks : 1;
    for (size_t block = 0; block < pool->job_count; block++) {
        float **out = pool->out + block * ranks;
        for (size_t rank = 0; rank < ranks; rank++)
            out[rank] = (float *)point->out[rank] + block * point->count;
        pool->jobs[block] = (struct fuse_job){pool->in + block, gathers ? 1 : ranks, out, ranks};
    }
    if (point->collective == CONTENDER_BROADCAST)
        pool->jobs[0] = (struct fuse_job){pool->in, 1, pool->out + 1, ranks - 1};
}

/* Waits for the next round: polls for a while, then sleeps. */
static void await_round(struct worker *worker, unsigned seen)
{
    for (int spin = 0; spin < SPINS; spin++) {
        if (atomic_load_explicit(&worker->pool->round, memory_order_acquire) != seen)
            return;
        pause_once();
    }
    atomic_store(&worker->sleeps, true);
    /*
     * Work that came meanwhile: the thread that clears the flag decides whether a wake-up is under
     * way.
     */
    if (atomic_load(&worker->pool->round) != seen && atomic_exchange(&worker->sleeps, false))
        return;
    while (sem_wait(&worker->wake) != 0)
        continue;
}

static void *run_worker(void *self)
{
    struct worker *worker = self;
    unsigned seen = 0;
    contender_pin(worker->index, worker->pool->threads);
    for (;;) {
        await_round(worker, seen);
        seen = atomic_load(&worker->pool->round);
        if (worker->pool->is_over)
            return NULL;
        work(worker->pool, worker->index);
        atomic_fetch_sub_explicit(&worker->pool->left, 1, memory_order_release);
    }
}

static void begin_round(struct pool *pool)
{
    atomic_store(&pool->left, pool->threads - 1);
    atomic_fetch_add(&pool->round, 1);
    for (int i = 1; i < pool->threads; i++)
        if (atomic_exchange(&pool->workers[i].sleeps, false))
            sem_post(&pool->workers[i].wake);
}

static void run_round(struct pool *pool)
{
    begin_round(pool);
    work(pool, 0);
    while (atomic_load_explicit(&pool->left, memory_order_acquire) > 0)
        pause_once();
}

static bool run(void *self, const struct contender_point *point)
{
    (void)point;
    run_round(self);
    return true;
}

static double max(void *self, double value)
{
    (void)self;
    return value;
}

/* One process needs no barrier. */
static bool meet(void *self)
{
    (void)self;
    return true;
}

/* Mean of some milliseconds of runs, after one that does not count. */
static double time_form(struct pool *pool)
{
    double runs = 0.0;
    run_round(pool);
    const double start_ns = contender_clock_ns();
    do
        run_round(pool);
    while (++runs < 100 && contender_clock_ns() - start_ns < 3e6);
    return (contender_clock_ns() - start_ns) / runs;
}

/* Which stores and which vectors are faster depends on what the caches hold: the fastest form is the limit. */
static double choose_form(struct pool *pool)
{
    struct form best = {0};
    double best_ns = 0.0;
    size_t count = 0;
    const struct fuse_kernel *kernels = fuse_kernels(&count);
    for (size_t i = 0; i < 2 * count; i++) {
        pool->form = (struct form){&kernels[i / 2], i % 2 != 0};
        const double took_ns = time_form(pool);
        if (!best.kernel || took_ns < best_ns) {
            best = pool->form;
            best_ns = took_ns;
        }
    }
    pool->form = best;
    snprintf(pool->label, sizeof pool->label, "%s%s", best.kernel->name,
             best.streams ? "_streaming" : "");
    return best_ns;
}

static const char *prepare(void *self, const struct contender_point *point)
{
    static char label[sizeof((struct pool *)0)->label + 8];
    struct pool *pool = self;
    lay_out(pool, point);
    choose_form(pool);
    snprintf(label, sizeof label, "fused %s", pool->label);
    return label;
}

/* One thread on each processor this process may use. */
static bool open_pool(struct pool *pool)
{
    cpu_set_t mine;
    const bool is_known = sched_getaffinity(0, sizeof mine, &mine) == 0;
    pool->threads = is_known ? CPU_COUNT(&mine) : 1;
    if (pool->threads > MAX_THREADS)
        pool->threads = MAX_THREADS;
    for (int i = 1; i < pool->threads; i++) {
        struct worker *worker = &pool->workers[i];
        worker->pool = pool;
        worker->index = i;
        if (sem_init(&worker->wake, 0, 0) != 0 ||
            pthread_create(&worker->thread, NULL, run_worker, worker) != 0)
            return false;
    }
    contender_pin(0, pool->threads);
    return true;
}

static void close_pool(struct pool *pool)
{
    pool->is_over = true;
    begin_round(pool);
    for (int i = 1; i < pool->threads; i++) {
        pthread_join(pool->workers[i].thread, NULL);
        sem_destroy(&pool->workers[i].wake);
    }
}

/* ---- The kernels on their own: copy a = b, add a = b + c, fused r0 = r1 = a0 + a1 ---------------------------------- */

/* 128 MiB an operand: past every cache of this kind of machine, or a good part of it. */
#define KERNEL_ELEMENTS ((size_t)32 << 20)

static int print_kernels(struct pool *pool)
{
    static const struct {
        const char *name;
        size_t ins, outs;
    } kernels[] = {{"copy", 1, 1}, {"add", 2, 1}, {"fused", 2, 2}};
    float *operands[4];
    for (int i = 0; i < 4; i++) {
        operands[i] = aligned_alloc(4096, KERNEL_ELEMENTS * sizeof(float));
        if (!operands[i])
            return 4;
        memset(operands[i], 0, KERNEL_ELEMENTS * sizeof(float));
    }
    pool->in[0] = operands[0];
    pool->in[1] = operands[1];
    pool->count = KERNEL_ELEMENTS;
    pool->job_count = 1;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        const double bytes = (double)((kernels[i].ins + kernels[i].outs) * KERNEL_ELEMENTS * 4);
        pool->jobs[0] = (struct fuse_job){pool->in, kernels[i].ins, operands + 2, kernels[i].outs};
        const double took_ns = choose_form(pool);
        printf("%s %.0f us %.1f GB/s %s\n", kernels[i].name, took_ns / 1e3, bytes / took_ns,
               pool->label);
    }
    for (int i = 0; i < 4; i++)
        free(operands[i]);
    return 0;
}

/* ---- Self-check: every form of the kernel against plain additions, on lengths and starts of all kinds ------------- */

#define CHECK_ELEMENTS 300
/* One operand, with room for its skew. A multiple of 64 bytes. */
#define CHECK_STRIDE 320

static bool is_right(const float *const *in, size_t ins, float *const *out, size_t count)
{
    for (size_t i = 0; i < CHECK_ELEMENTS; i++) {
        const bool is_written = i > 0 && i < count;
        float sum = is_written ? in[0][i] : -1.0f;
        for (size_t k = 1; is_written && k < ins; k++)
            sum += in[k][i];
        if (out[0][i] != sum || out[1][i] != sum || out[2][i] != sum)
            return false;
    }
    return true;
}

/* Elements 1 .. count - 1, of operands that begin anywhere; with a skew of 3 outputs are aligned differently. */
static bool check_form(const struct fuse_kernel *kernel, bool streams, size_t skew, size_t count)
{
    _Alignas(64) static float memory[6 * CHECK_STRIDE];
    float *results = memory + 3 * (size_t)CHECK_STRIDE;
    const float *in[3] = {memory + skew, memory + CHECK_STRIDE + 1,
                          memory + 2 * (size_t)CHECK_STRIDE + 2 * skew};
    float *out[3] = {results + skew, results + CHECK_STRIDE + skew,
                     results + 2 * (size_t)CHECK_STRIDE + skew + (skew == 3)};
    for (size_t i = 0; i < 3 * (size_t)CHECK_STRIDE; i++)
        memory[i] = (float)(i * 7 % 31);
    for (size_t ins = 1; ins <= 3; ins++) {
        for (size_t i = 0; i < 3 * (size_t)CHECK_STRIDE; i++)
            results[i] = -1.0f;
        kernel->fuse(&(struct fuse_job){in, ins, out, 3}, 1, count, streams);
        if (!is_right(in, ins, out, count))
            return false;
    }
    return true;
}

static int check_kernels(void)
{
    size_t kernel_count = 0, forms = 0, wrong = 0;
    const struct fuse_kernel *kernels = fuse_kernels(&kernel_count);
    for (size_t i = 0; i < 2 * kernel_count; i++)
        for (size_t skew = 0; skew < 4; skew++)
            for (size_t count = 1; count < CHECK_ELEMENTS; count++, forms++)
                wrong += !check_form(&kernels[i / 2], i % 2 != 0, skew, count);
    printf("%zu of %zu cases wrong\n", wrong, forms);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    static struct pool pool;
    struct contender contender = {
        .holds_all = true, .self = &pool, .prepare = prepare, .run = run, .max = max, .meet = meet};
    if (argc == 2 && strcmp(argv[1], "check") == 0)
        return check_kernels();
    const bool is_serving = argc == 3;
    if (!is_serving && (argc != 2 || strcmp(argv[1], "kernels") != 0)) {
        fprintf(stderr, "usage: %s FOLDER RANKS | kernels | check\n", argv[0]);
        return 2;
    }
    pool.ranks = is_serving ? atoi(argv[2]) : 2;
    contender.ranks = pool.ranks;
    if (!open_pool(&pool)) {
        perror("threads");
        return 4;
    }
    const int status = is_serving ? contender_serve(&contender, argv[1]) : print_kernels(&pool);
    close_pool(&pool);
    return status;
}
