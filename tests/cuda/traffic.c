/* Bytes that must move. See traffic.h. */
#include "cuda/traffic.h"

#include "ronde/schedules.h"

/* Rows of the table have a column for each. */
static const uint32_t rank_counts[] = {2, 4, 8};

#define RANK_COUNTS (sizeof rank_counts / sizeof rank_counts[0])

/* What the table's time is of. */
#define SIZE_BYTES (UINT64_C(1) << 30)

/*
 * Bytes that a step of one chunk reads and writes for each byte of it, where messages are read in place: what is sent is
 * read by its receiver, unless it has to be kept in a slot. What joined steps hand on to each other stays in registers. A
 * result that is spread costs a write where its receiver, whose step is counted two, moves nothing.
 */
static double step_traffic(const struct ronde_program *program, uint32_t index)
{
    const struct ronde_step *step = &program->steps[index];
    const double joined =
        (step->flags & RONDE_FLAG_JOINED ? 1 : 0) + ronde_program_takes_over(program, index);
    const bool is_buffered = (step->flags & RONDE_FLAG_BUFFERED) != 0;
    const bool is_spread = (step->flags & RONDE_FLAG_SPREAD) != 0;
    switch ((enum ronde_step_op)step->op) {
    case RONDE_STEP_SEND:
        return is_spread ? -1 : is_buffered ? 2 : 0;
    case RONDE_STEP_RECV:
    case RONDE_STEP_RCS:
    case RONDE_STEP_RS:
    case RONDE_STEP_COPY:
        return 2 - joined;
    case RONDE_STEP_RRC:
    case RONDE_STEP_RRS:
    case RONDE_STEP_RRCS:
    case RONDE_STEP_REDUCE:
        return 3 - joined;
    case RONDE_STEP_NOP:
    case RONDE_STEP_OP_COUNT:
        break;
    }
    return 0;
}

uint64_t traffic_block_bytes(enum ronde_collective collective, uint32_t ranks, uint64_t size_bytes)
{
    const uint32_t in = ronde_collective_in_blocks(collective, ranks);
    const uint32_t out = ronde_collective_out_blocks(collective, ranks);
    const uint32_t blocks = in > out ? in : out;
    return blocks > 0 ? size_bytes / blocks : 0;
}

double traffic_of(const struct ronde_schedule *schedule, uint64_t size_bytes)
{
    const double chunk_bytes =
        (double)traffic_block_bytes(schedule->collective, schedule->ranks, size_bytes) /
        schedule->channel_count / schedule->chunks_per_block;
    double bytes = 0;
    for (uint32_t rank = 0; rank < schedule->ranks; rank++)
        for (uint32_t channel = 0; channel < schedule->channel_count; channel++) {
            const struct ronde_program *program = ronde_view_open(schedule, channel, rank).program;
            for (uint32_t s = 0; s < program->step_count; s++)
                bytes += step_traffic(program, s) * program->steps[s].chunk_count;
        }
    return bytes * chunk_bytes;
}

double traffic_least(enum ronde_collective collective, uint32_t ranks, uint64_t size_bytes)
{
    const double n = ranks;
    const double bytes = (double)size_bytes;
    switch (collective) {
    case RONDE_ALL_REDUCE:
    case RONDE_ALL_TO_ALL:
    case RONDE_SEND_RECV:
        return 2 * n * bytes;
    /* All ranks' inputs are as much as one output, or all outputs as much as one input. */
    case RONDE_BROADCAST:
    case RONDE_REDUCE:
    case RONDE_ALL_GATHER:
    case RONDE_REDUCE_SCATTER:
        return (1 + n) * bytes;
    case RONDE_SCATTER:
    case RONDE_GATHER:
        return 2 * bytes;
    case RONDE_BARRIER:
    case RONDE_COLLECTIVE_COUNT:
        break;
    }
    return 0;
}

/* One cell: what an algorithm moves in sizes; false where it cannot be compiled, "-" where it has no such schedule. */
static bool print_cell(FILE *file, const struct ronde_algorithm *algorithm, uint32_t ranks,
                       double *out_bytes)
{
    const struct ronde_compile_request request = {.collective = algorithm->collective,
                                                  .algorithm = algorithm->name,
                                                  .ranks = ranks,
                                                  .channels = 1};
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    *out_bytes = 0;
    if (algorithm->supports(&request, &error) != RONDE_OK) {
        fprintf(file, " %8s |", "-");
        return true;
    }
    if (ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &error) != RONDE_OK)
        return false;
    *out_bytes = traffic_of(schedule, SIZE_BYTES);
    fprintf(file, " %8.3f |", *out_bytes / (double)SIZE_BYTES);
    ronde_schedule_destroy(schedule);
    return true;
}

static bool print_row(FILE *file, const struct ronde_algorithm *algorithm, double copy_GBps)
{
    double bytes = 0;
    bool is_good = true;
    fprintf(file, "| %-14s | %-24s |", ronde_collective_text(algorithm->collective),
            algorithm->name);
    for (size_t r = 0; r < RANK_COUNTS && is_good; r++)
        is_good = print_cell(file, algorithm, rank_counts[r], &bytes);
    for (size_t r = 0; r < RANK_COUNTS; r++)
        fprintf(file, " %5.0f |",
                traffic_least(algorithm->collective, rank_counts[r], SIZE_BYTES) /
                    (double)SIZE_BYTES);
    if (copy_GBps > 0)
        fprintf(file, " %8.3f |", bytes / copy_GBps / 1e6);
    fprintf(file, "\n");
    return is_good;
}

bool traffic_print(FILE *file, double copy_GBps)
{
    uint32_t count = 0;
    bool is_good = true;
    const struct ronde_algorithm *const *all = ronde_algorithms(&count);
    fprintf(file,
            "| collective     | algorithm                |    n = 2 |    n = 4 |    n = 8 | "
            "least |     4 |     8 |%s\n",
            copy_GBps > 0 ? " ms, 1 GiB |" : "");
    fprintf(file, "|---|---|---|---|---|---|---|---|%s\n", copy_GBps > 0 ? "---|" : "");
    for (uint32_t a = 0; a < count && is_good; a++)
        if (traffic_least(all[a]->collective, 2, 1) > 0)
            is_good = print_row(file, all[a], copy_GBps);
    return is_good;
}
