/* Options: sizes, rank lists, letters, and one-line refusals. */
#include "support/suite.h"

#include "cli/options/option_groups.h"

#include <string.h>

static enum ronde_status never_run(struct ronde_invocation *call, struct ronde_error *error)
{
    (void)call, (void)error;
    return RONDE_OK;
}

static const struct ronde_option bench_rows[] = {
    {"op", 'o', "OP", ronde_take_op, offsetof(struct ronde_what_options, op), NULL, 0, false, ""},
};

static const struct ronde_option_group bench_group =
    RONDE_GROUP(RONDE_SECTION_WHAT, bench_rows, struct ronde_what_options, NULL, NULL);

static const struct ronde_option_use run_uses[] = {
    {&bench_group, offsetof(struct ronde_options, what), NULL, false},
    RONDE_TAKES(what, "ranks algorithm shape"),
    RONDE_TAKES(sizes, "minbytes maxbytes stepbytes stepfactor"),
    RONDE_TAKES(backend, "iters check"),
    RONDE_TAKES(engine, "depth timeout"),
    RONDE_TAKES(output, "json csv output"),
    RONDE_TAKES_END,
};

static const struct ronde_option_use compile_uses[] = {
    RONDE_TAKES(what, "ranks op"),
    RONDE_TAKES(output, "output"),
    RONDE_TAKES_END,
};

static const struct ronde_command run_like = {.name = "run",
                                              .arguments = "COLLECTIVE",
                                              .summary = "summary",
                                              .examples = "examples",
                                              .uses = run_uses,
                                              .max_arguments = 1,
                                              .run = never_run};

static const struct ronde_command compile_like = {.name = "compile",
                                                  .arguments = "COLLECTIVE",
                                                  .summary = "summary",
                                                  .examples = "examples",
                                                  .uses = compile_uses,
                                                  .max_arguments = 1,
                                                  .run = never_run};

#define MAX_WORDS 32

/* Parses a line of words; the text must stay as long as the options are used. */
static enum ronde_status parse(const struct ronde_command *command, char *line,
                               struct ronde_options *options, struct ronde_error *error)
{
    char *argv[MAX_WORDS + 1] = {NULL};
    int argc = 0;
    for (char *word = strtok(line, " "); word && argc < MAX_WORDS; word = strtok(NULL, " "))
        argv[argc++] = word;
    *error = (struct ronde_error){0};
    return ronde_options_parse(command, argc, argv, options, error);
}

static void expect_size(const char *text, uint64_t expected)
{
    struct ronde_error error = {0};
    uint64_t bytes = 0;
    CU_ASSERT(ronde_size_parse(text, &bytes, &error) == RONDE_OK);
    CU_ASSERT(bytes == expected);
}

static void sizes_are_powers_of_1024(void)
{
    expect_size("0", 0);
    expect_size("8", 8);
    expect_size("8B", 8);
    expect_size("4K", 4096);
    expect_size("4k", 4096);
    expect_size("64KiB", 65536);
    expect_size("64Ki", 65536);
    expect_size("1MiB", 1048576);
    expect_size("1.5M", 1572864);
    expect_size("128M", UINT64_C(128) << 20);
    expect_size("2G", UINT64_C(2) << 30);
    expect_size("3T", UINT64_C(3) << 40);
}

static void sizes_refuse_junk(void)
{
    static const char *const junk[] = {"",    "K",   "-1",   "+1",    "8X",  "8KX",  "0x10",
                                       "1e3", "nan", "0.3",  "9999P", "8 K", "8iB2", " 8",
                                       "1.5", "1MB", "64KB", "1kB",   "2GBs"};
    for (size_t i = 0; i < sizeof junk / sizeof junk[0]; i++) {
        struct ronde_error error = {0};
        uint64_t bytes = 7;
        CU_ASSERT(ronde_size_parse(junk[i], &bytes, &error) == RONDE_BAD_ARGUMENT);
        CU_ASSERT(strncmp(error.message, "size \"", 6) == 0);
        CU_ASSERT(bytes == 7);
    }
}

