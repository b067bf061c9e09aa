/*
 * `ronde sim` as a user meets it: explanations, pictures, scenarios, SimGrid's options, and input that is refused in
 * one line by every engine. Figures come from the crossbar, where they can be worked out by hand.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/record.h"
#include "support/said.h"
#include "support/suite.h"

#include "ronde/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MACHINE RONDE_SCRATCH_DIR "/machine.xml"
#define LARGE RONDE_SCRATCH_DIR "/crossbar-8192.xml"
#define FILED RONDE_SCRATCH_DIR "/filed.ronde"
/* Four ranks; see docs/guide/plugin.md. */
#define GIVEN RONDE_SOURCE_DIR "/docs/examples/two_nodes.ronde"
/* 4 MB on 16 ranks of 50 GB/s ports. */
#define TORUS "sim all_reduce -a ring -N 16 --topo torus-8x8 -b 4M -e 4M "
#define RING "sim all_reduce -a ring -N 16 --topo crossbar-64 -b 4M -e 4M "

/* Runs `ronde ARGUMENTS`; stdout, or stderr where asked for. Free the text. */
static char *run(const char *arguments, bool keeps_errors, int *out_code)
{
    char command[2048], *text = NULL;
    const int length = snprintf(command, sizeof command, "\"%s\" %s %s", suite_ronde(), arguments,
                                keeps_errors ? "2>&1 >/dev/null" : "2>/dev/null");
    CU_ASSERT_FATAL(length > 0 && (size_t)length < sizeof command);
    *out_code = files_command(command, &text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    return text;
}

static void expect(const char *arguments, const char *part)
{
    said_prints(arguments, 0, part);
}

/* The number behind a key of the one JSON record a command prints; NAN without it. */
static double number_of(const char *arguments, const char *key)
{
    char command[2048];
    int code = -1;
    snprintf(command, sizeof command, "%s --json", arguments);
    char *text = run(command, false, &code);
    const char *at = record_value(text, key);
    const double number = code == 0 && at ? strtod(at, NULL) : NAN;
    if (!isfinite(number))
        suite_note("ronde %s: exit %d, %.300s", command, code, text);
    free(text);
    return number;
}

static void expect_number(const char *arguments, const char *key, double expected)
{
    const double found = number_of(arguments, key);
    const bool is_right = fabs(found - expected) <= 1e-9 * fabs(expected);
    CU_ASSERT(is_right);
    if (!is_right)
        suite_note("%s: %s is %.12g, expected %.12g", arguments, key, found, expected);
}

/* 30 messages of 256 KiB at 50 GB/s: what is not bandwidth is latency. */
static void why_says_what_the_time_is_made_of(void)
{
    if (!suite_has_components())
        return;
    const double bandwidth_ns = 30 * 262144 / 50.0;
    const double time_ns = number_of(RING, "time_ns");
    expect(RING "--why", "#   bottleneck     bandwidth, 84% of the critical path");
    expect(RING "--why", "#   busiest links  hosts_link_0_UP 84%");
    expect_number(RING "--why --engine flat", "bandwidth_fraction", bandwidth_ns / time_ns);
    expect_number(RING "--why --engine simgrid", "bandwidth_fraction", bandwidth_ns / time_ns);
    expect_number(RING "--why --engine simgrid", "latency_fraction", 1 - bandwidth_ns / time_ns);
    expect_number(RING "--why", "path_messages", 30);
    expect_number(RING "--why", "busiest_utilisation", bandwidth_ns / time_ns);
    expect(RING "--why --csv", "share_wait_fraction");
    /* A line has 100 characters; what is longer goes on below its beginning, and no item is broken in two. */
    expect(RING "--why",
           "_DOWN 84% hosts_link_1_UP 84%\n#                  hosts_link_1_DOWN 84% ");
    expect("sim all_reduce -a direct_one_step -N 2 --topo crossbar-64 -b 8 -e 8 --why",
           ": 1 message\n");
}

#define CHAIN "sim broadcast -a chain -N 16 --topo crossbar-64 -b 64M -e 64M "

/* A port at half its rate: its messages take twice as long, and every chunk comes by. */
static void a_degraded_link_slows_the_ring(void)
{
    if (!suite_has_components())
        return;
    static const char *const engines[] = {"flat", "simgrid", "auto"};
    const double time_ns = number_of(RING, "time_ns");
    for (size_t e = 0; e < 3; e++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments, RING "--degrade hosts_link_3_UP=0.5 --engine %s",
                 engines[e]);
        expect_number(arguments, "alone_ns", time_ns);
        /* The slow port sends 30 messages back to back; the last one still has a latency to go. */
        expect_number(arguments, "time_ns",
                      2 * 30 * 262144 / 50.0 + (time_ns - 30 * 262144 / 50.0) / 30);
    }
    said_refuses(RING "--degrade hosts_lnk_3=0.5", 2, "did you mean");
    said_refuses(RING "--degrade hosts_link_3=0", 2, "no way is left from h2 to h3");
    said_refuses(RING "--degrade hosts_link_3", 2, "LINK=FACTOR");
    said_refuses(RING "--degrade hosts_link_3=-1", 2, "factor");
    said_refuses(RING "--degrade hosts_link_3=1e-320", 2,
                 "--degrade: factor \"1e-320\" is not 0 or a number from 1e-06 to 1000");
    /* Numbers as in the statements of a scenario. */
    said_refuses(RING "--degrade hosts_link_3=0x1p-1", 2, "factor \"0x1p-1\" is not 0 or a number");
    said_refuses(RING "--straggler rank=1,delay=1e308s", 2, "is more than 1e+09s");
}

