/**
 * How one thread polls many lanes in turn; the simulators of such machines use the same order.
 *
 * A sweep polls each lane that is not done, in order. A lane goes on while it can execute steps, up to a burst of them.
 */
#ifndef RONDE_ENGINE_EXECUTE_BURST_H
#define RONDE_ENGINE_EXECUTE_BURST_H

/**
 * Steps of one lane in a row while others wait: enough that a step finds in the cache what the one before it has received
 * or computed, few enough that peers of other lanes do not wait long.
 */
#define RONDE_BURST_STEPS 8u

/**
 * Bytes of a chunk from which on joined steps are executed as one by processors: shorter ones are in the nearest cache
 * anyway. Measured, see hw/README.md.
 */
#define RONDE_JOIN_FROM_BYTES 16384u

#endif
