/**
 * The loops over positions in which a symmetric replay spends its time.
 *
 * Every version performs the same operations in the same order on each element, so all give the same bits; they differ
 * in how many elements an instruction takes. Vectors must not overlap.
 */
#ifndef RONDE_SIM_SYMMETRIC_KERNELS_H
#define RONDE_SIM_SYMMETRIC_KERNELS_H

#include <stddef.h>

/** Costs of a step per byte, infinite where it has none. */
struct ronde_sim_costs {
    double step_ns;
    double gamma_GBps;
    double copy_GBps;
};

/** One version of the loops. */
struct ronde_sim_kernels {
    /** out = max(out, in) */
    void (*max)(double *out, const double *in, size_t count);
    /** out = max(out, in + plus), the same for all */
    void (*max_plus)(double *out, const double *in, double plus, size_t count);
    /** out = max(out, in + plus) */
    void (*max_plus_each)(double *out, const double *in, const double *plus, size_t count);
    /** out = (out + delay) + flow */
    void (*finish)(double *out, double delay_ns, double flow_ns, size_t count);
    /** out = (out + delay) + flow, with flows of their own */
    void (*finish_each)(double *out, double delay_ns, const double *flow_ns, size_t count);
    /** out = (out + delay) + flow, each with its own */
    void (*finish_pair)(double *out, const double *delay_ns, const double *flow_ns, size_t count);
    /** out = (out + (step + (bytes / gamma + bytes / copy))) + bytes / rate */
    void (*finish_bytes)(double *out, const double *bytes, const double *rate_GBps,
                         const struct ronde_sim_costs *costs, size_t count);
    /** out = step + (bytes / gamma + bytes / copy) */
    void (*delay)(double *out, const double *bytes, const struct ronde_sim_costs *costs,
                  size_t count);
    /** out = bytes / rate, with bytes of their own */
    void (*flow_bytes)(double *out, const double *bytes, double rate_GBps, size_t count);
    /** out = bytes / rate */
    void (*flow)(double *out, double bytes, const double *rate_GBps, size_t count);
    /** the largest element, at least 0 */
    double (*most)(const double *in, size_t count);
};

/** The best version for this processor. */
const struct ronde_sim_kernels *ronde_sim_kernels_here(void);

#endif
