/* The kernel for uint64. See kernel.h. */
#define RONDE_MOVE_TYPE UINT64
#include "hw/cuda/kernel.h"
