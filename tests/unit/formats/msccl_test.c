/** MSCCL files: what each spelling means, what is wrong with a wrong one, and what is no such file. */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"
#include "support/sweep.h"

#include "unit/checked.h"

#include "ronde/msccl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 512u

/* What came of a file. */
struct outcome {
    struct ronde_msccl_facts facts;
    struct ronde_proof proof;
    struct ronde_schedule *schedule;
    struct ronde_error error;
    enum ronde_status status;
};

static struct outcome read_text(const char *text, const char *name)
{
    struct outcome outcome = {.schedule = NULL};
    outcome.status = ronde_msccl_read(text, strlen(text), name, ronde_mem_default(), &outcome.facts,
                                      &outcome.proof, &outcome.schedule, &outcome.error);
    CU_ASSERT_EQUAL(outcome.schedule != NULL, outcome.status == RONDE_OK);
    return outcome;
}

static char *read_data(const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/tests/data/msccl/%s", RONDE_SOURCE_DIR, name);
    char *text = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    return text;
}

/* Visibly, once a test. */
static bool is_missing(void)
{
    const char *reason;
    if (ronde_msccl_available(&reason))
        return false;
    suite_skip("no MSCCL file can be read: %s", reason);
    return true;
}

/* --- files that hold ------------------------------------------------------------------------- */

static const struct good {
    const char *name;
    enum ronde_collective collective;
    const char *writing;
    uint32_t ranks, root, min_depth, steps, nops;
    enum ronde_form form;
    bool fits;
} goods[] = {
    {"ring-all_reduce.xml", RONDE_ALL_REDUCE, "plain", 3, 0, 2, 15, 0, RONDE_FORM_IN_PLACE, true},
    {"pairs-all_reduce.xml", RONDE_ALL_REDUCE, "plain", 3, 0, 1, 27, 9, RONDE_FORM_IN_PLACE, true},
    {"chain-broadcast.xml", RONDE_BROADCAST, "plain", 3, 1, 1, 4, 0, RONDE_FORM_OUT_OF_PLACE, true},
    {"copytag-all_gather.xml", RONDE_ALL_GATHER, "copytag", 2, 0, 1, 4, 0, RONDE_FORM_OUT_OF_PLACE,
     false},
    {"compact-reduce_scatter.xml", RONDE_REDUCE_SCATTER, "compact", 2, 0, 1, 4, 0,
     RONDE_FORM_IN_PLACE, false},
    {"alltonext.xml", RONDE_SEND_RECV, "plain", 3, 0, 1, 4, 0, RONDE_FORM_ANY, true},
};
#define GOODS (sizeof goods / sizeof goods[0])

static void files_mean_what_they_say(void)
{
    for (size_t i = 0; i < GOODS && !is_missing(); i++) {
        const struct good *good = &goods[i];
        char *text = read_data(good->name);
        struct outcome outcome = read_text(text, good->name);
        CU_ASSERT_EQUAL(outcome.status, RONDE_OK);
        if (outcome.status != RONDE_OK) {
            suite_note("%s", outcome.error.message);
            free(text);
            continue;
        }
        CU_ASSERT(ronde_msccl_is(text, strlen(text)));
        CU_ASSERT_EQUAL(outcome.schedule->collective, good->collective);
        CU_ASSERT_EQUAL(outcome.schedule->ranks, good->ranks);
        CU_ASSERT_EQUAL(outcome.schedule->root, good->root);
        CU_ASSERT_EQUAL(outcome.schedule->form, good->form);
        CU_ASSERT_EQUAL(outcome.proof.min_depth, good->min_depth);
        CU_ASSERT_EQUAL(outcome.facts.steps, good->steps);
        CU_ASSERT_EQUAL(outcome.facts.nops, good->nops);
        CU_ASSERT_STRING_EQUAL(outcome.facts.writing, good->writing);
        CU_ASSERT_EQUAL(outcome.facts.unfit[0] == '\0', good->fits);
        ronde_schedule_destroy(outcome.schedule);
        free(text);
    }
}

