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

static enum ronde_status read_file(const char *folder, const char *name, struct reading reading,
                                   struct ronde_error *error)
{
    char path[RONDE_PATH_BYTES];
    RONDE_TRY(ronde_nccl_shipped_file(folder, name, path, error));
    RONDE_TRY(ronde_nccl_words_read(path, take, &reading, error));
    for (uint32_t i = 0; i < reading.count; i++)
        if (!(reading.to[i].value > 0))
            return ronde_fail(error, RONDE_BAD_INPUT, "%s: no line says %s", path, reading.names[i]);
    return RONDE_OK;
}

enum ronde_status ronde_nccl_shipped_file(const char *folder, const char *name,
                                          char out_path[RONDE_PATH_BYTES], struct ronde_error *error)
{
    char found[RONDE_PATH_BYTES];
    for (unsigned p = 0; !folder && p < RONDE_DATA_PLACE_COUNT; p++)
        if (ronde_data_folder(RONDE_DATA_NCCL, (enum ronde_data_place)p, found, sizeof found))
            folder = found;
    if (!folder)
        return ronde_fail(error, RONDE_IO,
                          "the constants of NCCL's model (share/ronde/nccl) are not found");
    return snprintf(out_path, RONDE_PATH_BYTES, "%s/%s.txt", folder, name) < RONDE_PATH_BYTES
               ? RONDE_OK
               : ronde_fail(error, RONDE_IO, "%.200s: path is too long", folder);
}

enum ronde_status ronde_nccl_constants_read(const char *folder, struct ronde_nccl_constants *out,
                                            struct ronde_error *error)
{
    *out = (struct ronde_nccl_constants){.inside = 1, .between = 1, .links = 1, .nics = 1};
    const struct reading common = {common_names, RONDE_NCCL_COMMON_COUNT, out->all};
    RONDE_TRY(read_file(folder, "common", common, error));
    for (unsigned g = 0; g < RONDE_NCCL_GENERATION_COUNT; g++) {
        const struct reading generation = {generation_names, RONDE_NCCL_OF_GENERATION_COUNT,
                                           out->all + RONDE_NCCL_COMMON_COUNT +
                                               (size_t)g * RONDE_NCCL_OF_GENERATION_COUNT};
        RONDE_TRY(read_file(folder, ronde_nccl_generations[g], generation, error));
    }
    return RONDE_OK;
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
