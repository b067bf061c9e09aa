/*
 * The CSV of NCCL's example tuner plugin (plugins/tuner/example of NVIDIA/nccl). See nccl_tuner_csv.h.
 *
 * Two traits of the plugin decide what is written. It answers 1 channel where no row matches and where a row has -1, so rows
 * cover all sizes and have a number. And it cannot switch on what NCCL's own tables disable, so only what NCCL would
 * consider by itself is a candidate, unlike in `plan --style nccl`.
 */
#include "nccl_tuner_csv.h"

#include <inttypes.h>
#include <math.h>

/* The plugin's names, by enum ronde_nccl_algorithm and enum ronde_nccl_protocol. */
static const char *const algorithms[RONDE_NCCL_ALGORITHM_COUNT] = {"ring", "tree", "nvls",
                                                                   "nvls_tree"};
static const char *const protocols[RONDE_NCCL_PROTOCOL_COUNT] = {"ll", "ll128", "simple"};

/* NVLS has fewer channels than the rings, on every GPU that has it at least so many. */
#define NVLS_CHANNELS 16u

/* The plugin's word; NULL where it takes anything else for allreduce. */
static const char *word_of(enum ronde_collective collective)
{
    switch (collective) {
    case RONDE_ALL_REDUCE:
        return "allreduce";
    case RONDE_ALL_GATHER:
        return "allgather";
    case RONDE_REDUCE_SCATTER:
        return "reducescatter";
    case RONDE_BROADCAST:
        return "broadcast";
    case RONDE_REDUCE:
        return "reduce";
    default:
        return NULL;
    }
}

/* By execution, among what NCCL's tables do not disable. */
static struct ronde_nccl_choice fastest(const struct ronde_tuner_csv *csv,
                                        struct ronde_nccl_call call, uint64_t bytes)
{
    struct ronde_nccl_choice best = {RONDE_NCCL_RING, RONDE_NCCL_SIMPLE};
    double best_us = INFINITY;
    call.bytes = bytes;
    for (unsigned a = 0; a < RONDE_NCCL_ALGORITHM_COUNT; a++)
        for (unsigned p = 0; p < RONDE_NCCL_PROTOCOL_COUNT; p++) {
            const struct ronde_nccl_choice choice = {(enum ronde_nccl_algorithm)a,
                                                     (enum ronde_nccl_protocol)p};
            if (!isfinite(ronde_nccl_tuner_us(csv->constants, csv->machine, &call, choice, false)))
                continue;
            const double us = ronde_nccl_execution_us(csv->constants, csv->machine, &call, choice);
            if (us < best_us) {
                best_us = us;
                best = choice;
            }
        }
    return best;
}

static bool is_same(struct ronde_nccl_choice a, struct ronde_nccl_choice b)
{
    return a.algorithm == b.algorithm && a.protocol == b.protocol;
}

/* The last size from which it is still `below`: `low` is, `high` is not. */
static uint64_t last_of(const struct ronde_tuner_csv *csv, const struct ronde_nccl_call *call,
                        struct ronde_nccl_choice below, uint64_t low, uint64_t high)
{
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (is_same(fastest(csv, *call, middle), below))
            low = middle;
        else
            high = middle;
    }
    return low;
}

static uint32_t channels_of(const struct ronde_tuner_csv *csv, const struct ronde_nccl_call *call,
                            struct ronde_nccl_choice choice)
{
    const uint32_t found = ronde_nccl_channels(csv->constants, csv->machine, call);
    const bool is_nvls =
        choice.algorithm == RONDE_NCCL_NVLS || choice.algorithm == RONDE_NCCL_NVLS_TREE;
    if (csv->options->channels > 0)
        return csv->options->channels;
    return is_nvls && found > NVLS_CHANNELS ? NVLS_CHANNELS : found;
}

static void print_row(const struct ronde_tuner_csv *csv, const struct ronde_nccl_call *call,
                      struct ronde_nccl_choice choice, uint64_t first, uint64_t last, FILE *file)
{
    fprintf(file, "%s,%" PRIu64 ",%" PRIu64 ",%s,%s,%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",-1,-1\n",
            word_of(call->collective), first, last, algorithms[choice.algorithm],
            protocols[choice.protocol], channels_of(csv, call, choice), call->nodes, call->ranks);
}

void ronde_tuner_csv_head(const struct ronde_tuner_csv *csv, FILE *file)
{
    fprintf(file,
            "# ronde %s: what is fastest on %s by the model of NCCL, for NCCL's example tuner "
            "plugin:\n"
            "# NCCL_TUNER_PLUGIN=libnccl-tuner-example.so NCCL_TUNER_CONFIG_FILE=this file\n"
            "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,"
            "numPipeOps,regBuff\n",
            RONDE_VERSION, csv->machine->name);
}

enum ronde_status ronde_tuner_csv_rows(const struct ronde_tuner_csv *csv,
                                       struct ronde_nccl_call call, FILE *file,
                                       struct ronde_error *error)
{
    if (!word_of(call.collective))
        return ronde_fail(error, RONDE_UNSUPPORTED, "NCCL's tuner plugin does not choose for %s",
                          ronde_collective_text(call.collective));
    uint64_t bytes = csv->options->min_bytes, first = 0;
    call.bytes = bytes;
    const enum ronde_status status = ronde_nccl_call_check(csv->machine, &call, error);
    if (status != RONDE_OK)
        return status;
    struct ronde_nccl_choice choice = fastest(csv, call, bytes);
    for (uint64_t next = ronde_options_next_size(csv->options, bytes); next != 0;
         next = ronde_options_next_size(csv->options, bytes)) {
        const struct ronde_nccl_choice other = fastest(csv, call, next);
        if (!is_same(choice, other)) {
            const uint64_t last = last_of(csv, &call, choice, bytes, next);
            print_row(csv, &call, choice, first, last, file);
            first = last + 1;
            choice = other;
        }
        bytes = next;
    }
    print_row(csv, &call, choice, first, UINT64_MAX, file);
    return RONDE_OK;
}
