/* ronde check: the proof of a file or of one schedule; survey.c has that of everything. */
#include "cli/options/option_groups.h"
#include "cli/options/requests.h"
#include "cli/print/report.h"
#include "cli/print/results.h"
#include "commands.h"

#include <inttypes.h>

/* The survey: every algorithm of the registry on a list of ranks, proved and held against the bounds. */

/* ronde check --all. The order is the registry's, so that an algorithm that joins it joins the survey and the
 * tables of docs/reference/golden/counts.md. */

/* Ranks proved unless told otherwise: both parities, powers of two and their neighbours. */
#define FIRST_RANKS 2u
#define LAST_RANKS 33u

/* A survey under way. */
struct survey {
    const struct ronde_options *options;
    struct ronde_sink *sink;
    enum ronde_collective only; /* RONDE_COLLECTIVE_COUNT: all of them */
    uint32_t ranks[RONDE_MAX_RANK_COUNTS];
    uint32_t rank_counts;
    uint32_t checked;
    uint32_t rejected;
    uint32_t left_out; /* what an algorithm does not serve */
};

static const struct ronde_column columns[] = {
    {"ok", "proved", "", RONDE_CELL_PLAIN, 8, false},
    {"collective", "collective", "", RONDE_CELL_PLAIN, 14, false},
    {"algorithm", "algorithm", "", RONDE_CELL_PLAIN, 24, false},
    {"ranks", "ranks", "", RONDE_CELL_PLAIN, 6, false},
    {"messages", "messages", "", RONDE_CELL_PLAIN, 9, true},
    {"sent_max", "sent", "blocks", RONDE_CELL_PLAIN, 9, false},
    {"sent_bound", "least", "blocks", RONDE_CELL_PLAIN, 9, false},
    {"received_max", "received", "blocks", RONDE_CELL_PLAIN, 9, true},
    {"received_bound", "least", "blocks", RONDE_CELL_PLAIN, 9, true},
    {"critical_path", "path", "messages", RONDE_CELL_PLAIN, 8, false},
    {"min_depth", "depth", "slots", RONDE_CELL_PLAIN, 5, false},
};
static const struct ronde_table table = RONDE_TABLE(columns);

/* A verdict as a row, and why a schedule was rejected below it. */
static enum ronde_status print(const struct survey *survey, const struct ronde_account *account,
                               const char *why, struct ronde_error *error)
{
    struct ronde_proof_report_row row;
    struct ronde_sink *sink = survey->sink;
    ronde_proof_report_layout(account, &row);
    RONDE_TRY(ronde_sink_print(sink, &table, &row.row, error));
    if (!account->ok && ronde_sink_is_table(sink) && !sink->is_markdown)
        fprintf(sink->file, "#   REJECTED: %s\n", why);
    return RONDE_OK;
}

/* A rejection is a verdict; any other failure ends the survey. */
static enum ronde_status check_request(struct survey *survey,
                                       const struct ronde_compile_request *request,
                                       struct ronde_error *error)
{
    struct ronde_proof proof;
    struct ronde_schedule *schedule = NULL;
    struct ronde_error why = {0};
    enum ronde_status status = ronde_compile(request, ronde_mem_default(), &proof, &schedule, &why);
    if (status != RONDE_OK && status != RONDE_REJECTED)
        return ronde_fail(error, status, "%s %s on %u ranks: %s",
                          ronde_collective_text(request->collective), request->algorithm,
                          request->ranks, why.message);
    const struct ronde_account account = schedule ? ronde_proof_report_of(schedule, &proof)
                                                  : ronde_proof_report_rejected(request, &proof);
    survey->checked++;
    survey->rejected += status == RONDE_REJECTED;
    status = print(survey, &account, why.message, error);
    ronde_schedule_destroy(schedule);
    return status;
}

/* What an algorithm does not serve is counted, and named on request. */
static enum ronde_status check(struct survey *survey, const struct ronde_algorithm *algorithm,
                               uint32_t ranks, struct ronde_error *error)
{
    struct ronde_compile_request request;
    struct ronde_error why_not = {0};
    RONDE_TRY(
        ronde_compile_request_of(survey->options, algorithm->collective, ranks, &request, error));
    request.algorithm = algorithm->name;
    if (algorithm->supports(&request, &why_not) == RONDE_OK)
        return check_request(survey, &request, error);
    survey->left_out++;
    if (survey->options->output.verbose)
        ronde_note("left out: %s %s on %u ranks: %s", ronde_collective_text(request.collective),
                   request.algorithm, ranks, why_not.message);
    return RONDE_OK;
}

static bool is_asked_for(const struct survey *survey, const struct ronde_algorithm *algorithm)
{
    return survey->only == RONDE_COLLECTIVE_COUNT || survey->only == algorithm->collective;
}

/* By algorithm, then by ranks: how one algorithm behaves as they grow is read downwards. */
static enum ronde_status check_lines(struct survey *survey, struct ronde_error *error)
{
    uint32_t total = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&total);
    enum ronde_status status = RONDE_OK;
    ronde_sink_head(survey->sink, &table);
    for (uint32_t i = 0; i < total; i++)
        for (uint32_t k = 0; k < survey->rank_counts && status == RONDE_OK; k++)
            if (is_asked_for(survey, all[i]))
                status = check(survey, all[i], survey->ranks[k], error);
    if (status == RONDE_OK && ronde_sink_is_table(survey->sink))
        fprintf(survey->sink->file, "# %u schedules, %u rejected, %u not supported\n",
                survey->checked, survey->rejected, survey->left_out);
    return status;
}

