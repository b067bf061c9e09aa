/*
 * Accounts: sums over channels and ranks of what the proof counted, and the bounds they are held
 * against.
 */
#include "results.h"

/* Blocks some rank must send whatever the algorithm: 2(N-1)/N for all_reduce, N-1 for one block per rank, 1 for one. */
static double sent_bound(enum ronde_collective collective, uint32_t ranks)
{
    const double n = ranks;
    if (ranks == 1)
        return 0.0;
    switch (collective) {
    case RONDE_ALL_REDUCE:
        return 2.0 * (n - 1.0) / n;
    case RONDE_ALL_GATHER:
    case RONDE_REDUCE_SCATTER:
    case RONDE_ALL_TO_ALL:
    case RONDE_SCATTER: /* the root's own */
        return n - 1.0;
    case RONDE_BROADCAST:
    case RONDE_SEND_RECV:
    case RONDE_GATHER:
    case RONDE_REDUCE:
        return 1.0;
    case RONDE_BARRIER:
    case RONDE_COLLECTIVE_COUNT:
        break;
    }
    return 0.0;
}

static double received_bound(enum ronde_collective collective, uint32_t ranks)
{
    if (ranks > 1 && collective == RONDE_SCATTER)
        return 1.0;
    if (ranks > 1 && collective == RONDE_GATHER) /* the root's own */
        return ranks - 1.0;
    return sent_bound(collective, ranks);
}

struct ronde_account ronde_proof_report_of(const struct ronde_schedule *schedule,
                                           const struct ronde_proof *proof)
{
    struct ronde_account account = {.ok = proof->ok,
                                    .is_known = true,
                                    .collective = schedule->collective,
                                    .algorithm = schedule->algorithm,
                                    .ranks = schedule->ranks,
                                    .steps = proof->steps * schedule->channel_count,
                                    .messages = proof->messages * schedule->channel_count,
                                    .v_form = ronde_v_form_text(schedule->v_form),
                                    .proof = proof};
    account.sent_bound = sent_bound(schedule->collective, schedule->ranks);
    account.received_bound = received_bound(schedule->collective, schedule->ranks);
    const struct ronde_volume volume = ronde_schedule_volume(schedule);
    account.sent_max = volume.sent;
    account.received_max = volume.received;
    return account;
}

struct ronde_account ronde_proof_report_rejected(const struct ronde_compile_request *request,
                                                 const struct ronde_proof *proof)
{
    struct ronde_account account = {.proof = proof, .is_known = request != NULL};
    account.steps = proof->steps;
    account.messages = proof->messages;
    if (!request)
        return account;
    account.collective = request->collective;
    account.algorithm = request->algorithm;
    account.ranks = request->ranks;
    account.sent_bound = sent_bound(request->collective, request->ranks);
    account.received_bound = received_bound(request->collective, request->ranks);
    return account;
}

void ronde_proof_report_add_msccl(struct ronde_account *account,
                                  const struct ronde_msccl_facts *facts)
{
    if (!facts->is_msccl)
        return;
    account->msccl = facts;
    if (account->is_known || facts->ranks == 0)
        return;
    account->is_known = true;
    account->collective = facts->collective;
    account->algorithm = facts->name;
    account->ranks = facts->ranks;
}

/* A place that does not apply is null, never a number nobody meant. */
static struct ronde_field place_field(const char *name, uint32_t value)
{
    return ronde_field_integer_if(name, value != RONDE_NONE, value);
}

/* Keys of one entry of `errors`. */
static void layout_finding(const struct ronde_finding *finding, struct ronde_field *field)
{
    field[0] = ronde_field_text("code", ronde_finding_text(finding->code));
    field[1] = place_field("rank", finding->rank);
    field[2] = place_field("lane", finding->lane);
    field[3] = place_field("step", finding->step);
    field[4] = place_field("chunk", finding->chunk);
    field[5] = ronde_field_text("text", finding->text);
}

/* What is claimed; a file that was rejected does not say what it would have been. */
static size_t layout_head(const struct ronde_account *account, struct ronde_field *field)
{
    const char *collective = ronde_collective_text(account->collective);
    field[0] = ronde_field_boolean("ok", account->ok);
    field[1] = ronde_field_text("collective", account->is_known ? collective : NULL);
    field[2] = ronde_field_text("algorithm", account->is_known ? account->algorithm : NULL);
    field[3] = ronde_field_integer_if("ranks", account->is_known, account->ranks);
    return 4;
}

/* What an MSCCL file says; `unfit` is null where a runtime would run it. */
static size_t layout_msccl(const struct ronde_msccl_facts *facts, struct ronde_field *field)
{
    size_t at = 0;
    if (!facts || !facts->protocol)
        return 0;
    field[at++] = ronde_field_text("format", "msccl");
    field[at++] = ronde_field_text("writing", facts->writing);
    field[at++] = ronde_field_text("protocol", facts->protocol);
    field[at++] = ronde_field_integer("nops", facts->nops);
    field[at++] = ronde_field_integer("threadblocks", facts->threadblocks);
    field[at++] = ronde_field_integer("runtime_depth", facts->runtime_depth);
    field[at++] = ronde_field_boolean("fits_runtime", facts->unfit[0] == '\0');
    field[at++] = ronde_field_text("unfit", facts->unfit[0] ? facts->unfit : NULL);
    return at;
}

void ronde_proof_report_layout(const struct ronde_account *account,
                               struct ronde_proof_report_row *out)
{
    const struct ronde_proof *proof = account->proof;
    struct ronde_field *field = out->fields;
    size_t at = layout_head(account, field);
    const size_t kept =
        proof->finding_count < RONDE_MAX_FINDINGS ? proof->finding_count : RONDE_MAX_FINDINGS;
    for (size_t i = 0; i < kept; i++) {
        layout_finding(&proof->findings[i], out->findings[i]);
        out->errors[i] = (struct ronde_row){out->findings[i], RONDE_FINDING_FIELDS};
    }
    field[at++] = ronde_field_integer("min_depth", proof->min_depth);
    field[at++] = ronde_field_integer("steps", account->steps);
    field[at++] = ronde_field_integer("messages", account->messages);
    field[at++] = ronde_field_integer("critical_path", proof->critical_path);
    field[at++] = ronde_field_real("sent_max", account->sent_max);
    field[at++] = ronde_field_real("sent_bound", account->sent_bound);
    field[at++] =
        ronde_field_text("method", proof->method == RONDE_PROOF_EXACT ? "exact" : "fingerprint");
    field[at++] = ronde_field_boolean("quotient", proof->quotient);
    field[at++] = ronde_field_text("v_form", account->v_form);
    field[at++] = ronde_field_real("received_max", account->received_max);
    field[at++] = ronde_field_real("received_bound", account->received_bound);
    at += layout_msccl(account->msccl, field + at);
    field[at++] = (struct ronde_field){.name = "errors",
                                       .kind = RONDE_FIELD_ROWS,
                                       .rows = out->errors,
                                       .count = kept};
    out->row = (struct ronde_row){out->fields, at};
}
