/* The reader of MSCCL++ plans on arbitrary bytes: what it accepts must do what it claims. See target.h. */
#include "fuzz/target.h"

#include "support/heap.h"

#include "ronde/mscclpp.h"
#include "ronde/text.h"

#include <stdio.h>
#include <string.h>

/* Memory that a plan may ask for; beyond it the refusal is NO_MEMORY. */
#define HEAP_BYTES_MAX ((size_t)64 << 20)

/* Its text goes through the target of schedules, which proves it again and runs it. */
static void check_text(const struct ronde_schedule *schedule, struct fuzz_verdict *verdict)
{
    char *text = NULL;
    size_t bytes = 0;
    struct ronde_error error = {0};
    if (ronde_schedule_print(schedule, ronde_mem_default(), &text, &bytes, &error) != RONDE_OK) {
        fuzz_complain(verdict, "does not print: %.400s", error.message);
        return;
    }
    fuzz_schedule((const unsigned char *)text, bytes, verdict);
    if (!verdict->is_accepted)
        fuzz_complain(verdict, "its text is refused: %.400s", text);
    verdict->is_accepted = true;
    ronde_mem_free(ronde_mem_default(), text, bytes + 1, 1);
}

void fuzz_mscclpp(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict)
{
    struct heap heap = heap_start(SIZE_MAX, true);
    heap.limit_bytes = HEAP_BYTES_MAX;
    const struct ronde_mem mem = heap_mem(&heap);
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    memset(out_verdict, 0, sizeof *out_verdict);
    const enum ronde_status status =
        ronde_mscclpp_read((const char *)data, bytes, "input", &mem, NULL, &schedule, &error);
    if (status == RONDE_OK)
        check_text(schedule, out_verdict);
    else if ((status != RONDE_BAD_INPUT && status != RONDE_REJECTED &&
              status != RONDE_UNSUPPORTED && status != RONDE_NO_MEMORY) ||
             error.message[0] == '\0' || schedule)
        fuzz_complain(out_verdict, "'%s' with \"%.400s\"", ronde_status_text(status), error.message);
    ronde_schedule_destroy(schedule);
    fuzz_expect_no_leak(out_verdict, &heap);
}
