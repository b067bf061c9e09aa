/* Sheets and acts. */
#include "stage.h"

#include "cli/cmd/common.h"

#include <string.h>

/* Ranks on one line; more are easier to read below each other. */
#define RANKS_OF_LINE 8u

/* An example that takes longer than this hangs. */
#define TIMEOUT_NS UINT64_C(60000000000)

static size_t row_bytes(const struct ronde_sheet *sheet)
{
    return (size_t)sheet->count * ronde_dtype_bytes(sheet->dtype);
}

enum ronde_status ronde_sheet_create(uint32_t ranks, uint32_t count, enum ronde_dtype dtype,
                                     struct ronde_sheet *out_sheet, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    struct ronde_sheet sheet = {dtype, ranks, count, NULL};
    sheet.data = ronde_mem_new(mem, ranks, sizeof *sheet.data);
    bool is_whole = sheet.data != NULL;
    for (uint32_t rank = 0; is_whole && rank < ranks; rank++) {
        sheet.data[rank] = ronde_mem_new(mem, row_bytes(&sheet), 1);
        is_whole = sheet.data[rank] != NULL;
    }
    if (!is_whole) {
        ronde_sheet_destroy(&sheet);
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u elements of %u ranks", count,
                          ranks);
    }
    *out_sheet = sheet;
    return RONDE_OK;
}

void ronde_sheet_destroy(struct ronde_sheet *sheet)
{
    const struct ronde_mem *mem = ronde_mem_default();
    for (uint32_t rank = 0; sheet->data && rank < sheet->ranks; rank++)
        ronde_mem_free(mem, sheet->data[rank], row_bytes(sheet), 1);
    ronde_mem_free(mem, sheet->data, sheet->ranks, sizeof *sheet->data);
    *sheet = (struct ronde_sheet){0};
}

static void *element_of(const struct ronde_sheet *sheet, uint32_t rank, uint32_t index)
{
    return (unsigned char *)sheet->data[rank] + (size_t)index * ronde_dtype_bytes(sheet->dtype);
}

double ronde_sheet_get(const struct ronde_sheet *sheet, uint32_t rank, uint32_t index)
{
    return ronde_element_load(sheet->dtype, element_of(sheet, rank, index));
}

void ronde_sheet_set(const struct ronde_sheet *sheet, uint32_t rank, uint32_t index, double value)
{
    ronde_element_store(sheet->dtype, element_of(sheet, rank, index), value);
}

void ronde_sheet_fill(const struct ronde_sheet *sheet, ronde_value value)
{
    for (uint32_t rank = 0; rank < sheet->ranks; rank++)
        for (uint32_t i = 0; i < sheet->count; i++)
            ronde_sheet_set(sheet, rank, i, value(sheet->ranks, rank, i));
}

uint32_t ronde_sheet_wrong(const struct ronde_sheet *sheet, ronde_value expected)
{
    uint32_t wrong = 0;
    for (uint32_t rank = 0; rank < sheet->ranks; rank++)
        for (uint32_t i = 0; i < sheet->count; i++)
            wrong += ronde_sheet_get(sheet, rank, i) != expected(sheet->ranks, rank, i);
    return wrong;
}

/* Whole numbers in full, others to four decimals: enough to follow, and the same on all machines. */
static void print_value(double value, FILE *file)
{
    if (value > -1e15 && value < 1e15 && (double)(int64_t)value == value)
        fprintf(file, "%lld", (long long)value);
    else
        fprintf(file, "%.4f", value);
}

void ronde_sheet_print(const struct ronde_sheet *sheet, const char *when, FILE *file)
{
    const bool is_one_line = sheet->ranks <= RANKS_OF_LINE;
    fprintf(file, "  %-7s", when);
    for (uint32_t rank = 0; rank < sheet->ranks; rank++) {
        if (rank > 0 && !is_one_line)
            fprintf(file, "\n  %-7s", "");
        fprintf(file, "%s%u:[", rank > 0 && is_one_line ? "  " : " ", rank);
        for (uint32_t i = 0; i < sheet->count; i++) {
            fputs(i ? ", " : "", file);
            print_value(ronde_sheet_get(sheet, rank, i), file);
        }
        fputc(']', file);
    }
    fputc('\n', file);
}

enum ronde_status
ronde_act_start(const struct ronde_target *target, const struct ronde_stage_call *act,
                struct ronde_performance *out_performance, struct ronde_error *error)
{
    struct ronde_performance *performance = out_performance;
    struct ronde_compile_request request = {.collective = act->collective,
                                            .algorithm = act->algorithm,
                                            .ranks = act->ranks,
                                            .source_of = act->source_of};
    const struct ronde_launch launch = {.count = act->count,
                                        .dtype = act->dtype,
                                        .op = act->op,
                                        .in = act->in,
                                        .out = act->out,
                                        .factors = act->factors,
                                        .timeout_ns = TIMEOUT_NS};
    *performance = (struct ronde_performance){.target = target};
    if (!act->algorithm && !ronde_first_algorithm(&request))
        return ronde_fail(error, RONDE_UNSUPPORTED, "no algorithm does %s on %u ranks",
                          ronde_collective_text(act->collective), act->ranks);
    enum ronde_status status = ronde_compile_default(&request, &performance->schedule, error);
    if (status == RONDE_OK)
        status = target->backend->load(target->self, performance->schedule, &performance->program,
                                       error);
    if (status == RONDE_OK)
        status = target->backend->run(performance->program, &launch, &performance->run, error);
    return status;
}

enum ronde_status ronde_act_finish(struct ronde_performance *performance, struct ronde_error *error)
{
    struct ronde_result result = {0};
    enum ronde_status status = RONDE_OK;
    if (performance->run)
        status = performance->target->backend->wait(performance->run, &result, error);
    if (performance->target)
        performance->target->backend->unload(performance->program);
    ronde_schedule_destroy(performance->schedule);
    *performance = (struct ronde_performance){0};
    return status;
}

enum ronde_status ronde_act_run(const struct ronde_target *target,
                                const struct ronde_stage_call *act, struct ronde_error *error)
{
    struct ronde_performance performance = {0};
    enum ronde_status status = ronde_act_start(target, act, &performance, error);
    /* An error of starting came first and stays. */
    const enum ronde_status finished =
        ronde_act_finish(&performance, status == RONDE_OK ? error : NULL);
    return status == RONDE_OK ? finished : status;
}
