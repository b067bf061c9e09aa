/* See drive.h. */
#include "drive.h"

#include "engine/ir/finish.h"
#include "support/mutate.h"
#include "support/suite.h"

struct buffers_shape drive_shape(const struct ronde_schedule *schedule, uint64_t count,
                                 enum ronde_dtype dtype, enum ronde_op op, bool in_place)
{
    return (struct buffers_shape){.collective = schedule->collective,
                                  .ranks = schedule->ranks,
                                  .count = count,
                                  .dtype = dtype,
                                  .op = op,
                                  .in_place = in_place,
                                  .data = BUFFERS_BITS,
                                  .seed = 11};
}

void drive_begin(struct drive *drive, struct ronde_schedule *schedule,
                 const struct buffers_shape *shape, enum ronde_protocol protocol,
                 uint64_t slot_bytes, bool streams)
{
    struct ronde_error error = {0};
    const uint64_t never = UINT64_MAX;
    const bool pulls = protocol != RONDE_PROTOCOL_STAGED;
    const struct ronde_habits habits = {.slot_bytes = slot_bytes,
                                        .pull_from_bytes = {pulls ? 1 : never, pulls ? 1 : never},
                                        .farthest = protocol,
                                        .stream_from_bytes = streams ? 1 : never};
    drive->schedule = schedule;
    drive->loaded = NULL;
    CU_ASSERT_FATAL(buffers_create(shape, &drive->buffers));
    struct ronde_launch launch = buffers_launch(&drive->buffers);
    launch.protocol = protocol;
    CU_ASSERT_EQUAL_FATAL(ronde_loaded_create(schedule, ronde_mem_default(), &drive->loaded, &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_loaded_prepare(drive->loaded, &launch, &habits, &error), RONDE_OK);
}

struct ronde_schedule *drive_mutant(struct ronde_schedule *schedule, bool is_unrolled,
                                    uint64_t *random)
{
    struct ronde_schedule *mutant = is_unrolled ? mutate_unroll(schedule) : NULL;
    if (!mutant)
        CU_ASSERT_FATAL(ronde_raw_copy(schedule, ronde_mem_default(), &mutant, NULL) == RONDE_OK);
    const bool is_mutant =
        mutate(mutant, (enum mutate_kind)(buffers_draw(random) % MUTATE_COUNT), random);
    ronde_schedule_destroy(schedule);
    if (is_mutant && ronde_finish_raw(mutant, NULL, NULL) == RONDE_OK)
        return mutant;
    ronde_schedule_destroy(mutant);
    return NULL;
}

void drive_end(struct drive *drive)
{
    buffers_destroy(&drive->buffers);
    ronde_loaded_destroy(drive->loaded);
    ronde_schedule_destroy(drive->schedule);
}

void drive_expect_hosts_bits(const struct drive *drive, const char *what)
{
    struct buffers expected;
    void *host = NULL;
    char text[256];
    CU_ASSERT_FATAL(buffers_create(&drive->buffers.shape, &expected));
    const struct ronde_launch launch = buffers_launch(&expected);
    struct ronde_result result;
    CU_ASSERT_EQUAL_FATAL(ronde_backend_host.open(NULL, ronde_mem_default(), &host, NULL), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_backend_run_once(&ronde_backend_host, host, drive->schedule,
                                                 &launch, &result, NULL),
                          RONDE_OK);
    const bool differs = buffers_differ(&drive->buffers, &expected, text, sizeof text);
    CU_ASSERT(!differs);
    if (differs)
        suite_note("%s: %s", what, text);
    ronde_backend_host.close(host);
    buffers_destroy(&expected);
}
