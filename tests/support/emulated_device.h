/**
 * What the two halves of an emulated GPU share: its memory (emulated_memory.c) and its queues (emulated_gpu.c).
 */
#ifndef RONDE_TESTS_EMULATED_DEVICE_H
#define RONDE_TESTS_EMULATED_DEVICE_H

#include "hw/cuda/backend.h"
#include "support/emulated_gpu.h"
#include "support/emulated_share.h"

struct emulated_region;
struct emulated_queue;

/** The most devices of a machine. */
#define EMULATED_DEVICES_MAX 8u

/** Devices that run side by side. */
struct emulated_machine {
    struct emulated_device *devices[EMULATED_DEVICES_MAX]; /**< entries of closed ones are NULL */
    struct emulated_queue *queues;                         /**< of all devices */
};

/** A device. */
struct emulated_device {
    struct ronde_gpu gpu; /**< must stand first */
    struct emulated_machine *machine;
    bool is_joined[EMULATED_DEVICES_MAX]; /**< by place: those whose memory kernels here may access */
    uint32_t place;                       /**< in the machine */
    struct ronde_mem memory;
    struct ronde_mem buffers;
    struct emulated_pieces pieces; /**< of these */
    void *wish;                    /**< where the next of them is to lie, or NULL */
    struct emulated_options options;
    struct emulated_counts counts;
    struct emulated_region *regions;
    const void *hidden;                /**< a byte of the host that it cannot access */
    struct emulated_named named;       /**< what it shares under names */
    uint32_t refusals[EMULATED_CALLS]; /**< calls until one fails; 0 = none does */
    uint64_t random;
    uint32_t run; /**< its number decides what is left open */
};

/** Begins access by a device: only until leave its memory, and that of devices it has joined, may be accessed. */
void emulated_enter(const struct emulated_device *device);

/** Ends access. */
void emulated_leave(const struct emulated_device *device);

/** Whether a call is the one that is to fail. */
bool emulated_fails(struct emulated_device *device, enum emulated_call call);

/** Gives the device its memory and the calls that have to do with memory. */
void emulated_memory_init(struct emulated_device *device);

#endif
