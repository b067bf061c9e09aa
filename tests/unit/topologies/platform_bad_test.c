/* Platform files that must be refused: each known slip with its line, every beginning of a good file, random damage. */
#include "support/suite.h"
#include "support/sweep.h"

#include "unit/platform_text.h"

#include <stdio.h>
#include <string.h>

/* Where a broken file breaks and what the message contains. */
static const struct {
    const char *file;
    uint32_t line;
    const char *said;
} invalid[] = {
    {"empty", 1, "the file is empty"},
    {"not-xml", 1, "not well-formed XML"},
    {"truncated", 8, "not well-formed XML"},
    {"wrong-root", 3, "root element is <topology>, expected <platform>"},
    {"old-version", 3, "platform version '3', expected 4 or 4.1"},
    {"no-version", 3, "<platform> has no attribute version"},
    {"no-zone", 3, "the platform has no zone"},
    {"no-host", 3, "the platform has no host"},
    {"two-roots", 5, "a second root zone 'b'"},
    {"unknown-element", 6, "unknown element <gpu> in <zone>"},
    {"unknown-attribute", 5, "unknown attribute gpus of <host>"},
    {"missing-attribute", 5, "<host> has no attribute speed"},
    {"config", 4, "<config> sets 'network/model', which changes what messages take"},
    {"pstate", 5, "pstate is '2', expected 0 to 1, one of the speeds"},
    {"text", 4, "text inside <zone>"},
    {"unknown-routing", 4, "routing of <zone> is 'Magic'"},
    {"zero-bandwidth", 7, "bandwidth of <link> is '0', expected more than 0"},
    {"negative-bandwidth", 7, "'-1GBps', expected more than 0"},
    {"bad-unit", 7, "bandwidth of <link> is '1GBs'"},
    {"nan-bandwidth", 7, "bandwidth of <link> is 'nan'"},
    {"bad-latency", 7, "latency of <link> is '1lightyear'"},
    {"no-latency", 7, "<link> has no attribute latency"},
    {"curve-descends", 4, "ascending points"},
    {"bad-speed", 5, "speed of host 'h0' is 'fast'"},
    {"bad-sharing", 7, "sharing_policy of <link> is 'HALFDUPLEX'"},
    {"duplicate-host", 7, "a second host, router or zone 'h0'"},
    {"duplicate-link", 8, "a second link 'l_UP'"},
    {"duplicate-route", 9, "a second route from h0 to h1; the first is on line 8"},
    {"unknown-host", 8, "dst of <route> is 'h9', which is no host"},
    {"unknown-link", 8, "unknown link 'k'"},
    {"no-direction", 8, "SPLITDUPLEX link 'l' needs a direction"},
    {"needless-direction", 8, "link 'l' is not SPLITDUPLEX"},
    {"empty-route", 8, "the route has no links"},
    {"route-before-host", 8, "<host> must come earlier in <zone>"},
    {"mixed-zone", 6, "<zone> in a zone that already holds hosts"},
    {"bad-gateway", 8, "gw_src is 'rb', which is not inside zone 'a'"},
    {"route-elsewhere", 9, "dst of <route> is 'h0', which is not directly in this zone"},
    {"bad-radical", 4, "radical is '0-3;7'"},
    {"backward-radical", 4, "radical is '3-0'"},
    {"huge-radical", 4, "more than 1048576 hosts"},
    {"giant-radical", 4, "1000000 hosts are more than 131072; the variable RONDE_MAX_HOSTS"},
    {"giant-fat-tree", 5,
     "8064000 links of a topology are more than 131072; the variable RONDE_MAX_LINKS"},
    {"dragonfly-numbers", 5, "topo_parameters is '4,1;4,1;4,1;1e9', expected numbers"},
    {"bad-topology", 4, "topology of <cluster> is 'MOEBIUS'"},
    {"torus-axes", 4, "topo_parameters is '4,x', expected at most 6 axes"},
    {"torus-hosts", 4, "a torus of '4,2' has another number of hosts than radical, 4"},
    {"long-description", 5, "ronde.description has 128 bytes, at most 127 fit"},
    {"latency-only-backbone", 4, "cluster 'x' has bb_lat but no bb_bw"},
    {"unknown-prop", 5, "unknown prop 'ronde.alpha'"},
    {"prop-not-a-number", 5, "ronde.step_ns is 'fast'"},
    {"prop-negative", 5, "ronde.step_ns is '-1'"},
    {"prop-with-unit", 5, "ronde.alpha_ns is '1us'"},
    {"prop-infinite", 5, "ronde.gamma_GBps is 'inf'"},
    {"prop-twice", 6, "a second 'ronde.step_ns'; the first is on line 5"},
    {"prop-fraction-of-a-core", 5, "ronde.cores is '1.5'"},
    {"prop-on-link", 7, "'ronde.alpha_ns' on a link"},
    {"memory-without-backbone", 5, "no cluster has a SHARED backbone"},
    {"memory-other-than-backbone", 5, "no cluster has a SHARED backbone"},
    {"rank-hosts-unknown", 5, "ronde.rank_hosts: unknown host 'h7'"},
    {"rank-hosts-twice", 5, "ronde.rank_hosts: host 'h0' twice"},
    {"rank-hosts-empty", 5, "ronde.rank_hosts names no host"},
    {"rank-shape-word", 5, "ronde.rank_shape is '8x8x', expected up to 6 numbers as 8x8x8"},
    {"rank-shape-product", 5, "ronde.rank_shape has 8 ranks, and there are 4 hosts"},
    {"backbone-misplaced", 7, "<backbone> needs a zone with routing=\"Cluster\""},
    {"host-link-missing", 4, "host 'h1' has no host_link"},
    {"host-link-of-no-star", 8, "<host_link> needs routing=\"Cluster\""},
    {"host-link-twice", 9, "a second host_link of 'h0'"},
    {"host-link-elsewhere", 8, "unknown host 'h7' in this zone"},
    {"route-in-a-star", 10, "<route> in a zone with routing=\"Cluster\", which takes <host_link>"},
    {"empty-bandwidth", 7, "bandwidth of link 'l' is empty"},
    {"cluster-empty-bandwidth", 4, "bw of cluster 'x' is empty"},
    {"cluster-beside-root", 5, "a second root zone 'x'"},
    {"empty-id", 5, "<host> with an empty id"},
    {"split-link-over-plain", 8, "a second link 'l_UP' or 'l_DOWN'"},
    {"entity", 3, "declares an entity"},
    {"attribute-default", 3, "declares an attribute"},
    {"tiny-bandwidth", 7, "bandwidth of <link> is '1e-308Bps', expected 1Bps to 1e+24Bps"},
    {"huge-bandwidth", 7, "bandwidth of <link> is '1e300Bps', expected 1Bps to 1e+24Bps"},
    {"huge-latency", 7, "latency of <link> is '1e290s', expected at most 1e+09s"},
    {"empty-latency", 7, "latency of <link> is empty"},
    {"cluster-empty-latency", 4, "lat of <cluster> is empty"},
    {"prop-huge-time", 5, "ronde.alpha_ns is '1e308', expected 0 or 0 to 1e+18"},
    {"prop-tiny-rate", 5, "ronde.gamma_GBps is '1e-320', expected 0 or 1e-09 to 1e+15"},
    {"prop-tiny-bytes", 5, "ronde.segment_bytes is '1e-320', expected 0 or 1 to 1e+18"},
    {"curve-tiny", 5, "ascending points"},
    {"sized-descends", 5, "ronde.send_ns is '64:10 32:20', expected at most 16 ascending points"},
    {"sized-negative", 5, "ronde.send_ns is '64:-1'"},
    {"sized-rate", 5, "'bytes:ns'"},
    {"sized-many", 5, "at most 16 ascending points"},
    {"host-control-character", 5, "id of <host> has a control character"},
    {"link-control-character", 7, "id of <link> has a control character"},
    {"prop-control-character", 5, "value of <prop> has a control character"},
    {"prop-unknown-model", 5, "ronde.network_model is 'TCP', expected CM02 or LV08"},
};

