/*
 * A step of a GPT-like model. Formulas: D. Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters
 * Using Megatron-LM, SC 2021, section 5.1 and appendix: a layer's matrix products take 24 b s h^2 + 4 b s^2 h operations
 * forwards (8 b s h^2 + 4 b s^2 h in attention, 16 b s h^2 in the MLP), twice that backwards; the last layer 2 b s h V; a
 * layer has 12 h^2 + 13 h parameters. Section 2.3: two all_reduces of b s h elements a layer, forwards and backwards.
 * Section 2.2: one forward, one backward (1F1B). V. Korthikanti et al., Reducing Activation Recomputation in Large Transformer
 * Models, 2022, section 4.2.2: the same as reduce_scatter and all_gather.
 */
#include "engine/text/out.h"

#include "ronde/gpt.h"
#include "ronde/limits.h"
#include "ronde/workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Room for the name of an item. */
#define NAME_BYTES 48

/* What is being printed: one stage. */
struct stage {
    const struct ronde_gpt *gpt;
    struct ronde_text_out *out;
    uint32_t index;
    uint32_t layers;           /* of a stage */
    double sequences;          /* of a microbatch */
    uint64_t activation_bytes; /* of a microbatch between two layers */
    char last[NAME_BYTES];     /* item that the next one follows, or "" */
};

static enum ronde_status check(const struct ronde_gpt *gpt, struct ronde_error *error)
{
    if (gpt->layers == 0 || gpt->hidden == 0 || gpt->seq == 0 || gpt->batch == 0 || gpt->tp == 0 ||
        gpt->dp == 0 || gpt->pp == 0 || gpt->micro == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "layers, hidden, seq, batch, tp, dp, pp and micro are at least 1");
    if ((uint64_t)gpt->tp * gpt->dp > RONDE_WORKLOAD_RANKS ||
        (uint64_t)gpt->tp * gpt->dp * gpt->pp > RONDE_WORKLOAD_RANKS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "tp %u x dp %u x pp %u: more than %u ranks",
                          gpt->tp, gpt->dp, gpt->pp, RONDE_WORKLOAD_RANKS);
    if (gpt->layers % gpt->pp != 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%u layers do not divide into %u stages",
                          gpt->layers, gpt->pp);
    if (gpt->hidden % gpt->tp != 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "a hidden size of %u does not divide by tp %u",
                          gpt->hidden, gpt->tp);
    if (gpt->batch % ((uint64_t)gpt->dp * gpt->micro) != 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "a batch of %u sequences does not divide into dp %u x %u microbatches",
                          gpt->batch, gpt->dp, gpt->micro);
    if (!(gpt->flops > 0))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "a rank does %g operations a second",
                          gpt->flops);
    /* A layer is two calculations each way, and where ranks share it two all_reduces more. */
    const uint64_t lines = gpt->tp > 1 ? 8 : 4, layers = (uint64_t)gpt->layers * gpt->micro;
    return ronde_limit_check(RONDE_LIMIT_LINES,
                             layers > UINT64_MAX / lines ? UINT64_MAX : layers * lines, error);
}

static double element_bytes(const struct ronde_gpt *gpt)
{
    return ronde_dtype_bytes(gpt->dtype);
}

/* Ends an item's line: behind what it comes, which the next one then comes behind. */
static void follow(struct stage *stage, const char *name)
{
    if (stage->last[0])
        ronde_text_put(stage->out, " after %s", stage->last);
    ronde_text_put(stage->out, "\n");
    (void)snprintf(stage->last, sizeof stage->last, "%s", name);
}

/* A calculation of all ranks that share the layer. */
static void compute(struct stage *stage, const char *name, double operations)
{
    const double ns = operations / stage->gpt->tp / stage->gpt->flops * 1e9;
    ronde_text_put(stage->out, "  %s compute %.0fns", name, ns);
    follow(stage, name);
}

