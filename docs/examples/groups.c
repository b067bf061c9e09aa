/* Even ranks and odd ranks add up among themselves while an all_reduce of all ranks is pending. */
#include <ronde/ronde.h>

#include <stdio.h>

static enum ronde_status groups(struct ronde_comm *comm, struct ronde_error *error)
{
    const uint32_t rank = ronde_comm_rank(comm), ranks = ronde_comm_ranks(comm);
    const int32_t mine = (int32_t)rank + 1;
    int32_t of_group = 0, of_all = 0;
    struct ronde_comm *group = NULL;
    struct ronde_request *pending = NULL;
    if (ronde_comm_split(comm, rank % 2, rank, &group, error) == RONDE_OK &&
        ronde_all_reduce(comm, &mine, &of_all, 1, RONDE_INT32, RONDE_SUM, NULL, &pending, error) ==
            RONDE_OK &&
        ronde_all_reduce(group, &mine, &of_group, 1, RONDE_INT32, RONDE_SUM, NULL, NULL, error) ==
            RONDE_OK &&
        ronde_request_wait(pending, 0, error) == RONDE_OK && rank == 0)
        printf("%u ranks: even ranks add up to %d, all ranks to %d\n", ranks, of_group, of_all);
    ronde_request_free(pending);
    ronde_comm_destroy(group);
    return error->status;
}

int main(void)
{
    const struct ronde_comm_options options = {.transport = RONDE_TRANSPORT_AUTO};
    struct ronde_launcher launcher;
    struct ronde_error error = {0};
    struct ronde_comm *comm = NULL;
    if (ronde_launcher_find(NULL, NULL, &launcher, &error) == RONDE_OK &&
        ronde_comm_launch(&launcher, &options, ronde_mem_default(), &comm, &error) == RONDE_OK)
        (void)groups(comm, &error);
    ronde_comm_destroy(comm);
    if (error.status != RONDE_OK)
        fprintf(stderr, "%s\n", error.message);
    return error.status == RONDE_OK ? 0 : 1;
}
