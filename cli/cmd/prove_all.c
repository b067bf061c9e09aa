/*
 * ronde check --all. The order is the registry's, so that an algorithm that joins it joins the survey
 * and the tables of docs/reference/golden/counts.md.
 */
#include "prove_all.h"

#include "cli/print/proof_report.h"
#include "cli/print/report.h"

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

/* A verdict as a line: what is proved, and the numbers that tell algorithms apart. */
static void print_line(FILE *file, const struct ronde_account *account, const char *why)
{
    fprintf(file, "%-9s %-14s %-20s N=%-5u depth %u, path %u, sent %.4g of %.4g%s%s\n",
            account->ok ? "proved" : "REJECTED", ronde_collective_text(account->collective),
            account->algorithm, account->ranks, account->proof->min_depth,
            account->proof->critical_path, account->sent_max, account->sent_bound,
            account->ok ? "" : ": ", account->ok ? "" : why);
}

/* The same as a row of a table. A rejected schedule has no numbers to show. */
static void print_markdown(FILE *file, const struct ronde_account *account)
{
    fprintf(file, "| %s | `%s` ", ronde_collective_text(account->collective), account->algorithm);
    if (account->ok)
        fprintf(file, "| %llu | %.4g | %.4g | %.4g | %.4g | %u | %u |\n",
                (unsigned long long)account->messages, account->sent_max, account->sent_bound,
                account->received_max, account->received_bound, account->proof->critical_path,
                account->proof->min_depth);
    else
        fputs("| REJECTED | | | | | | |\n", file);
}

static enum ronde_status print(const struct survey *survey, const struct ronde_account *account,
                               const char *why, struct ronde_error *error)
{
    struct ronde_proof_report_row row;
    struct ronde_sink *sink = survey->sink;
    if (survey->options->markdown) {
        print_markdown(sink->file, account);
        return RONDE_OK;
    }
    if (ronde_sink_is_table(sink)) {
        print_line(sink->file, account, why);
        return RONDE_OK;
    }
    ronde_proof_report_layout(account, &row);
    return ronde_sink_row(sink, &row.row, error);
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
    const enum ronde_status status =
        ronde_compile_request_of(survey->options, algorithm->collective, ranks, &request, error);
    if (status != RONDE_OK)
        return status;
    request.algorithm = algorithm->name;
    if (algorithm->supports(&request, &why_not) == RONDE_OK)
        return check_request(survey, &request, error);
    survey->left_out++;
    if (survey->options->verbose)
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
    for (uint32_t i = 0; i < total; i++)
        for (uint32_t k = 0; k < survey->rank_counts && status == RONDE_OK; k++)
            if (is_asked_for(survey, all[i]))
                status = check(survey, all[i], survey->ranks[k], error);
    if (status == RONDE_OK && ronde_sink_is_table(survey->sink))
        fprintf(survey->sink->file, "%u schedules, %u rejected, %u not supported\n",
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
        fprintf(survey->sink->file,
                "%s### %u ranks\n\n"
                "| collective | algorithm | messages | sent | least | received | least | path | "
                "depth |\n|---|---|---|---|---|---|---|---|---|\n",
                k ? "\n" : "", survey->ranks[k]);
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
    for (uint32_t k = 0; k < options->rank_counts; k++)
        survey->ranks[survey->rank_counts++] = options->ranks[k];
    if (survey->rank_counts > 0)
        return;
    if (options->markdown) {
        survey->ranks[survey->rank_counts++] = 8;
        survey->ranks[survey->rank_counts++] = 12;
        return;
    }
    for (uint32_t ranks = FIRST_RANKS; ranks <= LAST_RANKS; ranks++)
        survey->ranks[survey->rank_counts++] = ranks;
}

enum ronde_status ronde_prove_all(const struct ronde_options *options, struct ronde_sink *sink,
                                  uint32_t *out_rejected, struct ronde_error *error)
{
    struct survey survey = {.options = options, .sink = sink, .only = RONDE_COLLECTIVE_COUNT};
    enum ronde_status status = RONDE_OK;
    if (options->argument_count > 0)
        status = ronde_parse_collective(options->arguments[0], &survey.only, error);
    if (status != RONDE_OK)
        return status;
    choose_ranks(&survey);
    status = options->markdown ? check_tables(&survey, error) : check_lines(&survey, error);
    *out_rejected = survey.rejected;
    return status;
}
