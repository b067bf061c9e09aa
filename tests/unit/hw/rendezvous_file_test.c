/** Rendezvous files: what rank 0 writes for a job the others of the machine read, and nothing else is taken for one. */
#include "support/suite.h"

#include "hw/bootstrap/rendezvous_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* FNV-1a, as the names of the files have it, written again. */
static unsigned long long hash_of(const char *job)
{
    unsigned long long hash = 14695981039346656037u;
    for (; *job; job++)
        hash = (hash ^ (unsigned char)*job) * 1099511628211u;
    return hash;
}

/* A name of a job that no other run of this test has, and where its file is. */
static void name_job(const char *what, char job[96], char path[96])
{
    snprintf(job, 96, "test %s/%ld", what, (long)getpid());
    snprintf(path, 96, "/tmp/ronde-%u-%016llx", (unsigned)geteuid(), hash_of(job));
}

static bool put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    const bool is_written = file && fputs(text, file) >= 0;
    return file && fclose(file) == 0 && is_written;
}

static void what_is_written_is_read(void)
{
    char job[96], path[96];
    struct ronde_rendezvous_file read = {0};
    struct ronde_error error = {0};
    struct ronde_rendezvous_file written = {.port = 65535};
    memset(written.secret, 'x', RONDE_TOKEN_BYTES - 1);
    name_job("written", job, path);
    CU_ASSERT_EQUAL_FATAL(ronde_rendezvous_file_write(job, &written, &error), RONDE_OK);
    CU_ASSERT_TRUE(ronde_rendezvous_file_read(job, &read));
    CU_ASSERT_EQUAL(read.port, 65535);
    CU_ASSERT_STRING_EQUAL(read.secret, written.secret);
    ronde_rendezvous_file_remove(job);
    CU_ASSERT_FALSE(ronde_rendezvous_file_read(job, &read));
}

static void only_the_user_may_read_it(void)
{
    char job[96], path[96];
    struct stat about;
    const struct ronde_rendezvous_file written = {.port = 1, .secret = "s"};
    name_job("mode", job, path);
    CU_ASSERT_EQUAL_FATAL(ronde_rendezvous_file_write(job, &written, NULL), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(stat(path, &about), 0);
    CU_ASSERT_EQUAL(about.st_mode & 0777, 0600);
    CU_ASSERT_EQUAL(about.st_uid, geteuid());
    ronde_rendezvous_file_remove(job);
}

static void a_later_job_of_the_name_replaces_it(void)
{
    char job[96], path[96];
    struct ronde_rendezvous_file read = {0};
    name_job("twice", job, path);
    for (uint16_t port = 1; port <= 3; port++) {
        const struct ronde_rendezvous_file written = {.port = port, .secret = "again"};
        CU_ASSERT_EQUAL(ronde_rendezvous_file_write(job, &written, NULL), RONDE_OK);
    }
    CU_ASSERT_TRUE(ronde_rendezvous_file_read(job, &read));
    CU_ASSERT_EQUAL(read.port, 3);
    ronde_rendezvous_file_remove(job);
    /* Nothing is left to be removed, which is no mistake. */
    ronde_rendezvous_file_remove(job);
    CU_ASSERT_EQUAL(access(path, F_OK), -1);
}

static void jobs_have_files_of_their_own(void)
{
    char jobs[2][96], paths[2][96];
    struct ronde_rendezvous_file read = {0};
    name_job("a b", jobs[0], paths[0]);
    name_job("a_b", jobs[1], paths[1]);
    for (int i = 0; i < 2; i++) {
        const struct ronde_rendezvous_file written = {.port = (uint16_t)(i + 10), .secret = "s"};
        CU_ASSERT_EQUAL(ronde_rendezvous_file_write(jobs[i], &written, NULL), RONDE_OK);
    }
    ronde_rendezvous_file_remove(jobs[0]);
    CU_ASSERT_FALSE(ronde_rendezvous_file_read(jobs[0], &read));
    CU_ASSERT_TRUE(ronde_rendezvous_file_read(jobs[1], &read));
    CU_ASSERT_EQUAL(read.port, 11);
    ronde_rendezvous_file_remove(jobs[1]);
}

static void malformed_files_are_none(void)
{
    static const char *const texts[] = {"",           "\n",        "80",          "80\n",
                                        "0 secret\n", "65536 s\n", "secret 80\n", "99999 s\n",
                                        "   \n\n",    "-0 s"};
    char job[96], path[96];
    struct ronde_rendezvous_file read = {0};
    name_job("malformed", job, path);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        CU_ASSERT_TRUE_FATAL(put(path, texts[i]));
        const bool is_read = ronde_rendezvous_file_read(job, &read);
        CU_ASSERT_FALSE(is_read);
        if (is_read)
            suite_note("\"%s\" was read as port %u", texts[i], read.port);
    }
    CU_ASSERT_TRUE(put(path, "65535 s"));
    CU_ASSERT_TRUE(ronde_rendezvous_file_read(job, &read));
    CU_ASSERT_EQUAL(read.port, 65535);
    ronde_rendezvous_file_remove(job);
}

