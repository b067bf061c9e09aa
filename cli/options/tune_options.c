/* The few of the command line's fields that predict/ reads, --placement, and decisions in words. */
#include "tune_options.h"

#include "cli/print/table.h"
#include "schedule_file.h"

#include "ronde/synthesize.h"
#include "ronde/values.h"

#include <string.h>

struct ronde_tune_options ronde_tune_options_of(const struct ronde_options *options)
{
    return (struct ronde_tune_options){
        .dtype = options->dtype,
        .op = options->op,
        .slot_bytes = options->slot_bytes,
        .depth = options->depth,
        .engine = options->engine,
        .cfg = options->cfg,
        .native_latency = options->native_latency,
        .timeout_ns = options->timeout_s > 0.0 ? (uint64_t)(options->timeout_s * 1e9) : 0,
        .topology = options->topo,
        .forests = options->synthesize ? RONDE_FORESTS_ALL : RONDE_FORESTS_QUICK,
        .only = ronde_is_forest(options) ? options->algorithms[0] : NULL,
    };
}

bool ronde_is_forest(const struct ronde_options *options)
{
    return !ronde_is_schedule_file(options) && options->algorithm_count == 1 &&
           ronde_is_synthesized(options->algorithms[0]);
}

bool ronde_is_chosen(const struct ronde_options *options)
{
    return ronde_is_auto(options) || ronde_is_forest(options);
}

bool ronde_is_auto(const struct ronde_options *options)
{
    if (ronde_is_schedule_file(options) || options->algorithm_count > 1)
        return false;
    return options->algorithm_count == 0 || strcmp(options->algorithms[0], "auto") == 0;
}

bool ronde_is_autotune(const struct ronde_options *options)
{
    return options->algorithm_count == 1 && strcmp(options->algorithms[0], "race") == 0;
}

const char *ronde_basis_text(const struct ronde_selector *selector, char out_text[RONDE_BASIS_BYTES])
{
    static const char *const advice[] = {
        [RONDE_BASIS_NONE] = "",
        [RONDE_BASIS_MEASURED] = "; --topo prices another machine, -a race measures this one",
        [RONDE_BASIS_PLATFORM] = "",
        [RONDE_BASIS_TYPICAL] = "; --topo names another machine",
        [RONDE_BASIS_DEFAULT] = "",
        [RONDE_BASIS_RACE] = "",
    };
    snprintf(out_text, RONDE_BASIS_BYTES, "%s%s", selector->words, advice[selector->basis]);
    return out_text;
}

void ronde_selector_say(const struct ronde_selector *selector,
                        const struct ronde_decision *decision, char *out_text, size_t bytes)
{
    const struct ronde_quote *best = &selector->quotes[decision->best];
    char set_up[RONDE_SETUP_OPTIONS_BYTES];
    const int length = snprintf(out_text, bytes, "%s%s%s: %s us (%s)",
                                selector->choice.candidates[decision->best].request.algorithm,
                                ronde_decision_options(selector, decision, set_up)[0] ? " " : "",
                                set_up, ronde_cell_us(best->time_ns).text, best->engine);
    if (decision->second != RONDE_NONE && length > 0 && (size_t)length < bytes)
        snprintf(out_text + length, bytes - (size_t)length, ", next %s %s us",
                 selector->choice.candidates[decision->second].request.algorithm,
                 ronde_cell_us(selector->quotes[decision->second].time_ns).text);
}

/* The placement of a word of the list, or its nearest name in the error. */
static enum ronde_status parse_one(const char *word, enum ronde_placement *out_placement,
                                   struct ronde_error *error)
{
    const char *names[RONDE_PLACEMENT_COUNT];
    if (ronde_placement_parse(word, out_placement))
        return RONDE_OK;
    for (uint32_t i = 0; i < RONDE_PLACEMENT_COUNT; i++)
        names[i] = ronde_placement_text((enum ronde_placement)i);
    const char *nearest = ronde_nearest(word, names, RONDE_PLACEMENT_COUNT);
    return ronde_fail(error, RONDE_BAD_ARGUMENT, "--placement: unknown \"%s\"; %s%s%s", word,
                      nearest ? "did you mean " : "there are file, packed, scattered, auto",
                      nearest ? nearest : "", nearest ? "?" : "");
}

/* Adds one that is not there yet. */
static enum ronde_status add(struct ronde_placements *placements, enum ronde_placement placement,
                             struct ronde_error *error)
{
    for (uint32_t i = 0; i < placements->count; i++)
        if (placements->list[i] == placement)
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "--placement: %s is given twice",
                              ronde_placement_text(placement));
    placements->list[placements->count++] = placement;
    return RONDE_OK;
}

enum ronde_status ronde_placements_parse(const char *text, struct ronde_placements *out_placements,
                                         struct ronde_error *error)
{
    struct ronde_placements placements = {.count = 0};
    enum ronde_status status = RONDE_OK;
    for (const char *at = text ? text : "auto"; at && status == RONDE_OK;) {
        char word[32];
        enum ronde_placement placement;
        const size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word), at);
        status = parse_one(word, &placement, error);
        if (status == RONDE_OK)
            status = add(&placements, placement, error);
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    *out_placements = placements;
    return status;
}
