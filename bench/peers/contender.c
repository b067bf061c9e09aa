/* Points in, times out. See contender.h. */
#define _GNU_SOURCE

#include "contender.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What one process has between points. */
struct session {
    struct contender *contender;
    struct contender_point point;
    const char *algorithm; /* of the point */
    double wrong;          /* elements of the point's first run, all ranks */
    FILE *in;
    FILE *out; /* rank 0 */
};

const char *contender_collective_text(enum contender_collective collective)
{
    static const char *const texts[] = {"all_reduce", "broadcast", "all_gather"};
    return texts[collective];
}

double contender_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

void contender_pin(int rank, int ranks)
{
    cpu_set_t mine, own;
    int seen = 0;
    if (sched_getaffinity(0, sizeof mine, &mine) != 0 || CPU_COUNT(&mine) < ranks)
        return;
    CPU_ZERO(&own);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &mine) && seen++ == rank)
            CPU_SET(cpu, &own);
    /* A refusal costs accuracy, not truth: the rank runs where the scheduler puts it. */
    if (sched_setaffinity(0, sizeof own, &own) != 0)
        perror("sched_setaffinity");
}

static bool is_held(const struct contender *contender, int rank)
{
    return contender->holds_all || rank == contender->rank;
}

/*
 * ---- Buffers: known values, so that wrong results are found. Sums are exact in float32.
 * -------------
 */

static float value_of(int rank, size_t element)
{
    return (float)(rank + 1) + (float)(element % 13);
}

static float expected(const struct session *session, size_t element)
{
    const struct contender_point *point = &session->point;
    const int ranks = session->contender->ranks;
    if (point->collective == CONTENDER_BROADCAST)
        return value_of(0, element);
    if (point->collective == CONTENDER_ALL_GATHER)
        return value_of((int)(element / point->count), element % point->count);
    return (float)(ranks * (ranks + 1) / 2) + (float)ranks * (float)(element % 13);
}

static size_t out_elements(const struct session *session)
{
    const bool gathers = session->point.collective == CONTENDER_ALL_GATHER;
    return session->point.count * (gathers ? (size_t)session->contender->ranks : 1);
}

static double count_wrong(const struct session *session)
{
    double wrong = 0.0;
    for (int rank = 0; rank < session->contender->ranks; rank++) {
        const float *out = session->point.out[rank];
        for (size_t i = 0; out && i < out_elements(session); i++)
            wrong += out[i] != expected(session, i);
    }
    return wrong;
}

static void free_buffer(const struct contender *contender, void *memory, size_t bytes)
{
    if (contender->release)
        contender->release(contender->self, memory, bytes);
    else
        free(memory);
}

static void release(struct session *session)
{
    struct contender_point *point = &session->point;
    for (int rank = 0; rank < CONTENDER_RANKS; rank++) {
        if (point->out[rank] != point->in[rank])
            free_buffer(session->contender, point->out[rank], out_elements(session) * sizeof(float));
        free_buffer(session->contender, point->in[rank], point->count * sizeof(float));
        point->in[rank] = NULL;
        point->out[rank] = NULL;
    }
}

/* Whole pages: as transports that map or copy pages of another process need. */
static float *new_buffer(const struct contender *contender, size_t elements)
{
    void *memory = NULL;
    if (contender->allocate)
        return contender->allocate(contender->self, elements * sizeof(float));
    return posix_memalign(&memory, 4096, elements * sizeof(float)) == 0 ? memory : NULL;
}

/* One rank's buffers, touched by the process that runs it. */
static bool allocate_rank(struct session *session, int rank)
{
    struct contender_point *point = &session->point;
    const bool is_shared = point->collective == CONTENDER_BROADCAST;
    const bool is_source = !is_shared || rank == 0;
    float *in = new_buffer(session->contender, point->count);
    float *out = is_shared ? in : new_buffer(session->contender, out_elements(session));
    point->in[rank] = in;
    point->out[rank] = out;
    if (!in || !out)
        return false;
    memset(out, 0xff, out_elements(session) * sizeof *out);
    for (size_t i = 0; is_source && i < point->count; i++)
        in[i] = value_of(rank, i);
    return true;
}

static bool allocate(struct session *session)
{
    for (int rank = 0; rank < session->contender->ranks; rank++)
        if (is_held(session->contender, rank) && !allocate_rank(session, rank)) {
            fprintf(stderr, "no memory for %zu bytes\n", session->point.bytes);
            return false;
        }
    return true;
}

/* ---- Points ------------------------------------------------------------------------------------------------------- */

