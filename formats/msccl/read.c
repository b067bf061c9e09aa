/* MSCCL files to schedules. See ronde/msccl.h. */
#include "algo.h"

#include <inttypes.h>
#include <string.h>

bool ronde_msccl_is(const char *text, size_t bytes)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t at = bytes >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
    while (at < bytes && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    return at < bytes && text[at] == '<';
}

static void count_steps(const struct msccl_algo *algo, struct ronde_msccl_facts *facts)
{
    const struct msccl_step *steps = algo->steps.items;
    const struct msccl_tb *tbs = algo->tbs.items;
    facts->steps = algo->steps.count;
    facts->threadblocks = algo->tbs.count;
    for (uint32_t s = 0; s < algo->steps.count; s++)
        facts->nops += steps[s].op == MSCCL_NOP;
    for (uint32_t t = 0; t < algo->tbs.count; t++)
        if (tbs[t].chan + 1 > facts->channels)
            facts->channels = tbs[t].chan + 1;
}

static void note_facts(const struct msccl_algo *algo, uint32_t min_depth,
                       struct ronde_msccl_facts *facts)
{
    const struct msccl_protocol_row *protocol = &msccl_protocols[algo->protocol];
    *facts = (struct ronde_msccl_facts){.is_msccl = true,
                                        .protocol = protocol->text,
                                        .writing = algo->is_compact         ? "compact"
                                                   : algo->copies.count > 0 ? "copytag"
                                                                            : "plain",
                                        .collective = algo->collective,
                                        .ranks = algo->ranks,
                                        .runtime_depth = protocol->depth};
    memcpy(facts->name, algo->name, sizeof facts->name);
    count_steps(algo, facts);
    msccl_find_unfit(algo, min_depth, facts->unfit, sizeof facts->unfit);
}

/* Line of the step that a finding is about, or 0. */
static uint32_t line_of(const struct msccl_algo *algo, const struct ronde_finding *finding)
{
    if (finding->rank >= algo->ranks)
        return 0;
    const struct msccl_gpu *gpu = msccl_gpu_at(algo, finding->rank);
    if (finding->lane >= gpu->tb_count)
        return gpu->line;
    const struct msccl_tb *tb = msccl_tb_at(algo, gpu, finding->lane);
    return finding->step < tb->step_count ? msccl_step_at(algo, tb, finding->step)->line : tb->line;
}

/* The first finding as a message. */
static enum ronde_status reject(const struct msccl_algo *algo, const struct ronde_proof *proof,
                                struct ronde_error *error)
{
    const struct ronde_finding *finding = &proof->findings[0];
    const uint32_t line = line_of(algo, finding);
    if (line == 0)
        return ronde_fail(error, RONDE_REJECTED, "%s: %s: %s", algo->path,
                          ronde_finding_text(finding->code), finding->text);
    return ronde_fail_at(error, RONDE_REJECTED, line, "%s:%" PRIu32 ": %s: %s", algo->path, line,
                         ronde_finding_text(finding->code), finding->text);
}

/* What the format can say and a schedule cannot. */
static enum ronde_status check_meaning(const struct msccl_algo *algo, struct ronde_error *error)
{
    if (algo->in_place && !algo->out_of_place && !algo->is_custom &&
        !ronde_collective_traits(algo->collective)->has_in_place)
        return ronde_fail(error, RONDE_UNSUPPORTED, "%s: %s has no form in place", algo->path,
                          ronde_collective_text(algo->collective));
    if (algo->is_custom && strstr(algo->name, "alltonext") == NULL &&
        strstr(algo->name, "pipeline") == NULL)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "%s: collective custom: what '%s' must leave where is not known "
                          "(alltonext and pipeline are)",
                          algo->path, algo->name);
    return RONDE_OK;
}

static enum ronde_status prove(struct msccl_algo *algo, struct ronde_msccl_facts *facts,
                               struct ronde_proof *proof, struct ronde_schedule **out_schedule,
                               struct ronde_error *error)
{
    enum ronde_status status = check_meaning(algo, error);
    note_facts(algo, 0, facts);
    proof->ok = true;
    RONDE_THEN(status, msccl_judge(algo, proof, error));
    if (status == RONDE_OK && proof->ok)
        status = msccl_prove(algo, proof, out_schedule, error);
    if (status == RONDE_OK && proof->ok)
        note_facts(algo, proof->min_depth, facts);
    else if (status == RONDE_REJECTED || status == RONDE_OK)
        status = reject(algo, proof, error);
    return status;
}

enum ronde_status ronde_msccl_read(const char *text, size_t bytes, const char *name,
                                   const struct ronde_mem *mem, struct ronde_msccl_facts *out_facts,
                                   struct ronde_proof *out_proof,
                                   struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    struct msccl_algo algo = {.mem = mem, .path = name};
    struct ronde_msccl_facts facts = {.is_msccl = true};
    struct ronde_proof proof = {0};
    *out_schedule = NULL;
    enum ronde_status status = msccl_parse(text, bytes, &algo, error);
    RONDE_THEN(status, prove(&algo, &facts, &proof, out_schedule, error));
    msccl_algo_free(&algo);
    if (out_facts)
        *out_facts = facts;
    if (out_proof)
        *out_proof = proof;
    return status;
}
