/* `ronde topo show` and `--placement`: trees and pictures of machines of all sizes, what a bad placement costs. */
#include "support/suite.h"

#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SVG RONDE_SCRATCH_DIR "/topo-show.svg"
#define XML RONDE_SCRATCH_DIR "/topo-show.xml"
#define RING RONDE_SCRATCH_DIR "/topo-ring.ronde"

/* The same for all that it says. */
static void expect_exactly(const char *arguments, int code, const char *all)
{
    char *said = said_by_ronde(arguments, code);
    CU_ASSERT_STRING_EQUAL(said, all);
    free(said);
}

static bool generate(const char *arguments)
{
    char command[512];
    if (!suite_has_components())
        return false;
    snprintf(command, sizeof command, "topo generate %s -o \"" XML "\"", arguments);
    free(said_by_ronde(command, 0));
    return true;
}

static void expect_tree(const char *expected)
{
    char *said = said_by_ronde("topo show \"" XML "\"", 0);
    CU_ASSERT_STRING_EQUAL(said, expected);
    if (strcmp(said, expected) != 0)
        suite_note("%s", said);
    free(said);
}

static void tree_folds_equal_parts(void)
{
    if (!generate("rail --nodes 16"))
        return;
    expect_tree("rail-128: 128 hosts in 16 nodes (as the file says), 24 other places, 256 wires\n"
                "  16 x node of 8 hosts: n0g0 .. n0g7, ..., n15g0 .. n15g7\n"
                "      8 x host n0g0 .. n0g7\n"
                "            450 GB/s, 300 ns to n0s\n"
                "            50 GB/s, 1.35 us to l0 (of n0g7: l7)\n"
                "      1 x switch n0s\n"
                "            8 x 450 GB/s, 300 ns to n0g0 .. n0g7\n"
                "  8 x switch l0 .. l7\n"
                "        16 x 50 GB/s, 1.35 us to n0g0 .. n15g0\n");
}

/* Two hosts and a wire, written by hand; what has no effect is said of what is there alone. */
static void one_of_a_kind_is_named_so(void)
{
    static const char file[] =
        "<platform version=\"4.1\">\n<zone id=\"z\" routing=\"Full\">\n"
        "<host id=\"a\" speed=\"1Gf,2Gf\"/><host id=\"b\" speed=\"1Gf\"/>\n"
        "<link id=\"x\" bandwidth=\"1GBps\" latency=\"1us\"/>\n"
        "<route src=\"a\" dst=\"b\"><link_ctn id=\"x\"/></route>\n</zone>\n</platform>\n";
    if (!suite_can_read_platforms())
        return;
    CU_ASSERT(files_write(XML, file));
    said_expect("topo show \"" XML "\"", 0, "z: 2 hosts, 0 other places, 1 wire\n");
    said_expect("topo check \"" XML "\"", 0, "without effect here: hosts of several speeds (1)\n");
}

static void tree_knows_a_torus_and_what_only_simgrid_routes(void)
{
    if (!generate("torus --shape 4x3x2"))
        return;
    expect_tree("torus-4x3x2: 24 hosts, 0 other places, 60 wires, torus 2x3x4\n"
                "  24 x host c0 .. c23\n"
                "        5 x 50 GB/s, 500 ns to c1 .. c12\n");
    char path[512];
    if (!suite_shared(path, sizeof path, "vectors/simgrid/fattree-16-dmodk.xml"))
        return;
    char command[640];
    snprintf(command, sizeof command, "topo show \"%s\"", path);
    said_expect(command, 0, "1 x zone only SimGrid routes x\n");
}

/* --- pictures ------------------------------------------------------------------------------ */

/* A rectangle of the picture. */
struct rectangle {
    double x, y, width, height;
};

static double attribute(const char *tag, const char *name)
{
    char key[32];
    snprintf(key, sizeof key, " %s=\"", name);
    const char *at = strstr(tag, key);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    return strtod(at + strlen(key), NULL);
}

