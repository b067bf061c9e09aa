/* The kernel for float64. See kernel.h. */
#define RONDE_MOVE_TYPE FLOAT64
#include "hw/cuda/kernel.h"
