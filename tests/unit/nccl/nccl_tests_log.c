#include "nccl_tests_log.h"

#include "support/buffers.h"

#include "ronde/published.h"

#include <inttypes.h>
#include <stdio.h>

static void write_half(FILE *file, const struct ronde_nccl_call *call, double us)
{
    const double rate_GBps = (double)call->bytes / us / 1e3;
    fprintf(file, "  %7.2f  %6.2f  %6.2f  %6d", us, rate_GBps,
            rate_GBps * ronde_collective_bus_factor(call->collective, call->ranks), 0);
}

bool nccl_tests_log_write(const char *path, const struct log_of *log)
{
    struct ronde_nccl_constants constants;
    struct ronde_nccl_choice wish = {RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT}, choice;
    uint64_t random = 7;
    FILE *file = fopen(path, "w");
    if (!file || ronde_nccl_constants_read(NULL, &constants, NULL) != RONDE_OK)
        return false;
    fprintf(file, "# Collective test starting: %s\n", log->test ? log->test : "all_reduce_perf");
    for (uint32_t r = 0; r < log->ranks; r++)
        fprintf(file, "#  Rank %2u Group  0 Pid  %u on node%u device %2u [0x1b] GPU\n", r, 100 + r,
                r / (log->ranks / log->nodes), r % (log->ranks / log->nodes));
    fprintf(file,
            "%s#       size         count      type   redop    root     time   algbw   busbw "
            "#wrong     time   algbw   busbw #wrong\n",
            log->above);
    struct ronde_nccl_call call = {log->test ? log->collective : RONDE_ALL_REDUCE, log->ranks,
                                   log->nodes, 0, 1024};
    for (bool is_odd = false; call.bytes <= log->most_bytes; call.bytes *= 4, is_odd = !is_odd) {
        fprintf(file, "%12" PRIu64 "  %12" PRIu64 "  %8s  %6s  %6d", call.bytes, call.bytes / 4,
                "float", log->test ? "none" : "sum", -1);
        for (int half = 0; half < 2; half++) {
            const double noise = .96 + .08 * (double)(buffers_draw(&random) % 1000) / 1000;
            (void)ronde_nccl_choose(&constants, log->machine, &call, wish, &choice);
            const double us =
                ronde_nccl_execution_us(&constants, log->machine, &call, choice) + log->late_us;
            write_half(file, &call, us * noise * (is_odd ? log->alternation : 1));
        }
        fputc('\n', file);
    }
    fputs("# Out of bounds values : 0 OK\n", file);
    return fclose(file) == 0;
}
