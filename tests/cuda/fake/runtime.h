/**
 * A fake of CUDA's runtime, for hw/cuda/runtime*.c in a program of the tests': two GPUs with contexts as the fake driver counts
 * them, streams that remember what is enqueued in them, and captures of graphs.
 *
 * As the real one, it makes the primary context of GPU 0 in a thread that has none and calls it, and a call that may
 * synchronise ends a capture of any thread, unless the caller's thread has left the mode that forbids it.
 */
#ifndef RONDE_TESTS_CUDA_FAKE_RUNTIME_H
#define RONDE_TESTS_CUDA_FAKE_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

/** Devices there are. */
#define FAKE_GPUS 2

/** What was called, and what happens next. */
extern struct fake_runtime {
    uint32_t set_devices;       /**< calls of cudaSetDevice: each makes a context */
    uint32_t kernels[2];        /**< launched in the default stream, in any other */
    uint32_t marks[2];          /**< events recorded there */
    uint32_t followers[2];      /**< events waited for there */
    uint32_t calls[2];          /**< functions of the host enqueued there */
    uint32_t loaded[FAKE_GPUS]; /**< kernels whose code was loaded before a launch, by device */
    uint32_t lazy;              /**< kernels that were launched without having been loaded */
    bool is_capturing;          /**< some thread captures, in the global mode */
    bool is_spoilt;             /**< its capture was ended by a call of another's */
    bool is_limited;            /**< kernels have a time limit, as where a display is connected */
    bool refuses_launches;      /**< launches fail */
} fake_runtime;

#endif
