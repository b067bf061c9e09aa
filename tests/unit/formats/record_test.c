/* Records: nccl-tests' sizes and bandwidths, the fixed keys in order, CSV quoting. */
#include "support/suite.h"

#include "ronde/record.h"

#include <math.h>
#include <string.h>

static struct ronde_record sample(enum ronde_collective collective, uint32_t ranks, uint64_t count)
{
    struct ronde_record record = {.kind = RONDE_RECORD_SIMULATED,
                                  .engine = "flat",
                                  .collective = collective,
                                  .algorithm = "ring",
                                  .ranks = ranks,
                                  .count = count,
                                  .dtype = RONDE_FLOAT32,
                                  .channels = 1,
                                  .pieces = 1,
                                  .wrong = RONDE_NOT_CHECKED,
                                  .machine = "box, \"big\"",
                                  .schedule = UINT64_C(0x1234)};
    ronde_record_predict(&record, 1000.0);
    return record;
}

static void sizes_are_the_larger_buffer(void)
{
    CU_ASSERT(ronde_record_bytes(RONDE_ALL_REDUCE, 4, 10, RONDE_FLOAT32) == 40);
    CU_ASSERT(ronde_record_bytes(RONDE_ALL_GATHER, 4, 10, RONDE_FLOAT32) == 160);
    CU_ASSERT(ronde_record_bytes(RONDE_REDUCE_SCATTER, 4, 10, RONDE_FLOAT64) == 320);
    CU_ASSERT(ronde_record_bytes(RONDE_BROADCAST, 4, 10, RONDE_UINT8) == 10);
    CU_ASSERT(ronde_record_bytes(RONDE_BARRIER, 4, 10, RONDE_UINT8) == 0);
}

static void counts_round_down_to_one_at_least(void)
{
    CU_ASSERT(ronde_record_count(RONDE_ALL_REDUCE, 4, 1024, RONDE_FLOAT32) == 256);
    CU_ASSERT(ronde_record_count(RONDE_ALL_GATHER, 4, 1024, RONDE_FLOAT32) == 64);
    CU_ASSERT(ronde_record_count(RONDE_ALL_GATHER, 3, 1024, RONDE_FLOAT32) == 85);
    CU_ASSERT(ronde_record_count(RONDE_ALL_GATHER, 64, 8, RONDE_FLOAT32) == 1);
    CU_ASSERT(ronde_record_count(RONDE_ALL_REDUCE, 4, 0, RONDE_FLOAT32) == 0);
    CU_ASSERT(ronde_record_count(RONDE_BARRIER, 4, 1024, RONDE_FLOAT32) == 0);
}

static void expect_busbw(enum ronde_collective collective, double factor)
{
    const struct ronde_record record = sample(collective, 4, 1000);
    const double algbw = ronde_record_algbw_GBps(&record);
    CU_ASSERT(algbw > 0.0);
    CU_ASSERT(fabs(ronde_record_busbw_GBps(&record) - factor * algbw) <= 1e-12 * algbw);
}

static void bandwidths_follow_nccl_tests(void)
{
    const struct ronde_record record = sample(RONDE_ALL_REDUCE, 4, 1000);
    /* 4,000 bytes in a microsecond are 4e9 bytes a second. */
    CU_ASSERT(fabs(ronde_record_algbw_GBps(&record) - 4.0) < 1e-12);
    expect_busbw(RONDE_ALL_REDUCE, 1.5);
    expect_busbw(RONDE_ALL_GATHER, 0.75);
    expect_busbw(RONDE_REDUCE_SCATTER, 0.75);
    expect_busbw(RONDE_ALL_TO_ALL, 0.75);
    expect_busbw(RONDE_GATHER, 0.75);
    expect_busbw(RONDE_SCATTER, 0.75);
    expect_busbw(RONDE_BROADCAST, 1.0);
    expect_busbw(RONDE_REDUCE, 1.0);
}

static void bandwidth_of_no_time_is_zero(void)
{
    struct ronde_record record = sample(RONDE_ALL_REDUCE, 4, 1000);
    ronde_record_predict(&record, 0.0);
    CU_ASSERT(ronde_record_algbw_GBps(&record) == 0.0);
}

static const char *const keys[] = {"kind",     "engine",  "collective", "algorithm",  "ranks",
                                   "bytes",    "count",   "dtype",      "op",         "root",
                                   "channels", "pieces",  "protocol",   "in_place",   "time_ns",
                                   "min_ns",   "p95_ns",  "reps",       "algbw_GBps", "busbw_GBps",
                                   "wrong",    "machine", "topology",   "schedule",   "labels",
                                   "version"};

static void keys_are_fixed_and_ordered(void)
{
    const struct ronde_record record = sample(RONDE_ALL_REDUCE, 4, 1000);
    struct ronde_record_row row;
    ronde_record_layout(&record, &row);
    CU_ASSERT(row.row.count == sizeof keys / sizeof keys[0]);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && i < row.row.count; i++)
        CU_ASSERT(strcmp(row.row.fields[i].name, keys[i]) == 0);
}

static const struct ronde_field *field_of(const struct ronde_record_row *row, const char *name)
{
    for (size_t i = 0; i < row->row.count; i++)
        if (strcmp(row->row.fields[i].name, name) == 0)
            return &row->row.fields[i];
    return NULL;
}