/* The rectangles of a class; returns how many, of which at most `limit` are kept. */
static uint32_t find_boxes(const char *svg, const char *style, struct rectangle *boxes,
                           uint32_t limit)
{
    uint32_t count = 0;
    char tag[64];
    snprintf(tag, sizeof tag, "<rect class=\"%s\"", style);
    for (const char *at = strstr(svg, tag); at; at = strstr(at + 1, tag)) {
        if (count < limit)
            boxes[count] = (struct rectangle){attribute(at, "x"), attribute(at, "y"),
                                              attribute(at, "width"), attribute(at, "height")};
        count++;
    }
    return count;
}

static bool overlap(const struct rectangle *a, const struct rectangle *b)
{
    return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height &&
           b->y < a->y + a->height;
}

static bool is_inside(const struct rectangle *inner, const struct rectangle *outer)
{
    return inner->x >= outer->x && inner->y >= outer->y &&
           inner->x + inner->width <= outer->x + outer->width &&
           inner->y + inner->height <= outer->y + outer->height;
}

/* No two boxes lie on one another, and all lie on the page. */
static void expect_tidy(const char *svg, uint32_t hosts, uint32_t switches)
{
    struct rectangle boxes[128], page = {0, 0, attribute(svg, "width"), attribute(svg, "height")};
    CU_ASSERT_EQUAL_FATAL(find_boxes(svg, "host", boxes, 128), hosts);
    CU_ASSERT_EQUAL_FATAL(find_boxes(svg, "switch", boxes + hosts, 128 - hosts), switches);
    for (uint32_t i = 0; i < hosts + switches; i++) {
        CU_ASSERT(boxes[i].width > 8 && is_inside(&boxes[i], &page));
        for (uint32_t k = 0; k < i; k++)
            CU_ASSERT_FALSE(overlap(&boxes[i], &boxes[k]));
    }
}

/* Every text begins on the page; those that are not centred do not run over its right edge. */
static void expect_texts_inside(const char *svg)
{
    const double width = attribute(svg, "width"), height = attribute(svg, "height");
    uint32_t count = 0;
    for (const char *at = strstr(svg, "<text class"); at; at = strstr(at + 1, "<text class")) {
        const char *from = strchr(at, '>') + 1;
        const double letters = (double)(strchr(from, '<') - from);
        const bool is_centred = strncmp(at + 13, "name", 4) == 0 || strncmp(at + 13, "gap", 3) == 0;
        const double reach = is_centred ? letters * 3 : letters * 6.5;
        CU_ASSERT(attribute(at, "x") >= 0 && attribute(at, "x") + reach <= width);
        CU_ASSERT(attribute(at, "y") > 0 && attribute(at, "y") <= height);
        count++;
    }
    CU_ASSERT(count > 4);
}

/* Draws what was generated; what must be said is in the picture. */
static void expect_picture(uint32_t hosts, uint32_t switches, const char *const *parts)
{
    free(said_by_ronde("topo show \"" XML "\" -o \"" SVG "\"", 0));
    char *svg = files_read(SVG);
    CU_ASSERT_PTR_NOT_NULL_FATAL(svg);
    expect_tidy(svg, hosts, switches);
    expect_texts_inside(svg);
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, "prefers-color-scheme: dark"));
    CU_ASSERT_PTR_NOT_NULL(strstr(svg, "viewBox=\"0 0 "));
    for (; *parts; parts++) {
        CU_ASSERT_PTR_NOT_NULL(strstr(svg, *parts));
        if (!strstr(svg, *parts))
            suite_note("no %s", *parts);
    }
    CU_ASSERT(strlen(svg) < 60000);
    free(svg);
}

