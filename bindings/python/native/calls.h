/*
 * What Python calls most, with numbers alone: a struct that it fills in field by field costs more than the call. Read by
 * generate.py, which declares each function as it is defined here.
 */
static int ronde_python_start(struct ronde_comm *comm, int collective, int dtype, int op,
                              uint32_t root, uintptr_t in, uintptr_t out, uint64_t count,
                              uint64_t timeout_ns, uintptr_t stream,
                              struct ronde_request **out_request, struct ronde_error *error)
{
    const struct ronde_call call = {.collective = (enum ronde_collective)collective,
                                    .dtype = (enum ronde_dtype)dtype,
                                    .op = (enum ronde_op)op,
                                    .in = (const void *)in,
                                    .out = (void *)out,
                                    .count = count,
                                    .root = root,
                                    .timeout_ns = timeout_ns,
                                    .stream = (void *)stream};
    return ronde_start(comm, &call, out_request, error);
}

/* How long NCCL takes for what it would choose, us; negative where it has no such call. */
static double ronde_python_nccl_us(const struct ronde_nccl_constants *constants,
                                   const struct ronde_nccl_machine *machine, int collective,
                                   uint32_t ranks, uint32_t nodes, uint64_t bytes)
{
    const struct ronde_nccl_call call = {.collective = (enum ronde_collective)collective,
                                         .ranks = ranks,
                                         .nodes = nodes,
                                         .bytes = bytes};
    const struct ronde_nccl_choice any = {RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT};
    struct ronde_nccl_choice choice;
    const double us = ronde_nccl_choose(constants, machine, &call, any, &choice);
    /* Sends and receives are not chosen. */
    return isfinite(us) || choice.algorithm == RONDE_NCCL_POINT
               ? ronde_nccl_execution_us(constants, machine, &call, choice)
               : -1;
}
