/**
 * Files of constants of NCCL's model: all of them are read and each is somebody's, starts are told from values, and a
 * folder with a file or a line too few, too many or wrong is refused with the place.
 */
#include "support/files.h"
#include "support/suite.h"

#include "ronde/nccl_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** common.txt, then a file per generation. */
#define FILES (1u + RONDE_NCCL_GENERATION_COUNT)

static char folder[] = "nccl_constants_XXXXXX";

static const char *file_name(unsigned file)
{
    return file == 0 ? "common" : ronde_nccl_generation_text((enum ronde_nccl_generation)(file - 1));
}

static void path_of(unsigned file, char *out_path, size_t bytes)
{
    snprintf(out_path, bytes, "%s/%s.txt", folder, file_name(file));
}

/** The file that a constant is in, and its first index there. */
static unsigned file_of(size_t index)
{
    return index < RONDE_NCCL_COMMON_COUNT
               ? 0
               : 1 + (unsigned)((index - RONDE_NCCL_COMMON_COUNT) / RONDE_NCCL_OF_GENERATION_COUNT);
}

/** A constant's name without its generation. */
static void line_name(size_t index, char *out_name, size_t bytes)
{
    char whole[64];
    ronde_nccl_constant_name(index, whole, sizeof whole);
    const char *blank = strchr(whole, ' ');
    snprintf(out_name, bytes, "%s", blank ? blank + 1 : whole);
}

/** A value that no other constant has; every third constant has a start too. */
static double value_of(size_t index)
{
    return 1.5 + (double)index / 4;
}

static double start_of(size_t index)
{
    return index % 3 == 0 ? 2.5 + (double)index / 8 : 0;
}

/** Writes a whole folder of made-up constants, one line replaced and one file left out. */
static void write_folder(size_t replaced, const char *line, unsigned without)
{
    for (unsigned f = 0; f < FILES; f++) {
        char path[128], text[16384] = "# made up\n";
        size_t used = strlen(text);
        path_of(f, path, sizeof path);
        (void)unlink(path);
        for (size_t i = 0; i < RONDE_NCCL_CONSTANT_COUNT; i++) {
            char name[64];
            if (file_of(i) != f)
                continue;
            line_name(i, name, sizeof name);
            if (i == replaced)
                used += (size_t)snprintf(text + used, sizeof text - used, "%s\n", line);
            else if (start_of(i) > 0)
                used += (size_t)snprintf(text + used, sizeof text - used,
                                         "%s %.9g start %.9g # x\n", name, value_of(i), start_of(i));
            else
                used += (size_t)snprintf(text + used, sizeof text - used, "%s %.9g\n", name,
                                         value_of(i));
            CU_ASSERT_FATAL(used < sizeof text);
        }
        if (f != without)
            CU_ASSERT_FATAL(files_write(path, text));
    }
}

static void open_folder(void)
{
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
}

static void remove_folder(void)
{
    for (unsigned f = 0; f < FILES; f++) {
        char path[128];
        path_of(f, path, sizeof path);
        (void)unlink(path);
    }
    CU_ASSERT_EQUAL(rmdir(folder), 0);
}

static void every_constant_is_taken_to_its_place(void)
{
    struct ronde_nccl_constants constants;
    struct ronde_error error = {.status = RONDE_OK};
    open_folder();
    write_folder(SIZE_MAX, "", FILES);
    CU_ASSERT_EQUAL(ronde_nccl_constants_read(folder, &constants, &error), RONDE_OK);
    for (size_t i = 0; i < RONDE_NCCL_CONSTANT_COUNT; i++) {
        CU_ASSERT_DOUBLE_EQUAL(constants.all[i].value, value_of(i), 1e-6);
        CU_ASSERT_DOUBLE_EQUAL(constants.all[i].start, start_of(i), 1e-6);
    }
    CU_ASSERT_EQUAL(constants.launch_us, 0);
    CU_ASSERT_EQUAL(constants.inside, 1);
    CU_ASSERT_EQUAL(constants.between, 1);
    CU_ASSERT_EQUAL(constants.links, 1);
    CU_ASSERT_EQUAL(constants.nics, 1);
    remove_folder();
}