static void pictures_are_tidy_from_one_node_to_128(void)
{
    static const char *const one[] = {">450 GB/s<", ">8 hosts in 1 node, 1 switch, 8 wires<", NULL};
    static const char *const few[] = {">450 GB/s<", ">50 GB/s<", ">node 1<", NULL};
    static const char *const some[] = {">node 15<", "\xc3\x97 13<", NULL};
    static const char *const many[] = {">node 127<", "\xc3\x97 125<", ">12800 GB/s<", NULL};
    if (!generate("rail --nodes 1"))
        return;
    expect_picture(8, 1, one);
    generate("dgx-h100 --nodes 1");
    expect_picture(8, 1, one);
    generate("rail --nodes 2");
    expect_picture(16, 10, few);
    generate("rail --nodes 16");
    expect_picture(24, 11, some);
    generate("rail --nodes 128");
    expect_picture(24, 3 + 16 + 4 + 1, many);
}

static void pictures_are_tidy_for_other_machines(void)
{
    static const char *const crossbar[] = {"\xc3\x97 48<", ">h63<", NULL};
    static const char *const torus[] = {">plane 1 of 16<", "\xc3\x97 14<", NULL};
    static const char *const any[] = {"each direction", NULL};
    if (!generate("crossbar --nodes 64"))
        return;
    expect_picture(16, 1, crossbar);
    generate("torus --shape 5x4x16");
    expect_picture(40, 0, torus);
    generate("torus --shape 40x12");
    expect_picture(64, 0, any);
    generate("mi300x");
    expect_picture(8, 0, any);
    generate("pcie");
    expect_picture(8, 2, any);
    generate("nvl72");
    expect_picture(16, 1, any);
    generate("dragonfly");
    expect_picture(24, 12, any);
}

/* The README's picture is what the command draws today; RONDE_UPDATE_GOLDEN=1 draws it anew. */
static void the_picture_of_the_readme_is_true(void)
{
    char kept[1024], machine[1024], command[2100];
    if (!suite_has_components() || !suite_source(kept, sizeof kept, "docs/dgx-h100-pod.svg") ||
        !suite_source(machine, sizeof machine, "topologies/dgx-h100-pod.xml"))
        return;
    const bool is_update = getenv("RONDE_UPDATE_GOLDEN") != NULL;
    snprintf(command, sizeof command, "topo show \"%s\" -o \"%s\"", machine, is_update ? kept : SVG);
    free(said_by_ronde(command, 0));
    char *drawn = files_read(is_update ? kept : SVG);
    char *shown = files_read(kept);
    CU_ASSERT_PTR_NOT_NULL_FATAL(drawn);
    CU_ASSERT_PTR_NOT_NULL_FATAL(shown);
    CU_ASSERT_STRING_EQUAL(drawn, shown);
    free(drawn);
    free(shown);
}

static void show_refuses_what_it_cannot_draw(void)
{
    expect_exactly("topo show", 2, "ronde: topo show: which file?\n");
    if (!suite_has_components())
        return;
    said_expect("topo show no-such-machine", 2, "no-such-machine");
    said_expect("topo show crossbar-64 -o /no/such/folder/x.svg", 2, "/no/such/folder/x.svg");
    said_expect("topo show crossbar-64 --json", 0,
                "\"hosts\": 64, \"nodes\": 64, \"switches\": 1, \"wires\": 64");
}

static void verbs_and_their_arguments_are_checked(void)
{
    expect_exactly("topo", 2, "ronde: topo: which verb? there are show, generate, import, check\n");
    said_expect("topo shw crossbar-64", 2, "unknown verb \"shw\"; did you mean show?");
    said_expect("topo frobnicate", 2, "there are show, generate, import, check");
    said_expect("topo show crossbar-64 crossbar-128", 2,
                "topo show: unexpected argument \"crossbar-128\"");
}

static void rows_are_for_show_and_check(void)
{
    said_expect("topo generate rail --nodes 2 --json", 2, "topo generate: unknown option --json");
    said_expect("topo import x.xml --csv", 2, "topo import: unknown option --csv");
    if (!suite_has_components())
        return;
    said_expect("topo show crossbar-64 --csv", 0, "topology,machine,hosts,nodes,switches,wires");
    said_expect("topo show crossbar-64 --csv", 0, ",crossbar-64,64,64,1,64");
    said_expect("topo check crossbar-64 --csv", 0, "path,name,description,hosts,");
}

