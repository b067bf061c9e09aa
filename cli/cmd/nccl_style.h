/** --style nccl of ronde sim and plan: what NCCL takes on a described machine, by the model of ronde/nccl_model.h. */
#ifndef RONDE_CLI_NCCL_STYLE_H
#define RONDE_CLI_NCCL_STYLE_H

#include "cli/options/options.h"

/**
 * Predicts every size, rank count and algorithm that is asked for; `is_plan`: sets what NCCL would choose beside what would
 * be fastest. Returns the exit code.
 */
int ronde_nccl_style(const struct ronde_options *options, bool is_plan);

#endif