/* What the ranks of a layer exchange before (all_gather) and behind (reduce_scatter) a calculation, or behind it alone. */
static void exchange(struct stage *stage, const char *name, const char *collective)
{
    if (stage->gpt->tp == 1)
        return;
    ronde_text_put(stage->out, "  %s %s tp %" PRIu64, name, collective, stage->activation_bytes);
    follow(stage, name);
}

/* Half a layer: its exchange, its calculation. `pass` is f or b. */
static void half_layer(struct stage *stage, char pass, uint32_t micro, uint32_t layer,
                       const char *half, double operations)
{
    char name[NAME_BYTES];
    const bool splits = stage->gpt->splits_sequence;
    (void)snprintf(name, sizeof name, "%c%u.l%u.%s.gather", pass, micro, layer, half);
    if (splits)
        exchange(stage, name, "all_gather");
    (void)snprintf(name, sizeof name, "%c%u.l%u.%s", pass, micro, layer, half);
    compute(stage, name, operations);
    (void)snprintf(name, sizeof name, "%c%u.l%u.%s.%s", pass, micro, layer, half,
                   splits ? "scatter" : "reduce");
    exchange(stage, name, splits ? "reduce_scatter" : "all_reduce");
}

/* Parameters in the matrices of a layer's halves: queries, keys, values and output; two or three of the MLP. */
static double attention_matrices(const struct ronde_gpt *gpt)
{
    const double h = gpt->hidden;
    const double shared =
        gpt->heads > 0 && gpt->kv_heads > 0 ? (double)gpt->kv_heads / gpt->heads : 1;
    return 2 * h * h + 2 * h * h * shared;
}

static double mlp_matrices(const struct ronde_gpt *gpt)
{
    const double h = gpt->hidden, inside = gpt->ffn > 0 ? gpt->ffn : 4 * h;
    return (gpt->is_gated ? 3 : 2) * h * inside;
}

/* Of a layer; biases and norms with it: models with a gate have two norms and no biases. */
static double layer_parameters(const struct ronde_gpt *gpt)
{
    return attention_matrices(gpt) + mlp_matrices(gpt) + (gpt->is_gated ? 2. : 13.) * gpt->hidden;
}

/* Operations of the two halves forwards, and of the layer that tells words apart: two a parameter and token. */
static double attention(const struct stage *stage)
{
    const double b = stage->sequences, s = stage->gpt->seq, h = stage->gpt->hidden;
    return 2 * b * s * attention_matrices(stage->gpt) + 4 * b * s * s * h;
}

static double mlp(const struct stage *stage)
{
    const double b = stage->sequences, s = stage->gpt->seq;
    return 2 * b * s * mlp_matrices(stage->gpt);
}

static double logits(const struct stage *stage)
{
    const double b = stage->sequences, s = stage->gpt->seq, h = stage->gpt->hidden;
    return 2 * b * s * h * stage->gpt->vocab;
}

/* A message to or from the neighbour; `tag` tells passes and microbatches apart. A send holds nothing up. */
static void receive(struct stage *stage, char pass, uint32_t micro, int64_t distance)
{
    char name[sizeof "b4294967295.recv"];
    const uint64_t bytes = stage->gpt->splits_sequence ? stage->activation_bytes / stage->gpt->tp
                                                       : stage->activation_bytes;
    (void)snprintf(name, sizeof name, "%c%u.recv", pass, micro);
    ronde_text_put(stage->out, "  %s recv %" PRIu64 " from %+" PRId64 " tag %u\n", name, bytes,
                   distance, 2 * micro + (pass == 'b'));
    /* What comes next comes behind both. */
    const size_t used = strlen(stage->last);
    (void)snprintf(stage->last + used, sizeof stage->last - used, "%s%s", used > 0 ? " " : "", name);
}

