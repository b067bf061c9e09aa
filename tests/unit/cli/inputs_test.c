/*
 * Files to read: which of the options may be standard input, that what came through a pipe can be read again and again,
 * whole, and that a compressed file is refused with what unpacks it.
 */
#include "support/suite.h"

#include "support/built_with.h"

#include "cli/options/options.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* What options that are files to read were given. */
static const char *named[3];

/* An input: an option, or one of the arguments. */
static const char **input_of(struct ronde_options *options, uint32_t which)
{
    return which < 3 ? &named[which] : &options->arguments[which - 3];
}

#define INPUTS 5u

/* Options whose arguments are names of files. */
static struct ronde_options none(void)
{
    struct ronde_options options = {.arguments = {"all_reduce", "ring"},
                                    .argument_count = 2,
                                    .inputs = {&named[0], &named[1], &named[2]},
                                    .input_count = 3};
    memset(named, 0, sizeof named);
    return options;
}

static void expect_refused(struct ronde_options *options)
{
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_stdin_to_file(options, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "only one input can be -"));
}

static void two_inputs_cannot_share_it(void)
{
    for (uint32_t first = 0; first < INPUTS; first++) {
        for (uint32_t second = 0; second < INPUTS; second++) {
            struct ronde_options options = none();
            if (first == second)
                continue;
            *input_of(&options, first) = "-";
            *input_of(&options, second) = "/dev/stdin";
            expect_refused(&options);
        }
        struct ronde_options with_token = none();
        *input_of(&with_token, first) = "-";
        with_token.backend.token = "-";
        expect_refused(&with_token);
        struct ronde_options with_job = none();
        *input_of(&with_job, first) = "-";
        char command[] = "sim", option[] = "--with", value[] = "/dev/stdin:1M";
        char *argv[] = {command, option, value, NULL};
        with_job.argv = argv;
        with_job.argc = 3;
        expect_refused(&with_job);
    }
}

/* What does not name it is left alone, and standard input with it: here there is none. */
static void other_names_are_left_alone(void)
{
    static const char *const names[] = {"", "--", "-x", "./-", "/dev/stdin2", "dev/stdin"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (uint32_t which = 0; which < INPUTS; which++) {
            struct ronde_options options = none();
            struct ronde_error error = {0};
            *input_of(&options, which) = names[i];
            options.backend.token = "-";
            CU_ASSERT_EQUAL(ronde_stdin_to_file(&options, &error), RONDE_OK);
            CU_ASSERT_PTR_EQUAL(*input_of(&options, which), names[i]);
        }
}

/* Byte k of what goes through a pipe. */
static unsigned char byte_at(size_t k)
{
    return (unsigned char)(k * 131 + k / 251);
}

/* Sends that many bytes and ends; the pipe gives and takes parts. */
static pid_t start_writer(size_t bytes, int *out_read_end)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    const pid_t child = fork();
    CU_ASSERT_FATAL(child >= 0);
    if (child == 0) {
        unsigned char block[1000];
        (void)close(ends[0]);
        for (size_t k = 0; k < bytes;) {
            size_t some = bytes - k < sizeof block ? bytes - k : sizeof block;
            for (size_t i = 0; i < some; i++)
                block[i] = byte_at(k + i);
            const ssize_t done = write(ends[1], block, some);
            if (done <= 0)
                _exit(1);
            k += (size_t)done;
        }
        _exit(0);
    }
    (void)close(ends[1]);
    *out_read_end = ends[0];
    return child;
}

/* How many bytes of the file, opened anew, are what was sent; more or others count as none. */
static size_t read_again(const char *path)
{
    unsigned char block[4096];
    size_t at = 0;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    CU_ASSERT_FATAL(file >= 0);
    for (ssize_t got = read(file, block, sizeof block); got > 0;
         got = read(file, block, sizeof block))
        for (ssize_t i = 0; i < got; i++, at++)
            if (block[i] != byte_at(at)) {
                (void)close(file);
                return 0;
            }
    (void)close(file);
    return at;
}

