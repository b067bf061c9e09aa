/* GOAL at its edges: the largest numbers, comments and blanks anywhere, labels of a rank, and names in a hash table. */
#include "support/suite.h"

#include "support/buffers.h"
#include "support/heap.h"

#include "formats/workload/readers.h"
#include "ronde/workload.h"

#include <stdio.h>
#include <string.h>

static enum ronde_status parse(const char *text, struct ronde_workload **out_workload,
                               struct ronde_error *error)
{
    return ronde_workload_parse(text, strlen(text), "f", ronde_mem_default(), out_workload, error);
}

/* A file that must be good. */
static struct ronde_workload *good(const char *text)
{
    struct ronde_workload *workload = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(parse(text, &workload, &error), RONDE_OK);
    if (error.status != RONDE_OK)
        suite_note("%s", error.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(workload);
    return workload;
}

/* A line of rank 0 of two, and what is said of it; NULL = it is good. */
static void expect_line(const char *line, const char *message)
{
    char text[512];
    struct ronde_workload *workload = NULL;
    struct ronde_error error = {0};
    snprintf(text, sizeof text, "num_ranks 2\nrank 0 {\nx: calc 1\n%s\n}\n", line);
    const enum ronde_status status = parse(text, &workload, &error);
    const bool is_right = message ? status == RONDE_BAD_INPUT && error.line == 4 &&
                                        strcmp(error.message, message) == 0
                                  : status == RONDE_OK;
    CU_ASSERT(is_right);
    if (!is_right)
        suite_note("%s: \"%s\"", line, error.message);
    ronde_workload_destroy(workload);
}

static void numbers_end_where_they_say(void)
{
    static const struct {
        const char *line, *message;
    } rows[] = {
        {"calc 9007199254740992", NULL},
        {"calc 9007199254740993", "f:4: the time is more than 9007199254740992"},
        {"calc 90071992547409920", "f:4: the time is more than 9007199254740992"},
        {"calc 18446744073709551616", "f:4: the time is more than 9007199254740992"},
        {"calc 000000000000000000000000000007", NULL},
        {"send 9007199254740992b to 1", NULL},
        {"send 9007199254740993b to 1", "f:4: the size is more than 9007199254740992"},
        {"send 8b to 1 tag 4294967294", NULL},
        {"send 8b to 1 tag 4294967295", "f:4: the tag is more than 4294967294"},
        {"recv 8b from 1 tag 4294967296", "f:4: the tag is more than 4294967294"},
        {"recv 8b from 1 tag -1", NULL},
        {"recv 8b from -1",
         "f:4: a receive from any source (-1), which depends on who comes first; "
         "name the rank"},
        {"recv 8b from 1 tag -2", "f:4: the tag is no number"},
        {"calc 5 cpu 4294967294", NULL},
        {"calc 5 cpu 4294967295", "f:4: the cpu is more than 4294967294"},
        {"send 8b to 1 cpu x", "f:4: the cpu is no number"},
        {"send 8b to 1 nic 4294967295", "f:4: the nic is more than 4294967294"},
        {"send 8b to 4294967295", "f:4: the rank is more than 4294967294"},
        {"send 8b to 4294967294", "f:4: rank 4294967294 of 2 ranks"},
        {"calc -1", "f:4: the time is no number"},
        {"calc", "f:4: the time is no number"},
        {"calc 1.5", "f:4: expected the end of the line"},
        {"calc 5ns", "f:4: expected the end of the line"},
        {"send b to 1", "f:4: the size is no number"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_line(rows[i].line, rows[i].message);
}

static void words_stand_where_they_belong(void)
{
    static const struct {
        const char *line, *message;
    } rows[] = {
        {"send 8b to 1 tag 3 cpu 1 nic 2", NULL},
        {"send 8b to 1 cpu 1 tag 3", "f:4: expected the end of the line"},
        {"send 8b from 1", "f:4: expected \"to\""},
        {"recv 8b to 1", "f:4: expected \"from\""},
        {"recv 8 bytes from 1", "f:4: expected \"b\""},
        {"calc 1 tag 3", "f:4: expected the end of the line"},
        {"y: x: calc 1", "f:4: \"x\" is no operation"},
        {"y:", "f:4: expected send, recv, calc, a label or '}'"},
        {"7: calc 1", "f:4: expected send, recv, calc, a label or '}'"},
        {"y : calc 1", NULL},
        {"y:calc 1", NULL},
        {"_y9: calc 1", NULL},
        {"x requires", "f:4: expected a label"},
        {"x requires 5", "f:4: expected a label"},
        {"x requires y", "f:4: no operation above is labelled y"},
        {"y irequires x", "f:4: no operation above is labelled y"},
        {"x irequires x y", "f:4: expected the end of the line"},
        {"Calc 1", "f:4: no operation above is labelled Calc"},
        {"calc 1 /* and", "f:4: a comment that does not end"},
        {"calc 1 // and so on }", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_line(rows[i].line, rows[i].message);
}

/* Comments count as blanks, their lines as lines, and a return before the end of a line is no word. */
static void comments_and_blanks_may_stand_anywhere(void)
{
    struct ronde_workload *workload =
        good("// first\r\n/* second\n third */ num_ranks /**/ 2 // of\r\n\n\trank/* */1/*\n*/{\r\n"
             "a: /* x */ send /**/8/**/b to 0 tag /**/ 5\r\n\n // }\nb: calc 7 /* } */\r\n"
             "b requires /**/ a // a\r\n}\n/* end */");
    CU_ASSERT_EQUAL(workload->ranks, 2);
    CU_ASSERT_EQUAL_FATAL(workload->work_count, 2);
    CU_ASSERT_EQUAL(workload->works[0].line, 7);
    CU_ASSERT_EQUAL(workload->works[0].bytes, 8);
    CU_ASSERT_EQUAL(workload->works[0].tag, 5);
    CU_ASSERT_EQUAL(workload->works[1].line, 10);
    CU_ASSERT_EQUAL(workload->works[1].duration_ns, 7);
    CU_ASSERT_EQUAL_FATAL(workload->dep_count, 1);
    CU_ASSERT_EQUAL(workload->deps[workload->works[1].first_dep].work, 0);
    ronde_workload_destroy(workload);
}

/* A label is its rank's; ranks may come in any order, and need not come at all. */
static void labels_belong_to_their_rank(void)
{
    struct ronde_workload *workload =
        good("num_ranks 4\nrank 2 {\na: calc 1\nb: calc 2\nb requires a\n}\n"
             "rank 0 {\na: calc 3\nb: calc 4\na irequires b\n}\n");
    CU_ASSERT_EQUAL_FATAL(workload->work_count, 4);
    CU_ASSERT_EQUAL(workload->works[0].rank, 2);
    CU_ASSERT_EQUAL(workload->works[2].rank, 0);
    const struct ronde_work_dep *first = &workload->deps[workload->works[1].first_dep];
    const struct ronde_work_dep *second = &workload->deps[workload->works[2].first_dep];
    CU_ASSERT(first->work == 0 && !first->on_start);
    CU_ASSERT(second->work == 3 && second->on_start);
    CU_ASSERT_EQUAL(workload->works[3].dep_count, 0);
    ronde_workload_destroy(workload);
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(
        parse("num_ranks 2\nrank 0 {\na: calc 1\n}\nrank 1 {\nb: calc 1\nb requires a\n}\n",
              &workload, &error),
        RONDE_BAD_INPUT);
    CU_ASSERT_STRING_EQUAL(error.message, "f:7: no operation above is labelled a");
}

/* Dependencies are put to their operations, in the order in which they stand, however they are mixed. */
static void dependencies_are_sorted_by_their_operation(void)
{
    static const uint32_t expected[4][3] = {{9, 9, 9}, {0, 9, 9}, {1, 0, 9}, {2, 0, 1}};
    struct ronde_workload *workload =
        good("num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\nc: calc 1\nd: calc 1\n"
             "d requires c\nc irequires b\nd requires a\nb requires a\nc requires a\nd irequires "
             "b\n}\n");
    uint32_t seen = 0;
    for (uint32_t w = 0; w < 4; w++) {
        const struct ronde_work *work = &workload->works[w];
        CU_ASSERT_EQUAL_FATAL(work->dep_count, w);
        CU_ASSERT_EQUAL(work->first_dep, seen);
        for (uint32_t d = 0; d < w; d++)
            CU_ASSERT_EQUAL(workload->deps[seen + d].work, expected[w][d]);
        seen += w;
    }
    CU_ASSERT_TRUE(workload->deps[1].on_start);
    CU_ASSERT_FALSE(workload->deps[2].on_start);
    CU_ASSERT_TRUE(workload->deps[5].on_start);
    CU_ASSERT_EQUAL(workload->dep_count, 6);
    ronde_workload_destroy(workload);
}

/* A file that ends anywhere is good or refused with a line of the file, and never read beyond its end. */
static void files_may_end_anywhere(void)
{
    static const char text[] =
        "/* c */ num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 3 cpu 1 nic 2\n"
        "l2: calc 5 // x\nl2 requires l1\n}\nrank 1 {\nrecv 8b from 0 tag -1\n}\n";
    uint32_t accepted = 0, refused = 0;
    for (size_t length = 0; length < sizeof text; length++) {
        char cut[sizeof text];
        struct ronde_workload *workload = NULL;
        struct ronde_error error = {0};
        /* What follows would be read as another digit or letter. */
        memset(cut, '7', sizeof cut);
        memcpy(cut, text, length);
        const enum ronde_status status =
            ronde_workload_parse(cut, length, "f", ronde_mem_default(), &workload, &error);
        accepted += status == RONDE_OK;
        refused += status == RONDE_BAD_INPUT && error.line >= 1 && error.line <= 9;
        CU_ASSERT_EQUAL(workload != NULL, status == RONDE_OK);
        if (workload && length > 140)
            CU_ASSERT_EQUAL(workload->dep_count, 1);
        ronde_workload_destroy(workload);
    }
    CU_ASSERT_EQUAL(accepted + refused, sizeof text);
    CU_ASSERT(accepted >= 4 && refused > 100);
}

/* Names in a table: found while they are there, by all of their bytes, also after it has grown. */
static void names_are_found_by_all_of_their_bytes(void)
{
    struct heap heap = heap_start(SIZE_MAX, false);
    const struct ronde_mem mem = heap_mem(&heap);
    struct labels labels = {.mem = &mem};
    static char names[3000][8];
    const struct label_text empty = {"", 0};
    CU_ASSERT_PTR_NULL(labels_find(&labels, empty));
    for (uint32_t i = 0; i < 3000; i++) {
        const size_t bytes = (size_t)snprintf(names[i], sizeof names[i], "%x", i);
        const struct label_text name = {names[i], bytes};
        CU_ASSERT_PTR_NULL(labels_find(&labels, name));
        CU_ASSERT_TRUE(labels_add(&labels, name, (uint64_t)i << 32));
    }
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 3000; i++) {
        const struct label_text name = {names[i], strlen(names[i])};
        const struct label_text more = {names[i], strlen(names[i]) + 1};
        const uint64_t *found = labels_find(&labels, name);
        wrong += !found || *found != (uint64_t)i << 32 || labels_find(&labels, more) != NULL;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(labels.count, 3000);
    CU_ASSERT(2 * labels.count <= labels.slot_count);
    const size_t slots = labels.slot_count;
    labels_clear(&labels);
    CU_ASSERT_PTR_NULL(labels_find(&labels, (struct label_text){names[5], 1}));
    CU_ASSERT_EQUAL(labels.slot_count, slots);
    CU_ASSERT_TRUE(labels_add(&labels, (struct label_text){names[5], 1}, 9));
    CU_ASSERT_EQUAL(*labels_find(&labels, (struct label_text){"5", 1}), 9);
    labels_free(&labels);
    labels_free(&labels);
    CU_ASSERT_EQUAL(heap.live_blocks, 0);
    CU_ASSERT_EQUAL(heap.wrong_sizes, 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"numbers_end_where_they_say", numbers_end_where_they_say},
        {"words_stand_where_they_belong", words_stand_where_they_belong},
        {"comments_and_blanks_may_stand_anywhere", comments_and_blanks_may_stand_anywhere},
        {"labels_belong_to_their_rank", labels_belong_to_their_rank},
        {"dependencies_are_sorted_by_their_operation", dependencies_are_sorted_by_their_operation},
        {"files_may_end_anywhere", files_may_end_anywhere},
        {"names_are_found_by_all_of_their_bytes", names_are_found_by_all_of_their_bytes},
    };
    return suite_run("goal_scan", cases, sizeof cases / sizeof cases[0]);
}
