/* Published calls as schedules: replayed on the links of their machines, and by the library's closed forms. See
 * published.h. */
#include "nccl/model/setting.h"

#include "ronde/nccl_node.h"
#include "ronde/published.h"
#include "ronde/schedules.h"
#include "ronde/setup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Published calls as schedules, replayed on the links of their machines. */

/** A replay that takes longer is left out. */
static const uint64_t patience_ns = UINT64_C(60000000000);

/** A machine and a schedule on it, kept while rows ask for the same. */
struct stage {
    const struct ronde_mem *mem;
    struct ronde_node_description node;
    struct ronde_compile_request request;
    struct ronde_platform *platform;
    struct ronde_candidate candidate; /**< its schedule on the platform */
    bool is_nvls;                     /**< its switches copy and add */
};

/**
 * The schedule that stands for an algorithm of NCCL; NULL = none. NVLS and NVLSTree are one: each GPU loads its part of all,
 * reduced by the switch, sends it through a tree of the nodes, and stores the result to all. Two GPUs have nothing to add up.
 */
static const char *schedule_of(enum ronde_nccl_algorithm algorithm)
{
    switch (algorithm) {
    case RONDE_NCCL_RING:
        return "ring";
    case RONDE_NCCL_TREE:
        return "nccl_tree";
    case RONDE_NCCL_NVLS:
    case RONDE_NCCL_NVLS_TREE:
        return "hierarchical_direct_tree";
    default:
        return NULL;
    }
}

static bool is_replayed(const struct ronde_published_row *row)
{
    const bool is_ring = row->choice.algorithm == RONDE_NCCL_RING;
    const enum ronde_collective collective = row->call.collective;
    return row->state <= RONDE_PUBLISHED_FITTED && row->choice.protocol == RONDE_NCCL_SIMPLE &&
           row->call.bytes >= RONDE_PUBLISHED_LEAST_REPLAYED_BYTES &&
           row->call.ranks <= RONDE_PUBLISHED_MOST_REPLAYED_RANKS && row->call.nodes > 0 &&
           row->call.ranks % row->call.nodes == 0 &&
           (collective == RONDE_ALL_REDUCE
                ? schedule_of(row->choice.algorithm) != NULL &&
                      (!ronde_nccl_is_nvls(row->choice.algorithm) ||
                       row->call.ranks / row->call.nodes > 2)
                : is_ring && (collective == RONDE_ALL_GATHER || collective == RONDE_REDUCE_SCATTER));
}

/** Whether two rows run the same schedule on the same machine; what NVLS reaches depends on the size. */
static bool is_one_schedule(const struct ronde_published_row *a, const struct ronde_published_row *b)
{
    return a->system == b->system && a->call.collective == b->call.collective &&
           a->call.ranks == b->call.ranks && a->call.nodes == b->call.nodes &&
           a->call.version == b->call.version && a->choice.algorithm == b->choice.algorithm &&
           (!ronde_nccl_is_nvls(a->choice.algorithm) || a->call.bytes == b->call.bytes);
}

/** As many copies of the node as the call has. */
static enum ronde_status open_platform(struct stage *stage, uint32_t nodes,
                                       struct ronde_error *error)
{
    const struct ronde_import_request request = {.nodes = nodes,
                                                 .fabric = RONDE_FABRIC_CROSSBAR,
                                                 .multicasts = stage->is_nvls};
    struct ronde_import *import = NULL;
    enum ronde_status status =
        ronde_import_describe(&stage->node, &request, stage->mem, &import, error);
    RONDE_THEN(status,
               ronde_import_platform(import, stage->node.name, stage->mem, &stage->platform, error));
    ronde_import_destroy(import);
    return status;
}

static enum ronde_status open_schedule(struct stage *stage, struct ronde_error *error)
{
    const struct ronde_setup setup = {.platform = stage->platform, .request = stage->request};
    return ronde_candidate_open(&setup, stage->mem, &stage->candidate, error);
}

static void close_stage(struct stage *stage)
{
    ronde_candidate_close(&stage->candidate, stage->mem);
    ronde_platform_destroy(stage->platform);
    *stage = (struct stage){.mem = stage->mem};
}

