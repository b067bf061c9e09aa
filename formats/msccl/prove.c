/* From a judged MSCCL file to a schedule: no attribute names the root, and marks are only kept where they hold. */
#include "algo.h"

#include "engine/prove/findings.h"
#include "ronde/text.h"

#include <string.h>

/* --- the root -------------------------------------------------------------------------------- */

static bool does(const struct msccl_algo *algo, const struct msccl_gpu *gpu, bool is_send)
{
    for (uint32_t t = 0; t < gpu->tb_count; t++) {
        const struct msccl_tb *tb = msccl_tb_at(algo, gpu, t);
        if (msccl_next_message(algo, tb, is_send, 0) < tb->step_count)
            return true;
    }
    return false;
}

/* The root only sends, or only receives; every rank that does is a candidate, and if none does every rank is. */
static bool may_be_root(const struct msccl_algo *algo, uint32_t rank)
{
    const bool is_source = ronde_collective_traits(algo->collective)->in_at_root;
    const struct msccl_gpu *gpu = msccl_gpu_at(algo, rank);
    return algo->ranks == 1 || (does(algo, gpu, is_source) && !does(algo, gpu, !is_source));
}

static uint32_t next_root(const struct msccl_algo *algo, uint32_t from, bool is_any)
{
    for (uint32_t rank = from; rank < algo->ranks; rank++)
        if (is_any || may_be_root(algo, rank))
            return rank;
    return RONDE_NONE;
}

/* --- one try --------------------------------------------------------------------------------- */

bool msccl_has_finding(const struct ronde_proof *proof, enum ronde_finding_code code)
{
    for (uint32_t i = 0; i < proof->finding_count && i < RONDE_MAX_FINDINGS; i++)
        if (proof->findings[i].code == code)
            return true;
    return false;
}

/* Findings name positions, and chunks by position, where the order begins with the root. */
static void name_ranks(const struct msccl_algo *algo, uint32_t root, struct ronde_proof *proof)
{
    for (uint32_t i = 0; i < proof->finding_count && i < RONDE_MAX_FINDINGS && root > 0; i++) {
        struct ronde_finding *finding = &proof->findings[i];
        char sentence[sizeof finding->text];
        const char *colon = strstr(finding->text, ": ");
        if (finding->rank == RONDE_NONE)
            continue;
        finding->rank = (finding->rank + root) % algo->ranks;
        strncpy(sentence, colon ? colon + 2 : finding->text, sizeof sentence);
        sentence[sizeof sentence - 1] = '\0';
        ronde_finding_say(finding, sentence);
    }
}

static enum ronde_status try_reading(const struct msccl_algo *algo,
                                     const struct msccl_reading *reading,
                                     struct ronde_proof *out_proof,
                                     struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    RONDE_TRY(msccl_to_text(algo, reading, &text, &bytes, error));
    const enum ronde_status status =
        ronde_schedule_read(text, bytes, algo->path, algo->mem, out_proof, out_schedule, error);
    ronde_mem_free(algo->mem, text, bytes + 1, 1);
    if (status == RONDE_REJECTED)
        name_ranks(algo, reading->root, out_proof);
    return status;
}

/* With marks, so that avg and premul_sum can be run, else without. */
static enum ronde_status try_root(const struct msccl_algo *algo, uint32_t root,
                                  struct ronde_proof *out_proof,
                                  struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    struct msccl_reading reading = {root, false};
    struct ronde_error first = {0};
    enum ronde_status status = try_reading(algo, &reading, out_proof, out_schedule, &first);
    if (status == RONDE_REJECTED && msccl_has_finding(out_proof, RONDE_FINDING_MARKS)) {
        reading.is_unscaled = true;
        return try_reading(algo, &reading, out_proof, out_schedule, error);
    }
    if (status != RONDE_OK && error)
        *error = first;
    return status;
}

/* --- all tries ------------------------------------------------------------------------------- */

/* What an output holds says more than the steps on the way to it; what was never written is found at a step. */
static bool is_about_output(const struct ronde_finding *finding)
{
    return finding->code == RONDE_FINDING_WRONG_VALUE && finding->step == RONDE_NONE;
}

static bool is_on_the_way(const struct ronde_finding *finding)
{
    return finding->step != RONDE_NONE &&
           (finding->code == RONDE_FINDING_EXTENT || finding->code == RONDE_FINDING_TWICE ||
            finding->code == RONDE_FINDING_WRONG_VALUE);
}

static void sort_findings(struct ronde_proof *proof)
{
    const uint32_t kept =
        proof->finding_count < RONDE_MAX_FINDINGS ? proof->finding_count : RONDE_MAX_FINDINGS;
    for (uint32_t i = 1; i < kept; i++)
        for (uint32_t k = i; k > 0 && is_on_the_way(&proof->findings[k - 1]) &&
                             is_about_output(&proof->findings[k]);
             k--) {
            const struct ronde_finding later = proof->findings[k];
            proof->findings[k] = proof->findings[k - 1];
            proof->findings[k - 1] = later;
        }
}

enum ronde_status msccl_prove(const struct msccl_algo *algo, struct ronde_proof *out_proof,
                              struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    const bool has_root = ronde_collective_traits(algo->collective)->has_root;
    const bool is_any = next_root(algo, 0, false) == RONDE_NONE;
    struct ronde_proof proof;
    enum ronde_status status = RONDE_REJECTED;
    bool is_first = true;
    for (uint32_t root = has_root ? next_root(algo, 0, is_any) : 0;
         status == RONDE_REJECTED && root != RONDE_NONE;
         root = has_root ? next_root(algo, root + 1, is_any) : RONDE_NONE) {
        struct ronde_error why = {0};
        status = try_root(algo, root, &proof, out_schedule, &why);
        /* The first candidate's findings are reported: a second one is rarely meant. */
        if (is_first || status != RONDE_REJECTED)
            *out_proof = proof;
        if (status != RONDE_OK && status != RONDE_REJECTED && error)
            *error = why;
        is_first = false;
    }
    if (status == RONDE_REJECTED)
        sort_findings(out_proof);
    return status;
}
