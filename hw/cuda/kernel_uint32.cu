/* The kernel for uint32. See kernel.h. */
#define RONDE_MOVE_TYPE UINT32
#include "hw/cuda/kernel.h"
