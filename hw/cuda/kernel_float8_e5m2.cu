/* The kernel for float8_e5m2. See kernel.h. */
#define RONDE_MOVE_TYPE FLOAT8_E5M2
#include "hw/cuda/kernel.h"
