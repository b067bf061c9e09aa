/* The largest value of all ranks and the first rank that has it: an all_reduce (max), and an all_gather to find whose. */
#include <ronde/ronde.h>

#include <stdio.h>

static enum ronde_status argmax(struct ronde_comm *comm, struct ronde_error *error)
{
    const uint32_t rank = ronde_comm_rank(comm), ranks = ronde_comm_ranks(comm);
    const int32_t mine = (int32_t)((rank * 37 + 5) % 11);
    int32_t largest = 0, all[64];
    uint32_t owner = 0;
    if (ranks > 64)
        return ronde_fail(error, RONDE_UNSUPPORTED, "%u ranks, this is for 64", ranks);
    enum ronde_status status =
        ronde_all_reduce(comm, &mine, &largest, 1, RONDE_INT32, RONDE_MAX, NULL, NULL, error);
    if (status == RONDE_OK)
        status = ronde_all_gather(comm, &mine, all, 1, RONDE_INT32, NULL, NULL, error);
    while (status == RONDE_OK && all[owner] != largest)
        owner++;
    if (status == RONDE_OK && rank == 0)
        printf("%u ranks: the largest value is %d, of rank %u\n", ranks, largest, owner);
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
        (void)argmax(comm, &error);
    ronde_comm_destroy(comm);
    if (error.status != RONDE_OK)
        fprintf(stderr, "%s\n", error.message);
    return error.status == RONDE_OK ? 0 : 1;
}
