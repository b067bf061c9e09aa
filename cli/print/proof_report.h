/**
 * What `ronde check` reports of a proof, in the user's units.
 */
#ifndef RONDE_CLI_PROOF_REPORT_H
#define RONDE_CLI_PROOF_REPORT_H

#include "ronde/field.h"

#include "ronde/builder.h"
#include "ronde/msccl.h"

/** A verdict on one schedule. */
struct ronde_account {
    bool ok;       /**< proved */
    bool is_known; /**< the following three are known (an unreadable file says nothing) */
    enum ronde_collective collective; /**< what it claims to compute */
    const char *algorithm;            /**< its name */
    uint32_t ranks;                   /**< N */
    uint64_t steps;                   /**< of all ranks and channels */
    uint64_t messages;                /**< of all ranks and channels */
    double sent_max;                  /**< blocks the busiest rank sends, all channels together */
    double sent_bound;                /**< blocks it must send at least, see ronde_sent_bound */
    double received_max;   /**< blocks the busiest rank receives, all channels together */
    double received_bound; /**< blocks it must receive at least, see ronde_received_bound */
    const char *v_form;    /**< what it asks of blocks of different lengths; NULL when rejected */
    const struct ronde_proof *proof;       /**< the rest */
    const struct ronde_msccl_facts *msccl; /**< what an MSCCL file says beside its schedule, or NULL */
};

/** Fields of a printed account. */
#define RONDE_PROOF_REPORT_FIELDS 22u
/** Fields of a printed finding. */
#define RONDE_FINDING_FIELDS 6u

/** Room for a printed account. */
struct ronde_proof_report_row {
    struct ronde_field fields[RONDE_PROOF_REPORT_FIELDS]; /**< in the fixed order */
    struct ronde_field findings[RONDE_MAX_FINDINGS][RONDE_FINDING_FIELDS]; /**< of `errors` */
    struct ronde_row errors[RONDE_MAX_FINDINGS];                           /**< of `errors` */
    struct ronde_row row;                                                  /**< the whole */
};

/** Account of a proved schedule. `proof` may differ from the schedule's own (the expansion's). */
struct ronde_account ronde_proof_report_of(const struct ronde_schedule *schedule,
                                           const struct ronde_proof *proof);

/** Adds what is known of an MSCCL file, which says what it is even where it is rejected; facts of another are left out. */
void ronde_proof_report_add_msccl(struct ronde_account *account,
                                  const struct ronde_msccl_facts *facts);

/**
 * Account of a schedule that was rejected, and so never made: only the request and the proof can
 * speak. Without a request (a file) nothing is known but the proof.
 */
struct ronde_account ronde_proof_report_rejected(const struct ronde_compile_request *request,
                                                 const struct ronde_proof *proof);

/** Blocks some rank must receive whatever the algorithm: N-1 at the root of gather, 1 below that of scatter. */
double ronde_received_bound(enum ronde_collective collective, uint32_t ranks);

/** Blocks some rank must send whatever the algorithm: 2(N-1)/N for all_reduce, N-1 for one block per rank, 1 for one. */
double ronde_sent_bound(enum ronde_collective collective, uint32_t ranks);

/** Lays an account out as a row; *out points into itself and into the account. */
void ronde_proof_report_layout(const struct ronde_account *account,
                               struct ronde_proof_report_row *out);

#endif
