/* The kernel for float8_e4m3. See kernel.h. */
#define RONDE_MOVE_TYPE FLOAT8_E4M3
#include "hw/cuda/kernel.h"
