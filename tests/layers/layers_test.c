/*
 * The layers, held by two readings: include lines against the table of architecture section 1, and the undefined symbols
 * of the engine and schedules archives against an allow list. The second is not optional: a list that has <stdio.h> on it
 * for snprintf cannot see printf.
 */
#include "layers/layers.h"

#include "ronde/schedules.h"
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** The file being scanned. */
struct scan {
    const char *folder;
    const char *path;
    unsigned includes;
};

static void check_include(const char *target, void *context)
{
    struct scan *scan = context;
    const char *reason = layers_refuse_include(scan->folder, scan->path, target);
    scan->includes++;
    CU_ASSERT(reason == NULL);
    if (reason)
        suite_note("%s: #include %s: %s", scan->path, target, reason);
}

static void scan_file(const char *path, void *context)
{
    struct scan *scan = context;
    scan->path = path;
    char *text = files_read(path);
    CU_ASSERT_PTR_NOT_NULL(text);
    if (text)
        layers_each_include(text, check_include, scan);
    free(text);
}

static void includes_follow_the_layer_table(void)
{
    static const char *const folders[] = {"engine", "schedules", "topologies", "sim",
                                          "hw",     "formats",   "predict",    "nccl",
                                          "lab",    "api",       "cli"};
    static const char *const suffixes[] = {".c", ".h", ".cpp", ".cu"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        struct scan scan = {folders[i], NULL, 0};
        for (size_t k = 0; k < sizeof suffixes / sizeof suffixes[0]; k++)
            files_walk(folders[i], suffixes[k], scan_file, &scan);
        /* A scan that finds nothing to look at would pass for ever. */
        CU_ASSERT(scan.includes > 5);
    }
}

static bool may_include(const char *folder, const char *target)
{
    char file[512];
    snprintf(file, sizeof file, RONDE_SOURCE_DIR "/%s/x.c", folder);
    return layers_refuse_include(folder, file, target) == NULL;
}

static void the_table_refuses_what_it_should(void)
{
    CU_ASSERT(may_include("engine", "<stdint.h>"));
    CU_ASSERT(!may_include("engine", "<time.h>"));
    CU_ASSERT(!may_include("engine", "<pthread.h>"));
    CU_ASSERT(!may_include("engine", "<libxml/parser.h>"));
    CU_ASSERT(may_include("engine", "\"ronde/ir.h\""));
    CU_ASSERT(!may_include("engine", "\"ronde/schedules.h\""));
    CU_ASSERT(!may_include("engine", "\"ronde/no_such_header.h\""));
    CU_ASSERT(may_include("schedules", "\"ronde/builder.h\""));
    CU_ASSERT(!may_include("schedules", "\"ronde/topologies.h\""));
    CU_ASSERT(may_include("topologies", "<libxml/parser.h>"));
    CU_ASSERT(!may_include("hw", "\"ronde/sim.h\""));
    CU_ASSERT(!may_include("hw", "<cuda_runtime_api.h>"));
    CU_ASSERT(!may_include("sim", "\"ronde/hw.h\""));
    CU_ASSERT(may_include("sim", "\"ronde/topologies.h\""));
    CU_ASSERT(!may_include("sim", "<simgrid/s4u.hpp>"));
    CU_ASSERT(may_include("cli", "\"ronde/sim.h\""));
    CU_ASSERT(may_include("cli", "\"cli/cmd/commands.h\""));
    CU_ASSERT_PTR_NOT_NULL(layers_refuse_include("cli", RONDE_SOURCE_DIR "/cli/options/x.c",
                                                 "\"cli/cmd/commands.h\""));
    CU_ASSERT(may_include("lab", "\"ronde/hw.h\""));
    CU_ASSERT(!may_include("lab", "\"cli/options/options.h\""));
    CU_ASSERT(!may_include("lab", "\"ronde/ronde.h\""));
    CU_ASSERT(may_include("nccl", "\"ronde/predict.h\""));
    CU_ASSERT(!may_include("nccl", "\"ronde/hw.h\""));
    CU_ASSERT(!may_include("nccl", "\"ronde/benchmark.h\""));
    CU_ASSERT(may_include("predict", "\"ronde/record.h\""));
    CU_ASSERT(!may_include("predict", "\"ronde/nccl_model.h\""));
    CU_ASSERT(!may_include("predict", "<jansson.h>"));
    CU_ASSERT(may_include("formats", "<jansson.h>"));
    CU_ASSERT(!may_include("formats", "\"ronde/sim.h\""));
    CU_ASSERT(!may_include("hw", "\"ronde/benchmark.h\""));
}

