/* ronde sim and ronde price: predictions of one schedule, size by size. */
#include "commands.h"
#include "predict.h"
#include "report.h"
#include "table.h"

#include <inttypes.h>
#include <string.h>

#define COLUMNS 10u

static const struct ronde_column columns[COLUMNS] = {
    {"size", "(B)", 12},  {"count", "(elements)", 12}, {"type", "", 8},
    {"time", "(us)", 11}, {"algbw", "(GB/s)", 8},      {"busbw", "(GB/s)", 8},
    {"pieces", "", 7},    {"engine", "", 11},          {"busiest link", "(used)", 22},
    {"labels", "", 0},
};

/* What both commands hold. */
struct session {
    const struct ronde_options *options;
    struct ronde_platform *platform;
    struct ronde_schedule *schedule;
    struct ronde_forecast forecast;
    struct ronde_sink sink;
};

/* Labels joined by commas, as many as fit. */
static struct ronde_cell labels_cell(const struct ronde_record *record)
{
    struct ronde_cell cell = {""};
    for (uint32_t i = 0; i < record->label_count; i++)
        if (strlen(cell.text) + strlen(record->labels[i]) + 2 < sizeof cell.text) {
            strcat(cell.text, i ? "," : "");
            strcat(cell.text, record->labels[i]);
        }
    return cell;
}

/* `result` is NULL where nothing was replayed. */
static enum ronde_status print_record(struct session *session, const struct ronde_record *record,
                                      const struct ronde_sim_result *result,
                                      struct ronde_error *error)
{
    struct ronde_cell cells[COLUMNS];
    if (!ronde_sink_is_table(&session->sink))
        return ronde_sink_record(&session->sink, record, error);
    cells[0] = ronde_cell_integer(
        ronde_record_bytes(record->collective, record->ranks, record->count, record->dtype));
    cells[1] = ronde_cell_integer(record->count);
    cells[2] = ronde_cell_text(ronde_dtype_text(record->dtype));
    cells[3] = ronde_cell_us(record->time_ns);
    cells[4] = ronde_cell_rate(ronde_record_algbw_GBps(record));
    cells[5] = ronde_cell_rate(ronde_record_busbw_GBps(record));
    cells[6] = ronde_cell_integer(record->pieces);
    cells[7] = ronde_cell_text(record->engine);
    cells[8] = ronde_cell_text("");
    if (result && result->busiest_link[0])
        snprintf(cells[8].text, sizeof cells[8].text, "%.40s %.0f%%", result->busiest_link,
                 100.0 * result->busiest_utilisation);
    cells[9] = labels_cell(record);
    ronde_table_row(session->sink.file, columns, COLUMNS, cells);
    return RONDE_OK;
}

/* One size replayed. */
static enum ronde_status sim_size(struct session *session, struct ronde_error *error)
{
    struct ronde_record record;
    struct ronde_sim_result result;
    const enum ronde_status status =
        ronde_forecast_replay(&session->forecast, session->options->engine, &record, &result, error);
    return status == RONDE_OK ? print_record(session, &record, &result, error) : status;
}

/* One size priced twice: by formula and by the longest path. */
static enum ronde_status price_size(struct session *session, struct ronde_error *error)
{
    struct ronde_record record;
    enum ronde_status status = ronde_forecast_closed_form(&session->forecast, &record, error);
    if (status == RONDE_OK)
        status = print_record(session, &record, NULL, error);
    if (status == RONDE_OK)
        status = ronde_forecast_dag(&session->forecast, &record, error);
    return status == RONDE_OK ? print_record(session, &record, NULL, error) : status;
}

/* What was replayed or priced, on what. */
static void print_head(const struct session *session)
{
    const struct ronde_schedule *schedule = session->schedule;
    const struct ronde_platform_facts *facts = ronde_platform_facts(session->platform);
    const uint64_t slot_bytes = session->forecast.load.slot_bytes;
    fprintf(session->sink.file,
            "# ronde %s: %s %s, %u ranks on %s (%s), slot bytes %s, schedule %016" PRIx64 "\n#\n",
            RONDE_VERSION, ronde_collective_text(schedule->collective), schedule->algorithm,
            schedule->ranks, facts->name, ronde_platform_path(session->platform),
            slot_bytes ? ronde_cell_size(slot_bytes).text : "unlimited", schedule->hash);
    ronde_table_head(session->sink.file, columns, COLUMNS);
}

/* The file is read before compiling: a bad path is found at once, at any number of ranks. */
static enum ronde_status open_session(struct session *session, struct ronde_error *error)
{
    const struct ronde_options *options = session->options;
    struct ronde_request request;
    enum ronde_status status = ronde_single_request(options, &request, error);
    if (status == RONDE_OK)
        status = ronde_open_platform(options, &session->platform, error);
    if (status == RONDE_OK)
        status = ronde_request_compile(&request, &session->schedule, error);
    if (status != RONDE_OK)
        return status;
    session->forecast = ronde_forecast_of(session->platform, session->schedule, &request, options);
    status = ronde_forecast_check(&session->forecast, error);
    return status == RONDE_OK ? ronde_sink_open(options, &session->sink, error) : status;
}

static enum ronde_status
walk_sizes(struct session *session,
           enum ronde_status (*one_size)(struct session *, struct ronde_error *),
           struct ronde_error *error)
{
    const struct ronde_schedule *schedule = session->schedule;
    uint64_t last = UINT64_MAX, bytes = session->options->min_bytes;
    enum ronde_status status = RONDE_OK;
    do {
        const uint64_t count = ronde_record_count(schedule->collective, schedule->ranks, bytes,
                                                  session->options->dtype);
        session->forecast.load.count = count;
        if (count != last)
            status = one_size(session, error);
        last = count;
        bytes = ronde_options_next_size(session->options, bytes);
    } while (status == RONDE_OK && bytes != 0);
    return status;
}

/* Both commands are this walk; they differ in what they do with a size. */
static int predict(const struct ronde_options *options,
                   enum ronde_status (*one_size)(struct session *, struct ronde_error *))
{
    struct ronde_error error = {0};
    struct session session = {.options = options};
    enum ronde_status status = open_session(&session, &error);
    if (status == RONDE_OK && ronde_sink_is_table(&session.sink))
        print_head(&session);
    if (status == RONDE_OK)
        status = walk_sizes(&session, one_size, &error);
    if (session.sink.file && ronde_sink_close(&session.sink, &error) != RONDE_OK)
        status = error.status;
    ronde_schedule_destroy(session.schedule);
    ronde_platform_destroy(session.platform);
    return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}

int ronde_cmd_sim(const struct ronde_options *options)
{
    return predict(options, sim_size);
}

int ronde_cmd_price(const struct ronde_options *options)
{
    return predict(options, price_size);
}
