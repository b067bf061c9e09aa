/*
 * The survey: everything in the registry is proved; the bounds that papers claim are met; docs/reference/golden/counts.md is what
 * it prints, and every excess is explained by its algorithm.
 */
#include "support/files.h"
#include "support/golden.h"
#include "support/said.h"
#include "support/suite.h"

#include "cli/print/results.h"

#include "ronde/schedules.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *run(const char *arguments, int code)
{
    char command[512];
    snprintf(command, sizeof command, "\"%s\" %s 2>/dev/null", suite_ronde(), arguments);
    return said_by(command, code);
}

static uint32_t count_lines(const char *text, const char *start)
{
    uint32_t count = 0;
    for (const char *at = text; *at; at = strchr(at, '\n') + 1) {
        count += strncmp(at, start, strlen(start)) == 0;
        if (!strchr(at, '\n'))
            break;
    }
    return count;
}

static void every_algorithm_is_proved_on_2_to_33_ranks(void)
{
    uint32_t algorithms = 0;
    ronde_algorithms(&algorithms);
    char *said = run("check --all", 0);
    char *same = run("check --all -N 2..33", 0);
    const uint32_t proved = count_lines(said, "     yes ");
    CU_ASSERT_STRING_EQUAL(said, same);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, " 0 rejected"));
    /* A line for each pair; what is not supported is counted, and may not become everything. */
    CU_ASSERT(proved <= algorithms * 32 && proved > algorithms * 24);
    free(same);
    free(said);
}

/* Algorithms of all_reduce that do not serve a torus of three axes. */
static uint32_t count_refusals(void)
{
    uint32_t total = 0, refusals = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&total);
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .ranks = 8,
                                                  .shape_count = 3,
                                                  .shape = {2, 2, 2}};
    for (uint32_t i = 0; i < total; i++)
        refusals +=
            all[i]->collective == RONDE_ALL_REDUCE && all[i]->supports(&request, NULL) != RONDE_OK;
    return refusals;
}

/* What is left out is said with its reason, and the exit code stays. */
static void verbose_says_what_is_left_out(void)
{
    char command[512], *said = NULL;
    snprintf(command, sizeof command,
             "\"%s\" check --all all_reduce --shape 2x2x2 --verbose 2>&1 >/dev/null", suite_ronde());
    CU_ASSERT_EQUAL(files_command(command, &said), 0);
    CU_ASSERT(strncmp(said, "left out: all_reduce hierarchical on 8 ranks: ", 46) == 0);
    free(said);
    said = run("check --all all_reduce --shape 2x2x2", 0);
    snprintf(command, sizeof command, "%u not supported", count_refusals());
    CU_ASSERT_PTR_NOT_NULL(strstr(said, command));
    free(said);
}

/* Accounts of an algorithm; the proof must outlive it. */
static struct ronde_account account_of(enum ronde_collective collective, const char *algorithm,
                                       uint32_t ranks, struct ronde_proof *out_proof)
{
    const struct ronde_compile_request request = {.collective = collective,
                                                  .algorithm = algorithm,
                                                  .ranks = ranks};
    struct ronde_schedule *schedule = NULL;
    CU_ASSERT_EQUAL_FATAL(ronde_compile(&request, ronde_mem_default(), out_proof, &schedule, NULL),
                          RONDE_OK);
    const struct ronde_account account = ronde_proof_report_of(schedule, out_proof);
    ronde_schedule_destroy(schedule);
    return account;
}

/* Fractions of blocks: equal up to the rounding of a quotient. */
static bool is_same(double a, double b)
{
    return fabs(a - b) <= 1e-9 * b;
}

static uint32_t ceil_log2(uint32_t n)
{
    uint32_t log = 0;
    while ((UINT32_C(1) << log) < n)
        log++;
    return log;
}

static void expect_least(enum ronde_collective collective, const char *algorithm, uint32_t ranks)
{
    struct ronde_proof proof;
    const struct ronde_account account = account_of(collective, algorithm, ranks, &proof);
    const bool is_least = is_same(account.sent_max, account.sent_bound) &&
                          is_same(account.received_max, account.received_bound);
    CU_ASSERT_TRUE(is_least);
    if (!is_least)
        suite_note("%s %s on %u ranks sends %g of %g, receives %g of %g",
                   ronde_collective_text(collective), algorithm, ranks, account.sent_max,
                   account.sent_bound, account.received_max, account.received_bound);
}

static void ring_and_direct_move_the_least(void)
{
    static const enum ronde_collective collectives[] = {RONDE_ALL_REDUCE, RONDE_REDUCE_SCATTER,
                                                        RONDE_ALL_GATHER};
    for (uint32_t n = 2; n <= 33; n++)
        for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; i++) {
            expect_least(collectives[i], "ring", n);
            expect_least(collectives[i], "direct", n);
        }
}

static void rabenseifner_moves_the_least_on_powers_of_two(void)
{
    for (uint32_t n = 2; n <= 64; n *= 2) {
        struct ronde_proof proof;
        const struct ronde_account account = account_of(RONDE_ALL_REDUCE, "rabenseifner", n, &proof);
        CU_ASSERT_TRUE(is_same(account.sent_max, account.sent_bound));
        CU_ASSERT_EQUAL(proof.critical_path, 2 * ceil_log2(n));
    }
}

