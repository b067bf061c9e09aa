/* The reader of MSCCL files on arbitrary bytes: what it accepts must do what it claims. See target.h. */
#include "fuzz/target.h"

#include "support/heap.h"

#include "ronde/msccl.h"
#include "ronde/text.h"

#include <stdio.h>
#include <string.h>

/* Memory that a file may ask for; beyond it the refusal is NO_MEMORY. */
#define HEAP_BYTES_MAX ((size_t)64 << 20)

/* Files of more ranks are read but not written again. */
#define RANKS_MAX 16u

/* Its text goes through the target of schedules, which proves it again and runs it. */
static void check_text(const struct ronde_schedule *schedule, struct fuzz_verdict *verdict)
{
    char *text = NULL;
    size_t bytes = 0;
    struct ronde_error error = {0};
    if (ronde_schedule_print(schedule, ronde_mem_default(), &text, &bytes, &error) != RONDE_OK) {
        fuzz_complain(verdict, "does not print: %s", error.message);
        return;
    }
    fuzz_schedule((const unsigned char *)text, bytes, verdict);
    if (!verdict->is_accepted)
        fuzz_complain(verdict, "its text is refused; it begins %.200s", text);
    verdict->is_accepted = true;
    ronde_mem_free(ronde_mem_default(), text, bytes + 1, 1);
}

/* What can be written reads back and is written as the same bytes. */
static void check_file(const struct ronde_schedule *schedule, struct fuzz_verdict *verdict)
{
    static const struct ronde_msccl_style style = {RONDE_MSCCL_OF_RCCL, RONDE_MSCCL_PROTOCOL_COUNT};
    const struct ronde_mem *mem = ronde_mem_default();
    char *texts[2] = {NULL, NULL};
    size_t bytes[2] = {0, 0};
    struct ronde_schedule *again = NULL;
    struct ronde_error error = {0};
    if (schedule->ranks > RANKS_MAX ||
        ronde_msccl_print(schedule, &style, mem, &texts[0], &bytes[0], NULL) != RONDE_OK)
        return;
    if (ronde_msccl_read(texts[0], bytes[0], "again", mem, NULL, NULL, &again, &error) != RONDE_OK)
        fuzz_complain(verdict, "what was written is refused: %s", error.message);
    else if (ronde_msccl_print(again, &style, mem, &texts[1], &bytes[1], &error) != RONDE_OK)
        fuzz_complain(verdict, "what was written is not written again: %s", error.message);
    else if (bytes[0] != bytes[1] || memcmp(texts[0], texts[1], bytes[0]) != 0)
        fuzz_complain(verdict, "what was written is written as another file");
    for (int i = 0; i < 2; i++)
        if (texts[i])
            ronde_mem_free(mem, texts[i], bytes[i] + 1, 1);
    ronde_schedule_destroy(again);
}

void fuzz_msccl(const unsigned char *data, size_t bytes, struct fuzz_verdict *out_verdict)
{
    struct heap heap = heap_start(SIZE_MAX, true);
    heap.limit_bytes = HEAP_BYTES_MAX;
    const struct ronde_mem mem = heap_mem(&heap);
    struct ronde_schedule *schedule = NULL;
    struct ronde_proof proof;
    struct ronde_error error = {0};
    memset(out_verdict, 0, sizeof *out_verdict);
    const enum ronde_status status =
        ronde_msccl_read((const char *)data, bytes, "input", &mem, NULL, &proof, &schedule, &error);
    if (status == RONDE_OK) {
        check_text(schedule, out_verdict);
        check_file(schedule, out_verdict);
    } else if ((status != RONDE_BAD_INPUT && status != RONDE_REJECTED &&
                status != RONDE_UNSUPPORTED && status != RONDE_NO_MEMORY) ||
               error.message[0] == '\0' || schedule ||
               (status == RONDE_REJECTED && proof.finding_count == 0)) {
        fuzz_complain(out_verdict, "'%s' with \"%s\"", ronde_status_text(status), error.message);
    }
    ronde_schedule_destroy(schedule);
    fuzz_expect_no_leak(out_verdict, &heap);
}
