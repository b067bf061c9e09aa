/**
 * How much of the machine others use: processor time that neither this program nor the processes it answers for took.
 */
#ifndef RONDE_LAB_RIG_CPU_NOISE_H
#define RONDE_LAB_RIG_CPU_NOISE_H

#include <stdint.h>
#include <sys/types.h>

/** Processor time of this process, ns. */
double ronde_own_ns(void);

/** Processor time of a process of one thread, ns; 0 where the system does not say. */
double ronde_process_ns(pid_t process);

/** A reading; the difference of two says what happened in between. */
struct ronde_cpu_noise {
    double at_ns;   /**< of the clock */
    double busy_ns; /**< all processors in user and system mode, and stolen from this machine */
    double own_ns;  /**< this process, and the process named */
};

/** Reads. `helper` is a process that belongs to the measurement, or 0. */
struct ronde_cpu_noise ronde_cpu_noise_read(pid_t helper);

/**
 * Processors that others kept busy between two readings; `netns_ns` is what belongs to the measurement beyond what the
 * readings know. Spans of less than a tenth of a second say nothing, since the system counts in hundredths.
 */
double ronde_cpu_noise_cores(const struct ronde_cpu_noise *before,
                             const struct ronde_cpu_noise *after, double netns_ns);

#endif
