/*
 * What Python calls most, with numbers alone: a struct that it fills in field by field costs more than the call. Read by
 * generate.py, which declares each function as it is defined here.
 */
static int ronde_python_start(struct ronde_comm *comm, int collective, int dtype, int op,
                              uint32_t root, uintptr_t in, uintptr_t out, uint64_t count,
                              uint64_t timeout_ns, uintptr_t stream, struct ronde_request **out_request,
                              struct ronde_error *error)
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