static void send(struct stage *stage, char pass, uint32_t micro, int64_t distance)
{
    const uint64_t bytes = stage->gpt->splits_sequence ? stage->activation_bytes / stage->gpt->tp
                                                       : stage->activation_bytes;
    ronde_text_put(stage->out, "  %c%u.send send %" PRIu64 " to %+" PRId64 " tag %u after %s\n",
                   pass, micro, bytes, distance, 2 * micro + (pass == 'b'), stage->last);
}

static void forward(struct stage *stage, uint32_t micro)
{
    const struct ronde_gpt *gpt = stage->gpt;
    const int64_t next = (int64_t)gpt->tp * gpt->dp;
    const uint32_t first = stage->index * stage->layers;
    char name[NAME_BYTES];
    if (stage->index > 0)
        receive(stage, 'f', micro, -next);
    for (uint32_t layer = first; layer < first + stage->layers; layer++) {
        half_layer(stage, 'f', micro, layer, "attn", attention(stage));
        half_layer(stage, 'f', micro, layer, "mlp", mlp(stage));
    }
    if (stage->index + 1 < gpt->pp) {
        send(stage, 'f', micro, next);
    } else if (gpt->vocab > 0) {
        (void)snprintf(name, sizeof name, "f%u.logits", micro);
        compute(stage, name, logits(stage));
    }
}

/* Gradients of so many parameters, reduced over the ranks that have them too; nothing waits for that. */
static void reduce_gradients(struct stage *stage, const char *name, double parameters)
{
    const double bytes = parameters / stage->gpt->tp * element_bytes(stage->gpt);
    ronde_text_put(stage->out, "  %s all_reduce dp %.0f after %s\n", name, bytes, stage->last);
}

/* The gradients of a layer of the last microbatch are final; whole layers make up a bucket. */
static void end_layer(struct stage *stage, uint32_t layer, uint32_t *bucket_layers)
{
    const double parameters = layer_parameters(stage->gpt);
    const double layer_bytes = parameters / stage->gpt->tp * element_bytes(stage->gpt);
    char name[NAME_BYTES];
    ++*bucket_layers;
    if (*bucket_layers * layer_bytes < (double)stage->gpt->bucket_bytes &&
        layer > stage->index * stage->layers)
        return;
    (void)snprintf(name, sizeof name, "grads.l%u", layer);
    reduce_gradients(stage, name, *bucket_layers * parameters);
    *bucket_layers = 0;
}

static void backward(struct stage *stage, uint32_t micro)
{
    const struct ronde_gpt *gpt = stage->gpt;
    const int64_t next = (int64_t)gpt->tp * gpt->dp;
    const uint32_t first = stage->index * stage->layers;
    const bool is_final = micro + 1 == gpt->micro && gpt->dp > 1;
    const bool is_first = stage->index == 0, is_last = stage->index + 1 == gpt->pp;
    const double words = (double)gpt->vocab * gpt->hidden;
    uint32_t bucket_layers = 0;
    char name[NAME_BYTES];
    if (!is_last)
        receive(stage, 'b', micro, next);
    if (is_last && gpt->vocab > 0) {
        (void)snprintf(name, sizeof name, "b%u.logits", micro);
        compute(stage, name, 2 * logits(stage));
        /* Where the first stage is another, the last has its own copy of the words; models with a gate share none. */
        if (is_final && (!is_first || gpt->is_gated))
            reduce_gradients(stage, "grads.logits", words);
    }
    for (uint32_t layer = first + stage->layers; layer-- > first;) {
        half_layer(stage, 'b', micro, layer, "mlp", 2 * mlp(stage));
        half_layer(stage, 'b', micro, layer, "attn", 2 * attention(stage));
        if (is_final)
            end_layer(stage, layer, &bucket_layers);
    }
    if (!is_first)
        send(stage, 'b', micro, -next);
    else if (is_final && gpt->vocab > 0)
        reduce_gradients(stage, "grads.words",
                         words + (gpt->is_gated ? 0 : (double)gpt->seq * gpt->hidden));
}

