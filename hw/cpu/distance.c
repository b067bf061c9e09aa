/* The distance between processors: a counter goes round through all of them. See ronde/distance.h. */
#define _POSIX_C_SOURCE 200809L

#include "ronde/distance.h"

#include "hw/cpu/thread_pool.h"
#include "ronde/hw.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* Rounds of a sample, and samples of which the least counts: others may run meanwhile. */
#define ROUNDS 40u
#define SAMPLES 5u

/* Half a second, and while waiting. */
#define USUAL_SAMPLES 50u
#define PAUSE_NS 10000000l

/* Distances are one below this: those of a core, a cache, a socket differ by 2 and more. */
#define ALIKE 1.6

/* What one processor tells the next; alone on two lines, since processors prefetch lines in pairs. */
struct token {
    uint64_t value;
    unsigned char padding[120];
};

struct ronde_distance {
    const struct ronde_mem *mem;
    struct ronde_bind bind;
    struct ronde_thread_pool *pool;
    uint32_t workers;
    struct token *tokens; /* per worker: rounds that have come to it */
    uint64_t rounds;      /* before this sample */
    double least_ns;      /* of the rounds of a sample, per hop */
    double line_ns;
    double patience_ns; /* left */
    double since_ns;    /* clock of the last await */
    uint32_t missed;
};

static void await_token(const struct token *token, uint64_t value)
{
    for (uint32_t idle = 1; __atomic_load_n(&token->value, __ATOMIC_ACQUIRE) < value; idle++)
        ronde_thread_pool_relax(idle);
}

/* Worker 0 sends a token round and waits for it, the others pass it on. */
static void work(void *self, uint32_t worker)
{
    struct ronde_distance *distance = self;
    struct token *const own = &distance->tokens[worker];
    struct token *const next = &distance->tokens[(worker + 1) % distance->workers];
    for (uint32_t sample = 0; sample < SAMPLES; sample++) {
        const double start_ns = ronde_clock_ns();
        for (uint64_t k = 1; k <= ROUNDS; k++) {
            const uint64_t round = distance->rounds + sample * ROUNDS + k;
            if (worker > 0)
                await_token(own, round);
            __atomic_store_n(&next->value, round, __ATOMIC_RELEASE);
            if (worker == 0)
                await_token(own, round);
        }
        const double hop_ns = (ronde_clock_ns() - start_ns) / (ROUNDS * distance->workers);
        if (worker == 0)
            distance->least_ns = fmin(distance->least_ns, hop_ns);
    }
}

double ronde_distance_ns(struct ronde_distance *distance)
{
    distance->least_ns = INFINITY;
    ronde_thread_pool_start(distance->pool);
    work(distance, 0);
    for (uint32_t idle = 1; !ronde_thread_pool_is_done(distance->pool); idle++)
        ronde_thread_pool_relax(idle);
    distance->rounds += SAMPLES * ROUNDS;
    return distance->least_ns;
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void pause_a_while(void)
{
    const struct timespec pause = {0, PAUSE_NS};
    (void)nanosleep(&pause, NULL);
}

double ronde_distance_usual_ns(struct ronde_distance *distance)
{
    double samples[USUAL_SAMPLES];
    for (uint32_t k = 0; k < USUAL_SAMPLES; k++) {
        samples[k] = ronde_distance_ns(distance);
        pause_a_while();
    }
    qsort(samples, USUAL_SAMPLES, sizeof samples[0], by_value);
    return samples[USUAL_SAMPLES / 2];
}

bool ronde_distance_is_alike(double left_ns, double right_ns)
{
    return left_ns <= 0 || right_ns <= 0 ||
           fmax(left_ns, right_ns) < ALIKE * fmin(left_ns, right_ns);
}

void ronde_distance_keep(struct ronde_distance *distance, double line_ns, double patience_ns)
{
    if (!distance)
        return;
    distance->line_ns = line_ns;
    distance->patience_ns = patience_ns;
}

/* Whether the distance is as it has to be. */
static bool holds(struct ronde_distance *distance)
{
    return distance->line_ns <= 0 ||
           ronde_distance_is_alike(ronde_distance_ns(distance), distance->line_ns);
}

void ronde_distance_await(struct ronde_distance *distance)
{
    if (!distance)
        return;
    const double start_ns = ronde_clock_ns();
    while (!holds(distance) && ronde_clock_ns() - start_ns < distance->patience_ns)
        pause_a_while();
    distance->since_ns = ronde_clock_ns();
    distance->patience_ns = fmax(distance->patience_ns - (distance->since_ns - start_ns), 0.0);
}

bool ronde_distance_held(struct ronde_distance *distance)
{
    if (!distance || holds(distance))
        return true;
    distance->patience_ns -= ronde_clock_ns() - distance->since_ns;
    if (distance->patience_ns > 0)
        return false;
    distance->patience_ns = 0;
    distance->missed++;
    return true;
}

uint32_t ronde_distance_missed(const struct ronde_distance *distance)
{
    return distance ? distance->missed : 0;
}

enum ronde_status ronde_distance_open(const struct ronde_mem *mem,
                                      struct ronde_distance **out_distance,
                                      struct ronde_error *error)
{
    *out_distance = NULL;
    if (ronde_threads_check("distances", error) != RONDE_OK)
        return RONDE_UNAVAILABLE;
    if (ronde_usable_cores() < 2)
        return ronde_fail(error, RONDE_UNAVAILABLE, "one usable processor has no distance");
    struct ronde_distance *distance = ronde_mem_new(mem, 1, sizeof *distance);
    if (!distance)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to watch processors");
    distance->mem = mem;
    distance->bind.mem = mem;
    distance->workers = ronde_usable_cores();
    distance->tokens = ronde_mem_new(mem, distance->workers, sizeof *distance->tokens);
    enum ronde_status status =
        distance->tokens ? ronde_bind_open(mem, &distance->bind, error)
                         : ronde_fail(error, RONDE_NO_MEMORY, "no memory to watch %u processors",
                                      distance->workers);
    RONDE_THEN(status, ronde_thread_pool_create(distance->workers, work, distance, &distance->bind,
                                                &distance->pool, error));
    if (status == RONDE_OK)
        *out_distance = distance;
    else
        ronde_distance_close(distance);
    return status;
}

void ronde_distance_close(struct ronde_distance *distance)
{
    if (!distance)
        return;
    const struct ronde_mem *mem = distance->mem;
    ronde_thread_pool_destroy(distance->pool);
    ronde_bind_close(&distance->bind);
    ronde_mem_free(mem, distance->tokens, distance->workers, sizeof *distance->tokens);
    ronde_mem_free(mem, distance, 1, sizeof *distance);
}
