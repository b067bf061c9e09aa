/*
 * Platform files: what is read, how hosts are connected, the flat network of it, and what writing
 * gives back.
 */
#include "support/files.h"
#include "support/suite.h"

#include "topologies/platform.h"
#include "unit/platform_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static uint32_t host_index(const struct ronde_platform *platform, const char *name)
{
    uint32_t index = 0;
    while (ronde_platform_host(platform, index) &&
           strcmp(ronde_platform_host(platform, index), name) != 0)
        index++;
    return index;
}

/* Expected links as SimGrid 3.32 lists them for the same file. */
static void routes_are_those_of_simgrid(void)
{
    static const struct {
        const char *src;
        const char *dst;
        const char *links;
    } routes[] = {
        {"c0x", "c1x", "c_link_0_limiter c_link_0_UP c_backbone c_link_1_DOWN c_link_1_limiter"},
        {"f0", "f1", "a_UP b"},
        {"f1", "f0", "b a_DOWN"},
        {"s0", "s1", "l_UP bb m"},
        {"s1", "s0", "m bb l_DOWN"},
        {"c7x", "f0", "c_link_7_limiter c_link_7_UP c_backbone cf_UP b"},
        {"f0", "c0x", "b cf_DOWN c_backbone c_link_0_DOWN c_link_0_limiter"},
        {"c0x", "s1", "c_link_0_limiter c_link_0_UP c_backbone cf_UP fs bb m"},
        {"s0", "s0", ""},
    };
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_good(platform_text_everything);
    for (size_t i = 0; platform && i < sizeof routes / sizeof routes[0]; i++) {
        char text[512];
        platform_text_route(platform, host_index(platform, routes[i].src),
                            host_index(platform, routes[i].dst), text, sizeof text);
        CU_ASSERT_STRING_EQUAL(text, routes[i].links);
        if (strcmp(text, routes[i].links) != 0)
            suite_note("%s to %s: %s", routes[i].src, routes[i].dst, text);
    }
    ronde_platform_destroy(platform);
}

static void read_keeps_facts_units_and_order(void)
{
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_good(platform_text_everything);
    if (!platform)
        return;
    const struct ronde_platform_facts *facts = ronde_platform_facts(platform);
    CU_ASSERT_STRING_EQUAL(facts->name, "w");
    CU_ASSERT_EQUAL(facts->hosts, 7);
    CU_ASSERT_EQUAL(facts->time.alpha_ns, 12.5);
    CU_ASSERT_EQUAL(facts->shared.cores, 4);
    CU_ASSERT_EQUAL(facts->memory_link, UINT32_MAX);
    CU_ASSERT_STRING_EQUAL(ronde_platform_host(platform, 2), "c7x");
    CU_ASSERT_PTR_NULL(ronde_platform_host(platform, 7));
    const uint32_t up = ronde_names_find(&platform->link_names, "a_UP");
    const uint32_t thin = ronde_names_find(&platform->link_names, "b");
    CU_ASSERT_EQUAL(ronde_platform_link(platform, up)->rate_GBps, 10);
    CU_ASSERT_EQUAL(ronde_platform_link(platform, up)->latency_ns, 100);
    CU_ASSERT_EQUAL(ronde_platform_link(platform, thin)->rate_GBps, 1024e-9);
    CU_ASSERT(ronde_platform_link(platform, thin)->is_fatpipe);
    ronde_platform_destroy(platform);
}

static void rank_hosts_orders_and_selects(void)
{
    static const char text[] =
        "<platform version=\"4\"><cluster id=\"x\" prefix=\"h\" suffix=\"\" radical=\"0-3\" "
        "speed=\"1\" bw=\"1GBps\" lat=\"0\">"
        "<prop id=\"ronde.rank_hosts\" value=\"h3, h1 h0\"/></cluster></platform>";
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_good(text);
    if (!platform)
        return;
    CU_ASSERT_EQUAL(ronde_platform_facts(platform)->hosts, 3);
    CU_ASSERT_STRING_EQUAL(ronde_platform_host(platform, 0), "h3");
    CU_ASSERT_STRING_EQUAL(ronde_platform_host(platform, 1), "h1");
    CU_ASSERT_STRING_EQUAL(ronde_platform_host(platform, 2), "h0");
    CU_ASSERT_PTR_NULL(ronde_platform_host(platform, 3));
    ronde_platform_destroy(platform);
}