/* A line too few, in the first, a middle and the last file: the file and the constant are named. */
static void a_constant_that_is_left_out_is_named(void)
{
    static const size_t indices[] = {0, RONDE_NCCL_COMMON_COUNT - 1, RONDE_NCCL_COMMON_COUNT,
                                     RONDE_NCCL_COMMON_COUNT + RONDE_NCCL_OF_GENERATION_COUNT * 3,
                                     RONDE_NCCL_CONSTANT_COUNT - 1};
    open_folder();
    for (size_t i = 0; i < sizeof indices / sizeof indices[0]; i++) {
        char path[128], name[64], expected[256];
        struct ronde_nccl_constants constants;
        struct ronde_error error = {.status = RONDE_OK};
        write_folder(indices[i], "# nothing", FILES);
        CU_ASSERT_EQUAL(ronde_nccl_constants_read(folder, &constants, &error), RONDE_BAD_INPUT);
        path_of(file_of(indices[i]), path, sizeof path);
        line_name(indices[i], name, sizeof name);
        snprintf(expected, sizeof expected, "%s: no line says %s", path, name);
        CU_ASSERT_STRING_EQUAL(error.message, expected);
        CU_ASSERT_EQUAL(error.line, 0);
    }
    remove_folder();
}

static void a_file_that_is_left_out_is_named(void)
{
    open_folder();
    for (unsigned f = 0; f < FILES; f++) {
        char path[128];
        struct ronde_nccl_constants constants;
        struct ronde_error error = {.status = RONDE_OK};
        write_folder(SIZE_MAX, "", f);
        CU_ASSERT_EQUAL(ronde_nccl_constants_read(folder, &constants, &error), RONDE_IO);
        path_of(f, path, sizeof path);
        CU_ASSERT_EQUAL(strncmp(error.message, path, strlen(path)), 0);
    }
    remove_folder();
}

/* What stands in line 2 of common.txt, where launch_us_per_gpu belongs. */
static void wrong_lines_are_refused_with_their_line(void)
{
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"launch_us_per_gpu", "VALUE or VALUE start VALUE"},
        {"launch_us_per_gpu 4 start", "VALUE or VALUE start VALUE"},
        {"launch_us_per_gpu 4 begin 5", "VALUE or VALUE start VALUE"},
        {"launch_us_per_gpu 4 start 5 6", "VALUE or VALUE start VALUE"},
        {"launch_us_per_gpu 4 5", "VALUE or VALUE start VALUE"},
        {"launch_us_per_gpu four", "\"four\" is not a number"},
        {"launch_us_per_gpu 0", "\"0\" is not a number"},
        {"launch_us_per_gpu -4", "\"-4\" is not a number"},
        {"launch_us_per_gpu 1e-7", "\"1e-7\" is not a number"},
        {"launch_us_per_gpu 1000001", "\"1000001\" is not a number"},
        {"launch_us_per_gpu nan", "\"nan\" is not a number"},
        {"launch_us_per_gpu 4 start 0", "\"0\" is not a number"},
        {"launch_us_per_gpu 4 start inf", "\"inf\" is not a number"},
        {"launch 4", "no such constant"},
        {"launch_us_per_gpus 4", "no such constant"},
        {"Launch_us_per_gpu 4", "no such constant"},
        {"hopper 4", "no such constant"},
    };
    open_folder();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ronde_nccl_constants constants;
        struct ronde_error error = {.status = RONDE_OK};
        write_folder(0, cases[i].line, FILES);
        CU_ASSERT_EQUAL(ronde_nccl_constants_read(folder, &constants, &error), RONDE_BAD_INPUT);
        CU_ASSERT_EQUAL(error.line, 2);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "/common.txt:2: "));
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, cases[i].says));
    }
    remove_folder();
}

/* Twice in one file is refused; the same name in the file of each generation is what there is to be. */
static void a_constant_is_there_once(void)
{
    struct ronde_nccl_constants constants;
    struct ronde_error error = {.status = RONDE_OK};
    open_folder();
    write_folder(1, "launch_us_per_gpu 7\nnvlink_efficiency 1", FILES);
    CU_ASSERT_EQUAL(ronde_nccl_constants_read(folder, &constants, &error), RONDE_BAD_INPUT);
    CU_ASSERT_EQUAL(error.line, 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "launch_us_per_gpu: is there twice"));
    remove_folder();
}

static void a_path_that_is_too_long_is_refused(void)
{
    static char longest[8192];
    struct ronde_nccl_constants constants;
    struct ronde_error error = {.status = RONDE_OK};
    memset(longest, 'x', sizeof longest - 1);
    CU_ASSERT_EQUAL(ronde_nccl_constants_read(longest, &constants, &error), RONDE_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "path is too long"));
}

