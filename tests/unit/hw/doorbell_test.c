/*
 * Doorbells as pipes: rank 0 of two, where the test is rank 1, of this process or of none. What rings, what is opened of whom,
 * and what is closed where something fails.
 */
#include "hw/comm/comm_parts.h"
#include "hw/shm/layout.h"
#include "support/heap.h"
#include "support/suite.h"
#include "unit/hw/channel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What rank 1 shows of its pipe. */
struct shown {
    int32_t process;
    int32_t descriptor;
};

/* Two ranks of one host, and rank 1's pipe. */
struct fixture {
    struct heap heap;
    struct ronde_mem mem;
    struct channel channel;
    struct ronde_comm comm;
    uint32_t leaders[2];
    int pipe[2];
    int files; /* open before */
};

static int count_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static bool begin(struct fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    fixture->heap = heap_start(SIZE_MAX, false);
    fixture->mem = heap_mem(&fixture->heap);
    CU_ASSERT_EQUAL_FATAL(pipe2(fixture->pipe, O_NONBLOCK | O_CLOEXEC), 0);
    if (!channel_open(&fixture->channel, 0, 2, &fixture->mem))
        return false;
    fixture->comm = (struct ronde_comm){.mem = &fixture->mem,
                                        .control = fixture->channel.control,
                                        .rank = 0,
                                        .ranks = 2,
                                        .leaders = fixture->leaders};
    fixture->files = count_files();
    return true;
}

static void end(struct fixture *fixture)
{
    ronde_doorbells_close(&fixture->comm);
    ronde_doorbells_close(&fixture->comm);
    CU_ASSERT_EQUAL(count_files(), fixture->files);
    channel_close(&fixture->channel);
    close(fixture->pipe[0]);
    close(fixture->pipe[1]);
    CU_ASSERT_EQUAL(fixture->heap.live_blocks, 0);
    CU_ASSERT_EQUAL(fixture->heap.wrong_sizes, 0);
}

/* Rank 1's parts of what is exchanged: whether it has a pipe, the pipe, whether it has opened rank 0's. */
static void answer(struct fixture *fixture, const struct ronde_error *first,
                   const struct shown *shown, const struct ronde_error *last)
{
    channel_send(&fixture->channel, 1, RONDE_FRAME_ALLGATHER_PART, first, sizeof *first);
    if (first->status != RONDE_OK) {
        /* Without a pipe there is nothing to show: ranks agree twice. */
        channel_send(&fixture->channel, 1, RONDE_FRAME_ALLGATHER_PART, first, sizeof *first);
        return;
    }
    channel_send(&fixture->channel, 1, RONDE_FRAME_ALLGATHER_PART, shown, sizeof *shown);
    channel_send(&fixture->channel, 1, RONDE_FRAME_ALLGATHER_PART, last, sizeof *last);
}

static const struct ronde_error well = {.status = RONDE_OK};

static bool is_readable(int fd)
{
    struct pollfd one = {fd, POLLIN, 0};
    return poll(&one, 1, 0) == 1;
}

static void a_ring_wakes_the_rank_it_is_for(void)
{
    struct fixture fixture;
    struct ronde_error error = {0};
    char bytes[8];
    if (!begin(&fixture))
        return;
    const struct shown shown = {(int32_t)getpid(), fixture.pipe[1]};
    answer(&fixture, &well, &shown, &well);
    CU_ASSERT_EQUAL(ronde_doorbells_open(&fixture.comm, &error), RONDE_OK);
    const struct ronde_doorbells *doorbells = fixture.comm.doorbells;
    const int own = ronde_doorbells_fd(doorbells);
    CU_ASSERT_FALSE(is_readable(own) || is_readable(fixture.pipe[0]));
    ronde_doorbells_ring(doorbells, 1);
    CU_ASSERT_TRUE(is_readable(fixture.pipe[0]));
    CU_ASSERT_FALSE(is_readable(own));
    CU_ASSERT_EQUAL(read(fixture.pipe[0], bytes, sizeof bytes), 1);
    ronde_doorbells_ring(doorbells, 0);
    CU_ASSERT_TRUE(is_readable(own));
    CU_ASSERT_FALSE(is_readable(fixture.pipe[0]));
    ronde_doorbells_clear(doorbells);
    CU_ASSERT_FALSE(is_readable(own));
    end(&fixture);
}

