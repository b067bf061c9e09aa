/* Files that commands write: whole, or as they were before. */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include "ronde/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = RONDE_SCRATCH_DIR "/output-XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* The content of a file; "" where there is none. */
static const char *content(const char *path)
{
    static char text[64];
    FILE *file = fopen(path, "r");
    text[file ? fread(text, 1, sizeof text - 1, file) : 0] = '\0';
    if (file)
        fclose(file);
    return text;
}

static enum ronde_status write_file(const char *path, const char *text, enum ronde_status end)
{
    struct ronde_output_file output;
    struct ronde_error error = {0};
    enum ronde_status status = ronde_output_file_open(path, &output, &error);
    if (status != RONDE_OK)
        return status;
    fputs(text, output.file);
    fflush(output.file);
    return ronde_output_file_close(&output, end, &error);
}

static size_t entries(void)
{
    char command[300];
    char *said = NULL;
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", folder);
    CU_ASSERT_EQUAL(files_command(command, &said), 0);
    const size_t count = said ? (size_t)atoi(said) : 0;
    free(said);
    return count;
}

static void what_fails_leaves_what_was_there(void)
{
    const char *path = in_folder("a");
    CU_ASSERT_EQUAL(write_file(path, "half", RONDE_REJECTED), RONDE_REJECTED);
    CU_ASSERT_EQUAL(entries(), 0);
    CU_ASSERT_EQUAL(write_file(path, "first", RONDE_OK), RONDE_OK);
    CU_ASSERT_STRING_EQUAL(content(path), "first");
    CU_ASSERT_EQUAL(write_file(path, "half", RONDE_DEVICE), RONDE_DEVICE);
    CU_ASSERT_STRING_EQUAL(content(path), "first");
    CU_ASSERT_EQUAL(write_file(path, "second", RONDE_OK), RONDE_OK);
    CU_ASSERT_STRING_EQUAL(content(path), "second");
    CU_ASSERT_EQUAL(entries(), 1);
    CU_ASSERT_EQUAL(unlink(path), 0);
}

static void links_and_rights_stay(void)
{
    char target[256];
    struct stat found;
    snprintf(target, sizeof target, "%s", in_folder("target"));
    CU_ASSERT_EQUAL(write_file(target, "old", RONDE_OK), RONDE_OK);
    CU_ASSERT_EQUAL(chmod(target, 0640), 0);
    char link_path[256];
    snprintf(link_path, sizeof link_path, "%s", in_folder("link"));
    CU_ASSERT_EQUAL(symlink("target", link_path), 0);
    CU_ASSERT_EQUAL(write_file(link_path, "new", RONDE_OK), RONDE_OK);
    CU_ASSERT_STRING_EQUAL(content(target), "new");
    CU_ASSERT(lstat(link_path, &found) == 0 && S_ISLNK(found.st_mode));
    CU_ASSERT(stat(target, &found) == 0 && (found.st_mode & 0777) == 0640);
    CU_ASSERT_EQUAL(unlink(target), 0);
    /* A link to what is not there yet makes it there. */
    CU_ASSERT_EQUAL(write_file(link_path, "made", RONDE_OK), RONDE_OK);
    CU_ASSERT_STRING_EQUAL(content(target), "made");
    CU_ASSERT(lstat(link_path, &found) == 0 && S_ISLNK(found.st_mode));
    CU_ASSERT_EQUAL(unlink(link_path) + unlink(target), 0);
    CU_ASSERT_EQUAL(symlink("none/file", link_path) + symlink("round", in_folder("round")), 0);
    CU_ASSERT_EQUAL(write_file(in_folder("link"), "nowhere", RONDE_OK), RONDE_IO);
    CU_ASSERT_EQUAL(write_file(in_folder("round"), "nowhere", RONDE_OK), RONDE_IO);
    CU_ASSERT_EQUAL(unlink(in_folder("link")) + unlink(in_folder("round")), 0);
}

/* The message is the file's, whatever was said of what was written into it. */
static void a_write_that_failed_is_named(void)
{
    struct ronde_output_file output;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_output_file_open("/dev/full", &output, &error), RONDE_OK);
    fputs("too much", output.file);
    CU_ASSERT_NOT_EQUAL(fflush(output.file), 0);
    errno = EINVAL;
    const enum ronde_status status = ronde_fail(&error, RONDE_IO, "cannot write the trace");
    CU_ASSERT_EQUAL(ronde_output_file_close(&output, status, &error), RONDE_DEVICE);
    CU_ASSERT_STRING_EQUAL(error.message,
                           "/dev/full: could not be written: No space left on device");
}

static void pipes_and_devices_are_written_as_they_are(void)
{
    const char *path = in_folder("pipe");
    char text[16] = "";
    CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
    const int reader = open(path, O_RDONLY | O_NONBLOCK);
    CU_ASSERT_EQUAL(write_file(path, "through", RONDE_OK), RONDE_OK);
    CU_ASSERT_EQUAL(read(reader, text, sizeof text - 1), 7);
    CU_ASSERT_STRING_EQUAL(text, "through");
    close(reader);
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_EQUAL(write_file("/dev/null", "nothing", RONDE_OK), RONDE_OK);
    CU_ASSERT_EQUAL(write_file("/dev/full", "too much", RONDE_OK), RONDE_DEVICE);
    CU_ASSERT_EQUAL(write_file(in_folder("none/file"), "nowhere", RONDE_OK), RONDE_IO);
    CU_ASSERT_EQUAL(write_file(folder, "a folder", RONDE_OK), RONDE_IO);
    CU_ASSERT_EQUAL(entries(), 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"what_fails_leaves_what_was_there", what_fails_leaves_what_was_there},
        {"links_and_rights_stay", links_and_rights_stay},
        {"a_write_that_failed_is_named", a_write_that_failed_is_named},
        {"pipes_and_devices_are_written_as_they_are", pipes_and_devices_are_written_as_they_are},
    };
    if (!mkdtemp(folder))
        return EXIT_FAILURE;
    const int code = suite_run("output_file", cases, sizeof cases / sizeof cases[0]);
    (void)rmdir(folder);
    return code;
}
