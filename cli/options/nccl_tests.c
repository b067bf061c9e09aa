/*
 * nccl-tests' command lines. See options.h.
 *
 * Every option of nccl-tests 2.19 has a row: which option of `ronde run` it is, or the value at which nothing follows from
 * it, and what is done with any other. nccl-tests answers a mistyped option with exit code 0; here it is 2.
 */
#include "options.h"

#include "cli/print/report.h"
#include "cli/print/results.h"

#include <getopt.h>
#include <limits.h>
#include <string.h>

/* What becomes of an option whose value is not the one without consequence. */
enum fate {
    PASSED,  /* on to `ronde run`, under its name */
    KEPT,    /* decided when all are known */
    NOTED,   /* the same is measured: said and left out */
    REFUSED, /* something else would be measured or printed */
};

static const struct front_option {
    int letter;
    const char *name;
    enum fate fate;
    const char *plain; /* the value without consequence; NULL = none */
    const char *why;   /* where it is noted or refused; else what it takes, for --help */
} all[] = {
    {'t', "nthreads", PASSED, NULL, "threads, each with -g ranks"},
    {'g', "ngpus", PASSED, NULL, "ranks a thread"},
    {'b', "minbytes", PASSED, NULL, "smallest size (default 32M)"},
    {'e', "maxbytes", PASSED, NULL, "largest size (default 32M)"},
    {'i', "stepbytes", KEPT, NULL, "add this from size to size (default 1M)"},
    {'f', "stepfactor", KEPT, NULL, "multiply by this from size to size (default 1: -i)"},
    {'n', "iters", PASSED, NULL, "measured iterations (default 20)"},
    {'w', "warmup_iters", PASSED, NULL, "iterations before them (default 1)"},
    {'c', "check", KEPT, NULL, "compare results, 0 or 1 (default 1)"},
    {'o', "op", PASSED, NULL, "sum, prod, min, max, avg, mulsum or all"},
    {'d', "datatype", PASSED, NULL, "int8, float, half, bfloat16, ... or all"},
    {'r', "root", KEPT, NULL, "root; -1 for all"},
    {'T', "timeout", KEPT, "0", "seconds; 0: none of its own"},
    {'m', "agg_iters", NOTED, "1", "every iteration is measured by itself"},
    {'p', "parallel_init", NOTED, "0", "ranks always start together"},
    {'z', "blocking", NOTED, "0", "every iteration ends before the next"},
    {'y', "stream_null", NOTED, "0", "there is no stream"},
    {'a', "average", NOTED, "3", "times are those of the slowest rank (3)"},
    {'R', "local_register", NOTED, "0", "buffers are registered where that helps"},
    {'x', "cta_policy", NOTED, "0", "that is of NCCL's kernels"},
    {'V', "device_cta_count", NOTED, "16", "that is of NCCL's kernels"},
    {'N', "run_cycles", REFUSED, "1", "one cycle; a loop of the shell makes more"},
    {'G', "cudagraph", REFUSED, "0", "no graph is launched"},
    {'C', "report_cputime", REFUSED, "0", "times are those of the collective"},
    {'S', "report_timestamps", REFUSED, "0", "rows have no time of day"},
    {'J', "output_file", REFUSED, NULL, "`ronde run COLLECTIVE --json --output FILE` writes records"},
    {'D', "device_implementation", REFUSED, "0", "that is of NCCL's kernels"},
    {'M', "memory", REFUSED, "0", "memory is not reported"},
    {'u', "unalign", REFUSED, "0", "buffers are aligned"},
    {'I', "per_iter_timing", REFUSED, "0",
     "`ronde run COLLECTIVE` without nccl-tests' table has least and p95"},
    {'K', "per_iter_skip", REFUSED, "0", "that is for -I"},
};

#define ALL_COUNT (sizeof all / sizeof all[0])

/* The name of the file that was started. */
static const char *base_of(const char *program)
{
    const char *slash = program ? strrchr(program, '/') : NULL;
    return slash ? slash + 1 : program ? program : "";
}

static bool find_collective(const char *program, enum ronde_collective *out)
{
    for (unsigned c = 0; c < RONDE_COLLECTIVE_COUNT; c++) {
        const char *name = ronde_nccl_tests_program((enum ronde_collective)c);
        if (name && strcmp(name, base_of(program)) == 0) {
            *out = (enum ronde_collective)c;
            return true;
        }
    }
    return false;
}

/* By the end of the name: nccl-tests has programs for what is no collective here. */
bool ronde_is_nccl_tests(const char *program)
{
    static const char end[] = "_perf";
    const char *name = base_of(program);
    const size_t length = strlen(name);
    return length >= sizeof end && strcmp(name + length + 1 - sizeof end, end) == 0;
}

/* What was given, by the letters of options. */
struct given {
    char *values[CHAR_MAX + 1];
};

static void push(struct ronde_nccl_tests *out, const char *option, char *value)
{
    /* Literals are not written to; argv's type does not say so. */
    union {
        const char *in;
        char *out;
    } word = {option};
    out->words[out->count++] = word.out;
    if (value)
        out->words[out->count++] = value;
    out->words[out->count] = NULL;
}

