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

#endif
