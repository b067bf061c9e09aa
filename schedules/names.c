/* Collectives and algorithms by the names that people type; a misspelt one is refused with the nearest. */
#include "ronde/schedules.h"
#include "ronde/values.h"

#include <string.h>

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

/* Algorithms of a collective among which a nearest name is looked for. */
#define MAX_NAMES 64u

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

const struct ronde_algorithm *ronde_parse_algorithm(enum ronde_collective collective,
                                                    const char *name, struct ronde_error *error)
{
    const char *names[MAX_NAMES];
    uint32_t count = 0, total = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&total);
    for (uint32_t i = 0; i < total && count < MAX_NAMES; i++)
        if (all[i]->collective == collective)
            names[count++] = all[i]->name;
    const char *advice = advice_on(name);
    if (advice && collective == RONDE_ALL_REDUCE) {
        ronde_fail(error, RONDE_BAD_ARGUMENT,
                   "%s is NCCL's: here %s; or --style nccl, the model of NCCL", name, advice);
        return NULL;
    }
    const char *nearest = ronde_nearest(name, names, count);
    if (nearest && strcmp(nearest, name) != 0) {
        ronde_fail(error, RONDE_BAD_ARGUMENT, "%s has no algorithm \"%s\"; did you mean %s?",
                   ronde_collective_text(collective), name, nearest);
        return NULL;
    }
    return ronde_algorithm_find(collective, name, error);
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