/* A block more for the partner of a surplus rank, and a message there and back. */
static void rabenseifner_pays_a_block_for_surplus_ranks(void)
{
    for (uint32_t n = 3; n <= 33; n++) {
        struct ronde_proof proof;
        const uint32_t power = UINT32_C(1) << (ceil_log2(n + 1) - 1);
        const struct ronde_account account = account_of(RONDE_ALL_REDUCE, "rabenseifner", n, &proof);
        if (power == n)
            continue;
        struct ronde_proof of_power;
        CU_ASSERT_TRUE(
            is_same(account.sent_max,
                    account_of(RONDE_ALL_REDUCE, "rabenseifner", power, &of_power).sent_bound + 1.0));
        CU_ASSERT_EQUAL(proof.critical_path, 2 * ceil_log2(power) + 2);
    }
}

/* Two blocks: no more than N / (N-1) times the least. */
static void double_tree_sends_two_blocks(void)
{
    for (uint32_t n = 4; n <= 33; n++) {
        struct ronde_proof proof;
        const struct ronde_account account = account_of(RONDE_ALL_REDUCE, "double_tree", n, &proof);
        CU_ASSERT_TRUE(is_same(account.sent_max, 2.0));
        CU_ASSERT_TRUE(is_same(account.received_max, 2.0));
        CU_ASSERT_TRUE(proof.critical_path <= 2 * ceil_log2(n));
        expect_least(RONDE_BROADCAST, "double_tree", n);
        expect_least(RONDE_REDUCE, "double_tree", n);
    }
}

static void rejected_requests_say_what_they_were(void)
{
    const struct ronde_compile_request request = {.collective = RONDE_GATHER,
                                                  .algorithm = "direct",
                                                  .ranks = 5};
    const struct ronde_proof proof = {.steps = 7, .messages = 3};
    const struct ronde_account known = ronde_proof_report_rejected(&request, &proof);
    const struct ronde_account unknown = ronde_proof_report_rejected(NULL, &proof);
    CU_ASSERT(!known.ok && known.is_known && known.ranks == 5 && known.steps == 7);
    CU_ASSERT(known.sent_bound == 1.0 && known.received_bound == 4.0);
    CU_ASSERT(!unknown.ok && !unknown.is_known && unknown.messages == 3);
}

/* What explains the tables, algorithm by algorithm. */
static void print_reasons(FILE *file)
{
    uint32_t total = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&total);
    fputs("\n## Why some move more than the least\n\n"
          "P is the largest power of two in N; [algorithms.md](../algorithms.md) says what the "
          "others cost.\n\n",
          file);
    for (uint32_t i = 0; i < total; i++)
        if (all[i]->why_more)
            fprintf(file, "- %s `%s`: %s.\n", ronde_collective_text(all[i]->collective),
                    all[i]->name, all[i]->why_more);
}

static void the_page_has_what_the_survey_prints(void)
{
    char *text = NULL;
    size_t bytes = 0;
    char *said = run("check --all --markdown", 0);
    FILE *file = open_memstream(&text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs("# Messages and volume of all algorithms\n\n"
          "`ronde check --all --markdown`; written by `RONDE_UPDATE_GOLDEN=1 "
          "build/tests/test_cli_survey`. "
          "[algorithms.md](../algorithms.md)\nsays what the columns are.\n\n",
          file);
    fputs(said, file);
    print_reasons(file);
    CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
    golden_compare("docs/reference/golden/counts.md", text);
    free(text);
    free(said);
}

/* Whether some rank moves more than the least; false where the algorithm does not serve so many ranks. */
static bool has_excess(const struct ronde_algorithm *algorithm, uint32_t ranks)
{
    const struct ronde_compile_request request = {.collective = algorithm->collective,
                                                  .algorithm = algorithm->name,
                                                  .ranks = ranks};
    struct ronde_proof proof;
    if (algorithm->supports(&request, NULL) != RONDE_OK)
        return false;
    const struct ronde_account account =
        account_of(algorithm->collective, algorithm->name, ranks, &proof);
    return !is_same(account.sent_max, account.sent_bound) ||
           !is_same(account.received_max, account.received_bound);
}

/* An algorithm says why it moves more than the least exactly where it does: one node and several, no power of two. */
static void every_excess_is_explained(void)
{
    static const uint32_t ranks[] = {8, 12, 24, 32};
    uint32_t total = 0, excesses = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&total);
    for (uint32_t i = 0; i < total; i++) {
        bool is_found = false;
        for (size_t k = 0; k < sizeof ranks / sizeof ranks[0]; k++)
            is_found = is_found || has_excess(all[i], ranks[k]);
        CU_ASSERT_EQUAL(all[i]->why_more != NULL, is_found);
        if ((all[i]->why_more != NULL) != is_found)
            suite_note("%s `%s` is %s", ronde_collective_text(all[i]->collective), all[i]->name,
                       is_found ? "not explained" : "explained without need");
        excesses += is_found;
    }
    CU_ASSERT(excesses > 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_algorithm_is_proved_on_2_to_33_ranks", every_algorithm_is_proved_on_2_to_33_ranks},
        {"verbose_says_what_is_left_out", verbose_says_what_is_left_out},
        {"ring_and_direct_move_the_least", ring_and_direct_move_the_least},
        {"rabenseifner_moves_the_least_on_powers_of_two",
         rabenseifner_moves_the_least_on_powers_of_two},
        {"rabenseifner_pays_a_block_for_surplus_ranks", rabenseifner_pays_a_block_for_surplus_ranks},
        {"double_tree_sends_two_blocks", double_tree_sends_two_blocks},
        {"rejected_requests_say_what_they_were", rejected_requests_say_what_they_were},
        {"the_page_has_what_the_survey_prints", the_page_has_what_the_survey_prints},
        {"every_excess_is_explained", every_excess_is_explained},
    };
    return suite_run("survey", cases, sizeof cases / sizeof cases[0]);
}
