/** The model's constants from their files. See nccl_model.h. */
#include "words.h"

#include "ronde/data_files.h"

#include <stdio.h>
#include <string.h>

static const char *const common_names[] = {
#define RONDE_NCCL_TEXT(name) #name,
    RONDE_NCCL_COMMON_LIST(RONDE_NCCL_TEXT)};

static const char *const generation_names[] = {RONDE_NCCL_GENERATION_LIST(RONDE_NCCL_TEXT)
#undef RONDE_NCCL_TEXT
};

/** A file that is read: names of its constants, and where they go. */
struct reading {
    const char *const *names;
    uint32_t count;
    struct ronde_nccl_constant *to;
};

/** "name value", or "name value start S" for one that a fit may change. */
static enum ronde_status take(void *self, const struct ronde_nccl_words *words,
                              struct ronde_error *error)
{
    const struct reading *reading = self;
    for (uint32_t i = 0; i < reading->count; i++) {
        if (strcmp(words->word[0], reading->names[i]) != 0)
            continue;
        struct ronde_nccl_constant *to = &reading->to[i];
        if (to->value > 0)
            return ronde_nccl_words_refuse(words, error, "is there twice");
        const bool is_fitted = words->count == 4 && strcmp(words->word[2], "start") == 0;
        if (words->count != 2 && !is_fitted)
            return ronde_nccl_words_refuse(words, error, "is to be VALUE or VALUE start VALUE");
        const enum ronde_status status =
            ronde_nccl_words_number(words, 1, 1e-6, 1e6, &to->value, error);
        return status == RONDE_OK && is_fitted
                   ? ronde_nccl_words_number(words, 3, 1e-6, 1e6, &to->start, error)
                   : status;
    }
    return ronde_nccl_words_refuse(words, error, "no such constant");
}

static enum ronde_status read_file(const char *folder, const char *name,
                                   const struct reading *reading, struct ronde_error *error)
{
    char path[RONDE_PATH_BYTES];
    if (snprintf(path, sizeof path, "%s/%s.txt", folder, name) >= (int)sizeof path)
        return ronde_fail(error, RONDE_IO, "%.200s: path is too long", folder);
    struct reading copy = *reading;
    const enum ronde_status status = ronde_nccl_words_read(path, take, &copy, error);
    for (uint32_t i = 0; status == RONDE_OK && i < reading->count; i++)
        if (!(reading->to[i].value > 0))
            return ronde_fail(error, RONDE_BAD_INPUT, "%s: no line says %s", path,
                              reading->names[i]);
    return status;
}

bool ronde_nccl_shipped_folder(char *out_path, size_t bytes)
{
    for (unsigned p = 0; p < RONDE_DATA_PLACE_COUNT; p++)
        if (ronde_data_folder(RONDE_DATA_NCCL, (enum ronde_data_place)p, out_path, bytes))
            return true;
    return false;
}

enum ronde_status ronde_nccl_constants_read(const char *folder, struct ronde_nccl_constants *out,
                                            struct ronde_error *error)
{
    char shipped[RONDE_PATH_BYTES];
    *out = (struct ronde_nccl_constants){.inside = 1, .between = 1, .links = 1, .nics = 1};
    if (!folder && !ronde_nccl_shipped_folder(shipped, sizeof shipped))
        return ronde_fail(error, RONDE_IO,
                          "the constants of NCCL's model (share/ronde/nccl) are not found");
    const char *from = folder ? folder : shipped;
    const struct reading common = {common_names, RONDE_NCCL_COMMON_COUNT, out->all};
    enum ronde_status status = read_file(from, "common", &common, error);
    for (unsigned g = 0; status == RONDE_OK && g < RONDE_NCCL_GENERATION_COUNT; g++) {
        const struct reading generation = {generation_names, RONDE_NCCL_OF_GENERATION_COUNT,
                                           out->all + RONDE_NCCL_COMMON_COUNT +
                                               (size_t)g * RONDE_NCCL_OF_GENERATION_COUNT};
        status = read_file(from, ronde_nccl_generations[g], &generation, error);
    }
    return status;
}

void ronde_nccl_constant_name(size_t index, char *out_text, size_t bytes)
{
    if (index < RONDE_NCCL_COMMON_COUNT) {
        snprintf(out_text, bytes, "%s", common_names[index]);
        return;
    }
    index -= RONDE_NCCL_COMMON_COUNT;
    snprintf(out_text, bytes, "%s %s",
             ronde_nccl_generation_text(
                 (enum ronde_nccl_generation)(index / RONDE_NCCL_OF_GENERATION_COUNT)),
             generation_names[index % RONDE_NCCL_OF_GENERATION_COUNT]);
}
