/* The kernel for uint8. See kernel.h. */
#define RONDE_MOVE_TYPE UINT8
#include "hw/cuda/kernel.h"
