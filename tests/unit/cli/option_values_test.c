/*
 * Every option of the command: where its value goes, the ends of its range, and what is refused in which words. An option
 * that is added without a row here fails the test.
 */
#include "support/files.h"
#include "support/suite.h"

#include "cli/cmd/commands.h"
#include "cli/options/option_groups.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum ronde_status never_run(struct ronde_invocation *call, struct ronde_error *error)
{
    (void)call, (void)error;
    return RONDE_OK;
}

/* Room for the options of a command that takes one, and help. */
struct one {
    char takes[96];
    struct ronde_option_use uses[2];
};

static bool has_option(const struct ronde_option_group *group, const char *name)
{
    for (uint32_t i = 0; i < group->count; i++)
        if (strcmp(group->rows[i].name, name) == 0)
            return true;
    return false;
}

/* The first of a command's groups that has an option; NULL for none. */
static const struct ronde_option_use *find_use(const struct ronde_command *command, const char *name)
{
    for (const struct ronde_option_use *use = command->uses; use && use->group; use++)
        if (has_option(use->group, name))
            return use;
    for (uint32_t v = 0; v < command->verb_count; v++) {
        const struct ronde_option_use *use = find_use(&command->verbs[v], name);
        if (use)
            return use;
    }
    return NULL;
}

/* Where an option of a command's puts its value. */
static const void *member_of(const struct ronde_options *options,
                             const struct ronde_command *command, const char *name)
{
    const struct ronde_option_use *use = command->uses;
    const char *group = (use->is_own ? (const char *)options->own : (const char *)options);
    for (uint32_t i = 0; i < use->group->count; i++)
        if (strcmp(use->group->rows[i].name, name) == 0)
            return group + use->offset + use->group->rows[i].offset;
    CU_FAIL_FATAL("no such option");
    return NULL;
}

/* A command that takes one option of the real ones, and help. */
static struct ronde_command command_of(const char *name, struct one *one)
{
    uint32_t count;
    const struct ronde_command *const *commands = ronde_commands(&count);
    *one = (struct one){.uses = {{NULL, 0, NULL}}};
    snprintf(one->takes, sizeof one->takes, "%s", name);
    for (uint32_t c = 0; c < count && !one->uses[0].group; c++) {
        const struct ronde_option_use *use = find_use(commands[c], name);
        if (use)
            one->uses[0] =
                (struct ronde_option_use){use->group, use->offset, one->takes, use->is_own};
    }
    return (struct ronde_command){.name = "try",
                                  .arguments = "ARGUMENT",
                                  .summary = "summary",
                                  .examples = "examples",
                                  .uses = one->uses,
                                  .max_arguments = 2,
                                  .run = never_run};
}

/* Parses `ronde try --NAME VALUE`; no value where the option takes none. */
static enum ronde_status parse(const char *name, const char *value, struct ronde_options *options,
                               struct ronde_error *error)
{
    char word[64], text[600];
    struct one one;
    char command_name[] = "try";
    char *argv[] = {command_name, word, text, NULL};
    const struct ronde_command command = command_of(name, &one);
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
    enum kind kind;
    const char *least, *most; /* accepted */
    double least_value, most_value;
    const char *below, *above; /* refused, or NULL */
};

static const struct number numbers[] = {
    {"minbytes", U64, "0", "16M", 0, 16777216.0, "-1", "99999999999G"},
    {"stepbytes", U64, "0", "1G", 0, 1073741824.0, "-1", "1e30"},
    {"stepfactor", U64, "2", "1048576", 2, 1048576, "1", "1048577"},
    {"iters", U32, "1", "4294967294", 1, 4294967294.0, "0", "4294967296"},
    {"warmup_iters", U32, "0", "4294967294", 0, 4294967294.0, "-1", "4294967296"},
    {"root", U32, "0", "4294967294", 0, 4294967294.0, "-1", "4294967296"},
    {"channels", U32, "1", "64", 1, 64, "0", "4294967296"},
    {"world-size", U32, "1", "64", 1, 64, "0", "4294967296"},
    {"nodes", U32, "1", "4096", 1, 4096, "0", "4294967296"},
    {"ppn", U32, "1", "64", 1, 64, "0", "4294967296"},
    {"gpus", U32, "1", "8", 1, 8, "0", "4294967296"},
    {"levels", U32, "1", "3", 1, 3, "0", "4294967296"},
    {"ngpus", U32, "1", "64", 1, 64, "0", "4294967296"},
    {"nthreads", U32, "1", "64", 1, 64, "0", "4294967296"},
    {"jobs", U32, "1", "1000", 1, 1000, "0", "4294967296"},
    {"depth", U32, "1", "1024", 1, 1024, "0", "4294967296"},
    {"trees", U32, "1", "4096", 1, 4096, "0", "4294967296"},
    {"connections", U32, "1", "4096", 1, 4096, "0", "4294967296"},
    {"seed", U64, "0", "9223372036854775807", 0, 9223372036854775807.0, "-1", "9223372036854775808"},
    {"for", U64, "1", "1G", 1, 1073741824, "x", "99999999999G"},
    {"slot", U64, "16", "1M", 16, 1048576, "15", "99999999999G"},
    {"nic-GBps", REAL, "0.001", "1000000", 0.001, 1e6, "0", "1000001"},
    {"nvlink-GBps", REAL, "0.5", "1e6", 0.5, 1e6, "-1", "1e7"},
    {"memory-GBps", REAL, "1e-3", "1e6", 1e-3, 1e6, "-0", "inf"},
    {"oversubscription", REAL, "0.5", "1e6", 0.5, 1e6, "0.0", "nan"},
    {"layers", U32, "1", "1000", 1, 1000, "0", "4294967296"},
    {"hidden", U32, "1", "65536", 1, 65536, "0", "4294967296"},
    {"seq", U32, "1", "131072", 1, 131072, "0", "4294967296"},
    {"batch", U32, "1", "4096", 1, 4096, "0", "4294967296"},
    {"vocab", U32, "0", "51200", 0, 51200, "-1", "4294967296"},
    {"tp", U32, "1", "8", 1, 8, "0", "4294967296"},
    {"dp", U32, "1", "64", 1, 64, "0", "4294967296"},
    {"pp", U32, "1", "16", 1, 16, "0", "4294967296"},
    {"micro", U32, "1", "64", 1, 64, "0", "4294967296"},
    {"flops", REAL, "1", "1e21", 1, 1e21, "0", "1e22"},
    {"bucket", U64, "0", "25M", 0, 26214400, "-1", "99999999999G"},
    {"step", U32, "0", "4294967294", 0, 4294967294.0, "-1", "4294967296"},
    {"what-if", U32, "0", "3", 0, 3, "-1", "4294967296"},
    {"budget", REAL, "0.25", "1e6", 0.25, 1e6, "-0.1", "1e999"},
    {"timeout", REAL, "1e-9", "1e6", 1e-9, 1e6, "0", "1000000.5"},
};

