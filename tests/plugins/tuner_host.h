/** What NCCL does with a tuner plug-in, without NCCL: loads it, asks it in every version, and notes what NCCL would not forgive. */
#ifndef RONDE_TESTS_PLUGINS_TUNER_HOST_H
#define RONDE_TESTS_PLUGINS_TUNER_HOST_H

#include "nccl/plugins/tuner_abi.h"

#include <stdbool.h>
#include <stddef.h>

/** Versions that the plug-in has. */
enum { HOST_OLDEST = 2, HOST_NEWEST = 6 };

/** Costs of a call, algorithms by protocols. */
enum { HOST_COSTS = ABI_ALGORITHMS * ABI_PROTOCOLS };

/** A plug-in in one version. */
struct tuner_host {
    void *library;
    void *symbol;
    int version;
};

/** A call that NCCL asks about. */
struct host_call {
    enum abi_collective collective;
    size_t bytes;
    int pipe_ops, is_registered;
    int algorithms; /**< 6 before NCCL 2.23, then 7 */
};

/** Loads the plug-in as NCCL does; fails the test and returns false where that does not work. */
bool tuner_host_open(struct tuner_host *out, int version);

/** Unloads it; fails the test where an init or a finalize has failed. */
void tuner_host_close(struct tuner_host *host);

/** A communicator's context. Any thread may ask for one. */
void *tuner_host_init(const struct tuner_host *host, size_t ranks, size_t nodes);

/** Ends it. */
void tuner_host_finish(const struct tuner_host *host, void *context);

/**
 * Asks as NCCL does: `costs` are changed in place; version 2, which sees none, has its choice marked by a cost of 0. False
 * where something is broken that NCCL would not forgive: an error, a cost beyond the table, an impossible one that is none
 * any more, one that is no number, channels that are none.
 */
bool tuner_host_ask(const struct tuner_host *host, void *context, const struct host_call *call,
                    float costs[HOST_COSTS]);

/** What NCCL takes: the first least cost that is possible. */
int tuner_host_taken(const float costs[HOST_COSTS], int algorithms);

/** Plausible costs of a call, which depend on nothing else. */
void tuner_host_costs(const struct host_call *call, size_t ranks, size_t nodes,
                      float out_costs[HOST_COSTS]);

/** What was logged as a warning since the last call; the text is valid until the next. */
const char *tuner_host_warning(void);

/** The same of information. */
const char *tuner_host_information(void);

#endif
