/* Nothing is missing: UCX is built in. ucx/wire_absent.c says what is where it is not. */
#include "hw/comm/comm_parts.h"

const char *const ronde_wire_ucx_missing = NULL;