static void ranks_take_numbers_lists_and_ranges(void)
{
    uint32_t ranks[RONDE_MAX_RANK_COUNTS], count = 0;
    struct ronde_error error = {0};
    CU_ASSERT(ronde_ranks_parse("8", ranks, &count, &error) == RONDE_OK);
    CU_ASSERT(count == 1 && ranks[0] == 8);
    CU_ASSERT(ronde_ranks_parse("2,4,8", ranks, &count, &error) == RONDE_OK);
    CU_ASSERT(count == 3 && ranks[2] == 8);
    CU_ASSERT(ronde_ranks_parse("2..33,64", ranks, &count, &error) == RONDE_OK);
    CU_ASSERT(count == 33 && ranks[31] == 33 && ranks[32] == 64);
    CU_ASSERT(ronde_ranks_parse("8:64:x2,5:11:+3", ranks, &count, &error) == RONDE_OK);
    CU_ASSERT(count == 7 && ranks[0] == 8 && ranks[3] == 64 && ranks[4] == 5 && ranks[6] == 11);
    CU_ASSERT(ronde_ranks_parse("1048576", ranks, &count, &error) == RONDE_OK);
}

static void a_sweep_of_sizes_is_one_word(void)
{
    static const char *const junk[] = {"",      "8:1G",      "8:1G:2", "8:1G:x1", "8:1G:+0",
                                       "8:1G:", "8:1G:x2:3", ":1G:x2", "8:x2",    "8:1G:+-1"};
    uint64_t low = 0, high = 0, step = 0, factor = 4;
    struct ronde_error error = {0};
    CU_ASSERT(ronde_sizes_parse("8:1G:x2", &low, &high, &step, &factor, &error) == RONDE_OK);
    CU_ASSERT(low == 8 && high == (uint64_t)1 << 30 && step == 0 && factor == 2);
    CU_ASSERT(ronde_sizes_parse("1M:8M:+512K", &low, &high, &step, &factor, &error) == RONDE_OK);
    CU_ASSERT(low == 1 << 20 && high == 8 << 20 && step == 512 << 10);
    CU_ASSERT(ronde_sizes_parse("64M", &low, &high, &step, &factor, &error) == RONDE_OK);
    CU_ASSERT(low == 64 << 20 && high == 64 << 20);
    for (size_t i = 0; i < sizeof junk / sizeof junk[0]; i++)
        CU_ASSERT(ronde_sizes_parse(junk[i], &low, &high, &step, &factor, &error) ==
                  RONDE_BAD_ARGUMENT);
}

static void ranks_refuse_the_impossible(void)
{
    static const char *const junk[] = {"0",  "-1",      "1048577", "",
                                       "a",  "2,,4",    "4..2",    "2..",
                                       "2,", "1..2000", "1.5",     "99999999999999999999"};
    for (size_t i = 0; i < sizeof junk / sizeof junk[0]; i++) {
        uint32_t ranks[RONDE_MAX_RANK_COUNTS], count = 0;
        struct ronde_error error = {0};
        CU_ASSERT(ronde_ranks_parse(junk[i], ranks, &count, &error) == RONDE_BAD_ARGUMENT);
        CU_ASSERT(strncmp(error.message, "ranks", 5) == 0);
    }
}

static void shapes_are_grids_of_up_to_six_digits(void)
{
    static const char *const junk[] = {"",          "x",      "4x",
                                       "x4",        "4x0",    "-1x4",
                                       "4,8",       "4 x8z",  "1x1x1x1x1x1x1",
                                       "2048x1024", "1048577"};
    struct ronde_error error = {0};
    struct ronde_grid shape = {.count = 0};
    CU_ASSERT(ronde_shape_parse("4x8", &shape, &error) == RONDE_OK);
    CU_ASSERT(shape.count == 2 && shape.radix[0] == 4 && shape.radix[1] == 8);
    CU_ASSERT(ronde_shape_ranks(&shape) == 32);
    CU_ASSERT(ronde_shape_parse("2x3x4x5", &shape, &error) == RONDE_OK);
    CU_ASSERT(shape.count == 4 && ronde_shape_ranks(&shape) == 120);
    CU_ASSERT(ronde_shape_parse("1024x1024", &shape, &error) == RONDE_OK);
    CU_ASSERT(ronde_shape_ranks(&shape) == RONDE_MAX_RANKS);
    for (size_t i = 0; i < sizeof junk / sizeof junk[0]; i++) {
        struct ronde_error why = {0};
        CU_ASSERT(ronde_shape_parse(junk[i], &shape, &why) == RONDE_BAD_ARGUMENT);
        CU_ASSERT(strncmp(why.message, "shape", 5) == 0);
        CU_ASSERT(shape.count == 2 && shape.radix[0] == 1024);
    }
}