static enum ronde_status open_stage(struct stage *stage, const struct ronde_nccl_machine *machine,
                                    const struct ronde_nccl_constants *constants,
                                    const struct ronde_published_row *row, struct ronde_error *error)
{
    const enum ronde_nccl_algorithm algorithm = row->choice.algorithm;
    stage->is_nvls = ronde_nccl_is_nvls(algorithm);
    stage->node = ronde_nccl_reached_node(machine, constants, &row->call, algorithm);
    const uint32_t nodes = row->call.ranks / stage->node.gpus;
    stage->request =
        (struct ronde_compile_request){.collective = row->call.collective,
                                       .algorithm = schedule_of(algorithm),
                                       .ranks = row->call.ranks,
                                       .channels =
                                           ronde_nccl_rings(nodes, stage->node.gpus, stage->node.nics,
                                                            stage->node.link == RONDE_NODE_MESH)};
    if (algorithm != RONDE_NCCL_RING) {
        stage->request.shape_count = 2;
        stage->request.shape[0] = nodes;
        stage->request.shape[1] = stage->node.gpus;
    }
    RONDE_TRY(open_platform(stage, nodes, error));
    return open_schedule(stage, error);
}

/** Elements of a block: nccl-tests' size is that of all blocks of all_gather and reduce_scatter. */
static uint64_t count_of(const struct ronde_nccl_call *call)
{
    const uint64_t bytes =
        call->collective == RONDE_ALL_REDUCE ? call->bytes : call->bytes / call->ranks;
    return bytes / ronde_dtype_bytes(RONDE_FLOAT32);
}

/** Pieces of a GPU's part by NVLS: loading one, sending and storing others go on at once, as over NCCL's channels and chunks. */
static const uint64_t nvls_pieces = 64;

static uint64_t nvls_slot(const struct ronde_schedule *schedule, uint64_t count)
{
    const uint64_t block_bytes = count * ronde_dtype_bytes(RONDE_FLOAT32);
    return block_bytes / schedule->channel_count / schedule->chunks_per_block / nvls_pieces;
}

static enum ronde_status replay(const struct stage *stage, const struct ronde_nccl_call *call,
                                double *out_us, struct ronde_error *error)
{
    const struct ronde_tune_options options = {.dtype = RONDE_FLOAT32,
                                               .op = RONDE_SUM,
                                               .timeout_ns = patience_ns};
    struct ronde_forecast forecast =
        ronde_candidate_forecast(&stage->candidate, stage->platform, &options);
    struct ronde_prediction prediction;
    if (stage->is_nvls)
        forecast.slot_bytes = nvls_slot(stage->candidate.schedule, count_of(call));
    ronde_forecast_set_count(&forecast, count_of(call));
    const enum ronde_status status = ronde_forecast_replay(&forecast, "maxmin", &prediction, error);
    *out_us = status == RONDE_OK ? prediction.time_ns / 1e3 : 0;
    return status;
}

/** The same replay of a row before, or NULL. */
static const struct ronde_published_row *find_alike(const struct ronde_published *published,
                                                    size_t row)
{
    const struct ronde_published_row *self = &published->rows[row];
    for (size_t r = row; r-- > 0;)
        if (published->rows[r].call.bytes == self->call.bytes && is_replayed(&published->rows[r]) &&
            is_one_schedule(&published->rows[r], self))
            return &published->rows[r];
    return NULL;
}

enum ronde_status ronde_published_replay(struct ronde_published *published, uint32_t system,
                                         const struct ronde_nccl_constants *constants,
                                         struct ronde_error *error)
{
    const struct ronde_published_row *last = NULL;
    struct stage stage = {.mem = published->mem};
    enum ronde_status status = RONDE_OK;
    for (size_t r = 0; r < published->count && status == RONDE_OK; r++) {
        struct ronde_published_row *row = &published->rows[r];
        const struct ronde_published_row *alike = NULL;
        if (row->system != system || !is_replayed(row))
            continue;
        if ((alike = find_alike(published, r)) != NULL) {
            row->replayed_us = alike->replayed_us;
            continue;
        }
        /* Rows of one table follow each other by size: what was made for the last one is kept. */
        if (!stage.candidate.own || !is_one_schedule(row, last)) {
            close_stage(&stage);
            status = open_stage(&stage, &published->systems[system].machine, constants, row, error);
        }
        last = row;
        RONDE_THEN(status, replay(&stage, &row->call, &row->replayed_us, error));
        if (status == RONDE_TIMEOUT || status == RONDE_UNSUPPORTED)
            status = RONDE_OK;
    }
    close_stage(&stage);
    return status;
}

