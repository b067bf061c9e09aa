/**
 * Choosing an algorithm: candidates, prices, the cheapest; crossovers worked out by hand, and
 * algorithms that may never win.
 */
#include "support/suite.h"

#include "ronde/choice.h"
#include "ronde/text.h"

#include <math.h>
#include <string.h>

/** Most candidates of any collective, and one that is offered. */
#define MOST_CANDIDATES 32

/** Times closer than this, relatively, are one time computed in two ways. */
#define ROUNDING 1e-9

/** A latency and a port, nothing else: times can be added up in the head. */
static const struct ronde_network plain = {.latency_ns = 1000.0, .port_GBps = 10.0};

/** Costs of every kind. */
static const struct ronde_network rich = {
    .time = {.alpha_ns = 300.0,
             .step_ns = 120.0,
             .launch_ns = 700.0,
             .gamma_GBps = 40.0,
             .copy_GBps = 25.0,
             .lane_GBps = 12.0},
    .latency_ns = 900.0,
    .port_GBps = 15.0,
};

static struct ronde_choice open_choice(enum ronde_collective collective, uint32_t ranks)
{
    const struct ronde_compile_request request = {.collective = collective, .ranks = ranks};
    struct ronde_choice choice;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_choice_init(&request, ronde_mem_default(), &choice, &error),
                          RONDE_OK);
    CU_ASSERT_FATAL(choice.count > 0 && choice.count < MOST_CANDIDATES);
    return choice;
}

static void price(const struct ronde_choice *choice, uint64_t count, uint64_t slot_bytes,
                  const struct ronde_network *network, struct ronde_quote *out_quotes)
{
    const struct ronde_load load = {.count = count, .dtype = RONDE_FLOAT32, .slot_bytes = slot_bytes};
    const struct ronde_pricer pricer = ronde_network_pricer(network);
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_choice_price(choice, &load, &pricer, out_quotes, &error), RONDE_OK);
}

static const char *winner(const struct ronde_choice *choice, uint64_t count,
                          const struct ronde_network *network)
{
    struct ronde_quote quotes[MOST_CANDIDATES];
    price(choice, count, 0, network, quotes);
    return choice->candidates[ronde_choice_best(choice, quotes, RONDE_NONE)].request.algorithm;
}

/*
 * Four ranks, a = 1000 ns, 10 bytes a ns, blocks of n bytes in one piece. direct_one_step: three blocks through every
 * port, a + 3 n / 10. direct: three quarters there and three back, 2 a + 6 n / 40. All others take more messages and no
 * fewer bytes (ring 6 a + 6 n / 40, rabenseifner 4 a + 6 n / 40). So n = 20 a / 3 = 6,667 bytes parts the two.
 */