static void pairs_name_a_source_for_each_destination(void)
{
    static const char *const junk[] = {"",
                                       "0",
                                       "0>",
                                       ">1",
                                       "0>1,",
                                       "0>1,,2>3",
                                       "a>1",
                                       "0>1>2",
                                       "-1>0",
                                       "0>4096",
                                       "0>1,2>1",
                                       "0:1",
                                       "0000000000000000000000000000000000000000000000>1"};
    struct ronde_error error = {0};
    static struct ronde_pairs pairs;
    CU_ASSERT(ronde_pairs_parse("0>1,2>3,0>5", &pairs, &error) == RONDE_OK);
    CU_ASSERT(pairs.ranks == 6 && pairs.source_of[1] == 0 && pairs.source_of[3] == 2);
    CU_ASSERT(pairs.source_of[5] == 0 && pairs.source_of[0] == RONDE_NONE);
    CU_ASSERT(ronde_pairs_parse("4095>0", &pairs, &error) == RONDE_OK);
    CU_ASSERT(pairs.ranks == 4096 && pairs.source_of[1] == RONDE_NONE);
    for (size_t i = 0; i < sizeof junk / sizeof junk[0]; i++) {
        struct ronde_error why = {0};
        CU_ASSERT(ronde_pairs_parse(junk[i], &pairs, &why) == RONDE_BAD_ARGUMENT);
        CU_ASSERT(strncmp(why.message, "pairs:", 6) == 0);
        if (strncmp(why.message, "pairs:", 6) != 0)
            suite_note("\"%s\": %s", junk[i], why.message);
    }
}

static void a_shape_says_how_many_ranks(void)
{
    char alone[] = "run --shape 4x8", both[] = "run --shape 4x8 -N 7";
    static struct ronde_options options;
    struct ronde_error error;
    CU_ASSERT(parse(&run_like, alone, &options, &error) == RONDE_OK);
    CU_ASSERT(options.what.rank_counts == 1 && options.what.ranks[0] == 32);
    /* The parser does not guess which of the two is meant: the request refuses them. */
    CU_ASSERT(parse(&run_like, both, &options, &error) == RONDE_OK);
    CU_ASSERT(options.what.rank_counts == 1 && options.what.ranks[0] == 7 &&
              options.what.shape.count == 2);
}

static void a_line_of_nccl_tests_is_understood(void)
{
    char line[] = "run all_reduce -N 4 -a ring -b 8 -e 128M -f 2 -n 7 -c 0 -o max --json";
    struct ronde_options options;
    struct ronde_error error;
    CU_ASSERT(parse(&run_like, line, &options, &error) == RONDE_OK);
    CU_ASSERT(options.argument_count == 1 && strcmp(options.arguments[0], "all_reduce") == 0);
    CU_ASSERT(options.what.rank_counts == 1 && options.what.ranks[0] == 4);
    CU_ASSERT(options.what.algorithm_count == 1 && strcmp(options.what.algorithms[0], "ring") == 0);
    CU_ASSERT(options.sizes.min_bytes == 8 && options.sizes.max_bytes == UINT64_C(128) << 20);
    CU_ASSERT(options.sizes.factor == 2 && options.backend.iterations == 7 && !options.backend.check);
    CU_ASSERT(options.what.op == RONDE_MAX && options.output.json);
}

static void letter_o_is_the_operator_in_run_and_the_output_elsewhere(void)
{
    char to_file[] = "compile -o x.ronde --op min", to_op[] = "run --output y -o min";
    struct ronde_options options;
    struct ronde_error error;
    CU_ASSERT(parse(&compile_like, to_file, &options, &error) == RONDE_OK);
    CU_ASSERT(options.output.path && strcmp(options.output.path, "x.ronde") == 0 &&
              options.what.op == RONDE_MIN);
    CU_ASSERT(parse(&run_like, to_op, &options, &error) == RONDE_OK);
    CU_ASSERT(options.output.path && strcmp(options.output.path, "y") == 0 &&
              options.what.op == RONDE_MIN);
}

static void algorithms_are_cut_at_commas(void)
{
    char line[] = "run -a ring,tree,double_tree";
    struct ronde_options options;
    struct ronde_error error;
    CU_ASSERT(parse(&run_like, line, &options, &error) == RONDE_OK);
    CU_ASSERT(options.what.algorithm_count == 3);
    CU_ASSERT(strcmp(options.what.algorithms[2], "double_tree") == 0);
}

static void expect_refusal(const char *text, const char *part)
{
    char line[128];
    struct ronde_options options;
    struct ronde_error error;
    CU_ASSERT(strlen(text) < sizeof line);
    memcpy(line, text, strlen(text) + 1);
    CU_ASSERT(parse(&run_like, line, &options, &error) == RONDE_BAD_ARGUMENT);
    CU_ASSERT(strstr(error.message, part) != NULL);
    if (!strstr(error.message, part))
        suite_note("%s: %s", text, error.message);
}