static void files_run_to_the_same_bits(void)
{
    for (size_t i = 0; i < GOODS && !is_missing(); i++) {
        char *text = read_data(goods[i].name);
        struct outcome outcome = read_text(text, goods[i].name);
        CU_ASSERT_PTR_NOT_NULL_FATAL(outcome.schedule);
        checked_run("host", outcome.schedule, RONDE_SUM);
        checked_run("cpu", outcome.schedule, RONDE_SUM);
        ronde_schedule_destroy(outcome.schedule);
        free(text);
    }
}

/* --- files with a fault ---------------------------------------------------------------------- */

/* The text with the first `old` behind `from` replaced. */
static char *change(const char *text, const char *from, const char *old, const char *new)
{
    const char *start = strstr(text, from);
    const char *at = start ? strstr(start, old) : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    const size_t bytes = strlen(text) + strlen(new) + 1;
    char *changed = malloc(bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(changed);
    snprintf(changed, bytes, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    return changed;
}

static bool has_code(const struct ronde_proof *proof, enum ronde_finding_code code)
{
    for (uint32_t i = 0; i < proof->finding_count && i < RONDE_MAX_FINDINGS; i++)
        if (proof->findings[i].code == code)
            return true;
    return false;
}

static void faults_are_found_where_they_are(void)
{
    static const struct {
        const char *name, *from, *old, *new;
        enum ronde_finding_code code;
        const char *message;
    } rows[] = {
        {"ring-all_reduce.xml", "s=\"1\"", "rrs", "rrc", RONDE_FINDING_UNMATCHED, NULL},
        {"ring-all_reduce.xml", "<tb", "send=\"1\"", "send=\"3\"", RONDE_FINDING_UNMATCHED,
         "f:5: unmatched: rank 0 lane 0 step 0: bad send peer 3"},
        {"ring-all_reduce.xml", "<tb", "send=\"1\"", "send=\"0\"", RONDE_FINDING_UNMATCHED,
         "f:5: unmatched: rank 0 lane 0 step 0: bad send peer 0"},
        {"ring-all_reduce.xml", "<step", "srcoff=\"0\"", "srcoff=\"3\"", RONDE_FINDING_BOUNDS,
         "f:5: bounds: rank 0 lane 0 step 0 chunk 3: i[3+1] of 3 chunks"},
        {"ring-all_reduce.xml", "<step", "cnt=\"1\"", "cnt=\"2\"", RONDE_FINDING_UNMATCHED, NULL},
        {"ring-all_reduce.xml", "<step", "srcoff=\"0\"", "srcoff=\"1\"", RONDE_FINDING_WRONG_VALUE,
         NULL},
        {"ring-all_reduce.xml", "<step", "type=\"s\"", "type=\"r\"", RONDE_FINDING_UNMATCHED, NULL},
        {"pairs-all_reduce.xml", "s=\"1\" type=\"r\"", "hasdep=\"1\"", "hasdep=\"0\"",
         RONDE_FINDING_CYCLE,
         "f:6: cycle: rank 0 lane 0 step 2: nop never starts: no flag of threadblock 1 is raised "
         "to step 1 or later (hasdep)"},
        {"pairs-all_reduce.xml", "s=\"3\"", "depid=\"2\" deps=\"1\"", "depid=\"9\" deps=\"1\"",
         RONDE_FINDING_CYCLE,
         "f:7: cycle: rank 0 lane 0 step 3: re never starts: it waits for threadblock 9, which "
         "does not exist"},
        {"pairs-all_reduce.xml", "s=\"2\"", "depid=\"1\" deps=\"1\"", "depid=\"-1\" deps=\"-1\"",
         RONDE_FINDING_RACE, NULL},
        {"pairs-all_reduce.xml", "s=\"3\"", "srcoff=\"0\"", "srcoff=\"3\"", RONDE_FINDING_TWICE,
         NULL},
        {"chain-broadcast.xml", "id=\"2\"", "dstbuf=\"o\"", "dstbuf=\"i\"",
         RONDE_FINDING_WRONG_VALUE, NULL},
        {"chain-broadcast.xml", "id=\"0\"", "type=\"r\"", "type=\"rrc\"", RONDE_FINDING_WRONG_VALUE,
         NULL},
        {"copytag-all_gather.xml", "<copy", "i_off=\"0\"", "i_off=\"1\"", RONDE_FINDING_BOUNDS,
         "f:2: bounds: rank 0: copy of i[1] to o[0]"},
        {"copytag-all_gather.xml", "<tb", "chan=\"0\"", "chan=\"1\"", RONDE_FINDING_UNMATCHED, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !is_missing(); i++) {
        char *text = read_data(rows[i].name);
        char *changed = change(text, rows[i].from, rows[i].old, rows[i].new);
        struct outcome outcome = read_text(changed, "f");
        CU_ASSERT_EQUAL(outcome.status, RONDE_REJECTED);
        CU_ASSERT(has_code(&outcome.proof, rows[i].code));
        if (rows[i].message)
            CU_ASSERT_STRING_EQUAL(outcome.error.message, rows[i].message);
        if (!has_code(&outcome.proof, rows[i].code) ||
            (rows[i].message && strcmp(rows[i].message, outcome.error.message) != 0))
            suite_note("row %zu: \"%s\"", i, outcome.error.message);
        ronde_schedule_destroy(outcome.schedule);
        free(changed);
        free(text);
    }
}

/* What follows from data that came in other pieces than were expected, and any other fault of values, is behind that. */
static void messages_that_do_not_match_come_first(void)
{
    if (is_missing())
        return;
    char *text = read_data("ring-all_reduce.xml");
    char *wrong = change(text, "<step", "srcoff=\"0\"", "srcoff=\"1\"");
    char *unmatched =
        change(wrong, "s=\"4\" type=\"r\" srcbuf=\"i\" srcoff=\"1\"", "cnt=\"1\"", "cnt=\"2\"");
    struct outcome outcome = read_text(unmatched, "f");
    CU_ASSERT_EQUAL(outcome.status, RONDE_REJECTED);
    CU_ASSERT_STRING_EQUAL(outcome.error.message,
                           "f:27: unmatched: rank 2 lane 0 step 4: expects a "
                           "message of 2 chunks, gets 1");
    ronde_schedule_destroy(outcome.schedule);
    free(unmatched);
    free(wrong);
    free(text);
}

/* A schedule is right without what a runtime's parser wants to see: rank 1's second threadblock only copies. */
static void what_runtimes_refuse_is_said(void)
{
    static const struct {
        const char *old, *new, *unfit;
    } rows[] = {
        {"chan=\"0\"", "chan=\"1\"",
         "rank 1 threadblock 1 is on channel 1: nchannels is 1, and there are 32 at most"},
        {"send=\"-1\"", "send=\"1\"",
         "rank 1 threadblock 1: a peer that it does not use is itself or no rank, which parsers "
         "refuse"},
        {"recv=\"-1\"", "recv=\"3\"",
         "rank 1 threadblock 1: a peer that it does not use is itself or no rank, which parsers "
         "refuse"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !is_missing(); i++) {
        char *text = read_data("chain-broadcast.xml");
        char *changed = change(text, "tb id=\"1\"", rows[i].old, rows[i].new);
        struct outcome outcome = read_text(changed, "f");
        CU_ASSERT_EQUAL(outcome.status, RONDE_OK);
        CU_ASSERT_STRING_EQUAL(outcome.facts.unfit, rows[i].unfit);
        ronde_schedule_destroy(outcome.schedule);
        free(changed);
        free(text);
    }
}

/* --- what is no such file -------------------------------------------------------------------- */

#define ALGO "<algo name=\"n\" proto=\"Simple\" nchunksperloop=\"2\" ngpus=\"1\" coll=\"allreduce\""
#define GPU "<gpu id=\"0\" i_chunks=\"2\" o_chunks=\"2\" s_chunks=\"0\">"
#define TB "<tb id=\"0\" send=\"-1\" recv=\"-1\" chan=\"0\">"

static void malformed_files_are_refused_with_their_line(void)
{
    static const struct {
        const char *text;
        enum ronde_status status;
        const char *message;
    } rows[] = {
        {"<platform/>", RONDE_BAD_INPUT,
         "f:1: root element is <platform>, an MSCCL file has <algo>; a machine is named by --topo"},
        {"<graphs/>", RONDE_BAD_INPUT, "f:1: root element is <graphs>, an MSCCL file has <algo>"},
        {"<algo name=\"n\"/>", RONDE_BAD_INPUT, "f:1: <algo> has no attribute ngpus"},
        {"<algo name=\"n\" ngpus=\"0\"/>", RONDE_BAD_INPUT,
         "f:1: ngpus of <algo> is '0', expected a number from 1 to 16777216"},
        {"<algo name=\"n\" ngpus=\"2x\"/>", RONDE_BAD_INPUT,
         "f:1: ngpus of <algo> is '2x', expected a number from 1 to 16777216"},
        {"<algo name=\"n\" ngpus=\"2\"/>", RONDE_BAD_INPUT,
         "f:1: collective 'n' is none that is known"},
        {"<algo name=\"n\" ngpus=\"2\" coll=\"barrier\"/>", RONDE_BAD_INPUT,
         "f:1: collective 'barrier' is none that is known"},
        {"<algo name=\"n\" ngpus=\"2\" coll=\"allreduce\" proto=\"LL256\"/>", RONDE_BAD_INPUT,
         "f:1: proto is 'LL256', expected Simple, LL or LL128"},
        {ALGO " inplace=\"0\" outofplace=\"0\"/>", RONDE_BAD_INPUT,
         "f:1: neither inplace nor outofplace: no call would ever run this"},
        {ALGO "/>", RONDE_BAD_INPUT, "f:1: 0 <gpu> for ngpus 1"},
        {ALGO ">\n<gpu id=\"1\" i_chunks=\"2\" o_chunks=\"2\" s_chunks=\"0\"/></algo>",
         RONDE_BAD_INPUT, "f:1: the ids of <gpu> are not 0 to 0"},
        {ALGO ">\n" GPU "\n<tb id=\"1\" send=\"-1\" recv=\"-1\" chan=\"0\"/></gpu></algo>",
         RONDE_BAD_INPUT, "f:2: threadblocks of rank 0 are not numbered 0 to 0"},
        {ALGO ">\n" GPU TB "\n<step s=\"1\" type=\"nop\"/></tb></gpu></algo>", RONDE_BAD_INPUT,
         "f:3: step 1 where step 0 is due"},
        {ALGO ">\n" GPU TB "\n<step s=\"0\" type=\"ra\"/></tb></gpu></algo>", RONDE_BAD_INPUT,
         "f:3: type of <step> is 'ra', expected nop, s, r, rcs, rrs, rrc, rrcs, cpy or re"},
        {ALGO ">\n" GPU TB
              "\n<step s=\"0\" type=\"cpy\" srcbuf=\"x\" srcoff=\"0\"/></tb></gpu></algo>",
         RONDE_BAD_INPUT, "f:3: srcbuf of <step> is 'x', expected i, o or s"},
        {ALGO ">\n" GPU TB
              "\n<step s=\"0\" type=\"cpy\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\"/>"
              "</tb></gpu></algo>",
         RONDE_BAD_INPUT, "f:3: cnt of <step> is missing or 0"},
        {ALGO ">\n" GPU TB "\n<step s=\"0\" type=\"nop\" depid=\"1\"/></tb></gpu></algo>",
         RONDE_BAD_INPUT, "f:3: depid without deps"},
        {"<algo name=\"n\" nchunksperloop=\"3\" ngpus=\"1\" coll=\"allgather\" inplace=\"7\"/>",
         RONDE_BAD_INPUT, "f:1: inplace of <algo> is neither 0 nor 1"},
        {"<algo name=\"mine\" nchunksperloop=\"2\" ngpus=\"1\" coll=\"custom\">\n" GPU
         "</gpu></algo>",
         RONDE_UNSUPPORTED,
         "f: collective custom: what 'mine' must leave where is not known (alltonext and pipeline "
         "are)"},
        {"<algo name=\"n\" nchunksperloop=\"2\" ngpus=\"1\" coll=\"alltoall\" inplace=\"1\">\n" GPU
         "</gpu></algo>",
         RONDE_UNSUPPORTED, "f: all_to_all has no form in place"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !is_missing(); i++) {
        struct outcome outcome = read_text(rows[i].text, "f");
        CU_ASSERT_EQUAL(outcome.status, rows[i].status);
        CU_ASSERT_STRING_EQUAL(outcome.error.message, rows[i].message);
        if (strcmp(outcome.error.message, rows[i].message) != 0)
            suite_note("row %zu: \"%s\"", i, outcome.error.message);
        ronde_schedule_destroy(outcome.schedule);
    }
}

static void xml_is_told_from_text(void)
{
    CU_ASSERT(ronde_msccl_is("<algo/>", 7));
    CU_ASSERT(ronde_msccl_is("\xef\xbb\xbf \n<algo/>", 12));
    CU_ASSERT(!ronde_msccl_is("ronde 1\n", 8));
    CU_ASSERT(!ronde_msccl_is("", 0));
    CU_ASSERT(!ronde_msccl_is("  \n", 3));
}

/* Names are cut and cleaned, whatever they are. */
static void any_name_will_do(void)
{
    static const char *const names[] = {"",
                                        "-",
                                        "8 ranks, x=(y)",
                                        "\xc3\xa4",
                                        "....",
                                        "9",
                                        "a name that is a good deal longer than 31 characters"};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !is_missing(); i++) {
        char *text = read_data("ring-all_reduce.xml");
        char *changed = change(text, "<algo", "ring, 3 ranks", names[i]);
        struct outcome outcome = read_text(changed, "f");
        CU_ASSERT_EQUAL(outcome.status, RONDE_OK);
        if (outcome.status != RONDE_OK)
            suite_note("\"%s\": %s", names[i], outcome.error.message);
        ronde_schedule_destroy(outcome.schedule);
        free(changed);
        free(text);
    }
}

/* --- memory ---------------------------------------------------------------------------------- */

static enum ronde_status read_once(const void *context, const struct ronde_mem *mem,
                                   struct ronde_error *error)
{
    struct ronde_schedule *schedule = NULL;
    const char *text = context;
    const enum ronde_status status =
        ronde_msccl_read(text, strlen(text), "f", mem, NULL, NULL, &schedule, error);
    CU_ASSERT_EQUAL(schedule != NULL, status == RONDE_OK);
    ronde_schedule_destroy(schedule);
    return status;
}

static void running_out_of_memory_is_survived(void)
{
    static const char *const names[] = {"pairs-all_reduce.xml", "copytag-all_gather.xml"};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !is_missing(); i++) {
        char *text = read_data(names[i]);
        const struct sweep sweep = {names[i], read_once, text};
        CU_ASSERT(sweep_run(&sweep) > 0);
        free(text);
    }
}

/* --- the vectors ----------------------------------------------------------------------------- */

#define COLUMNS 17u

/* A row of expected.tsv: file coll dialect place ranks chunks proto channels tbs steps nops messages chunks_sent min_depth
   result races note. */
struct expected {
    char *cell[COLUMNS];
};

static bool split_row(char *line, struct expected *out_row)
{
    unsigned count = 0;
    for (char *at = line; at && count < COLUMNS; count++) {
        out_row->cell[count] = at;
        at = strchr(at, '\t');
        if (at)
            *at++ = '\0';
    }
    return count == COLUMNS;
}

/* What the judge of the vectors says, and the findings that say the same. */
static const struct {
    const char *begins;
    enum ronde_finding_code codes[2];
} faults[] = {
    {"unmatched", {RONDE_FINDING_UNMATCHED, RONDE_FINDING_UNMATCHED}},
    {"out of bounds", {RONDE_FINDING_BOUNDS, RONDE_FINDING_BOUNDS}},
    {"deadlock at any depth", {RONDE_FINDING_CYCLE, RONDE_FINDING_CYCLE}},
    {"uses undefined data", {RONDE_FINDING_UNDEFINED, RONDE_FINDING_UNDEFINED}},
    {"wrong-result", {RONDE_FINDING_WRONG_VALUE, RONDE_FINDING_TWICE}},
};

/* The number behind a word of the judge's sentence; RONDE_NONE where it has no such word. */
static uint32_t number_behind(const char *sentence, const char *word)
{
    const char *at = strstr(sentence, word);
    return at ? (uint32_t)strtoul(at + strlen(word), NULL, 10) : RONDE_NONE;
}

/* Some finding has the kind, and the rank and chunk where the judge names one of its own. */
static bool has_fault(const struct ronde_proof *proof, const char *said)
{
    const uint32_t rank = number_behind(said, "at rank ");
    for (size_t k = 0; k < sizeof faults / sizeof faults[0]; k++) {
        if (strncmp(said, faults[k].begins, strlen(faults[k].begins)) != 0)
            continue;
        for (uint32_t i = 0; i < proof->finding_count && i < RONDE_MAX_FINDINGS; i++) {
            const struct ronde_finding *finding = &proof->findings[i];
            const bool is_kind =
                finding->code == faults[k].codes[0] || finding->code == faults[k].codes[1];
            if (is_kind && (rank == RONDE_NONE || finding->rank == rank))
                return true;
        }
        return false;
    }
    return strcmp(said, "ok") == 0;
}

static void check_vector(const char *folder, const struct expected *row)
{
    char path[PATH_BYTES + 128];
    snprintf(path, sizeof path, "%s/%s", folder, row->cell[0]);
    char *text = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    struct outcome outcome = read_text(text, row->cell[0]);
    const bool is_good = strcmp(row->cell[14], "ok") == 0 && strcmp(row->cell[15], "none") == 0;
    const bool is_malformed = strncmp(row->cell[14], "rejected", 8) == 0;
    const enum ronde_status status = is_good        ? RONDE_OK
                                     : is_malformed ? RONDE_BAD_INPUT
                                                    : RONDE_REJECTED;
    CU_ASSERT_EQUAL(outcome.status, status);
    if (is_good && outcome.status == RONDE_OK) {
        CU_ASSERT_EQUAL(outcome.proof.min_depth, (uint32_t)atoi(row->cell[13]));
        CU_ASSERT_EQUAL(outcome.proof.messages, (uint64_t)atoi(row->cell[11]));
        CU_ASSERT_EQUAL(outcome.facts.steps, (uint32_t)atoi(row->cell[9]));
        CU_ASSERT_EQUAL(outcome.facts.nops, (uint32_t)atoi(row->cell[10]));
        CU_ASSERT_EQUAL(outcome.facts.threadblocks, (uint32_t)atoi(row->cell[8]));
    }
    const bool is_fault_found = is_malformed || is_good || has_fault(&outcome.proof, row->cell[14]);
    CU_ASSERT(is_fault_found);
    if (outcome.status != status || !is_fault_found)
        suite_note("%s: %s, expected %s", row->cell[0], outcome.error.message, row->cell[14]);
    if (strncmp(row->cell[15], "none", 4) != 0 && row->cell[15][0] != '-' && !is_malformed)
        CU_ASSERT(has_code(&outcome.proof, RONDE_FINDING_RACE));
    ronde_schedule_destroy(outcome.schedule);
    free(text);
}

static void the_vectors_have_the_expected_verdicts(void)
{
    char folder[PATH_BYTES];
    char path[PATH_BYTES + 32];
    unsigned rows = 0;
    if (is_missing() || !suite_shared(folder, sizeof folder, "vectors/msccl"))
        return;
    snprintf(path, sizeof path, "%s/expected.tsv", folder);
    char *table = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    for (char *line = strchr(table, '\n'); line && line[1];) {
        char *next = strchr(++line, '\n');
        struct expected row;
        if (next)
            *next = '\0';
        CU_ASSERT_FATAL(split_row(line, &row));
        check_vector(folder, &row);
        rows++;
        line = next;
    }
    suite_note("%u rows", rows);
    CU_ASSERT(rows > 0);
    free(table);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"files_mean_what_they_say", files_mean_what_they_say},
        {"files_run_to_the_same_bits", files_run_to_the_same_bits},
        {"faults_are_found_where_they_are", faults_are_found_where_they_are},
        {"messages_that_do_not_match_come_first", messages_that_do_not_match_come_first},
        {"what_runtimes_refuse_is_said", what_runtimes_refuse_is_said},
        {"malformed_files_are_refused_with_their_line", malformed_files_are_refused_with_their_line},
        {"xml_is_told_from_text", xml_is_told_from_text},
        {"any_name_will_do", any_name_will_do},
        {"running_out_of_memory_is_survived", running_out_of_memory_is_survived},
        {"the_vectors_have_the_expected_verdicts", the_vectors_have_the_expected_verdicts},
    };
    return suite_run("msccl", cases, sizeof cases / sizeof cases[0]);
}
