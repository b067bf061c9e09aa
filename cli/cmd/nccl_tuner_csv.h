/** plan --style nccl --to nccl-tuner: the file that NCCL's example tuner plugin reads (NCCL_TUNER_CONFIG_FILE). */
#ifndef RONDE_CLI_NCCL_TUNER_CSV_H
#define RONDE_CLI_NCCL_TUNER_CSV_H

#include "cli/options/options.h"

#include "ronde/nccl_model.h"

/** What the rows are about. */
struct ronde_tuner_csv {
    const struct ronde_options *options;          /**< sizes; --channels */
    const struct ronde_nccl_constants *constants; /**< of the model */
    const struct ronde_nccl_machine *machine;     /**< where NCCL runs */
};

/** Comments: columns, machine, how the file is used. */
void ronde_tuner_csv_head(const struct ronde_tuner_csv *csv, FILE *file);

/**
 * The rows of one number of ranks and nodes, from 0 bytes to the largest number there is; between two sizes of the sweep the
 * change is found to the byte. `call` has collective, ranks and nodes. Errors: UNSUPPORTED for a collective that the plugin
 * does not know; as ronde_nccl_call_check.
 */
RONDE_MUST_CHECK enum ronde_status ronde_tuner_csv_rows(const struct ronde_tuner_csv *csv,
                                                        struct ronde_nccl_call call, FILE *file,
                                                        struct ronde_error *error);

#endif
