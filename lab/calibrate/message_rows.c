/* Rows of a table from which messages can be priced. See collective_rows.h. */
#include "lab/measure/collective_rows.h"

#include "ronde/csv.h"
#include "ronde/mem.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows whose 90th percentile is beyond so many times the 10th were disturbed: others used the network. */
#define DISTURBED 1.3
/* A table of a million rows is none of collectives. */
#define MOST_ROWS 1000000u

static enum ronde_status open_csv(const char *path, struct ronde_csv *csv, struct ronde_error *error)
{
    *csv = (struct ronde_csv){.path = path, .file = fopen(path, "r")};
    return csv->file ? RONDE_OK
                     : ronde_fail(error, RONDE_IO, "%s: cannot be read: %s", path, strerror(errno));
}

static const char *cell(const struct ronde_csv *csv, uint32_t at)
{
    return at < csv->cell_count ? csv->cells[at] : "";
}

static uint32_t find_column(const struct ronde_csv *csv, const char *name)
{
    for (uint32_t at = 0; at < csv->cell_count; at++)
        if (strcmp(csv->cells[at], name) == 0)
            return at;
    return UINT32_MAX;
}

static enum ronde_status add(struct message_rows *to, const struct message_row *row,
                             struct ronde_error *error)
{
    if (to->count == MOST_ROWS)
        return ronde_fail(error, RONDE_UNSUPPORTED, "more than %u rows", MOST_ROWS);
    if (!ronde_mem_grow(NULL, &to->rows, &to->room, (size_t)to->count + 1, sizeof *to->rows))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u rows", to->count + 1);
    to->rows[to->count++] = *row;
    return RONDE_OK;
}

/* Rounds of recursive doubling; ranks beyond a power of two hand in their blocks before and get the sum after them. */
static void count_exchanges(struct message_row *row)
{
    uint32_t rounds = 0;
    while (2u << rounds <= row->ranks)
        rounds++;
    const bool has_rest = row->ranks != 1u << rounds;
    row->hops = rounds + 2 * has_rest;
    row->copies = has_rest;
}

/* What the row's collective is made of; false for one that says nothing of single messages. */
static bool take_apart(enum ronde_collective collective, const char *algorithm,
                       struct message_row *row)
{
    if (collective == RONDE_ALL_GATHER && strcmp(algorithm, "ring") == 0) {
        row->kind = MESSAGE_HOPS;
        row->hops = row->ranks - 1;
        row->bytes = floor(row->bytes / row->ranks);
    } else if (collective == RONDE_ALL_REDUCE && strcmp(algorithm, "recursive_doubling") == 0) {
        row->kind = MESSAGE_EXCHANGES;
        count_exchanges(row);
    } else if (collective == RONDE_REDUCE_SCATTER && strcmp(algorithm, "ring") == 0) {
        row->kind = MESSAGE_PARTIALS;
    } else if (collective == RONDE_SEND_RECV) {
        row->kind = MESSAGE_HOPS;
        row->hops = 1;
    } else {
        return false;
    }
    return row->bytes >= 1;
}

/* A replay knows of no others, so disturbed rows count as what they took undisturbed. */
static double undisturbed_ns(const struct collective_row *row)
{
    const double p90_ns = row->ns * (1 + row->spread);
    return p90_ns > DISTURBED * row->quiet_ns ? row->quiet_ns : row->ns;
}

static enum ronde_status take_row(const struct collective_row *from, void *context,
                                  struct ronde_error *error)
{
    struct message_rows *to = context;
    struct message_row row = {.bytes = from->bytes,
                              .hops = 1,
                              .ns = undisturbed_ns(from),
                              .spread = from->spread,
                              .ranks = from->ranks};
    if (!from->is_known || from->is_left_out || from->ranks < 2 || from->node_ranks != 1 ||
        !take_apart(from->collective, from->algorithm, &row)) {
        to->skipped++;
        return RONDE_OK;
    }
    return add(to, &row, error);
}

/* "# OSU MPI-CUDA Latency Test v7.3" is the one; "# OSU MPI Bandwidth Test", "# OSU MPI Allreduce Latency Test" are others. */
static bool is_other_test(const char *line)
{
    const char *osu = strncmp(line, "# OSU MPI", 9) == 0 ? line + 9 : NULL;
    return osu && strncmp(osu + strcspn(osu, " \r\n"), " Latency Test", 13) != 0;
}

