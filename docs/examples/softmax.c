/* Softmax of two values per rank: the largest of all is taken away before exp, or exp(1000) would overflow. */
#include <ronde/ronde.h>

#include <math.h>
#include <stdio.h>

static enum ronde_status softmax(struct ronde_comm *comm, struct ronde_error *error)
{
    const uint32_t rank = ronde_comm_rank(comm), ranks = ronde_comm_ranks(comm);
    double values[2] = {1000.0 + rank, 1000.5 + rank}, largest = 0, sum = 0;
    enum ronde_status status = ronde_all_reduce(comm, &values[1], &largest, 1, RONDE_FLOAT64,
                                                RONDE_MAX, NULL, NULL, error);
    for (int i = 0; i < 2; i++)
        values[i] = exp(values[i] - largest);
    const double mine = values[0] + values[1];
    if (status == RONDE_OK)
        status = ronde_all_reduce(comm, &mine, &sum, 1, RONDE_FLOAT64, RONDE_SUM, NULL, NULL, error);
    if (status == RONDE_OK && rank == 0)
        printf("%u ranks: softmax of rank 0 is %.6f %.6f\n", ranks, values[0] / sum,
               values[1] / sum);
    return status;
}

int main(void)
{
    const struct ronde_comm_options options = {.transport = RONDE_TRANSPORT_AUTO};
    struct ronde_launcher launcher;
    struct ronde_error error = {0};
    struct ronde_comm *comm = NULL;
    if (ronde_launcher_find(NULL, NULL, &launcher, &error) == RONDE_OK &&
        ronde_comm_launch(&launcher, &options, ronde_mem_default(), &comm, &error) == RONDE_OK)
        (void)softmax(comm, &error);
    ronde_comm_destroy(comm);
    if (error.status != RONDE_OK)
        fprintf(stderr, "%s\n", error.message);
    return error.status == RONDE_OK ? 0 : 1;
}