/* One forward, one backward, once the stages behind have something to do. */
static void print_stage(struct stage *stage)
{
    const struct ronde_gpt *gpt = stage->gpt;
    const uint32_t ranks = gpt->tp * gpt->dp, behind = gpt->pp - 1 - stage->index;
    const uint32_t ahead = behind < gpt->micro ? behind : gpt->micro;
    stage->last[0] = '\0';
    ronde_text_put(stage->out, "\non %" PRIu32 "-%" PRIu32 "\n", stage->index * ranks,
                   (stage->index + 1) * ranks - 1);
    for (uint32_t m = 0; m < ahead; m++)
        forward(stage, m);
    for (uint32_t m = 0; m < gpt->micro; m++) {
        if (m + ahead < gpt->micro)
            forward(stage, m + ahead);
        backward(stage, m);
    }
}

/* Groups of neighbours, and of ranks so far apart. */
static void print_groups(struct ronde_text_out *out, const struct ronde_gpt *gpt)
{
    const uint32_t ranks = gpt->tp * gpt->dp * gpt->pp;
    if (gpt->tp > 1) {
        ronde_text_put(out, "groups tp");
        for (uint32_t first = 0; first < ranks; first += gpt->tp)
            ronde_text_put(out, " %" PRIu32 "-%" PRIu32, first, first + gpt->tp - 1);
        ronde_text_put(out, "\n");
    }
    if (gpt->dp == 1)
        return;
    ronde_text_put(out, "groups dp");
    for (uint32_t stage = 0; stage < ranks; stage += gpt->tp * gpt->dp)
        for (uint32_t t = 0; t < gpt->tp; t++)
            ronde_text_put(out, " %" PRIu32 "-%" PRIu32 ":%" PRIu32, stage + t,
                           stage + t + (gpt->dp - 1) * gpt->tp, gpt->tp);
    ronde_text_put(out, "\n");
}

/* What a layer has that GPT's has not. */
static void print_inside(struct ronde_text_out *out, const struct ronde_gpt *gpt)
{
    if (gpt->kv_heads > 0 && gpt->kv_heads < gpt->heads)
        ronde_text_put(
            out, "# grouped-query attention (GQA): %u heads of queries, %u of keys and values\n",
            gpt->heads, gpt->kv_heads);
    if (gpt->is_gated)
        ronde_text_put(out, "# gated MLP (SwiGLU): three matrices of %u x %u\n", gpt->hidden,
                       gpt->ffn);
}

static void print_head(struct ronde_text_out *out, const struct ronde_gpt *gpt)
{
    const double h = gpt->hidden, l = gpt->layers, s = gpt->seq, v = gpt->vocab, b = gpt->batch;
    const double positions = gpt->is_gated ? v : s; /* else the last layer has words of its own */
    const double parameters = l * layer_parameters(gpt) + (v + positions) * h;
    const double matrices = attention_matrices(gpt) + mlp_matrices(gpt);
    const double operations = 6 * b * s * (l * (matrices + 2 * s * h) + v * h);
    ronde_text_put(out, "ronde-workload 1\nranks %" PRIu32 "\n", gpt->tp * gpt->dp * gpt->pp);
    ronde_text_put(out,
                   "# GPT: %u layers of %u, %u tokens a sequence, %u sequences in %u microbatches, "
                   "%u words; %s\n",
                   gpt->layers, gpt->hidden, gpt->seq, gpt->batch, gpt->micro, gpt->vocab,
                   ronde_dtype_text(gpt->dtype));
    print_inside(out, gpt);
    ronde_text_put(out, "# tp %u, dp %u, pp %u; rank = (stage * dp + replica) * tp + part\n",
                   gpt->tp, gpt->dp, gpt->pp);
    ronde_text_put(out, "# %.4g parameters, %.4g operations a step, %.4g a second and rank\n",
                   parameters, operations, gpt->flops);
}

