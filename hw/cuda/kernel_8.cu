/* The kernel for elements of 8 bytes. See kernel.h. */
#define RONDE_MOVE_BYTES 8
#define RONDE_MOVE_WORD UINT64
#include "hw/cuda/kernel.h"
