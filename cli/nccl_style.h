/** ronde sim --style nccl: what NCCL takes on a described machine, by the model of ronde/nccl_model.h. */
#ifndef RONDE_CLI_NCCL_STYLE_H
#define RONDE_CLI_NCCL_STYLE_H

#include "options.h"

/** Predicts every size, rank count and algorithm that is asked for; returns the exit code. */
int ronde_sim_nccl_style(const struct ronde_options *options);

#endif
