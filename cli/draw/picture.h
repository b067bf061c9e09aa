/**
 * Pictures are SVG: a name that promises another format is refused before anything is drawn.
 */
#ifndef RONDE_CLI_DRAW_PICTURE_H
#define RONDE_CLI_DRAW_PICTURE_H

#include "ronde/status.h"

#include <stdbool.h>

/** Whether a name ends in .svg, in letters of either case. */
bool ronde_picture_is_svg(const char *path);

/** Refuses names that end as files of other pictures do. Errors: BAD_ARGUMENT saying how to get there. */
RONDE_MUST_CHECK enum ronde_status ronde_picture_check(const char *path, struct ronde_error *error);

#endif