static void refusals_name_the_option_and_the_nearest_one(void)
{
    expect_refusal("run --jsn", "unknown option --jsn; did you mean --json?");
    expect_refusal("run --rank=4 --bogus", "unknown option --bogus");
    expect_refusal("run -z", "unknown option -z");
    expect_refusal("run --json -zq", "unknown option -zq");
    expect_refusal("run --topo x", "unknown option --topo");
    expect_refusal("run -N", "option -N needs a value");
    expect_refusal("run --depth", "option --depth needs a value");
    expect_refusal("run --json=1", "option --json takes no value");
    expect_refusal("run a b", "unexpected argument \"b\"");
    expect_refusal("run -b 8X", "size \"8X\" ends in \"X\"");
    expect_refusal("run -o summ", "did you mean sum?");
    expect_refusal("run -n 0", "iters 0 is outside");
    expect_refusal("run -f 1", "factor 1 is outside");
    expect_refusal("run -c 2", "check 2 is outside");
    expect_refusal("run --depth 1x", "depth \"1x\" is not a whole number");
    expect_refusal("run -b 8 -e 4", "largest size 4 is less than smallest size 8");
    expect_refusal("run --json --csv", "exclude each other");
    expect_refusal("run --timeout 1e-320", "timeout \"1e-320\" is less than 1e-09");
    expect_refusal("run --timeout 0", "timeout \"0\" is not a number in (0, 1e+06]");
    expect_refusal("run -g 8", "unknown option -g; the number of ranks is -N");
}

static void a_large_smallest_size_alone_is_a_sweep_of_one(void)
{
    char line[] = "run -b 64M";
    struct ronde_options options;
    struct ronde_error error;
    CU_ASSERT(parse(&run_like, line, &options, &error) == RONDE_OK);
    CU_ASSERT(options.sizes.max_bytes == options.sizes.min_bytes);
    CU_ASSERT(ronde_options_next_size(&options.sizes, options.sizes.min_bytes) == 0);
}

static void sweeps_multiply_or_add(void)
{
    char by_factor[] = "run -b 8 -e 100 -f 4", by_step[] = "run -b 8 -e 20 -i 6";
    struct ronde_options options;
    struct ronde_error error;
    CU_ASSERT(parse(&run_like, by_factor, &options, &error) == RONDE_OK);
    CU_ASSERT(ronde_options_next_size(&options.sizes, 8) == 32);
    CU_ASSERT(ronde_options_next_size(&options.sizes, 32) == 0);
    CU_ASSERT(ronde_options_next_size(&options.sizes, UINT64_MAX / 2) == 0);
    CU_ASSERT(parse(&run_like, by_step, &options, &error) == RONDE_OK);
    CU_ASSERT(ronde_options_next_size(&options.sizes, 8) == 14);
    CU_ASSERT(ronde_options_next_size(&options.sizes, 20) == 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"sizes_are_powers_of_1024", sizes_are_powers_of_1024},
        {"sizes_refuse_junk", sizes_refuse_junk},
        {"ranks_take_numbers_lists_and_ranges", ranks_take_numbers_lists_and_ranges},
        {"a_sweep_of_sizes_is_one_word", a_sweep_of_sizes_is_one_word},
        {"ranks_refuse_the_impossible", ranks_refuse_the_impossible},
        {"shapes_are_grids_of_up_to_six_digits", shapes_are_grids_of_up_to_six_digits},
        {"pairs_name_a_source_for_each_destination", pairs_name_a_source_for_each_destination},
        {"a_shape_says_how_many_ranks", a_shape_says_how_many_ranks},
        {"a_line_of_nccl_tests_is_understood", a_line_of_nccl_tests_is_understood},
        {"letter_o_is_the_operator_in_run_and_the_output_elsewhere",
         letter_o_is_the_operator_in_run_and_the_output_elsewhere},
        {"algorithms_are_cut_at_commas", algorithms_are_cut_at_commas},
        {"refusals_name_the_option_and_the_nearest_one",
         refusals_name_the_option_and_the_nearest_one},
        {"a_large_smallest_size_alone_is_a_sweep_of_one",
         a_large_smallest_size_alone_is_a_sweep_of_one},
        {"sweeps_multiply_or_add", sweeps_multiply_or_add},
    };
    return suite_run("options", cases, sizeof cases / sizeof cases[0]);
}