/* The folder of the sources is what NULL finds in a build that was not installed. */
static void shipped_constants_are_found_by_themselves(void)
{
    char sources[4096];
    struct ronde_nccl_constants named, found;
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_FATAL(suite_source(sources, sizeof sources, "nccl/model/constants"));
    CU_ASSERT_EQUAL(ronde_nccl_constants_read(sources, &named, &error), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_nccl_constants_read(NULL, &found, &error), RONDE_OK);
    for (size_t i = 0; i < RONDE_NCCL_CONSTANT_COUNT; i++) {
        CU_ASSERT_EQUAL(named.all[i].value, found.all[i].value);
        CU_ASSERT_EQUAL(named.all[i].start, found.all[i].start);
    }
}

/* Shares and efficiencies are of something: none is above it. A fit goes no farther than six times its start. */
static void shipped_constants_make_sense(void)
{
    struct ronde_nccl_constants constants;
    struct ronde_error error = {.status = RONDE_OK};
    unsigned fitted = 0;
    CU_ASSERT_EQUAL_FATAL(ronde_nccl_constants_read(NULL, &constants, &error), RONDE_OK);
    for (size_t i = 0; i < RONDE_NCCL_CONSTANT_COUNT; i++) {
        const struct ronde_nccl_constant *constant = &constants.all[i];
        char name[64];
        ronde_nccl_constant_name(i, name, sizeof name);
        if (strstr(name, "_efficiency") || strstr(name, "_share") || strstr(name, "tuner_nvls") ||
            strstr(name, "tuner_nvlink_ratio"))
            CU_ASSERT(constant->value <= 1);
        if (constant->start > 0) {
            CU_ASSERT(fabs(log(constant->value / constant->start)) <= log(6) + .01);
            CU_ASSERT_PTR_NULL(strstr(name, "tuner_"));
            fitted++;
        }
    }
    CU_ASSERT(fitted > 20 && fitted < RONDE_NCCL_CONSTANT_COUNT / 2);
}

/* Names are different, fit into 64 bytes, and are cut to the room there is. */
static void names_are_those_of_the_files(void)
{
    static char names[RONDE_NCCL_CONSTANT_COUNT][64];
    char few[9];
    for (size_t i = 0; i < RONDE_NCCL_CONSTANT_COUNT; i++) {
        ronde_nccl_constant_name(i, names[i], sizeof names[i]);
        CU_ASSERT(strlen(names[i]) > 3 && strlen(names[i]) < 63);
        CU_ASSERT_EQUAL(strchr(names[i], ' ') != NULL, i >= RONDE_NCCL_COMMON_COUNT);
        for (size_t j = 0; j < i; j++)
            CU_ASSERT_STRING_NOT_EQUAL(names[i], names[j]);
    }
    CU_ASSERT_STRING_EQUAL(names[RONDE_NCCL_COMMON_nvls_us], "nvls_us");
    CU_ASSERT_STRING_EQUAL(
        names[RONDE_NCCL_COMMON_COUNT + RONDE_NCCL_HOPPER * RONDE_NCCL_OF_GENERATION_COUNT +
              RONDE_NCCL_OF_channels],
        "hopper channels");
    ronde_nccl_constant_name(RONDE_NCCL_CONSTANT_COUNT - 1, few, sizeof few);
    CU_ASSERT_STRING_EQUAL(few, "blackwel");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_constant_is_taken_to_its_place", every_constant_is_taken_to_its_place},
        {"a_constant_that_is_left_out_is_named", a_constant_that_is_left_out_is_named},
        {"a_file_that_is_left_out_is_named", a_file_that_is_left_out_is_named},
        {"wrong_lines_are_refused_with_their_line", wrong_lines_are_refused_with_their_line},
        {"a_constant_is_there_once", a_constant_is_there_once},
        {"a_path_that_is_too_long_is_refused", a_path_that_is_too_long_is_refused},
        {"shipped_constants_are_found_by_themselves", shipped_constants_are_found_by_themselves},
        {"shipped_constants_make_sense", shipped_constants_make_sense},
        {"names_are_those_of_the_files", names_are_those_of_the_files},
    };
    return suite_run("nccl_constants", cases, sizeof cases / sizeof cases[0]);
}
