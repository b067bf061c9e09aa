/*
 * Numbers with units as SimGrid reads them (XML reference of SimGrid 3.32: prefixes k M G T P E Z Y in powers of 1000,
 * Ki Mi Gi ... in powers of 1024; Bps bytes, bps bits; w d h m s ms us ns ps; a number alone means B/s and s).
 *
 * The results are GB/s and ns rather than B/s and s, and every scale is a product or a quotient of whole numbers, so
 * that "50GBps" and "17.25ns" are exactly 50 and 17.25: what ronde writes it reads back to the last bit.
 */
#include "platform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A factor as a quotient of whole numbers. */
struct scale {
    double multiply;
    double divide;
};

/* Not strtoull: that takes signs, blanks and wraps around. */
bool ronde_parse_integer(const char **cursor, uint64_t limit, uint64_t *out_value)
{
    const char *text = *cursor;
    uint64_t value = 0;
    while (*text >= '0' && *text <= '9') {
        const uint64_t digit = (uint64_t)(*text - '0');
        if (digit > limit || value > (limit - digit) / 10)
            return false;
        value = value * 10 + digit;
        text++;
    }
    if (text == *cursor)
        return false;
    *cursor = text;
    *out_value = value;
    return true;
}

/* The number in front; *out_unit is what follows. Spelled-out infinities, NaNs and hexadecimal are not numbers here. */
static bool leading_number(const char *text, double *out_value, const char **out_unit)
{
    const size_t digits = strspn(text, "+-.0123456789");
    if (digits == 0 || text[digits] == 'x' || text[digits] == 'X')
        return false;
    char *end = NULL;
    *out_value = strtod(text, &end);
    *out_unit = end;
    return end != text && isfinite(*out_value);
}

/* The whole text or nothing: "1us" is no number of ns. */
bool ronde_parse_number(const char *text, double *out_value)
{
    const char *rest = NULL;
    return leading_number(text, out_value, &rest) && *rest == '\0';
}

/* Splits "Gi" off "GiBps": the factor of the prefix and the base unit behind it. */
static bool strip_prefix(const char *unit, const char *base, struct scale *out_scale)
{
    static const char letters[] = "kMGTPEZY";
    const size_t length = strlen(unit);
    const size_t base_length = strlen(base);
    if (length < base_length || strcmp(unit + length - base_length, base) != 0)
        return false;
    const size_t prefix = length - base_length;
    const char *letter = prefix > 0 ? strchr(letters, unit[0] == 'K' ? 'k' : unit[0]) : NULL;
    const bool is_binary = prefix == 2 && unit[1] == 'i';
    if (prefix > 2 || (prefix == 2 && !is_binary) || (prefix > 0 && !letter))
        return false;
    /* "K" belongs to powers of two, "k" to powers of ten, as SimGrid spells them. */
    if (prefix > 0 && (unit[0] == 'K') != is_binary && *letter == 'k')
        return false;
    out_scale->multiply = 1;
    out_scale->divide = 1;
    for (const char *step = letters; prefix > 0 && step <= letter; step++)
        out_scale->multiply *= is_binary ? 1024 : 1000;
    return true;
}

/* One operation on an exact factor, so that the result is rounded once. */
static double scaled(double value, struct scale scale)
{
    return scale.multiply >= scale.divide ? value * (scale.multiply / scale.divide)
                                          : value / (scale.divide / scale.multiply);
}

/* Bytes are tried before bits: the unit decides by the case of one letter. */
bool ronde_parse_bandwidth(const char *text, double *out_GBps)
{
    double value;
    const char *unit = NULL;
    struct scale scale = {1, 1};
    if (!leading_number(text, &value, &unit))
        return false;
    if (*unit == '\0')
        unit = "Bps";
    const bool is_bytes = strip_prefix(unit, "Bps", &scale);
    if (!is_bytes && !strip_prefix(unit, "bps", &scale))
        return false;
    scale.divide = is_bytes ? 1e9 : 8e9;
    *out_GBps = scaled(value, scale);
    return isfinite(*out_GBps);
}

bool ronde_parse_time(const char *text, double *out_ns)
{
    static const struct {
        const char *unit;
        struct scale scale;
    } units[] = {
        {"", {1e9, 1}},      {"s", {1e9, 1}},      {"ms", {1e6, 1}}, {"us", {1e3, 1}},
        {"ns", {1, 1}},      {"ps", {1, 1e3}},     {"m", {60e9, 1}}, {"h", {3600e9, 1}},
        {"d", {86400e9, 1}}, {"w", {604800e9, 1}},
    };
    double value;
    const char *unit = NULL;
    if (!leading_number(text, &value, &unit))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(unit, units[i].unit) != 0)
            continue;
        *out_ns = scaled(value, units[i].scale);
        return isfinite(*out_ns);
    }
    return false;
}

/* One speed; only its shape matters, ronde charges no flops. */
static bool is_speed(const char *text)
{
    static const char *const words[] = {"kilo", "mega",  "giga", "tera", "peta",
                                        "exa",  "zetta", "zeta", "yotta"};
    double value;
    const char *unit = NULL;
    struct scale scale;
    if (!leading_number(text, &value, &unit) || value < 0)
        return false;
    if (*unit == '\0' || strcmp(unit, "flops") == 0 || strip_prefix(unit, "f", &scale))
        return true;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const size_t length = strlen(words[i]);
        if (strncmp(unit, words[i], length) == 0 && strcmp(unit + length, "flops") == 0)
            return true;
    }
    return false;
}

/* A list gives the speeds of power states; all must be good, the first is in force. */
bool ronde_parse_speeds(const char *text)
{
    char one[64];
    for (;;) {
        text += strspn(text, " ");
        const size_t length = strcspn(text, ",");
        if (length == 0 || length >= sizeof one)
            return false;
        memcpy(one, text, length);
        one[length] = '\0';
        if (!is_speed(one))
            return false;
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}