/* With another standard input than the test's own, which is put back. */
static void with_pipe(size_t bytes)
{
    struct ronde_options options = none();
    struct ronde_error error = {0};
    struct stat facts;
    int read_end = -1, ended = -1;
    const int own = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    const pid_t writer = start_writer(bytes, &read_end);
    CU_ASSERT_EQUAL(dup2(read_end, STDIN_FILENO), STDIN_FILENO);
    (void)close(read_end);
    named[0] = "-";
    CU_ASSERT_EQUAL(ronde_stdin_to_file(&options, &error), RONDE_OK);
    CU_ASSERT_STRING_EQUAL(named[0], "/dev/stdin");
    CU_ASSERT_EQUAL(fstat(STDIN_FILENO, &facts), 0);
    CU_ASSERT_TRUE(S_ISREG(facts.st_mode));
    for (int round = 0; round < 3; round++)
        CU_ASSERT_EQUAL(read_again(named[0]), bytes);
    /* A file is taken as it is: nothing of it is read. */
    CU_ASSERT_EQUAL(ronde_stdin_to_file(&options, &error), RONDE_OK);
    CU_ASSERT_EQUAL(read_again(named[0]), bytes);
    CU_ASSERT_EQUAL(waitpid(writer, &ended, 0), writer);
    CU_ASSERT(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    CU_ASSERT_EQUAL(dup2(own, STDIN_FILENO), STDIN_FILENO);
    (void)close(own);
}

static void a_pipe_can_be_read_as_often_as_a_file(void)
{
    static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        with_pipe(sizes[i]);
}

/* Without a standard input, as a service may be started: an error that says so. */
static void none_at_all_is_an_error(void)
{
    struct ronde_options options = none();
    struct ronde_error error = {0};
    const int own = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    (void)close(STDIN_FILENO);
    named[2] = "-";
    CU_ASSERT_EQUAL(ronde_stdin_to_file(&options, &error), RONDE_IO);
    CU_ASSERT_EQUAL(strncmp(error.message, "/dev/stdin: ", 12), 0);
    /* A folder is no pipe, and cannot be read. */
    CU_ASSERT_EQUAL(open("/", O_RDONLY | O_DIRECTORY), STDIN_FILENO);
    memset(&error, 0, sizeof error);
    CU_ASSERT_EQUAL(ronde_stdin_to_file(&options, &error), RONDE_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "/dev/stdin: cannot be read"));
    CU_ASSERT_EQUAL(dup2(own, STDIN_FILENO), STDIN_FILENO);
    (void)close(own);
}

#define PACKED RONDE_SCRATCH_DIR "/inputs-packed"

static void write_packed(const char *bytes, size_t count)
{
    FILE *file = fopen(PACKED, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, count, file), count);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

static void compressed_files_are_refused_with_what_unpacks_them(void)
{
    static const struct {
        const char *bytes;
        size_t count;
        const char *tool; /* NULL: it is not compressed */
    } cases[] = {
        {"\x1f\x8b\x08", 3, "gunzip -c"},
        {"\x28\xb5\x2f\xfd\x04", 5, "zstd -dc"},
        {"\xfd\x37zXZ\x00", 6, "xz -dc"},
        {"BZh9", 4, "bzip2 -dc"},
        {"PK\x03\x04", 4, "unzip -p"},
        {"\x1f", 1, NULL},
        {"", 0, NULL},
        {"ronde 1\n", 8, NULL},
    };
    static const struct ronde_command reads = {.name = "reads"}, unpacks = {.unpacks = true};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ronde_error error = {0};
        write_packed(cases[i].bytes, cases[i].count);
        const enum ronde_status expected = cases[i].tool ? RONDE_BAD_INPUT : RONDE_OK;
        CU_ASSERT_EQUAL(ronde_refuse_compressed(PACKED, &error), expected);
        CU_ASSERT(!cases[i].tool || strstr(error.message, cases[i].tool));
        for (uint32_t which = 0; which < INPUTS; which++) {
            struct ronde_options options = none();
            const bool is_option = which < 3;
            *input_of(&options, which) = PACKED;
            CU_ASSERT_EQUAL(ronde_inputs_check(&reads, &options, NULL), expected);
            CU_ASSERT_EQUAL(ronde_inputs_check(&unpacks, &options, NULL),
                            is_option ? expected : RONDE_OK);
        }
    }
    CU_ASSERT_EQUAL(unlink(PACKED), 0);
    CU_ASSERT_EQUAL(ronde_refuse_compressed(PACKED, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_refuse_compressed(RONDE_SCRATCH_DIR, NULL), RONDE_OK);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"two_inputs_cannot_share_it", two_inputs_cannot_share_it},
        {"other_names_are_left_alone", other_names_are_left_alone},
        {"a_pipe_can_be_read_as_often_as_a_file", a_pipe_can_be_read_as_often_as_a_file},
        {"none_at_all_is_an_error", none_at_all_is_an_error},
        {"compressed_files_are_refused_with_what_unpacks_them",
         compressed_files_are_refused_with_what_unpacks_them},
    };
    /* Whoever starts this may have closed it; the tests put back what they find. */
    if (fcntl(STDIN_FILENO, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != STDIN_FILENO)
        return 1;
    return suite_run("inputs", cases, sizeof cases / sizeof cases[0]);
}
