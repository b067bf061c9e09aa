/*
 * A program outside the repository that uses every library of an installed ronde: C11, and C++17 as consumer.cpp.
 *
 * consumer FILE.ronde: proves the schedule of the file, runs it, and compiles one of each registered algorithm.
 */
#include <ronde/engine.h>
#include <ronde/executors.h>
#include <ronde/hw.h>
#include <ronde/schedules.h>
#include <ronde/sim.h>
#include <ronde/topologies.h>

#include <stdio.h>
#include <string.h>

/* Ranks of the example file, and of what is compiled. */
#define RANKS 4u

/* Bytes of the longest file read. */
#define TEXT_BYTES 4096u

static int report(const struct ronde_error *error)
{
    fprintf(stderr, "%s: %s\n", ronde_status_text(error->status), error->message);
    return 1;
}

/* Compiles all that the library offers for this many ranks; returns how many. */
static uint32_t compile_all(uint32_t *out_failures)
{
    uint32_t count;
    uint32_t compiled = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    *out_failures = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct ronde_compile_request request;
        struct ronde_schedule *schedule = NULL;
        struct ronde_error error;
        memset(&request, 0, sizeof request);
        memset(&error, 0, sizeof error);
        request.collective = algorithms[i]->collective;
        request.algorithm = algorithms[i]->name;
        request.ranks = RANKS;
        if (algorithms[i]->supports(&request, NULL) != RONDE_OK)
            continue;
        if (ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &error) == RONDE_OK)
            compiled++;
        else
            *out_failures += (uint32_t)report(&error);
        ronde_schedule_destroy(schedule);
    }
    return compiled;
}

/* The first backend that is here runs the schedule on 1, 2, 3, 4. */
static enum ronde_status run(const struct ronde_schedule *schedule, int32_t *data,
                             struct ronde_error *error)
{
    void *buffers[RANKS];
    uint32_t count;
    void *self = NULL;
    struct ronde_machine machine;
    struct ronde_launch launch;
    struct ronde_result result;
    const struct ronde_backend *backend = ronde_executors(&count)[0].backend;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        buffers[rank] = &data[rank];
    memset(&launch, 0, sizeof launch);
    launch.count = 1;
    launch.dtype = RONDE_INT32;
    launch.op = RONDE_SUM;
    launch.in = buffers;
    launch.out = buffers;
    enum ronde_status status = backend->probe(&machine, error);
    if (status == RONDE_OK)
        status = backend->open(&machine, ronde_mem_default(), &self, error);
    if (status == RONDE_OK)
        status = ronde_backend_run_once(backend, self, schedule, &launch, &result, error);
    backend->close(self);
    return status;
}

static size_t read_text(const char *path, char *text)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    const size_t bytes = fread(text, 1, TEXT_BYTES, file);
    fclose(file);
    return bytes;
}

int main(int argc, char **argv)
{
    static char text[TEXT_BYTES];
    int32_t data[RANKS] = {1, 2, 3, 4};
    const char *reason;
    uint32_t failures;
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error;
    memset(&error, 0, sizeof error);
    if (argc != 2)
        return 2;
    const size_t bytes = read_text(argv[1], text);
    enum ronde_status status =
        ronde_schedule_read(text, bytes, argv[1], ronde_mem_default(), NULL, &schedule, &error);
    if (status == RONDE_OK)
        status = run(schedule, data, &error);
    ronde_schedule_destroy(schedule);
    if (status != RONDE_OK)
        return report(&error);
    const uint32_t compiled = compile_all(&failures);
    printf("platform files: %s\n", ronde_topologies_available(&reason) ? "yes" : reason);
    printf("simgrid: %s\n", ronde_sim_simgrid_available(&reason) ? "yes" : reason);
    printf("sums %d %d %d %d, %s, %u failures\n", (int)data[0], (int)data[1], (int)data[2],
           (int)data[3], compiled > 6 ? "algorithms compile" : "no algorithms", failures);
    return 0;
}