/* Three hosts, one connected pair: whatever touches the third is refused with both names. */
static void a_pair_without_route_is_named(void)
{
    static const char text[] =
        "<platform version=\"4.1\"><zone id=\"w\" routing=\"%s\">"
        "<host id=\"h0\" speed=\"1Gf\"/><host id=\"h1\" speed=\"1Gf\"/><host id=\"h2\" "
        "speed=\"1Gf\"/>"
        "<link id=\"l\" bandwidth=\"1GBps\" latency=\"0s\"/>"
        "<route src=\"h0\" dst=\"h1\"><link_ctn id=\"l\"/></route></zone></platform>";
    static const char *const routings[] = {"Full", "Dijkstra"};
    if (!suite_can_read_platforms())
        return;
    for (size_t i = 0; i < 2; i++) {
        char whole[600];
        char said[512];
        struct ronde_network network;
        bool is_uniform;
        struct ronde_error error = {0};
        snprintf(whole, sizeof whole, text, routings[i]);
        struct ronde_platform *platform = platform_text_good(whole);
        if (!platform)
            return;
        platform_text_route(platform, 0, 1, said, sizeof said);
        CU_ASSERT_STRING_EQUAL(said, "l");
        platform_text_route(platform, 2, 1, said, sizeof said);
        CU_ASSERT_PTR_NOT_NULL(strstr(said, "no route from h2 to h1"));
        CU_ASSERT_EQUAL(ronde_platform_network(platform, 3, 0, &network, &is_uniform, &error),
                        RONDE_BAD_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "no route from h0 to h2"));
        ronde_platform_destroy(platform);
    }
}

/* Two ways of two links round a square: SimGrid takes one of them, and a guess could be the other. */
static void equally_short_routes_are_left_to_simgrid(void)
{
    static const char text[] =
        "<platform version=\"4.1\"><zone id=\"w\" routing=\"Dijkstra\">"
        "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/><router id=\"r\"/><router "
        "id=\"s\"/>"
        "<link id=\"l\" bandwidth=\"1GBps\" latency=\"0s\"/>"
        "<route src=\"a\" dst=\"r\"><link_ctn id=\"l\"/></route>"
        "<route src=\"a\" dst=\"s\"><link_ctn id=\"l\"/></route>"
        "<route src=\"r\" dst=\"b\"><link_ctn id=\"l\"/></route>"
        "<route src=\"s\" dst=\"b\"><link_ctn id=\"l\"/></route></zone></platform>";
    uint32_t count;
    struct ronde_error error = {0};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_good(text);
    if (!platform)
        return;
    CU_ASSERT_EQUAL(ronde_platform_route(platform, 0, 1, 0, NULL, &count, &error),
                    RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "two equally short routes lead from a to b"));
    ronde_platform_destroy(platform);
}

static void other_topologies_are_left_to_simgrid(void)
{
    static const char text[] =
        "<platform version=\"4.1\"><cluster id=\"x\" prefix=\"h\" suffix=\"\" radical=\"0-15\" "
        "speed=\"1Gf\" bw=\"1GBps\" lat=\"0s\" topology=\"FAT_TREE\" "
        "topo_parameters=\"2;4,4;1,2;1,2\"/></platform>";
    uint32_t count;
    struct ronde_error error = {0};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_good(text);
    if (!platform)
        return;
    CU_ASSERT_EQUAL(ronde_platform_facts(platform)->hosts, 16);
    CU_ASSERT_EQUAL(ronde_platform_route(platform, 0, 1, 0, NULL, &count, &error),
                    RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "only SimGrid routes FAT_TREE zones such as x"));
    ronde_platform_destroy(platform);
}

