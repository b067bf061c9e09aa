/**
 * Keeping violations, and where a step is.
 */
#ifndef RONDE_ENGINE_PROVE_FINDINGS_H
#define RONDE_ENGINE_PROVE_FINDINGS_H

#include "ronde/ir.h"

/** A place in a schedule; RONDE_NONE where it does not apply. `step` counts within the program. */
struct ronde_step_location {
    const struct ronde_program *program;
    uint32_t position;
    uint32_t step;
    uint32_t chunk;
};

/** Adds a finding with a sentence; the first RONDE_MAX_FINDINGS are kept, all are counted. */
void ronde_find(struct ronde_proof *proof, enum ronde_finding_code code,
                struct ronde_step_location place, const char *format, ...) RONDE_FORMAT(4, 5);

/** The same where the place is known as that of a finding, whose text is not looked at. */
RONDE_API void ronde_find_there(struct ronde_proof *proof, const struct ronde_finding *finding,
                                const char *format, ...) RONDE_FORMAT(3, 4);

/** Sets the text of a finding: its place, then a sentence. */
RONDE_API void ronde_finding_say(struct ronde_finding *finding, const char *sentence);

#endif