static void crossover_is_where_the_formulas_say(void)
{
    struct ronde_choice choice = open_choice(RONDE_ALL_REDUCE, 4);
    struct ronde_quote quotes[MOST_CANDIDATES];
    CU_ASSERT_STRING_EQUAL(winner(&choice, 16, &plain), "direct_one_step");
    CU_ASSERT_STRING_EQUAL(winner(&choice, 6656 / 4, &plain), "direct_one_step");
    CU_ASSERT_STRING_EQUAL(winner(&choice, 6720 / 4, &plain), "direct");
    CU_ASSERT_STRING_EQUAL(winner(&choice, 1u << 20, &plain), "direct");
    price(&choice, 6400 / 4, 0, &plain, quotes);
    CU_ASSERT_DOUBLE_EQUAL(quotes[ronde_choice_find(&choice, "direct_one_step")].time_ns, 2920,
                           1e-6);
    CU_ASSERT_DOUBLE_EQUAL(quotes[ronde_choice_find(&choice, "direct")].time_ns, 2960, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(quotes[ronde_choice_find(&choice, "ring")].time_ns, 6960, 1e-6);
    ronde_choice_fini(&choice);
}

/*
 * The same ranks, and reductions at 1 byte a ns: direct_one_step adds 3 n, direct and ring add 3 n / 4, and direct wins from
 * a + 3.3 n = 2 a + 0.9 n on: n = 417 bytes.
 */
static void crossover_moves_with_the_machine(void)
{
    struct ronde_network slow = plain;
    struct ronde_choice choice = open_choice(RONDE_ALL_REDUCE, 4);
    slow.time.gamma_GBps = 1.0;
    CU_ASSERT_STRING_EQUAL(winner(&choice, 320 / 4, &slow), "direct_one_step");
    CU_ASSERT_STRING_EQUAL(winner(&choice, 512 / 4, &slow), "direct");
    ronde_choice_fini(&choice);
}

/* Chunks of a ring that differ by a grain: the formula is a bound, the longest path is the time. */
static void longest_path_where_only_chunks_differ(void)
{
    struct ronde_choice choice = open_choice(RONDE_ALL_REDUCE, 4);
    struct ronde_quote quotes[MOST_CANDIDATES];
    const uint32_t ring = ronde_choice_find(&choice, "ring");
    const uint32_t tree = ronde_choice_find(&choice, "tree");
    price(&choice, 64, 0, &rich, quotes);
    CU_ASSERT_STRING_EQUAL(quotes[ring].engine, "closed_form");
    CU_ASSERT(quotes[ring].is_exact);
    price(&choice, 1021, 64, &rich, quotes);
    CU_ASSERT_STRING_EQUAL(quotes[ring].engine, "dag");
    CU_ASSERT(quotes[ring].is_exact);
    /* Below an inner node of the tree flows share a port, which no path includes. */
    CU_ASSERT_STRING_EQUAL(quotes[tree].engine, "closed_form");
    CU_ASSERT(!quotes[tree].is_exact);
    ronde_choice_fini(&choice);
}

/* Recursive halving has a program per position: on 8192 its chunks are more than are followed. */
static void what_is_too_large_to_prove_does_not_compete(void)
{
    struct ronde_choice choice = open_choice(RONDE_REDUCE_SCATTER, 8192);
    CU_ASSERT(ronde_choice_find(&choice, "ring") != RONDE_NONE);
    CU_ASSERT(ronde_choice_find(&choice, "recursive_halving") == RONDE_NONE);
    ronde_choice_fini(&choice);
}

/*
 * No candidate is cheaper than the winner, none but the winner than the runner-up, and choosing
 * again changes nothing.
 */
static void check_best(const struct ronde_choice *choice, uint64_t count, uint64_t slot_bytes)
{
    struct ronde_quote quotes[MOST_CANDIDATES], again[MOST_CANDIDATES];
    price(choice, count, slot_bytes, &rich, quotes);
    price(choice, count, slot_bytes, &rich, again);
    const uint32_t best = ronde_choice_best(choice, quotes, RONDE_NONE);
    const uint32_t second = ronde_choice_best(choice, quotes, best);
    CU_ASSERT_FATAL(best < choice->count);
    CU_ASSERT(second < choice->count || choice->count == 1);
    CU_ASSERT(choice->candidates[best].is_eligible);
    CU_ASSERT_EQUAL(ronde_choice_best(choice, again, RONDE_NONE), best);
    for (uint32_t i = 0; i < choice->count; i++) {
        CU_ASSERT(isfinite(quotes[i].time_ns) && quotes[i].time_ns >= 0);
        CU_ASSERT(memcmp(&quotes[i].time_ns, &again[i].time_ns, sizeof(double)) == 0);
        CU_ASSERT(quotes[best].time_ns * (1 - ROUNDING) <= quotes[i].time_ns);
        CU_ASSERT(i == best || quotes[second].time_ns * (1 - ROUNDING) <= quotes[i].time_ns);
    }
}

static void winner_is_never_worse_than_anyone(void)
{
    static const uint32_t ranks[] = {1, 2, 3, 6, 8, 13, 32};
    static const uint64_t counts[] = {0, 1, 2, 250, 4096, 70001, 1u << 20};
    for (int c = 0; c < RONDE_COLLECTIVE_COUNT; c++)
        for (size_t r = 0; r < sizeof ranks / sizeof ranks[0]; r++) {
            struct ronde_choice choice = open_choice((enum ronde_collective)c, ranks[r]);
            for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
                check_best(&choice, counts[i], 0);
                check_best(&choice, counts[i], 65536);
            }
            ronde_choice_fini(&choice);
        }
}

