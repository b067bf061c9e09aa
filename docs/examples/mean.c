/* The mean of one number per rank, twice: a sum that every rank divides, and the operator that divides by itself. */
#include <ronde/ronde.h>

#include <stdio.h>

static enum ronde_status mean(struct ronde_comm *comm, struct ronde_error *error)
{
    const uint32_t rank = ronde_comm_rank(comm), ranks = ronde_comm_ranks(comm);
    const double mine = 10.0 * (rank + 1);
    double sum = 0, average = 0;
    enum ronde_status status =
        ronde_all_reduce(comm, &mine, &sum, 1, RONDE_FLOAT64, RONDE_SUM, NULL, NULL, error);
    if (status == RONDE_OK)
        status =
            ronde_all_reduce(comm, &mine, &average, 1, RONDE_FLOAT64, RONDE_AVG, NULL, NULL, error);
    if (status == RONDE_OK && rank == 0)
        printf("%u ranks: %g / %u = %g, avg gives %g\n", ranks, sum, ranks, sum / ranks, average);
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
        (void)mean(comm, &error);
    ronde_comm_destroy(comm);
    if (error.status != RONDE_OK)
        fprintf(stderr, "%s\n", error.message);
    return error.status == RONDE_OK ? 0 : 1;
}
