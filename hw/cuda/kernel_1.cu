/* The kernel for elements of one byte. See kernel.h. */
#define RONDE_MOVE_BYTES 1
#define RONDE_MOVE_WORD UINT8
#include "hw/cuda/kernel.h"