/* Two lists of the same candidates, opened apart, agree to the last bit: ranks that hold the same numbers do. */
static void two_ranks_choose_alike(void)
{
    struct ronde_choice one = open_choice(RONDE_ALL_REDUCE, 12);
    struct ronde_choice other = open_choice(RONDE_ALL_REDUCE, 12);
    struct ronde_quote mine[MOST_CANDIDATES], theirs[MOST_CANDIDATES];
    CU_ASSERT_EQUAL_FATAL(one.count, other.count);
    for (uint64_t count = 1; count < 1u << 22; count = count * 3 + 1) {
        price(&one, count, 4096, &rich, mine);
        price(&other, count, 4096, &rich, theirs);
        CU_ASSERT_EQUAL(ronde_choice_best(&one, mine, RONDE_NONE),
                        ronde_choice_best(&other, theirs, RONDE_NONE));
    }
    for (uint32_t i = 0; i < one.count; i++)
        CU_ASSERT_EQUAL(one.candidates[i].schedule->hash, other.candidates[i].schedule->hash);
    ronde_choice_fini(&one);
    ronde_choice_fini(&other);
}

/*
 * Three ranks that send all to all and add up in an order of their own: right values, but bits that may differ from rank to
 * rank. It is never chosen, however cheap.
 */
static const char rotated[] = "ronde 1\n"
                              "collective all_reduce\n"
                              "algorithm rotated\n"
                              "ranks 3\n"
                              "rotate\n"
                              "\n"
                              "program 0\n"
                              "    send in[0] -> +1\n"
                              "    send in[0] -> +2\n"
                              "    rrc in[0] out[0] <- -1\n"
                              "    rrc out[0] out[0] <- -2\n";

/* A time for each name: the cheapest by it would win. */
static enum ronde_status price_by_name(const void *self, struct ronde_candidate *candidate,
                                       const struct ronde_load *load, const struct ronde_mem *mem,
                                       struct ronde_quote *out_quote, struct ronde_error *error)
{
    (void)load, (void)mem, (void)error;
    const bool is_it = strcmp(candidate->request.algorithm, self) == 0;
    *out_quote =
        (struct ronde_quote){.time_ns = is_it ? 1.0 : 2.0, .engine = "by_name", .is_exact = true};
    return RONDE_OK;
}