/* Nobody reads: the pipe fills up, and ringing goes on without waiting. One clear takes all of it. */
static void rings_never_wait_and_are_cleared_at_once(void)
{
    struct fixture fixture;
    struct ronde_error error = {0};
    if (!begin(&fixture))
        return;
    const struct shown shown = {(int32_t)getpid(), fixture.pipe[1]};
    answer(&fixture, &well, &shown, &well);
    CU_ASSERT_EQUAL(ronde_doorbells_open(&fixture.comm, &error), RONDE_OK);
    for (uint32_t k = 0; k < 200000; k++)
        ronde_doorbells_ring(fixture.comm.doorbells, 0);
    ronde_doorbells_clear(fixture.comm.doorbells);
    CU_ASSERT_FALSE(is_readable(ronde_doorbells_fd(fixture.comm.doorbells)));
    ronde_doorbells_ring(fixture.comm.doorbells, 0);
    CU_ASSERT_TRUE(is_readable(ronde_doorbells_fd(fixture.comm.doorbells)));
    end(&fixture);
}

/* A rank of another host has no pipe here, whatever number it shows; its ring goes nowhere but to this rank. */
static void ranks_of_other_hosts_are_not_opened(void)
{
    struct fixture fixture;
    struct ronde_error error = {0};
    if (!begin(&fixture))
        return;
    const struct shown shown = {1, 1000000};
    fixture.leaders[1] = 1;
    answer(&fixture, &well, &shown, &well);
    CU_ASSERT_EQUAL(ronde_doorbells_open(&fixture.comm, &error), RONDE_OK);
    /* The two ends of its own pipe and nothing else. */
    CU_ASSERT_EQUAL(count_files(), fixture.files + 2);
    end(&fixture);
}

static void a_pipe_that_cannot_be_opened_is_named(void)
{
    static const struct shown wrong[] = {{-1, 0}, {0, 0}, {1, 1000000}, {INT32_MAX, 3}};
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        struct fixture fixture;
        struct ronde_error error = {0};
        if (!begin(&fixture))
            return;
        answer(&fixture, &well, &wrong[k], &well);
        CU_ASSERT_EQUAL(ronde_doorbells_open(&fixture.comm, &error), RONDE_DEVICE);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "cannot open the doorbell of rank 1: "));
        end(&fixture);
    }
}

static void what_rank_1_lacks_fails_on_rank_0(void)
{
    static const struct ronde_error lacking = {.status = RONDE_NO_MEMORY,
                                               .message = "no memory for doorbells"};
    for (int is_late = 0; is_late < 2; is_late++) {
        struct fixture fixture;
        struct ronde_error error = {0};
        if (!begin(&fixture))
            return;
        const struct shown shown = {(int32_t)getpid(), fixture.pipe[1]};
        answer(&fixture, is_late ? &well : &lacking, &shown, &lacking);
        CU_ASSERT_EQUAL(ronde_doorbells_open(&fixture.comm, &error), RONDE_NO_MEMORY);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "no memory for doorbells"));
        end(&fixture);
    }
}

/* Each allocation fails once; pipes that were open by then are closed. */
static void without_memory_nothing_stays_open(void)
{
    uint32_t failures = 0;
    for (size_t refused = 0; refused < 12; refused++) {
        struct fixture fixture;
        struct ronde_error error = {0};
        if (!begin(&fixture))
            return;
        const struct shown shown = {(int32_t)getpid(), fixture.pipe[1]};
        fixture.heap.refuse_at = fixture.heap.requests + refused;
        fixture.heap.refuse_once = true;
        answer(&fixture, &well, &shown, &well);
        const enum ronde_status status = ronde_doorbells_open(&fixture.comm, &error);
        CU_ASSERT(status == RONDE_OK || error.message[0] != '\0');
        failures += status == RONDE_NO_MEMORY;
        end(&fixture);
    }
    CU_ASSERT(failures >= 3);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_ring_wakes_the_rank_it_is_for", a_ring_wakes_the_rank_it_is_for},
        {"rings_never_wait_and_are_cleared_at_once", rings_never_wait_and_are_cleared_at_once},
        {"ranks_of_other_hosts_are_not_opened", ranks_of_other_hosts_are_not_opened},
        {"a_pipe_that_cannot_be_opened_is_named", a_pipe_that_cannot_be_opened_is_named},
        {"what_rank_1_lacks_fails_on_rank_0", what_rank_1_lacks_fails_on_rank_0},
        {"without_memory_nothing_stays_open", without_memory_nothing_stays_open},
    };
    return suite_run("doorbell", cases, sizeof cases / sizeof cases[0]);
}
