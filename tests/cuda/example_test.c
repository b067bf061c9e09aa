/* docs/examples/stream.c, as it stands, on an emulated device: captured in a graph, replayed, and the sums right. */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <stdlib.h>

static void the_documented_program_runs(void)
{
    char *said = NULL;
    CU_ASSERT_EQUAL(files_command("'" RONDE_EMULATED_STREAM "' 2>&1", &said), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(said);
    /* 4 to the power of 10. */
    CU_ASSERT_STRING_EQUAL(said, "1048576 after ten all_reduces of 1 among 4 ranks\n");
    suite_note("%.300s", said);
    free(said);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"the_documented_program_runs", the_documented_program_runs},
    };
    return suite_run("example", cases, sizeof cases / sizeof cases[0]);
}
