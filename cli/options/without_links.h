/**
 * Links that are slower than the file says, or down, for commands that plan around them.
 */
#ifndef RONDE_CLI_WITHOUT_LINKS_H
#define RONDE_CLI_WITHOUT_LINKS_H

#include "options.h"

#include "ronde/topologies.h"

/**
 * Does what every --degrade LINK=FACTOR says; a factor of 0 takes the link down. Errors: BAD_ARGUMENT for what is no
 * LINK=FACTOR; those of ronde_platform_degrade.
 */
RONDE_MUST_CHECK enum ronde_status ronde_without_links(const struct ronde_options *options,
                                                       struct ronde_platform *platform,
                                                       struct ronde_error *error);

#endif