/** What decides how a collective is set up on a machine, and is written in predict/choose alone. */
static const char *const set_up_words[] = {
    "ronde_place(",         "ronde_place_rings(", "ronde_load_cut(", "ronde_schedule_reorder(",
    "ronde_pipeline_slot(", "load.slot_bytes = ", "->slot_bytes = ", "channel_orders = ",
};

/** Where such a word stands for something else. */
static const struct {
    const char *file, *word, *reason;
} set_up_exceptions[] = {
    {"cli/options/", "->slot_bytes = ", "what --slot says"},
    {"nccl/logs/replay.c", "channel_orders = ", "the orders of a log"},
    {"nccl/model/fabric.c", "ronde_place_rings(",
     "NCCL's rings, which no schedule of ours runs over"},
    {"cli/cmd/cmd_workload.c", "->slot_bytes = ", "what the constants were measured with"},
    {"hw/", "->slot_bytes = ", "slots in memory"},
    {"api/", "->slot_bytes = ", "slots in memory"},
    {"lab/", "->slot_bytes = ", "slots in memory"},
};

static bool is_exception(const char *path, const char *word)
{
    for (size_t i = 0; i < sizeof set_up_exceptions / sizeof set_up_exceptions[0]; i++)
        if (strstr(path, set_up_exceptions[i].file) && strcmp(word, set_up_exceptions[i].word) == 0)
            return true;
    return false;
}

static void scan_set_up(const char *path, void *context)
{
    unsigned *scanned = context;
    char *text = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    ++*scanned;
    for (size_t i = 0; i < sizeof set_up_words / sizeof set_up_words[0]; i++) {
        const bool is_there = strstr(text, set_up_words[i]) && !strstr(path, "/predict/choose/") &&
                              !is_exception(path, set_up_words[i]);
        CU_ASSERT(!is_there);
        if (is_there)
            suite_note("%s: \"%s\": how a collective is set up is decided in predict/choose", path,
                       set_up_words[i]);
    }
    free(text);
}

/* Two places that decide are two answers to one question. */
static void set_ups_are_decided_in_one_place(void)
{
    static const char *const folders[] = {"cli", "lab", "nccl", "predict", "formats", "api"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        unsigned scanned = 0;
        files_walk(folders[i], ".c", scan_set_up, &scanned);
        CU_ASSERT(scanned > 5);
    }
}

/** Symbols an archive defines, as text to search for "\nname\n", and the ones it needs, as "member:name" lines. */
static char *list_symbols(const char *options, const char *archive)
{
    char command[4096];
    snprintf(command, sizeof command, "'%s' %s '%s' 2>/dev/null", RONDE_NM, options, archive);
    char *text;
    if (files_command(command, &text) == 0 && text)
        return text;
    free(text);
    return NULL;
}

/** Whether one of the nm listings has a line that ends in " T name" or the like. */
static bool is_defined(char *const *listings, size_t count, const char *symbol)
{
    char wanted[512];
    const int length = snprintf(wanted, sizeof wanted, " %s\n", symbol);
    for (size_t i = 0; i < count; i++)
        for (const char *at = strstr(listings[i], wanted); at; at = strstr(at + length, wanted))
            return true;
    return false;
}

