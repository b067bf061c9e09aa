/* Ending long work from outside. */
#include "ronde/cancel.h"

void ronde_cancel_request(struct ronde_cancel *cancel)
{
    __atomic_store_n(&cancel->is_requested, 1u, __ATOMIC_RELAXED);
}

bool ronde_cancel_is_requested(const struct ronde_cancel *cancel)
{
    return cancel && __atomic_load_n(&cancel->is_requested, __ATOMIC_RELAXED) != 0;
}

enum ronde_status ronde_cancel_check(const struct ronde_cancel *cancel, const char *what,
                                     struct ronde_error *error)
{
    return ronde_cancel_is_requested(cancel)
               ? ronde_fail(error, RONDE_CANCELLED, "%s was cancelled", what)
               : RONDE_OK;
}