static void rank_dependent_bits_never_win(void)
{
    struct ronde_choice choice = open_choice(RONDE_ALL_REDUCE, 3);
    struct ronde_schedule *schedule = NULL;
    struct ronde_quote quotes[MOST_CANDIDATES];
    struct ronde_error error = {0};
    const struct ronde_load load = {.count = 1, .dtype = RONDE_FLOAT32};
    const struct ronde_pricer pricer = {.self = "rotated", .price = price_by_name};
    const enum ronde_status status =
        ronde_schedule_read(rotated, sizeof rotated - 1, "rotated", ronde_mem_default(), NULL,
                            &schedule, &error);
    if (status != RONDE_OK)
        suite_note("%s", error.message);
    CU_ASSERT_EQUAL_FATAL(status, RONDE_OK);
    CU_ASSERT_FATAL(schedule->proof.rank_dependent_bits);
    CU_ASSERT_EQUAL_FATAL(ronde_choice_offer(&choice, schedule, NULL, &error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_choice_price(&choice, &load, &pricer, quotes, &error), RONDE_OK);
    const uint32_t offered = ronde_choice_find(&choice, "rotated");
    CU_ASSERT_EQUAL(offered, choice.count - 1);
    CU_ASSERT(!choice.candidates[offered].is_eligible);
    CU_ASSERT_EQUAL(quotes[offered].time_ns, 1.0);
    const uint32_t best = ronde_choice_best(&choice, quotes, RONDE_NONE);
    CU_ASSERT(best != offered && best != RONDE_NONE);
    CU_ASSERT_NOT_EQUAL(ronde_choice_best(&choice, quotes, best), offered);
    ronde_choice_fini(&choice);
    ronde_schedule_destroy(schedule);
}

/** Bounds and times by name, and how often a time was asked for. */
struct bounded {
    const char *name;
    double bound_ns;
    double time_ns;
    unsigned *asked;
};

static const struct bounded *bounded_of(const void *self, const struct ronde_candidate *candidate)
{
    const struct bounded *row = self;
    while (row->name && strcmp(row->name, candidate->request.algorithm) != 0)
        row++;
    return row;
}

static enum ronde_status bound(const void *self, struct ronde_candidate *candidate,
                               const struct ronde_load *load, const struct ronde_mem *mem,
                               struct ronde_quote *out_quote, struct ronde_error *error)
{
    (void)load, (void)mem, (void)error;
    *out_quote = (struct ronde_quote){.time_ns = bounded_of(self, candidate)->bound_ns,
                                      .engine = "bound",
                                      .is_bound = true};
    return RONDE_OK;
}

static enum ronde_status settle(const void *self, struct ronde_candidate *candidate,
                                const struct ronde_load *load, double most_ns, double fastest_ns,
                                struct ronde_quote *out_quote, struct ronde_error *error)
{
    const struct bounded *row = bounded_of(self, candidate);
    const bool is_beyond =
        row->time_ns > most_ns && ronde_candidate_steps(candidate, load) >= RONDE_LONG_STEPS;
    (void)error;
    (void)fastest_ns;
    ++*row->asked;
    *out_quote = (struct ronde_quote){.time_ns = is_beyond ? most_ns : row->time_ns,
                                      .engine = "time",
                                      .is_bound = is_beyond,
                                      .is_exact = !is_beyond};
    return RONDE_OK;
}

/* The cheapest by its bound is not the cheapest by its time; whose bound is beyond the two best is never asked. */
static void bounds_are_settled_while_they_may_win(void)
{
    unsigned asked = 0;
    const struct bounded rows[] = {{"ring", 1, 9, &asked},
                                   {"tree", 2, 3, &asked},
                                   {"direct", 3.5, 4, &asked},
                                   {NULL, 20, 30, &asked}};
    const struct ronde_pricer pricer = {.self = rows, .price = bound, .settle = settle};
    const struct ronde_load load = {.count = 1, .dtype = RONDE_FLOAT32};
    struct ronde_choice choice = open_choice(RONDE_ALL_REDUCE, 4);
    struct ronde_quote quotes[MOST_CANDIDATES];
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_choice_price(&choice, &load, &pricer, quotes, &error), RONDE_OK);
    const uint32_t best = ronde_choice_best(&choice, quotes, RONDE_NONE);
    const uint32_t second = ronde_choice_best(&choice, quotes, best);
    CU_ASSERT_STRING_EQUAL(choice.candidates[best].request.algorithm, "tree");
    CU_ASSERT_STRING_EQUAL(choice.candidates[second].request.algorithm, "direct");
    CU_ASSERT(!quotes[best].is_bound && quotes[best].is_exact && !quotes[second].is_bound);
    CU_ASSERT_EQUAL(asked, 3);
    CU_ASSERT_EQUAL(ronde_choice_settle(&choice, &load, &pricer, quotes, &error), RONDE_OK);
    CU_ASSERT_EQUAL(asked, choice.count);
    CU_ASSERT_EQUAL(ronde_choice_time(&choice, ronde_choice_find(&choice, "ring"), &load, &pricer,
                                      &quotes[0], &error),
                    RONDE_OK);
    CU_ASSERT_EQUAL(quotes[0].time_ns, 9);
    ronde_choice_fini(&choice);
}

