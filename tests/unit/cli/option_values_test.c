/*
 * Every option of the command: where its value goes, the ends of its range, and what is refused in which words. An option
 * that is added without a row here fails the test.
 */
#include "support/files.h"
#include "support/suite.h"

#include "cli/options/option_table.h"
#include "cli/options/options.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int never_run(const struct ronde_options *options)
{
    (void)options;
    return 0;
}

/* A command that takes one option, and help. */
static struct ronde_command command_of(const char *name, char takes[96])
{
    snprintf(takes, 96, " %s ", name);
    return (struct ronde_command){"try", "ARGUMENT", "summary", "examples",
                                  takes, 2,          false,     never_run};
}

/* Parses `ronde try --NAME VALUE`; no value where the option takes none. */
static enum ronde_status parse(const char *name, const char *value, struct ronde_options *options,
                               struct ronde_error *error)
{
    char takes[96], word[64], text[600];
    char command_name[] = "try";
    char *argv[] = {command_name, word, text, NULL};
    const struct ronde_command command = command_of(name, takes);
    snprintf(word, sizeof word, "--%s", name);
    snprintf(text, sizeof text, "%s", value ? value : "");
    memset(error, 0, sizeof *error);
    static char kept[600];
    memcpy(kept, text, sizeof kept);
    argv[2] = value ? kept : NULL;
    return ronde_options_parse(&command, value ? 3 : 2, argv, options, error);
}

/* Where a number goes, and how it is kept. */
enum kind { U32, U64, REAL };

struct number {
    const char *name;
    size_t offset;
    enum kind kind;
    const char *least, *most; /* accepted */
    double least_value, most_value;
    const char *below, *above; /* refused, or NULL */
};

#define AT(member) offsetof(struct ronde_options, member)

static const struct number numbers[] = {
    {"minbytes", AT(min_bytes), U64, "0", "16M", 0, 16777216.0, "-1", "99999999999G"},
    {"stepbytes", AT(step_bytes), U64, "0", "1G", 0, 1073741824.0, "-1", "1e30"},
    {"stepfactor", AT(factor), U64, "2", "1048576", 2, 1048576, "1", "1048577"},
    {"iters", AT(iterations), U32, "1", "4294967294", 1, 4294967294.0, "0", "4294967296"},
    {"warmup_iters", AT(warmups), U32, "0", "4294967294", 0, 4294967294.0, "-1", "4294967296"},
    {"root", AT(root), U32, "0", "4294967294", 0, 4294967294.0, "-1", "4294967296"},
    {"channels", AT(channels), U32, "1", "64", 1, 64, "0", "4294967296"},
    {"world-size", AT(world_size), U32, "1", "64", 1, 64, "0", "4294967296"},
    {"nodes", AT(nodes), U32, "1", "4096", 1, 4096, "0", "4294967296"},
    {"gpus", AT(gpus), U32, "1", "8", 1, 8, "0", "4294967296"},
    {"levels", AT(levels), U32, "1", "3", 1, 3, "0", "4294967296"},
    {"ngpus", AT(ngpus), U32, "1", "64", 1, 64, "0", "4294967296"},
    {"nthreads", AT(nthreads), U32, "1", "64", 1, 64, "0", "4294967296"},
    {"jobs", AT(jobs), U32, "1", "1000", 1, 1000, "0", "4294967296"},
    {"depth", AT(depth), U32, "1", "1024", 1, 1024, "0", "4294967296"},
    {"trees", AT(trees), U32, "1", "4096", 1, 4096, "0", "4294967296"},
    {"connections", AT(connections), U32, "1", "4096", 1, 4096, "0", "4294967296"},
    {"seed", AT(seed), U64, "0", "9223372036854775807", 0, 9223372036854775807.0, "-1",
     "9223372036854775808"},
    {"for", AT(for_bytes), U64, "1", "1G", 1, 1073741824, "x", "99999999999G"},
    {"slot", AT(slot_bytes), U64, "16", "1M", 16, 1048576, "15", "99999999999G"},
    {"nic-GBps", AT(nic_GBps), REAL, "0.001", "1000000", 0.001, 1e6, "0", "1000001"},
    {"nvlink-GBps", AT(nvlink_GBps), REAL, "0.5", "1e6", 0.5, 1e6, "-1", "1e7"},
    {"memory-GBps", AT(memory_GBps), REAL, "1e-3", "1e6", 1e-3, 1e6, "-0", "inf"},
    {"oversubscription", AT(oversubscription), REAL, "0.5", "1e6", 0.5, 1e6, "0.0", "nan"},
    {"layers", AT(gpt.layers), U32, "1", "1000", 1, 1000, "0", "4294967296"},
    {"hidden", AT(gpt.hidden), U32, "1", "65536", 1, 65536, "0", "4294967296"},
    {"seq", AT(gpt.seq), U32, "1", "131072", 1, 131072, "0", "4294967296"},
    {"batch", AT(gpt.batch), U32, "1", "4096", 1, 4096, "0", "4294967296"},
    {"vocab", AT(gpt.vocab), U32, "0", "51200", 0, 51200, "-1", "4294967296"},
    {"tp", AT(gpt.tp), U32, "1", "8", 1, 8, "0", "4294967296"},
    {"dp", AT(gpt.dp), U32, "1", "64", 1, 64, "0", "4294967296"},
    {"pp", AT(gpt.pp), U32, "1", "16", 1, 16, "0", "4294967296"},
    {"micro", AT(gpt.micro), U32, "1", "64", 1, 64, "0", "4294967296"},
    {"flops", AT(gpt.flops), REAL, "1", "1e21", 1, 1e21, "0", "1e22"},
    {"bucket", AT(gpt.bucket_bytes), U64, "0", "25M", 0, 26214400, "-1", "99999999999G"},
    {"what-if", AT(what_if), U32, "0", "3", 0, 3, "-1", "4294967296"},
    {"budget", AT(budget_s), REAL, "0.25", "1e6", 0.25, 1e6, "-0.1", "1e999"},
    {"timeout", AT(timeout_s), REAL, "1e-9", "1e6", 1e-9, 1e6, "0", "1000000.5"},
};