enum ronde_status ronde_gpt_print(const struct ronde_gpt *gpt, const struct ronde_mem *mem,
                                  char **out_text, size_t *out_bytes, struct ronde_error *error)
{
    struct ronde_text_out out = {.mem = mem};
    *out_text = NULL;
    RONDE_TRY(check(gpt, error));
    struct stage stage = {.gpt = gpt, .out = &out, .layers = gpt->layers / gpt->pp};
    stage.sequences = gpt->batch / ((double)gpt->dp * gpt->micro);
    stage.activation_bytes =
        (uint64_t)(stage.sequences * gpt->seq * gpt->hidden * element_bytes(gpt));
    print_head(&out, gpt);
    print_groups(&out, gpt);
    for (stage.index = 0; stage.index < gpt->pp; stage.index++)
        print_stage(&stage);
    return ronde_text_finish(&out, out_text, out_bytes, error);
}

/* Sizes of known models. Sources: T. Brown et al., Language Models are Few-Shot Learners, 2020, table 2.1; H.
 * Touvron et al., Llama 2: Open Foundation and Fine-Tuned Chat Models, 2023, table 1, and the models' config.json;
 * A. Grattafiori et al., The Llama 3 Herd of Models, 2024, table 3. */

static const struct model {
    const char *names[2]; /* the second, or NULL, is short for the first */
    uint32_t layers, hidden, heads, kv_heads, ffn, vocab, seq;
    bool is_gated;
} models[] = {
    {{"gpt3-175b", "175b"}, 96, 12288, 96, 96, 49152, 50257, 2048, false},
    {{"llama2-7b", "7b"}, 32, 4096, 32, 32, 11008, 32000, 4096, true},
    {{"llama2-13b", "13b"}, 40, 5120, 40, 40, 13824, 32000, 4096, true},
    {{"llama2-70b", NULL}, 80, 8192, 64, 8, 28672, 32000, 4096, true},
    {{"llama3-8b", "8b"}, 32, 4096, 32, 8, 14336, 128256, 8192, true},
    {{"llama3-70b", "70b"}, 80, 8192, 64, 8, 28672, 128256, 8192, true},
    {{"llama3-405b", "405b"}, 126, 16384, 128, 8, 53248, 128256, 8192, true},
};

static enum ronde_status fail_model(const char *name, struct ronde_error *error)
{
    char list[256] = "";
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        const size_t used = strlen(list);
        const char *other = models[i].names[1];
        snprintf(list + used, sizeof list - used, "%s%s%s%s%s", i > 0 ? ", " : "",
                 models[i].names[0], other ? " (" : "", other ? other : "", other ? ")" : "");
    }
    return ronde_fail(error, RONDE_BAD_ARGUMENT, "unknown model \"%.40s\"; there are %s", name,
                      list);
}

static void take(uint32_t *field, uint32_t unsaid, uint32_t value)
{
    if (*field == unsaid)
        *field = value;
}

enum ronde_status ronde_gpt_take_model(const char *name, struct ronde_gpt *gpt,
                                       struct ronde_error *error)
{
    const struct model *model = NULL;
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        for (int n = 0; n < 2; n++)
            if (models[i].names[n] && strcmp(models[i].names[n], name) == 0)
                model = &models[i];
    if (!model)
        return fail_model(name, error);
    take(&gpt->layers, 0, model->layers);
    take(&gpt->hidden, 0, model->hidden);
    take(&gpt->heads, 0, model->heads);
    take(&gpt->kv_heads, 0, model->kv_heads);
    take(&gpt->ffn, 0, model->ffn);
    take(&gpt->vocab, RONDE_GPT_VOCAB, model->vocab);
    take(&gpt->seq, RONDE_GPT_SEQ, model->seq);
    gpt->is_gated = model->is_gated;
    return RONDE_OK;
}
