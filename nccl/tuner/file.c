/** The file of libnccl-tuner-ronde.so: the model's times of a whole machine. See nccl_tuner.h. */
#include "nccl/doctor/doctor_parts.h"
#include "nccl/model/setting.h"

#include "ronde/nccl_platform.h"
#include "ronde/nccl_tuner.h"

#include <inttypes.h>
#include <math.h>

/** Sizes: powers of two. */
static const uint64_t least_bytes = 8, most_bytes = UINT64_C(32) << 30;

/** What NCCL's tuner is asked for. */
static const enum ronde_collective collectives[] = {RONDE_ALL_REDUCE, RONDE_ALL_GATHER,
                                                    RONDE_REDUCE_SCATTER, RONDE_BROADCAST,
                                                    RONDE_REDUCE};

/**
 * How many times slower than another a choice has to be by the model so that it surely is: the high end of the other's band over
 * the low end of its own. Of 2,804 pairs of forced choices of systems that were left out of the fit 1,094 are so far apart, and one of them
 * was measured the other way round, by a tenth; of 900 points of EFA none (docs/guide/nccl-plugins.md).
 */
static double sure_of(const struct ronde_nccl_tuner_request *request,
                      const struct ronde_nccl_call *call)
{
    const struct ronde_nccl_band band = ronde_nccl_band_of(request->bands, request->machine, call);
    return band.high / band.low;
}

/** NVLS has no protocol but Simple. */
static bool has_column(struct ronde_nccl_choice choice)
{
    return choice.algorithm < RONDE_NCCL_NVLS || choice.protocol == RONDE_NCCL_SIMPLE;
}

static void print_head(const struct ronde_nccl_tuner_request *request, FILE *file)
{
    fprintf(
        file,
        "ronde-tuner 1\n"
        "# ronde %s: %s, communicators of up to %" PRIu32 " nodes of %" PRIu32 " GPUs\n"
        "# rows: collective, bytes, how many times slower a choice has to be so that it surely is, "
        "times by the model of NCCL (us)\n"
        "# NCCL_TUNER_PLUGIN=ronde RONDE_TUNER_FILE=this file, "
        "the same on all nodes\n"
        "columns",
        RONDE_VERSION, request->machine->name, request->nodes, request->machine->gpus);
    for (uint32_t c = 0; c < RONDE_NCCL_CHOICES; c++)
        if (has_column(ronde_nccl_choice_at(c)))
            fprintf(file, " %s/%s", ronde_nccl_algorithm_text(ronde_nccl_choice_at(c).algorithm),
                    ronde_nccl_protocol_text(ronde_nccl_choice_at(c).protocol));
    fputc('\n', file);
}

/** What NCCL's tables disable has a time, too: the plug-in sees what is possible where it runs. */
static void print_row(const struct ronde_nccl_tuner_request *request,
                      const struct ronde_nccl_machine *machine, const struct ronde_nccl_call *call,
                      FILE *file)
{
    fprintf(file, "%s %" PRIu64 " %.3f", ronde_collective_text(call->collective), call->bytes,
            sure_of(request, call));
    for (uint32_t c = 0; c < RONDE_NCCL_CHOICES; c++) {
        const struct ronde_nccl_choice choice = ronde_nccl_choice_at(c);
        double us = INFINITY;
        if (!has_column(choice))
            continue;
        if (isfinite(ronde_nccl_tuner_us(request->constants, machine, call, choice, true)))
            us = ronde_nccl_execution_us(request->constants, machine, call, choice);
        if (isfinite(us) && us > 0)
            fprintf(file, " %.3f", us);
        else
            fputs(" -", file);
    }
    fputc('\n', file);
}

static enum ronde_status print_shape(const struct ronde_nccl_tuner_request *request, uint32_t nodes,
                                     uint32_t gpus, FILE *file, struct ronde_error *error)
{
    struct ronde_nccl_machine machine = *request->machine;
    struct ronde_nccl_limit limits[RONDE_NCCL_LIMITS];
    fprintf(file, "shape %" PRIu32 " %" PRIu32 "\n", nodes, nodes * gpus);
    for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; i++) {
        struct ronde_nccl_call call = {.collective = collectives[i],
                                       .ranks = nodes * gpus,
                                       .nodes = nodes,
                                       .bytes = least_bytes};
        RONDE_TRY(ronde_nccl_call_check(request->machine, &call, error));
        if (request->platform) {
            machine.limits = limits;
            RONDE_TRY(ronde_nccl_limits_find(request->platform, request->machine, &call, NULL,
                                             ronde_mem_default(), limits, error));
        }
        for (; call.bytes <= most_bytes; call.bytes *= 2)
            print_row(request, &machine, &call, file);
    }
    return RONDE_OK;
}

/** The next number of nodes: one more up to 8 and inside a rack that NVLink joins, then four steps to a doubling. */
static uint32_t next_nodes(const struct ronde_nccl_tuner_request *request, uint32_t nodes)
{
    uint32_t step = 1;
    if (nodes >= 8 && nodes >= request->machine->nvlink_nodes)
        while (step * 8 <= nodes)
            step *= 2;
    const uint32_t next = nodes / step * step + step;
    return nodes < request->nodes && next > request->nodes ? request->nodes : next;
}

enum ronde_status ronde_nccl_tuner_file_write(const struct ronde_nccl_tuner_request *request,
                                              FILE *file, struct ronde_error *error)
{
    if (request->nodes < 1 || request->nodes > RONDE_NCCL_TUNER_MAX_NODES)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "a tuner's file is of 1 to %u nodes, not %" PRIu32,
                          RONDE_NCCL_TUNER_MAX_NODES, request->nodes);
    print_head(request, file);
    for (uint32_t gpus = 1; gpus <= request->machine->gpus; gpus++)
        for (uint32_t nodes = 1; nodes <= request->nodes; nodes = next_nodes(request, nodes))
            if (nodes * gpus > 1)
                RONDE_TRY(print_shape(request, nodes, gpus, file, error));
    fputs("end\n", file);
    return ferror(file) ? ronde_fail(error, RONDE_DEVICE, "the tuner's file cannot be written")
                        : RONDE_OK;
}
