/*
 * Room for the buffers of a run, before any is taken: on this machine, whatever it has, what is far too much is refused
 * with the numbers and what is next to nothing is not; alone and through a communicator alike.
 */
#include "support/suite.h"

#include "ronde/buffers.h"
#include "ronde/comm.h"
#include "ronde/memory_available.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* More than any machine has, as ranks and bytes of each; products beyond 64 bits come round to little or nothing. */
static const struct {
    uint32_t ranks;
    uint64_t bytes;
} vast[] = {
    {1, UINT64_C(1) << 60},   {16, UINT64_C(1) << 56},       {1, UINT64_MAX - 1},
    {2, UINT64_C(1) << 63},   {4, UINT64_C(1) << 62},        {UINT32_MAX, UINT64_C(1) << 32},
    {3, UINT64_MAX / 3 + 10}, {1u << 31, UINT64_C(1) << 33},
};

static void expect_refused(struct ronde_comm *comm, uint32_t ranks, uint64_t bytes)
{
    struct ronde_error error = {0};
    char who[64];
    snprintf(who, sizeof who, "buffers of %u ranks take ", comm ? 1 : ranks);
    const enum ronde_status status = ronde_memory_check(comm, ranks, bytes, &error);
    CU_ASSERT_EQUAL(status, RONDE_NO_MEMORY);
    if (status != RONDE_NO_MEMORY)
        suite_note("%u ranks of %llu bytes are accepted", ranks, (unsigned long long)bytes);
    CU_ASSERT_EQUAL(strncmp(error.message, who, strlen(who)), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "smaller sizes (-e) or fewer ranks would fit"));
}

static bool is_known(void)
{
    const bool is = ronde_memory_available("").bytes < UINT64_MAX;
    if (!is)
        suite_skip("this system does not say how much memory it has");
    return is;
}

static void more_than_there_is_is_refused(void)
{
    if (!is_known())
        return;
    for (size_t i = 0; i < sizeof vast / sizeof vast[0]; i++)
        expect_refused(NULL, vast[i].ranks, vast[i].bytes);
}

static void next_to_nothing_always_fits(void)
{
    struct ronde_error error = {0};
    for (uint32_t ranks = 0; ranks <= 8; ranks++) {
        CU_ASSERT_EQUAL(ronde_memory_check(NULL, ranks, 1, &error), RONDE_OK);
        CU_ASSERT_EQUAL(ronde_memory_check(NULL, ranks, 0, &error), RONDE_OK);
    }
    CU_ASSERT_EQUAL(ronde_memory_check(NULL, 0, UINT64_MAX, &error), RONDE_OK);
    CU_ASSERT_EQUAL(error.message[0], '\0');
}

/* A little more than there is is refused, half of it is not: other programs may take some meanwhile. */
static void the_limit_is_what_is_available(void)
{
    if (!is_known())
        return;
    struct ronde_error error = {0};
    const struct ronde_memory_available available = ronde_memory_available("");
    CU_ASSERT_EQUAL(ronde_memory_check(NULL, 1, available.bytes / 2, &error), RONDE_OK);
    memset(&error, 0, sizeof error);
    CU_ASSERT_EQUAL(ronde_memory_check(NULL, 4, available.bytes / 2, &error), RONDE_NO_MEMORY);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, available.limit));
}

/* The ranks of a communicator add up what they need and get one answer. */
static void a_communicator_is_asked_as_a_whole(void)
{
    char token[64];
    struct ronde_error error = {0};
    struct ronde_comm *comm = NULL;
    if (!is_known())
        return;
    snprintf(token, sizeof token, "memory-check-%d", (int)getpid());
    const struct ronde_join join = {.token = token, .ranks = 1};
    const struct ronde_comm_options options = {.transport = RONDE_TRANSPORT_SHM};
    CU_ASSERT_EQUAL_FATAL(ronde_comm_join(&join, &options, ronde_mem_default(), &comm, &error),
                          RONDE_OK);
    for (size_t i = 0; i < sizeof vast / sizeof vast[0]; i++)
        expect_refused(comm, vast[i].ranks, vast[i].bytes);
    /* A refusal is an answer: the communicator goes on. */
    CU_ASSERT_EQUAL(ronde_memory_check(comm, 1, 4096, &error), RONDE_OK);
    ronde_comm_abort(comm);
    CU_ASSERT_EQUAL(ronde_memory_check(comm, 1, 4096, &error), RONDE_TIMEOUT);
    ronde_comm_destroy(comm);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"more_than_there_is_is_refused", more_than_there_is_is_refused},
        {"next_to_nothing_always_fits", next_to_nothing_always_fits},
        {"the_limit_is_what_is_available", the_limit_is_what_is_available},
        {"a_communicator_is_asked_as_a_whole", a_communicator_is_asked_as_a_whole},
    };
    return suite_run("memory_check", cases, sizeof cases / sizeof cases[0]);
}