/* "# OSU MPI Latency Test v7.3", a heading, and lines of bytes and microseconds. */
static enum ronde_status read_latencies(FILE *file, const char *path, struct message_rows *out,
                                        struct ronde_error *error)
{
    char line[512];
    bool has_begun = false;
    for (uint32_t number = 1; fgets(line, sizeof line, file); number++) {
        struct message_row row = {.kind = MESSAGE_HOPS, .hops = 1, .ranks = 2};
        char *end, *at;
        if (line[0] != '#' && !has_begun)
            continue; /* what a launcher says first */
        has_begun = true;
        if (is_other_test(line))
            return ronde_fail_at(error, RONDE_BAD_INPUT, number,
                                 "%s:%u: \"%.*s\" is no test of messages between two ranks; give "
                                 "what osu_latency prints",
                                 path, number, (int)strcspn(line + 2, "\r\n"), line + 2);
        row.bytes = strtod(line, &at);
        row.ns = strtod(at, &end) * 1e3;
        if (line[0] == '#' || line[strspn(line, " \t\r\n")] == '\0' || row.bytes == 0)
            continue;
        if (at == line || end == at || !(row.bytes >= 1 && row.bytes <= 1e18) ||
            !(row.ns > 0 && row.ns <= 1e18))
            return ronde_fail_at(error, RONDE_BAD_INPUT, number,
                                 "%s:%u: expected a size and a time in microseconds", path, number);
        RONDE_TRY(add(out, &row, error));
    }
    return RONDE_OK;
}

/* Lines in which such a text says what it is; those of tables have no such remark. */
#define OSU_LINES 64u

static bool is_osu_text(FILE *file)
{
    char line[512];
    bool is_osu = false;
    for (unsigned i = 0; i < OSU_LINES && !is_osu && fgets(line, sizeof line, file); i++)
        is_osu = strncmp(line, "# OSU", 5) == 0 || (line[0] == '#' && strstr(line, "Latency (us)"));
    rewind(file);
    return is_osu;
}

enum ronde_status message_rows_read(const char *path, struct message_rows *out,
                                    struct ronde_error *error)
{
    *out = (struct message_rows){.count = 0};
    FILE *file = fopen(path, "r");
    if (!file)
        return ronde_fail(error, RONDE_IO, "%s: cannot be read: %s", path, strerror(errno));
    const enum ronde_status status = is_osu_text(file)
                                         ? read_latencies(file, path, out, error)
                                         : collective_rows_read(path, NULL, take_row, out, error);
    fclose(file);
    return status;
}

void message_rows_free(struct message_rows *rows)
{
    ronde_mem_free(NULL, rows->rows, rows->room, sizeof *rows->rows);
    *rows = (struct message_rows){.count = 0};
}

/* "16*5 3*7 4": 16 ranks in group 5, 3 in group 7, one in group 4. */
static enum ronde_status take_groups(const struct ronde_csv *csv, const char *text, uint32_t ranks,
                                     struct ronde_calibrated_network *network,
                                     struct ronde_error *error)
{
    uint64_t sum = 0;
    network->group_count = 0;
    for (const char *at = text + strspn(text, " "); *at != '\0'; at += strspn(at, " ")) {
        char *end;
        const unsigned long first = strtoul(at, &end, 10);
        const bool has_count = *end == '*';
        const unsigned long hosts = has_count ? first : 1;
        if (end == at || hosts == 0 || hosts > ranks || network->group_count == RONDE_MOST_GROUPS)
            return ronde_csv_refuse(csv, error,
                                    "groups \"%.40s\": expected at most %u of COUNT*GROUP or GROUP",
                                    at, RONDE_MOST_GROUPS);
        network->group_hosts[network->group_count++] = (uint32_t)hosts;
        sum += hosts;
        at = end + strcspn(end, " ");
    }
    return sum == ranks ? RONDE_OK
                        : ronde_csv_refuse(csv, error, "the groups have %llu ranks and not %u",
                                           (unsigned long long)sum, ranks);
}

enum ronde_status message_groups_read(const struct ronde_calibrate_table *table,
                                      struct ronde_calibrated_network *network, bool *out_found,
                                      struct ronde_error *error)
{
    struct ronde_csv csv;
    bool is_end = false;
    *out_found = false;
    RONDE_TRY(open_csv(table->alloc_path, &csv, error));
    enum ronde_status status = ronde_csv_next(&csv, &is_end, error);
    const uint32_t run = find_column(&csv, "run"), ranks = find_column(&csv, "ranks"),
                   groups = find_column(&csv, "groups");
    if (status == RONDE_OK && (is_end || ranks == UINT32_MAX || groups == UINT32_MAX))
        status = ronde_fail(error, RONDE_BAD_INPUT, "%s: needs the columns run, ranks and groups",
                            table->alloc_path);
    while (status == RONDE_OK) {
        double count;
        status = ronde_csv_next(&csv, &is_end, error);
        if (status != RONDE_OK || is_end)
            break;
        if ((table->run && strcmp(cell(&csv, run), table->run) != 0) ||
            !collective_number(cell(&csv, ranks), 1, &count) || count != table->ranks)
            continue;
        if (*out_found && !table->run)
            status = ronde_fail(error, RONDE_BAD_ARGUMENT,
                                "%s has several runs of %u ranks; --run says which",
                                table->alloc_path, table->ranks);
        else
            status = take_groups(&csv, cell(&csv, groups), table->ranks, network, error);
        *out_found = true;
    }
    fclose(csv.file);
    return status;
}
