/** Violations: "rank 5 lane 0 step 17 chunk 3: <sentence>". */
#include "findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/** Appends " name value" unless the value does not apply. */
static size_t append(char *text, size_t used, size_t capacity, const char *name, uint32_t value)
{
    if (value == RONDE_NONE || used >= capacity)
        return used;
    const int more =
        snprintf(text + used, capacity - used, "%s%s %u", used > 0 ? " " : "", name, value);
    return more > 0 ? used + (size_t)more : used;
}

/** Where a finding is kept: behind the others; once these are many, a kind not yet seen takes the last one's place. */
static uint32_t free_entry(const struct ronde_proof *proof, enum ronde_finding_code code)
{
    if (proof->finding_count < RONDE_MAX_FINDINGS)
        return proof->finding_count;
    for (uint32_t i = 0; i < RONDE_MAX_FINDINGS; i++)
        if (proof->findings[i].code == code)
            return RONDE_NONE;
    return RONDE_MAX_FINDINGS - 1;
}

void ronde_finding_say(struct ronde_finding *finding, const char *sentence)
{
    size_t used = 0;
    used = append(finding->text, used, sizeof finding->text, "rank", finding->rank);
    used = append(finding->text, used, sizeof finding->text, "lane", finding->lane);
    used = append(finding->text, used, sizeof finding->text, "step", finding->step);
    used = append(finding->text, used, sizeof finding->text, "chunk", finding->chunk);
    snprintf(finding->text + used, sizeof finding->text - used, "%s%s", used > 0 ? ": " : "",
             sentence);
}

/** Keeps a finding, if there is room. */
static void find(struct ronde_proof *proof, const struct ronde_finding *finding, const char *format,
                 va_list arguments)
{
    char sentence[sizeof finding->text];
    const uint32_t entry = free_entry(proof, finding->code);
    proof->ok = false;
    proof->finding_count++;
    if (entry == RONDE_NONE)
        return;
    vsnprintf(sentence, sizeof sentence, format, arguments);
    proof->findings[entry] = *finding;
    ronde_finding_say(&proof->findings[entry], sentence);
}

void ronde_find_there(struct ronde_proof *proof, const struct ronde_finding *finding,
                      const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    find(proof, finding, format, arguments);
    va_end(arguments);
}

void ronde_find(struct ronde_proof *proof, enum ronde_finding_code code,
                struct ronde_step_location place, const char *format, ...)
{
    struct ronde_finding finding = {code, place.position, RONDE_NONE, place.step, place.chunk, ""};
    if (place.program && place.step != RONDE_NONE && place.program->lane_count > 0) {
        finding.lane = ronde_program_lane(place.program, place.step);
        finding.step = place.step - place.program->lane_first[finding.lane];
    }
    va_list arguments;
    va_start(arguments, format);
    find(proof, &finding, format, arguments);
    va_end(arguments);
}
