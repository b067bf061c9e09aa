/* UCX and GPU memory: a file of its own, since tests link an emulated network in its place. See net.h. */
#include "hw/ucx/net.h"

#include <ucp/api/ucp.h>

bool ronde_ucx_reaches_devices(struct ucp_context *context, int *out_type)
{
    ucp_context_attr_t attributes = {.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES};
    *out_type = UCS_MEMORY_TYPE_CUDA;
    return ucp_context_query(context, &attributes) == UCS_OK &&
           (attributes.memory_types >> UCS_MEMORY_TYPE_CUDA & 1u) != 0;
}