static bool parse_collective(const char *name, enum contender_collective *out)
{
    for (int i = 0; i < CONTENDER_COLLECTIVES; i++)
        if (strcmp(name, contender_collective_text((enum contender_collective)i)) == 0) {
            *out = (enum contender_collective)i;
            return true;
        }
    return false;
}

/* New buffers, an algorithm for them, and a first run that shows whether results are right. */
static bool begin(struct session *session, enum contender_collective collective, size_t bytes)
{
    struct contender *contender = session->contender;
    struct contender_point *point = &session->point;
    const size_t blocks = collective == CONTENDER_ALL_GATHER ? (size_t)contender->ranks : 1;
    release(session);
    point->collective = collective;
    point->bytes = bytes;
    point->count = bytes / sizeof(float) / blocks;
    point->count += point->count == 0;
    if (!allocate(session))
        return false;
    session->algorithm = contender->prepare(contender->self, point);
    if (!session->algorithm || !contender->run(contender->self, point))
        return false;
    session->wrong = contender->max(contender->self, count_wrong(session));
    return true;
}

/* nccl-tests' way: runs one after another, no barrier between them. */
static bool run_in_a_row(struct session *session, long runs, double *out_total_ns)
{
    struct contender *contender = session->contender;
    bool is_ok = true;
    const double start_ns = contender_clock_ns();
    for (long i = 0; is_ok && i < runs; i++)
        is_ok = contender->run(contender->self, &session->point);
    *out_total_ns = contender_clock_ns() - start_ns;
    return is_ok;
}

/* No rank is ahead: the ranks synchronise before each run, which is timed alone. */
static bool run_apart(struct session *session, long runs, double *out_total_ns)
{
    struct contender *contender = session->contender;
    bool is_ok = true;
    *out_total_ns = 0.0;
    for (long i = 0; is_ok && i < runs; i++) {
        is_ok = contender->meet(contender->self);
        const double start_ns = contender_clock_ns();
        is_ok = is_ok && contender->run(contender->self, &session->point);
        *out_total_ns += contender_clock_ns() - start_ns;
    }
    return is_ok;
}

/* Mean of the slowest rank. */
static bool measure(struct session *session, long warmups, long runs, bool apart, double *out_ns)
{
    struct contender *contender = session->contender;
    double total_ns = 0.0;
    if (!run_in_a_row(session, warmups, &total_ns))
        return false;
    contender->max(contender->self, 0.0);
    const bool is_ok =
        apart ? run_apart(session, runs, &total_ns) : run_in_a_row(session, runs, &total_ns);
    *out_ns = contender->max(contender->self, total_ns / (double)runs);
    return is_ok;
}

static bool serve_line(struct session *session, const char *line)
{
    char name[32], way[16];
    size_t bytes = 0;
    long warmups = 0, iterations = 0;
    double took_ns = 0.0;
    enum contender_collective collective = CONTENDER_ALL_REDUCE;
    if (sscanf(line, "%31s %zu %ld %ld %15s", name, &bytes, &warmups, &iterations, way) != 5 ||
        iterations < 1 || !parse_collective(name, &collective)) {
        fprintf(stderr, "not a point: %s", line);
        return false;
    }
    const bool is_new = bytes != session->point.bytes || collective != session->point.collective ||
                        !session->algorithm;
    if (is_new && !begin(session, collective, bytes))
        return false;
    if (!measure(session, warmups, iterations, strcmp(way, "apart") == 0, &took_ns))
        return false;
    if (session->out)
        fprintf(session->out, "%.17g %.0f %zu %s\n", took_ns, session->wrong, session->point.count,
                session->algorithm);
    return true;
}

/* The writer opens its ends first, so neither call waits for ever. */
static bool open_session(struct session *session, const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/in.%d", folder, session->contender->rank);
    session->in = fopen(path, "r");
    snprintf(path, sizeof path, "%s/out", folder);
    if (session->contender->rank == 0)
        session->out = fopen(path, "w");
    if (session->in && (session->out || session->contender->rank != 0))
        return true;
    perror(path);
    return false;
}

int contender_serve(struct contender *contender, const char *folder)
{
    struct session session = {.contender = contender};
    char line[256];
    bool is_ok = contender->ranks <= CONTENDER_RANKS && open_session(&session, folder);
    while (is_ok && fgets(line, sizeof line, session.in)) {
        is_ok = serve_line(&session, line);
        if (session.out && !is_ok)
            fputs("failed\n", session.out);
        if (session.out)
            fflush(session.out);
    }
    release(&session);
    if (session.in)
        fclose(session.in);
    if (session.out)
        fclose(session.out);
    return is_ok ? 0 : 4;
}