/* What the library's closed forms say of a published call: data sheets, a latency a hop, and no protocol. The
 * algorithm is the library's that moves what NCCL's does (ring; chain for broadcast and reduce; nccl_tree), on a
 * flat network whose ports have the rate of the slowest link on the way as its data sheet says: a GPU's links,
 * between nodes the NICs that its node's ranks use. Hops take NCCL's latencies of its low-latency protocol
 * (src/graph/tuning.cc: 0.6 us NVLink, 1 us PCIe, 2.7 us network). What the other columns are above it is protocol,
 * launch and efficiency. */

static const double nvlink_ns = 600, pcie_ns = 1000, network_ns = 2700;

/** Data that NCCL hands over at a time between the stages of a pipeline (Simple: a slot of 512 KiB). */
static const uint64_t piece_bytes = 524288;

static const char *algorithm_name(const struct ronde_nccl_call *call,
                                  struct ronde_nccl_choice choice)
{
    if (choice.algorithm >= RONDE_NCCL_POINT)
        return "direct";
    if (choice.algorithm == RONDE_NCCL_TREE)
        return "nccl_tree";
    if (choice.algorithm != RONDE_NCCL_RING)
        return NULL;
    return call->collective == RONDE_BROADCAST || call->collective == RONDE_REDUCE ? "chain"
                                                                                   : "ring";
}

static struct ronde_network network_of(const struct ronde_nccl_machine *machine,
                                       const struct ronde_nccl_call *call)
{
    /* Nodes that NVLink joins are one. */
    const uint32_t nodes = call->nodes <= machine->nvlink_nodes ? 1 : call->nodes;
    const uint32_t g = call->ranks / nodes;
    const bool has_nvlink =
        machine->link != RONDE_NODE_PCIE && !(machine->link == RONDE_NODE_PAIRS && g > 2);
    struct ronde_network network = {.latency_ns = has_nvlink ? nvlink_ns : pcie_ns,
                                    .port_GBps =
                                        has_nvlink ? machine->nvlink_GBps : machine->pcie_GBps};
    if (machine->link == RONDE_NODE_MESH && machine->gpus > 1 && g <= machine->gpus)
        network.port_GBps *= (g - 1.) / (machine->gpus - 1.);
    if (nodes > 1) {
        const double nics = fmax(1, floor((double)machine->nics * g / machine->gpus));
        const double between_GBps = nics * machine->nic_GBps;
        network.latency_ns = network_ns;
        network.port_GBps = g > 1 ? fmin(network.port_GBps, between_GBps) : between_GBps;
    }
    return network;
}

double ronde_published_closed_form_us(const struct ronde_nccl_machine *machine,
                                      const struct ronde_nccl_call *call,
                                      struct ronde_nccl_choice choice)
{
    struct ronde_error ignored = {0};
    const char *name = algorithm_name(call, choice);
    const struct ronde_algorithm *algorithm =
        name ? ronde_algorithm_find(call->collective, name, &ignored) : NULL;
    const struct ronde_compile_request request = {.collective = call->collective,
                                                  .algorithm = name,
                                                  .ranks = call->ranks,
                                                  .shape_count = 2,
                                                  .shape = {call->nodes, call->ranks / call->nodes}};
    const bool has_blocks =
        call->collective == RONDE_ALL_GATHER || call->collective == RONDE_REDUCE_SCATTER ||
        (choice.algorithm == RONDE_NCCL_POINT && call->collective != RONDE_SEND_RECV);
    const struct ronde_load load = {
        .count = has_blocks ? (call->bytes + call->ranks - 1) / call->ranks : call->bytes,
        .dtype = RONDE_UINT8,
        .slot_bytes = algorithm && algorithm->name[0] == 'r' ? 0 : piece_bytes};
    const struct ronde_network network = network_of(machine, call);
    if (!algorithm || call->ranks > RONDE_MAX_RANKS ||
        algorithm->supports(&request, &ignored) != RONDE_OK)
        return 0;
    return algorithm->price(&request, &load, &network).time_ns / 1e3;
}
