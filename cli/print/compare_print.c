/* Points of a comparison as rows of times and errors, or as records. */
#include "compare_print.h"

#include "report.h"
#include "table.h"

/* What a point is, then a time and its error per prediction, then labels. */
#define POINT_COLUMNS 5u
#define COLUMNS (POINT_COLUMNS + 2 * RONDE_SOURCE_COUNT - 1)

static const struct ronde_column point_columns[POINT_COLUMNS] = {
    {"ranks", "", 6},         {"size", "(B)", 6},  {"algorithm", "", 18},
    {"measured", "(us)", 10}, {"p95", "(us)", 10},
};

static const struct ronde_column source_columns[RONDE_SOURCE_COUNT] = {
    [RONDE_SOURCE_PORTS] = {"ports", "(us)", 10},
    [RONDE_SOURCE_CORES] = {"cores", "(us)", 10},
    [RONDE_SOURCE_SIMGRID] = {"simgrid", "(us)", 10},
    [RONDE_SOURCE_CLOSED_FORM] = {"closed form", "(us)", 11},
};

/* The same for a terminal of 100 characters, which has no room for labels. */
static const struct ronde_column narrow_point_columns[POINT_COLUMNS] = {
    {"ranks", "", 5},        {"size", "(B)", 5}, {"algorithm", "", 18},
    {"measured", "(us)", 8}, {"p95", "(us)", 8},
};

#define NARROW_SOURCE 8
#define NARROW_ERROR 7

static const char *const narrow_source_names[RONDE_SOURCE_COUNT] = {
    [RONDE_SOURCE_PORTS] = "ports",
    [RONDE_SOURCE_CORES] = "cores",
    [RONDE_SOURCE_SIMGRID] = "simgrid",
    [RONDE_SOURCE_CLOSED_FORM] = "formula",
};

/* Lays out the narrow columns a grid has; returns how many. */
static uint32_t list_narrow(const struct ronde_validation *grid, struct ronde_column *out)
{
    uint32_t count = 0;
    for (; count < POINT_COLUMNS; count++)
        out[count] = narrow_point_columns[count];
    for (uint32_t s = RONDE_SOURCE_MEASURED + 1; s < RONDE_SOURCE_COUNT; s++) {
        if (!ronde_validation_has(grid, (enum ronde_source)s))
            continue;
        out[count++] = (struct ronde_column){narrow_source_names[s], "(us)", NARROW_SOURCE};
        out[count++] = (struct ronde_column){"error", "", NARROW_ERROR};
    }
    return count;
}

/* Lays out the columns a grid has; returns how many. */
static uint32_t list_wide(const struct ronde_validation *grid, struct ronde_column *out)
{
    uint32_t count = 0;
    for (; count < POINT_COLUMNS; count++)
        out[count] = point_columns[count];
    for (uint32_t s = RONDE_SOURCE_MEASURED + 1; s < RONDE_SOURCE_COUNT; s++) {
        if (!ronde_validation_has(grid, (enum ronde_source)s))
            continue;
        out[count++] = source_columns[s];
        out[count++] = (struct ronde_column){"error", "", 8};
    }
    out[count++] = (struct ronde_column){"labels", "", 0};
    return count;
}

/* The table of a grid on a sink; its columns are the caller's. */
static struct ronde_table table_of(const struct ronde_validation *grid,
                                   const struct ronde_sink *sink, struct ronde_column *columns)
{
    const struct ronde_table wide = {columns, list_wide(grid, columns), 2};
    if (ronde_table_fits(&wide, sink->width))
        return wide;
    return (struct ronde_table){columns, list_narrow(grid, columns), 1};
}

/* Of a measurement: whether ranks took turns, and whether processors were as far apart as the constants say. */
static const char *labels_text(const struct ronde_grid_point *point,
                               const struct ronde_record *record)
{
    if (ronde_record_has_label(record, "moved"))
        return point->is_oversubscribed ? "oversubscribed, moved" : "moved";
    return point->is_oversubscribed ? "oversubscribed" : "";
}

/* Signed: negative is predicted too fast. */
static struct ronde_cell error_cell(const struct ronde_grid_point *point, enum ronde_source source)
{
    const double measured = point->time_ns[RONDE_SOURCE_MEASURED];
    return measured > 0.0 ? ronde_cell_error(point->time_ns[source] / measured - 1.0)
                          : ronde_cell_text("");
}

static void print_row(const struct ronde_sink *sink, const struct ronde_validation *grid,
                      const struct ronde_record *records, const struct ronde_grid_point *point)
{
    const struct ronde_record *record = &records[RONDE_SOURCE_MEASURED];
    struct ronde_column columns[COLUMNS];
    struct ronde_cell cells[COLUMNS];
    const struct ronde_table table = table_of(grid, sink, columns);
    uint32_t count = 0;
    cells[count++] = ronde_cell_integer(record->ranks);
    cells[count++] = ronde_cell_size(point->bytes);
    cells[count++] = ronde_cell_text(record->algorithm);
    cells[count++] = ronde_cell_us(record->time_ns);
    cells[count++] = ronde_cell_us(record->p95_ns);
    for (uint32_t s = RONDE_SOURCE_MEASURED + 1; s < RONDE_SOURCE_COUNT; s++) {
        if (!ronde_validation_has(grid, (enum ronde_source)s))
            continue;
        cells[count++] = ronde_cell_us(point->time_ns[s]);
        cells[count++] = error_cell(point, (enum ronde_source)s);
    }
    cells[count++] = ronde_cell_text(labels_text(point, record));
    ronde_table_row(sink->file, &table, cells);
}

/* A row of times, or as many records. */
static enum ronde_status print_point(struct ronde_sink *sink, const struct ronde_validation *grid,
                                     const struct ronde_record *records,
                                     const struct ronde_grid_point *point, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    if (ronde_sink_is_table(sink)) {
        ronde_progress_end();
        print_row(sink, grid, records, point);
    }
    for (uint32_t s = 0; status == RONDE_OK && s < RONDE_SOURCE_COUNT; s++)
        if (!ronde_sink_is_table(sink) && ronde_validation_has(grid, (enum ronde_source)s))
            status = ronde_sink_record(sink, &records[s], error);
    return status;
}

/* For people, and for programs beside them. */
static enum ronde_status show_point(void *context, const struct ronde_validation *grid,
                                    const struct ronde_grid_point *point,
                                    const struct ronde_record *records, struct ronde_error *error)
{
    const struct ronde_comparison_printer *printer = context;
    const enum ronde_status status = print_point(printer->sink, grid, records, point, error);
    return status == RONDE_OK && printer->records
               ? print_point(printer->records, grid, records, point, error)
               : status;
}

enum ronde_status ronde_comparison_show(struct ronde_comparison *comparison,
                                        struct ronde_comparison_printer *printer,
                                        struct ronde_error *error)
{
    const struct ronde_point_sink points = {show_point, printer};
    struct ronde_column columns[COLUMNS];
    const struct ronde_table table = table_of(&comparison->grid, printer->sink, columns);
    if (ronde_sink_is_table(printer->sink))
        ronde_table_head(printer->sink->file, &table);
    return ronde_comparison_run(comparison, &points, error);
}
