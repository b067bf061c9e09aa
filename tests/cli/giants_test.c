/*
 * Small inputs that ask for much: hosts of a platform, ranks of a schedule, nodes of a machine, layers of a model, what a compressed
 * file becomes. Each is refused by its bound, and says how to raise it, within memory and processor time that are limited.
 */
#include "support/buffers.h"
#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"
#include "support/suite.h"

#include "ronde/traces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 256 MiB beside what the program and its libraries map, 144 MiB at most; seconds of a processor. */
#define LIMITS "ulimit -v $((262144 + 147456)); ulimit -t 60; "

static uint64_t state = 1;

static unsigned draw(unsigned least, unsigned most)
{
    return least + (unsigned)(buffers_draw(&state) % (most - least + 1));
}

static bool is_limited(void)
{
    if (strlen(RONDE_SANITIZE) == 0)
        return true;
    suite_skip("a sanitizer maps more than there is");
    return false;
}

/* Under the limits; what it says has `part`. */
static void refuses(const char *arguments, const char *part)
{
    char command[1024];
    snprintf(command, sizeof command, LIMITS "%s %s 2>&1", suite_ronde(), arguments);
    said_has(said_by(command, 2), part);
}

static void what_is_generated_is_bounded(void)
{
    char text[512];
    if (!is_limited())
        return;
    for (unsigned i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "topo generate dgx-h100 --nodes %u", draw(20000, 130000));
        refuses(text, "the variable RONDE_MAX_HOSTS raises that");
        snprintf(text, sizeof text, "topo generate torus --shape %ux%ux%u", draw(64, 100),
                 draw(64, 100), draw(64, 100));
        refuses(text, "the variable RONDE_MAX_HOSTS raises that");
        snprintf(text, sizeof text, "convert all_to_all -N %u", draw(131073, 1048576));
        refuses(text, "the variable RONDE_MAX_COMPILED raises that");
        snprintf(text, sizeof text, "check all_reduce -a ring -N %u", draw(131073, 1048576));
        refuses(text, "the variable RONDE_MAX_COMPILED raises that");
        snprintf(text, sizeof text, "workload gpt --layers %u --hidden 4096 --tp 8 --dp 64 --pp 8",
                 8 * draw(5000000, 100000000));
        refuses(text, "the variable RONDE_MAX_LINES raises that");
    }
}

static void what_files_ask_for_is_bounded(void)
{
    static const char *const topologies[] = {
        "topology=\"TORUS\" topo_parameters=\"%u,%u,%u\"",
        "topology=\"FAT_TREE\" topo_parameters=\"2;%u,%u;1,%u;1,1\"",
        "topology=\"DRAGONFLY\" topo_parameters=\"%u,9;%u,9;%u,9;1\""};
    if (!is_limited() || !suite_can_read_platforms())
        return;
    for (unsigned i = 0; i < 6; i++) {
        char text[1024], parameters[256];
        const unsigned a = draw(400, 700), b = draw(400, 700), c = i % 3 == 1 ? 1 : 2;
        snprintf(parameters, sizeof parameters, topologies[i % 3], a, b, c);
        snprintf(text, sizeof text,
                 "<platform version=\"4.1\"><cluster id=\"c\" prefix=\"n\" suffix=\"\" "
                 "radical=\"0-%u\" speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\" %s/></platform>\n",
                 a * b * c - 1, parameters);
        CU_ASSERT_FATAL(files_write(RONDE_SCRATCH_DIR "/giant.xml", text));
        refuses("topo check " RONDE_SCRATCH_DIR "/giant.xml", "raises that, up to");
    }
}

/* The largest machine that is read as it is: what looks at all pairs refuses it, and has read it once. */
static void what_a_large_machine_is_asked_is_bounded(void)
{
    if (!is_limited() || !suite_can_read_platforms())
        return;
    CU_ASSERT_FATAL(files_write(
        RONDE_SCRATCH_DIR "/giant.xml",
        "<platform version=\"4.1\"><cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-131071\" "
        "speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\" topology=\"TORUS\" "
        "topo_parameters=\"64,64,32\"/></platform>\n"));
    refuses("bound all_reduce --topo " RONDE_SCRATCH_DIR "/giant.xml",
            "131072 ranks: the routes of all pairs are found for at most 4096");
}

/* A file of which a byte becomes a thousand. */
static void what_a_compressed_file_becomes_is_bounded(void)
{
    const char *reason;
    if (!is_limited())
        return;
    if (!ronde_traces_gzip_available(&reason)) {
        suite_skip("%s", reason);
        return;
    }
    free(said_by(
        "(echo '{\"traceEvents\": ['; head -c 80000000 /dev/zero | tr '\\0' ' '; echo ']}') | gzip "
        "-1 > " RONDE_SCRATCH_DIR "/giant.json.gz",
        0));
    refuses("explain " RONDE_SCRATCH_DIR "/giant.json.gz",
            "the variable RONDE_MAX_INFLATION raises that");
    char command[1024];
    snprintf(command, sizeof command, LIMITS "RONDE_MAX_INFLATION=2000 %s explain %s",
             suite_ronde(), RONDE_SCRATCH_DIR "/giant.json.gz");
    said_has(said_by(command, 0), "0 calls");
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(what_is_generated_is_bounded),
        SUITE_CASE(what_files_ask_for_is_bounded),
        SUITE_CASE(what_a_large_machine_is_asked_is_bounded),
        SUITE_CASE(what_a_compressed_file_becomes_is_bounded),
    };
    return suite_run("giants", cases, sizeof cases / sizeof cases[0]);
}