static double value_at(const struct ronde_options *options, const struct number *number)
{
    struct one one;
    const struct ronde_command command = command_of(number->name, &one);
    const char *at = member_of(options, &command, number->name);
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
} texts[] = {
    {"backend"},    {"join"},      {"token"},    {"transport"}, {"hosts"},     {"launcher"},
    {"from-table"}, {"alloc"},     {"run"},      {"rig"},       {"topo"},      {"output"},
    {"plot"},       {"html"},      {"records"},  {"from"},      {"operation"}, {"nvlink"},
    {"nics"},       {"trace"},     {"timeline"}, {"scenario"},  {"map"},       {"shard"},
    {"style"},      {"published"}, {"system"},   {"fit"},       {"to"},        {"nccl-log"},
    {"dialect"},    {"meanings"},  {"anchor"},   {"placement"},
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
            struct one one;
            const struct ronde_command command = command_of(texts[k].name, &one);
            memcpy(&kept, member_of(&options, &command, texts[k].name), sizeof kept);
            CU_ASSERT_STRING_EQUAL(kept ? kept : "", values[v]);
        }
    }
}

static const struct {
    const char *name;
} switches[] = {
    {"json"},
    {"csv"},
    {"all"},
    {"expand"},
    {"markdown"},
    {"verbose"},
    {"wide"},
    {"native-latency"},
    {"synthesize"},
    {"why"},
    {"resume"},
    {"local"},
    {"multicast"},
    {"help"},
    {"auto-topo"},
    {"replay"},
    {"sequence-parallel"},
    {"again"},
    {"steps"},
};

