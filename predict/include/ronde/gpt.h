/**
 * Training steps of GPT-like models as workloads: for who has no trace to start from.
 *
 * Sizes follow Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM, SC 2021;
 * docs/guide/workloads.md has the formulas and what is left out.
 */
#ifndef RONDE_GPT_H
#define RONDE_GPT_H

#include "ronde/collective.h"
#include "ronde/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A model, a batch, and how both are divided. All counts are at least 1. */
struct ronde_gpt {
    uint32_t layers;        /**< transformer layers; a multiple of pp */
    uint32_t hidden;        /**< hidden size; a multiple of tp */
    uint32_t seq;           /**< tokens of a sequence */
    uint32_t batch;         /**< sequences of the whole step; a multiple of dp * micro */
    uint32_t vocab;         /**< words the last layer tells apart; 0 = no such layer */
    uint32_t tp;            /**< ranks that share each layer; neighbours */
    uint32_t dp;            /**< ranks with the same part of the model */
    uint32_t pp;            /**< stages of the pipeline */
    uint32_t micro;         /**< microbatches of each pipeline */
    enum ronde_dtype dtype; /**< of activations and gradients */
    double flops;           /**< operations a rank does in a second, while it computes */
    uint64_t bucket_bytes; /**< gradients are reduced in buckets of whole layers, at least so large */
    bool splits_sequence; /**< reduce_scatter and all_gather instead of each all_reduce of a layer */
    uint32_t heads;       /**< of attention; 0 = not said, and as many keys and values */
    uint32_t kv_heads;    /**< of keys and values (grouped-query attention); 0 = as many as heads */
    uint32_t ffn;         /**< size inside the MLP; 0 = 4 hidden */
    bool is_gated;        /**< the MLP has three matrices, one of them a gate (SwiGLU), else two */
};

/**
 * Sizes of a known model into those fields that still have their defaults: layers, hidden and the inside of layers where they
 * are 0, seq where it is RONDE_GPT_SEQ, vocab where it is RONDE_GPT_VOCAB. Errors: BAD_ARGUMENT naming the models.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_gpt_take_model(const char *name, struct ronde_gpt *gpt, struct ronde_error *error);

/** What is usual where nothing is said. */
#define RONDE_GPT_SEQ 2048u
#define RONDE_GPT_VOCAB 51200u

/**
 * Prints the step as a workload in ronde's own form, one pass of 1F1B over the pipeline. *out_text is zero-terminated, to be
 * freed with *out_bytes + 1. Errors: BAD_ARGUMENT for what does not divide; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_gpt_print(const struct ronde_gpt *gpt, const struct ronde_mem *mem, char **out_text,
                size_t *out_bytes, struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
