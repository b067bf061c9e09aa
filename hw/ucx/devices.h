/**
 * Whether the UCX found here sends from and receives into GPU memory.
 */
#ifndef RONDE_HW_UCX_DEVICES_H
#define RONDE_HW_UCX_DEVICES_H

#include <stdbool.h>

struct ucp_context;

/** Queries a context. *out_type: its ucs_memory_type_t of such memory. Alone in its file: tests replace it. */
bool ronde_ucx_reaches_devices(struct ucp_context *context, int *out_type);

#endif
