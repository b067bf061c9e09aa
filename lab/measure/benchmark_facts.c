/* What a benchmark is of: whether it is the specification itself, and which placements there are. */
#include "ronde/benchmark.h"

bool ronde_benchmark_is_specification(const struct ronde_benchmark *benchmark)
{
    return benchmark->target->backend == &ronde_backend_host;
}

bool ronde_benchmark_has_placement(const struct ronde_benchmark *benchmark, bool in_place)
{
    return ronde_schedule_has_form(benchmark->schedule, in_place);
}