static double value_at(const struct ronde_options *options, const struct number *number)
{
    const char *at = (const char *)options + number->offset;
    uint32_t narrow;
    uint64_t wide;
    double real;
    memcpy(&narrow, at, sizeof narrow);
    memcpy(&wide, at, sizeof wide);
    memcpy(&real, at, sizeof real);
    return number->kind == U32 ? (double)narrow : number->kind == U64 ? (double)wide : real;
}

static void expect_number(const struct number *number, const char *text, double value)
{
    struct ronde_options options;
    struct ronde_error error;
    const enum ronde_status status = parse(number->name, text, &options, &error);
    CU_ASSERT_EQUAL(status, RONDE_OK);
    if (status != RONDE_OK)
        suite_note("--%s %s: %s", number->name, text, error.message);
    else
        CU_ASSERT_DOUBLE_EQUAL(value_at(&options, number), value, 1e-12 * value);
}

/* Refused with a message that shows what was typed. */
static void expect_refused(const char *name, const char *text)
{
    struct ronde_options options;
    struct ronde_error error;
    const enum ronde_status status = parse(name, text, &options, &error);
    CU_ASSERT_EQUAL(status, RONDE_BAD_ARGUMENT);
    CU_ASSERT(error.message[0] != '\0' && strstr(error.message, text));
    if (status != RONDE_BAD_ARGUMENT || !strstr(error.message, text))
        suite_note("--%s \"%s\": %s", name, text, error.message);
}

static void numbers_go_to_their_fields_and_have_ends(void)
{
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        expect_number(&numbers[k], numbers[k].least, numbers[k].least_value);
        expect_number(&numbers[k], numbers[k].most, numbers[k].most_value);
        expect_refused(numbers[k].name, numbers[k].below);
        expect_refused(numbers[k].name, numbers[k].above);
    }
}

static void what_is_no_number_is_refused_by_every_number(void)
{
    static const char *const texts[] = {"",    "x",   "1x",   "one", "1,5", "1 2", "--1",
                                        "+-1", "1..", "\xff", "0b1", "1e",  "."};
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
        for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++)
            expect_refused(numbers[k].name, texts[t]);
}

