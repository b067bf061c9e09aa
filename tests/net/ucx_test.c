/*
 * Communicators over UCX, on whatever it finds on this machine.
 */
#include "net/cases.h"
#include "support/suite.h"

static void ucx_is_not_in_this_build(void)
{
    const char *reason = NULL;
    CU_ASSERT_FALSE(ronde_transport_available(RONDE_TRANSPORT_UCX, &reason));
    suite_skip("%s", reason);
}

int main(void)
{
    static const struct suite_case absent = {"ucx_is_not_in_this_build", ucx_is_not_in_this_build};
    const char *reason = NULL;
    if (!ronde_transport_available(RONDE_TRANSPORT_UCX, &reason))
        return suite_run("ucx", &absent, 1);
    return cases_run("ucx", RONDE_TRANSPORT_UCX);
}
