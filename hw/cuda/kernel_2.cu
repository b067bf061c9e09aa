/* The kernel for elements of 2 bytes. See kernel.h. */
#define RONDE_MOVE_BYTES 2
#define RONDE_MOVE_WORD FLOAT16
#include "hw/cuda/kernel.h"