static void a_late_rank_delays_by_its_delay(void)
{
    if (!suite_has_components())
        return;
    /* A pipeline is cut beside a scenario as without one. */
    expect_number(CHAIN "--straggler rank=1,delay=0ns", "time_ns", number_of(CHAIN, "time_ns"));
    const double time_ns = number_of(RING, "time_ns");
    expect_number(RING "--straggler rank=7,delay=2ms", "time_ns", 2e6 + time_ns);
    expect_number(RING "--straggler rank=7,delay=2ms --engine simgrid", "time_ns", 2e6 + time_ns);
    expect_number(RING "--straggler delay=2ms,rank=7 --why", "late_wait_fraction",
                  2e6 / (2e6 + time_ns));
    said_refuses(RING "--straggler rank=16,delay=2ms", 2, "rank 16 of 16");
    said_refuses(RING "--straggler rank=1,delay=2", 2, "ns, us, ms or s");
    said_refuses(RING "--straggler rank=1", 2, "--straggler: \"rank=1\" is not rank=R,delay=TIME");
    said_refuses(RING "--straggler rank=1,dely=2ms", 2, "dely=2ms");
    said_refuses(RING "--straggler rank=1,slow=0", 2, "slow");
}

/* Twice the same ring on the same hosts: each gets half, and takes twice its bandwidth. */
/* 134 million steps are no graph: one collective goes on the quotient, several are refused. */
static void scenarios_beyond_a_graph_run_without_one(void)
{
    static const char many[] = "sim all_reduce -a ring -N 8192 -b 64M -e 64M --topo " LARGE " ";
    char arguments[512];
    int code = -1;
    if (!suite_has_components())
        return;
    free(run("topo generate crossbar --nodes 8192 -o " LARGE, false, &code));
    CU_ASSERT_EQUAL(code, 0);
    const double time_ns = number_of(many, "time_ns");
    snprintf(arguments, sizeof arguments, "%s--straggler rank=7,delay=2ms", many);
    expect_number(arguments, "alone_ns", time_ns);
    expect_number(arguments, "slowdown", (time_ns + 2e6) / time_ns);
    snprintf(arguments, sizeof arguments, "%s--with broadcast:chain:1M", many);
    said_refuses(arguments, 2, "use larger pieces");
    snprintf(arguments, sizeof arguments, "%s--straggler rank=7,slow=2", many);
    said_refuses(arguments, 2, "use larger pieces");
}

