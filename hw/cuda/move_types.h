/**
 * What movers compute, for every element type (move.h). A new type needs two lines here, and a row in
 * ronde_move_type if it is a signed integer.
 */
#ifndef RONDE_HW_CUDA_MOVE_TYPES_H
#define RONDE_HW_CUDA_MOVE_TYPES_H

#include "hw/cuda/block.h"

#include "engine/execute/elements.h"

/**
 * The type whose code makes a move for another: integers wrap, so that bits of sums, products and bitwise operators are
 * the same whatever the sign, and are compiled once.
 */
RONDE_INTERP enum ronde_dtype ronde_move_type(enum ronde_dtype dtype, enum ronde_move move)
{
    if (move != RONDE_MOVE_SUM && move != RONDE_MOVE_PROD && move != RONDE_MOVE_SCALE &&
        move != RONDE_MOVE_SCALE_SUM && move != RONDE_MOVE_BITS)
        return dtype;
    switch (dtype) {
    case RONDE_INT8:
        return RONDE_UINT8;
    case RONDE_INT16:
        return RONDE_UINT16;
    case RONDE_INT32:
        return RONDE_UINT32;
    case RONDE_INT64:
        return RONDE_UINT64;
    default:
        return dtype;
    }
}

#define RONDE_MOVE_HAS_BITS 1
#define RONDE_MOVE_IS_NUMBER 0
#define RONDE_MOVE_TYPE BOOL
#include "hw/cuda/move.h"
#undef RONDE_MOVE_IS_NUMBER
#define RONDE_MOVE_IS_NUMBER 1
#define RONDE_MOVE_IS_SIGNED
#define RONDE_MOVE_TYPE INT8
#include "hw/cuda/move.h"
#define RONDE_MOVE_TYPE INT16
#include "hw/cuda/move.h"
#define RONDE_MOVE_TYPE INT32
#include "hw/cuda/move.h"
#define RONDE_MOVE_TYPE INT64
#include "hw/cuda/move.h"
#undef RONDE_MOVE_IS_SIGNED
#define RONDE_MOVE_TYPE UINT8
#include "hw/cuda/move.h"
#define RONDE_MOVE_TYPE UINT16
#include "hw/cuda/move.h"
#define RONDE_MOVE_TYPE UINT32
#include "hw/cuda/move.h"
#define RONDE_MOVE_TYPE UINT64
#include "hw/cuda/move.h"
#undef RONDE_MOVE_HAS_BITS
#define RONDE_MOVE_HAS_BITS 0
#define RONDE_MOVE_TYPE FLOAT16
#include "hw/cuda/move.h"
#define RONDE_MOVE_TYPE BFLOAT16
#include "hw/cuda/move.h"
#define RONDE_MOVE_TYPE FLOAT32
#include "hw/cuda/move.h"
#define RONDE_MOVE_TYPE FLOAT64
#include "hw/cuda/move.h"
#define RONDE_MOVE_IS_LONG
#define RONDE_MOVE_TYPE FLOAT8_E4M3
#include "hw/cuda/move.h"
#define RONDE_MOVE_TYPE FLOAT8_E5M2
#include "hw/cuda/move.h"
#undef RONDE_MOVE_IS_LONG
#undef RONDE_MOVE_HAS_BITS
#undef RONDE_MOVE_IS_NUMBER

#endif
