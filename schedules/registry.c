/** The table of algorithms, and compile: from a request to a proved schedule. */
#include "claims.h"

#include "ronde/schedules.h"
#include "ronde/values.h"

#include <stdio.h>
#include <string.h>

/* Collectives and algorithms by the names that people type; a misspelt one is refused with the nearest. */

#define COLLECTIVE_TEXT(name, text) text,
static const char *const collective_names[] = {RONDE_COLLECTIVE_LIST(COLLECTIVE_TEXT)};
#undef COLLECTIVE_TEXT

/* More than any name has. */
#define WORD_BYTES 32

/* In small letters, for AllReduce and ALL_REDUCE mean the same; what is too long to be a name is cut, and stays none. */
static void to_small_letters(const char *text, char out_word[WORD_BYTES])
{
    size_t i = 0;
    for (; text[i] && i + 1 < WORD_BYTES; i++)
        out_word[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] - 'A' + 'a' : text[i]);
    out_word[i] = '\0';
}

enum ronde_status ronde_parse_collective(const char *text, enum ronde_collective *out,
                                         struct ronde_error *error)
{
    char word[WORD_BYTES];
    to_small_letters(text, word);
    if (ronde_collective_parse(word, out))
        return RONDE_OK;
    const char *nearest = ronde_nearest(word, collective_names, RONDE_COLLECTIVE_COUNT);
    if (nearest)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "unknown collective \"%s\"; did you mean %s?",
                          text, nearest);
    return ronde_fail(error, RONDE_BAD_ARGUMENT,
                      "unknown collective \"%s\"; `ronde list` names them", text);
}

/* Algorithms among which a nearest name is looked for. */
#define MAX_NAMES 128u

/* The names of a collective's algorithms, or of all where it is RONDE_COLLECTIVE_COUNT; returns how many. */
static uint32_t list_names(enum ronde_collective collective, const char *out_names[MAX_NAMES])
{
    uint32_t count = 0, total = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&total);
    for (uint32_t i = 0; i < total && count < MAX_NAMES; i++)
        if (collective == RONDE_COLLECTIVE_COUNT || all[i]->collective == collective)
            out_names[count++] = all[i]->name;
    return count;
}

/* Names that people bring from NCCL, and what to type here; NULL where this is none of them. */
static const char *advice_on(const char *name)
{
    static const struct {
        const char *name, *advice;
    } others[] = {
        {"nvls", "hierarchical_direct_tree on a machine of `ronde topo generate --multicast`"},
        {"nvlstree", "hierarchical_direct_tree on a machine of `ronde topo generate --multicast`"},
        {"collnetdirect", "no algorithm here; networks that add are not modelled"},
        {"collnetchain", "no algorithm here; networks that add are not modelled"},
    };
    char word[WORD_BYTES];
    to_small_letters(name, word);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(word, others[i].name) == 0)
            return others[i].advice;
    return NULL;
}

/* A library is no algorithm: what it takes by itself is a style. False where a name is none of these. */
static bool is_library(const char *name, struct ronde_error *error)
{
    static const char *const libraries[] = {"nccl", "rccl", "openmpi", "mpich"};
    char word[WORD_BYTES];
    to_small_letters(name, word);
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
        if (strcmp(word, libraries[i]) == 0) {
            ronde_fail(
                error, RONDE_BAD_ARGUMENT,
                "\"%s\" is a library and no algorithm; --style %s is what it takes by itself", name,
                i < 2 ? "nccl" : libraries[i]);
            return true;
        }
    return false;
}