#define INVALID_COUNT (sizeof invalid / sizeof invalid[0])

static void check_invalid(size_t i)
{
    char path[1024];
    char relative[128];
    char place[1200];
    struct ronde_platform *platform = NULL;
    struct ronde_error error = {0};
    snprintf(relative, sizeof relative, "tests/invalid/platform-%s.xml", invalid[i].file);
    if (!suite_source(path, sizeof path, relative))
        return;
    snprintf(place, sizeof place, "%s:%u: ", path, invalid[i].line);
    CU_ASSERT_EQUAL(ronde_platform_read(path, ronde_mem_default(), &platform, &error),
                    RONDE_BAD_INPUT);
    CU_ASSERT_PTR_NULL(platform);
    CU_ASSERT_EQUAL(error.line, invalid[i].line);
    const bool is_right = strncmp(error.message, place, strlen(place)) == 0 &&
                          strstr(error.message, invalid[i].said) && !strchr(error.message, '\n');
    CU_ASSERT(is_right);
    if (!is_right)
        suite_note("%s: %s", invalid[i].file, error.message);
}

static void read_refuses_every_invalid_file(void)
{
    if (!suite_can_read_platforms())
        return;
    for (size_t i = 0; i < INVALID_COUNT; i++)
        check_invalid(i);
}

