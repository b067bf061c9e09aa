/* The contender that is an MPI library, whichever mpicc compiled it: MPI_Allreduce, MPI_Bcast, MPI_Allgather as they
 * come, with the library's own choice of algorithms. */
#include "contender.h"

#include <mpi.h>
#include <stdio.h>

static const char *prepare(void *self, const struct contender_point *point)
{
    (void)self;
    (void)point;
    return "default default";
}

static bool run(void *self, const struct contender_point *point)
{
    const int rank = *(const int *)self;
    const int count = (int)point->count;
    int status = MPI_SUCCESS;
    switch (point->collective) {
    case CONTENDER_ALL_REDUCE:
        status = MPI_Allreduce(point->in[rank], point->out[rank], count, MPI_FLOAT, MPI_SUM,
                               MPI_COMM_WORLD);
        break;
    case CONTENDER_BROADCAST:
        status = MPI_Bcast(point->out[rank], count, MPI_FLOAT, 0, MPI_COMM_WORLD);
        break;
    case CONTENDER_ALL_GATHER:
        status = MPI_Allgather(point->in[rank], count, MPI_FLOAT, point->out[rank], count,
                               MPI_FLOAT, MPI_COMM_WORLD);
        break;
    case CONTENDER_COLLECTIVES:
        return false;
    }
    return status == MPI_SUCCESS;
}

static double max(void *self, double value)
{
    double largest = value;
    (void)self;
    MPI_Allreduce(&value, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    /* A rank that is still sending when it goes to sleep would delay the others. */
    MPI_Barrier(MPI_COMM_WORLD);
    return largest;
}

static bool meet(void *self)
{
    (void)self;
    return MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int rank = 0, ranks = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    struct contender contender = {.rank = rank,
                                  .ranks = ranks,
                                  .self = &rank,
                                  .prepare = prepare,
                                  .run = run,
                                  .max = max,
                                  .meet = meet};
    if (argc != 2) {
        fprintf(stderr, "usage: mpirun ... %s FOLDER\n", argv[0]);
        return 2;
    }
    contender_pin(rank, ranks);
    const int status = contender_serve(&contender, argv[1]);
    if (status != 0)
        MPI_Abort(MPI_COMM_WORLD, status);
    MPI_Finalize();
    return 0;
}
