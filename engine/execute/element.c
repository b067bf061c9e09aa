/* Single elements of any type. See ronde/collective.h; arrays of them are reduce.h's. */
#include "engine/execute/elements.h"

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
#define STORE(dtype, type, value)                                                                  \
    case RONDE_##dtype: {                                                                          \
        const type stored = (type)(value);                                                         \
        memcpy(element, &stored, sizeof stored);                                                   \
        break;                                                                                     \
    }
#define STORE_PLAIN(dtype, type, ...) STORE(dtype, type, value)
#define STORE_BOOL(dtype) STORE(dtype, uint8_t, value != 0)
#define STORE_NARROW(dtype, type, key, widen, round, largest)                                      \
    STORE(dtype, type, round(to_odd(value)))

void ronde_element_store(enum ronde_dtype dtype, void *element, double value)
{
    switch (dtype) {
        RONDE_INTEGER_LIST(STORE_PLAIN)
        RONDE_BOOL_LIST(STORE_BOOL)
        RONDE_FLOATING_LIST(STORE_PLAIN)
        RONDE_NARROW_LIST(STORE_NARROW)
    case RONDE_DTYPE_COUNT:
        break;
    }
}

/* Reads the bytes of a value of the element's C type through a conversion. */
#define LOAD(dtype, type, convert)                                                                 \
    case RONDE_##dtype: {                                                                          \
        type loaded;                                                                               \
        memcpy(&loaded, element, sizeof loaded);                                                   \
        return (double)convert(loaded);                                                            \
    }
#define LOAD_PLAIN(dtype, type, ...) LOAD(dtype, type, )
#define LOAD_BOOL(dtype) LOAD(dtype, uint8_t, 0 !=)
#define LOAD_NARROW(dtype, type, key, widen, ...) LOAD(dtype, type, widen)

double ronde_element_load(enum ronde_dtype dtype, const void *element)
{
    switch (dtype) {
        RONDE_INTEGER_LIST(LOAD_PLAIN)
        RONDE_BOOL_LIST(LOAD_BOOL)
        RONDE_FLOATING_LIST(LOAD_PLAIN)
        RONDE_NARROW_LIST(LOAD_NARROW)
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