/* A description becomes a platform file, by its name or path, and is none itself. */
static void descriptions_become_platforms(void)
{
    if (!suite_has_components())
        return;
    said_expect(
        "topo import H100-cluster01 --nodes 2 --fabric rail", 0,
        "<prop id=\"ronde.description\" value=\"16 GPUs in 2 nodes on a rail, imported\"/>");
    said_expect("topo import H100-cluster01", 0, "description H100-cluster01; nominal bandwidths");
    said_expect("topo import B300-8 --nodes 2", 2, "B300-8: 2 nodes, but a node has no NIC");
    said_expect("topo import H100-cluster01 --nic-GBps 12", 2, "a description has its rates in it");
    said_expect("sim all_reduce -a ring --topo \"" RONDE_SOURCE_DIR
                "/topologies/published/B300-8.txt\" -b 1K -e 1K",
                0, "ring, 8 ranks on B300-8");
}

/* One description is one machine, whichever verb writes it. */
static void a_description_is_one_file(void)
{
    static const char *const names[] = {"H100-cluster01", "Perlmutter-A100", "A6000-NV-4",
                                        "L40S-PCIe-4"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char words[2][128];
        const char *nodes = i < 2 ? "2" : "1";
        snprintf(words[0], sizeof words[0], "topo generate %s --nodes %s", names[i], nodes);
        snprintf(words[1], sizeof words[1], "topo import %s --nodes %s", names[i], nodes);
        char *generated = said_by_ronde(words[0], 0), *imported = said_by_ronde(words[1], 0);
        CU_ASSERT(strlen(generated) > 1000);
        CU_ASSERT_STRING_EQUAL(generated, imported);
        free(imported);
        free(generated);
    }
    said_expect("topo generate H100-cluster01 --nodes 64 --levels 3", 0, "H100-cluster01");
}

/* The name of a file is any bytes; JSON is not. */
static void names_that_are_not_utf8_are_shown(void)
{
    if (!generate("rail --nodes 2"))
        return;
    CU_ASSERT_EQUAL_FATAL(rename(XML, RONDE_SCRATCH_DIR "/m\xfcnster.xml"), 0);
    said_expect("topo check --json \"" RONDE_SCRATCH_DIR "/m\xfcnster.xml\"", 0,
                "/m\xef\xbf\xbdnster.xml\", \"name\": \"rail-16\"");
    said_expect("topo check \"" RONDE_SCRATCH_DIR "/m\xfcnster.xml\"", 0, "/m\xfcnster.xml");
    said_expect("sim all_reduce -a ring -N 2 -e 8 --json --topo \"" RONDE_SCRATCH_DIR
                "/m\xfcnster.xml\"",
                0, "\"algorithm\": \"ring\"");
}

/* --- placement ----------------------------------------------------------------------------- */