static void a_longer_secret_is_cut_to_what_has_room(void)
{
    char job[96], path[96], text[400];
    struct ronde_rendezvous_file read = {0};
    name_job("long", job, path);
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    memcpy(text, "7 ", 2);
    CU_ASSERT_TRUE_FATAL(put(path, text));
    CU_ASSERT_TRUE(ronde_rendezvous_file_read(job, &read));
    CU_ASSERT_EQUAL(strlen(read.secret), RONDE_TOKEN_BYTES - 1);
    ronde_rendezvous_file_remove(job);
}

static void links_are_not_followed(void)
{
    char job[96], path[96], target[120];
    struct ronde_rendezvous_file read = {0};
    name_job("link", job, path);
    snprintf(target, sizeof target, "%s-target", path);
    CU_ASSERT_TRUE_FATAL(put(target, "80 secret\n"));
    CU_ASSERT_EQUAL_FATAL(symlink(target, path), 0);
    CU_ASSERT_FALSE(ronde_rendezvous_file_read(job, &read));
    /* Writing replaces the link and leaves its target alone. */
    const struct ronde_rendezvous_file written = {.port = 81, .secret = "other"};
    CU_ASSERT_EQUAL(ronde_rendezvous_file_write(job, &written, NULL), RONDE_OK);
    CU_ASSERT_TRUE(ronde_rendezvous_file_read(job, &read));
    CU_ASSERT_EQUAL(read.port, 81);
    struct stat about;
    CU_ASSERT_EQUAL(lstat(path, &about), 0);
    CU_ASSERT(S_ISREG(about.st_mode));
    CU_ASSERT_EQUAL(stat(target, &about), 0);
    CU_ASSERT_EQUAL(about.st_size, 10);
    ronde_rendezvous_file_remove(job);
    CU_ASSERT_EQUAL(unlink(target), 0);
}

/* Opening one without care waits until somebody writes; here that would be for ever. */
static void a_fifo_is_no_file(void)
{
    char job[96], path[96];
    struct ronde_rendezvous_file read = {0};
    name_job("fifo", job, path);
    CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0666), 0);
    (void)alarm(60);
    CU_ASSERT_FALSE(ronde_rendezvous_file_read(job, &read));
    /* Nor once somebody has written into it. */
    const int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    CU_ASSERT_EQUAL(write(fd, "80 secret\n", 10), 10);
    CU_ASSERT_FALSE(ronde_rendezvous_file_read(job, &read));
    (void)alarm(0);
    close(fd);
    ronde_rendezvous_file_remove(job);
}

static void a_name_that_is_taken_is_told(void)
{
    char job[96], path[96], draft[120], expected[200];
    struct ronde_error error = {0};
    const struct ronde_rendezvous_file written = {.port = 1, .secret = "s"};
    name_job("folder", job, path);
    CU_ASSERT_EQUAL_FATAL(mkdir(path, 0700), 0);
    CU_ASSERT_EQUAL(ronde_rendezvous_file_write(job, &written, &error), RONDE_IO);
    snprintf(expected, sizeof expected, "cannot write %s: Is a directory", path);
    CU_ASSERT_STRING_EQUAL(error.message, expected);
    /* Nor is the draft left behind. */
    snprintf(draft, sizeof draft, "%s-%u", path, (unsigned)getpid());
    CU_ASSERT_EQUAL(access(draft, F_OK), -1);
    CU_ASSERT_EQUAL(rmdir(path), 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"what_is_written_is_read", what_is_written_is_read},
        {"only_the_user_may_read_it", only_the_user_may_read_it},
        {"a_later_job_of_the_name_replaces_it", a_later_job_of_the_name_replaces_it},
        {"jobs_have_files_of_their_own", jobs_have_files_of_their_own},
        {"malformed_files_are_none", malformed_files_are_none},
        {"a_longer_secret_is_cut_to_what_has_room", a_longer_secret_is_cut_to_what_has_room},
        {"links_are_not_followed", links_are_not_followed},
        {"a_fifo_is_no_file", a_fifo_is_no_file},
        {"a_name_that_is_taken_is_told", a_name_that_is_taken_is_told},
    };
    return suite_run("rendezvous_file", cases, sizeof cases / sizeof cases[0]);
}
