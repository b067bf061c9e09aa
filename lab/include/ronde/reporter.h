/**
 * Where what takes long says what it is doing. lab/ itself prints nothing.
 */
#ifndef RONDE_REPORTER_H
#define RONDE_REPORTER_H

#include "ronde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The share of what is not counted. */
#define RONDE_REPORTER_UNCOUNTED (-1.0)

/** Takes progress; a zeroed one drops it. */
struct ronde_reporter {
    /** Called with how much of the whole is done (0 to 1, RONDE_REPORTER_UNCOUNTED where nobody knows) and one line without
     * its end, valid during the call, that replaces the one before; NULL when nothing is going on
     * any more. On the thread that measures, never while something is timed. May be NULL. */
    void (*on_progress)(void *context, double share, const char *text);
    void *context; /**< passed on */
};

/** Passes a line on, cut to 255 characters. */
RONDE_API void ronde_reporter_say(const struct ronde_reporter *reporter, double share,
                                  const char *format, ...) RONDE_FORMAT(3, 4);

/** Says that nothing is going on any more. */
RONDE_API void ronde_reporter_end(const struct ronde_reporter *reporter);

#ifdef __cplusplus
}
#endif
#endif