/* The library of machines as flat networks. */
static void library_files_are_what_they_say(void)
{
    struct ronde_network network;
    bool is_uniform = false;
    struct ronde_error error = {0};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *crossbar = platform_text_open("topologies/crossbar-64.xml");
    struct ronde_platform *tree = platform_text_open("topologies/fat-tree-2to1-64.xml");
    if (crossbar && tree) {
        CU_ASSERT_EQUAL(ronde_platform_network(crossbar, 64, 0, &network, &is_uniform, &error),
                        RONDE_OK);
        CU_ASSERT_EQUAL(network.port_GBps, 50);
        CU_ASSERT_EQUAL(network.latency_ns, 1000);
        CU_ASSERT(is_uniform);
        CU_ASSERT_EQUAL(ronde_platform_network(tree, 64, 0, &network, &is_uniform, &error),
                        RONDE_OK);
        CU_ASSERT_EQUAL(network.port_GBps, 50);
        CU_ASSERT_EQUAL(network.latency_ns, 1260);
        CU_ASSERT_FALSE(is_uniform);
        CU_ASSERT_EQUAL(ronde_platform_network(tree, 8, 0, &network, &is_uniform, &error), RONDE_OK);
        CU_ASSERT(is_uniform);
        CU_ASSERT_EQUAL(ronde_platform_network(tree, 65, 0, &network, &is_uniform, &error),
                        RONDE_BAD_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "65 ranks, but it has 64 hosts"));
    }
    ronde_platform_destroy(crossbar);
    ronde_platform_destroy(tree);
}

static void read_file(const char *path, void *context)
{
    struct ronde_platform *platform = NULL;
    struct ronde_error error = {0};
    (void)context;
    const enum ronde_status status =
        ronde_platform_read(path, ronde_mem_default(), &platform, &error);
    CU_ASSERT_EQUAL(status, RONDE_OK);
    if (status != RONDE_OK)
        suite_note("%s", error.message);
    ronde_platform_destroy(platform);
}

/* What was calibrated for the results is read by the ronde that stands beside them. */
static void files_of_results_are_read(void)
{
    if (suite_can_read_platforms())
        CU_ASSERT(files_walk("docs/results", ".xml", read_file, NULL) > 0);
}

static const struct ronde_calibration calibration = {
    .time = {.alpha_ns = 1.0 / 3,
             .step_ns = 100.1,
             .launch_ns = 12345.678,
             .gamma_GBps = 3.7,
             .copy_GBps = 5.0 / 7,
             .lane_GBps = 8.9},
    .shared = {.memory_GBps = 17.0 / 3, .cores = 2, .core_step_ns = 41.7},
    .latency_ns = 77.7,
    .max_ranks = 8,
    .slot_bytes = 65536,
    .worst_spread = 0.034,
    .machine = "Processor \"X\" <2 cores> & more\n",
    .measured_by = "ronde calibrate 0.1",
    .measured_on = "2026-11-21",
};

/* Writes a calibration into a string. */
static enum ronde_status write_text(const struct ronde_calibration *what, char *text, size_t bytes,
                                    struct ronde_error *error)
{
    FILE *file = tmpfile();
    CU_ASSERT_PTR_NOT_NULL(file);
    if (!file)
        return RONDE_IO;
    const enum ronde_status status = ronde_platform_write(what, file, error);
    rewind(file);
    text[fread(text, 1, bytes - 1, file)] = '\0';
    fclose(file);
    return status;
}

static void written_calibration_reads_back_to_the_last_bit(void)
{
    char text[8192];
    char links[256];
    struct ronde_error error = {0};
    if (!suite_can_read_platforms())
        return;
    CU_ASSERT_EQUAL(write_text(&calibration, text, sizeof text, &error), RONDE_OK);
    struct ronde_platform *platform = platform_text_good(text);
    if (!platform)
        return;
    const struct ronde_platform_facts *facts = ronde_platform_facts(platform);
    CU_ASSERT_EQUAL(memcmp(&facts->time, &calibration.time, sizeof facts->time), 0);
    CU_ASSERT_EQUAL(facts->shared.memory_GBps, calibration.shared.memory_GBps);
    CU_ASSERT_EQUAL(facts->shared.core_step_ns, calibration.shared.core_step_ns);
    CU_ASSERT_EQUAL(facts->shared.cores, 2);
    CU_ASSERT_EQUAL(facts->hosts, 8);
    CU_ASSERT_EQUAL(facts->slot_bytes, 65536);
    CU_ASSERT_STRING_EQUAL(facts->measured_by, "ronde calibrate 0.1");
    CU_ASSERT_STRING_EQUAL(ronde_platform_link(platform, facts->memory_link)->name,
                           "memory_backbone");
    platform_text_route(platform, 0, 7, links, sizeof links);
    CU_ASSERT_STRING_EQUAL(links, "memory_link_0_UP memory_backbone memory_link_7_DOWN");
    ronde_platform_destroy(platform);
}

