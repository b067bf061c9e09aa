/* The kernel for int8. See kernel.h. */
#define RONDE_MOVE_TYPE INT8
#include "hw/cuda/kernel.h"