/* A million steps of direct, the cheapest by its bound, are replayed only as far as the others take. */
static void long_replays_end_where_another_has_won(void)
{
    unsigned asked = 0;
    const struct bounded rows[] = {{"direct", 1, 90, &asked},
                                   {"tree", 2, 3, &asked},
                                   {NULL, 8, 8.5, &asked}};
    const struct ronde_pricer pricer = {.self = rows, .price = bound, .settle = settle};
    const struct ronde_load load = {.count = 1, .dtype = RONDE_FLOAT32};
    struct ronde_choice choice = open_choice(RONDE_ALL_REDUCE, 520);
    struct ronde_quote quotes[MOST_CANDIDATES];
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_choice_price(&choice, &load, &pricer, quotes, &error), RONDE_OK);
    const uint32_t best = ronde_choice_best(&choice, quotes, RONDE_NONE);
    const uint32_t direct = ronde_choice_find(&choice, "direct");
    CU_ASSERT_STRING_EQUAL(choice.candidates[best].request.algorithm, "tree");
    CU_ASSERT(ronde_candidate_steps(&choice.candidates[direct], &load) >= RONDE_LONG_STEPS);
    CU_ASSERT(quotes[direct].is_bound);
    CU_ASSERT_DOUBLE_EQUAL(quotes[direct].time_ns, 8.5, 1e-6);
    CU_ASSERT_EQUAL(asked, 4);
    CU_ASSERT_EQUAL(ronde_choice_time(&choice, direct, &load, &pricer, &quotes[direct], &error),
                    RONDE_OK);
    CU_ASSERT_EQUAL(quotes[direct].time_ns, 90);
    ronde_choice_fini(&choice);
}

/** All take 20; whose bound is not 0 promises that much. */
static enum ronde_status promise(const void *self, struct ronde_candidate *candidate,
                                 const struct ronde_load *load, const struct ronde_mem *mem,
                                 struct ronde_quote *out_quote, struct ronde_error *error)
{
    (void)load, (void)mem, (void)error;
    *out_quote =
        (struct ronde_quote){.time_ns = 20,
                             .engine = "time",
                             .promised_ns = bounded_of(self, candidate)->bound_ns,
                             .promised_slot_bytes = bounded_of(self, candidate)->bound_ns > 0};
    return RONDE_OK;
}

static enum ronde_status keep_promise(const void *self, struct ronde_candidate *candidate,
                                      const struct ronde_load *load, double most_ns,
                                      double fastest_ns, struct ronde_quote *out_quote,
                                      struct ronde_error *error)
{
    const struct bounded *row = bounded_of(self, candidate);
    (void)load, (void)most_ns, (void)error;
    ++*row->asked;
    if (out_quote->promised_ns < fastest_ns)
        out_quote->time_ns = row->time_ns;
    out_quote->promised_slot_bytes = 0;
    return RONDE_OK;
}

/* What promises least is asked first; who promises more than that took has nothing to win, but where nobody else is asked. */
static void promises_are_kept_while_they_may_win(void)
{
    unsigned asked = 0;
    const struct bounded rows[] = {{"ring", 5, 6, &asked},
                                   {"tree", 2, 3, &asked},
                                   {NULL, 0, 20, &asked}};
    const struct ronde_pricer pricer = {.self = rows, .price = promise, .settle = keep_promise};
    const struct ronde_load load = {.count = 1, .dtype = RONDE_FLOAT32};
    struct ronde_choice choice = open_choice(RONDE_ALL_REDUCE, 4);
    struct ronde_quote quotes[MOST_CANDIDATES];
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_choice_price(&choice, &load, &pricer, quotes, &error), RONDE_OK);
    const uint32_t ring = ronde_choice_find(&choice, "ring");
    const uint32_t tree = ronde_choice_find(&choice, "tree");
    CU_ASSERT_EQUAL(ronde_choice_best(&choice, quotes, RONDE_NONE), tree);
    CU_ASSERT_EQUAL(quotes[tree].time_ns, 3);
    CU_ASSERT_EQUAL(quotes[ring].time_ns, 20);
    CU_ASSERT_EQUAL(asked, 2);
    CU_ASSERT_EQUAL(ronde_choice_time(&choice, ring, &load, &pricer, &quotes[ring], &error),
                    RONDE_OK);
    CU_ASSERT_EQUAL(quotes[ring].time_ns, 6);
    ronde_choice_fini(&choice);
}