static void what_does_not_apply_is_null(void)
{
    const struct ronde_record record = sample(RONDE_ALL_GATHER, 4, 1000);
    struct ronde_record_row row;
    ronde_record_layout(&record, &row);
    CU_ASSERT(field_of(&row, "op")->kind == RONDE_FIELD_NULL);
    CU_ASSERT(field_of(&row, "root")->kind == RONDE_FIELD_NULL);
    CU_ASSERT(field_of(&row, "wrong")->kind == RONDE_FIELD_NULL);
    CU_ASSERT(field_of(&row, "topology")->kind == RONDE_FIELD_NULL);
    CU_ASSERT(strcmp(field_of(&row, "schedule")->text, "0000000000001234") == 0);
}

static void measured_times_are_whole_and_predicted_ones_are_not(void)
{
    struct ronde_record record = sample(RONDE_ALL_REDUCE, 4, 1000);
    struct ronde_record_row row;
    ronde_record_layout(&record, &row);
    CU_ASSERT(field_of(&row, "time_ns")->kind == RONDE_FIELD_REAL);
    record.kind = RONDE_RECORD_MEASURED;
    record.time_ns = 1000.6;
    ronde_record_layout(&record, &row);
    CU_ASSERT(field_of(&row, "time_ns")->kind == RONDE_FIELD_INTEGER);
    CU_ASSERT(field_of(&row, "time_ns")->integer == 1001);
}

static void labels_are_kept_in_order(void)
{
    struct ronde_record record = sample(RONDE_ALL_REDUCE, 4, 1000);
    ronde_record_label(&record, "oversubscribed");
    ronde_record_label(&record, "exact");
    CU_ASSERT(record.label_count == 2);
    CU_ASSERT(ronde_record_has_label(&record, "exact"));
    CU_ASSERT(!ronde_record_has_label(&record, "approximate"));
    for (int i = 0; i < 20; i++)
        ronde_record_label(&record, "more");
    CU_ASSERT(record.label_count == RONDE_MAX_LABELS);
}

/* What a printer writes. */
static void print_to(char *text, size_t bytes, void (*print)(const struct ronde_row *, FILE *),
                     const struct ronde_row *row)
{
    FILE *file = fmemopen(text, bytes, "w");
    CU_ASSERT_FATAL(file != NULL);
    print(row, file);
    fclose(file);
}

static void csv_quotes_what_needs_it(void)
{
    struct ronde_record record = sample(RONDE_ALL_REDUCE, 4, 1000);
    struct ronde_record_row row;
    char text[1024] = "";
    ronde_record_label(&record, "a");
    ronde_record_label(&record, "b");
    ronde_record_layout(&record, &row);
    print_to(text, sizeof text, ronde_csv_print, &row.row);
    CU_ASSERT(strstr(text, "simulated,flat,all_reduce,ring,4,4000,1000,float32,sum,,1,1,") == text);
    CU_ASSERT(strstr(text, ",\"box, \"\"big\"\"\",") != NULL);
    CU_ASSERT(strstr(text, ",a;b,") != NULL);
    print_to(text, sizeof text, ronde_csv_print_header, &row.row);
    CU_ASSERT(strncmp(text, "kind,engine,collective,", 23) == 0);
}

static void json_is_one_line_or_names_the_package(void)
{
    const struct ronde_record record = sample(RONDE_ALL_REDUCE, 4, 1000);
    struct ronde_record_row row;
    struct ronde_error error = {0};
    const char *why = NULL;
    char text[2048] = "";
    ronde_record_layout(&record, &row);
    FILE *file = fmemopen(text, sizeof text, "w");
    CU_ASSERT_FATAL(file != NULL);
    const enum ronde_status status = ronde_json_print(&row.row, file, &error);
    fclose(file);
    if (!ronde_json_available(&why)) {
        CU_ASSERT(status == RONDE_UNAVAILABLE);
        CU_ASSERT(strstr(error.message, "libjansson-dev") != NULL);
        return;
    }
    CU_ASSERT(status == RONDE_OK);
    CU_ASSERT(strncmp(text, "{\"kind\": \"simulated\", \"engine\": \"flat\"", 38) == 0);
    CU_ASSERT(strstr(text, "\"time_ns\": 1000.0,") != NULL);
    CU_ASSERT(strstr(text, "\"wrong\": null") != NULL);
    CU_ASSERT(strchr(text, '\n') == text + strlen(text) - 1);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"sizes_are_the_larger_buffer", sizes_are_the_larger_buffer},
        {"counts_round_down_to_one_at_least", counts_round_down_to_one_at_least},
        {"bandwidths_follow_nccl_tests", bandwidths_follow_nccl_tests},
        {"bandwidth_of_no_time_is_zero", bandwidth_of_no_time_is_zero},
        {"keys_are_fixed_and_ordered", keys_are_fixed_and_ordered},
        {"what_does_not_apply_is_null", what_does_not_apply_is_null},
        {"measured_times_are_whole_and_predicted_ones_are_not",
         measured_times_are_whole_and_predicted_ones_are_not},
        {"labels_are_kept_in_order", labels_are_kept_in_order},
        {"csv_quotes_what_needs_it", csv_quotes_what_needs_it},
        {"json_is_one_line_or_names_the_package", json_is_one_line_or_names_the_package},
    };
    return suite_run("record", cases, sizeof cases / sizeof cases[0]);
}