/* Ranks that are all alike cost no more than one of them: ports of 50 GB/s, 1 us away. */
static void crossbars_of_any_size_are_replayed_as_one_host(void)
{
    int code = -1;
    if (!suite_has_components())
        return;
    free(run("topo generate crossbar --nodes 131072 -o " LARGE, false, &code));
    CU_ASSERT_EQUAL(code, 0);
    expect_number("sim all_to_all -a pairwise -N 16384 -b 1G -e 1G --topo " LARGE, "time_ns",
                  16383 * (1000 + 65536 / 50.0));
    expect_number("sim all_reduce -a ring -N 131072 -b 1G -e 1G --topo " LARGE, "time_ns",
                  2 * 131071 * (1000 + 8192 / 50.0));
}

/* Ranks of pods that do the same are replayed once, though links are shared. */
static void pods_of_many_ranks_are_folded(void)
{
    static const char rails[] = RONDE_SCRATCH_DIR "/rail-large.xml";
    char arguments[512];
    int code = -1;
    if (!suite_has_components())
        return;
    snprintf(arguments, sizeof arguments, "topo generate rail --nodes 512 -o %s", rails);
    free(run(arguments, false, &code));
    snprintf(arguments, sizeof arguments,
             "sim all_to_all -a pairwise -N 4096 -b 1M -e 1M --json --topo %s", rails);
    expect(arguments, "\"symmetric\"");
    expect(arguments, "\"maxmin\"");
}

/* What shares links and is too large for any engine is refused at once, and not sent from one engine to the other. */
static void what_no_engine_can_do_is_refused_once(void)
{
    static const char torus[] = RONDE_SCRATCH_DIR "/torus-large.xml";
    char arguments[512];
    int code = -1;
    if (!suite_has_components())
        return;
    snprintf(arguments, sizeof arguments, "topo generate torus --shape 16x32x32 -o %s", torus);
    free(run(arguments, false, &code));
    CU_ASSERT_EQUAL(code, 0);
    snprintf(arguments, sizeof arguments,
             "sim all_to_all -a pairwise -N 16384 -b 1G -e 1G --topo %s", torus);
    said_refuses(arguments, 2, "no engine replays more than 40000000 of them");
    char *text = run(arguments, true, &code);
    CU_ASSERT_PTR_NULL(strstr(text, "--engine"));
    free(text);
}

static void two_collectives_share_their_links(void)
{
    if (!suite_has_components())
        return;
    const double time_ns = number_of(RING, "time_ns");
    const double bandwidth_ns = 30 * 262144 / 50.0;
    expect_number(RING "--with all_reduce:ring:4M", "time_ns", time_ns + bandwidth_ns);
    expect_number(RING "--with all_reduce:ring:4M:0-15", "time_ns", time_ns + bandwidth_ns);
    expect_number(RING "--with all_reduce:ring:4M:16-31", "slowdown", 1);
    expect_number(RING "--with broadcast:chain:1M:20,22,21 --engine flat", "slowdown", 1);
    expect(RING "--with all_reduce:ring:4M:16-31", "all_reduce ring 4M on 16 ranks: alone");
    said_refuses(RING "--with all_reduce:ring", 2, "COLLECTIVE:ALGORITHM:SIZE");
    said_refuses(RING "--with all_reduce:rng:4M", 2, "did you mean ring?");
    said_refuses(RING "--with all_reduce:ring:4M:60-70", 2, "host 64");
    said_refuses(RING "--with all_reduce:ring:4M:7-3", 2, "none or too many");
    said_refuses(RING "--with all_reduce:ring:4Q", 2, "size");
    said_refuses(RING "--with all_reduce:ring:4M --engine extrapolate", 2, "extrapolate");
}

/* A schedule from a file takes part like one of ours: between hosts of its own nothing is shared. */
static void given_schedules_are_companions_too(void)
{
    if (!suite_has_components())
        return;
    expect(RING "--with " GIVEN ":1M:16-19", "all_reduce two_nodes 1M on 4 ranks: alone");
    expect_number(RING "--with " GIVEN ":1M:16-19", "slowdown", 1);
    CU_ASSERT(number_of(RING "--with " GIVEN ":64M:0-3", "slowdown") > 1.1);
    said_refuses(RING "--with " GIVEN ":1M", 2, "for 4 ranks, not for 16: name its hosts");
    said_refuses(RING "--with no/such.ronde:1M", 2, "no/such.ronde: cannot be read");
    said_refuses(RING "--with " GIVEN, 2, "--with: ");
}

