/* How much of the machine others use. See cpu_noise.h. */
#include "cpu_noise.h"

#include "ronde/hw.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static double ticks_to_ns(unsigned long long ticks)
{
    const long per_second = sysconf(_SC_CLK_TCK);
    return per_second > 0 ? (double)ticks * 1e9 / (double)per_second : 0.0;
}

/* Interrupts are left out: those of the network under test are among them. */
static double read_busy_ns(void)
{
    unsigned long long user = 0, nice = 0, system = 0, stolen = 0;
    FILE *file = fopen("/proc/stat", "r");
    if (!file)
        return 0.0;
    if (fscanf(file, "cpu %llu %llu %llu %*u %*u %*u %*u %llu", &user, &nice, &system, &stolen) != 4)
        user = nice = system = stolen = 0;
    fclose(file);
    return ticks_to_ns(user + nice + system + stolen);
}

double ronde_process_ns(pid_t process)
{
    char path[48];
    double running_ns = 0.0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)process);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0.0;
    if (fscanf(file, "%lf", &running_ns) != 1)
        running_ns = 0.0;
    fclose(file);
    return running_ns;
}

double ronde_own_ns(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0.0;
    return 1e9 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e3 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

struct ronde_cpu_noise ronde_cpu_noise_read(pid_t helper)
{
    struct ronde_cpu_noise reading = {.at_ns = ronde_clock_ns(),
                                      .busy_ns = read_busy_ns(),
                                      .own_ns = ronde_own_ns()};
    if (helper > 0)
        reading.own_ns += ronde_process_ns(helper);
    return reading;
}

double ronde_cpu_noise_cores(const struct ronde_cpu_noise *before,
                             const struct ronde_cpu_noise *after, double netns_ns)
{
    const double span_ns = after->at_ns - before->at_ns;
    const double others_ns =
        after->busy_ns - before->busy_ns - (after->own_ns - before->own_ns) - netns_ns;
    return span_ns > 0.0 ? others_ns / span_ns : 0.0;
}
