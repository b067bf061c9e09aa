/** ronde validate --published: measurements that others have published beside the model of NCCL. */
#ifndef RONDE_CLI_PUBLISHED_H
#define RONDE_CLI_PUBLISHED_H

#include "cli/options/options.h"

/** Reads, predicts, scores and prints; returns the exit code. */
int ronde_validate_published(const struct ronde_options *options);

#endif