/* A flow out of host 0 leaves its port half to the ring as long as the ring lasts, which then waits for it. */
static void background_flows_last_as_long_as_the_run(void)
{
    if (!suite_has_components())
        return;
    const double time_ns = number_of(RING, "time_ns");
    const double slowed_ns = number_of(RING "--background '0>40:64K'", "time_ns");
    /* 30 messages through a port that is half taken, of which the last pays its latency. */
    CU_ASSERT(slowed_ns > 2 * 30 * 262144 / 50.0);
    CU_ASSERT(slowed_ns < 2 * 30 * 262144 / 50.0 + time_ns - 30 * 262144 / 50.0);
    expect(RING "--background '0>40:64K'", "background 0>40 64K, ");
    said_refuses(RING "--background '0>0:64K'", 2, "two hosts");
    said_refuses(RING "--background '0>1:0'", 2, "at least one byte");
    said_refuses(RING "--background '0>64:1M'", 2, "64 hosts");
    said_refuses(RING "--background '0-1:1M'", 2, "S>D:SIZE");
    said_refuses(RING "--background '0>1:1'", 2, "make them larger");
}

static void scenario_files_say_where_they_are_wrong(void)
{
    char path[512], arguments[1024];
    if (!suite_has_components())
        return;
    snprintf(path, sizeof path, "%s/scenario.txt", RONDE_SCRATCH_DIR);
    snprintf(arguments, sizeof arguments, RING "--scenario %s", path);
    CU_ASSERT(files_write(path, "# late\nstraggler rank=7,delay=2ms  # by a page fault\n\n"
                                "with broadcast:chain:1M:20-23\n"));
    expect_number(arguments, "time_ns", 2e6 + number_of(RING, "time_ns"));
    /* A link that is out: the same machine by an option and by a statement. */
    snprintf(arguments, sizeof arguments, TORUS "--scenario %s", path);
    CU_ASSERT(files_write(path, "degrade chips_link_from_0_to_1=0\n"));
    expect_number(arguments, "time_ns",
                  number_of(TORUS "--degrade chips_link_from_0_to_1=0", "time_ns"));
    CU_ASSERT(number_of(arguments, "time_ns") > 1.01 * number_of(TORUS, "time_ns"));
    snprintf(arguments, sizeof arguments, RING "--scenario %s", path);
    CU_ASSERT(files_write(path, "degrade hosts_link_3=0.5\nwhit all_reduce:ring:4M\n"));
    said_refuses(arguments, 2, "scenario.txt:2: unknown statement \"whit\"; did you mean with");
    CU_ASSERT(files_write(path, "\n\nbackground 0 > 1:1M\n"));
    said_refuses(arguments, 2, "scenario.txt:3: \"background\" takes one value");
    CU_ASSERT(files_write(path, "straggler\n"));
    said_refuses(arguments, 2, "scenario.txt:1:");
    CU_ASSERT(files_write(path, ""));
    expect(arguments, "flat");
    remove(path);
    said_refuses(arguments, 2, "No such file");
}

/* The file has the promised beginning and end; what is inside is for unit tests. */
static void pictures_are_written(void)
{
    char path[512], arguments[1024];
    if (!suite_has_components())
        return;
    snprintf(path, sizeof path, "%s/sim.svg", RONDE_SCRATCH_DIR);
    snprintf(arguments, sizeof arguments,
             RING "--timeline %s --with broadcast:chain:16M:0-3 --background '0>9:1M'", path);
    expect(arguments, "scenario");
    char *svg = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(svg);
    CU_ASSERT(strncmp(svg, "<svg ", 5) == 0);
    CU_ASSERT(strcmp(svg + strlen(svg) - 7, "</svg>\n") == 0);
    CU_ASSERT(strstr(svg, "background 0&gt;9 1M") != NULL);
    CU_ASSERT(strstr(svg, "critical path") != NULL);
    free(svg);
    remove(path);
    snprintf(arguments, sizeof arguments,
             "sim all_reduce -a ring -N 64 --topo crossbar-64 --trace %s -b 1M -e 4M", path);
    expect(arguments, "4194304");
    char *trace = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
    CU_ASSERT(strncmp(trace, "{\"displayTimeUnit\":\"ns\"", 23) == 0);
    free(trace);
    remove(path);
    said_refuses(RING "--trace /nowhere/x.json", 2, "/nowhere/x.json");
    said_refuses(RING "--timeline /nowhere/x.svg", 2, "/nowhere/x.svg");
}

