/**
 * From the command line to what predict/ takes, and from what it decides to words.
 */
#ifndef RONDE_CLI_TUNE_OPTIONS_H
#define RONDE_CLI_TUNE_OPTIONS_H

#include "options.h"

#include "ronde/selector.h"

/** How it is predicted and chosen: -d, --op, --slot, --depth, --engine, --cfg, --native-latency, --timeout, --topo. */
struct ronde_tune_options ronde_tune_options_of(const struct ronde_options *options);

/** Whether the command line leaves the choice to us: no -a, or -a auto, and no schedule from a file. */
bool ronde_is_auto(const struct ronde_options *options);

/** Whether schedules made for the machine are asked for: `-a forest`. */
bool ronde_is_forest(const struct ronde_options *options);

/** Whether what is predicted is chosen size by size: either of the two. */
bool ronde_is_chosen(const struct ronde_options *options);

/** Whether algorithms are to be measured against one another: -a race. */
bool ronde_is_autotune(const struct ronde_options *options);

/** Room for what a choice rests on. */
#define RONDE_BASIS_BYTES 512u

/** What a choice rests on, and which option would change it. Returns out_text. */
const char *ronde_basis_text(const struct ronde_selector *selector,
                             char out_text[RONDE_BASIS_BYTES]);

/** Room for a decision in words. */
#define RONDE_DECISION_BYTES 256u

/** A decision in words: "ring --channels 8: 17.20 us (maxmin), next tree 20.10 us". */
void ronde_selector_say(const struct ronde_selector *selector,
                        const struct ronde_decision *decision, char *out_text, size_t bytes);

/** The placements of an option. */
struct ronde_placements {
    enum ronde_placement list[RONDE_PLACEMENT_COUNT]; /**< in the order given, each once */
    uint32_t count; /**< 1 (auto) where the option was not given */
};

/** "file,auto". Errors: BAD_ARGUMENT for an unknown name (names the nearest), or one given twice. */
RONDE_MUST_CHECK enum ronde_status ronde_placements_parse(const char *text,
                                                          struct ronde_placements *out_placements,
                                                          struct ronde_error *error);

#endif
