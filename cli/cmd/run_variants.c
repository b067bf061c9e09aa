/* Types, operators and roots one after the other. See run_variants.h. */
#include "run_variants.h"

static bool is_refused(const struct ronde_options *options)
{
    return ronde_op_refusal(options->op, options->dtype) != NULL;
}

/* From here on the first type that the operator is defined for, or none. */
static bool find_dtype(struct ronde_options *options, int from)
{
    for (int dtype = from; dtype < RONDE_DTYPE_COUNT; dtype++) {
        options->dtype = (enum ronde_dtype)dtype;
        if (!is_refused(options))
            return true;
    }
    return false;
}

static bool find_op(struct ronde_options *options, int from)
{
    for (int op = from; op < RONDE_OP_COUNT; op++) {
        options->op = (enum ronde_op)op;
        if (!is_refused(options))
            return true;
    }
    return false;
}

void ronde_variant_first(struct ronde_options *options)
{
    if (options->all_ops)
        options->op = RONDE_SUM;
    if (options->all_roots)
        options->root = 0;
    if (options->all_dtypes && !find_dtype(options, 0))
        options->dtype = RONDE_FLOAT32;
}

bool ronde_variant_next(struct ronde_options *options, enum ronde_collective collective,
                        uint32_t ranks)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(collective);
    if (options->all_roots && traits->has_root && options->root + 1 < ranks) {
        options->root++;
        return true;
    }
    if (options->all_roots)
        options->root = 0;
    if (options->all_ops && traits->reduces && find_op(options, (int)options->op + 1))
        return true;
    if (options->all_ops)
        options->op = RONDE_SUM;
    if (options->all_dtypes && find_dtype(options, (int)options->dtype + 1))
        return true;
    ronde_variant_first(options);
    return false;
}
