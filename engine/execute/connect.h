/**
 * Connections of a loaded schedule: joins the two ends of each, once, and points them at slots, per run.
 */
#ifndef RONDE_ENGINE_EXECUTE_CONNECT_H
#define RONDE_ENGINE_EXECUTE_CONNECT_H

#include "engine/execute/loaded.h"

/**
 * Gives the two ends of every connection their counters; an end without a partner gets counters of its own. Time: c log
 * c of the connections. False when there is no memory.
 */
bool ronde_loaded_connect(struct ronde_loaded *loaded);

/** Lists the ports of a part. Errors: NO_MEMORY; UNSUPPORTED for a connection that lacks its other end. */
enum ronde_status ronde_loaded_find_ports(struct ronde_loaded *loaded, struct ronde_error *error);

/** Bytes from slot to slot for messages of chunks up to `share_bytes`. */
uint64_t ronde_slot_stride(const struct ronde_schedule *schedule, uint64_t share_bytes);

/** Points all ends at slots of this stride from `start`; lengths lie behind the slots. All connections are empty;
 * the caller starts them at their first slot. */
void ronde_loaded_place_slots(struct ronde_loaded *loaded, unsigned char *start, uint64_t stride,
                              uint32_t depth);

/** Bytes that slots and lengths of all connections take, or UINT64_MAX if that overflows. */
uint64_t ronde_loaded_slot_bytes(const struct ronde_loaded *loaded, uint64_t stride, uint32_t depth);

#endif
