/**
 * The loops of symmetric_run.h, compiled once per version: the includer defines LOOP(name) and TARGET. A comparison
 * instead of fmax lets compilers use the vector maximum: there are no NaNs.
 */

TARGET static void LOOP(max)(double *restrict out, const double *restrict in, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = in[i] > out[i] ? in[i] : out[i];
}

TARGET static void LOOP(max_plus)(double *restrict out, const double *restrict in, double plus,
                                  size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = in[i] + plus > out[i] ? in[i] + plus : out[i];
}

TARGET static void LOOP(max_plus_each)(double *restrict out, const double *restrict in,
                                       const double *restrict plus, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = in[i] + plus[i] > out[i] ? in[i] + plus[i] : out[i];
}

TARGET static void LOOP(finish)(double *restrict out, double delay_ns, double flow_ns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (out[i] + delay_ns) + flow_ns;
}

TARGET static void LOOP(finish_each)(double *restrict out, double delay_ns,
                                     const double *restrict flow_ns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (out[i] + delay_ns) + flow_ns[i];
}

TARGET static void LOOP(finish_bytes)(double *restrict out, const double *restrict bytes,
                                      const double *restrict rate_GBps,
                                      const struct ronde_sim_costs *restrict costs, size_t count)
{
    const struct ronde_sim_costs each = *costs;
    for (size_t i = 0; i < count; i++) {
        const double stage_ns = bytes[i] / each.gamma_GBps + bytes[i] / each.copy_GBps;
        out[i] = (out[i] + (each.step_ns + stage_ns)) + bytes[i] / rate_GBps[i];
    }
}

TARGET static void LOOP(finish_pair)(double *restrict out, const double *restrict delay_ns,
                                     const double *restrict flow_ns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (out[i] + delay_ns[i]) + flow_ns[i];
}

TARGET static void LOOP(delay)(double *restrict out, const double *restrict bytes,
                               const struct ronde_sim_costs *restrict costs, size_t count)
{
    const struct ronde_sim_costs each = *costs;
    for (size_t i = 0; i < count; i++)
        out[i] = each.step_ns + (bytes[i] / each.gamma_GBps + bytes[i] / each.copy_GBps);
}

TARGET static void LOOP(flow_bytes)(double *restrict out, const double *restrict bytes,
                                    double rate_GBps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = bytes[i] / rate_GBps;
}

TARGET static void LOOP(flow)(double *restrict out, double bytes, const double *restrict rate_GBps,
                              size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = bytes / rate_GBps[i];
}

TARGET static double LOOP(most)(const double *restrict in, size_t count)
{
    /* Eight at a time: one running maximum would wait for itself, and compilers may not split it. */
    double most[8] = {0};
    for (size_t i = 0; i < count; i++)
        most[i % 8] = in[i] > most[i % 8] ? in[i] : most[i % 8];
    for (size_t i = 1; i < 8; i++)
        most[0] = most[i] > most[0] ? most[i] : most[0];
    return most[0];
}

static const struct ronde_sim_kernels LOOP(kernels) = {
    .max = LOOP(max),
    .max_plus = LOOP(max_plus),
    .max_plus_each = LOOP(max_plus_each),
    .finish = LOOP(finish),
    .finish_each = LOOP(finish_each),
    .finish_pair = LOOP(finish_pair),
    .finish_bytes = LOOP(finish_bytes),
    .delay = LOOP(delay),
    .flow_bytes = LOOP(flow_bytes),
    .flow = LOOP(flow),
    .most = LOOP(most),
};

#undef LOOP
#undef TARGET