/* 2(N - 1) messages of 64 KiB with a window of steps that only SimGrid's TCP model prices so. */
static void simgrids_options_reach_it_and_are_labelled(void)
{
    if (!suite_has_components())
        return;
    const double exact_ns = number_of(RING "--engine simgrid", "time_ns");
    const double tcp_ns = number_of(RING "--cfg network/model:LV08 --native-latency", "time_ns");
    /* The calibrated model multiplies latencies by 13.01 and rates by 0.97. */
    CU_ASSERT(tcp_ns > 2 * exact_ns);
    expect(RING "--cfg network/model:LV08 --native-latency", "tcp_model");
    expect_number(RING "--native-latency", "time_ns", exact_ns);
    expect_number(RING "--cfg network/model:CM02", "time_ns", exact_ns);
    said_refuses(RING "--cfg network/model:nosuch", 4, "SimGrid died of signal");
    said_refuses(RING "--cfg no/such:flag", 2, "no/such");
    said_refuses(RING "--cfg nonsense", 2, "--cfg: \"nonsense\" is not KEY:VALUE");
    said_refuses(RING "--cfg network/model:LV08 --engine flat", 2, "--engine flat");
    said_refuses(RING "--native-latency --engine flat_fifo", 2, "--engine flat_fifo");
}

/* Here the order of ranks cannot be laid through the machine, which is no reason of what fails afterwards. */
static void what_simgrid_refuses_is_said_as_it_says_it(void)
{
    static const char text[] =
        "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        "<platform version=\"4.1\"><cluster id=\"c\" prefix=\"h\" suffix=\"\" radical=\"0-63\" "
        "speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\" topology=\"FAT_TREE\" "
        "topo_parameters=\"3;8,8;1,1;1,1\"/></platform>\n";
    if (!suite_has_simgrid() || !suite_can_read_platforms())
        return;
    CU_ASSERT(files_write(MACHINE, text));
    said_expect("sim all_reduce -a ring -N 8 -b 1M -e 1M --topo " MACHINE, 2,
                "You specified 3 levels but the child count vector");
}

/* A replay that takes longer than it may is given up, and the command says so. */
/* A machine of which only the memory is known: 2 ranks that move 16 times half of the block in all keep it busy. */
static void a_shared_memory_alone_takes_its_time(void)
{
    static const char text[] =
        "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        "<platform version=\"4.1\"><zone id=\"m\" routing=\"Full\">"
        "<prop id=\"ronde.memory_GBps\" value=\"50\"/><prop id=\"ronde.cores\" value=\"2\"/>"
        "<cluster id=\"memory\" prefix=\"r\" suffix=\"\" radical=\"0-1\" speed=\"1Gf\" "
        "bw=\"50GBps\" "
        "lat=\"0ns\" bb_bw=\"50GBps\" bb_lat=\"0s\" "
        "bb_sharing_policy=\"SHARED\"/></zone></platform>\n";
    if (!suite_has_components())
        return;
    CU_ASSERT(files_write(MACHINE, text));
    expect_number("sim all_reduce -a ring -N 2 -b 1M -e 1M --topo " MACHINE, "time_ns",
                  16 * 524288 / 50.0);
}

