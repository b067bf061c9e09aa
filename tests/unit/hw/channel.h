/**
 * A control channel whose peers are the test: it holds one end of every connection, the test writes and reads the other.
 *
 * Everything happens in one thread: what peers send lies in the sockets before the channel is polled.
 */
#ifndef RONDE_TESTS_CHANNEL_H
#define RONDE_TESTS_CHANNEL_H

#include "hw/bootstrap/control_channel_parts.h"
#include "ronde/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Most ranks of such a channel. */
#define CHANNEL_RANKS 16u

/** One channel. */
struct channel {
    struct ronde_control_channel *control;
    int peers[CHANNEL_RANKS]; /**< the test's ends, by rank; -1 where there is none */
    struct ronde_error error; /**< of the last call; cleared by channel_check */
};

/** Connects `rank` of `ranks` ranks: rank 0 with all others, another with rank 0. False after a failed assertion. */
bool channel_open(struct channel *channel, uint32_t rank, uint32_t ranks,
                  const struct ronde_mem *mem);

/** Closes the peers' ends, then destroys the channel. */
void channel_close(struct channel *channel);

/** Closes a peer's end, as the end of its process does. */
void channel_drop(struct channel *channel, uint32_t rank);

/** A peer sends bytes as they are. */
void channel_write(const struct channel *channel, uint32_t rank, const void *data, size_t bytes);

/** A peer sends a frame. */
void channel_send(const struct channel *channel, uint32_t rank, uint32_t kind, const void *data,
                  uint32_t bytes);

/** A peer sends an alarm. */
void channel_alarm(const struct channel *channel, uint32_t rank, enum ronde_status status,
                   const char *text);

/** Polls once, without waiting. */
enum ronde_status channel_check(struct channel *channel);

/** Asserts what the next poll fails with, and that it is what every later one fails with. Whether that held. */
bool channel_expect_failure(struct channel *channel, enum ronde_status status, const char *text);

/** The next frame a peer has received: its kind, and as much of its payload as fits; 0 where nothing has arrived. */
uint32_t channel_receive(const struct channel *channel, uint32_t rank, void *data, size_t room,
                         uint32_t *out_bytes);

/** Asserts that the next frame of a peer is an alarm of this status whose text contains `text`, and the last frame. */
void channel_expect_alarm(const struct channel *channel, uint32_t rank, enum ronde_status status,
                          const char *text);

/** Asserts that a peer has received nothing (more). */
void channel_expect_nothing(const struct channel *channel, uint32_t rank);

#endif