/* A user's own schedule competes, with its longest path; one of other ranks does not. */
static void offered_schedule_competes(void)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "direct_one_step",
                                                  .ranks = 3};
    struct ronde_choice choice = open_choice(RONDE_ALL_REDUCE, 3);
    struct ronde_choice other = open_choice(RONDE_ALL_REDUCE, 4);
    struct ronde_schedule *schedule = NULL;
    struct ronde_quote quotes[MOST_CANDIDATES];
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL(ronde_choice_offer(&choice, schedule, NULL, &error), RONDE_OK);
    const uint32_t offered = choice.count - 1;
    price(&choice, 4, 0, &plain, quotes);
    CU_ASSERT(choice.candidates[offered].is_eligible);
    CU_ASSERT_STRING_EQUAL(quotes[offered].engine, "dag");
    CU_ASSERT(!quotes[offered].is_exact);
    CU_ASSERT(quotes[offered].time_ns > 0);
    CU_ASSERT_EQUAL(ronde_choice_offer(&other, schedule, NULL, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT(strstr(error.message, "on 3 ranks") != NULL);
    ronde_choice_fini(&choice);
    ronde_choice_fini(&other);
    ronde_schedule_destroy(schedule);
}

/*
 * On one node hierarchical_direct is direct in four lanes, the same 48 steps and the same price: the simpler one is named.
 */
static void simpler_of_equals_is_chosen(void)
{
    struct ronde_choice choice = open_choice(RONDE_ALL_REDUCE, 4);
    struct ronde_quote quotes[MOST_CANDIDATES];
    price(&choice, 1u << 20, 0, &plain, quotes);
    const uint32_t best = ronde_choice_best(&choice, quotes, RONDE_NONE);
    const uint32_t second = ronde_choice_best(&choice, quotes, best);
    CU_ASSERT_EQUAL(best, ronde_choice_find(&choice, "direct"));
    CU_ASSERT_EQUAL(second, ronde_choice_find(&choice, "hierarchical_direct"));
    CU_ASSERT_EQUAL(quotes[best].time_ns, quotes[second].time_ns);
    ronde_choice_fini(&choice);
}

static void impossible_requests_are_refused(void)
{
    const struct ronde_compile_request none = {.collective = RONDE_ALL_REDUCE};
    const struct ronde_compile_request root = {.collective = RONDE_BROADCAST, .ranks = 4, .root = 4};
    const uint32_t shape[] = {3, 5};
    struct ronde_compile_request shaped = {.collective = RONDE_BARRIER,
                                           .ranks = 4,
                                           .channels = 2000,
                                           .shape_count = 2};
    struct ronde_choice choice;
    struct ronde_error error = {0};
    memcpy(shaped.shape, shape, sizeof shape);
    CU_ASSERT_EQUAL(ronde_choice_init(&none, ronde_mem_default(), &choice, &error),
                    RONDE_BAD_ARGUMENT);
    CU_ASSERT(choice.count == 0 && choice.candidates == NULL);
    CU_ASSERT(strstr(error.message, "ranks 0") != NULL);
    error = (struct ronde_error){0};
    CU_ASSERT_EQUAL(ronde_choice_init(&root, ronde_mem_default(), &choice, &error),
                    RONDE_BAD_ARGUMENT);
    CU_ASSERT(strstr(error.message, "root 4") != NULL);
    CU_ASSERT_EQUAL(ronde_choice_init(&shaped, ronde_mem_default(), &choice, &error),
                    RONDE_BAD_ARGUMENT);
    ronde_choice_fini(&choice);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"crossover_is_where_the_formulas_say", crossover_is_where_the_formulas_say},
        {"crossover_moves_with_the_machine", crossover_moves_with_the_machine},
        {"longest_path_where_only_chunks_differ", longest_path_where_only_chunks_differ},
        {"what_is_too_large_to_prove_does_not_compete", what_is_too_large_to_prove_does_not_compete},
        {"winner_is_never_worse_than_anyone", winner_is_never_worse_than_anyone},
        {"two_ranks_choose_alike", two_ranks_choose_alike},
        {"rank_dependent_bits_never_win", rank_dependent_bits_never_win},
        {"bounds_are_settled_while_they_may_win", bounds_are_settled_while_they_may_win},
        {"long_replays_end_where_another_has_won", long_replays_end_where_another_has_won},
        {"promises_are_kept_while_they_may_win", promises_are_kept_while_they_may_win},
        {"offered_schedule_competes", offered_schedule_competes},
        {"simpler_of_equals_is_chosen", simpler_of_equals_is_chosen},
        {"impossible_requests_are_refused", impossible_requests_are_refused},
    };
    return suite_run("choice", cases, sizeof cases / sizeof cases[0]);
}
