/* An algorithm of one's own: all_reduce on a star, built, proved, priced and run. See docs/guide/plugin.md. */
#include <ronde/engine.h>
#include <stdio.h>

static enum ronde_status star(struct ronde_schedule **schedule, struct ronde_error *error)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "star",
                                                  .ranks = 4};
    const struct ronde_operand in = ronde_chunks(RONDE_IN, 0, 1),
                               out = ronde_chunks(RONDE_OUT, 0, 1);
    struct ronde_builder *builder;
    if (ronde_builder_create(&request, ronde_mem_default(), &builder, error) != RONDE_OK)
        return error->status;
    for (uint32_t leaf = 1; leaf < 4;
         leaf++) /* position 0 adds a leaf's input to its own or its sum, */
        ronde_builder_transfer(builder, &(struct ronde_transfer){.from = leaf,
                                                                 .source = in,
                                                                 .with = leaf == 1 ? in : out,
                                                                 .target = out,
                                                                 .reduces = true});
    for (uint32_t leaf = 1; leaf < 4; leaf++) /* and every leaf gets the sum */
        ronde_builder_transfer(builder,
                               &(struct ronde_transfer){.to = leaf, .source = out, .target = out});
    return ronde_schedule_finish(builder, NULL, schedule,
                                 error); /* nothing unproved gets past here */
}

int main(void)
{
    int32_t data[4] = {1, 2, 3, 4};
    void *buffers[4] = {&data[0], &data[1], &data[2], &data[3]},
         *host = NULL; /* in place: input and output */
    const struct ronde_launch launch = {.count = 1,
                                        .dtype = RONDE_INT32,
                                        .in = buffers,
                                        .out = buffers};
    const struct ronde_load load = {.count = 1, .dtype = RONDE_INT32};
    const struct ronde_network network = {.latency_ns = 1000, .port_GBps = 10};
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    struct ronde_result result;
    double time_ns;
    if (star(&schedule, &error) == RONDE_OK &&
        ronde_dag_price(schedule, &load, &network, ronde_mem_default(), &time_ns, &error) ==
            RONDE_OK &&
        ronde_backend_host.open(NULL, ronde_mem_default(), &host, &error) == RONDE_OK &&
        ronde_backend_run_once(&ronde_backend_host, host, schedule, &launch, &result, &error) ==
            RONDE_OK)
        printf("%d %d %d %d in %.1f us\n", data[0], data[1], data[2], data[3], time_ns / 1e3);
    ronde_backend_host.close(host);
    ronde_schedule_destroy(schedule);
    return error.status == RONDE_OK ? 0 : fprintf(stderr, "%s\n", error.message) > 0;
}
