/*
 * Communicators whose ranks share memory in twos, and use UCX between these pairs.
 */
#include "net/cases.h"
#include "net/team.h"
#include "support/suite.h"

#include <stdlib.h>

static void ucx_is_not_in_this_build(void)
{
    const char *reason = NULL;
    CU_ASSERT_FALSE(ronde_transport_available(RONDE_TRANSPORT_HYBRID, &reason));
    suite_skip("%s", reason);
}

int main(void)
{
    static const struct suite_case absent = {"ucx_is_not_in_this_build", ucx_is_not_in_this_build};
    const char *reason = NULL;
    if (!ronde_transport_available(RONDE_TRANSPORT_HYBRID, &reason))
        return suite_run("hybrid", &absent, 1);
    /* The hosts are one machine to UCX, too. */
    if (setenv("UCX_TLS", "tcp,self", 1) != 0)
        return 1;
    team_ranks_per_host = 2;
    return cases_run("hybrid", RONDE_TRANSPORT_HYBRID);
}
