/**
 * Which messages between GPUs travel in lines, data with flags, as NCCL's LL does, and which in slots with a counter, as Simple.
 *
 * A line of 16 bytes carries 8 of data and is seen as soon as it is there; a slot costs a fence and a counter that is seen later,
 * and carries twice as much at a link's rate. Where they cross on the GPUs at hand is NCCL's model's to say
 * (ronde_nccl_lines_up_to_bytes): the latencies of a hop by both protocols, what each reaches of a channel, by generation, and by
 * NVLink or PCIe between the GPUs. Its latencies were measured of NCCL's kernels, not of ours (docs/guide/choosing.md).
 */
#ifndef RONDE_DEVICE_LINES_H
#define RONDE_DEVICE_LINES_H

#include "ronde/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Bytes up to which slots are to travel in lines on the devices of a machine that was probed, for its lines_up_to_bytes; 0 where
 * its product is none whose data sheet the model has, or the model's constants are not installed: the backend's own number then
 * stands.
 */
RONDE_API uint64_t ronde_device_lines_up_to_bytes(const struct ronde_machine *machine);

#ifdef __cplusplus
}
#endif
#endif
