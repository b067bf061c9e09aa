/* The kernel for int64. See kernel.h. */
#define RONDE_MOVE_TYPE INT64
#include "hw/cuda/kernel.h"
