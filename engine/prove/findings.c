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

static void locate(struct ronde_finding *finding, struct ronde_step_location place)
{
    finding->rank = place.position;
    finding->lane = RONDE_NONE;
    finding->step = place.step;
    finding->chunk = place.chunk;
    if (place.program && place.step != RONDE_NONE && place.program->lane_count > 0) {
        finding->lane = ronde_program_lane(place.program, place.step);
        finding->step = place.step - place.program->lane_first[finding->lane];
    }
}

void ronde_find(struct ronde_proof *proof, enum ronde_finding_code code,
                struct ronde_step_location place, const char *format, ...)
{
    proof->ok = false;
    if (proof->finding_count++ >= RONDE_MAX_FINDINGS)
        return;
    struct ronde_finding *finding = &proof->findings[proof->finding_count - 1];
    finding->code = code;
    locate(finding, place);
    size_t used = 0;
    used = append(finding->text, used, sizeof finding->text, "rank", finding->rank);
    used = append(finding->text, used, sizeof finding->text, "lane", finding->lane);
    used = append(finding->text, used, sizeof finding->text, "step", finding->step);
    used = append(finding->text, used, sizeof finding->text, "chunk", finding->chunk);
    if (used > 0 && used + 2 < sizeof finding->text) {
        memcpy(finding->text + used, ": ", 3);
        used += 2;
    }
    if (used >= sizeof finding->text)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->text + used, sizeof finding->text - used, format, arguments);
    va_end(arguments);
}
