/*
 * Communicators over the shared memory of one machine.
 */
#include "net/cases.h"

int main(void)
{
    return cases_run("proc", RONDE_TRANSPORT_SHM);
}
