/* all_reduce in two halves: a reduce_scatter gives every rank one sum, an all_gather gives all of them to every rank. */
#include <ronde/ronde.h>

#include <stdio.h>
#include <string.h>

static enum ronde_status halves(struct ronde_comm *comm, struct ronde_error *error)
{
    const uint32_t rank = ronde_comm_rank(comm), ranks = ronde_comm_ranks(comm);
    int64_t in[64], two[64], one[64], own = 0;
    if (ranks > 64)
        return ronde_fail(error, RONDE_UNSUPPORTED, "%u ranks, this is for 64", ranks);
    for (uint32_t i = 0; i < ranks; i++)
        in[i] = (int64_t)(rank + 1) * (i + 1);
    enum ronde_status status =
        ronde_reduce_scatter(comm, in, &own, 1, RONDE_INT64, RONDE_SUM, NULL, NULL, error);
    if (status == RONDE_OK)
        status = ronde_all_gather(comm, &own, two, 1, RONDE_INT64, NULL, NULL, error);
    if (status == RONDE_OK)
        status = ronde_all_reduce(comm, in, one, ranks, RONDE_INT64, RONDE_SUM, NULL, NULL, error);
    if (status == RONDE_OK && rank == 0)
        printf("%u ranks: %lld to %lld, %s\n", ranks, (long long)two[0], (long long)two[ranks - 1],
               memcmp(one, two, ranks * sizeof one[0]) == 0 ? "as all_reduce gives them" : "wrong");
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
        (void)halves(comm, &error);
    ronde_comm_destroy(comm);
    if (error.status != RONDE_OK)
        fprintf(stderr, "%s\n", error.message);
    return error.status == RONDE_OK ? 0 : 1;
}