static void write_refuses_numbers_that_are_none(void)
{
    char text[64];
    struct ronde_calibration bad = calibration;
    struct ronde_error error = {0};
    bad.time.copy_GBps = NAN;
    CU_ASSERT_EQUAL(write_text(&bad, text, sizeof text, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "copy_GBps is"));
    bad = calibration;
    bad.shared.memory_GBps = -1;
    CU_ASSERT_EQUAL(write_text(&bad, text, sizeof text, NULL), RONDE_BAD_ARGUMENT);
    bad = calibration;
    bad.max_ranks = 0;
    CU_ASSERT_EQUAL(write_text(&bad, text, sizeof text, NULL), RONDE_BAD_ARGUMENT);
    bad = calibration;
    bad.time.lane_GBps = 0;
    bad.shared.memory_GBps = 0;
    CU_ASSERT_EQUAL(write_text(&bad, text, sizeof text, NULL), RONDE_BAD_ARGUMENT);
    CU_ASSERT_EQUAL(strlen(text), 0);
}

/* What is longer than a reader keeps would come back as something else. */
static void write_refuses_a_name_that_would_be_cut(void)
{
    char text[8192];
    char name[sizeof((struct ronde_platform_facts *)0)->measured_by + 1];
    struct ronde_calibration named = calibration;
    struct ronde_error error = {0};
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    named.measured_by = name;
    CU_ASSERT_EQUAL(write_text(&named, text, sizeof text, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "measured_by has"));
    name[sizeof name - 2] = '\0';
    CU_ASSERT_EQUAL(write_text(&named, text, sizeof text, NULL), RONDE_OK);
}

