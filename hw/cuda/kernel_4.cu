/* The kernel for elements of 4 bytes. See kernel.h. */
#define RONDE_MOVE_BYTES 4
#define RONDE_MOVE_WORD UINT32
#include "hw/cuda/kernel.h"
