/*
 * Sizes of known models. Sources: T. Brown et al., Language Models are Few-Shot Learners, 2020, table 2.1; H. Touvron et al.,
 * Llama 2: Open Foundation and Fine-Tuned Chat Models, 2023, table 1, and the models' config.json; A. Grattafiori et al., The
 * Llama 3 Herd of Models, 2024, table 3.
 */
#include "ronde/gpt.h"

#include <stdio.h>
#include <string.h>

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