static const struct {
    const char *name;
    size_t offset;
} texts[] = {
    {"backend", AT(backend)},
    {"join", AT(join)},
    {"token", AT(token)},
    {"transport", AT(transport)},
    {"hosts", AT(hosts)},
    {"launcher", AT(launcher)},
    {"rig", AT(rig)},
    {"topo", AT(topo)},
    {"engine", AT(engine)},
    {"output", AT(output)},
    {"plot", AT(plot)},
    {"records", AT(records)},
    {"from", AT(from)},
    {"operation", AT(operation)},
    {"fabric", AT(fabric)},
    {"nvlink", AT(nvlink)},
    {"nics", AT(nics)},
    {"placement", AT(placement)},
    {"trace", AT(trace)},
    {"timeline", AT(timeline)},
    {"scenario", AT(scenario)},
    {"map", AT(map)},
    {"shard", AT(shard)},
    {"style", AT(style)},
    {"published", AT(published)},
    {"system", AT(system)},
    {"fit", AT(fit)},
    {"to", AT(to)},
    {"nccl-log", AT(nccl_log)},
    {"dialect", AT(dialect)},
};

static void texts_are_kept_as_they_are(void)
{
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        static const char *const values[] = {"value", "a b=c", "-", "\xc3\xa4", "-5"};
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            struct ronde_options options;
            struct ronde_error error;
            const char *kept = NULL;
            CU_ASSERT_EQUAL(parse(texts[k].name, values[v], &options, &error), RONDE_OK);
            memcpy(&kept, (const char *)&options + texts[k].offset, sizeof kept);
            CU_ASSERT_STRING_EQUAL(kept ? kept : "", values[v]);
        }
    }
}

static const struct {
    const char *name;
    size_t offset;
} switches[] = {
    {"json", AT(json)},
    {"csv", AT(csv)},
    {"all", AT(all)},
    {"expand", AT(expand)},
    {"markdown", AT(markdown)},
    {"verbose", AT(verbose)},
    {"wide", AT(wide)},
    {"native-latency", AT(native_latency)},
    {"synthesize", AT(synthesize)},
    {"why", AT(why)},
    {"resume", AT(resume)},
    {"local", AT(local)},
    {"multicast", AT(multicast)},
    {"help", AT(help)},
    {"auto-topo", AT(auto_topo)},
    {"replay", AT(replay)},
    {"sequence-parallel", AT(gpt.splits_sequence)},
};

static void switches_switch_and_take_no_value(void)
{
    for (size_t k = 0; k < sizeof switches / sizeof switches[0]; k++) {
        struct ronde_options options;
        struct ronde_error error;
        bool is_on = false;
        char takes[96], word[64];
        char name[] = "try";
        char *argv[] = {name, word, NULL};
        CU_ASSERT_EQUAL(parse(switches[k].name, NULL, &options, &error), RONDE_OK);
        memcpy(&is_on, (const char *)&options + switches[k].offset, sizeof is_on);
        CU_ASSERT_TRUE(is_on);
        const struct ronde_command command = command_of(switches[k].name, takes);
        snprintf(word, sizeof word, "--%s=1", switches[k].name);
        memset(&error, 0, sizeof error);
        CU_ASSERT_EQUAL(ronde_options_parse(&command, 2, argv, &options, &error),
                        RONDE_BAD_ARGUMENT);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "takes no value"));
    }
}

static void an_option_without_its_value_is_named(void)
{
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        struct ronde_options options;
        struct ronde_error error;
        char text[96];
        snprintf(text, sizeof text, "option --%s needs a value", numbers[k].name);
        CU_ASSERT_EQUAL(parse(numbers[k].name, NULL, &options, &error), RONDE_BAD_ARGUMENT);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, text));
    }
}

static const struct {
    const char *name;
    size_t offset, count_offset;
    const char *value;
} repeats[] = {
    {"with", AT(with), AT(with_count), "all_reduce:ring:4M"},
    {"degrade", AT(degrade), AT(degrade_count), "nic0=0.5"},
    {"without", AT(without), AT(without_count), "nic0,n3g*"},
    {"straggler", AT(straggler), AT(straggler_count), "rank=7,delay=2ms"},
    {"background", AT(background), AT(background_count), "0>4:1M"},
    {"cfg", AT(cfg), AT(cfg_count), "key:value"},
};

