/* Adds up one number per rank, as NCCL's and MPI's first programs do. Any launcher starts it: docs/guide/api.md. */
#include <ronde/ronde.h>

#include <stdio.h>

static enum ronde_status add_up(const struct ronde_launcher *launcher, struct ronde_error *error)
{
    const struct ronde_comm_options options = {.transport = RONDE_TRANSPORT_AUTO};
    struct ronde_comm *comm = NULL;
    const float mine = (float)(launcher->rank + 1);
    float sum = 0;
    enum ronde_status status =
        ronde_comm_launch(launcher, &options, ronde_mem_default(), &comm, error);
    if (status == RONDE_OK)
        status = ronde_all_reduce(comm, &mine, &sum, 1, RONDE_FLOAT32, RONDE_SUM, NULL, NULL, error);
    if (status == RONDE_OK && launcher->rank == 0)
        printf("ronde %s: %u ranks add up to %g\n", ronde_version(), launcher->ranks, (double)sum);
    ronde_comm_destroy(comm);
    return status;
}

int main(void)
{
    struct ronde_launcher launcher;
    struct ronde_error error = {0};
    if (ronde_launcher_find(NULL, NULL, &launcher, &error) == RONDE_OK &&
        add_up(&launcher, &error) == RONDE_OK)
        return 0;
    return fprintf(stderr, "%s\n", error.message) > 0 ? 1 : 2;
}