/* Eight ranks on two cores: a core serves four in turn, the memory all eight. */
static void shared_host_gives_fair_shares(void)
{
    char text[8192];
    struct ronde_network network;
    bool is_uniform = true;
    struct ronde_calibration machine = calibration;
    if (!suite_can_read_platforms())
        return;
    machine.time.copy_GBps = 10;
    machine.time.gamma_GBps = 6;
    machine.time.step_ns = 100;
    machine.shared = (struct ronde_shared_host){16, 2, 40};
    CU_ASSERT_EQUAL(write_text(&machine, text, sizeof text, NULL), RONDE_OK);
    struct ronde_platform *platform = platform_text_good(text);
    if (!platform)
        return;
    CU_ASSERT_EQUAL(ronde_platform_network(platform, 8, 0, &network, &is_uniform, NULL), RONDE_OK);
    CU_ASSERT_FALSE(is_uniform);
    CU_ASSERT_DOUBLE_EQUAL(network.time.step_ns, 60 + 40 * 4, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(network.time.copy_GBps, 16.0 / (2 * 8), 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(network.time.gamma_GBps, 16.0 / (3 * 8), 1e-12);
    CU_ASSERT_EQUAL(network.time.lane_GBps, 0);
    CU_ASSERT_EQUAL(network.port_GBps, 0);
    CU_ASSERT_EQUAL(network.latency_ns, 77.7);
    CU_ASSERT_EQUAL(ronde_platform_network(platform, 1, 0, &network, &is_uniform, NULL), RONDE_OK);
    CU_ASSERT(is_uniform);
    CU_ASSERT_EQUAL(network.time.step_ns, 100);
    CU_ASSERT_DOUBLE_EQUAL(network.time.copy_GBps, 8, 1e-12);
    ronde_platform_destroy(platform);
}

/* What SimGrid's own examples have beside the network is taken, and counted for who asks. */
static void what_moves_no_message_is_counted(void)
{
    static const char text[] =
        "<platform version=\"4.1\"><config id=\"General\">"
        "<prop id=\"precision/timing\" value=\"1e-9\"/></config>"
        "<zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"2Gf,1Gf\" pstate=\"1\"/>"
        "<host id=\"b\" speed=\"1Gf\"><disk id=\"d\" read_bw=\"100MBps\" write_bw=\"40MBps\"/>"
        "</host></zone></platform>";
    struct ronde_platform *platform = NULL;
    struct ronde_error error = {0};
    if (!suite_can_read_platforms())
        return;
    CU_ASSERT_EQUAL_FATAL(ronde_platform_parse("p", text, sizeof text - 1, ronde_mem_default(),
                                               &platform, &error),
                          RONDE_OK);
    const struct ronde_platform_counts counts = ronde_platform_count(platform);
    CU_ASSERT(counts.configs == 1 && counts.disks == 1 && counts.pstates == 1);
    CU_ASSERT_EQUAL(counts.hosts, 2);
    ronde_platform_destroy(platform);
}

static void units_are_simgrids(void)
{
    static const struct {
        const char *text;
        double GBps;
    } rates[] = {{"50GBps", 50},       {"400Gbps", 50}, {"1e9", 1},
                 {"1000000Bps", 1e-3}, {"8kbps", 1e-6}, {"1MiBps", 1048576e-9},
                 {"1.5TBps", 1500},    {"1EBps", 1e9},  {"8Kibps", 1024e-9}};
    static const struct {
        const char *text;
        double ns;
    } times[] = {{"0", 0},        {"1us", 1000},   {"2.5ms", 2.5e6}, {"1s", 1e9},
                 {"3", 3e9},      {"500ps", 0.5},  {"1m", 60e9},     {"1h", 3600e9},
                 {"1d", 86400e9}, {"1w", 604800e9}};
    static const char *const bad[] = {"",       "GBps",   "1GB",   "1 GBps", "1KBps", "1kiBps",
                                      "0x1Bps", "infBps", "1e999", "1xBps",  "1GBpss"};
    double value;
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        CU_ASSERT(ronde_parse_bandwidth(rates[i].text, &value));
        CU_ASSERT_DOUBLE_EQUAL(value, rates[i].GBps, rates[i].GBps * 1e-15);
    }
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        CU_ASSERT(ronde_parse_time(times[i].text, &value));
        CU_ASSERT_DOUBLE_EQUAL(value, times[i].ns, times[i].ns * 1e-15);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_FALSE(ronde_parse_bandwidth(bad[i], &value));
    CU_ASSERT_FALSE(ronde_parse_time("1min", &value));
    CU_ASSERT(ronde_parse_speeds("1Gf, 2megaflops,3"));
    CU_ASSERT_FALSE(ronde_parse_speeds("1Gf,"));
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"routes_are_those_of_simgrid", routes_are_those_of_simgrid},
        {"read_keeps_facts_units_and_order", read_keeps_facts_units_and_order},
        {"rank_hosts_orders_and_selects", rank_hosts_orders_and_selects},
        {"a_pair_without_route_is_named", a_pair_without_route_is_named},
        {"equally_short_routes_are_left_to_simgrid", equally_short_routes_are_left_to_simgrid},
        {"other_topologies_are_left_to_simgrid", other_topologies_are_left_to_simgrid},
        {"library_files_are_what_they_say", library_files_are_what_they_say},
        {"files_of_results_are_read", files_of_results_are_read},
        {"written_calibration_reads_back_to_the_last_bit",
         written_calibration_reads_back_to_the_last_bit},
        {"write_refuses_numbers_that_are_none", write_refuses_numbers_that_are_none},
        {"write_refuses_a_name_that_would_be_cut", write_refuses_a_name_that_would_be_cut},
        {"shared_host_gives_fair_shares", shared_host_gives_fair_shares},
        {"what_moves_no_message_is_counted", what_moves_no_message_is_counted},
        {"units_are_simgrids", units_are_simgrids},
    };
    return suite_run("platform", cases, sizeof cases / sizeof cases[0]);
}
