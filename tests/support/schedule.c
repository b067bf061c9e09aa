/* Schedules for tests. See schedule.h. */
#include "support/schedule.h"

#include "support/suite.h"

#include "ronde/schedules.h"
#include "ronde/text.h"

#include <string.h>

/* The schedule where there is one, which there must be. */
static struct ronde_schedule *take(enum ronde_status status, struct ronde_schedule *schedule,
                                   const struct ronde_error *error)
{
    if (status != RONDE_OK)
        suite_note("%s: %s", ronde_status_text(status), error->message);
    CU_ASSERT_EQUAL_FATAL(status, RONDE_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(schedule);
    return schedule;
}

struct ronde_schedule *schedule_compile_request(const struct ronde_compile_request *request,
                                                struct ronde_proof *out_proof)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    const enum ronde_status status =
        ronde_compile(request, ronde_mem_default(), out_proof, &schedule, &error);
    return take(status, schedule, &error);
}

struct ronde_schedule *schedule_compile(enum ronde_collective collective, const char *algorithm,
                                        uint32_t ranks)
{
    const struct ronde_compile_request request = {.collective = collective,
                                                  .algorithm = algorithm,
                                                  .ranks = ranks};
    return schedule_compile_request(&request, NULL);
}

struct ronde_builder *schedule_builder(const struct ronde_compile_request *request)
{
    struct ronde_builder *builder = NULL;
    CU_ASSERT_EQUAL_FATAL(ronde_builder_create(request, ronde_mem_default(), &builder, NULL),
                          RONDE_OK);
    return builder;
}

struct ronde_schedule *schedule_finish(struct ronde_builder *builder)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    const enum ronde_status status = ronde_schedule_finish(builder, NULL, &schedule, &error);
    return take(status, schedule, &error);
}

struct ronde_schedule *schedule_read(const char *text)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    const enum ronde_status status =
        ronde_schedule_read(text, strlen(text), "text", ronde_mem_default(), NULL, &schedule,
                            &error);
    return take(status, schedule, &error);
}