static enum ronde_status take(const struct front_option *option, char *value, struct given *given,
                              struct ronde_nccl_tests *out, struct ronde_error *error)
{
    static char dashed[ALL_COUNT][32];
    given->values[option->letter] = value;
    if (option->fate == KEPT)
        return RONDE_OK;
    if (option->fate == PASSED) {
        char *name = dashed[option - all];
        (void)snprintf(name, sizeof dashed[0], "--%s", option->name);
        if (out->count + 2 >= RONDE_NCCL_TESTS_WORDS - 16)
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "more options than there are");
        push(out, name, value);
        return RONDE_OK;
    }
    if (option->plain && strcmp(value, option->plain) == 0)
        return RONDE_OK;
    if (option->fate == REFUSED)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "-%c %s: not here: %s", option->letter, value,
                          option->why);
    ronde_note("-%c %s changes nothing here: %s", option->letter, value, option->why);
    return RONDE_OK;
}

static void print_usage(const char *program)
{
    printf("%s: as nccl-tests has it, measured by ronde run\n\nUsage: %s [OPTION...]\n", program,
           program);
    for (size_t i = 0; i < ALL_COUNT; i++)
        printf("  -%c, --%-22s %s%s\n", all[i].letter, all[i].name,
               all[i].fate == NOTED     ? "ignored: "
               : all[i].fate == REFUSED ? "refused: "
                                        : "",
               all[i].why);
    printf("  -h, --%-22s %s\n", "help", "this text");
}

/* Defaults of nccl-tests where `ronde run` has others; a factor of 1 is nccl-tests' way to say -i. */
static void settle(const struct given *given, struct ronde_nccl_tests *out)
{
    static char size[] = "32M", step[] = "1M", one[] = "1", all_roots[] = "all", none[] = "0";
    char *const *values = given->values;
    const bool has_factor = values['f'] && strcmp(values['f'], one) != 0;

    push(out, "--style", NULL);
    push(out, "nccl-tests", NULL);
    if (!values['b'])
        push(out, "--minbytes", size);
    if (!values['e'])
        push(out, "--maxbytes", size);
    push(out, has_factor ? "--stepfactor" : "--stepbytes",
         has_factor    ? values['f']
         : values['i'] ? values['i']
                       : step);
    if (!values['g'] && !values['t'])
        push(out, "--ngpus", one);
    if (!values['w'])
        push(out, "--warmup_iters", one);
    if (values['c'])
        push(out, "--check", strcmp(values['c'], none) == 0 ? none : one);
    if (values['r'])
        push(out, "--root", strcmp(values['r'], "-1") == 0 ? all_roots : values['r']);
    if (values['T'] && strcmp(values['T'], none) != 0)
        push(out, "--timeout", values['T']);
}

/* getopt's own tables. */
static void fill_tables(char *letters, struct option *names)
{
    size_t used = 0;
    letters[used++] = ':';
    for (size_t i = 0; i < ALL_COUNT; i++) {
        letters[used++] = (char)all[i].letter;
        letters[used++] = ':';
        names[i] = (struct option){all[i].name, required_argument, NULL, all[i].letter};
    }
    letters[used++] = 'h';
    letters[used] = '\0';
    names[ALL_COUNT] = (struct option){"help", no_argument, NULL, 'h'};
    names[ALL_COUNT + 1] = (struct option){0};
}

enum ronde_status ronde_nccl_tests_translate(int argc, char **argv, struct ronde_nccl_tests *out,
                                             bool *out_is_help, struct ronde_error *error)
{
    char letters[2 * ALL_COUNT + 3];
    struct option names[ALL_COUNT + 2];
    struct given given = {0};
    enum ronde_collective collective = RONDE_ALL_REDUCE;
    enum ronde_status status = RONDE_OK;
    *out = (struct ronde_nccl_tests){0};
    *out_is_help = false;
    if (!find_collective(argv[0], &collective))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s: there is no such test; there are all_reduce_perf, all_gather_perf, "
                          "reduce_scatter_perf, broadcast_perf, reduce_perf, alltoall_perf, "
                          "gather_perf, scatter_perf and sendrecv_perf",
                          base_of(argv[0]));
    fill_tables(letters, names);
    push(out, "run", NULL);
    push(out, ronde_collective_text(collective), NULL);
    opterr = 0;
    optind = 1;
    for (int letter;
         status == RONDE_OK && (letter = getopt_long(argc, argv, letters, names, NULL)) != -1;) {
        if (letter == 'h') {
            *out_is_help = true;
            print_usage(base_of(argv[0]));
            return RONDE_OK;
        }
        if (letter == '?' || letter == ':')
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: %s %s; see --help", base_of(argv[0]),
                              letter == ':' ? "a value is missing behind" : "unknown option",
                              argv[optind - 1]);
        for (size_t i = 0; i < ALL_COUNT; i++)
            if (all[i].letter == letter)
                status = take(&all[i], optarg, &given, out, error);
    }
    if (status == RONDE_OK && optind < argc)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: unexpected word \"%s\"; see --help",
                          base_of(argv[0]), argv[optind]);
    settle(&given, out);
    return status;
}