/* The time in the row of a table that ends in a label. */
static double time_of(const char *table, const char *label)
{
    const char *row = table, *found = NULL;
    while ((row = strchr(row, '\n')) != NULL) {
        const char *end = strchr(++row, '\n');
        const size_t length = strlen(label);
        if (end && *row != '#' && (size_t)(end - row) > length &&
            strncmp(end - length, label, length) == 0)
            found = row;
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    double size, time;
    char algorithm[32];
    CU_ASSERT_EQUAL(sscanf(found, "%lf %31s %lf", &size, algorithm, &time), 3);
    return time;
}

/* Scattered over leaves with half the uplinks every hop crosses them, and the ring takes twice as long. */
static void scattering_a_ring_over_an_oversubscribed_tree_costs_double(void)
{
    if (!suite_has_components())
        return;
    char *said = said_by_ronde("sim all_reduce -a ring -N 64 --topo fat-tree-2to1-64 -b 64M -e 64M "
                               "--engine simgrid --placement packed,scattered,auto",
                               0);
    const double packed = time_of(said, "packed"), scattered = time_of(said, "scattered");
    CU_ASSERT(scattered > 1.9 * packed && scattered < 2.1 * packed);
    /* Its rings are the order of the hosts. */
    CU_ASSERT(time_of(said, "auto") < 1.001 * packed);
    free(said);
}

/* Eight channels that follow one order share one network card of each node; with an order each they use all eight. */
static void orders_found_on_a_rail_pod_use_every_network_card(void)
{
    if (!generate("rail --nodes 4"))
        return;
    char *said = said_by_ronde("sim all_reduce -a ring -N 32 --channels 8 --topo \"" XML
                               "\" -b 256M -e 256M "
                               "--engine simgrid --placement packed,auto",
                               0);
    const double packed = time_of(said, "packed"), found = time_of(said, "auto: snake");
    CU_ASSERT(packed > 7.9 * found && packed < 8.1 * found);
    free(said);
}

/* A ring of one's own, under a name of one's own, is laid through the machine as ours is. */
static void a_users_own_ring_is_laid_too(void)
{
    static const char ours[] = "algorithm ring\n", theirs[] = "algorithm mine\n";
    if (!generate("rail --nodes 4"))
        return;
    free(said_by_ronde("convert all_reduce -a ring -N 32 --channels 8 -o \"" RING "\"", 0));
    char *text = files_read(RING);
    char *name = text ? strstr(text, ours) : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(name);
    memcpy(name, theirs, sizeof theirs - 1);
    CU_ASSERT_FATAL(files_write(RING, text));
    free(text);
    char *said =
        said_by_ronde("sim \"" RING "\" --topo \"" XML "\" -b 256M -e 256M --engine simgrid "
                      "--placement packed,auto",
                      0);
    const double packed = time_of(said, "packed"), found = time_of(said, "auto: snake");
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "all_reduce mine, 32 ranks"));
    CU_ASSERT(packed > 7.9 * found && packed < 8.1 * found);
    free(said);
}

static void placement_refuses_unknown_names(void)
{
    if (!suite_has_components())
        return;
    char *said =
        said_by_ronde("sim all_reduce -a ring -N 8 --topo crossbar-64 --placement scatered", 2);
    CU_ASSERT_STRING_EQUAL(said,
                           "ronde: --placement: unknown \"scatered\"; did you mean scattered?\n");
    free(said);
    said = said_by_ronde("sim all_reduce -a ring -N 8 --topo crossbar-64 --placement file,file", 2);
    CU_ASSERT_STRING_EQUAL(said, "ronde: --placement: file is given twice\n");
    free(said);
}

static const struct suite_case cases[] = {
    {"tree_folds_equal_parts", tree_folds_equal_parts},
    {"one_of_a_kind_is_named_so", one_of_a_kind_is_named_so},
    {"tree_knows_a_torus_and_what_only_simgrid_routes",
     tree_knows_a_torus_and_what_only_simgrid_routes},
    {"pictures_are_tidy_from_one_node_to_128", pictures_are_tidy_from_one_node_to_128},
    {"pictures_are_tidy_for_other_machines", pictures_are_tidy_for_other_machines},
    {"the_picture_of_the_readme_is_true", the_picture_of_the_readme_is_true},
    {"show_refuses_what_it_cannot_draw", show_refuses_what_it_cannot_draw},
    {"verbs_and_their_arguments_are_checked", verbs_and_their_arguments_are_checked},
    {"a_description_is_one_file", a_description_is_one_file},
    {"names_that_are_not_utf8_are_shown", names_that_are_not_utf8_are_shown},
    {"rows_are_for_show_and_check", rows_are_for_show_and_check},
    {"descriptions_become_platforms", descriptions_become_platforms},
    {"scattering_a_ring_over_an_oversubscribed_tree_costs_double",
     scattering_a_ring_over_an_oversubscribed_tree_costs_double},
    {"orders_found_on_a_rail_pod_use_every_network_card",
     orders_found_on_a_rail_pod_use_every_network_card},
    {"a_users_own_ring_is_laid_too", a_users_own_ring_is_laid_too},
    {"placement_refuses_unknown_names", placement_refuses_unknown_names},
};

int main(void)
{
    return suite_run("topo", cases, sizeof cases / sizeof cases[0]);
}