/* By ranks, then by algorithm: how algorithms of a collective compare is read downwards. */
static enum ronde_status check_tables(struct survey *survey, struct ronde_error *error)
{
    uint32_t total = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&total);
    enum ronde_status status = RONDE_OK;
    for (uint32_t k = 0; k < survey->rank_counts; k++) {
        fprintf(survey->sink->file, "%s### %u ranks\n\n", k ? "\n" : "", survey->ranks[k]);
        ronde_sink_head(survey->sink, &table);
        for (uint32_t i = 0; i < total && status == RONDE_OK; i++)
            if (is_asked_for(survey, all[i]))
                status = check(survey, all[i], survey->ranks[k], error);
    }
    return status;
}

/* -N, else what the form is for. */
static void choose_ranks(struct survey *survey)
{
    const struct ronde_options *options = survey->options;
    for (uint32_t k = 0; k < options->what.rank_counts; k++)
        survey->ranks[survey->rank_counts++] = options->what.ranks[k];
    if (survey->rank_counts > 0)
        return;
    if (options->output.markdown) {
        survey->ranks[survey->rank_counts++] = 8;
        survey->ranks[survey->rank_counts++] = 12;
        return;
    }
    for (uint32_t ranks = FIRST_RANKS; ranks <= LAST_RANKS; ranks++)
        survey->ranks[survey->rank_counts++] = ranks;
}

/*
 * Proves every algorithm (of one collective, if one is named) on every number of ranks of -N, by
 * default 2 .. 33. A line each, an object each where programs read, or with --markdown a table per
 * number of ranks, by default 8 and 12. *out_rejected counts what is not proved. Errors: those of
 * the request, NO_MEMORY, those of the sink.
 */
static enum ronde_status prove_all(const struct ronde_options *options, struct ronde_sink *sink,
                                   uint32_t *out_rejected, struct ronde_error *error)
{
    struct survey survey = {.options = options, .sink = sink, .only = RONDE_COLLECTIVE_COUNT};
    enum ronde_status status = RONDE_OK;
    if (options->argument_count > 0)
        status = ronde_parse_collective(options->arguments[0], &survey.only, error);
    if (status != RONDE_OK)
        return status;
    choose_ranks(&survey);
    status = options->output.markdown ? check_tables(&survey, error) : check_lines(&survey, error);
    *out_rejected = survey.rejected;
    return status;
}

/* The command's own options. */
struct check_options {
    bool all;    /* --all */
    bool expand; /* --expand */
};

static const struct check_options *own_of(const struct ronde_options *options)
{
    return options->own;
}

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
    subject->is_file = ronde_is_schedule_file(options);
    if (subject->is_file) {
        RONDE_TRY(ronde_schedule_file_read(options, &subject->facts, &subject->proof,
                                           &subject->schedule, error));
    } else {
        RONDE_TRY(ronde_single_request(options, NULL, false, &subject->request, error));
        RONDE_TRY(ronde_compile(&subject->request, ronde_mem_default(), &subject->proof,
                                &subject->schedule, error));
    }
    if (own_of(options)->expand)
        RONDE_TRY(ronde_schedule_prove_expansion(subject->schedule, ronde_mem_default(),
                                                 &subject->proof, error));
    return RONDE_OK;
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
    if (!own_of(options)->all && (options->output.markdown || options->output.verbose))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "check: --markdown and --verbose go with --all");
    if (own_of(options)->all && (own_of(options)->expand || options->what.algorithm_count > 0))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "check: --all excludes -a and --expand");
    if (own_of(options)->all)
        RONDE_TRY(ronde_takes_none(options, "nccl-log", "check: --all has its own schedules", error));
    if (options->output.markdown && (options->output.json || options->output.csv))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "check: --markdown excludes --json and --csv");
    return RONDE_OK;
}

static enum ronde_status check_command(struct ronde_invocation *call, struct ronde_error *error)
{
    const struct ronde_options *options = call->options;
    uint32_t rejected = 0;

    enum ronde_status status = check_options(options, error);
    RONDE_THEN(status, ronde_sink_open(options, &call->sink, error));
    RONDE_THEN(status, own_of(options)->all ? prove_all(options, &call->sink, &rejected, error)
                                            : check_one(options, &call->sink, error));
    call->code = rejected ? RONDE_EXIT_NO : RONDE_EXIT_OK;
    return status;
}

#define OWN(member) offsetof(struct check_options, member)

static const struct ronde_option own_rows[] = {
    {"all", 0, NULL, ronde_take_switch, OWN(all), NULL, 0, false,
     "every collective and algorithm, by -N 2..33; --verbose: also what is left out, and why"},
    {"expand", 0, NULL, ronde_take_switch, OWN(expand), NULL, 0, false,
     "also prove every rank's steps where the quotient decided"},
};

static const struct ronde_option_use uses[] = {
    RONDE_TAKES_ROWS(RONDE_SECTION_WHAT, own_rows, struct check_options, NULL),
    RONDE_TAKES(what, "ranks algorithm datatype root shape pairs channels nccl-log"),
    RONDE_TAKES(output, "json csv wide output markdown verbose"),
    RONDE_TAKES_END,
};

const struct ronde_command ronde_command_check = {
    .name = "check",
    .arguments = "FILE|COLLECTIVE",
    .summary = "prove a schedule; accounting and minimum depth",
    .examples = "  ronde check my.ronde\n  ronde check all_reduce -a ring -N 16384\n"
                "  ronde check --all -N 2..33\n",
    .uses = uses,
    .max_arguments = 1,
    .run = check_command,
};