/** Checks "archive:member: U name" lines (nm -A -u). Returns how many symbols it looked at. */
static unsigned check_needed(const char *needed, char *const *defined, size_t count)
{
    unsigned looked_at = 0;
    for (const char *line = needed; *line; line += strcspn(line, "\n") + 1) {
        char member[256] = "";
        char symbol[256] = "";
        char text[1024];
        snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\n"), line);
        char *colon = strstr(text, ".a:");
        if (!colon || sscanf(colon + 3, "%255[^:]: U %255s", member, symbol) != 2)
            continue;
        looked_at++;
        if (is_defined(defined, count, symbol))
            continue;
        CU_ASSERT(layers_allow_symbol(member, symbol));
        if (!layers_allow_symbol(member, symbol))
            suite_note("%s needs %s", member, symbol);
    }
    return looked_at;
}

static void inner_archives_need_only_pure_functions(void)
{
    char *defined[] = {list_symbols("--defined-only", RONDE_ENGINE_ARCHIVE),
                       list_symbols("--defined-only", RONDE_SCHEDULES_ARCHIVE)};
    char *needed[] = {list_symbols("-A -u", RONDE_ENGINE_ARCHIVE),
                      list_symbols("-A -u", RONDE_SCHEDULES_ARCHIVE)};
    if (!defined[0] || !defined[1] || !needed[0] || !needed[1]) {
        suite_skip("%s lists no symbols here", RONDE_NM);
    } else {
        /* engine may lean on itself only, schedules on both. */
        CU_ASSERT(check_needed(needed[0], defined, 1) > 20);
        CU_ASSERT(check_needed(needed[1], defined, 2) > 5);
        CU_ASSERT(strstr(needed[1], " ronde_backend_") == NULL);
    }
    for (size_t i = 0; i < 2; i++) {
        free(defined[i]);
        free(needed[i]);
    }
}

static void the_allow_list_refuses_what_it_should(void)
{
    static const char *const forbidden[] = {"printf", "fprintf", "puts",          "fwrite",
                                            "exit",   "abort",   "clock_gettime", "getenv",
                                            "rand",   "stderr",  "time",          "pthread_create"};
    for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++)
        CU_ASSERT(!layers_allow_symbol("builder.c.o", forbidden[i]));
    CU_ASSERT(layers_allow_symbol("builder.c.o", "snprintf"));
    CU_ASSERT(layers_allow_symbol("builder.c.o", "__vsnprintf_chk"));
    CU_ASSERT(!layers_allow_symbol("builder.c.o", "__printf_chk"));
    CU_ASSERT(layers_allow_symbol("mem.c.o", "malloc"));
    CU_ASSERT(!layers_allow_symbol("arena.c.o", "malloc"));
}

static void check_no_algorithm_named(const char *path, void *context)
{
    (void)context;
    char *text = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    uint32_t count;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t i = 0; i < count; i++) {
        char literal[64];
        snprintf(literal, sizeof literal, "\"%s\"", algorithms[i]->name);
        CU_ASSERT(strstr(text, literal) == NULL);
        if (strstr(text, literal))
            suite_note("%s names the algorithm %s", path, literal);
    }
    free(text);
}

static void the_engine_names_no_algorithm(void)
{
    CU_ASSERT(files_walk("engine", ".c", check_no_algorithm_named, NULL) > 5);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"includes_follow_the_layer_table", includes_follow_the_layer_table},
        {"set_ups_are_decided_in_one_place", set_ups_are_decided_in_one_place},
        {"the_table_refuses_what_it_should", the_table_refuses_what_it_should},
        {"inner_archives_need_only_pure_functions", inner_archives_need_only_pure_functions},
        {"the_allow_list_refuses_what_it_should", the_allow_list_refuses_what_it_should},
        {"the_engine_names_no_algorithm", the_engine_names_no_algorithm},
    };
    return suite_run("layers", cases, sizeof cases / sizeof cases[0]);
}