static void read_refuses_absent_files_and_folders(void)
{
    struct ronde_platform *platform;
    struct ronde_error absent = {0};
    struct ronde_error folder = {0};
    if (!suite_can_read_platforms())
        return;
    CU_ASSERT_EQUAL(ronde_platform_read("/no/such/file.xml", ronde_mem_default(), &platform, &absent),
                    RONDE_IO);
    CU_ASSERT_STRING_EQUAL(absent.message,
                           "/no/such/file.xml: cannot be opened: No such file or directory");
    CU_ASSERT_EQUAL(ronde_platform_read("/", ronde_mem_default(), &platform, &folder), RONDE_IO);
    CU_ASSERT_STRING_EQUAL(folder.message, "/: cannot be read: Is a directory");
}

static void read_refuses_the_shared_bad_files(void)
{
    static const struct {
        const char *file;
        uint32_t line;
    } bad[] = {{"vectors/simgrid/bad-malformed.xml", 7},
               {"vectors/simgrid/bad-unknown-element.xml", 6},
               {"vectors/simgrid/bad-zero-bandwidth.xml", 8}};
    if (!suite_can_read_platforms())
        return;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char path[1024];
        struct ronde_platform *platform;
        struct ronde_error error = {0};
        if (!suite_shared(path, sizeof path, bad[i].file))
            return;
        CU_ASSERT_EQUAL(ronde_platform_read(path, ronde_mem_default(), &platform, &error),
                        RONDE_BAD_INPUT);
        CU_ASSERT_EQUAL(error.line, bad[i].line);
    }
}

/* Every beginning of a good file is refused; the missing last newline alone is not. */
static void truncated_anywhere_is_refused(void)
{
    if (!suite_can_read_platforms())
        return;
    const size_t whole = strlen(platform_text_everything) - 1;
    for (size_t bytes = 0; bytes < whole; bytes += 3) {
        struct ronde_platform *platform;
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL(platform_text_read(platform_text_everything, bytes, ronde_mem_default(),
                                           &platform, &error),
                        RONDE_BAD_INPUT);
        CU_ASSERT_PTR_NULL(platform);
        CU_ASSERT(error.line >= 1);
    }
}

/* Damaged files are refused or read; what is read can be routed over without leaving its arrays (sanitizers watch). */
static void damaged_files_do_no_harm(void)
{
    char text[4096];
    const size_t bytes = strlen(platform_text_everything);
    CU_ASSERT(bytes < sizeof text);
    uint64_t state = 20261121;
    unsigned read = 0;
    if (!suite_can_read_platforms())
        return;
    for (unsigned round = 0; round < 600; round++) {
        struct ronde_platform *platform;
        struct ronde_error error = {0};
        memcpy(text, platform_text_everything, bytes);
        for (unsigned i = 0; i < 1 + round % 3; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            text[(state >> 33) % bytes] = platform_text_everything[(state >> 13) % bytes];
        }
        const enum ronde_status status =
            platform_text_read(text, bytes, ronde_mem_default(), &platform, &error);
        CU_ASSERT(status == RONDE_OK || status == RONDE_BAD_INPUT);
        CU_ASSERT((status == RONDE_OK) == (platform != NULL));
        char links[512];
        for (uint32_t i = 0; platform && i < ronde_platform_facts(platform)->hosts; i++)
            platform_text_route(platform, 0, i, links, sizeof links);
        read += platform ? 1 : 0;
        ronde_platform_destroy(platform);
    }
    suite_note("%u of 600 damaged files still read", read);
    CU_ASSERT(read > 0 && read < 600);
}

static enum ronde_status read_and_route(const void *text, const struct ronde_mem *mem,
                                        struct ronde_error *error)
{
    struct ronde_platform *platform;
    uint32_t count;
    enum ronde_status status = platform_text_read(text, strlen(text), mem, &platform, error);
    CU_ASSERT((status == RONDE_OK) == (platform != NULL));
    if (status == RONDE_OK)
        status = ronde_platform_route(platform, 0, 6, 0, NULL, &count, error);
    ronde_platform_destroy(platform);
    return status;
}

static void allocation_failures_are_clean(void)
{
    const struct sweep sweep = {.what = "everything",
                                .operation = read_and_route,
                                .context = platform_text_everything};
    if (suite_can_read_platforms())
        CU_ASSERT(sweep_run(&sweep) > 30);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"read_refuses_every_invalid_file", read_refuses_every_invalid_file},
        {"read_refuses_absent_files_and_folders", read_refuses_absent_files_and_folders},
        {"read_refuses_the_shared_bad_files", read_refuses_the_shared_bad_files},
        {"truncated_anywhere_is_refused", truncated_anywhere_is_refused},
        {"damaged_files_do_no_harm", damaged_files_do_no_harm},
        {"allocation_failures_are_clean", allocation_failures_are_clean},
    };
    return suite_run("platform_bad", cases, sizeof cases / sizeof cases[0]);
}
