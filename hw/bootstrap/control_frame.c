/* Frames of the control channel: a head of kind and length, and what follows it. */
#include "hw/bootstrap/control_channel_parts.h"
#include "hw/bootstrap/socket.h"
#include "ronde/hw.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* Once a frame's head has arrived the rest follows, at this rate or faster. */
#define REST_NS 2e9
#define REST_NS_PER_BYTE 1000.0

enum ronde_status ronde_frame_read(int fd, void *data, size_t bytes)
{
    return ronde_socket_receive(fd, data, bytes,
                                ronde_clock_ns() + REST_NS + (double)bytes * REST_NS_PER_BYTE);
}

enum ronde_status ronde_frame_send(int fd, enum ronde_frame_kind kind, const void *data,
                                   uint32_t bytes, double deadline_ns)
{
    const struct ronde_frame_head head = {(uint32_t)kind, bytes};
    enum ronde_status status = ronde_socket_send(fd, &head, sizeof head, deadline_ns);
    if (status == RONDE_OK && bytes > 0)
        status = ronde_socket_send(fd, data, bytes, deadline_ns);
    return status;
}

void ronde_frame_alarm(int fd, const struct ronde_error *why)
{
    struct {
        struct ronde_frame_head head;
        struct ronde_alarm alarm;
    } frame;
    memset(&frame, 0, sizeof frame);
    frame.head = (struct ronde_frame_head){RONDE_FRAME_ALARM, sizeof frame.alarm};
    frame.alarm.status = why->status;
    snprintf(frame.alarm.text, sizeof frame.alarm.text, "%s", why->message);
    (void)send(fd, &frame, sizeof frame, MSG_NOSIGNAL | MSG_DONTWAIT);
}

enum ronde_status ronde_frame_read_alarm(int fd, uint32_t bytes, struct ronde_error *error)
{
    struct ronde_alarm alarm;
    if (bytes != sizeof alarm || ronde_frame_read(fd, &alarm, sizeof alarm) != RONDE_OK ||
        alarm.status == RONDE_OK || alarm.status > RONDE_CANCELLED)
        return ronde_fail(error, RONDE_IO, "an alarm has come that is no message of ronde");
    alarm.text[sizeof alarm.text - 1] = '\0';
    return ronde_fail(error, (enum ronde_status)alarm.status, "%s", alarm.text);
}
