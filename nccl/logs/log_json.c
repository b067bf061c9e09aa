/** The JSON that nccl-tests -J writes, by jansson. See nccl_log.h. */
#include "engine/text/refuse.h"
#include "log_run.h"
#include "nccl/published/reader.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** What is read: one run. */
struct reader {
    const struct ronde_published_request *request;
    struct ronde_published *to;
    uint32_t system;
    struct log_run run;
};

RONDE_FORMAT(3, 4)
static enum ronde_status refuse(const struct reader *reader, struct ronde_error *error,
                                const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const enum ronde_status status =
        ronde_refuse_line(error, reader->request->path, 1 /* nccl-tests writes one line */, format,
                          arguments);
    va_end(arguments);
    return status;
}

/** A number from low to high; nccl-tests writes roots as texts. */
static bool take_number(const json_t *object, const char *name, double low, double high, double *out)
{
    const json_t *value = json_object_get(object, name);
    *out = json_is_string(value) ? atof(json_string_value(value)) : json_number_value(value);
    return (json_is_string(value) || json_is_number(value)) && isfinite(*out) && *out >= low &&
           *out <= high;
}

static void read_settings(struct reader *reader, const json_t *env)
{
    size_t at;
    const json_t *item;
    json_array_foreach(env, at, item)
    {
        const char *text = json_string_value(item);
        const char *equals = text ? strchr(text, '=') : NULL;
        if (equals && strncmp(text, "NCCL_", 5) == 0)
            log_run_setting(&reader->to->log, &reader->run.forced, text, (size_t)(equals - text),
                            equals + 1, strlen(equals + 1));
    }
}

/** A device a process is listed, whatever it has: its first. */
static enum ronde_status read_config(struct reader *reader, const json_t *config,
                                     struct ronde_error *error)
{
    struct log_run *run = &reader->run;
    const json_t *devices = json_object_get(config, "devices"), *device;
    double threads = 1, gpus = 1;
    size_t at;
    if (!take_number(config, "nthreads", 1, 4096, &threads) ||
        !take_number(config, "ngpus", 1, 4096, &gpus))
        return refuse(reader, error, "config has no nthreads and ngpus");
    run->per_process = (uint32_t)(threads * gpus);
    json_array_foreach(devices, at, device)
    {
        const char *host = json_string_value(json_object_get(device, "hostname"));
        const char *model = json_string_value(json_object_get(device, "device_info"));
        run->processes++;
        if (host && !log_run_host(run, host, strlen(host)))
            return refuse(reader, error, "more than %u hosts", LOG_MAX_HOSTS);
        if (model && reader->to->log.gpu[0] == '\0')
            snprintf(reader->to->log.gpu, sizeof reader->to->log.gpu, "%s", model);
    }
    return RONDE_OK;
}

/** One half of a result; what is null is not there. */
static enum ronde_status read_half(const struct reader *reader, const json_t *result,
                                   const char *name, size_t at, struct log_half *out,
                                   struct ronde_error *error)
{
    const json_t *half = json_object_get(result, name);
    *out = (struct log_half){.is_there = false, .slack = .03, .least_share = 1, .slack_GBps = 1e-6};
    if (!half || json_is_null(half))
        return RONDE_OK;
    out->is_there = (take_number(half, "time", 0, 1e15, &out->time_us) ||
                     take_number(half, "cpu_time", 0, 1e15, &out->time_us)) &&
                    take_number(half, "alg_bw", 0, 1e9, &out->rate_GBps) &&
                    take_number(half, "bus_bw", 0, 1e9, &out->bus_GBps);
    if (!out->is_there)
        return refuse(reader, error, "results[%zu].%s has no time, alg_bw and bus_bw", at, name);
    out->has_wrong = take_number(half, "nwrong", 0, 1e18, &out->wrong);
    return RONDE_OK;
}

static enum ronde_status read_result(struct reader *reader, const json_t *result, size_t at,
                                     struct ronde_error *error)
{
    struct log_row row = {.bytes = 0};
    char why[RONDE_LOG_TEXT_BYTES];
    double bytes = 0, root = -1;
    const char *op = json_string_value(json_object_get(result, "redop"));
    if (!take_number(result, "size", 0, 1e16, &bytes))
        return refuse(reader, error, "results[%zu] has no size", at);
    row.bytes = (uint64_t)bytes;
    row.is_reduction = op && strcmp(op, "none") != 0 && op[0] != '\0';
    row.has_root = take_number(result, "root", -1, 1e6, &root) && root >= 0;
    RONDE_TRY(read_half(reader, result, "out_of_place", at, &row.half[0], error));
    RONDE_TRY(read_half(reader, result, "in_place", at, &row.half[1], error));
    if (!log_row_is_sound(&row, why, sizeof why))
        return ronde_fail_at(error, RONDE_BAD_INPUT, 1, "%s:1: %s", reader->request->path, why);
    log_run_row(&reader->run, &row);
    return published_add_halves(reader->to, 1, reader->system, &row, error);
}

static enum ronde_status read_run(struct reader *reader, const json_t *root,
                                  struct ronde_error *error)
{
    const json_t *program = json_array_get(json_object_get(root, "args"), 0);
    const json_t *results = json_object_get(root, "results"), *result;
    const json_t *bounds = json_object_get(root, "out_of_bounds");
    double number = 0;
    size_t at;
    if (!json_is_array(results) || json_array_size(results) == 0)
        return refuse(reader, error, "no results: not the JSON of nccl-tests, or a run that failed");
    if (json_is_string(program))
        reader->run.test = log_test_of_program(json_string_value(program));
    reader->run.is_test_sure = reader->run.test != NULL;
    if (take_number(root, "nccl_version", 0, 1e9, &number))
        reader->run.version = log_run_version((uint32_t)number);
    if (take_number(bounds, "count", 1, 1e18, &number))
        reader->to->log.wrong_line = 1;
    read_settings(reader, json_object_get(root, "env"));
    enum ronde_status status = read_config(reader, json_object_get(root, "config"), error);
    json_array_foreach(results, at, result) if (status == RONDE_OK) status =
        read_result(reader, result, at, error);
    return status == RONDE_OK ? published_settle(reader->request, &reader->run, reader->to, 0, error)
                              : status;
}

enum ronde_status published_read_json(const struct ronde_published_request *request, FILE *file,
                                      struct ronde_published *out, struct ronde_error *error)
{
    json_error_t where;
    struct reader *reader = ronde_mem_new(out->mem, 1, sizeof *reader);
    if (!reader)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to read %s", request->path);
    reader->request = request;
    reader->to = out;
    out->log.is_log = true;
    enum ronde_status status = published_log_system(request, out, &reader->system, error);
    json_t *root = status == RONDE_OK ? json_loadf(file, 0, &where) : NULL;
    if (status == RONDE_OK && !json_is_object(root))
        status = ronde_fail_at(error, RONDE_BAD_INPUT, root ? 1 : (uint32_t)where.line,
                               "%s:%d: not a JSON object: %s", request->path, root ? 1 : where.line,
                               root ? "another kind of value" : where.text);
    RONDE_THEN(status, read_run(reader, root, error));
    json_decref(root);
    ronde_mem_free(out->mem, reader, 1, sizeof *reader);
    return status;
}
