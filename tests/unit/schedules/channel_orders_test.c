/* Orders of ranks for each channel: kept by compiling, proving and the text form, reached by every algorithm, checked. */
#include "support/schedule.h"
#include "support/suite.h"

#include "ronde/cursor.h"
#include "ronde/schedules.h"

/* Channel k starts at rank k and goes k + 1 at a time; ranks is a prime. */
static void fill_orders(uint32_t *orders, uint32_t ranks, uint32_t channels)
{
    for (uint32_t k = 0; k < channels; k++)
        for (uint32_t q = 0; q < ranks; q++)
            orders[k * ranks + q] = (k + q * (k + 1)) % ranks;
}

static void expect_channel(const struct ronde_schedule *schedule, uint32_t channel,
                           const uint32_t *order)
{
    for (uint32_t q = 0; q < schedule->ranks; q++)
        CU_ASSERT_EQUAL(ronde_channel_rank(&schedule->channels[channel], q), order[q]);
}

/* Proved, printed and read back. */
static void channel_orders_are_kept_through_the_text_form(void)
{
    enum { RANKS = 13, CHANNELS = 4 };
    uint32_t orders[RANKS * CHANNELS];
    const struct ronde_mem *mem = ronde_mem_default();
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "ring",
                                                  .ranks = RANKS,
                                                  .channels = CHANNELS,
                                                  .channel_orders = orders};
    struct ronde_schedule *again = NULL;
    char *text = NULL;
    size_t bytes = 0;
    fill_orders(orders, RANKS, CHANNELS);
    struct ronde_schedule *schedule = schedule_compile_request(&request, NULL);
    CU_ASSERT_EQUAL_FATAL(ronde_schedule_print(schedule, mem, &text, &bytes, NULL), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_schedule_read(text, bytes, "text", mem, NULL, &again, NULL),
                          RONDE_OK);
    for (uint32_t k = 0; k < CHANNELS; k++) {
        expect_channel(schedule, k, orders + k * RANKS);
        expect_channel(again, k, orders + k * RANKS);
    }
    CU_ASSERT_EQUAL(schedule->hash, again->hash);
    CU_ASSERT(schedule->proof.quotient);
    ronde_mem_free(mem, text, bytes + 1, 1);
    ronde_schedule_destroy(schedule);
    ronde_schedule_destroy(again);
}

/* Two trees for each channel asked for: both are read through that channel's order. */
static void channel_orders_reach_all_channels_of_an_algorithm(void)
{
    enum { RANKS = 7, CHANNELS = 3 };
    uint32_t orders[RANKS * CHANNELS];
    struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                            .algorithm = "double_tree",
                                            .ranks = RANKS,
                                            .channels = CHANNELS,
                                            .channel_orders = orders};
    fill_orders(orders, RANKS, CHANNELS);
    struct ronde_schedule *schedule = schedule_compile_request(&request, NULL);
    CU_ASSERT_EQUAL(schedule->channel_count, 2 * CHANNELS);
    for (uint32_t k = 0; k < CHANNELS; k++) {
        expect_channel(schedule, 2 * k, orders + k * RANKS);
        for (uint32_t q = 0; q < RANKS; q++)
            CU_ASSERT_EQUAL(ronde_channel_rank(&schedule->channels[2 * k + 1], q),
                            orders[k * RANKS + (q + 1) % RANKS]);
    }
    ronde_schedule_destroy(schedule);
}

static void channel_orders_that_are_none_are_refused(void)
{
    uint32_t orders[] = {0, 1, 2, 2, 1, 1};
    struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                            .algorithm = "ring",
                                            .ranks = 3,
                                            .channels = 2,
                                            .channel_orders = orders};
    struct ronde_schedule *schedule = NULL;
    const struct ronde_mem *mem = ronde_mem_default();
    CU_ASSERT_EQUAL(ronde_compile(&request, mem, NULL, &schedule, NULL), RONDE_REJECTED);
    orders[4] = 7;
    CU_ASSERT_EQUAL(ronde_compile(&request, mem, NULL, &schedule, NULL), RONDE_REJECTED);
    request.order = orders;
    CU_ASSERT_EQUAL(ronde_compile(&request, mem, NULL, &schedule, NULL), RONDE_BAD_ARGUMENT);
    request.order = NULL;
    request.channels = 0;
    CU_ASSERT_EQUAL(ronde_compile(&request, mem, NULL, &schedule, NULL), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NULL(schedule);
}

/* An algorithm that needs neighbouring ranks side by side checks the order of every channel. */
static void channel_orders_are_judged_by_the_algorithm(void)
{
    const uint32_t orders[] = {0, 1, 2, 3, 0, 2, 1, 3};
    const struct ronde_compile_request request = {.collective = RONDE_SEND_RECV,
                                                  .algorithm = "direct",
                                                  .ranks = 4,
                                                  .channels = 2,
                                                  .channel_orders = orders};
    struct ronde_schedule *schedule = NULL;
    CU_ASSERT_EQUAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL),
                    RONDE_UNSUPPORTED);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(channel_orders_are_kept_through_the_text_form),
        SUITE_CASE(channel_orders_reach_all_channels_of_an_algorithm),
        SUITE_CASE(channel_orders_that_are_none_are_refused),
        SUITE_CASE(channel_orders_are_judged_by_the_algorithm),
    };
    return suite_run("channel_orders", cases, sizeof cases / sizeof cases[0]);
}
