/* The result of `ronde tune`: medians of the rounds, and the rows of before that were not measured. See tune.h. */
#include "tune.h"

#include "cli/launch/job.h"

#include "ronde/benchmark.h"
#include "ronde/hw.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int compare_times(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The median over the rounds of a time; all rounds have the same rows. */
static double median_time(const struct ronde_tuning *session, uint32_t index, uint32_t row,
                          uint32_t size)
{
    double times[RONDE_TUNE_ROUNDS];
    const uint32_t n = session->rounds;
    for (uint32_t round = 0; round < n; round++)
        times[round] = session->parts[round][index]->rows[row].time_us[size];
    qsort(times, n, sizeof times[0], compare_times);
    return (times[n / 2] + times[(n - 1) / 2]) / 2.0;
}

/* What stands at the path, where it was measured on this machine at these sizes. */
static struct ronde_measured *read_old(const char *path, const struct ronde_measured *table)
{
    struct ronde_measured *old = NULL;
    struct ronde_error why = {0};
    if (access(path, F_OK) != 0 ||
        ronde_measured_read(path, ronde_mem_default(), &old, &why) != RONDE_OK)
        return NULL;
    if (strcmp(old->backend, table->backend) == 0 && strcmp(old->machine, table->machine) == 0 &&
        old->cores == table->cores && old->size_count == table->size_count &&
        memcmp(old->bytes, table->bytes, table->size_count * sizeof table->bytes[0]) == 0)
        return old;
    ronde_measured_destroy(old, ronde_mem_default());
    return NULL;
}

static bool is_renewed(const struct ronde_measured *table, uint32_t measured,
                       const struct ronde_measured_row *old)
{
    for (uint32_t i = 0; i < measured; i++)
        if (table->rows[i].collective == old->collective && table->rows[i].ranks == old->ranks)
            return true;
    return false;
}

/* The rows that were measured, then those of before that were not. */
static enum ronde_status fill_rows(const struct ronde_tuning *session, struct ronde_measured *table,
                                   struct ronde_error *error)
{
    size_t most = session->old ? session->old->row_count : 0;
    for (uint32_t i = 0; i < session->rank_counts; i++)
        most += session->parts[0][i]->row_count;
    table->rows = ronde_mem_new(ronde_mem_default(), most, sizeof *table->rows);
    if (!table->rows)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu rows", most);
    table->capacity = most;
    for (uint32_t i = 0; i < session->rank_counts; i++)
        for (uint32_t r = 0; r < session->parts[0][i]->row_count; r++) {
            struct ronde_measured_row *row = &table->rows[table->row_count++];
            *row = session->parts[0][i]->rows[r];
            for (uint32_t k = 0; k < table->size_count; k++)
                row->time_us[k] = median_time(session, i, r, k);
        }
    const uint32_t measured = table->row_count;
    for (uint32_t r = 0; session->old && r < session->old->row_count; r++)
        if (!is_renewed(table, measured, &session->old->rows[r]))
            table->rows[table->row_count++] = session->old->rows[r];
    return RONDE_OK;
}

enum ronde_status ronde_tune_write(struct ronde_tuning *session, struct ronde_error *error)
{
    const struct ronde_measured *part = session->parts[0][0];
    struct ronde_measured table = *part;
    const time_t now = time(NULL);
    struct tm day;
    const bool has_cores = ronde_job_is_wanted(table.backend) || strcmp(table.backend, "cpu") == 0;
    table.rows = NULL;
    table.row_count = 0;
    table.capacity = 0;
    table.cores = has_cores ? ronde_usable_cores() : UINT32_MAX;
    ronde_machine_line(table.backend, ronde_usable_cores(), table.machine, sizeof table.machine);
    if (!gmtime_r(&now, &day) || strftime(table.date, sizeof table.date, "%Y-%m-%d", &day) == 0)
        return ronde_fail(error, RONDE_IO, "the system does not know the date");
    session->old = read_old(session->path, &table);
    enum ronde_status status = fill_rows(session, &table, error);
    if (status == RONDE_OK)
        status = ronde_measured_write(&table, session->path, error);
    if (status == RONDE_OK)
        printf("%s: %u rows, medians of %u rounds\n", session->path, table.row_count,
               session->rounds);
    ronde_mem_free(ronde_mem_default(), table.rows, table.capacity, sizeof *table.rows);
    return status;
}
