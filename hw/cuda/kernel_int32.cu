/* The kernel for int32. See kernel.h. */
#define RONDE_MOVE_TYPE INT32
#include "hw/cuda/kernel.h"
