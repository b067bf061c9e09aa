/* The text of a schedule, printed. See schedule_text.h. */
#include "schedule_text.h"

#include "ronde/text.h"

enum ronde_status ronde_schedule_text_print(const struct ronde_schedule *schedule, FILE *file,
                                            struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    char *text = NULL;
    size_t bytes = 0;
    const enum ronde_status status = ronde_schedule_print(schedule, mem, &text, &bytes, error);
    if (status != RONDE_OK)
        return status;
    const bool is_short = fwrite(text, 1, bytes, file) != bytes;
    ronde_mem_free(mem, text, bytes + 1, 1);
    return is_short ? ronde_fail(error, RONDE_DEVICE, "schedule could not be written") : RONDE_OK;
}