/* A file that asks for the TCP model gives what the flags give, in SimGrid only. */
static void a_platform_may_ask_for_the_tcp_model(void)
{
    static const char by_flags[] = "sim all_reduce -a ring -N 8 -b 1M -e 1M --topo ethernet-16 "
                                   "--native-latency --cfg network/model:LV08 "
                                   "--cfg network/crosstraffic:1 --cfg network/TCP-gamma:4194304";
    static const char by_file[] = "sim all_reduce -a ring -N 8 -b 1M -e 1M --topo " MACHINE " ";
    char path[1024];
    if (!suite_has_components() || !suite_source(path, sizeof path, "topologies/ethernet-16.xml"))
        return;
    char *text = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    char *end = strstr(text, "<prop");
    CU_ASSERT_PTR_NOT_NULL_FATAL(end);
    char *changed = malloc(strlen(text) + 200);
    CU_ASSERT_PTR_NOT_NULL_FATAL(changed);
    sprintf(changed, "%.*s<prop id=\"ronde.network_model\" value=\"LV08\"/>\n%s", (int)(end - text),
            text, end);
    CU_ASSERT(files_write(MACHINE, changed));
    expect_number(by_file, "time_ns", number_of(by_flags, "time_ns"));
    expect(by_file, "tcp_model");
    said_refuses("sim all_reduce -a ring -N 8 --engine flat --topo " MACHINE, 2, "TCP model");
    *strstr(changed, "LV08") = 'X';
    CU_ASSERT(files_write(MACHINE, changed));
    said_refuses(by_file, 2, "ronde.network_model is 'XV08', expected CM02 or LV08");
    free(changed);
    free(text);
}

/* SimGrid's parser takes less of XML than ours, which gives it the same document in its words. */
static void any_xml_is_replayed_by_simgrid(void)
{
    static const char *const heads[] = {"", "<?xml version='1.0'?>\n",
                                        "<?xml version='1.0' standalone='yes'?>\n",
                                        "\xef\xbb\xbf<!DOCTYPE platform SYSTEM \"simgrid.dtd\">\n"};
    static const char rest[] =
        "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">\n"
        "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>\n"
        "<link id=\"x\" bandwidth=\"1GBps\" latency=\"1us\"/>\n"
        "<route src=\"a\" dst=\"b\"><link_ctn id=\"x\"/></route></zone></platform>\n";
    if (!suite_has_components())
        return;
    for (size_t h = 0; h < sizeof heads / sizeof heads[0]; h++) {
        char text[1024];
        snprintf(text, sizeof text, "%s%s", heads[h], rest);
        CU_ASSERT(files_write(MACHINE, text));
        expect("sim send_recv -b 1M -e 1M --engine simgrid --topo " MACHINE, " 2098.2 ");
    }
}

static void time_limits_end_replays(void)
{
    if (!suite_has_components())
        return;
    said_refuses("sim all_to_all -a direct -N 64 --topo fat-tree-2to1-64 -b 64M -e 64M "
                 "--engine simgrid --timeout 0.001",
                 4, "longer than its limit of 0.001 s");
}

static void bad_platforms_are_refused_in_every_engine(void)
{
    static const struct {
        const char *file;
        const char *ranks;
        const char *part;
    } cases[] = {
        {"bad-malformed.xml", "2", "bad-malformed.xml:7"},
        {"bad-unknown-element.xml", "2", "bad-unknown-element.xml:6"},
        {"bad-zero-bandwidth.xml", "2", "bandwidth of <link> is '0'"},
        {"bad-unreachable-pair.xml", "3", "h2"},
    };
    static const char *const engines[] = {"auto", "flat", "simgrid", "flat_fifo"};
    if (!suite_has_components())
        return;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (size_t e = 0; e < sizeof engines / sizeof engines[0]; e++) {
            char path[512], relative[128], arguments[1024];
            snprintf(relative, sizeof relative, "vectors/simgrid/%s", cases[c].file);
            if (!suite_shared(path, sizeof path, relative))
                return;
            snprintf(arguments, sizeof arguments,
                     "sim all_reduce -a ring -N %s --topo %s -b 1M -e 1M --engine %s",
                     cases[c].ranks, path, engines[e]);
            said_refuses(arguments, 2, cases[c].part);
        }
}

