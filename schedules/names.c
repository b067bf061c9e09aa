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

const struct ronde_algorithm *ronde_parse_algorithm(enum ronde_collective collective,
                                                    const char *name, struct ronde_error *error)
{
    const char *names[MAX_NAMES];
    uint32_t count = 0, total = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&total);
    for (uint32_t i = 0; i < total && count < MAX_NAMES; i++)
        if (all[i]->collective == collective)
            names[count++] = all[i]->name;
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
