/* ronde check: the proof of a file or of one schedule; survey.c has that of everything. */
#include "cli/options/schedule_file.h"
#include "cli/print/proof_report.h"
#include "cli/print/report.h"
#include "commands.h"
#include "prove_all.h"

#include <inttypes.h>

/* The first few findings; the rest mostly follow from them. */
static void print_findings(FILE *file, const struct ronde_proof *proof)
{
    for (uint32_t i = 0; i < proof->finding_count && i < RONDE_MAX_FINDINGS; i++)
        fprintf(file, "  %-14s %s\n", ronde_finding_text(proof->findings[i].code),
                proof->findings[i].text);
    if (proof->finding_count > RONDE_MAX_FINDINGS)
        fprintf(file, "  and %u more\n", proof->finding_count - RONDE_MAX_FINDINGS);
}

/* Where the file is one of MSCCL's: what runs it there. */
static void print_msccl(FILE *file, const struct ronde_account *account)
{
    const struct ronde_msccl_facts *facts = account->msccl;
    if (!facts || !facts->protocol)
        return;
    fprintf(file, "  MSCCL          %s, protocol %s, %u threadblocks, %u steps, %u of them nops\n",
            facts->writing, facts->protocol, facts->threadblocks, facts->steps, facts->nops);
    if (account->ok && facts->unfit[0] != '\0')
        fprintf(file, "  runtime        NOT there: %s\n", facts->unfit);
    else if (account->ok)
        fprintf(file, "  runtime        runs there: a connection of protocol %s holds %u messages\n",
                facts->protocol, facts->runtime_depth);
}

/* The verdict first, then the numbers of a schedule that holds. */
static void print_account(FILE *file, const struct ronde_account *account)
{
    const struct ronde_proof *proof = account->proof;
    if (account->is_known)
        fprintf(file, "%s %s on %u ranks: %s\n", ronde_collective_text(account->collective),
                account->algorithm, account->ranks, account->ok ? "proved" : "REJECTED");
    else
        fprintf(file, "REJECTED\n");
    print_findings(file, proof);
    print_msccl(file, account);
    if (!account->ok)
        return;
    fprintf(file, "  proved on      %s, values compared by %s\n",
            proof->quotient ? "the quotient (position 0 stands for all)" : "every rank's steps",
            proof->method == RONDE_PROOF_EXACT ? "exact sets" : "fingerprints");
    fprintf(file, "  v-form         %s\n", account->v_form);
    fprintf(file, "  minimum depth  %u slot%s per connection\n", proof->min_depth,
            proof->min_depth == 1 ? "" : "s");
    fprintf(file, "  steps          %" PRIu64 "\n", account->steps);
    fprintf(file, "  messages       %" PRIu64 "\n", account->messages);
    fprintf(file, "  critical path  %u messages\n", proof->critical_path);
    fprintf(file, "  sent           %.6g blocks by the busiest rank; at least %.6g are needed\n",
            account->sent_max, account->sent_bound);
    if (proof->dead_chunks)
        fprintf(file, "  dead work      %" PRIu64 " transferred chunks reach no output\n",
                proof->dead_chunks);
    if (proof->rank_dependent_bits)
        fprintf(file, "  bits           ranks may differ in the last bits of floating results\n");
}

/* One object where programs read. */
static enum ronde_status print_verdict(struct ronde_sink *sink, const struct ronde_account *account,
                                       struct ronde_error *error)
{
    struct ronde_proof_report_row row;
    if (ronde_sink_is_table(sink)) {
        print_account(sink->file, account);
        return RONDE_OK;
    }
    ronde_proof_report_layout(account, &row);
    return ronde_sink_row(sink, &row.row, error);
}

/* What was asked to be checked, and what came of it. */
struct subject {
    struct ronde_compile_request request;
    struct ronde_schedule *schedule; /* NULL when rejected */
    struct ronde_proof proof;
    struct ronde_msccl_facts facts; /* of a file */
    bool is_file;
};

static struct ronde_account account_subject(const struct subject *subject)
{
    struct ronde_account account =
        subject->schedule ? ronde_proof_report_of(subject->schedule, &subject->proof)
                          : ronde_proof_report_rejected(subject->is_file ? NULL : &subject->request,
                                                        &subject->proof);
    ronde_proof_report_add_msccl(&account, &subject->facts);
    return account;
}

/* File or collective, and the expansion on request. */
static enum ronde_status prove(const struct ronde_options *options, struct subject *subject,
                               struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    subject->is_file = ronde_is_schedule_file(options);
    if (subject->is_file) {
        status = ronde_schedule_file_read(options, &subject->facts, &subject->proof,
                                          &subject->schedule, error);
    } else {
        status = ronde_single_request(options, &subject->request, error);
        if (status == RONDE_OK)
            status = ronde_compile(&subject->request, ronde_mem_default(), &subject->proof,
                                   &subject->schedule, error);
    }
    if (status == RONDE_OK && options->expand)
        status = ronde_schedule_prove_expansion(subject->schedule, ronde_mem_default(),
                                                &subject->proof, error);
    return status;
}

static enum ronde_status check_one(const struct ronde_options *options, struct ronde_sink *sink,
                                   struct ronde_error *error)
{
    struct subject subject = {0};
    const enum ronde_status status = prove(options, &subject, error);
    enum ronde_status printed = RONDE_OK;
    /* A rejection is a verdict with findings; any other failure says nothing about the schedule. */
    if (status == RONDE_OK || status == RONDE_REJECTED) {
        struct ronde_error print_error = {0};
        const struct ronde_account account = account_subject(&subject);
        printed = print_verdict(sink, &account, &print_error);
        if (printed != RONDE_OK)
            *error = print_error;
    }
    ronde_schedule_destroy(subject.schedule);
    return printed != RONDE_OK ? printed : status;
}

/* Options that only mean something together. */
static enum ronde_status check_options(const struct ronde_options *options,
                                       struct ronde_error *error)
{
    if (!options->all && (options->markdown || options->verbose))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "check: --markdown and --verbose go with --all");
    if (options->all && (options->expand || options->algorithm_count > 0))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "check: --all excludes -a and --expand");
    if (options->markdown && (options->json || options->csv))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "check: --markdown excludes --json and --csv");
    return RONDE_OK;
}

int ronde_cmd_check(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct ronde_sink sink = {0};
    uint32_t rejected = 0;
    enum ronde_status status = check_options(options, &error);
    if (status == RONDE_OK)
        status = ronde_sink_open(options, &sink, &error);
    if (status == RONDE_OK)
        status = options->all ? ronde_prove_all(options, &sink, &rejected, &error)
                              : check_one(options, &sink, &error);
    if (sink.file && ronde_sink_close(&sink, status == RONDE_OK ? &error : NULL) != RONDE_OK &&
        status == RONDE_OK)
        status = error.status;
    if (status == RONDE_OK)
        return rejected ? RONDE_EXIT_NO : RONDE_EXIT_OK;
    return ronde_report(&error);
}
