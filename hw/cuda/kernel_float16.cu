/* The kernel for float16. See kernel.h. */
#define RONDE_MOVE_TYPE FLOAT16
#include "hw/cuda/kernel.h"