enum ronde_status ronde_check_algorithm(const char *name, struct ronde_error *error)
{
    const char *names[MAX_NAMES];
    if (is_library(name, error))
        return RONDE_BAD_ARGUMENT;
    const char *nearest = ronde_nearest(name, names, list_names(RONDE_COLLECTIVE_COUNT, names));
    if (nearest && strcmp(nearest, name) == 0)
        return RONDE_OK;
    return ronde_fail(error, RONDE_BAD_ARGUMENT, "no collective has an algorithm \"%s\"%s%s%s", name,
                      nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

const struct ronde_algorithm *ronde_parse_algorithm(enum ronde_collective collective,
                                                    const char *name, struct ronde_error *error)
{
    const char *names[MAX_NAMES];
    if (is_library(name, error))
        return NULL;
    const char *advice = advice_on(name);
    if (advice && collective == RONDE_ALL_REDUCE) {
        ronde_fail(error, RONDE_BAD_ARGUMENT,
                   "%s is NCCL's: here %s; or --style nccl, the model of NCCL", name, advice);
        return NULL;
    }
    const char *nearest = ronde_nearest(name, names, list_names(collective, names));
    if (nearest && strcmp(nearest, name) != 0) {
        ronde_fail(error, RONDE_BAD_ARGUMENT, "%s has no algorithm \"%s\"; did you mean %s?",
                   ronde_collective_text(collective), name, nearest);
        return NULL;
    }
    return ronde_algorithm_find(collective, name, error);
}

/* Characters before "+puts", all of a name that would be too long for a schedule. */
static size_t bare_length(const char *name)
{
    static const char end[] = "+puts";
    const size_t length = strlen(name), ends = sizeof end - 1;
    const bool puts = length > ends && length < sizeof((struct ronde_schedule *)NULL)->algorithm &&
                      strcmp(name + length - ends, end) == 0;
    return puts ? length - ends : length;
}

bool ronde_name_puts(const char *name)
{
    return name && name[bare_length(name)] != '\0';
}

const struct ronde_algorithm *ronde_parse_carried(enum ronde_collective collective,
                                                  const char *name, struct ronde_error *error)
{
    char bare[sizeof((struct ronde_schedule *)NULL)->algorithm];
    if (!ronde_name_puts(name))
        return ronde_parse_algorithm(collective, name, error);
    snprintf(bare, sizeof bare, "%.*s", (int)bare_length(name), name);
    return ronde_parse_algorithm(collective, bare, error);
}

const struct ronde_algorithm *ronde_first_algorithm(struct ronde_compile_request *request)
{
    uint32_t total = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&total);
    for (uint32_t i = 0; i < total; i++) {
        struct ronde_error why_not = {0};
        request->algorithm = all[i]->name;
        if (all[i]->collective == request->collective &&
            all[i]->supports(request, &why_not) == RONDE_OK)
            return all[i];
    }
    request->algorithm = NULL;
    return NULL;
}

/** Channels a request may ask for; beyond this every block is cut too small. */
#define MAX_CHANNELS 1024u

/** Characters of a name that count when a similar one is looked for. */
#define MAX_CHARACTERS 31u

#define RONDE_ALGORITHM(file) &ronde_algorithm_##file,
static const struct ronde_algorithm *const table[] = {
#include "algorithms.def"
};
#undef RONDE_ALGORITHM

#define ALGORITHM_COUNT ((uint32_t)(sizeof table / sizeof table[0]))

const struct ronde_algorithm *const *ronde_algorithms(uint32_t *out_count)
{
    *out_count = ALGORITHM_COUNT;
    return table;
}

/** Appends to a text that is cut off when it is full. */
static void append(char *text, size_t bytes, const char *before, const char *word)
{
    const size_t length = strlen(text);
    snprintf(text + length, bytes - length, "%s%s", before, word);
}

/** Lists the names there are, and the one most like the requested. */
static void refuse_name(enum ronde_collective collective, const char *name,
                        struct ronde_error *error)
{
    char names[400] = "";
    const char *nearest = NULL;
    uint32_t nearest_distance = UINT32_MAX;
    for (uint32_t i = 0; i < ALGORITHM_COUNT; i++) {
        if (table[i]->collective != collective)
            continue;
        append(names, sizeof names, names[0] ? ", " : "", table[i]->name);
        const uint32_t distance = ronde_name_distance(name, table[i]->name);
        if (distance < nearest_distance && distance <= strlen(table[i]->name) / 2) {
            nearest = table[i]->name;
            nearest_distance = distance;
        }
    }
    ronde_fail(error, RONDE_BAD_ARGUMENT, "%s has no algorithm '%.*s'; it has: %s%s%s%s",
               ronde_collective_text(collective), (int)MAX_CHARACTERS, name,
               names[0] ? names : "none yet", nearest ? " (did you mean " : "",
               nearest ? nearest : "", nearest ? "?)" : "");
}

const struct ronde_algorithm *ronde_algorithm_find(enum ronde_collective collective,
                                                   const char *name, struct ronde_error *error)
{
    for (uint32_t i = 0; i < ALGORITHM_COUNT; i++)
        if (name && table[i]->collective == collective && strcmp(table[i]->name, name) == 0)
            return table[i];
    refuse_name(collective, name ? name : "", error);
    return NULL;
}

/* Before an algorithm gets a request, so that none of them has to check. */
static enum ronde_status check_request(const struct ronde_compile_request *request,
                                       struct ronde_error *error)
{
    if (request->ranks == 0 || request->ranks > RONDE_MAX_RANKS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "ranks %u is outside 1 .. %u", request->ranks,
                          RONDE_MAX_RANKS);
    if (request->root >= request->ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "root %u is not below ranks %u", request->root,
                          request->ranks);
    if (request->channels > MAX_CHANNELS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "channels %u is above %u", request->channels,
                          MAX_CHANNELS);
    return RONDE_OK;
}

/* An algorithm checks one order at a time, whichever channel has it. */
static enum ronde_status supports_orders(const struct ronde_algorithm *algorithm,
                                         const struct ronde_compile_request *request,
                                         struct ronde_error *error)
{
    struct ronde_compile_request one = *request;
    if (!request->channel_orders)
        return algorithm->supports(request, error);
    one.channel_orders = NULL;
    for (uint32_t k = 0; k < request->channels; k++) {
        one.order = request->channel_orders + (size_t)k * request->ranks;
        RONDE_TRY(algorithm->supports(&one, error));
    }
    return RONDE_OK;
}

enum ronde_status ronde_compile(const struct ronde_compile_request *request,
                                const struct ronde_mem *mem, struct ronde_proof *out_proof,
                                struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    struct ronde_builder *builder = NULL;
    *out_schedule = NULL;
    if (out_proof)
        memset(out_proof, 0, sizeof *out_proof);
    RONDE_TRY(check_request(request, error));
    const struct ronde_algorithm *algorithm =
        ronde_algorithm_find(request->collective, request->algorithm, error);
    if (!algorithm)
        return RONDE_BAD_ARGUMENT;
    RONDE_TRY(supports_orders(algorithm, request, error));
    RONDE_TRY(ronde_builder_create(request, mem, &builder, error));
    algorithm->build(request, builder);
    return ronde_schedule_finish(builder, out_proof, out_schedule, error);
}
