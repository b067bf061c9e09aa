/* Places of PCIe as text. See ronde/gpu_places.h. */
#include "ronde/gpu_places.h"

#include <stdio.h>

/* "0000:65:00.0", upper or lower case, any number of digits; false for anything else. */
static bool read_bus(const char *text, unsigned out_numbers[4])
{
    char rest;
    return sscanf(text, "%8x:%2x:%2x.%1x%c", &out_numbers[0], &out_numbers[1], &out_numbers[2],
                  &out_numbers[3], &rest) == 4;
}

bool ronde_bus_is_same(const char *left, const char *right)
{
    unsigned a[4];
    unsigned b[4];
    return read_bus(left, a) && read_bus(right, b) && a[0] == b[0] && a[1] == b[1] &&
           a[2] == b[2] && a[3] == b[3];
}
