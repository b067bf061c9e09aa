/*
 * Ring all_reduce as MPI code, for SMPI: the 2 (N - 1) steps of schedules/all_reduce_ring.c, each an isend to the right
 * and an irecv from the left. Nothing is added up, as nothing is in the replay it is compared with.
 *
 * smpi_ring BYTES [folded]: bytes of a chunk; with `folded` the buffers are shared by all ranks through SMPI's own
 * allocator, so that it copies no payload.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank;
    int ranks;
    const int bytes = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int is_folded = argc > 2;
    char *out = is_folded ? SMPI_SHARED_MALLOC((size_t)bytes) : malloc((size_t)bytes);
    char *in = is_folded ? SMPI_SHARED_MALLOC((size_t)bytes) : malloc((size_t)bytes);
    if (!out || !in)
        MPI_Abort(MPI_COMM_WORLD, 1);
    /* No barrier before the clock: ranks leave it at different times. */
    const double start_s = MPI_Wtime();
    for (int step = 0; step < 2 * (ranks - 1); step++) {
        MPI_Request requests[2];
        MPI_Irecv(in, bytes, MPI_BYTE, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, bytes, MPI_BYTE, (rank + 1) % ranks, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    const double took_s = MPI_Wtime() - start_s;
    double longest_s;
    MPI_Reduce(&took_s, &longest_s, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.6f\n", longest_s * 1e6);
    if (is_folded) {
        SMPI_SHARED_FREE(out);
        SMPI_SHARED_FREE(in);
    } else {
        free(out);
        free(in);
    }
    MPI_Finalize();
    return 0;
}
