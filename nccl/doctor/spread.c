/** How far the model is off by itself. See doctor.h. */
#define _POSIX_C_SOURCE 200809L

#include "inside.h"

#include "ronde/data_files.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/** Upper bounds of the classes: latency, middle sizes, bandwidth that is approached, bandwidth that is reached. */
static const uint64_t bounds[RONDE_DOCTOR_SIZES] = {65536, 4194304, 134217728, UINT64_MAX};

/** No class is known better than this: a log is one run. */
static const double least_off = .05;

/** Where no system tells. */
static const double guessed_off = .5;

/** A system that is slower than this on the whole of a class is another machine than its description's. */
static const double most_off = 1.6;

/** Longest line, its newline and NUL included. */
#define LINE_BYTES 256

uint32_t doctor_size_class(const struct ronde_doctor_spread *spread, uint64_t bytes)
{
    uint32_t c = 0;
    while (c + 1 < RONDE_DOCTOR_SIZES && bytes > spread->most_bytes[c])
        c++;
    return c;
}

static struct ronde_doctor_spread guessed(void)
{
    struct ronde_doctor_spread spread;
    memset(&spread, 0, sizeof spread);
    memcpy(spread.most_bytes, bounds, sizeof bounds);
    for (unsigned p = 0; p < RONDE_DOCTOR_PLACES; p++)
        for (unsigned c = 0; c < RONDE_DOCTOR_SIZES; c++)
            spread.off[p][c] = guessed_off;
    return spread;
}

/** "PLACE CLASS OFF SYSTEMS", places and classes counted from 0. */
static bool take_line(const char *line, struct ronde_doctor_spread *to)
{
    unsigned place = 0, size = 0, systems = 0;
    double off = 0;
    char more = '\0';
    /* Four digits at most: what a longer number says beyond them is "more". */
    if (strpbrk(line, "+-") ||
        sscanf(line, "%4u %4u %lf %4u %c", &place, &size, &off, &systems, &more) != 4 ||
        place >= RONDE_DOCTOR_PLACES || size >= RONDE_DOCTOR_SIZES || !(off >= least_off) ||
        off > 10)
        return false;
    to->off[place][size] = off;
    to->systems[place][size] = systems;
    return true;
}

static enum ronde_status read_lines(FILE *file, const char *path, struct ronde_doctor_spread *to,
                                    struct ronde_error *error)
{
    char text[LINE_BYTES];
    for (uint32_t line = 1; fgets(text, sizeof text, file); line++) {
        if (!strchr(text, '\n') && !feof(file))
            return ronde_fail_at(error, RONDE_BAD_INPUT, line, "%s:%u: longer than %u bytes", path,
                                 line, LINE_BYTES - 2);
        text[strcspn(text, "#")] = '\0';
        if (text[strspn(text, " \t\r\n")] != '\0' && !take_line(text, to))
            return ronde_fail_at(error, RONDE_BAD_INPUT, line,
                                 "%s:%u: not PLACE CLASS OFF SYSTEMS: 0 or 1, 0 to %u, %g to 10, a "
                                 "number",
                                 path, line, RONDE_DOCTOR_SIZES - 1, least_off);
    }
    return ferror(file) ? ronde_fail(error, RONDE_IO, "%s: cannot be read", path) : RONDE_OK;
}

/** The folder of the shipped constants. */
static bool shipped(char *out_path, size_t bytes)
{
    for (unsigned p = 0; p < RONDE_DATA_PLACE_COUNT; p++)
        if (ronde_data_folder(RONDE_DATA_NCCL, (enum ronde_data_place)p, out_path, bytes))
            return true;
    return false;
}

enum ronde_status ronde_doctor_spread_read(const char *folder, struct ronde_doctor_spread *out,
                                           struct ronde_error *error)
{
    char found[RONDE_PATH_BYTES], path[RONDE_PATH_BYTES + 16];
    *out = guessed();
    if (!folder && !shipped(found, sizeof found))
        return ronde_fail(error, RONDE_IO,
                          "constants of the model (share/ronde/nccl) are not found");
    snprintf(path, sizeof path, "%.*s/spread.txt", RONDE_PATH_BYTES - 1, folder ? folder : found);
    FILE *file = fopen(path, "r");
    if (!file)
        return ronde_fail(error, RONDE_IO, "%s: %s", path, strerror(errno));
    const enum ronde_status status = read_lines(file, path, out, error);
    fclose(file);
    return status;
}

/** Mean log(measured / predicted) of a system in a class; false where it has no row there. */
static bool mean_of(const struct ronde_published *published, uint32_t system, unsigned place,
                    unsigned size, const struct ronde_doctor_spread *classes, double *out)
{
    double sum = 0;
    size_t count = 0;
    for (size_t r = 0; r < published->count; r++) {
        const struct ronde_published_row *row = &published->rows[r];
        if (row->system != system || row->state != RONDE_PUBLISHED_PREDICTED ||
            (row->call.nodes > 1) != (place == 1) ||
            doctor_size_class(classes, row->call.bytes) != size)
            continue;
        sum += log(row->measured_us / row->predicted_us);
        count++;
    }
    *out = count > 0 ? sum / (double)count : 0;
    return count > 0;
}

void ronde_doctor_spread_of(const struct ronde_published *published, struct ronde_doctor_spread *out)
{
    *out = guessed();
    for (unsigned p = 0; p < RONDE_DOCTOR_PLACES; p++)
        for (unsigned c = 0; c < RONDE_DOCTOR_SIZES; c++) {
            double squares = 0;
            uint32_t systems = 0;
            for (uint32_t s = 0; s < published->system_count; s++) {
                double mean = 0;
                /* A system whose own table contradicts itself says nothing of the model. */
                if (ronde_published_falls(published, s) > RONDE_PUBLISHED_MOST_FALLS ||
                    !mean_of(published, s, p, c, out, &mean) || mean > log(most_off))
                    continue;
                squares += mean * mean;
                systems++;
            }
            out->systems[p][c] = systems;
            if (systems > 1)
                out->off[p][c] = fmax(least_off, sqrt(squares / systems));
        }
}
