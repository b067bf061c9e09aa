/* The kernel for bfloat16. See kernel.h. */
#define RONDE_MOVE_TYPE BFLOAT16
#include "hw/cuda/kernel.h"
