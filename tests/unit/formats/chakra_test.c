/** Chakra execution traces: what is written comes back, bytes are those of the schema, and wrong files are refused. */
#include "support/files.h"
#include "support/suite.h"
#include "support/sweep.h"

#include "ronde/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/built_with.h"

/* Visibly, once a test. */
static bool is_missing(void)
{
    const char *reason;
    if (ronde_chakra_available(&reason))
        return false;
    suite_skip("%s", reason);
    return true;
}

static struct ronde_workload *parse(const char *text)
{
    struct ronde_workload *workload = NULL;
    struct ronde_error error = {0};
    if (ronde_workload_parse(text, strlen(text), "t", ronde_mem_default(), &workload, &error) !=
        RONDE_OK)
        suite_note("%s", error.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(workload);
    return workload;
}

/* Writes a workload, reads it back and removes the files. */
static struct ronde_workload *there_and_back(const struct ronde_workload *workload)
{
    char prefix[512], path[600];
    struct ronde_workload *back = NULL;
    struct ronde_error error = {0};
    snprintf(prefix, sizeof prefix, "%s/chakra-%ld", RONDE_SCRATCH_DIR, (long)getpid());
    CU_ASSERT_EQUAL_FATAL(ronde_chakra_write(workload, prefix, ronde_mem_default(), &error),
                          RONDE_OK);
    snprintf(path, sizeof path, "%s.1.et", prefix);
    CU_ASSERT_TRUE(ronde_chakra_is(path));
    CU_ASSERT_TRUE(ronde_chakra_is(prefix));
    if (ronde_workload_read(path, ronde_mem_default(), &back, &error) != RONDE_OK)
        suite_note("%s", error.message);
    for (uint32_t r = 0; r < workload->ranks; r++) {
        snprintf(path, sizeof path, "%s.%u.et", prefix, r);
        CU_ASSERT_EQUAL(unlink(path), 0);
    }
    snprintf(path, sizeof path, "%s.groups.json", prefix);
    char *groups = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(groups);
    CU_ASSERT_STRING_EQUAL(groups,
                           "{\"1\": [0, 1],\n \"2\": [2, 3],\n \"3\": [0, 2],\n \"4\": [1, 3]}\n");
    free(groups);
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(back);
    return back;
}

static const char text[] =
    "ronde-workload 1\nranks 4\ngroups tp 0-1 2-3\ngroups dp 0,2 1,3\n"
    "on 0-1\n a compute 1.234us cpu 2\n b all_gather tp 4096 after a\n"
    " c reduce_scatter dp 4096 after a b\n d broadcast dp 100 root 1 after c\n"
    " e send 77 to +2 tag 5 after a\n f send 78 to +2 tag 5 after e\n z barrier tp\n"
    "on 2-3\n a compute 5ns\n b all_gather tp 4096 after a\n c reduce_scatter dp 4096\n"
    " d broadcast dp 100 root 1\n e recv 77 from -2 tag 5\n f recv 78 from -2 tag 5 after e\n"
    " z barrier tp\n";

static void what_is_written_comes_back(void)
{
    if (is_missing())
        return;
    struct ronde_workload *out = parse(text), *back = there_and_back(out);
    uint32_t wrong = 0;
    CU_ASSERT_EQUAL_FATAL(back->work_count, out->work_count);
    CU_ASSERT_EQUAL(back->ranks, 4);
    CU_ASSERT_EQUAL(back->group_count, out->group_count);
    CU_ASSERT_EQUAL(back->family_count, 2);
    for (uint32_t w = 0; w < out->work_count; w++) {
        const struct ronde_work *a = &out->works[w], *b = &back->works[w];
        wrong += a->kind != b->kind || a->rank != b->rank || a->bytes != b->bytes ||
                 a->duration_ns != b->duration_ns || a->cpu != b->cpu || a->root != b->root ||
                 a->peer != b->peer || a->dep_count != b->dep_count ||
                 a->collective != b->collective ||
                 strcmp(ronde_workload_text(out, a->name), ronde_workload_text(back, b->name)) != 0;
        for (uint32_t d = 0; d < a->dep_count && d < b->dep_count; d++)
            wrong += out->deps[a->first_dep + d].work != back->deps[b->first_dep + d].work;
        if (a->kind != RONDE_WORK_COLLECTIVE)
            continue;
        const struct ronde_work_group *g = &out->groups[a->group], *h = &back->groups[b->group];
        wrong += g->member_count != h->member_count ||
                 memcmp(out->members + g->first_member, back->members + h->first_member,
                        g->member_count * sizeof(uint32_t)) != 0;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    /* Two messages of one pair and tag have tags of their own. */
    CU_ASSERT_NOT_EQUAL(back->works[4].tag, back->works[5].tag);
    ronde_workload_destroy(out);
    ronde_workload_destroy(back);
}

/* A file by hand: "0.0.4"; node 7 computes 3 us; node 5 "x", data_deps 7, all_reduce (comm_type 0) of 64 bytes. */
static const unsigned char by_hand[] = {
    7,    0x0a, 5,    '0',  '.', '0',  '.',  '4',               /* GlobalMetadata */
    6,    0x08, 7,    0x18, 4,   0x38, 3,                       /* Node: id, type, duration */
    0x31, 0x08, 5,    0x12, 1,   'x',  0x18, 7,   0x2a, 1,   7, /* Node: data_deps, packed */
    0x52, 0x0d, 0x0a, 9,    'c', 'o',  'm',  'm', '_',  't', 'y', 'p', 'e', 0x48, 0, /* attr, int64_val */
    0x52, 0x0d, 0x0a, 9,    'c', 'o',  'm',  'm', '_',  's', 'i', 'z', 'e', 0x48, 64, 0x2a,
    1,    7, /* and once more */
};

static enum ronde_status parse_bytes(const unsigned char *data, size_t bytes,
                                     const struct ronde_mem *mem, struct ronde_workload **out,
                                     struct ronde_error *error)
{
    const struct ronde_chakra_file files[2] = {{data, bytes}, {data, bytes}};
    return ronde_chakra_parse(files, 2, "p", mem, out, error);
}

static void bytes_are_those_of_the_schema(void)
{
    struct ronde_workload *w = NULL;
    struct ronde_error error = {0};
    unsigned char data[sizeof by_hand];
    if (is_missing())
        return;
    memcpy(data, by_hand, sizeof data);
    data[15] = (unsigned char)(sizeof data - 16);
    if (parse_bytes(data, sizeof data, ronde_mem_default(), &w, &error) != RONDE_OK)
        suite_note("%s", error.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    CU_ASSERT_EQUAL_FATAL(w->work_count, 4);
    CU_ASSERT_EQUAL(w->works[0].duration_ns, 3000);
    CU_ASSERT_EQUAL(w->works[0].line, 7);
    CU_ASSERT_EQUAL(w->works[1].kind, RONDE_WORK_COLLECTIVE);
    CU_ASSERT_EQUAL(w->works[1].collective, RONDE_ALL_REDUCE);
    CU_ASSERT_EQUAL(w->works[1].bytes, 64);
    CU_ASSERT_EQUAL(w->works[1].dep_count, 2);
    CU_ASSERT_EQUAL(w->deps[w->works[1].first_dep].work, 0);
    CU_ASSERT_STRING_EQUAL(ronde_workload_text(w, w->works[1].name), "x");
    CU_ASSERT_EQUAL(w->groups[0].member_count, 2);
    ronde_workload_destroy(w);
}

static void wrong_files_are_refused(void)
{
    static const unsigned char head[] = {7, 0x0a, 5, '0', '.', '0', '.', '4'};
    static const struct {
        unsigned char data[32];
        size_t bytes;
        const char *message;
    } cases[] = {
        {{0}, 0, "p.0.et: does not begin with Chakra's metadata"},
        {{9, 1}, 2, "p.0.et: byte 0: a message that goes beyond the end of the file"},
        {{0x1f, 0x8b, 8, 0}, 4, "p.0.et: byte 0: compressed by gzip"},
        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 11, "p.0.et: byte 0: a "},
        {{2, 0x08, 0x80}, 3, "p.0.et: holds a message that is no node"},
        {{2, 0x08, 3}, 3, "p.0.et: node 3: has no type"},
        {{4, 0x08, 3, 0x18, 5}, 5, "p.0.et: node 3: has no comm_size"},
        {{4, 0x08, 3, 0x18, 7}, 5, "p.0.et: node 3: its comm_type is no collective"},
        {{7, 0x08, 3, 0x18, 4, 0x2a, 1, 9}, 8, "p.0.et: node 3: waits for a node that is not there"},
        {{4, 0x08, 3, 0x18, 4, 4, 0x08, 3, 0x18, 4}, 10, "p.0.et: node 3: is there twice"},
    };
    if (is_missing())
        return;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned char data[64];
        struct ronde_workload *w = NULL;
        struct ronde_error error = {0};
        const size_t before = i < 4 ? 0 : sizeof head;
        memcpy(data, head, sizeof head);
        memcpy(data + before, cases[i].data, cases[i].bytes);
        CU_ASSERT_EQUAL(parse_bytes(data, before + cases[i].bytes, ronde_mem_default(), &w, &error),
                        RONDE_BAD_INPUT);
        CU_ASSERT_PTR_NULL(w);
        const bool is_right =
            strncmp(error.message, cases[i].message, strlen(cases[i].message)) == 0;
        CU_ASSERT(is_right);
        if (!is_right)
            suite_note("expected \"%s\", got \"%s\"", cases[i].message, error.message);
    }
}

static enum ronde_status parse_once(const void *context, const struct ronde_mem *mem,
                                    struct ronde_error *error)
{
    struct ronde_workload *w = NULL;
    const enum ronde_status status = parse_bytes(context, sizeof by_hand, mem, &w, error);
    CU_ASSERT_EQUAL(w != NULL, status == RONDE_OK);
    ronde_workload_destroy(w);
    return status;
}

static void running_out_of_memory_is_survived(void)
{
    unsigned char data[sizeof by_hand];
    if (is_missing())
        return;
    memcpy(data, by_hand, sizeof data);
    data[15] = (unsigned char)(sizeof data - 16);
    const struct sweep sweep = {"Chakra", parse_once, data};
    CU_ASSERT(sweep_run(&sweep) > 0);
}

static void starts_cannot_be_written(void)
{
    struct ronde_error error = {0};
    if (is_missing())
        return;
    struct ronde_workload *w =
        parse("num_ranks 1\nrank 0 {\na: calc 1\nb: calc 2\nb irequires a\n}\n");
    CU_ASSERT_EQUAL(ronde_chakra_write(w, RONDE_SCRATCH_DIR "/never", ronde_mem_default(), &error),
                    RONDE_UNSUPPORTED);
    ronde_workload_destroy(w);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"what_is_written_comes_back", what_is_written_comes_back},
        {"bytes_are_those_of_the_schema", bytes_are_those_of_the_schema},
        {"wrong_files_are_refused", wrong_files_are_refused},
        {"running_out_of_memory_is_survived", running_out_of_memory_is_survived},
        {"starts_cannot_be_written", starts_cannot_be_written},
    };
    return suite_run("chakra", cases, sizeof cases / sizeof cases[0]);
}
