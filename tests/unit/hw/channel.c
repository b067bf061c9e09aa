/* A control channel whose peers are the test. See channel.h. */
#include "unit/hw/channel.h"

#include "support/suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct ronde_control_channel *new_channel(uint32_t rank, uint32_t ranks,
                                                 const struct ronde_mem *mem)
{
    const uint32_t count = rank == 0 ? ranks : 1;
    struct ronde_control_channel *control = ronde_mem_new(mem, 1, sizeof *control);
    CU_ASSERT_PTR_NOT_NULL_FATAL(control);
    control->mem = mem;
    control->rank = rank;
    control->ranks = ranks;
    control->timeout_ns = RONDE_COMM_TIMEOUT_NS;
    control->poll_count = count;
    control->polls = ronde_mem_new(mem, (size_t)count + 1, sizeof *control->polls);
    CU_ASSERT_PTR_NOT_NULL_FATAL(control->polls);
    for (uint32_t p = 0; p <= count; p++)
        control->polls[p] = (struct pollfd){-1, POLLIN | POLLRDHUP, 0};
    if (rank == 0) {
        control->inboxes = ronde_mem_new(mem, count, sizeof *control->inboxes);
        CU_ASSERT_PTR_NOT_NULL_FATAL(control->inboxes);
    }
    return control;
}

bool channel_open(struct channel *channel, uint32_t rank, uint32_t ranks,
                  const struct ronde_mem *mem)
{
    memset(channel, 0, sizeof *channel);
    for (uint32_t peer = 0; peer < CHANNEL_RANKS; peer++)
        channel->peers[peer] = -1;
    channel->control = new_channel(rank, ranks, mem);
    for (uint32_t entry = rank == 0; entry < channel->control->poll_count; entry++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) {
            CU_FAIL("the system refuses a pair of sockets");
            return false;
        }
        channel->control->polls[entry].fd = pair[0];
        channel->peers[entry] = pair[1];
    }
    return true;
}

void channel_drop(struct channel *channel, uint32_t rank)
{
    if (channel->peers[rank] >= 0)
        close(channel->peers[rank]);
    channel->peers[rank] = -1;
}

void channel_close(struct channel *channel)
{
    for (uint32_t rank = 0; rank < CHANNEL_RANKS; rank++)
        channel_drop(channel, rank);
    ronde_control_destroy(channel->control);
}

void channel_write(const struct channel *channel, uint32_t rank, const void *data, size_t bytes)
{
    const ssize_t sent = send(channel->peers[rank], data, bytes, MSG_NOSIGNAL);
    CU_ASSERT_EQUAL(sent, (ssize_t)bytes);
}

void channel_send(const struct channel *channel, uint32_t rank, uint32_t kind, const void *data,
                  uint32_t bytes)
{
    const struct ronde_frame_head head = {kind, bytes};
    channel_write(channel, rank, &head, sizeof head);
    if (bytes > 0)
        channel_write(channel, rank, data, bytes);
}

void channel_alarm(const struct channel *channel, uint32_t rank, enum ronde_status status,
                   const char *text)
{
    struct ronde_alarm alarm;
    memset(&alarm, 0, sizeof alarm);
    alarm.status = (uint32_t)status;
    snprintf(alarm.text, sizeof alarm.text, "%s", text);
    channel_send(channel, rank, RONDE_FRAME_ALARM, &alarm, sizeof alarm);
}

enum ronde_status channel_check(struct channel *channel)
{
    memset(&channel->error, 0, sizeof channel->error);
    return ronde_control_check(channel->control, &channel->error);
}

bool channel_expect_failure(struct channel *channel, enum ronde_status status, const char *text)
{
    char first[RONDE_ERROR_MESSAGE_BYTES];
    const enum ronde_status now = channel_check(channel);
    snprintf(first, sizeof first, "%s", channel->error.message);
    const bool is_expected = now == status && strstr(first, text);
    if (!is_expected)
        suite_note("%s: \"%s\" instead of %s: \"%s\"", ronde_status_text(now), first,
                   ronde_status_text(status), text);
    CU_ASSERT(is_expected);
    CU_ASSERT_EQUAL(channel_check(channel), now);
    CU_ASSERT_STRING_EQUAL(channel->error.message, first);
    return is_expected;
}

uint32_t channel_receive(const struct channel *channel, uint32_t rank, void *data, size_t room,
                         uint32_t *out_bytes)
{
    struct ronde_frame_head head = {0, 0};
    unsigned char byte;
    const int fd = channel->peers[rank];
    if (recv(fd, &head, sizeof head, MSG_DONTWAIT) != (ssize_t)sizeof head)
        return 0;
    for (uint32_t k = 0; k < head.bytes; k++) {
        if (recv(fd, &byte, 1, MSG_DONTWAIT) != 1)
            break;
        if (k < room)
            ((unsigned char *)data)[k] = byte;
    }
    *out_bytes = head.bytes;
    return head.kind;
}

void channel_expect_alarm(const struct channel *channel, uint32_t rank, enum ronde_status status,
                          const char *text)
{
    struct ronde_alarm alarm;
    uint32_t bytes = 0;
    memset(&alarm, 0, sizeof alarm);
    CU_ASSERT_EQUAL(channel_receive(channel, rank, &alarm, sizeof alarm, &bytes), RONDE_FRAME_ALARM);
    CU_ASSERT_EQUAL(bytes, sizeof alarm);
    CU_ASSERT_EQUAL(alarm.status, status);
    alarm.text[sizeof alarm.text - 1] = '\0';
    if (!strstr(alarm.text, text))
        suite_note("rank %u received \"%s\", not \"%s\"", rank, alarm.text, text);
    CU_ASSERT_PTR_NOT_NULL(strstr(alarm.text, text));
    channel_expect_nothing(channel, rank);
}

void channel_expect_nothing(const struct channel *channel, uint32_t rank)
{
    unsigned char byte;
    CU_ASSERT(recv(channel->peers[rank], &byte, 1, MSG_DONTWAIT) <= 0);
}
