/* What shows that a rank belongs to a communicator. */
#include "ronde/comm.h"

#include <stdio.h>
#include <sys/random.h>

enum ronde_status ronde_token_draw(char token[RONDE_TOKEN_BYTES], struct ronde_error *error)
{
    uint64_t number[2];
    if (getrandom(number, sizeof number, 0) != (ssize_t)sizeof number)
        return ronde_fail(error, RONDE_DEVICE, "the system gives no random numbers");
    snprintf(token, RONDE_TOKEN_BYTES, "%016llx%016llx", (unsigned long long)number[0],
             (unsigned long long)number[1]);
    return RONDE_OK;
}
