/* The kernel for float32. See kernel.h. */
#define RONDE_MOVE_TYPE FLOAT32
#include "hw/cuda/kernel.h"
