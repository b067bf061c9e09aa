/* The transports by name, and which of them are built in. */
#include "hw/comm/comm.h"

bool ronde_transport_available(enum ronde_transport transport, const char **out_reason)
{
    const bool needs_ucx = transport == RONDE_TRANSPORT_UCX || transport == RONDE_TRANSPORT_HYBRID;
    *out_reason = needs_ucx ? ronde_wire_ucx_missing : NULL;
    return !*out_reason;
}

const char *ronde_transport_text(enum ronde_transport transport)
{
    static const char *const texts[] = {
#define TRANSPORT_TEXT(name, text) text,
        RONDE_TRANSPORT_LIST(TRANSPORT_TEXT)
#undef TRANSPORT_TEXT
    };
    return (unsigned)transport < RONDE_TRANSPORT_COUNT ? texts[transport] : "?";
}