static void what_may_be_repeated_is_kept_in_order_up_to_a_bound(void)
{
    for (size_t k = 0; k < sizeof repeats / sizeof repeats[0]; k++)
        for (uint32_t times = 0; times <= RONDE_MAX_REPEATS + 1; times++) {
            char takes[96], words[RONDE_MAX_REPEATS + 1][64], name[] = "try";
            char *argv[RONDE_MAX_REPEATS + 3] = {name};
            struct ronde_options options;
            struct ronde_error error = {0};
            uint32_t count = 0;
            const struct ronde_command command = command_of(repeats[k].name, takes);
            for (uint32_t i = 0; i < times; i++) {
                snprintf(words[i], sizeof words[i], "--%s=%s%u", repeats[k].name, repeats[k].value,
                         i);
                argv[1 + i] = words[i];
            }
            const enum ronde_status status =
                ronde_options_parse(&command, (int)times + 1, argv, &options, &error);
            CU_ASSERT_EQUAL(status, times <= RONDE_MAX_REPEATS ? RONDE_OK : RONDE_BAD_ARGUMENT);
            memcpy(&count, (const char *)&options + repeats[k].count_offset, sizeof count);
            CU_ASSERT_EQUAL(count, times <= RONDE_MAX_REPEATS ? times : RONDE_MAX_REPEATS);
            for (uint32_t i = 0; i < count; i++) {
                const char *kept = NULL;
                memcpy(&kept, (const char *)&options + repeats[k].offset + i * sizeof kept,
                       sizeof kept);
                CU_ASSERT_STRING_EQUAL(kept, strchr(words[i], '=') + 1);
            }
            if (status != RONDE_OK)
                CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "given more than 16 times"));
        }
}

/* Names of a fixed set: one that is good, one that is nearly good, and one that is far from all. */
static void words_of_a_set_are_known_or_the_set_is_named(void)
{
    static const struct {
        const char *name, *good, *near, *nearest, *far, *list;
    } rows[] = {
        {"datatype", "bfloat16", "float23", "float", "xyzzy", "there are"},
        {"dtype", "bfloat16", "float23", "did you mean float", "xyzzy", "there are"},
        {"op", "premul_sum", "summ", "did you mean sum", "xyzzy", "there are sum"},
        {"protocol", "staged", "stagged", "did you mean staged", "xyzzy", "there are auto"},
        {"buffers", "user", "usr", "did you mean user", "xyzzy", "there are registered, user"},
        {"bind", "none", "nome", "did you mean none", "xyzzy", "there are core, none"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct ronde_options options;
        struct ronde_error error;
        CU_ASSERT_EQUAL(parse(rows[k].name, rows[k].good, &options, &error), RONDE_OK);
        CU_ASSERT_EQUAL(parse(rows[k].name, rows[k].near, &options, &error), RONDE_BAD_ARGUMENT);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, rows[k].nearest));
        CU_ASSERT_EQUAL(parse(rows[k].name, rows[k].far, &options, &error), RONDE_BAD_ARGUMENT);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, rows[k].list));
        expect_refused(rows[k].name, "");
    }
}

