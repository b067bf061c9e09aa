/* Golden files. See golden.h. */
#include "support/golden.h"

#include "support/files.h"
#include "support/suite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void golden_compare(const char *relative, const char *text)
{
    char path[512];
    if (!suite_source(path, sizeof path, relative))
        return;
    if (getenv("RONDE_UPDATE_GOLDEN")) {
        CU_ASSERT_TRUE(files_write(path, text));
        suite_note("wrote %s", path);
        return;
    }
    char *golden = files_read(path);
    const bool is_same = golden && strcmp(golden, text) == 0;
    CU_ASSERT_TRUE(is_same);
    if (!is_same)
        suite_note("%s %s; RONDE_UPDATE_GOLDEN=1 %s writes it", relative,
                   golden ? "differs" : "is missing", program_invocation_name);
    free(golden);
}