static void switches_switch_and_take_no_value(void)
{
    for (size_t k = 0; k < sizeof switches / sizeof switches[0]; k++) {
        struct ronde_options options;
        struct ronde_error error;
        bool is_on = false;
        char word[64];
        struct one one;
        char name[] = "try";
        char *argv[] = {name, word, NULL};
        CU_ASSERT_EQUAL(parse(switches[k].name, NULL, &options, &error), RONDE_OK);
        const struct ronde_command command = command_of(switches[k].name, &one);
        if (strcmp(switches[k].name, "help") == 0)
            is_on = options.help;
        else
            memcpy(&is_on, member_of(&options, &command, switches[k].name), sizeof is_on);
        CU_ASSERT_TRUE(is_on);
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
    const char *value;
} repeats[] = {
    {"with", "all_reduce:ring:4M"},    {"degrade", "nic0=0.5"},  {"without", "nic0,n3g*"},
    {"straggler", "rank=7,delay=2ms"}, {"background", "0>4:1M"}, {"cfg", "key:value"},
};

static void what_may_be_repeated_is_kept_in_order_up_to_a_bound(void)
{
    for (size_t k = 0; k < sizeof repeats / sizeof repeats[0]; k++)
        for (uint32_t times = 0; times <= RONDE_MAX_REPEATS + 1; times++) {
            char words[RONDE_MAX_REPEATS + 1][64], name[] = "try";
            struct one one;
            char *argv[RONDE_MAX_REPEATS + 3] = {name};
            struct ronde_options options;
            struct ronde_error error = {0};
            uint32_t count = 0;
            const struct ronde_command command = command_of(repeats[k].name, &one);
            for (uint32_t i = 0; i < times; i++) {
                snprintf(words[i], sizeof words[i], "--%s=%s%u", repeats[k].name, repeats[k].value,
                         i);
                argv[1 + i] = words[i];
            }
            const enum ronde_status status =
                ronde_options_parse(&command, (int)times + 1, argv, &options, &error);
            CU_ASSERT_EQUAL(status, times <= RONDE_MAX_REPEATS ? RONDE_OK : RONDE_BAD_ARGUMENT);
            const struct ronde_texts *texts_of = member_of(&options, &command, repeats[k].name);
            count = texts_of->count;
            CU_ASSERT_EQUAL(count, times <= RONDE_MAX_REPEATS ? times : RONDE_MAX_REPEATS);
            for (uint32_t i = 0; i < count; i++)
                CU_ASSERT_STRING_EQUAL(texts_of->list[i], strchr(words[i], '=') + 1);
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
        {"engine", "maxmin", "maxmim", "did you mean maxmin", "xyzzy", "there are auto, flat"},
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
    static const struct ronde_option rows_of_group[] = {
        {"launcher", 0, "X", ronde_take_text, 0, NULL, 0, false, ""},
        {"levels", 0, "X", ronde_take_text, 0, NULL, 0, false, ""},
        {"local", 0, NULL, ronde_take_switch, 0, NULL, 0, false, ""},
        {"json", 0, NULL, ronde_take_switch, 0, NULL, 0, false, ""},
        {"jobs", 0, "X", ronde_take_text, 0, NULL, 0, false, ""},
        {"timeout", 0, "X", ronde_take_text, 0, NULL, 0, false, ""},
    };
    static const struct ronde_option_group group =
        RONDE_GROUP(RONDE_SECTION_WHAT, rows_of_group, const char *, NULL, NULL);
    static const struct ronde_option_use uses[] = {{&group, offsetof(struct ronde_options, style),
                                                    NULL, false},
                                                   RONDE_TAKES_END};
    static const struct ronde_command command = {.name = "try",
                                                 .arguments = "ARGUMENT",
                                                 .summary = "summary",
                                                 .examples = "examples",
                                                 .uses = uses,
                                                 .run = never_run};
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
            CU_ASSERT_EQUAL(options.what.algorithm_count, names);
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
                                         "rank",     "buffers",   "bind",     "dtype", "model",
                                         "engine",   "fabric"};
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

static void expect_row(const struct ronde_command *command, const struct ronde_own_option *own,
                       void *context)
{
    uint32_t *const count = context;
    CU_ASSERT(has_row(own->option->name));
    if (!has_row(own->option->name))
        suite_note("--%s of %s has no row in this test", own->option->name, command->name);
    (*count)++;
}

/* Members that an option sets alone, by how it takes its value. */
static bool sets_one_member(const struct ronde_option *option)
{
    static const ronde_option_taker takers[] = {ronde_take_switch,  ronde_take_text,
                                                ronde_take_texts,   ronde_take_input,
                                                ronde_take_word,    ronde_take_count,
                                                ronde_take_size,    ronde_take_slot,
                                                ronde_take_positive};
    for (size_t t = 0; t < sizeof takers / sizeof takers[0]; t++)
        if (option->take == takers[t])
            return true;
    return false;
}

/* Options of the command before. */
struct seen {
    const struct ronde_command *command;
    struct ronde_own_option kept[128];
    uint32_t count;
};

static void expect_a_member_of_its_own(const struct ronde_command *command,
                                       const struct ronde_own_option *own, void *context)
{
    struct seen *seen = context;
    if (seen->command != command)
        seen->count = 0;
    seen->command = command;
    CU_ASSERT(!own->use->is_own || own->use->offset + own->use->group->bytes <= RONDE_OWN_BYTES);
    if (!sets_one_member(own->option))
        return;
    for (uint32_t i = 0; i < seen->count; i++) {
        const struct ronde_own_option *other = &seen->kept[i];
        const bool is_same =
            other->use->is_own == own->use->is_own &&
            other->use->offset + other->option->offset == own->use->offset + own->option->offset;
        CU_ASSERT_FALSE(is_same);
        if (is_same)
            suite_note("%s: --%s and --%s set one member", command->name, own->option->name,
                       other->option->name);
    }
    seen->kept[seen->count++] = *own;
}

static void no_two_options_set_one_member(void)
{
    static struct seen seen;
    uint32_t count = 0;
    const struct ronde_command *const *commands = ronde_commands(&count);
    for (uint32_t c = 0; c < count; c++)
        ronde_options_visit(commands[c], expect_a_member_of_its_own, &seen);
}

static void every_option_has_a_row(void)
{
    uint32_t count = 0, options = 0;
    const struct ronde_command *const *commands = ronde_commands(&count);
    for (uint32_t c = 0; c < count; c++)
        ronde_options_visit(commands[c], expect_row, &options);
    CU_ASSERT(options > 100);
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
        {"no_two_options_set_one_member", no_two_options_set_one_member},
    };
    return suite_run("option_values", cases, sizeof cases / sizeof cases[0]);
}