static void prefixes_are_understood_where_one_option_has_them(void)
{
    static const struct ronde_command command = {
        "try", "ARGUMENT", "summary", "examples", " launcher levels local json jobs timeout ",
        0,     false,      never_run};
    static const struct {
        const char *word, *text; /* NULL: understood */
    } rows[] = {
        {"--js", NULL},
        {"--loc", NULL},
        {"--tim=5", NULL},
        {"--l", "unknown option --l"},
        {"--l=5", "unknown option --l"},
        {"--j", "unknown option --j"},
        {"--lev", "option --lev needs a value"},
        {"--lox", "unknown option --lox"},
        {"--", NULL},
        {"-q", "unknown option -q; see ronde try --help"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct ronde_options options;
        struct ronde_error error = {0};
        char name[] = "try", word[32];
        char *argv[] = {name, word, NULL};
        snprintf(word, sizeof word, "%s", rows[k].word);
        const enum ronde_status status = ronde_options_parse(&command, 2, argv, &options, &error);
        CU_ASSERT_EQUAL(status, rows[k].text ? RONDE_BAD_ARGUMENT : RONDE_OK);
        if (rows[k].text)
            CU_ASSERT_PTR_NOT_NULL(strstr(error.message, rows[k].text));
        if ((status != RONDE_OK) != (rows[k].text != NULL) ||
            (rows[k].text && !strstr(error.message, rows[k].text)))
            suite_note("%s: %s", rows[k].word, error.message);
    }
}

static void lists_of_algorithms_are_bounded(void)
{
    char list[600];
    struct ronde_options options;
    struct ronde_error error;
    for (uint32_t names = 1; names <= RONDE_MAX_NAMES + 1; names++) {
        list[0] = '\0';
        for (uint32_t k = 0; k < names; k++)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%sname%u", k ? "," : "", k);
        const enum ronde_status status = parse("algorithm", list, &options, &error);
        CU_ASSERT_EQUAL(status, names <= RONDE_MAX_NAMES ? RONDE_OK : RONDE_BAD_ARGUMENT);
        if (status == RONDE_OK)
            CU_ASSERT_EQUAL(options.algorithm_count, names);
    }
    memset(list, 'a', 590);
    list[590] = '\0';
    CU_ASSERT_EQUAL(parse("algorithm", list, &options, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "a list of more than 511 characters"));
}

/* Whether an option has a row in one of the tables above, or a test of its own. */
static bool has_row(const char *name)
{
    static const char *const others[] = {"ranks",    "algorithm", "maxbytes", "bytes", "check",
                                         "datatype", "op",        "shape",    "pairs", "protocol",
                                         "rank",     "buffers",   "bind",     "dtype", "model"};
    bool found = false;
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
        found |= strcmp(numbers[k].name, name) == 0;
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
        found |= strcmp(texts[k].name, name) == 0;
    for (size_t k = 0; k < sizeof switches / sizeof switches[0]; k++)
        found |= strcmp(switches[k].name, name) == 0;
    for (size_t k = 0; k < sizeof repeats / sizeof repeats[0]; k++)
        found |= strcmp(repeats[k].name, name) == 0;
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++)
        found |= strcmp(others[k], name) == 0;
    return found;
}

/* The table is the command's own, so its rows are read where they are written. */
static void every_option_has_a_row(void)
{
    char path[1024], name[64];
    uint32_t count = 0;
    if (!suite_source(path, sizeof path, "cli/options/option_table.c"))
        return;
    char *source = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(source);
    for (const char *at = source; (at = strstr(at, "\n    {\"")); count++) {
        at += strlen("\n    {\"");
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\""), at);
        CU_ASSERT(has_row(name));
        if (!has_row(name))
            suite_note("no test gives --%s a value", name);
    }
    CU_ASSERT(count > 60);
    free(source);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"numbers_go_to_their_fields_and_have_ends", numbers_go_to_their_fields_and_have_ends},
        {"what_is_no_number_is_refused_by_every_number",
         what_is_no_number_is_refused_by_every_number},
        {"texts_are_kept_as_they_are", texts_are_kept_as_they_are},
        {"switches_switch_and_take_no_value", switches_switch_and_take_no_value},
        {"an_option_without_its_value_is_named", an_option_without_its_value_is_named},
        {"what_may_be_repeated_is_kept_in_order_up_to_a_bound",
         what_may_be_repeated_is_kept_in_order_up_to_a_bound},
        {"words_of_a_set_are_known_or_the_set_is_named",
         words_of_a_set_are_known_or_the_set_is_named},
        {"prefixes_are_understood_where_one_option_has_them",
         prefixes_are_understood_where_one_option_has_them},
        {"lists_of_algorithms_are_bounded", lists_of_algorithms_are_bounded},
        {"every_option_has_a_row", every_option_has_a_row},
    };
    return suite_run("option_values", cases, sizeof cases / sizeof cases[0]);
}
