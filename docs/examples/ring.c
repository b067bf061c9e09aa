/* all_reduce as a ring: every step passes one element on, once round to add up, once round to hand out the sums. */
#include <ronde/ronde.h>

#include <stdio.h>

static enum ronde_status ring(struct ronde_comm *comm, struct ronde_error *error)
{
    const uint32_t rank = ronde_comm_rank(comm), ranks = ronde_comm_ranks(comm);
    int32_t sums[64], arrived = 0;
    enum ronde_status status = RONDE_OK;
    if (ranks > 64)
        return ronde_fail(error, RONDE_UNSUPPORTED, "%u ranks, this is for 64", ranks);
    for (uint32_t i = 0; i < ranks; i++)
        sums[i] = (int32_t)((rank + 1) * (i + 1));
    for (uint32_t step = 0; step < 2 * (ranks - 1) && status == RONDE_OK; step++) {
        const uint32_t leaves = (rank + 2 * ranks - step) % ranks;
        const uint32_t changes = (rank + 2 * ranks - step - 1) % ranks;
        status = ronde_shift(comm, &sums[leaves], &arrived, 1, RONDE_INT32, 1, NULL, NULL, error);
        sums[changes] = step < ranks - 1 ? sums[changes] + arrived : arrived;
    }
    if (status == RONDE_OK && rank == 0)
        printf("%u ranks: sums from %d to %d\n", ranks, sums[0], sums[ranks - 1]);
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
        (void)ring(comm, &error);
    ronde_comm_destroy(comm);
    if (error.status != RONDE_OK)
        fprintf(stderr, "%s\n", error.message);
    return error.status == RONDE_OK ? 0 : 1;
}