/* Nothing to send is no error; more ranks than hosts is; a rank alone takes no time on the wire. */
static void small_and_large_requests_are_handled_in_every_engine(void)
{
    static const char *const engines[] = {"auto", "flat", "simgrid", "flat_fifo"};
    if (!suite_has_components())
        return;
    for (size_t e = 0; e < sizeof engines / sizeof engines[0]; e++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments,
                 "sim all_reduce -a ring -N 4 --topo crossbar-64 -b 0 -e 0 --why --engine %s",
                 engines[e]);
        expect(arguments, "nothing to do");
        snprintf(arguments, sizeof arguments,
                 "sim all_reduce -a ring -N 1 --topo crossbar-64 -b 1M -e 1M --why --engine %s",
                 engines[e]);
        expect(arguments, "1048576");
        snprintf(arguments, sizeof arguments,
                 "sim all_reduce -a ring -N 65 --topo crossbar-64 -b 1M -e 1M --engine %s",
                 engines[e]);
        said_refuses(arguments, 2, "64 hosts, fewer than 65 ranks");
        snprintf(arguments, sizeof arguments,
                 "sim send_recv -N 4 --pairs '0>1,1>0' --topo crossbar-64 -b 1M -e 1M --engine %s",
                 engines[e]);
        expect(arguments, "1048576");
    }
    said_refuses(RING "--engine flta", 2, "flta");
}

/* A ring of four: three rounds of sums, three of copies, four messages in each; rank r sends chunk r - round + 1. */
static void steps_show_who_sends_what(void)
{
    said_expect("sim -a ring -N 4 --steps", 0, "all_reduce ring, 4 ranks: 6 rounds");
    said_expect("sim -a ring -N 4 --steps | grep -c ' adds its own'", 0, "12");
    said_expect("sim -a ring -N 4 --steps | grep -c ' keeps it'", 0, "12");
    said_expect("sim -a ring -N 4 --steps | grep -c '^ *6 '", 0, "4");
    said_expect("sim broadcast -a chain -N 4 -r 1 --steps --csv", 0, "message,3,3,0,0,0,keeps it");
    said_refuses("sim -a ring -N 65 --steps", 2, "65 ranks");
    said_refuses("sim -a ring -N 4 --steps --topo crossbar-64", 2, "leave out --topo");
}

/* An algorithm that was converted on a machine has that machine's channels and rings, as the algorithm by name has. */
static void a_file_takes_what_its_algorithm_takes(void)
{
    static const char *const algorithms[] = {"ring", "nccl_tree", "double_tree"};
    if (!suite_has_components())
        return;
    expect("topo generate rail --nodes 2 -o " MACHINE, "");
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        char command[1024];
        snprintf(command, sizeof command, "convert all_reduce -a %s --topo " MACHINE " -o " FILED,
                 algorithms[i]);
        expect(command, "");
        snprintf(command, sizeof command, "sim all_reduce -a %s --topo " MACHINE " --bytes 64M",
                 algorithms[i]);
        expect_number("sim " FILED " --topo " MACHINE " --bytes 64M", "time_ns",
                      number_of(command, "time_ns"));
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(why_says_what_the_time_is_made_of),
        SUITE_CASE(a_degraded_link_slows_the_ring),
        SUITE_CASE(a_late_rank_delays_by_its_delay),
        SUITE_CASE(scenarios_beyond_a_graph_run_without_one),
        SUITE_CASE(crossbars_of_any_size_are_replayed_as_one_host),
        SUITE_CASE(pods_of_many_ranks_are_folded),
        SUITE_CASE(what_no_engine_can_do_is_refused_once),
        SUITE_CASE(two_collectives_share_their_links),
        SUITE_CASE(given_schedules_are_companions_too),
        SUITE_CASE(background_flows_last_as_long_as_the_run),
        SUITE_CASE(scenario_files_say_where_they_are_wrong),
        SUITE_CASE(a_file_takes_what_its_algorithm_takes),
        SUITE_CASE(steps_show_who_sends_what),
        SUITE_CASE(pictures_are_written),
        SUITE_CASE(simgrids_options_reach_it_and_are_labelled),
        SUITE_CASE(what_simgrid_refuses_is_said_as_it_says_it),
        SUITE_CASE(a_shared_memory_alone_takes_its_time),
        SUITE_CASE(a_platform_may_ask_for_the_tcp_model),
        SUITE_CASE(any_xml_is_replayed_by_simgrid),
        SUITE_CASE(time_limits_end_replays),
        SUITE_CASE(bad_platforms_are_refused_in_every_engine),
        SUITE_CASE(small_and_large_requests_are_handled_in_every_engine),
    };
    return suite_run("sim", cases, sizeof cases / sizeof cases[0]);
}
