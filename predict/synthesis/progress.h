/**
 * How far a synthesis is, for those who wait for it.
 */
#ifndef RONDE_SYNTHESIS_PROGRESS_H
#define RONDE_SYNTHESIS_PROGRESS_H

#include "ronde/synthesize.h"

/** Says so, if anybody listens; NULL = nobody. */
static inline void ronde_synthesis_say(const struct ronde_synthesis_progress *progress,
                                       const char *phase, uint64_t done, uint64_t total)
{
    if (progress && progress->on_progress)
        progress->on_progress(progress->context, phase, done, total);
}

#endif
