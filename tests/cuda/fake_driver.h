/**
 * The fake driver (fake/driver.c), compiled and loaded before anything looks for a real one, and what tests ask of it.
 */
#ifndef RONDE_TESTS_CUDA_FAKE_DRIVER_H
#define RONDE_TESTS_CUDA_FAKE_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

/** Controls of the fake driver, after load. */
extern struct fake_driver {
    void *library;
    void (*fail)(const char *call, unsigned which); /**< the `which`th such call from now on fails */
    void (*lack)(int attribute); /**< devices do not have it; 0 = they have all */
    uint64_t (*allowed)(void);   /**< devices of the last allow, as bits */
    uint64_t (*live)(void);      /**< handles, reservations, mappings and memories that are left */
    int (*made_context)(int number); /**< whether a device's primary context was made */
    int (*contexts_held)(void);      /**< references to primary contexts that are left */
    void (*make)(int number);        /**< makes a device's primary context */
    void (*begin)(int number); /**< makes a device's primary context, current in this thread */
    int (*current)(void);      /**< device of the current context; -1 = none, -2 = none of these */
    int (*set_current)(void *context);
    /** Memory of a pool from now on, and the devices that may use it, as bits. */
    void (*pool)(const void *start, uint64_t bytes, uint64_t access);
    /** Memory that is not by handles from now on, of device 1; its number, and whether IPC has it. */
    void (*plain)(const void *start, uint64_t bytes, uint64_t number, int has_ipc);
} fake_driver;

/** Compiles and loads it, once; false, which fails the test, where that cannot be. */
bool fake_driver_load(void);

#endif
