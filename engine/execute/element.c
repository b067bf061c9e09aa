/* Single elements of any type. See ronde/collective.h; arrays of them are reduce.h's. */
#include "engine/execute/narrow.h"

#include "ronde/collective.h"

#include <string.h>

/*
 * A double as float32 such that rounding it on to 16 bits or 8 is rounding once: what does not fit goes to the neighbour
 * whose last bit is odd, which no later tie can take for exact (S. Boldo, G. Melquiond, "Emulation of FMA and correctly
 * rounded sums", IEEE Transactions on Computers 57(4), 2008).
 */
static float to_odd(double value)
{
    const float nearest = (float)value;
    uint32_t bits = ronde_float32_bits(nearest);
    const double error = value - (double)nearest;
    if (error == 0 || error != error || (bits & 0x7f800000u) == 0x7f800000u)
        return nearest;
    const bool is_beyond = (error < 0) != (value < 0);
    bits = (is_beyond ? bits - 1 : bits) | 1u;
    return ronde_float32_of(bits);
}

/* Writes the bytes of a value of the element's C type. */
#define STORE(type, value)                                                                         \
    do {                                                                                           \
        const type stored = (type)(value);                                                         \
        memcpy(element, &stored, sizeof stored);                                                   \
    } while (0)

void ronde_element_store(enum ronde_dtype dtype, void *element, double value)
{
    switch (dtype) {
    case RONDE_INT8:
        STORE(int8_t, value);
        break;
    case RONDE_UINT8:
        STORE(uint8_t, value);
        break;
    case RONDE_BOOL:
        STORE(uint8_t, value != 0);
        break;
    case RONDE_INT16:
        STORE(int16_t, value);
        break;
    case RONDE_UINT16:
        STORE(uint16_t, value);
        break;
    case RONDE_INT32:
        STORE(int32_t, value);
        break;
    case RONDE_UINT32:
        STORE(uint32_t, value);
        break;
    case RONDE_INT64:
        STORE(int64_t, value);
        break;
    case RONDE_UINT64:
        STORE(uint64_t, value);
        break;
    case RONDE_FLOAT16:
        STORE(uint16_t, ronde_float16_round(to_odd(value)));
        break;
    case RONDE_BFLOAT16:
        STORE(uint16_t, ronde_bfloat16_round(to_odd(value)));
        break;
    case RONDE_FLOAT8_E4M3:
        STORE(uint8_t, ronde_float8_e4m3_round(to_odd(value)));
        break;
    case RONDE_FLOAT8_E5M2:
        STORE(uint8_t, ronde_float8_e5m2_round(to_odd(value)));
        break;
    case RONDE_FLOAT32:
        STORE(float, value);
        break;
    case RONDE_FLOAT64:
        STORE(double, value);
        break;
    case RONDE_DTYPE_COUNT:
        break;
    }
}

/* Reads the bytes of a value of the element's C type through a conversion. */
#define LOAD(type, convert)                                                                        \
    do {                                                                                           \
        type loaded;                                                                               \
        memcpy(&loaded, element, sizeof loaded);                                                   \
        return (double)convert(loaded);                                                            \
    } while (0)

double ronde_element_load(enum ronde_dtype dtype, const void *element)
{
    switch (dtype) {
    case RONDE_INT8:
        LOAD(int8_t, );
    case RONDE_UINT8:
        LOAD(uint8_t, );
    case RONDE_BOOL:
        LOAD(uint8_t, 0 !=);
    case RONDE_INT16:
        LOAD(int16_t, );
    case RONDE_UINT16:
        LOAD(uint16_t, );
    case RONDE_INT32:
        LOAD(int32_t, );
    case RONDE_UINT32:
        LOAD(uint32_t, );
    case RONDE_INT64:
        LOAD(int64_t, );
    case RONDE_UINT64:
        LOAD(uint64_t, );
    case RONDE_FLOAT16:
        LOAD(uint16_t, ronde_float16_widen);
    case RONDE_BFLOAT16:
        LOAD(uint16_t, ronde_bfloat16_widen);
    case RONDE_FLOAT8_E4M3:
        LOAD(uint8_t, ronde_float8_e4m3_widen);
    case RONDE_FLOAT8_E5M2:
        LOAD(uint8_t, ronde_float8_e5m2_widen);
    case RONDE_FLOAT32:
        LOAD(float, );
    case RONDE_FLOAT64:
        LOAD(double, );
    case RONDE_DTYPE_COUNT:
        break;
    }
    return 0;
}

bool ronde_dtype_is_floating(enum ronde_dtype dtype)
{
    return dtype == RONDE_FLOAT16 || dtype == RONDE_BFLOAT16 || dtype == RONDE_FLOAT32 ||
           dtype == RONDE_FLOAT64 || dtype == RONDE_FLOAT8_E4M3 || dtype == RONDE_FLOAT8_E5M2;
}
